"""Samples, targets and scorers whose behaviour is a function of the sample alone, for the engine's tests."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from rag_evaluation_framework import Request, Response, Sample, Score, Turn, Usage
from rag_evaluation_framework.errors import TargetError
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.records.runs import RunHead, result_fields
from rag_evaluation_framework.results.run_store import NEW_RUN, RunFolder


def sample(number: int, *, reference: str | None = None) -> Sample:
    question = f"What is {number} plus one?"
    return Sample(
        id=f"q{number:05}",
        turns=(Turn(role="user", content=question),),
        reference=str(number + 1) if reference is None else reference,
    )


def samples(count: int) -> Callable[[], Iterator[Sample]]:
    """Return a function that makes the samples one by one, so that none is held in memory."""
    return lambda: (sample(number) for number in range(count))


def new_folder(directory: Path, *, run_id: str = NEW_RUN) -> RunFolder:
    return RunFolder.create(directory, RunHead(run_id=run_id, dataset_id="sums"))


def final_bytes(folder: RunFolder) -> bytes:
    """Return what must not depend on how the run went: all results in dataset order, without times."""
    return b"\n".join(strict_json.encode(result_fields(result)) for result in folder.results())


class ExactMatch:
    name = "exact_match"
    method = "exact"

    def score(self, sample: Sample, response: Response) -> Score:
        return Score.scored(self.name, float(response.text == sample.reference), method=self.method)


class Calculator:
    """Answers rightly, but for the answers and faults it is told to give; remembers what it was asked.

    ``faults`` has the errors of the first attempts at a sample, in order.
    """

    name = "calculator"

    def __init__(
        self,
        *,
        delay: Callable[[Sample], float] = lambda _: 0.0,
        faults: Callable[[Sample], list[TargetError]] = lambda _: [],
    ) -> None:
        self.asked: Counter[str] = Counter()
        self.requests: list[Request] = []
        self.most_at_once = 0
        self.closed = 0
        self.delay = delay
        self._faults = faults
        self._at_once = 0

    async def answer(self, request: Request) -> Response:
        self.requests.append(request)
        self.asked[request.sample.id] += 1
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            await asyncio.sleep(self.delay(request.sample))
        finally:
            self._at_once -= 1
        faults = self._faults(request.sample)
        if self.asked[request.sample.id] <= len(faults):
            raise faults[self.asked[request.sample.id] - 1]
        answer = str(int(request.sample.id[1:]) + 1)
        return Response(text=answer, usage=Usage(input_tokens=10, output_tokens=2, cost_usd=0.5))

    async def close(self) -> None:
        self.closed += 1


def number_of(sample: Sample) -> int:
    return int(sample.id[1:])
