"""Text as it is stored, and identifiers that become file names."""

from __future__ import annotations

import unicodedata
from pathlib import Path

from rag_evaluation_framework.errors import InputError, Issue, invalid
from rag_evaluation_framework.files.compression import DEFAULT_LIMITS, Limits, read_bytes

# File systems allow 255 bytes a name; the rest is for suffixes such as ``.results.parquet.zst``.
MAX_NAME_BYTES = 200

_UNSAFE_CHARACTERS = frozenset('/\\:<>"|?*')
# Control characters, invisible formatting (which can disguise a name), lone surrogates, line separators.
_UNSAFE_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_WINDOWS_DEVICES = frozenset(
    {
        "CON",
        "PRN",
        "AUX",
        "NUL",
        *(f"{port}{number}" for port in ("COM", "LPT") for number in "0123456789¹²³"),
    }
)


def read_text(path: str | Path, *, limits: Limits = DEFAULT_LIMITS) -> str:
    """Read a UTF-8 file, compressed or not: a byte order mark is removed, line ends are left as they are."""
    return decode_text(read_bytes(path, limits=limits), file=str(path))


def decode_text(data: bytes, *, file: str | None = None) -> str:
    """Decode strict UTF-8 without a byte order mark; an error names the offset of the first wrong byte."""
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        found = f"byte 0x{data[error.start]:02x} at byte {error.start}"
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError([Issue("invalid-utf8", "UTF-8 text", found, file=file, line=line)]) from None


def safe_name(identifier: str) -> str:
    """Return the identifier if it can be a file's name on every system, else raise :class:`InputError`.

    Nothing is replaced: two identifiers must never become one name.
    """
    problem = _problem(identifier)
    if problem:
        raise invalid(
            "", f"an identifier that can be a file name ({problem})", identifier, code="unsafe-name"
        )
    return identifier


def path_inside(folder: str | Path, identifier: str, suffix: str = "") -> Path:
    """Return the path of an identifier's file, directly inside the folder whatever the identifier holds."""
    return Path(folder) / (safe_name(identifier) + suffix)


def _problem(identifier: str) -> str | None:
    """Say what keeps an identifier from being a file name."""
    if not identifier:
        return "not empty"
    if any(unicodedata.category(character) in _UNSAFE_CATEGORIES for character in identifier):
        return "no control or invisible characters"
    if _UNSAFE_CHARACTERS.intersection(identifier):
        return 'none of / \\ : < > " | ? *'
    if identifier[0] in ".-" or identifier[0].isspace():
        return "not starting with a dot, a dash or a space"
    if identifier[-1] == "." or identifier[-1].isspace():
        return "not ending with a dot or a space"
    if identifier.partition(".")[0].rstrip().upper() in _WINDOWS_DEVICES:
        return "not the name of a Windows device"
    if len(identifier.encode("utf-8")) > MAX_NAME_BYTES:
        return f"at most {MAX_NAME_BYTES} bytes"
    return None
