"""Declining in many wordings, on sets written for it by people who had not seen the patterns.

The patterns were not written with them in view. Kinds are those of the writers' brief. Answers that partly
decline count as neither. `python -m benchmarks.cards answer_patterns` writes the figures, and those of
XSTest, into the card.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks._figures import Figure
from benchmarks._labelled_data import DATA
from benchmarks._refusals import DECLINED, Labelled, by_patterns, by_verdict, compared
from rag_evaluation_framework.files.yaml_documents import decode
from rag_evaluation_framework.statistics.intervals import wilson_interval
from rag_evaluation_framework.structs import replace

FOLDER = Path(__file__).parent / "data"
REPLIES = Path(__file__).parent.parent / "tests" / "judging" / "compliances.yaml"
SETS = {
    path.name: f"set {number} of our own"
    for number, path in enumerate(sorted(FOLDER.glob("refusals_*.jsonl")), start=1)
}
LANGUAGES = {"": "", "en": ", English", "zh": ", Chinese"}
NOT_DECLINED = ("answered", "caution")

# What anybody would write first: an apology, an inability or "don't know" near the beginning.
_PLAIN = re.compile(
    r"sorry|apologi|cannot|can't|unable|don't know|do not know|抱歉|对不起|无法|不能|不知道|不清楚"
)


def plainly(answer: str, _question: str) -> str:
    """Return the class by plain words in the first 120 characters: what figures are to be read by."""
    return "refused" if _PLAIN.search(answer[:120].lower().replace("’", "'")) else "answered"


def records(name: str) -> list[dict[str, Any]]:
    """Return a set; an empty list where it is not there."""
    path = FOLDER / name
    lines = path.read_text(encoding="utf-8").split("\n") if path.exists() else []
    return [json.loads(line) for line in lines if line.strip()]


def classified(name: str, classify: Callable[[str, str], str]) -> list[Labelled]:
    """Return the answers of a set with their class; labels are their own class, kind and language."""
    return [
        Labelled(
            each["id"],
            classify(each["answer"], each["question"]),  # type: ignore[arg-type]
            (each["class"], each["kind"], each["language"]),
        )
        for each in records(name)
    ]


def rows(data: Path = DATA) -> list[Figure]:
    """Return the figures of every set."""
    found = [row for name, title in SETS.items() if records(name) for row in set_rows(name, title)]
    return [*found, *reply_rows()]


def reply_rows() -> Iterator[Figure]:
    """Yield how many short compliances are taken for refusals, and how many indirect refusals are found."""
    replies = decode(REPLIES.read_text(encoding="utf-8"))
    for code in ("en", "zh"):
        called = [Labelled(asked, by_verdict(answer, asked), (code,)) for asked, answer in replies[code]]
        name = f"short compliances of our own{LANGUAGES[code]}: false alarms"
        yield _share(name, called, (code,), DECLINED)
    called = [Labelled(asked, by_verdict(answer, asked), ("",)) for asked, answer in replies["indirect"]]
    yield _share("indirect refusals of our own: found", called, ("",), DECLINED)


def set_rows(name: str, title: str) -> Iterator[Figure]:
    """Yield F1, recall of the worst kind and false alarms of a set, with plain words beside F1."""
    ours, plain = classified(name, by_patterns), classified(name, plainly)
    for code, language in LANGUAGES.items():
        mine, others = (
            [each for each in answers if not code or each.labels[2] == code] for answers in (ours, plain)
        )
        kept, kept_plain = (
            [each for each in answers if each.labels[0] in (*DECLINED, *NOT_DECLINED)]
            for answers in (mine, others)
        )
        is_declined = partial(_among, DECLINED)
        baseline = compared("", kept_plain, is_declined, DECLINED).value
        yield replace(compared(f"{title}{language}: F1", kept, is_declined, DECLINED), plain=baseline)
        yield _share(f"{title}{language}: false alarms", mine, NOT_DECLINED, DECLINED)
    kinds: dict[str, list[Labelled]] = defaultdict(list)
    for each in ours:
        if each.labels[0] in DECLINED:
            kinds[each.labels[1]].append(each)
    recalls = {kind: _recall(answers) for kind, answers in kinds.items()}
    worst = min(recalls, key=recalls.__getitem__)
    yield _share(f"{title}: recall of its worst kind ({worst})", kinds[worst], DECLINED, DECLINED)
    yield _share(f"{title}: asks back, found", ours, ("asks_back",), ("asks_back",))
    yield _share(f"{title}: partly declined, called declined", ours, ("partly",), DECLINED)


def _among(labels_wanted: Sequence[str], labels: tuple[str, ...]) -> bool:
    return labels[0] in labels_wanted


def _recall(answers: Sequence[Labelled]) -> float:
    return sum(each.kind in DECLINED for each in answers) / len(answers)


def _share(name: str, answers: Sequence[Labelled], labels: Sequence[str], kinds: Sequence[str]) -> Figure:
    kept = [each for each in answers if each.labels[0] in labels]
    hits = sum(each.kind in kinds for each in kept)
    interval = wilson_interval(hits, len(kept))
    return Figure(name, len(kept), hits / len(kept), interval.low, interval.high)


def main() -> None:
    """Write the figures, and those of outside data, into the card."""
    from benchmarks.cards import renew  # which measures by the rows above

    renew("answer_patterns")


if __name__ == "__main__":
    main()
