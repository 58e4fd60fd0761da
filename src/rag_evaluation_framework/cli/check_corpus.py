"""What ``scripts/check_processed_corpus.py`` runs: check the splits of a build, and the texts behind them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import NoReturn

import click

from rag_evaluation_framework.cli.exit_codes import run_program
from rag_evaluation_framework.errors import Issue
from rag_evaluation_framework.reports.excerpts import counted

EXAMPLES = """\b
Examples:
  python scripts/check_processed_corpus.py
  python scripts/check_processed_corpus.py --manifest evaluation/datasets/manifest.json data/processed
  python scripts/check_processed_corpus.py --glob '**/*.txt' data/processed"""


@click.command(
    "check-processed-corpus",
    epilog=EXAMPLES,
    short_help="Check the splits of a build, and the texts behind them.",
)
@click.argument(
    "corpora", nargs=-1, type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="[FOLDER …]"
)
@click.option(
    "--manifest",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("evaluation", "datasets", "manifest.json"),
    show_default=True,
    help="The manifest of the splits to check.",
)
@click.option("--glob", "pattern", default="**/*", show_default=True, help="The texts in each folder.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
def command(corpora: tuple[Path, ...], manifest: Path, pattern: str, as_json: bool) -> int:
    """Check that every record of the splits has its mandatory fields and a reference, and that the counts are
    those of the manifest. The texts of each FOLDER must be UTF-8 and not empty.

    Exit code 0, or 2 where something is wrong.
    """
    from rag_evaluation_framework.datasets.splits.processed_corpus import corpus_issues, split_issues

    issues = chain(split_issues(manifest), *(corpus_issues(folder, pattern=pattern) for folder in corpora))
    count = _print_json(issues) if as_json else _print_text(issues)
    return 2 if count else 0


def main() -> NoReturn:
    """Run the check on the arguments of the process."""
    run_program(command, None, name="check-processed-corpus")


def _print_text(issues: Iterator[Issue]) -> int:
    count = 0
    for issue in issues:
        click.echo(f"{issue} [{issue.code}]")
        count += 1
    click.echo(counted(count, "problem") if count else "no problems")
    return count


def _print_json(issues: Iterator[Issue]) -> int:
    from dataclasses import asdict

    from rag_evaluation_framework.files import strict_json

    found = [asdict(issue) for issue in issues]
    click.echo(strict_json.encode({"issues": found}, indent=2))
    return len(found)
