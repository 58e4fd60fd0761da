"""Benchmark data in JSON, Parquet and HDF5: the same value in all three, and no trust in the file."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework import InputError
from rag_evaluation_framework.datasets.benchmark_files import (
    read_benchmark,
    read_table,
    table_bytes,
    write_benchmark,
)
from rag_evaluation_framework.errors import LimitExceededError

BENCHMARK: dict[str, Any] = {
    "benchmark_id": "latency_benchmarks",
    "version": "1.0.0",
    "created_at": "2025-08-30T12:00:00Z",
    "metadata": {"machine": "笔记本", "notes": ["\u2028", {"deep": None}]},
    "unknown": [1, 2.5],
    "records": [
        {"query": "What is RAG? ❓", "p95_ms": 2100, "mean": 0.1, "ok": True, "mixed": 1, "note": None},
        {"query": "שלום\r\n", "p95_ms": -5, "mean": -0.0, "ok": False, "mixed": "one"},
        {
            "query": "\0 \ufeff",
            "p95_ms": 2**62,
            "mean": 5e-324,
            "ok": True,
            "mixed": 2**80,
            "a/b": "",
            "": "x",
        },
    ],
}
NAMES = [
    "b.benchmark.json",
    "b.benchmark.yaml",
    "b.benchmark.parquet",
    "b.benchmark.h5",
    "b.h5.gz",
    "b.json.zst",
]


@pytest.mark.parametrize("name", NAMES)
def test_every_format_gives_back_what_was_written(tmp_path: Path, name: str) -> None:
    write_benchmark(BENCHMARK, tmp_path / name)
    read = read_benchmark(tmp_path / name)
    assert read == BENCHMARK
    # Equality would take 1 for 1.0 and True, and -0.0 for 0.0.
    assert json.dumps(read, sort_keys=True) == json.dumps(BENCHMARK, sort_keys=True)


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts
names = st.sampled_from(["a", "b", "extra_fields", "名", "x.y", "/"]) | texts


@given(st.lists(st.dictionaries(names, scalars, max_size=4), max_size=6))
def test_any_flat_records_survive_hdf5(records: list[dict[str, Any]]) -> None:
    head, read = read_table(table_bytes({"benchmark_id": "b"}, records), file="b.h5")
    assert (head, read) == ({"benchmark_id": "b"}, records)
    assert json.dumps(read, sort_keys=True) == json.dumps(records, sort_keys=True)


def test_a_table_of_another_tool_is_named_after_its_file(tmp_path: Path) -> None:
    pq.write_table(pa.table({"p95": [1.5, None]}), tmp_path / "throughput.parquet")
    read = read_benchmark(tmp_path / "throughput.parquet")
    assert read == {"benchmark_id": "throughput", "records": [{"p95": 1.5}, {}]}


def test_a_parquet_file_that_was_cut_short_is_noticed(tmp_path: Path) -> None:
    write_benchmark(BENCHMARK, tmp_path / "b.parquet")
    pq.write_table(pq.read_table(tmp_path / "b.parquet").slice(0, 2), tmp_path / "b.parquet")
    with pytest.raises(InputError, match=r"b\.parquet: expected 3 rows, got 2"):
        read_benchmark(tmp_path / "b.parquet")


@pytest.mark.parametrize("name", NAMES)
def test_what_is_no_benchmark_is_neither_written_nor_read(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"records\[0\]\.nested: expected text or a number"):
        write_benchmark({"benchmark_id": "b", "records": [{"nested": []}]}, tmp_path / name)
    with pytest.raises(InputError, match="benchmark_id"):
        write_benchmark({"records": []}, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


SECRET = b"the secret of another file"
HEAD = json.dumps(
    {"head": {"benchmark_id": "b"}, "rows": 1, "columns": [{"name": "x", "kind": "truths"}]}
).encode()


def hostile(change: Callable[[h5py.File], None]) -> bytes:
    """A file as ours, whose only column is made by ``change``."""
    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        file["head"] = np.frombuffer(HEAD, dtype=np.uint8)
        file.create_group("columns")
        change(file)
    return buffer.getvalue()


def external_link(file: h5py.File) -> None:
    file["columns/0"] = h5py.ExternalLink("secret.h5", "/secret")


def external_storage(file: h5py.File) -> None:
    file.create_dataset("columns/0", (1,), np.uint8, external=[("secret.bin", 0, h5py.h5f.UNLIMITED)])


def virtual(file: h5py.File) -> None:
    layout = h5py.VirtualLayout((1,), np.uint8)
    layout[:] = h5py.VirtualSource("secret.h5", "secret", shape=(1,))
    file.create_virtual_dataset("columns/0", layout)


def huge(file: h5py.File) -> None:
    file.create_dataset("columns/0", (1 << 40,), np.uint8, chunks=(1 << 20,))


def vlen_texts(file: h5py.File) -> None:
    file.create_dataset("columns/0", (1,), h5py.string_dtype())


def foreign_filter(file: h5py.File) -> None:
    file.create_dataset("columns/0", data=np.zeros(1, np.uint8), chunks=(1,), compression="lzf")


def linked_folder(file: h5py.File) -> None:
    del file["columns"]
    file["columns"] = h5py.ExternalLink("secret.h5", "/")


def two_rows(file: h5py.File) -> None:
    file["columns/0"] = np.zeros(2, np.uint8)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (external_link, "/columns/0: expected a part of this file, got a link (ExternalLink)"),
        (linked_folder, "/columns/0: expected a part of this file, got a link (ExternalLink)"),
        (external_storage, "/columns/0: expected data in this file, got data in other files"),
        (virtual, "/columns/0: expected data in this file, got data in other files"),
        (huge, "/columns/0: expected at most 16,777,216 bytes when expanded, got 1,099,511,6"),
        (vlen_texts, "/columns/0: expected a list of uint8, got object"),
        (foreign_filter, "/columns/0: expected no filters except deflate and shuffle, got [32000]"),
        (two_rows, "/columns/0: expected 1 row, got 2"),
    ],
)
def test_a_file_that_points_elsewhere_or_claims_too_much_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[h5py.File], None], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret.bin").write_bytes(SECRET)
    with h5py.File("secret.h5", "w") as file:
        file["secret"] = np.frombuffer(SECRET, dtype=np.uint8)
    (tmp_path / "b.h5").write_bytes(hostile(change))
    with pytest.raises(InputError) as caught:
        read_benchmark("b.h5")
    assert str(caught.value).startswith(f"b.h5: {message}")
    assert "\n" not in str(caught.value)


def test_more_rows_than_the_file_could_hold_are_refused() -> None:
    stated = json.dumps({"head": {}, "rows": 10**12, "columns": []}).encode()
    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        file["head"] = np.frombuffer(stated, dtype=np.uint8)
    with pytest.raises(LimitExceededError, match="/head: expected at most"):
        read_table(buffer.getvalue(), file="b.h5")


def test_texts_whose_ends_do_not_rise_are_refused() -> None:
    data = table_bytes({}, [{"t": "abc"}, {"t": "de"}])
    buffer = io.BytesIO(data)
    with h5py.File(buffer, "r+") as file:
        file["columns/0/ends"][...] = [9, 5]
    with pytest.raises(InputError, match="expected ascending end positions"):
        read_table(buffer.getvalue(), file="b.h5")


@pytest.mark.parametrize("length", [8, 100, 900, 2000])
def test_a_truncated_file_is_refused_in_one_line(tmp_path: Path, length: int) -> None:
    data = table_bytes({"benchmark_id": "b"}, [{"a": "x" * 5000}])
    (tmp_path / "b.h5").write_bytes(data[:length])
    with pytest.raises(InputError, match=r"b\.h5: .*") as caught:
        read_benchmark(tmp_path / "b.h5")
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak is read from Linux's /proc")
def test_a_file_that_claims_a_terabyte_is_refused_in_little_memory(tmp_path: Path) -> None:
    (tmp_path / "b.h5").write_bytes(hostile(huge))
    # Not getrusage: a new process inherits its parent's peak there.
    program = (
        "import sys\n"
        "from rag_evaluation_framework.datasets.benchmark_files import read_benchmark\n"
        "from rag_evaluation_framework.errors import LimitExceededError\n"
        "try:\n    read_benchmark(sys.argv[1])\n"
        "except LimitExceededError:\n"
        "    print(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])\n"
    )
    arguments = [sys.executable, "-c", program, str(tmp_path / "b.h5")]
    done = subprocess.run(arguments, capture_output=True, text=True)
    assert int(done.stdout) * 1024 < 200 << 20, done.stderr
