"""Who judges, as a manifest or a command says it; the judge itself is set up from it later.

::

    judge:
      model: gpt-4o-mini            # or a list: a panel
      url: http://localhost:8000/v1
      keyEnv: MY_KEY
      votes: 3
      rubric: $file:rubric.yaml
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rag_evaluation_framework.errors import InputError, shown
from rag_evaluation_framework.evaluation.manifests.manifest_reader import ManifestReader
from rag_evaluation_framework.evaluation.manifests.references import file_inside
from rag_evaluation_framework.files.values import ValuePath

_KEYS = ("model", "url", "keyEnv", "votes", "rubric")


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSettings:
    """The models that judge, where they are, how often each is asked, and the rubric they grade by."""

    models: tuple[str, ...]
    url: str | None = None
    key_env: str | None = None
    votes: int = 1
    rubric: Path | None = None


def read_judge(reader: ManifestReader, place: ValuePath, folder: Path) -> JudgeSettings | None:
    """Read the judge of a manifest; ``None`` where it names none."""
    if not reader.mapping(place):
        return None
    reader.check_keys(place, _KEYS)
    rubric = reader.text((*place, "rubric"))
    return JudgeSettings(
        models=_models(reader, (*place, "model")),
        url=reader.text((*place, "url")),
        key_env=reader.text((*place, "keyEnv")),
        votes=_votes(reader, (*place, "votes")),
        rubric=None if rubric is None else _file(reader, (*place, "rubric"), rubric, folder),
    )


def _models(reader: ManifestReader, place: ValuePath) -> tuple[str, ...]:
    listed = reader.at(place)
    listed = [listed] if isinstance(listed, str) else listed
    if isinstance(listed, list) and listed and all(isinstance(name, str) and name.strip() for name in listed):
        return tuple(dict.fromkeys(name.strip() for name in listed))
    reader.problem(place, "a model or a list of models", "nothing" if listed is None else shown(listed))
    return ()


def _votes(reader: ManifestReader, place: ValuePath) -> int:
    votes = reader.at(place)
    if votes is None:
        return 1
    if isinstance(votes, bool) or not isinstance(votes, int) or votes < 1:
        reader.problem(place, "a whole number of at least 1", shown(votes))
        return 1
    return votes


def _file(reader: ManifestReader, place: ValuePath, written: str, folder: Path) -> Path | None:
    try:
        path = file_inside(written, folder)
    except InputError as error:
        reader.problems(place, error)
        return None
    if not path.exists():
        reader.problem(place, "a file that exists", shown(written), code="missing-file")
        return None
    return path
