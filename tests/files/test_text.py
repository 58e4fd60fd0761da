"""Text as it is stored."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework import InputError
from rag_evaluation_framework.files.access import compress, decode_text, read_text


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
