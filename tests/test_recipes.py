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
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

import rag_evaluation_framework

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
ON_THE_PAGE = [
    dedent(block) for block in re.findall(r"^ *```python\n(.*?)^ *```", PAGE, re.DOTALL | re.MULTILINE)
]
DOC = '''"""{0}.

    Formula: as the first line says.

    Empty: there is none.

    Source: a test.
    """'''

# Each family: the module of ours that it stands in, found by a metric of it, and the function.
ADDED: Mapping[str, tuple[str, str]] = {
    "token_jaccard": ("string_match", ON_THE_PAGE[0]),
    "copied": (
        "grounded_fraction",
        f"""
@metric("copied", reads=TEXTS, higher_is_better=False)
def copied(answer: str, contexts: Sequence[str], *, n: int = 3) -> float | None:
    {DOC.format("Share of the answer's runs of n words that stand in a context")}
    words = answer.split()
    runs = [" ".join(words[i : i + n]) for i in range(len(words) - n + 1)]
    return sum(any(run in text for text in contexts) for run in runs) / len(runs) if runs else None
""",
    ),
    "half_faithful": (
        "faithfulness",
        f"""
@metric("half_faithful", reads=CLAIMS, shows=("by_contexts",))
def half_faithful(by_contexts: Sequence[bool]) -> float | None:
    {DOC.format("Whether the contexts support at least half of the claims")}
    return float(2 * sum(by_contexts) >= len(by_contexts)) if by_contexts else None
""",
    ),
    "any_citation_opens": (
        "citation_validity",
        f"""
@metric("any_citation_opens", reads=CITATIONS, shows=("opened",))
def any_citation_opens(opened: Sequence[bool]) -> float | None:
    {DOC.format("Whether any citation can be opened")}
    return float(any(opened)) if opened else None
""",
    ),
    "late_hit": (
        "ndcg",
        f"""
@metric("late_hit", reads=RANKING, aliases=("LateHit",))
def late_hit(judged: JudgedRankings, *, k: int | None = None) -> Floats:
    {DOC.format("Whether the first relevant document stands at the second rank or later")}
    return (judged.first_relevant > 1).astype(np.float64)
""",
    ),
    "all_named": (
        "entity_coverage",
        f"""
@metric("all_named", reads=GOLDEN, shows=("named",))
def all_named(named: Sequence[bool]) -> float:
    {DOC.format("Whether the answer gives every expected name")}
    return float(all(named))
""",
    ),
    "asked_back": (
        "toxicity",
        f"""
@metric("asked_back", reads=CONDUCT, higher_is_better=False, shows=("answer_class",))
def asked_back(answer_class: str, should_decline: bool) -> float | None:
    {DOC.format("Whether the answer asks back where it should answer")}
    return None if should_decline else float(answer_class == "asks_back")
""",
    ),
}

PROGRAM = """
import json
from rag_evaluation_framework import Entities, Hit, Refusal, Response, Sample, Turn
from rag_evaluation_framework.evaluation.scoring import score
from rag_evaluation_framework.judging.methods import Methods
from rag_evaluation_framework.metrics.declaration import parse_metric

def scored(metric, response, expectation=None, turns=(Turn(role="user", content="When?"),), **sample):
    asked = Sample(id="s", turns=turns, expectation=expectation, **sample)
    (found,) = score(asked, response, [parse_metric(metric)], Methods())
    return [found.value if found.value is not None else found.reason, sorted(found.details), found.method]

said = Response(text="The boat sails at nine [1].", contexts=("The boat sails at nine.",))
hits = Response(text="x", hits=(Hit(id="b"), Hit(id="a")))
print(json.dumps({
    "token_jaccard": scored("token_jaccard(least=3)", said, reference="The boat sails at ten."),
    "copied": scored("copied", said),
    "half_faithful": scored("half_faithful", said),
    "any_citation_opens": scored("any_citation_opens", said),
    "late_hit": scored("late_hit@3", hits, relevant_documents={"a": 1}),
    "all_named": scored("all_named", said, Entities(names=("boat", "ferry"))),
    "asked_back": scored("asked_back", Response(text="Which boat do you mean?"), reference="At nine."),
    "unasked": scored("asked_back", said, Refusal()),
    "brevity": scored("brevity(words=3)", Response(text="one two three four")),
    "turns": scored(
        "brevity(words=1)",
        Response(text="c d", metadata={"turns": [{"answer": "a"}, {"answer": "c d"}]}),
        turns=(
            Turn(role="user", content="?"),
            Turn(role="assistant", content="a", reference="a"),
            Turn(role="user", content="?"),
            Turn(role="assistant", content="c", reference="c"),
        ),
    ),
}))
"""


@pytest.fixture(scope="module")
def added(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with a metric more in each family, and another package's beside it."""
    folder = tmp_path_factory.mktemp("added")
    package = folder / "rag_evaluation_framework"
    shutil.copytree(Path(rag_evaluation_framework.__file__).parent, package)
    for beside, function in ADDED.values():
        (home,) = (
            module
            for module in (package / "metrics").glob("*.py")
            if f'@metric("{beside}"' in text_of(module)
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
    done = run(added, "-c", PROGRAM)
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
    assert 'Did you mean "brevity' in wrong.stderr


def test_a_plug_in_that_does_not_fit_its_view_says_so_when_it_is_loaded(tmp_path: Path) -> None:
    shutil.copytree(Path(rag_evaluation_framework.__file__).parent, tmp_path / "rag_evaluation_framework")
    install(tmp_path, "brevity", ON_THE_PAGE[1].replace("answer: str", "reply: str"))
    done = rag_eval(tmp_path, "list", "metrics")
    assert done.returncode == 2
    assert "cannot load the metric 'brevity' of brevity 1.0" in done.stderr
    assert "unknown field 'reply' of texts. Available: question, answer, reference" in done.stderr


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
    assert 'unknown setting "most". Available: least.' in wrong.stderr


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
