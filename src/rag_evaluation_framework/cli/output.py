"""The output of commands: screens, JSON, and warnings about data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rag_evaluation_framework.cli.options import new_screen, option, repeated, show
from rag_evaluation_framework.errors import Issue, UnknownNameError, UsageError, counted

if TYPE_CHECKING:
    from rag_evaluation_framework.reports.blocks import Blocks
    from rag_evaluation_framework.results.evaluations import Evaluation

Mapped = tuple[str, str]


def tell(document: Any, blocks: Blocks, *, as_json: bool = False) -> None:
    """Print a document as JSON where that is wanted, else show the blocks that say the same."""
    if as_json:
        print_json(document)
    else:
        show(new_screen().draw(blocks))


class _Mapped(click.ParamType):  # type: ignore[type-arg]  # generic only in the newest
    """A part of a row, and the field that holds it."""

    name = "PART=FIELD"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> Mapped:
        part, sign, field = value.partition("=")
        if not sign or not part:
            raise UsageError(f"--map: expected PART=FIELD, e.g. --map answer=reply, got {value!r}")
        return part.strip(), field.strip()


NO_BLAME = option(
    "--no-blame",
    "Skip the causes of wrong answers (retrieval or generation).",
    called="blame",
    flag_value=False,
    default=True,
    show_default=False,
)


def _each_once(context: click.Context, param: click.Parameter, mapped: Sequence[Mapped]) -> Sequence[Mapped]:
    parts = [part for part, _ in mapped]
    for part in parts:
        if parts.count(part) > 1:
            fields = " and ".join(field for each, field in mapped if each == part)
            raise UsageError(
                f"--map: expected one field for {part}, got {fields}.\n"
                f"  For numbered columns, use a star: --map '{part}=context_*'"
            )
    return mapped


MAP = repeated(
    "--map",
    "Part and its field in the file, e.g. answer=reply; may be repeated.  [default: guessed, and reported]",
    called="mapped",
    callback=_each_once,
    type=_Mapped(),
)


def tell_reading(path: Path, format_: str | None, mapped: Sequence[Mapped]) -> None:
    """Say on standard error which field of plain rows is taken for what; of a known format nothing."""
    from rag_evaluation_framework.datasets.recognition import recognise

    reading = getattr(recognise(path, format=format_, map=dict(mapped)), "reading", None)
    if reading is not None:
        from rag_evaluation_framework.reports.evaluation_blocks import describe_reading

        click.echo(str(new_screen().draw(describe_reading(reading))), err=True)


def print_json(document: Any) -> None:
    """Print a document as JSON that people can read too."""
    from rag_evaluation_framework.files import strict_json

    click.echo(strict_json.encode(document, indent=2))


_SHOWN = 5


def print_warnings(warnings: Sequence[Issue]) -> None:
    """Print the first few warnings, and how many more there are."""
    for warning in warnings[:_SHOWN]:
        click.echo(f"rag-eval: warning: {warning}", err=True)
    if len(warnings) > _SHOWN:
        more = counted(len(warnings) - _SHOWN, "more warning")
        click.echo(f"rag-eval: {more}. To list all, run rag-eval validate.", err=True)


def check_metrics(metrics: Iterable[str], runs: Iterable[Evaluation]) -> None:
    """Refuse a metric that none of the runs has."""
    known = list(dict.fromkeys(name for run in runs for name in run.metrics))
    for metric in metrics:
        if metric not in known:
            raise UnknownNameError("metric", metric, known)


def check_free(output: Path, *, force: bool) -> None:
    """Refuse a file that exists, unless it may be replaced, and a folder that cannot be written into."""
    from rag_evaluation_framework.files.atomic import check_writable

    if output.exists() and not force:
        raise UsageError(f"{output} already exists. Replace it with --force, or choose another name.")
    check_writable([output.parent])
