"""Which human label a metric is compared with, unless one is named.

===============  ====================================================================================
``accuracy``     metrics of truth: faithfulness, correctness, hallucination, grounding, exact matches
``completeness`` metrics of what an answer leaves out: recall of claims, entities, milestones
``relevance``    answer relevancy
``clarity``      communication
``overall``      metrics of likeness to the reference, and rubrics: they measure everything at once
===============  ====================================================================================

A metric with the name of a field is compared with that field. Retrieval, citations, refusals and safety have
no field among these; they are paired only on request.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rag_evaluation_framework.datasets.annotations import OVERALL
from rag_evaluation_framework.datasets.human_labels import LABEL, LabelField
from rag_evaluation_framework.errors import Problems, UnknownNameError, UsageError, shown

_METRICS_OF_FIELD: Mapping[str, tuple[str, ...]] = {
    "accuracy": (
        "faithfulness",
        "hallucination",
        "answer_correctness",
        "claim_precision",
        "claim_hallucination",
        "noise_sensitivity",
        "grounded_fraction",
        "unsupported_tokens",
        "factual_consistency",
        "hallucination_rate",
        "factuality",
        "grounding",
        "exact_match",
        "string_match",
        "relation",
    ),
    "completeness": ("claim_recall", "entity_coverage", "milestone_recall", "hop_coverage"),
    "relevance": ("answer_relevancy",),
    "clarity": ("communication",),
    OVERALL: (
        "answer_similarity",
        "claim_f1",
        "token_f1",
        "rouge",
        "bleu",
        "chrf",
        "rubric",
        "rubric_pass",
    ),
}
_FIELD_OF_METRIC = {metric: name for name, metrics in _METRICS_OF_FIELD.items() for metric in metrics}


@dataclass(frozen=True, slots=True)
class LabelPair:
    """A metric and the human label that it is compared with."""

    metric: str
    field: LabelField

    @classmethod
    def parse(cls, text: str) -> LabelPair:
        """Read ``METRIC=FIELD``; a metric's parameters may contain equals signs, a field may not."""
        metric, equals, name = text.rpartition("=")
        if not equals or not metric.strip():
            raise UsageError(f"pair: expected METRIC=FIELD, got {shown(text)}")
        return cls(metric.strip(), LabelField.parse(name.strip()))


def chosen_pairs(
    metrics: Iterable[str],
    fields: Iterable[str],
    *,
    only: Iterable[str] = (),
    label: str | None = None,
    pairs: Iterable[LabelPair] = (),
) -> tuple[list[LabelPair], list[str]]:
    """Return what is compared with what, and the metrics of the run that have no label.

    ``only`` are the metrics asked for, all if none is named; ``label`` is a field for all of them; ``pairs``
    come before both. All names that the run or the labels do not have are in one error.
    """
    in_run, known = list(metrics), list(fields)
    asked = list(dict.fromkeys(only))
    named = {pair.metric: pair for pair in pairs}
    wanted = [pair.field for pair in named.values()] + ([] if label is None else [LabelField.parse(label)])
    problems = Problems()
    for metric in dict.fromkeys((*asked, *named)):
        with problems.collected():
            _check_name("metric of the run", metric, in_run)
    for name in dict.fromkeys(field.name for field in wanted):
        with problems.collected():
            _check_name("label field", name, known)
    problems.raise_all()
    chosen: list[LabelPair] = []
    unpaired: list[str] = []
    for metric in asked or (list(named) if named and label is None else in_run):
        found = named.get(metric) or _default_pair(metric, known, label)
        if found is None:
            unpaired.append(metric)
        else:
            chosen.append(found)
    if asked and unpaired:
        raise UsageError(
            f"metric {unpaired[0]}: no human label goes with it by itself: give --pair {unpaired[0]}=FIELD "
            f"or --label FIELD; the labels have {', '.join(known) or 'no fields'}"
        )
    return chosen, unpaired


def _default_pair(metric: str, known: list[str], label: str | None) -> LabelPair | None:
    if label is not None:
        return LabelPair(metric, LabelField.parse(label))
    name = metric.partition("(")[0].partition("@")[0]
    field = name if name in known else _FIELD_OF_METRIC.get(name)
    if field not in known:
        field = LABEL if LABEL in known else None
    return None if field is None else LabelPair(metric, LabelField(field))


def _check_name(kind: str, name: str, known: list[str]) -> None:
    if name not in known:
        raise UnknownNameError(kind, name, known)
