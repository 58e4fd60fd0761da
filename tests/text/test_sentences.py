"""Where sentences end, in English and in Chinese, and the chunkers that keep them whole."""

from __future__ import annotations

import gzip
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import tables_beside
from labelled_data import present
from rag_evaluation_framework import InputError, SemanticChunker, UsageError
from rag_evaluation_framework.retrieval.chunkers import SentenceChunker
from rag_evaluation_framework.text.sentences import ABBREVIATIONS, BEFORE_NUMBERS, NEVER_LAST, sentence_spans

TABLES = tables_beside(__file__)


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text)]


@pytest.mark.parametrize("expected", TABLES["sentences_end_where_a_reader_ends_them"])
def test_sentences_end_where_a_reader_ends_them(expected: list[str]) -> None:
    spaced = [
        ("" if sentence[0] > "\u2e80" or sentence[0] == "“" else " ") + sentence for sentence in expected
    ]
    assert sentences("".join(spaced).strip()) == expected


@given(
    st.one_of(
        st.sampled_from(sorted(NEVER_LAST | BEFORE_NUMBERS | ABBREVIATIONS)),
        st.text(alphabet="aivxZé第-.'", min_size=1, max_size=7),
    ),
    st.sampled_from(["The", "Wu", "I"]),
)
def test_it_does_not_count_how_many_spaces_follow_a_full_stop(word: str, following: str) -> None:
    one, two = (sentences(f"It is {word}.{space}{following} came.") for space in (" ", "  "))
    assert [sentence.split() for sentence in one] == [sentence.split() for sentence in two]


def test_blocks_end_sentences_and_wrapped_lines_do_not() -> None:
    text = (
        "# Title\nA line\nthat wraps. Next\n\n- item one\n- item two\n\n"
        "1. first\n2. second\n| a | b |\n| 1 | 2 |\n"
    )
    assert sentences(text) == [
        "# Title",
        "A line\nthat wraps.",
        "Next",
        "- item one",
        "- item two",
        "1. first",
        "2. second",
        "| a | b |",
        "| 1 | 2 |",
    ]


@given(st.text(alphabet='Aa b.!?。！？\n"”)#-|1…', max_size=60))
def test_sentences_are_in_order_and_leave_out_only_white_space(text: str) -> None:
    position = 0
    for start, end in sentence_spans(text):
        assert not text[position:start].strip()
        assert text[start:end] == text[start:end].strip() != ""
        position = end
    assert not text[position:].strip()


def boundary_f1(treebank: Sequence[str], gap: str) -> float:
    """Join sentences into one text and return F1 of the ends that are found."""
    ends: set[int] = set()
    length = 0
    for sentence in treebank:
        length += len(sentence)
        ends.add(length)
        length += len(gap)
    found = {end for _, end in sentence_spans(gap.join(treebank))}
    return 2 * len(ends & found) / (len(ends) + len(found))


def treebank(name: str) -> list[str]:
    data = present(f"sentence_split/{name}").read_bytes()
    text = (gzip.decompress(data) if name.endswith(".gz") else data).decode()
    return [line.removeprefix("# text = ") for line in text.splitlines() if line.startswith("# text = ")]


def test_sentence_ends_of_a_chinese_treebank_are_found() -> None:
    assert boundary_f1(treebank("zh_gsdsimp-ud-dev.conllu"), "") > 0.995


def test_sentence_ends_of_punctuated_english_are_found() -> None:
    punctuated = [text for text in treebank("en_ewt-ud-dev.conllu.gz") if text[-1] in ".!?…\"”')"]
    assert boundary_f1(punctuated, " ") > 0.978


def test_whole_sentences_go_together_while_they_fit() -> None:
    text = "One. Two. Three. A long sentence that stands alone. End."
    # "One. Two." is 9 long, "One. Two. Three." 16; the fourth sentence is 34 long.
    assert SentenceChunker(16).chunk(text) == [
        "One. Two. Three.",
        "A long sentence that stands alone.",
        "End.",
    ]
    assert SentenceChunker(15).chunk(text)[:2] == ["One. Two.", "Three."]
    # "Two." is 4 long and is repeated; "Two. Three." leaves no room for what follows.
    assert SentenceChunker(11, 4).chunk("One. Two. Three. Four.") == ["One. Two.", "Two. Three.", "Four."]
    assert SentenceChunker(2, length="words").chunk("One. Two.") == ["One.", "Two."]


class TopicEmbedder:
    """Embeds a text by the share of cats and dogs in it."""

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        return np.array([[text.count("Cats") + 0.1, text.count("Dogs") + 0.1] for text in texts], np.float32)


CATS_AND_DOGS = "Cats purr. Cats climb. Cats sleep. Dogs bark. Dogs run. Dogs dig."


def test_a_semantic_chunk_ends_where_the_subject_changes() -> None:
    chunker = SemanticChunker(TopicEmbedder(), buffer=0)
    assert chunker.chunk(CATS_AND_DOGS) == [
        "Cats purr. Cats climb. Cats sleep.",
        "Dogs bark. Dogs run. Dogs dig.",
    ]


def test_a_semantic_chunk_is_cut_between_sentences_and_then_anywhere_when_it_is_too_long() -> None:
    chunker = SemanticChunker(TopicEmbedder(), buffer=0, chunk_size=22)
    assert chunker.chunk(CATS_AND_DOGS)[:2] == ["Cats purr. Cats climb.", "Cats sleep."]
    assert SemanticChunker(TopicEmbedder(), chunk_size=5).chunk("Cats purr.") == ["Cats", "purr."]


def test_a_text_about_one_thing_is_one_chunk() -> None:
    assert SemanticChunker(TopicEmbedder()).chunk("Cats purr. Cats purr. Cats purr.") == [
        "Cats purr. Cats purr. Cats purr."
    ]


def test_an_embedder_without_a_specification_is_written_by_its_class() -> None:
    assert str(SemanticChunker(embedder=TopicEmbedder())).startswith("semantic(embedder=TopicEmbedder, ")


class BrokenEmbedder:
    def __init__(self, answer: object) -> None:
        self.answer = answer

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        return np.array(self.answer, np.float32)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([[1.0]], r"expected 2 vectors, got 1"),
        ([1.0, 2.0], r"expected a list of vectors, got an array of 1 dimension"),
        ([[1.0], [float("nan")]], "expected a finite number, got nan"),
    ],
)
def test_an_embedder_that_answers_nonsense_is_named(answer: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        SemanticChunker(BrokenEmbedder(answer)).chunk("One. Two.")


@pytest.mark.parametrize(
    "arguments",
    [{"embedder": 3}, {"percentile": 101}, {"percentile": "x"}, {"buffer": -1}, {"chunk_size": 0}],
)
def test_parameters_that_make_no_sense_are_refused(arguments: dict[str, object]) -> None:
    with pytest.raises(UsageError, match=f"^{next(iter(arguments))}: expected"):
        SemanticChunker(**{"embedder": TopicEmbedder(), **arguments})  # type: ignore[arg-type]


# Each shape is written as its sentences, with the white space between them; none may be split or joined.
SHAPES: dict[str, list[str]] = TABLES["shapes"]


@pytest.mark.parametrize("pieces", SHAPES.values(), ids=SHAPES)
def test_a_shape_is_split_where_a_reader_splits_it(pieces: list[str]) -> None:
    text = "".join(pieces)
    assert [text[start:end] for start, end in sentence_spans(text)] == [piece.strip() for piece in pieces]


@given(
    st.sampled_from(["1.", "**2.**", "- b.", "Ask Dr.", "It is approx.", "Step 3.", "See Fig. 4, e.g."]),
    st.characters(categories=["P", "S"], exclude_characters=".!?…。！？｡．•▪◦‣⁃"),
    st.sampled_from(["", " "]),
)
def test_no_mark_parts_an_abbreviation_or_number_from_what_follows(head: str, mark: str, space: str) -> None:
    text = f"{head} {mark}{space}Five of them{mark} came."
    assert [text[start:end] for start, end in sentence_spans(text)] == [text]


@pytest.mark.parametrize("unit", TABLES["a_hostile_text_is_split_in_one_pass"])
def test_a_hostile_text_is_split_in_one_pass(unit: str) -> None:
    # Work that grew with the square of the length would take minutes here.
    text = unit * (100_000 // len(unit))
    position = 0
    for start, end in sentence_spans(text):
        assert position <= start < end
        position = end
