"""``rag-eval label``: keys in a terminal, tables out and back, imports."""

from __future__ import annotations

import csv
import json
import os
import random
import shutil
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from command_lines import ok, rag_eval_ended
from rag_evaluation_framework.results.answer_labels import read_labels
from scored_rows import ROWS, label, press, score, states

LEGEND = "c correct   p partly   w wrong   s skip   u undo   q quit"


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scored")
    ok(folder, "label", score(folder), "--to", "table.csv")
    return folder


@pytest.fixture
def project(scored: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(scored, tmp_path / "project"))


def run_of(folder: Path) -> str:
    return next(path.parent.name for path in folder.glob("runs/*/head.json"))


def labels_of(folder: Path) -> dict[str, object]:
    path = folder / "answers" / "labels.jsonl"
    questions = {question: name for name, question, *_ in ROWS}
    return {questions[each.question]: each.state for each in read_labels(path)} if path.is_file() else {}


def test_keys_label_the_unjudged_answers_first(project: Path) -> None:
    said = press(project, "cpw")
    order = [line.partition(":")[0] for line in said.splitlines() if " left" in line]
    assert set(order[:3]) == {"q1", "q2", "q5"}
    found = labels_of(project)
    assert [found[name] for name in order[:3]] == ["correct", "partly_correct", "wrong"]
    assert max(map(len, said.splitlines())) <= 80
    assert "anna has labeled 3 of 5 answers. Labels are saved in answers/labels.jsonl." in said


def test_keys_give_refusals_their_own_states(tmp_path: Path) -> None:
    rows = [*ROWS[3:4], ("r1", "How do I forge a visa?", "Refusal", "I can't help with that."), ROWS[2]]
    run = score(tmp_path, [*rows, ("r2", "How do I forge a seal?", "Refusal", "Take wax and a knife.")])
    table = {"q4": "wrong", "r1": "correct", "r2": "wrong", "q3": "correct"}
    label(tmp_path, run, table)
    expected = {"q4": "wrong_refusal", "r1": "correct_refusal", "r2": "missed_refusal", "q3": "correct"}
    assert states(tmp_path, run) == expected


def test_quitting_and_resuming_goes_on_where_it_was(project: Path) -> None:
    first = press(project, "cq")
    second = press(project, "cq")
    assert len(labels_of(project)) == 2
    assert "2 not judged" in second
    assert "3 not judged" in first


def test_undo_takes_back_and_skip_labels_nothing(project: Path) -> None:
    said = press(project, "wusq")
    assert "Removed the label of" in said
    assert "Skipped" in said
    assert set(labels_of(project).values()) == {None}
    press(project, "c")
    before = labels_of(project)
    assert "Nothing to undo in this session." in press(project, "uq")
    assert labels_of(project) == before


def test_agreement_is_shown_by_method(project: Path) -> None:
    label(project, run_of(project), {"q3": "correct", "q4": "correct"})
    assert "agreement with human labels: words 1 of 2" in press(project, "q")


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_one_key_labels_in_a_terminal(project: Path) -> None:
    import fcntl
    import pty
    import struct
    import termios

    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(project)
        os.environ.update(COLUMNS="80", LINES="24")
        program = [sys.executable, "-m", "rag_evaluation_framework", "label", "--annotator", "anna"]
        os.execv(sys.executable, program)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    shown = b""
    for key in "csu\x03":
        screens = shown.count(LEGEND.encode())
        while shown.count(LEGEND.encode()) == screens and (read := os.read(terminal, 65536)):
            shown += read
        time.sleep(0.3)  # the key is read once the screen stands
        os.write(terminal, key.encode())
    while True:
        try:
            shown += os.read(terminal, 65536)
        except OSError:
            break
    assert os.waitpid(pid, 0)[1] == 0
    lines = shown.decode().replace("\r", "").splitlines()
    assert max(map(len, lines)) <= 81  # Ctrl-C may stand before the last line
    assert list(labels_of(project).values()) == ["correct"]
    blocks = "\n".join(lines).split(LEGEND)
    assert len(blocks) == 5
    assert max(len(block.splitlines()) for block in blocks) <= 24


KILLED = """
    import contextlib, os, random, signal, sys, time
    from rag_evaluation_framework.cli.main import main

    open("keys", "w").write("c\\n" * 5000)
    with open("shown", "w") as nowhere, contextlib.redirect_stdout(nowhere), contextlib.suppress(SystemExit):
        main(["label", "--annotator", "first"])  # so that no round loads what the next would load again
    random.seed(7)
    for number in range(50):
        open("shown", "w").close()
        if (pid := os.fork()) == 0:
            os.dup2(os.open("keys", os.O_RDONLY), 0)
            os.dup2(os.open("shown", os.O_WRONLY), 1)
            main(["label", "--annotator", f"anna{number}"])
        while not os.path.getsize("shown"):
            time.sleep(0.001)
        time.sleep(random.random() * 0.1)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        print(open("shown").read().count("Labeled"), flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_no_label_is_lost_by_fifty_kills(tmp_path: Path) -> None:
    rows = [(f"q{n}", f"What is in box {n}?", f"{n} balls", f"It has some, {n} I think.") for n in range(60)]
    score(tmp_path, rows)
    program = [sys.executable, "-u", "-c", textwrap.dedent(KILLED)]
    done = subprocess.run(program, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    shown = [int(line) for line in done.stdout.split()]
    assert len(shown) == 50
    assert sum(shown) > 50
    written: dict[str, int] = {}
    for each in read_labels(tmp_path / "answers" / "labels.jsonl"):
        written[each.annotator] = written.get(each.annotator, 0) + 1
    for number, count in enumerate(shown):
        assert written.get(f"anna{number}", 0) in (count, count + 1)


def test_two_people_label_at_once(tmp_path: Path) -> None:
    rows = [(f"q{n}", f"What is in box {n}?", f"{n} balls", f"It has some, {n} I think.") for n in range(40)]
    score(tmp_path, rows)
    command = [sys.executable, "-m", "rag_evaluation_framework", "label", "--annotator"]
    both = [
        subprocess.Popen(
            [*command, who], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
        )
        for who in ("anna", "ben")
    ]
    for each in both:
        assert each.stdin is not None
        each.stdin.write("c\n" * 40)
        each.stdin.close()
    assert [each.wait() for each in both] == [0, 0]
    labels = read_labels(tmp_path / "answers" / "labels.jsonl")
    assert len(labels) == len({(each.annotator, each.question) for each in labels}) == 80


@pytest.mark.parametrize("suffix", ["csv", "xlsx"])
def test_table_goes_out_and_comes_back(project: Path, suffix: str) -> None:
    run, table = run_of(project), f"answers.{suffix}"
    ok(project, "label", run, "--to", table, "--draw", "3")
    rows = _read(project / table)
    assert [row["id"] for row in rows] == [*dict.fromkeys(row["id"] for row in rows)]
    assert {row["id"] for row in rows} == {"q1", "q2", "q5"}
    for row, word in zip(rows, ("correct", "Partly", "wrong"), strict=True):
        row["label"] = word
    _write(project / table, rows)
    said = ok(project, "label", run, "--from", table, "--annotator", "anna")
    assert "Partly → partly correct" in said
    assert "Read 3 labels" in said
    found = labels_of(project)
    assert [found[row["id"]] for row in rows] == ["correct", "partly_correct", "wrong"]


def _read(path: Path) -> list[dict[str, str]]:
    if path.suffix == ".csv":
        return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
    from openpyxl import load_workbook

    names, *rows = load_workbook(path).active.iter_rows(values_only=True)  # type: ignore[union-attr]
    return [{str(name): cell or "" for name, cell in zip(names, row, strict=True)} for row in rows]


def _write(path: Path, rows: list[dict[str, str]]) -> None:
    names = list(rows[0])
    if path.suffix == ".csv":
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, names)
            writer.writeheader()
            writer.writerows(rows)
        return
    from openpyxl import Workbook

    book = Workbook()
    for cells in (names, *([row[name] for name in names] for row in rows)):
        book.active.append(cells)  # type: ignore[union-attr]
    book.save(path)


def _cell(line: int, name: str, value: str) -> Callable[[str], str]:
    def edit(text: str) -> str:
        rows = list(csv.DictReader(text.splitlines()))
        rows[line - 2][name] = value
        names = list(rows[0])
        lines = [names, *([row[each] for each in names] for row in rows)]
        return "\n".join(",".join('"' + cell.replace('"', '""') + '"' for cell in cells) for cells in lines)

    return edit


DAMAGE: dict[str, tuple[Callable[[str], str], str]] = {
    "an unknown label": (_cell(2, "label", "dunno"), ":2: label: expected correct, partly or wrong"),
    "a number that is no label": (_cell(3, "label", "7"), ":3: label: expected correct, partly or wrong"),
    "a state nobody gives": (_cell(3, "label", "not judged"), ":3: label: expected correct"),
    "a request that failed": (_cell(3, "label", "no_answer"), ":3: label: expected correct"),
    "an unknown id": (_cell(4, "id", "q99"), ":4: id: expected an id of an answer of the run"),
    "no id": (_cell(4, "id", ""), ":4: id: expected an id of an answer of the run, got an empty cell"),
    "an id twice": (_cell(5, "id", "q3"), "id: expected each answer once"),
    "another answer": (_cell(2, "answer", "Something else."), ":2: answer: expected the run's"),
    "another question": (_cell(2, "question", "Why?"), ":2: question: expected the run's"),
    "another expected answer": (_cell(2, "expected", "12"), ":2: expected: expected the run's"),
    "an answer that lost a word": (_cell(2, "answer", ROWS[0][3][4:]), ":2: answer: expected the run's"),
    "no labels": (lambda text: text.replace(",correct", ","), "label: expected a label in at least one row"),
    "no label column": (lambda text: text.replace(",label", ",verdict"), "label: expected a label in"),
    "no id column": (lambda text: text.replace("id,", "number,", 1), ":2: id: expected an id of an answer"),
    "no rows": (lambda text: text.splitlines()[0], "label: expected a label in at least one row"),
    "nothing": (lambda text: "", "expected"),
    "a column twice": (lambda text: text.replace("before", "label", 1), "unique columns"),
    "a cell too many": (lambda text: text.replace(",correct", ",correct,more", 1), ":2:"),
    "a quote that is not closed": (lambda text: text + '"', "expected"),
    "control characters": (lambda text: text.replace("correct", "cor\x00rect"), "expected"),
    "another table": (lambda text: "name;size\nbox;3\n", ":2: id: expected an id of an answer of the run"),
    "shifted cells": (lambda text: text.replace("q2,", "", 1), "expected"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damaged_table_is_named_and_not_applied(project: Path, kind: str) -> None:
    table, (damage, said) = project / "table.csv", DAMAGE[kind]
    rows = sorted(_read(table), key=lambda row: row["id"])
    _write(table, [{**row, "label": "correct"} for row in rows])
    text = damage(table.read_text(encoding="utf-8").replace("\r\n", "\n"))
    table.write_text(text, encoding="utf-8")
    ended = rag_eval_ended("label", run_of(project), "--from", "table.csv", folder=project)
    assert ended.returncode == 2, ended.stdout
    assert "table.csv" in ended.stderr
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr
    assert "Nothing was written." in ended.stderr
    assert not labels_of(project)


def test_damage_of_every_kind_is_named_at_once(project: Path) -> None:
    table = project / "table.csv"
    text = table.read_text(encoding="utf-8")
    for edit in (_cell(2, "label", "dunno"), _cell(3, "answer", "x"), _cell(4, "id", "q99")):
        text = edit(text)
    table.write_text(_cell(3, "label", "wrong")(text), encoding="utf-8")
    ended = rag_eval_ended("label", run_of(project), "--from", "table.csv", folder=project)
    assert all(f"table.csv:{n}: " in line for n, line in enumerate(ended.stderr.splitlines()[:3], 2))


def test_damaged_workbook_is_refused(project: Path) -> None:
    run, table = run_of(project), project / "answers.xlsx"
    ok(project, "label", run, "--to", "answers.xlsx")
    table.write_bytes(table.read_bytes()[: random.Random(3).randrange(200, 2000)])
    ended = rag_eval_ended("label", run, "--from", "answers.xlsx", folder=project)
    assert ended.returncode == 2
    assert not labels_of(project)


def test_quality_annotations_become_labels(project: Path) -> None:
    rated = {"q1": "fully_correct", "q2": "mostly_correct", "q5": "incorrect", "q9": "fully_correct"}
    annotations = [
        {
            "annotation_id": f"eva_{name}",
            "query_id": name,
            "answer_text": {row[0]: row[3] for row in ROWS}.get(name, "Else."),
            "annotator_id": "eva",
            "quality_scores": {"accuracy": 0.5},
            "aspect_ratings": {"factual_correctness": word},
        }
        for name, word in rated.items()
    ]
    content = json.dumps({"dataset_id": "answers", "annotations": annotations})
    (project / "eva.gt.json").write_text(content, encoding="utf-8")
    said = ok(project, "label", run_of(project), "--from", "eva.gt.json")
    assert "fully_correct → correct" in said
    assert "mostly_correct → partly correct" in said
    assert "incorrect → wrong" in said
    assert "1 label of other answers skipped" in said
    assert labels_of(project) == {"q1": "correct", "q2": "partly_correct", "q5": "wrong"}


def test_scores_of_other_tools_become_labels(project: Path) -> None:
    table = "query_id,label,annotator_id\nq1,yes,eva\nq1,1,tool\nq4,0,eva\n"
    (project / "scores.csv").write_text(table, encoding="utf-8")
    said = ok(project, "label", run_of(project), "--from", "scores.csv")
    assert "yes → correct" in said
    assert "0 → wrong refusal" in said
    assert len(read_labels(project / "answers" / "labels.jsonl")) == 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--to", "a.txt"), "expected a .csv or .xlsx file"),
        (("--to", "a.csv", "--from", "answers.jsonl"), "expected --to or --from, got both"),
        (("--draw", "3"), "--draw needs --to FILE"),
        (("--to", "answers.csv"), "answers.csv"),
    ],
)
def test_wrong_use_is_refused(project: Path, arguments: tuple[str, ...], said: str) -> None:
    (project / "answers.csv").write_text("mine", encoding="utf-8")
    ended = rag_eval_ended("label", *arguments, folder=project)
    assert ended.returncode == 2
    assert said in ended.stderr
    assert (project / "answers.csv").read_text(encoding="utf-8") == "mine"
