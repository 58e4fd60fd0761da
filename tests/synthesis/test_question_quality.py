"""Quality control: which questions are rejected, and that each is counted under its reason."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework import Corpus, Document, DocumentId
from rag_evaluation_framework.structs import replace
from rag_evaluation_framework.synthesis.draft_quality import (
    NearDuplicates,
    QualityControl,
    RoundTrip,
    harder_first,
    longest_common_run,
)
from rag_evaluation_framework.synthesis.drafts import REASONS, Draft, Drafts, Excerpt, QuestionKind

FARES = "The ten-trip card costs 105.00. Dogs travel for two pounds. Kayaks go on Kittiwake only."
TIMES = "# Timetable\n\nThe gangway closes five minutes before departure. The early boat waits for nobody."
CORPUS = Corpus([Document(DocumentId("fares.md"), FARES), Document(DocumentId("times.md"), TIMES)])


def draft(
    question: str, passage: str = "", *, answer: str | None = None, kind: QuestionKind | None = None
) -> Draft:
    """Return a question about a passage of the corpus, or one without an answer."""
    for document in CORPUS if passage else ():
        start = document.content.find(passage)
        if start >= 0:
            excerpt = Excerpt(document.id, start, start + len(passage), passage)
            return Draft(question=question, excerpts=(excerpt,), answer=answer, kind=kind, origin=document.id)
    return Draft(question=question, excerpts=(), answer=answer, kind=kind)


def reasons(*drafts: Draft, control: QualityControl | None = None) -> dict[str, int]:
    return dict((control or QualityControl()).checked(Drafts(drafts), CORPUS).counts())


def test_question_that_repeats_its_passage_is_turned_away() -> None:
    # 7 of 9 words in a row would be 0.78; here "the gangway closes five minutes before departure" are 7 of 8.
    copied = draft(
        "Really the gangway closes five minutes before departure?",
        "The gangway closes five minutes before departure.",
    )
    assert reasons(copied) == {"copies-passage": 1}


def test_question_that_says_its_answer_is_turned_away() -> None:
    told = draft("Is the price of a card 105.00?", "The ten-trip card costs 105.00.", answer="105.00")
    assert reasons(told) == {"gives-answer-away": 1}


@pytest.mark.parametrize("drops", [False, True])
def test_question_whose_passage_is_not_among_the_first_k_is_flagged_or_dropped(drops: bool) -> None:
    texts = [Document(DocumentId(f"{n}.md"), f"Ferry ferry ferry {n}.") for n in range(5)]
    corpus = Corpus(
        [*texts, Document(DocumentId("own.md"), "One ferry among a great many other words here.")]
    )
    asked = Draft(question="Which ferry?", excerpts=(Excerpt("own.md", 0, 9, "One ferry"),))
    for k, expected in ((5, {"passage-not-found": 1}), (6, {})):
        control = QualityControl(round_trip=RoundTrip(k=k, most_rivals=9, drops=drops))
        checked = control.checked(Drafts((asked,)), corpus)
        assert (checked.counts() if drops else checked.flagged()) == expected
        assert len(checked.kept) == (0 if drops and expected else 1)


def test_question_that_many_passages_fit_is_flagged() -> None:
    corpus = Corpus([Document(DocumentId(f"{n}.md"), f"The boat of pier {n} is blue.") for n in range(8)])
    asked = Draft(
        question="What colour has the boat?", excerpts=(Excerpt("0.md", 0, 27, corpus["0.md"].content[:27]),)
    )
    (kept,) = QualityControl().checked(Drafts((asked,)), corpus).kept
    assert kept.flags == ("many-passages-fit",)


def test_doubtful_question_is_not_taken_before_a_sound_one() -> None:
    sound, doubtful = draft("What do dogs pay?", "Dogs travel for two pounds."), draft("Zzz?", "Dogs travel")
    checked = QualityControl(per_document=1).checked(Drafts((doubtful, sound)), CORPUS)
    assert [each.question for each in checked.kept] == ["What do dogs pay?"]


def test_heading_leads_to_the_passages_below_it() -> None:
    asked = draft("What does the timetable say about nobody?", "The early boat waits for nobody.")
    assert reasons(draft("Which timetable?", "The early boat waits for nobody.")) == {}
    assert reasons(asked) == {}


def test_near_duplicate_of_an_earlier_question_is_turned_away_unless_numbers_differ() -> None:
    passage = "Dogs travel for two pounds."
    same = [draft("What do dogs pay to travel?", passage), draft("What do the dogs pay to travel?", passage)]
    assert reasons(*same) == {"near-duplicate": 1}
    other = [draft("What did dogs pay in 2023?", passage), draft("What did dogs pay in 2024?", passage)]
    assert reasons(*other) == {}


def test_any_embedder_finds_near_duplicates() -> None:
    class FirstLetter:
        def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
            return np.eye(26, dtype=np.float32)[[ord(text[0].lower()) - 97 for text in texts]]

    drafts = [
        draft("Where do dogs go?", "Dogs travel"),
        draft("Why?", "Dogs travel"),
        draft("Do dogs?", "Dogs travel"),
    ]
    control = QualityControl(round_trip=None, near_duplicates=NearDuplicates(embedder=FirstLetter()))
    assert [each.question for each in control.checked(Drafts(tuple(drafts)), CORPUS).kept] == [
        "Where do dogs go?",
        "Do dogs?",
    ]


def test_no_document_has_more_questions_than_asked_for() -> None:
    drafts = [draft(f"Question {n} about cards?", "The ten-trip card costs 105.00.") for n in range(3)]
    drafts.append(draft("When does the gangway close?", "The gangway closes"))
    control = QualityControl(leakage=None, round_trip=None, near_duplicates=None, per_document=2)
    checked = control.checked(Drafts(tuple(drafts)), CORPUS)
    assert [each.question[:10] for each in checked.kept] == ["Question 0", "Question 1", "When does "]
    assert checked.counts() == {"more-than-asked-for": 1}


def test_harder_first_takes_kinds_in_turn_and_of_each_the_hardest() -> None:
    made = [
        draft("a?", "Dogs travel", kind="factual"),
        draft("b?", "Dogs travel", kind="factual"),
        draft("c?", "Dogs travel", kind="temporal"),
    ]
    # First turn: the hardest factual (0.9) and the only temporal (0.1); then the other factual (0.5).
    assert harder_first(made, [0.5, 0.9, 0.1]) == [1, 2, 0]


def test_question_without_an_answer_is_not_asked_to_lead_anywhere() -> None:
    assert reasons(draft("Who painted the ceiling of the moon?")) == {}


def test_earlier_rejections_stay_counted_and_every_reason_is_explained() -> None:
    dropping = QualityControl(round_trip=RoundTrip(drops=True))
    first = dropping.checked(Drafts((draft("Zzz?", "Dogs travel"),)), CORPUS)
    again = QualityControl(per_document=0).checked(
        Drafts((draft("What do dogs pay?", "Dogs travel for two pounds."),), first.rejected), CORPUS
    )
    assert again.counts() == {"more-than-asked-for": 1, "passage-not-found": 1}
    assert REASONS.keys() >= again.counts().keys()


@pytest.mark.parametrize("part", ["leakage", "round_trip", "near_duplicates"])
def test_each_check_can_be_left_out(part: str) -> None:
    passage = "Dogs travel for two pounds."
    drafts = {
        "leakage": [draft("Surely dogs travel for two pounds, yes or no?", passage, answer="two pounds")],
        "round_trip": [draft("Qqq?", passage)],
        "near_duplicates": [draft("What must dogs pay?", passage), draft("What must dogs pay?", passage)],
    }[part]
    dropping = QualityControl(round_trip=RoundTrip(drops=True))
    assert sum(reasons(*drafts, control=dropping).values()) == 1
    assert reasons(*drafts, control=replace(dropping, **{part: None})) == {}


@given(st.lists(st.sampled_from("abc"), max_size=8), st.lists(st.sampled_from("abc"), max_size=8))
def test_longest_common_run_is_that_of_trying_every_run(first: list[str], second: list[str]) -> None:
    runs = [
        end - start
        for start in range(len(first))
        for end in range(start + 1, len(first) + 1)
        for place in range(len(second))
        if first[start:end] == second[place : place + end - start]
    ]
    assert longest_common_run(first, second) == max(runs, default=0)


def test_a_heading_of_any_length_is_read_once_and_not_from_each_of_its_letters() -> None:
    """For each letter anew this would take minutes; a code in a word is found all the same."""
    text = f"# {'a' * 300_000}\n\n" + "Boats sail. " * 2_000 + "Line 7b rests."
    page, start = Document(DocumentId("page.md"), text), text.index("Line 7b")
    asked = Draft(question="Who is 7b?", excerpts=(Excerpt(page.id, start, start + 13, "Line 7b rests"),))
    assert RoundTrip().judged([asked], Corpus([page]))[0][0] is None
