"""What answers, scores and judges is pickled after it was used, and the copy says the same.

Chunkers, embedders, retrievers, stores and rerankers are held to it by their own conformance tests.
"""

from __future__ import annotations

import asyncio
import json
import pickle
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from chat_server import running_chat
from fault_agent import running_server
from scripted_judge import Reading, entries, judging

from framework_apps import FIXTURE, look_alike
from rag_evaluation_framework import Corpus, Judge, Request, Response, Sample, Turn, UsageError, read_dataset
from rag_evaluation_framework.adapters.openai import OpenAIChatModel
from rag_evaluation_framework.components import METHODS, TARGETS
from rag_evaluation_framework.errors import TargetError
from rag_evaluation_framework.evaluation.blame import Blaming
from rag_evaluation_framework.evaluation.frameworks import system_of
from rag_evaluation_framework.evaluation.hit_views import LocatedContexts
from rag_evaluation_framework.evaluation.judge_budget import unjudged
from rag_evaluation_framework.evaluation.pipeline_targets import PipelineTarget
from rag_evaluation_framework.evaluation.scored_answers import scored_result
from rag_evaluation_framework.evaluation.scoring import READERS, scorers_for
from rag_evaluation_framework.evaluation.secrets import MaskedTarget, Secrets
from rag_evaluation_framework.evaluation.targets import PythonCallable, RecordedRows
from rag_evaluation_framework.extensions import Scorer, Target
from rag_evaluation_framework.judging.cascade import support_from
from rag_evaluation_framework.judging.methods import Methods, Scoring, opened_methods
from rag_evaluation_framework.metrics.declaration import available_metrics, parse_metric
from rag_evaluation_framework.models.memory import RememberingModel
from rag_evaluation_framework.models.spending import Spending
from rag_evaluation_framework.records.responses import Hit
from rag_evaluation_framework.records.scores import Claim, Score
from rag_evaluation_framework.retrieval.bm25 import BM25Retriever
from rag_evaluation_framework.retrieval.chunkers import RecursiveCharacterChunker
from rag_evaluation_framework.retrieval.pipeline import RetrievalPipeline
from tiny_models import write_counting_model, write_pair_tokenizer

EXAMPLES = Path(__file__).parents[1] / "examples"
GOLDEN = EXAMPLES / "golden/evaluation/datasets"
HANDBOOK = Corpus.from_folder(EXAMPLES / "handbook" / "documents")
KEY = "sk-not-for-you-0123456789"
FERRY = "The last ferry leaves at 18:45 from the north pier."
CROSSING = "Allow 45 minutes with Kittiwake"  # in the handbook's timetable
# The first samples of these have something for every view that asks no judge.
DATA = [*GOLDEN.glob("*.json"), EXAMPLES / "handbook/questions.eval.json"]
DATA += [
    EXAMPLES / f"{name}.jsonl" for name in ("ferry/evals/passengers", "ferry/log", "langchain_traces/traces")
]


def copied(thing: Any) -> Any:
    return pickle.loads(pickle.dumps(thing))


@cache
def answered() -> list[tuple[Sample, Response]]:
    samples = [sample for path in DATA for sample in read_dataset(path).samples[:4]]
    return [(sample, _response(sample)) for sample in samples]


def _response(sample: Sample) -> Response:
    """Return what is recorded, or the answer that is expected."""
    try:
        return RecordedRows().held_by(sample)
    except TargetError:
        hits = tuple(Hit(id=document) for document in sample.relevant_documents)
        contexts = sample.reference_contexts or (CROSSING,)
        return Response(text=sample.reference or "I do not know.", contexts=contexts, hits=hits)


def scores_of(scorers: list[Any]) -> list[Score]:
    return [score for each in answered() for score in scored_result(*each, scorers).scores]


def views_of(scores: list[Score]) -> set[str]:
    """Return the views of which some metric has a value."""
    return {parse_metric(each.metric).metric.view.name for each in scores if each.value is not None}


def test_every_metric_s_scorer_scores_as_before_and_what_one_finds_out_is_shared() -> None:
    methods = Methods(corpus=HANDBOOK)
    scorers = scorers_for(available_metrics(), methods)
    before = scores_of(scorers)
    assert set(READERS.names()) - views_of(before) == {"grades", "relevance", "nuggets", "exchange"}
    sent = copied(scorers)
    assert scores_of(sent) == before
    assert len({id(each.methods) for each in sent}) == 1
    contexts = LocatedContexts.of(read_dataset(GOLDEN / "factual_qa.json").samples)
    located = contexts.scorers(scorers_for(["span_recall", "span_precision"]))
    assert scores_of(copied(located)) == scores_of(located)
    assert views_of(scores_of(located)) == {"hits"}
    items = [(sample, scored_result(sample, response, scorers)) for sample, response in answered()]
    assert list(map(copied(Blaming(methods)), items)) == list(map(Blaming(methods), items))


def verdict(reading: Reading) -> str:
    """Find everything clean, and no claim supported."""
    if reading.prompt.listed != "claims":
        return '{"reason": "", "label": "clean", "quote": ""}'
    unsupported = {"label": "unsupported", "evidence": 1, "quote": ""}
    return json.dumps({"claims": entries(*[unsupported] * len(reading.several("claims")))})


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> Iterator[Judge]:
    """A judge behind a real server that answers those alone who send the key."""
    monkeypatch.setenv("JUDGE_KEY", KEY)
    with (
        running_chat(judging(verdict), key=KEY) as server,
        OpenAIChatModel("scripted", base_url=server.url, key_env="JUDGE_KEY", max_attempts=1) as model,
    ):
        yield Judge(model)
        assert {each.get("authorization") for each in server.headers} == {f"Bearer {KEY}"}


def test_what_a_judge_scores_is_scored_as_before_with_its_key_and_others_are_not_sent_it(
    judge: Judge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    methods = Methods(judge=judge, spending=Spending())
    scorers = scorers_for([name for name in available_metrics() if "rubric" not in name], methods)
    before = scores_of(scorers)
    judged = {each.metric for each in before if each.method == judge.name and each.value}
    assert judged >= {"bias", "toxicity", "hallucination"}
    monkeypatch.delenv("JUDGE_KEY")  # as where nobody has set it
    assert scores_of(copied(scorers)) == before
    for scorer in scorers:
        assert (KEY.encode() in pickle.dumps(scorer)) == bool(scorer.questions), scorer.name
    assert KEY.encode() not in pickle.dumps(Blaming(methods.without_judge))
    remembering = scorers_for(["bias"], Methods(judge=Judge(RememberingModel(judge.models[0], tmp_path))))
    kinds: list[list[Scorer]] = [[*remembering], unjudged(remembering)]
    for kind in kinds:
        assert scores_of(copied(kind)) == scores_of(kind)


def test_what_counts_for_all_of_a_run_is_not_sent_where_it_would_count_apart(judge: Judge) -> None:
    judge.verdict("bias", {"answer": "Sure."})
    with (
        opened_methods(Scoring(judge=judge, settings={"budget": 9})) as budgeted,
        pytest.raises(UsageError, match="judge_budget: calls are counted in one process"),
    ):
        pickle.dumps(budgeted)
    with pytest.raises(UsageError, match="max_cost: a cap works in one process only"):
        pickle.dumps(Spending(5.0))


def test_every_method_decides_as_before(judge: Judge, tmp_path: Path) -> None:
    write_pair_tokenizer(tmp_path, FERRY)
    write_counting_model(tmp_path, "two")
    texts = {"lexical": "lexical", "entailment": f'entailment(path="{tmp_path}")'}
    assert sorted(texts) == METHODS.names()
    claims = [Claim(text, 0, len(text)) for text in (FERRY, "The pool is closed.", "Cats purr.")]
    cascades = [f"cascade(lexical(low=0.1, high=0.9), {each})" for each in (texts["entailment"], "judge")]
    for text in (*texts.values(), *cascades, "judge"):
        method = support_from(text, judge)
        before = method.decide(claims, [FERRY])
        assert {each.label for each in before} == {"supported", "unsupported"} or text == "judge"
        assert copied(method).decide(claims, [FERRY]) == before
        (scorer,) = scorers_for(["faithfulness"], Methods(judge=judge, support=method))
        assert scorer.is_slow == (
            text != "lexical"
        )  # so that no process waits for a model in another's place


# Targets.


def asked(target: Target) -> tuple[tuple[Any, ...], bytes]:
    """Return what a target says, and the target as it is sent while it is in use."""
    sample = Sample(id="s1", turns=(Turn(role="user", content="When does the last ferry leave?"),))

    async def told() -> tuple[tuple[Any, ...], bytes]:
        found = await target.answer(Request(sample=sample, key="k", thread_id="t", timeout=20.0))
        packed = pickle.dumps(target)
        await target.close()
        return (found.text, found.contexts, found.hits, found.citations), packed

    return asyncio.run(told())


def answer(question: str) -> dict[str, Any]:
    return {"answer": question[::-1], "contexts": [FERRY]}


@pytest.mark.vendors("langchain_core")
def test_every_target_answers_alike_without_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = tmp_path / "answers.jsonl"
    answers.write_text(json.dumps({"id": "s1", "answer": FERRY}) + "\n", encoding="utf-8")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    secrets, runnables = Secrets(), import_module("langchain_core.runnables")
    pipeline = RetrievalPipeline(RecursiveCharacterChunker(400), retriever=BM25Retriever())
    pipeline.index(HANDBOOK)
    with running_server() as server, running_chat(lambda _: FERRY, key=KEY) as model:
        headers = {"secret_headers": {"X-Key": KEY}, "mask": secrets.mask}
        made: dict[str, Any] = {
            "http": TARGETS.get("http")(server.url, **headers),
            "openai": TARGETS.get("openai")(model="m", base_url=model.url),
            "python": TARGETS.get("python")(f"{__name__}:answer"),
            "recorded": TARGETS.get("recorded")(answers),
        }
        assert sorted(made) == TARGETS.names()
        chain = PythonCallable(runnables.RunnableLambda(answer))
        for target in (*made.values(), chain, PipelineTarget(pipeline, 3)):
            before, packed = asked(MaskedTarget(target, secrets))
            assert any(before)
            monkeypatch.delenv("OPENAI_API_KEY", raising=False)  # as where nobody has set it
            copy = pickle.loads(packed)
            assert (copy.name, asked(copy)[0]) == (target.name, before)
        assert [each["headers"]["x-key"] for each in server.log()["requests"]] == [KEY, KEY]
    rows = MaskedTarget(RecordedRows(), secrets)
    recorded = next(sample for sample, _ in answered() if sample.recorded and sample.recorded.answer)
    assert copied(rows).held_by(recorded) == rows.held_by(recorded)  # type: ignore[misc]


def test_a_module_of_dspy_says_why_it_is_not_sent() -> None:
    module = look_alike(json.loads(FIXTURE.read_text(encoding="utf-8"))["apps"]["dspy_module"])
    with pytest.raises(UsageError, match="it uses the configured model of this process"):
        pickle.dumps(system_of(module))
