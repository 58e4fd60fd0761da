"""Annotation files: every layout reads into the same records, and nothing of a file is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from format_examples import ANSWER_QUALITY_ANNOTATION, CITATION_ANNOTATION
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework import InputError, Issue, SpanCitation
from rag_evaluation_framework.datasets.annotations import (
    decoded_annotation,
    encoded_annotation,
    read_annotation_files,
    read_annotations,
    write_annotations,
)
from rag_evaluation_framework.files import strict_json, yaml_documents
from rag_evaluation_framework.files.access import compress
from rag_evaluation_framework.records.samples import (
    AnnotationSet,
    AnswerQualityAnnotation,
    CitationAnnotation,
)

BOTH = [CITATION_ANNOTATION, ANSWER_QUALITY_ANNOTATION]
WHOLE = {"dataset_id": "demo_v1.0.0", "version": "1.0.0", "annotations": BOTH}


def saved(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def test_a_citation_annotation_becomes_spans_with_everything_else_kept() -> None:
    annotation = decoded_annotation(CITATION_ANNOTATION)
    assert isinstance(annotation, CitationAnnotation)
    (span,) = annotation.citations
    assert (span.file, span.page, span.start, span.end) == ("project_tool_guide.pdf", 3, 1250, 1350)
    assert span.confidence == 0.9
    assert span.extra["justification"] == "Directly answers the query about key features"
    assert annotation.extra["quality_checks"]["span_accuracy"] == "verified"
    assert encoded_annotation(annotation) == CITATION_ANNOTATION


def test_an_answer_quality_annotation_knows_the_mean_of_its_five_scores() -> None:
    annotation = decoded_annotation(ANSWER_QUALITY_ANNOTATION)
    assert isinstance(annotation, AnswerQualityAnnotation)
    assert annotation.mean_score == pytest.approx(0.88)  # (0.9 + 0.95 + 0.9 + 0.85 + 0.8) / 5
    assert annotation.aspect_ratings["language_quality"] == "good"
    assert annotation.citations is None
    assert encoded_annotation(annotation) == ANSWER_QUALITY_ANNOTATION


def test_without_one_of_the_five_scores_there_is_no_mean() -> None:
    record = {**ANSWER_QUALITY_ANNOTATION, "quality_scores": {"accuracy": 1.0}}
    annotation = decoded_annotation(record)
    assert isinstance(annotation, AnswerQualityAnnotation)
    assert annotation.mean_score is None


LAYOUTS = {
    "whole.gt.json": strict_json.encode(WHOLE, indent=2),
    "list.gt.json": strict_json.encode(BOTH),
    "lines.gt.json": b"\n".join(map(strict_json.encode, BOTH)) + b"\n",
    "crlf.gt.json": b"\r\n\r\n".join(map(strict_json.encode, BOTH)),
    "whole.gt.yaml": yaml_documents.encode(WHOLE).encode(),
    "list.gt.yaml": yaml_documents.encode(BOTH).encode(),
    "json.gt.yaml": strict_json.encode(WHOLE, indent=2),
    "whole.gt.json.gz": compress(strict_json.encode(WHOLE)),
    "named.txt": strict_json.encode(WHOLE),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_layout_reads_into_the_same_annotations(tmp_path: Path, name: str) -> None:
    annotations = read_annotations(saved(tmp_path, name, LAYOUTS[name]))
    assert [encoded_annotation(annotation) for annotation in annotations.annotations] == BOTH
    has_head = name.startswith(("whole", "json", "named"))
    assert annotations.dataset_id == ("demo_v1.0.0" if has_head else None)


@pytest.mark.parametrize("name", ["out.gt.json", "out.gt.yaml", "out.gt.json.zst"])
def test_what_is_written_is_the_whole_object_and_reads_back_equal(tmp_path: Path, name: str) -> None:
    annotations = read_annotations(saved(tmp_path, "in.gt.json", strict_json.encode(WHOLE)))
    write_annotations(annotations, tmp_path / name)
    assert read_annotations(tmp_path / name) == annotations
    write_annotations(annotations, tmp_path / "plain.gt.json")
    assert strict_json.decode((tmp_path / "plain.gt.json").read_bytes()) == WHOLE


def test_in_lines_an_error_names_the_line_and_the_path_within_it(tmp_path: Path) -> None:
    wrong = {**CITATION_ANNOTATION, "annotation_id": "other", "timestamp": "yesterday"}
    data = b"\n\n".join(map(strict_json.encode, [CITATION_ANNOTATION, wrong]))
    with pytest.raises(InputError) as caught:
        read_annotations(saved(tmp_path, "x.gt.json", data))
    (issue,) = caught.value.issues
    assert (issue.line, issue.path, issue.code) == (3, "timestamp", "wrong-format")


def test_an_overall_score_that_is_not_the_mean_is_a_warning(tmp_path: Path) -> None:
    record = {**ANSWER_QUALITY_ANNOTATION, "overall_score": 0.5}
    warnings: list[Issue] = []
    path = saved(tmp_path, "x.gt.json", strict_json.encode(record, indent=1))
    assert len(read_annotations(path, on_warning=warnings.append)) == 1
    (warning,) = warnings
    assert (warning.path, warning.severity, warning.file) == ("overall_score", "warning", str(path))
    assert warning.line is not None


def test_several_files_are_read_as_one_and_ids_must_differ(tmp_path: Path) -> None:
    first = saved(tmp_path, "a.gt.json", strict_json.encode({**WHOLE, "annotations": BOTH[:1]}))
    second = saved(tmp_path, "b.gt.json", strict_json.encode(BOTH[1]))
    together = read_annotation_files([first, second])
    assert (len(together), together.dataset_id) == (2, "demo_v1.0.0")
    with pytest.raises(InputError, match="unique annotation_ids"):
        read_annotation_files([first, saved(tmp_path, "c.gt.json", strict_json.encode(BOTH[0]))])
    with pytest.raises(InputError, match="one dataset"):
        read_annotation_files(
            [first, saved(tmp_path, "d.gt.json", strict_json.encode({"dataset_id": "z", "annotations": []}))]
        )


def test_records_that_a_file_could_not_hold_are_not_written(tmp_path: Path) -> None:
    annotation = CitationAnnotation(
        annotation_id="a",
        query_id="q",
        annotator_id="x",
        timestamp="noon",
        citations=(SpanCitation("f", 0, 1),),
    )
    with pytest.raises(InputError, match="date-time"):
        write_annotations(AnnotationSet((annotation,)), tmp_path / "x.gt.json")
    assert not (tmp_path / "x.gt.json").exists()


def test_scores_beyond_one_and_empty_ids_make_no_annotation() -> None:
    with pytest.raises(InputError, match=r"quality_scores\.accuracy"):
        AnswerQualityAnnotation(annotation_id="a", query_id="q", quality_scores={"accuracy": 1.5})
    with pytest.raises(InputError, match="query_id"):
        CitationAnnotation(annotation_id="a", query_id="")


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
names = texts.filter(bool)
scores = st.floats(0, 1)
citations = st.fixed_dictionaries(
    {"file_name": names, "start_char": st.integers(0, 50), "end_char": st.integers(51, 99)},
    optional={"page_number": st.integers(1, 9), "text": texts, "annotation_confidence": scores, "x": texts},
)
annotations = st.fixed_dictionaries(
    {
        "annotation_id": names,
        "query_id": names,
        "annotator_id": names,
        "citations": st.lists(citations, max_size=3),
    },
    optional={"metadata": st.dictionaries(texts, texts), "其他": st.none() | texts},
) | st.fixed_dictionaries(
    {
        "annotation_id": names,
        "query_id": names,
        "annotator_id": names,
        "quality_scores": st.dictionaries(st.sampled_from(["accuracy", "clarity", "x"]), scores),
    },
    optional={
        "answer_text": texts,
        "overall_score": scores,
        "aspect_ratings": st.dictionaries(texts, texts),
        "citations": st.lists(citations, max_size=2),
        "feedback": st.fixed_dictionaries({}, optional={"strengths": st.lists(texts)}),
    },
)


@given(annotations)
def test_any_annotation_is_written_back_as_it_was(record: dict[str, Any]) -> None:
    assert encoded_annotation(decoded_annotation(record)) == record
