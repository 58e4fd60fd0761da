"""What comes with answers in a shape that cannot be read: counted in the metadata of each response."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from rag_evaluation_framework.records.responses import Response

UnreadPart = Literal["contexts", "citations"]

TEXT_FIELDS = ("text", "content", "page_content", "snippet", "chunk")
"""Where the text of a context is looked for, if the context is an object."""

EXPECTED: Mapping[UnreadPart, str] = {
    "contexts": f"texts, or objects with {', '.join(TEXT_FIELDS[:-1])} or {TEXT_FIELDS[-1]}",
    "citations": "numbers of contexts, objects with file, start and end, or texts such as [a.md:3:5-9]",
}
"""The shapes that are read."""


@dataclass(frozen=True, slots=True)
class Unread:
    """How many contexts or citations of how many samples could not be read."""

    part: UnreadPart
    count: int
    samples: int

    def to_dict(self) -> dict[str, Any]:
        """Return the shape in which results files store it."""
        return {"count": self.count, "samples": self.samples, "expected": EXPECTED[self.part]}


class UnreadTotals:
    """Adds up what could not be read, response by response."""

    def __init__(self) -> None:
        self._counts: dict[UnreadPart, int] = dict.fromkeys(EXPECTED, 0)
        self._samples: dict[UnreadPart, int] = dict.fromkeys(EXPECTED, 0)

    def add(self, response: Response) -> None:
        for part in EXPECTED:
            count = response.metadata.get(unread_field(part))
            if type(count) is int and count > 0:  # a plug-in's metadata may be anything
                self._counts[part] += count
                self._samples[part] += 1

    def totals(self) -> tuple[Unread, ...]:
        """Return what there was of it."""
        return tuple(Unread(part, n, self._samples[part]) for part, n in self._counts.items() if n)


def unread_field(part: UnreadPart) -> str:
    """Return the name under which metadata, and results, have the count."""
    return f"unread_{part}"
