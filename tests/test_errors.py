"""Errors say where, what was expected and what was there."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import pytest

import rag_evaluation_framework
from rag_evaluation_framework import InputError, Issue, RagEvalError, UsageError, errors
from rag_evaluation_framework.errors import (
    Location,
    MissingExtraError,
    Problems,
    UnknownNameError,
    counted,
    described,
    invalid,
    shown,
)


@pytest.mark.parametrize(
    ("location", "text"),
    [
        (
            Location("evals/rag.jsonl", 17, "citations[0].end_char"),
            "evals/rag.jsonl:17: citations[0].end_char",
        ),
        (Location("a.json", None, "queries[3]"), "a.json: queries[3]"),
        (Location("a.json", 4), "a.json:4"),
        (Location(None, 4, "x"), "line 4: x"),
        (Location(), ""),
    ],
)
def test_a_location_leaves_out_what_is_not_known(location: Location, text: str) -> None:
    assert str(location) == text


def test_an_issue_reads_expected_got_at_its_place() -> None:
    issue = Issue(
        "bad-span", "an integer above 1350", "1250", "citations[0].end_char", file="evals/rag.jsonl", line=17
    )
    assert str(issue) == "evals/rag.jsonl:17: citations[0].end_char: expected an integer above 1350, got 1250"


def test_the_reader_adds_the_place_once_and_never_overwrites_it() -> None:
    low = invalid("end", "a whole number above 5", 5)
    placed = low.located("a.jsonl", 3, within="citations[0]")
    assert str(placed) == "a.jsonl:3: citations[0].end: expected a whole number above 5, got 5"
    assert placed.located("other", 9).issues == placed.issues


def test_an_index_follows_its_list_without_a_dot() -> None:
    assert Issue("c", "x", "y", "[2].start").located(within="spans").path == "spans[2].start"
    assert Issue("c", "x", "y").located(within="spans").path == "spans"


def test_long_values_are_cut_in_messages() -> None:
    assert len(shown("x" * 1000)) == 60
    assert shown("x") == "'x'"
    assert shown(10**5000) == "a value of type int without a text form"


class Unwritable(Exception):  # noqa: N818  # somebody else's name
    """An exception that fails again when it is written."""

    def __str__(self) -> str:
        raise RuntimeError("no words")

    __repr__ = __str__


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("two\n  lines"), "ValueError: two lines"),
        (KeyError("boom"), "KeyError: 'boom'"),
        (TimeoutError(), "TimeoutError"),
        (SystemExit(2), "SystemExit: 2"),
        (Unwritable(), "Unwritable"),
    ],
)
def test_an_exception_is_described_on_one_line_whatever_it_is(error: BaseException, text: str) -> None:
    assert described(error) == text


def test_a_value_that_cannot_be_written_is_named_by_its_type() -> None:
    assert shown(Unwritable()) == "a value of type Unwritable without a text form"


def test_a_long_description_is_cut_after_its_secrets_are_hidden() -> None:
    error = ValueError("x" * 480 + "s3cret-value" + "y" * 100_000)
    assert described(error).endswith("xs3cret-…")
    masked = described(error, mask=lambda text: text.replace("s3cret-value", "***"))
    assert (len(masked), masked[-8:]) == (500, "***yyyy…")


def test_an_unknown_name_offers_the_nearest_or_lists_all() -> None:
    assert (
        str(UnknownNameError("metric", "ncdg", ["ndcg", "mrr"]))
        == 'unknown metric "ncdg". Did you mean "ndcg"?'
    )
    assert (
        str(UnknownNameError("metric", "zzz", ["ndcg", "mrr"]))
        == 'unknown metric "zzz". Available: mrr and ndcg.'
    )
    # As much alike as "clock" and "colour", and no slip of the hand.
    assert "Did you mean" not in str(UnknownNameError("dialect", "nope", ["inspect"]))
    assert 'Did you mean "colour' in str(UnknownNameError("setting", "clock", ["colour"]))
    assert str(UnknownNameError("store", "zzz", [])) == 'unknown store "zzz". None are available.'


def test_a_missing_extra_says_what_to_install() -> None:
    assert "pip install 'rag-evaluation-framework[chroma]'" in str(
        MissingExtraError("ChromaVectorStore", "chroma")
    )


def test_every_exception_has_one_root_and_survives_a_process_boundary() -> None:
    examples = [
        invalid("a", "b", 1),
        errors.LimitExceededError([Issue("c", "x", "y")]),
        UsageError("no"),
        UnknownNameError("metric", "a", ["b"]),
        errors.MissingKeyError("m", "KEY", "--key-env"),
        errors.MissingDatasetError("no dataset 'a'"),
        MissingExtraError("x", "y"),
        errors.MissingResultsError("none of this id"),
        errors.StorageError("full"),
        errors.WorkerError("a worker process was ended by signal 9"),
        errors.TargetError("http-503", "busy", retry=True, retry_after=3.0),
        errors.ModelError("not-json", "no object in the reply"),
        errors.ModelOutageError("http-401", "no such key"),
    ]
    kinds = {kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)}
    assert {type(example) for example in examples} == kinds - {RagEvalError}
    for example in examples:
        assert isinstance(example, RagEvalError)
        copy = pickle.loads(pickle.dumps(example))
        assert (type(copy), str(copy)) == (type(example), str(example))


def test_the_tree_in_the_docstring_names_every_exception() -> None:
    for name, kind in vars(errors).items():
        if isinstance(kind, type) and issubclass(kind, Exception):
            assert name in (errors.__doc__ or "")


def test_collected_problems_are_raised_together() -> None:
    problems = Problems()
    problems.raise_all()
    for field in ("a", "b"):
        with problems.collected():
            raise invalid(field, "x", 1)
    with pytest.raises(InputError) as caught:
        problems.raise_all()
    assert [issue.path for issue in caught.value.issues] == ["a", "b"]


def test_collected_problems_of_different_kinds_keep_a_line_each() -> None:
    problems = Problems()
    with problems.collected():
        raise invalid("a", "x", 1)
    with problems.collected():
        raise UsageError("no such thing")
    with pytest.raises(UsageError, match=r"a: expected x, got 1\nno such thing"):
        problems.raise_all()


def test_a_foreign_error_is_not_collected() -> None:
    problems = Problems()
    with pytest.raises(ZeroDivisionError), problems.collected():
        _ = 1 / 0


def test_each_item_is_tried_and_all_refusals_are_kept() -> None:
    def halved(number: int) -> int:
        if number % 2:
            raise UsageError(f"{number} is odd")
        return number // 2

    problems = Problems()
    assert problems.each(halved, [2, 3, 4, 5]) == [1, 2]
    with pytest.raises(UsageError, match=r"^3 is odd\n5 is odd$"):
        problems.raise_all()


@pytest.mark.parametrize(
    ("number", "words", "text"),
    [
        (0, ["file"], "0 files"),
        (1, ["file"], "1 file"),
        (2_000, ["file"], "2,000 files"),
        (1, ["query is", "queries are"], "1 query is"),
        (2, ["query is", "queries are"], "2 queries are"),
    ],
)
def test_one_is_singular_and_all_else_plural(number: int, words: list[str], text: str) -> None:
    assert counted(number, *words) == text


ROOMS = [Path(rag_evaluation_framework.__file__).parent / room for room in ("cli", "reports")]


@pytest.mark.parametrize("path", sorted(p for room in ROOMS for p in room.glob("*.py")), ids=lambda p: p.name)
def test_what_is_printed_counts_nothing_with_a_plural_of_its_own(path: Path) -> None:
    assert not re.findall(r"\{[^{}]*:,\} (?:more )?[a-z]+s\b", path.read_text(encoding="utf-8"))
