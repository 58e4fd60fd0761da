"""What CONTRIBUTING says how to add, added for real by following it: metrics, dialect, component, command.

The package is copied, what the page shows is written where the page says and nothing else is touched; then it
is used from outside, in a process of its own.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

import rag_evaluation_framework
from cases import tables_beside

TABLES = tables_beside(__file__)
ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
ON_THE_PAGE = [
    dedent(block) for block in re.findall(r"^ *```python\n(.*?)^ *```", PAGE, re.DOTALL | re.MULTILINE)
]
ADDED: dict[str, dict[str, str]] = TABLES["added"]
ADDED["token_jaccard"]["function"] = ON_THE_PAGE[0]


@pytest.fixture(scope="module")
def added(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with a metric more in each family, and another package's beside it."""
    folder = tmp_path_factory.mktemp("added")
    package = folder / "rag_evaluation_framework"
    shutil.copytree(Path(rag_evaluation_framework.__file__).parent, package)
    for each in ADDED.values():
        function = each["function"]
        (home,) = (
            module
            for module in (package / "metrics").glob("*.py")
            if f'@metric("{each["beside"]}"' in text_of(module)
        )
        views = set(re.findall(r"reads=(\w+)", function))
        needed = "".join(f"from {package.name}.metrics.views import {view}\n" for view in sorted(views))
        if "Sequence" in function:
            needed += "from collections.abc import Sequence\n"
        home.write_text(f"{text_of(home)}\n\n{needed}\n{function}", encoding="utf-8")
    install(folder, "brevity", ON_THE_PAGE[1])
    return folder


def text_of(module: Path) -> str:
    return re.sub(r'@metric\(\n\s*"', '@metric("', module.read_text(encoding="utf-8"))


def install(folder: Path, name: str, source: str) -> None:
    """Put a distribution with one metric on the path, as an installer does."""
    (folder / f"{name}.py").write_text(source, encoding="utf-8")
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    points = f"[rag_evaluation_framework.metrics]\n{name} = {name}:{name}\n"
    (info / "entry_points.txt").write_text(points)


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        env={"PYTHONPATH": str(folder), "PATH": ""},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def rag_eval(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run(folder, "-c", "from rag_evaluation_framework.cli.main import main; main()", *arguments)


def test_a_metric_of_each_family_and_of_another_package_is_scored(added: Path) -> None:
    done = run(added, "-c", TABLES["program"])
    assert done.returncode == 0, done.stderr
    found: dict[str, list[Any]] = json.loads(done.stdout)
    assert {name: value for name, (value, *_) in found.items()} == {
        # Of The, boat, sails, nine, [1]. and The, boat, sails, ten. 3 are shared, 3 are not.
        "token_jaccard": 3 / 6,
        # "The boat sails", "boat sails at", "sails at nine" stand in the context; "at nine [1]." does not.
        "copied": 3 / 4,
        "half_faithful": 1.0,
        "any_citation_opens": 1.0,
        "late_hit": 1.0,
        "all_named": 0.0,
        "asked_back": 1.0,
        "unasked": "there is none.",
        "brevity": 3 / 4,
        "turns": (1 + 1 / 2) / 2,
    }
    details = {name: shown for name, (_, shown, _) in found.items() if shown}
    assert details["half_faithful"] == ["claims", "probability_unsupported"]
    assert details["all_named"] == ["missing", "named"]
    assert details["turns"] == ["turns"]
    assert found["half_faithful"][2] == "lexical support, screening"


def test_they_are_listed_and_another_packages_may_be_misspelt(added: Path) -> None:
    listed = rag_eval(added, "list", "metrics", "--json")
    assert listed.returncode == 0, listed.stderr
    rows = {row["name"]: row for row in json.loads(listed.stdout)}
    assert {*ADDED, "brevity"} <= rows.keys()
    assert rows["brevity"]["written"] == "brevity(words=60)"
    assert rows["brevity"]["needs"] == ["answer"]
    assert rows["late_hit"]["written"] == "late_hit[@k]"
    assert rows["half_faithful"]["methods"] == ["lexical", "judge"]


def test_they_are_scored_from_the_command_line(added: Path) -> None:
    (added / "mine.py").write_text("def answer(question):\n    return 'The boat sails at nine'\n")
    sample = {"id": "s", "input": "When?", "expected": "The boat sails at ten"}
    (added / "data.jsonl").write_text(json.dumps(sample) + "\n")
    (added / "agent.yaml").write_text(
        "spec:\n  evaluation:\n    datasets:\n"
        "      - {name: d, path: data.jsonl, metrics: [token_jaccard, 'brevity(words=4)']}\n"
    )
    done = rag_eval(added, "evaluate", "agent.yaml", "--target", "mine:answer", "--json")
    assert done.returncode == 0, done.stderr
    text = json.dumps(json.loads(done.stdout))
    # 4 of The, boat, sails, at, nine, ten are shared; 5 words where 4 are allowed.
    assert str(4 / 6) in text
    assert "brevity(words=4)" in text
    assert "0.8" in text
    wrong = rag_eval(added, "evaluate", "agent.yaml", "--target", "mine:answer", "-m", "brevitty")
    assert wrong.returncode == 2
    assert "Did you mean brevity" in wrong.stderr


def test_a_plug_in_that_does_not_fit_its_view_says_so_when_it_is_loaded(tmp_path: Path) -> None:
    shutil.copytree(Path(rag_evaluation_framework.__file__).parent, tmp_path / "rag_evaluation_framework")
    install(tmp_path, "brevity", ON_THE_PAGE[1].replace("answer: str", "reply: str"))
    done = rag_eval(tmp_path, "list", "metrics")
    assert done.returncode == 2
    assert "metric 'brevity' of brevity 1.0 cannot be loaded" in done.stderr
    assert "the view texts has no field 'reply'; it has question, answer, reference" in done.stderr


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with the dialect, the component and the command of the page."""
    folder = tmp_path_factory.mktemp("extended")
    package = folder / "rag_evaluation_framework"
    shutil.copytree(Path(rag_evaluation_framework.__file__).parent, package)
    modules = ("datasets/flash_cards.py", "retrieval/paragraph_chunker.py", "cli/words.py")
    for module, block in zip(modules, ON_THE_PAGE[2:], strict=True):
        (package / module).write_text(block, encoding="utf-8")
    text = {"type": "string", "minLength": 1}
    schema = {
        "$id": "urn:rag-evaluation-framework:schema:flash-card",
        "type": "object",
        "required": ["front", "back"],
        "properties": {"id": text, "front": text, "back": text},
    }
    (package / "datasets/schemas/flash-card.schema.json").write_text(json.dumps(schema))
    lines = {
        "datasets/schemas.py": ("KINDS: tuple[str, ...] = (", '"flash-card",'),
        "datasets/dialect.py": ("SIGNATURES: Mapping[str, Signature] = {", shown_line('"flash-cards": ')),
        "components.py": ('Registry("chunker")', shown_line("CHUNKERS.register(")),
        "cli/main.py": ('    "Make": {', shown_line('"words": ')),
    }
    for module, (behind, line) in lines.items():
        source = (package / module).read_text(encoding="utf-8")
        assert source.count(behind) == 1, module
        (package / module).write_text(source.replace(behind, f"{behind}\n{line}"), encoding="utf-8")
    return folder


def shown_line(start: str) -> str:
    """Return the line that the page shows in its text."""
    (found,) = re.findall(rf"`({re.escape(start)}[^`]+)`", PAGE)
    return str(found)


def test_a_dialect_is_recognised_read_written_and_refused_with_its_lines(extended: Path) -> None:
    cards = extended / "deck.cards.jsonl"
    cards.write_text(
        '{"front": "When?", "back": "At nine.", "box": 3}\n{"front": "Where?", "back": "Here."}\n'
    )
    there = rag_eval(extended, "convert", str(cards), "deck.jsonl", "--to", "agent-samples", "--lossy")
    assert there.returncode == 0, there.stderr
    assert "2 samples, from flash-cards to agent-samples" in there.stdout
    back = rag_eval(extended, "convert", "deck.jsonl", "again.cards.jsonl", "--to", "flash-cards", "--lossy")
    assert back.returncode == 0, back.stderr
    records = map(json.loads, (extended / "again.cards.jsonl").read_text().splitlines())
    assert [(record["front"], record["back"]) for record in records] == [
        ("When?", "At nine."),
        ("Where?", "Here."),
    ]
    cards.write_text('{"front": "When?", "back": "x"}\n{"front": "", "back": "y"}\n')
    wrong = rag_eval(extended, "validate", str(cards))
    assert wrong.returncode != 0
    assert "deck.cards.jsonl:2: error: front: expected" in wrong.stdout + wrong.stderr


def test_a_component_is_found_by_its_name_and_built_with_its_settings(extended: Path) -> None:
    handbook = ROOT / "examples" / "handbook"
    arguments = ["retrieval", str(handbook / "documents"), "--dataset", str(handbook / "questions.eval.json")]
    chosen = ["--chunker", "paragraphs(least=3)", "--store", "exact", "-k", "5"]
    done = rag_eval(extended, *arguments, *chosen, "--json")
    assert done.returncode == 0, done.stderr
    assert "paragraphs(least=3)" in done.stdout
    wrong = rag_eval(extended, *arguments, "--chunker", "paragraphs(most=3)")
    assert wrong.returncode == 2
    assert 'there is no setting "most". There is only least.' in wrong.stderr


def test_a_command_is_listed_and_its_errors_are_lines(extended: Path) -> None:
    (extended / "asked.jsonl").write_text(
        '{"id": "s", "input": "When does it sail?", "expected": "At nine."}\n'
    )
    done = rag_eval(extended, "words", "asked.jsonl", "--json")
    assert (done.returncode, json.loads(done.stdout)) == (0, {"words": 4})
    assert "Count the words of the questions." in rag_eval(extended, "--help").stdout
    wrong = rag_eval(extended, "words", "no-such-file")
    assert wrong.returncode == 2
    assert "Traceback" not in wrong.stderr
