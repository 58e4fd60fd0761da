"""Which models judge, as a manifest or a command says; the judge itself is set up later.

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

from rag_evaluation_framework.evaluation.manifests.manifest_reader import EVALUATION, ManifestReader

_PLACE = (*EVALUATION, "judge")
_KEYS = ("model", "url", "keyEnv", "votes", "rubric")


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSettings:
    """The models that judge, where they are, how often each is asked, and the rubric they grade by."""

    models: tuple[str, ...]
    url: str | None = None
    key_env: str | None = None
    votes: int = 1
    rubric: Path | None = None
    cache: Path | None = None
    """The folder in which verdicts are remembered, so that nothing is asked twice."""
    concurrency: int = 16
    timeout: float = 60.0


def read_judge(reader: ManifestReader) -> JudgeSettings | None:
    """Read the judge of a manifest; ``None`` where it names none."""
    given = reader.mapping(*_PLACE)
    if not given:
        return None
    reader.check_keys(_KEYS, *_PLACE)
    return JudgeSettings(
        models=_models(reader),
        url=reader.optional_text(*_PLACE, "url"),
        key_env=reader.optional_text(*_PLACE, "keyEnv"),
        votes=reader.whole_number(*_PLACE, "votes", default=1),
        rubric=None if given.get("rubric") is None else reader.existing_file(*_PLACE, "rubric"),
    )


def _models(reader: ManifestReader) -> tuple[str, ...]:
    place = (*_PLACE, "model")
    if isinstance(reader.at(*place), str):
        return (reader.text(*place),)
    return reader.texts(*place, expected="a model or a list of models")
