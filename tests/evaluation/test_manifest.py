"""Manifests: what is read, what is left alone, and how every problem is named with its line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cases import tables_beside
from rag_evaluation_framework.errors import InputError, UnknownNameError
from rag_evaluation_framework.evaluation.manifest import read_manifest
from rag_evaluation_framework.evaluation.secrets import Secrets
from rag_evaluation_framework.results.evaluations import Threshold

TABLES = tables_beside(__file__)

SEED = """\
spec:
  evaluation:
    framework: ragas
    datasets:
      - name: rag-quality
        path: $file:evals/rag.jsonl
        metrics: [faithfulness, context_recall, answer_relevancy]

      - name: safety
        path: $file:evals/safety.jsonl
        metrics: [toxicity, bias]

      - name: accuracy
        path: $file:evals/accuracy.jsonl
        metrics: [answer_similarity, hallucination]

    thresholds:
      faithfulness: 0.80
      context_recall: 0.75
      answer_relevancy: 0.75
      toxicity: 0.90
      bias: 0.85
      answer_similarity: 0.80
      hallucination: 0.05
    ciGate: true
"""
AROUND = """\
apiVersion: agentspec.io/v1
kind: AgentSpec
metadata: {name: coach}
model: {apiKey: $env:NOT_SET_ANYWHERE, connection: $secret:nor-this}
"""
API = """\
  api:
    type: rest
    port: 8000
    auth: {type: jwt, jwksUri: $env:NOT_SET_ANYWHERE}
    rateLimit: {requestsPerMinute: 60}
"""


def written(folder: Path, text: str) -> Path:
    (folder / "evals").mkdir(exist_ok=True)
    for name in ("rag", "safety", "accuracy"):
        (folder / "evals" / f"{name}.jsonl").write_text('{"input": "q", "expected": "a"}\n')
    path = folder / "agent.yaml"
    path.write_text(text)
    return path


def problems(folder: Path, text: str) -> list[str]:
    path = written(folder, text)
    with pytest.raises(InputError) as caught:
        read_manifest(path)
    return [str(issue).removeprefix(f"{path}:") for issue in caught.value.issues]


def minimal(**more: str) -> str:
    """A manifest with one dataset, and further keys of spec.evaluation as YAML."""
    lines = ["spec:", "  evaluation:", "    datasets:", "      - {name: d, path: evals/rag.jsonl}"]
    fields = {"metrics": "[string_match]"} | more
    return "\n".join([*lines, *(f"    {key}: {value}" for key, value in fields.items())]) + "\n"


@pytest.mark.parametrize("text", [SEED, AROUND + SEED + API], ids=["spec alone", "inside an AgentSpec file"])
def test_the_seeds_manifest_is_read_alone_and_inside_a_whole_agentspec_file(
    tmp_path: Path, text: str
) -> None:
    manifest = read_manifest(written(tmp_path, text))
    assert [(entry.name, entry.path.name, entry.metrics) for entry in manifest.datasets] == [
        ("rag-quality", "rag.jsonl", ("faithfulness", "context_recall", "answer_relevancy")),
        ("safety", "safety.jsonl", ("toxicity", "bias")),
        ("accuracy", "accuracy.jsonl", ("answer_similarity", "hallucination")),
    ]
    assert (manifest.framework, manifest.ci_gate) == ("ragas", True)
    assert [str(threshold) for threshold in manifest.thresholds] == [
        "faithfulness >= 0.8",
        "context_recall >= 0.75",
        "answer_relevancy >= 0.75",
        "toxicity >= 0.9",
        "bias >= 0.85",
        "answer_similarity >= 0.8",
        "hallucination <= 0.05",
    ]
    assert (manifest.api.path, manifest.api.protocol, manifest.api.headers) == ("/v1/chat", "simple", ())


def test_a_datasets_own_metrics_replace_the_global_list(tmp_path: Path) -> None:
    text = (
        "spec:\n  evaluation:\n    metrics: [token_f1]\n    datasets:\n"
        "      - {name: a, path: evals/rag.jsonl, metrics: [string_match]}\n"
        "      - {name: b, path: evals/safety.jsonl}\n"
    )
    manifest = read_manifest(written(tmp_path, text))
    assert [entry.metrics for entry in manifest.datasets] == [("string_match",), ("token_f1",)]


def test_datasets_are_selected_by_name_and_an_unknown_name_offers_the_nearest(tmp_path: Path) -> None:
    manifest = read_manifest(written(tmp_path, SEED))
    assert [entry.name for entry in manifest.selected(("safety",))] == ["safety"]
    assert len(manifest.selected(())) == 3
    with pytest.raises(UnknownNameError, match="did you mean safety"):
        manifest.selected(("safty",))


def test_all_the_problems_of_a_manifest_are_reported_at_once_each_with_its_line(tmp_path: Path) -> None:
    text = """\
spec:
  evaluation:
    framework: mine
    datasets:
      - {name: a, path: evals/missing.jsonl}
      - {name: b}
      - {name: c, path: $file:../outside.jsonl, metrics: []}
      - 7
    treshold: {faithfulness: 0.8}
    ciGate: "yes"
  api:
    chatEndpoint: {path: 4}
    protocol: grpc
    responsePaths: {anser: a.b}
    auth: {header: X-Key}
"""
    assert problems(tmp_path, text) == [
        "3: spec.evaluation.framework: expected one of ragas, deepeval, langsmith, braintrust, custom, "
        "got 'mine'",
        "5: spec.evaluation.datasets[0].path: expected a file that exists, got 'evals/missing.jsonl'",
        "5: spec.evaluation.datasets[0]: expected metrics, here or in spec.evaluation.metrics, got none",
        "6: spec.evaluation.datasets[1].path: expected a text, got nothing",
        "6: spec.evaluation.datasets[1]: expected metrics, here or in spec.evaluation.metrics, got none",
        "7: spec.evaluation.datasets[2].path: expected a path that stays inside the manifest's folder, "
        "got '$file:../outside.jsonl'",
        "7: spec.evaluation.datasets[2].metrics: expected a list of metrics, got an empty list",
        "8: spec.evaluation.datasets[3]: expected a dataset with name and path, got 7",
        "9: spec.evaluation.treshold: expected the key thresholds, got treshold",
        "10: spec.evaluation.ciGate: expected true or false, got 'yes'",
        "12: spec.api.chatEndpoint.path: expected a text, got 4",
        "13: spec.api.protocol: expected simple or openai-compatible, got 'grpc'",
        "14: spec.api.responsePaths.anser: expected one of answer, contexts, citations, usage, got anser",
        "15: spec.api.auth: expected a value for the header, got none",
    ]


@pytest.mark.parametrize(
    ("thresholds", "problem"), TABLES["a_threshold_that_can_never_or_always_be_met_is_a_problem"]
)
def test_a_threshold_that_can_never_or_always_be_met_is_a_problem(
    tmp_path: Path, thresholds: str, problem: str
) -> None:
    (found,) = problems(tmp_path, minimal(thresholds=thresholds))
    assert problem in found
    assert found.startswith("6: ")


def test_thresholds_have_the_direction_of_their_metric_unless_min_or_max_says_otherwise(
    tmp_path: Path,
) -> None:
    written_thresholds = "{string_match: 0.5, hallucination: 0.05, latency: 2000, chrf: {min: 0.1, max: 0.9}}"
    manifest = read_manifest(written(tmp_path, minimal(thresholds=written_thresholds)))
    assert manifest.thresholds == (
        Threshold("string_match", ">=", 0.5, 6),
        Threshold("hallucination", "<=", 0.05, 6),
        Threshold("latency", "<=", 2000.0, 6),
        Threshold("chrf", ">=", 0.1, 6),
        Threshold("chrf", "<=", 0.9, 6),
    )


@pytest.mark.parametrize(
    ("threshold", "warned"),
    [
        ("hallucination: 0.95", "did you mean 0.05"),
        ("toxicity: 0.1", "did you mean 0.9"),
        ("hallucination: 0.05", None),
        ("toxicity: 0.9", None),
        ("hallucination: {max: 0.95}", None),
        ("toxicity: {min: 0.1}", None),
        ("latency: 2000", None),
    ],
)
def test_a_plain_number_that_looks_inverted_is_warned_about(
    tmp_path: Path, threshold: str, warned: str | None
) -> None:
    manifest = read_manifest(written(tmp_path, minimal(thresholds=f"{{{threshold}}}")))
    (warning,) = [threshold.warning for threshold in manifest.thresholds]
    assert (warned in (warning or "")) if warned else warning is None


def test_thresholds_are_read_under_the_names_of_their_metrics(tmp_path: Path) -> None:
    spellings = "{success_1: 0.9, 'rbp( p = 0.8 )': 0.8, 'rouge(variant=rougeL)': 0.7, 'ndcg(k=5)': 0.6}"
    manifest = read_manifest(written(tmp_path, minimal(thresholds=spellings)))
    assert [threshold.metric for threshold in manifest.thresholds] == ["hit@1", "rbp", "rouge", "ndcg@5"]


def test_two_spellings_of_one_metric_are_a_problem_that_names_both(tmp_path: Path) -> None:
    text = minimal(thresholds="\n      success_1: 0.9\n      token_f1: 0.5\n      hit(k=1): {max: 1}")
    assert problems(tmp_path, text) == [
        "9: spec.evaluation.thresholds.hit(k=1): expected each metric once, however it is spelt, "
        "got hit@1 again, after success_1 on line 7"
    ]


def test_a_gate_without_any_threshold_is_a_problem(tmp_path: Path) -> None:
    assert problems(tmp_path, minimal(ciGate="true")) == [
        "6: spec.evaluation.ciGate: expected thresholds for the gate to hold, got none"
    ]


@pytest.mark.parametrize("text", ["", "[]", "spec: 7", "other: {}", "spec: {model: {}}"])
def test_a_file_that_is_no_manifest_says_so(tmp_path: Path, text: str) -> None:
    assert any("expected" in problem for problem in problems(tmp_path, text))


def test_a_dataset_name_that_occurs_twice_is_a_problem(tmp_path: Path) -> None:
    entry = "{name: d, path: evals/rag.jsonl, metrics: [bleu]}"
    text = f"spec:\n  evaluation:\n    datasets:\n      - {entry}\n      - {entry}\n"
    assert problems(tmp_path, text) == [
        "5: spec.evaluation.datasets[1].name: expected each name once, got 'd' again, first on line 4"
    ]


def test_the_api_section_says_how_the_agent_is_talked_to(tmp_path: Path) -> None:
    api = """\
  api:
    chatEndpoint: {path: /chat, protocol: openai-compatible}
    model: my-model
    auth: {token: $secret:agent-key}
    headers: {X-Tenant: "acme-$env:STAGE", X-Api-Key: literal-key}
    responsePaths: {answer: result.text}
"""
    api_read = read_manifest(written(tmp_path, minimal() + api)).api
    assert (api_read.path, api_read.protocol, api_read.model) == ("/chat", "openai-compatible", "my-model")
    assert api_read.response_paths == {"answer": "result.text"}
    secrets = Secrets()
    environment = {"AGENT_KEY": "s3cret-value", "STAGE": "testing"}
    assert api_read.resolved_headers(environment, secrets=secrets) == (
        {"X-Tenant": "acme-testing"},
        {"Authorization": "Bearer s3cret-value", "X-Api-Key": "literal-key"},
    )
    assert secrets.mask("s3cret-value, literal-key, acme-testing") == "***, ***, acme-testing"


def test_every_missing_reference_is_named_with_its_line_and_nothing_is_shown(tmp_path: Path) -> None:
    api = "  api:\n    auth: {token: $secret:agent-key}\n    headers:\n      X-Tenant: $env:STAGE\n"
    manifest = read_manifest(written(tmp_path, minimal() + api))
    with pytest.raises(InputError) as caught:
        manifest.api.resolved_headers({"STAGE": ""}, secrets=Secrets())
    assert [str(issue).partition("agent.yaml:")[2] for issue in caught.value.issues] == [
        "7: spec.api.auth.token: expected the secret agent-key: a file agent-key in RAG_EVAL_SECRETS_DIR, "
        "or the environment variable AGENT_KEY, got neither",
        "9: spec.api.headers.X-Tenant: expected the environment variable STAGE, got an empty one",
    ]


def test_a_file_reference_in_a_header_is_a_problem_and_is_not_sent_as_it_stands(tmp_path: Path) -> None:
    api = "  api:\n    headers: {X-Key: $file:key.txt}\n    auth: {token: $file:key.txt}\n"
    assert problems(tmp_path, minimal() + api) == [
        "7: spec.api.headers.X-Key: expected a text, $env: or $secret:, got $file:, which is for datasets",
        "8: spec.api.auth.token: expected a text, $env: or $secret:, got $file:, which is for datasets",
    ]


@pytest.mark.skipif(os.name == "nt", reason="needs symbolic links")
def test_a_path_stays_inside_the_manifests_folder_links_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.jsonl").write_text('{"input": "q", "expected": "a"}\n')
    folder = tmp_path / "project"
    folder.mkdir()
    path = written(folder, minimal())
    (folder / "evals" / "rag.jsonl").unlink()
    (folder / "evals" / "rag.jsonl").symlink_to(tmp_path / "secret.jsonl")
    with pytest.raises(InputError, match="stays inside the manifest's folder"):
        read_manifest(path)
    (folder / "evals" / "rag.jsonl").unlink()
    (folder / "evals" / "rag.jsonl").symlink_to("safety.jsonl")
    assert read_manifest(path).datasets[0].path.exists()


def test_numbers_that_are_none_are_named_once_beside_all_other_problems(tmp_path: Path) -> None:
    text = minimal(thresholds="{string_match: .nan, chrf: {min: .inf}, latenzy: -.inf}")
    found = problems(tmp_path, text + "    ciGate: maybe\n")
    assert found == [
        "6: spec.evaluation.thresholds.string_match: expected a finite number, got '.nan'",
        "6: spec.evaluation.thresholds.chrf.min: expected a finite number, got '.inf'",
        "6: spec.evaluation.thresholds.latenzy: expected a finite number, got '-.inf'",
        "6: spec.evaluation.thresholds.latenzy: expected the name of a metric, got unknown metric "
        "'latenzy'; did you mean latency?",
        "7: spec.evaluation.ciGate: expected true or false, got 'maybe'",
    ]


def test_a_misspelt_metric_of_a_dataset_is_not_offered_for_another(tmp_path: Path) -> None:
    wrong, found = problems(tmp_path, minimal(metrics="[latenzi]", thresholds="{latenzy: 5}"))
    assert wrong.endswith("unknown metric 'latenzi'; did you mean latency?")
    assert found.endswith("unknown metric 'latenzy'; did you mean latency?")


def test_wrong_metrics_are_among_the_problems_of_a_manifest_where_they_are_used(tmp_path: Path) -> None:
    metrics = (
        "['faithfulnes', 'hit@x', 'rouge(variant=zz)', precision_omega, latency, 'success_1', pass_rate]"
    )
    text = minimal(framework="mine", metrics=metrics)
    found = [problem.removeprefix("5: spec.evaluation.metrics") for problem in problems(tmp_path, text)]
    assert found == [
        "[0]: expected a metric, got unknown metric 'faithfulnes'; did you mean faithfulness?",
        "[1]: expected a metric, got metric 'hit@x': expected a cut-off that is a whole number from 1 to "
        "1,000,000,000, got 'x'",
        "[2]: expected a metric, got unknown variant of rouge 'zz'; known: rouge1, rouge2, rougeL",
        "[3]: expected a metric, got metric precision_omega: it judges all chunks of a corpus: use "
        "rag-eval retrieval",
        "[6]: expected a metric, got pass_rate, which every run has: set a threshold for it",
        "6: spec.evaluation.framework: expected one of ragas, deepeval, langsmith, braintrust, custom, "
        "got 'mine'",
    ]
    manifest = read_manifest(written(tmp_path, minimal(metrics=metrics)), uses_metrics=False)
    assert manifest.datasets[0].metrics[0] == "faithfulnes"
