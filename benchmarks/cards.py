"""Every card of an offline method, measured again and written in place: ``make cards``.

Figures come from the labelled data (``shared/data`` beside the checkout, or ``RAG_EVAL_LABELLED_DATA``) and
from sets of our own beside the tests and benchmarks. The prose of a card is written by hand and stays.
Figures whose data is absent stay as they are, and are named. The scale of ``answer_similarity`` is fitted
before its card is measured. Choose cards by name: ``python -m benchmarks.cards lexical_match``.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks import (
    _answers,
    _declining,
    _falke,
    _ragtruth,
    _refusals,
    _similarity,
    _support_fit,
    _toxicity,
    _unseen,
    _wice,
)
from benchmarks._figures import Figure
from benchmarks._labelled_data import DATA
from rag_evaluation_framework.judging import methods, reference_match

FOLDER = Path(methods.__file__).parent / "cards"
SCALE = Path(reference_match.__file__).parent / "data" / "reference_match.json"

MATCHING = ("answer_correctness", "claim_f1", "claim_precision", "claim_recall")

Source = Callable[[Path], Sequence[Figure]]
# What each card is measured on, by how the names of the data begin: what is absent keeps its figures.
CARDS: Mapping[str, Mapping[tuple[str, ...], Source]] = {
    "answer_patterns": {
        ("XSTest", "MTRAG", "NoMIRACL"): _refusals.rows,
        ("set ", "short ", "indirect "): _declining.rows,
    },
    "lexical_match": {
        ("EVOUNA",): lambda data: [
            *_similarity.correctness_rows(data),
            *_answers.claim_rows(data),
            *_answers.reached_rows(data, *MATCHING),
        ],
        ("pairs of our own",): _answers.pair_rows,
        ("Chinese pairs of our own",): _similarity.chinese_correctness_rows,
    },
    "lexical_similarity": {
        ("EVOUNA",): lambda data: [
            *_similarity.rows(data),
            *_answers.reached_rows(data, "answer_similarity"),
        ],
        ("Chinese pairs of our own",): _similarity.chinese_rows,
    },
    "lexical_support": {
        ("RAGTruth",): _ragtruth.card_rows,
        ("WiCE",): _wice.rows,
        ("BEGIN",): _support_fit.held_out_rows,
        ("Falke",): _falke.rows,
        ("freely worded",): _unseen.claim_rows,
    },
    "profanity_screen": {
        ("HateCheck",): _toxicity.rows,
        ("Chinese sentences of our own",): _toxicity.chinese_rows,
    },
}
_SCALE_LINE = re.compile(r'"scale": \[[^\]]*\]')


def agreement(figure: Figure) -> dict[str, Any]:
    """Return a figure as it stands on a card."""
    data, _, name = figure.name.rpartition(": ")
    found: dict[str, Any] = {"figure": name, "data": data, "n": figure.n}
    found |= {part: round(float(getattr(figure, part)), 3) for part in ("value", "low", "high")}
    if figure.plain is not None:
        found["plain"] = round(float(figure.plain), 3)
    return found | ({"note": figure.published} if figure.published else {})


def measured(name: str, before: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the figures of a card: measured where the data is there, else as they were."""
    for prefixes, source in CARDS[name].items():
        found = list(source(DATA))
        if found:
            yield from map(agreement, found)
            continue
        kept = [each for each in before if each["data"].startswith(prefixes)]
        print(f"{name}: {' and '.join(prefixes)}: no data, {len(kept)} figures stay as they were")
        yield from kept


def changes(before: Sequence[dict[str, Any]], after: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield a line for each figure that is new, gone or another."""
    old, new = ({(each["data"], each["figure"]): each for each in part} for part in (before, after))
    for key in old | new:
        title = ": ".join(key)
        if key not in new:
            yield f"- {title}"
        elif key not in old:
            yield f"+ {title}  {new[key]['value']:.3f}"
        elif old[key] != new[key]:
            yield f"  {title}  {old[key]['value']:.3f} -> {new[key]['value']:.3f}"


def fit_scale() -> None:
    """Fit the scale of similarities again and keep it, where the data is there."""
    if not _similarity.answers():
        return
    even, nine = _similarity.shipped_scale()
    text = SCALE.read_text(encoding="utf-8")
    fitted = _SCALE_LINE.sub(f'"scale": [{even}, {nine}]', text)
    if fitted != text:
        SCALE.write_text(fitted, encoding="utf-8")
        print(f"{SCALE.name}: the scale is now {even}, {nine}; say so in the formula of answer_similarity")


def renew(name: str) -> None:
    """Measure a card, write it where a figure changed, and print what did."""
    path = FOLDER / f"{name}.json"
    card = json.loads(path.read_text(encoding="utf-8"))
    before, after = card["agreement"], list(measured(name, card["agreement"]))
    lines = list(changes(before, after))
    if before != after:
        card |= {"agreement": after, "date": datetime.now(UTC).date().isoformat()}
        path.write_text(json.dumps(card, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    print(f"{name}: {len(after)} figures, {len(lines) or 'none'} changed", *lines, sep="\n", flush=True)


def main() -> None:
    chosen = sys.argv[1:] or list(CARDS)
    unknown = [name for name in chosen if name not in CARDS]
    if unknown:
        sys.exit(f"unknown card {', '.join(unknown)}; known: {', '.join(CARDS)}")
    if "lexical_similarity" in chosen:
        fit_scale()
    for name in chosen:
        renew(name)


if __name__ == "__main__":
    main()
