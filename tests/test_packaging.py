"""What the repository offers to others: entry points, the hook, the action, the container, the wheel."""

from __future__ import annotations

import re
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import yaml

from rag_evaluation_framework.cli.main import program
from rag_evaluation_framework.version import __version__

ROOT = Path(__file__).parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def options_of(name: str) -> set[str]:
    command = program.get_command(click.Context(program), name)
    assert command is not None, name
    return {option for each in command.params for option in (*each.opts, *each.secondary_opts)}


def test_every_entry_point_leads_somewhere() -> None:
    places = [
        *PROJECT["project"]["scripts"].values(),
        *PROJECT["project"]["entry-points"]["pytest11"].values(),
    ]
    for place in places:
        module, _, name = place.partition(":")
        assert not name or callable(getattr(import_module(module), name))


def test_the_changelog_begins_with_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    found = re.search(r"^## (\S+)", text, re.MULTILINE)
    assert found is not None
    assert found[1] == __version__.partition(".dev")[0]


def test_the_wheel_and_the_container_take_what_there_is() -> None:
    wheel = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
    copied = re.findall(r"^COPY (?!--)(.*) \S+$", (ROOT / "Containerfile").read_text(encoding="utf-8"), re.M)
    for name in (*wheel["force-include"], *" ".join(copied).split()):
        assert (ROOT / name).exists(), name


def test_the_hook_takes_dataset_files_and_leaves_others_alone() -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert program.get_command(click.Context(program), hook["entry"].removeprefix("rag-eval ")) is not None
    taken = ["q.eval.json", "data/a.gt.json", "evals/first.jsonl", "x/evaluation/datasets/factual_qa.json"]
    left = ["package.json", "src/evals.py", "evals/readme.md", "runs/evals/x/data.jsonl", "a.eval.json.bak"]
    found = [name for name in (*taken, *left) if re.search(hook["files"], name)]
    assert found == taken


def test_the_action_uses_options_that_there_are() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    lines = "\n".join(step["run"] for step in action["runs"]["steps"] if "run" in step)
    used = re.findall(r"rag-eval (\w+)([^\n&]*)", lines)
    assert [name for name, _ in used] == ["evaluate", "report"]
    for name, words in used:
        assert {word for word in words.split() if word.startswith("-")} <= options_of(name)
    given = set(re.findall(r"inputs\.([\w-]+)", str(action["runs"])))
    assert given == set(action["inputs"])
