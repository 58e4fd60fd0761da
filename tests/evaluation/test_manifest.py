"""Manifests: what is read, what is left alone, and how every problem is named with its line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cases import named, tables_beside
from rag_evaluation_framework import InputError, Threshold
from rag_evaluation_framework.errors import UnknownNameError
from rag_evaluation_framework.evaluation.manifest import read_manifest
from rag_evaluation_framework.evaluation.secrets import Secrets
from seed_texts import MANIFEST as SEED

TABLES = tables_beside(__file__)

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
    with pytest.raises(UnknownNameError, match='Did you mean "safety'):
        manifest.selected(("safty",))


@pytest.mark.parametrize(
    ("text", "expected"), named(TABLES["problems_are_reported_at_once_each_with_its_line"])
)
def test_all_the_problems_of_a_manifest_are_reported_at_once_each_with_its_line(
    tmp_path: Path, text: str, expected: list[str]
) -> None:
    assert problems(tmp_path, text) == expected


def test_metrics_that_others_replace_need_not_be_known(tmp_path: Path) -> None:
    manifest = read_manifest(written(tmp_path, minimal(metrics="[faithfulnes]")), uses_metrics=False)
    assert manifest.datasets[0].metrics == ("faithfulnes",)


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
    ("threshold", "warned"), TABLES["a_plain_number_that_looks_inverted_is_warned_about"]
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


@pytest.mark.parametrize("text", ["", "[]", "spec: 7", "other: {}", "spec: {model: {}}"])
def test_a_file_that_is_no_manifest_says_so(tmp_path: Path, text: str) -> None:
    assert any("expected" in problem for problem in problems(tmp_path, text))


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
        "9: spec.api.headers.X-Tenant: expected the environment variable STAGE, got an empty variable",
    ]


@pytest.mark.skipif(os.name == "nt", reason="needs symbolic links")
def test_a_path_stays_inside_the_manifests_folder_links_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.jsonl").write_text('{"input": "q", "expected": "a"}\n')
    folder = tmp_path / "project"
    folder.mkdir()
    path = written(folder, minimal())
    (folder / "evals" / "rag.jsonl").unlink()
    (folder / "evals" / "rag.jsonl").symlink_to(tmp_path / "secret.jsonl")
    with pytest.raises(InputError, match="a path inside the manifest's folder"):
        read_manifest(path)
    (folder / "evals" / "rag.jsonl").unlink()
    (folder / "evals" / "rag.jsonl").symlink_to("safety.jsonl")
    assert read_manifest(path).datasets[0].path.exists()
