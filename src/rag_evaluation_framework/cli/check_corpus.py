"""The program of ``scripts/check_processed_corpus.py``: checks the splits of a build and their texts."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import NoReturn

import click

from rag_evaluation_framework.cli.main import run_program
from rag_evaluation_framework.cli.options import (
    AS_JSON,
    CONTEXT,
    EXISTING_FILE,
    EXISTING_FOLDER,
    FILE,
    option,
)
from rag_evaluation_framework.cli.output import print_json
from rag_evaluation_framework.errors import Issue, counted
from rag_evaluation_framework.structs import asdict

EXAMPLES = """\b
Examples:
  python scripts/check_processed_corpus.py
  python scripts/check_processed_corpus.py \\
    --manifest evaluation/datasets/manifest.json data/processed
  python scripts/check_processed_corpus.py --glob '**/*.txt' data/processed"""


@click.command("check-processed-corpus", epilog=EXAMPLES, context_settings=CONTEXT)
@click.argument("corpora", nargs=-1, type=EXISTING_FOLDER, metavar="[FOLDER …]")
@option(
    "--config",
    "Configuration file with the path of the manifest.  [default: configs/default.yaml, if it exists]",
    type=EXISTING_FILE,
)
@option(
    "--manifest", "Manifest of the splits to check.  [default: evaluation/datasets/manifest.json]", type=FILE
)
@option("--glob PATTERN", "Pattern of the files to check.", called="pattern", default="**/*")
@AS_JSON
def command(
    corpora: tuple[Path, ...], config: Path | None, manifest: Path | None, pattern: str, as_json: bool
) -> int:
    """Check the splits: mandatory fields, references and the counts of the manifest.

    The texts of each FOLDER must be UTF-8 and not empty.

    Exit code 0, or 2 if something is wrong.
    """
    from rag_evaluation_framework.datasets.split_build import EvaluationConfig, corpus_issues, split_issues

    manifest = manifest or EvaluationConfig.of_project(config).manifest_output
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
    found = [asdict(issue) for issue in issues]
    print_json({"issues": found})
    return len(found)
