"""ALCE's recall and precision of citations, by a method of support that can be followed by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework import ContextCitation, Document, DocumentId
from rag_evaluation_framework.judging.citation_support import (
    CitationReport,
    check_inline_citations,
    check_listed_citations,
    cited_answer,
    relevant_citations,
)
from rag_evaluation_framework.judging.cited_texts import CitableTexts, OpenedCitation
from rag_evaluation_framework.metrics.citations import (
    citation_completeness,
    citation_correctness,
    citation_f1,
    citation_precision,
    citation_recall,
)
from rag_evaluation_framework.records.citations import Citation
from word_support import WordSupport

CONTEXTS = [
    "The boat leaves at noon.",
    "The boat returns at six.",
    "The fare is two pounds.",
    "At noon the boat leaves for the island.",
]
TEXTS = CitableTexts([])


def opened(citation: Citation) -> OpenedCitation:
    return TEXTS.opened(citation, CONTEXTS)


def inline(answer: str, support: WordSupport | None = None) -> CitationReport:
    return check_inline_citations(cited_answer(answer), support or WordSupport(), opened=opened)


def listed(answer: str, numbers: Sequence[int], support: WordSupport | None = None) -> CitationReport:
    citations = [opened(ContextCitation(number)) for number in numbers]
    return check_listed_citations(cited_answer(answer), support or WordSupport(), listed=citations)


YES, NO = True, False
WORKED = [
    # the sentence; is it supported; which of its citations are relevant; which are correct
    ("The boat leaves at noon [1].", YES, [YES], [YES]),
    ("The boat leaves at noon [2].", NO, [NO], [NO]),
    ("The boat leaves at noon.", NO, [], []),
    # [3] does not support it alone, and [1] does without it: irrelevant.
    ("The boat leaves at noon [1][3].", YES, [YES, NO], [YES, NO]),
    # Each of the two suffices: both are idle, neither is irrelevant.
    ("The boat leaves at noon [1][4].", YES, [YES, YES], [YES, YES]),
    # Neither suffices alone, together they do: both are needed; neither supports the claim by itself.
    ("The boat leaves at noon, returns at six [1][2].", YES, [YES, YES], [NO, NO]),
    # The same with one that adds nothing.
    ("The boat leaves at noon, returns at six [1][3][2].", YES, [YES, NO, YES], [NO, NO, NO]),
    # [1] and [4] can stand in for each other, so neither is needed, and neither suffices alone.
    ("The boat leaves at noon, returns at six [1][2][4].", YES, [NO, YES, NO], [NO, NO, NO]),
    # A sentence cites a set: the second [1] is the same citation.
    ("The boat leaves at noon [1], returns at six [2][1].", YES, [YES, YES], [NO, NO]),
    # Out of range: the sentence is not supported, so none of its citations is relevant; [1] is still correct.
    ("The boat leaves at noon [9].", NO, [NO], [NO]),
    ("The boat leaves at noon [1][9].", NO, [NO, NO], [YES, NO]),
    ("The boat leaves at noon [0][1].", NO, [NO, NO], [NO, YES]),
    ("The boat leaves at noon [1-9].", NO, [NO] * 9, [YES, NO, NO, YES] + [NO] * 5),
    ("The boat leaves at noon, returns at six [1][9][2].", NO, [NO, NO, NO], [NO, NO, NO]),
    ("The boat leaves at noon, returns at six [1][9].", NO, [NO, NO], [NO, NO]),
    # A file that is none of the documents is not scored.
    ("The boat leaves at noon [1] [guide.pdf:1:0-9].", YES, [YES], [YES]),
    # What stands in a sentence that claims nothing supports nothing, whatever it says.
    ("The boat leaves at noon [1]. Do you want to know more [9]?", YES, [YES, NO], [YES, NO]),
    ("The boat leaves at noon [1]. Do you know when the boat leaves [4]?", YES, [YES, NO], [YES, NO]),
    ("# The boat [1]\nThe boat leaves at noon [1].", YES, [NO, YES], [NO, YES]),
    ("Sure! [1] The boat leaves at noon.", NO, [NO], [NO]),
    # What only says where the numbers lead cites nothing.
    ("The boat leaves at noon [1].\n\n[1]: timetable.md\n[9]: fares.md", YES, [YES], [YES]),
]


@pytest.mark.parametrize(("sentence", "supported", "relevant", "correct"), WORKED)
def test_worked_sentences(sentence: str, supported: bool, relevant: list[bool], correct: list[bool]) -> None:
    report = inline(sentence)
    assert report.supported == [supported]
    assert report.relevant == relevant
    assert report.correct == correct


def test_a_worked_answer() -> None:
    report = inline(
        "The boat leaves at noon [1][3]. It returns at six. The fare is two pounds [3]. "
        "The fare is ten pounds [3][9]."
    )
    # Sentences 1 and 3 are supported, 2 cites nothing, 4 cites what is not there: 2 of 4.
    assert citation_recall(report.supported) == 2 / 4
    # [1] and the second [3] are relevant, of [1] [3] [3] [3] [9]: 2 of 5.
    assert citation_precision(report.relevant) == 2 / 5
    # 2 × 0.5 × 0.4 / 0.9
    assert citation_f1(report.supported, report.relevant) == pytest.approx(0.4 / 0.9)
    # Sentences 1, 3 and 4 have citations: 3 of 4 claims.
    assert citation_completeness(report.cited) == 3 / 4
    # [1] supports the first and [3] the third: 2 of 5.
    assert citation_correctness(report.correct) == 2 / 5


def test_chinese_answers_are_checked_like_any_other() -> None:
    contexts = ["船在中午离开。", "船在六点回来。"]
    report = check_inline_citations(
        cited_answer("船在中午离开[1]。船在六点回来[1][2]。船在八点回来。[2]"),
        WordSupport(),
        opened=lambda citation: TEXTS.opened(citation, contexts),
    )
    assert report.supported == [True, True, False]
    assert report.relevant == [True, False, True, False]


def test_citations_beside_an_answer_are_held_against_every_sentence() -> None:
    report = listed("The boat leaves at noon. The fare is two pounds. It never rains.", [1, 3, 2, 9])
    assert report.supported == [True, True, False]
    # [1] supports the first sentence and [3] the second; [2] supports none; [9] cannot be opened.
    assert report.relevant == report.correct == [True, True, False, False]
    assert report.cited == [True, True, False]


def test_citations_beside_an_answer_may_be_needed_together() -> None:
    report = listed("The boat leaves at noon, returns at six.", [1, 2, 3, 1])
    assert report.supported == [True]
    assert report.relevant == [True, True, False]  # the second [1] is the same citation
    assert report.correct == [False, False, False]
    assert report.cited == [False]  # no single one supports the claim


@pytest.mark.parametrize("answer", ["", "Hello!", "[1]", "# Boats [1]"])
def test_an_answer_that_claims_nothing_has_no_sentences_to_support(answer: str) -> None:
    support = WordSupport()
    for report in (inline(answer, support), listed(answer, [1], support)):
        assert report.sentences == ()
        assert not any(report.relevant + report.correct)
    assert support.asked == []


@pytest.mark.parametrize("numbers", [[1, 9], [9, 1], [1, 4, 9], [9], [1, 3, 2, 9]])
def test_what_cannot_be_opened_fails_its_sentence_and_beside_the_answer_only_itself(
    numbers: list[int],
) -> None:
    written = inline(f"The boat leaves at noon {''.join(f'[{number}]' for number in numbers)}.")
    assert written.supported == [False]
    assert written.relevant == [False] * len(numbers)
    beside = listed("The boat leaves at noon.", numbers)
    assert beside.supported == [numbers != [9]]
    assert beside.relevant == [number in (1, 4) for number in numbers]
    assert written.correct == beside.correct == [number in (1, 4) for number in numbers]


def test_what_a_sentence_cites_together_is_asked_of_nobody_where_a_part_is_not_there() -> None:
    support = WordSupport()
    inline("The boat leaves at noon [1][2][9].", support)
    assert [evidence for _, evidence in support.asked] == [[CONTEXTS[0]], [CONTEXTS[1]]]


def test_one_place_is_one_citation_with_its_page_and_without() -> None:
    document = Document(
        DocumentId("b.pdf"), "Boats.\nThe boat leaves.", metadata={"pages": [[0, 7], [7, 23]]}
    )
    texts = CitableTexts([document])
    answer = cited_answer("The boat leaves [b.pdf:2:0-16][b.pdf:?:7-23] [b.pdf:?:7-22].")
    assert len(check_inline_citations(answer, WordSupport(), opened=texts.opened).citations) == 2
    # The same place with words that do not stand there is a citation that cannot be opened.
    quoting = cited_answer('The boat leaves [b.pdf:?:7-23] [b.pdf:?:7-23 | excerpt: "at six"].')
    assert check_inline_citations(quoting, WordSupport(), opened=texts.opened).correct == [True, False]


def test_a_method_is_asked_once_for_each_set_of_texts() -> None:
    support = WordSupport()
    inline("The boat leaves at noon [1]. The boat leaves [1]. At noon the boat leaves [1][3].", support)
    first = ["The boat leaves at noon    .", "The boat leaves    .", "At noon the boat leaves       ."]
    assert support.asked == [
        (first, [CONTEXTS[0]]),
        ([first[2]], [CONTEXTS[0], CONTEXTS[2]]),
        ([first[2]], [CONTEXTS[2]]),
    ]


def test_of_very_many_citations_at_one_sentence_the_first_hundred_are_weighed() -> None:
    contexts = ["The boat leaves at noon."] + ["Rain."] * 999
    answer = (
        "The boat leaves at noon " + "".join(f"[{first}-{first + 99}]" for first in range(1, 1000, 100)) + "."
    )
    support = WordSupport()
    report = check_inline_citations(
        cited_answer(answer), support, opened=lambda citation: TEXTS.opened(citation, contexts)
    )
    assert report.supported == [True]
    # Those that are not weighed count neither for the sentence nor against it.
    assert report.relevant == report.correct == [True] + [False] * 99
    assert max(len(evidence) for _, evidence in support.asked) == 100
    beside = [TEXTS.opened(ContextCitation(number), contexts) for number in range(1, 1001)]
    listed_report = check_listed_citations(
        cited_answer("The boat leaves at noon."), WordSupport(), listed=beside
    )
    assert listed_report.relevant == report.relevant


# What each citation brings: some of five facts, of which a sentence needs all.
facts = st.lists(st.frozensets(st.integers(0, 4)), max_size=6)


def sufficient(cited: Sequence[frozenset[int]], needed: frozenset[int]) -> list[bool]:
    def suffices(numbers: tuple[int, ...]) -> bool:
        return needed <= frozenset[int]().union(*(cited[number] for number in numbers))

    return relevant_citations(len(cited), suffices)


@given(facts, st.frozensets(st.integers(0, 4), min_size=1))
def test_leave_one_out_agrees_with_the_definition(
    cited: list[frozenset[int]], needed: frozenset[int]
) -> None:
    relevant = sufficient(cited, needed)
    everything = frozenset[int]().union(*cited)
    for number, own in enumerate(cited):
        others = frozenset[int]().union(*(each for other, each in enumerate(cited) if other != number))
        irrelevant = not needed <= own and needed <= others
        assert relevant[number] == (needed <= everything and not irrelevant)


sentences = st.lists(
    st.tuples(
        st.sampled_from(["The boat leaves at noon", "The boat returns at six", "The fare is ten pounds"]),
        st.lists(st.sampled_from(["[1]", "[2]", "[3]", "[4]", "[9]", "[0]"]), max_size=4, unique=True),
    ),
    max_size=4,
)


@given(sentences)
def test_every_figure_is_a_share(given_sentences: list[tuple[str, list[str]]]) -> None:
    report = inline(" ".join(f"{said} {''.join(cited)}." for said, cited in given_sentences))
    assert len(report.supported) == len(report.cited) == len(given_sentences)
    assert len(report.relevant) == len(report.correct) == sum(len(cited) for _, cited in given_sentences)
    if given_sentences:
        for value in (
            citation_recall(report.supported),
            citation_precision(report.relevant),
            citation_f1(report.supported, report.relevant),
            citation_completeness(report.cited),
        ):
            assert value is not None
            assert 0.0 <= value <= 1.0
    # A relevant citation stands at a supported sentence, and a supported sentence is cited.
    assert sum(report.supported) <= sum(report.cited)
    assert any(report.relevant) <= any(report.supported)
