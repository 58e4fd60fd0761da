"""What 10 million answers, a billion judged rows and 100 million chunks take, from measured unit costs.

``python -m benchmarks.cost_model`` prints the table of ``docs/how-to/scale.md``. The unit costs below were
measured; each says by what. What is multiplied beyond what was run is marked as extrapolated, and prices are
assumptions.
"""

from __future__ import annotations

from dataclasses import dataclass

# Seconds of one core, bytes and megabytes. Real text throughout (RAGTruth's answers, five contexts). Scoring
# and rows: AMD EPYC, Debian's Python 3.11, 17 November 2026; all else: Intel Xeon at 2.80 GHz, two cores with
# much other work, 16 November 2026, so that a quiet machine takes less.
SCORE_SECONDS = 1.75e-3
"""faithfulness and blame of an answer by ``rag-eval score``, all of it (benchmarks.workers)."""
DRIVER_SECONDS = 0.2e-3
"""What the first process does for an answer that workers score: reads, sends, writes (benchmarks.workers)."""
ASK_SECONDS = 0.40e-3
"""Client time of an answer that an agent is asked for (benchmarks.agent)."""
IN_FLIGHT, SHARE_OF_IDEAL = 400, 0.88
"""Answers that are asked for at once, and how near that comes to the ideal (benchmarks.agent)."""
ASKED_BYTES = 290
"""Memory for each answer of a run that is asked for (from 30,000 to 100,000 answers, benchmarks.agent)."""
RUN_BYTES, JOURNAL_BYTES = 1_060, 4_800
"""What a complete run keeps of an answer, compressed, and what its plain journal takes besides until then."""
ROW_BYTES = 1_220
"""Memory for each answer of a run that is scored: its id, its scores (10,000 and 50,000 short answers)."""
MERGE_BYTES = 250
"""Memory for each answer of results files that are merged (from 40,000 to 80,000 answers in Parquet)."""
ROWS_SECONDS, ROWS_MEGABYTES = 105.0, 813.0
"""``rag-eval rank`` over a billion rows of Parquet, measured as it is (benchmarks.ranking_files)."""
CUT_SECONDS = 10.2e-6
"""A chunk of 400 characters, cut recursively."""
INDEX_SECONDS, INDEX_BYTES = 30.5e-6, 946
"""A chunk of 400 characters in the index of words, and what the index keeps of it."""
SEARCH_SECONDS = 12.3e-9
"""A query by words, for each chunk of the index (0.45 ms over 36,766)."""
GPU_TEXTS, CPU_TEXTS = 2239.0, 119.0
"""Texts of 40 to 400 characters embedded a second: one H200, and 16 cores (benchmarks.devices)."""
VECTOR_BYTES = 384 * 4

# Assumptions: US dollars for an hour of a core and of a GPU, and for a month of a gigabyte on a disk.
CORE_HOUR, GPU_HOUR, DISK_MONTH = 0.05, 4.00, 0.10


@dataclass(frozen=True, slots=True)
class Cost:
    """What one piece of work takes; ``extrapolated`` where it was not run at this size."""

    work: str
    core_hours: float
    by_the_clock: str
    room: str
    dollars: float
    saturates: str
    extrapolated: bool = True
    gpu_hours: float = 0.0

    def __str__(self) -> str:
        took = f"{self.core_hours:,.1f} core h"
        if self.gpu_hours:
            took = f"{self.gpu_hours:,.1f} GPU h"
        elif self.core_hours < 0.1:
            took = f"{self.core_hours * 3600:,.0f} core s"
        money = "under $0.01" if self.dollars < 0.01 else f"${self.dollars:,.2f}"
        if self.dollars >= 10:
            money = f"${self.dollars:,.0f}"
        mark = "extrapolated" if self.extrapolated else "measured"
        cells = (self.work, took, self.by_the_clock, self.room, money, self.saturates, mark)
        return f"| {' | '.join(cells)} |"


def costs(answers: int = 10_000_000, chunks: int = 100_000_000) -> list[Cost]:
    """Return what each piece of work takes."""
    score = answers * SCORE_SECONDS / 3600
    alone = answers * DRIVER_SECONDS / 3600
    ask = answers * ASK_SECONDS / 3600
    asking = answers / (IN_FLIGHT * SHARE_OF_IDEAL) / 3600
    disk, held = answers * RUN_BYTES / 1e9, answers * ROW_BYTES / 1e9
    cut = chunks * (CUT_SECONDS + INDEX_SECONDS) / 3600
    per_query = chunks * SEARCH_SECONDS
    gpu = chunks / GPU_TEXTS / 3600
    cpu = chunks / CPU_TEXTS / 3600
    busy = SCORE_SECONDS / DRIVER_SECONDS
    return [
        Cost(
            f"{answers:,} recorded answers scored: faithfulness and cause of failure",
            score,
            f"{alone:.1f} h in one command, however many workers; {alone / 8:.1f} h in 8 shards",
            f"{disk:,.0f} GB of disk, {answers * JOURNAL_BYTES / 1e9:,.0f} more while it runs; "
            f"{held:,.0f} GB of memory in one command, {held / 8:.1f} GB per shard",
            score * CORE_HOUR + disk * DISK_MONTH,
            f"the process that reads and writes, from {busy:.0f} workers on (merging results files takes "
            f"{answers * MERGE_BYTES / 1e9:,.1f} GB of memory)",
        ),
        Cost(
            f"{answers:,} answers from an agent that takes 1 s each",
            ask,
            f"{asking:.1f} h with {IN_FLIGHT} requests at once",
            f"{disk:,.0f} GB of disk, {answers * ASKED_BYTES / 1e9:.0f} GB of memory",
            ask * CORE_HOUR + disk * DISK_MONTH,
            "the agent",
        ),
        Cost(
            "1,000,000,000 judged rows ranked, nDCG@10 from Parquet",
            ROWS_SECONDS / 3600,
            "71 s on two cores",
            f"7.2 GB of files, {ROWS_MEGABYTES:.0f} MB of memory",
            ROWS_SECONDS / 3600 * CORE_HOUR,
            "one core",
            extrapolated=False,
        ),
        Cost(
            f"{chunks:,} chunks split and indexed by words",
            cut,
            f"{cut:.1f} h; a query then takes {per_query:.1f} s of a core",
            f"{chunks * INDEX_BYTES / 1e9:,.0f} GB of memory and the texts",
            cut * CORE_HOUR,
            "memory: the index is in one process, and again in each worker",
        ),
        Cost(
            f"{chunks:,} chunks embedded with 384 dimensions on one H200",
            0.0,
            f"{gpu:.1f} h, or {gpu / 8:.1f} h on 8 with Ray",
            f"{chunks * VECTOR_BYTES / 1e9:,.0f} GB of vectors",
            gpu * GPU_HOUR,
            "memory, if searched exactly: search an index that stands elsewhere (`--index`)",
            gpu_hours=gpu,
        ),
        Cost(
            "the same on machines of 16 cores",
            cpu * 16,
            f"{cpu:,.0f} h on one, {cpu / 32:,.1f} h on 32",
            "the same",
            cpu * 16 * CORE_HOUR,
            "time: use a GPU",
        ),
    ]


def main() -> None:
    """Print the table as Markdown."""
    print("| job | computing time | elapsed time | space | cost | first limit | |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for each in costs():
        print(each)


if __name__ == "__main__":
    main()
