"""Print what comes from the code and its tables (`make docs`): the reference, and the front door's stub."""

from __future__ import annotations

import ast
import inspect
import json
import re
import runpy
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from itertools import chain, groupby
from pathlib import Path
from typing import Any

import click

import rag_evaluation_framework as front_door
from rag_evaluation_framework import components, errors
from rag_evaluation_framework.cli.help_pages import HELP_ALL
from rag_evaluation_framework.cli.main import program
from rag_evaluation_framework.extensions import RENDERERS
from rag_evaluation_framework.metrics.declaration import Metric, all_metrics
from rag_evaluation_framework.reports.list_blocks import component_rows, languages_told

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "reference"
SEEDS = ROOT / "tests" / "seeds" / "promises.py"
SOURCE = Path(front_door.__file__).parent
STUB = Path(front_door.__file__).with_suffix(".pyi")
SCHEMAS = SOURCE / "datasets" / "schemas"


def metrics_page() -> str:
    parts = [METRICS_HEAD]
    for family, members in groupby(all_metrics(), key=lambda metric: metric.family):
        parts.append(f"## {family.capitalize()}")
        parts.extend(_metric_section(metric) for metric in members)
    return "\n\n".join(parts) + "\n"


METRICS_HEAD = """# Metrics

Printed from the declarations by `make docs`. Metrics are named with their parameters:
`ndcg@10` is nDCG over the first ten, `rbp(p=0.5)` changes a parameter. *Needs* lists the fields that a sample
or a response must have; *empty* says what an empty case gives. In a
conversation, metrics of answers, texts, refusals and safety are means over its turns
([scoring](../explanation/scoring.md))."""


def _metric_section(metric: Metric) -> str:
    direction = "higher" if metric.higher_is_better else "lower"
    needs = ", ".join(f"`{need}`" for need in metric.needs)
    ways = f" (may be asked for: {', '.join(metric.methods)})" if len(metric.methods) > 1 else ""
    lines = [
        f"### `{metric.signature}`",
        "",
        metric.summary,
        "",
        f"- formula: {metric.formula}",
        f"- better: {direction}; needs {needs}; method: {metric.method}{ways}; version {metric.version}",
        f"- empty: {metric.empty}",
        *(
            [f"- languages: {languages_told(metric)}; without a judge, others are skipped"]
            if metric.languages()
            else []
        ),
        f"- source: {metric.source}",
    ]
    if metric.aliases:
        lines.append("- also written: " + ", ".join(f"`{alias}`" for alias in metric.aliases))
    return "\n".join(lines)


def table(*columns: str, rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(str(cell).replace('|', '&#124;') for cell in line)} |" for line in lines)


# Commands, and how they end.

COMMANDS_HEAD = """# Commands

Every command with all its options. `rag-eval COMMAND --help` shows the common ones, `--help-all`
all of them. [Errors and exit codes](errors.md) says how a command ends."""


def commands_page() -> str:
    parts = [COMMANDS_HEAD]
    _describe(program, ["rag-eval"], parts)
    return "\n\n".join(parts) + "\n"


def _describe(command: click.Command, path: list[str], parts: list[str]) -> None:
    """Add a command's help, then its subcommands'."""
    settings = {**program.context_settings, "max_content_width": 100, "terminal_width": 100}
    with click.Context(command, info_name=" ".join(path), **settings) as context:
        context.meta[HELP_ALL] = True
        parts.append(f"## `{' '.join(path)}`\n\n```text\n{command.get_help(context).strip()}\n```")
        if isinstance(command, click.Group):
            for name in command.list_commands(context):
                member = command.get_command(context, name)
                if member is not None:
                    _describe(member, [*path, name], parts)


ERRORS_HEAD = """# Errors and exit codes

| exit code | meaning |
| ---: | --- |
| 0 | done; with a gate: passed, or thresholds met |
| 1 | the gate failed, was not evaluated, or is undecided, which `--on-undecided pass` makes a 0 |
| 2 | wrong usage or wrong data: one to three lines on standard error, and nothing is changed |
| 3 | incomplete: the system or model could not be reached, time or money ran out, the disk is full |
| 130 | interrupted by Ctrl-C; `--resume` continues where it stopped |

Wrong data is reported all at once, a line each: `file:line: field: expected …, got …`. With `--json`
each problem also has one of the codes below, which stay the same from version to version.

## Exceptions

Everything the package raises on purpose is a `RagEvalError`. Indented names are special cases."""


def errors_page() -> str:
    """Return how commands end, the tree of exceptions, and the codes of problems found in data."""
    tree = inspect.getdoc(errors) or ""
    drawn = inspect.cleandoc(tree.partition("::\n\n")[2].partition("\n\nLow code")[0])
    codes = ", ".join(f"`{code}`" for code in sorted(issue_codes()))
    return f"{ERRORS_HEAD}\n\n```text\n{drawn}\n```\n\n## Codes of problems in data\n\n{codes}\n"


def issue_codes() -> set[str]:
    """Return the code of every problem that the source code can report."""
    texts = [path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py")]
    trees = [ast.parse(text) for text in texts if re.search(r"\bIssue\b|\bcode\b", text)]
    calls = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call)]
    given = [call.args[:1] for call in calls if isinstance(call.func, ast.Name) and call.func.id == "Issue"]
    given += [[word.value] for call in calls for word in call.keywords if word.arg == "code"]
    found = [node.value for node in chain(*given) if isinstance(node, ast.Constant)]
    return {code for code in found if isinstance(code, str) and re.fullmatch(r"[a-z]+(-[a-z0-9]+)*", code)}


# Files: each schema as a table of its fields.

SCHEMAS_HEAD = """# Files and their fields

What `rag-eval validate` checks in each kind of file, from the schemas in the package. `rag-eval
schema NAME` prints one as JSON Schema 2020-12, for an editor. A field in **bold** is required; `[]` is
each member of a list, `.*` each value of an object. Other fields are kept. [Results](results.md) have their
own page."""

RESULTS_HEAD = """# Results

The fields of a `.results.json` (also `.yaml`, `.csv` and `.parquet`), which every run writes. A field in
**bold** is always there; what was not measured is left out. `read_results` and `write_results` read and
write all four formats without loss."""


def schemas_page() -> str:
    parts = [SCHEMAS_HEAD]
    for path in sorted(SCHEMAS.glob("*.schema.json")):
        schema = json.loads(path.read_text(encoding="utf-8"))
        if path.name != "results.schema.json":
            parts.append(f"## {path.name.removesuffix('.schema.json')}\n\n{schema['description']}.")
            parts.append(_field_table(schema))
    return "\n\n".join(parts) + "\n"


def results_page() -> str:
    schema = json.loads((SCHEMAS / "results.schema.json").read_text(encoding="utf-8"))
    return f"{RESULTS_HEAD}\n\n{_field_table(schema)}\n"


def _field_table(schema: Mapping[str, Any]) -> str:
    return table("field", "kind", "what it is", rows=_fields(schema, schema, ""))


def _fields(schema: Mapping[str, Any], whole: Mapping[str, Any], path: str) -> Iterator[tuple[str, str, str]]:
    """Yield each field below a schema: its path, its kind and what it is."""
    schema = _resolved(schema, whole)
    for either in [*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())]:
        yield from _fields(either, whole, path)
    required = schema.get("required", ())
    for name, field in schema.get("properties", {}).items():
        inner, place = _resolved(field, whole), f"{path}.{name}".lstrip(".")
        shown = f"**`{place}`**" if name in required else f"`{place}`"
        yield shown, _kind(inner), str(field.get("description") or inner.get("description", ""))
        yield from _fields(inner, whole, place)
    if isinstance(schema.get("items"), Mapping):
        yield from _fields(schema["items"], whole, f"{path}[]")
    if isinstance(schema.get("additionalProperties"), Mapping):
        yield from _fields(schema["additionalProperties"], whole, f"{path}.*")


def _resolved(schema: Mapping[str, Any], whole: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a schema with what it refers to, except a reference to its own kind again."""
    reference = schema.get("$ref", "")
    if not reference.startswith("#/$defs/"):
        return schema
    return {
        **whole["$defs"][reference.rpartition("/")[2]],
        **{key: schema[key] for key in schema if key != "$ref"},
    }


def _kind(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return " or ".join(f"`{value}`" for value in schema["enum"])
    kinds = schema.get("type", [])
    return " or ".join([kinds] if isinstance(kinds, str) else [kind for kind in kinds if kind != "null"])


# Components, and the extras that bring what they need.

COMPONENTS_HEAD = """# Components and extras

A component is written as its name with the settings that differ from those shown:
`recursive(chunk_size=200, overlap=50)`. The same text works on the command line, in YAML and in Python,
and is what results record; `…` stands for a setting that must be given. `rag-eval list chunkers` and so
on print the same, including installed [plug-ins](../how-to/plugins.md)."""

KINDS = {
    "Chunkers": components.CHUNKERS,
    "Embedders": components.EMBEDDERS,
    "Retrievers": components.RETRIEVERS,
    "Vector stores": components.VECTOR_STORES,
    "Indexes that exist already": components.INDEXES,
    "Rerankers": components.RERANKERS,
    "Systems to ask": components.TARGETS,
    "Judges": components.JUDGES,
    "What results are rendered as": RENDERERS,
}

EXTRAS_HEAD = """## Extras

Packages for a single format or vendor are installed only on request: `pip install
'rag-evaluation-framework[chroma,parquet]'`. A command that needs one names it."""


def components_page() -> str:
    parts = [COMPONENTS_HEAD]
    for kind, registry in KINDS.items():
        rows = [
            row for row in component_rows(registry, skipped=registry is RENDERERS) if row["package"] is None
        ]
        cells = [(f"`{row['written']}`", row["error"] or row["summary"]) for row in rows]
        parts += [f"## {kind}", table("component", "what it is", rows=cells)]
    brought = [(f"`{name}`", ", ".join(needs)) for name, needs in extras().items()]
    return "\n\n".join([*parts, EXTRAS_HEAD, table("extra", "installs", rows=brought)]) + "\n"


def extras() -> dict[str, list[str]]:
    """Return the extras for users with the packages they install."""
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    found = stated["project"]["optional-dependencies"]
    ours = {"test", "vendors", "dev", "bench"}
    return {name: [re.split("[>=<;]", need)[0] for need in found[name]] for name in found if name not in ours}


# Python.

PYTHON_HEAD = """# Python names

Every name in the first part can be imported from `rag_evaluation_framework` and is loaded when it is
first used; so can `__version__`. `help(name)` says more."""

# Where a name's home speaks of something else than its users do, in the order in which people come.
ROOMS = {
    "evaluation": "Evaluating",
    "results": "Results, gates, comparisons",
    "datasets": "Datasets and files",
    "records": "Records",
    "metrics": "Metrics",
    "retrieval": "Retrieval",
    "adapters": "Systems and services",
    "synthesis": "Questions from documents",
    "judging": "Judges",
    "extensions": "What a component of your own must have",
    "errors": "Errors",
}
TYPES = {
    "ChunkId": "A chunk's id: text.",
    "DocumentId": "A document's id: text.",
    "EvaluationType": '`"chunk-level"` or `"token-level"`.',
    "PositionAwareChunkId": "The id of a chunk that knows its characters: text.",
    "QueryId": "A question's id: text.",
    "QueryText": "A question's words: text.",
}

MODULES_HEAD = """## From their modules

What these pages import from a module below `rag_evaluation_framework`:"""


def python_page() -> str:
    parts = [PYTHON_HEAD]
    for room, title in ROOMS.items():
        names = [name for name, home in front_door._HOME_OF.items() if home.split(".")[0] == room]
        rows = [
            (f"`{name}`", TYPES.get(name) or first_words(getattr(front_door, name))) for name in sorted(names)
        ]
        parts += [f"## {title}", table("name", "what it is", rows=rows)]
    rows = [
        (f"`{home}`", f"`{name}`", first_words(getattr(import_module(f"{front_door.__name__}.{home}"), name)))
        for home, name in sorted(imported_by_pages())
    ]
    return "\n\n".join([*parts, MODULES_HEAD, table("module", "name", "what it is", rows=rows)]) + "\n"


def imported_by_pages() -> set[tuple[str, str]]:
    """Return the module and name of each import of the pages from below the front door."""
    text = "\n".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs").rglob("*.md"))
    found = re.findall(rf"^from {front_door.__name__}\.([\w.]+) import (\([^)]*\)|.*)$", text, re.MULTILINE)
    return {(home, name) for home, names in found for name in re.findall(r"\w+", names.split("#")[0])}


def first_words(thing: object) -> str:
    """Return the first paragraph of a docstring on one line; plain values have none of their own."""
    if isinstance(thing, str | int | float | Mapping | tuple):
        return "a value"
    told = " ".join((inspect.getdoc(thing) or "").partition("\n\n")[0].split())
    return re.sub(r":\w+:`[~.]*([^`]*)`", r"`\1`", told).replace("``", "`")


def seeds_page() -> str:
    """Return the page of what the seed documents promise, from the tables that the tests run."""
    return str(runpy.run_path(str(SEEDS), run_name="promises")["page"]())


def stub() -> str:
    """Return what type checkers read in place of the front door, which loads its names lazily."""
    homes = [("version", "__version__"), *((home, name) for name, home in front_door._HOME_OF.items())]
    lines = sorted(f"from rag_evaluation_framework.{home} import {name} as {name}" for home, name in homes)
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the files; with ``--check``, only say which of them are not what would be written."""
    printed = {
        STUB: stub(),
        FOLDER / "commands.md": commands_page(),
        FOLDER / "components.md": components_page(),
        FOLDER / "errors.md": errors_page(),
        FOLDER / "metrics.md": metrics_page(),
        FOLDER / "python.md": python_page(),
        FOLDER / "results.md": results_page(),
        FOLDER / "schemas.md": schemas_page(),
        FOLDER / "seeds.md": seeds_page(),
    }
    if "--check" in sys.argv:
        stale = [
            path.name
            for path, text in printed.items()
            if not path.exists() or path.read_text("utf-8") != text
        ]
        sys.exit(f"out of date, run `make docs`: {', '.join(stale)}" if stale else 0)
    for path, text in printed.items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
