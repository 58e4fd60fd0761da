"""A generation that is killed again and again ends with the same dataset, and asks nothing twice.

``RAG_EVAL_LONG_TESTS=1`` kills 50 times instead of 4.
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatReply, ChatServer, last_message, running_chat
from killable_generation import CONCURRENCY, DOCUMENTS, SETTINGS
from scripted_questions import Request, corpus_of, well_behaved

from rag_evaluation_framework.results.run_folder import RunFolder
from rag_evaluation_framework.synthesis.question_plan import QuestionSettings, planned_tasks
from rag_evaluation_framework.synthesis.question_prompts import sample_of
from sizes import size

SCRIPT = Path(__file__).with_name("killable_generation.py")
KILLS = size(4, 50)

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


class KillableGeneration:
    """A generation whose process can be started, killed and started again."""

    def __init__(self, directory: Path, server: ChatServer) -> None:
        directory.mkdir(parents=True)
        self.run, self.output = directory / "run", directory / "questions.eval.json"
        self._server = server

    def start(self) -> subprocess.Popen[bytes]:
        options = {"url": self._server.url, "run": str(self.run), "output": str(self.output)}
        return subprocess.Popen([sys.executable, str(SCRIPT), json.dumps(options)])

    def finish(self) -> bytes:
        with self.start() as process:
            assert process.wait(timeout=120) == 0
        return self.output.read_bytes()

    def finished(self) -> set[str]:
        if not (self.run / "head.json").exists():
            return set()
        return {result.sample_id for result in RunFolder.open(self.run).results()}

    def killed(self, chance: random.Random) -> bool:
        """Start, kill at a random moment, and tell whether it was complete before."""
        begun = len(self._server.requests)
        process = self.start()
        if chance.random() < 0.2:
            time.sleep(chance.uniform(0.0, 1.0))
        else:
            deadline = time.monotonic() + 60
            while len(self._server.requests) == begun and process.poll() is None:
                assert time.monotonic() < deadline
                time.sleep(0.005)
            time.sleep(chance.uniform(0.0, 0.9))
        process.send_signal(signal.SIGKILL)
        return process.wait() == 0


def asked_since(server: ChatServer, begun: int) -> list[str]:
    """Return the tasks that were put to the model since; the second request for a useless reply is none."""
    return [ID_OF[text] for each in server.requests[begun:] if (text := last_message(each)) in ID_OF]


def test_a_generation_killed_at_random_moments_gives_the_same_dataset_and_asks_nothing_twice(
    tmp_path: Path, server: ChatServer
) -> None:
    undisturbed = KillableGeneration(tmp_path / "undisturbed", server).finish()
    assert len(asked_since(server, 0)) == len(TASKS)
    written = json.loads(undisturbed)
    assert len(written["queries"]) > 100
    chance = random.Random(20261115)
    folders = map(str, count())
    generation = KillableGeneration(tmp_path / next(folders), server)
    finished: set[str] = set()
    kills = repeated = 0
    while kills < KILLS:
        begun = len(server.requests)
        is_complete = generation.killed(chance)
        kills += not is_complete
        since, now = asked_since(server, begun), generation.finished()
        # What was finished before this process began was not asked by it, and nothing was asked twice by it.
        assert not set(since) & finished
        assert len(since) == len(set(since))
        # What it asked and did not finish was in flight when it was killed.
        assert len(set(since) - now) <= CONCURRENCY
        assert finished <= now
        repeated += len(set(since) - now)
        finished = now
        if is_complete:
            assert generation.output.read_bytes() == undisturbed
            generation = KillableGeneration(tmp_path / next(folders), server)
            finished = set()
    assert repeated <= KILLS * CONCURRENCY
    assert generation.finish() == undisturbed
