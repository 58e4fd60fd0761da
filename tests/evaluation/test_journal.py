"""The journal: what is written is read back, and what was damaged is told from what was not."""

from __future__ import annotations

import os
import resource
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework import (
    CharacterSpan,
    ContextCitation,
    Hit,
    InputError,
    Response,
    Score,
    SpanCitation,
    Usage,
)
from rag_evaluation_framework.errors import StorageError
from rag_evaluation_framework.records.citations import TokenSpanCitation
from rag_evaluation_framework.records.responses import Failure
from rag_evaluation_framework.records.runs import Progress, RunCounts, SampleResult, Timing, result_fields
from rag_evaluation_framework.records.scores import TIMING_METHOD
from rag_evaluation_framework.results.journal import (
    Journal,
    JournalEntry,
    entry_from,
    intact_entry,
    read_entries,
    read_index,
    written_entry,
)
from rag_evaluation_framework.structs import replace

TIMING = Timing(started_at="2026-11-15T10:00:00.000+00:00", attempts=2, elapsed_ms=12.5, latency_ms=3.25)

texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)
names = texts.filter(bool)
finite = st.floats(allow_nan=False, allow_infinity=False)
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | finite | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
mappings = st.dictionaries(texts, values, max_size=3)
starts = st.integers(0, 99)
ends = st.integers(100, 200)
citations = (
    st.builds(SpanCitation, names, starts, ends, st.none() | starts, st.none() | texts, extra=mappings)
    | st.builds(TokenSpanCitation, names, starts, ends, names)
    | st.builds(ContextCitation, st.integers(1, 99))
)
hits = st.builds(
    Hit,
    id=texts,
    score=st.none() | finite,
    span=st.none() | st.builds(CharacterSpan, names, starts, ends),
    text=st.none() | texts,
)
retrieved = st.just({"retrieved_nothing": True}) | st.lists(hits, max_size=2).map(
    lambda found: {"hits": tuple(found)}
)
answers = st.builds(
    lambda retrieved, **fields: Response(**retrieved, **fields),
    retrieved,
    text=st.none() | texts,
    contexts=st.lists(texts, max_size=2).map(tuple),
    context_origin=st.sampled_from([None, "system", "dataset"]),
    citations=st.lists(citations, max_size=3).map(tuple),
    usage=st.none() | st.builds(Usage, input_tokens=st.none() | starts, cost_usd=st.none() | finite),
    latency_ms=st.just(3.25),
    metadata=mappings,
)
failures = st.builds(
    Response,
    failure=st.builds(Failure, kind=names, message=texts),
    latency_ms=st.just(3.25),
    metadata=mappings,
)
scores = (
    st.builds(Score.scored, names, finite, method=names, details=mappings)
    | st.builds(Score.skipped, names, names, method=names)
    | st.builds(Score.failed, names, names, method=names)
)
results = st.builds(
    SampleResult,
    names,
    answers | failures,
    st.lists(scores, max_size=3, unique_by=lambda score: score.metric).map(tuple),
)


def result(number: int, text: str = "answer") -> SampleResult:
    return SampleResult(f"q{number}", Response(text=f"{text} {number}", latency_ms=3.25))


def line(number: int, text: str = "answer") -> bytes:
    return written_entry(JournalEntry(number, result(number, text), TIMING))[0]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.jsonl"


@given(results, st.integers(0, 10**9))
def test_an_entry_is_read_back_equal(written: SampleResult, index: int) -> None:
    entry = JournalEntry(index, written, TIMING)
    line, read = written_entry(entry)
    assert entry_from(intact_entry(line) or b"") == entry == read


@given(st.data())
def test_a_line_with_one_changed_byte_is_not_intact(data: st.DataObject) -> None:
    whole = line(1)
    place = data.draw(st.integers(0, len(whole) - 1))
    changed = data.draw(st.integers(0, 255).filter(lambda byte: byte != whole[place]))
    assert intact_entry(whole[:place] + bytes([changed]) + whole[place + 1 :]) is None


def test_times_are_not_among_what_must_be_the_same_in_every_run() -> None:
    slow, fast = (
        SampleResult(
            "q1",
            Response(text="yes", latency_ms=latency),
            (
                Score.scored("latency", latency, method=TIMING_METHOD),
                Score.scored("exact_match", 1.0, method="exact", details={"pair": (1, 2)}),
            ),
        )
        for latency in (2000.0, 1.0)
    )
    assert result_fields(slow) == result_fields(fast)
    line, read = written_entry(JournalEntry(0, slow, TIMING, blame=b"handed on"))
    kept = entry_from(intact_entry(line) or b"")
    assert [score.metric for score in kept.result.scores] == ["exact_match", "latency"]
    assert read == replace(kept, blame=b"handed on")


def test_a_torn_tail_is_tolerated_at_every_byte_and_cut_when_writing_goes_on(path: Path) -> None:
    first, second = line(0), line(1)
    for kept in range(len(second)):
        path.write_bytes(first + second[:kept])
        index = read_index(path, total=2)
        assert (index.done, index.end, index.torn_bytes) == (1, len(first), kept)
        assert index.problems == []
    Journal(path, end=index.end).close()
    assert path.read_bytes() == first


def test_a_tail_that_a_power_cut_filled_with_zeros_is_torn_too(path: Path) -> None:
    path.write_bytes(line(0) + b"\0" * 151)
    index = read_index(path, total=2)
    assert (index.done, index.torn_bytes, index.problems) == (1, 151, [])


@pytest.mark.parametrize(
    "last",
    [line(1).replace(b"answer", b"ANSWER"), line(1)[:-1] + b"\x0b", b"\0" * 100 + b"\n"],
    ids=["a flipped byte", "a flipped end", "zeros with an end"],
)
def test_a_last_line_that_was_whole_is_damaged_and_not_torn(path: Path, last: bytes) -> None:
    path.write_bytes(line(0) + last)
    index = read_index(path, total=2)
    assert [(issue.code, issue.line) for issue in index.problems] == [("damaged-line", 2)]
    assert (index.done, index.torn_bytes) == (1, 0)


def test_a_journal_that_is_something_else_is_told_in_a_bounded_number_of_issues(path: Path) -> None:
    path.write_bytes(b"x\n" * 1000)
    problems = read_index(path, total=1).problems
    assert (len(problems), problems[-1].found) == (101, "900 more problems")


def test_damage_in_the_middle_names_the_line_and_leaves_the_rest_readable(path: Path) -> None:
    path.write_bytes(line(0) + line(1).replace(b"answer", b"ANSWER") + line(2))
    index = read_index(path, total=3)
    assert [(issue.code, issue.file, issue.line) for issue in index.problems] == [
        ("damaged-line", str(path), 2)
    ]
    assert [entry.index for entry in read_entries(path, index.offsets)] == [0, 2]


def test_the_first_of_two_equal_lines_counts_and_nothing_is_said(path: Path) -> None:
    later = written_entry(JournalEntry(0, result(0), replace(TIMING, started_at="later")))[0]
    path.write_bytes(line(0) + line(1) + later)
    index = read_index(path, total=2)
    assert (index.done, index.problems) == (2, [])
    assert [entry.timing.attempts for entry in read_entries(path, index.offsets)] == [2, 2]


def test_two_different_results_for_one_sample_are_an_inconsistency_and_the_first_wins(path: Path) -> None:
    path.write_bytes(line(0) + line(0, "other"))
    index = read_index(path, total=1)
    assert [(issue.code, issue.line) for issue in index.problems] == [("inconsistent-journal", 2)]
    assert [entry.result.response.text for entry in read_entries(path, index.offsets)] == ["answer 0"]


def failed(index: int, kind: str) -> bytes:
    response = Response(failure=Failure(kind=kind, message="no"))
    failure = SampleResult(f"s{index}", response, result(index).scores)
    return written_entry(JournalEntry(index, failure, TIMING))[0]


def test_any_later_line_takes_the_place_of_a_failure_that_says_nothing_about_the_sample(path: Path) -> None:
    path.write_bytes(failed(0, "http-401") + failed(1, "http-401") + failed(0, "http-403") + line(0))
    index = read_index(path, total=2)
    assert (index.done, index.failed, index.reaskable) == (2, 1, {1})
    assert index.counts.before_resuming() == Progress(total=2, done=1, failed=0)
    assert index.problems == []
    texts = {entry.index: entry.result.response.text for entry in read_entries(path, index.offsets)}
    assert texts == {0: "answer 0", 1: None}


def test_a_failure_of_the_sample_itself_stays(path: Path) -> None:
    path.write_bytes(failed(0, "http-422") + line(0))
    assert [issue.code for issue in read_index(path, total=1).problems] == ["inconsistent-journal"]


def unjudged(index: int, text: str | None = None) -> SampleResult:
    """A result whose second score failed because a judge's endpoint did."""
    before = result(index) if text is None else result(index, text)
    failed = Score.failed("bias", "no verdict", method="judge", details={"endpoint_error": "http-503"})
    return SampleResult(before.sample_id, before.response, (*before.scores, failed))


def judged(index: int, text: str | None = None) -> SampleResult:
    before = unjudged(index, text)
    score = Score.scored("bias", 1.0, method="judge")
    return SampleResult(before.sample_id, before.response, (*before.scores[:-1], score))


def test_scores_made_again_for_the_same_answer_take_the_place_of_those_that_an_endpoint_failed(
    path: Path,
) -> None:
    first = [written_entry(JournalEntry(n, unjudged(n), TIMING))[0] for n in range(3)]
    path.write_bytes(b"".join(first))
    assert read_index(path, total=3).rescorable == {0, 1, 2}
    again = [written_entry(JournalEntry(n, judged(n), TIMING))[0] for n in (0, 2)]
    path.write_bytes(b"".join(first + again))
    index = read_index(path, total=3)
    assert (index.done, index.problems, index.rescorable) == (3, [], {1})
    values = {entry.index: entry.result.scores[-1].value for entry in read_entries(path, index.offsets)}
    assert values == {0: 1.0, 1: None, 2: 1.0}


@pytest.mark.parametrize(
    ("before", "after"),
    [(unjudged(0), judged(0, "another answer")), (judged(0), unjudged(0))],
    ids=["another answer", "scores that were there"],
)
def test_nothing_else_may_be_said_of_a_sample_twice(
    path: Path, before: SampleResult, after: SampleResult
) -> None:
    path.write_bytes(b"".join(written_entry(JournalEntry(0, each, TIMING))[0] for each in (before, after)))
    index = read_index(path, total=1)
    assert [issue.code for issue in index.problems] == ["inconsistent-journal"]
    assert [entry.result for entry in read_entries(path, index.offsets)] == [before]


def test_details_of_any_shape_in_a_failed_score_are_no_damage(path: Path) -> None:
    odd = Score.failed("odd", "broke", method="t", details={"endpoint_error": None, "more": [1]})
    failed = SampleResult("s", Response(text="a"), (odd,))
    path.write_bytes(written_entry(JournalEntry(0, failed, TIMING))[0])
    index = read_index(path, total=1)
    assert (index.done, index.problems, index.rescorable) == (1, [], set())


def test_entries_come_in_the_order_of_the_dataset(path: Path) -> None:
    path.write_bytes(line(2) + line(0) + line(1))
    index = read_index(path, total=4)
    assert [entry.index for entry in read_entries(path, index.offsets)] == [0, 1, 2]


def test_an_intact_line_of_a_form_we_do_not_know_is_damage_or_a_clear_error(path: Path) -> None:
    import zlib

    def checked(content: bytes) -> bytes:
        return b'{"crc32":"%08x","entry":%s}\n' % (zlib.crc32(content), content)

    path.write_bytes(checked(b'{"other":1}') + line(1))
    assert [issue.line for issue in read_index(path, total=2).problems] == [1]
    newer = line(0)[len('{"crc32":"12345678","entry":') : -2].replace(b'"attempts"', b'"tries":1,"attempts"')
    path.write_bytes(checked(newer))
    with pytest.raises(InputError, match="in the form of this version"):
        list(read_entries(path, read_index(path, total=1).offsets))


def test_nothing_is_written_after_the_journal_is_closed(path: Path) -> None:
    journal = Journal(path, end=0)
    journal.append(line(0))
    journal.close()
    journal.close()
    with pytest.raises(StorageError, match="the run has ended"):
        journal.append(line(1))
    assert path.read_bytes() == line(0)


def test_a_journal_that_is_not_there_is_empty_and_its_file_is_no_program(path: Path) -> None:
    index = read_index(path, total=3)
    assert (index.done, index.metrics, list(read_entries(path, [0]))) == (0, None, [])
    (path.parent / "folder.jsonl").mkdir()
    with pytest.raises(StorageError, match="expected a file, got the folder"):
        read_index(path.parent / "folder.jsonl", total=3)
    free = os.dup(0)
    os.close(free)
    Journal(path, end=0).close()
    assert path.stat().st_mode & 0o111 == 0
    again = os.dup(0)
    os.close(again)
    assert again == free, "the file was closed"


def test_lines_count_what_was_spent_how_long_it_took_and_the_first_ones_metrics(path: Path) -> None:
    entries = [
        SampleResult(
            f"q{n}",
            Response(text="yes", usage=Usage(input_tokens=10 + n, output_tokens=n)),
            (Score.scored(metric, 1.0, method="t", details={"endpoint_error": "none of a failure"}),),
        )
        for n, metric in enumerate(("first", "second"))
    ]
    lines = [
        written_entry(JournalEntry(n, each, replace(TIMING, run_seconds=seconds)))[0]
        for (n, each), seconds in zip(enumerate(entries), (7.5, 2.5), strict=True)
    ]
    path.write_bytes(b"".join(lines))
    index = read_index(path, total=2)
    assert (index.seconds, index.metrics, index.rescorable) == (7.5, {"first"}, set())
    assert (index.usage.input_tokens, index.usage.output_tokens) == (21, 1)
    assert index.counts == RunCounts(total=2, done=2, failed=0, rescorable=0, reaskable=0)


@pytest.mark.parametrize("size", [2**16 - 300, 2**16, 2**16 + 1, 200_000])
def test_an_answer_of_any_length_is_one_line(path: Path, size: int) -> None:
    written = [result(0), SampleResult("q1", Response(text="x" * size)), result(2)]
    lines = [written_entry(JournalEntry(n, each, TIMING))[0] for n, each in enumerate(written)]
    path.write_bytes(b"".join(lines) + lines[1][:-9])
    index = read_index(path, total=3)
    assert (index.problems, index.torn_bytes) == ([], len(lines[1]) - 9)
    texts = [entry.result.response.text for entry in read_entries(path, index.offsets)]
    assert texts == [each.response.text for each in written]


def test_a_line_longer_than_any_of_ours_is_damage_and_never_torn(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag_evaluation_framework.results.journal._LONGEST_LINE", 2**17)
    begun = line(1)[:-2].ljust(2**18, b"x")
    for size, torn in ((2**17 - 1, True), (2**17, False), (2**17 + 1, False), (2**18, False)):
        path.write_bytes(line(0) + begun[:size])
        index = read_index(path, total=2)
        assert (index.torn_bytes, len(index.problems)) == ((size, 0) if torn else (0, 1))
    path.write_bytes(line(0) + begun + b"\n" + line(1))
    index = read_index(path, total=2)
    assert ([issue.line for issue in index.problems], index.done) == ([2], 2)


def test_a_line_of_a_sample_that_there_is_none_is_damage(path: Path) -> None:
    path.write_bytes(line(0) + line(2))
    assert [issue.line for issue in read_index(path, total=2).problems] == [2]
    assert read_index(path, total=3).problems == []


def test_what_was_damaged_since_the_journal_was_read_is_told_when_it_is_read_again(path: Path) -> None:
    path.write_bytes(line(0) + line(1))
    offsets = read_index(path, total=2).offsets
    path.write_bytes(line(0) + line(1).replace(b"answer", b"ANSWER"))
    with pytest.raises(InputError, match="expected an intact line of a journal"):
        list(read_entries(path, offsets))


def test_of_a_line_that_the_disk_takes_in_part_nothing_remains(path: Path) -> None:
    journal, limits = Journal(path, end=0), resource.getrlimit(resource.RLIMIT_FSIZE)
    journal.append(line(0))
    journal.append(line(1))
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 20, limits[1]))
        with pytest.raises(StorageError, match="File too large"):
            journal.append(line(2))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == line(0) + line(1)
    journal.append(line(2))
    journal.close()
    assert path.read_bytes() == line(0) + line(1) + line(2)
