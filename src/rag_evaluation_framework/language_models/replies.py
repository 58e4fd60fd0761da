"""Reads the JSON out of a model's reply: tolerant of what is wrapped around it, strict about what it says.

Around it may be prose, a code fence, and before it a model's ``<think>`` block, which is left out. Within
it a comma before a closing bracket and a line break inside a string are read as what they mean; anything
else that is not JSON is refused, as are duplicate keys. Only whole objects and lists count, never one inside
another: what a reply quotes is not what it says. Where two could be meant, none is taken. The time is linear
in the reply, whatever it holds.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from rag_evaluation_framework.errors import InputError, ModelError
from rag_evaluation_framework.files import strict_json

# A reply with more than this is hostile.
_MOST_PARTS = 1000

_THOUGHTS = re.compile(r"\s*<think(?:ing)?>", re.IGNORECASE)
_END_OF_THOUGHTS = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
# A bracket that JSON may follow.
_BEGINNING = re.compile(r"""\{(?=[ \t\n\r]*+(?:["}]|\Z))|\[(?=[ \t\n\r]*+(?:["\[{\]0-9tfn-]|\Z))""")
_TOKEN = re.compile(
    r"""[ \t\n\r]*+(?:
      (?P<string>"[^"\\]*+(?:\\.[^"\\]*+)*+")
    | (?P<open>[\[{])
    | (?P<comma>,[ \t\n\r]*+)?(?P<close>[\]}])
    | (?P<other>[,:]|-?[0-9][0-9.eE+-]*+|true\b|false\b|null\b)
    )""",
    re.VERBOSE | re.DOTALL,
)
# What is left of a token where a text was cut off.
_CUT_OFF = re.compile(
    r"""[ \t\n\r]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+\\?|tr?u?|fa?l?s?|nu?l?|-)?+\Z""", re.DOTALL
)
_BARE_CONTROL = re.compile(r"[\n\r\t]")
_ESCAPED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_CLOSING = {"{": "}", "[": "]"}

# In words of our own: what a reply holds is not repeated to the model.
_REFUSALS = {
    "duplicate-key": "a key stands twice in one JSON object",
    "lone-surrogate": "a string has half a surrogate pair in it",
    "non-finite-number": "a number is out of range",
    "number-too-long": "a number has too many digits",
    "too-deep": "the JSON is nested too deep",
}


def fitting_value(text: str, *, problem: Callable[[Any], str | None]) -> Any:
    """Return the one value of a reply that fits: for which ``problem`` returns ``None``.

    Raises :class:`ModelError`: ``truncated`` where the reply ends inside a value, ``ambiguous`` where
    different values fit, ``off-schema`` where there are values and none fits, else ``not-json``. Its message
    says what was wrong in words that may be shown to the model.
    """
    said = _without_thoughts(text)
    values: list[Any] = []
    refusals: list[str] = []
    for part in _parts(said):
        if part.is_cut_off:
            raise ModelError("truncated", "the reply ends inside a JSON value")
        if not part.finished:
            refusals.append(f"the JSON that begins at character {part.start} breaks at character {part.end}")
        for json_text in part.texts(said):
            try:
                values.append(strict_json.decode(json_text))
            except InputError as error:
                refusals.append(_REFUSALS.get(error.issues[0].code, "it is not quite JSON"))
    problems = [problem(value) for value in values]
    fitting = [value for value, wrong in zip(values, problems, strict=True) if wrong is None]
    if any(value != fitting[0] for value in fitting[1:]):
        raise ModelError("ambiguous", f"expected one JSON value, got {len(fitting)} different ones")
    if fitting:
        return fitting[0]
    if values:
        raise ModelError("off-schema", next(wrong for wrong in reversed(problems) if wrong is not None))
    raise ModelError("not-json", refusals[-1] if refusals else "expected a JSON value, got none")


def _without_thoughts(text: str) -> str:
    beginning = _THOUGHTS.match(text)
    if beginning is None:
        return text
    end = _END_OF_THOUGHTS.search(text, beginning.end())
    if end is None:
        raise ModelError("truncated", "the reply ends inside the model's thoughts")
    return text[end.end() :]


@dataclass(slots=True)
class _Part:
    """What was read from one opening bracket on: as far as the one that closes it, or as JSON may go."""

    start: int
    end: int
    is_cut_off: bool = False
    opened: list[int] = field(default_factory=list)
    """Every bracket that was opened, outside of strings."""
    finished: list[tuple[int, int]] = field(default_factory=list)
    """The outermost values that were read to their end: the part itself, or what a broken one begins with."""
    edits: list[tuple[int, int, str]] = field(default_factory=list)
    """What stands in for the harmless mistakes, by place, in order."""

    @property
    def is_whole(self) -> bool:
        return self.finished[:1] == [(self.start, self.end)]

    def close(self, start: int) -> None:
        """Take note that the value which began there ends here."""
        while self.finished and self.finished[-1][0] > start:
            self.finished.pop()
        self.finished.append((start, self.end))

    def texts(self, source: str) -> Iterator[str]:
        """Yield the JSON of the finished values, without the harmless mistakes."""
        for start, end in self.finished:
            pieces, position = [], start
            for edit_start, edit_end, replacement in self.edits[
                bisect_left(self.edits, (start,)) : bisect_left(self.edits, (end,))
            ]:
                pieces += [source[position:edit_start], replacement]
                position = edit_end
            yield "".join([*pieces, source[position:end]])


def _parts(text: str) -> Iterator[_Part]:
    """Yield what each opening bracket begins, except those inside a value that was read whole.

    A bracket that was met outside a string in an attempt that failed is not tried again: it would fail at
    the same place. One inside a string may be the true beginning, where prose has an odd quotation mark. So
    every character is read at most twice, once for each way of pairing the quotation marks.
    """
    hopeless: set[int] = set()
    end_of_value = count = 0
    for beginning in _BEGINNING.finditer(text):
        start = beginning.start()
        if start < end_of_value or start in hopeless:
            continue
        count += 1
        if count > _MOST_PARTS:
            raise ModelError("not-json", f"expected one JSON value, got the beginnings of {count}")
        part = _read(text, start)
        yield part
        if part.is_whole:
            end_of_value = part.end
        else:
            hopeless.update(part.opened)


def _read(text: str, start: int) -> _Part:
    part = _Part(start, start)
    waiting: list[int] = []
    while token := _TOKEN.match(text, part.end):
        part.end = token.end()
        kind = token.lastgroup
        if kind == "open":
            waiting.append(part.end - 1)
            part.opened.append(part.end - 1)
        elif kind == "string":
            _mend_string(part, token)
        elif kind == "close":
            opened = waiting.pop()
            if _CLOSING[text[opened]] != token["close"]:
                return part
            if token["comma"]:
                part.edits.append((token.start("comma"), token.start("close"), ""))
            part.close(opened)
            if not waiting:
                return part
    part.is_cut_off = _CUT_OFF.match(text, part.end) is not None
    return part


def _mend_string(part: _Part, token: re.Match[str]) -> None:
    string = token["string"]
    if _BARE_CONTROL.search(string):
        escaped = _BARE_CONTROL.sub(lambda found: _ESCAPED[found[0]], string)
        part.edits.append((token.start("string"), token.end("string"), escaped))
