"""``rag-eval retrieval``: compare chunkers, embedders, stores and rerankers over a corpus.

What is asked for stands in options, and below them in a ``.config.yaml``::

    dataset: questions.eval.json         # paths are relative to the file itself
    retrieval:
      corpus: documents
      chunker: ["recursive(chunk_size=200, overlap=50)", sentence]
      retriever: [dense, bm25]
      reranker: [none, lexical]
      k: [5, 10]
    output: results
    seed: 0
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rag_evaluation_framework.cli import options
from rag_evaluation_framework.cli.configuration import DATASET_OR_NOTHING, is_given, project_dataset
from rag_evaluation_framework.cli.help_pages import LongCommand
from rag_evaluation_framework.cli.main import Steps
from rag_evaluation_framework.cli.output import print_json
from rag_evaluation_framework.datasets.project_settings import EVALUATION_DEFAULTS, read_settings
from rag_evaluation_framework.errors import InputError, UsageError, counted
from rag_evaluation_framework.files.project_root import CONFIGURATIONS, project_root

if TYPE_CHECKING:
    from rag_evaluation_framework.records.documents import Corpus
    from rag_evaluation_framework.records.runs import Options
    from rag_evaluation_framework.records.samples import Dataset
    from rag_evaluation_framework.results.evaluations import Evaluation

_LEVELS = ("token", "chunk", "document")
_PATH = click.Path(path_type=Path)
DEFAULT_CHUNKER = "recursive(chunk_size=1000, overlap=200)"
# What is compared where nothing is named, and where the questions are then looked for.
_COMPARED_CHUNKERS = (
    "recursive(chunk_size=200)",
    "recursive(chunk_size=500)",
    DEFAULT_CHUNKER,
    "sentence(chunk_size=400)",
    "markdown(chunk_size=1000)",
)
_COMPARED_RETRIEVERS = ("bm25", "dense", "fused")
_COMPARED = ("chunker", "embedder", "retriever", "reranker", "index")
_NONE = "none"
_LISTED = ("chunker", "embedder", "retriever", "store", "index", "reranker", "k", "fetch_k", "seed")
_STATED = ("corpus", "cache", "glob", "level", "rank_by", "dataset", "output", *_LISTED)
"""The settings of a configuration file that a sweep is made by."""
_NOT_GIVEN_AGAIN = frozenset(
    {"resume", "ask_damaged", "runs_dir", "as_json", "per_query", "output", "details", "width", "color"}
)

EXAMPLES = """\b
Examples:
  rag-eval retrieval documents   compare five chunkers and three retrievers
  rag-eval retrieval documents --dataset questions.eval.json -k 5 -k 10 \\
      --reranker none --reranker lexical \\
      --chunker 'recursive(chunk_size=200, overlap=50)' \\
      --chunker 'fixed(tokens=100)' --chunker sentence
  rag-eval retrieval beir/scifact --retriever bm25 --retriever fused \\
    --out results
  rag-eval retrieval documents --dataset questions.eval.json \\
      --index 'chroma(collection=handbook, path=chroma)' --retriever bm25
  rag-eval retrieval --config sweep.config.yaml --json > sweep.json"""


_COMMON = (
    *(
        "dataset",
        "chunker",
        "retriever",
        "embedder",
        "store",
        "reranker",
        "k",
        "configs",
        "output",
        "details",
    ),
)


def _tried(name: str, default: str) -> options.Option[Any]:
    """Return the option that names a part of the retrieval to try."""
    told = f"{name.title()} to compare; may be repeated.  [default: {default}]"
    return options.repeated(f"--{name} SPEC", told)


class _Command(LongCommand):
    """A command whose ``--config`` takes all files that a shell makes of a pattern."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        words: list[str] = []
        for word in args:
            is_next = words[-2:-1] == ["--config"] and word.endswith((".config.yaml", ".config.json"))
            words += ["--config", word] if is_next else [word]
        return super().parse_args(ctx, words)


@click.command("retrieval", cls=_Command, common=_COMMON, epilog=EXAMPLES)
@click.argument("corpus", type=DATASET_OR_NOTHING, required=False)
@options.option(
    "--dataset FILE|ID",
    "Dataset with the questions.  [default: CORPUS if it is a dataset, else questions.eval.json]",
    type=DATASET_OR_NOTHING,
)
@options.option(
    "--level", "Unit of the metrics.  [default: the finest in the dataset]", type=click.Choice(_LEVELS)
)
@_tried("chunker", f"{DEFAULT_CHUNKER}; with no part named, five")
@_tried("embedder", "hashing")
@_tried("retriever", "dense; with no part named, bm25, dense and fused")
@_tried("store", "chroma if installed, else exact")
@options.repeated(
    "--index SPEC",
    "Existing index: chroma(collection=…, path=…), qdrant(…), pgvector(table=…) or module:name; may be "
    "repeated.",
)
@_tried("reranker", "none")
@options.repeated(
    "-k N", "Number of chunks per question; may be repeated.  [default: 5]", called="k", type=int
)
@options.option("--fetch-k N", "Number of candidates for a reranker.  [default: 4 k]", type=int)
@options.option(
    "--glob PATTERN", f"Pattern of the document files in CORPUS.  [default: {options.READABLE_KINDS}]"
)
@options.option("--rank-by METRIC", "Metric to rank the setups by.  [default: recall at the level]")
@options.option("--cache DIR", "Folder to cache embeddings in.", type=_PATH)
@options.repeated(
    "--config FILE",
    "Configuration file (.config.yaml) or pattern; options take precedence over it.",
    called="configs",
)
@options.option("--out DIR", "Folder for .results.json files and sweep.json.", called="output", type=_PATH)
@options.RESUME
@options.ASK_DAMAGED
@options.RUNS_DIR
@options.PAIRED_TEST
@options.WORKERS
@options.option(
    "--seed", "Random seed; the same seed gives the same results.  [default: 0]", type=click.IntRange(0)
)
@options.flag("--per-query", "Also print the scores per query; needs --json.")
@options.DETAILS
@options.AS_JSON
def command(configs: tuple[str, ...], runs_dir: Path, resume: str | None, **given: Any) -> int:
    """Compare chunkers, embedders, retrievers and rerankers by the passages they retrieve from CORPUS.

    CORPUS is a folder of documents, or a dataset with documents (a BEIR folder, an .eval.json). Retrievers
    are dense, bm25 and fused; the reranker none keeps the order. The default compares five chunkers and three
    retrievers. Every setup is evaluated; each text is embedded once, and each chunker splits the documents
    once. Prints a ranked table with intervals per k, and the significant differences to the highest recall.
    Each setup is a run in the folder of the sweep. To resume a sweep, use the same options and --resume.
    """
    # Imported here, not above: numpy and what stands on it should not slow down --help.
    from rag_evaluation_framework.evaluation.grid_runs import sweep_document, write_sweep
    from rag_evaluation_framework.records.runs import Options
    from rag_evaluation_framework.reports.sweep_blocks import describe_sweep

    resume = options.mend_journals({**given, "resume": resume, "runs_dir": runs_dir})["resume"]
    chosen = {name: given.pop(name) for name in ("test", "workers", "engine", "address")}
    as_json, details, per_query = (given.pop(name) for name in ("as_json", "details", "per_query"))
    asked = _settings(given, configs)
    choice = Options(level=asked.get("level"), **chosen)
    with options.told_how_to_resume(runs_dir, resume):
        sweep = _swept(asked, choice, runs_dir, resume, is_shown=not as_json)
    written = write_sweep(sweep, asked["output"]) if "output" in asked else []
    _keep_quality(sweep, runs_dir)
    if as_json:
        print_json(sweep_document(sweep, per_query=per_query))
    else:
        unread = _unread(Path(asked["corpus"]), asked.get("glob"))
        options.show(options.new_screen().draw(describe_sweep(sweep, unread=unread, details=details)))
        if written:
            click.echo(f"\nwrote {counted(len(written), 'file')} to {asked['output']}")
    if sweep.outcome.completed:
        return 0
    from rag_evaluation_framework.reports.evaluation_blocks import resuming_command

    command = None if sweep.folder is None else resuming_command(sweep.head, sweep.folder)
    click.echo(f"rag-eval: {sweep.outcome.reason or 'interrupted'}; resume with:\n  {command}", err=True)
    return 130 if sweep.outcome.interrupted else 3


def _swept(
    asked: Mapping[str, Any], choice: Options, runs_dir: Path, resume: str | None, *, is_shown: bool
) -> Evaluation:
    """Evaluate every combination, with a line of progress if it is shown."""
    from rag_evaluation_framework.components import EMBEDDERS, component_from
    from rag_evaluation_framework.evaluation.evaluate import evaluate
    from rag_evaluation_framework.evaluation.frameworks import existing_index
    from rag_evaluation_framework.files.atomic import check_writable
    from rag_evaluation_framework.retrieval.embedders import CachedEmbedder
    from rag_evaluation_framework.retrieval.sweep import grid_of

    embedders: list[Any] = asked["embedder"] or ["hashing"]
    if "cache" in asked:
        check_writable([asked["cache"]], option="--cache")
        embedders = [CachedEmbedder(component_from(EMBEDDERS, each), asked["cache"]) for each in embedders]
    # Beside an index that exists nothing else is tried unasked.
    is_built = not asked["index"] or any(
        asked[name] for name in ("chunker", "embedder", "retriever", "store")
    )
    with Steps("reading documents and questions", silent=not is_shown) as steps:
        documents, questions = retrieval_inputs(asked)
        grid = grid_of(
            chunkers=(asked["chunker"] or [DEFAULT_CHUNKER]) if is_built else [],
            embedders=embedders,
            retrievers=(asked["retriever"] or ["dense"]) if is_built else [],
            vector_stores=asked["store"] or [None],
            indexes=[existing_index(each) for each in asked["index"]],
            rerankers=[None if each == _NONE else each for each in asked["reranker"]] or [None],
            k=asked["k"] or [5],
            fetch_k=next(iter(asked["fetch_k"]), None),
            on_step=steps.step,
            on_texts=steps.texts,
            arguments=options.given_again(_NOT_GIVEN_AGAIN),
        )
        return evaluate(
            questions,
            target=grid,
            documents=documents,
            metrics=[asked["rank_by"]] if "rank_by" in asked else None,
            seed=next(iter(asked["seed"]), 0),
            runs_directory=runs_dir,
            resume=resume,
            options=choice,
        )


def _keep_quality(sweep: Evaluation, runs: Path) -> None:
    """Add the figures of each combination to the project's benchmark files, if the sweep is one of its."""
    from rag_evaluation_framework.datasets.project_settings import kept_results
    from rag_evaluation_framework.results.benchmark_history import keep_quality
    from rag_evaluation_framework.results.results_document import results_document

    if project_root() is None or kept_results(runs) is None or not sweep.outcome.completed:
        return
    for part in sweep.parts.values():
        document = results_document(part, queries=False)
        keep_quality({**document, "evaluation_id": f"{sweep.head.run_id}/{part.head.run_id}"})


def _settings(given: Mapping[str, Any], configs: Sequence[str]) -> dict[str, Any]:
    """Join options, which come first, with configuration files, and these with the project's settings.

    What may be repeated is a list.
    """
    there = {name: value for name, value in given.items() if value not in (None, ())}
    asked = {name: value for name, value in there.items() if not is_given(name)}
    stated: dict[str, Any] = {}
    for path in _named_files(configs):
        stated |= _stated(path)
    asked |= stated
    asked |= {name: value for name, value in there.items() if is_given(name)}
    # The questions of the project are not those of another dataset.
    asked["asks_its_own"] = not is_given("dataset") and "dataset" not in stated
    asked.setdefault("corpus", asked.get("dataset"))
    if asked["corpus"] is None:
        raise UsageError("corpus is missing. Pass a folder of documents, or a dataset with documents")
    for name in _LISTED:
        value = asked.get(name, ())
        asked[name] = list(value) if isinstance(value, tuple) else [value]
    if not any(asked[name] for name in _COMPARED):
        asked |= {"chunker": list(_COMPARED_CHUNKERS), "retriever": list(_COMPARED_RETRIEVERS)}
    return asked


def _named_files(configs: Sequence[str]) -> Iterator[Path]:
    """Yield the files that are named or match a pattern; of a project's, those that evaluations run by."""
    for named in configs:
        found = [Path(named)] if Path(named).is_file() else sorted(map(Path, glob(named)))  # noqa: PTH207  # may be absolute
        if not found:
            raise UsageError(f"--config: there is no file {named}.")
        others = [name for name in CONFIGURATIONS if name != EVALUATION_DEFAULTS]
        yield from (path for path in found if path.name.partition(".")[0] not in others)


def _stated(path: Path) -> dict[str, Any]:
    """Return what a file says; its paths are relative to its project or, in none, to the file itself."""
    folder = path.parent
    is_of_project = (folder.name, folder.parent.name) == ("config", "data")
    root = folder.parent.parent if is_of_project else folder
    found: dict[str, Any] = {}
    for setting in read_settings(path, EVALUATION_DEFAULTS).values():
        name, value = setting.key.rpartition(".")[2], setting.value
        if name == "dataset" and not (root / value).exists():
            value = project_dataset(value)
        elif name in ("corpus", "cache", "dataset", "output"):
            value = root / value
        found |= {name: value} if name in _STATED else {}
    return found


def retrieval_inputs(asked: Mapping[str, Any]) -> tuple[Corpus, Dataset | Path]:
    """Read the documents, and say where the questions are; a dataset that holds its documents may be both."""
    from msgspec.structs import replace

    from rag_evaluation_framework.datasets.recognition import recognise, with_annotated_truth
    from rag_evaluation_framework.records.documents import Corpus, is_document

    path, questions = Path(asked["corpus"]), asked.get("dataset")
    if not path.exists():
        raise UsageError(f"corpus: there is no file or folder {path}")
    try:
        dialect = recognise(path)
    except InputError:
        if path.is_file() and not is_document(path.name):
            raise
        if questions is None and options.QUESTIONS.is_file():
            questions = options.QUESTIONS
        if questions is None:
            message = f"--dataset: expected a file of questions, because {path} holds none and there is no "
            raise UsageError(
                f"{message}{options.QUESTIONS}\n  Generate questions: rag-eval generate {path}"
            ) from None
        return Corpus.from_folder(path, asked.get("glob")), questions
    holder = with_annotated_truth(dialect.read(path), path)
    if not holder.documents:
        raise UsageError(f"corpus: expected documents, got {path}, a dataset without documents")
    if questions is not None and not (asked["asks_its_own"] and holder.samples):
        return Corpus(holder.documents), questions
    return Corpus(holder.documents), replace(holder, dataset_id=holder.dataset_id or path.name)


def _unread(corpus: Path, glob: str | None) -> dict[str, str]:
    """Return the files of a folder of documents that are left out, and why."""
    from rag_evaluation_framework.records.documents import skipped_files

    if not corpus.is_dir():
        return {}
    if glob is None:
        return skipped_files(corpus)
    taken = set(corpus.glob(glob))
    files = (path for path in sorted(corpus.rglob("*")) if path.is_file() and not path.name.startswith("."))
    return {path.relative_to(corpus).as_posix(): f"not {glob}" for path in files if path not in taken}
