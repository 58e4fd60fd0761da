"""``rag-eval benchmark``: how fast a retrieval or an agent is, compared with the last time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from rag_evaluation_framework.cli.configuration import DATASET_FILE, DATASET_OR_NOTHING, in_force, is_given
from rag_evaluation_framework.cli.help_pages import LongCommand
from rag_evaluation_framework.cli.main import Steps
from rag_evaluation_framework.cli.options import (
    ALLOW_HOST,
    AS_JSON,
    FOLDER,
    GLOB,
    TARGET,
    Amount,
    given_again,
    option,
    repeated,
    whole_number,
    with_all,
)
from rag_evaluation_framework.cli.output import print_json, tell
from rag_evaluation_framework.cli.retrieval import DEFAULT_CHUNKER, retrieval_inputs
from rag_evaluation_framework.errors import UsageError
from rag_evaluation_framework.files.project_root import in_project

if TYPE_CHECKING:
    from rag_evaluation_framework.evaluation.benchmarks import Searched
    from rag_evaluation_framework.evaluation.jobs import Job

EXAMPLES = """\b
Examples:
  rag-eval benchmark                                  measure the project
  rag-eval benchmark --url http://localhost:4000 --concurrency 8
  rag-eval benchmark --corpus documents --dataset questions.eval.json \\
    --retriever bm25
  rag-eval benchmark --name weekly --fail-on slower   fail a scheduled job"""

_PARTS = ("chunker", "embedder", "retriever", "store", "index", "reranker", "k")
_OF_RETRIEVAL = (*_PARTS, "corpus", "glob", "fetch_k")
_COMMON = (
    *("url", "target", "dataset", "corpus", "repetitions", "warmup", "concurrency", "percentiles"),
    *("name", "fail_on"),
)


def _manifest() -> str | None:
    """Return the project's ``agent.yaml``, if there is one."""
    name = "agent.yaml"
    found = Path(name) if Path(name).is_file() else in_project(name)
    return str(found) if found.is_file() else None


_part = partial(repeated, show_default=False)
_OPTIONS: tuple[Any, ...] = (
    click.argument("manifest", type=DATASET_FILE, default=_manifest, required=False, metavar="[AGENT.YAML]"),
    *TARGET,
    option("--dataset FILE|ID", "Dataset with the questions.", type=DATASET_OR_NOTHING),
    option(
        "--corpus PATH",
        "Folder of documents, or dataset with documents.  [default: those of the dataset]",
        type=click.Path(path_type=Path),
        show_default=False,
    ),
    GLOB,
    _part("--chunker SPEC", f"Chunker of the retrieval.  [default: {DEFAULT_CHUNKER}]"),
    _part("--embedder SPEC", "Embedder of the retrieval.  [default: hashing]"),
    _part("--retriever SPEC", "Retriever: dense, bm25, fused.  [default: dense]"),
    _part("--store SPEC", "Store of the vectors.  [default: chroma if installed, else exact]"),
    _part("--index SPEC", "Existing index to search."),
    _part("--reranker SPEC", "Reranker of the candidates.  [default: none]"),
    whole_number("-k", "Number of chunks to retrieve.  [default: 5]", multiple=True, show_default=False),
    whole_number("--fetch-k", "Number of candidates for the reranker.  [default: 4 k]", show_default=False),
    whole_number("--warmup", "Number of warm-up questions, not measured.", least=0, default=5),
    whole_number("--repetitions", "Number of repetitions of all questions.", default=20),
    whole_number("--concurrency", "Maximum number of questions at the same time.", most=10_000, default=1),
    repeated(
        "--percentile N",
        "Latency percentile to show; may be repeated.",
        called="percentiles",
        type=Amount(0, 100, min_open=True, max_open=True),
        default=(50, 95, 99),
    ),
    option("--timeout", "Seconds allowed per answer.", type=Amount(0.1, 3600), default=30.0),
    whole_number("--sample-size", "Ask only N questions, drawn at random."),
    option("--name NAME", "Also save the results as benchmark_NAME_YYYYMMDD.results.json in the project."),
    option(
        "--out DIR",
        "Folder for the measurements.  [default: data/benchmarks/performance]",
        called="output",
        type=FOLDER,
        default=partial(in_project, "data", "benchmarks", "performance"),
        show_default=False,
    ),
    option(
        "--fail-on", "Exit with 1 if this measurement is slower than the last.", type=click.Choice(["slower"])
    ),
    ALLOW_HOST,
    AS_JSON,
)


@click.command("benchmark", cls=LongCommand, common=_COMMON, epilog=EXAMPLES)
@with_all(_OPTIONS)
def command(**given: Any) -> int:
    """Measure the latency of a retrieval or an agent and compare it with the last measurement.

    The default is the agent in agent.yaml or, without one, a retrieval over the project's documents. With an
    option such as --retriever bm25, the retrieval is measured. All questions are asked several times;
    failures are counted and not retried.

    Measurements are added to latency_benchmarks.json and throughput_benchmarks.json, retrieval scores to the
    quality files. They are compared with the last measurement of the same configuration and questions on the
    same hardware: slower or faster if the repetitions do not overlap and the medians differ by 10% or more.

    Exit code 0: measured; 1: slower, with --fail-on slower; 2: wrong usage or data; 3: no answer.
    """
    from rag_evaluation_framework.datasets.project_settings import results_directory
    from rag_evaluation_framework.evaluation.benchmarks import Effort, keep_benchmark, run_benchmark
    from rag_evaluation_framework.reports.history_blocks import benchmark_document, describe_benchmark

    if given["url"] is not None and given["target"] is not None:
        raise UsageError("expected --url or --target, got both")
    effort = Effort(**{name: given[name] for name in ("warmup", "repetitions", "concurrency", "timeout")})
    with Steps("reading documents and questions", silent=given["as_json"]) as steps:
        job, searched, remote = _job(given)
        found = run_benchmark(job, effort, searched=searched, remote=remote, on_step=steps.step)
    kept = keep_benchmark(
        found,
        effort,
        folder=given["output"],
        percentiles=given["percentiles"],
        name=given["name"],
        results=results_directory(),
    )
    if given["as_json"]:
        print_json(benchmark_document(kept))
    else:
        again = given_again({"as_json", "name", "fail_on"})
        tell(None, describe_benchmark(kept, again=" ".join(["rag-eval benchmark", *again])))
    return int(given["fail_on"] == "slower" and kept.pace.word == "slower")


# What is measured.


def _job(given: Mapping[str, Any]) -> tuple[Job, Searched | None, bool]:
    """Return what is asked, the retrieval if it is one, and whether it runs elsewhere."""
    parts = [name for name in _OF_RETRIEVAL if is_given(name)]
    asked = given["url"] or given["target"]
    if parts and (asked or is_given("manifest")):
        option = "-k" if parts[0] == "k" else f"--{parts[0].replace('_', '-')}"
        raise UsageError(f"{option}: expected a retrieval, not --url, --target or AGENT.YAML")
    manifest = None if parts else _agent(given)
    if asked or manifest is not None:
        return _asking(given, manifest)
    return _searching(given)


def _agent(given: Mapping[str, Any]) -> Any:
    """Return what ``agent.yaml`` says, if it names an agent or is asked for."""
    if given["manifest"] is None:
        return None
    from rag_evaluation_framework.evaluation.manifest import read_manifest

    manifest = read_manifest(given["manifest"], uses_metrics=False)
    is_asked = given["url"] or given["target"]
    if manifest.api.url is None and not is_asked:
        if is_given("manifest"):
            raise UsageError(f"{given['manifest']} contains no agent. Pass --url or --target.")
        return None
    return manifest


def _asking(given: Mapping[str, Any], manifest: Any) -> tuple[Job, Searched | None, bool]:
    from rag_evaluation_framework.evaluation.targets import Address

    target = given["target"] if given["url"] is None else Address(given["url"])
    entries = () if manifest is None else manifest.datasets
    metrics = _measured([each for entry in entries for each in entry.metrics], in_force("metrics") or ())
    if given["dataset"] is not None:
        data = given["dataset"]
    elif entries:
        data = replace(manifest, datasets=(replace(entries[0], metrics=metrics, thresholds=None),))
    else:
        raise UsageError("--dataset is missing. Pass a file of questions.")
    api = None if manifest is None else manifest.api
    remote = given["target"] is None or str(given["target"]).startswith(("http://", "https://"))
    return _of(data, given, metrics, api=api, target=target, needs_target=True), None, remote


def _searching(given: Mapping[str, Any]) -> tuple[Job, Searched | None, bool]:
    from rag_evaluation_framework.evaluation.benchmarks import indexed_retrieval
    from rag_evaluation_framework.judging.methods import Scoring

    corpus = given["corpus"] or given["dataset"]
    if corpus is None:
        raise UsageError(
            "No agent or retrieval given. Pass --url http://localhost:4000, --target module:function or\n"
            "  --corpus FOLDER, or run it in a project (rag-eval init)."
        )
    asked = {"corpus": corpus, "dataset": given["dataset"], "asks_its_own": not is_given("dataset")}
    asked |= {"glob": given["glob"]} if given["glob"] else {}
    documents, questions = retrieval_inputs(asked)
    parts = {name: _one(given, name) for name in _PARTS}
    parts["reranker"] = None if parts["reranker"] == "none" else parts["reranker"]
    chosen = {name: value for name, value in parts.items() if value is not None}
    searched = indexed_retrieval(
        documents, **{"chunker": DEFAULT_CHUNKER, **chosen}, fetch_k=given["fetch_k"]
    )
    metrics = _measured(in_force("metrics") or (), ("hit@1", "mrr"))
    job = _of(questions, given, metrics, scoring=Scoring(documents=documents), target=searched.target)
    return job, searched, False


def _of(
    data: Any, given: Mapping[str, Any], metrics: tuple[str, ...], *, api: Any = None, **more: Any
) -> Job:
    """Return the job of asking these questions, of an agent that is asked as a manifest says."""
    from rag_evaluation_framework.evaluation.jobs import Job, manifest_of
    from rag_evaluation_framework.records.runs import Options, SampleChoice

    options = Options(allow_missing=True, attempt_timeout=given["timeout"], concurrency=given["concurrency"])
    job = Job(data=data, metrics=metrics, options=options, blame=False, **more)
    manifest = replace(manifest_of(job), thresholds=(), ci_gate=False, gate={})
    if api is not None:
        manifest = replace(manifest, api=api)
    return replace(job, data=manifest, choice=SampleChoice(sample_size=given["sample_size"]))


def _one(given: Mapping[str, Any], name: str) -> Any:
    """Return the one part of its kind; of several in the project's settings the first."""
    named = given[name]
    if len(named) > 1 and is_given(name):
        option = "-k" if name == "k" else f"--{name}"
        raise UsageError(f"{option}: expected one value, got {len(named)}")
    return named[0] if named else None


def _measured(*lists: Sequence[str]) -> tuple[str, ...]:
    """Return the metrics of retrieval and citations, which cost next to nothing, of the first list with any.

    Where there are none, the latency alone.
    """
    from rag_evaluation_framework.results.benchmark_history import QUALITY
    from rag_evaluation_framework.results.summaries import section_of

    for listed in lists:
        if found := tuple(dict.fromkeys(each for each in listed if section_of(each, "") in QUALITY)):
            return found
    return ("latency",)
