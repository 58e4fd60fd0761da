"""The names an evaluation may use: what each metric needs of a sample, its direction, whether it is a share.

The table holds before any of it is computed: thresholds are read by it, and a metric that cannot run here is
told apart from a name that nobody knows. The safety metrics are 1 for clean, so higher is better.
"""

from __future__ import annotations

from dataclasses import dataclass

from rag_evaluation_framework.errors import UnknownNameError
from rag_evaluation_framework.specifications import parse_specification

PASS_RATE = "pass_rate"  # noqa: S105  # no password
"""The share of samples that pass; a threshold may be set for it, but it is not asked for as a metric."""


@dataclass(frozen=True, slots=True)
class KnownMetric:
    """What is known of a metric by its name alone. ``needs`` are fields of a sample."""

    needs: tuple[str, ...] = ()
    higher_is_better: bool = True
    is_share: bool = True


KNOWN_METRICS: dict[str, KnownMetric] = {
    "string_match": KnownMetric(("expected",)),
    "exact_match": KnownMetric(("expected",)),
    "token_f1": KnownMetric(("expected",)),
    "rouge": KnownMetric(("expected",)),
    "bleu": KnownMetric(("expected",)),
    "chrf": KnownMetric(("expected",)),
    "answer_similarity": KnownMetric(("expected",)),
    "answer_correctness": KnownMetric(("expected",)),
    "answer_relevancy": KnownMetric(),
    "toxicity": KnownMetric(),
    "bias": KnownMetric(),
    "hallucination": KnownMetric(("context",), higher_is_better=False),
    "faithfulness": KnownMetric(("context",)),
    "context_precision": KnownMetric(("context",)),
    "context_recall": KnownMetric(("context", "reference_contexts")),
    "noise_sensitivity": KnownMetric(("expected", "context"), higher_is_better=False),
    "grounded_fraction": KnownMetric(("context",)),
    "unsupported_tokens": KnownMetric(("context",), higher_is_better=False, is_share=False),
    "claim_precision": KnownMetric(("expected",)),
    "claim_recall": KnownMetric(("expected",)),
    "claim_f1": KnownMetric(("expected",)),
    "claim_hallucination": KnownMetric(("expected", "context"), higher_is_better=False),
    "self_knowledge": KnownMetric(("expected", "context")),
    "context_utilization": KnownMetric(("expected", "context")),
    "latency": KnownMetric(higher_is_better=False, is_share=False),
    PASS_RATE: KnownMetric(),
}


def known_metric(text: str) -> KnownMetric | None:
    """Return what is known of a metric, its parameters left aside; ``None`` for a name that is not ours."""
    return KNOWN_METRICS.get(parse_specification(text.partition("@")[0]).name)


def check_known(text: str, others: frozenset[str]) -> None:
    """Raise :class:`UnknownNameError` for a name that is neither known nor among the others."""
    if known_metric(text) is None and text not in others:
        raise UnknownNameError("metric", text, sorted({*KNOWN_METRICS, *others}))
