"""Components are found by name, loaded when asked for, and recognised by what they can do."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rag_evaluation_framework import Chunker, PositionAwareChunker, UsageError
from rag_evaluation_framework.errors import MissingExtraError, UnknownNameError
from rag_evaluation_framework.extensions import Registry


def test_a_component_is_imported_when_asked_for_and_not_before() -> None:
    registry: Registry[object] = Registry("codec")
    registry.register("broken", "no_such_module_anywhere:Thing")
    registry.register("json", "json:JSONDecoder")
    assert registry.get("json").__name__ == "JSONDecoder"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("no_such_module_anywhere:Thing", "ModuleNotFoundError: No module named 'no_such_module_anywhere'"),
        ("json:Thing", "AttributeError: module 'json' has no attribute 'Thing'"),
        ("acme_raises:Thing", "RuntimeError: it is Monday"),
    ],
)
def test_unloadable_component_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, reason: str
) -> None:
    (tmp_path / "acme_raises.py").write_text("raise RuntimeError('it is Monday')")
    monkeypatch.syspath_prepend(tmp_path)
    registry: Registry[object] = Registry("codec")
    registry.register("broken", place)
    with pytest.raises(UsageError, match=f"cannot load the codec 'broken': {reason}"):
        registry.get("broken")


def test_a_missing_vendor_says_which_extra_to_install() -> None:
    registry: Registry[object] = Registry("store")
    registry.register("chroma", "no_such_vendor:Store", extra="chroma")
    with pytest.raises(MissingExtraError, match=r"rag-evaluation-framework\[chroma\]"):
        registry.get("chroma")


def test_an_unknown_name_offers_the_nearest() -> None:
    registry: Registry[object] = Registry("chunker")
    registry.register("recursive", object())
    with pytest.raises(UnknownNameError, match='Did you mean "recursive'):
        registry.get("recursve")


def test_a_name_is_taken_once() -> None:
    registry: Registry[object] = Registry("chunker")
    registry.register("recursive", object())
    with pytest.raises(UsageError, match="already registered"):
        registry.register("recursive", object())


def test_an_installed_package_offers_components_through_entry_points(tmp_path: Path) -> None:
    """A real distribution on the path: its entry point is found by name and loaded on use only."""
    (tmp_path / "acme_chunkers.py").write_text(
        "class Acme:\n    def chunk(self, text):\n        return [text]\n"
    )
    (info := tmp_path / "acme-1.0.dist-info").mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[rag_evaluation_framework.chunkers]\nacme = acme_chunkers:Acme\n")
    program = """
import sys
from rag_evaluation_framework.extensions import Chunker, Registry
registry = Registry("chunker")
assert registry.names() == ["acme"], registry.names()
assert "acme_chunkers" not in sys.modules
assert isinstance(registry.get("acme")(), Chunker)
"""
    archive = Path(shutil.make_archive(str(tmp_path / "packed"), "zip", tmp_path))
    for place in (tmp_path, archive):
        subprocess.run([sys.executable, "-c", program], env={"PYTHONPATH": str(place)}, check=True)


def test_a_class_fulfils_a_protocol_by_its_methods_alone() -> None:
    class Duck:
        def chunk(self, text: str) -> list[str]:
            return [text]

    assert isinstance(Duck(), Chunker)
    assert not isinstance(Duck(), PositionAwareChunker)


def test_inheriting_from_a_protocol_insists_on_its_methods() -> None:
    class Unfinished(Chunker):
        pass

    with pytest.raises(TypeError, match="abstract"):
        Unfinished()  # type: ignore[abstract]
