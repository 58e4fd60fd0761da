"""No code of the package runs text, loads pickles, starts a shell, or runs a user's regular expression.

Nor does any open a file to read it but ``files/access.py``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from cases import tables_beside

TABLES = tables_beside(__file__)

PACKAGE = Path(__file__).parents[1] / "src" / "rag_evaluation_framework"
MODULES = sorted(PACKAGE.rglob("*.py"))

BUILTINS = {"eval", "exec", "compile", "__import__"}
IMPORTS = {"pickle", "cPickle", "_pickle", "dill", "marshal", "shelve", "cloudpickle", "joblib"}
CALLS = {"os.system", "os.popen", "yaml.unsafe_load", "yaml.full_load", "numpy.load", "np.load"}
SAFE_LOADERS = {"SafeLoader", "CSafeLoader", "BaseLoader", "CBaseLoader"}
REGEX_CALLS = {"compile", "match", "search", "fullmatch", "sub", "subn", "split", "findall", "finditer"}

# Patterns made of words that are written in the module, or in a data file beside it, and nobody else's.
PATTERNS_OF_OUR_OWN = {
    "judging/answer_classes.py",
    "judging/mentions.py",
    "judging/reference_match.py",
    "judging/relations.py",
    "synthesis/english_clauses.py",
    "text/numbers.py",
}


# Who opens by hand, and why: one for all; the others write, lock, or read what the package brings along.
OPENED_BY_HAND = {
    "files/access.py": "the one guarded way",
    "files/atomic.py": "writes; locks temporary files",
    "files/sqlite.py": "opens caches of our own making",
    "results/journal.py": "appends",
    "results/answer_labels.py": "appends",
    "files/process_locks.py": "locks",
    "cli/main.py": "sends output nowhere",
    "extensions.py": "reads what installed packages declare",
    "results/resources.py": "reads the size of the process from the kernel",
    **dict.fromkeys(
        (
            "datasets/project.py",
            "datasets/field_names.py",
            "datasets/schemas.py",
            "judging/answer_classes.py",
            "judging/cascade.py",
            "judging/judge_card.py",
            "judging/lexical_support.py",
            "judging/mentions.py",
            "judging/reference_match.py",
            "judging/methods.py",
            "judging/profanity.py",
            "models/prompts.py",
            "evaluation/option_table.py",
            "synthesis/english_clauses.py",
            "text/normalisation.py",
            "text/vocabulary.py",
        ),
        "reads data of the package",
    ),
}
OPENING = "opens a file past files/access.py"
READING_METHODS = {"open", "read_text", "read_bytes"}


def violations(source: str) -> list[str]:
    """Return what a module does that none may, each with its line."""
    tree = ast.parse(source)
    return [f"line {line}: {what}" for line, what in _found(tree)]


def _found(tree: ast.Module) -> Iterator[tuple[int, str]]:
    constants = _module_constants(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = (
                {alias.name.split(".")[0] for alias in node.names} if isinstance(node, ast.Import) else set()
            )
            names |= {(node.module or "").split(".")[0]} if isinstance(node, ast.ImportFrom) else set()
            yield from ((node.lineno, f"import {name}") for name in names & IMPORTS)
        elif isinstance(node, ast.Call):
            yield from ((node.lineno, what) for what in _forbidden_in_call(node, constants))


def _forbidden_in_call(call: ast.Call, constants: set[str]) -> Iterator[str]:
    name = ast.unparse(call.func)
    if name in BUILTINS or name in CALLS:
        yield name
    if any(word.arg == "shell" and _may_be_true(word.value) for word in call.keywords):
        yield "shell=True"
    if any(word.arg == "allow_pickle" and _may_be_true(word.value) for word in call.keywords):
        yield "allow_pickle=True"
    if name in ("yaml.load", "yaml.load_all"):
        loaders = [ast.unparse(word.value) for word in call.keywords if word.arg == "Loader"]
        if not loaders or loaders[0].rpartition(".")[2] not in SAFE_LOADERS:
            yield name
    if name in ("open", "io.open", "os.open", "os.fdopen", "sqlite3.connect") or _reads_a_path(call):
        yield OPENING
    module, _, function = name.rpartition(".")
    compiles = (module == "re" and function in REGEX_CALLS) or function == "late_pattern"
    if compiles and not _is_constant(call.args[0], constants):
        yield f"{name} of a pattern that is not written in the module"


def _reads_a_path(call: ast.Call) -> bool:
    """Tell ``path.open()`` and its like from a record's own ``open``, which is called on a class."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in READING_METHODS:
        return False
    owner = call.func.value
    return not (isinstance(owner, ast.Name) and (owner.id in ("self", "cls") or owner.id[0].isupper()))


def _may_be_true(value: ast.expr) -> bool:
    return not (isinstance(value, ast.Constant) and value.value is False)


def _module_constants(tree: ast.Module) -> set[str]:
    """Return the names that the module itself gives a constant text."""
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PACKAGE.name):
            found.update(alias.asname or alias.name for alias in node.names if alias.name.isupper())
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        value = getattr(node, "value", None)
        if isinstance(target, ast.Name) and value is not None and _is_constant(value, found):
            found.add(target.id)
    return found


def _is_constant(pattern: ast.expr, constants: set[str]) -> bool:
    """Tell whether a pattern is made of the module's own texts only, or of text that was escaped."""
    if isinstance(pattern, ast.Constant):
        return True
    if isinstance(pattern, ast.Name):
        return pattern.id in constants
    if isinstance(pattern, ast.BinOp):
        return _is_constant(pattern.left, constants) and _is_constant(pattern.right, constants)
    if isinstance(pattern, ast.JoinedStr):
        return all(_is_constant(part, constants) for part in pattern.values)
    if isinstance(pattern, ast.FormattedValue | ast.Starred | ast.Subscript | ast.Attribute):
        return _is_constant(pattern.value, constants)
    if isinstance(pattern, ast.List | ast.Tuple | ast.Set):
        return all(_is_constant(part, constants) for part in pattern.elts)
    if isinstance(pattern, ast.Dict):
        return all(key is not None and _is_constant(key, constants) for key in pattern.keys)
    return isinstance(pattern, ast.Call) and _is_constant_call(pattern, constants)


def _is_constant_call(call: ast.Call, constants: set[str]) -> bool:
    """Tell escaped text, and the module's own words sorted, split or joined."""
    name = ast.unparse(call.func)
    if name == "re.escape":
        return True
    if name == "sorted":
        return _is_constant(call.args[0], constants)
    if isinstance(call.func, ast.Attribute) and call.func.attr == "split":
        return _is_constant(call.func.value, constants)
    is_join = isinstance(call.func, ast.Attribute) and call.func.attr == "join"
    if not is_join or not _is_constant(call.func.value, constants):  # type: ignore[attr-defined]
        return False
    return _is_constant(call.args[0], constants) or ast.unparse(call.args[0]).startswith("map(re.escape, ")


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_module_does_what_none_may(module: Path) -> None:
    found = violations(module.read_text(encoding="utf-8"))
    if module == PACKAGE / "startup.py":  # names of fields; and patterns, which are checked where they stand
        found = [each for each in found if not each.endswith((": exec", "not written in the module"))]
    if module.relative_to(PACKAGE).as_posix() in PATTERNS_OF_OUR_OWN:
        found = [each for each in found if not each.endswith("not written in the module")]
    if module == PACKAGE / "text" / "patterns.py":  # users' patterns: compiled to find faults, never searched
        found = [each for each in found if ": re.compile of a pattern" not in each]
    if module.relative_to(PACKAGE).as_posix() in OPENED_BY_HAND:
        found = [each for each in found if not each.endswith(OPENING)]
    assert found == []


@pytest.mark.parametrize("source", TABLES["seen"])
def test_the_check_sees_each_of_them(source: str) -> None:
    assert violations(source)


@pytest.mark.parametrize(
    "source",
    [
        *TABLES["passed"],
        f"from {PACKAGE.name}.characters import HAN_CHARACTER\nre.compile(f'{{HAN_CHARACTER.pattern}}+')",
    ],
)
def test_the_check_lets_the_rest_pass(source: str) -> None:
    assert violations(source) == []


def test_no_pattern_repeats_a_group_possessively() -> None:
    """Before Python 3.11.5 what its last vain try had read was lost; Debian 12 has 3.11.2: ``(?>(...)*)``."""
    group = re.compile(r"(?:\)|\{[a-z_]+\})(?:[*+?]|\{\{?[0-9,]+\}?\})\+(?!,)")
    files = [path for path in PACKAGE.rglob("*") if path.suffix in (".py", ".yaml", ".json")]
    assert [path.name for path in files if group.search(path.read_text(encoding="utf-8"))] == []
