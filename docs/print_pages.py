"""Print what comes from the code and its tables (`make docs`): the reference, and the front door's stub."""

from __future__ import annotations

import inspect
import json
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import click

import rag_evaluation_framework as front_door
from rag_evaluation_framework import components
from rag_evaluation_framework.cli.main import GROUPS, program
from rag_evaluation_framework.extensions import RENDERERS
from rag_evaluation_framework.metrics.declaration import Metric, all_metrics
from rag_evaluation_framework.models.prompts import load_prompt, prompt_names
from rag_evaluation_framework.reports.list_blocks import component_rows
from rag_evaluation_framework.version import FORMAT_VERSION

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "reference"
SOURCE = Path(front_door.__file__).parent
STUB = Path(front_door.__file__).with_suffix(".pyi")
SCHEMAS = SOURCE / "datasets" / "schemas"


METRICS_HEAD = """# Metrics

{families}

Name a metric with its parameters: `ndcg@10` is nDCG over the first 10 results, `rbp(p=0.5)` sets a parameter.
Values are from 0 to 1 and higher is better, unless the row says otherwise. A sample without the fields that a
metric needs, or with nothing to score (no claim, no citation), is skipped and counted. `rag-eval list metrics
NAME` prints the full formula, the empty cases, the version and the source of the definition.

The method *LLM judge* needs `--judge-model` and *embedding* needs `--embedder`; without them a metric uses
its other method or is not scored. Metrics marked † were measured on English and Chinese; without a judge,
samples in other languages are skipped. In a conversation, metrics of answers, texts, refusals and safety are
means over its turns ([scoring](../explanation/scoring.md)).

`evidence` is the contexts of the answer, else documents. `retrieved` is the ranking that the agent reports.
`entities`, `relation`, `milestones` and `hops` are fields of [golden sets](schemas.md#golden-factual);
`steps` is a [trace](../how-to/traces.md); `expected_tools` is in the metadata of a sample."""

# How VOICE names the methods; the first word of a declared method decides.
METHODS = {
    "exact": "exact",
    "lexical": "word overlap",
    "lexicon": "word list",
    "judge": "LLM judge",
    "embedding": "embedding",
    "trace": "trace",
    "timing": "timing",
    "reported": "reported by the agent",
}
MOST_FORMULA_WORDS = 30


def metrics_page() -> str:
    """Return one table of metrics for each family."""
    families = [
        (name, list(members)) for name, members in groupby(all_metrics(), key=lambda each: each.family)
    ]
    links = [(f"[{name}](#{name})", _code(*(each.name for each in members))) for name, members in families]
    parts = [METRICS_HEAD.format(families=table("family", "metrics", rows=links))]
    for name, members in families:
        columns = {
            "metric": [_metric_names(each) for each in members],
            "measures": [_metric_meaning(each) for each in members],
            "needs": [_code(*each.needs) for each in members],
            "method": [_metric_methods(each) for each in members],
        }
        shared = {key for key, cells in columns.items() if len(set(cells)) == 1 and len(cells) > 1}
        common = [f"Each needs {columns['needs'][0]}."] if "needs" in shared else []
        common += [f"Method: {columns['method'][0]}."] if "method" in shared else []
        own = {key: cells for key, cells in columns.items() if key not in shared}
        parts.append("\n\n".join([f"## {name.capitalize()}", *([" ".join(common)] if common else [])]))
        parts.append(table(*own, rows=zip(*own.values(), strict=True)))
    return "\n\n".join(parts) + "\n"


def _code(*names: str) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _metric_names(metric: Metric) -> str:
    also = f", also {_code(*metric.aliases)}" if metric.aliases else ""
    return f"`{metric.signature}`{'†' if metric.languages() else ''}{also}"


def _metric_meaning(metric: Metric) -> str:
    """Return what a metric measures, its formula if that is short, and where its values differ from most."""
    formula = metric.formula.replace("``", "`").replace(" * ", " × ").rstrip(".")
    parts = [metric.summary]
    parts += [f"Formula: {formula}."] if len(formula.split()) <= MOST_FORMULA_WORDS else []
    parts += [] if metric.is_share else ["Not limited to 1."]
    return " ".join([*parts, *([] if metric.higher_is_better else ["Lower is better."])])


def _metric_methods(metric: Metric) -> str:
    words = [re.split("[, ]", each)[0] for each in (metric.method, *metric.methods)]
    return " or ".join(dict.fromkeys(METHODS.get(word, word) for word in words))


def table(*columns: str, rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(str(cell).replace('|', '&#124;') for cell in line)} |" for line in lines)


# Commands.

COMMANDS_HEAD = """# Commands

{commands}

Each section lists the options of its command alone and names the [options that it shares](#shared-options).
`rag-eval COMMAND --help` prints the common ones with examples, `--help-all` all of them; `rag-eval --version`
prints the version. [Errors and exit codes](errors.md) says how a command ends."""

SHARED_HEAD = """## Shared options

{every}

Every command takes these; `--help-all` exists where `--help` does not show all options. The options below
belong to the commands that name them; a command that names a group takes all of its options."""

# Options that the same commands share, by the longest name of one of them.
OPTION_GROUPS = {
    "--judge-model": "Judge",
    "--rubric": "Scoring",
    "--sample-size": "Requests and gate",
    "--baseline": "Baseline and reports",
    "--tag": "Selection",
    "--url": "Agent",
    "--workers": "Workers",
    "--resume": "Resume",
    "--resamples": "Intervals",
}
SINGLE = "Single options"
Rows = dict[tuple[str, str], tuple[str, ...]]


def commands_page() -> str:
    """Return every command with its own options, and those that several commands share once."""
    found = dict(_commands(program, ("rag-eval",)))
    listed = [
        (title.lower(), ", ".join(f"[`{name}`](#rag-eval-{name})" for name in members))
        for title, members in GROUPS.items()
    ]
    shared, users = _shared_options(found)
    every = [row for row, names in users.items() if len(names) >= len(found) - 1 or "--help-all" in row[0]]
    parts = [COMMANDS_HEAD.format(commands=table("group", "commands", rows=listed))]
    parts.append(SHARED_HEAD.format(every=_option_table(every)))
    parts += [f"### {title}\n\n{_option_table(rows)}" for title, rows in shared.items()]
    titles = {row: title for title, rows in shared.items() for row in rows}
    for path, (command, context) in found.items():
        if len(path) == 2:
            parts.append(_command_section(path, command, context, found, titles, every))
    return "\n\n".join(parts) + "\n"


def _commands(
    command: click.Command, path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], tuple[click.Command, click.Context]]]:
    """Yield a command and those below it by what is typed."""
    settings = {**program.context_settings, "max_content_width": 10_000, "terminal_width": 10_000}
    context = click.Context(command, info_name=" ".join(path), **settings)
    yield path, (command, context)
    for name in command.list_commands(context) if isinstance(command, click.Group) else ():
        if (member := command.get_command(context, name)) is not None:
            yield from _commands(member, (*path, name))


def _options(command: click.Command, context: click.Context) -> list[tuple[str, str]]:
    """Return the names and the meaning of each option."""
    given = [each for each in command.get_params(context) if isinstance(each, click.Option)]
    rows = [row for each in given if (row := each.get_help_record(context)) is not None]
    return [(_option_names(names), _option_meaning(meaning)) for names, meaning in rows]


def _shared_options(
    found: Mapping[tuple[str, ...], tuple[click.Command, click.Context]],
) -> tuple[dict[str, list[tuple[str, str]]], Rows]:
    """Return the options of several commands by group, and the commands of every option."""
    users: Rows = {}
    for path, (command, context) in found.items():
        for row in _options(command, context):
            users[row] = (*users.get(row, ()), path[-1])
    classes: dict[tuple[str, ...], list[tuple[str, str]]] = {}
    for row, names in users.items():
        if 1 < len(names) < len(found) - 1 and "--help-all" not in row[0]:
            classes.setdefault(names, []).append(row)
    groups: dict[str, list[tuple[str, str]]] = {title: [] for title in (*OPTION_GROUPS.values(), SINGLE)}
    for rows in classes.values():
        names = {_long_name(row) for row in rows}
        title = next((title for name, title in OPTION_GROUPS.items() if name in names), SINGLE)
        groups[title] += rows
    groups[SINGLE].sort(key=_long_name)
    return groups, users


def _long_name(row: tuple[str, str]) -> str:
    return max(re.findall(r"--[\w-]+", row[0]), key=len)


def _option_table(rows: Iterable[tuple[str, str]]) -> str:
    return table("option", "meaning", rows=[(f"`{names}`", meaning) for names, meaning in rows])


def _option_names(names: str) -> str:
    """Return an option's names and value; no bar stands in code within a table."""
    shown = names.replace("INTEGER RANGE", "N").replace("FLOAT RANGE", "NUMBER").replace("INTEGER", "N")
    return shown.replace("|", "/")


def _option_meaning(meaning: str) -> str:
    """Return an option's help without the bounds that its name implies."""
    text = re.sub(r"(?<=[\[ ])x>=?[01](\.1)?(?=\])", "", meaning).replace("; ]", "]").replace("[]", "")
    text = re.sub(r"(?:\[|(; ))([\d.]+)<=?x<=?([\d.]+)\]", r"\1range \2–\3]", text)
    text = re.sub(r"\s+\[(default: )(.*?)\]", r" Default: \2.", text)
    text = re.sub(r"\s+range ([\d.–]+)\]", r" Range: \1.", text)
    return text.replace("*", "\\*").strip()


def _command_section(
    path: tuple[str, ...],
    command: click.Command,
    context: click.Context,
    found: Mapping[tuple[str, ...], tuple[click.Command, click.Context]],
    titles: Mapping[tuple[str, str], str],
    every: Sequence[tuple[str, str]],
) -> str:
    """Return a command's usage, help, own options and the groups of those that it shares."""
    help_text = re.sub(
        r"\n\nExit code 0.*?(?=\n\n|\Z)", "", inspect.cleandoc(command.help or ""), flags=re.DOTALL
    )
    usage = _usage(path, command, context)
    parts = [f"## `{' '.join(path)}`", *([f"`{usage}`"] if usage != " ".join(path) else []), help_text]
    below = [(each, *pair) for each, pair in found.items() if each[:-1] == path]
    if below:
        rows = [(f"`{_usage(*each)}`", each[1].get_short_help_str(200)) for each in below]
        parts.append(table("command", "purpose", rows=rows))
    rows = _options(command, context)
    own = [row for row in rows if row not in titles and row not in every]
    parts += [_option_table(own)] if own else []
    named = dict.fromkeys(titles[row] for row in rows if row in titles)
    links = [f"[{title.lower()}](#{title.lower().replace(' ', '-')})" for title in named if title != SINGLE]
    links += [f"`{_long_name(row)}`" for row in rows if titles.get(row) == SINGLE]
    parts += [f"Shared options: {', '.join(links)}."] if links else []
    return "\n\n".join(parts)


def _usage(path: tuple[str, ...], command: click.Command, context: click.Context) -> str:
    pieces = [each for each in command.collect_usage_pieces(context) if each != "[OPTIONS]"]
    return " ".join([*path, *pieces])


# Files: each schema as a table of its fields.

SCHEMAS_HEAD = """# Files and their fields

{kinds}

`rag-eval validate` checks each kind of file against these fields; `rag-eval schema NAME` prints the JSON
Schema 2020-12 for your editor. A field in **bold** is required; `[]` is each member of a list, `.*` each
value of an object. Other fields are kept."""

RESULTS_HEAD = """# Results

{fields}

Every run writes these fields to a `.results.json` (also `.yaml`, `.csv` and `.parquet`). A field in **bold**
is always there; a field that was not measured is absent; `.*` is each value of an object by its name, such
as `ndcg@5`. `read_results` and `write_results` read and write all four formats without loss.

## Run folder

| file in `runs/RUN/` | content |
| --- | --- |
| `head.json` | settings, dataset, system, versions, and `format_version` |
| `data.jsonl.zst` | the samples |
| `journal.jsonl` | a checksummed line per finished sample; `journal.jsonl.zst` once the run is complete |
| `results.json` | the fields above without `query_results`, which the journal has |
| `verdict.json` | the gate's verdict, thresholds and warnings |
| `blame.jsonl.zst` | the causes of wrong answers |
| `documents.jsonl.zst` | the expected and retrieved documents |
| `figures.json` | a cached summary, computed again if another file changed |
| `judge_usage.json`, `judged.json` | the judge's cost; the samples drawn for a judge budget |
| `lock` | the process that works on the run |

Run folders, results, baselines and labels state their `format_version`, now {version}. Within 2.x, a
newer rag-eval reads files of an older one, and runs of 1.0. An older one refuses files of a newer format and
asks you to update.

## JUnit report

| case | result | message |
| --- | --- | --- |
| `gate` | failure with exit code 1, error if the run is incomplete, skipped without a gate | the verdict |
| an answer | failure if the gate fails because of it or answers like it | its cause, or `got worse: …` |
| | skipped: wrong or partly correct, and a threshold allows it | `wrong, allowed by the gate` |
| | skipped: no threshold limits its grade | `wrong, no threshold covers it` |
| | skipped: not judged | the reason |
| | skipped: only retrieval was measured | `no answer: only retrieval was measured` |"""

# Kinds whose fields are mostly those of another.
LIKE = {
    "annotations": "annotation",
    "golden-boundary": "golden-factual",
    "golden-multiturn": "golden-factual",
    "golden-relationship": "golden-factual",
    "golden-tracking": "golden-factual",
    "retrieval-case": "qa-pair",
    "summary": "qa-pair",
}
Row = tuple[str, str, str]


def schemas_page() -> str:
    """Return a table of the fields of each kind of file; what two kinds share stands in one of them."""
    schemas = {
        path.name.removesuffix(".schema.json"): json.loads(path.read_text(encoding="utf-8"))
        for path in sorted(SCHEMAS.glob("*.schema.json"))
        if path.name != "results.schema.json"
    }
    all_rows = {name: list(_fields(schema, schema, "")) for name, schema in schemas.items()}
    kinds = [(f"[`{name}`](#{name})", f"{schema['description']}.") for name, schema in schemas.items()]
    parts = [SCHEMAS_HEAD.format(kinds=table("kind", "file", rows=kinds))]
    printed: dict[object, str] = {}
    for name, rows in all_rows.items():
        parts.append(f"## {name}")
        if like := LIKE.get(name):
            known = set(map(_by_list, all_rows[like]))
            paths = {_by_list(row)[0] for row in rows}
            absent = [row[0].strip("*") for row in all_rows[like] if _by_list(row)[0] not in paths]
            rows = [row for row in rows if _by_list(row) not in known]
            without = f" without {', '.join(absent)}" if absent else ""
            also = ", and:" if rows else ", one or a list." if name == "annotations" else "."
            parts.append(f"The fields of [{like}](#{like}){without}{also}")
        if name == "offline-record":  # which may have the fields of rag at the top level too
            inside = {row[0].replace("rag.", "") for row in rows if row[0].startswith("`rag.")}
            rows = [row for row in rows if row[0] not in inside]
        parts += [_field_table(rows, printed, f" of {name}")] if rows else []
    return "\n\n".join(parts) + "\n"


def _by_list(row: Row) -> Row:
    """Return a field with its path in one record, whether or not the file is a list of records."""
    return row[0].replace("`[].", "`"), *row[1:]


def results_page() -> str:
    schema = json.loads((SCHEMAS / "results.schema.json").read_text(encoding="utf-8"))
    fields = _field_table(list(_fields(schema, schema, "")), {}, "")
    return RESULTS_HEAD.format(fields=fields, version=FORMAT_VERSION) + "\n"


# Inputs: written by hand up to the names of fields.

NAMES_HEAD = """## Field names of rows

Case, spaces, `-` and `_` do not matter. Earlier names win."""
OTHER_PARTS = {
    "times": "time, with a unit behind it",
    "texts": "text of a retrieved item",
    "names": "document of a retrieved item",
    "scores": "score of a retrieved item",
    "numbered": "columns with a number, as `context_1`",
}


def inputs_page() -> str:
    """Return the page as it is, with the names of fields printed again."""
    names = json.loads((SOURCE / "datasets" / "data" / "field_names.json").read_text(encoding="utf-8"))
    groups = {f"`{part}`": lines for part, lines in names["parts"].items()}
    groups |= {meaning: names[key] for key, meaning in OTHER_PARTS.items()}
    groups |= {f"`{unit}`": lines for unit, lines in names["units"].items()}
    rows = [(part, f"`{', '.join(' '.join(lines).split())}`") for part, lines in groups.items()]
    by_hand = (FOLDER / "inputs.md").read_text(encoding="utf-8").partition("## Field names of rows")[0]
    return f"{by_hand.rstrip()}\n\n{NAMES_HEAD}\n\n{table('part', 'names', rows=rows)}\n"


def _field_table(rows: list[Row], printed: dict[object, str], of: str) -> str:
    """Return a table of fields; fields and long meanings that were ``printed`` before are named by place."""
    shown: list[Row] = []
    while rows:
        (name, kind, meaning), *rows = rows
        path = name.strip("*`")
        if (
            len(meaning.split()) > 15
            and (first := printed.setdefault(meaning, f"`{path}`{of}")) != f"`{path}`{of}"
        ):
            meaning = f"As {first}."
        open_ends = [path[: match.end()] for match in re.finditer(r"\.\*|\[\]", path)]
        for parent in (*open_ends, path):
            below = [row for row in rows if row[0].strip("*`").startswith((f"{parent}.", f"{parent}["))]
            block = [(name, kind, meaning), *below] if parent != path else below
            relative = tuple((row[0].replace(parent, "", 1), row[2]) for row in block)
            if (
                len(relative) > 2
                and (first := printed.setdefault(relative, f"`{parent}`{of}")) != f"`{parent}`{of}"
            ):
                rows = [row for row in rows if row not in below]
                if parent != path:
                    name, kind, meaning = f"`{parent}`", "object", ""
                meaning = f"{meaning}. Fields as {first}.".removeprefix(". ")
                break
        shown.append((name, kind, meaning))
    return table("field", "type", "meaning", rows=shown)


def _fields(schema: Mapping[str, Any], whole: Mapping[str, Any], path: str) -> Iterator[Row]:
    """Yield each field below a schema: its path, its type and its meaning."""
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

| you write | meaning |
| --- | --- |
| `recursive` | the component with the settings shown below |
| `recursive(chunk_size=200, overlap=50)` | with other settings |
| `…` below | a setting that you must give |

The same text works on the command line, in YAML and in Python, and results record it. `rag-eval list
chunkers` (`embedders`, `stores` …) prints the same tables with your [plug-ins](../how-to/plugins.md)."""

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

PROMPTS_HEAD = """## Prompts of a judge

{prompts}

The grades of `relevance_grade` are those of TREC's Deep Learning tracks, as in UMBRELA: 0 is unrelated, 1
related, 2 a partial or hidden answer, 3 the exact answer. Nuggets follow the AutoNuggetizer of TREC 2024's
RAG track. Prompts have versions, which results record.

## A judge card

`rag-eval judge-card` writes `.rag-eval/judge-cards/JUDGE.VERSIONS.json`:

| field | content |
| --- | --- |
| `judge`, `date` | the judge and the day |
| `prompts`, `texts` | versions of its prompts and labeled texts; the card expires if one changes |
| `figures` | `name`, `n`, `value`, `low`, `high` (95% CI), and `fault` beyond [its limit]({card}) |
| `calls`, `failures` | questions asked, and failed replies by kind |
| `seconds_per_call`, `cost_per_call` | mean time, and mean cost in US dollars if prices are set |"""

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
    prompts = PROMPTS_HEAD.format(
        card="../how-to/judges.md#a-judges-card", prompts=table("prompt", "decides", rows=_prompt_rows())
    )
    return "\n\n".join([*parts, prompts, EXTRAS_HEAD, table("extra", "installs", rows=brought)]) + "\n"


def _prompt_rows() -> Iterator[tuple[str, str]]:
    """Yield the name of each prompt and the labels or values among which it decides."""
    for prompt in map(load_prompt, prompt_names()):
        properties = prompt.schema["properties"]
        if prompt.listed:
            properties = properties[prompt.listed]["items"]["properties"]
        values = properties[prompt.decides].get("enum", ["the facts of a correct answer"])
        one = f" for each of the {prompt.listed}" if prompt.listed else ""
        yield f"`{prompt.name}`", ", ".join(map(str, values)) + one


def extras() -> dict[str, list[str]]:
    """Return the extras for users with the packages they install."""
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    found = stated["project"]["optional-dependencies"]
    ours = {"test", "vendors", "dev", "bench"}
    return {name: [re.split("[>=<;]", need)[0] for need in found[name]] for name in found if name not in ours}


# Python.

PYTHON_HEAD = "# Python names"

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

All names above, and `__version__`, are imported from `rag_evaluation_framework`; `help(name)` prints more.
These pages also import from modules below it:"""


def python_page() -> str:
    parts = [PYTHON_HEAD]
    for room, title in ROOMS.items():
        names = [name for name, home in front_door._HOME_OF.items() if home.split(".")[0] == room]
        rows = [
            (f"`{name}`", TYPES.get(name) or first_words(getattr(front_door, name))) for name in sorted(names)
        ]
        parts += [f"## {title}", table("name", "what it is", rows=rows)]
    homes = groupby(sorted(imported_by_pages()), key=lambda each: each[0])
    rows = [(f"`{home}`", _code(*(name for _, name in names))) for home, names in homes]
    return "\n\n".join([*parts, MODULES_HEAD, table("module", "names", rows=rows)]) + "\n"


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
        FOLDER / "inputs.md": inputs_page(),
        FOLDER / "metrics.md": metrics_page(),
        FOLDER / "python.md": python_page(),
        FOLDER / "results.md": results_page(),
        FOLDER / "schemas.md": schemas_page(),
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
