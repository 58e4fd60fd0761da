"""Whatever can be wrong is found before the first request, with its line; what a run takes is counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import tables_beside
from rag_evaluation_framework import InputError, Milestones, Refusal, Sample, Turn, UsageError
from rag_evaluation_framework.errors import StorageError
from rag_evaluation_framework.evaluation.manifest import Manifest, read_manifest
from rag_evaluation_framework.evaluation.missing_fields import MissingFields, lacks
from rag_evaluation_framework.evaluation.plan import (
    Selection,
    plan_evaluation,
    refuse_secrets,
    select_samples,
)
from rag_evaluation_framework.evaluation.scoring import scorer_for
from rag_evaluation_framework.evaluation.secrets import Secrets
from rag_evaluation_framework.files.atomic import check_writable
from rag_evaluation_framework.records.runs import SampleChoice
from rag_evaluation_framework.records.samples import Origin, Recorded
from rag_evaluation_framework.structs import replace

TABLES = tables_beside(__file__)


def manifest_of(
    folder: Path,
    records: list[dict[str, Any]],
    *,
    metrics: str = "[string_match]",
    thresholds: str = "{pass_rate: 0.5}",
    gate: bool = False,
) -> Manifest:
    lines = "".join(json.dumps(record) + "\n" for record in records)
    (folder / "data.jsonl").write_text(lines, encoding="utf-8")
    (folder / "agent.yaml").write_text(
        "spec:\n  evaluation:\n    datasets:\n"
        f"      - {{name: d, path: data.jsonl, metrics: {metrics}}}\n"
        f"    thresholds: {thresholds}\n"
        f"    ciGate: {str(gate).lower()}\n"
    )
    return read_manifest(folder / "agent.yaml")


def sample(line: int, **fields: Any) -> Sample:
    given = {"turns": (Turn(role="user", content="q"),)} | fields
    return Sample(id=f"s{line}", origin=Origin("agent-samples", "evals/rag.jsonl", line), **given)


def test_missing_fields_are_named_by_field_metric_and_line() -> None:
    missing = MissingFields([scorer_for("context_recall")], file="evals/rag.jsonl")
    whole = {"recorded": Recorded(contexts=("c",)), "reference_contexts": ("r",)}
    for line in range(1, 12):
        without = {3: "reference_contexts", 5: "recorded", 6: "recorded", 7: "recorded", 11: "recorded"}.get(
            line
        )
        missing.look_at(sample(line, **{name: value for name, value in whole.items() if name != without}))
    assert [str(issue) for issue in missing.issues()] == [
        "evals/rag.jsonl:5: context: expected context in every sample for context_recall, "
        "got 4 of 11 without: lines 5–7, 11",
        "evals/rag.jsonl:3: reference_contexts: expected reference_contexts in every sample for "
        "context_recall, got 1 of 11 without: line 3",
    ]


def test_a_sample_that_expects_a_refusal_does_not_lack_an_expected_answer() -> None:
    assert lacks(sample(1), "reference")
    assert lacks(sample(1, reference="  "), "reference")
    assert not lacks(sample(1, reference="a"), "reference")
    assert not lacks(sample(1, expectation=Refusal()), "reference")
    assert lacks(sample(1, recorded=Recorded(contexts=(" ",))), "contexts")


def test_a_declared_metric_whose_field_is_missing_is_found_before_the_first_request(tmp_path: Path) -> None:
    records = [
        {"input": "a", "expected": "b"},
        {"input": "a2", "expected": " "},
        {"input": "a3", "expected": ""},
    ]
    manifest = manifest_of(tmp_path, records)
    with pytest.raises(InputError) as caught:
        plan_evaluation(manifest)
    assert f"{tmp_path / 'data.jsonl'}:2: expected: " in str(caught.value)
    assert "for string_match, got 2 of 3 without: lines 2–3" in str(caught.value)
    assert str(caught.value).endswith("; to score the others, add --allow-missing")
    plan = plan_evaluation(manifest, choice=SampleChoice(allow_missing=True))
    assert plan.samples == 3
    assert plan.warnings[0].count("--allow-missing") == 1


def test_metrics_that_are_not_available_are_all_named(tmp_path: Path) -> None:
    manifest = manifest_of(tmp_path, [{"input": "a", "expected": "b"}])
    with pytest.raises(UsageError) as caught:
        plan_evaluation(manifest, metrics=["precision_omega", "bleuu", "chrf", "rouge(variant=rougeX)"])
    assert str(caught.value).splitlines() == [
        "metric precision_omega needs all chunks of a corpus. Use rag-eval retrieval",
        'unknown metric "bleuu". Did you mean "bleu"? List all: rag-eval list metrics',
        'unknown variant of rouge "rougeX". Did you mean "rougeL" or "rouge2" or "rouge1"?',
    ]


def test_metrics_given_replace_those_of_the_manifest(tmp_path: Path) -> None:
    manifest = manifest_of(tmp_path, [{"input": "a", "expected": "b"}], metrics="[faithfulness]")
    plan = plan_evaluation(manifest, metrics=["token_f1", "token_f1"])
    assert [scorer.name for scorer in plan.datasets[0].scorers] == ["token_f1"]


@pytest.mark.parametrize("metric", ["rouge", "rouge(variant=rougeL)", "rouge( )"])
@pytest.mark.parametrize("threshold", ["rouge", "rouge(variant=rougeL)", "rouge( variant = 'rougeL' )"])
def test_a_threshold_is_held_by_its_metric_whichever_way_the_two_are_spelt(
    tmp_path: Path, metric: str, threshold: str
) -> None:
    records = [{"input": "a", "expected": "b"}]
    manifest = manifest_of(
        tmp_path, records, metrics=f'["{metric}"]', thresholds=f'{{"{threshold}": 0.5, pass_rate: 0.5}}'
    )
    plan = plan_evaluation(manifest)
    (dataset,) = plan.datasets
    assert [scorer.name for scorer in dataset.scorers] == ["rouge"]
    assert [threshold.metric for threshold in dataset.thresholds] == ["rouge", "pass_rate"]
    assert plan.warnings == ()


def test_a_threshold_that_no_dataset_is_scored_by_is_an_error_with_its_line_and_the_nearest_names(
    tmp_path: Path,
) -> None:
    records = [{"input": "a", "expected": "b"}]
    manifest = manifest_of(tmp_path, records, thresholds="{exact_match: 0.5, latency: 9}")
    with pytest.raises(InputError) as caught:
        plan_evaluation(manifest)
    expected = f"{tmp_path / 'agent.yaml'}:5: thresholds: expected a metric of a dataset"
    assert [str(issue) for issue in caught.value.issues] == [
        f"{expected} (string_match, pass_rate), got exact_match, which is not measured. Add -m exact_match",
        f"{expected} (pass_rate, string_match), got latency, which is not measured. Add -m latency",
    ]
    assert plan_evaluation(manifest, metrics=["latency", "exact_match"]).left_out == ()


def test_thresholds_that_a_narrowed_run_does_not_measure_are_left_out(tmp_path: Path) -> None:
    records = [{"input": "a", "expected": "b"}]
    manifest = manifest_of(tmp_path, records, thresholds="{string_match: 0.5}")
    assert plan_evaluation(manifest).left_out == ()
    assert list(map(str, plan_evaluation(manifest, metrics=["chrf"]).left_out)) == ["string_match >= 0.5"]


def test_thresholds_of_a_dataset_replace_the_global_ones_there(tmp_path: Path) -> None:
    manifest_of(tmp_path, [{"input": "a", "expected": "b"}])
    path = tmp_path / "agent.yaml"
    path.write_text(
        "spec:\n  evaluation:\n    metrics: [string_match, chrf]\n    datasets:\n"
        "      - {name: d, path: data.jsonl, thresholds: {string_match: 0.9}}\n"
        "      - {name: e, path: data.jsonl}\n"
        "    thresholds: {string_match: 0.5, chrf: 0.2}\n    ciGate: true\n"
    )
    plan = plan_evaluation(read_manifest(path))
    assert [list(map(str, dataset.thresholds)) for dataset in plan.datasets] == [
        ["d:string_match >= 0.9"],
        ["string_match >= 0.5", "chrf >= 0.2"],
    ]
    narrowed = plan_evaluation(read_manifest(path), datasets=["e"])
    assert list(map(str, narrowed.left_out)) == ["d:string_match >= 0.9"]


def test_calls_tokens_and_cost_are_counted(tmp_path: Path) -> None:
    # 8 + 4 bytes of questions are 3 tokens, 4 + 5 bytes of expected answers (é has two) 3 tokens.
    records = [{"input": "12345678", "expected": "1234"}, {"input": "1234", "expected": "123é"}]
    plan = plan_evaluation(manifest_of(tmp_path, records))
    assert (plan.samples, plan.calls, plan.usage.input_tokens, plan.usage.output_tokens) == (2, 2, 3, 3)


def test_a_malformed_line_stops_the_plan_with_every_problem_of_the_file(tmp_path: Path) -> None:
    manifest = manifest_of(tmp_path, [{"input": "a", "expected": "b"}])
    with (tmp_path / "data.jsonl").open("a") as file:
        file.write('{"input": 3, "expected": "x"}\nnot json\n')
    with pytest.raises(InputError) as caught:
        plan_evaluation(manifest)
    assert {issue.line for issue in caught.value.issues} == {2, 3}


def test_a_sample_that_holds_a_secret_is_refused_by_its_line_without_showing_it(tmp_path: Path) -> None:
    records = [{"input": "a", "expected": "b"}, {"input": "my key is s3cret-value", "expected": "b"}]
    secrets = Secrets()
    plan = plan_evaluation(manifest_of(tmp_path, records))
    refuse_secrets(plan, secrets)
    secrets.add("s3cret-value")
    with pytest.raises(InputError) as caught:
        refuse_secrets(plan, secrets)
    assert "data.jsonl:2: expected samples without secrets" in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_write_access_is_checked_on_the_nearest_folder_that_exists(tmp_path: Path) -> None:
    check_writable([tmp_path / "a" / "b"])
    assert not (tmp_path / "a").exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot write"):
        check_writable([tmp_path / "file" / "runs"])


@pytest.mark.parametrize(
    ("metric", "needs", "remedy"),
    [
        ("bias", "needs a judge", "use --judge-model"),
        (
            "answer_relevancy",
            "needs an embedding model or a judge",
            "give --embedder EMBEDDER, or use --judge-model",
        ),
    ],
)
def test_a_metric_that_only_a_model_can_measure_is_a_problem_under_the_gate_and_says_how_to_get_one(
    tmp_path: Path, metric: str, needs: str, remedy: str
) -> None:
    records = [{"input": "a", "expected": "b"}]
    gated = manifest_of(tmp_path, records, metrics=f"[{metric}]", gate=True)
    with pytest.raises(InputError, match=f"{metric}: {needs}, or no gate: {remedy}"):
        plan_evaluation(gated)
    open_gate = manifest_of(tmp_path, records, metrics=f"[{metric}]")
    (dataset,) = plan_evaluation(open_gate).datasets
    assert dataset.scorers[0].method == f"not scored: {needs}"


@pytest.mark.parametrize(
    ("metric", "field"), TABLES["what_plain_samples_do_not_have_is_told_before_the_first_request"]
)
def test_what_plain_samples_do_not_have_is_told_before_the_first_request(
    tmp_path: Path, metric: str, field: str
) -> None:
    records = [{"input": "a", "expected": "b", "context": ["c"]}]
    with pytest.raises(InputError) as caught:
        plan_evaluation(manifest_of(tmp_path, records, metrics=f'["{metric}"]'))
    (issue,) = caught.value.issues
    assert (issue.path, issue.found) == (field, "1 of 1 without: line 1")


def test_a_sample_that_has_what_a_golden_metric_needs_does_not_lack_it() -> None:
    assert lacks(sample(1, expectation=Milestones(steps=("a",))), "hops")
    assert not lacks(sample(1, expectation=Milestones(steps=("a",), hops=2)), "hops")
    answered = (Turn(role="user", content="q"), Turn(role="assistant", reference="r"))
    assert not lacks(sample(1, turns=answered), "turns")
    assert not lacks(sample(1, turns=answered), "reference")
    for field in ("hops", "turns", "relevant_documents", "relevant_chunk_ids"):
        assert not lacks(sample(1, expectation=Refusal()), field)


def test_samples_of_one_line_are_named_by_their_ids_and_the_systems_contexts_are_offered() -> None:
    missing = MissingFields([scorer_for("context_recall")], file="set.eval.json")
    for number in range(1, 8):
        asked = sample(1, reference_contexts=("r",))
        missing.look_at(replace(asked, id=f"q{number}"))
    (issue,) = missing.refusals()
    assert str(issue) == (
        "set.eval.json: context: expected context in every sample for context_recall, got "
        "7 of 7 without: q1, q2, q3, q4, q5 and 2 more; "
        "to use the agent's contexts, add --allow-missing"
    )


# Which samples a run is over: tags first, then a seeded draw that keeps the order of the file.


def samples(number: int) -> list[Sample]:
    return [
        Sample(
            id=f"s{n}",
            turns=(Turn(role="user", content=f"q{n}"),),
            tags=tuple(tag for tag, every in (("even", 2), ("third", 3)) if n % every == 0),
        )
        for n in range(number)
    ]


def chosen(selection: Selection) -> list[str]:
    return [sample.id for sample in selection()]


def test_any_of_several_tags_is_enough() -> None:
    selection = select_samples(lambda: iter(samples(8)), tags=["even", "third"])
    assert chosen(selection) == chosen(selection) == ["s0", "s2", "s3", "s4", "s6"]
    assert (selection.n_in_file, selection.n_matching) == (8, 5)


@given(st.integers(1, 40), st.integers(1, 50), st.integers(0, 5), st.booleans())
def test_a_draw_is_of_the_size_without_replacement_in_file_order_and_among_the_tagged(
    number: int, size: int, seed: int, tagged: bool
) -> None:
    tags = ["even"] if tagged else []
    candidates = [sample.id for sample in samples(number) if not tagged or "even" in sample.tags]
    selection = select_samples(lambda: iter(samples(number)), tags=tags, sample_size=size, seed=seed)
    drawn = chosen(selection)
    assert len(drawn) == len(selection) == min(size, len(candidates))
    assert drawn == [identifier for identifier in candidates if identifier in set(drawn)]


def test_the_seed_decides_the_draw_and_the_order_of_the_file_does_not() -> None:
    draws = {
        seed: chosen(select_samples(lambda: iter(samples(100)), sample_size=20, seed=seed)) for seed in (0, 1)
    }
    assert draws[0] != draws[1]
    again = select_samples(lambda: iter(samples(100)), sample_size=20)
    backwards = select_samples(lambda: iter(samples(100)[::-1]), sample_size=20)
    assert chosen(again) == draws[0]
    assert set(chosen(backwards)) == set(draws[0])


def test_a_larger_draw_holds_the_smaller_one() -> None:
    small = chosen(select_samples(lambda: iter(samples(50)), sample_size=5))
    large = chosen(select_samples(lambda: iter(samples(50)), sample_size=25))
    assert set(small) < set(large)


def test_every_sample_is_drawn_about_as_often_as_any_other() -> None:
    counts = dict.fromkeys((f"s{n}" for n in range(20)), 0)
    for seed in range(1000):
        for identifier in chosen(select_samples(lambda: iter(samples(20)), sample_size=5, seed=seed)):
            counts[identifier] += 1
    # 1,000 draws of a quarter: 250 each, with a standard deviation of 13.7.
    assert all(190 < count < 310 for count in counts.values())


def test_a_dataset_without_a_sample_is_an_error() -> None:
    with pytest.raises(InputError, match="expected one or more samples, got an empty file"):
        select_samples(lambda: iter([]))
