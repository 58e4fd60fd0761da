"""``rag-eval retrieval`` from the outside: what it prints and writes, and how it fails."""

from __future__ import annotations

import json
import shlex
import shutil
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from cases import tables_beside
from command_lines import rag_eval_ended as rag_eval
from rag_evaluation_framework.datasets import dialect
from rag_evaluation_framework.evaluation import grid_runs
from rag_evaluation_framework.records.runs import RunOutcome
from rag_evaluation_framework.structs import replace
from run_files import plain_journal

TABLES = tables_beside(__file__)

HANDBOOK = Path(__file__).parents[2] / "examples" / "handbook"
DOCUMENTS, QUESTIONS = str(HANDBOOK / "documents"), str(HANDBOOK / "questions.eval.json")
SWEEP = [
    *("retrieval", DOCUMENTS, "--dataset", QUESTIONS, "--store", "exact", "-k", "3", "-k", "5"),
    *("--chunker", "recursive(chunk_size=200,overlap=50)", "--chunker", "sentence"),
]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The folder of a sweep that ran to its end, and what was told of it."""
    folder = tmp_path_factory.mktemp("finished")
    done = rag_eval(*SWEEP, "--json", folder=folder)
    assert done.returncode == 0, done.stderr
    return folder / "runs", json.loads(done.stdout)


def test_a_sweep_prints_a_ranked_table_for_each_k_and_writes_results(finished: Any, tmp_path: Path) -> None:
    shutil.copytree(finished[0], tmp_path / "runs")
    done = rag_eval(*SWEEP, "--resume", "001", "--out", "out", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "168 questions, 45 documents, 3 or 5 results per question, 4 setups" in done.stdout
    assert "\n3 results per question\n" in done.stdout
    assert "Recommended for k = 5: " in done.stdout
    assert done.stderr == ""
    written = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert written[0] == "001_recursive-chunk-size-200-overlap-50_k3.results.json"
    assert written[-1] == "sweep.json"
    assert len(written) == 5


def configured(folder: Path, *, seed: Any = 0, **retrieval: Any) -> Path:
    section = {"corpus": DOCUMENTS, "store": "exact", **retrieval}
    config = {"dataset": QUESTIONS, "seed": seed, "retrieval": section}
    path = folder / "sweep.config.yaml"
    path.write_text(json.dumps(config), encoding="utf-8")
    return path


@pytest.mark.parametrize(("settings", "message"), TABLES["a_wrong_configuration_is_one_clear_line"])
def test_a_wrong_configuration_is_one_line(tmp_path: Path, settings: dict[str, Any], message: str) -> None:
    done = rag_eval("retrieval", "--config", str(configured(tmp_path, **settings)))
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_dataset_that_holds_its_documents_is_corpus_and_questions_at_once(tmp_path: Path) -> None:
    dataset = TABLES["dataset"]
    path = tmp_path / "tiny.eval.json"
    path.write_text(json.dumps(dataset), encoding="utf-8")
    done = rag_eval("retrieval", str(path), "--store", "exact", "-k", "1", "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["cells"][0]["metrics"]["span_recall"]["value"] == 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere", "--dataset", QUESTIONS], "there is no file or folder nowhere"),
        ([DOCUMENTS], "there is no questions.eval.json\n          Generate questions: rag-eval generate"),
        ([], "corpus is missing"),
        ([DOCUMENTS, "--dataset", "nothing"], "there is no file nothing, and no dataset of this name"),
        ([DOCUMENTS, "--dataset", QUESTIONS, "-k", "0"], "k: expected a whole number of at least 1, got 0"),
    ],
)
def test_wrong_input_is_one_line_and_exit_code_2(tmp_path: Path, arguments: list[str], message: str) -> None:
    done = rag_eval("retrieval", *arguments, "--store", "exact", folder=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_an_embedding_server_that_is_not_there_is_one_clear_line(tmp_path: Path) -> None:
    # Nothing listens on port 9 (discard) of this machine.
    embedder = 'openai(model=m, base_url="http://127.0.0.1:9/v1")'
    done = rag_eval(*SWEEP, "--embedder", embedder, folder=tmp_path)
    assert done.returncode in (2, 3)
    assert "127.0.0.1:9" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list((tmp_path / "runs").iterdir())  # nothing was searched for: there is nothing to resume


def test_embeddings_kept_on_disk_give_the_same_figures(finished: Any, tmp_path: Path) -> None:
    cached = [*SWEEP, "--cache", str(tmp_path / "cache"), "--json"]
    first, again = (json.loads(rag_eval(*cached, folder=tmp_path).stdout) for _ in range(2))
    without = deepcopy(finished[1])
    for document in (first, again, without):
        for cell in document["cells"]:
            del cell["performance"]
    assert first == again == without
    assert list((tmp_path / "cache").iterdir())


@pytest.mark.parametrize("killed_at", [100, 168, 200, 500])
def test_a_sweep_that_was_killed_goes_on_where_it_was_and_searches_for_nothing_twice(
    finished: tuple[Path, dict[str, Any]], tmp_path: Path, killed_at: int
) -> None:
    runs, whole = finished[0], deepcopy(finished[1])
    shutil.copytree(runs, tmp_path / "runs")
    [sweep] = (tmp_path / "runs").iterdir()
    cells = sorted(path for path in sweep.iterdir() if path.is_dir())
    assert len(cells) == 4
    # As a kill leaves it: the first so many lines, then half of one, and no cell after it.
    left = killed_at
    for cell in cells:
        lines = plain_journal(cell).read_bytes().splitlines(keepends=True)
        if left <= 0:
            shutil.rmtree(cell)
        elif left < len(lines):
            (cell / "journal.jsonl").write_bytes(b"".join(lines[:left]) + lines[left][:30])
            (cell / "performance.json").unlink()
        left -= len(lines)
    (sweep / "results.json").unlink()
    kept = {cell: (cell / "journal.jsonl").read_bytes() for cell in cells if cell.exists()}
    listed = json.loads(rag_eval("runs", "--json", folder=tmp_path).stdout)
    assert [(row["state"], row["done"], row["total"]) for row in listed] == [
        ("incomplete", killed_at, 4 * 168)
    ]
    done = rag_eval(*SWEEP, "--json", "--resume", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    again = json.loads(done.stdout)
    for document in (whole, again):
        for cell in document["cells"]:
            del cell["performance"]
    assert again == whole
    for cell, journal in kept.items():
        # What was written whole stands as it was: nothing in it was asked again.
        intact = b"".join(line for line in journal.splitlines(keepends=True) if line.endswith(b"\n"))
        assert plain_journal(cell).read_bytes().startswith(intact)
    listed = json.loads(rag_eval("runs", "--json", folder=tmp_path).stdout)
    assert [(row["state"], row["done"]) for row in listed] == [("complete", 4 * 168)]


def test_a_sweep_that_stops_prints_the_command_that_goes_on_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = ("retrieval", DOCUMENTS, "--dataset", QUESTIONS, "--store", "exact", "-k", "3", "-k", "5")
    run, asked = grid_runs.run_samples, []

    def run_one(*given: Any, **named: Any) -> RunOutcome:
        asked.append(named["folder"].path.name)
        done = run(*given, **named)
        return done if len(asked) != 2 else replace(done, completed=False, reason="the disk is full")

    monkeypatch.setattr(grid_runs, "run_samples", run_one)
    done = rag_eval(*line, "--retriever", "bm25", folder=tmp_path)
    assert done.returncode == 3
    told = done.stderr.partition("rag-eval: the disk is full; resume with:\n  ")[2]
    assert shlex.split(told)[:1] == ["rag-eval"]
    again = rag_eval(*shlex.split(told)[1:], folder=tmp_path)
    assert (again.returncode, again.stderr) == (0, "")
    assert [name[:3] for name in asked] == ["001", "002", "002"]


def test_a_sweep_with_ids_of_an_older_version_resumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = json.loads(Path(QUESTIONS).read_text(encoding="utf-8"))["queries"][:10]
    rows = [
        {"input": each["query_text"], "expected": "", "relevant_documents": each["relevant_documents"]}
        for each in asked
    ]
    data = tmp_path / "questions.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    line = ("retrieval", DOCUMENTS, "--dataset", str(data), "--level", "document", "--retriever", "bm25")
    run = grid_runs.run_samples
    with monkeypatch.context() as earlier:
        earlier.setattr(dialect, "made_id", lambda sample: f"sample-{len(sample.question):012x}")
        earlier.setattr(
            grid_runs,
            "run_samples",
            lambda *given, **named: replace(run(*given, **named), completed=False, reason="the disk is full"),
        )
        assert rag_eval(*line, "-k", "3", folder=tmp_path).returncode == 3
    [sweep] = (tmp_path / "runs").iterdir()
    done = rag_eval(*line, "-k", "3", "--resume", sweep.name, folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    data.write_text(data.read_text(encoding="utf-8").replace("?", "!"), encoding="utf-8")
    other = rag_eval(*line, "-k", "3", "--resume", sweep.name, folder=tmp_path)
    assert "got different questions" in other.stderr


@pytest.mark.parametrize(
    ("change", "message"),
    [(["-k", "7"], "got different cells"), (["--level", "document"], "got different level, metrics")],
)
def test_a_sweep_over_something_else_is_not_resumed(
    finished: tuple[Path, dict[str, Any]], tmp_path: Path, change: list[str], message: str
) -> None:
    shutil.copytree(finished[0], tmp_path / "runs")
    [sweep] = (tmp_path / "runs").iterdir()
    done = rag_eval(*SWEEP, *change, "--resume", sweep.name, folder=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr


def test_sweeps_over_parts_of_the_questions_merge_to_the_sweep_over_all(tmp_path: Path) -> None:
    questions = json.loads(Path(QUESTIONS).read_text(encoding="utf-8"))
    asked = questions["queries"][:40]
    for name, queries in (("one", asked[:15]), ("two", asked[15:]), ("all", asked)):
        path = tmp_path / f"{name}.eval.json"
        path.write_text(json.dumps({**questions, "queries": queries}), encoding="utf-8")
    made = ("--test", "t", "--seed", "7")
    ids = {}
    for name, options in (("one", made), ("two", made), ("all", made), ("other", ("-k", "4"))):
        data = "two.eval.json" if name == "other" else f"{name}.eval.json"
        swept = [data if each == QUESTIONS else each for each in SWEEP]
        assert rag_eval(*swept, *options, "--runs-dir", "runs", folder=tmp_path).returncode == 0
        (ids[name],) = {each.name for each in (tmp_path / "runs").iterdir()} - {*ids.values()}
    done = rag_eval("merge", ids["one"], ids["two"], "--out", "merged.json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "40 questions, 45 documents, 3 or 5 results per question, 4 setups" in done.stdout
    merged = json.loads((tmp_path / "merged.json").read_text(encoding="utf-8"))
    whole = json.loads((tmp_path / "runs" / ids["all"] / "results.json").read_text(encoding="utf-8"))
    for document in (merged, whole):
        document.pop("spent_usd", None)
        for cell in document["cells"]:
            del cell["performance"], cell["evaluation_id"]
    assert merged == whole
    refused = rag_eval("merge", ids["one"], ids["other"], ids["all"], "--out", "x.json", folder=tmp_path)
    assert refused.returncode == 2
    for reason in ("cells, intervals, test: set otherwise", "40 samples are in two of them"):
        assert reason in refused.stderr, refused.stderr
