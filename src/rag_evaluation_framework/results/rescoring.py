"""Scores a saved run anew from the answers in its journal: nobody is asked, nothing in it changes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, replace
from typing import IO

from rag_evaluation_framework.evaluation.runs.run_folder import RunFolder
from rag_evaluation_framework.evaluation.runs.sample_list import Samples
from rag_evaluation_framework.evaluation.runs.scoring import check_scorers, scored_result, writable_result
from rag_evaluation_framework.evaluation.scorers.named_scorers import MetricScorer
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.records.runs import RunHead
from rag_evaluation_framework.records.scores import Score
from rag_evaluation_framework.results.run_rows import RunRow, rows_of_folder

_ROWS_PER_THREAD = 4


def rescored_rows(
    folder: RunFolder, samples: Samples, scorers: Sequence[MetricScorer], *, threads: int = 16
) -> Iterator[RunRow]:
    """Yield the rows of a run with the scores of these scorers in place of those it had.

    ``samples`` must hold every sample of the run as it was; it may hold others too. Where a scorer waits for
    somebody else, such as a judge, so many ``threads`` wait at once.
    """
    check_scorers(scorers)

    def rescored(row: RunRow) -> RunRow:
        if row.sample is None:
            return row
        result = scored_result(row.sample, row.result.response, scorers)
        return replace(row, result=writable_result(row.sample, result, scorers))

    rows = (row for row in rows_of_folder(folder, samples) if row.sample is not None)
    if any(getattr(scorer, "is_slow", False) for scorer in scorers):
        return _in_threads(rescored, rows, threads)
    return map(rescored, rows)


def _in_threads(
    rescored: Callable[[RunRow], RunRow], rows: Iterable[RunRow], threads: int
) -> Iterator[RunRow]:
    """Yield the rows in order while many are being scored; no more than a few hundred are held."""
    pool = ThreadPoolExecutor(threads, thread_name_prefix="scoring")
    waiting: deque[Future[RunRow]] = deque()
    try:
        for row in rows:
            waiting.append(pool.submit(rescored, row))
            if len(waiting) > _ROWS_PER_THREAD * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        # Nobody waits for a judge any more where this ends early; whoever opened the judge closes it.
        pool.shutdown(wait=False, cancel_futures=True)


class RescoredRows:
    """The rows of a run, scored when they are first read; later readings find the scores in ``kept``."""

    def __init__(
        self,
        folder: RunFolder,
        samples: Samples,
        scorers: Sequence[MetricScorer],
        *,
        kept: IO[bytes],
        threads: int = 16,
    ) -> None:
        self._folder, self._samples, self._scorers, self._threads = folder, samples, scorers, threads
        self._kept = kept
        self._is_scored = False

    def __call__(self) -> Iterator[RunRow]:
        """Yield the rows in the order of the dataset."""
        return self._read() if self._is_scored else self._scored()

    def _scored(self) -> Iterator[RunRow]:
        self._kept.seek(0)
        for row in rescored_rows(self._folder, self._samples, self._scorers, threads=self._threads):
            self._kept.write(strict_json.encode([asdict(score) for score in row.result.scores]) + b"\n")
            yield row
        self._is_scored = True

    def _read(self) -> Iterator[RunRow]:
        self._kept.seek(0)
        rows = (row for row in rows_of_folder(self._folder, self._samples) if row.sample is not None)
        for row, line in zip(rows, self._kept, strict=True):
            scores = tuple(Score(**score) for score in strict_json.decode(line))
            yield replace(row, result=replace(row.result, scores=scores))


def rescored_head(folder: RunFolder, scorers: Sequence[MetricScorer]) -> RunHead:
    """Return the head of a run with the metrics it is scored by now, their methods and versions."""
    methods = {scorer.name: scorer.method for scorer in scorers}
    return replace(
        folder.head,
        configuration={**folder.head.configuration, "metrics": methods},
        metric_versions={scorer.name: scorer.version for scorer in scorers},
    )
