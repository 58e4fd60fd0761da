"""Where answers, contexts, citations and usage are found in replies, as tables."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import tables_beside
from rag_evaluation_framework import (
    CharacterSpan,
    ContextCitation,
    DocumentId,
    Hit,
    InputError,
    Sample,
    SpanCitation,
    Turn,
    Usage,
)
from rag_evaluation_framework.adapters.agent_probe import Candidate, Probe
from rag_evaluation_framework.adapters.http_client import Reply, reply_value, unmasked
from rag_evaluation_framework.errors import TargetError
from rag_evaluation_framework.evaluation.agent_shapes import AnswerReader, Events, ReadAnswer
from rag_evaluation_framework.evaluation.targets import Ask, replay, response_of
from rag_evaluation_framework.files.strict_json import JsonPath
from rag_evaluation_framework.records.samples import Recorded

TABLES = tables_beside(__file__)

READER = AnswerReader()
BOTH = ("c1", "a.md")


def span(file: str, start: int, end: int) -> CharacterSpan:
    return CharacterSpan(DocumentId(file), start, end)


WHOLE = Hit(id="c1", span=span("a.md", 5, 9), names=BOTH)


@pytest.mark.parametrize(("reply", "text", "place"), TABLES["answers"])
def test_the_answer_is_found_where_systems_put_it(reply: Any, text: str, place: str) -> None:
    read = READER.read(reply)
    assert (read.text, read.found["answer"]) == (text, place)


@pytest.mark.parametrize(
    "reply", [{}, [], 7, None, True, {"status": "ok"}, {"response": None}, {"choices": []}]
)
def test_a_reply_without_an_answer_is_a_failure_and_never_an_empty_answer(reply: Any) -> None:
    with pytest.raises(TargetError) as caught:
        READER.read(reply)
    assert caught.value.kind == "no-answer"
    assert not caught.value.retry


@pytest.mark.parametrize(("fields", "contexts"), TABLES["contexts"])
def test_contexts_are_those_with_a_text_and_the_others_are_counted(fields: Any, contexts: list[str]) -> None:
    read = READER.read({"response": "x", **fields})
    assert (list(read.contexts), read.unread_contexts) == (contexts, contexts.count(""))


@pytest.mark.parametrize(("fields", "place"), TABLES["nothing_retrieved"])
def test_an_empty_list_says_that_nothing_was_retrieved(fields: Any, place: str | None) -> None:
    read = READER.read({"response": "x", **fields})
    assert (read.retrieved_nothing, read.found.get("contexts")) == (place is not None, place)
    given = Recorded(contexts=("In 14 days.",))
    sample = Sample(id="s1", turns=(Turn(role="user", content="When?"),), recorded=given)
    response = response_of(sample, [read])
    assert (response.retrieved_nothing, response.contexts) == (read.retrieved_nothing, given.contexts)


def test_a_given_path_to_an_empty_list_says_so_too() -> None:
    reader = AnswerReader({"contexts": "docs[*].leaf"})
    assert reader.read({"response": "x", "docs": []}).retrieved_nothing
    assert not reader.read({"response": "x", "contexts": []}).retrieved_nothing


def test_turns_say_which_of_them_retrieved_nothing() -> None:
    turns = (Turn(role="user", content="When?"), Turn(role="user", content="Where?"))
    replies = iter([{"response": "x", "contexts": []}, {"response": "y"}])

    async def answered(_: Ask) -> ReadAnswer:
        return READER.read(next(replies))

    response = asyncio.run(replay(Sample(id="s1", turns=turns), answered))
    assert [turn.get("retrieved_nothing") for turn in response.metadata["turns"]] == [True, None]
    assert not response.retrieved_nothing


def test_an_empty_context_does_not_put_the_datasets_in_place_of_the_systems() -> None:
    turns = (Turn(role="user", content="When?"),)
    sample = Sample(id="s1", turns=turns, recorded=Recorded(contexts=("In 14 days.",)))
    read = READER.read({"response": "x", "contexts": ["In 99 weeks.", ""]})
    response = response_of(sample, [read])
    assert (response.contexts, response.context_origin) == (("In 99 weeks.", ""), "system")
    assert response.metadata == {"unread_contexts": 1}
    told = Probe(candidate=Candidate(), address="h", elapsed_ms=1.0, answer=read).hints()
    assert any(each.startswith("Could not read 1 context: expected texts, or objects with") for each in told)


@pytest.mark.parametrize(("fields", "unread"), TABLES["unread_contexts"])
def test_contexts_of_which_none_can_be_read_are_counted(fields: Any, unread: int) -> None:
    assert READER.read({"response": "x", **fields}).unread_contexts == unread


def test_unread_contexts_of_all_turns_are_counted() -> None:
    turns = tuple(Turn(role="user", content=text) for text in ("When?", "Why?"))
    answers = [READER.read({"response": "x", "contexts": [{"leaf": "a"}]})] * 2
    assert response_of(Sample(id="s1", turns=turns), answers).metadata["unread_contexts"] == 2


def test_contexts_that_say_what_they_are_are_hits_too() -> None:
    documents = [{"id": "d1", "text": "a", "score": 0.5}, {"id": 2, "text": "b"}]
    assert READER.read({"response": "x", "documents": documents}).hits == (
        Hit(id="d1", score=0.5),
        Hit(id="2"),
    )
    assert READER.read({"response": "x", "documents": [{"text": "a"}]}).hits == ()
    with_holes = [None, {"id": "d1", "text": "a"}, {"id": "d2", "text": ""}]
    assert READER.read({"response": "x", "documents": with_holes}).hits == (Hit(id="d1"), Hit(id="d2"))
    assert READER.read({"response": "x", "documents": [*with_holes, "b"]}).hits == ()


@pytest.mark.parametrize(
    ("fields", "hit"),
    [
        ({"id": "c1", "file": "a.md", "start": 5, "end": 9}, WHOLE),
        ({"file_name": "a.md", "start_char": 0, "end_char": 9}, Hit(id="a.md", span=span("a.md", 0, 9))),
        ({"document_id": 7, "start": 5, "end": 9}, Hit(id="7", span=span("7", 5, 9))),
        # a position that cannot be read, or of which it is not known where it counts from, is none
        ({"id": "c1", "start": 5, "end": 9}, Hit(id="c1")),
        ({"id": "c1", "file": "a.md", "start": 9, "end": 9}, Hit(id="c1", names=BOTH)),
        ({"id": "c1", "file": "a.md", "start": "5", "end": 9}, Hit(id="c1", names=BOTH)),
        ({"id": "c1", "file": ["a.md"], "start": 5, "end": 9}, Hit(id="c1")),
        ({"id": "c1", "file": "a.md", "page": 2, "start": 5, "end": 9}, Hit(id="c1", names=BOTH)),
    ],
)
def test_positions_that_come_with_contexts_are_those_of_the_hits(fields: Any, hit: Hit) -> None:
    assert READER.read({"response": "x", "contexts": [{"text": "word", **fields}]}).hits == (hit,)


@pytest.mark.parametrize(
    ("fields", "usage"),
    [
        *TABLES["usage_is_what_the_system_told_and_nothing_else"],
        ({"usage": {"prompt_tokens": 3, "completion_tokens": 4}}, Usage(input_tokens=3, output_tokens=4)),
        ({"usage": {"input_tokens": 3, "cost_usd": 0.5}}, Usage(input_tokens=3, cost_usd=0.5)),
        (
            {"metadata": {"usage": {"output_tokens": 4, "total_cost": 1}}},
            Usage(output_tokens=4, cost_usd=1.0),
        ),
        ({"usage": {"prompt_tokens": 10**30}}, None),
    ],
)
def test_usage_is_what_the_system_told_and_nothing_else(fields: Any, usage: Usage | None) -> None:
    assert READER.read({"response": "x", **fields}).usage == usage


@pytest.mark.parametrize(("item", "citations"), [*TABLES["citations_are_read_or_counted"], ("[" * 5000, [])])
def test_citations_are_read_or_counted(item: Any, citations: list[Any]) -> None:
    read = READER.read({"response": "x", "citations": [item]})
    assert read.citations == tuple(
        ContextCitation(each) if isinstance(each, int) else SpanCitation(**each) for each in citations
    )
    assert read.unread_citations == (0 if citations else 1)


def test_given_paths_replace_the_search() -> None:
    reader = AnswerReader({"answer": "data[0].out", "contexts": "data[0].docs[*].leaf"})
    reply = {"response": "not this", "data": [{"out": "A", "docs": [{"leaf": "a"}, {"leaf": "b"}]}]}
    read = reader.read(reply)
    assert (read.text, read.contexts) == ("A", ("a", "b"))
    assert read.found == {"answer": "data[0].out", "contexts": "data[0].docs[*].leaf"}
    with pytest.raises(TargetError, match="expected an answer at data"):
        reader.read({"response": "not this"})


@pytest.mark.parametrize(("path", "found"), TABLES["paths"])
def test_a_path_leads_to_its_value_or_to_nothing(path: str, found: Any) -> None:
    value = {"a": {"b": [{"c": 1}, {"c": 2, "e": 4}]}, "x.y": 3, "none": []}
    assert JsonPath.parse(path).find(value) == found


@pytest.mark.parametrize(
    "path", ["", ".a", "a..b", "a[", "a[x]", "a]", "a b", "a[0]b", "a['b]", "$", "a.[0]"]
)
def test_what_is_no_path_is_refused_with_its_field(path: str) -> None:
    if path == "$":  # a name like any other
        assert JsonPath.parse(path).find({"$": 1}) == 1
        return
    with pytest.raises(InputError, match=r"responsePaths\.answer: expected a path"):
        AnswerReader({"answer": path})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["response", "message", "content", "contexts", "citations", "usage", "choices", "text"]
            )
            | st.text(max_size=3),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@pytest.mark.parametrize(("events", "answer"), TABLES["streams"])
def test_a_reply_in_events_is_one_answer(events: list[Any], answer: str | None) -> None:
    if answer is None:
        with pytest.raises(TargetError, match=r"got a stream of (0 events|1 event), last event"):
            READER.read(Events(events))
    else:
        assert READER.read(Events(events)).text == answer


def test_of_what_is_beside_the_answer_the_last_event_that_has_it_counts() -> None:
    events = [
        {"sources": [{"text": "a", "id": "1"}], "usage": {"input_tokens": 1}},
        {"token": "x", "sources": []},
        {"usage": {"input_tokens": 5, "output_tokens": 1}, "session": {"id": 7}},
    ]
    read = AnswerReader({"thread": "session.id"}).read(Events(events))
    assert (read.text, read.contexts, read.thread) == ("x", ("a",), "7")
    assert read.usage == Usage(input_tokens=5, output_tokens=1)


@given(JSON | st.lists(JSON, max_size=5).map(Events))
def test_any_reply_is_an_answer_or_a_typed_failure(reply: Any) -> None:
    try:
        outcome = READER.read(reply).text
    except TargetError as error:
        outcome = error.kind
    assert isinstance(outcome, str)


STREAMED = st.sampled_from(
    [
        *("", ":", "data:", "data: {}", 'data: {"answer": "a"}', "data: null", "data: [DONE]", "data: 1e999"),
        *("event: x", "event: error", 'data: {"type": "error"}', "retry: 1", "{}", '{"a": 1}', "{", "\x85"),
        '{"a": 1, "a": 2}',
    ]
)
TYPES = ("", "text/html; charset=gbk", "x; charset=zip", "text/event-stream", "text/plain")


@given(
    body=st.binary(max_size=200) | st.lists(STREAMED, max_size=8).map("\n".join).map(str.encode),
    content_type=st.sampled_from(TYPES),
    takes_streams=st.booleans(),
)
def test_any_body_is_a_value_or_a_typed_failure(body: bytes, content_type: str, takes_streams: bool) -> None:
    reply = Reply(status=200, headers={"content-type": content_type}, body=body)
    try:
        reply_value(reply, url="http://h", mask=unmasked, takes_streams=takes_streams)
        outcome = "a value"
    except TargetError as error:
        outcome = error.kind
    known = {"a value", "empty-reply", "html-page", "malformed-json", "wrong-charset"}
    assert outcome in known | ({"stream-error"} if takes_streams else set())


def test_utf8_is_believed_over_a_charset_that_was_declared() -> None:
    headers = {"content-type": "application/json; charset=iso-8859-1"}
    reply = Reply(status=200, headers=headers, body='{"response": "café"}'.encode())
    assert reply_value(reply, url="http://h", mask=unmasked) == {"response": "café"}


def test_a_reply_with_a_key_twice_is_malformed_and_asked_for_once_more() -> None:
    reply = Reply(status=200, headers={}, body=b'{"response": "yes", "response": "no"}')
    with pytest.raises(TargetError, match="duplicate key in an object") as raised:
        reply_value(reply, url="http://a", mask=str)
    assert (raised.value.kind, raised.value.retry) == ("malformed-json", True)
