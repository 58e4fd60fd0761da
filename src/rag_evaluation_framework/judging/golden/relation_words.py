"""The relations that golden sets name, and the words by which answers express each.

The words are data (``data/relations.yaml``). ``friend_of``, ``is_friend_of``, ``friends_with`` and
``friendOf`` are one relation. A relation that is not in the table is expressed by its own words only,
``sworn_sister_of`` by "sworn sister"; it may be written in the words of the answers, 结义姐妹, or as several,
结义姐妹/sworn_sister_of.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, Literal, cast

from rag_evaluation_framework.files import yaml_documents
from rag_evaluation_framework.judging.golden.mentions import mentions
from rag_evaluation_framework.judging.words.comparable_text import alternatives, comparable, is_unspaced

_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_AROUND = re.compile(r"\A(?:is|are|was|were|has|have)_(?=.)|(?<=.)_(?:of|with|to|by|for|from|in|on|at)\Z")


Reading = Literal["mutual", "role", "verb"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationWords:
    """How one relation is said; ``inverted`` where the triple's name tells it from the object's end."""

    mutual: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    inverse_roles: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    inverse_verbs: tuple[str, ...] = ()
    inverted: bool = False
    is_known: bool = True

    @property
    def has_direction(self) -> bool:
        return any(sign for _, _, sign in self.readings)

    @property
    def readings(self) -> Iterator[tuple[str, Reading, int]]:
        """Yield each word, how it is read, and 1 for what the subject is or does, -1 for the object."""
        for words, reading, sign in (
            (self.mutual, "mutual", 0),
            (self.roles, "role", 1),
            (self.inverse_roles, "role", -1),
            (self.verbs, "verb", 1),
            (self.inverse_verbs, "verb", -1),
        ):
            yield from ((word, cast("Reading", reading), sign) for word in words)

    @property
    def all(self) -> tuple[str, ...]:
        return tuple(word for word, _, _ in self.readings)


def words_of_relation(relation: str) -> list[RelationWords]:
    """Return the ways to say a relation: the table's, or its own words; "A/B" has those of either."""
    names = alternatives(relation.strip()) if "/" in relation else [relation.strip()]
    found = [words for name in names for words in _ways(name)]
    return [words for words in found if words.is_known] or found


@lru_cache(maxsize=256)
def relations_said(text: str) -> tuple[RelationWords, ...]:
    """Return the relations of the table one of whose words a comparable text has."""
    said = (words for words in _table()[1] if any(next(mentions(text, word), None) for word in words.all))
    return tuple(said)


def _ways(name: str) -> Iterator[RelationWords]:
    by_name, _ = _table()
    whole = _even(name)
    bare = _AROUND.sub("", whole)
    candidates = (whole, bare, _AROUND.sub("", bare))
    known = next((by_name[each] for each in candidates if each in by_name), None)
    if known is not None:
        yield from known
        return
    own = comparable(bare.replace("_", " "))
    is_role = whole.endswith("_of")
    yield RelationWords(roles=(own,) if is_role else (), mutual=() if is_role else (own,), is_known=False)


def is_told_in(words: RelationWords, answer: str) -> bool:
    """Tell whether a relation has words in the script of a comparable answer: it could be said there."""
    scripts = {is_unspaced(character) for character in answer if character.isalpha()}
    return any(is_unspaced(word[0]) in scripts for word in words.all if word)


def _even(name: str) -> str:
    separated = _CAMEL.sub("_", name.strip())
    return re.sub(r"[\s_-]+", "_", comparable(separated)).strip("_")


@cache
def _table() -> tuple[dict[str, list[RelationWords]], list[RelationWords]]:
    """Return the relations by each of their names, and all of them, not inverted."""
    place = files(__package__) / "data" / "relations.yaml"
    by_name: dict[str, list[RelationWords]] = {}
    listed: list[RelationWords] = []
    for entry in yaml_documents.decode(place.read_text(encoding="utf-8"), file=place.name):
        words = RelationWords(
            mutual=_words(entry, "mutual"),
            roles=_words(entry, "roles"),
            inverse_roles=_words(entry, "inverse_roles"),
            verbs=_words(entry, "verbs"),
            inverse_verbs=_words(entry, "inverse_verbs"),
        )
        listed.append(words)
        for kind, inverted in (("names", False), ("inverse_names", True)):
            for name in entry.get(kind, ()):
                by_name.setdefault(_even(name), []).append(replace(words, inverted=inverted))
    return by_name, listed


def _words(entry: dict[str, Any], kind: str) -> tuple[str, ...]:
    words: Iterable[str] = entry.get(kind, ())
    return tuple(comparable(word) for word in words)
