"""The program as a whole: help, version, and a table of commands that tells the truth."""

from __future__ import annotations

import re

import click
import pytest
from click.testing import CliRunner

from rag_evaluation_framework import Options
from rag_evaluation_framework.cli import check_corpus, evaluate_models, generate_offline
from rag_evaluation_framework.cli.main import GROUPS, program
from rag_evaluation_framework.judging.methods import JudgeSettings
from rag_evaluation_framework.version import __version__

COMMANDS = [name for group in GROUPS.values() for name in group]


def every_command() -> list[click.Command]:
    """Return the commands and subcommands of the program, and those of the scripts."""
    scripts: list[click.Command] = [check_corpus.command, evaluate_models.command, generate_offline.command]
    found = [program.get_command(click.Context(program), name) for name in COMMANDS]
    listed = [command for command in (*found, *scripts) if command is not None]
    inner = [
        each for command in listed if isinstance(command, click.Group) for each in command.commands.values()
    ]
    return [*listed, *inner]


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_every_help_has_examples_and_needs_no_data(name: str) -> None:
    for width in (140, 100, 80):
        result = CliRunner().invoke(program, [*name.split(), "--help"], terminal_width=width)
        assert result.exit_code == 0
        assert [line for line in result.output.splitlines() if len(line) > width] == []
    assert "Examples:" in result.output
    assert f"rag-eval {name}" in result.output


def test_help_shows_the_default_that_python_callers_get() -> None:
    command = program.get_command(click.Context(program), "evaluate")
    assert command is not None
    parameters = {each.name: each for each in command.params}
    assert parameters["timeout"].default == Options().attempt_timeout
    assert parameters["max_attempts"].default == Options().max_attempts
    assert parameters["engine"].default == Options().engine
    assert parameters["concurrency"].default == Options().concurrency
    assert parameters["judge_concurrency"].default == JudgeSettings().concurrency
    assert parameters["judge_timeout"].default == JudgeSettings().timeout


def test_the_help_groups_the_commands_by_job() -> None:
    output = CliRunner().invoke(program, ["--help"]).output
    for title, commands in GROUPS.items():
        assert f"{title}:" in output
        for name in commands:
            assert f"  {name} " in output


def test_the_kinds_that_can_be_listed_are_told() -> None:
    told = CliRunner().invoke(program, ["list"])
    assert told.exit_code == 0
    kinds = re.findall(r"^  ([a-z]+)  ", told.output.partition("Commands:")[2], re.MULTILINE)
    assert {"metrics", "methods", "chunkers", "indexes", "formats", "judges"} <= set(kinds)
    assert "..." not in told.output.partition("Commands:")[2]
    for kind in kinds:
        assert CliRunner().invoke(program, ["list", kind, "--json"]).output.startswith("[")
    wrong = CliRunner().invoke(program, ["list", "chunkrs"])
    assert 'Did you mean "chunkers"?' in str(wrong.exception)


def test_a_metric_is_explained_by_its_name() -> None:
    told = CliRunner().invoke(program, ["list", "metrics", "ndcg@10", "P"]).output
    assert "ndcg(gain=linear)[@k]" in told
    assert "    from: trec_eval's P" in told
    assert "faithfulness" not in told


@pytest.mark.parametrize("command", every_command(), ids=lambda command: str(command.name))
def test_every_option_is_explained_by_a_phrase_with_a_capital_and_a_full_stop(command: click.Command) -> None:
    for option in command.params:
        if isinstance(option, click.Option):
            phrase = (option.help or "").partition("  [default")[0]
            assert phrase[:1].isupper(), f"{option.opts}: {option.help}"
            assert phrase.endswith("."), f"{option.opts}: {option.help}"
            assert len(phrase.split()) >= 3, f"{option.opts}: {option.help}"


def test_the_program_alone_is_a_signpost_that_names_only_what_there_is() -> None:
    told = CliRunner().invoke(program, [])
    assert told.exit_code == 0
    assert told.output.startswith(f"rag-eval {__version__}: measure your assistant, find its failures, ")
    assert max(map(len, told.output.splitlines())) <= 100
    named = set(re.findall(r"rag-eval ([a-z]+)", told.output))
    assert named <= set(COMMANDS)
    for title, commands in GROUPS.items():
        assert re.search(rf"  {title.lower()} +{'  '.join(commands)}\n", told.output)


@pytest.mark.parametrize(
    "name", ["evaluate", "golden", "retrieval", "generate", "rank", "calibrate", "score", "probe"]
)
def test_long_help_explains_the_common_options_and_names_the_others(name: str) -> None:
    brief, whole = (
        CliRunner().invoke(program, [name, each], prog_name="rag-eval", terminal_width=100).output
        for each in ("--help", "--help-all")
    )
    assert f"For their descriptions: rag-eval {name} --help-all" in brief
    command = program.get_command(click.Context(program), name)
    assert command is not None
    options = [
        each
        for each in command.params
        if isinstance(each, click.Option) and each.name not in ("help", "help_all")
    ]
    for option in options:
        longest = max(option.opts, key=len)
        assert re.search(rf"{longest}\b", brief), longest
        assert re.search(rf"^  (-\w, )?{longest}\b", whole, re.MULTILINE), longest
    assert len(brief.splitlines()) < 66
    assert max(map(len, brief.partition("Examples:")[0].splitlines())) <= 100
