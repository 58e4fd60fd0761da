"""The commands about data: validate, convert, build, stats, datasets, schema, agreement, generate, init."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from acceptance.outside import DATA, EXAMPLES, HANDBOOK, Commands, kept, read_json, read_lines, write_lines

SAMPLE = DATA / "sample_eval_v1.0.0.eval.json"
SOURCES = [
    *("sample_eval_v1.0.0.eval.json", "rag.jsonl", "squad.json", "langsmith.jsonl", "ragas.jsonl"),
    *("golden/factual_qa.json", "golden/relationship_qa.json", "golden/tracking_qa.json"),
    *("golden/multiturn_qa.json", "golden/boundary_qa.json"),
]
TARGETS = {
    "evaluation-dataset": "out.eval.json",
    "agent-samples": "out.jsonl",
    "ragas": "out.jsonl",
    "squad": "out.json",
    "langsmith": "out.jsonl",
    "qa-pairs": "qa_pairs.jsonl",
}


def content(path: Path) -> Any:
    """Return what a file, or each file of a folder, says."""
    if path.is_dir():
        return {str(it.relative_to(path)): content(it) for it in sorted(path.rglob("*")) if it.is_file()}
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        return json.loads(text)
    return [json.loads(line) if line.startswith("{") else line for line in text.splitlines()]


@pytest.fixture
def data(folder: Path) -> Path:
    """The samples, in a folder that may be changed."""
    return Path(shutil.copytree(DATA, folder / "data"))


def test_every_kind_of_file_is_checked_as_before(rag_eval: Commands, folder: Path, data: Path) -> None:
    said = rag_eval("validate", "data", "--json").ok().json
    assert said["valid"] is True
    kept("validate", said, folder)
    rag_eval("validate", HANDBOOK / "questions.eval.json").ok().shows("valid", "0 errors")


def test_what_a_split_lost_since_the_last_build_is_an_error(rag_eval: Commands, folder: Path) -> None:
    raw = EXAMPLES / "offline" / "offline_dataset.jsonl"
    rag_eval("build", "--offline-dataset", raw).ok()
    shutil.copy("evaluation/datasets/manifest.json", "old.json")
    rag_eval("build", "--offline-dataset", raw, "--limit", "10", "--force", "--version", "v2").ok()
    ended = rag_eval("validate", "evaluation/datasets/manifest.json", "--against", "old.json")
    assert ended.code == 2
    assert "10" in ended.out + ended.err
    rag_eval("validate", "evaluation/datasets/manifest.json").ok()


@pytest.mark.parametrize("name", SOURCES)
def test_within_a_dialect_nothing_is_lost(name: str, rag_eval: Commands, data: Path) -> None:
    source = data / name
    out = data / "new" / source.name
    out.parent.mkdir()
    dialect = rag_eval("stats", source, "--json").ok().json["dialect"]
    said = rag_eval("convert", source, out, "--to", dialect, "--json").ok().json
    assert (said["from"], said["lost"]) == (dialect, {})
    assert content(out) == content(source)


@pytest.mark.parametrize("name", [*SOURCES, "beir"])
def test_conversions_are_as_before(name: str, rag_eval: Commands, data: Path, folder: Path) -> None:
    found: dict[str, Any] = {}
    for dialect, file in TARGETS.items():
        out = folder / dialect / file
        out.parent.mkdir(exist_ok=True)
        ended = rag_eval("convert", data / name, out, "--to", dialect, "--lossy", "--json")
        assert ended.code in (0, 2), ended
        found[dialect] = {"said": ended.json, "written": content(out)} if ended.code == 0 else "refused"
        assert out.exists() == (ended.code == 0)
    kept(f"convert/{Path(name).stem}", found, folder)


def test_other_containers_hold_the_same(rag_eval: Commands, folder: Path) -> None:
    for name in ("a.eval.csv", "a.eval.yaml", "a.eval.json.gz", "a.eval.json.zst"):
        rag_eval("convert", SAMPLE, name).ok()
        rag_eval("convert", name, f"{name}.back.eval.json").ok()
        assert read_json(folder / f"{name}.back.eval.json")["queries"] == read_json(SAMPLE)["queries"], name
    assert json.loads(gzip.decompress((folder / "a.eval.json.gz").read_bytes())) == read_json(SAMPLE)
    rag_eval("convert", DATA / "rag.jsonl", "rag.parquet", "--to", "ragas", "--lossy").ok()
    rag_eval("convert", "rag.parquet", "rag.ragas.jsonl", "--to", "ragas").ok()
    assert [row["user_input"] for row in read_lines(folder / "rag.ragas.jsonl")] == [
        row["input"] for row in read_lines(DATA / "rag.jsonl")
    ]
    rag_eval("convert", SAMPLE, "folder", "--to", "beir", "--lossy").ok()
    kept("convert/to-beir", content(folder / "folder"))
    rag_eval("convert", "folder", "qrels.trec", "--to", "trec", "--lossy").ok()
    kept("convert/to-trec", (folder / "qrels.trec").read_text(encoding="utf-8").splitlines())


def test_the_splits_are_built_as_before(rag_eval: Commands, folder: Path) -> None:
    raw = EXAMPLES / "offline" / "offline_dataset.jsonl"
    manifest = rag_eval("build", "--offline-dataset", raw, "--json").ok().json
    assert (manifest["splits"]["qa"]["count"], manifest["splits"]["summaries"]["count"]) == (11, 5)
    written = folder / "evaluation" / "datasets"
    del manifest["source_offline_dataset"]  # relative to a folder of this machine
    # The sums in the manifest hold every byte of the splits.
    first = {path.name: content(path)[:2] for path in sorted(written.glob("*.jsonl"))}
    kept("build", {"manifest": manifest, **first})
    rag_eval("build", "--offline-dataset", raw).refused("qa_pairs.jsonl", "--force")
    rag_eval("build", "--offline-dataset", raw, "--force", "--limit", "3").ok().shows("qa", "summaries")
    lines = raw.read_text(encoding="utf-8").splitlines()
    (folder / "bad.jsonl").write_text("\n".join([*lines[:4], "{]", *lines[4:]]) + "\n", encoding="utf-8")
    rag_eval("build", "--offline-dataset", "bad.jsonl", "--force").refused("bad.jsonl:5")
    skipped = rag_eval("build", "--offline-dataset", "bad.jsonl", "--force", "--on-error", "skip", "--json")
    assert skipped.ok().json["splits"]["qa"]["count"] == 11
    write_lines(folder / "twice.jsonl", [json.loads(lines[0])] * 2)
    rag_eval("build", "--offline-dataset", "twice.jsonl", "--force").refused("twice.jsonl:2", "task_id")


def test_counts_and_lists_are_as_before(rag_eval: Commands, folder: Path, data: Path) -> None:
    stats = {name: rag_eval("stats", data / name, "--json").ok().json for name in (*SOURCES, "beir")}
    kept("stats", stats, folder)
    corpus = rag_eval("stats", HANDBOOK / "documents", "--json").ok().json
    kept("stats-corpus", corpus)
    rag_eval("stats", SAMPLE).ok().shows("3", "factual", "hard")
    (data / "broken.eval.json").write_text('{"dataset_id": "x"')
    kept("datasets", rag_eval("datasets", data, "--json").ok().json, folder)
    rag_eval("datasets", data).ok().shows("sample_eval_v1.0.0", "1.0.0", "broken.eval.json")


def test_schemas_are_as_before_and_accept_what_validate_accepts(rag_eval: Commands) -> None:
    listed = rag_eval("schema").ok().out.splitlines()
    kinds = [line.split()[0] for line in listed if not line.startswith(" ")]
    schemas = {kind: json.loads(rag_eval("schema", kind).ok().out) for kind in kinds}
    assert {schema["$schema"] for schema in schemas.values()} == {
        "https://json-schema.org/draft/2020-12/schema"
    }
    kept("schema", {"kinds": kinds, "evaluation-dataset": schemas["evaluation-dataset"]})
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.validate(read_json(SAMPLE), schemas["evaluation-dataset"])
    jsonschema.validate(read_lines(DATA / "rag.jsonl")[0], schemas["agent-sample"])
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"input": 7}, schemas["agent-sample"])


def test_agreement_is_that_of_the_arithmetic_and_the_majority_merges(
    rag_eval: Commands, folder: Path
) -> None:
    both = (DATA / "annotator_001.gt.json", DATA / "annotator_002.gt.json")
    said = rag_eval("agreement", *both, "-o", "merged.gt.json", "--resamples", "500", "--json").ok().json
    # The first query: 35 of 77 characters by both; the second: 40 of 55.
    assert [query["jaccard"] for query in said["queries"]] == [pytest.approx(35 / 77), pytest.approx(40 / 55)]
    kept("agreement", said, folder)
    kept("agreement-merged", read_json(folder / "merged.gt.json"))
    rag_eval("validate", "merged.gt.json").ok()


def test_questions_made_by_rules_have_exact_passages_each_time(rag_eval: Commands, folder: Path) -> None:
    corpus = folder / "documents"
    corpus.mkdir()
    for name in ("fares.md", "lighthouse.md", "timetable.md", "hostel-zh.md"):
        shutil.copy(HANDBOOK / "documents" / name, corpus)
    options = ("generate", "documents", "--extractive", "--queries-per-doc", "3")
    said = rag_eval(*options, "-o", "a.eval.json", "--json").ok().json
    rag_eval(*options, "-o", "b.eval.json").ok()
    first, again = read_json(folder / "a.eval.json"), read_json(folder / "b.eval.json")
    assert first["queries"] == again["queries"]
    assert said["queries"] == len(first["queries"]) > 0
    for query in first["queries"]:
        assert query["query_text"].endswith(("?", "？"))
        for span in query["citations"]:
            text = (corpus / span["file_name"]).read_bytes().decode("utf-8")
            assert text[span["start_char"] : span["end_char"]] == span["text"]
    kept("generate", {"said": said, "queries": first["queries"]}, folder)
    rag_eval("validate", "a.eval.json").ok()
    rag_eval(*options, "-o", "a.eval.json").refused("a.eval.json", "--force")
    chunks = (*options, "--level", "chunk", "--chunker", "sentence(chunk_size=400)", "-o", "c.jsonl")
    rag_eval(*chunks).ok()
    for line in read_lines(folder / "c.jsonl"):
        assert all(name.startswith("chunk_") for name in line["outputs"]["relevant_chunk_ids"])


def test_a_project_is_begun_and_nothing_of_it_overwritten(rag_eval: Commands, folder: Path) -> None:
    said = rag_eval("init", "project", "--json").ok().json
    kept("init", {**said, "files": content_of_project(folder / "project")})
    again = rag_eval("init", "project", "--json").ok().json
    assert (again["created"], again["kept"]) == ([], said["created"])
    assert rag_eval("validate", "project", "--json").ok().json["errors"] == 0
    assert rag_eval("datasets", "project/data/evaluation", "--json").ok().json["datasets"][0]["error"] is None


def content_of_project(folder: Path) -> dict[str, list[str]]:
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8").splitlines()
        for path in sorted(folder.rglob("*.*"))
        if path.is_file()
    }


def test_every_metric_and_method_is_listed_with_what_it_needs(rag_eval: Commands) -> None:
    metrics = rag_eval("list", "metrics", "--json").ok().json
    fields = ("name", "written", "higher_is_better", "methods", "aliases")
    kept("list-metrics", [{field: metric[field] for field in fields} for metric in metrics])
    rag_eval("list", "metrics").ok().shows(*(metric["name"] for metric in metrics))
    methods = rag_eval("list", "methods", "--json").ok().json
    assert methods
    assert all(
        {"name", "version", "metrics", "sees", "does_not_see", "agreement"} <= method.keys()
        for method in methods
    )
    rag_eval("list", "methods").ok().shows(*(method["name"] for method in methods))


def test_the_program_helps(rag_eval: Commands, agentspec: Commands) -> None:
    said = rag_eval("--help").ok()
    commands = (
        "generate convert build validate annotate stats sample datasets schema score evaluate golden"
        " retrieval rank probe benchmark show compare results runs trend report serve merge export calibrate"
        " agreement judge-card init list doctor demo completion"
    )
    for name in commands.split():
        said.shows(f"  {name} ")
        rag_eval(name, "--help").ok().shows("Usage: rag-eval", name, "Examples:")
    assert rag_eval("--version").ok().out.strip()
    agentspec("evaluate", "--help").ok().shows("--url", "--dataset", "--sample-size", "--tag", "--json")
