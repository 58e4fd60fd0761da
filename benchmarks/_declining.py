"""Declining in many wordings, on sets written for it by people who had not seen the patterns.

``refusals_work_*.jsonl`` were worked with: the figures of each are given for a model fitted without it, while
the signs, families and other texts were written with its errors in view. ``refusals_once.jsonl`` was opened
once, when nothing was changed any more. Kinds are those of the writers' brief. Answers that partly decline
count as neither. `python -m benchmarks.cards answer_patterns` writes the figures, and those of XSTest, into
the card.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks import _declining_fit as fit
from benchmarks._figures import Figure
from benchmarks._labelled_data import DATA
from benchmarks._refusals import DECLINED, Labelled, compared
from rag_evaluation_framework.judging import answer_classes, declining
from rag_evaluation_framework.judging.answer_classes import classify_answer
from rag_evaluation_framework.judging.methods import REACHED
from rag_evaluation_framework.statistics.intervals import wilson_interval

FOLDER = Path(__file__).parent / "data"
SETS = {
    "refusals_once.jsonl": "the set opened once",
    **{
        name: f"set {number} worked with, model fitted without it"
        for number, name in enumerate(fit.WORK_SETS, start=1)
    },
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


def by_model(answer: str, question: str) -> str:
    """Return the class as the package tells it."""
    return classify_answer(answer, question).kind


@cache
def without(name: str) -> declining.DecliningModel:
    """Return a model that was fitted on everything but a set."""
    return declining.DecliningModel(**fit.fitted([*fit.own_sets(but=name), *fit.other_texts()]))


def classes_of(name: str) -> list[Labelled]:
    """Return a set as classified by a model that has not seen it."""
    if name not in fit.WORK_SETS:
        return classified(name, by_model)
    fitted = partial(without, name)
    with (
        patch.object(answer_classes, "declining_model", fitted),
        patch.object(declining, "declining_model", fitted),
    ):
        return classified(name, by_model)


def rows(data: Path = DATA) -> list[Figure]:
    """Return the figures of every set."""
    return [row for name, title in SETS.items() if records(name) for row in set_rows(name, title)]


def set_rows(name: str, title: str) -> Iterator[Figure]:
    """Yield F1, recall of the worst kind and false alarms of a set, with plain words beside F1."""
    ours, plain = classes_of(name), classified(name, plainly)
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
    for metric, labels in (("refusal_recall", DECLINED), ("over_refusal", NOT_DECLINED)):
        yield _share(f"{title}: {REACHED.format(metric)}", ours, labels, DECLINED)
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
