"""Verdicts on answers by words: beside people's, and beside numbers changed in sentences (WiCE).

People judged the answers of EVOUNA (its TriviaQA part), and sentences of our own. The rules were chosen on
the quarter of EVOUNA's questions that :func:`is_for_fitting` tells, and on sentences of our own; the
other three quarters are reported. A plain match calls an answer right that has the text of a reference, and
wrong otherwise. WiCE's claims stand for references. A digit of them is changed, which makes them wrong; as
they are, and the sentences of the page that support them, they are right.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from benchmarks._answers import EVOUNA, PAIRS, SYSTEMS, questions, verdicts
from benchmarks._labelled_data import DATA
from benchmarks._wice import claims
from rag_evaluation_framework.files import yaml_documents
from rag_evaluation_framework.judging.reference_words import WordFinding, compare_with_references
from rag_evaluation_framework.judging.verdict import AnswerVerdict, decide
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Refusal, Sample, Turn
from rag_evaluation_framework.text.normalisation import plain
from rag_evaluation_framework.text.numbers import quantities

MOST_PLANTED = 300
SENTENCES = PAIRS.with_name("sentence_answers.yaml")


Kind = Literal["matches", "contradicts", "undecided"]


class Judged(NamedTuple):
    """An answer with what words find, whether it has the text of a reference, and whether it is right.

    An answer that is partly right is ``None``: neither verdict is right about it.
    """

    system: str
    found: WordFinding
    has_text: bool
    is_right: bool | None


def is_for_fitting(question: int | str) -> bool:
    """Tell the quarter of the questions on which the rules were chosen."""
    return hashlib.sha256(str(question).encode()).digest()[0] % 4 == 0


def judged_answers(*, for_fitting: bool = False, step: int = 1) -> Iterator[Judged]:
    """Yield the answers to every so many of EVOUNA's questions."""
    asked = [row for row in questions(DATA)[::step] if is_for_fitting(row["id"]) == for_fitting]
    for system in SYSTEMS:
        for row, answer, is_right in verdicts(asked, system):
            if answer.strip():
                found = compare_with_references(answer, row["references"], row["question"])
                yield Judged(system, found, has_text(answer, row["references"]), bool(is_right))


def has_text(answer: str, references: Iterable[str]) -> bool:
    """Tell what a plain match tells: whether a reference stands in an answer, up to case and punctuation."""
    return any(f" {plain(each)} " in f" {plain(answer)} " for each in references)


def sentence_answers() -> Iterator[Judged]:
    """Yield our labeled sentences with what the decision table says of them without a judge."""
    for row in yaml_documents.decode(SENTENCES.read_text("utf-8"), file=SENTENCES.name):
        turns, expectation = (Turn(role="user", content=row["question"]),), None
        if row.get("expects_refusal"):
            expectation = Refusal()
        sample = Sample(id="s", turns=turns, reference=row["reference"], expectation=expectation)
        found = decide(sample, Response(text=row["answer"], contexts=(row["context"],)))
        label = AnswerVerdict(row["label"])
        kind: Kind = "matches" if found.is_correct else "contradicts" if found.is_wrong else "undecided"
        is_right = None if label.is_partly_correct else label.is_correct
        references = [row["reference"]] if row["reference"] else []
        yield Judged("sentences", WordFinding(kind, found.why), has_text(row["answer"], references), is_right)


def planted_answers() -> Iterator[Judged]:
    """Yield WiCE's supported claims with a number changed, and the same and what supports them unchanged."""
    planted = 0
    for each in claims(DATA):
        if planted == MOST_PLANTED:
            return
        source = " ".join(each.evidence[place] for place in sorted(each.supporting))
        texts = [each.claim, *([source] if each.label == "supported" else [])]
        for place, text in enumerate(texts):
            yield _judged("as it is" if place == 0 else "its source", text, each.claim, is_right=True)
        for wrong in with_another_number(each.claim):
            planted += 1
            yield _judged("one digit changed", wrong, each.claim, is_right=False)


def with_another_number(text: str) -> Iterator[str]:
    """Yield a text with one digit of each of its numbers changed; which, a hash tells."""
    for number in quantities(text):
        written = text[number.start : number.end]
        digits = [place for place, character in enumerate(written) if character in "0123456789"]
        if digits:
            drawn = hashlib.sha256(text.encode()).digest()
            places = digits[1:] or digits
            at = number.start + places[drawn[0] % len(places)]
            yield text[:at] + str((int(text[at]) + 1 + drawn[1] % 9) % 10) + text[at + 1 :]


def _judged(kind: str, answer: str, reference: str, *, is_right: bool) -> Judged:
    found = compare_with_references(answer, [reference], "")
    return Judged(kind, found, has_text(answer, [reference]), is_right)


def precision(rows: Sequence[Judged], kind: str) -> tuple[int, int]:
    """Return how many verdicts of a kind people share, and how many there are."""
    given = [row.is_right is (kind == "matches") for row in rows if row.found.kind == kind]
    return sum(given), len(given)


def _share(count: int, total: int) -> str:
    return f"{count / total:.3f} of {total:,}" if total else "none"


def _line(name: str, rows: Sequence[Judged]) -> str:
    wrong = [row for row in rows if row.is_right is False]
    kinds = [row.found.kind for row in rows]
    plainly, others = ([row for row in rows if row.has_text == has_text] for has_text in (True, False))
    figures = (
        _share(*precision(rows, "matches")),
        _share(*precision(rows, "contradicts")),
        _share(len(rows) - kinds.count("undecided"), len(rows)),
        _share(sum(row.found.kind == "contradicts" for row in wrong), len(wrong)),
        _share(sum(row.is_right is True for row in plainly), len(plainly)),
        _share(sum(row.is_right is False for row in others), len(others)),
    )
    return f"{name:<34}" + "".join(f"{each:>18}" for each in figures)


def main() -> None:
    if not DATA.is_dir():
        sys.exit(f"there is no labelled data at {DATA}")
    heads = ("matches", "contradicts", "judged", "wrong found", "plain: has it", "plain: has not")
    print(f"{'':<34}" + "".join(f"{head:>18}" for head in heads))
    rows = list(judged_answers())
    for system, name in SYSTEMS.items():
        print(_line(name, [row for row in rows if row.system == system]))
    print(_line(f"all of {EVOUNA}", rows))
    sentences = list(sentence_answers())
    print(_line("labeled sentences", sentences))
    planted = list(planted_answers())
    for kind in dict.fromkeys(row.system for row in planted):
        print(_line(kind, [row for row in planted if row.system == kind]))
    print(_line("all of WiCE", planted))
    print(_line("all", rows + sentences + planted))


if __name__ == "__main__":
    main()
