"""Versions of datasets: which of two is the later one, by the precedence of Semantic Versioning 2.0.0.

Read more generously than the standard writes them: a leading ``v`` is passed over, missing parts are 0
(``v3`` is 3.0.0), leading zeros do not matter (``2025.08.30``). A text that is no version at all comes before
every version.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

_IDENTIFIERS = r"[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*"
_VERSION = re.compile(
    r"[vV]?(?P<major>[0-9]{1,100})(?:\.(?P<minor>[0-9]{1,100}))?(?:\.(?P<patch>[0-9]{1,100}))?"
    rf"(?:-(?P<prerelease>{_IDENTIFIERS}))?(?:\+(?P<build>{_IDENTIFIERS}))?"
)
# `_1.0.0`, `_v1.0.0-rc.1`; a shorter one only behind a `v`, since `news_2024` is a name.
_VERSION_SUFFIX = re.compile(
    rf"_(?:[vV][0-9]+(?:\.[0-9]+){{0,2}}|[0-9]+\.[0-9]+\.[0-9]+)(?:-{_IDENTIFIERS})?(?:\+{_IDENTIFIERS})?\Z"
)


@dataclass(frozen=True, slots=True)
class Version:
    """A version taken apart. Equal ones are the same version; :attr:`precedence` says which is later.

    >>> parse_version("1.10.0").precedence > parse_version("1.9.0").precedence
    True
    """

    release: tuple[int, int, int]
    prerelease: tuple[str, ...] = ()
    build: tuple[str, ...] = ()

    @property
    def precedence(self) -> tuple[Any, ...]:
        """What to sort by; builds of one release are equal in it, as the standard (section 10) has it."""
        identifiers = tuple(map(_identifier_key, self.prerelease))
        return (self.release, not identifiers, identifiers)


def parse_version(text: str) -> Version | None:
    """Take a version apart; ``None`` when the text is none."""
    found = _VERSION.fullmatch(text)
    if found is None:
        return None
    release = (int(found["major"]), int(found["minor"] or 0), int(found["patch"] or 0))
    return Version(release, _identifiers(found["prerelease"]), _identifiers(found["build"]))


def precedence(text: str) -> tuple[Any, ...]:
    """Return what to sort version texts by, the latest last; what is no version comes first, by its text."""
    version = parse_version(text)
    return (0, text) if version is None else (1, version.precedence)


def same_version(one: str, other: str) -> bool:
    """Tell whether two texts name one version: ``v1.0.0``, ``1.0`` and ``1.0.0`` do."""
    version = parse_version(one)
    return one == other if version is None else version == parse_version(other)


def split_version(identifier: str) -> tuple[str, str | None]:
    """Part an id from the version at its end.

    >>> split_version("sample_eval_v1.0.0")
    ('sample_eval', '1.0.0')
    >>> split_version("sample_eval")
    ('sample_eval', None)
    """
    found = _VERSION_SUFFIX.search(identifier)
    if found is None or found.start() == 0:
        return identifier, None
    return identifier[: found.start()], found[0].lstrip("_vV")


def _identifiers(text: str | None) -> tuple[str, ...]:
    return tuple(text.split(".")) if text else ()


def _identifier_key(identifier: str) -> tuple[bool, int, str]:
    """Numbers by value and before words; words by their characters (section 11.4)."""
    if not identifier.isdigit():
        return (True, 0, identifier)
    # By length and then digit by digit, since a number of any length may stand here.
    digits = identifier.lstrip("0")
    return (False, len(digits), digits)
