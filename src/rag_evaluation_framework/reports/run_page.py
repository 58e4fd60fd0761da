"""One run as a view of a page: what stands in the HTML itself, and the samples that its script draws."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from msgspec.structs import replace

from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.judging.verdict import (
    CORRECT,
    GRADES,
    NOT_JUDGED,
    PARTLY_CORRECT,
    WRONG,
    AnswerCounts,
    AnswerVerdict,
    name_of_state,
)
from rag_evaluation_framework.metrics.declaration import PASS_RATE, without_parameters
from rag_evaluation_framework.records.responses import expected_turns
from rag_evaluation_framework.records.scores import Blame
from rag_evaluation_framework.reports import facts
from rag_evaluation_framework.reports.blocks import by, figure, interval_text, names_listed, one_line
from rag_evaluation_framework.reports.evaluation_blocks import (
    card_notes,
    headline,
    reading_sentences,
    reliability_lines,
)
from rag_evaluation_framework.reports.facts import FigureRow, list_figures
from rag_evaluation_framework.reports.messages.verdict_sentences import name_kind
from rag_evaluation_framework.reports.page_texts import PageTexts
from rag_evaluation_framework.results.evaluations import Evaluation, Row, groups_of
from rag_evaluation_framework.results.summaries import Figure
from rag_evaluation_framework.results.verdicts import Threshold
from rag_evaluation_framework.statistics.intervals import wilson_interval
from rag_evaluation_framework.text.display import duration

TONES = {
    "passed": "yes",
    **dict.fromkeys(("failed", "not evaluated"), "no"),
    **dict.fromkeys(("undecided", "incomplete", "thresholds met"), "un"),
}
MARKS = {
    **dict.fromkeys(("met", "better", "same"), "yes"),
    **dict.fromkeys(("missed", "not evaluated", "worse"), "no"),
}
"""Tone of each result of a check or a test; any other result has the tone of an open one."""
GRADE_TONES = {CORRECT: "yes", PARTLY_CORRECT: "part", WRONG: "no", NOT_JUDGED: "un"}
"""Tone of the verdict on an answer, by its grade."""
_LOOKS_WRONG, _FLAGGED = "looks_wrong", "flagged"
_SLICES = {"tag": "Tag", "category": "Category", "difficulty": "Difficulty", "query_type": "Question type"}
_REFUSAL = "(a refusal)"
_LISTED_VALUES = 12
_LISTED_GROUPS = 8
_COLUMNS = 3
_BINS = 10
_BIN_HEIGHT = 20


def run_view(evaluation: Evaluation, texts: PageTexts, *, number: int, label: str) -> dict[str, Any]:
    """Return the view of one evaluation; the texts of its contexts and documents go to ``texts``."""
    texts.add_documents(evaluation.documents)
    figures = [
        row
        for row in list_figures(evaluation)
        if row.figure.n_scored
        or row.figure.n_failed
        or row.metric in {bound.metric for bound in row.run.thresholds}
    ]
    several, said = len({row.part for row in figures}) > 1, headline(evaluation)
    metrics = {row.metric: row.figure for row in figures if row.metric != PASS_RATE}
    rows: list[tuple[str, Row]] = []
    samples = []
    ordered = facts.rows_in_order(evaluation, lambda row: _standing(row, metrics))
    for name, row in facts.named_rows(evaluation, ordered):
        key = name if several else row.id
        samples.append(_sample(key, name, row, list(metrics), texts))
        rows.append((key, _without_texts(row)))
    title = f"{evaluation.head.run_id}, {evaluation.name} – rag-eval"
    shown = {
        "kind": "run",
        "label": label,
        "title": title,
        "kicker": _kicker(evaluation),
        "said": said,
        "tone": TONES.get(said.word.lower(), ""),
        "reading": reading_sentences(evaluation),
        "figures": [_shown_figure(row, several=several) for row in figures],
        "answers": evaluation.answers,
        "grades": list(_grades(evaluation.answers)),
        "notes": _notes(evaluation.answers),
        "flagged": list(_flagged(rows)),
        "slices": _slices(rows, number),
        "groups": _groups(rows),
        "latency": _latency(evaluation, rows),
        "about": list(_about(evaluation, [row.figure for row in figures])),
    }
    scripted = {
        "kind": "run",
        "title": title,
        "metrics": list(metrics),
        "columns": _columns(evaluation, figures),
        "filters": list(_filters(evaluation.answers)),
        "wrong": WRONG,
        "kinds": {kind: name_kind(kind) for kind in evaluation.answers.kinds},
        "required": _required(evaluation),
        "supportBy": _supported_by(metrics.values()),
        "notKept": _missing_texts(evaluation),
        "samples": samples,
    }
    return {"shown": shown, "scripted": scripted}


def _columns(evaluation: Evaluation, figures: Sequence[FigureRow]) -> list[str]:
    """Return the metrics that the table of samples shows: those with a threshold, then what scores most."""
    scored: Counter[str] = Counter()
    for row in figures:
        if row.metric != PASS_RATE:
            scored[row.metric] += row.figure.n_scored
    gated = {bound.metric for bound in _bounds(evaluation)}
    places = {metric: place for place, metric in enumerate(scored)}
    ordered = sorted(scored, key=lambda metric: (metric not in gated, -scored[metric], places[metric]))
    return sorted(ordered[:_COLUMNS], key=places.__getitem__)


def _bounds(evaluation: Evaluation) -> list[Threshold]:
    return list(dict.fromkeys(bound for part in evaluation.runs for bound in part.thresholds))


def _kicker(evaluation: Evaluation) -> list[str]:
    head = evaluation.head
    started = (head.started_at or "").replace("T", " ")[:16]
    return [
        f"Run {head.run_id}",
        f"{evaluation.name}, {counted(evaluation.counts.finished, 'answer')}",
        *([f"System {one_line(evaluation.target)}"] if evaluation.target else []),
        *([f"{started} UTC"] if started else []),
    ]


# The figures.


def place(value: float, low: float = 0.0, high: float = 1.0) -> float:
    """Return where a value stands on a track, in percent of it."""
    return round(max(0.0, min(1.0, (value - low) / (high - low))) * 100, 2)


def _shown_figure(row: FigureRow, *, several: bool) -> dict[str, Any]:
    each, run = row.figure, row.run
    bound = next((one.bound for one in run.thresholds if one.metric == each.metric), None)
    operator = next((one.operator for one in run.thresholds if one.metric == each.metric), "")
    interval, value, check = each.interval, each.value, row.demand.check
    status = "" if check is None else check.status
    is_share = value is None or row.is_share
    is_known = each.metric in run.columns.values
    counts = _binned(run.columns.scored(each.metric).values()) if is_known else []
    scored = each.answers
    if each.judged is None and (missing := each.n_skipped + each.n_failed):
        scored = f"{scored} of {each.n_scored + missing:,}"
    written, needs = figure(value, interval, bound=bound), "" if bound is None else f"{operator} {bound:g}"
    label = f"{each.metric} {written}, 95% CI {row.interval}"
    return {
        "row": row,
        "name": f"{row.part}: {each.metric}" if several else each.metric,
        "value": written,
        "scale": is_share,
        "at": None if value is None else place(value),
        "low": None if interval is None or value is None else place(interval.low),
        "high": None if interval is None else place(interval.high),
        "limit": None if bound is None else place(bound),
        "open": bound is not None and interval is not None and interval.low < bound <= interval.high,
        "tone": "bad" if status in ("missed", "not evaluated") else "",
        "label": f"{label}, threshold {needs}" if needs else label,
        "bins": _heights(counts) if is_share else [],
        "spread": _spread(counts),
        "scored": scored,
        "needs": needs,
        "status": status,
    }


def _binned(values: Iterable[float], low: float = 0.0, high: float = 1.0) -> list[int]:
    counts = [0] * _BINS
    for value in values:
        counts[min(_BINS - 1, max(0, int((value - low) / (high - low) * _BINS)))] += 1
    return counts


def _heights(counts: Sequence[int]) -> list[int]:
    most = max(counts, default=0)
    return [max(2, round(_BIN_HEIGHT * count / most)) if count else 0 for count in counts] if most else []


def _spread(counts: Sequence[int]) -> str:
    told = (f"{count:,} from {step / _BINS:.1f}" for step, count in enumerate(counts) if count)
    return "Distribution: " + ", ".join(told)


# The answers by their verdicts, and what wrong ones share.


def _grades(counts: AnswerCounts) -> Iterator[tuple[str, float, str]]:
    """Yield each grade with the place where it begins, in percent of all answers, and its states."""
    at = 0.0
    for grade in GRADES if counts.total else ():
        states = {
            state: count for state, count in counts.states.items() if AnswerVerdict(state).grade == grade
        }
        told = [f"{count:,} {name_of_state(state, count)}" for state, count in states.items()]
        if grade == NOT_JUDGED:
            told = [counted(counts.looks_wrong, "looks wrong", "look wrong")] if counts.looks_wrong else []
        yield grade, round(at, 2), "" if set(states) == {grade} != {NOT_JUDGED} else ", ".join(told)
        at += 100 * counts.count(grade) / counts.total


def _notes(counts: AnswerCounts) -> str:
    questions = "" if counts.questions == counts.total else f" to {counted(counts.questions, 'question')}"
    notes = [f"{counted(counts.total, 'answer')}{questions}."]
    by = {
        facts.DECIDERS.get(name, name.replace("_", " ")): count
        for name, count in counts.by.items()
        if name != "nothing"
    }
    if by:
        notes.append(f"Decided by {', '.join(f'{name} ({count:,})' for name, count in by.items())}.")
    if counts.unstable:
        names = names_listed(counts.unstable)
        notes.append(f"Unstable, with answers of different grades: {names}.")
    return " ".join(notes)


def _filters(counts: AnswerCounts) -> Iterator[tuple[str, str, int]]:
    """Yield the filters that select an answer: their keys, names and counts, worst first."""
    named = {
        WRONG: (name_of_state(WRONG), counts.wrong),
        PARTLY_CORRECT: (name_of_state(PARTLY_CORRECT), counts.partly_correct),
        _LOOKS_WRONG: (f"{name_of_state(NOT_JUDGED)}, looks wrong", counts.looks_wrong),
        NOT_JUDGED: (name_of_state(NOT_JUDGED), counts.not_judged),
        _FLAGGED: ("flagged", counts.flagged),
        CORRECT: (name_of_state(CORRECT), counts.correct),
    }
    yield from ((key, name, count) for key, (name, count) in named.items() if count)


def _filters_of(verdicts: Iterable[AnswerVerdict]) -> Iterator[str]:
    for each in verdicts:
        yield each.grade
        if each.looks_wrong and not each.is_judged:
            yield _LOOKS_WRONG
        if each.is_flagged:
            yield _FLAGGED


def _flagged(rows: Sequence[tuple[str, Row]]) -> Iterator[tuple[str, str, str, AnswerVerdict]]:
    """Yield the answers that are flagged: the key, the question, what is flagged, and the verdict."""
    for key, row in rows:
        for each in row.verdicts:
            if each.is_flagged:
                yield (
                    key,
                    one_line(row.question, 200),
                    ", ".join(facts.FLAGS[flag] for flag in each.flags),
                    each,
                )


def _required(evaluation: Evaluation) -> dict[str, list[Any]]:
    """Return by metric what the gate requires of its mean, which decides nothing about one answer."""
    bounds = _bounds(evaluation) if evaluation.is_gated else []
    return {each.metric: [each.operator, each.bound, f"{each.bound:.2f}"] for each in bounds}


def _slices(rows: Sequence[tuple[str, Row]], number: int) -> list[dict[str, Any]]:
    """Return the share of correct answers among those that were judged, by tag, document and so on."""
    judged = [(row, each.is_correct) for _, row in rows for each in row.verdicts if each.is_judged]
    groups: dict[str, dict[str, list[bool]]] = {}
    for row, is_correct in judged:
        for name, value in _values_of(row):
            groups.setdefault(name, {}).setdefault(value, []).append(is_correct)
    whole = sum(is_correct for _, is_correct in judged) / max(1, len(judged))
    return [_slice(name, values, whole, number) for name, values in groups.items() if len(values) > 1]


def _values_of(row: Row) -> Iterator[tuple[str, str]]:
    yield from (("Document", document) for document in facts.needed_names(row))
    groups = dict.fromkeys(groups_of(row.sample))
    yield from ((_SLICES[kind], value) for kind, value in groups if kind in _SLICES)


def _slice(name: str, values: Mapping[str, list[bool]], whole: float, number: int) -> dict[str, Any]:
    ordered = sorted(values.items(), key=lambda each: (sum(each[1]) / len(each[1]), -len(each[1])))
    rows = []
    for value, are_correct in ordered[:_LISTED_VALUES]:
        good, total = sum(are_correct), len(are_correct)
        interval = wilson_interval(good, total)
        count = f"{good:,} of {total:,}"
        search = {"v": number, "t": value} if name == _SLICES["tag"] else {"v": number, "q": value}
        rows.append(
            {
                "value": value,
                "count": count,
                "link": "#" + urlencode(search),
                "at": place(good / total),
                "low": place(interval.low),
                "high": place(interval.high),
                "over": place(whole),
                "open": False,
                "tone": "bad" if interval.high < whole else "",
                "label": f"{value}: {count}, 95% CI {interval_text(interval)}",
            }
        )
    more = len(ordered) - _LISTED_VALUES
    return {"name": name, "rows": rows, "more": f"{counted(more, 'more')[:-1]}" if more > 0 else ""}


def _groups(rows: Sequence[tuple[str, Row]]) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """Return wrong answers that share a kind and an expected document: their keys and questions."""
    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for key, row in rows:
        if row.verdict is not None and row.verdict.is_wrong:
            for document in facts.needed_names(row):
                shared = row.verdict.failure_kind, document
                found.setdefault(shared, []).append((key, one_line(row.question, 200)))
    largest = sorted(found.items(), key=lambda each: -len(each[1]))[:_LISTED_GROUPS]
    return [(*shared, members) for shared, members in largest if len(members) > 1]


# Latency, and how the figures were made.


def _latency(evaluation: Evaluation, rows: Sequence[tuple[str, Row]]) -> dict[str, Any] | None:
    times = sorted(row.response.latency_ms for _, row in rows if row.response.latency_ms is not None)
    reliability = [*reliability_lines(evaluation)]
    if not times:
        return {"reliability": reliability} if reliability else None
    stats = evaluation.performance.figures.get("latency_stats") or {}
    for part in evaluation.runs:
        stats = stats or part.performance.figures.get("latency_stats") or {}
    said = ", ".join(
        f"{words} {duration(stats[name] / 1000)}"
        for name, words in _PERCENTILES.items()
        if name in stats and not (reliability and name in ("p50", "p95"))  # which stand in its line
    )
    least, most = duration(times[0] / 1000), duration(times[-1] / 1000)
    counts = _binned(times, times[0], times[-1]) if times[-1] > times[0] else []
    whole = f"{least} to {most} over {counted(len(times), 'answer')}."
    return {
        "sentence": (f"{said}; {whole}" if said else whole).capitalize(),
        "bins": _heights(counts),
        "spread": f"Latency from {least} to {most}: {', '.join(map(str, counts))}" if counts else "",
        "least": least,
        "most": most,
        "steps": facts.steps_sentence(row for _, row in rows),
        "reliability": reliability,
    }


_PERCENTILES = {"p50": "median", "p95": "95th percentile", "p99": "99th percentile"}


def _about(evaluation: Evaluation, figures: Sequence[Figure]) -> Iterator[tuple[str, str]]:
    head = evaluation.head
    methods = dict.fromkeys(f"{each.metric}: {each.method}" for each in figures)
    yield "Methods", "; ".join(methods)
    made = dict.fromkeys(each.interval_method for each in figures if each.interval_method)
    if made:
        intervals = evaluation.intervals
        yield (
            "Intervals",
            f"{'; '.join(made)}; {counted(intervals['resamples'], 'resample')}, seed {intervals['seed']}",
        )
    lacking = [
        f"{each.metric}: {one.count:,} {one.status}, {one.reason}" for each in figures for one in each.reasons
    ]
    if lacking:
        yield "Not scored", "; ".join(lacking)
    for note in card_notes(evaluation):
        yield "Judge", note
    for warning in evaluation.warnings:
        yield "Warning", warning
    if head.dataset_hash:
        version = f", version {head.dataset_version}" if head.dataset_version else ""
        yield "Dataset", f"{evaluation.name}{version}, content {head.dataset_hash[:23]}…"
    if not_kept := _missing_texts(evaluation):
        yield "Documents", not_kept
    made_with = ", ".join(f"{name} {version}" for name, version in head.packages.items())
    if made_with:
        yield "Versions", f"{made_with}, seed {head.seed}"
    for name, value in head.environment.items():
        yield str(name).replace("_", " ").capitalize(), str(value)


def _missing_texts(evaluation: Evaluation) -> str:
    kept = evaluation.documents
    if kept.reason is not None:
        return f"No document texts: {kept.reason}."
    if not kept.not_kept:
        return ""
    many = counted(len(kept.not_kept), "document was", "documents were")
    return f"The texts of {many} not saved: {next(iter(kept.not_kept.values()))}."


def _supported_by(figures: Iterable[Figure]) -> str:
    told = (by(each.method) for each in figures if without_parameters(each.metric) in facts.OF_ANSWERS)
    return next(told, "")


# One sample, as the script reads it: short names, and nothing that is empty.


def _sample(key: str, name: str, row: Row, metrics: Sequence[str], texts: PageTexts) -> dict[str, Any]:
    scores = {score.metric: score for score in row.scores}
    values = [scores.get(metric) for metric in metrics]
    written = {
        "id": key,
        "name": name,
        "q": row.question,
        "e": row.expected if not row.expects_refusal else _REFUSAL,
        "a": row.response.text,
        "err": row.error,
        **_verdict(row.verdict, row, row.blame),
        "f": list(dict.fromkeys(_filters_of(row.verdicts))),
        "k": list(dict.fromkeys(each.failure_kind for each in row.verdicts if each.is_wrong)),
        "m": [None if score is None or score.value is None else _rounded(score.value) for score in values],
        "x": {score.metric: f"{score.status}: {score.reason}" for score in row.scores if score.value is None},
        "t": [] if row.sample is None else list(row.sample.tags),
        "n": texts.needed(row),
        "r": texts.retrieved(row),
        "cited": texts.cited(row),
        "none": row.response.retrieved_nothing or None,
        "c": _claims(row),
        **_steps(row),
        "turns": list(_turns(row)),
    }
    return {key: value for key, value in written.items() if value not in (None, [], {}, "") or key == "m"}


def verdict_fields(verdict: AnswerVerdict) -> dict[str, Any]:
    """Return a verdict as the scripts read it: its name and tone, who decided it, why, and the flags."""
    written = {
        "v": [verdict.name, GRADE_TONES[verdict.grade]],
        "by": facts.DECIDERS.get(verdict.by or "", (verdict.by or "").replace("_", " ")),
        "why": verdict.why,
        "fl": [facts.FLAGS[flag] for flag in verdict.flags],
    }
    return {name: value for name, value in written.items() if value}


def _verdict(verdict: AnswerVerdict | None, row: Row, blame: Blame | None) -> dict[str, Any]:
    """Return the verdict on an answer or a turn, with the cause where it is known."""
    if verdict is None:
        return {}
    cause = None if verdict.cause is None else facts.why(row, blame) or name_kind(verdict.cause)
    return {**verdict_fields(verdict), **({} if cause is None else {"cause": cause})}


def _turns(row: Row) -> Iterator[dict[str, Any]]:
    """Yield the turns of a conversation, each that expects something with its verdict."""
    found: dict[int, AnswerVerdict] = {}
    if row.sample is not None and row.verdict is not None and row.verdict.turns:
        found = dict(zip(expected_turns(row.sample), row.verdict.turns, strict=True))
    for turn in row.turns:
        expected = _REFUSAL if turn.expects_refusal else turn.expected
        yield {
            "n": turn.number,
            "q": turn.question,
            "e": expected,
            "a": turn.answer,
            **_verdict(found.get(turn.number), row, turn.blame),
        }


def _steps(row: Row) -> dict[str, Any]:
    """Return the steps of a trace: what each did, how long, from where to where, and what went wrong."""
    trace = None if row.sample is None else row.sample.trace
    if trace is None or not trace.steps:
        return {}
    ends = [(step.started_ms or 0.0) + (step.took_ms or 0.0) for step in trace.steps]
    whole = max([*ends, trace.took_ms or 0.0]) or 1.0
    written = []
    for step, end in zip(trace.steps, ends, strict=True):
        stretch = [place(at, 0.0, whole) for at in (step.started_ms or 0.0, end)]
        took = "" if step.took_ms is None else duration(step.took_ms / 1000)
        known = None if step.started_ms is None else stretch
        written.append([step.kind, step.action, took, known, step.error])
    return {"st": written, "sb": trace.by_kind}


def _rounded(value: float) -> float | int:
    short = round(value, 4)
    return int(short) if short == int(short) else short


def _claims(row: Row) -> list[list[Any]]:
    """Return the claims of the answer: where, which label, support, nearest context, new words, changes."""
    text = row.response.text or ""
    return [
        [
            claim["start"],
            claim["end"],
            claim["label"],
            claim.get("probability"),
            (claim.get("evidence") or {}).get("number"),
            [text[begin:end] for begin, end in claim.get("new_tokens") or ()],
            list(facts.changes_of(claim, text)),
        ]
        for claim in facts.answer_claims(row)
    ]


def _without_texts(row: Row) -> Row:
    """Return a row without what was retrieved and scored, which takes the most memory."""
    response = replace(row.response, hits=(), contexts=())
    sample = None if row.sample is None else replace(row.sample, recorded=None, reference_contexts=())
    return replace(row, result=replace(row.result, response=response, scores=()), sample=sample, blame=None)


def _standing(row: Row, metrics: Mapping[str, Figure]) -> tuple[float, ...]:
    """Return the place of an answer among all, worst first: by its verdict, then by its mean score."""
    verdict = row.verdict
    values = [
        share
        for score in row.scores
        if score.metric in metrics
        and (share := score.goodness(higher_is_better=metrics[score.metric].higher_is_better)) is not None
        and 0 <= share <= 1
    ]
    mean = sum(values) / len(values) if values else 1.0
    if verdict is None:
        return 0, 0, mean
    return not verdict.deserves_attention, verdict.severity, mean
