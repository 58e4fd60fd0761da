"""Ray as the engine: the same bytes as in one process, whoever is killed in the middle of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from rag_evaluation_framework import evaluate, load
from rag_evaluation_framework import workers as workers_module
from rag_evaluation_framework.adapters.sentence_transformers import (
    CrossEncoderReranker,
    SentenceTransformerEmbedder,
)
from rag_evaluation_framework.errors import InputError, UsageError, WorkerError
from rag_evaluation_framework.metrics.declaration import parse_metric
from rag_evaluation_framework.records.documents import Corpus, Document
from rag_evaluation_framework.records.runs import Options
from rag_evaluation_framework.results import comparison
from rag_evaluation_framework.retrieval import embedders, stores
from rag_evaluation_framework.retrieval.bm25 import BM25Retriever
from rag_evaluation_framework.retrieval.chunkers import RecursiveCharacterChunker
from rag_evaluation_framework.retrieval.embedders import HashingEmbedder, RememberingEmbedder
from rag_evaluation_framework.retrieval.pipeline import chunk_corpus
from rag_evaluation_framework.retrieval.retrievers import DenseRetriever, FusedRetriever
from rag_evaluation_framework.retrieval.sweep import grid_of, swept_cells
from rag_evaluation_framework.workers import Crew, in_order
from run_files import plain_journal
from squares import Lengths, Squares
from tiny_models import write_cross_encoder, write_sentence_model

pytestmark = [pytest.mark.vendors("ray"), pytest.mark.filterwarnings("ignore")]
FACTS = ("Paris is the capital of France.", "Mount Logan is 5,959 m high.", "Rain fell in May 2020.")
HANDBOOK = Path(__file__).parents[2] / "examples" / "handbook"
AT_ONCE = "import rag_evaluation_framework.workers as w; w._LOOK_SECONDS = w._WORTH_SECONDS = 0.0; "


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the cluster do the smallest job."""
    monkeypatch.setattr(workers_module, "_LOOK_SECONDS", 0.0)
    monkeypatch.setattr(workers_module, "_WORTH_SECONDS", 0.0)


@pytest.fixture(scope="module", autouse=True)
def ended() -> Iterator[None]:
    yield
    import ray

    workers_module._end_all()
    ray.shutdown()


def _rows(path: Path, count: int) -> Path:
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            answer = f"{FACTS[number % 3]} It was seen {number} times."
            row = {"id": f"r{number}", "question": "What is known?", "answer": answer, "contexts": FACTS}
            print(json.dumps(row), file=file)
    return path


def _results(folder: Path) -> tuple[list[object], bytes]:
    """Return what a run has written, but for the times."""
    lines = plain_journal(folder).read_text(encoding="utf-8").splitlines()
    entries = [json.loads(line)["entry"] for line in lines]
    return [(entry["index"], entry["result"]) for entry in entries], (folder / "blame.jsonl.zst").read_bytes()


def test_answers_and_runs_are_scored_to_the_same_bytes_by_1_2_and_4_workers(tmp_path: Path) -> None:
    data, found = _rows(tmp_path / "rows.jsonl", 40), []
    for number, options in enumerate(
        [Options(workers=1), *(Options(workers=count, engine="ray") for count in (1, 2, 4))]
    ):
        folder = tmp_path / str(number)
        result = evaluate(data, metrics=["faithfulness"], options=options, runs_directory=folder)
        assert result.folder is not None
        anew = evaluate(load(result.folder), metrics=["grounded_fraction"], options=options)
        again = [(row.id, row.scores, row.blame) for row in anew.rows]
        found.append((_results(result.folder), result.metrics, result.answers, anew.metrics, again))
    assert [index for index, _ in found[0][0][0]] == list(range(40))
    assert found[1:] == found[:1] * 3


def test_chunks_searches_and_embeddings_are_the_same_and_a_worker_loads_its_model_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedders, "BATCH", 8)
    monkeypatch.setattr(stores, "_QUERIES_SENT", 8)
    corpus = Corpus(tuple(Document(f"d{n}", f"{FACTS[n % 3]} Number {n % 7}. " * 9) for n in range(20)))
    chunker = RecursiveCharacterChunker(chunk_size=100)
    chunks = chunk_corpus(corpus, chunker).chunks
    lexical, dense = BM25Retriever(), DenseRetriever(HashingEmbedder())
    fused = FusedRetriever(lexical=lexical, dense=dense)
    fused.index(chunks)  # with many ties: the same text stands in several documents
    queries = [f"Which number was seen in May, {n}?" for n in range(80)]
    texts = [f"{chunk.content} {number}" for number, chunk in enumerate(chunks)]
    alone = [each.retrieve(queries, 3) for each in (lexical, dense, fused)]
    crews = [Crew(count, "ray") for count in (1, 2, 4)]
    for crew in crews:
        assert chunk_corpus(corpus, chunker, workers=crew).chunks == chunks
        assert [each.retrieve(queries, 3, workers=crew) for each in (lexical, dense, fused)] == alone
    for crew in crews:
        lengths = RememberingEmbedder(Lengths(tmp_path))
        lengths.workers = crew
        for part in (texts[:60], texts[60:]):
            assert lengths.embed(part)[:, 0].tolist() == [len(text) + 1.0 for text in part]
    loads = {int(path.name): path.read_text() for path in tmp_path.iterdir()}
    assert len(loads.keys() - {os.getpid()}) >= 2
    assert all(len(marks) <= 1 for place, marks in loads.items() if place != os.getpid())


def test_systems_are_tested_to_the_same_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "_WORTH_SHARING", 0)
    scores = {f"s{n}": {"mrr": {f"q{m}": (m * n % 17) / 17 for m in range(300)}} for n in range(1, 9)}
    metrics = [parse_metric("mrr")]
    alone = comparison.compare_systems(scores, metrics, baseline="s1")
    for count in (1, 2, 4):
        crew = partial(Crew, count, "ray")
        assert comparison.compare_systems(scores, metrics, baseline="s1", workers=crew) == alone


def test_workers_that_are_killed_are_replaced_and_what_they_did_is_done_again(tmp_path: Path) -> None:
    squares, killed, dies, begun_then = [], set(), (700, 1500, 2600), 0
    work = Squares(marks=tmp_path, dies=dies)
    for square, place in in_order(work, range(3000), workers=Crew(2, "ray")):
        squares.append(square)
        # What was begun when the last was killed is done, so that no batch is lost to two of these kills.
        is_over = len(squares) > begun_then
        if place != os.getpid() and place not in killed and len(killed) < 5 and is_over:
            killed.add(place)
            begun_then = max(int(mark.name) for mark in tmp_path.iterdir())
            with suppress(ProcessLookupError):  # it has died by itself meanwhile
                os.kill(place, signal.SIGKILL)  # whatever it is doing
    assert squares == [number * number for number in range(3000)]
    assert len(killed) >= 2
    begun = [len((tmp_path / str(number)).read_text()) for number in range(3000)]
    assert min(begun) == 1
    assert max(begun) <= 4
    assert all(begun[number] >= 2 for number in dies)


def test_a_worker_that_always_ends_is_given_up_and_an_error_is_that_of_one_process(tmp_path: Path) -> None:
    with pytest.raises(WorkerError, match="ended 4 times before it finished"):
        list(in_order(Squares(ends=7, marks=tmp_path), range(20), workers=Crew(1, "ray")))
    assert len((tmp_path / "7").read_text()) == 4
    with pytest.raises(InputError, match="one that can be squared, got 7") as caught:
        list(in_order(Squares(fails=7), range(20), workers=Crew(2, "ray")))
    assert caught.value.__notes__ == ["at number 7"]


@pytest.mark.parametrize(
    "command",
    [
        "score {rows}",
        "rank {handbook}/ranking/qrels.trec {handbook}/ranking/bm25.run {handbook}/ranking/fused.run",
        "compare 001 002",
        "retrieval {handbook}/documents --dataset {handbook}/questions.eval.json --retriever bm25",
        "generate {handbook}/documents",
    ],
)
def test_a_cluster_that_does_not_answer_is_refused_before_anything_is_begun(
    tmp_path: Path, command: str
) -> None:
    program = "from rag_evaluation_framework.cli.main import main; main()"
    given = command.format(rows=_rows(tmp_path / "rows.jsonl", 3), handbook=HANDBOOK).split()
    given = [sys.executable, "-c", program, *given, "--engine", "ray", "--address", "127.0.0.1:1"]
    done = subprocess.run(given, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "address: cannot connect to a Ray cluster at '127.0.0.1:1'" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "runs").exists()


def test_after_the_driver_is_killed_a_resume_completes_with_the_same_bytes(tmp_path: Path) -> None:
    data = _rows(tmp_path / "rows.jsonl", 4000)
    runs = tmp_path / "runs"
    given = (
        f"metrics=['faithfulness'], runs_directory={str(runs)!r}, options=Options(workers=2, engine='ray')"
    )
    program = (
        f"{AT_ONCE}from rag_evaluation_framework import Options, evaluate; evaluate({str(data)!r}, {given})"
    )
    driver = subprocess.Popen([sys.executable, "-c", program], cwd=tmp_path, start_new_session=True)
    deadline = time.monotonic() + 100
    while _journalled(runs) < 200 and time.monotonic() < deadline:
        time.sleep(0.01)
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    (folder,) = runs.iterdir()
    done = load(folder).counts.finished
    assert 0 < done < 4000
    options = Options(workers=2, engine="ray")
    kept = {"metrics": ["faithfulness"], "options": options, "runs_directory": runs}
    resumed = evaluate(data, resume=folder.name, **kept)
    assert resumed.outcome.completed
    alone = evaluate(
        data, metrics=["faithfulness"], options=Options(workers=1), runs_directory=tmp_path / "alone"
    )
    assert alone.folder is not None
    assert _results(folder) == _results(alone.folder)
    assert resumed.metrics == alone.metrics


def _journalled(runs: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in runs.glob("*/journal.jsonl"))


def test_workers_share_the_gpus_of_a_cluster_if_their_work_holds_a_model() -> None:
    program = f"""{AT_ONCE}import functools, os, pickle, ray; ray.init(num_gpus=2, include_dashboard=False)
from rag_evaluation_framework.adapters.extras import GPU_MARK; work = functools.partial(os.getenv)
for count in (2, 2, 4):
    crew, packed = w.Crew(count, "ray").called(), pickle.dumps(work)
    found = [each.begin(["CUDA_VISIBLE_DEVICES"])()[0][0] for each in crew if each.is_ready_for(packed)]
    print(*sorted(map(str, found))); vars(work)[GPU_MARK] = True; [each.end() for each in crew]
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["None None", "0 1", "0 0 1 1"]


@pytest.mark.vendors("sentence_transformers", "onnx")
def test_models_embed_and_rerank_on_the_workers_whose_device_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedders, "BATCH", 8)
    write_sentence_model(tmp_path / "texts")
    write_cross_encoder(tmp_path / "pairs")
    corpus = Corpus(tuple(Document(f"d{n}", f"{FACTS[n % 3]} Number {n}. " * 9) for n in range(20)))
    queries = [f"Which number was seen in May, {n}?" for n in range(40)]

    def found(workers: Crew) -> tuple[object, dict[str, str]]:
        embedder = SentenceTransformerEmbedder(str(tmp_path / "texts"))
        reranker = CrossEncoderReranker(str(tmp_path / "pairs"))
        parts = {"embedders": [embedder], "rerankers": [reranker], "vector_stores": ["exact"]}
        grid = grid_of(chunkers=["recursive(chunk_size=100)"], k=3, **parts)
        (cell,) = swept_cells(corpus, queries, grid, workers=workers)
        cell.prepare()
        hits = cell.retrieve(queries, 3)
        for model in (embedder, reranker):  # the first batch was this process's own: no figure of its device
            model._model.to("meta")
        return hits, cell.figures()["devices"]

    alone, devices = found(Crew(1))
    assert devices == {"embedder": "meta", "reranker": "meta"}
    for count in (1, 2, 4):
        assert found(Crew(count, "ray")) == (alone, {"embedder": "cpu", "reranker": "cpu"})


def test_a_function_under_test_is_asked_on_the_workers(tmp_path: Path) -> None:
    asked = [{"id": f"q{number}", "question": f"What is {number}?"} for number in range(40)]
    result = evaluate(
        [*asked, {"id": "odd", "question": "What?"}],
        target="squares:process_of",
        metrics=["toxicity"],
        options=Options(workers=2, engine="ray", concurrency=8),
        runs_directory=tmp_path,
    )
    answers = {row.response.text for row in result.rows if row.response.failure is None}
    assert len(answers) == 2
    assert str(os.getpid()) not in answers
    (failed,) = [row for row in result.rows if row.response.failure is not None]
    assert (failed.id, failed.response.failure.kind) == ("odd", "callable-error")  # type: ignore[union-attr]


def test_one_process_joins_one_cluster() -> None:
    list(in_order(Squares(), range(3), workers=Crew(1, "ray")))
    with pytest.raises(UsageError, match="already joined the Ray cluster local, got elsewhere:1"):
        Crew(1, "ray", "elsewhere:1").reach()
