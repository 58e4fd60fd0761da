"""A generation that is killed again and again ends with the same dataset, and asks nothing twice.

``RAG_EVAL_LONG_TESTS=1`` kills 50 times instead of 4.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatReply, ChatServer, last_message, running_chat
from killable_generation import CONCURRENCY, DOCUMENTS, SETTINGS
from scripted_questions import Request, corpus_of, well_behaved

from rag_evaluation_framework.results.run_store import RunFolder
from rag_evaluation_framework.synthesis.question_plan import QuestionSettings, planned_tasks
from rag_evaluation_framework.synthesis.question_prompts import sample_of
from sizes import size

SCRIPT = Path(__file__).with_name("killable_generation.py")
KILLS, KILLS_OF_ONE = size(4, 50), 4
TASKS = planned_tasks(corpus_of(DOCUMENTS), QuestionSettings(**SETTINGS, seed=3))
ID_OF = {sample.turns[1].content: sample.id for sample in (sample_of(task, seed=3) for task in TASKS)}


def slow_and_not_always_right(asked: dict[str, Any]) -> ChatReply:
    """Reply after a while: one task in seven with something useless, one in five without passages."""
    request = Request(asked)
    place = list(ID_OF).index(last_message(asked)) if last_message(asked) in ID_OF else 3
    if place % 7 == 3:
        return ChatReply(content="I would rather not.", delay=0.05)
    text = well_behaved(asked)
    if place % 5 == 2 and "excerpts" in request.fields:
        text = json.dumps({"questions": [{**each, "excerpts": []} for each in request.questions()]})
    return ChatReply(content=text, delay=0.05)


@pytest.fixture(scope="module")
def server() -> Iterator[ChatServer]:
    with running_chat(slow_and_not_always_right) as running:
        yield running


def start_generation(folder: Path, server: ChatServer) -> subprocess.Popen[bytes]:
    options = {"url": server.url, "run": str(folder / "run"), "output": str(folder / "questions.eval.json")}
    return subprocess.Popen([sys.executable, str(SCRIPT), json.dumps(options)])


def finish_generation(folder: Path, server: ChatServer) -> bytes:
    with start_generation(folder, server) as process:
        assert process.wait(timeout=120) == 0
    return (folder / "questions.eval.json").read_bytes()


def tasks_since(server: ChatServer, begun: int) -> list[str]:
    """Return the tasks that were put to the model since; the second request for a useless reply is none."""
    return [ID_OF[text] for each in server.requests[begun:] if (text := last_message(each)) in ID_OF]


def kill_at_random(folder: Path, server: ChatServer, chance: random.Random) -> list[str]:
    """Start, kill at a random moment after the first request, and return the tasks that were asked."""
    begun, until = len(server.requests), time.monotonic() + 60
    process = start_generation(folder, server)
    while len(server.requests) == begun and process.poll() is None:
        assert time.monotonic() < until
        time.sleep(0.005)
    time.sleep(chance.uniform(0.0, 0.9))
    process.kill()
    process.wait()
    return tasks_since(server, begun)


def test_a_generation_killed_at_random_moments_gives_the_same_dataset_and_asks_nothing_twice(
    tmp_path: Path, server: ChatServer
) -> None:
    undisturbed = finish_generation(tmp_path / "undisturbed", server)
    assert len(tasks_since(server, 0)) == len(TASKS)
    assert len(json.loads(undisturbed)["queries"]) > 100
    chance = random.Random(20261115)
    for generation in range(0, KILLS, KILLS_OF_ONE):
        folder, finished = tmp_path / str(generation), set[str]()
        for _ in range(KILLS_OF_ONE):
            asked = kill_at_random(folder, server, chance)
            # What was finished before was not asked again, and nothing twice by one process.
            assert not finished.intersection(asked)
            assert len(asked) == len(set(asked))
            is_begun = (folder / "run" / "head.json").exists()
            results = RunFolder.open(folder / "run").results() if is_begun else ()
            before, finished = finished, {result.sample_id for result in results}
            assert before <= finished
            assert len(set(asked) - finished) <= CONCURRENCY  # in flight when it was killed
        assert finish_generation(folder, server) == undisturbed
