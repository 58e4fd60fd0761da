"""What a single YAML word means, when reading and when writing: the core schema of YAML 1.2."""

from __future__ import annotations

import math
import re
from typing import Any

import yaml

from rag_evaluation_framework.files.values import MAX_DIGITS

_NULL = re.compile(r"(?:null|Null|NULL|~|)\Z")
_TRUE = re.compile(r"(?:true|True|TRUE)\Z")
_FALSE = re.compile(r"(?:false|False|FALSE)\Z")
_INTEGER = re.compile(r"[-+]?[0-9]+\Z")
_OCTAL = re.compile(r"0o[0-7]+\Z")
_HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]+\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_NOT_FINITE = re.compile(r"(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z")
# Only words that begin like this can be anything but strings.
_MAY_NOT_BE_TEXT = frozenset("-+.0123456789~ntfNTF")

_TAG = "tag:yaml.org,2002:"
_TYPES_OF_TAGS: dict[str, type | tuple[type, ...]] = {
    f"{_TAG}null": type(None),
    f"{_TAG}bool": bool,
    f"{_TAG}int": int,
    f"{_TAG}float": (int, float),
}


class UnreadableNumberError(ValueError):
    """A word that reads as a number which no JSON file can hold; the message says what is expected."""


def read_plain(word: str) -> Any:
    """Return what a word without quotes means."""
    if word and word[0] not in _MAY_NOT_BE_TEXT:
        return word
    if _INTEGER.match(word):
        if len(word.lstrip("-+")) > MAX_DIGITS:
            raise UnreadableNumberError(f"an integer of at most {MAX_DIGITS} digits")
        return int(word)
    if _FLOAT.match(word):
        number = float(word)
        if math.isinf(number):
            raise UnreadableNumberError("a number within the range of a double")
        return number
    if _NOT_FINITE.match(word):
        raise UnreadableNumberError("a finite number")
    return _read_rare(word)


def _read_rare(word: str) -> Any:
    if _OCTAL.match(word):
        return int(word[2:], 8)
    if _HEXADECIMAL.match(word):
        return int(word[2:], 16)
    if _TRUE.match(word):
        return True
    if _FALSE.match(word):
        return False
    return None if _NULL.match(word) else word


def read_tagged(tag: str, word: str) -> Any:
    """Return what a word with an explicit tag means; ``ValueError`` if the tag is unknown or does not fit."""
    if tag == f"{_TAG}str":
        return word
    value = read_plain(word)
    fits = tag in _TYPES_OF_TAGS and isinstance(value, _TYPES_OF_TAGS[tag])
    if not fits:
        raise ValueError(tag)
    return float(value) if tag == f"{_TAG}float" else value


class YamlDumper(yaml.SafeDumper):
    """Writes strings plain where both YAML 1.1 and 1.2 read them back as strings, and repeats no anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def represent_text(self, data: str) -> yaml.ScalarNode:
        return self.represent_scalar(f"{_TAG}str", str(data), style=_style(data))


def _style(text: str) -> str | None:
    """Choose lines as they are for simple text of several lines, double quotes where they could change it."""
    if text.isprintable():
        return None
    lines = text.split("\n")
    if len(lines) > 1 and all(line.isprintable() and line and line == line.strip() for line in lines):
        return "|"
    return '"'


YamlDumper.add_representer(str, YamlDumper.represent_text)
# Subclasses (an enumeration of strings, numpy's ``float64``) are written as what they are at heart.
YamlDumper.add_multi_representer(str, YamlDumper.represent_text)
YamlDumper.add_multi_representer(float, lambda dumper, data: dumper.represent_float(float(data)))
YamlDumper.add_multi_representer(int, lambda dumper, data: dumper.represent_int(int(data)))
YamlDumper.add_multi_representer(dict, lambda dumper, data: dumper.represent_dict(data.items()))
# PyYAML's own resolvers are those of YAML 1.1; these are what 1.2 adds to them.
YamlDumper.add_implicit_resolver(f"{_TAG}int", _OCTAL, ["0"])
YamlDumper.add_implicit_resolver(f"{_TAG}int", _INTEGER, list("-+0123456789"))
YamlDumper.add_implicit_resolver(f"{_TAG}float", _FLOAT, list("-+.0123456789"))
