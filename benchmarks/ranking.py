"""Ranking metrics against pytrec_eval, ir_measures and ranx: the same run, the same nine metrics.

Every way runs in a process of its own, so that its peak memory is its own. CPU time is of the evaluation
alone, from inputs as each tool takes them: pytrec_eval, ir_measures and ranx get dictionaries of scores, and
ranx's conversion counts. Imports and ranx's compilation do not count. Memory is what the evaluation adds to
the peak of the process that holds its inputs.

Document ids come in two kinds, because memory decides much of the time: ``shared`` ids are the corpus's own
strings, as a retriever in the same process returns them; ``own`` ids are a new string at every mention, as a
run file is read.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchmarks._memory import peak_megabytes
from rag_evaluation_framework.metrics.ranking import evaluate_ranking

METRICS = ["hit@1", "hit@3", "hit@5", "ndcg@5", "ndcg@10", "mrr", "map@5", "precision@5", "recall@5"]
TREC_MEASURES = {"success.1,3,5", "ndcg_cut.5,10", "recip_rank", "map_cut.5", "P.5", "recall.5"}
IR_MEASURES = "Success@1 Success@3 Success@5 nDCG@5 nDCG@10 RR AP@5 P@5 R@5"
RANX_METRICS = [name.replace("hit@", "hit_rate@") for name in METRICS]

DOCUMENTS = 100
CORPUS = 1_000_003  # a prime, so that no stride brings a list back to a document it has
SIZES = (10_000, 100_000)
# ir_measures and ranx need gigabytes and minutes at the larger size, and are no faster there.
SMALL_ONLY = ("ir_measures", "ranx")

Evaluation = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Inputs:
    """A run and its judgements: one to five relevant documents a query, four in five of them retrieved."""

    run: npt.NDArray[np.int32]
    relevant: npt.NDArray[np.int32]
    name: Callable[[int], str]

    @classmethod
    def random(cls, queries: int, *, ids: str) -> Inputs:
        generator = np.random.default_rng(7)
        start = generator.integers(0, CORPUS, size=(queries, 1))
        stride = generator.integers(1, CORPUS, size=(queries, 1))
        run = ((start + stride * np.arange(DOCUMENTS)) % CORPUS).astype(np.int32)
        relevant = np.full((queries, 5), -1, dtype=np.int32)
        for row in range(queries):
            count = generator.integers(1, 6)
            ranks = np.unique(np.minimum(generator.geometric(0.12, size=count), DOCUMENTS)) - 1
            retrieved = generator.random(len(ranks)) < 0.8
            relevant[row, : len(ranks)] = np.where(retrieved, run[row, ranks], CORPUS + ranks)
        corpus = [f"doc{n}" for n in range(CORPUS + DOCUMENTS)] if ids == "shared" else []
        return cls(run, relevant, corpus.__getitem__ if corpus else "doc{}".format)

    def qrels(self) -> dict[str, dict[str, int]]:
        rows = enumerate(self.relevant)
        return {f"q{query}": {self.name(d): 1 for d in row.tolist() if d >= 0} for query, row in rows}

    def lists(self) -> dict[str, list[str]]:
        return {f"q{query}": [self.name(d) for d in row.tolist()] for query, row in enumerate(self.run)}

    def scores(self) -> dict[str, dict[str, float]]:
        return {
            f"q{query}": {self.name(d): 1.0 / rank for rank, d in enumerate(row.tolist(), start=1)}
            for query, row in enumerate(self.run)
        }


def from_lists(inputs: Inputs) -> Evaluation:
    qrels, run = inputs.qrels(), inputs.lists()
    return lambda: evaluate_ranking(qrels, run, METRICS)


def from_scores(inputs: Inputs) -> Evaluation:
    qrels, run = inputs.qrels(), inputs.scores()
    return lambda: evaluate_ranking(qrels, run, METRICS)


def from_arrays(inputs: Inputs) -> Evaluation:
    return lambda: evaluate_ranking(inputs.relevant, inputs.run, METRICS)


def pytrec_eval(inputs: Inputs) -> Evaluation:
    import pytrec_eval

    qrels, run = inputs.qrels(), inputs.scores()
    return lambda: pytrec_eval.RelevanceEvaluator(qrels, TREC_MEASURES).evaluate(run)


def ir_measures(inputs: Inputs) -> Evaluation:
    import ir_measures

    qrels, run = inputs.qrels(), inputs.scores()
    measures = [ir_measures.parse_measure(name) for name in IR_MEASURES.split()]
    return lambda: list(ir_measures.iter_calc(measures, qrels, run))


def ranx(inputs: Inputs) -> Evaluation:
    from ranx import Qrels, Run, evaluate

    qrels, run = inputs.qrels(), inputs.scores()
    evaluate(Qrels({"q0": qrels["q0"]}), Run({"q0": run["q0"]}), RANX_METRICS)  # compiles
    return lambda: evaluate(Qrels(qrels), Run(run), RANX_METRICS)


WAYS = {
    "pytrec_eval": pytrec_eval,
    "ours, ranked lists": from_lists,
    "ours, scores": from_scores,
    "ours, integer ids": from_arrays,
    "ir_measures": ir_measures,
    "ranx": ranx,
}


def measured(way: str, queries: int, ids: str) -> tuple[float, float]:
    """Return the CPU seconds of the best of three evaluations, and the megabytes the first one added."""
    evaluation = WAYS[way](Inputs.random(queries, ids=ids))
    before = peak_megabytes()
    seconds = []
    memory = []
    for _ in range(3):
        start = time.process_time()
        evaluation()
        seconds.append(time.process_time() - start)
        memory.append(peak_megabytes() - before)
    return min(seconds), memory[0]


def main() -> None:
    processes = multiprocessing.get_context("spawn")
    print(f"{len(METRICS)} ranking metrics, {DOCUMENTS} documents a query")
    for queries in SIZES:
        for ids in ("shared", "own"):
            title = f"{queries:,} queries, {ids} ids"
            print(f"\n{title:30}   CPU s   times pytrec_eval's speed   peak MB added")
            baseline = 0.0
            for way in WAYS:
                if way in SMALL_ONLY and queries != min(SIZES):
                    continue
                with processes.Pool(1) as pool:
                    seconds, memory = pool.apply(measured, (way, queries, ids))
                baseline = baseline or seconds
                print(f"  {way:28}{seconds:8.3f}{baseline / seconds:18.1f}×{memory:21.1f}", flush=True)


if __name__ == "__main__":
    main()
