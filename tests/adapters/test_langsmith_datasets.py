"""LangSmith's SDK against a server that keeps datasets as LangSmith does."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langsmith_server import KEY, LangSmithServer, id_of, running_langsmith, signed_in

from rag_evaluation_framework import InputError, RagEvalError, UsageError
from rag_evaluation_framework.errors import MissingDatasetError, TargetError
from rag_evaluation_framework.evaluation.data import find_dataset

pytest.importorskip("langsmith", reason="the extra 'langsmith' is not installed")


def example(query: str, *ids: str, **outputs: Any) -> dict[str, Any]:
    return {"inputs": {"query": query}, "outputs": {"relevant_chunk_ids": list(ids), **outputs}}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[LangSmithServer]:
    with signed_in(monkeypatch, tmp_path) as running:
        yield running


def refused(kind: type[RagEvalError], name: str = "boats") -> str:
    """Return the message of the error that reading raises: one line, and the key is nowhere in it."""
    with pytest.raises(kind) as caught:
        find_dataset(name)
    assert "\n" not in str(caught.value)
    assert KEY not in "".join(traceback.format_exception(caught.value))
    return str(caught.value)


def test_a_name_is_read_from_langsmith_with_its_ids_and_metadata(server: LangSmithServer) -> None:
    server.datasets["boats"] = [
        {**example("When?", "chunk_a"), "metadata": {"difficulty": 2}},
        {
            **example("Who?", "chunk_b", metadata={"source_docs": ["boats.md"], "generation_model": "m"}),
            "split": "hard",
        },
    ]
    dataset = find_dataset("boats")
    assert (dataset.name, dataset.description, dataset.dialect) == ("boats", "About boats", "langsmith")
    first, second = dataset.samples
    assert (first.id, second.id) == (id_of("boats", 0), id_of("boats", 1))
    assert (first.question, first.relevant_chunk_ids) == ("When?", ("chunk_a",))
    # The split that LangSmith gives to every example says nothing.
    assert first.metadata == {"difficulty": 2}
    # The metadata within the outputs and those that LangSmith adds are one.
    assert second.metadata == {"dataset_split": ["hard"], "generation_model": "m"}
    assert second.relevant_documents == {"boats.md": 1}
    assert not second.extra


def test_examples_are_read_in_the_order_in_which_they_were_made(server: LangSmithServer) -> None:
    moments = ["2026-01-01T00:00:00.000002+00:00", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00.000001"]
    server.datasets["boats"] = [
        {**example(f"q{moment}"), "created_at": moment} for moment in [*moments, "yesterday"]
    ]
    read = [sample.question[1:] for sample in find_dataset("boats").samples]
    assert read == [moments[1], moments[2], moments[0], "yesterday"]


@pytest.mark.parametrize(("count", "pages"), [(0, 1), (99, 1), (100, 2), (250, 3)])
def test_all_pages_are_read_with_one_request_each(server: LangSmithServer, count: int, pages: int) -> None:
    server.datasets["boats"] = [example(f"q{number}", "chunk_a") for number in range(count)]
    threads = threading.active_count()
    dataset = find_dataset("boats")
    assert [sample.question for sample in dataset.samples] == [f"q{number}" for number in range(count)]
    assert len(server.pages()) == pages
    # Beside the pages: the dataset, and the workspace that the SDK asks for once.
    assert len(server.requests) == pages + 2
    assert threading.active_count() <= threads + 1  # the server's own thread for the connection; no tracing


def test_all_problems_of_a_dataset_are_in_one_error_with_the_examples_ids(server: LangSmithServer) -> None:
    bad_span = {"doc_id": "boats.md", "start": 9, "end": 3}
    server.datasets["boats"] = [
        {"inputs": {"question": "When?"}, "outputs": {"relevant_chunk_ids": []}},
        example("good", "chunk_a"),
        {"inputs": {"query": "Who?"}, "outputs": None},
        example("Where?", spans=[bad_span]),
        {**example("twice", "chunk_a"), "id": id_of("boats", 1)},
    ]
    with pytest.raises(InputError) as caught:
        find_dataset("boats")
    lines = str(caught.value).splitlines()
    assert len(lines) == 4
    for line, number, place in zip(lines, [0, 2, 3], ["inputs", "outputs", "outputs.spans[0]"], strict=False):
        told = line.replace('"', "")
        assert told.startswith(f"LangSmith dataset 'boats': example '{id_of('boats', number)}'.{place}")
    assert lines[3].endswith(f"expected unique examples, got duplicate '{id_of('boats', 1)}'")


def test_an_unknown_name_says_where_it_was_looked_for(server: LangSmithServer) -> None:
    server.datasets["boats"] = [example("When?", "chunk_a")]
    message = refused(MissingDatasetError, "ships")
    assert message == f"there is no dataset 'ships' in LangSmith at {server.url}"
    server.bodies["/datasets"] = b'[{"id": "%s", "name": "boats", "created_at": "%s"}]' % (
        id_of("boats").encode(),
        b"2026-01-01T00:00:00Z",
    )
    assert refused(MissingDatasetError, "ships") == message


@pytest.mark.parametrize("variable", ["LANGSMITH_API_KEY", "LANGCHAIN_API_KEY"])
def test_a_key_that_is_refused_is_named_by_its_variable_and_not_shown(
    server: LangSmithServer, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.delenv("LANGSMITH_API_KEY")
    monkeypatch.setenv(variable, "lsv2-wrong-0123456789")
    message = refused(UsageError)
    assert message == (
        f"LangSmith at {server.url}: the API key in {variable} was rejected: "
        'Unauthorized: {"detail": "Invalid token ***"}'
    )
    assert len(server.requests) == 1


def test_a_key_that_cannot_be_sent_is_refused_unseen(
    server: LangSmithServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANGSMITH_API_KEY", f"{KEY}\nmore")
    assert "expected a single line of text" in refused(UsageError)
    monkeypatch.setenv("LANGSMITH_API_KEY", f"{KEY}\N{SNOWMAN}")
    assert "the SDK failed with UnicodeEncodeError" in refused(TargetError)


def test_failures_that_pass_are_tried_again_page_by_page(server: LangSmithServer) -> None:
    server.datasets["boats"] = [example(f"q{number}", "chunk_a") for number in range(150)]
    server.statuses = {"/datasets": [503], "/examples": [500, 429]}
    assert len(find_dataset("boats")) == 150
    assert len(server.pages()) == 4


@pytest.mark.parametrize(("status", "attempts"), [(403, 1), (404, 1), (422, 1), (500, 4)])
def test_failures_that_stay_are_one_line_of_ours(server: LangSmithServer, status: int, attempts: int) -> None:
    server.datasets["boats"] = [example("When?", "chunk_a")]
    server.statuses = {"/examples": [status] * 9}
    message = refused(UsageError if status == 403 else TargetError)
    assert "as told, ***" in message
    assert server.url in message
    assert len(server.pages()) == attempts


@pytest.mark.parametrize("status", [301, 307])
def test_a_redirect_is_not_followed_so_the_key_stays(server: LangSmithServer, status: int) -> None:
    with running_langsmith() as elsewhere:
        server.moved_to = f"{elsewhere.url}/datasets"
        server.statuses = {"/datasets": [status]}
        message = refused(TargetError)
        assert "redirects are not followed; this one leads to another origin" in message
        assert not elsewhere.requests


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/datasets", b"<html></html>"),
        ("/datasets", b'{"hello": "there"}'),
        ("/datasets", b"[7]"),
        ("/examples", b'{"hello": "there"}'),
    ],
)
def test_a_reply_that_is_not_langsmiths_is_said_to_be_another(
    server: LangSmithServer, path: str, body: bytes
) -> None:
    server.datasets["boats"] = [example("When?", "chunk_a")]
    server.bodies[path] = body
    assert refused(TargetError) == (
        f"wrong-reply: LangSmith at {server.url}: expected a reply of the LangSmith API, got another reply"
    )


def test_a_page_that_is_not_strict_json_is_an_input_error(server: LangSmithServer) -> None:
    server.datasets["boats"] = []
    server.bodies["/examples"] = b'[{"id": "a", "metadata": {"x": NaN}}]'
    assert f"LangSmith at {server.url}: /examples" in refused(InputError)


def test_a_server_that_is_not_there_and_an_address_that_is_none_are_clear_errors(
    server: LangSmithServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANGSMITH_ENDPOINT", "http://user:password@127.0.0.1:9")
    message = refused(TargetError)
    assert message.startswith("connection-failed: LangSmith at http://127.0.0.1:9: cannot connect")
    monkeypatch.setenv("LANGSMITH_ENDPOINT", "nowhere")
    assert "in the environment: url: expected http://… or https://…, got nowhere" in refused(UsageError)
    monkeypatch.setenv("LANGSMITH_RUNS_ENDPOINTS", "{}")
    assert "invalid LangSmith settings in the environment: You cannot provide both" in refused(UsageError)
