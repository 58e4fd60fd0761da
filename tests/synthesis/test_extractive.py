"""Questions made without a model: what they ask, what answers them, and that they are always the same."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cases import tables_beside
from rag_evaluation_framework import Corpus, Document, DocumentId, UsageError
from rag_evaluation_framework.synthesis.chinese_questions import chinese_questions
from rag_evaluation_framework.synthesis.english_clauses import clause_of
from rag_evaluation_framework.synthesis.english_questions import english_questions, known_words
from rag_evaluation_framework.synthesis.extractive import (
    NAME,
    SPARE,
    extractive_drafts,
    generate_extractively,
    structure_questions,
)
from rag_evaluation_framework.synthesis.passages import passages_of

TABLES = tables_beside(__file__)

CHINESE = Path(__file__).parent / "chinese"
HANDBOOK = Path(__file__).parents[2] / "examples" / "handbook" / "documents"


def document(text: str, name: str = "a.md") -> Document:
    return Document(DocumentId(name), text)


def corpus_of(*texts: str) -> Corpus:
    return Corpus([document(text, f"{number}.md") for number, text in enumerate(texts)])


def asked(text: str) -> dict[str, str]:
    """Return what can be asked about an English text, with the answers."""
    statements = passages_of(document(text)).statements
    return {made.text: made.answer for made in english_questions(statements, known_words([text.lower()]))}


def asked_in_chinese(text: str) -> dict[str, str]:
    return {made.text: made.answer for made in chinese_questions(passages_of(document(text)).statements)}


@pytest.mark.parametrize(
    ("sentence", "question", "answer"), TABLES["english_question_takes_the_answer_out_of_its_sentence"]
)
def test_english_question_takes_the_answer_out_of_its_sentence(
    sentence: str, question: str, answer: str
) -> None:
    assert asked(sentence).get(question) == answer


@pytest.mark.parametrize(
    ("sentence", "question", "answer"), TABLES["chinese_question_asks_where_the_answer_stands"]
)
def test_chinese_question_asks_where_the_answer_stands(sentence: str, question: str, answer: str) -> None:
    assert asked_in_chinese(sentence).get(question) == answer


@pytest.mark.parametrize(("sentence", "_why"), TABLES["nothing_is_asked"])
def test_what_does_not_survive_the_turning_is_not_asked_about(sentence: str, _why: str) -> None:
    assert asked(sentence) == asked_in_chinese(sentence) == {}


def test_option_of_a_command_is_asked_for_by_its_name() -> None:
    synopsis = "SYNOPSIS\n  ferry [options]\n\n"
    option = "OPTIONS\n  -q, --quiet\n    Print all warnings to the log file.\n"
    asked_for = "what does the option --quiet of the command ferry do"
    made = made_of(f"NAME\n  ferry - carry files\n\n{synopsis}{option}")
    assert made == {asked_for: "Print all warnings to the log file."}
    assert made_of(f"NAME\n  ferry - carry files\n\n{option}") == {}  # no command, as far as is said


def made_of(text: str) -> dict[str, str]:
    return {made.text: made.answer for made in structure_questions(passages_of(document(text)), text)}


@pytest.mark.parametrize("option", TABLES["option_that_does_not_tell_what_it_does_is_not_asked_for"])
def test_option_that_does_not_tell_what_it_does_is_not_asked_for(option: str) -> None:
    assert made_of(f"NAME\n  ferry - carry\n\nSYNOPSIS\n  ferry\n\nOPTIONS\n  {option}\n") == {}


def test_records_of_known_form_are_asked_about_by_their_names() -> None:
    manual = "NAME\n  ferry - carry files across the bay\n\n"
    for synopsis, question in (
        ("SYNOPSIS\n  ferry [files]\n", "what does the command ferry do"),
        ("SYNOPSIS\n  int ferry(char *files);\n", "what does the function ferry do"),
        ("DESCRIPTION\n  Ferries.\n", "what does ferry do according to its manual page"),
    ):
        assert made_of(manual + synopsis) == {question: "carry files across the bay"}
    changes = "ferry (1.2-3) unstable; urgency=low\n\n  * Fix the crane of the outer pier.\n\n"
    changes += " -- Ada Lund <a@b.c>  Sat, 20 Jan 2024 10:27:07 +0100\n"
    package = "version 1.2-3 of the Debian package ferry"
    assert made_of(changes * 2) == {}  # the version is there twice
    assert made_of(changes) == {
        f"what changed in {package}": "Fix the crane of the outer pier.",
        f"when was {package} released": "Sat, 20 Jan 2024",
        f"who released {package}": "Ada Lund",
    }
    news = "# Ferry news\n\n## 1.4.0 (2024-05-06)\n\n## 1.3.0 (2023-05-06)\n\n## 1.2.0 (2022-05-06)\n"
    assert made_of(news)["when was version 1.4.0 released"] == "2024-05-06"
    rights = "Upstream-Name: ferry\n\nFiles: debian/*\nCopyright: 2014, Ada Lund <a@b.c>\nLicense: GPL-2+\n"
    assert made_of(rights) == {
        "who holds the copyright of the files debian/* of ferry": "2014, Ada Lund",
        "under which licence are the files debian/* of ferry distributed": "GPL-2+",
    }


@pytest.mark.parametrize(("holders", "joined"), TABLES["holders_of_a_copyright_are_whole"])
def test_holders_of_a_copyright_are_whole(holders: str, joined: str | None) -> None:
    made = made_of(
        f"Upstream-Name: ferry\n\n# but modified since\n\nFiles: a.c\nCopyright: {holders}\nLicense: MIT\n"
    )
    assert (joined or "") in made.get("who holds the copyright of the file a.c of ferry", "")
    assert (joined is None) == (made == {})


def test_word_that_lacks_a_letter_of_a_frequent_one_is_not_asked_about() -> None:
    text = "# Boats\n\nThere are two {} of boats. A type is big. A type is old. A type is blue.\n"
    asked = [bool(extractive_drafts(corpus_of(text.format(word))).kept) for word in ("tpes", "types")]
    assert asked == [False, True]


def test_remnant_of_a_comment_is_no_title_and_a_name_is_one() -> None:
    def title(text: str) -> str:
        return passages_of(document(text)).title

    assert title("# but modified significantly\n\nText.\n") == title("# Static Analysis\n\nText.\n") == ""
    assert title("# setup.py (legacy)\n\nText.\n") == "setup.py (legacy)"


def test_sentence_below_an_option_of_a_manual_page_is_asked_about_only_if_it_names_it() -> None:
    text = "NAME\n       ferry - carry\n\nOPTIONS\n       md5\n           {}\n"
    for sentence, count in (("The MD5 hash is used for storing old cards.", 0), ("The md5 is old.", 1)):
        assert len(passages_of(document(text.format(sentence))).statements) == count


@pytest.mark.parametrize("name", sorted(path.name for path in CHINESE.iterdir()))
def test_chinese_documents_of_every_kind_are_asked_about(name: str) -> None:
    text = (CHINESE / name).read_text(encoding="utf-8")
    assert len(extractive_drafts(Corpus([document(text, name)])).kept) >= 2


@pytest.mark.parametrize("sentence", TABLES["sentence_whose_verb_is_in_doubt_is_not_read"])
def test_sentence_whose_verb_is_in_doubt_is_not_read(sentence: str) -> None:
    assert clause_of(sentence, frozenset({"short", "cards"})) is None


def test_heading_that_is_a_question_is_asked_as_it_is() -> None:
    text = "# FAQ\n\n## Can I bring my dog?\n\nYes, on a lead.\n"
    assert made_of(text) == {"can I bring my dog": "Yes, on a lead."}


def test_definition_is_asked_for_by_its_term() -> None:
    text = "# Glossary\n\n**MOB** – man overboard.\n\n**Lee side** – the side sheltered from the wind.\n"
    assert list(made_of(text))[:2] == ["what does MOB stand for", "what is meant by “Lee side”"]


def test_code_front_matter_and_questions_are_not_asked_about() -> None:
    text = "---\ntitle: It costs 5.00.\n---\n\n```\nThe boat costs 6.00.\n```\n\nDoes the boat cost 7.00?\n"
    assert passages_of(document(text)).statements == ()


def test_every_excerpt_is_the_text_of_its_document_at_its_place() -> None:
    corpus = Corpus.from_folder(HANDBOOK)
    drafts = extractive_drafts(corpus, queries_per_doc=5)
    excerpts = [excerpt for draft in drafts.kept for excerpt in draft.excerpts]
    assert len(excerpts) > 100
    for excerpt in excerpts:
        assert corpus[excerpt.doc_id].content[excerpt.start : excerpt.end] == excerpt.text
        assert excerpt.text == excerpt.text.strip()


def test_same_seed_gives_the_same_questions_and_another_seed_others() -> None:
    corpus = Corpus(Corpus.from_folder(HANDBOOK).documents[::4])
    first, again, other = (generate_extractively(corpus, seed=seed).dataset for seed in (1, 1, 2))
    assert first == again
    assert {sample.question for sample in first.samples} != {sample.question for sample in other.samples}


def test_dataset_is_labelled_as_made_without_a_model() -> None:
    dataset = generate_extractively(corpus_of("# A\n\nThe boat leaves at 10:30 from the pier.")).dataset
    assert dataset.metadata["generator"]["name"] == NAME
    assert dataset.metadata["generator"]["seed"] == 0


def test_handbook_gets_questions_of_every_difficulty_and_no_document_more_than_asked_for() -> None:
    corpus = Corpus.from_folder(HANDBOOK)
    samples = generate_extractively(corpus, queries_per_doc=5).dataset.samples
    assert {sample.query_type for sample in samples} >= {"factual", "temporal"}
    assert {sample.difficulty for sample in samples} == {"easy", "medium", "hard"}
    counts = [sum(name in sample.relevant_documents for sample in samples) for name in corpus.fingerprints]
    assert sum(count > 0 for count in counts) > 0.7 * len(counts)
    assert max(counts) == 5


def test_only_kinds_that_were_asked_for_are_made() -> None:
    corpus = Corpus.from_folder(HANDBOOK)
    dataset = generate_extractively(corpus, kinds=["temporal"]).dataset
    assert {sample.query_type for sample in dataset.samples} == {"temporal"}


def test_question_that_fits_several_documents_names_its_own() -> None:
    texts = [
        f"# {name}\n\nThe vessel was out of service for {n} days." for n, name in ((12, "Fire"), (19, "Fog"))
    ]
    questions = [draft.question for draft in extractive_drafts(corpus_of(*texts)).kept]
    assert [("Fire" in question, "Fog" in question) for question in questions] == [
        (True, False),
        (False, True),
    ]


def test_every_question_asked_for_is_drafted_or_counted() -> None:
    corpus = corpus_of("# Only a heading\n", "# Boats\n\nThe boat leaves the old pier at 10:30.")
    drafts = extractive_drafts(corpus, queries_per_doc=3)
    assert [draft.origin for draft in drafts.kept] == ["1.md"]
    assert [rejection.origin for rejection in drafts.rejected] == ["0.md"] * 3 + ["1.md"] * 2
    assert drafts.counts() == {"nothing-to-ask": 5}


@pytest.mark.parametrize("heading", ["# Ferries\n", "Ferries\n=======\n", "# **Ferries**\n"])
def test_paragraph_that_begins_like_its_heading_is_asked_about(heading: str) -> None:
    passages = passages_of(document(f"{heading}\nFerries cross the bay four times a day."))
    assert [statement.text for statement in passages.statements] == [
        "Ferries cross the bay four times a day."
    ]


@pytest.mark.parametrize(
    ("sentence", "never"), TABLES["sentence_is_not_asked_about_where_the_question_would_be_broken"]
)
def test_sentence_is_not_asked_about_where_the_question_would_be_broken(sentence: str, never: str) -> None:
    assert not [question for question in asked(sentence) if question.startswith(never)]


def test_plural_at_the_beginning_of_a_sentence_is_no_name() -> None:
    assert clause_of("Dogs are not allowed aboard").subject == "dogs"  # type: ignore[union-attr]
    assert clause_of("James was late").subject == "James"  # type: ignore[union-attr]


def test_no_two_questions_of_a_long_document_share_a_passage() -> None:
    sentences = (f"Pump {number} was built in {1800 + number % 200}." for number in range(1500))
    drafts = extractive_drafts(corpus_of("# Works\n\n" + " ".join(sentences)), queries_per_doc=400)
    spans = sorted((excerpt.start, excerpt.end) for draft in drafts.kept for excerpt in draft.excerpts)
    assert len(drafts.kept) > 400
    assert all(first[1] <= second[0] for first, second in pairwise(spans))


@pytest.mark.parametrize("wrong", [-1, True, "5"])
def test_number_of_questions_must_be_a_whole_number(wrong: object) -> None:
    with pytest.raises(UsageError, match="queries_per_doc: expected a whole number"):
        extractive_drafts(corpus_of("text"), queries_per_doc=wrong)  # type: ignore[arg-type]


def test_unknown_kind_is_refused() -> None:
    with pytest.raises(UsageError, match="expected some of factual"):
        extractive_drafts(corpus_of("text"), kinds=["funny"])  # type: ignore[list-item]


FRAGMENTS = st.sampled_from(TABLES["fragments"])


@settings(max_examples=150, deadline=None)
@given(st.lists(st.lists(FRAGMENTS, max_size=12).map("".join), min_size=1, max_size=3))
def test_any_text_gives_questions_with_exact_excerpts_or_none(texts: list[str]) -> None:
    corpus = corpus_of(*texts)
    drafts = extractive_drafts(corpus, queries_per_doc=2)
    per_document = dict.fromkeys(corpus.fingerprints, 0)
    for draft in drafts.kept:
        assert draft.question.strip()
        assert draft.excerpts
        per_document[draft.excerpts[0].doc_id] += 1
        for excerpt in draft.excerpts:
            assert excerpt.text
            assert corpus[excerpt.doc_id].content[excerpt.start : excerpt.end] == excerpt.text
    assert all(count <= SPARE * 2 for count in per_document.values())
