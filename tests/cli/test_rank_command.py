"""``rag-eval rank`` from the outside: what it prints, how it fails, and with which exit code."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cases import tables_beside
from command_lines import rag_eval_ended as rag_eval

TABLES = tables_beside(__file__)

QRELS = "q1 0 d1 2\nq1 0 d2 1\nq2 0 d3 1\nq3 0 d9 0\nq4 0 d1 1\n"
RUN_A = "q1 Q0 d1 1 3 a\nq1 Q0 d7 2 2 a\nq1 Q0 d2 3 1 a\nq2 Q0 d4 1 2 a\nq2 Q0 d3 2 1 a\nq9 Q0 d3 2 1 a\n"
RUN_B = "q1 Q0 d7 1 3 b\nq1 Q0 d2 3 1 b\nq2 Q0 d3 1 2 b\nq4 Q0 d1 2 1 b\n"


def in_shell(command: str, *, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a line of bash in which ``rag-eval`` is the program."""
    program = "from rag_evaluation_framework.cli.main import main; main()"
    setup = f"rag-eval() {{ '{sys.executable}' -c '{program}' \"$@\"; }}; "
    return subprocess.run(["bash", "-c", setup + command], capture_output=True, text=True, cwd=folder)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, content in (("qrels", QRELS), ("a.run", RUN_A), ("b.run", RUN_B)):
        (tmp_path / name).write_text(content, encoding="utf-8")
    return tmp_path


def test_means_stand_beside_their_intervals_and_counts(files: Path) -> None:
    done = rag_eval("rank", "qrels", "a.run", "-m", "mrr", folder=files)
    assert done.returncode == 0
    # q1 finds d1 at rank 1, q2 finds d3 at rank 2, q4 is missing: (1 + 1/2 + 0) / 3 = 0.5
    assert "mrr      0.50  [0.13, 0.87]          3  exact" in done.stdout
    assert "a: skipped 1 query (q9): no judgments for this query" in done.stdout
    assert "a: skipped 1 query (q3): no relevant document among its judgments" in done.stdout
    assert "a: counted as 0, not in the run: 1 query (q4)" in done.stdout


def test_another_run_can_be_the_baseline(files: Path) -> None:
    done = rag_eval("rank", "qrels", "a.run", "b.run", "--baseline", "b", folder=files)
    assert "a and b are statistically tied on all 5 metrics (3 questions)" in done.stdout
    by_file = rag_eval("rank", "qrels", "a.run", "b.run", "--baseline", "b.run", folder=files)
    assert by_file.stdout.replace("b.run --per-query", "b --per-query") == done.stdout


@pytest.mark.parametrize("runs", [("a.run",), ("a.run", "b.run")])
def test_a_baseline_that_is_no_run_is_refused_beside_one_run_too(files: Path, runs: tuple[str, ...]) -> None:
    wrong = rag_eval("rank", "qrels", *runs, "--baseline", "c", folder=files)
    known = "Available: a and b." if len(runs) > 1 else "Available: a."
    assert (wrong.returncode, wrong.stderr) == (2, f'rag-eval: unknown baseline "c". {known}\n')


def test_queries_that_one_run_lacks_are_left_out_of_the_comparison_and_counted(files: Path) -> None:
    done = rag_eval("rank", "qrels", "a.run", "b.run", "-m", "mrr", "--rules", "trec_eval", folder=files)
    # a has q1 and q2 of the judgements, b has q1, q2 and q4.
    assert "b: compared on the 2 questions scored in both; 1 left out" in (done.stdout)


def test_every_test_that_was_made_is_named(tmp_path: Path) -> None:
    queries = range(30)
    (tmp_path / "qrels").write_text("".join(f"q{n} 0 d 1\n" for n in queries))
    (tmp_path / "old.run").write_text("".join(f"q{n} Q0 d 1 1 t\n" for n in queries))
    # The document moves down one rank for every query, which hit@5 does not see.
    (tmp_path / "new.run").write_text("".join(f"q{n} Q0 x 1 2 t\nq{n} Q0 d 2 1 t\n" for n in queries))
    done = rag_eval(
        "rank", "qrels", "old.run", "new.run", "-m", "mrr", "-m", "hit@5", "--details", folder=tmp_path
    )
    assert "tests: paired randomisation, 10,000 resamples; paired randomisation, exact; Holm's" in done.stdout
    assert "correction for 2" in " ".join(done.stdout.split())


@pytest.mark.parametrize(("confidence", "header"), [("0.999", "99.9% CI"), ("0.9", "90% CI")])
def test_the_confidence_is_never_rounded_to_certainty(files: Path, confidence: str, header: str) -> None:
    arguments = ("rank", "qrels", "a.run", "b.run", "-m", "mrr", "--confidence", confidence)
    assert f"difference, {header}" in rag_eval(*arguments, folder=files).stdout
    document = json.loads(rag_eval(*arguments, "--json", folder=files).stdout)
    assert document["confidence"] == float(confidence)
    assert document["comparisons"][0]["alpha"] == pytest.approx(1 - float(confidence), abs=1e-15)
    assert len(str(document["comparisons"][0]["alpha"])) <= len(confidence)


def test_files_may_come_through_pipes(files: Path) -> None:
    done = in_shell("rag-eval rank <(cat qrels) <(cat a.run) -m mrr", folder=files)
    assert done.stderr == ""
    assert "mrr      0.50" in done.stdout


def test_runs_of_the_same_name_in_two_folders_are_told_apart(files: Path) -> None:
    (files / "other").mkdir()
    (files / "other" / "a.run").write_text(RUN_B)
    done = rag_eval("rank", "qrels", "a.run", "other/a.run", "-m", "mrr", folder=files)
    assert done.returncode == 0
    assert "other/a.run" in done.stdout
    twice = rag_eval("rank", "qrels", "a.run", "a.run", folder=files)
    assert (twice.returncode, twice.stderr) == (
        2,
        "rag-eval: the same run file is given twice; give each once\n",
    )


def test_a_better_system_is_called_better_and_a_worse_one_worse(tmp_path: Path) -> None:
    queries = range(40)
    (tmp_path / "qrels").write_text("".join(f"q{n} 0 d{n} 1\n" for n in queries))
    (tmp_path / "top.run").write_text("".join(f"q{n} Q0 d{n} 1 9 t\n" for n in queries))
    (tmp_path / "low.run").write_text("".join(f"q{n} Q0 x 1 9 t\nq{n} Q0 d{n} 2 8 t\n" for n in queries))
    arguments = ("rank", "qrels", "top.run", "low.run", "-m", "mrr", "-m", "hole@1", "--json")
    verdicts = {
        each["metric"]: each["verdict"]
        for each in json.loads(rag_eval(*arguments, folder=tmp_path).stdout)["comparisons"]
    }
    # The unjudged x stands first in every list of low.run, and fewer holes are better.
    assert verdicts == {"mrr": "worse", "hole@1": "worse"}


@pytest.mark.parametrize(
    ("arguments", "message"), TABLES["wrong_input_is_a_clear_line_each_and_exit_code_two"]
)
def test_wrong_input_is_a_line_and_exit_code_two(
    files: Path, arguments: tuple[str, ...], message: str
) -> None:
    (files / "bad.run").write_text("q1 Q0 d1 1 3 a\nq1 Q0 d2 2 x a\n")
    (files / "short").write_text("q1 0 d1\n")
    (files / "empty.run").write_text("")
    (files / "wide").write_text("q1 0 d1 10000000000\n")
    done = rag_eval(*arguments, folder=files)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith(message)
    if message.endswith("\n"):
        assert done.stderr == message


def test_a_run_without_a_single_judged_query_is_not_scored_as_zero(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("q1 0 d1 1\n")
    (tmp_path / "other.run").write_text("x1 Q0 d1 1 1 t\n")
    done = rag_eval("rank", "qrels", "other.run", folder=tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_the_reader_of_a_pipe_may_leave_early(files: Path) -> None:
    done = in_shell("rag-eval list metrics | true; echo ${PIPESTATUS[0]}", folder=files)
    assert (done.stdout, done.stderr) == ("0\n", "")


def test_output_that_cannot_be_written_is_an_error_without_a_traceback(files: Path) -> None:
    done = in_shell("rag-eval rank qrels a.run > /dev/full; echo $?", folder=files)
    assert done.stdout == "2\n"
    assert done.stderr == "rag-eval: cannot read or write: No space left on device\n"


def test_comments_and_words_after_the_tag_are_passed_over_as_by_trec_eval(files: Path) -> None:
    (files / "noted").write_text("# who judged this: two of us\n" + QRELS)
    (files / "noted.run").write_text("# a run\n#\n" + RUN_A.replace(" a\n", " a with some more words\n"))
    done = rag_eval("rank", "noted", "noted.run", "-m", "mrr", folder=files)
    assert (done.returncode, done.stderr) == (0, "")
    assert "mrr      0.50" in done.stdout


def test_the_short_options_mean_what_they_mean_to_trec_eval(files: Path) -> None:
    def means(*arguments: str) -> dict[str, float]:
        done = rag_eval("rank", "qrels", "a.run", "--rules", "trec_eval", "--json", *arguments, folder=files)
        assert done.returncode == 0, done.stderr
        system = json.loads(done.stdout)["systems"][0]
        return {name: round(each["value"], 4) for name, each in system["metrics"].items()}

    # q1 finds d1 (grade 2) at 1 and d2 at 3; q2 finds d3 at 2; q4 is missing; q3 has nothing relevant.
    assert means("-m", "map") == {"map": 0.6667}  # ((1 + 2/3) / 2 + 1/2) / 2
    assert means("-m", "map", "-c") == {"map": 0.3333}  # over the four judged queries
    assert means("-m", "map", "-l", "2") == {"map": 0.5}  # only d1 is relevant
    assert means("-m", "map", "-M", "1") == {"map": 0.25}  # (1 / 2 + 0) / 2
    assert means("-m", "set_P", "-m", "set_recall") == {"precision": 0.5833, "recall": 1.0}
    shown = rag_eval("rank", "qrels", "a.run", "--rules", "trec_eval", "-m", "mrr", "-q", folder=files)
    assert "a: scores by question" in shown.stdout


def test_totals_are_shown_where_one_of_them_is_asked_for(files: Path) -> None:
    done = rag_eval("rank", "qrels", "a.run", "--rules", "trec_eval", "-m", "num_rel_ret", folder=files)
    assert "num_q  num_ret  num_rel  num_rel_ret  gm_map" in done.stdout
    # sqrt(5/6 * 1/2) over two queries with five documents, three relevant, all found
    assert "    2        5        3            3  0.6455" in done.stdout
