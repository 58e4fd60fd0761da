"""The program as a whole: help, version, and a table of commands that tells the truth."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from rag_evaluation_framework.cli.main import GROUPS, program
from rag_evaluation_framework.version import __version__

COMMANDS = [(name, entry) for group in GROUPS.values() for name, entry in group.items()]


def test_the_version_is_shown() -> None:
    assert CliRunner().invoke(program, ["--version"]).output == f"rag-eval {__version__}\n"


@pytest.mark.parametrize(("name", "entry"), COMMANDS, ids=[name for name, _ in COMMANDS])
def test_a_commands_summary_in_the_table_is_its_own(name: str, entry: tuple[str, str]) -> None:
    command = program.get_command(click.Context(program), name)
    assert command is not None
    assert command.get_short_help_str(limit=200) == entry[1]


@pytest.mark.parametrize("name", ["", *(name for name, _ in COMMANDS)])
def test_every_help_has_examples_and_needs_no_data(name: str) -> None:
    result = CliRunner().invoke(program, [*name.split(), "--help"])
    assert result.exit_code == 0
    assert "Examples:" in result.output
    assert f"rag-eval {name}" in result.output


def test_the_help_groups_the_commands_by_job() -> None:
    output = CliRunner().invoke(program, ["--help"]).output
    for title, commands in GROUPS.items():
        assert f"{title}:" in output
        for name in commands:
            assert f"  {name} " in output
