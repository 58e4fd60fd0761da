"""Datasets uploaded with LangSmith's SDK to a server that keeps them as LangSmith does."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langsmith_server import EXAMPLES, KEY, LangSmithServer, id_of, signed_in

from rag_evaluation_framework import Dataset, RagEvalError, Sample, SpanCitation, Turn, UsageError
from rag_evaluation_framework.adapters import langsmith
from rag_evaluation_framework.adapters.langsmith import check_langsmith, upload_to_langsmith
from rag_evaluation_framework.errors import TargetError
from rag_evaluation_framework.evaluation.data import find_dataset
from rag_evaluation_framework.records.samples import Origin
from rag_evaluation_framework.structs import replace

pytest.importorskip("langsmith", reason="the extra 'langsmith' is not installed")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[LangSmithServer]:
    with signed_in(monkeypatch, tmp_path) as running:
        yield running


def sample(number: int, question: str | None = None, **fields: Any) -> Sample:
    return Sample(
        id=f"q{number}",
        turns=(Turn(role="user", content=question or f"Question {number}?"),),
        relevant_chunk_ids=(f"chunk_{number}",),
        **fields,
    )


def boats(*samples: Sample, **fields: Any) -> Dataset:
    return Dataset(samples=samples, dialect="langsmith", description="About boats", **fields)


def many(count: int) -> Dataset:
    return boats(*(sample(number) for number in range(count)))


def counts(dataset: Dataset, name: str = "boats") -> tuple[int, int, int, int]:
    done = upload_to_langsmith(dataset, name)
    return done.added, done.updated, done.unchanged, done.others


def written(server: LangSmithServer) -> list[tuple[str, str]]:
    return [(asked.method, asked.route) for asked in server.asked if asked.method != "GET"]


RICH = boats(
    sample(
        1,
        "Wann fährt das Boot? 船 🚢",
        relevant_spans=(SpanCitation("b/ö.md", 3, 9, text="a\r\nb ü", extra={"by": "me"}),),
        relevant_documents={"b/ö.md": 1},
        metadata={"difficulty": "hard", "list": [1, 2.5, None, {"deep": True}], "dataset_split": ["hard"]},
    ),
    # As older files have it: the metadata within the outputs.
    sample(2, metadata={"generation_model": "m"}, extra={"outputs": {"metadata": {}}}),
    sample(3, extra={"inputs": {"language": "en"}, "outputs": {"note": "kept"}}),
    replace(sample(4), relevant_chunk_ids=()),
    metadata={"chunker": "recursive(chunk_size=200)", "corpus_fingerprint": {"b/ö.md": "12ab"}},
)


@pytest.mark.parametrize("has_multipart", [True, False])
def test_what_is_uploaded_is_read_back_the_same(server: LangSmithServer, has_multipart: bool) -> None:
    server.has_multipart = has_multipart
    assert counts(RICH) == (4, 0, 0, 0)
    read = find_dataset("boats")
    expected = tuple(replace(each, origin=Origin("langsmith")) for each in RICH.samples)
    assert read.samples == expected
    assert (read.name, read.description, read.metadata) == ("boats", "About boats", RICH.metadata)


def test_the_order_of_the_samples_survives_a_server_that_lists_the_newest_first(
    server: LangSmithServer,
) -> None:
    dataset = many(250)
    assert counts(dataset) == (250, 0, 0, 0)
    assert [each.id for each in find_dataset("boats").samples] == [each.id for each in dataset.samples]
    assert len(server.sent("POST", EXAMPLES)) == 3


@pytest.mark.parametrize("has_multipart", [True, False])
def test_a_second_upload_sends_nothing(server: LangSmithServer, has_multipart: bool) -> None:
    server.has_multipart = has_multipart
    upload_to_langsmith(RICH, "boats")
    server.asked.clear()
    assert counts(RICH) == (0, 0, 4, 0)
    assert written(server) == []
    # Nor does the upload of what was read from there.
    assert counts(find_dataset("boats")) == (0, 0, 4, 0)
    assert written(server) == []


@pytest.mark.parametrize("has_multipart", [True, False])
def test_only_what_is_new_or_has_changed_is_sent(server: LangSmithServer, has_multipart: bool) -> None:
    server.has_multipart = has_multipart
    upload_to_langsmith(boats(sample(1), sample(2), sample(3)), "boats")
    changed = sample(2, "Another question?", metadata={"kind": "factual"})
    dataset = boats(sample(1), changed, sample(4))
    # The third is no longer in the dataset; it stays.
    assert counts(dataset) == (1, 1, 1, 1)
    read = {each.id: each for each in find_dataset("boats").samples}
    assert sorted(read) == ["q1", "q2", "q3", "q4"]
    assert (read["q2"].question, read["q2"].metadata) == ("Another question?", {"kind": "factual"})
    assert counts(dataset) == (0, 0, 3, 1)


def test_what_others_added_to_an_example_stays(server: LangSmithServer) -> None:
    upload_to_langsmith(boats(sample(1)), "boats")
    example = server.datasets["boats"][0]
    example["metadata"]["reviewed"] = True
    example["split"] = ["hard"]
    assert counts(boats(sample(1))) == (0, 0, 1, 0)
    assert counts(boats(sample(1, "Another?", metadata={"kind": "factual"}))) == (0, 1, 0, 0)
    read = find_dataset("boats").samples[0]
    assert read.metadata == {"reviewed": True, "kind": "factual", "dataset_split": ["hard"]}


def test_samples_of_examples_that_others_made_are_known_by_the_ids_that_langsmith_gave(
    server: LangSmithServer,
) -> None:
    server.datasets["boats"] = [{"inputs": {"query": "Who?"}, "outputs": {"relevant_chunk_ids": ["chunk_a"]}}]
    read = find_dataset("boats")
    assert counts(read) == (0, 0, 1, 0)
    # Under another name it is another example.
    assert counts(read, "ships") == (1, 0, 0, 0)
    assert find_dataset("ships").samples == read.samples
    assert server.datasets["ships"][0]["id"] != id_of("boats", 0)


def test_what_is_said_of_the_dataset_is_brought_up_to_date_and_what_others_said_stays(
    server: LangSmithServer,
) -> None:
    upload_to_langsmith(boats(sample(1), metadata={"seed": 1}), "boats")
    server.described["boats"]["metadata"]["owner"] = "us"
    upload_to_langsmith(replace(boats(sample(1), metadata={"seed": 2}), description="Boats only"), "boats")
    read = find_dataset("boats")
    assert (read.description, read.metadata) == ("Boats only", {"seed": 2, "owner": "us"})
    upload_to_langsmith(replace(boats(sample(1)), description=None), "boats")
    assert find_dataset("boats").description == "Boats only"


def test_an_interrupted_upload_is_completed_by_the_next(server: LangSmithServer) -> None:
    dataset = many(250)
    server.statuses = {f"POST {EXAMPLES}": [200, 200, *[500] * 4]}
    with pytest.raises(TargetError, match="http-500"):
        upload_to_langsmith(dataset, "boats")
    assert len(server.datasets["boats"]) == 200
    assert counts(dataset) == (50, 0, 200, 0)
    assert [each.id for each in find_dataset("boats").samples] == [each.id for each in dataset.samples]


def test_a_reply_that_is_lost_leaves_no_example_twice_and_none_out(server: LangSmithServer) -> None:
    dataset = many(250)
    server.lost = ["POST /datasets", f"POST {EXAMPLES}"]
    assert counts(dataset) == (250, 0, 0, 0)
    assert len(server.datasets["boats"]) == 250
    assert counts(dataset) == (0, 0, 250, 0)


def test_a_reply_that_takes_too_long_is_asked_for_again(
    server: LangSmithServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(langsmith, "TIMEOUT_MS", (5_000, 200))
    server.delays = {EXAMPLES: [0.5]}
    assert counts(many(3)) == (3, 0, 0, 0)
    assert len(server.datasets["boats"]) == 3
    server.delays = {"/datasets": [0.5] * 4}
    with pytest.raises(
        TargetError, match=r"timeout: LangSmith at .*: timed out before the reply was complete"
    ):
        upload_to_langsmith(many(3), "boats")


def refused(kind: type[RagEvalError], caplog: pytest.LogCaptureFixture) -> str:
    """Return the one line of the error that uploading raises; the key is nowhere, nor in a log."""
    with pytest.raises(kind) as caught:
        upload_to_langsmith(many(3), "boats")
    assert "\n" not in str(caught.value)
    assert KEY not in "".join(traceback.format_exception(caught.value)) + caplog.text
    return str(caught.value)


@pytest.mark.parametrize(
    ("method", "route"),
    [("GET", "/datasets"), ("POST", "/datasets"), ("GET", "/examples"), ("POST", EXAMPLES)],
)
@pytest.mark.parametrize(("status", "attempts"), [(401, 1), (403, 1), (404, 1), (409, 1), (422, 1), (500, 4)])
def test_an_upload_that_fails_is_one_line_of_ours_wherever_it_fails(
    server: LangSmithServer,
    caplog: pytest.LogCaptureFixture,
    method: str,
    route: str,
    status: int,
    attempts: int,
) -> None:
    caplog.set_level(logging.WARNING)
    server.statuses = {f"{method} {route}": [status] * 9}
    message = refused(UsageError if status in (401, 403) else TargetError, caplog)
    assert f"LangSmith at {server.url}" in message
    assert "as told, ***" in message
    # After a conflict the rest is sent once more.
    tries = 2 if (status, route) == (409, EXAMPLES) else attempts
    assert len(server.sent(method, route)) == tries


def test_a_server_that_says_nothing_of_itself_is_sent_what_old_servers_take(server: LangSmithServer) -> None:
    server.has_multipart = False
    server.statuses = {"/info": [500, 404]}
    assert counts(many(3)) == (3, 0, 0, 0)
    assert len(server.sent("POST", "/examples/bulk")) == 1


def test_an_upload_says_where_the_dataset_can_be_seen(server: LangSmithServer) -> None:
    url = upload_to_langsmith(many(1), "boats").url
    assert url == f"http://localhost/datasets/{id_of('boats')}"
    assert upload_to_langsmith(many(1), "boats").url == url


def test_the_check_before_an_upload_changes_nothing(
    server: LangSmithServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_langsmith("boats")
    assert written(server) == []
    assert not server.datasets
    monkeypatch.setenv("LANGSMITH_API_KEY", "lsv2-wrong-0123456789")
    with pytest.raises(UsageError, match="the API key in LANGSMITH_API_KEY was rejected"):
        check_langsmith("boats")
