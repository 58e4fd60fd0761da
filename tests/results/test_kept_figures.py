"""The figures of a complete run are kept: what is shown from them is what would be read."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from command_lines import rag_eval_ended
from rag_evaluation_framework import Evaluation, Options, UsageError, evaluate, load
from rag_evaluation_framework.datasets import dialect
from rag_evaluation_framework.datasets.rows import PlainRows
from rag_evaluation_framework.files.strict_json import write_lines
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.results import journal, run_data
from rag_evaluation_framework.results.run_store import FIGURES_FILE, RunFolder, read_figures
from run_files import plain_journal

METRICS = ["faithfulness", "answer_correctness"]


def answer(question: str) -> dict[str, Any]:
    number = int(question.split()[-1].rstrip("?"))
    if number % 10 == 3:
        raise ValueError("no answer to that")
    said = f"Box {number} holds {number + (number % 4 == 1)} balls."
    return {"answer": said, "contexts": [f"Box {number} holds {number} balls.", "Balls are red."]}


def samples_at(path: Path, count: int = 40) -> Path:
    with path.open("w", encoding="utf-8") as file:
        for n in range(count):
            row = {"id": f"s{n}", "input": f"How many balls are in box {n}?", "expected": f"{n} balls"}
            print(json.dumps({**row, "tags": [f"t{n % 3}"]}), file=file)
    return path


def run(folder: Path, **more: Any) -> Evaluation:
    data = samples_at(folder / "boxes.jsonl")
    wish: dict[str, Any] = {"gate": {"faithfulness": 0.5}, "options": Options(allow_missing=True)}
    return evaluate(data, target=answer, metrics=METRICS, runs_directory=folder / "runs", **wish, **more)


def told(evaluation: Evaluation) -> dict[str, Any]:
    """Return everything that an evaluation shows."""
    (part,) = evaluation.runs
    return {
        "figures": part.metrics,
        "counts": part.counts,
        "ids": part.columns.ids,
        "values": {name: np.nan_to_num(each, nan=-1).tolist() for name, each in part.columns.values.items()},
        "statuses": {name: each.tolist() for name, each in part.columns.statuses.items()},
        "answers": part.answers,
        "performance": part.performance.figures,
        "screen": evaluation.render(),
        "everything": evaluation.render(everything=True),
        "markdown": evaluation.render("markdown"),
        "rows": [(row.index, row.id, row.passes, row.verdict, row.blame, row.scores) for row in part.rows],
    }


def folder_of(evaluation: Evaluation) -> Path:
    assert evaluation.folder is not None
    return evaluation.folder


def test_what_is_kept_shows_what_would_be_read(tmp_path: Path) -> None:
    made = run(tmp_path)
    kept = folder_of(made) / FIGURES_FILE
    from_kept = told(load(folder_of(made)))  # type: ignore[arg-type]
    kept.unlink()
    assert told(load(folder_of(made))) == from_kept  # type: ignore[arg-type]
    assert {name: from_kept[name] for name in ("figures", "counts", "answers", "screen")} == {
        name: told(made)[name] for name in ("figures", "counts", "answers", "screen")
    }
    assert "4 of 40 questions got no answer" in from_kept["screen"]


@pytest.mark.parametrize(
    ("said", "read"), [("question.split()[-1][:-1] + ' balls'", 0), ("'Sorry, I cannot answer that.'", 30)]
)
def test_a_resume_of_a_complete_run_reads_no_more_than_the_worst_answers(
    said: str, read: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples_at(tmp_path / "boxes.jsonl")
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "quiz.py").write_text(f"def answer(question):\n    return {said}\n")
    datasets = "datasets: [{name: boxes, path: boxes.jsonl}]"
    wanted = "metrics: [exact_match]\n    thresholds: {exact_match: 0.5}\n    ciGate: false\n"
    (tmp_path / "agent.yaml").write_text(f"spec:\n  evaluation:\n    {datasets}\n    {wanted}")
    asked = ("evaluate", "agent.yaml", "--target", "quiz:answer")
    first = rag_eval_ended(*asked, folder=tmp_path)
    assert first.returncode == 0
    (path,) = (tmp_path / "runs").iterdir()
    before = {each.name: each.read_bytes() for each in path.iterdir() if each.name != "lock"}
    entries: list[bytes] = []
    whole, sample = journal.entry_from, run_data._sample
    monkeypatch.setattr(journal, "entry_from", lambda content: entries.append(content) or whole(content))
    monkeypatch.setattr(run_data, "_sample", lambda written: sample(written) if read else 1 / 0)
    monkeypatch.setattr(dialect.RecordDialect, "stream", lambda *_: 1 / 0)
    again = rag_eval_ended(*asked, "--resume", folder=tmp_path)
    assert (again.returncode, again.stdout) == (0, first.stdout)
    assert len(entries) == read
    assert {each.name: each.read_bytes() for each in path.iterdir() if each.name != "lock"} == before


def test_answers_that_come_in_any_order_are_told_as_in_theirs(tmp_path: Path) -> None:
    def in_its_own_time(question: str) -> dict[str, Any]:
        time.sleep(0.02 * (int(question[-2]) % 3))
        return answer(question)

    data = samples_at(tmp_path / "boxes.jsonl")
    found = []
    for target, concurrency in ((answer, 1), (in_its_own_time, 8)):
        options = Options(allow_missing=True, concurrency=concurrency)
        made = evaluate(
            data, target=target, metrics=METRICS, runs_directory=tmp_path / f"{concurrency}", options=options
        )
        lines = plain_journal(folder_of(made)).read_bytes().splitlines()
        places = [json.loads(line)["entry"]["index"] for line in lines]
        assert sorted(places) == [*range(40)]
        assert (places == [*range(40)]) is (concurrency == 1)
        parts = ("figures", "counts", "ids", "values", "answers", "rows")
        found.append([told(made)[part] for part in parts])
    assert found[0] == found[1]


def test_a_file_too_large_to_be_held_is_read_once_and_once_more_to_draw_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = [f"How many balls are in box {n}?" for n in range(40) if n % 10 != 3]
    write_lines(tmp_path / "boxes.jsonl", ({"question": each, **answer(each)} for each in asked))
    whole, read = PlainRows.stream, list[Sample]()

    def counted(*given: Any) -> Iterator[Sample]:
        for sample in whole(*given):
            read.append(sample)
            yield sample

    monkeypatch.setattr(PlainRows, "stream", counted)

    def kept(name: str, times: int, *options: str) -> list[bytes]:
        read.clear()
        scored = ("score", "boxes.jsonl", "-m", "faithfulness", "--runs-dir", name, *options)
        assert rag_eval_ended(*scored, folder=tmp_path).returncode == 0
        assert len(read) // len(asked) == times  # and one to see whether answers are there at all
        (run,) = (tmp_path / name).iterdir()
        return [(run / each).read_bytes() for each in ("data.jsonl.zst", "blame.jsonl.zst")]

    held, drawn = kept("held", 1), kept("held and drawn", 1, "--sample", "9")
    monkeypatch.setattr(run_data, "MOST_HELD_BYTES", 0)
    assert kept("large", 1) == held
    assert kept("large and drawn", 2, "--sample", "9") == drawn
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith(".")] == []
    monkeypatch.setattr("tempfile.TemporaryFile", lambda **_: open("/dev/full", "r+b"))  # noqa: PTH123, SIM115
    assert kept("full", 2) == held


def test_figures_are_kept_for_their_files_only(tmp_path: Path) -> None:
    made = run(tmp_path)
    folder = RunFolder.at(folder_of(made))
    assert read_figures(folder.path)
    lines = plain_journal(folder.path).read_bytes().splitlines(keepends=True)
    folder.journal_path.write_bytes(b"".join(reversed(lines)))
    assert not read_figures(folder.path)
    (folder.path / FIGURES_FILE).write_text("{", encoding="utf-8")
    assert not read_figures(folder.path)
    assert load(folder.path).runs[0].metrics == made.runs[0].metrics  # type: ignore[union-attr]
    samples_at(tmp_path / "boxes.jsonl", 41)
    data = tmp_path / "boxes.jsonl"
    with pytest.raises(UsageError, match="got 1 added"):
        evaluate(data, target=answer, runs_directory=tmp_path / "runs", resume=folder.head.run_id)
