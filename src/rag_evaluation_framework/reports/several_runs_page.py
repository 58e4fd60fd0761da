"""Several runs as a view of a page: compared with the first, or as the combinations of a sweep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec.structs import replace

from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.judging.verdict import GRADES, name_of_state
from rag_evaluation_framework.records.scores import TIMING_METHOD
from rag_evaluation_framework.reports.blocks import BAD, GOOD, NOTHING, Headline, difference, one_line
from rag_evaluation_framework.reports.comparison_blocks import comparison_headline
from rag_evaluation_framework.reports.facts import document_of, named_rows, sample_name
from rag_evaluation_framework.reports.messages import comparison_sentences
from rag_evaluation_framework.reports.page_texts import PageTexts
from rag_evaluation_framework.reports.run_page import GRADE_TONES
from rag_evaluation_framework.reports.run_page import place as place_between
from rag_evaluation_framework.reports.sweep_blocks import (
    RANK_WORDS,
    SweepAdvice,
    found_by_none,
    index_recalls,
    sweep_advice,
)
from rag_evaluation_framework.reports.system_blocks import interval_methods
from rag_evaluation_framework.results.changes import by_run, compare_evaluations
from rag_evaluation_framework.results.comparison import MetricComparison
from rag_evaluation_framework.results.evaluations import Evaluation, Row
from rag_evaluation_framework.results.movements import Movement, movement_between
from rag_evaluation_framework.results.paired_answers import PairedAnswers
from rag_evaluation_framework.results.summaries import Figure
from rag_evaluation_framework.results.verdicts import AnswerChanges

# Runs compared: what may be claimed, how the verdicts on the answers moved, differences of metrics.

MOVEMENTS: Mapping[Movement, str] = {
    "became wrong": "w",
    "became partly correct": "p",
    "no longer confirmed": "l",
    "became correct": "c",
    "unchanged": "u",
}
"""Moves of the verdict on an answer, worst first, with the key that lists such answers."""

_TONES = {BAD: "no", GOOD: "yes"}
# The scale of differences is the same for all metrics: a round number that the widest interval fits into.
_SCALES = (0.1, 0.2, 0.4, 0.6, 1.0)


def comparison_view(evaluations: Sequence[Evaluation], *, first_view: int, force: bool) -> dict[str, Any]:
    """Return the view of runs compared with the first; the views of single runs begin at ``first_view``."""
    named = by_run(evaluations)
    comparison = compare_evaluations(named, force=force, seed=evaluations[0].head.seed)
    short = comparison_sentences.short_names(list(named))
    traits = [trait for each in comparison.answers for trait in each.traits]
    several = len(comparison.answers) > 1
    said, *others = (
        comparison_headline(comparison, each, of=f"{short[each.contender]}: " if each and several else "")
        for each in comparison.answers or (None,)
    )
    lines = [*said.lines, *(line for each in others for line in (str(each), *each.lines))]
    lines += [f"Warning: {warning}" for warning in comparison.warnings]
    scale = _scale(comparison.metrics)
    title = f"{' and '.join(short.values())} compared – rag-eval"
    runs: list[dict[str, Any]] = [
        {
            "name": short[name],
            "view": first_view + place,
            "pairs": list(_pairs(evaluations[0], named[name], [each.metric for each in comparison.metrics])),
        }
        for place, name in enumerate(comparison.contenders, start=1)
    ]
    shown = {
        "kind": "comparison",
        "label": "Comparison",
        "title": title,
        "kicker": [
            f"Before {comparison.baseline}",
            f"Now {', '.join(comparison.contenders)}",
            f"{evaluations[0].name}, {counted(evaluations[0].counts.finished, 'answer')}",
        ],
        "said": replace(said, lines=tuple(lines)),
        "tone": _TONES.get(said.style, "un"),
        "answered": any("g" in pair for run in runs for pair in run["pairs"])
        or any(each.other_questions for each in comparison.answers),
        "grades": [name_of_state(grade) for grade in GRADES],
        "changes": [_changes(each, run) for each, run in zip(comparison.answers, runs, strict=True)],
        "traits": traits,
        "scale": f"-{scale:g} … +{scale:g}",
        "rows": [_row(each, scale, short, len(comparison.contenders) > 1) for each in comparison.metrics],
    }
    metrics = {each.metric: each.higher_is_better for each in comparison.metrics}
    scripted = {
        "kind": "comparison",
        "title": title,
        "metrics": list(metrics),
        "up": list(metrics.values()),
        "movements": list(MOVEMENTS.items()),
        "runs": runs,
    }
    return {"shown": shown, "scripted": scripted}


def _changes(changes: AnswerChanges, run: Mapping[str, Any]) -> dict[str, Any]:
    """Return how many answers moved how, and from which grade to which."""
    pairs = [each for each in run["pairs"] if "g" in each]
    moved = Counter(each["s"] for each in pairs)
    grades = Counter(tuple(each["g"]) for each in pairs)
    # Which answers cannot be compared is told by their verdicts, not by the scores of one run.
    left_out = comparison_sentences.left_out_sentences(replace(changes, unpaired=()))
    return {
        "name": run["name"],
        "moved": [(word, moved[place]) for place, word in enumerate(MOVEMENTS)],
        "rows": [[grades[before, now] for now in range(len(GRADES))] for before in range(len(GRADES))],
        "sorts": None if changes.other_questions is None else comparison_sentences.sorts_sentence(changes),
        "left_out": list(left_out),
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
    interval, seen = each.interval, each.smallest_detectable
    at = partial(place_between, low=-scale, high=scale)
    reach = None if seen is None else min(seen, scale)
    return {
        "test": each,
        "name": f"{each.metric}, {short.get(each.contender, each.contender)}" if several else each.metric,
        "interval": NOTHING if interval is None else difference(each.difference, interval).partition(" ")[2],
        "at": at(each.difference),
        "low": None if interval is None else at(interval.low),
        "high": None if interval is None else at(interval.high),
        "hatch": None if reach is None else [at(-reach), round(100 * reach / scale, 2)],
    }


# Each sample before and now, as the script reads it.


def _pairs(before: Evaluation, now: Evaluation, metrics: Sequence[str]) -> Iterator[dict[str, Any]]:
    several = len(now.parts) > 1
    places = list(MOVEMENTS)
    for part, earlier, row in PairedAnswers(before, now).rows():
        ((name, _),) = named_rows(now, [(part, row)])
        written: dict[str, Any] = {
            "id": name if several else row.id,
            "name": name,
            "q": row.question,
            "e": row.expected,
            "a": [earlier.response.text, row.response.text],
            "m": [_values(each, metrics) for each in (earlier, row)],
        }
        if earlier.verdict is not None and row.verdict is not None:
            verdicts = earlier.verdict, row.verdict
            is_same_text = None not in written["a"] and earlier.response.text == row.response.text
            movement = movement_between([verdicts[0]], [verdicts[1]], is_same_text=is_same_text)
            written |= {
                "v": [[each.name, GRADE_TONES[each.grade]] for each in verdicts],
                "g": [GRADES.index(each.grade) for each in verdicts],
                "s": places.index(movement),
                "w": row.verdict.why,
            }
        yield {name: value for name, value in written.items() if value not in (None, "")}


def _values(row: Row, metrics: Sequence[str]) -> list[float | None]:
    found = {score.metric: score for score in row.scores if score.method != TIMING_METHOD}
    values = [found[metric].value if metric in found else None for metric in metrics]
    return [None if value is None else round(value, 4) for value in values]


# A sweep over retrieval setups: the recommendation, the figures and the missed questions.

_STEPS = 5
_LISTED = 200
_NEEDED_TEXTS = 2
_TEXT = 240
_NOT_FOUND = (
    "no setup retrieved any of the expected text. Either the wording differs too much, or the question "
    "or its passage is wrong. Review them before you tune."
)


def sweep_view(sweep: Evaluation, texts: PageTexts, *, label: str) -> dict[str, Any]:
    """Return the view of a sweep."""
    texts.add_documents(sweep.documents)
    advice = sweep_advice(sweep)
    configuration = sweep.head.configuration
    rank_by = str(configuration["rank_by"])
    cells = list(_cells(sweep, advice, rank_by))
    ks = list(dict.fromkeys(cell["k"] for cell in cells))
    missed = _missed(sweep, texts)
    first, *others = [
        line for take, why in reversed(list(advice.sentences.values())) for line in (take, *why)
    ]
    others += [sentence for recall, sentence in index_recalls(sweep) if recall < 1]
    total = next(iter(sweep.parts.values())).counts.total
    title = f"{sweep.head.run_id}, {sweep.name} – rag-eval"
    shown = {
        "kind": "sweep",
        "label": label,
        "title": title,
        "kicker": [
            f"Sweep {sweep.head.run_id}",
            f"{sweep.name}, {counted(total, 'question')}",
            counted(int(configuration["documents"]), "document"),
            counted(len(cells), "setup"),
        ],
        "said": Headline("", "", first, tuple(others)),
        "tone": "",
        "rank_by": rank_by,
        "rank_word": RANK_WORDS.get(rank_by, rank_by).capitalize(),
        "has_curves": len(ks) > 1,
        "heats": [_heat(sweep, advice, cells, k, rank_by) for k in ks],
        "missed": missed[:_LISTED],
        "missed_more": f"{len(missed) - _LISTED:,} more are not shown." if len(missed) > _LISTED else "",
        "missed_hint": f"{len(missed):,} of {counted(total, 'question')}: {_NOT_FOUND}",
        "about": list(_about(sweep)),
    }
    taken = next((place for place, cell in enumerate(cells) if cell["id"] in advice.taken[-1:]), None)
    scripted = {
        "kind": "sweep",
        "title": title,
        "rankWord": RANK_WORDS.get(rank_by, rank_by),
        "taken": taken,
        "cells": [{name: value for name, value in cell.items() if name != "id"} for cell in cells],
    }
    return {"shown": shown, "scripted": scripted}


def _cells(sweep: Evaluation, advice: SweepAdvice, rank_by: str) -> Iterator[dict[str, Any]]:
    for name, part in sweep.parts.items():
        found = part.metrics.get(rank_by)
        interval = None if found is None else found.interval
        chunker, *others = advice.names[name]
        yield {
            "id": name,
            "name": " + ".join(filter(None, advice.names[name])),
            "chunker": chunker,
            "retriever": " + ".join(filter(None, others)) or "one retriever",
            "k": part.head.configuration["k"],
            "read": None if (read := advice.read.get(name)) is None else round(read),
            "value": None if found is None or found.value is None else round(found.value, 4),
            "low": None if interval is None else round(interval.low, 4),
            "high": None if interval is None else round(interval.high, 4),
        }


# Every figure of one k, in five steps of one hue with the numbers.


def _heat(
    sweep: Evaluation, advice: SweepAdvice, cells: Sequence[Mapping[str, Any]], k: int, rank_by: str
) -> dict[str, Any]:
    group = [cell for cell in cells if cell["k"] == k]
    parts = [sweep.parts[cell["id"]] for cell in group]
    metrics = [name for name in parts[0].metrics if any(_value(part, name) is not None for part in parts)]
    columns: list[tuple[str, list[float | None], bool, bool]] = [
        (name, [_value(part, name) for part in parts], parts[0].metrics[name].higher_is_better, True)
        for name in metrics
    ]
    columns.append(("characters", [cell["read"] for cell in group], False, False))
    recalls = [part.performance.figures.get("store_recall") for part in parts]
    if any("store_effort" in part.performance.figures for part in parts):
        columns.append(("index recall", recalls, True, True))
    chunks = [part.head.configuration.get("chunks") for part in parts]
    columns.append(("chunks", chunks, False, False))
    tests = {} if sweep.comparison is None else {each.contender: each for each in sweep.comparison.metrics}
    rows = []
    for place, cell in enumerate(group):
        test = tests.get(cell["id"])
        is_alike = place == 0 or (test is not None and test.finding in ("undecided", "same"))
        rows.append(
            {
                "name": cell["name"],
                "taken": cell["id"] in advice.taken,
                "cells": [
                    {
                        "text": _format_value(values[place], is_share=is_share),
                        "step": _step(values, place, up=up),
                        "best": len(group) > 1 and values[place] == _best(values, up=up),
                        "alike": name == rank_by and is_alike,
                    }
                    for name, values, up, is_share in columns
                ],
            }
        )
    return {"k": k, "columns": [name for name, *_ in columns], "rows": rows}


def _value(part: Evaluation, metric: str) -> float | None:
    found: Figure | None = part.metrics.get(metric)
    return None if found is None else found.value


def _format_value(value: float | None, *, is_share: bool) -> str:
    if value is None:
        return NOTHING
    return f"{value:.3f}" if is_share else f"{round(value):,}"


def _best(values: Sequence[float | None], *, up: bool) -> float | None:
    known = [value for value in values if value is not None]
    return (max(known) if up else min(known)) if known else None


def _step(values: Sequence[float | None], place: int, *, up: bool) -> int:
    known, value = [each for each in values if each is not None], values[place]
    if value is None or not known or max(known) == min(known):
        return 0
    share = (value - min(known)) / (max(known) - min(known))
    return min(_STEPS - 1, int((share if up else 1 - share) * (_STEPS - 0.01)))


# Questions for which no setup retrieved the expected passage.


def _missed(sweep: Evaluation, texts: PageTexts) -> list[dict[str, Any]]:
    missing = set(found_by_none(sweep))
    best = next(iter(sweep.parts.values()))
    return [_missing(row, sweep, texts) for row in best.rows if row.id in missing] if missing else []


def _missing(row: Row, sweep: Evaluation, texts: PageTexts) -> dict[str, Any]:
    needed: list[tuple[str, str]] = []
    for each in texts.needed(row):
        if len(each) == 3:
            document = texts.documents[each[0]]
            place = f"{document['name']} {each[1]}–{each[2]}"
            needed.append((place, one_line(document["text"][each[1] : each[2]], _TEXT)))
        else:
            needed.append(
                (str(each[0]) if isinstance(each[0], str) else texts.documents[each[0]]["name"], "")
            )
    hit = next(iter(row.response.hits), None)
    instead = ""
    if (
        hit is not None
        and hit.span is not None
        and (kept := sweep.documents.find(hit.span.doc_id)) is not None
    ):
        instead = one_line(kept.content[hit.span.start : hit.span.end], _TEXT)
    more = len(needed) - _NEEDED_TEXTS
    return {
        "name": sample_name(row, by_line=False),
        "question": row.question,
        "needed": needed[:_NEEDED_TEXTS],
        "more": f"and {more:,} more" if more > 0 else "",
        "came": "nothing" if hit is None else document_of(hit),
        "instead": instead,
    }


def _about(sweep: Evaluation) -> Iterator[tuple[str, str]]:
    head = sweep.head
    yield "Level", str(head.configuration.get("level"))
    if sweep.comparison is not None and sweep.comparison.metrics:
        tests = "; ".join(dict.fromkeys(each.test for each in sweep.comparison.metrics))
        yield "Tests", f"{tests}; each setup against the highest of its k, corrected by Holm’s method"
    yield "Intervals", f"{'; '.join(interval_methods(sweep))}; seed {head.seed}"
    for recall, sentence in index_recalls(sweep):
        if recall == 1:
            yield "Index", sentence
    for warning in sweep.warnings:
        yield "Warning", warning
    if head.dataset_hash:
        yield "Questions", f"{sweep.name}, content {head.dataset_hash[:23]}…"
    yield "Versions", ", ".join(f"{name} {version}" for name, version in head.packages.items())
    for name, value in head.environment.items():
        yield str(name).replace("_", " ").capitalize(), str(value)
