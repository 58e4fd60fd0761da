"""Runs beside each other: what may be claimed, which answers changed, what they share, and the figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.reports import blocks
from rag_evaluation_framework.reports.facts import compared_rows
from rag_evaluation_framework.reports.messages.comparison_sentences import (
    called,
    comparison_sentence,
    decided_by,
    left_out_sentences,
    short_names,
    sorts_sentence,
    trait_sentence,
)
from rag_evaluation_framework.results.comparison import Comparison, MetricComparison
from rag_evaluation_framework.results.run_store import DEFAULT_RUNS_DIRECTORY, in_runs
from rag_evaluation_framework.results.verdicts import AnswerChanges, ChangedAnswer

_ASKED, _LONGEST_NAME = 3, 18


def describe_comparison(
    comparison: Comparison,
    *,
    details: bool = False,
    everything: bool = False,
    slice_by: str | None = None,
    runs: Path = DEFAULT_RUNS_DIRECTORY,
) -> blocks.Blocks:
    """Add the verdict, the answers that changed, the figures and the next steps."""
    names = short_names([comparison.baseline, *comparison.contenders])
    several = len(comparison.contenders) > 1
    for name, called_here in names.items():
        if called_here in ("before", "now") and called_here != name:
            yield blocks.Labelled(called_here, name, indent=0, hang=8)
    for changes in comparison.answers or (None,):
        of = f"{names[changes.contender]}: " if several and changes is not None else ""
        yield comparison_headline(comparison, changes, of=of)
        if changes is not None:
            yield blocks.GAP
            yield blocks.aside(sorts_sentence(changes))
            sides = (changes.baseline, changes.contender)
            for name, counts in zip(sides, changes.answers, strict=True) if changes.answers[1].total else ():
                yield blocks.aside(f"{names[name]}: {counts}")
            for line in left_out_sentences(changes):
                yield blocks.aside(line)
            yield blocks.GAP
            yield from _list_changed(changes, names, is_short=several, everything=everything)
            yield blocks.GAP
    yield from _describe_metrics(comparison, names, details=details)
    if slice_by is not None:
        for changes in comparison.answers:
            yield from _describe_slices(comparison, changes, slice_by, names)
    if comparison.warnings:
        yield blocks.GAP
    for warning in comparison.warnings:
        yield blocks.prose(
            blocks.Styled("warning: ", blocks.DOUBT), f"compared despite a difference: {warning}", hang=9
        )
    yield blocks.GAP
    yield blocks.Steps(_way_on(comparison, names, everything=everything, runs=runs))


def comparison_headline(
    comparison: Comparison, changes: AnswerChanges | None = None, *, of: str = ""
) -> blocks.Headline:
    """Return what may be claimed of a contender, by default of the only one, and what answers share."""
    traits = () if changes is None else changes.traits[: 1 if of else 2]
    lines = (*decided_by(comparison, changes), *map(trait_sentence, traits))
    said = comparison_sentence(comparison, changes)
    return blocks.Headline.of_sentence(said, lines=lines, of=of, hang=2 if of else 0)


def _list_changed(
    changes: AnswerChanges, names: dict[str, str], *, is_short: bool, everything: bool
) -> Iterator[blocks.Answers]:
    full = len(changes.worse) + len(changes.better) if everything else 0 if is_short else 1
    shown = [*changes.worse[: full + _ASKED], *changes.better[: full + _ASKED]]
    hang = 12 + min(max((len(called(each)) for each in shown), default=0), _LONGEST_NAME)
    sides = [blocks.shortened(names[each], _LONGEST_NAME) for each in (changes.baseline, changes.contender)]
    for word, answers in (("worse", changes.worse), ("better", changes.better)):
        asked = 0 if everything or is_short else 1 if len(answers) > 2 else len(answers)
        listed = [_changed(each, word, sides, hang) for each in answers]
        yield blocks.Answers(listed, len(answers), full, asked, word=word, indent=10)


def _changed(each: ChangedAnswer, word: str, sides: Sequence[str], hang: int) -> blocks.Answer:
    """Return an answer before and now; of one without texts the score that moved."""
    name = blocks.shortened(blocks.one_line(called(each), 1000), _LONGEST_NAME)
    question = blocks.Labelled(name, blocks.one_line(each.question, 300), indent=10, hang=hang)
    texts = dict(zip(sides, (each.before or blocks.NOTHING, each.now or blocks.NOTHING), strict=True))
    if each.before is None and each.now is None:
        texts = {name: " → ".join(map(blocks.figure, scores)) for name, scores in [*each.scores.items()][:1]}
    width = hang + 2 + max(map(blocks.cells, texts), default=0)
    described = [
        blocks.Labelled(label, text, indent=hang, hang=width, lines=4) for label, text in texts.items()
    ]
    expected = [blocks.Labelled("expected", each.expected)] if each.expected else []
    return blocks.Answer(name, f"got {word}", question, [[question, *described]], opened=expected)


def _describe_metrics(comparison: Comparison, names: dict[str, str], *, details: bool) -> blocks.Blocks:
    several = len(comparison.contenders) > 1
    base, now = (
        blocks.shortened(names[each], 12) for each in (comparison.baseline, comparison.contenders[0])
    )
    rows = compared_rows(comparison)
    if not rows:
        return
    yield blocks.table(
        (
            [
                ("metric", each.metric),
                (blocks.Column("run", leaves=0 if several else blocks.BY), names[each.of] if several else ""),
                (blocks.right("baseline" if several else base), each.before),
                (blocks.right("now" if several else now), each.now),
                ("difference", blocks.aligned(each.difference)),
                (blocks.PICTURE, each.picture),
                *(
                    (blocks.right(name, leaves=blocks.COUNT), f"{count:,}")
                    for name, count in zip(("better", "same", "worse"), each.counts, strict=True)
                ),
                ("result", each.finding),
                (blocks.Column("method", leaves=blocks.BY), each.by),
                *_detail_cells(test, leaves=blocks.BY, joins=blocks.WIDEST),
            ]
            for each, test in zip(rows, comparison.metrics, strict=True)
        ),
        summary=f"Figures: {'; '.join(map(str, rows))}",
    )
    if len(rows) > 1:
        yield blocks.prose(
            f"Intervals are per metric; verdicts are corrected for {counted(len(rows), 'comparison')}.",
            indent=2,
        )
    if comparison.unshared_metrics:
        unshared = ", ".join(comparison.unshared_metrics)
        yield blocks.aside(f"Not compared, scored in one run only: {unshared}")
    if details:
        yield from _describe_details(comparison, names)


def _detail_cells(each: MetricComparison, *, leaves: int = 0, joins: int = 0) -> list[blocks.Cell]:
    is_out_of_reach = each.visible_from is None and each.smallest_detectable
    cells_of = {
        "p": blocks.probability_text(each.p_adjusted),
        "effect": blocks.difference(each.effect_size),
        "MDD": "> 1" if is_out_of_reach else blocks.figure(each.visible_from),
    }
    return [(blocks.right(name, leaves=leaves, joins=joins), cell) for name, cell in cells_of.items()]


def _describe_details(comparison: Comparison, names: dict[str, str]) -> blocks.Blocks:
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
        "p: corrected for all comparisons by Holm's method; effect: Cohen's d of the differences; "
        "MDD: minimum detectable difference with these answers at 80% power."
    ]
    notes += [
        f"answers of {names[changes.contender]}: p {blocks.probability_text(changes.p_value)} "
        f"(exact, mid-p, two-sided); significant if at most {changes.level:g}"
        for changes in comparison.answers
        if changes.is_tested
    ]
    for note in notes:
        yield blocks.prose(blocks.Styled(note, blocks.DIM), indent=2)


def _describe_slices(
    comparison: Comparison, changes: AnswerChanges, kind: str, names: dict[str, str]
) -> blocks.Blocks:
    groups = changes.slices.get(kind, {})
    yield blocks.GAP
    if not groups:
        yield blocks.prose(f"No answer has a {kind.replace('_', ' ')}.", indent=2)
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
    yield blocks.prose("The differences of the groups are not tested for significance.", indent=2)


def _way_on(
    comparison: Comparison, names: dict[str, str], *, everything: bool, runs: Path
) -> Iterator[tuple[str, str]]:
    first, others = names[comparison.baseline], [names[each] for each in comparison.contenders]
    if any(each in ("before", "now") or " " in each for each in (first, *others)):
        return  # no command finds runs by these names
    if len(others) > 1:
        yield f"rag-eval compare {first} {others[0]}{in_runs(runs)}", "compare the answers of two runs"
    elif not everything and any(each.worse or each.better for each in comparison.answers):
        yield f"rag-eval compare {first} {others[0]} --all{in_runs(runs)}", "show every changed answer"
    if all(name.startswith("eval_run_") for name in (comparison.baseline, *comparison.contenders)):
        yield (f"rag-eval report {first} {' '.join(others)}{in_runs(runs)}", "write an HTML comparison")
