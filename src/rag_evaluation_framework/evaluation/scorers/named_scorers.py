"""From the names of metrics to what scores with them.

Each family of metrics has one builder of scorers (:data:`_BUILDERS`), called with the metric and the
methods that are set up; ``latency`` is the time of the answer in milliseconds. Other people's come in through
:data:`SCORERS`: a component registered there under a metric's name is called with the metric's text and
returns a scorer that has the attributes of :class:`MetricScorer`, but for those with a default, which it may
leave out. Installed packages add theirs as ``rag_evaluation_framework.scorers``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rag_evaluation_framework.errors import Problems, UnknownNameError, UsageError, shown
from rag_evaluation_framework.evaluation.scorers.answer_scorers import answer_scorer
from rag_evaluation_framework.evaluation.scorers.citation_scorers import citation_scorer
from rag_evaluation_framework.evaluation.scorers.golden_scorers import golden_scorer
from rag_evaluation_framework.evaluation.scorers.metric_scorer import MetricScorer, WrappedScorer
from rag_evaluation_framework.evaluation.scorers.refusal_scorers import refusal_scorer
from rag_evaluation_framework.evaluation.scorers.retrieved_scorers import retrieved_scorer
from rag_evaluation_framework.evaluation.scorers.safety_scorers import safety_scorer
from rag_evaluation_framework.evaluation.scorers.scoring_methods import ScoringMethods
from rag_evaluation_framework.evaluation.scorers.text_scorers import text_scorer
from rag_evaluation_framework.evaluation.scorers.turn_by_turn import TurnByTurn
from rag_evaluation_framework.extensions import Registry
from rag_evaluation_framework.metrics.declaration import (
    BoundMetric,
    Family,
    all_metrics,
    parse_metric,
    split_cut_off,
)
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.records.scores import TIMING_METHOD, Score

SCORERS: Registry[Callable[[str], MetricScorer]] = Registry("scorer")

# Who builds the scorers of a family: called with the metric and the methods that are set up.
_BUILDERS: dict[Family, Callable[[BoundMetric, ScoringMethods], MetricScorer]] = {
    "texts": text_scorer,
    "answers": answer_scorer,
    "citations": citation_scorer,
    "consistency": citation_scorer,
    "refusals": refusal_scorer,
    "safety": safety_scorer,
    "golden": golden_scorer,
    "ranking": retrieved_scorer,
    "chunks": retrieved_scorer,
    "spans": retrieved_scorer,
}

# In a conversation these are taken turn by turn. What was retrieved and cited is known of the last turn only,
# and the metrics of golden sets know turns themselves.
_BY_TURN: frozenset[Family] = frozenset({"texts", "answers", "refusals", "safety"})


class LatencyScorer(MetricScorer):
    """The time that the successful attempt took, in milliseconds."""

    name, method, version = "latency", TIMING_METHOD, 1
    higher_is_better = False
    needs = ()

    def score(self, sample: Sample, response: Response) -> Score:
        """Return the latency of the response."""
        if response.latency_ms is None:
            return Score.skipped(self.name, "the target does not report how long it took", method=self.method)
        return Score.scored(self.name, response.latency_ms, method=self.method)


def scorers_for(names: Iterable[str], methods: ScoringMethods | None = None) -> list[MetricScorer]:
    """Return a scorer for each name, each once; all the names that cannot be used are in one error."""
    methods = methods or ScoringMethods()
    found: dict[str, MetricScorer] = {}
    problems = Problems()
    for name in names:
        with problems.collected():
            scorer = scorer_for(name, methods)
            found.setdefault(scorer.name, scorer)
    problems.raise_all()
    return list(found.values())


def scorer_for(text: str, methods: ScoringMethods | None = None) -> MetricScorer:
    """Return the scorer of one metric: ``string_match``, ``faithfulness(method=judge)``, ``rbp(p=0.5)@3``."""
    text, methods = text.strip(), methods or ScoringMethods()
    specification, cut_off = split_cut_off(text)
    if specification.name == "latency":
        if specification.arguments or cut_off is not None:
            raise UsageError(f"metric {shown(text)}: it has no parameters; it is written latency")
        return LatencyScorer()
    registered = registered_name(text)
    if registered is not None:
        return WrappedScorer(SCORERS.get(registered)(text))
    try:
        metric = parse_metric(text)
    except UnknownNameError as error:
        if error.kind != "metric":
            raise
        raise UnknownNameError("metric", error.name, available_metrics()) from None
    scorer = _BUILDERS[metric.metric.family](metric, methods)
    is_by_turn = metric.metric.family in _BY_TURN and not scorer.needs_judge
    return TurnByTurn(scorer, methods.turns) if is_by_turn else scorer


def registered_name(text: str) -> str | None:
    """Return the name under which other people's scorer of a metric is registered, if one is.

    It may have an @ of its own.
    """
    specification, _ = split_cut_off(text)
    return next((name for name in (text, specification.name) if name in SCORERS.names()), None)


def available_metrics() -> list[str]:
    """Return the names that :func:`scorer_for` accepts, without parameters.

    What judges all chunks of a corpus is no metric of a sample.
    """
    declared = (each.name for each in all_metrics() if "chunks" not in each.needs)
    return sorted({"latency", *SCORERS.names(), *declared})
