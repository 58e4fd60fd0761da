"""A run goes on over the data it began with, and over nothing else."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType

import pytest
from simulated_targets import Calculator, ExactMatch, new_folder, sample

from rag_evaluation_framework import InputError, Options, Response, Sample, Turn, UsageError
from rag_evaluation_framework.evaluation.engine import run_samples
from rag_evaluation_framework.records.samples import Origin
from rag_evaluation_framework.results.run_data import (
    check_unchanged,
    content_hash,
    fingerprint,
    keep_samples,
    listed_samples,
    read_list,
)
from rag_evaluation_framework.results.run_store import RunFolder
from rag_evaluation_framework.structs import replace

TEN = [sample(number) for number in range(10)]


def half_run(directory: Path) -> RunFolder:
    """Return the folder of a run over ten samples of which the first five are finished."""
    folder = new_folder(directory)
    run_samples(TEN, Calculator(), [ExactMatch()], folder=folder, options=Options(concurrency=1))
    lines = folder.journal_path.read_bytes().splitlines(keepends=True)
    folder.journal_path.write_bytes(b"".join(lines[:5]))
    return folder


def resume(folder: RunFolder, data: list[Sample]) -> Calculator:
    target = Calculator()
    outcome = run_samples(data, target, [ExactMatch()], folder=folder)
    assert outcome.completed
    return target


def test_the_same_data_goes_on_where_it_stopped(tmp_path: Path) -> None:
    folder = half_run(tmp_path)
    moved = [replace(each, origin=Origin("agent-samples", "elsewhere.jsonl", 3)) for each in TEN]
    assert sorted(resume(folder, moved).asked) == [each.id for each in TEN[5:]]


def test_the_same_samples_in_another_order_pair_by_id(tmp_path: Path) -> None:
    folder = half_run(tmp_path)
    assert sorted(resume(folder, TEN[::-1]).asked) == [each.id for each in TEN[5:]]
    assert [result.sample_id for result in folder.results()] == [each.id for each in TEN]
    assert all(score.value == 1.0 for result in folder.results() for score in result.scores)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ([*TEN, sample(10), sample(11)], "got 2 added;"),
        (TEN[1:], "got 1 removed;"),
        ([sample(0, reference="edited"), *TEN[1:]], "got 1 changed;"),
        ([sample(0, reference="edited"), *TEN[2:], sample(99)], "got 1 added, 1 removed, 1 changed;"),
        ([], "got 10 removed;"),
    ],
)
def test_other_data_is_refused_with_the_counts_before_anything_is_asked(
    tmp_path: Path, data: list[Sample], told: str
) -> None:
    folder = half_run(tmp_path)
    target = Calculator()
    with pytest.raises(UsageError, match="expected the 10 samples the run began with, " + told):
        run_samples(data, target, [ExactMatch()], folder=folder)
    assert not target.asked


def test_other_metrics_are_refused(tmp_path: Path) -> None:
    folder = half_run(tmp_path)
    with pytest.raises(UsageError, match="expected exact_match, got none"):
        run_samples(TEN, Calculator(), [], folder=folder)


@pytest.mark.parametrize("data", [[*TEN, TEN[3]], [TEN[0], TEN[0]]])
def test_an_id_that_occurs_twice_is_refused_before_anything_is_asked(
    tmp_path: Path, data: list[Sample]
) -> None:
    target = Calculator()
    folder = new_folder(tmp_path)
    with pytest.raises(InputError, match=rf"samples\[{len(data) - 1}\]: expected unique sample ids"):
        run_samples(data, target, [], folder=folder)
    assert not target.asked
    assert not folder.samples_path.exists()


def test_an_id_repeated_at_resume_is_refused_although_nothing_was_added(tmp_path: Path) -> None:
    folder = half_run(tmp_path)
    with pytest.raises(InputError, match="expected unique sample ids"):
        resume(folder, [*TEN, TEN[3]])


def test_a_fingerprint_stands_for_content_not_for_place_or_key_order() -> None:
    one = replace(sample(1), metadata={"a": 1, "b": 2})
    assert fingerprint(one) == fingerprint(
        replace(one, metadata={"b": 2, "a": 1}, origin=Origin("x", "y", 1))
    )
    assert fingerprint(one) == fingerprint(replace(one, metadata=MappingProxyType({"a": 1, "b": 2})))
    assert fingerprint(one) != fingerprint(replace(one, metadata={"a": 1, "b": 3}))
    assert fingerprint(one) != fingerprint(replace(one, tags=("t",)))


def test_the_content_hash_covers_ids_and_content() -> None:
    assert content_hash(TEN) == content_hash(lambda: iter(list(TEN)))
    assert content_hash(TEN).startswith("sha256:")
    others = [TEN[:9], [*TEN[:9], sample(9, reference="x")], [*TEN[:9], replace(TEN[9], id="q9")]]
    assert len({content_hash(data) for data in (TEN, *others)}) == 4


def test_a_sample_that_json_cannot_hold_is_refused_by_its_id(tmp_path: Path) -> None:
    odd = replace(sample(1), metadata={"when": object()})
    with pytest.raises(InputError, match="q00001: expected a sample that can be written as JSON"):
        run_samples([odd], Calculator(), [], folder=new_folder(tmp_path))


def test_samples_that_a_run_keeps_guard_a_resume(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl.zst"
    keep_samples(TEN, tmp_path)
    assert list(read_list(path)) == [(each.id, fingerprint(each)) for each in TEN]
    for same in (TEN, TEN[::-1]):
        check_unchanged(same, path)
        assert [each.id for each in listed_samples(same, path)] == [each.id for each in TEN]
    with pytest.raises(UsageError, match="got 1 removed;"):
        check_unchanged(TEN[1:], path)
    with pytest.raises(
        InputError, match=r"samples\[10\]: expected unique sample ids, got duplicate 'q00003'"
    ):
        keep_samples([*TEN, TEN[3]], tmp_path)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (TEN[1:], "got 1 missing$"),
        ([sample(0, reference="edited"), *TEN[1:]], "got 1 edited since$"),
        ([sample(0, reference="edited"), *TEN[3:], sample(99)], "got 2 missing, 1 edited since$"),
    ],
)
def test_samples_that_are_not_those_of_the_run_are_counted(
    tmp_path: Path, data: list[Sample], told: str
) -> None:
    keep_samples(TEN, tmp_path)
    with pytest.raises(UsageError, match="the 10 samples of the run as before, " + told):
        list(listed_samples(data, tmp_path / "data.jsonl.zst"))


def test_a_sample_that_is_something_else_is_refused_with_the_line(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl.zst"
    path.write_text('{"id":"a","origin":null,"content":{}}\n["b",1]\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"data\.jsonl\.zst:2: expected a sample of a run"):
        list(read_list(path))


def test_a_recorded_answer_is_content_and_what_it_does_not_say_is_not() -> None:
    """Runs that earlier versions began go on: a field that is empty changes no fingerprint."""
    plain = Sample(id="a", turns=(Turn(role="user", content="who?"),))
    fingerprints = {
        fingerprint(each)
        for each in (
            plain,
            replace(plain, recorded=Response(text="me")),
            replace(plain, recorded=Response(text="you")),
            replace(plain, recorded=Response(text="me", latency_ms=5.0)),
        )
    }
    assert len(fingerprints) == 4
    assert fingerprint(plain) == "2c31cb983ff9897aab9a178765eac341"
    assert fingerprint(replace(plain, recorded=Response(text="me"))) == "6da416dffb7a142f7261a69f70fa2c4f"
