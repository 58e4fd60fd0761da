"""Text as it is stored, and names that cannot leave their folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework.errors import InputError
from rag_evaluation_framework.files.access import compress, decode_text, path_inside, read_text, safe_name


def test_text_keeps_its_line_ends_and_loses_only_its_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "document.md"
    path.write_bytes("\ufeffone\r\ntwo\rthree\n文\u2028\x85\ufeff\x00".encode())
    assert read_text(path) == "one\r\ntwo\rthree\n文\u2028\x85\ufeff\x00"
    path.write_bytes(compress("é\r\n".encode(), "zstd"))
    assert read_text(path) == "é\r\n"


def test_text_that_is_not_utf8_is_refused_with_file_line_and_offset(tmp_path: Path) -> None:
    path = tmp_path / "latin.md"
    path.write_bytes("ok\ncafé".encode("latin-1"))
    with pytest.raises(InputError) as caught:
        read_text(path)
    assert str(caught.value) == f"{path}:2: expected UTF-8 text, got byte 0xe9 at byte 6"


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_survives_being_stored(text: str) -> None:
    assert decode_text(b"\xef\xbb\xbf" + text.encode()) == text


@pytest.mark.parametrize(
    "identifier",
    [
        "eval_run_2024-01-15_001",
        "rag_v1.10.0",
        "a b",
        "数据集",
        "a..b",
        "COM",
        "console",
        "x" * 200,
        "é=+@#~",
    ],
)
def test_an_ordinary_identifier_is_its_own_file_name(identifier: str) -> None:
    assert safe_name(identifier) == identifier


HOSTILE = [
    "",
    ".",
    "..",
    "../x",
    "a/../../x",
    "/etc/passwd",
    "a/b",
    "..\\x",
    "C:",
    "C:\\x",
    "\\\\host\\share",
    "a\0b",
    "a\nb",
    "a\x7fb",
    "a\u202eb",
    "a\u200bb",
    "a\u2028b",
    "a\ud800b",
    "file.json:stream",
    "a*",
    "a?",
    "<a>",
    'a"b',
    "a|b",
    " a",
    "a ",
    "a.",
    "\u3000a",
    "-rf",
    ".hidden",
    "CON",
    "nul",
    "Aux.txt",
    "com1.json",
    "LPT9",
    "con .json",
    "x" * 201,
    "文" * 67,
]


@pytest.mark.parametrize("identifier", HOSTILE)
def test_an_identifier_that_could_leave_the_folder_or_break_it_is_refused(identifier: str) -> None:
    with pytest.raises(InputError, match="expected an identifier that can be a file name"):
        safe_name(identifier)
    with pytest.raises(InputError):
        path_inside("results", identifier, ".results.json")


@given(st.text() | st.lists(st.sampled_from(["..", "/", "\\", ".", "a", "\0", " ", ":"])).map("".join))
def test_a_path_is_directly_inside_its_folder_whatever_the_identifier(identifier: str) -> None:
    folder = Path("/srv/results")
    try:
        path = path_inside(folder, identifier, ".results.json")
    except InputError:
        return
    assert path.resolve().parent == folder
    assert path.name == identifier + ".results.json"
