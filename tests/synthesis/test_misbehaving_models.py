"""A model that misbehaves in every way models do: what is right is kept, what is not is rejected."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatReply, failing, filtered, refused, running_chat, truncated
from scripted_questions import Request, corpus_of, well_behaved

from rag_evaluation_framework import Corpus, UsageError
from rag_evaluation_framework.adapters.openai import OpenAIChatModel
from rag_evaluation_framework.errors import ModelError
from rag_evaluation_framework.evaluation import attempts
from rag_evaluation_framework.results.run_store import RunFolder
from rag_evaluation_framework.synthesis.generation import Generation, generate_with_model
from rag_evaluation_framework.synthesis.question_plan import QuestionSettings

CORPUS = corpus_of(3)

Reply = Callable[[dict[str, Any]], ChatReply | str]


def asked(
    corpus: Corpus, model: object, *, run_folder: Any = None, chunker: Any = None, **settings: Any
) -> Generation:
    return generate_with_model(
        corpus, model, QuestionSettings(**settings), run_folder=run_folder, chunker=chunker
    )


def generated(reply: Reply, corpus: Corpus = CORPUS, **options: Any) -> Generation:
    with running_chat(reply) as server, OpenAIChatModel("scripted", base_url=server.url) as model:
        generation = asked(corpus, model, **{"queries_per_doc": 4, **options})
    assert_sound(generation, corpus)
    return generation


def assert_sound(generation: Generation, corpus: Corpus) -> None:
    """No span that is not the document's text ever gets through, whatever the model did."""
    assert generation.dataset is not None
    for draft in generation.drafts.kept:
        for excerpt in draft.excerpts:
            assert corpus[excerpt.doc_id].content[excerpt.start : excerpt.end] == excerpt.text
    for sample in generation.dataset.samples:
        for span in sample.relevant_spans:
            assert corpus[span.file].content[span.start : span.end] == span.text


def edited(edit: Callable[[list[dict[str, Any]], Request], list[Any]]) -> Reply:
    """Reply with good questions that were tampered with."""

    def reply(asked: dict[str, Any]) -> str:
        request = Request(asked)
        return json.dumps({"questions": edit(request.questions(), request)}, ensure_ascii=False)

    return reply


def first_changed(**changes: Any) -> Reply:
    return edited(lambda questions, _: [{**questions[0], **changes}, *questions[1:]])


def test_a_model_that_does_as_it_is_told_loses_nothing() -> None:
    generation = generated(well_behaved)
    assert (len(generation.drafts.kept), generation.drafts.counts()) == (12, {})
    assert generation.usage.input_tokens is not None
    assert generation.usage.input_tokens > 100
    assert (generation.requests, generation.outcome.failed, generation.run_path) == (3, 0, None)


def test_a_question_that_does_not_hold_goes_alone_and_is_counted_in_the_dataset() -> None:
    generation = generated(first_changed(excerpts=["The crew did all the work on this dock, it seems."]))
    assert (len(generation.drafts.kept), generation.drafts.counts()) == (9, {"excerpt-not-found": 3})
    assert generation.dataset.metadata["rejected"] == {"excerpt-not-found": 3}


def test_the_same_question_twice_is_one() -> None:
    doubled = generated(edited(lambda questions, _: [questions[0], questions[0], *questions[2:]]))
    assert (len(doubled.drafts.kept), doubled.drafts.counts()) == (9, {"duplicate-question": 3})
    twisted = edited(lambda questions, _: [{**each, "question": "WHO did it ?"} for each in questions])
    assert generated(twisted).drafts.counts() == {"duplicate-question": 11}


def for_part(number: int, reply: Reply, otherwise: Reply = well_behaved) -> Reply:
    """Misbehave for one document only."""
    return lambda asked: (reply if f'"part-{number:02}.md"' in str(asked["messages"]) else otherwise)(asked)


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (lambda asked: well_behaved(asked)[:-30], "model-truncated"),
        (lambda asked: truncated(well_behaved(asked)), "model-truncated"),
        (lambda _: "I'm sorry, I can't help with that.", "model-not-json"),
        (lambda _: refused(), "model-refused"),
        (lambda _: filtered(), "model-refused"),
        (lambda _: '{"result": "nothing"}', "model-off-schema"),
        (lambda asked: well_behaved(asked) + '\n{"questions": [{"question": "Other?"}]}', "model-ambiguous"),
        (lambda _: failing(400, "this prompt is not for me"), "model-http-400"),
    ],
)  # fmt: skip
def test_a_reply_that_cannot_be_used_costs_its_own_questions_only(bad: Reply, reason: str) -> None:
    generation = generated(for_part(2, bad))
    assert (len(generation.drafts.kept), generation.drafts.counts()) == (8, {reason: 4})
    assert generation.outcome.failed == 1
    assert {draft.origin.partition(":")[0] for draft in generation.drafts.kept} == {
        "part-01.md",
        "part-03.md",
    }


def test_a_model_of_which_nothing_can_be_used_is_an_error_that_says_why() -> None:
    with pytest.raises(ModelError, match="none of 3 requests to scripted got a usable reply") as error:
        generated(lambda _: "No.")
    assert error.value.kind == "not-json"


def test_an_endpoint_that_begins_to_fail_everyone_stops_the_run_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempts, "PATIENCE_LATER", 0.1)
    monkeypatch.setattr(attempts, "FIRST_DELAY", 0.01)
    corpus = corpus_of(40)
    answered = iter(range(5))

    def failing_later(asked: dict[str, Any]) -> ChatReply | str:
        return failing(503, "overloaded") if next(answered, None) is None else well_behaved(asked)

    with (
        running_chat(failing_later) as server,
        OpenAIChatModel("scripted", base_url=server.url, max_attempts=1) as model,
    ):
        stopped = generate_with_model(corpus, model, run_folder=tmp_path / "run", concurrency=1)
    assert stopped.dataset is None
    assert "overloaded" in str(stopped.outcome.reason)
    # Ten in a row show that it is down; the tenth is not failed for it any more.
    assert (stopped.outcome.done, stopped.outcome.failed) == (14, 9)
    with running_chat(well_behaved) as server, OpenAIChatModel("scripted", base_url=server.url) as model:
        resumed = generate_with_model(corpus, model, run_folder=tmp_path / "run")
        assert len(server.requests) == 40 - 5  # those that were turned away too, and no other
    assert (len(resumed.drafts.kept), resumed.outcome.failed) == (40 * 5, 0)


def test_a_finished_run_asks_nothing_again_and_another_is_refused(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with running_chat(well_behaved) as server, OpenAIChatModel("scripted", base_url=server.url) as model:
        first = generate_with_model(CORPUS, model, run_folder=run)
        requests = len(server.requests)
        again = generate_with_model(CORPUS, model, run_folder=RunFolder.open(run))
        assert len(server.requests) == requests == 3
        assert (again.dataset, again.usage) == (first.dataset, first.usage)
        with pytest.raises(
            UsageError, match="cannot resume run run with another queries_per_doc: expected 5, got 2"
        ):
            asked(CORPUS, model, run_folder=run, queries_per_doc=2)
        with pytest.raises(UsageError, match="cannot resume over other data"):
            generate_with_model(corpus_of(4), model, run_folder=run)
    other = OpenAIChatModel("other", base_url=server.url)
    with other, pytest.raises(UsageError, match="with another model: expected scripted, got other"):
        generate_with_model(CORPUS, other, run_folder=run)
