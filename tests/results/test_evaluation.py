"""The one result: figures, columns, rows, what it renders to."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from finished_runs import evaluated

from rag_evaluation_framework import (
    Corpus,
    Document,
    DocumentId,
    Evaluation,
    Response,
    Sample,
    Score,
    SpanCitation,
    Turn,
    UsageError,
    evaluate,
)
from rag_evaluation_framework.datasets.schemas import schema_issues
from rag_evaluation_framework.errors import UnknownNameError
from rag_evaluation_framework.evaluation import blame
from rag_evaluation_framework.evaluation.golden_runs import golden_manifest, plan_golden
from rag_evaluation_framework.evaluation.run import run
from rag_evaluation_framework.evaluation.scoring import scorers_for
from rag_evaluation_framework.evaluation.targets import PythonCallable
from rag_evaluation_framework.judging.methods import Methods
from rag_evaluation_framework.judging.verdict import AnswerVerdict
from rag_evaluation_framework.records.runs import RunHead, RunOutcome, SampleResult
from rag_evaluation_framework.results.evaluations import Row
from rag_evaluation_framework.results.run_store import RunFolder, RunGroup
from rag_evaluation_framework.results.summaries import ABSENT, Counts, Figure, RunTotals
from rag_evaluation_framework.structs import replace

VALUES = {"a": 1.0, "b": 0.0, "c": 0.5}


def row(index: int, sample_id: str, value: float) -> Row:
    sample = Sample(
        id=sample_id, turns=(Turn(role="user", content=f"{sample_id}?"),), reference="yes", tags=("easy",)
    )
    score = Score.scored("token_f1", value, method="lexical")
    result = SampleResult(sample_id, Response(text="an answer"), (score,))
    return Row(index, result, sample, verdict=AnswerVerdict("correct" if value >= 0.5 else "wrong"))


def evaluation(**changed: object) -> Evaluation:
    rows = [row(index, *each) for index, each in enumerate(VALUES.items())]
    builder = RunTotals()
    for each in rows:
        builder.add(each.result)
    figure = Figure("token_f1", 0.5, None, 3, 0, 0, higher_is_better=True, method="lexical")
    made = Evaluation(
        kind="answers",
        head=RunHead(run_id="run_1", dataset_id="data"),
        metrics={"token_f1": figure},
        counts=Counts(total=3, finished=3),
        outcome=RunOutcome(completed=True, interrupted=False, done=3, failed=0, remaining=0),
        columns=builder.columns(),
        read_rows=lambda: rows,
    )
    return replace(made, **changed)  # type: ignore[arg-type]


def test_columns_keep_the_order_of_the_data_and_know_what_is_absent() -> None:
    builder = RunTotals()
    builder.add(SampleResult("a", Response(text="x"), (Score.scored("m", 1.0, method="t"),)))
    builder.add(SampleResult("b", Response(text="x"), (Score.skipped("n", "no reason", method="t"),)))
    columns = builder.columns()
    assert columns.ids == ("a", "b")
    assert columns.statuses["m"].tolist() == [0, ABSENT]
    assert columns.statuses["n"].tolist() == [ABSENT, 1]
    assert columns.scored("m") == {"a": 1.0}
    with pytest.raises(UnknownNameError, match='unknown metric "o"'):
        columns.scored("o")


def test_the_interval_of_a_time_does_not_reach_below_zero() -> None:
    builder = RunTotals()
    for place, value in enumerate((13.0, 15.6, 49.3)):  # 26.0 ± 50.0 by Student's t
        scores = (Score.scored("latency", value, method="timing"),)
        builder.add(SampleResult(sample_id=str(place), response=Response(text="x"), scores=scores))
    interval = builder.figures()["latency"].interval
    assert interval is not None
    assert interval.low == 0.0 < interval.high


def test_rows_can_be_read_again_and_the_worst_come_first() -> None:
    result = evaluation()
    assert [row.id for row in result.rows] == [row.id for row in result.rows] == ["a", "b", "c"]
    assert (len(result.rows), result.rows[1].id, result.rows[-1].id) == (3, "b", "c")
    assert [row.id for row in result.rows[:2]] == ["a", "b"]
    with pytest.raises(IndexError, match="there are 3 rows; got 3"):
        result.rows[3]
    assert [row.id for row in result.worst(2)] == ["b", "c"]
    assert [row.id for row in result.failed()] == ["b"]


def test_slices_have_a_figure_for_every_group() -> None:
    figure = evaluation().slices["tag"]["easy"]["token_f1"]
    assert (figure.value, figure.n_scored) == (0.5, 3)


def test_it_renders_itself_and_is_written_by_its_ending(tmp_path: Path) -> None:
    result = evaluation()
    assert "token_f1" in str(result)
    assert repr(result).splitlines()[0] == "Evaluation: 3 questions were evaluated."
    assert result.save(tmp_path / "result.txt").read_text(encoding="utf-8") == str(result)
    assert "<!doctype html>" in result.save(tmp_path / "result.html").read_text(encoding="utf-8")
    with pytest.raises(UnknownNameError, match="unknown renderer"):
        result.render("papyrus")
    for renderer in ("terminal", "json", "markdown", "junit", "github", "notebook", "results"):
        with pytest.raises(TypeError, match="smaples"):
            result.render(renderer, smaples=False)


def unanswered(question: str) -> str:
    raise RuntimeError(f"no answer to {question}")


@pytest.fixture(scope="module")
def systems(tmp_path_factory: pytest.TempPathFactory) -> Evaluation:
    """Three systems over the same two questions; the second answers nothing."""
    return evaluate(
        [{"input": "first?", "expected": "yes"}, {"input": "second?", "expected": "no"}],
        target={"agrees": lambda _: "yes", "breaks": unanswered, "denies": lambda _: "no"},
        metrics=["string_match"],
        runs_directory=tmp_path_factory.mktemp("runs"),
    )


def test_reports_of_several_systems_name_each_of_them(systems: Evaluation) -> None:
    text = str(systems)
    assert "breaks: all 2 answers are missing (callable-error 2)" in text
    assert "breaks: 2 failed: no answer: callable-error (string_match)" in text
    markdown = systems.render("markdown")
    assert markdown.startswith("### denies and agrees are statistically tied on the only metric\n")
    assert "| metric | agrees | denies | difference |" in markdown
    assert "- breaks: 2 failed: no answer: callable-error (string_match)" in markdown
    assert ", agent " not in markdown
    suites = re.findall('<testsuite name="([^"]+)"', systems.render("junit"))
    assert suites == ["gate", "agrees", "breaks", "denies"]
    document = json.loads(systems.render("json"))
    assert (document["dataset"], document["systems"]) == ("rows", ["agrees", "breaks", "denies"])
    assert document["metrics"]["denies"]["string_match"] == 0.5
    assert [run["system"] for run in document["runs"]] == document["systems"]
    assert "title=no answer" in systems.render("github")


def test_the_worst_rows_of_several_systems_are_found_in_their_parts(systems: Evaluation) -> None:
    assert [(row.response.text, row.question) for row in systems.worst(2)] == [
        ("yes", "second?"),
        ("no", "first?"),
    ]


def test_several_systems_are_written_as_what_holds_them(systems: Evaluation, tmp_path: Path) -> None:
    for name in ("systems.csv", "systems.yaml", "systems.parquet"):
        with pytest.raises(UsageError, match="expected a file that holds several runs"):
            systems.save(tmp_path / name)
    with pytest.raises(UsageError, match="expected a file that holds several runs"):
        replace(systems, document={"systems": []}).save(tmp_path / "ranked.csv")
    assert list(tmp_path.iterdir()) == []
    compressed = systems.save(tmp_path / "systems.json.gz")
    assert json.loads(gzip.decompress(compressed.read_bytes()))["systems"] == ["agrees", "breaks", "denies"]


def test_a_difference_that_the_metric_cannot_have_is_not_called_detectable(systems: Evaluation) -> None:
    assert systems.comparison is not None
    (compared,) = systems.comparison.metrics
    assert compared.smallest_detectable is not None
    assert compared.smallest_detectable > 1
    assert f"{compared.smallest_detectable:.4f}" not in str(systems)


def test_a_gate_that_is_off_says_what_switches_it_on_and_no_rate_is_shown_that_nothing_decides(
    tmp_path: Path,
) -> None:
    rows = [{"input": "first?", "expected": "yes"}]
    text = str(evaluate(rows, target=lambda _: "yes", metrics=["token_f1"], runs_directory=tmp_path))
    assert "No gate: set one with --threshold METRIC=NUMBER (in Python, gate={metric: bound})." in text
    assert "pass_rate" not in text


# What is found out about an answer is found out once, whoever reports it.

GOLDEN = Path(__file__).parents[2] / "examples" / "golden"


def golden_parts(runs: Path, resume: str | None = None) -> list[Evaluation]:
    manifest = golden_manifest(GOLDEN)
    plan = replace(
        plan_golden(manifest),
        target=PythonCallable(lambda question: {"answer": question, "contexts": [question]}),
        runs_directory=runs,
        resumed=RunGroup.open(resume, runs) if resume else None,
    )
    return [part for part in run(plan).parts.values() if part.has_started]


def test_an_answer_is_blamed_once_however_often_it_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sought, seek = [], blame.retrieved_truth

    def counted(sample: Sample, *given: Any, **named: Any) -> Any:
        sought.append(sample.id)
        return seek(sample, *given, **named)

    monkeypatch.setattr(blame, "retrieved_truth", counted)
    found = golden_parts(tmp_path)
    number = len(sought)
    assert number > 0
    for each in found:
        samples = list(each.rows)
        assert samples == list(each.rows)
        conversations = [sample for sample in samples if sample.blame and sample.blame.turns]
        assert all(
            turn.blame == sample.blame.turns.get(turn.number)
            for sample in conversations
            for turn in sample.turns
            if sample.blame is not None
        )
        assert bool(conversations) == (each.name == "multiturn")
    assert len(sought) == number


def test_what_cannot_be_written_down_is_not_blamed_and_reported_all_the_same(tmp_path: Path) -> None:
    first = golden_parts(tmp_path)[0]
    blames = RunFolder.open(first.head.run_id, tmp_path).blame_path
    blames.unlink()
    blames.mkdir()
    again = golden_parts(tmp_path, resume=first.head.run_id)
    assert all(sample.blame is None for sample in again[0].rows)
    assert any(sample.blame is not None for each in again[1:] for sample in each.rows)


def test_results_that_cannot_be_written_leave_a_report_and_an_unfinished_run(tmp_path: Path) -> None:
    first, *_ = golden_parts(tmp_path)
    results = tmp_path / first.head.run_id / "results.json"
    results.unlink()
    (results / "in the way").mkdir(parents=True)
    again, *_ = golden_parts(tmp_path, resume=first.head.run_id)
    assert not again.outcome.completed
    assert again.outcome.reason is not None
    assert "results.json" in again.outcome.reason
    assert again.counts.finished == first.counts.finished


# What results have of a metric beside its mean, from runs that the scorers themselves scored.

TEXT = "The boat leaves at noon. The boat returns at six."
CORPUS = Corpus([Document(DocumentId("boats.md"), TEXT)])
LEAVES, RETURNS = SpanCitation("boats.md", 0, 24), SpanCitation("boats.md", 25, 49)
ASKED = Sample(
    id="q", turns=(Turn(role="user", content="When do the boats sail?"),), relevant_spans=(LEAVES, RETURNS)
)
# Both claims cited, one wrongly; then the first alone, short of four characters, beside a claim about whales.
ANSWERS = (
    "The boat leaves at noon [boats.md:?:0-24]. The boat returns at six [boats.md:?:0-24].",
    "The boat leaves at noon [boats.md:?:4-24]. Whales sing loudly in winter.",
)


def rows(metrics: Sequence[str], answers: Sequence[str] = ANSWERS) -> list[SampleResult]:
    scorers = scorers_for(metrics, Methods(corpus=CORPUS))
    found = []
    for number, text in enumerate(answers):
        response = Response(text=text, contexts=(TEXT,))
        scores = tuple(scorer.score(ASKED, response) for scorer in scorers)
        found.append(SampleResult(f"q{number}", response, scores))
    return found


def document(given: Sequence[SampleResult]) -> dict[str, Any]:
    return evaluated(given).to_dict()


def test_shares_of_citations_and_claims_have_their_counts() -> None:
    written = document(rows(["citation_completeness", "citation_correctness", "hallucination_rate"]))
    assert schema_issues("results", written) == []
    completeness = written["citation_metrics"]["citation_completeness"]
    assert (completeness["total_claims"], completeness["cited_claims"]) == (4, 3)
    assert completeness["value"] == (2 / 2 + 1 / 2) / 2  # the mean over answers, not 3 / 4
    correctness = written["citation_metrics"]["citation_correctness"]
    assert (correctness["total_citations"], correctness["correct_citations"]) == (3, 2)
    made_up = written["answer_quality_metrics"]["hallucination_rate"]
    assert (made_up["total_claims"], made_up["hallucinated_claims"]) == (4, 1)


def test_consistency_has_a_score_for_each_answer_and_their_mean() -> None:
    given = rows(["factual_consistency"])
    written = document(given)["answer_quality_metrics"]["factual_consistency"]
    told = [score.details["mean_consistency"] for result in given for score in result.scores]
    assert written["consistency_scores"] == told
    assert written["mean_consistency"] == pytest.approx(sum(told) / 2)
    assert 0.5 < written["mean_consistency"] < 1.0


@pytest.mark.parametrize("metric", ["citation_exact_jaccard", "citation_span_f1"])
def test_every_metric_of_cited_spans_tells_the_span_accuracy(metric: str) -> None:
    accuracy = document(rows([metric]))["citation_metrics"]["span_accuracy"]
    # Of the first answer one span of two is there (the same place twice is one), of the second 20 of its 24
    # characters: (1 + 0) / 2 and (20 / 24 + 0) / 2; with the tolerance (1 + 0) / 2 each.
    assert accuracy.pop("mean_exact_jaccard") == pytest.approx((1 / 2 + 20 / 24 / 2) / 2)
    assert accuracy == {
        "mean_tolerance_jaccard": 0.5,
        "perfect_matches": 1,
        "good_matches": 2,
        "n_scored": 2,
        "method": "exact",
    }


def test_the_span_accuracy_is_by_the_tolerance_that_was_asked_for() -> None:
    strict = "citation_tolerance_jaccard(tolerance_chars=2)"
    written = document(rows(["citation_exact_jaccard", strict]))["citation_metrics"]
    assert written["span_accuracy"]["mean_tolerance_jaccard"] == written[strict]["value"]
    assert "perfect_matches" not in written[strict]


def test_what_was_not_measured_is_left_out() -> None:
    declined = document(rows(["factual_consistency", "citation_exact_jaccard"], ["I don't know."]))
    consistency = declined["answer_quality_metrics"]["factual_consistency"]
    assert consistency["value"] is None
    assert not consistency.keys() & {"mean_consistency", "consistency_scores"}
    assert "citation_metrics" not in document(rows(["token_f1"]))
    # Scored before the counts were told: a sum over some of the samples would be wrong.
    early, late = rows(["citation_completeness"])
    (score,) = early.scores
    bare = replace(early, scores=(replace(score, details={}),))
    written = document([bare, late])["citation_metrics"]["citation_completeness"]
    assert written["n_scored"] == 2
    assert "total_claims" not in written


def test_small_amounts_are_no_shares() -> None:
    """Four answers of a tenth of a penny each: Wilson's interval of a share would reach 0.5."""
    costs = (0.0015, 0.0025, 0.0012, 0.0011)
    rows = [{"question": "How high?", "answer": "5 m", "cost": cost} for cost in costs]
    interval = evaluate(rows, metrics=["cost"]).metrics["cost"].interval
    assert interval is not None
    # mean .001575, standard error .000320, t of three degrees 3.182: .000556 to .002594
    assert (interval.low, interval.high) == pytest.approx((0.000556, 0.002594), abs=2e-6)
