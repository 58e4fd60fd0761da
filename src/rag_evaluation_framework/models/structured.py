"""A value that follows a schema, read tolerantly, taken strictly."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from functools import lru_cache
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any, cast

import msgspec

from rag_evaluation_framework.errors import InputError, ModelError, UsageError, shown
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.files.json_scanner import written_path
from rag_evaluation_framework.models.chat import ChatModel, Completion, Message, with_paragraph
from rag_evaluation_framework.text.spans import Spanned

if TYPE_CHECKING:
    import jsonschema_rs

# Reads the JSON out of a model's reply: tolerant of what is wrapped around it, strict about what it says.
#
# Around it may be prose, a code fence, and before it a model's ``<think>`` block, which is left out.
# Within it a comma before a closing bracket and a line break inside a string are read as what they mean;
# anything else that is not JSON is refused, as are duplicate keys. Only whole objects and lists count,
# never one inside another: what a reply quotes is not what it says. Where two could be meant, none is
# taken. The time is linear in the reply, whatever it holds.

# A reply with more than this is hostile.
_MOST_PARTS = 1000

_THOUGHTS = re.compile(r"\s*<think(?:ing)?>", re.IGNORECASE)
_END_OF_THOUGHTS = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
# A bracket that JSON may follow.
_BEGINNING = re.compile(r"""\{(?=[ \t\n\r]*+(?:["}]|\Z))|\[(?=[ \t\n\r]*+(?:["\[{\]0-9tfn-]|\Z))""")
_TOKEN = re.compile(
    r"""[ \t\n\r]*+(?:
      (?P<string>"[^"\\]*+(?>(?:\\.[^"\\]*+)*)")
    | (?P<open>[\[{])
    | (?P<comma>,[ \t\n\r]*+)?(?P<close>[\]}])
    | (?P<other>[,:]|-?[0-9][0-9.eE+-]*+|true\b|false\b|null\b)
    )""",
    re.VERBOSE | re.DOTALL,
)
# What is left of a token where a text was cut off.
_CUT_OFF = re.compile(
    r"""[ \t\n\r]*+(?>(?:"[^"\\]*+(?>(?:\\.[^"\\]*+)*)\\?|tr?u?|fa?l?s?|nu?l?|-)?)\Z""", re.DOTALL
)
_BARE_CONTROL = re.compile(r"[\n\r\t]")
_ESCAPED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_CLOSING = {"{": "}", "[": "]"}

# In words of our own: what a reply holds is not repeated to the model.
_REFUSALS = {
    "duplicate-key": "a key occurs twice in one JSON object",
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
                refusals.append(_REFUSALS.get(error.issues[0].code, "it is not valid JSON"))
    problems = [problem(value) for value in values]
    fitting = [value for value, wrong in zip(values, problems, strict=True) if wrong is None]
    if any(value != fitting[0] for value in fitting[1:]):
        raise ModelError("ambiguous", f"expected one JSON value, got {len(fitting)} different ones")
    if fitting:
        return fitting[0]
    if values:
        raise ModelError("off-schema", next(wrong for wrong in reversed(problems) if wrong is not None))
    raise ModelError("not-json", refusals[-1] if refusals else "the reply contains no JSON value")


def _without_thoughts(text: str) -> str:
    beginning = _THOUGHTS.match(text)
    if beginning is None:
        return text
    end = _END_OF_THOUGHTS.search(text, beginning.end())
    if end is None:
        raise ModelError("truncated", "the reply ends inside the model's thoughts")
    return text[end.end() :]


class _Part(msgspec.Struct, Spanned):
    """The text from one opening bracket to the one that closes it, or to the end of valid JSON."""

    start: int
    end: int
    is_cut_off: bool = False
    opened: list[int] = []
    """Every bracket that was opened, outside of strings."""
    finished: list[tuple[int, int]] = []
    """The outermost values that were read to their end: the part itself, or what a broken one begins with."""
    edits: list[tuple[int, int, str]] = []
    """Replacements of the harmless mistakes, by place, in order."""

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


# Checks a reply against a JSON Schema, and says what is wrong in words that the model may be shown.
#
# A reply may repeat what a judged text wants the model to read, in its values and in its keys alike. So a
# message is made of the schema's own words and of numbers, whatever the reply contains.
#
# A key that the schema does not have is no mistake: it is left out, and nobody reads it.

_SHOWN_PROBLEMS = 3
_PROBLEM_CHARACTERS = 300

# The validator's messages on these name the schema and no more, since it is told to leave out the value.
_SAID_BY_THE_SCHEMA = frozenset(
    {"const", "enum", "exclusiveMaximum", "exclusiveMinimum", "maxItems", "maxLength", "maximum", "minItems"}
    | {"minLength", "minimum", "multipleOf", "pattern", "required", "type", "uniqueItems"}
)
_UNKNOWN_KEYS = frozenset({"additionalProperties", "unevaluatedProperties"})


class ReplySchema:
    """A schema that replies must follow; :class:`UsageError` if it is invalid or refers elsewhere."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._validator = _validator(json.dumps(schema))
        self._names = frozenset(_property_names(schema))

    def problem(self, value: Any) -> str | None:
        """Return the schema's objections to a value; ``None`` if it only has unknown keys."""
        errors = (error for error in self._errors(value) if error.kind.name not in _UNKNOWN_KEYS)
        problems = [self._worded(error) for error in islice(errors, _SHOWN_PROBLEMS)]
        return "; ".join(problems)[:_PROBLEM_CHARACTERS] or None

    def known(self, value: Any) -> Any:
        """Return a value in which there is no problem without the keys that the schema does not have."""
        kept = deepcopy(value)
        for error in self._errors(value):
            place, kind = kept, cast("Any", error.kind)
            for part in error.instance_path:
                place = place[part]
            for name in kind.unexpected:
                del place[name]
        return kept

    def _errors(self, value: Any) -> Iterator[jsonschema_rs.ValidationError]:
        return iter(() if self._validator.is_valid(value) else self._validator.iter_errors(value))

    def _worded(self, error: jsonschema_rs.ValidationError) -> str:
        keyword = error.kind.name
        said = error.message if keyword in _SAID_BY_THE_SCHEMA else f"the value does not follow {keyword}"
        place = self._place(error.instance_path)
        return f"{place}: {said}" if place else said

    def _place(self, path: Sequence[str | int]) -> str:
        """Write the path as far as the schema itself names it."""
        return written_path(list(takewhile(lambda part: isinstance(part, int) or part in self._names, path)))


def _property_names(schema: Any) -> Iterator[str]:
    if isinstance(schema, Mapping):
        properties = schema.get("properties")
        if isinstance(properties, Mapping):
            yield from properties
    if isinstance(schema, Mapping | list):
        for part in schema.values() if isinstance(schema, Mapping) else schema:
            yield from _property_names(part)


@lru_cache(maxsize=256)
def _validator(schema: str) -> jsonschema_rs.Draft202012Validator:
    import jsonschema_rs  # costs 27 ms, so only when something is validated

    try:
        return jsonschema_rs.Draft202012Validator(schema, mask="the value", retriever=_refused)
    except ValueError as error:
        reason = str(error).partition("\n")[0]
        raise UsageError(f"schema: invalid JSON Schema: {reason}") from None


def _refused(uri: str) -> Any:
    """Fetch nothing: a schema that comes with a prompt contains all that it refers to."""
    raise ValueError(f"{uri} is outside of the schema")


# Asks a model for a value that follows a JSON Schema, and takes nothing else.
#
# A reply that cannot be used is asked for once more, with a note that says what was wrong. Nothing of the
# reply is in the note, not even a key: it may repeat what the judged text wants to be read. What fails
# twice is a :class:`ModelError`, never a guess.

Check = Callable[[Any], str | None]
"""Tells what is wrong with a value that follows the schema; ``None`` where nothing is."""

REPAIR_REQUEST = """\
An earlier reply to this could not be used: {problem}.
Reply again, with one JSON value that follows the schema and nothing else."""

# What a model is told where there was no reply to read. Its own words on why it refused are left out.
_WITHOUT_A_REPLY: Mapping[str, str] = {
    "truncated": "it was cut off at the limit of tokens, so be brief",
    "refused": "it was a refusal, and nothing is asked for but the JSON value",
    "no-completion": "it was empty",
}


class StructuredReply(msgspec.Struct, frozen=True, kw_only=True):
    """The value that a model gave, with every completion that it took, in order."""

    value: Any
    completions: tuple[Completion, ...]
    repaired: bool = False


def ask(
    model: ChatModel,
    messages: Sequence[Message],
    schema: Mapping[str, Any],
    *,
    accepted: Mapping[str, Any] | None = None,
    draw: int = 0,
    check: Check | None = None,
    other_form: Callable[[str], Any | None] | None = None,
) -> StructuredReply:
    """Return the value that a model gives, which follows the schema and passes ``check``.

    ``accepted`` is the schema that the value must follow, where it is less strict than the model's
    ``schema``. ``other_form`` reads the value of a reply that is not JSON, if it has one that will do. Raises
    :class:`ModelError` if neither the first reply nor the second can be used: ``not-json``, ``off-schema``,
    ``ambiguous``, ``truncated``, ``refused``, ``no-completion``; or another error that the model raises, such
    as ``http-503``. The result of ``check`` is shown to the model.
    """
    followed = ReplySchema(accepted or schema)
    completed: list[tuple[Sequence[Message], Completion]] = []

    def value(asked: Sequence[Message]) -> Any:
        try:
            completion = model.chat(asked, schema=schema, draw=draw)
        except ModelError as error:
            if error.kind not in _WITHOUT_A_REPLY:
                raise
            raise _UselessReplyError(error, note=_WITHOUT_A_REPLY[error.kind]) from error
        completed.append((asked, completion))
        try:
            found = followed.known(_value_of(completion.text, followed.problem, other_form))
            if check is not None and (wrong := check(found)) is not None:
                raise ModelError("off-schema", wrong)
        except ModelError as error:
            told = ModelError(error.kind, f"{error.message}; the reply was {shown(completion.text)}")
            raise _UselessReplyError(told, note=error.message) from error
        return found

    repaired = False
    try:
        try:
            found = value(messages)
        except _UselessReplyError as useless:
            repaired = True
            found = value(with_paragraph(messages, REPAIR_REQUEST.format(problem=useless.note)))
    except BaseException as error:  # whatever ends the question, Ctrl-C too: raised again
        # A model that remembers must ask again the next time, since these replies were useless.
        forget: Callable[..., None] | None = getattr(model, "forget", None)
        if forget is not None:
            for asked, _ in completed:
                forget(asked, schema=schema, draw=draw)
        if isinstance(error, _UselessReplyError):
            raise error.error from error
        raise
    return StructuredReply(
        value=found, completions=tuple(completion for _, completion in completed), repaired=repaired
    )


def _value_of(
    text: str, problem: Callable[[Any], str | None], other_form: Callable[[str], Any | None] | None
) -> Any:
    try:
        return fitting_value(text, problem=problem)
    except ModelError as error:
        if other_form is None or error.kind not in ("not-json", "off-schema"):
            raise
        value = other_form(_without_thoughts(text))
        if value is None or problem(value) is not None:
            raise
        return value


class _UselessReplyError(Exception):
    """A reply that cannot be used: ``note`` tells the model why, ``error`` everyone else."""

    def __init__(self, error: ModelError, *, note: str) -> None:
        self.error, self.note = error, note
        super().__init__(note)
