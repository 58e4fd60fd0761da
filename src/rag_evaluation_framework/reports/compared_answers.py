"""Runs beside each other: what may be claimed, which answers changed, what they share, and the figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.judging.verdict import CORRECT, name_of_state
from rag_evaluation_framework.reports import blocks
from rag_evaluation_framework.reports.cases import name_of_kind, names_listed
from rag_evaluation_framework.reports.figure_rows import compared_rows
from rag_evaluation_framework.reports.messages.verdict_sentences import (
    compared,
    different_samples,
    no_common_question,
    no_longer_confirmed,
)
from rag_evaluation_framework.results.comparison import Comparison, MetricComparison
from rag_evaluation_framework.results.run_folder import DEFAULT_RUNS_DIRECTORY, in_runs
from rag_evaluation_framework.results.verdicts import AnswerChanges, ChangedAnswer, SampleShares, SharedTrait

_IN_FULL, _ASKED = 3, 3
_STYLES = {
    "worse": blocks.BAD,
    "better": blocks.GOOD,
    "undecided": blocks.DOUBT,
    "not evaluated": blocks.DOUBT,
}


# What may be claimed, in a sentence.


def comparison_sentence(comparison: Comparison, changes: AnswerChanges | None = None) -> str:
    """Say what may be claimed of a contender, by default of the only one."""
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
    told = blocks.listed([_metric_moved(each) for each in (shown or fell)[:3]])
    steady = told or f"{counted(len(metrics), 'metric is', 'metrics are')} no lower"
    unjudged = "" if found is None or found.other_questions else ", no answer was judged"
    return f"{word.capitalize()}{unjudged}: {steady}."


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


def _metric_moved(each: MetricComparison) -> str:
    verb = "rose" if each.difference > 0 else "fell"
    before, now = (blocks.measure(each.metric, mean) for mean in (each.baseline_mean, each.contender_mean))
    return f"{each.metric} {verb} from {before} to {now}"


def trait_sentence(trait: SharedTrait) -> str:
    """Say what answers that moved one way share: ``The five that got worse were answered from …``."""
    is_all = trait.count == trait.of
    part, whole = map(blocks.number_word, (trait.count, trait.of))
    who = f"{'The' if is_all else f'{part.capitalize()} of the'} {whole} that got {trait.moved}"
    value = blocks.one_line(trait.value)
    was = {
        "document": f"were answered from {value}",
        "needed": f"need {value}",
        "why": f"{'have' if trait.moved == 'worse' else 'had'} the same cause: {name_of_kind(trait.value)}",
        "tag": f"have the tag {value}",
        "category": f"are of the category {value}",
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
    same = [f"{changes.same:,} the same"]
    if changes.is_tested:
        same = [f"{changes.correct:,} correct in both", f"{changes.wrong:,} wrong in both"]
    rest = [f"{len(changes.worse):,} worse", f"{len(changes.better):,} better"]
    if changes.new or changes.gone:
        rest += [f"{len(changes.new):,} new", f"{len(changes.gone):,} gone"]
    if changes.unpaired:
        rest.append(f"{len(changes.unpaired):,} judged in one run alone")
    if changes.untold:
        rest.append(f"{changes.untold:,} not judged in either")
    return ", ".join([*same, *rest])


def left_out_sentences(changes: AnswerChanges) -> Iterator[str]:
    """Yield which answers are new, gone, edited or cannot be compared, and which a metric leaves out."""
    if changes.notice is not None:
        yield changes.notice
    for word, answers in (("new", changes.new), ("gone", changes.gone)):
        if answers:
            yield f"{word}: {names_of(answers)}"
    if changes.edited:
        yield f"edited since: {names_of(changes.edited)}"
    if changes.left_out:
        yield f"left out by --sample-size, --tag or --dataset: {names_of(changes.left_out)}"
    if changes.unconfirmed and (changes.worse or changes.better):
        yield no_longer_confirmed(count=changes.unconfirmed, baseline="the baseline")
    if changes.unpaired:
        yield f"judged in one run alone: {names_of(changes.unpaired)}"
    for metric, answers in changes.unscored.items():
        reasons = list(dict.fromkeys(each.reason for each in answers if each.reason))
        why = f" ({blocks.one_line('; '.join(reasons[:2]), 200)})" if reasons else ""
        left = counted(len(answers), "answer that one run alone scores", "answers that one run alone scores")
        yield f"{metric} leaves out {left}: {names_of(answers)}{why}"


def names_of(answers: Sequence[ChangedAnswer]) -> str:
    """List answers by name: ``lines 6, 7``; the first few of many."""
    return names_listed([called(each) for each in answers])


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


# On a screen.


def describe_comparison(
    comparison: Comparison,
    *,
    details: bool = False,
    everything: bool = False,
    slice_by: str | None = None,
    runs: Path = DEFAULT_RUNS_DIRECTORY,
) -> blocks.Blocks:
    """Add the verdict, the answers that changed, the figures and the way on."""
    names = short_names([comparison.baseline, *comparison.contenders])
    several = len(comparison.contenders) > 1
    for name, called_here in names.items():
        if called_here in ("before", "now") and called_here != name:
            yield blocks.Labelled(called_here, name, indent=0, hang=8)
    for changes in comparison.answers or (None,):
        before = f"{names[changes.contender]}: " if several and changes is not None else ""
        said = comparison_sentence(comparison, changes)
        word, colon, rest = said.partition(":")
        style = next((style for each, style in _STYLES.items() if word.lower().startswith(each)), "")
        yield blocks.prose(before, blocks.Styled(word, f"{blocks.BOLD} {style}".strip()), f"{colon}{rest}")
        if changes is not None:
            for trait in changes.traits[: 1 if several else 2]:
                yield blocks.prose(trait_sentence(trait), indent=2 if several else 0)
            yield blocks.GAP
            yield blocks.aside(sorts_sentence(changes))
            sides = (changes.baseline, changes.contender)
            for name, counts in zip(sides, changes.answers, strict=True) if changes.answers[1].total else ():
                yield blocks.aside(f"{names[name]}: {counts}")
            for line in left_out_sentences(changes):
                yield blocks.aside(line)
            yield blocks.GAP
            if not several or everything:
                yield from _show_changed(changes, names, everything=everything)
    yield from _show_metrics(comparison, names, details=details)
    if slice_by is not None:
        for changes in comparison.answers:
            yield from _show_slices(comparison, changes, slice_by, names)
    if comparison.warnings:
        yield blocks.GAP
    for warning in comparison.warnings:
        yield blocks.prose(blocks.Styled("warning: ", blocks.DOUBT), f"compared anyway: {warning}", hang=9)
    yield blocks.GAP
    yield blocks.Steps(_way_on(comparison, names, everything=everything, runs=runs))


def _show_changed(changes: AnswerChanges, names: dict[str, str], *, everything: bool) -> blocks.Blocks:
    full = len(changes.worse) + len(changes.better) if everything else 1
    shown = [*changes.worse[: full + _ASKED], *changes.better[: full + _ASKED]]
    hang = 12 + min(max((len(called(each)) for each in shown), default=0), 18)
    width = 2 + max(len(blocks.shortened(names[each], 18)) for each in (changes.baseline, changes.contender))
    for word, answers in (("worse", changes.worse), ("better", changes.better)):
        asked = 0 if everything else 1 if len(answers) > 2 else len(answers)
        for place, each in enumerate(answers[: full + asked]):
            name = blocks.shortened(blocks.one_line(called(each), 1000), 18)
            first = blocks.Styled(f"{word:<8}", _STYLES[word]) if not place else " " * 8
            space = " " * (hang - 10 - blocks.cells(name))
            yield blocks.prose(first, name, space, blocks.one_line(each.question, 300), indent=2, hang=hang)
            if place < full and each.before is None and each.now is None:
                metric, scores = next(iter(each.scores.items()), ("", (None, None)))
                before, now = map(blocks.figure, scores)
                yield blocks.prose(f"{metric}  {before} → {now}", indent=hang)
            elif place < full:
                for name, text in ((changes.baseline, each.before), (changes.contender, each.now)):
                    label = blocks.shortened(names[name], 18)
                    yield blocks.Labelled(
                        label, text or blocks.NOTHING, indent=hang, hang=hang + width, lines=4
                    )
        more = answers[full + asked :]
        if more:
            yield blocks.prose(f"{len(more):,} more: {names_of(more)}", indent=10, hang=12)
    yield blocks.GAP


def _show_metrics(comparison: Comparison, names: dict[str, str], *, details: bool) -> blocks.Blocks:
    several = len(comparison.contenders) > 1
    base, now = (
        blocks.shortened(names[each], 12) for each in (comparison.baseline, comparison.contenders[0])
    )
    rows = compared_rows(comparison)
    if not rows:
        return
    yield blocks.table(
        [
            ("metric", each.metric),
            (blocks.Column("run", leaves=0 if several else blocks.BY), names[each.of] if several else ""),
            (blocks.right("base" if several else base), each.before),
            (blocks.right("now" if several else now), each.now),
            ("difference", blocks.aligned(each.difference)),
            *(
                (blocks.right(name, leaves=blocks.COUNT), f"{count:,}")
                for name, count in zip(("better", "same", "worse"), each.counts, strict=True)
            ),
            ("verdict", each.finding),
            (blocks.Column("by", leaves=blocks.BY), each.by),
            *_detail_cells(test, leaves=blocks.BY, joins=blocks.WIDEST),
        ]
        for each, test in zip(rows, comparison.metrics, strict=True)
    )
    tested = blocks.number_word(len(rows))
    if len(rows) > 1:
        yield blocks.prose(
            f"An interval is for one metric alone; the verdict allows for {tested} being tested at once.",
            indent=2,
        )
    if comparison.unshared_metrics:
        unshared = ", ".join(comparison.unshared_metrics)
        yield blocks.aside(f"scored in one run alone, so not compared: {unshared}")
    if details:
        yield from _show_details(comparison, names)


def _detail_cells(each: MetricComparison, *, leaves: int = 0, joins: int = 0) -> list[blocks.Cell]:
    is_out_of_reach = each.visible_from is None and each.smallest_detectable
    cells_of = {
        "p": blocks.probability_text(each.p_adjusted),
        "effect": blocks.difference(each.effect_size),
        "visible from": "> 1" if is_out_of_reach else blocks.figure(each.visible_from),
    }
    return [(blocks.right(name, leaves=leaves, joins=joins), cell) for name, cell in cells_of.items()]


def _show_details(comparison: Comparison, names: dict[str, str]) -> blocks.Blocks:
    yield blocks.GAP
    several = len(comparison.contenders) > 1
    yield blocks.table(
        [
            ("metric", each.metric + (f", {names[each.contender]}" if several else "")),
            (blocks.right("answers"), f"{each.n:,}"),
            *_detail_cells(each),
            (blocks.Column("test", flexible=True), each.test),
        ]
        for each in comparison.metrics
    )
    notes = [
        "p is corrected by Holm's method over everything that is tested; effect is Cohen's d of the "
        "differences; visible from is the difference that so many answers show four times in five."
    ]
    notes += [
        f"answers of {names[changes.contender]}: p {blocks.probability_text(changes.p_value)} "
        f"(exact, mid-p, both ways); significant up to {changes.level:g}"
        for changes in comparison.answers
        if changes.is_tested
    ]
    for note in notes:
        yield blocks.prose(blocks.Styled(note, blocks.DIM), indent=2)


def _show_slices(
    comparison: Comparison, changes: AnswerChanges, kind: str, names: dict[str, str]
) -> blocks.Blocks:
    groups = changes.slices.get(kind, {})
    yield blocks.GAP
    if not groups:
        yield blocks.prose(f"no answer has a {kind.replace('_', ' ')}", indent=2)
        return
    metrics = list(dict.fromkeys(each.metric for each in comparison.metrics))
    of = f" of {names[changes.contender]}" if len(comparison.contenders) > 1 else ""
    rows: list[list[blocks.Cell]] = []
    for value, group in groups.items():
        total = group.worse + group.better + group.same
        counts = {"answers": total, "worse": group.worse, "better": group.better}
        for place, metric in enumerate(each for each in metrics if each in group.metrics):
            n, before, now = group.metrics[metric]
            rows.append(
                [
                    (
                        blocks.Column(f"{kind.replace('_', ' ')}{of}", flexible=True),
                        "" if place else blocks.one_line(value, 60),
                    ),
                    *((blocks.right(name), "" if place else f"{count:,}") for name, count in counts.items()),
                    ("metric", metric),
                    (blocks.right("before"), blocks.figure(before)),
                    (blocks.right("now"), blocks.figure(now)),
                    (blocks.right("difference"), blocks.aligned(blocks.difference(now - before))),
                    (blocks.right("scored", leaves=blocks.COUNT), f"{n:,}"),
                ]
            )
    yield blocks.table(rows)
    yield blocks.prose("Groups are only looked at: none of these differences is tested.", indent=2)


def _way_on(
    comparison: Comparison, names: dict[str, str], *, everything: bool, runs: Path
) -> Iterator[tuple[str, str]]:
    first, others = names[comparison.baseline], [names[each] for each in comparison.contenders]
    if any(each in ("before", "now") or " " in each for each in (first, *others)):
        return  # not what a command would find them by
    if len(others) > 1:
        yield f"rag-eval compare {first} {others[0]}{in_runs(runs)}", "two of them, answer by answer"
    elif not everything and any(each.worse or each.better for each in comparison.answers):
        yield f"rag-eval compare {first} {others[0]} --all{in_runs(runs)}", "all that changed, side by side"
    if all(name.startswith("eval_run_") for name in (comparison.baseline, *comparison.contenders)):
        yield (
            f"rag-eval report {first} {' '.join(others)}{in_runs(runs)}",
            "the same as a page, with every answer",
        )
