"""Scores what an answer cites: against what it says, and against what it should cite."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from rag_evaluation_framework.evaluation.scorers.citation_verdicts import CitationMemory, CitationVerdicts
from rag_evaluation_framework.evaluation.scorers.consistency_scorers import ConsistencyScorer, OverallScorer
from rag_evaluation_framework.evaluation.scorers.metric_scorer import DeclaredMetricScorer
from rag_evaluation_framework.evaluation.scorers.scoring_methods import ScoringMethods, chosen_method
from rag_evaluation_framework.judging.citations.citation_support import CitationReport
from rag_evaluation_framework.judging.citations.cited_texts import CitableTexts, cited_kinds
from rag_evaluation_framework.judging.judges.judge import Judge
from rag_evaluation_framework.judging.judges.judge_support import JudgeSupport
from rag_evaluation_framework.judging.support.lexical_support import LexicalSupport
from rag_evaluation_framework.metrics.citations import DEFAULT_TOLERANCE, evaluate_citation_spans
from rag_evaluation_framework.metrics.declaration import BoundMetric, parse_metric
from rag_evaluation_framework.records.citations import SpanCitation
from rag_evaluation_framework.records.documents import Corpus
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.records.scores import Score

# What each metric's function is called with.
_ARGUMENTS: Mapping[str, Callable[[CitationReport], tuple[Sequence[bool], ...]]] = {
    "citation_recall": lambda report: (report.supported,),
    "citation_precision": lambda report: (report.relevant,),
    "citation_f1": lambda report: (report.supported, report.relevant),
    "citation_completeness": lambda report: (report.cited,),
    "citation_correctness": lambda report: (report.correct,),
}
_SHOW_SENTENCES = frozenset({"citation_recall", "citation_completeness"})
# Means over spans: a citation that cannot be read is one, though nobody knows its characters.
_OVER_PAIRS = frozenset({"citation_exact_jaccard", "citation_tolerance_jaccard"})
_NOTHING_CITED = "the answer cites nothing"


def citation_scorer(metric: BoundMetric, methods: ScoringMethods) -> DeclaredMetricScorer:
    """Return the scorer of a metric of citations; files are opened in the documents of ``methods.corpus``."""
    method = chosen_method(metric, methods)
    judge = methods.judge if method == "judge" else None
    memory = _memory(_Same(methods.corpus), _Same(judge))
    is_slow = judge is not None
    name = metric.metric.name
    if name == "overall_citation_accuracy":
        spans = CitedSpanScorer(parse_metric("citation_tolerance_jaccard"), memory)
        validity = CitationValidityScorer(parse_metric("citation_validity"), memory)
        return OverallScorer(metric, memory, spans=spans, validity=validity, is_slow=is_slow)
    if "relevant_spans" in metric.metric.needs:
        return CitedSpanScorer(metric, memory)
    if name in _ARGUMENTS:
        return CitedClaimScorer(metric, memory, is_slow=is_slow)
    if "evidence" in metric.metric.needs:
        return ConsistencyScorer(metric, memory, is_slow=is_slow)
    return CitationValidityScorer(metric, memory)


class CitedClaimScorer(DeclaredMetricScorer):
    """Scores citations by whether they bear out what they stand at; those of one method share a memory."""

    def __init__(self, metric: BoundMetric, memory: CitationMemory, *, is_slow: bool) -> None:
        questions = ["citations"] if is_slow else ()
        support = memory.support
        super().__init__(
            metric,
            method=support.name,
            method_version=support.version,
            is_slow=is_slow,
            questions=questions,
        )
        self._memory = memory

    def measured(self, sample: Sample, response: Response) -> Score:
        """Score the citations; without claims, or without texts to open them in, the sample is skipped."""
        verdicts = self._memory.verdicts_on(sample, response)
        if reason := verdicts.nothing_claimed_because or verdicts.unusable_because:
            return self.skipped(reason)
        value = self.metric(*_ARGUMENTS[self.metric.metric.name](verdicts.report()))
        if value is None:
            return self.skipped(_NOTHING_CITED)
        return self.scored(value, self._details(verdicts))

    def _details(self, verdicts: CitationVerdicts) -> dict[str, Any]:
        report = verdicts.report()
        shown = report.sentences if self.metric.metric.name in _SHOW_SENTENCES else report.citations
        name = "sentences" if shown is report.sentences else "citations"
        source = "the answer" if verdicts.are_written else "beside the answer"
        return {"citations_from": source, name: [each.to_dict() for each in shown]}


class CitationValidityScorer(DeclaredMetricScorer):
    """Scores citations by whether they can be opened. Nobody is asked."""

    def __init__(self, metric: BoundMetric, memory: CitationMemory) -> None:
        super().__init__(metric, method=metric.metric.method)
        self._memory = memory

    def measured(self, sample: Sample, response: Response) -> Score:
        """Score the citations; where there are none, or no texts to open them in, the sample is skipped."""
        verdicts = self._memory.verdicts_on(sample, response)
        if reason := verdicts.unusable_because:
            return self.skipped(reason)
        value = self.metric([each.is_open for each in verdicts.opened])
        if value is None:
            return self.skipped(_NOTHING_CITED)
        return self.scored(value, {"citations": [each.to_dict() for each in verdicts.opened]})


class CitedSpanScorer(DeclaredMetricScorer):
    """Scores the cited characters against the relevant ones.

    Those that came beside the answer count, else those written in it. With the documents at hand, both sides
    are compared by document and by place in the whole document; without, by the names and pages they give.
    """

    def __init__(self, metric: BoundMetric, memory: CitationMemory) -> None:
        super().__init__(metric, method=metric.metric.method)
        self._memory = memory

    def measured(self, sample: Sample, response: Response) -> Score:
        """Score the spans; a sample without relevant ones is skipped, and citations of another kind too."""
        if not sample.relevant_spans:
            return self.skipped("the dataset has no relevant characters for it")
        verdicts = self._memory.verdicts_on(sample, response)
        cited = response.citations or verdicts.answer.citations
        spans = [each for each in cited if isinstance(each, SpanCitation)]
        if len(spans) < len(cited):
            return self.skipped(f"the answer cites {' and '.join(sorted(cited_kinds(cited)))}")
        texts = self._memory.texts
        placed = (texts.placed(each) for each in spans)
        predicted = list({(each.file, each.page, each.start, each.end): each for each in placed}.values())
        true = [texts.placed(each) for each in sample.relevant_spans]
        unreadable = verdicts.unreadable
        of_pairs = self.metric.metric.name in _OVER_PAIRS
        value = self.metric(predicted, true, **({"unreadable": unreadable} if of_pairs else {}))
        if value is None:
            return self.skipped(_NOTHING_CITED)
        tolerance = self.metric.parameters.get("tolerance_chars", DEFAULT_TOLERANCE)
        report = evaluate_citation_spans(true, predicted, tolerance, unreadable=unreadable)
        return self.scored(value, report.to_dict())


class _Same:
    """Stands for an object itself: a corpus need not be hashable to be remembered."""

    def __init__(self, thing: Corpus | Judge | None) -> None:
        self.thing = thing

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.thing is other.thing

    def __hash__(self) -> int:
        return id(self.thing)


@lru_cache(maxsize=4)
def _memory(corpus: _Same, judge: _Same) -> CitationMemory:
    """Return the memory that all scorers of these documents and this judge share."""
    texts = CitableTexts(corpus.thing.documents if isinstance(corpus.thing, Corpus) else ())
    support = JudgeSupport(judge.thing) if isinstance(judge.thing, Judge) else LexicalSupport()
    return CitationMemory(texts, support)
