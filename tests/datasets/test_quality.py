"""Quality checks: what is allowed by the schema and is yet a mistake."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import tables_beside
from rag_evaluation_framework import DataQualityChecker
from rag_evaluation_framework.datasets.quality import quality_issues
from rag_evaluation_framework.records.documents import DocumentNames
from rag_evaluation_framework.text.shingles import near_duplicates, normalised, similarity

TABLES = tables_beside(__file__)

CONTENT = "机器学习 is a subset of artificial intelligence 🤖.\r\nIt learns from data."


def dataset() -> dict[str, Any]:
    """A dataset with nothing to complain about: what is cited are the first four code points."""
    return {
        "dataset_id": "ml",
        "name": "ML",
        "version": "1.0.0",
        "metadata": {"size": 2},
        "queries": TABLES["queries"],
        "documents": [
            {"document_id": "doc_ml", "content": CONTENT, "file_path": "docs/ml_intro.pdf"},
            {"document_id": "doc_other", "content": "Other.", "file_path": "docs/other.txt"},
        ],
    }


def changed(path: str, value: Any) -> dict[str, Any]:
    """The dataset with one field set; ``None`` removes it."""
    result = copy.deepcopy(dataset())
    *way, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    place: Any = result
    for part in way:
        place = place[part]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return result


def found(value: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(issue.code, issue.severity, issue.path) for issue in quality_issues(value)]


def test_a_consistent_dataset_has_no_issues() -> None:
    assert quality_issues(dataset()) == []
    assert DataQualityChecker().run_quality_checks(dataset()) == []


CITATION = "queries.0.citations.0"
CITED, QUERY = "queries[0].citations[0]", "queries[1]"


@pytest.mark.parametrize(("path", "value", "code", "severity", "place"), TABLES["mistakes"])
def test_each_mistake_is_found_with_its_code_severity_and_path(
    path: str, value: Any, code: str, severity: str, place: str
) -> None:
    assert found(changed(path, value)) == [(code, severity, place)]


def test_a_relevant_document_that_is_not_cited_is_a_warning_where_others_are() -> None:
    value = changed("queries.0.relevant_documents", ["doc_ml", "doc_other"])
    assert found(value) == [("relevant-not-cited", "warning", "queries[0].relevant_documents[1]")]


def test_what_is_cited_must_be_relevant() -> None:
    value = changed("queries.0.relevant_documents", ["doc_other"])
    assert ("cited-not-relevant", "error", "queries[0].citations[0].file_name") in found(value)


def test_the_seeds_sample_is_told_what_contradicts_itself() -> None:
    """Size 2 with one query, and ml_guide.pdf is no document."""
    value = changed("queries.1", None)
    value["queries"][0]["citations"] = [
        {"file_name": "ml_guide.pdf", "page_number": 1, "start_char": 100, "end_char": 200}
    ]
    assert [code for code, _, _ in found(value)] == ["unresolved-citation", "count-differs"]


@pytest.mark.parametrize("text", TABLES["a context may be the span surround it or leave a part out"])
def test_a_context_may_be_the_span_surround_it_or_leave_a_part_out(text: str) -> None:
    assert found(changed(f"{CITATION}.context_text", text)) == []


@pytest.mark.parametrize("text", ["is a subset of artificial", "学习", "机器", "...机器", "学习..."])
def test_a_context_from_elsewhere_is_a_difference(text: str) -> None:
    assert [code for code, _, _ in found(changed(f"{CITATION}.context_text", text))] == ["text-differs"]


def test_positions_on_a_page_are_not_compared_with_the_whole_document() -> None:
    value = changed(f"{CITATION}.page_number", 3)
    value["queries"][0]["citations"][0]["text"] = "elsewhere"
    assert found(value) == []


def paged(page: int, start: int, end: int, text: str) -> list[tuple[str, str, str]]:
    """Page 1 is the first four characters, page 2 the 20 that begin at 48."""
    value = changed("documents.0.metadata", {"pages": [[0, 4], [CONTENT.index("It"), len(CONTENT)]]})
    cited = {"file_name": "ml_intro.pdf", "page_number": page, "start_char": start, "end_char": end}
    value["queries"][0]["citations"] = [{**cited, "text": text}]
    return found(value)


def test_where_the_pages_are_known_positions_count_from_the_pages_start() -> None:
    assert paged(1, 0, 4, "机器学习") == []
    assert paged(2, 3, 9, "learns") == []
    assert paged(2, 0, 4, "机器学习") == [("text-differs", "error", f"{CITED}.text")]
    assert paged(1, 0, 5, "机器学习 ") == [("span-out-of-range", "error", f"{CITED}.end_char")]
    assert paged(3, 0, 4, "机器学习") == [("unknown-page", "error", f"{CITED}.page_number")]


def test_without_documents_spans_are_checked_alone_and_the_rest_is_said_once() -> None:
    value = changed("documents", None)
    value["queries"][0]["citations"] = [{"file_name": "x.pdf", "start_char": 5, "end_char": 5}] * 3
    assert [code for code, _, _ in found(value)] == ["inverted-span"] * 3 + ["documents-absent"]


def test_without_documents_a_relevant_file_that_is_not_cited_is_still_found() -> None:
    value = changed("documents", None)
    value["queries"][0] |= {
        "relevant_documents": ["fares.md", "faq"],
        "citations": [{"file_name": "fares.md", "start_char": 0, "end_char": 5}],
    }
    assert ("relevant-not-cited", "warning", "queries[0].relevant_documents[1]") in found(value)
    value["queries"][0]["citations"].append({"file_name": "unknown.md", "start_char": 0, "end_char": 5})
    assert "relevant-not-cited" not in [code for code, _, _ in found(value)]


FIELDS = (
    "queries", "documents", "citations", "query_id", "document_id", "relevant_documents", "file_name", "text",
    "start_char", "end_char", "content", "metadata", "size", "query_text", "ground_truth_answer", "file_path",
)  # fmt: skip
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=4),
    max_leaves=25,
)


@given(json_values)
def test_no_shape_of_data_breaks_a_check(value: Any) -> None:
    assert not any("[check-failed]" in text for text in DataQualityChecker().run_quality_checks(value))
    quality_issues(value)


def test_a_check_of_ones_own_is_run_and_may_break() -> None:
    def own(dataset: dict[str, Any]) -> list[str]:
        raise ValueError("nothing\n  to check")

    checker = DataQualityChecker()
    checker.checks.append(own)
    assert checker.run_quality_checks(dataset()) == [
        "error: check own failed: ValueError: nothing to check [check-failed]"
    ]


DOCUMENTS = TABLES["documents"]


@pytest.mark.parametrize(("name", "positions"), TABLES["a file name means one document or it cannot be told"])
def test_a_file_name_means_one_document_or_it_cannot_be_told(name: str, positions: list[int]) -> None:
    names = DocumentNames(DOCUMENTS)
    assert list(names.positions(name)) == positions
    assert names.position(name) == (positions[0] if len(positions) == 1 else None)


@pytest.mark.parametrize(
    ("one", "other", "near"), TABLES["near duplicates are slips and not other questions"]
)
def test_near_duplicates_are_slips_and_not_other_questions(one: str, other: str, near: bool) -> None:
    assert bool(near_duplicates([one, other])) is near


def test_near_duplicates_agree_with_comparing_every_pair() -> None:
    words = [f"{a}{b}{c}" for a in "bdfgk" for b in "aeiou" for c in "lmnrst"]
    texts = []
    for number in range(300):
        chosen = [words[(number * 37 + step * step * 11) % len(words)] for step in range(10)]
        texts.append("what " + " ".join(chosen))
        if number % 10 == 0:
            texts.append(texts[-1].replace(chosen[5], chosen[5] + "h", 1))
    expected = {
        later
        for later in range(len(texts))
        if any(
            similarity(normalised(texts[earlier]), normalised(texts[later])) >= 0.85
            for earlier in range(later)
        )
    }
    found_ones = near_duplicates(texts)
    assert {later for _, later, _ in found_ones} == expected
    assert len(expected) >= 30
    assert all(0.85 <= score <= 1 for _, _, score in found_ones)
