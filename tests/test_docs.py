"""Every code block in the documentation runs; every page that is printed from the code is up to date.

Python blocks of a page run one after another in one namespace, in a folder with a copy of the examples and,
as ``exports``, of the files that other tools wrote. A text block right below a Python block is its output.
Console blocks start with ``$``: the command runs, and the lines below it, where there are any, are what it
prints (``…`` stands for anything). A block that begins with ``# needs PACKAGE and PROGRAM`` runs where both
are. A tutorial begins in an empty folder: a block below a line that ends with a file's name (Make a file
`agent.yaml`:) is that file; ``echo $?`` shows the exit code.
"""

from __future__ import annotations

import ast
import fnmatch
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from contextlib import redirect_stdout
from importlib.util import find_spec
from io import StringIO
from itertools import zip_longest
from pathlib import Path

import click
import pytest

import rag_evaluation_framework as front_door
from command_lines import rag_eval_ended
from rag_evaluation_framework import errors
from rag_evaluation_framework.datasets.schemas import WORDINGS

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "examples").glob("*/README.md")),
]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
RUN_KINDS = {"python", "console"}
# Shown, not run: pictures, set-up commands, file formats.
SHOWN_KINDS = {"text", "bash", "json", "toml", "yaml"}
VENDORS = pytest.mark.vendors


def blocks(page: Path) -> list[tuple[str, str]]:
    """Return the kind and text of each block, the text behind as many line ends as stand before it."""
    text = page.read_text(encoding="utf-8")
    return [
        (match[1], "\n" * text.count("\n", 0, match.start(2)) + match[2]) for match in BLOCK.finditer(text)
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_is_of_a_known_kind(page: Path) -> None:
    kinds = {kind for kind, _ in BLOCK.findall(page.read_text(encoding="utf-8"))}
    assert kinds <= RUN_KINDS | SHOWN_KINDS
    assert page.read_text(encoding="utf-8").count("\n```") % 2 == 0


# A page with blocks that need a package is one of `make test-vendors` too, where they all run.
@pytest.mark.usefixtures("own_metrics")
@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[VENDORS] * ("\n# needs " in page.read_text("utf-8"))) for page in PAGES],
    ids=[str(page.relative_to(ROOT)) for page in PAGES],
)
def test_the_blocks_of_a_page_run_in_order(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if page.parent.name != "tutorials" and any(kind in RUN_KINDS for kind, _ in blocks(page)):
        shutil.copytree(ROOT / "examples", tmp_path / "examples")
        shutil.copytree(ROOT / "tests" / "fixtures" / "tools", tmp_path / "exports")
    monkeypatch.chdir(tmp_path)
    follow(page, tmp_path)


def follow(page: Path, folder: Path) -> None:
    """Do what a page says, .."""
    namespace: dict[str, object] = {}
    printed = ""
    for kind, block in blocks(page):
        before = page.read_text(encoding="utf-8").splitlines()[
            : block.count("\n", 0, len(block) - len(block.lstrip())) - 1
        ]
        named = re.search(r"`(\S+\.\w+)`[^`.]*:\Z", "\n".join(before).rstrip())
        needed = re.match(r"\s*# needs (\w+)(?: and (\w+))?", block)
        if needed and (find_spec(needed[1]) is None or shutil.which(needed[2] or sys.executable) is None):
            continue
        if named and page.parent.name == "tutorials":
            (folder / named[1]).parent.mkdir(parents=True, exist_ok=True)
            (folder / named[1]).write_text(block.lstrip("\n"), encoding="utf-8")
        elif kind == "python":
            with redirect_stdout(StringIO()) as output:
                exec(compile(block, str(page), "exec"), namespace)
            printed = output.getvalue().strip()
        elif kind == "text" and "\n".join(before).endswith("```\n\n```text"):
            assert fnmatch.fnmatchcase(printed, shown_pattern(block)), f"{page.name} prints\n{printed}"
        elif kind == "console":
            commands = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
            assert commands, f"a console block without a command: {block.strip()}"
            for command, after in zip_longest(commands, commands[1:], fillvalue=""):
                if not command.startswith("echo $?"):
                    run_command(command, folder, int(after.split()[2]) if after.startswith("echo $?") else 0)


def run_command(part: str, folder: Path, code: int = 0) -> None:
    """Run a command of a console block; the lines below it are what it prints."""
    command, _, shown = part.replace("\\\n", "").partition("\n")
    program, *arguments = shlex.split(command)
    assert program == "rag-eval", command
    done = rag_eval_ended(*arguments, folder=folder, environment={**os.environ, "COLUMNS": "100"})
    assert done.returncode == code, f"{command}: {done.stderr}"
    if pattern := shown_pattern(shown):
        assert fnmatch.fnmatchcase(done.stdout.strip(), pattern), f"{command} prints\n{done.stdout}"


def shown_pattern(shown: str) -> str:
    """Return the pattern of an output that a page shows."""
    return shown.strip().replace("[", "[[]").replace("…", "*")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_to_a_page_and_a_heading_of_it(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", page.read_text(encoding="utf-8")):
        linked = page.parent / target if target else page
        assert linked.exists(), f"{page.name} links to {target}"
        assert not anchor or anchor in anchors(linked), f"{page.name} links to {target}#{anchor}"


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, made as GitHub makes them."""
    prose = BLOCK.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.*)", prose, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_import_from_the_front_door_what_it_exports(page: Path) -> None:
    code = "".join(block for kind, block in blocks(page) if kind == "python")
    deep = [
        name.name
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("rag_evaluation_framework.")
        for name in node.names
    ]
    assert not set(deep) & set(front_door.__all__)


def test_what_is_printed_from_the_code_is_up_to_date() -> None:
    # In a process of its own: click keeps the help option of a command as it was first asked for.
    program = [sys.executable, str(ROOT / "docs" / "print_pages.py"), "--check"]
    done = subprocess.run(program, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def page(name: str) -> str:
    return (ROOT / "docs" / "reference" / name).read_text(encoding="utf-8")


def commands_of(command: click.Command, path: str = "rag-eval") -> dict[str, click.Command]:
    """Return a command and those below it by what is typed."""
    found = {path: command}
    if isinstance(command, click.Group):
        with click.Context(command) as context:
            for name in command.list_commands(context):
                member = command.get_command(context, name)
                assert member is not None
                found |= commands_of(member, f"{path} {name}")
    return found


def test_what_there_is_is_documented() -> None:
    """Commands, metrics, names, extras and keys; what is printed from the code cannot be made up."""
    from rag_evaluation_framework.cli.main import program
    from rag_evaluation_framework.datasets import project_settings
    from rag_evaluation_framework.evaluation import manifest, option_table
    from rag_evaluation_framework.judging import rubrics
    from rag_evaluation_framework.metrics.declaration import all_metrics

    described = set(re.findall(r"^(?:## |\| )`(rag-eval(?: [a-z-]+)+)", page("commands.md"), re.MULTILINE))
    assert set(commands_of(program)) - {"rag-eval"} <= described
    # Tests declare metrics of their own in this process.
    metrics = {
        each.name for each in all_metrics() if str(each.function.__module__).startswith(front_door.__name__)
    }
    assert metrics <= set(re.findall(r"^\| `([\w-]+)", page("metrics.md"), re.MULTILINE))
    assert set(front_door.__all__) <= set(re.findall(r"`(\w+)`", page("python.md")))
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = set(stated["project"]["optional-dependencies"]) - {"test", "vendors", "dev", "bench"}
    assert extras <= set(re.findall(r"^\| `([\w-]+)`", page("components.md"), re.MULTILINE))

    sections = re.split(r"^## ", page("configuration.md"), flags=re.MULTILINE)[1:]
    keys = {
        section.partition("\n")[0]: set(
            re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`[^|]*) \|", section, re.MULTILINE)))
        )
        for section in sections
    }
    assert keys["`spec.evaluation`"] == {*manifest._EVALUATION_KEYS, *manifest._GATE_KEYS}
    assert keys["Rubrics"] == set(rubrics._KEYS)
    text = page("configuration.md")
    of_judge = [each.key for each in option_table.declared("judge") if each.key]
    nested = [*manifest._DATASET_KEYS, *of_judge, *manifest._AUTH_KEYS, *manifest._REQUEST_KEYS]
    files = (project_settings.EVALUATION_DEFAULTS, project_settings.PERFORMANCE)
    settings = [key for file in files for key in project_settings._keys(file)]
    parts = [part for key in settings if f"`{key}`" not in text for part in key.split(".")]
    told = [*nested, *rubrics._CRITERION_KEYS, *parts]
    assert {f"`{key}`" for key in told if f"`{key}`" not in text} == set()


# How to add a command is told with one that there is not.
@pytest.mark.parametrize("path", PAGES[:1] + PAGES[2:], ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_is_documented_that_does_not_exist(path: Path) -> None:
    """Each option of each command line exists, in code and in prose, and so does each name of ours."""
    from rag_evaluation_framework.cli.main import program

    text = path.read_text(encoding="utf-8")
    commands = commands_of(program)
    for line in re.findall(r"(?:^\$ |`|^)(rag-eval [^`\n]+)", text, re.MULTILINE):
        words = re.split(r"\s+", re.sub(r"'[^']*'|\"[^\"]*\"", "X", line.partition("#")[0]))
        command = commands.get(" ".join(words[:3])) or commands.get(" ".join(words[:2]))
        assert command is not None or not re.fullmatch(r"[a-z][a-z-]+", words[1]), f"{path.name}: {line}"
        known = {
            option for each in getattr(command, "params", ()) for option in each.opts + each.secondary_opts
        }
        used = {word.partition("=")[0] for word in words if re.fullmatch(r"--[a-z][a-z-]*(=.*)?", word)}
        assert command is None or used <= known | {"--help", "--help-all"}, f"{path.name}: {line}"
    rooted = re.findall(r"^from rag_evaluation_framework import (?:\(([^)]*)\)|(.*))$", text, re.MULTILINE)
    names = {name for found in rooted for part in found for name in re.findall(r"\w+", part.split("#")[0])}
    assert names <= set(front_door.__all__)


def test_each_error_and_code_of_a_problem_is_explained() -> None:
    _, *others = re.split(r"^## ", page("errors.md"), flags=re.MULTILINE)
    cells = {
        section.partition("\n")[0]: re.findall(r"^\| (`[^|]*) \|", section, re.MULTILINE)
        for section in others
    }
    raised = [each for each in vars(errors).values() if isinstance(each, type)]
    names = {each.__name__ for each in raised if issubclass(each, errors.RagEvalError)}
    assert names - {"RagEvalError"} == set(re.findall(r"`(\w+)`", " ".join(cells.pop("Exceptions"))))
    codes = re.findall(r"`([a-z0-9-]+)`", " ".join(cell for section in cells.values() for cell in section))
    assert sorted(codes) == sorted(issue_codes())


def issue_codes() -> set[str]:
    """Return the code of every problem that the source code can report."""
    found = {code for code, _ in WORDINGS.values()}
    for path in (ROOT / "src").rglob("*.py"):
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        functions = {each.name: each.args for each in nodes if isinstance(each, ast.FunctionDef)}
        by_position = {"Issue"} | {
            name
            for name, given in functions.items()
            if [each.arg for each in given.args if each.arg != "self"][:1] == ["code"]
        }
        for node in nodes:
            match node:
                case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=[first, *_]):
                    values = [first] if name in by_position else []
                case ast.Assign(targets=[ast.Name(id="code")], value=value):
                    values = [value.body, value.orelse] if isinstance(value, ast.IfExp) else [value]
                case ast.FunctionDef(args=given):
                    pairs = zip(given.kwonlyargs, given.kw_defaults, strict=True)
                    values = [default for each, default in pairs if each.arg == "code" and default]
                case _:
                    values = []
            if isinstance(node, ast.Call):
                values += [each.value for each in node.keywords if each.arg == "code"]
            found |= {each.value for each in values if isinstance(each, ast.Constant)}
    return {each for each in found if isinstance(each, str) and re.fullmatch(r"[a-z]+(-[a-z0-9]+)*", each)}


@pytest.mark.parametrize("path", sorted((ROOT / "docs" / "how-to").glob("*.md")), ids=lambda path: path.stem)
def test_how_to_begins_with_its_use_and_a_command(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[2].startswith("Use this to ")
    assert any(line.startswith("```") for line in lines[:10])


# The most words that a page may have: what white space separates, if it has a letter or a digit.
MOST_WORDS = {
    "explanation/architecture": 1350,
    "explanation/characters": 400,
    "explanation/comparison": 950,
    "explanation/performance": 1400,
    "explanation/scoring": 1300,
    "explanation/statistics": 800,
    "explanation/trust": 1500,
    "explanation/verdicts": 1400,
    "how-to/agents": 600,
    "how-to/benchmark": 450,
    "how-to/calibration": 700,
    "how-to/checks": 400,
    "how-to/ci": 550,
    "how-to/coming-from": 700,
    "how-to/comparing": 700,
    "how-to/connect": 550,
    "how-to/datasets": 600,
    "how-to/existing-index": 400,
    "how-to/frameworks": 450,
    "how-to/golden": 650,
    "how-to/judge-costs": 750,
    "how-to/judges": 750,
    "how-to/label": 700,
    "how-to/models": 500,
    "how-to/noise": 550,
    "how-to/plugins": 500,
    "how-to/project": 500,
    "how-to/ranking": 600,
    "how-to/reports": 600,
    "how-to/retrieval": 550,
    "how-to/rows": 750,
    "how-to/runs": 600,
    "how-to/scale": 750,
    "how-to/synthesis": 700,
    "how-to/traces": 550,
    "index": 250,
    "reference/checks": 400,
    "reference/citations": 800,
    "reference/commands": 6700,
    "reference/components": 1100,
    "reference/configuration": 800,
    "reference/errors": 1550,
    "reference/inputs": 1000,
    "reference/metrics": 3300,
    "reference/python": 1350,
    "reference/results": 1300,
    "reference/schemas": 2050,
    "tutorials/choose-a-chunker": 650,
    "tutorials/first-evaluation": 900,
    "tutorials/golden-set": 800,
}


def test_no_page_has_more_words_than_its_budget() -> None:
    words = {
        str(path.relative_to(ROOT / "docs").with_suffix("")): sum(
            re.search(r"\w", word) is not None for word in path.read_text(encoding="utf-8").split()
        )
        for path in (ROOT / "docs").rglob("*.md")
    }
    assert {name for name, count in words.items() if count > MOST_WORDS.get(name, 0)} == set()
