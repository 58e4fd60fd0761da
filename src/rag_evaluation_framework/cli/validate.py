"""``rag-eval validate``: report everything that is wrong with files of evaluation data."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from rag_evaluation_framework.cli.configuration import DATASET_OR_NOTHING
from rag_evaluation_framework.cli.options import AS_JSON, EXISTING_FILE, flag, option
from rag_evaluation_framework.cli.output import MAP, Mapped, tell_reading
from rag_evaluation_framework.errors import RagEvalError, counted
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.records.samples import ROWS
from rag_evaluation_framework.structs import asdict

if TYPE_CHECKING:
    from rag_evaluation_framework.datasets.validation import CheckedFile
    from rag_evaluation_framework.errors import Issue
    from rag_evaluation_framework.records.samples import Dataset

EXAMPLES = """\b
Examples:
  rag-eval validate questions.eval.json
  rag-eval validate data/evaluation --json
  rag-eval validate evals/rag.jsonl --format agent-samples
  rag-eval validate new/manifest.json --against old/manifest.json"""

# Whether a file exists is for the check to say, beside what is wrong with the others.
_PATH = DATASET_OR_NOTHING


@click.command("validate", epilog=EXAMPLES)
@click.argument("paths", type=_PATH, nargs=-1, required=True, metavar="FILE [FILE2 …]")
@option("--format NAME", "Format of the files.  [default: detected from the content]", called="format_")
@flag("--lenient", "Require only the mandatory fields of a dataset, annotation or result.")
@option(
    "--against MANIFEST",
    "Older manifest; no split may have lost more than 10% of its records.",
    type=EXISTING_FILE,
)
@MAP
@AS_JSON
def command(
    paths: tuple[Path, ...], format_: str | None, mapped: tuple[Mapped, ...], as_json: bool, **wish: Any
) -> int:
    """Check each FILE, or all the evaluation data in a folder.

    Reports every problem with file, line, path and a stable code. The expected answers of golden sets are
    scored by their own metrics. For rows in an unknown format, the fields are guessed and reported. Files may
    be compressed with gzip or Zstandard.

    Exit code 0: no errors (warnings are allowed); 2: errors.
    """
    from rag_evaluation_framework.datasets.validation import checked_files

    files = checked_files(paths, format=format_, keys=_key_issues, map=dict(mapped), **wish)
    checked = _print_mapping(files, mapped)
    counts = _print_json(checked) if as_json else _print_text(checked)
    return 2 if counts["error"] else 0


def _print_mapping(checked: Iterable[CheckedFile], mapped: tuple[Mapped, ...]) -> Iterator[CheckedFile]:
    """Pass files on, and say of plain rows which field is taken for what."""
    for file in checked:
        if file.format == ROWS:
            tell_reading(Path(file.file), ROWS, mapped)
        yield file


def _key_issues(golden_set: Dataset) -> Iterator[Issue]:
    from rag_evaluation_framework.evaluation.golden_keys import key_issues  # what scores, only when needed

    return key_issues(golden_set)


def _print_text(checked: Iterator[CheckedFile]) -> Counter[str]:
    """Print each issue as it is found, a line that sums up, and how files may be read as they are."""
    counts: Counter[str] = Counter()
    files = 0
    called: dict[str, dict[str, str]] = {}
    for file in checked:
        files += 1
        for issue in file.issues:
            counts[issue.severity] += 1
            if written := _WRITTEN_AS.search(issue.found):
                called.setdefault(file.file, {}).setdefault(issue.path, written[1])
            place = f"{issue.place}: " if issue.place else ""
            click.echo(f"{place}{issue.severity}: {issue.sentence} [{issue.code}]")
    if counts:
        click.echo()
    found = [counted(counts["error"], "error")]
    found += [counted(counts["warning"], "warning")] if counts["warning"] else []
    verdict = "" if counts["error"] else "valid: "
    click.echo(f"{verdict}{' and '.join(found)} in {counted(files, 'file')}")
    if files == 1 and (options := _read_as_it_is(called, counts["error"])):
        click.echo(f"Next: correct the file, or pass {options}")
    return counts


# How an issue says that a field that is missing may be there under another name.
_WRITTEN_AS = re.compile(r'did you write it as "([^"]+)"')


def _read_as_it_is(called: dict[str, dict[str, str]], errors: int) -> str:
    """Return the options that read the one file by its own names, if less of it is wrong then."""
    from rag_evaluation_framework.datasets.validation import checked_files

    for file, fields in called.items():
        with suppress(RagEvalError):  # a name that is no part of a row
            (checked,) = checked_files([Path(file)], map=fields)
            if sum(issue.severity == "error" for issue in checked.issues) < errors:
                return " ".join(f"--map {quote(f'{part}={field}')}" for part, field in fields.items())
    return ""


def _print_json(checked: Iterator[CheckedFile]) -> Counter[str]:
    """Print one JSON document, piece by piece: a file may have more issues than fit in memory."""
    total: Counter[str] = Counter()
    click.echo('{"files": [', nl=False)
    for number, file in enumerate(checked):
        head = _encoded({"file": file.file, "format": file.format}).removesuffix("}")
        click.echo(f'{"," if number else ""}\n{head},"issues":[', nl=False)
        counts: Counter[str] = Counter()
        for issue in file.issues:
            separator = ",\n  " if counts.total() else "\n  "
            click.echo(separator + _encoded(asdict(issue)), nl=False)
            counts[issue.severity] += 1
        click.echo(f'],"errors":{counts["error"]},"warnings":{counts["warning"]}}}', nl=False)
        total += counts
    valid = "false" if total["error"] else "true"
    click.echo(f'\n],"errors":{total["error"]},"warnings":{total["warning"]},"valid":{valid}}}')
    return total


def _encoded(record: dict[str, Any]) -> str:
    """Write a record as JSON; of a file name that is not Unicode, what is not becomes a question mark."""
    readable = {
        name: value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
        for name, value in record.items()
    }
    return strict_json.encode(readable).decode()
