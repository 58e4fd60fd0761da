"""The agreement of metrics with labels of the same answers, and the corrected figures of a run."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from rag_evaluation_framework.datasets.annotations import OVERALL
from rag_evaluation_framework.datasets.golden_sets import SPLITS
from rag_evaluation_framework.datasets.human_labels import (
    LABEL,
    HumanLabel,
    LabelField,
    check_words,
    fields_of,
    is_same_answer,
    merged_labels,
)
from rag_evaluation_framework.datasets.value_files import read_results
from rag_evaluation_framework.errors import (
    InputError,
    Issue,
    Problems,
    UnknownNameError,
    UsageError,
    counted,
    shown,
)
from rag_evaluation_framework.records.runs import Run
from rag_evaluation_framework.results.comparison import ScoredMetric, scored_run
from rag_evaluation_framework.results.metric_calibration import (
    CalibrationSettings,
    MetricCalibration,
    calibrate_metric,
    cannot_calibrate,
    drawn_for_people,
)
from rag_evaluation_framework.results.model_calibration import ModelBand
from rag_evaluation_framework.results.run_store import RESULTS_FILE, RunFolder, is_results_of_run
from rag_evaluation_framework.structs import asdict
from rag_evaluation_framework.text.display import short_repr

# A run as calibration needs it: each metric's values by query, and the answers that were scored.

_QUERIES = "query_results"


class AnsweredRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run's scores, and its answers by query id; an answer is ``None`` if the source does not have it.

    Queries without any answer are in ``unanswered`` instead.
    """

    name: str
    dataset_id: str | None
    metrics: Mapping[str, ScoredMetric]
    answers: Mapping[str, str | None]
    unanswered: frozenset[str] = frozenset()
    whole: Path | None = None
    """The results of all splits, where the run is one split of golden sets."""


def answered_run(source: Run | RunFolder | Mapping[str, Any]) -> AnsweredRun:
    """Read a run in memory, on the disk, or a results document."""
    scored, found = scored_run(source), list(_answers(source))
    return AnsweredRun(
        name=scored.name,
        dataset_id=scored.dataset_id,
        metrics=scored.metrics,
        answers={query: answer for query, answer, failed in found if not failed},
        unanswered=frozenset(query for query, _, failed in found if failed),
    )


def _answers(source: Run | RunFolder | Mapping[str, Any]) -> Iterator[tuple[str, str | None, bool]]:
    """Yield each query with its answer, and whether it failed."""
    if isinstance(source, Mapping):
        queries = source.get(_QUERIES)
        for query in queries if isinstance(queries, list) else ():
            if isinstance(query, Mapping) and "query_id" in query:
                answer = query.get("generated_answer")
                yield str(query["query_id"]), answer if isinstance(answer, str) else None, "error" in query
        return
    for result in source.results if isinstance(source, Run) else source.results():
        yield result.sample_id, result.response.text, result.response.failure is not None


def open_answered_run(run: str, runs_directory: str | Path) -> AnsweredRun:
    """Open a results file, or a run by its id or the path of its folder."""
    if Path(run).is_file() and not is_results_of_run(Path(run)):
        document = read_results(run)
        if not isinstance(document.get(_QUERIES), list):
            expected = f"an object with the results of a run in {_QUERIES}"
            found = f"one with {', '.join(sorted(document)) or 'nothing'}"
            raise InputError([Issue("no-results", expected, found, file=run)])
        return answered_run(document)
    folder = RunFolder.open(run, runs_directory)
    return replace(answered_run(folder), whole=_whole_results_of(folder))


def _whole_results_of(folder: RunFolder) -> Path | None:
    """Return the results of the golden run that a run belongs to; ``None`` if there is none, or none yet."""
    configuration = folder.head.configuration
    leader = configuration.get("evaluation", folder.head.run_id)
    path = folder.path.parent / str(leader) / RESULTS_FILE
    return path if "golden" in configuration and path.is_file() else None


# Which human label a metric is compared with, unless one is named.
#
# ===============  ====================================================================================
# ``accuracy``     metrics of truth: faithfulness, correctness, hallucination, grounding, exact matches
# ``completeness`` metrics of what an answer leaves out: recall of claims, nuggets, entities, milestones
# ``relevance``    answer relevancy
# ``clarity``      communication
# ``overall``      metrics of likeness to the reference, and rubrics: they measure everything at once
# ===============  ====================================================================================
#
# A metric with the name of a field is compared with that field. Retrieval, citations, refusals and safety
# have no field among these; they are paired only on request.

_METRICS_OF_FIELD: Mapping[str, tuple[str, ...]] = {
    "accuracy": (
        *("faithfulness", "hallucination", "answer_correctness", "claim_precision", "claim_hallucination"),
        *("noise_sensitivity", "grounded_fraction", "unsupported_tokens", "factual_consistency"),
        *("hallucination_rate", "factuality", "grounding", "exact_match", "string_match", "relation_match"),
    ),
    "completeness": (
        *("claim_recall", "nugget_recall", "nugget_recall_strict", "vital_nugget_recall"),
        *("vital_nugget_recall_strict", "entity_coverage", "milestone_recall", "hop_coverage"),
    ),
    "relevance": ("answer_relevancy",),
    "clarity": ("communication",),
    OVERALL: ("answer_similarity", "claim_f1", "token_f1", "rouge", "bleu", "chrf", "rubric", "rubric_pass"),
}
_FIELD_OF_METRIC = {metric: name for name, metrics in _METRICS_OF_FIELD.items() for metric in metrics}


class LabelPair(msgspec.Struct, frozen=True):
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
    names = [("metric of the run", metric, in_run) for metric in dict.fromkeys((*asked, *named))]
    names += [("label field", name, known) for name in dict.fromkeys(each.name for each in wanted)]
    for kind, name, there in names:
        with problems.collected():
            if name not in there:
                raise UnknownNameError(kind, name, there)
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
            f"metric {unpaired[0]}: no human label matches it by name. Pass --pair {unpaired[0]}=FIELD "
            f"or --label FIELD; the labels have {', '.join(known) or 'no fields'}"
        )
    return chosen, unpaired


def _base_name(metric: str) -> str:
    return metric.partition("(")[0].partition("@")[0]


def _default_pair(metric: str, known: list[str], label: str | None) -> LabelPair | None:
    if label is not None:
        return LabelPair(metric, LabelField.parse(label))
    name = _base_name(metric)
    field = name if name in known else _FIELD_OF_METRIC.get(name)
    if field not in known:
        field = LABEL if LABEL in known else None
    return None if field is None else LabelPair(metric, LabelField(field))


class LabelMatch(msgspec.Struct, frozen=True, kw_only=True):
    """Which labels belong to the answers of a run.

    Of ``n_annotated`` queries, ``n_matched`` are labelled for the run's answer, ``n_other_answer`` for
    another one only, and ``n_unknown`` are not in the run; ``n_unlabelled`` samples of the run have none.
    """

    n_samples: int
    n_annotated: int
    n_matched: int
    n_other_answer: int
    n_unknown: int
    n_unlabelled: int
    annotators: tuple[str, ...]
    whole_results: str | None = None
    """The file to calibrate instead where queries are not in the run because it is one split of several."""


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """Every metric of a run that can be compared with a human label."""

    run: str
    dataset_id: str | None
    match: LabelMatch
    metrics: tuple[MetricCalibration, ...]
    unpaired: tuple[str, ...]
    unlabelled: Mapping[str, str] = {}
    """The metrics that have a label to go with, and why none could be used."""
    model: ModelBand | None = None
    """When the local model that scored the run decides like people."""

    __repr__ = short_repr

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values for a JSON file."""
        return {
            "run": self.run,
            "dataset_id": self.dataset_id,
            "labels": asdict(self.match),
            "metrics": [metric.to_dict() for metric in self.metrics],
            "unpaired": list(self.unpaired),
            "unlabelled": dict(self.unlabelled),
            **({} if self.model is None else {"model": msgspec.to_builtins(self.model)}),
        }


def calibrate(
    run: AnsweredRun,
    labels: Sequence[HumanLabel],
    *,
    metrics: Iterable[str] = (),
    label: str | None = None,
    pairs: Iterable[LabelPair] = (),
    thresholds: Mapping[str, float] | None = None,
    settings: CalibrationSettings | None = None,
) -> Calibration:
    """Compare the metrics of a run with human labels and return their agreement.

    Args:
        run: The run with its answers and scores.
        labels: Human labels of the answers.
        metrics: Names of the metrics to compare; by default all that match a label.
        label: Field of the labels for all metrics.
        pairs: Metrics with their own field; they take precedence over ``label``.
        thresholds: Thresholds by metric; for the others one is suggested if the labels allow it.
        settings: Settings of the statistics.

    Returns:
        The calibration of each metric.

    Raises:
        InputError: Labels cannot be read as numbers or words.
        UsageError: No metric matches a label, or a threshold is for another metric.
    """
    settings = settings or CalibrationSettings()
    cuts = thresholds or {}
    chosen, unpaired = chosen_pairs(run.metrics, fields_of(labels), only=metrics, label=label, pairs=pairs)
    problems = Problems()
    for name in cuts:
        with problems.collected():
            if name in {pair.metric for pair in chosen}:
                continue
            raise UsageError(f"threshold of {name}: this metric is not calibrated")
    fields = list(dict.fromkeys(pair.field for pair in chosen))
    problems.each(lambda wanted: check_words(labels, wanted), fields)
    problems.raise_all()
    matched, match = match_labels(run, labels)
    if not matched:
        raise UsageError(_nothing_matched(match))
    truths = problems.each(lambda wanted: merged_labels(matched, wanted), fields)
    problems.raise_all()
    merged = dict(zip(fields, truths, strict=True))
    done: list[MetricCalibration] = []
    unlabelled: dict[str, str] = {}
    for pair in chosen:
        name, metric, truth = pair.metric, run.metrics[pair.metric], merged[pair.field]
        reason = cannot_calibrate(metric, truth, pair.field, settings=settings)
        if reason is not None:
            unlabelled[name] = reason
            continue
        cut = cuts.get(name)
        done.append(calibrate_metric(name, metric, truth, pair.field, settings=settings, threshold=cut))
    if not done:
        raise UsageError(_nothing_calibrated(unlabelled, unpaired))
    return Calibration(
        run=run.name,
        dataset_id=run.dataset_id,
        match=match,
        metrics=tuple(done),
        unpaired=tuple(unpaired),
        unlabelled=unlabelled,
    )


def queue_for_people(
    run: AnsweredRun, labels: Sequence[HumanLabel], total: int, *, metric: str | None = None, seed: int = 0
) -> list[str]:
    """Return which samples of a run people are to label, so that ``total`` labels tell most of all answers.

    The ``metric``, by default the first, is what they are drawn by; labels that there are say where the
    second part is drawn.
    """
    if not run.metrics:
        raise UsageError(f"{run.name}: the run has no metric to sample by")
    name = metric or next(iter(run.metrics))
    if name not in run.metrics:
        raise UnknownNameError("metric of the run", name, list(run.metrics))
    known: Mapping[str, float] = {}
    matched, _ = match_labels(run, labels) if labels else ([], None)
    if matched:
        chosen, _ = chosen_pairs([name], fields_of(matched), only=[name])
        known = merged_labels(matched, chosen[0].field).values if chosen else {}
    return drawn_for_people(run.metrics[name], known, total, seed=seed)


def match_labels(run: AnsweredRun, labels: Sequence[HumanLabel]) -> tuple[list[HumanLabel], LabelMatch]:
    """Return the labels that belong to the run's answers, and counts of what does not match.

    The results of golden sets have ids with their split, ``facts/fact_001``, and the run of a split has them
    without; a label may be written either way if that is the id of one sample.
    """
    labels = _with_ids_of_run(labels, run)
    matched = [
        label
        for label in labels
        if label.query_id in run.answers and is_same_answer(label, run.answers[label.query_id])
    ]
    annotated = {label.query_id for label in labels}
    used = {label.query_id for label in matched}
    unknown = annotated - run.answers.keys()
    match = LabelMatch(
        n_samples=len(run.answers),
        n_annotated=len(annotated),
        n_matched=len(used),
        n_other_answer=len((annotated & run.answers.keys()) - used),
        n_unknown=len(unknown),
        n_unlabelled=len(run.answers.keys() - used),
        annotators=tuple(sorted({label.annotator for label in matched})),
        whole_results=str(run.whole) if unknown and run.whole else None,
    )
    return matched, match


def _golden_ids(run: AnsweredRun) -> dict[str, list[str]]:
    """Return, for each other way to write the ids of golden sets, the samples that it may mean."""
    meant: dict[str, list[str]] = {}
    for query_id in (*run.answers, *run.unanswered):
        split, _, own = query_id.partition("/")
        if own and split in SPLITS:
            meant.setdefault(own, []).append(query_id)
        elif run.dataset_id in SPLITS:
            meant.setdefault(f"{run.dataset_id}/{query_id}", []).append(query_id)
    return meant


def _with_ids_of_run(labels: Iterable[HumanLabel], run: AnsweredRun) -> list[HumanLabel]:
    """Return the labels under the ids of the run; those that may mean several samples are in one error."""
    meant = _golden_ids(run)
    issues: list[Issue] = []
    renamed: list[HumanLabel] = []
    for label in labels:
        found = [label.query_id] if label.query_id in run.answers else meant.get(label.query_id, [])
        if len(found) > 1:
            told = f"{label.query_id!r}, that of {' and '.join(found)}: write the split before it"
            issues.append(label.placed(Issue("ambiguous-id", "the id of one sample", told, "query_id")))
        renamed.append(replace(label, query_id=found[0]) if found else label)
    if issues:
        raise InputError(issues)
    return renamed


def _nothing_calibrated(unlabelled: Mapping[str, str], unpaired: Sequence[str]) -> str:
    reasons = [f"{name}: not calibrated: {reason}" for name, reason in unlabelled.items()]
    if unpaired:
        reasons.append(f"no human label matches {', '.join(unpaired)}. Set one with --pair METRIC=FIELD")
    return "\n".join(reasons) or "the run has no scores to calibrate"


def _nothing_matched(match: LabelMatch) -> str:
    return (
        f"no label matches the run's {counted(match.n_samples, 'answer')}: "
        f"of {counted(match.n_annotated, 'annotated query', 'annotated queries')} {match.n_unknown:,} are "
        f"not in the run, {match.n_other_answer:,} are about a different answer"
    ) + (f"; all splits are in {match.whole_results}" if match.whole_results else "")


# Which answers people are asked about first: those of which a label tells most about the metrics.
#
# A label tells little where every metric says the same and is sure of it, and much where two of them disagree
# or one lies in between. So two of three answers come from the latter and one from the others, each group in
# an order drawn at random: what is drawn at random can be weighed, and both groups are represented however
# early somebody stops.

TELLING_FROM = 0.5
"""From here on an answer counts as telling: metrics this far apart, or one as near to the middle."""

_TELLING_OF_THREE = 2
T = TypeVar("T")


class Telling(msgspec.Struct, frozen=True):
    """The information that a label of an answer would add, from 0 to 1, and the reason in a few words."""

    value: float = 0.0
    why: str = ""

    @property
    def is_telling(self) -> bool:
        return self.value >= TELLING_FROM


def telling(scores: Mapping[str, float], higher_is_better: Mapping[str, bool]) -> Telling:
    """Tell how far the metrics of an answer disagree, or how unsure the least sure of them is.

    >>> telling({"faithfulness": 1.0, "hallucination": 1.0}, {"hallucination": False}).why
    'metrics disagree: faithfulness 1.00, hallucination 1.00'
    >>> telling({"faithfulness": 0.5}, {}).value
    1.0
    """
    good = {
        name: value if higher_is_better.get(name, True) else 1.0 - value
        for name, value in scores.items()
        if 0.0 <= value <= 1.0 and _base_name(name) in _FIELD_OF_METRIC
    }
    if not good:
        return Telling() if scores else Telling(TELLING_FROM, "not scored by any metric")
    best, worst = max(good, key=good.__getitem__), min(good, key=good.__getitem__)
    unsure = min(good, key=lambda name: abs(good[name] - 0.5))
    apart, doubt = good[best] - good[worst], 1.0 - abs(2.0 * good[unsure] - 1.0)
    if apart >= doubt and apart > 0.0:
        return Telling(apart, f"metrics disagree: {best} {scores[best]:.2f}, {worst} {scores[worst]:.2f}")
    if doubt > 0.0:
        return Telling(doubt, f"{unsure} lies in between: {scores[unsure]:.2f}")
    return Telling(0.0, "metrics agree")


def in_telling_order(items: Iterable[T], read: Callable[[T], tuple[Telling, str]]) -> list[T]:
    """Return items as people should label them; ``read`` tells how telling one is, and its key."""
    drawn = sorted(items, key=lambda item: _draw(read(item)[1]))
    groups = [[item for item in drawn if read(item)[0].is_telling is wanted] for wanted in (True, False)]
    telling_ones, others = map(iter, groups)
    order: list[T] = []
    while len(order) < len(drawn):
        order += islice(telling_ones, _TELLING_OF_THREE)
        order += islice(others, 1)
    return order


def _draw(key: str) -> bytes:
    return hashlib.blake2b(f"0\0{key}".encode(), digest_size=16).digest()
