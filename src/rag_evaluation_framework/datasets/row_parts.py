"""The parts that a row may have: what people call them, and how citations and what an answer took look.

Names are in ``data/row_fields.json``, compared without case, spaces and marks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from rag_evaluation_framework.errors import InputError, Issue, invalid, shown
from rag_evaluation_framework.files.strict_json import decode, finite_number
from rag_evaluation_framework.records.citations import Citation, ContextCitation, citations_in
from rag_evaluation_framework.records.samples import Role, Usage

PARTS = (
    *("question", "reference", "answer", "contexts", "id", "relevant_documents", "relevant_chunk_ids"),
    *("reference_contexts", "sources", "scores", "tags", "category", "refusal", "checks", "citations"),
    *("usage", "input_tokens", "output_tokens", "total_tokens", "cost", "latency_ms", "latency_s"),
)
"""What a row may hold, in the order in which it is looked for."""

ROLES: Mapping[str, Role] = {
    **dict.fromkeys(("user", "human"), "user"),
    **dict.fromkeys(("assistant", "ai", "bot", "model"), "assistant"),
    **dict.fromkeys(("system", "developer"), "system"),
}
"""Who says a message, by what people call them."""

TOKENS = ("input_tokens", "output_tokens", "total_tokens")
OF_USAGE = (*TOKENS, "cost")
NAME_ONLY = re.compile(r"[A-Za-z0-9_./:#@%+\-]{1,200}")
"""What is a name or an id, and no text."""
_TOO_MANY = 1 << 53
_CITATION = "the number of a context, the name of its source, or a citation such as [a.md:3:5-9]"
_FILE_NAME = re.compile(r"[^\n\[\]]{1,200}\.[A-Za-z0-9]{1,5}")


def normal(name: str) -> str:
    """Return a name as it is compared.

    >>> normal("Actual Output"), normal("retrievedContexts"), normal("Latency (ms)")
    ('actual_output', 'retrieved_contexts', 'latency_ms')
    """
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip())
    return re.sub(r"[\s\-/()（）]+", "_", parted).strip(":?：？").rstrip("_").casefold()


class _Table(NamedTuple):
    """The names that people use, as :func:`normal` writes them."""

    ranks: Mapping[str, Mapping[str, int]]
    """Of each part its names, the surest with the lowest number."""
    part_of: Mapping[str, str]
    texts: tuple[str, ...]
    sources: tuple[str, ...]
    scores: tuple[str, ...]
    numbered: frozenset[str]
    inner: frozenset[str]
    aside: frozenset[str]
    times: frozenset[str]
    heads: Mapping[str, frozenset[str]]
    """Of a part the words that its name may end in."""
    expecting: frozenset[str]


def _words(lines: Sequence[str]) -> list[str]:
    return " ".join(lines).split()


@cache
def table() -> _Table:
    data = decode(files(__package__).joinpath("data", "row_fields.json").read_bytes())
    times = _words(data["times"])
    parts = {part: _words(data["parts"][part]) for part in PARTS if part not in data["units"]}
    for part, units in data["units"].items():
        parts[part] = [f"{time}_{unit}" for time in times for unit in _words(units)]
    part_of = {name: part for part in reversed(PARTS) for name in parts[part]}
    ranks = {part: {name: rank for rank, name in enumerate(names)} for part, names in parts.items()}
    texts, sources, scores = (tuple(_words(data[name])) for name in ("texts", "sources", "scores"))
    numbered, inner, aside = (frozenset(_words(data[name])) for name in ("numbered", "inner", "aside"))
    heads = {part: frozenset(_words(lines)) for part, lines in data["heads"].items()}
    expecting = frozenset(_words(data["expecting"]))
    return _Table(
        ranks, part_of, texts, sources, scores, numbered, inner, aside, frozenset(times), heads, expecting
    )


def part_named(name: str) -> str | None:
    """Return the part of a row that people call so."""
    return table().part_of.get(normal(name))


def part_by_words(name: str) -> str | None:
    """Return the part that the last word of a name stands for, where it has several.

    >>> part_by_words("Customer Question"), part_by_words("Expected Reply"), part_by_words("question_type")
    ('question', 'reference', None)
    """
    *before, last = normal(name).split("_")
    part = next((part for part, words in table().heads.items() if last in words), None) if before else None
    is_expected = not table().expecting.isdisjoint(before)
    return (
        part if not is_expected else {"answer": "reference", "contexts": "reference_contexts"}.get(part or "")
    )


def segments(place: str) -> list[str]:
    """Return the names in a place, as they are compared."""
    return [normal(each) for each in re.findall(r"""[^.\[\]"']+""", place)] or [normal(place)]


def flat(values: Iterable[Any]) -> list[Any]:
    """Return the items of all lists among the values, and the values that are none."""
    return [item for value in values for item in (value if isinstance(value, list) else [value])]


def decoded(value: Any) -> Any:
    """Return the list or object that stands as text in the cell of a table."""
    if isinstance(value, str) and value.lstrip().startswith(("[", "{")):
        with suppress(InputError):
            return decode(value)
    return value


def decoded_checks(value: Any) -> Any:
    """Return the checks that stand as text in the cell of a table: ``contains: 27 days``, or JSON."""
    if isinstance(value, str):
        from rag_evaluation_framework.files.yaml_documents import decode as decode_yaml  # slow to import

        with suppress(InputError):
            return decode_yaml(value)
    return value


# What an answer took.


def as_number(value: Any) -> float | None:
    """Return a number, or one that is written in a text; ``None`` of anything else."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    return finite_number(value)


def usage_fields(value: Mapping[str, Any]) -> dict[str, str]:
    """Return under which names an object has tokens and cost, by their part: the surest name of each."""
    found: dict[str, tuple[int, str]] = {}
    for name in filter(lambda each: isinstance(each, str), value):
        for part in OF_USAGE:
            rank = table().ranks[part].get(normal(name))
            if rank is not None and value[name] is not None:
                found[part] = min(found.get(part, (rank, name)), (rank, name))
    return {part: name for part, (_, name) in found.items()}


def amount(where: str, value: Any, *, is_count: bool = False) -> float | None:
    """Return a number of at least 0, whole where it is a count; ``None`` where there is nothing."""
    if value is None or value == "":
        return None
    number = as_number(value)
    if number is None or number < 0 or (is_count and not (number.is_integer() and number < _TOO_MANY)):
        expected = "a whole number of at least 0" if is_count else "a number of at least 0"
        raise invalid(where, expected, value, code="wrong-type" if number is None else "out-of-range")
    return number


def usage_of(told: Mapping[str, float | None], where: str) -> Usage | None:
    """Return what is told of tokens and cost; of two counts and their sum any two tell the third."""
    read, written, total = (told.get(part) for part in TOKENS)
    if total is not None and (read is None) != (written is None):
        known = read if written is None else written
        if known is not None and total < known:
            raise invalid(
                where, f"a sum of at least its part of {known:,.0f} tokens", int(total), code="out-of-range"
            )
        read, written = (total - (written or 0), written) if read is None else (read, total - read)
    usage = Usage(
        input_tokens=None if read is None else int(read),
        output_tokens=None if written is None else int(written),
        cost_usd=told.get("cost"),
    )
    return None if usage == Usage() else usage


# What an answer cites.


def cited_name(item: Any) -> str | None:
    """Return the name of a document or chunk that a citation is, or has in the place of characters."""
    if isinstance(item, Mapping):
        named = {normal(name): value for name, value in item.items() if isinstance(name, str)}
        is_number = any(isinstance(named.get(name), int) for name in ("context", "number", "context_number"))
        if is_number or not {"start", "end", "start_char", "end_char"}.isdisjoint(named):
            return None
        values = (named.get(name) for name in table().sources)
        item = next((value for value in values if isinstance(value, str | int)), None)
    if isinstance(item, bool) or not isinstance(item, str | int):
        return None
    text = str(item).strip() if isinstance(item, str) or item.bit_length() <= 64 else ""
    return text if NAME_ONLY.fullmatch(text) or _FILE_NAME.fullmatch(text) else None


def is_citation(item: Any) -> bool:
    if isinstance(item, Mapping):
        names = {normal(name) for name in item if isinstance(name, str)}
        return cited_name(item) is not None or not {"start", "start_char", "number", "context"}.isdisjoint(
            names
        )
    is_form = isinstance(item, str) and ("[" in item or all(map(cited_name, re.split(r"[\n;|,]", item))))
    return is_form or cited_name(item) is not None or isinstance(item, float)


def cited(where: str, items: Sequence[Any], sources: Sequence[str] | None) -> tuple[Citation, ...]:
    """Return the citations of a row; ``sources`` are those of its contexts, in order, where they are known.

    A name means every context of that source. One that none of them has cites what was not shown: a context
    beyond the last.
    """
    found: list[Citation] = []
    unknown: dict[str, int] = {}
    issues: list[Issue] = []
    for index, item in enumerate(items):
        name = cited_name(item)
        if name is not None and name in (sources or ()):
            found += [ContextCitation(place) for place, each in enumerate(sources or (), 1) if each == name]
            continue
        is_number = name is not None and name.isascii() and name.isdigit()
        if isinstance(item, float) and item.is_integer():
            item, is_number = int(item), True
        try:
            found += citations_in(int(name) if is_number and name else item)
        except InputError as error:
            if isinstance(item, Mapping) and name is None:
                issues += error.located(within=f"{where}[{index}]").issues
            elif name is None or is_number or sources is None:
                issues.append(Issue("wrong-type", _CITATION, shown(item), f"{where}[{index}]"))
            else:
                unknown.setdefault(name, len(sources) + len(unknown) + 1)
                found.append(ContextCitation(unknown[name]))
    if issues:
        raise InputError(issues)
    return tuple(found)
