"""Paths into a JSON value: ``result.answer``, ``choices[0].message.content``, ``sources[*].text``.

A name with dots or brackets in it is quoted: ``["a.b"]``. ``[-1]`` is the last item, ``[*]`` every item,
which makes the outcome a list. A path is only ever looked up, never run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from rag_evaluation_framework.errors import invalid

_STEP = re.compile(
    r"""(?:(?P<dot>\.)?(?P<name>[^\s.\[\]"']+)
        |\[\s*(?:(?P<index>-?[0-9]{1,9})|(?P<all>\*)|"(?P<quoted>[^"]*)"|'(?P<single>[^']*)')\s*\])""",
    re.VERBOSE,
)


class _Every:
    """The step ``[*]``."""


_EVERY = _Every()
_Step = str | int | _Every


@dataclass(frozen=True, slots=True)
class ReplyPath:
    """A path that was read from its text. ``str()`` gives the text back."""

    text: str
    steps: tuple[_Step, ...]

    @classmethod
    def parse(cls, text: str, *, field: str = "") -> ReplyPath:
        """Read a path; ``field`` says in an error message where it was written."""
        steps: list[_Step] = []
        position = 0
        while position < len(text):
            match = _STEP.match(text, position)
            if match is None or (match["name"] is not None and bool(match["dot"]) != bool(steps)):
                raise invalid(field, "a path such as result.answers[0].text", text)
            steps.append(_step(match))
            position = match.end()
        if not steps:
            raise invalid(field, "a path such as result.answers[0].text", text)
        return cls(text, tuple(steps))

    def find(self, value: Any) -> Any:
        """Return what stands at the path, or ``None`` where there is no such place."""
        return _found(value, self.steps)

    def __str__(self) -> str:
        return self.text


def _step(match: re.Match[str]) -> _Step:
    if match["index"] is not None:
        return int(match["index"])
    if match["all"]:
        return _EVERY
    return next(match[group] for group in ("name", "quoted", "single") if match[group] is not None)


def _found(value: Any, steps: tuple[_Step, ...]) -> Any:
    for place, step in enumerate(steps):
        if isinstance(step, _Every):
            if not isinstance(value, list):
                return None
            found = [_found(item, steps[place + 1 :]) for item in value]
            return None if found and all(item is None for item in found) else found
        if isinstance(step, str):
            value = value.get(step) if isinstance(value, dict) else None
        elif isinstance(value, list) and -len(value) <= step < len(value):
            value = value[step]
        else:
            return None
    return value
