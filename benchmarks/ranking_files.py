"""``rag-eval rank`` from files: TREC beside a pytrec_eval script, and Parquet beside DuckDB.

Whole processes, start included: CPU time, time by the clock and peak memory of each, the least of some tries.
``python -m benchmarks.ranking_files trec 100000`` takes so many queries, 100 documents each, and
``… parquet 1000000`` as many with 1,000 documents each: a billion rows, 7 GB that are deleted afterwards.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.ranking import Inputs

TREC_QUERIES, PARQUET_QUERIES, PARQUET_DOCUMENTS = 10_000, 10_000, 1_000
CORPUS = 10_000_019  # a prime, so that no stride brings a list back to a document it has
QUERIES_AT_A_TIME = 1_000

OURS = "from rag_evaluation_framework.cli.main import main; main()"

PYTREC_EVAL = """
import sys
import pytrec_eval

def read(path, place, number):
    table = {}
    with open(path) as lines:
        for line in lines:
            fields = line.split()
            table.setdefault(fields[0], {})[fields[2]] = number(fields[place])
    return table

measures = {"ndcg_cut.10", "map_cut.100", "recip_rank", "recall.10", "success.1"}
evaluator = pytrec_eval.RelevanceEvaluator(read(sys.argv[1], 3, int), measures)
found = evaluator.evaluate(read(sys.argv[2], 4, float))
for name in next(iter(found.values())):
    print(name, sum(each[name] for each in found.values()) / len(found))
"""

# The quickest of the ways that were tried: ranking all documents with a window takes four times as long.
DUCKDB = """
import sys
import duckdb

qrels, run, folder = sys.argv[1:]
connection = duckdb.connect(config={"memory_limit": "1900MB", "temp_directory": folder, "threads": 2})
connection.execute("SET enable_progress_bar = false")
print(connection.execute(f'''
  WITH top AS (
    SELECT query_id, unnest(found) AS doc_id, generate_subscripts(found, 1) AS rank
    FROM (SELECT query_id, max_by(doc_id, score, 10) AS found FROM '{run}' GROUP BY query_id)
  ), achieved AS (
    SELECT query_id, sum(relevance / log2(rank + 1)) AS gain
    FROM top JOIN '{qrels}' USING (query_id, doc_id) GROUP BY query_id
  ), ideal AS (
    SELECT query_id, sum(relevance / log2(place + 1)) AS gain
    FROM (
      SELECT query_id, relevance, row_number() OVER (PARTITION BY query_id ORDER BY relevance DESC) AS place
      FROM '{qrels}'
    )
    WHERE place <= 10 GROUP BY query_id
  )
  SELECT avg(coalesce(achieved.gain, 0) / ideal.gain) FROM ideal LEFT JOIN achieved USING (query_id)
''').fetchone()[0])
"""


@dataclass(frozen=True, slots=True)
class Took:
    """What a process took."""

    cpu: float
    clock: float
    megabytes: float
    said: str


def took(*commands: list[str], tries: int) -> list[Took]:
    """Run commands by turns, some times, and return the try of the least CPU time of each."""
    made: list[list[Took]] = [[] for _ in commands]
    for _ in range(tries):
        for command, tried in zip(commands, made, strict=True):
            tried.append(_took(command))
    return [min(tried, key=lambda each: each.cpu) for tried in made]


def _took(command: list[str]) -> Took:
    started = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        said = process.stdout.read() if process.stdout else ""
        _, process.returncode, used = os.wait4(process.pid, 0)
    if process.returncode:
        sys.exit(f"{command[3:]} ended with {process.returncode}")
    cpu = used.ru_utime + used.ru_stime
    return Took(cpu, time.perf_counter() - started, used.ru_maxrss / 1024, said)


def write_trec(folder: Path, queries: int) -> None:
    """Write judgements and a run, with scores of six decimals as search engines write them."""
    inputs = Inputs.random(queries, ids="own")
    generator = np.random.default_rng(1)
    with (folder / "qrels.trec").open("w", encoding="ascii") as file:
        for query, row in enumerate(inputs.relevant.tolist()):
            file.writelines(f"q{query} 0 doc{document} 1\n" for document in row if document >= 0)
    with (folder / "a.run").open("w", encoding="ascii") as file:
        for query, documents in enumerate(inputs.run.tolist()):
            scores = np.sort(generator.random(len(documents)) * 20)[::-1].tolist()
            file.writelines(
                f"q{query} Q0 doc{document} {rank} {score:.6f} a\n"
                for rank, (document, score) in enumerate(zip(documents, scores, strict=True), 1)
            )


def write_parquet(folder: Path, queries: int, documents: int = PARQUET_DOCUMENTS) -> None:
    """Write judgements and a run, a row group a thousand queries; it misses one relevant document in five."""
    import pyarrow
    from pyarrow import parquet

    rng = np.random.default_rng(7)
    text = pyarrow.string()
    kinds = {"run": ("score", pyarrow.float32()), "qrels": ("relevance", pyarrow.int8())}
    schemas = {
        name: pyarrow.schema({"query_id": text, "doc_id": text, column: kind})
        for name, (column, kind) in kinds.items()
    }
    writers = {
        name: parquet.ParquetWriter(
            folder / f"{name}.parquet",
            schema,
            compression="zstd",
            compression_level=1,
            use_dictionary=["query_id"],
            write_statistics=False,
        )
        for name, schema in schemas.items()
    }
    for first in range(0, queries, QUERIES_AT_A_TIME):
        size = min(QUERIES_AT_A_TIME, queries - first)
        names = _texts(np.arange(first, first + size), "q")
        start, stride = rng.integers(1, CORPUS, size=(2, size, 1))
        found = (start + stride * np.arange(documents)) % CORPUS
        scores = np.sort(rng.random((size, documents), dtype=np.float32), axis=1)[:, ::-1]
        ranks = np.sort(np.minimum(rng.geometric(0.08, size=(size, 4)), documents), axis=1) - 1
        judged = np.concatenate([np.ones((size, 1), dtype=bool), np.diff(ranks, axis=1) > 0], axis=1)
        is_missed = rng.random((size, 4)) < 0.2
        relevant = np.where(
            is_missed, (start + stride * (documents + ranks)) % CORPUS, np.take_along_axis(found, ranks, 1)
        )
        grades = rng.integers(1, 4, size=(size, 4)).astype(np.int8)
        for name, counts, ids, numbers in (
            ("run", np.full(size, documents), found.ravel(), scores.ravel()),
            ("qrels", judged.sum(axis=1), relevant[judged], grades[judged]),
        ):
            places = pyarrow.array(np.repeat(np.arange(size, dtype=np.int32), counts))
            queries_of_rows = pyarrow.DictionaryArray.from_arrays(places, names).cast(text)
            columns = [queries_of_rows, _texts(ids, "d"), pyarrow.array(numbers)]
            writers[name].write_table(pyarrow.table(columns, schema=schemas[name]), row_group_size=len(ids))
    for writer in writers.values():
        writer.close()


def _texts(numbers: np.ndarray, letter: str) -> object:
    """Return a letter and eight digits for each number."""
    import pyarrow

    texts = np.empty((len(numbers), 9), dtype=np.uint8)
    texts[:, 0] = ord(letter)
    rest = numbers.astype(np.uint32)
    for place in range(8, 0, -1):
        rest, digit = np.divmod(rest, np.uint32(10))
        texts[:, place] = digit + np.uint32(ord("0"))
    ends = np.arange(0, texts.size + 1, 9, dtype=np.int32)
    return pyarrow.StringArray.from_buffers(
        len(numbers), pyarrow.py_buffer(ends), pyarrow.py_buffer(texts.tobytes())
    )


def compare(title: str, ours: Took, peer: str, theirs: Took) -> None:
    print(f"{title:40}   CPU s   clock s   peak MB")
    for name, each in (("rag-eval rank", ours), (peer, theirs)):
        print(f"  {name:38}{each.cpu:8.2f}{each.clock:10.2f}{each.megabytes:10.0f}")
    print(
        f"  {peer} / rag-eval rank: {theirs.cpu / ours.cpu:.2f}× CPU, {theirs.clock / ours.clock:.2f}× clock"
    )
    print(flush=True)


def compare_trec(queries: int) -> None:
    with TemporaryDirectory() as folder:
        _apart(write_trec, Path(folder), queries)
        files = (f"{folder}/qrels.trec", f"{folder}/a.run")
        tries = 8 if queries <= TREC_QUERIES else 2
        ours, theirs = took(
            [sys.executable, "-c", OURS, "rank", *files],
            [sys.executable, "-c", PYTREC_EVAL, *files],
            tries=tries,
        )
        compare(f"TREC, {queries:,} queries × 100", ours, "pytrec_eval script", theirs)


def compare_parquet(queries: int) -> None:
    with TemporaryDirectory() as folder:
        _apart(write_parquet, Path(folder), queries)
        files = (f"{folder}/qrels.parquet", f"{folder}/run.parquet")
        tries = 3 if queries <= PARQUET_QUERIES else 1
        ours, theirs = took(
            [sys.executable, "-c", OURS, "rank", *files, "-m", "ndcg@10", "--json"],
            [sys.executable, "-c", DUCKDB, *files, folder],
            tries=tries,
        )
        found = json.loads(ours.said)["systems"][0]["metrics"]["ndcg@10"]["value"]
        if abs(found - float(theirs.said)) > 1e-5:  # whose ties are in no order
            sys.exit(f"nDCG@10: ours {found}, DuckDB's {theirs.said}")
        compare(f"Parquet, {queries * PARQUET_DOCUMENTS:,} rows, ndcg@10", ours, "DuckDB", theirs)


def _apart(write: object, *arguments: object) -> None:
    """Write files in a process of its own, whose memory is not the children's to begin with."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        pool.apply(write, arguments)  # type: ignore[arg-type]


def main() -> None:
    kind, size = sys.argv[1:3] if len(sys.argv) == 3 else ("", "0")
    if kind == "trec":
        compare_trec(int(size))
    elif kind == "parquet":
        compare_parquet(int(size))
    else:
        compare_trec(TREC_QUERIES)
        compare_parquet(PARQUET_QUERIES)


if __name__ == "__main__":
    main()
