"""``rag-eval convert``: write a dataset in another dialect, or a file of another kind in another format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rag_evaluation_framework.cli.configuration import DATASET
from rag_evaluation_framework.cli.options import AS_JSON, flag, option
from rag_evaluation_framework.cli.output import MAP, Mapped, print_json, tell_reading
from rag_evaluation_framework.errors import InputError, RagEvalError, UsageError, counted
from rag_evaluation_framework.records.samples import ROWS

EXAMPLES = """\b
Examples:
  rag-eval convert sample.eval.json sample.eval.csv
  rag-eval convert evals/rag.jsonl rag.eval.json --lossy
  rag-eval convert train-v2.0.json squad_folder --to beir
  rag-eval convert qa_pairs.jsonl ragas.parquet --to ragas --json
  rag-eval convert big.jsonl big.jsonl.zst --to agent-samples
  rag-eval convert run.results.json run.results.csv
  rag-eval convert sample.gt.json sample.gt.yaml"""


@click.command("convert", epilog=EXAMPLES)
@click.argument("source", metavar="IN", type=DATASET)
@click.argument("target", metavar="OUT", type=click.Path(path_type=Path))
@option("--from FORMAT", "Format of IN.  [default: detected from its content]", called="from_")
@option("--to FORMAT", "Format of OUT.  [default: detected from its name]")
@flag("--lossy", "Drop the fields that the format of OUT cannot hold.")
@MAP
@AS_JSON
def command(source: Path, target: Path, mapped: tuple[Mapped, ...], as_json: bool, **wish: Any) -> None:
    """Convert the dataset, annotations, results, benchmark data or configuration IN to the format of OUT.

    If the format of OUT cannot hold some fields, they are listed and nothing is written; --lossy drops them.
    A name that ends in .gz or .zst is compressed. `rag-eval list formats` shows the formats. For rows in an
    unknown format, the fields are guessed and reported.
    """
    from rag_evaluation_framework.datasets.conversion import convert

    try:
        done = convert(source, target, map=dict(mapped), **wish)
    except InputError as error:
        raise _in_one(error, source, target) from None
    if done.source == ROWS:
        tell_reading(source, ROWS, mapped)
    if as_json:
        units = f"{done.unit.replace(' ', '_')}s"
        print_json({"from": done.source, "to": done.target, units: done.samples, "lost": done.lost})
        return
    way = f", from {done.source} to {done.target}" if done.unit == "sample" else ""
    click.echo(f"{target}: {counted(done.samples, done.unit)}{way}")
    for name, count in done.lost.items():
        of_samples = f"{count:,} of {counted(done.samples, 'sample')}"
        where = "dataset" if name.startswith("dataset.") else of_samples
        click.echo(f"  lost {name} ({where})")


def _in_one(error: InputError, source: Path, target: Path) -> RagEvalError:
    """Say all that would be lost in one sentence; any other error is left as it is."""
    if any(issue.code != "would-be-lost" for issue in error.issues):
        return error
    names = ", ".join(issue.path for issue in error.issues)
    # Spreadsheets hold a dataset of ours whole, if they are named as one.
    whole = f"{target.stem}.eval.csv" if target.suffix == ".csv" else ""
    kept = f" {whole} holds all fields." if whole and source.name.endswith(".eval.json") else ""
    told = f"{target} cannot hold all of {source}: {names}."
    return UsageError(f"{told}\n  Nothing was written. To drop them, use --lossy.{kept}")
