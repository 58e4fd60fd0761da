"""Strict reading of the requests that an annotator's page sends.

A page may be out of date, and a request need not come from a page.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite
from typing import Any

import msgspec

from rag_evaluation_framework.datasets.consistency import is_whole
from rag_evaluation_framework.errors import counted, invalid
from rag_evaluation_framework.records.documents import Document
from rag_evaluation_framework.records.samples import QUALITY_SCORES

SUPPORTS = {"yes": 1.0, "partly": 0.5, "no": 0.0}
"""Score of each verdict on a citation."""

_LONGEST_WAIT = 3600.0
_MOST_SPANS = 500
_LONGEST_NOTE = 10_000


class AnnotationForm(msgspec.Struct, frozen=True, kw_only=True):
    """All that is said of an item; ``spans`` is ``None`` where nothing is said of its documents."""

    spans: tuple[tuple[int, int, int], ...] | None
    scores: Mapping[str, float]
    unsupported: tuple[tuple[int, int], ...]
    verdicts: Mapping[int, str]
    note: str
    is_finished: bool
    seconds: float
    part: str

    @property
    def says_something(self) -> bool:
        """Return True if anything is said of the answer."""
        return bool(self.scores or self.unsupported or self.verdicts or self.note)

    @classmethod
    def read(
        cls, change: Mapping[str, Any], documents: Sequence[Document], *, answer: str, n_citations: int
    ) -> AnnotationForm:
        """Read what was sent of an item with this answer and so many citations in it."""
        seconds = change.get("seconds", 0.0)
        if not _is_number(seconds) or seconds < 0:
            raise invalid("seconds", "a number of at least 0", seconds)
        spans = change.get("spans")
        return cls(
            spans=None if spans is None else _merged(_spans(spans, documents)),
            scores=_scores(change.get("scores", {})),
            unsupported=tuple(
                sorted({_range(each, "unsupported", len(answer)) for each in _list(change, "unsupported")})
            ),
            verdicts=_verdicts(change.get("verdicts", {}), n_citations),
            note=text_of(change, "note", most=_LONGEST_NOTE).strip(),
            is_finished=change.get("finished") is True,
            seconds=min(float(seconds), _LONGEST_WAIT),
            part="answer" if change.get("part") == "answer" else "passage",
        )


def text_of(change: Mapping[str, Any], name: str, *, most: int | None = None) -> str:
    """Return a text that was sent; nothing where there is none."""
    value = change.get(name, "")
    if not isinstance(value, str) or (most is not None and len(value) > most):
        limit = "" if most is None else f" of at most {counted(most, 'character')}"
        raise invalid(name, f"text{limit}", value)
    return value


def _list(change: Mapping[str, Any], name: str) -> list[Any]:
    value = change.get(name, [])
    if not isinstance(value, list) or len(value) > _MOST_SPANS:
        raise invalid(name, f"a list of at most {_MOST_SPANS}", value)
    return value


def _spans(given: Any, documents: Sequence[Document]) -> Iterator[tuple[int, int, int]]:
    for each in _list({"spans": given}, "spans"):
        if not isinstance(each, list) or len(each) != 3 or not is_whole(each[0]):
            raise invalid("spans", "a document, a start and an end each", each)
        if not 0 <= each[0] < len(documents):
            raise invalid("spans", "the number of a document", each[0])
        yield (each[0], *_range(each[1:], "spans", len(documents[each[0]].content)))


def _range(given: Any, name: str, length: int) -> tuple[int, int]:
    if not isinstance(given, list) or len(given) != 2 or not all(map(is_whole, given)):
        raise invalid(name, "a start and an end", given)
    start, end = given
    if not 0 <= start < end <= length:
        raise invalid(name, f"0 <= start < end <= {length}", given)
    return start, end


def _merged(spans: Iterable[tuple[int, int, int]]) -> tuple[tuple[int, int, int], ...]:
    """Join spans that overlap or touch."""
    found: list[tuple[int, int, int]] = []
    for document, start, end in sorted(spans):
        if found and found[-1][0] == document and start <= found[-1][2]:
            found[-1] = (document, found[-1][1], max(end, found[-1][2]))
        else:
            found.append((document, start, end))
    return tuple(found)


def _scores(given: Any) -> dict[str, float]:
    if not isinstance(given, Mapping):
        raise invalid("scores", "scores by name", given)
    for name, score in given.items():
        if name not in QUALITY_SCORES or not _is_number(score) or not 0 <= score <= 1:
            raise invalid(
                f"scores.{name}", f"a number from 0 to 1 for one of {', '.join(QUALITY_SCORES)}", score
            )
    return {name: float(given[name]) for name in QUALITY_SCORES if name in given}


def _verdicts(given: Any, n_citations: int) -> dict[int, str]:
    if not isinstance(given, Mapping):
        raise invalid("verdicts", "verdicts by the number of a citation", given)
    for number, verdict in given.items():
        if not (isinstance(number, str) and number.isdecimal() and int(number) < n_citations):
            raise invalid("verdicts", f"the number of one of {n_citations} citations", number)
        if verdict not in SUPPORTS:
            raise invalid(f"verdicts.{number}", " or ".join(SUPPORTS), verdict)
    return {int(number): str(verdict) for number, verdict in given.items()}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
