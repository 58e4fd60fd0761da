"""Every surface shows the same counts of answers: correct, partly correct, wrong, not judged."""

from __future__ import annotations

import csv
import html
import json
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import chdir
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote
from urllib.request import urlopen
from xml.etree import ElementTree

import pytest
from langsmith_server import signed_in

from command_lines import rag_eval
from every_state import GRADES, METRICS, LiteralJudge, answer, evaluate_every_state, every_sample
from rag_evaluation_framework import Evaluation, Gate, Judge, Options, Threshold, compare, evaluate, load
from rag_evaluation_framework.adapters.local_server import LocalServer
from rag_evaluation_framework.cli.pytest_plugin import Answer
from rag_evaluation_framework.cli.serve import answers
from rag_evaluation_framework.datasets.value_files import read_results
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.reports import exports
from rag_evaluation_framework.reports.stored_pages import StoredPages
from rag_evaluation_framework.results.journal import JournalEntry, written_entry
from rag_evaluation_framework.results.run_store import RunFolder
from rag_evaluation_framework.structs import replace

Counts: TypeAlias = Mapping[str, int]
Surface: TypeAlias = Callable[[Evaluation, Path], Counts]


def grades_of(evaluation: Evaluation) -> Counts:
    """Return how many answers of each grade a run must have: each sample is answered in every repeat."""
    return {grade: count * evaluation.head.repeats for grade, count in GRADES.items()}


def counted(grades: Iterable[str]) -> Counts:
    found = Counter(grades)
    return {grade: found[grade] for grade in GRADES}


def counts_told(text: str) -> Counts:
    """Read the counts out of a sentence; a grade that it leaves out has none."""
    patterns = {
        "correct": r"([\d,]+)(?: of [\d,]+ answers (?:is|are))? correct\b",
        "partly_correct": r"([\d,]+)(?: of [\d,]+ answers (?:is|are))? partly correct\b",
        "wrong": r"([\d,]+)(?: of [\d,]+ answers (?:is|are))? wrong\b(?! refusal)",
        "not_judged": r"([\d,]+)(?: of [\d,]+ answers)?(?: was| were)? not judged\b",
    }
    found = {grade: re.search(pattern, text) for grade, pattern in patterns.items()}
    return {grade: 0 if each is None else int(each[1].replace(",", "")) for grade, each in found.items()}


def grades_of_rows(rows: Iterable[Mapping[str, Any]]) -> Counts:
    """Count the answers in the rows of a table, the turns of a conversation one by one."""
    return counted(
        grade for row in rows for grade in str(row.get("turns") or row.get("verdict") or "").split(", ")
    )


def grades_of_verdicts(verdicts: Iterable[Mapping[str, Any]]) -> Counts:
    """Count the answers behind verdicts as results hold them."""
    grades = {"correct_refusal": "correct"} | dict.fromkeys(
        ("unsupported", "wrong_refusal", "missed_refusal", "no_answer"), "wrong"
    )
    answers = chain.from_iterable(verdict.get("turns") or [verdict] for verdict in verdicts)
    return counted(grades.get(each["state"], each["state"]) for each in answers)


def of_json(evaluation: Evaluation, folder: Path) -> Counts:
    document = json.loads(evaluation.render("json"))
    shown = {grade: document["answers"][grade] for grade in GRADES}
    assert grades_of_verdicts(sample["verdict"] for sample in document["samples"]) == shown
    assert [{grade: run["answers"][grade] for grade in GRADES} for run in document["runs"]] == [shown]
    return shown


def of_results(ending: str) -> Surface:
    def counts(evaluation: Evaluation, folder: Path) -> Counts:
        document = read_results(evaluation.save(folder / f"one.results{ending}"))
        shown = {grade: document["summary"]["answers"][grade] for grade in GRADES}
        assert grades_of_verdicts(each["verdict"] for each in document["query_results"]) == shown
        return shown

    return counts


def of_junit(evaluation: Evaluation, folder: Path) -> Counts:
    suites = ElementTree.fromstring(evaluation.render("junit")).findall("testsuite")
    gate, answers = [{one.get("name"): one.get("value") for one in each.iter("property")} for each in suites]
    assert {grade: answers[grade] for grade in GRADES} == gate
    return {grade: int(gate[grade] or 0) for grade in GRADES}


def of_annotations(evaluation: Evaluation, folder: Path) -> Counts:
    (line,) = re.findall(r"::notice file=\S+,title=answers::(.*)", evaluation.render("github"))
    return counts_told(line)


def of_markdown(evaluation: Evaluation, folder: Path) -> Counts:
    (line,) = re.findall(r"^- \d+ answers.*: (\d+ correct.*)$", evaluation.render("markdown"), re.MULTILINE)
    return counts_told(line)


def of_csv(evaluation: Evaluation, folder: Path) -> Counts:
    evaluation.export("csv", folder / "answers.csv")
    with (folder / "answers.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {"state", "by", "why", "cause", "meets_thresholds"} <= rows[0].keys()
    return grades_of_rows(rows)


def of_parquet(evaluation: Evaluation, folder: Path) -> Counts:
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet")
    evaluation.export("parquet", folder / "answers.parquet")
    table = pyarrow.parquet.read_table(folder / "answers.parquet")
    return grades_of_rows(table.to_pylist())


def of_xlsx(evaluation: Evaluation, folder: Path) -> Counts:
    openpyxl = pytest.importorskip("openpyxl")
    evaluation.export("xlsx", folder / "answers.xlsx")
    header, *rows = openpyxl.load_workbook(folder / "answers.xlsx")["answers"].iter_rows(values_only=True)
    return grades_of_rows(dict(zip(header, row, strict=True)) for row in rows)


def of_latex(evaluation: Evaluation, folder: Path) -> Counts:
    evaluation.export("latex", folder / "figures.tex")
    return counts_told((folder / "figures.tex").read_text(encoding="utf-8").splitlines()[1])


def of_notebook_text(evaluation: Evaluation, folder: Path) -> Counts:
    return counts_told(repr(evaluation).splitlines()[1])


def of_notebook_html(evaluation: Evaluation, folder: Path) -> Counts:
    text = re.sub("<[^>]+>", "\n", re.sub("<style>.*?</style>", "", evaluation._repr_html_()))
    (line,) = re.findall(r"^\d+ answers to .*: \d+ correct, .*$", html.unescape(text), re.MULTILINE)
    return counts_told(line)


def of_pandas(evaluation: Evaluation, folder: Path) -> Counts:
    pytest.importorskip("pandas")
    frame = evaluation.to_pandas()
    return grades_of_rows(frame.astype(object).where(frame.notna(), None).to_dict("records"))


def of_polars(evaluation: Evaluation, folder: Path) -> Counts:
    pytest.importorskip("polars", reason="polars is not installed")
    return grades_of_rows(evaluation.to_polars().to_dicts())


def of_pytest(evaluation: Evaluation, folder: Path) -> Counts:
    grades: list[str] = []
    for row in evaluation.rows:
        try:
            Answer(row.id, row).check()
            grades.append("correct")
        except pytest.skip.Exception:
            grades.append("not_judged")
        except pytest.fail.Exception as end:
            grades += [
                "partly_correct" if said.startswith("partly correct") else "wrong"
                for said in re.findall(r"^ +why +(.*)", str(end), re.MULTILINE)
            ]
    grades += ["correct"] * evaluation.head.repeats  # the conversation's turn that a failure leaves out
    return counted(grades)


def of_opentelemetry(evaluation: Evaluation, folder: Path) -> Counts:
    evaluation.export("opentelemetry", folder / "events.jsonl")
    text = (folder / "events.jsonl").read_text(encoding="utf-8")
    label = r'"gen_ai\.evaluation\.score\.label","value":\{"stringValue":"(\w+)"'
    return counted(re.findall(label, text.replace(" ", "")))


def of_langsmith(evaluation: Evaluation, folder: Path) -> Counts:
    pytest.importorskip("langsmith", reason="langsmith is not installed")
    with pytest.MonkeyPatch.context() as patch, signed_in(patch, folder) as server:
        evaluation.export("langsmith", "questions")
        return counted(each["value"] for each in server.feedback.values() if each["key"] == "verdict")


def of_mlflow(evaluation: Evaluation, folder: Path) -> Counts:
    mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed")
    evaluation.export("mlflow", folder / "store")
    client = mlflow.MlflowClient(tracking_uri=(folder / "store").as_uri())
    experiment = client.get_experiment_by_name(evaluation.name)
    (run,) = client.search_runs([experiment.experiment_id])
    return {grade: int(run.data.metrics[f"answers.{grade}"]) for grade in GRADES}


def of_wandb(evaluation: Evaluation, folder: Path) -> Counts:
    pytest.importorskip("wandb", reason="wandb is not installed")
    evaluation.export("wandb", folder / "kept")
    (table,) = (folder / "kept").rglob("answers*.table.json")
    written = json.loads(table.read_text(encoding="utf-8"))
    return grades_of_rows(dict(zip(written["columns"], row, strict=True)) for row in written["data"])


def of_terminal(evaluation: Evaluation, folder: Path) -> Counts:
    return counts_told(str(evaluation))


def of_golden(evaluation: Evaluation, folder: Path) -> Counts:
    return counts_told(str(replace(evaluation, kind="golden")))


def of_show(evaluation: Evaluation, folder: Path) -> Counts:
    lists = ("--failed", "--not-judged")
    failed, unjudged = (
        rag_eval("show", run_folder(evaluation), option, "--all").stdout.splitlines()[0] for option in lists
    )
    counts = grades_of(evaluation)
    total = sum(counts.values())
    assert f": {counts['wrong'] + counts['partly_correct']} of {total} answers are wrong or partly" in failed
    assert f": {counts['not_judged']} of {total} answers are not judged" in unjudged
    wish = chain.from_iterable(("--sample", row.id) for row in evaluation.rows)
    shown = json.loads(rag_eval("show", run_folder(evaluation), *wish, "--json").stdout)
    return grades_of_verdicts(each["verdict"] for each in shown)


def of_list(evaluation: Evaluation, folder: Path) -> Counts:
    (folder / "data" / "evaluation" / "results").mkdir(parents=True)
    evaluation.save(folder / "data" / "evaluation" / "results" / "one.results.json")
    with chdir(folder):
        counts = grades_of(evaluation)
        assert f"  {counts['correct']} of {sum(counts.values())}  " in rag_eval("results").stdout
        (listed,) = json.loads(rag_eval("results", "--json").stdout)
    return {grade: listed["answers"][grade] for grade in GRADES}


def of_page(evaluation: Evaluation, folder: Path) -> Counts:
    return counts_of_page(evaluation.report(folder / "page.html").read_text(encoding="utf-8"))


def counts_of_page(page: str) -> Counts:
    return counts_told(html.unescape(re.sub("<[^>]+>", " ", page)))


def of_serve(evaluation: Evaluation, folder: Path) -> Counts:
    def fetch(address: str) -> str:
        with urlopen(address) as reply:
            return str(reply.read().decode())

    place = run_folder(evaluation)
    with chdir(folder), LocalServer(answers(StoredPages(place.parent, title="runs"))).running() as url:
        (data,) = re.findall('<script type="application/json" id="data">(.*?)</script>', fetch(url))
        (listed,) = (each for each in json.loads(data)["results"] if each["id"] == place.name)
        shown = counts_of_page(fetch(f"{url}run?key={quote(listed['key'])}"))
    assert {grade: listed["answers"][grade] for grade in GRADES} == shown
    return shown


OWN: dict[str, Surface] = {
    "JSON": of_json,
    "results.json": of_results(".json"),
    "results.yaml": of_results(".yaml"),
    "results.csv": of_results(".csv"),
    "results.parquet": of_results(".parquet"),
    "JUnit": of_junit,
    "annotations": of_annotations,
    "Markdown": of_markdown,
    "CSV": of_csv,
    "Parquet": of_parquet,
    "XLSX": of_xlsx,
    "LaTeX": of_latex,
    "notebook text": of_notebook_text,
    "notebook HTML": of_notebook_html,
    "pandas": of_pandas,
    "polars": of_polars,
    "pytest": of_pytest,
    "OpenTelemetry": of_opentelemetry,
    "LangSmith": of_langsmith,
    "MLflow": of_mlflow,
    "W&B": of_wandb,
}
OTHERS: dict[str, Surface] = {
    "terminal": of_terminal,
    "golden": of_golden,
    "show": of_show,
    "results": of_list,
    "page": of_page,
    "serve": of_serve,
}


NOT_OF_FILES = {"LangSmith", "MLflow", "W&B", "polars"}


def as_run(folder: Path, half: str | None = None, resume: str | None = None) -> Evaluation:
    """Evaluate all samples, or one half of them."""
    samples = [replace(each, tags=(f"half{place % 2}",)) for place, each in enumerate(every_sample())]
    wish: dict[str, Any] = {} if half is None else {"tags": (half,)}
    return evaluate(
        samples,
        target=answer,
        judge=Judge(LiteralJudge()),
        metrics=METRICS,
        options=Options(allow_missing=True, max_attempts=1),
        runs_directory=folder,
        **wish,
        resume=resume,
    )


def loaded(place: str | Path) -> Evaluation:
    found = load(place)
    assert isinstance(found, Evaluation)
    return found


def saved(ending: str) -> Callable[[Evaluation, Path], Evaluation]:
    return lambda whole, folder: loaded(whole.save(folder / f"whole.results{ending}"))


def of_folder(whole: Evaluation, folder: Path) -> Evaluation:
    return loaded(str(run_folder(whole)))


def run_folder(whole: Evaluation) -> Path:
    place = whole.runs[0].folder
    assert place is not None
    return place


def merged(whole: Evaluation, folder: Path) -> Evaluation:
    return as_run(folder, "half0").merge(as_run(folder, "half1"))


def exported(whole: Evaluation, folder: Path) -> Evaluation:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exports, "_SHARD_ROWS", 5)
        whole.export("shards", folder / "parts")
    done = rag_eval("merge", folder / "parts", "--out", folder / "joined.results.json")
    assert done.exception is None
    return loaded(folder / "joined.results.json")


def resumed(whole: Evaluation, folder: Path) -> Evaluation:
    kept = run_folder(as_run(folder))
    rewrite_journal(kept, lambda entries: entries[:5])
    return as_run(folder, resume=kept.name)


def of_old_version(whole: Evaluation, folder: Path) -> Evaluation:
    """Return a run whose journal has no verdicts, as before there were any."""
    kept = shutil.copytree(run_folder(whole), folder / "runs" / run_folder(whole).name)
    rewrite_journal(kept, lambda entries: [replace(each, verdict=None) for each in entries])
    return loaded(kept)


def repeated(folder: Path) -> Evaluation:
    """Ask every sample twice."""
    options = Options(allow_missing=True, max_attempts=1, repeats=2)
    found = evaluate_every_state(folder, options=options)
    assert found.head.repeats == 2
    return found


def rewrite_journal(run: Path, change: Callable[[list[JournalEntry]], list[JournalEntry]]) -> None:
    entries = change(list(RunFolder.open(run).entries()))
    (run / "journal.jsonl").write_bytes(b"".join(written_entry(each)[0] for each in entries))
    for name in ("results.json", "figures.json"):
        (run / name).unlink(missing_ok=True)


WAYS: dict[str, Callable[[Evaluation, Path], Evaluation]] = {
    "loaded": of_folder,
    "saved as JSON": saved(".json"),
    "saved as YAML": saved(".yaml"),
    "saved as CSV": saved(".csv"),
    "saved as Parquet": saved(".parquet"),
    "merged": merged,
    "resumed": resumed,
    "without verdicts": of_old_version,
    "exported and joined": exported,
    "repeats": lambda whole, folder: of_folder(repeated(folder), folder),
    "repeats, saved": lambda whole, folder: saved(".json")(repeated(folder), folder),
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def whole(runs: Path) -> Evaluation:
    return evaluate_every_state(runs)


@pytest.fixture(scope="module", params=["once", "repeats"])
def run(request: pytest.FixtureRequest, whole: Evaluation, runs: Path) -> Evaluation:
    """The run, or the same with each sample asked twice."""
    return whole if request.param == "once" else repeated(runs)


@pytest.mark.parametrize("surface", OWN)
def test_a_surface_shows_the_counts_of_the_run(run: Evaluation, surface: str, tmp_path: Path) -> None:
    assert dict(OWN[surface](run, tmp_path)) == grades_of(run)


@pytest.fixture(scope="module", params=WAYS)
def another(request: pytest.FixtureRequest, whole: Evaluation, tmp_path_factory: Any) -> Evaluation:
    """The same answers, by another way."""
    return WAYS[request.param](whole, tmp_path_factory.mktemp("way"))


@pytest.mark.parametrize("surface", [name for name in OWN if name not in NOT_OF_FILES])
def test_the_counts_stay_however_the_run_got_here(another: Evaluation, surface: str, tmp_path: Path) -> None:
    assert dict(OWN[surface](another, tmp_path)) == grades_of(another)


def test_a_results_file_without_verdicts_is_decided_when_read(whole: Evaluation, tmp_path: Path) -> None:
    document = whole.to_dict()
    del document["summary"]["answers"]
    before = [query.pop("verdict") for query in document["query_results"]]
    path = tmp_path / "old.results.json"
    path.write_bytes(strict_json.encode(document))
    old = loaded(path)
    found = {row.id: row.verdict.state for row in old.rows if row.verdict is not None}
    assert list(found.values()) == [each["state"] for each in before]


@pytest.mark.parametrize("surface", OTHERS)
def test_a_screen_shows_the_counts_of_the_run(run: Evaluation, surface: str, tmp_path: Path) -> None:
    assert dict(OTHERS[surface](run, tmp_path)) == grades_of(run)


SAID: dict[str, Callable[[Evaluation], str]] = {
    "terminal": str,
    "Markdown": lambda each: each.render("markdown").replace("\\", ""),
    "notebook": lambda each: html.unescape(re.sub("<[^>]+>", "", each._repr_html_())),
    "page": lambda each: html.unescape(re.sub("<[^>]+>", "", each.render("page"))),
    "JUnit": lambda each: html.unescape(each.render("junit")),
}
DEMANDS: list[dict[str, float]] = [
    *({}, {"wrong": 0}, {"wrong": 6}, {"wrong": 13}, {"correct": 0.9, "partly_correct": 0}),
    *({"claim_recall": 0.1}, {"claim_recall": 0.99}, {"not_judged": 0, "wrong": 8}),
]


@pytest.mark.parametrize("surface", SAID)
@pytest.mark.parametrize("demands", DEMANDS, ids=str)
def test_the_sentences_of_a_verdict_are_the_same_on_every_surface(
    whole: Evaluation, demands: dict[str, float], surface: str
) -> None:
    bounds = [
        Threshold(name, "<=" if name in GRADES and name != "correct" else ">=", bound)
        for name, bound in demands.items()
    ]
    given = replace(whole, verdict=Gate(thresholds=tuple(bounds), enabled=bool(bounds)).decide(whole))
    heading, *lines = SAID["Markdown"](given).partition("\n|")[0].splitlines()
    said = heading.removeprefix("### ").partition(": ")[2] if bounds else heading.removeprefix("### ")
    shown = " ".join(SAID[surface](given).split())
    assert said
    assert [each for each in (said, *lines) if each.strip() not in shown] == []


def test_a_comparison_shows_the_counts_of_the_run(whole: Evaluation) -> None:
    lines = str(compare(whole, whole)).splitlines()
    told = [dict(counts_told(line)) for line in lines if "partly correct" in line]
    assert told == [GRADES, GRADES]
