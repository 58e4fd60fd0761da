"""A run in a process of its own, made to be killed: ``python killable_run.py OPTIONS_AS_JSON``.

Everything the tests look at afterwards is written with one call to a file opened for appending: each
request as it arrives at the target, each acknowledgement as it is told.
"""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import sys
from typing import Any

import msgspec
from simulated_targets import ExactMatch, final_bytes, number_of, samples

from rag_evaluation_framework import Options, RagEvalError, Request, Response
from rag_evaluation_framework.errors import TargetError
from rag_evaluation_framework.evaluation.engine import run_samples
from rag_evaluation_framework.files.atomic import write_bytes_atomically
from rag_evaluation_framework.records.runs import Progress
from rag_evaluation_framework.results.run_store import RunFolder


class Lines:
    """A file to which each line is added with one call."""

    def __init__(self, path: str) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)

    def add(self, *words: object) -> None:
        os.write(self._descriptor, (" ".join(map(str, words)) + "\n").encode())


class RecordedTarget:
    """Answers after a while; one sample in fifty fails for good, one in a hundred at its first attempt."""

    name = "recorded"

    def __init__(self, asks: Lines, seconds: float) -> None:
        self._asks = asks
        self._seconds = seconds
        self._tried: set[str] = set()

    async def answer(self, request: Request) -> Response:
        self._asks.add(request.sample.id, request.key)
        await asyncio.sleep(self._seconds)
        number = number_of(request.sample)
        if number % 50 == 7:
            raise TargetError("http-422", f"sample {number} is not for me")
        if number % 100 == 3 and request.sample.id not in self._tried:
            self._tried.add(request.sample.id)
            raise TargetError("http-500", "try again", retry=True)
        return Response(text=str(number + 1), contexts=(f"context of {number} " * 20,))

    async def close(self) -> None:
        pass


def finalise(folder: RunFolder, acks: Lines) -> None:
    acks.add("finalising")
    write_bytes_atomically(folder.results_path, final_bytes(folder))
    acks.add("finalised")


def main(options: dict[str, Any]) -> int:
    # A parent that ignores Ctrl-C (a shell's background job) hands that down.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    acks = Lines(options["acks"])
    target = RecordedTarget(Lines(options["asks"]), options["seconds"])
    folder = RunFolder.open(options["folder"])
    if "file_size" in options:
        resource.setrlimit(resource.RLIMIT_FSIZE, (options["file_size"], resource.RLIM_INFINITY))
    if "user" in options:
        os.seteuid(options["user"])

    def acknowledge(progress: Progress) -> None:
        acks.add("done", progress.done)

    try:
        outcome = run_samples(
            samples(options["count"]),
            target,
            [ExactMatch()],
            folder=folder,
            options=Options(concurrency=options["concurrency"]),
            on_progress=acknowledge,
        )
    except RagEvalError as error:
        acks.add("refused", error)
        return 2
    acks.add("ended", outcome.reason)
    if outcome.interrupted:
        return 130
    if not outcome.completed:
        return 3
    if options.get("finalise", True):
        finalise(folder, acks)
    acks.add("memory", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    return 0


if __name__ == "__main__":
    sys.exit(main(msgspec.json.decode(sys.argv[1])))
