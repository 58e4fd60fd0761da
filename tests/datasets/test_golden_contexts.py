"""Golden contexts in their sources: found under the right header, located to the character, never guessed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import tables_beside
from rag_evaluation_framework import Document, DocumentId, Issue, Sample, SpanCitation
from rag_evaluation_framework.datasets.golden_contexts import (
    SourceText,
    golden_context_issues,
    spans_of_contexts,
)
from rag_evaluation_framework.datasets.golden_sets import FACTUAL
from rag_evaluation_framework.datasets.recognition import read_dataset
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.text.spans import Span

TABLES = tables_beside(__file__)

DIALOGUE = "Data/natlan/chapter1_dialogue.txt"
SOURCE = TABLES["source"]


def golden_set(folder: Path, *contexts: Any) -> Path:
    """Write a project: the source, and a golden set with one record for each golden context."""
    (folder / DIALOGUE).parent.mkdir(parents=True, exist_ok=True)
    (folder / DIALOGUE).write_bytes(SOURCE.encode())
    records = [
        {"id": f"f{index}", "question": "?", "ground_truth": "!", "golden_context": context}
        for index, context in enumerate(contexts)
    ]
    path = folder / "evaluation" / "datasets" / "factual_qa.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(strict_json.encode(records, indent=2))
    return path


def context(snippet: str, header: str | None = "流泉之众/聚落中心", file: str = DIALOGUE) -> dict[str, str]:
    return {"file": file, "snippet": snippet} | ({} if header is None else {"scene_header": header})


def located(sample: Sample) -> list[SpanCitation]:
    return spans_of_contexts([sample])[sample.id]


def samples_of(path: Path) -> tuple[Sample, ...]:
    return FACTUAL.read(path).samples


def test_a_snippet_is_located_to_the_character(tmp_path: Path) -> None:
    path = golden_set(tmp_path, context("欢迎来到流泉之众！"))
    assert golden_context_issues(read_dataset(path)) == []
    (span,) = located(samples_of(path)[0])
    # 序章\n is 3 characters, the header with its line end 10, 玛拉妮： 4.
    assert (span.file, span.start, span.end) == (DIALOGUE, 17, 26)
    assert span.text == SOURCE[17:26] == "欢迎来到流泉之众！"


def test_a_line_broken_in_the_source_is_found_and_the_span_is_that_of_the_source(tmp_path: Path) -> None:
    path = golden_set(tmp_path, context("我最喜欢去海里探险了"))
    (span,) = located(samples_of(path)[0])
    assert span.text == SOURCE[span.start : span.end] == "我最喜欢去海里\n探险了"


def test_a_snippet_under_another_header_is_an_error_that_says_where_it_is(tmp_path: Path) -> None:
    path = golden_set(tmp_path, context("恰斯卡：加油，卡齐娜！"))
    (issue,) = golden_context_issues(read_dataset(path))
    assert (issue.code, issue.severity) == ("snippet-not-found", "error")
    assert (issue.path, issue.line) == ("[0].golden_context.snippet", 8)
    assert issue.file == str(path)
    assert "under '流泉之众/聚落中心'" in issue.expected
    assert issue.found == "this text in line 8, 9"
    assert located(samples_of(path)[0]) == []


def test_a_snippet_in_several_places_is_a_warning_and_gives_no_span(tmp_path: Path) -> None:
    path = golden_set(tmp_path, context("加油，卡齐娜！", "竞技场/看台"))
    (issue,) = golden_context_issues(read_dataset(path))
    assert (issue.code, issue.severity, issue.found) == (
        "snippet-ambiguous",
        "warning",
        "one that occurs in lines 8, 9",
    )
    assert located(samples_of(path)[0]) == []


def test_a_scene_that_comes_back_is_searched_in_all_its_places(tmp_path: Path) -> None:
    path = golden_set(tmp_path, context("派蒙：又回到这里了。"))
    assert golden_context_issues(read_dataset(path)) == []
    assert len(located(samples_of(path)[0])) == 1


@pytest.mark.parametrize(
    ("golden_context", "code", "severity", "where"),
    [
        *TABLES["each_doubt_has_its_code_and_severity_and_gives_no_span"],
        (context("欢迎", "不存在的场景"), "scene-header-missing", "error", "golden_context.scene_header"),
        (context("没有这句话"), "snippet-not-found", "error", "golden_context.snippet"),
        (context("欢迎", file="Data/none.txt"), "context-file-missing", "error", "golden_context.file"),
        (context("x", file="../../../etc/passwd"), "context-outside", "error", "golden_context.file"),
        (context("x", file="/etc/passwd"), "context-outside", "error", "golden_context.file"),
        (context("x", file="C:\\secret.txt"), "context-outside", "error", "golden_context.file"),
        ({"file": DIALOGUE, "snippet": "..."}, "snippet-missing", "warning", "golden_context.snippet"),
        ({"file": DIALOGUE}, "snippet-missing", "warning", "golden_context.snippet"),
        (
            [{"file": DIALOGUE, "scene": "没有", "snippet": "加油"}],
            "scene-header-missing",
            "error",
            "golden_context[0].scene",
        ),
    ],
)
def test_each_doubt_has_its_code_and_severity_and_gives_no_span(
    tmp_path: Path, golden_context: Any, code: str, severity: str, where: str
) -> None:
    path = golden_set(tmp_path, golden_context)
    (issue,) = golden_context_issues(read_dataset(path))
    assert (issue.code, issue.severity, issue.path) == (code, severity, f"[0].{where}")
    assert issue.line is not None
    assert located(samples_of(path)[0]) == []


FIRST, SECOND = (
    "## Harbour\nNora waves. Piet waves.\n## Mill\nNora bakes.\n",
    "## Quay\nOtter barks. Nora waves.\n",
)


def unnamed(folder: Path, *contexts: Any, documents: bool) -> tuple[list[Issue], list[list[SpanCitation]]]:
    """Write contexts without a file and two texts, in golden_contexts or as the documents of a corpus."""
    path = golden_set(folder, *contexts)
    texts = {"a.md": FIRST, "b/c.txt": SECOND}
    samples = samples_of(path)
    if documents:
        given = [Document(DocumentId(name), text) for name, text in texts.items()]
        return [], list(spans_of_contexts(samples, documents=given).values())
    for name, text in texts.items():
        place = folder / "evaluation" / "golden_contexts" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    return golden_context_issues(read_dataset(path)), list(spans_of_contexts(samples).values())


@pytest.mark.parametrize("documents", [True, False], ids=["corpus", "golden_contexts"])
def test_a_context_without_a_file_is_located_where_there_is_one_place(
    tmp_path: Path, documents: bool
) -> None:
    issues, spans = unnamed(
        tmp_path,
        [{"scene": "Mill", "snippet": "Nora bakes."}, {"scene": "Quay", "snippet": "Nora waves."}],
        {"snippet": "Otter barks."},
        # No document has such a scene: the words alone must do.
        {"scene": "the dog", "snippet": "Otter barks."},
        {"scene": "Quay"},
        documents=documents,
    )
    assert [[(span.file, span.text) for span in found] for found in spans] == [
        [("a.md", "Nora bakes."), ("b/c.txt", "Nora waves.")],
        [("b/c.txt", "Otter barks.")],
        [("b/c.txt", "Otter barks.")],
        [("b/c.txt", "Otter barks. Nora waves.")],
    ]
    assert issues == [] or [issue.code for issue in issues] == ["snippet-missing"]


def test_a_context_without_a_file_that_may_stand_in_several_places_or_none_is_not_located(
    tmp_path: Path,
) -> None:
    several, nowhere = {"snippet": "Nora waves."}, {"scene": "Mill", "snippet": "Otter barks."}
    issues, spans = unnamed(tmp_path, several, nowhere, documents=False)
    assert spans == [[], []]
    assert [(issue.code, issue.severity, issue.found) for issue in issues] == [
        ("context-without-file", "warning", "no file, and several matching places: a.md:2, b/c.txt:2"),
        ("context-without-file", "warning", "no file, and no matching place in 2 documents"),
    ]


def test_a_header_without_a_snippet_is_truth_at_the_level_of_its_scene(tmp_path: Path) -> None:
    path = golden_set(
        tmp_path, {"file": DIALOGUE, "scene_header": "竞技场/看台"}, context("...", "竞技场/看台")
    )
    # Nothing is missing in the first; the second has a snippet to be filled in.
    (issue,) = golden_context_issues(read_dataset(path))
    assert (issue.code, issue.severity, issue.path) == (
        "snippet-missing",
        "warning",
        "[1].golden_context.snippet",
    )
    assert issue.found == "no snippet yet; the whole scene counts"
    for sample in samples_of(path):
        (span,) = located(sample)
        assert span.text == SOURCE[span.start : span.end] == span.text.strip()
        assert span.text.startswith("恰斯卡：加油，卡齐娜！")
        assert "竞技场/看台" not in span.text


def test_a_scene_that_comes_back_is_truth_in_all_its_places(tmp_path: Path) -> None:
    path = golden_set(tmp_path, {"file": DIALOGUE, "scene_header": "流泉之众/聚落中心"})
    spans = located(samples_of(path)[0])
    assert len(spans) == 2
    assert spans[0].text.startswith("玛拉妮：欢迎来到流泉之众！")
    assert "又回到这里了" in spans[1].text


@pytest.mark.parametrize("field", ["file", "file_name", "path", "source", "source_path"])
def test_the_file_of_a_context_may_have_any_of_five_names(tmp_path: Path, field: str) -> None:
    named = {**context("欢迎来到流泉之众！"), "file": None}
    path = golden_set(tmp_path, {name: value for name, value in named.items() if value} | {field: DIALOGUE})
    (sample,) = samples_of(path)
    assert sample.relevant_documents == {DIALOGUE: 1}
    assert len(located(sample)) == 1
    copy = tmp_path / "copy.json"
    FACTUAL.write(FACTUAL.read(path), copy)
    assert strict_json.decode(copy.read_bytes()) == strict_json.decode(path.read_bytes())
    wrong = golden_set(tmp_path, {"snippet": "x", field: "Data/none.txt"})
    (issue,) = golden_context_issues(read_dataset(wrong))
    assert (issue.code, issue.path) == ("context-file-missing", f"[0].golden_context.{field}")


def test_a_file_that_is_not_there_is_a_warning_as_long_as_nothing_is_looked_for_in_it(tmp_path: Path) -> None:
    path = golden_set(tmp_path, context("...", file="Data/none.txt"))
    assert [(issue.code, issue.severity) for issue in golden_context_issues(read_dataset(path))] == [
        ("snippet-missing", "warning"),
        ("context-file-missing", "warning"),
    ]


def test_a_link_out_of_the_project_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("密码", encoding="utf-8")
    project = tmp_path / "one" / "project"
    path = golden_set(project, context("密码", None, "leak.txt"))
    (project / "leak.txt").symlink_to(tmp_path / "secret.txt")
    (issue,) = golden_context_issues(read_dataset(path))
    assert issue.code == "context-outside"


def test_the_project_comes_before_the_folder_of_golden_contexts_and_a_root_before_both(
    tmp_path: Path,
) -> None:
    path = golden_set(tmp_path, context("甲", None, "only.txt"), context("乙", None, "both.txt"))
    folder = tmp_path / "evaluation" / "golden_contexts"
    folder.mkdir()
    (folder / "only.txt").write_text("甲", encoding="utf-8")
    (folder / "both.txt").write_text("乙", encoding="utf-8")
    (tmp_path / "both.txt").write_text("前乙", encoding="utf-8")
    spans = spans_of_contexts(samples_of(path))
    assert (spans["f0"][0].start, spans["f1"][0].start) == (0, 1)
    assert spans_of_contexts(samples_of(path), folder)["f1"][0].start == 0


def test_contexts_of_a_set_written_in_lines_name_the_line(tmp_path: Path) -> None:
    path = golden_set(tmp_path, context("欢迎"), context("没有"))
    lines = tmp_path / "evaluation" / "datasets" / "factual.jsonl"
    FACTUAL.write(FACTUAL.read(path), lines)
    (issue,) = golden_context_issues(read_dataset(lines))
    assert (issue.line, issue.path) == (2, "golden_context.snippet")


@pytest.mark.parametrize("header", TABLES["a header is found in any decoration: header"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_header_is_found_in_any_decoration(header: str, end: str) -> None:
    text = end.join(["前", header, "里", ""])
    (scene,) = SourceText(text).scenes("流泉之众/聚落中心")
    assert text[scene.start : scene.end].strip() == "里"


def test_a_header_is_a_line_of_its_own_not_words_in_a_sentence() -> None:
    assert SourceText("我们去流泉之众/聚落中心吧\n走").scenes("流泉之众/聚落中心") == []


@pytest.mark.parametrize(("text", "header", "scene"), TABLES["a scene goes to the next header of its kind"])
def test_a_scene_goes_to_the_next_header_of_its_kind(text: str, header: str, scene: str) -> None:
    (found,) = SourceText(text).scenes(header)
    assert text[found.start : found.end] == scene


def test_a_header_that_the_golden_set_names_ends_the_scene_before() -> None:
    text = "A\n1\nB\n2"
    (scene,) = SourceText(text, headers=["A", "B"]).scenes("A")  # … unless the golden set does
    assert text[scene.start : scene.end] == "1\n"


@pytest.mark.parametrize(
    ("snippet", "text", "found"), TABLES["white space and dots at the ends are tolerated and nothing else"]
)
def test_white_space_and_dots_at_the_ends_are_tolerated_and_nothing_else(
    snippet: str, text: str, found: str | None
) -> None:
    places = SourceText(text).places_of(snippet, Span(0, len(text)))
    assert [text[place.start : place.end] for place in places] == ([] if found is None else [found])


@given(st.text(max_size=20), st.text("ab 中。\n", min_size=1, max_size=10), st.text(max_size=20))
def test_what_stands_in_a_text_is_found_exactly_there(before: str, snippet: str, after: str) -> None:
    text = before + snippet + after
    if snippet.strip():
        places = SourceText(text).places_of(snippet, Span(len(before), len(before) + len(snippet)))
        assert places == [Span(len(before), len(before) + len(snippet))]


@given(st.text("#【】[]=*-场景:：A/ \n", max_size=60), st.text("A/场", min_size=1, max_size=3))
def test_no_text_upsets_the_search_for_scenes(text: str, header: str) -> None:
    for scene in SourceText(text, headers=[header]).scenes(header):
        assert 0 <= scene.start <= scene.end <= len(text)
