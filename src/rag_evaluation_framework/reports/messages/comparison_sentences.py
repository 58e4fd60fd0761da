"""The sentences of comparisons of runs, systems and variants, and of properties that answers share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.judging.verdict import CORRECT, name_of_state
from rag_evaluation_framework.reports import blocks
from rag_evaluation_framework.reports.messages.verdict_sentences import (
    compared,
    different_samples,
    name_kind,
    no_common_question,
    no_longer_confirmed,
)
from rag_evaluation_framework.results.comparison import Comparison, MetricComparison
from rag_evaluation_framework.results.experiments import LEAST_UNITS, ExperimentResult
from rag_evaluation_framework.results.verdicts import AnswerChanges, ChangedAnswer, SampleShares, SharedTrait


def comparison_sentence(comparison: Comparison, changes: AnswerChanges | None = None) -> str:
    """Return the verdict sentence of a candidate, by default of the only one."""
    found = changes or (comparison.answers[0] if comparison.answers else None)
    if found is not None and found.shares is not None:
        return _shares_sentence(found.shares)
    metrics = [each for each in comparison.metrics if found is None or each.contender == found.contender]
    if found is not None and found.other_questions is not None and not metrics:
        return no_common_question()
    word = _word(metrics, found)
    if word == "not evaluated":
        return no_common_question()
    if found is not None and found.is_tested:
        if found.unconfirmed and not found.worse and not found.better:
            lost = no_longer_confirmed(count=found.unconfirmed, baseline="the baseline")
            return f"{word.capitalize()}: {lost}"
        return compared(word=word.capitalize(), worse=len(found.worse), better=len(found.better))
    shown = [each for each in metrics if each.verdict == word]
    fell = [each for each in metrics if (-1 if each.higher_is_better else 1) * each.difference > 0]
    told = blocks.listed([_metric_change(each) for each in (shown or fell)[:3]])
    steady = told or f"{counted(len(metrics), 'metric is', 'metrics are')} no lower"
    unjudged = "" if found is None or found.other_questions else ", no answer was judged"
    return f"{word.capitalize()}{unjudged}: {steady}."


def decided_by(comparison: Comparison, changes: AnswerChanges | None) -> Iterator[str]:
    """Say that the answers decided a verdict which no metric supports."""
    if changes is None or not changes.is_tested or not (changes.worse or changes.better):
        return
    metrics = [each for each in comparison.metrics if each.contender == changes.contender]
    if (
        _word(metrics, changes) in ("worse", "better")
        and metrics
        and not any(each.finding in ("worse", "better") for each in metrics)
    ):
        yield "The verdicts of the answers decided this; no metric differs significantly."


def _shares_sentence(shares: SampleShares) -> str:
    """Say how the share of correct, or of flagged, answers differs over different questions."""
    (good, total), (good_before, before) = shares.now, shares.before
    low, high = (round(100 * end) for end in (shares.interval.low, shares.interval.high))
    return different_samples(
        word=shares.finding.capitalize(),
        share=good / total,
        total=total,
        share_before=good_before / before,
        before=before,
        low=low,
        high=high,
        what="flagged" if shares.are_flagged else name_of_state(CORRECT),
    )


def _word(metrics: Sequence[MetricComparison], changes: AnswerChanges | None) -> str:
    """Return what may be claimed of one contender."""
    answers = () if changes is None else (changes,)
    of_one = Comparison(baseline="", contenders=("",), metrics=tuple(metrics), answers=answers)
    return of_one.verdict


def _metric_change(each: MetricComparison) -> str:
    verb = "rose" if each.difference > 0 else "fell"
    before, now = (blocks.measure(each.metric, mean) for mean in (each.baseline_mean, each.contender_mean))
    return f"{each.metric} {verb} from {before} to {now}"


def trait_sentence(trait: SharedTrait) -> str:
    """Return a sentence on a shared trait: ``The 5 answers that got worse retrieved x.md first``."""
    is_all = trait.count == trait.of
    part = "The" if is_all else f"{trait.count:,} of the"
    who = f"{part} {counted(trait.of, 'answer')} that got {trait.moved}"
    value = blocks.one_line(trait.value)
    was = {
        "document": f"retrieved {value} first",
        "needed": f"expect {value}",
        "why": f"{'have' if trait.moved == 'worse' else 'had'} the same cause: {name_kind(trait.value)}",
        "tag": f"have the tag {value}",
        "category": f"are in the category {value}",
        "difficulty": f"are {value} questions",
        "query_type": f"are of the type {value}",
    }[trait.kind]
    beside = "" if is_all else f" ({trait.others:,} of the {counted(trait.of_others, 'other')})"
    return f"{who} {was}{beside}."


def sorts_sentence(changes: AnswerChanges) -> str:
    """Count the answers in sorts that add up to all."""
    if changes.other_questions is not None:
        before, now = changes.other_questions
        return f"different questions: {counted(now, 'answer')} now, {before:,} before"
    same = {"the same": changes.same}
    if changes.is_tested:
        same = {"correct in both": changes.correct, "wrong in both": changes.wrong}
    counts = same | {
        "worse": len(changes.worse),
        "better": len(changes.better),
        "new": len(changes.new),
        "removed": len(changes.gone),
        "judged in one run only": len(changes.unpaired),
        "not judged in either": changes.untold,
    }
    return ", ".join(f"{count:,} {name}" for name, count in counts.items() if count) + "."


def left_out_sentences(changes: AnswerChanges) -> Iterator[str]:
    """Yield which answers are new, gone, edited or cannot be compared, and which a metric leaves out."""
    if changes.notice is not None:
        yield changes.notice
    for word, answers in (("new", changes.new), ("removed", changes.gone)):
        if answers:
            yield f"{word}: {names_of(answers)}"
    if changes.edited:
        yield f"edited since the baseline: {names_of(changes.edited)}"
    if changes.left_out:
        yield f"left out by --sample-size, --tag or --dataset: {names_of(changes.left_out)}"
    if changes.unconfirmed and (changes.worse or changes.better):
        yield no_longer_confirmed(count=changes.unconfirmed, baseline="the baseline")
    if changes.unpaired:
        yield f"judged in one run only: {names_of(changes.unpaired)}"
    for metric, answers in changes.unscored.items():
        reasons = list(dict.fromkeys(each.reason for each in answers if each.reason))
        why = f" ({blocks.one_line('; '.join(reasons[:2]), 200)})" if reasons else ""
        left = counted(len(answers), "answer scored in one run only", "answers scored in one run only")
        yield f"{metric} leaves out {left}: {names_of(answers)}{why}"


def names_of(answers: Sequence[ChangedAnswer]) -> str:
    """List answers by name: ``lines 6, 7``; the first few of many."""
    return blocks.names_listed([called(each) for each in answers])


def called(answer: ChangedAnswer) -> str:
    """Return what an answer is called: the line of its file, or its id."""
    return answer.id if answer.line is None else f"line {answer.line}"


_LONGEST_NAME = 24


def short_names(names: Sequence[str]) -> dict[str, str]:
    """Return the shortest ends of the ids of runs that tell them apart: ``001``.

    Of two that are called by anything long the first is *before*, the second *now*.
    """
    for number in range(1, 5):
        ends = ["_".join(name.split("_")[-number:]) for name in names]
        is_told = len(set(ends)) == len(names) and all(len(end) >= 3 for end in ends)
        if is_told and all(name.startswith("eval_run_") for name in names):
            return dict(zip(names, ends, strict=True))
    if len(names) == 2 and max(map(len, names)) > _LONGEST_NAME:
        return dict(zip(names, ("before", "now"), strict=True))
    return {name: name for name in names}


def experiment_sentence(result: ExperimentResult) -> str:
    """Return the verdict sentence of an experiment today."""
    experiment, look = result.experiment, result.latest
    planned = experiment.planned_units
    effect = f"{experiment.minimum_effect:g} in {experiment.metrics[0]}"
    if look is None:
        return (
            f"Not begun: {counted(planned, 'unit')} in both variants detect a difference of {effect} with "
            f"{experiment.power:.0%} power; the first look needs {LEAST_UNITS} per variant."
        )
    moved = (
        f"{experiment.metrics[0]} is {blocks.figure(look.means[1])} against {blocks.figure(look.means[0])}"
    )
    if result.word == "winner":
        return f"{result.winner} wins: {moved}, significant on {result.decided_on}."
    if result.word == "too small":
        return f"No winner: {moved}; significant but smaller than the minimum effect of {effect}."
    if result.word == "no winner":
        return f"No winner: {moved} after all {counted(result.units, 'planned unit')}."
    return f"No winner yet: {moved}; {result.units:,} of {counted(planned, 'planned unit')}."
