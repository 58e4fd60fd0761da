"""Several runs as a view of a page: what may be claimed, differences of metrics, samples before and now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.metrics.declaration import PASS_RATE
from rag_evaluation_framework.records.scores import TIMING_METHOD
from rag_evaluation_framework.reports.cases import named_rows, why
from rag_evaluation_framework.reports.compared_answers import (
    comparison_sentence,
    left_out_sentences,
    short_names,
    sorts_sentence,
    trait_sentence,
)
from rag_evaluation_framework.reports.screen import NOTHING, difference, figure, probability_text
from rag_evaluation_framework.results.changes import by_run, compare_evaluations
from rag_evaluation_framework.results.comparison import Comparison, MetricComparison
from rag_evaluation_framework.results.evaluations import Evaluation, Row
from rag_evaluation_framework.results.gate import asked_id
from rag_evaluation_framework.results.verdicts import AnswerChanges

_TONES = {"worse": "no", "better": "yes", "no worse": "yes", "the same": "yes"}
_MARKS = {"worse": "no", "better": "yes", "same": "yes"}
# The scale of differences is the same for all metrics: a round number that the widest interval fits into.
_SCALES = (0.1, 0.2, 0.4, 0.6, 1.0)


def comparison_view(evaluations: Sequence[Evaluation], *, first_view: int, force: bool) -> dict[str, Any]:
    """Return the view of runs compared with the first; the views of single runs begin at ``first_view``."""
    named = by_run(evaluations)
    comparison = compare_evaluations(named, force=force, seed=evaluations[0].head.seed)
    short = short_names(list(named))
    word, _, rest = _said(comparison).partition(": ")
    scale = _scale(comparison.metrics)
    title = f"{' and '.join(short.values())} compared – rag-eval"
    by_thresholds = any(each.is_tested for each in comparison.answers)
    traits = [trait for each in comparison.answers for trait in each.traits]
    shown = {
        "kind": "comparison",
        "label": "Comparison",
        "title": title,
        "kicker": [
            f"Before {comparison.baseline}",
            f"Now {', '.join(comparison.contenders)}",
            f"{evaluations[0].name}, {counted(evaluations[0].counts.finished, 'answer')}",
        ],
        "word": f"{word}:" if rest else "",
        "tone": next((tone for begins, tone in _TONES.items() if word.lower().startswith(begins)), "un"),
        "sentence": f"{rest or word}.",
        "leads": [
            *(trait_sentence(trait) for trait in traits[:2]),
            *(f"Compared anyway: {warning}" for warning in comparison.warnings),
        ],
        "decided_by": "" if by_thresholds else "No threshold decides: an answer moves with its first metric.",
        "good": "passed" if by_thresholds else "no lower",
        "bad": "failed" if by_thresholds else "lower",
        "changes": [_changes(each, short) for each in comparison.answers],
        "traits": [_trait(each) for each in traits],
        "scale": f"-{scale:g} … +{scale:g}",
        "rows": [_row(each, scale, short, len(comparison.contenders) > 1) for each in comparison.metrics],
    }
    metrics = {each.metric: each.higher_is_better for each in comparison.metrics}
    scripted = {
        "kind": "comparison",
        "title": title,
        "metrics": list(metrics),
        "up": list(metrics.values()),
        "runs": [
            {
                "name": short[name],
                "view": first_view + place,
                "pairs": list(_pairs(evaluations[0], named[name], metrics, changes)),
            }
            for place, (name, changes) in enumerate(
                zip(comparison.contenders, comparison.answers, strict=True), start=1
            )
        ],
    }
    return {"shown": shown, "scripted": scripted}


def _said(comparison: Comparison) -> str:
    if len(comparison.answers) < 2:
        return comparison_sentence(comparison)
    return "; ".join(
        f"{each.contender}: {comparison_sentence(comparison, each)}" for each in comparison.answers
    )


def _changes(each: AnswerChanges, short: Mapping[str, str]) -> dict[str, Any]:
    right, wrong = (each.right, each.wrong) if each.is_tested else (each.same, 0)
    return {
        "name": short.get(each.contender, each.contender),
        "right": f"{right:,}",
        "wrong": f"{wrong:,}",
        "worse": len(each.worse),
        "better": f"{len(each.better):,}",
        "sorts": f"{sorts_sentence(each)}.",
        "left_out": list(left_out_sentences(each)),
    }


def _trait(trait: Any) -> dict[str, Any]:
    share, other = trait.count / max(1, trait.of), trait.others / max(1, trait.of_others)
    return {
        "sentence": trait_sentence(trait),
        "count": f"{trait.count:,} of {trait.of:,}",
        "others": f"{trait.others:,} of {trait.of_others:,}",
        "share": round(100 * share, 1),
        "other_share": round(100 * other, 1),
        "label": f"{share:.0%} of those that got {trait.moved}, {other:.0%} of the others",
    }


def _scale(metrics: Sequence[MetricComparison]) -> float:
    widest = max(
        (
            abs(end)
            for each in metrics
            for end in (each.difference, *((each.interval.low, each.interval.high) if each.interval else ()))
        ),
        default=0.4,
    )
    return next((scale for scale in _SCALES if widest <= scale), max(1.0, widest))


def _row(each: MetricComparison, scale: float, short: Mapping[str, str], several: bool) -> dict[str, Any]:
    word, interval, seen = each.finding, each.interval, each.smallest_detectable

    def place(value: float) -> float:
        return round(max(0.0, min(1.0, (value + scale) / (2 * scale))) * 100, 2)

    hatch = None
    if seen is not None:
        reach = min(seen, scale)
        hatch = [place(-reach), round(100 * reach / scale, 2)]
    written = difference(each.difference)
    ends = NOTHING if interval is None else difference(each.difference, interval).partition(" ")[2]
    note = f"{each.n_unpaired:,} scored in one run alone, left out" if each.n_unpaired else ""
    return {
        "name": f"{each.metric}, {short.get(each.contender, each.contender)}" if several else each.metric,
        "up": each.higher_is_better,
        "note": note,
        "before": figure(each.baseline_mean),
        "now": figure(each.contender_mean),
        "difference": written,
        "interval": ends,
        "at": place(each.difference),
        "low": None if interval is None else place(interval.low),
        "high": None if interval is None else place(interval.high),
        "hatch": hatch,
        "tone": "bad" if word == "worse" else "",
        "open": word not in ("worse", "better"),
        "p": probability_text(each.p_adjusted),
        "counts": f"{each.wins:,}, {each.ties:,}, {each.losses:,}",
        "pairs": f"{each.n:,}",
        "verdict": word,
        "mark": _MARKS.get(word, "un"),
        "label": f"{each.metric}: {written}, interval {ends}; {word}",
    }


# Each sample before and now, as the script reads it.


def _rows(evaluation: Evaluation) -> Iterator[tuple[tuple[str, str], str, Row]]:
    for name, part in evaluation.named_runs.items():
        for called, row in named_rows(evaluation, ((name, row) for row in part.rows)):
            yield (part.name, asked_id(row.id) if part.head.repeats > 1 else row.id), called, row


def _pairs(
    before: Evaluation, now: Evaluation, metrics: Mapping[str, bool], changes: AnswerChanges
) -> Iterator[dict[str, Any]]:
    states = {
        (each.dataset, each.id): state
        for state, answers in (("worse", changes.worse), ("better", changes.better))
        for each in answers
    }
    is_single = len(before.runs) == len(now.runs) == 1
    old = {("" if is_single else key[0], key[1]): row for key, _, row in _rows(before)}
    several = len(now.parts) > 1
    for key, name, row in _rows(now):
        earlier = old.get(("" if is_single else key[0], key[1]))
        if earlier is None:
            continue
        written = {
            "id": name if several else row.id,
            "name": name,
            "q": row.question,
            "e": row.expected,
            "a": [earlier.response.text, row.response.text],
            "p": [None if each.passes is None else int(each.passes) for each in (earlier, row)],
            "m": [_values(each, metrics) for each in (earlier, row)],
            "state": states.get(key, "same"),
            "w": why(row) if key in states else None,
        }
        yield {name: value for name, value in written.items() if value is not None}


def _values(row: Row, metrics: Mapping[str, bool]) -> list[float | None]:
    found = {
        score.metric: round(score.value, 4)
        for score in row.scores
        if score.value is not None and score.method != TIMING_METHOD and score.metric != PASS_RATE
    }
    return [found.get(metric) for metric in metrics]
