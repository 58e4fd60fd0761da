"""An evaluation in figures: what is found out about an answer is found out once, whoever reports it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import pytest

from rag_evaluation_framework import Evaluation
from rag_evaluation_framework.evaluation import blame
from rag_evaluation_framework.evaluation.golden_runs import golden_manifest, plan_golden
from rag_evaluation_framework.evaluation.suites import Suite, run_suite
from rag_evaluation_framework.evaluation.targets import PythonCallable
from rag_evaluation_framework.judging.lexical_support import LexicalSupport
from rag_evaluation_framework.records.scores import Claim, ClaimVerdict
from rag_evaluation_framework.results.run_folder import RunFolder
from rag_evaluation_framework.results.run_groups import RunGroup

GOLDEN = Path(__file__).parents[2] / "examples" / "golden"


class CountedSupport(LexicalSupport):
    """Counts how often it is asked."""

    asked: ClassVar[int] = 0

    def decide(
        self, claims: Sequence[Claim], evidence: Sequence[str], *, question: str = ""
    ) -> list[ClaimVerdict]:
        CountedSupport.asked += 1
        return super().decide(claims, evidence, question=question)


def evaluated(runs: Path, resume: str | None = None) -> list[Evaluation]:
    manifest = golden_manifest(GOLDEN)
    suite = Suite(
        plan=plan_golden(manifest),
        manifest=manifest,
        target=PythonCallable(lambda question: {"answer": question, "contexts": [question]}),
        runs_directory=runs,
        resumed=RunGroup.open(resume, runs) if resume else None,
    )
    return [part for part in run_suite(suite).parts.values() if part.is_begun]


def test_an_answer_is_blamed_once_however_often_it_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blame, "LexicalSupport", CountedSupport)
    found = evaluated(tmp_path)
    asked = CountedSupport.asked
    assert asked > 0
    for each in found:
        samples = list(each.rows)
        assert samples == list(each.rows)
        answers = [answer for sample in samples if sample.blame for answer in sample.blame.answers]
        assert each.blame is not None
        assert {share.kind: share.count for share in each.blame.shares if share.count} == {
            kind: sum(answer.kind == kind for answer in answers) for kind in {one.kind for one in answers}
        }
        conversations = [sample for sample in samples if sample.blame and sample.blame.turns]
        assert all(
            turn.blame == sample.blame.turns.get(turn.number)
            for sample in conversations
            for turn in sample.turns
            if sample.blame is not None
        )
        assert bool(conversations) == (each.name == "multiturn")
    assert CountedSupport.asked == asked


def test_what_cannot_be_written_down_is_not_blamed_and_reported_all_the_same(tmp_path: Path) -> None:
    first = evaluated(tmp_path)[0]
    blames = RunFolder.open(first.head.run_id, tmp_path).blame_path
    blames.unlink()
    blames.mkdir()
    again = evaluated(tmp_path, resume=first.head.run_id)
    assert [each.blame is None for each in again] == [True, False, False, False, False]
    assert all(sample.blame is None for sample in again[0].rows)


def test_results_that_cannot_be_written_leave_a_report_and_an_unfinished_run(tmp_path: Path) -> None:
    first, *_ = evaluated(tmp_path)
    results = tmp_path / first.head.run_id / "results.json"
    results.unlink()
    (results / "in the way").mkdir(parents=True)
    again, *_ = evaluated(tmp_path, resume=first.head.run_id)
    assert not again.outcome.completed
    assert again.outcome.reason is not None
    assert "results.json" in again.outcome.reason
    assert again.counts.finished == first.counts.finished
