"""A package with entry points adds components of every kind; what breaks inside one is told as its own."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from cases import tables_beside
from command_lines import rag_eval, rag_eval_ended
from rag_evaluation_framework import UsageError, components, evaluate
from rag_evaluation_framework.datasets.recognition import DIALECTS
from rag_evaluation_framework.extensions import RENDERERS, Registry
from rag_evaluation_framework.judging.methods import Scoring, opened_methods
from rag_evaluation_framework.metrics.declaration import INSTALLED
from rag_evaluation_framework.reports.list_blocks import component_rows

TABLES = tables_beside(__file__)

TEMPLATE = Path(__file__).parents[1] / "examples" / "plugin"
HANDBOOK = Path(__file__).parents[1] / "examples" / "handbook"
KINDS: dict[str, Registry[Any]] = {
    "chunkers": components.CHUNKERS,
    "embedders": components.EMBEDDERS,
    "stores": components.VECTOR_STORES,
    "retrievers": components.RETRIEVERS,
    "rerankers": components.RERANKERS,
    "targets": components.TARGETS,
    "judges": components.JUDGES,
    "dialects": DIALECTS,
    "renderers": RENDERERS,
}
FAQ = "## Which day is free?\n\nTuesday, for repairs.\n\n## Who travels free?\n\nChildren under six.\n"


def install(folder: Path, name: str, entry_points: dict[str, dict[str, str]]) -> None:
    """Leave what pip would leave beside the code of a package."""
    info = folder / f"{name}-0.1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1.0\n")
    lines = [
        line
        for group, points in entry_points.items()
        for line in (f"[{group}]", *(f"{key} = {place}" for key, place in points.items()))
    ]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_metrics: None) -> Path:
    """The template, and a package whose components are broken, installed; the folder is the current one."""
    declared = tomllib.loads((TEMPLATE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    install(tmp_path / "site", declared["name"], declared["entry-points"])
    group = "rag_evaluation_framework."
    install(
        tmp_path / "site",
        "broken-parts",
        {
            f"{group}chunkers": {"cracked": "broken_parts:Cracked", "gone": "broken_parts:Gone"},
            f"{group}rerankers": {"picky": "broken_parts:Picky"},
        },
    )
    (tmp_path / "site" / "broken_parts.py").write_text(
        "class Cracked:\n    def chunk(self, text):\n        return helper(text)\n"
        "def helper(text):\n    return text / 2\n"
        "class Picky:\n    def __init__(self):\n        raise RuntimeError('it is Monday')\n"
    )
    for place in (TEMPLATE / "src", tmp_path / "site"):
        monkeypatch.syspath_prepend(place)
    for registry in (*KINDS.values(), INSTALLED):
        monkeypatch.setattr(registry, "_entries", dict(registry._entries))
        monkeypatch.setattr(registry, "_packages", {})
        monkeypatch.setattr(registry, "_installed_read", False)
    for module in ("house_style", "broken_parts"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "page.faq.md").write_text(FAQ, encoding="utf-8")
    return tmp_path


def test_every_kind_is_listed_with_settings_and_package(installed: Path) -> None:
    theirs = {
        kind: [row["written"] for row in component_rows(found) if row["package"] == "house-style 0.1.0"]
        for kind, found in KINDS.items()
        if kind != "renderers"
    }
    assert theirs == TABLES["parts_of_another_package"]
    assert "line   (of house-style 0.1.0)\n    Render the figures" in rag_eval("list", "renderers").output
    assert "terseness(words=30)" in rag_eval("list", "metrics").output
    listed = rag_eval("list", "chunkers").output
    assert "fixed(tokens=200, overlap=0, tokenizer=none)" in listed
    assert "cannot load the chunker 'gone' of broken-parts 0.1.0: AttributeError" in " ".join(listed.split())


def test_the_components_of_a_plugin_do_their_work(installed: Path) -> None:
    evaluation = evaluate(
        "page.faq.md", target='looked_up(path="page.faq.md")', metrics=["exact_match", "terseness(words=2)"]
    )
    # Three words each, of which two are not too many.
    assert evaluation.render("line").startswith("page: exact_match 1.00, terseness(words=2) 0.67")
    parts = ("--chunker", "paragraphs(longest=500)", "--embedder", "letters", "--store", "plain")
    sources = (f"{HANDBOOK}/documents", "--dataset", f"{HANDBOOK}/questions.eval.json")
    done = rag_eval_ended("retrieval", *sources, *parts, "--reranker", "shortest")
    assert (done.returncode, done.stderr.count("Traceback")) == (0, 0), done.stderr


def test_a_judge_of_a_plugin_is_written_like_any_component(installed: Path) -> None:
    rows = [{"question": "Which day?", "answer": "Tuesday", "contexts": ["Tuesday is free."]}]
    judge = {"models": ("house",), "url": "http://localhost:9"}
    with pytest.raises(UsageError, match=r"judge house: expected its own settings, .* got --judge-url"):
        evaluate(rows, metrics=["faithfulness"], judge=judge)
    with pytest.raises(UsageError, match=r'judge house.size=2.: unknown setting "size"'):
        evaluate(rows, metrics=["faithfulness"], judge="house(size=2)")
    with pytest.raises(UsageError, match="a cost cap needs prices"):
        evaluate(rows, metrics=["faithfulness"], judge="house", max_cost=1.0)
    with opened_methods(Scoring(judge='house(model=large, host="http://127.0.0.1:9/v1")')) as methods:
        assert methods.judge is not None
        assert [model.name for model in methods.judge.models] == ["large"]


@pytest.mark.parametrize(("part", "told"), TABLES["broken_parts"])
def test_what_breaks_in_a_plugin_is_told_as_its_own(
    installed: Path, part: tuple[str, str], told: str
) -> None:
    sources = (f"{HANDBOOK}/documents", "--dataset", f"{HANDBOOK}/questions.eval.json", "--store", "exact")
    done = rag_eval_ended("retrieval", *sources, *part)
    assert done.returncode == 2
    assert told in done.stderr
    assert "Traceback" not in done.stderr
