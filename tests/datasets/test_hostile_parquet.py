"""Parquet files that expand to far more than they are: refused with one line, in little time and memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from rag_evaluation_framework import InputError, UsageError
from rag_evaluation_framework.datasets.parquet_tables import read_rows, write_rows
from rag_evaluation_framework.datasets.ragas import RAGAS
from rag_evaluation_framework.errors import LimitExceededError
from rag_evaluation_framework.files.access import Limits

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

MEGABYTE = 1 << 20
READ = """
import json, sys, time
from rag_evaluation_framework.datasets.recognition import read_dataset
from rag_evaluation_framework.errors import LimitExceededError
start = time.process_time()
try:
    read_dataset(sys.argv[1])
    message = ""
except LimitExceededError as error:
    message = str(error)
# The peak of this program alone: getrusage would count the parent's memory before exec.
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps([message, time.process_time() - start, int(peak.split()[1]) / 1024]))
"""


def four_gigabytes_in_a_dictionary(path: Path) -> None:
    """1,000 rows of one text of 4 MB: 4 GB in some kilobytes, while the footer claims 4 MB."""
    rows = pyarrow.DictionaryArray.from_arrays(
        pyarrow.array([0] * 1000, pyarrow.int32()), ["x" * (4 * MEGABYTE)]
    )
    parquet.write_table(pyarrow.table({"user_input": rows, "response": rows}), path, compression="zstd")


def four_gigabytes_in_lists(path: Path) -> None:
    rows = pyarrow.DictionaryArray.from_arrays(
        pyarrow.array([0] * 1000, pyarrow.int32()), ["x" * (4 * MEGABYTE)]
    )
    lists = pyarrow.ListArray.from_arrays(list(range(1001)), rows)
    parquet.write_table(
        pyarrow.table({"user_input": ["q"] * 1000, "retrieved_contexts": lists}), path, compression="zstd"
    )


def plain_pages(path: Path) -> None:
    """32 MB of one letter, which the footer admits."""
    texts = ["x" * MEGABYTE] * 32
    table = pyarrow.table({"user_input": texts, "response": ["r"] * 32})
    parquet.write_table(table, path, compression="zstd", use_dictionary=False)


def plain_pages_with_a_footer_that_lies(path: Path) -> None:
    """The same, with every size in the footer overwritten by a small one of as many bytes."""
    plain_pages(path)
    row_group = parquet.read_metadata(path).row_group(0)
    data = path.read_bytes()
    for size in (row_group.total_byte_size, row_group.column(0).total_uncompressed_size):
        written = varint(2 * size)  # zigzag
        data = data.replace(written, bytes([0x82] + [0x80] * (len(written) - 2) + [0]))
    path.write_bytes(data)
    assert parquet.read_metadata(path).row_group(0).total_byte_size == 1


def varint(value: int) -> bytes:
    parts = []
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    return bytes([*parts, value])


@pytest.mark.parametrize(
    "write",
    [
        four_gigabytes_in_a_dictionary,
        four_gigabytes_in_lists,
        plain_pages,
        plain_pages_with_a_footer_that_lies,
    ],
)
def test_a_file_that_expands_too_far_is_refused_with_one_line_in_a_second_and_200_megabytes(
    write: object, tmp_path: Path
) -> None:
    path = tmp_path / "x.parquet"
    assert callable(write)
    write(path)
    assert path.stat().st_size < 100_000
    done = subprocess.run([sys.executable, "-c", READ, path], capture_output=True, text=True, check=True)
    message, seconds, megabytes = json.loads(done.stdout)
    assert str(path) in message
    assert "when expanded" in message
    assert "\n" not in message
    assert seconds < 1
    assert megabytes < 200


def test_limits_can_be_raised(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    plain_pages(path)
    problems: list[InputError] = []
    generous = Limits(free_bytes=256 * MEGABYTE)
    assert sum(1 for _ in read_rows(path, limits=generous, on_error=problems.append)) == 32
    assert not problems
    assert not list(read_rows(path, on_error=problems.append))
    assert isinstance(problems[0], LimitExceededError)


def test_a_file_without_rows_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    write_rows(path, [])
    assert len(RAGAS.read(path)) == 0


def test_what_is_written_is_read_again_however_long_the_texts(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    records = [{"user_input": f"{index}" * 2_000_000} for index in range(100, 120)]  # more than a page
    write_rows(path, records)
    problems: list[InputError] = []
    read = [
        record for _, record in read_rows(path, limits=Limits(free_bytes=1 << 30), on_error=problems.append)
    ]
    assert read == records
    assert not problems


@pytest.mark.parametrize("cut", [4, 8, 50, -1, -9])
def test_a_damaged_file_is_one_error_and_no_traceback(cut: int, tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    write_rows(path, [{"user_input": "q", "reference": "r"}])
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(InputError, match="readable Parquet file") as caught:
        RAGAS.read(path)
    assert len(caught.value.issues) == 1


def test_flipped_bytes_never_end_in_a_traceback(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    write_rows(path, [{"user_input": f"question {index}", "reference": "r"} for index in range(20)])
    data = path.read_bytes()
    for position in range(4, len(data) - 8, 7):
        path.write_bytes(data[:position] + bytes([data[position] ^ 0x55]) + data[position + 1 :])
        problems: list[InputError] = []
        list(read_rows(path, on_error=problems.append))
        assert len(problems) <= 20


def test_a_parquet_file_is_not_compressed_twice(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"Remove \.gz"):
        write_rows(tmp_path / "x.parquet.gz", [{"user_input": "q"}])


def test_values_that_json_cannot_hold_are_named_with_their_row(tmp_path: Path) -> None:
    import datetime

    path = tmp_path / "x.parquet"
    when = datetime.datetime(2025, 8, 30, tzinfo=datetime.UTC)
    parquet.write_table(pyarrow.table({"user_input": ["q"], "when": [when], "score": [float("nan")]}), path)
    problems: list[InputError] = []
    assert not list(read_rows(path, on_error=problems.append))
    assert [(issue.line, issue.path, issue.code) for issue in problems[0].issues] == [
        (1, "when", "not-a-json-value")
    ]
