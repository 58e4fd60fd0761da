"""Assistants and results of LangChain, LlamaIndex, Haystack, DSPy and Chroma.

Look-alikes have and return what the real ones did (``fixtures/frameworks.json``); the real ones are asked
where they are installed.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from cases import tables_beside
from framework_apps import ANSWERS, DOCUMENTS, FIXTURE, FRAMEWORKS, NOT_ASKED, QUESTIONS, look_alike, rebuilt
from rag_evaluation_framework import Corpus, Document, Sample, Turn, UsageError, evaluate
from rag_evaluation_framework.records.citations import SpanCitation
from rag_evaluation_framework.records.documents import DocumentId
from rag_evaluation_framework.results.evaluations import Evaluation

TABLES = tables_beside(__file__)

RECORDED = json.loads(FIXTURE.read_text(encoding="utf-8"))["apps"]
ASKED = [name for name in RECORDED if name not in NOT_ASKED]
CORPUS = Corpus([Document(DocumentId(name), text) for name, text in DOCUMENTS.items()])
NEEDED = ("18:45", "1861 to 1864")
RIGHT = ("ferry.md", "museum.md")


def _sample(question: str, document: str, words: str) -> Sample:
    start = DOCUMENTS[document].index(words)
    return Sample(
        id=document,
        turns=(Turn(role="user", content=question),),
        reference=ANSWERS[question],
        relevant_documents={document: 1},
        relevant_spans=(SpanCitation(file=document, start=start, end=start + len(words)),),
    )


SAMPLES = [_sample(*each) for each in zip(QUESTIONS, RIGHT, NEEDED, strict=True)]

# What each returns for the first question: whether it answers, what it found, whether it tells scores.
FOUND: dict[str, tuple[bool, list[str], bool]] = TABLES["found"]
REFUSED = TABLES["refused"]


def _evaluated(app: Any, tmp_path: Path, **given: Any) -> Evaluation:
    return evaluate(SAMPLES, target=app, documents=CORPUS, runs_directory=tmp_path, **given)


def _check(name: str, app: Any, tmp_path: Path) -> None:
    """Check what an assistant is read to have returned, and the scores of that."""
    answers, sources, has_scores = FOUND[name]
    evaluation = _evaluated(app, tmp_path, metrics=["hit@1", "span_recall", "answer_correctness"])
    first, _ = (row.result.response for row in evaluation.rows)
    assert first.failure is None
    assert first.text == (ANSWERS[QUESTIONS[0]] if answers else None)
    assert list(first.contexts) == [DOCUMENTS[source] for source in sources]
    if name != "dspy_module":  # its contexts are plain texts
        assert [hit.id for hit in first.hits] == sources
    scores = [hit.score for hit in first.hits]
    assert (scores == sorted(scores, reverse=True) and len(scores) > 0) if has_scores else not any(scores)
    found = {metric: each.value for metric, each in evaluation.metrics.items()}
    assert found["answer_correctness"] == (1 if answers else None)
    # The characters are found in the corpus by their text, whatever the document is called.
    right = (len(set(sources) & set(RIGHT)) or 2) / 2 if name != "haystack_pipeline" else 1.0
    assert found["span_recall"] == (right if sources else None)
    assert found["hit@1"] == (1.0 if first.hits else None)


def _check_refused(name: str, app: Any, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=REFUSED[name]):
        _evaluated(app, tmp_path, metrics=["hit@1"])


@pytest.mark.parametrize("name", ASKED)
def test_an_assistant_is_told_by_its_shape_and_asked_as_its_users_ask_it(name: str, tmp_path: Path) -> None:
    _check(name, look_alike(RECORDED[name]), tmp_path)


@pytest.mark.parametrize("name", NOT_ASKED)
def test_what_cannot_be_asked_is_refused_with_what_to_give(name: str, tmp_path: Path) -> None:
    _check_refused(name, look_alike(RECORDED[name]), tmp_path)


@pytest.mark.parametrize(
    "framework",
    [pytest.param(name, marks=pytest.mark.vendors(*needs)) for name, (_, needs) in FRAMEWORKS.items()],
)
@pytest.mark.filterwarnings("ignore")
def test_the_real_assistants_are_asked_and_refused_alike(framework: str, tmp_path: Path) -> None:
    for name, app in FRAMEWORKS[framework][0]().items():
        (_check_refused if name in REFUSED else _check)(name, app, tmp_path / name)


def test_results_are_rows_beside_their_questions(tmp_path: Path) -> None:
    for name in ("llama_index_engine", "dspy_module", "langchain_sourced_chain", "haystack_pipeline"):
        calls = RECORDED[name]["calls"]
        rows = [
            {"question": question, "reference": ANSWERS[question], "result": rebuilt(call["result"])}
            for question, call in zip(QUESTIONS, calls, strict=True)
        ]
        evaluation = evaluate(rows)
        found = {metric: each.value for metric, each in evaluation.metrics.items()}
        assert found == {"faithfulness": 1, "answer_correctness": 1, "pass_rate": None}, name
        first = next(iter(evaluation.rows)).result.response
        assert first.text == ANSWERS[QUESTIONS[0]]
        assert list(first.contexts) == [DOCUMENTS[source] for source in FOUND[name][1]]


def test_results_that_hold_their_questions_are_rows_as_they_are() -> None:
    for name in ("langchain_retrieval_chain", "langchain_retrieval_qa", "haystack_answers"):
        results = [rebuilt(call["result"]) for call in RECORDED[name]["calls"]]
        evaluation = evaluate(results)
        assert evaluation.metrics["faithfulness"].value == 1
        assert [row.sample.question for row in evaluation.rows] == list(QUESTIONS)


def test_results_without_their_questions_are_refused() -> None:
    results = [rebuilt(call["result"]) for call in RECORDED["llama_index_engine"]["calls"]]
    with pytest.raises(UsageError, match=r'result 1 has no question\. .*"question": …, "result": …'):
        evaluate(results)


def test_a_function_may_pass_on_what_a_framework_returned(tmp_path: Path) -> None:
    for name in ("llama_index_engine", "langchain_retrieval_qa", "langchain_retriever"):
        calls = dict(zip(QUESTIONS, RECORDED[name]["calls"], strict=True))
        evaluation = _evaluated(
            lambda question, calls=calls: rebuilt(calls[question]["result"]),
            tmp_path / name,
            metrics=["hit@1"],
        )
        assert evaluation.metrics["hit@1"].value == 1, name


def test_a_retriever_is_not_asked_for_answers_unless_that_is_wanted(tmp_path: Path) -> None:
    app = look_alike(RECORDED["langchain_retriever"])
    assert list(_evaluated(app, tmp_path).metrics) == ["hit@1", "pass_rate"]


def test_a_place_may_name_an_assistant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "app_of_langchain.py").write_text(
        "import json\nfrom framework_apps import FIXTURE, look_alike\n"
        "kept = json.loads(FIXTURE.read_text())['apps']['langchain_sourced_chain']\n"
        "chain, number = look_alike(kept), 3\n",
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    evaluation = _evaluated("app_of_langchain:chain", tmp_path / "runs", metrics=["hit@1"])
    assert evaluation.metrics["hit@1"].value == 1
    with pytest.raises(UsageError, match=r"expected an address, .*an object that can be asked"):
        _evaluated("app_of_langchain:number", tmp_path / "runs", metrics=["hit@1"])


def test_what_a_chain_returns_is_understood_or_named(tmp_path: Path) -> None:
    kept = RECORDED["langchain_chain"]
    calls = [{**call, "result": {"score": math.pi}} for call in kept["calls"]]
    evaluation = _evaluated(look_alike({**kept, "calls": calls}), tmp_path, metrics=["answer_correctness"])
    failure = next(iter(evaluation.rows)).result.response.failure
    assert failure.kind == "no-answer"
    assert "from LangChain RunnableSequence, got a dictionary with score; a function that" in failure.message
