"""Hostile text in every field of a page: nothing runs, nothing is requested, and the text shows as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import cycle, islice, product
from pathlib import Path
from typing import Any, TypeAlias

import yaml

from rag_evaluation_framework import Corpus, Evaluation
from rag_evaluation_framework.judging.verdict import STATES, AnswerVerdict
from rag_evaluation_framework.records.citations import SpanCitation
from rag_evaluation_framework.records.documents import CharacterSpan, Document, DocumentId
from rag_evaluation_framework.records.responses import Failure, Hit, Response
from rag_evaluation_framework.records.runs import RunHead, RunOutcome, SampleResult
from rag_evaluation_framework.records.samples import Recorded, Sample, Turn
from rag_evaluation_framework.records.scores import BLAME_KINDS, Blame, BlameEvidence, Score
from rag_evaluation_framework.reports.page import badge, page
from rag_evaluation_framework.results.evaluations import Row, summed_up
from rag_evaluation_framework.results.run_data import KeptDocuments
from rag_evaluation_framework.structs import replace

Opened: TypeAlias = Callable[..., Any]
FAMILIES: dict[str, list[str]] = yaml.safe_load(
    Path(__file__).with_name("hostile_texts.yaml").read_text(encoding="utf-8")
)
WRAPPED = ("{}", '"{}"', "before {} after", "{0}{0}", "'{}' >", "{}\n{}", "中文{}。")
NUMBER = 500


def payloads() -> list[str]:
    """Return 500 texts, each once: every text of every family, wrapped in one way after the other."""
    made = (wrapped.replace("{0}", text).replace("{}", text) for wrapped, text in product(WRAPPED, _all()))
    return list(islice(dict.fromkeys(made), NUMBER))


def _all() -> Iterator[str]:
    for texts in FAMILIES.values():
        yield from texts


def hostile_evaluation(texts: list[str]) -> Evaluation:
    """Return an evaluation with a row for each text, in which every field is one of them."""
    other = cycle(texts[7:] + texts[:7])
    names = [f"{next(other)} {place}.md" for place in range(20)]
    documents = tuple(Document(DocumentId(name), f"{next(other)} is needed. {next(other)}") for name in names)
    rows = [_row(place, text, other, documents, list(BLAME_KINDS)) for place, text in enumerate(texts)]
    head = RunHead(
        run_id="run",
        dataset_id=next(other),
        target=next(other),
        started_at="2026-11-16T00:00:00+00:00",
        packages={next(other): next(other)},
        environment={next(other): next(other)},
    )
    outcome = RunOutcome(completed=True, interrupted=False, done=len(rows), failed=0, remaining=0)
    made = summed_up(head, rows, kind="answers", outcome=outcome, rows=lambda: rows)
    return replace(
        made,
        warnings=(next(other), next(other)),
        target=next(other),
        read_documents=lambda: KeptDocuments(documents),
    )


def _row(
    place: int, text: str, other: Iterator[str], documents: tuple[Document, ...], kinds: list[Any]
) -> Row:
    document = documents[place % len(documents)]
    end = document.content.index(" is needed")
    sample = Sample(
        id=f"{text}{place}",
        turns=(Turn(role="user", content=text),),
        reference=next(other),
        recorded=Recorded(contexts=(text,), sources=(next(other),)),
        relevant_documents={document.id: 1, next(other): 1},
        relevant_spans=(SpanCitation(document.id, 0, max(1, end), text=next(other)),),
        category=next(other),
        difficulty=next(other),
        query_type=next(other),
        tags=(next(other), "tag"),
    )
    answer = f"{next(other)} said"
    claims = [
        {"start": 0, "end": len(answer), "label": "unsupported", "probability": 0.1, "new_tokens": [[0, 2]]}
    ]
    response = Response(
        text=answer,
        hits=(Hit(id="a", span=CharacterSpan(document.id, 0, 3)), Hit(id=next(other), text=next(other))),
    )
    if place % 50 == 7:
        response = Response(failure=Failure(kind="kind", message=next(other)))
    scores = (
        Score.scored("faithfulness", place % 3 / 2, method=next(other), details={"claims": claims}),
        Score.skipped("hit@1", next(other), method="exact"),
    )
    blame = Blame(kinds[place % len(kinds)], next(other), (BlameEvidence(next(other), next(other)),))
    verdict = AnswerVerdict(STATES[place % len(STATES)], "metric", next(other), flags=("unsupported_text",))
    result = SampleResult(sample.id, response, scores)
    return Row(place, result, sample, passes=place % 2 == 0, blame=blame, verdict=verdict.with_cause(blame))


def _reworded(row: Row) -> SampleResult:
    """Return the result with another answer, so that its verdict may move."""
    return replace(row.result, response=Response(text=f"{row.question} {row.response.text}"))


def test_there_are_five_hundred_texts_of_at_least_ten_families() -> None:
    assert len(FAMILIES) >= 10
    assert len(set(payloads())) == NUMBER


def test_nothing_hostile_runs_and_all_of_it_shows_as_it_is(tmp_path: Path, opened: Opened) -> None:
    texts = payloads()
    evaluation = hostile_evaluation(texts)
    path = tmp_path / "page.html"
    path.write_text(page([evaluation]), encoding="utf-8")
    tab = opened(path)
    while tab.locator(".samples tbody tr").count() < NUMBER:
        tab.locator(".samples tbody tr").last.scroll_into_view_if_needed()
    questions = tab.evaluate(
        "[...document.querySelectorAll('.samples tbody a')].map(each => each.textContent)"
    )
    assert sorted(questions) == sorted(texts)
    answers = {row.question: row.response.text for row in evaluation.rows}
    for number in range(0, NUMBER, 29):
        question = texts[number]
        tab.evaluate("id => { location.hash = '#' + new URLSearchParams({ s: id }); }", f"{question}{number}")
        tab.wait_for_function(
            "text => document.querySelector('.sample h1')?.textContent === text", arg=question
        )
        if answers[question] is not None:
            shown = tab.evaluate("document.querySelector('.sample .read').textContent")
            assert shown.startswith(answers[question])
    assert tab.evaluate("[window.hit, Object.prototype.hit, document.scripts.length]") == [None, None, 2]
    assert (
        tab.locator("#main iframe, #main script, #main style, #main link, #main img, #main object").count()
        == 0
    )


def test_nothing_hostile_runs_where_runs_are_compared(tmp_path: Path, opened: Opened) -> None:
    texts = payloads()
    before, now = (hostile_evaluation(each) for each in (texts, texts))
    rows = [replace(row, result=_reworded(row), verdict=AnswerVerdict("wrong", "person")) for row in now.rows]
    path = tmp_path / "page.html"
    path.write_text(page([before, replace(now, read_rows=lambda: rows)], force=True), encoding="utf-8")
    tab = opened(path)
    assert tab.locator(".mover").count() > 0
    assert tab.evaluate("window.hit") is None
    assert "<script" not in badge(now)


def test_nothing_hostile_runs_in_a_notebook(tmp_path: Path, opened: Opened) -> None:
    """A notebook puts what ``_repr_html_`` returns into its own page, where scripts may run."""
    texts = payloads()
    before, now = (hostile_evaluation(each) for each in (texts, texts))
    rows = [replace(row, passes=not row.passes if row.index % 5 == 0 else row.passes) for row in now.rows]
    after = replace(now, read_rows=lambda: rows, head=replace(now.head, run_id=texts[0]))
    compared = before.compare(after, force=True)
    shown = [each for row in islice(now.rows, 0, None, 5) for each in (row, row.sample)]
    corpora = [Corpus(documents) for documents in (now.documents.documents,)]
    parts = [each._repr_html_() for each in (now, compared, *corpora, *shown) if each is not None]
    path = tmp_path / "notebook.html"
    text = "".join(parts)
    path.write_text(f"<!doctype html><html data-ready lang=en><title>x</title>{text}", encoding="utf-8")
    tab = opened(path)
    assert tab.evaluate("[window.hit, document.scripts.length]") == [None, 0]
    assert tab.locator("iframe, link, img, object, a, input, [style], [onload], [onerror]").count() == 0
    assert tab.locator("style").count() == len(parts)
    answers = tab.evaluate("[...document.querySelectorAll('dt')].filter(e => e.textContent == 'got').length")
    assert answers >= len(shown) / 2
    questions = tab.evaluate(
        "[...document.querySelectorAll('dt')].filter(e => e.textContent == 'question')"
        ".map(e => e.nextElementSibling.textContent)"
    )
    assert questions == [text.replace("\0", "\ufffd") for text in texts[::5]]
