"""Every reader against files that change where that reaches new code: no error but ours, no hang.

``python -m benchmarks.guided_fuzz [SECONDS] [READER,…]`` (``make fuzz``) divides ten minutes, or so many
seconds, among the readers below, one process each. atheris watches which lines a file reaches and changes
further what reached new ones, byte by byte or by the mutations of :mod:`benchmarks.fuzz`. Where there are two
ways to read a file, both must read the same. What is found is kept under ``build/fuzz``, and so are the files
that reached something, for the next time to begin with.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks import fuzz

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "build" / "fuzz"
SECONDS = 600
_HANGS_AFTER = 20
_MOST_MB = 1500  # of the process, with what is kept of thousands of files
_LARGEST_FILE = 1 << 16
_TOLD = "told.json"

Reader = Callable[[Path], object]


def read_samples(path: Path) -> None:
    """Validate a dataset and read it; what reads as plain rows does so with a map too."""
    from rag_evaluation_framework import read_dataset, validate_file
    from rag_evaluation_framework.datasets.rows import rows_at
    from rag_evaluation_framework.errors import RagEvalError

    for read in (
        lambda: list(validate_file(path)),
        lambda: read_dataset(path),
        lambda: sum(1 for _ in rows_at(path)[0].stream(path)),
        lambda: read_dataset(path, map={"question": "question", "answer": "reply"}),
    ):
        with suppress(RagEvalError):
            read()


def read_judgements(path: Path) -> None:
    """Read judgements line by line and in columns; who reads both reads the same."""
    from rag_evaluation_framework.datasets.trec import read_qrels
    from rag_evaluation_framework.datasets.trec_tables import read_qrel_columns
    from rag_evaluation_framework.metrics.judged_columns import NotPlain

    try:
        columns = read_qrel_columns(path)
    except NotPlain:
        read_qrels(path)
        return
    ends = columns.counts.cumsum()
    documents, grades = columns.documents.texts(), columns.grades.tolist()
    found = {
        query: dict(zip(documents[end - count : end], grades[end - count : end], strict=True))
        for query, end, count in zip(columns.queries, ends.tolist(), columns.counts.tolist(), strict=True)
    }
    if sum(map(len, found.values())) == len(documents):  # a document that stands twice is found later
        assert read_qrels(path) == found, "columns and lines differ"


def read_ranking(path: Path) -> None:
    """Read a run line by line and in blocks; who reads both reads the same."""
    from rag_evaluation_framework.datasets.trec import read_run
    from rag_evaluation_framework.datasets.trec_tables import RunFile
    from rag_evaluation_framework.metrics.judged_columns import NotPlain

    found: dict[str, dict[str, float]] = {}
    rows = 0
    try:
        for block in RunFile(path).blocks():
            documents, scores = iter(block.documents.texts()), iter(block.scores.tolist())
            for query, count in zip(block.queries, block.counts.tolist(), strict=True):
                rows += count
                ranked = found.setdefault(query, {})
                for _ in range(count):
                    ranked[next(documents)] = next(scores)
    except NotPlain:
        read_run(path)
        return
    if rows and rows == sum(map(len, found.values())):
        exact = read_run(path)
        assert {query: _places(ranked) for query, ranked in exact.items()} == {
            query: _places(ranked) for query, ranked in found.items()
        }, "blocks and lines differ"


def _places(scores: Any) -> dict[str, int]:
    """Return the place of each document: the scores of a block need only order as exact ones do."""
    places = {score: place for place, score in enumerate(sorted(set(scores.values())))}
    return {document: places[score] for document, score in scores.items()}


def read_table(path: Path) -> None:
    """Read a table of judgements and of a run, by rows and by columns."""
    from rag_evaluation_framework.datasets.ranking_tables import TableRun, table_qrels
    from rag_evaluation_framework.datasets.trec import read_qrels, read_run
    from rag_evaluation_framework.errors import RagEvalError
    from rag_evaluation_framework.metrics.judged_columns import NotPlain

    for read in (read_qrels, read_run, table_qrels, lambda each: list(TableRun(each).blocks())):
        with suppress(RagEvalError, NotPlain):
            read(path)


def read_specification(path: Path) -> None:
    """Read a specification; its canonical text reads as the same."""
    from rag_evaluation_framework.components import CHUNKERS, component_from
    from rag_evaluation_framework.errors import RagEvalError
    from rag_evaluation_framework.extensions import parse_specification

    for line in path.read_bytes().decode("utf-8", "replace").split("\n"):
        with suppress(RagEvalError):
            read = parse_specification(line)
            again = parse_specification(str(read))
            assert (again, str(again)) == (read, str(read)), "the canonical text reads otherwise"
            component_from(CHUNKERS, read)


def read_json(path: Path) -> None:
    """Decode JSON and YAML; what strict JSON accepts means the same to the standard library."""
    from rag_evaluation_framework.errors import RagEvalError
    from rag_evaluation_framework.files import strict_json, yaml_documents

    data = path.read_bytes()
    with suppress(RagEvalError):
        yaml_documents.decode(data)
    value = strict_json.decode(data)
    assert json.dumps(value) == json.dumps(json.loads(data)), "JSON means something else"
    assert strict_json.decode(strict_json.encode(value)) == value, "JSON is not written as it was read"


def read_run(path: Path) -> None:
    """Load a run whose journal, or whose head, is the file."""
    from rag_evaluation_framework import load

    evaluation: Any = load(path.parent)
    sum(1 for _ in evaluation.rows)


def _documents(path: Path) -> None:
    from rag_evaluation_framework import Corpus

    Corpus.from_folder(path.parent, "**/*.html")


def _named(module: str, function: str) -> Reader:
    """Return a reader that is a function as it is; its module is loaded when a file is there."""

    def read(path: Path) -> object:
        return getattr(import_module(f"rag_evaluation_framework.{module}"), function)(path)

    return read


_FIXTURES = ("tests/fixtures/tools", "tests/fixtures/rows", "tests/fixtures/traces")
_SPECIFICATIONS = b"""recursive(chunk_size=200, overlap=50)
semantic(embedder=hashing(dimensions=8), least=-.5e3)
a(b=[1, 'x'], c=None)"""
# By the name of what is read: the file's name, the reader, and the grammars that good files are taken from.
READERS: dict[str, tuple[str, Reader, tuple[str, ...]]] = {
    "samples": (
        "bad.jsonl",
        read_samples,
        ("agent-samples", "rows", "offline-records", "recorded-answers", "evaluation-dataset", "golden"),
    ),
    "tables": ("bad.csv", read_samples, ("csv", "rows")),
    "parquet": ("bad.parquet", read_samples, ("parquet",)),
    "traces": ("bad.traces.jsonl", read_samples, ("traces",)),
    "archives": ("bad.eval", read_samples, ()),
    "annotations": ("bad.gt.json", _named("datasets.annotations", "read_annotations"), ("annotations",)),
    "judgements": ("bad.qrels", read_judgements, ("qrels",)),
    "rankings": ("bad.run", read_ranking, ("run",)),
    "ranking-tables": ("bad.parquet", read_table, ()),
    "manifest": ("bad.yaml", _named("evaluation.manifest", "read_manifest"), ("manifest",)),
    "configuration": ("bad.yaml", _named("datasets.value_files", "read_configuration"), ("configuration",)),
    "specifications": ("bad.txt", read_specification, ()),
    "json": ("bad.json", read_json, ("evaluation-dataset", "golden-multiturn", "manifest")),
    "results": ("bad.results.json", _named("results.stored_runs", "load"), ("results",)),
    "journal": ("journal.jsonl", read_run, ("journal",)),
    "head": ("head.json", read_run, ("head",)),
    "documents": ("page.html", _documents, ("html", "markdown")),
}


def first_files(name: str, base: Path) -> Iterable[bytes]:
    """Yield good files of a reader: those of the grammars, and what other tools wrote."""
    file, _, grammars = READERS[name]
    for grammar in grammars:
        if grammar in fuzz.grammars():
            yield from fuzz.seeds_of(grammar, base)
    if name == "specifications":
        yield _SPECIFICATIONS
    if name == "ranking-tables":
        yield from _ranking_tables()
    if name in ("samples", "tables", "traces", "archives", "parquet"):
        suffix = Path(file).suffix
        alike = {".jsonl": (".jsonl", ".json"), ".csv": (".csv", ".tsv")}.get(suffix, (suffix,))
        for folder in _FIXTURES:
            for path in sorted((ROOT / folder).iterdir()):
                if path.suffix in alike and path.stat().st_size <= _LARGEST_FILE:
                    yield path.read_bytes()


def _ranking_tables() -> Iterable[bytes]:
    import io

    import pyarrow
    from pyarrow import parquet

    ids = {"query_id": ["q1", "q1", "q2"], "doc_id": ["d1", "d2", "d1"]}
    for numbers in ({"relevance": [1, 0, 2]}, {"score": [0.5, 0.25, 3.0]}):
        stream = io.BytesIO()
        parquet.write_table(pyarrow.table({**ids, **numbers}), stream)
        yield stream.getvalue()


# One reader, in a process of its own.


def _watch(name: str, base: Path, seconds: int) -> None:
    """Give one reader changed files for so many seconds; atheris ends the process."""
    atheris: Any = import_module("atheris")  # of an environment of its own
    kept, corpus = KEPT / name, KEPT / name / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for data in first_files(name, base):
        (corpus / sha256(data).hexdigest()[:16]).write_bytes(data)
    file, read, _ = READERS[name]
    folder = base / "runs" / "old" if read is read_run else base / name
    folder.mkdir(exist_ok=True)
    path = folder / file
    told: dict[str, dict[str, str]] = {}

    def once(data: bytes) -> None:
        from rag_evaluation_framework.errors import RagEvalError

        path.write_bytes(data)
        try:
            read(path)
        except RagEvalError:
            return
        except Exception as error:  # noqa: BLE001 - whatever a reader lets out is what is looked for
            last = traceback.extract_tb(error.__traceback__)[-1]
            what = f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}"
            if what not in told:
                (kept / f"fault-{len(told)}").write_bytes(data)
                told[what] = {"file": f"fault-{len(told)}", "said": traceback.format_exc()[-2000:]}
                (kept / _TOLD).write_text(json.dumps(told), encoding="utf-8")

    def changed(data: bytes, largest: int, seed: int) -> bytes:
        chance = random.Random(seed)
        if chance.random() < 0.5:
            return bytes(atheris.Mutate(data, largest))
        return fuzz.mutated(data, chance)[:largest]

    with atheris.instrument_imports(include=["rag_evaluation_framework"]):
        flags = [
            f"-max_total_time={seconds}",
            f"-timeout={_HANGS_AFTER}",
            f"-rss_limit_mb={_MOST_MB}",
            f"-max_len={_LARGEST_FILE}",
            f"-artifact_prefix={kept}/",
            "-print_final_stats=1",
            "-verbosity=0",
        ]
        atheris.Setup(["fuzz", *flags, str(corpus)], once, custom_mutator=changed)
        atheris.Fuzz()


def _watched(name: str, seconds: int) -> tuple[str, int, dict[str, str]]:
    """Run one reader's process; return its name, how many files it was given, and what was found."""
    kept = KEPT / name
    kept.mkdir(parents=True, exist_ok=True)
    for old in kept.iterdir():
        if old.is_file():
            old.unlink()
    with tempfile.TemporaryDirectory() as base:
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.guided_fuzz", "--watch", name, base, str(seconds)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=10 * seconds + 300,
            check=False,
        )
    found = {}
    if (kept / _TOLD).exists():
        told = json.loads((kept / _TOLD).read_text(encoding="utf-8"))
        found = {what: f"{kept / each['file']}\n{each['said']}" for what, each in told.items()}
    for artifact in kept.iterdir():  # a file that took too long, or too much
        if artifact.name.startswith(("timeout-", "oom-", "crash-", "leak-")):
            found[artifact.name.partition("-")[0]] = f"{artifact}\n{done.stderr[-2000:]}"
    counts = [line.rpartition(" ")[2] for line in done.stderr.splitlines() if "number_of_executed" in line]
    if not counts and not found:
        found["no beginning"] = done.stderr[-3000:]
    return name, int(counts[-1]) if counts else 0, found


def main(seconds: int = SECONDS, names: tuple[str, ...] = ()) -> int:
    """Print how many files each reader was given and what was found; return how many faults there are."""
    chosen = names or tuple(READERS)
    side_by_side = max(1, (os.cpu_count() or 2) - 1)
    each = max(5, seconds * side_by_side // len(chosen))
    faults = files = 0
    with ThreadPoolExecutor(side_by_side) as pool:
        for name, count, found in pool.map(lambda name: _watched(name, each), chosen):
            files += count
            faults += len(found)
            print(f"{name:<16} {count:>9,} files, {len(found)} faults", flush=True)
            for what, said in found.items():
                print(f"FAULT {what}: {said}", flush=True)
    print(f"{files:,} files, {faults} faults")
    return faults


if __name__ == "__main__":
    if sys.argv[1:2] == ["--watch"]:
        folder = Path(sys.argv[3])
        fuzz.project(folder)
        os.chdir(folder)
        _watch(sys.argv[2], folder, int(sys.argv[4]))
    given = dict(enumerate(sys.argv))
    named = tuple(given[2].split(",")) if 2 in given else ()
    if unknown := sorted(set(named) - READERS.keys()):
        sys.exit(f"there is no reader {', '.join(unknown)}; there are {', '.join(READERS)}")
    sys.exit(bool(main(int(given.get(1, SECONDS)), named)))
