"""Work in other processes: the same results in the same order, errors that say where, nothing left over."""

from __future__ import annotations

import asyncio
import contextvars
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, NoReturn

import pytest

from command_lines import rag_eval_ended
from rag_evaluation_framework import evaluate, load
from rag_evaluation_framework import workers as workers_module
from rag_evaluation_framework.errors import InputError, UsageError, WorkerError
from rag_evaluation_framework.evaluation import engine
from rag_evaluation_framework.evaluation.scored_answers import AsTheyCome
from rag_evaluation_framework.records.documents import Corpus
from rag_evaluation_framework.records.runs import Options
from rag_evaluation_framework.results import comparison, rankings
from rag_evaluation_framework.retrieval import embedders
from rag_evaluation_framework.retrieval.bm25 import BM25Retriever
from rag_evaluation_framework.retrieval.chunkers import RecursiveCharacterChunker
from rag_evaluation_framework.retrieval.embedders import HashingEmbedder, RememberingEmbedder
from rag_evaluation_framework.retrieval.pipeline import chunk_corpus
from rag_evaluation_framework.retrieval.sweep import grid_of
from rag_evaluation_framework.synthesis.extractive import generate_extractively
from rag_evaluation_framework.workers import Workers, all_but_one, in_order, in_own_thread
from run_files import plain_journal
from squares import Lengths, Squares

HANDBOOK = Path(__file__).parents[1] / "examples" / "handbook"


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start processes for the smallest job."""
    monkeypatch.setattr(workers_module, "_LOOK_SECONDS", 0.0)
    monkeypatch.setattr(workers_module, "_WORTH_SECONDS", 0.0)


@pytest.fixture(scope="module", autouse=True)
def ended() -> Iterator[None]:
    """End the processes that wait for more work."""
    yield
    workers_module._end_all()
    assert _children() == []


def test_systems_are_read_and_tested_to_the_same_bytes_by_1_2_and_4_workers(
    at_once: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for module in (comparison, rankings):
        monkeypatch.setattr(module, "_WORTH_SHARING", 0)
    documents, random = [f"d{number}" for number in range(9)], Random(0)
    (tmp_path / "qrels").write_text("".join(f"q{n} 0 d{n % 9} 1\n" for n in range(40)))
    for name in ("a.run", "b.run", "c.run"):
        found = [(n, *at) for n in range(40) for at in enumerate(random.sample(documents, 9))]
        (tmp_path / name).write_text("".join(f"q{n} Q0 {each} {at} {-at} x\n" for n, at, each in found))
    command = ("rank", "qrels", "a.run", "b.run", "c.run", "--json", "--workers")
    printed = [rag_eval_ended(*command, str(count), folder=tmp_path).stdout for count in (1, 2, 4)]
    assert json.loads(printed[0])["comparisons"][9]["p_value"] < 1
    assert printed[1:] == printed[:1] * 2
    assert _children()


def test_there_is_a_worker_a_core_less_one_and_at_least_one() -> None:
    assert all_but_one() == max(1, len(os.sched_getaffinity(0)) - 1)
    with pytest.raises(UsageError, match="workers: expected a whole number of at least 1, got 0"):
        list(in_order(abs, [1], workers=0))


@pytest.mark.usefixtures("at_once")
def test_results_come_in_order_from_other_processes_and_few_items_are_under_way() -> None:
    taken = 0

    def items() -> Iterator[int]:
        nonlocal taken
        for number in range(1, 20_001):
            taken = number
            yield number

    squares, places, most_ahead = [], set(), 0
    for square, place in in_order(Squares(), items(), workers=2):
        squares.append(square)
        places.add(place)
        most_ahead = max(most_ahead, taken - len(squares))
    assert squares == [number * number for number in range(1, 20_001)]
    assert len(places - {os.getpid()}) == 2
    assert most_ahead <= (2 * 2 + 1) * workers_module._LARGEST_BATCH


def test_small_jobs_and_what_cannot_be_sent_stay_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    here = {os.getpid()}
    assert {place for _, place in in_order(Squares(), range(50), workers=4, total=50)} == here
    monkeypatch.setattr(workers_module, "_LOOK_SECONDS", 0.0)
    monkeypatch.setattr(workers_module, "_WORTH_SECONDS", 0.0)
    # A function without a name, and one that only this process could find.
    assert list(in_order(lambda number: -number, range(5), workers=2)) == [0, -1, -2, -3, -4]
    monkeypatch.setitem(sys.modules, "only_here", sys.modules["squares"])
    monkeypatch.setattr(Squares, "__module__", "only_here")
    assert {place for _, place in in_order(Squares(), range(5), workers=2)} == here


@pytest.mark.usefixtures("at_once")
def test_an_error_is_that_of_one_process_and_says_at_which_item() -> None:
    raised = []
    for workers in (1, 2):
        with pytest.raises(InputError, match="one that can be squared, got 7") as caught:
            list(in_order(Squares(fails=7), range(20), workers=workers))
        raised.append((str(caught.value), getattr(caught.value, "__notes__", [])))
    assert raised[0][0] == raised[1][0]
    assert raised[1][1] == ["at number 7"]
    with pytest.raises(FileNotFoundError):  # the work's own: nobody waits for its process to end
        list(in_order(Squares(marks=Path("nowhere")), range(20), workers=2))
    with pytest.raises(WorkerError, match="ended with status 9 before it finished"):
        list(in_order(Squares(ends=7), range(20), workers=2))
    workers_module._end_all()
    assert _children() == []


@pytest.mark.usefixtures("at_once")
def test_searches_and_embeddings_agree_and_models_stay_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedders, "BATCH", 8)
    chunks = chunk_corpus(Corpus.from_folder(HANDBOOK / "documents"), RecursiveCharacterChunker(400)).chunks
    queries = [chunk.content[20:90] for chunk in chunks[:60]]
    lexical = BM25Retriever()
    lexical.index(chunks)
    alone = lexical.retrieve(queries, 5)
    texts = [chunk.content for chunk in chunks]
    vectors = HashingEmbedder().embed(texts)
    for count in (2, 4):
        found = lexical.retrieve(queries, 5, workers=count)
        assert [list(map(id, of_one)) for of_one in found] == [list(map(id, of_one)) for of_one in alone]
        hashing = RememberingEmbedder(HashingEmbedder())
        hashing.workers = count
        assert hashing.embed(texts).tobytes() == vectors.tobytes()
    lengths = RememberingEmbedder(Lengths(tmp_path))
    lengths.workers = 2
    for start in range(0, 64, 16):
        assert lengths.embed(texts[start : start + 16])[:, 0].tolist() == [
            len(text) + 1.0 for text in texts[start : start + 16]
        ]
    loads = {int(path.name): path.read_text() for path in tmp_path.iterdir()}
    assert set(loads.values()) == {"x"}, "a process loads its model once"
    assert loads.keys() - {os.getpid()}


@pytest.mark.usefixtures("at_once")
def test_questions_made_by_rules_are_the_same() -> None:
    corpus = Corpus(Corpus.from_folder(HANDBOOK / "documents").documents[:4])
    alone, shared = (generate_extractively(corpus, workers=count) for count in (1, 2))
    assert alone == shared
    assert len(alone.dataset) >= 4


def test_a_sweep_by_words_has_the_same_figures_with_two_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    def swept(count: int) -> Any:
        grid = grid_of(chunkers=["recursive(chunk_size=400)"], retrievers=["bm25"], k=[1, 5])
        made = evaluate(
            HANDBOOK / "questions.eval.json",
            target=grid,
            documents=HANDBOOK / "documents",
            options=Options(workers=count),
        )
        return [
            ([row.result for row in part.rows], {name: each.to_dict() for name, each in part.metrics.items()})
            for part in made.runs
        ]

    alone = swept(1)
    monkeypatch.setattr(workers_module, "_LOOK_SECONDS", 0.0)
    monkeypatch.setattr(workers_module, "_WORTH_SECONDS", 0.0)
    assert swept(2) == alone


def test_an_engine_is_refused_before_anything_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, runs = _rows(tmp_path / "rows.jsonl", 2), tmp_path / "runs"
    monkeypatch.setattr(workers_module, "find_spec", lambda name: None)
    done = rag_eval_ended("score", str(data), "--runs-dir", str(runs), "--engine", "ray", folder=tmp_path)
    needed = "the engine ray needs an extra: pip install 'rag-evaluation-framework[ray]'"
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.strip().removeprefix("rag-eval: ") == needed
    assert not runs.exists()
    with pytest.raises(UsageError, match="address: only engine=ray takes an address"):
        Options(address="auto")
    with pytest.raises(UsageError, match="engine: expected processes or ray, got 'dask'"):
        Options(engine="dask")  # type: ignore[arg-type]


def test_batches_are_sized_by_time() -> None:
    with Workers(time.sleep, 1) as pool:
        for _ in range(8):
            pool.submit([0.0] * pool.batch_size)
        assert pool.batch_size >= 16, "what takes next to nothing goes many at a time"
        pool.submit([0.06, 0.06])
        assert pool.batch_size == 1, "a batch takes 50 ms"


def _children() -> list[int]:
    """Return the processes that this one started and that are still there."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == os.getpid() and "_serve_batches" in _command(path.parent):
            found.append(int(path.parent.name))
    return found


def _command(process: Path) -> str:
    try:
        return (process / "cmdline").read_text()
    except OSError:
        return ""


def _rows(path: Path, count: int) -> Path:
    facts = ("Paris is the capital of France.", "Mount Logan is 5,959 m high.", "Rain fell in May 2020.")
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            answer = f"{facts[number % 3]} It was seen {number} times."
            row = {"id": f"r{number}", "question": "What is known?", "answer": answer, "contexts": facts}
            print(json.dumps(row), file=file)
    return path


@pytest.mark.usefixtures("at_once")
def test_recorded_answers_give_the_same_bytes_with_1_2_and_4_workers(tmp_path: Path) -> None:
    data, found, again = _rows(tmp_path / "rows.jsonl", 40), [], []
    for workers in (1, 2, 4):
        options, folder = Options(workers=workers), tmp_path / str(workers)
        result = evaluate(data, metrics=["faithfulness"], options=options, runs_directory=folder)
        assert result.folder is not None
        lines = plain_journal(result.folder).read_text(encoding="utf-8").splitlines()
        entries = [json.loads(line)["entry"] for line in lines]
        written = [(entry["index"], entry["result"]) for entry in entries]
        blames = (result.folder / "blame.jsonl.zst").read_bytes()
        found.append((written, blames, result.metrics, result.answers))
        anew = evaluate(load(result.folder), metrics=["grounded_fraction"], options=options)
        again.append((anew.metrics, anew.answers, [(row.id, row.scores, row.blame) for row in anew.rows]))
    assert [index for index, _ in found[0][0]] == list(range(40))
    assert found[1] == found[0]
    assert found[2] == found[0]
    assert again[1] == again[0]
    assert again[2] == again[0]
    # A run that was ended in the middle knows nothing of what was found out about its first answers.
    (run,) = (tmp_path / "1").iterdir()
    kept = plain_journal(run).read_bytes().splitlines(keepends=True)[:15]
    (run / "journal.jsonl").write_bytes(b"".join(kept))
    (run / "blame.jsonl.zst").unlink()
    result = evaluate(data, metrics=["faithfulness"], resume=run.name, runs_directory=run.parent)
    assert ((run / "blame.jsonl.zst").read_bytes(), result.answers) == (found[0][1], found[0][3])


@pytest.mark.usefixtures("at_once")
def test_live_answers_are_scored_alike_by_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "_LEAST_SENT", 0.0)
    rows = [json.loads(line) for line in _rows(tmp_path / "rows.jsonl", 40).read_text().splitlines()]
    known = {f"{row['question']} {row['id']}": row for row in rows}
    asked = [{"id": row["id"], "question": question} for question, row in known.items()]
    found = []
    for workers in (1, 2):
        workers_module._end_all()
        result = evaluate(
            asked,
            target=lambda question: {name: known[question][name] for name in ("answer", "contexts")},
            metrics=["faithfulness"],
            options=Options(workers=workers, concurrency=8),
            runs_directory=tmp_path / str(workers),
        )
        assert bool(_children()) == (workers > 1)
        found.append(
            (result.metrics, result.answers, [(row.id, row.scores, row.blame) for row in result.rows])
        )
    assert found[1] == found[0]


def test_items_that_come_one_by_one_are_all_worked_on() -> None:
    async def squared() -> list[int]:
        with Workers(Squares(), 1) as pool:
            coming = AsTheyCome(pool, asyncio.to_thread)
            one_by_one = [(await coming.done(number))[0] for number in range(3)]
            return one_by_one + [found[0] for found in await asyncio.gather(*map(coming.done, range(3, 30)))]

    assert asyncio.run(asyncio.wait_for(squared(), 20)) == [number**2 for number in range(30)]


def test_ctrl_c_leaves_no_process_no_traceback_and_a_whole_journal(tmp_path: Path) -> None:
    data = _rows(tmp_path / "rows.jsonl", 3_000)
    at_once = "import rag_evaluation_framework.workers as w; w._LOOK_SECONDS = w._WORTH_SECONDS = 0.0"
    # A parent that ignores Ctrl-C (a shell's background job) hands that down.
    heard = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    # Held at a line long before the last: a run that ends by itself is not interrupted.
    held = (
        "import time; from rag_evaluation_framework.results.journal import Journal as j; write = j.append; "
    )
    held += "j.append = lambda journal, line: (write(journal, line), b'\"r999\"' in line and time.sleep(60))"
    program = f"{heard}; {at_once}; {held}; from rag_evaluation_framework.cli.main import main; main()"
    command = [sys.executable, "-c", program, "score", str(data), "-m", "faithfulness", "--workers", "2"]
    ended = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "start_new_session": True}
    process = subprocess.Popen(command, cwd=tmp_path, **ended)  # type: ignore[call-overload]
    deadline = time.monotonic() + 60
    while not any(b'"r999"' in each.read_bytes() for each in tmp_path.glob("runs/*/journal.jsonl")):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert _workers_of(process.pid)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to every process
    _, told = process.communicate(timeout=20)
    assert process.returncode == 130, told
    assert b"Traceback" not in told
    assert _workers_of(process.pid) == []
    (folder,) = (tmp_path / "runs").iterdir()
    result = load(folder)
    assert 1_000 <= (done := result.counts.finished) < 3_000
    assert [row.index for row in result.rows] == list(range(done))


def _workers_of(group: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            fields = (path / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == group and "_serve_batches" in _command(path):
            found.append(int(path.name))
    return found


# A call in a thread of its own: what it returns or raises reaches whoever awaits it.

place = contextvars.ContextVar("place", default="")


def awaited(call: Callable[[], object]) -> object:
    return asyncio.run(in_own_thread(call, name="test"))


def test_a_call_runs_in_another_thread_with_the_context_of_its_caller() -> None:
    place.set("here")
    assert awaited(lambda: (threading.current_thread().name, place.get())) == ("test", "here")


def leave() -> NoReturn:
    sys.exit(3)


@pytest.mark.parametrize(
    ("call", "raised"),
    [
        (lambda: {}["key"], KeyError),
        (leave, SystemExit),
        (lambda: next(iter(())), RuntimeError),  # no coroutine may raise StopIteration
    ],
)
def test_errors_of_a_call_are_raised_when_awaited(
    call: Callable[[], object], raised: type[BaseException]
) -> None:
    with pytest.raises(raised):
        awaited(call)


def test_a_call_that_outlives_its_loop_disturbs_nobody() -> None:
    may_end = threading.Event()

    async def impatient() -> None:
        async with asyncio.timeout(0.01):
            await in_own_thread(may_end.wait, name="late")

    with pytest.raises(TimeoutError):
        asyncio.run(impatient())
    (late,) = (thread for thread in threading.enumerate() if thread.name == "late")
    may_end.set()
    late.join(timeout=10)
    assert not late.is_alive()
