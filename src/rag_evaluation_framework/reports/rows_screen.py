"""What is said of rows that are scored: what was read from which field, what does not count, how sure it is.

Everything on the screen rests on the first: it is said before anything else.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import chain

from rag_evaluation_framework.datasets.row_fields import SHOWN, RowReading
from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.records.scores import NOT_ANSWERED
from rag_evaluation_framework.reports.blocks import Blocks, by, listed, prose
from rag_evaluation_framework.reports.cases import names_listed, sample_name
from rag_evaluation_framework.results.evaluations import Evaluation
from rag_evaluation_framework.results.run_evaluations import MOST_UNSCORED, unscored_rows

_TOOLS = {
    "deepeval": "a file of deepeval",
    "inspect": "a file of inspect_ai",
    "langfuse": "an export of Langfuse",
    "langsmith": "an export of LangSmith",
    "langsmith-export": "an export of LangSmith",
    "openai-evals": "a file of OpenAI evals",
    "phoenix": "an export of Phoenix",
    "promptfoo": "a file of promptfoo",
    "ragas": "ragas 0.2+",
    "ragas-0.1": "ragas 0.1",
    "squad-rows": "SQuAD as Hugging Face has it",
    "traces": "traces in OTLP JSON",
}
"""What the formats of other tools are called."""
_CALLED = {"latency_ms": "latency (milliseconds)", "latency_s": "latency (seconds)"}
_NOT_COUNTED = {
    "refused": ("refusal", "refusals"),
    "dont_know": ('"don\'t know"', '"don\'t know"'),
    "asks_back": ("question back", "questions back"),
}


def reading_of_run(evaluation: Evaluation) -> RowReading:
    """Return what was read of plain rows."""
    reading = RowReading.from_dict(evaluation.head.configuration.get("reading"))
    return RowReading("rows", {}) if reading is None else reading


def describe_reading(reading: RowReading) -> Blocks:
    """Add which field was taken for what, how many rows there are, and how to change it."""
    hang = len(reading.name) + 2
    first, second = _reading_lines(reading)
    yield prose(f"{reading.name}: {first}", hang=hang)
    yield prose(second, indent=hang, hang=hang)


def describe_format(name: str, format_: str, rows: int) -> Blocks:
    """Add whose format a file is read in, and how to change that."""
    unit, change = ("sample", "") if format_ == "traces" else ("row", "; change with --map answer=FIELD")
    told = f"{name}: read as {_TOOLS.get(format_, format_)}, {counted(rows, unit)}{change}"
    yield prose(told, hang=len(name) + 2)


def reading_sentences(evaluation: Evaluation) -> list[str]:
    """Say the same where there is no screen; nothing of what is no rows, or was told which field is what."""
    if "reading" not in evaluation.head.configuration:
        return []
    reading = reading_of_run(evaluation)
    first, second = _reading_lines(reading)
    return [f"{reading.name}: {first}; {second}"]


def _reading_lines(reading: RowReading) -> tuple[str, str]:
    """Say which field was taken for what, and what else is known of the rows."""
    fields = reading.fields
    first = ", ".join(f"{part} = {fields[part]}" for part in SHOWN if part in fields)
    told = [] if reading.rows is None else [counted(reading.rows, "row")]
    if reading.rows:
        if "answer" in fields and reading.answers != reading.rows:
            told.append(f"{_some(reading.answers, reading.rows)} with an answer")
        if "reference" in fields:
            told.append(f"{_some(reading.references, reading.rows)} with a reference")
    others = [part for part in fields if part not in (*SHOWN, "id")]
    told += [f"{_CALLED.get(part) or part.replace('_', ' ')} in {fields[part]}" for part in others]
    part = "answer" if "answer" in fields else "question"
    change = f'map={{"{part}": FIELD}}' if reading.in_memory else f"--map {part}=FIELD"
    asked = reading.unit_asked and f"not read: {reading.unit_asked}"
    return first, "; ".join(filter(None, (", ".join(told), asked, f"change with {change}")))


def _some(count: int | None, total: int) -> str:
    return "none" if not count else "all" if count == total else f"{count:,}"


def not_counted(evaluation: Evaluation) -> Iterator[str]:
    """Say which answers refuse, don't know or ask back, and from which metrics they are excluded."""
    reasons = {NOT_ANSWERED[kind]: words for kind, words in _NOT_COUNTED.items()}
    names: dict[tuple[str, str], list[str]] = defaultdict(list)
    metrics: dict[str, None] = {}
    counts: Mapping[str, int] = {
        each.reason: each.count for figure in evaluation.metrics.values() for each in figure.reasons
    }
    if not counts.keys() & reasons.keys() or evaluation.counts.total > MOST_UNSCORED:
        return
    for row in chain.from_iterable(map(unscored_rows, evaluation.runs)):
        found = {each.reason: each.metric for each in row.scores if each.reason in reasons}
        for reason, metric in found.items():
            names[reasons[str(reason)]].append(sample_name(row))
            metrics[metric] = None
    said = [f"{counted(len(each), *words)} ({names_listed(each)})" for words, each in names.items()]
    yield f"Excluded from {listed(list(metrics))}: {', '.join(said)}."


def caution(evaluation: Evaluation) -> str | None:
    """Say what figures by words can show; ``None`` if there are none."""
    if any(each.n_scored and by(each.method) == "words" for each in evaluation.metrics.values()):
        return "Word overlap finds additions and changed copies. For reworded errors, use --judge-model."
    return None
