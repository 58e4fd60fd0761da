"""A golden run as one JSON document: that of an evaluation, with splits, refusals and blame beside it."""

from __future__ import annotations

from typing import Any

from rag_evaluation_framework.evaluation.golden_results import GoldenEvaluation
from rag_evaluation_framework.evaluation.manifests.preflight import Plan
from rag_evaluation_framework.reports.evaluation_json import evaluation_document
from rag_evaluation_framework.results.gate import Verdict


def golden_json(golden: GoldenEvaluation, verdict: Verdict, *, plan: Plan, target: str) -> dict[str, Any]:
    """Return everything about a golden run as plain values; ``metrics`` always has the splits by name."""
    document = evaluation_document(golden.evaluations, verdict, plan=plan, target=target)
    return {
        **document,
        "dataset": [dataset.name for dataset in plan.datasets],
        "metrics": {
            each.plan.name: {metric.metric: metric.value for metric in each.metrics}
            for each in golden.evaluations
        },
        "missingSplits": list(golden.missing),
        "notScored": {split: dict(reasons) for split, reasons in golden.unscored.items() if reasons},
        "refusals": golden.refusals.to_dict(),
        "blame": None if golden.blame is None else golden.blame.to_dict(),
    }
