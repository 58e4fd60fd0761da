"""A corpus read from a folder has relative ids in order and the text as it is stored."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag_evaluation_framework import Corpus, InputError


def test_ids_are_relative_paths_with_slashes_in_sorted_order(tmp_path: Path) -> None:
    for name in ("b.md", "a/z.md", "a/b/c.md", "note.txt", "中文.md"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name, encoding="utf-8")
    corpus = Corpus.from_folder(str(tmp_path))
    assert [document.id for document in corpus] == ["a/b/c.md", "a/z.md", "b.md", "中文.md"]
    assert corpus["a/z.md"].content == "a/z.md"
    assert len(Corpus.from_folder(tmp_path, "*.txt")) == 1


def test_the_mark_at_the_start_is_removed_and_line_ends_are_kept(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"\xef\xbb\xbfone\r\ntwo\rthree\n")
    assert Corpus.from_folder(tmp_path).documents[0].content == "one\r\ntwo\rthree\n"


def test_every_file_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    (tmp_path / "good.md").write_text("fine")
    (tmp_path / "latin.md").write_bytes(b"caf\xe9")
    (tmp_path / "utf16.md").write_bytes("hello".encode("utf-16"))
    with pytest.raises(InputError) as caught:
        Corpus.from_folder(tmp_path)
    assert [Path(issue.file or "").name for issue in caught.value.issues] == ["latin.md", "utf16.md"]


def test_a_folder_that_is_missing_or_has_no_match_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="an existing folder"):
        Corpus.from_folder(tmp_path / "nowhere")
    with pytest.raises(InputError, match="a pattern that matches a file"):
        Corpus.from_folder(tmp_path)


@pytest.mark.parametrize("pattern", ["../*.md", "a/../../*.md", "/etc/*", "", "**.md"])
def test_a_pattern_that_leads_out_of_the_folder_or_means_nothing_is_an_error(
    tmp_path: Path, pattern: str
) -> None:
    (tmp_path / "secret.md").write_text("outside")
    (tmp_path / "corpus" / "a").mkdir(parents=True)
    # Python 3.13 reads "**.md" as "*.md", which is a pattern that matches nothing here.
    with pytest.raises(InputError, match="glob_pattern: expected a pattern"):
        Corpus.from_folder(tmp_path / "corpus", pattern)
