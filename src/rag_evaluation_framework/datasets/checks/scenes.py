"""Scenes of a source text: the stretch under a header, in which a snippet is looked for.

A header is a line of its own. A line is the header that a golden set names if the two are equal once width,
case and white space are made even and the line's decoration is taken off:

=====================================  ================================================
``## 流泉之众/聚落中心``                a Markdown heading
``【流泉之众/聚落中心】`` ``[Arena]``   brackets; also ``《》 「」 <> == == ** ** -- --``
``【场景】流泉之众`` ``Scene: Arena``   a word for scene before it
``流泉之众/聚落中心``                  the plain line, perhaps with a colon behind it
=====================================  ================================================

Where a decorated line is the header, plain ones with the same words are not. ``流泉之众/聚落中心`` also names
the Markdown heading 聚落中心 inside the heading 流泉之众.

Under a Markdown heading a scene goes to the next heading of its level or above. Any other goes to the next
Markdown heading, the next line with a word for scene, the next header that the golden set names in this file,
or the next line that is decorated in the same way and has as many slashes (a plain line must have one at
least).
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from rag_evaluation_framework.datasets.checks.snippets import (
    SqueezedText,
    Stretch,
    exact_places,
    without_dots,
)

# A longer line is a paragraph, not a header.
LONGEST_HEADER = 200
# Without any decoration, a line this long is a sentence.
_LONGEST_PLAIN_HEADER = 40

_LINE = re.compile(r"[^\r\n]+(?:\r\n|\r|\n|\Z)")
_HEADING = re.compile(r"(#{1,6})\s*([^#\s].*?)(?:\s+#+)?\Z")
_WRAPPED = re.compile(
    r"(【)(.+)】\Z|(\[)(.+)\]\Z|(《)(.+)》\Z|(「)(.+)」\Z|(<)(.+)>\Z|(=)=*\s*(.+?)\s*=+\Z|(\*\*)(.+)\*\*\Z"
    r"|(--)-*\s*(.+?)\s*--+\Z|(—)—*\s*(.+?)\s*—+\Z"
)
_WORD = r"(?:场景|場景|地点|地點|scene|location)"
_AFTER_A_WORD = re.compile(
    rf"(?:【\s*{_WORD}\s*】|\[\s*{_WORD}\s*\]|{_WORD}\s*[:：])\s*(.+)\Z", re.IGNORECASE
)
_SENTENCE_MARKS = re.compile(r"[。！？，；：、.!?,;:“”\"…]")
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class _Line:
    """A line short enough to be a header: what it may be the header of, and how it is decorated."""

    start: int
    end: int
    names: tuple[str, ...]
    """As it is written, and without one layer of decoration after the other."""
    style: str
    """``#``, ``word``, an opening bracket or ``""``: the outermost decoration."""
    level: int
    """Of a Markdown heading, else 0."""

    @property
    def slashes(self) -> int:
        return self.names[-1].count("/")


class SourceText:
    """The text of a source file, with the scenes in it."""

    def __init__(self, text: str, *, headers: Iterable[str] = ()) -> None:
        """``headers`` are those that a golden set names in this file, each of which ends the scene before."""
        self.text = text
        self._known = {_even(header) for header in headers}
        self._lines = list(_lines(text))
        self._named: dict[str, list[int]] = defaultdict(list)
        for index, line in enumerate(self._lines):
            for name in dict.fromkeys(line.names):
                self._named[name].append(index)

    def scenes(self, header: str) -> list[Stretch]:
        """Return every stretch under the header, in order; none when no line is that header."""
        wanted = _even(header)
        found = self._named.get(wanted) or [
            index
            for index in self._named.get(wanted.rpartition("/")[2], ())
            if self._is_nested(index, wanted)
        ]
        decorated = [index for index in found if self._lines[index].style]
        return [Stretch(self._lines[index].end, self._scene_end(index)) for index in decorated or found]

    def places_of(self, snippet: str, within: Stretch) -> list[Stretch]:
        """Return where a snippet stands in a stretch, exactly or else tolerantly; see :mod:`.snippets`."""
        for candidate in dict.fromkeys((snippet, without_dots(snippet))):
            if candidate.strip():
                found = exact_places(candidate, self.text, within) or self._squeezed.places(candidate, within)
                if found:
                    return found
        return []

    @cached_property
    def _squeezed(self) -> SqueezedText:
        return SqueezedText(self.text)

    def line_number(self, position: int) -> int:
        """Return the 1-based line of a character."""
        return self.text.count("\n", 0, position) + 1

    def _is_nested(self, index: int, wanted: str) -> bool:
        """Tell whether a Markdown heading and those around it spell a header with slashes."""
        parts = wanted.split("/")
        level = self._lines[index].level + 1
        for line in reversed(self._lines[: index + 1]):
            if 0 < line.level < level:
                if parts.pop() not in line.names:
                    return False
                level = line.level
                if not parts:
                    return True
        return False

    def _scene_end(self, index: int) -> int:
        header = self._lines[index]
        ends = (line.start for line in self._lines[index + 1 :] if self._ends_scene(line, header))
        return next(ends, len(self.text))

    def _ends_scene(self, line: _Line, header: _Line) -> bool:
        if header.level:
            return 0 < line.level <= header.level
        if line.level or line.style == "word" or not self._known.isdisjoint(line.names):
            return True
        if line.style != header.style or line.slashes != header.slashes:
            return False
        return bool(header.style) or (header.slashes > 0 and _is_plain_header(line.names[-1]))


def _lines(text: str) -> Iterator[_Line]:
    for found in _LINE.finditer(text):
        written = found[0].strip()
        if written and len(written) <= LONGEST_HEADER:
            yield _line(written, found.start(), found.end())


def _line(written: str, start: int, end: int) -> _Line:
    heading = _HEADING.match(written)
    style = "#" if heading else ""
    names = [written, heading[2]] if heading else [written]
    while True:
        if after := _AFTER_A_WORD.match(names[-1]):
            style, inner = style or "word", after[1]
        elif wrapped := _WRAPPED.match(names[-1]):
            opening, inner = (group for group in wrapped.groups() if group)
            style = style or opening
        else:
            break
        names.append(inner)
    names.append(names[-1].rstrip(":："))
    return _Line(start, end, tuple(map(_even, names)), style, len(heading[1]) if heading else 0)


def _is_plain_header(name: str) -> bool:
    return len(name) <= _LONGEST_PLAIN_HEADER and _SENTENCE_MARKS.search(name) is None


def _even(name: str) -> str:
    """Make width, case and white space of a header even."""
    return _SPACE.sub(" ", unicodedata.normalize("NFKC", name)).strip().casefold()
