"""Commands that only list: list, datasets, results, runs, sample, schema, stats."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from rag_evaluation_framework.cli import options
from rag_evaluation_framework.cli.configuration import DATASET
from rag_evaluation_framework.cli.output import MAP, Mapped, tell, tell_reading
from rag_evaluation_framework.errors import UnknownNameError, UsageError
from rag_evaluation_framework.files.project_root import in_project

LIST_EXAMPLES = """\b
Examples:
  rag-eval list metrics
  rag-eval list metrics faithfulness ndcg@10
  rag-eval list metrics --json
  rag-eval list methods faithfulness
  rag-eval list checks
  rag-eval list chunkers
  rag-eval list formats"""


class _Kinds(click.Group):
    """The group of component kinds; an unknown kind is an error that suggests the nearest."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            raise UnknownNameError("kind", args[0], list(self.commands))
        return super().resolve_command(ctx, args)


@click.group("list", cls=_Kinds, epilog=LIST_EXAMPLES, invoke_without_command=True)
@click.pass_context
def list_command(context: click.Context) -> None:
    """List metrics, methods, checks, components and formats."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@list_command.command("metrics", epilog=LIST_EXAMPLES)
@click.argument("names", nargs=-1, metavar="[NAME]...")
@options.AS_JSON
def metrics(names: tuple[str, ...], as_json: bool) -> None:
    """Show every metric, or those named, with formula and needs.

    How each is written, which way is better, what it needs and its formula; for those named also how empty
    data is treated, and where the definition comes from.
    """
    from rag_evaluation_framework.metrics.declaration import all_metrics, parse_metrics
    from rag_evaluation_framework.reports.list_blocks import describe_metrics, metric_rows

    declared = [each.metric for each in parse_metrics(names)] if names else all_metrics()
    tell(metric_rows(declared), describe_metrics(declared, whole=bool(names)), as_json=as_json)


@list_command.command("methods", epilog=LIST_EXAMPLES)
@click.argument("names", nargs=-1, metavar="[NAME]...")
@options.AS_JSON
def methods(names: tuple[str, ...], as_json: bool) -> None:
    """Show what offline methods see and miss, and how good they are.

    For those that are named, by themselves or by a metric, the whole card: how well each agrees with people,
    and on which texts that was measured.
    """
    from msgspec import to_builtins

    from rag_evaluation_framework.judging.methods import method_cards
    from rag_evaluation_framework.reports.list_blocks import describe_method_cards

    cards = method_cards()
    if names:
        known = {name for card in cards for name in card.metrics}
        for name in names:
            if name not in known | {card.name for card in cards}:
                raise UnknownNameError("metric with an offline method", name, sorted(known))
        cards = tuple(each for each in cards if {each.name, *each.metrics} & set(names))
    tell(to_builtins(cards), describe_method_cards(cards, whole=bool(names)), as_json=as_json)


@list_command.command("checks", epilog=LIST_EXAMPLES)
@options.AS_JSON
def checks(as_json: bool) -> None:
    """Show every check of an answer with an example.

    They stand under `checks` in a row of a dataset: a list of objects, or one object.
    """
    from rag_evaluation_framework.reports.list_blocks import check_rows, describe_checks

    rows = check_rows()
    tell(rows, describe_checks(rows), as_json=as_json)


# Components by kind, ours and those of installed packages; where each registry stands.
_KINDS = {
    "chunkers": ("components:CHUNKERS", "Show every chunker with its settings."),
    "embedders": ("components:EMBEDDERS", "Show every embedder with its settings."),
    "stores": ("components:VECTOR_STORES", "Show every vector store with its settings."),
    "retrievers": ("components:RETRIEVERS", "Show every retriever with its settings."),
    "rerankers": ("components:RERANKERS", "Show every reranker with its settings."),
    "targets": ("components:TARGETS", "Show every type of target with its settings."),
    "judges": ("components:JUDGES", "Show every judge with its settings."),
    "indexes": ("components:INDEXES", "Show every type of existing index with its settings."),
    "formats": ("datasets.recognition:DIALECTS", "Show every input format."),
    "renderers": ("extensions:RENDERERS", "Show every renderer of results with its settings."),
}


def _listing_of(kind: str, place: str, summary: str) -> click.Command:
    @options.AS_JSON
    def listed(as_json: bool) -> None:
        from importlib import import_module

        from rag_evaluation_framework.reports.list_blocks import component_rows, describe_components

        module, _, registry = place.partition(":")
        found = getattr(import_module(f"rag_evaluation_framework.{module}"), registry)
        rows = component_rows(found, skipped=kind == "renderers")
        tell(rows, describe_components(rows), as_json=as_json)

    return click.command(kind, help=summary, epilog=LIST_EXAMPLES)(listed)


for _kind, (_place, _summary) in _KINDS.items():
    list_command.add_command(_listing_of(_kind, _place, _summary))
list_command.add_command(list_command.commands["formats"], "dialects")  # as they are called in the code


# ``rag-eval datasets``: list the datasets of a folder.

DATASETS_EXAMPLES = """\b
Examples:
  rag-eval datasets
  rag-eval datasets my-project/data/evaluation
  rag-eval datasets evaluation/datasets --json"""


@click.command("datasets", epilog=DATASETS_EXAMPLES)
@click.argument(
    "folder", type=options.FOLDER, default=partial(in_project, "data", "evaluation"), metavar="[DIR]"
)
@options.AS_JSON
def datasets_command(folder: Path, as_json: bool) -> None:
    """List the datasets of DIR: id, version, number of samples, and errors.

    Reads DIR/datasets if it exists, else DIR.  [default: data/evaluation]
    """
    from rag_evaluation_framework.datasets.catalogue import datasets_folder, datasets_in
    from rag_evaluation_framework.reports.list_blocks import describe_datasets

    if not folder.is_dir():
        raise UsageError(f"There is no folder {folder}. Create a project: rag-eval init")
    inner = datasets_folder(folder)
    entries = datasets_in(inner)
    listed = [{**each.to_dict(), "dialect": each.dialect or None} for each in entries]
    tell({"folder": str(inner), "datasets": listed}, describe_datasets(inner, entries), as_json=as_json)


# ``rag-eval runs``: list the runs and their states.

RUNS_EXAMPLES = """\b
Examples:
  rag-eval runs
  rag-eval runs --runs-dir nightly --json"""


@click.command("runs", epilog=RUNS_EXAMPLES)
@options.RUNS_DIR
@options.AS_JSON
def runs_command(runs_dir: Path, as_json: bool) -> None:
    """List the runs of a folder: state, dataset, target, finished and failed samples, start time.

    A run is running (a process works on it), complete (all samples are saved), incomplete (you can resume
    it) or broken (a file cannot be read). The reasons are below the table, with the command to resume each
    unfinished run.
    """
    from rag_evaluation_framework.reports.list_blocks import describe_runs, run_row
    from rag_evaluation_framework.results.run_store import list_runs

    rows = list(map(run_row, list_runs(runs_dir)))
    tell(rows, describe_runs(runs_dir, rows), as_json=as_json)


# ``rag-eval results``: list what is stored, with figures and verdict.

RESULTS_EXAMPLES = """\b
Examples:
  rag-eval results
  rag-eval results --runs-dir nightly --json"""


@click.command("results", epilog=RESULTS_EXAMPLES)
@options.RUNS_DIR
@options.AS_JSON
def results_command(runs_dir: Path, as_json: bool) -> None:
    """List the saved evaluations, latest first, with their figures and the verdict of the gate.

    Includes the finished runs of the folder and the results in data/evaluation/results. `rag-eval runs`
    lists all runs with their states.
    """
    from rag_evaluation_framework.reports.list_blocks import describe_results
    from rag_evaluation_framework.results.stored_runs import stored_results
    from rag_evaluation_framework.structs import asdict

    found = stored_results(runs_dir)
    tell([asdict(each) for each in found], describe_results(runs_dir, found), as_json=as_json)


# ``rag-eval schema``: print the JSON Schema of a kind of file.

SCHEMA_EXAMPLES = """\b
Examples:
  rag-eval schema                                         list the kinds
  rag-eval schema evaluation-dataset > eval.schema.json   configure an editor
  rag-eval schema results --lenient"""


@click.command("schema", epilog=SCHEMA_EXAMPLES)
@click.argument("kind", required=False)
@options.flag("--lenient", "Print the schema of validate --lenient.")
def schema_command(kind: str | None, lenient: bool) -> None:
    """Print the JSON Schema (2020-12) of a KIND of file or record; without KIND, list the kinds.

    `rag-eval validate` uses this schema.
    """
    from rag_evaluation_framework.datasets.schemas import KINDS, schema, schema_text

    if kind is not None:
        click.echo(schema_text(kind, lenient=lenient), nl=False)
        return
    width = max(map(len, KINDS))
    screen = options.new_screen()
    for name in KINDS:
        screen.say(f"{name:<{width}}  {schema(name)['description']}", hang=width + 2)
    options.show(screen)


# ``rag-eval stats``: what is in a dataset, in figures.

STATS_EXAMPLES = """\b
Examples:
  rag-eval stats questions.eval.json
  rag-eval stats evals/rag.jsonl.gz --json
  rag-eval stats documents/"""


@click.command("stats", epilog=STATS_EXAMPLES)
@click.argument("path", type=DATASET, metavar="FILE|FOLDER|ID")
@options.DIALECT
@MAP
@options.AS_JSON
def stats_command(path: Path, format_: str | None, mapped: tuple[Mapped, ...], as_json: bool) -> None:
    """Show the contents of a dataset of any format, or of a folder of documents.

    Counts by type, difficulty, category and tag; lengths of questions, references, contexts, spans and
    documents in characters; how many of the documents are relevant to at least one query.
    """
    from rag_evaluation_framework.datasets.overview import overview
    from rag_evaluation_framework.reports.dataset_blocks import describe_overview

    if path.is_file():
        tell_reading(path, format_, mapped)
    figures = overview(path, format=format_, map=dict(mapped))
    tell(figures.to_dict(), describe_overview(figures), as_json=as_json)


# ``rag-eval sample``: some records of a dataset, drawn at random, to be read.

SAMPLE_EXAMPLES = """\b
Examples:
  rag-eval sample evaluation/datasets/qa_pairs.jsonl -n 5 --seed 1
  rag-eval sample questions.eval.json --full
  rag-eval sample evals/rag.jsonl -n 20 --json"""


@click.command("sample", epilog=SAMPLE_EXAMPLES)
@click.argument("path", type=DATASET, metavar="FILE|ID")
@options.whole_number("-n", "Number of records to show.", called="size", default=5)
@options.SEED
@options.flag("--full", "Show contexts in full.")
@options.DIALECT
@MAP
@options.AS_JSON
def sample_command(
    path: Path, size: int, seed: int, format_: str | None, mapped: tuple[Mapped, ...], **shown: bool
) -> None:
    """Show random records of a dataset of any format, to check questions, references and contexts."""
    from rag_evaluation_framework.datasets.overview import draw_samples
    from rag_evaluation_framework.reports.dataset_blocks import describe_samples, drawn_rows

    tell_reading(path, format_, mapped)
    found = draw_samples(path, size, seed=seed, format=format_, map=dict(mapped))
    document = {"file": str(path), "seed": seed, "total": found.total, "samples": drawn_rows(found)}
    blocks = describe_samples(found, path, seed=seed, full=shown["full"])
    tell(document, blocks, as_json=shown["as_json"])
