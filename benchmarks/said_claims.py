"""Whether a text as long as an answer says a claim: by support and by matched words as blame, beside people.

A claim stands for a reference, and the text that people held it against for an answer. Of WiCE's pages only
the sentences that support a claim are taken, or have most of its words, with two around each; BEGIN's texts
are short; EVOUNA has real answers and brief references, which are always matched. Balanced accuracy: the mean
of the shares of both kinds that are told rightly. Support was fitted on half of WiCE and of BEGIN, and the
share of words that a match needs was chosen on all of these but EVOUNA; any from .5 to .65 gives the same
mean within .011. "Half the words" is what a plain match gives.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from statistics import fmean

from benchmarks._answers import EVOUNA, questions
from benchmarks._begin import PARTS, answers
from benchmarks._labelled_data import DATA
from benchmarks._wice import WikipediaClaim, claims
from rag_evaluation_framework.judging.claims import claims_of
from rag_evaluation_framework.judging.expected_points import expected_points, statements_of
from rag_evaluation_framework.judging.lexical_support import LexicalSupport
from rag_evaluation_framework.judging.reference_match import match_claims
from rag_evaluation_framework.records.samples import Sample, Turn

AROUND = 2
Item = tuple[str, str, tuple[str, ...], bool]
"""A question, a text, the claims of which it should say one, and whether it does."""


def is_matched(item: Item) -> bool:
    """Return True if blame finds that the text says it."""
    question, text, wanted, _ = item
    sample = Sample(id="1", turns=(Turn(role="user", content=question),), reference=wanted[0])
    return all(point.is_supported for point in expected_points(sample, text, (), readings=wanted).points)


def is_supported(item: Item) -> bool:
    """Return True if the text supports all claims of a wanted one."""
    question, text, wanted, _ = item
    support = LexicalSupport()
    return any(all(support.are_supported(statements_of(each), (text,), question=question)) for each in wanted)


def half_the_words(item: Item) -> bool:
    question, text, wanted, _ = item
    said = [claim.text for claim in claims_of(text)] or [text]
    return any(match_claims(said, [each], question).recalled[0] >= 0.5 for each in wanted)


DECIDERS: Mapping[str, Callable[[Item], bool]] = {
    "support": is_supported,
    "matched words": is_matched,
    "half the words": half_the_words,
}


def nearby(each: WikipediaClaim) -> str:
    """Return the part of a page that supports a claim or has most of its words, as long as an answer."""
    words = set(each.claim.lower().split())
    common = [len(words.intersection(sentence.lower().split())) for sentence in each.evidence]
    chosen = each.supporting or sorted(range(len(common)), key=common.__getitem__)[-AROUND:]
    near = {place + step for place in chosen for step in range(-AROUND, AROUND + 1)}
    return " ".join(sentence for place, sentence in enumerate(each.evidence) if place in near)


def sets() -> dict[str, list[Item]]:
    found: dict[str, list[Item]] = {}
    pages = [
        (each.label, ("", nearby(each), (each.claim,), each.label == "supported")) for each in claims(DATA)
    ]
    for other in ("not_supported", "partially_supported"):
        name = f"WiCE, supported or {other.replace('_', ' ')}"
        found[name] = [item for label, item in pages if label in ("supported", other) and item[1].strip()]
    for part, told in PARTS.items():
        known = answers(DATA, part)
        found[f"BEGIN, {told}"] = [
            ("", text, (said,), not is_new) for text, said, is_new in known if text.strip()
        ]
    found[f"{EVOUNA}, brief references"] = [
        (
            each["question"],
            answer["answer"],
            tuple(dict.fromkeys(each["references"])),
            bool(answer["correct"]),
        )
        for each in questions(DATA)[::3]
        for answer in each["answers"].values()
        if answer["answer"].strip()
    ]
    return found


def balanced(items: Iterable[Item], decide: Callable[[Item], bool]) -> float:
    rightly: dict[bool, list[bool]] = {True: [], False: []}
    for item in items:
        rightly[item[3]].append(decide(item) == item[3])
    return fmean(map(fmean, rightly.values()))


def main() -> None:
    if not DATA.is_dir():
        sys.exit(f"there is no labelled data at {DATA}")
    print(f"{'':<44}{'items':>7}" + "".join(f"{name:>16}" for name in DECIDERS))
    means: dict[str, list[float]] = {name: [] for name in DECIDERS}
    for told, items in sets().items():
        figures = {name: balanced(items, decide) for name, decide in DECIDERS.items()}
        print(
            f"{told:<44}{len(items):>7,}" + "".join(f"{each:>16.3f}" for each in figures.values()), flush=True
        )
        for name, each in figures.items():
            means[name].append(each)
    print(f"{'mean':<51}" + "".join(f"{fmean(each):>16.3f}" for each in means.values()))


if __name__ == "__main__":
    main()
