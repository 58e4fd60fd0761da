"""Of what a model replies, what holds is kept and what does not is rejected with its reason."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cases import tables_beside
from rag_evaluation_framework import Corpus, Document, Response
from rag_evaluation_framework.records.responses import Failure
from rag_evaluation_framework.synthesis.drafts import Drafts
from rag_evaluation_framework.synthesis.model_questions import drafts_of
from rag_evaluation_framework.synthesis.question_prompts import QuestionTask, Shown

TABLES = tables_beside(__file__)

FARES = (
    "# Fares\n\nA single ticket costs £4.50. Dogs travel free. Bicycles cost £2 each.\n\nDogs travel free.\n"
)
RULES = "# Rules\n\nDogs are kept on a lead. Bicycles stay on the lower deck.\n"
CORPUS = Corpus([Document("fares.md", FARES), Document("rules.md", RULES)])

MEASURE = TABLES["measure"]
GOOD = {**MEASURE, "excerpts": ["A single ticket costs £4.50."]}


def task(prompt: Any = "token_level", *, wanted: int = 1) -> QuestionTask:
    # The window begins after the heading, so that places in it are not places in the document.
    shown = [Shown("fares.md", 9, len(FARES), FARES[9:])]
    if prompt == "across_documents":
        shown.append(Shown("rules.md", 9, len(RULES), RULES[9:]))
    if prompt in ("chunk_level", "across_chunks"):
        shown = [
            Shown("fares.md", 9, 37, FARES[9:37], "chunk_aaaaaaaaaaaa"),
            Shown("fares.md", 38, 55, FARES[38:55], "chunk_bbbbbbbbbbbb"),
            Shown("rules.md", 9, 33, RULES[9:33], "chunk_cccccccccccc"),
        ]
    return QuestionTask(
        id="t", prompt=prompt, shown=tuple(shown), wanted=(("factual", "easy"),) * wanted, kinds=("factual",)
    )


def replied(value: Any, prompt: Any = "token_level", *, wanted: int = 1) -> Drafts:
    return drafts_of(task(prompt, wanted=wanted), Response(text=json.dumps(value)))


def test_a_question_that_holds_becomes_a_draft_with_places_in_the_document() -> None:
    drafts = replied({"questions": [GOOD]})
    assert drafts.rejected == ()
    (draft,) = drafts.kept
    (excerpt,) = draft.excerpts
    assert (excerpt.doc_id, excerpt.text) == ("fares.md", "A single ticket costs £4.50.")
    assert FARES[excerpt.start : excerpt.end] == excerpt.text
    assert (draft.question, draft.answer) == ("What is the price of a single ticket?", "£4.50")
    assert (draft.kind, draft.difficulty) == ("factual", "easy")
    assert draft.origin == f"fares.md:9-{len(FARES)}"


def test_a_bare_list_of_questions_is_read_too() -> None:
    assert len(replied([GOOD]).kept) == 1


@pytest.mark.parametrize(("changes", "reason"), TABLES["not_holding"])
def test_a_question_that_does_not_hold_is_turned_away_with_its_reason(
    changes: dict[str, Any], reason: str
) -> None:
    drafts = replied({"questions": [{**GOOD, **changes}]})
    assert drafts.kept == ()
    assert drafts.counts() == {reason: 1}
    assert drafts.rejected[0].origin.startswith("fares.md:")


@pytest.mark.parametrize("item", [None, "What?", 3, [], {**GOOD, "question": "x" * 601}])
def test_what_is_no_question_at_all_is_turned_away(item: Any) -> None:
    assert replied({"questions": [item, GOOD]}, wanted=2).counts() == {"malformed-question": 1}


def test_a_label_that_nobody_knows_is_not_recorded() -> None:
    (draft,) = replied({"questions": [{**GOOD, "kind": "trivia", "difficulty": 3, "answer": " "}]}).kept
    assert (draft.kind, draft.difficulty, draft.answer) == (None, None, None)
    (draft,) = replied({"questions": [{**GOOD, "kind": " Factual", "difficulty": "EASY"}]}).kept
    assert (draft.kind, draft.difficulty) == ("factual", "easy")


def test_every_question_that_was_asked_for_is_accounted_for() -> None:
    many = [{**GOOD, "question": f"What is the price of ticket {number}?"} for number in range(4)]
    assert replied({"questions": many}, wanted=2).counts() == {"more-than-asked": 2}
    assert replied({"questions": many[:1]}, wanted=3).counts() == {"fewer-than-asked": 2}
    assert replied({"questions": []}, wanted=3).counts() == {"fewer-than-asked": 3}
    failed = Response(failure=Failure(kind="truncated", message="the reply ends inside a JSON value"))
    drafts = drafts_of(task(wanted=3), failed)
    assert drafts.counts() == {"model-truncated": 3}
    assert drafts.rejected[0].detail == "the reply ends inside a JSON value"


def test_a_good_question_after_surplus_bad_ones_is_kept() -> None:
    bad = {**GOOD, "excerpts": []}
    drafts = replied({"questions": [bad, bad, GOOD]}, wanted=1)
    assert (len(drafts.kept), drafts.counts()) == (1, {"no-excerpt": 2})


def test_whoever_copies_most_of_a_long_text_has_not_said_where_the_answer_is() -> None:
    text = " ".join(f"Sentence {number} says something." for number in range(100))
    shown = (Shown("a.md", 0, len(text), text),)
    asked = QuestionTask(id="t", prompt="token_level", shown=shown, wanted=(("factual", "easy"),))
    reply = Response(text=json.dumps({"questions": [{**GOOD, "excerpts": [text[:-40]]}]}))
    assert drafts_of(asked, reply).counts() == {"overlong-excerpt": 1}


@pytest.mark.parametrize(("ids", "kept", "counts"), TABLES["chunk_ids"])
def test_chunk_ids_that_were_not_shown_are_dropped_and_a_question_without_any_is_too(
    ids: Any, kept: list[str] | None, counts: dict[str, int]
) -> None:
    drafts = replied({"questions": [{**MEASURE, "chunk_ids": ids}]}, "chunk_level")
    assert drafts.counts() == counts
    assert (list(drafts.kept[0].chunk_ids) if drafts.kept else None) == kept
    for draft in drafts.kept:
        assert all(CORPUS[each.doc_id].content[each.start : each.end] == each.text for each in draft.excerpts)
        assert len(draft.excerpts) == len(draft.chunk_ids)


def test_a_question_across_documents_has_passages_of_two() -> None:
    def asked(*excerpts: tuple[int, str]) -> Drafts:
        listed = [{"document": number, "text": text} for number, text in excerpts]
        return replied({"questions": [{**MEASURE, "excerpts": listed}]}, "across_documents")

    both = asked((2, "Bicycles stay on the lower deck."), (1, "Bicycles cost £2 each."))
    assert [each.doc_id for each in both.kept[0].excerpts] == ["fares.md", "rules.md"]
    assert both.kept[0].origin == "fares.md + rules.md"
    assert asked((1, "Bicycles cost £2 each.")).counts() == {"one-document": 1}
    assert asked((3, "Bicycles cost £2 each.")).counts() == {"malformed-question": 1}
    # The passage stands in the other document.
    swapped = asked((1, "Bicycles stay on the lower deck."), (2, "Bicycles cost £2 each."))
    assert swapped.counts() == {"excerpt-not-found": 1}


def test_chunks_across_documents_are_of_two() -> None:
    one = {**MEASURE, "chunk_ids": ["chunk_aaaaaaaaaaaa", "chunk_bbbbbbbbbbbb"]}
    assert replied({"questions": [one]}, "across_chunks").counts() == {"one-document": 1}
    two = {**MEASURE, "chunk_ids": ["chunk_bbbbbbbbbbbb", "chunk_cccccccccccc"]}
    assert len(replied({"questions": [two]}, "across_chunks").kept) == 1
