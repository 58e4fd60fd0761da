"""The relations that golden sets name, and the words by which answers express each.

The words are data (``data/relations.yaml``). ``friend_of``, ``is_friend_of``, ``friends_with`` and
``friendOf`` are one relation. A relation that is not in the table is expressed by its own words only,
``sworn_sister_of`` by "sworn sister", ``advisor_of`` by "advises" too, ``sued`` by "sues", and ``sued_by``
from the other end; it may be written in the words of the answers, 结义姐妹, or as several,
结义姐妹/sworn_sister_of.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from rag_evaluation_framework.files import yaml_documents
from rag_evaluation_framework.judging.golden.mentions import Mention, mentions
from rag_evaluation_framework.judging.golden.relation_frames import (
    INVERSE_ROLE,
    INVERSE_VERB,
    MUTUAL,
    OWN,
    ROLE,
    VERB,
)
from rag_evaluation_framework.judging.words.comparable_text import (
    alternatives,
    comparable,
    is_unspaced,
    pieces,
)
from rag_evaluation_framework.judging.words.english_stems import stem

_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_AROUND = re.compile(r"\A(?:is|are|was|were|has|have)_(?=.)|(?<=.)_(?:of|with|to|by|for|from|in|on|at)\Z")
_PASSIVE = re.compile(r"(?<=.)_by\Z|\A被(?=.)")
# 拜_为师 has its object inside.
_GAP = "_"
_WIDEST_GAP = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationWords:
    """How one relation is said; ``inverted`` where the triple's name tells it from the object's end."""

    mutual: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    inverse_roles: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    inverse_verbs: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    inverted: bool = False
    is_known: bool = True

    @property
    def has_direction(self) -> bool:
        return bool(self.roles or self.inverse_roles or self.verbs or self.inverse_verbs or self.own)

    @property
    def marks(self) -> Iterator[tuple[str, str]]:
        """Yield each word with the mark that says how it is read."""
        for words, mark in (
            (self.mutual, MUTUAL),
            (self.verbs, VERB),
            (self.inverse_verbs, INVERSE_VERB),
            (self.roles, ROLE),  # after the verbs: "mentors" does, and is only then a plural
            (self.inverse_roles, INVERSE_ROLE),
            (self.own, OWN),
        ):
            yield from ((word, mark) for word in words)

    @property
    def all(self) -> tuple[str, ...]:
        return tuple(word for word, _ in self.marks)

    def found_in(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Yield where a comparable text has one of the words, and its mark.

        A word inside a longer one that says another relation is not found: no mother in "mother-in-law".
        """
        for word, mark in self.marks:
            before, _, after = word.partition(_GAP)
            for found in self._mentions(text, before, mark):
                if after:
                    end = text.find(after, found.end, found.end + _WIDEST_GAP)
                    if end > found.end:
                        yield found.start, found.end, mark
                        yield end, end + len(after), ""
                elif not _is_in_longer(text, found, word, self):
                    yield found.start, found.end, mark

    @staticmethod
    def _mentions(text: str, word: str, mark: str) -> Iterator[Mention]:
        return _mentions_by_stem(text, word) if mark == OWN else mentions(text, word)


def words_of_relation(relation: str) -> list[RelationWords]:
    """Return the ways to say a relation: the table's, or its own words; "A/B" has those of either."""
    names = alternatives(relation.strip()) if "/" in relation else [relation.strip()]
    found = [words for name in names for words in _ways(name)]
    return [words for words in found if words.is_known] or found


@lru_cache(maxsize=256)
def relations_said(text: str) -> tuple[RelationWords, ...]:
    """Return the relations of the table one of whose words a comparable text has."""
    return tuple(words for words in _table()[1] if next(words.found_in(text), None))


def _ways(name: str) -> Iterator[RelationWords]:
    by_name, _ = _table()
    whole = _even(name)
    bare = _AROUND.sub("", whole)
    candidates = (whole, bare, _AROUND.sub("", bare))
    known = next((by_name[each] for each in candidates if each in by_name), None)
    if known is not None:
        yield from known
        return
    own = (comparable(_PASSIVE.sub("", bare).replace("_", " ")),)
    if whole.endswith("_of"):
        yield RelationWords(roles=own, verbs=_deeds(own[0]), is_known=False)
    else:
        yield RelationWords(own=own, inverted=_PASSIVE.search(whole) is not None, is_known=False)


def _deeds(role: str) -> tuple[str, ...]:
    """Return what the verb of a role may be, where it has one: an advisor advises, a sponsor sponsored.

    >>> _deeds("advisor"), _deeds("heir")
    (('adviss', 'advises', 'advised', 'advisored'), ())
    """
    if not role.endswith(("er", "or")):
        return ()
    return (*(f"{role[:-2]}{ending}" for ending in ("s", "es", "ed")), f"{role}ed")


def is_told_in(words: RelationWords, answer: str) -> bool:
    """Tell whether a relation has words in the script of a comparable answer, or could where it has none."""
    scripts = {is_unspaced(character) for character in answer if character.isalpha()}
    return not scripts or any(is_unspaced(word[0]) in scripts for word in words.all if word)


def _mentions_by_stem(text: str, name: str) -> Iterator[Mention]:
    """Yield where a text has a name in any inflection; Chinese has none."""
    if is_unspaced(name[:1] or " "):
        yield from mentions(text, name)
        return
    wanted = [stem(piece.text) for piece in pieces(name)]
    found = list(pieces(text))
    for first in range(len(found) - len(wanted) + 1 if wanted else 0):
        window = found[first : first + len(wanted)]
        if [stem(piece.text) for piece in window] == wanted:
            yield Mention(window[0].start, window[-1].end)


def _is_in_longer(text: str, found: Mention, word: str, way: RelationWords) -> bool:
    return any(
        longer.start <= found.start and found.end <= longer.end
        for other in _longer_words(word)
        if other not in way.all
        for longer in mentions(text, other)
    )


@lru_cache(maxsize=1024)
def _longer_words(word: str) -> tuple[str, ...]:
    _, listed = _table()
    return tuple({other for way in listed for other in way.all if word in other and word != other})


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
