"""``rag-eval compare`` from the outside: how runs are found, what is printed, refused and exited with."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from cases import tables_beside
from command_lines import Command
from rag_evaluation_framework import DataFormatValidator, Evaluation, Options, evaluate
from rag_evaluation_framework.cli.main import main
from rag_evaluation_framework.results.baselines import save_baseline
from rag_evaluation_framework.results.experiments import read_experiment

SCREENS = tables_beside(__file__)
FERRY = SCREENS["ferry"]
WISH: dict[str, Any] = {"metrics": ["string_match", "hit@1"], "gate": {"hit@1": 1.0}}
DECLINED = "I don't know."
FAULTY, NEW = [1], [0, 2, 3, 4]


def ferry(folder: Path, wrong: list[int], *, without: Sequence[int] = (), **more: Any) -> Evaluation:
    """Ask the ferry desk, which answers some questions wrongly from the minutes of a meeting."""
    data = folder / "evals" / "passengers.jsonl"
    data.parent.mkdir(parents=True, exist_ok=True)
    with data.open("w", encoding="utf-8") as file:
        for place, (asked, (expected, document)) in enumerate(FERRY.items()):
            if place not in without:
                sample = {"id": f"f{place}", "input": asked, "expected": expected}
                file.write(json.dumps({**sample, "relevant_documents": [document]}) + "\n")
    astray = [list(FERRY)[place] for place in wrong]

    def answer(question: str) -> dict[str, Any]:
        text, document = (DECLINED, "minutes-2024.md") if question in astray else FERRY[question]
        return {"answer": text, "contexts": [{"id": document, "text": text}]}

    return evaluate(data, target=answer, runs_directory="runs", **WISH | more)


@pytest.fixture
def two_runs(folder: Path) -> tuple[str, str]:
    """The ids of a run and of a later one in which four answers got worse and one better."""
    first, second = (ferry(folder, wrong) for wrong in (FAULTY, NEW))
    return first.head.run_id, second.head.run_id


@pytest.fixture
def compare(to_the_end: Command) -> Command:
    return partial(to_the_end, main, "compare")


def undated(text: str, ids: tuple[str, str]) -> str:
    for place, each in enumerate(ids, start=1):
        text = text.replace(each, f"eval_run_20261115_00{place}")
    return text


@pytest.mark.parametrize("width", [80, 100, 140])
def test_the_screen_fits_its_width(two_runs: tuple[str, str], compare: Command, width: int) -> None:
    ended = compare(*two_runs, "--width", str(width))
    assert ended.code == 0
    assert undated(ended.out, two_runs) == SCREENS[f"{width} columns"]
    assert compare("--width", str(width)).out == ended.out  # the latest two


def test_groups_tests_and_all_answers_are_shown_on_demand(
    two_runs: tuple[str, str], compare: Command
) -> None:
    ended = compare(*two_runs, "--slice", "document", "--details", "--all", "-m", "hit@1")
    assert undated(ended.out, two_runs) == SCREENS["all of it"]


def test_it_is_markdown_for_a_pull_request(two_runs: tuple[str, str], compare: Command) -> None:
    text = compare(*two_runs, "--markdown").out
    assert text.startswith("### Undecided: 4 answers got worse, 1 got better")
    assert "I don" in text
    assert (
        "<summary>Figures: string_match 0.88 → 0.50, undecided; hit@1 0.88 → 0.50, undecided</summary>"
        in text
    )


def test_scores_of_repeats_are_in_the_order_of_the_metrics(folder: Path, compare: Command) -> None:
    names = ["string_match", "token_f1", "exact_match", "rouge", "hit@1", "mrr", "recall@5"]
    wish = {"options": Options(repeats=2), "metrics": names}
    runs = [ferry(folder, wrong, **wish).head.run_id for wrong in (FAULTY, NEW)]
    (answers,) = compare(*runs, "--json").json["answers"]
    assert [*answers["worse"][0]["scores"]] == names


def test_it_exits_with_0_unless_worse_is_to_fail(folder: Path, compare: Command) -> None:
    good, bad = (ferry(folder, wrong).head.run_id for wrong in ([], [0, 1, 2, 3, 4, 5]))
    assert compare(good, bad).code == 0
    ended = compare(good, bad, "--fail-on", "worse")
    assert (ended.code, ended.out.splitlines()[0]) == (1, "Worse: 6 answers got worse, 0 got better.")
    ended = compare(bad, good, "--fail-on", "worse")
    assert (ended.code, ended.out.splitlines()[0]) == (0, "Better: 0 answers got worse, 6 got better.")
    assert compare(good, good).out.splitlines()[0] == "No worse: 0 answers got worse, 0 got better."


def test_runs_are_found_by_path_file_baseline_and_branch(folder: Path, compare: Command) -> None:
    old, new = ferry(folder, FAULTY), ferry(folder, NEW)
    expected = compare(old.head.run_id, new.head.run_id).out.splitlines()[0]
    file = old.save(folder / "old.results.json")
    save_baseline(old, "main")
    for base in (f"runs/{old.head.run_id}", str(file), "main", "baseline_main"):
        assert compare(base, new.head.run_id).out.splitlines()[0] == expected, base
    assert compare("main").out.splitlines()[0] == expected  # with the latest run


@pytest.mark.parametrize(("arguments", "told"), SCREENS["what_cannot_be_found_is_told"])
def test_what_cannot_be_found_is_told(
    two_runs: tuple[str, str], compare: Command, arguments: list[str], told: str
) -> None:
    ended = compare(*(each.format(old=two_runs[0], new=two_runs[1]) for each in arguments))
    assert ended.code == 2
    assert told in ended.err
    assert not ended.out


def test_other_data_is_compared_and_what_is_gone_is_named(folder: Path, compare: Command) -> None:
    first = ferry(folder, FAULTY).head.run_id
    second = ferry(folder / "next", FAULTY, without=[0]).head.run_id
    ended = compare(first, second)
    assert ended.code == 0
    assert "1 removed" in ended.out
    assert "removed: line 1" in ended.out


def test_other_methods_are_refused_unless_forced(folder: Path, compare: Command) -> None:
    first, second = (ferry(folder, FAULTY).head.run_id for _ in range(2))
    head = Path("runs", second, "head.json")
    written = json.loads(head.read_text(encoding="utf-8"))
    written["metric_versions"]["hit@1"] = 99
    head.write_text(json.dumps(written), encoding="utf-8")
    ended = compare(first, second)
    assert ended.code == 2
    assert f"cannot compare with {first}: {second}: hit@1 was scored by different versions" in ended.err
    forced = compare(first, second, "--force")
    assert forced.code == 0
    assert "warning: " in forced.out


def test_several_candidates_are_compared_with_the_first(folder: Path, compare: Command) -> None:
    runs = [ferry(folder, wrong).head.run_id for wrong in ([], [0], [0, 1, 2, 3, 4, 5, 6])]
    lines = compare(*runs).out.splitlines()
    assert lines[0] == "002: Undecided: 1 answer got worse, 0 got better."
    assert any(line.startswith("003: Worse: 7 answers got worse, 0 got better.") for line in lines)


def test_text_of_a_run_is_never_markup_nor_an_escape(folder: Path, compare: Command) -> None:
    hostile = "\x1b[31m[bold]\u202e</script>"
    first = ferry(folder, [])
    told = {"answer": hostile, "contexts": [{"id": hostile, "text": "x"}]}
    data = folder / "evals" / "passengers.jsonl"
    second = evaluate(data, target=lambda question: told, runs_directory="runs", **WISH)
    text = compare(first.head.run_id, second.head.run_id, "--all").out
    assert "\x1b" not in text
    assert "\u202e" not in text


# A/B experiments.


def test_an_experiment_is_planned_looked_at_and_kept(folder: Path, compare: Command) -> None:
    config = folder / "ab.config.yaml"
    planned = read_experiment(_experiment(config, []))
    ended = compare("--ab", config)
    assert (ended.code, ended.out.partition(":")[0]) == (0, "Not begun")
    assert "1,522 units" in ended.out
    files = []
    for variant, rate in (("baseline", 5), ("moe", 9)):
        units = [f"u{n}" for n in range(600) if planned.variant_of(f"u{n}") == variant]
        queries = [
            {"query_id": unit, "individual_metrics": {"hit@1": float(place % 10 < rate)}}
            for place, unit in enumerate(units)
        ]
        figure = {"value": rate / 10, "n_scored": len(units), "method": "exact", "higher_is_better": True}
        document = {
            "evaluation_id": variant,
            "timestamp": "2026-11-15T12:00:00Z",
            "dataset_id": "traffic",
            "retrieval_metrics": {"hit@1": figure},
            "query_results": queries,
        }
        files.append(folder / f"{variant}.results.json")
        files[-1].write_text(json.dumps(document), encoding="utf-8")
    _experiment(config, files)
    for width in (80, 100, 140):
        ended = compare("--ab", config, "--width", str(width))
        assert ended.code == 0
        assert ended.out.splitlines()[0] == "moe wins: hit@1 is 0.90 against 0.50, significant on 2026-11-15."
        assert max(map(len, ended.out.splitlines())) <= width
    kept = folder / "kept" / "ab_test_trial_001.results.json"
    document = json.loads(kept.read_text(encoding="utf-8"))
    assert DataFormatValidator().validate_evaluation_results(document) == []
    test = document["statistical_analysis"]["significance_tests"]["hit@1"]
    assert (round(test["baseline_mean"], 1), round(test["current_mean"], 1)) == (0.5, 0.9)
    # The variances of the halves are 0.25 and 0.09: 0.4 / sqrt(0.17).
    assert (test["significant"], test["effect_size"]) == (True, pytest.approx(0.97, abs=0.01))
    assert document["ab_test"]["winner"] == "moe"
    assert json.loads(compare("--ab", config, "--json").out)["ab_test"]["decision"] == "winner"


def _experiment(path: Path, files: list[Path]) -> Path:
    runs = [[str(file)] for file in files] or [[], []]
    variants = {"baseline": {"runs": runs[0]}, "moe": {"runs": runs[1]}}
    path.write_text(
        json.dumps(
            {
                "experiment": "trial",
                "metrics": ["hit@1"],
                "variants": variants,
                "comparison": {"minimum_effect": 0.1},
                "output": "kept",
            }
        ),
        encoding="utf-8",
    )
    return path


def test_an_experiments_runs_are_in_its_file(
    two_runs: tuple[str, str], compare: Command, folder: Path
) -> None:
    config = _experiment(folder / "ab.config.yaml", [])
    ended = compare("--ab", config, *two_runs)
    assert (ended.code, ended.out) == (2, "")
    assert "--ab: expected the runs in" in ended.err
