"""Rules for values of a kind that JSON Schema cannot express."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, TypeAlias, TypeGuard

from rag_evaluation_framework.errors import Issue, Severity, UsageError, shown
from rag_evaluation_framework.files.json_scanner import written_path
from rag_evaluation_framework.metrics.declaration import parse_metric
from rag_evaluation_framework.records.samples import QUALITY_SCORES, REFUSAL, declines

# Texts that are there and say nothing.

_BLANKS_AND_DOTS = re.compile(r"[\s.…]*\Z")


def says_nothing(text: str) -> bool:
    """Return True if a text is blank or only dots, which stand for something left out.

    >>> says_nothing(" … "), says_nothing("...?")
    (True, False)
    """
    return _BLANKS_AND_DOTS.match(text) is not None


# What must hold in the records of golden sets, and what no JSON Schema can say.
#
# ================================  ========  ================================================================
# code                              severity  meaning
# ================================  ========  ================================================================
# ``empty-question``                error     a question, or a turn of the user, without words
# ``empty-expectation``             error     a name, an end of a relation, a relation or a step without words
# ``not-a-refusal``                 error     a question to decline whose ground truth says something else
# ``misplaced``                     error     checks of a conversation in no turn of the assistant
# ``nothing-asked``                 error     a conversation without a turn of the user
# ``empty-reference``               warning   a ground truth that is there and says nothing
# ``nothing-expected``              warning   a conversation that does not say what should be answered
# ================================  ========  ================================================================
#
# Each rule takes one record, and looks only at the parts that have the right type.

GoldenRule: TypeAlias = Callable[[Mapping[str, Any]], Iterator[Issue]]

_OF_ASSISTANT = "checks in the turns of the assistant"
_ENDS = {"subject": "a subject", "relation": "a relation", "object": "an object of the relation"}


def _question(record: Mapping[str, Any]) -> Iterator[Issue]:
    yield from _empty(record.get("question"), "question", "a question", code="empty-question")


def _reference(record: Mapping[str, Any]) -> Iterator[Issue]:
    if record.get("checks"):
        return
    expected = f"an answer, or {REFUSAL}"
    yield from _empty(record.get("ground_truth"), "ground_truth", expected, "warning", code="empty-reference")


def _refusal(record: Mapping[str, Any]) -> Iterator[Issue]:
    truth = record.get("ground_truth")
    if isinstance(truth, str) and not declines(record):
        expected = f"{REFUSAL}, or also a refusal_reason"
        yield Issue("not-a-refusal", expected, shown(truth), "ground_truth")


def _names(record: Mapping[str, Any]) -> Iterator[Issue]:
    yield from _empty_items(
        _field(record.get("metrics"), "expected_entities"), "metrics.expected_entities", "a name"
    )


def _triple(record: Mapping[str, Any]) -> Iterator[Issue]:
    for field, expected in _ENDS.items():
        value = _field(record.get("relationship_triple"), field)
        yield from _empty(value, f"relationship_triple.{field}", expected)


def _milestones(record: Mapping[str, Any]) -> Iterator[Issue]:
    yield from _empty_items(record.get("timeline_milestones"), "timeline_milestones", "a step")


def _turns(record: Mapping[str, Any]) -> Iterator[Issue]:
    turns = record.get("conversation")
    if not isinstance(turns, list) or not turns:
        return
    for number, turn in enumerate(turns):
        path = f"conversation[{number}]"
        if _field(turn, "role") == "user":
            words = "the text of the user"
            yield from _empty(turn.get("content"), f"{path}.content", words, code="empty-question")
        for issue in _reference(turn) if isinstance(turn, Mapping) else ():
            yield issue.located(within=path)
        if _field(turn, "checks") and _field(turn, "role") != "assistant":
            yield Issue("misplaced", _OF_ASSISTANT, "checks in another turn", f"{path}.checks")
    if record.get("checks"):
        yield Issue("misplaced", _OF_ASSISTANT, "checks outside the turns", "checks")
    roles = [_field(turn, "role") for turn in turns]
    if "user" not in roles:
        yield Issue("nothing-asked", "a turn of the user", "no such turn", "conversation")
    if "assistant" not in roles:
        expected = "a turn of the assistant with its ground_truth"
        yield Issue("nothing-expected", expected, "no such turn", "conversation", "warning")


def _empty_items(values: Any, path: str, expected: str) -> Iterator[Issue]:
    for number, value in enumerate(values if isinstance(values, list) else ()):
        yield from _empty(value, f"{path}[{number}]", expected)


def _empty(
    value: Any, path: str, expected: str, severity: Severity = "error", *, code: str = "empty-expectation"
) -> Iterator[Issue]:
    if isinstance(value, str) and says_nothing(value):
        yield Issue(code, expected, shown(value), path, severity)


GOLDEN_RULES: Mapping[str, tuple[GoldenRule, ...]] = {
    "golden-factual": (_question, _reference, _names),
    "golden-relationship": (_question, _reference, _names, _triple),
    "golden-tracking": (_question, _reference, _names, _milestones),
    "golden-multiturn": (_turns,),
    "golden-boundary": (_question, _refusal),
}


# What must hold between the fields of a record or file, and what no JSON Schema can say.
#
# Each rule takes a value of any shape, looks only at the parts that have the right type (the schema
# reports the others), and runs in linear time. :data:`RULES` is the whole table.

Rule: TypeAlias = Callable[[Any], Iterator[Issue]]

# Scores are written with two digits, so their mean may be off by half a hundredth.
_ROUNDING = 0.005 + 1e-9
# What is computed as 1 may come out a little above it.
_FLOATING = 1e-9
_METRIC_SECTIONS = ("retrieval_metrics", "citation_metrics", "answer_quality_metrics")


def unique(ids: Iterator[tuple[str, Any]], field: str) -> Iterator[Issue]:
    """Yield an issue for each id that stood before; ``ids`` are pairs of path and id."""
    seen: set[str] = set()
    for path, identifier in ids:
        if not isinstance(identifier, str):
            continue
        if identifier in seen:
            yield Issue("duplicate-id", f"unique {field}s", f"duplicate {shown(identifier)}", path)
        seen.add(identifier)


def span_issues(spans: Any, within: str, *, start: str, end: str) -> Iterator[Issue]:
    """Yield an issue for each span of a list that begins before 0, or does not end after its start."""
    for path, span in items(spans, within):
        first, last = span.get(start), span.get(end)
        if not is_whole(first) or not is_whole(last):
            continue
        if first < 0:
            yield Issue("negative-span", "a position of at least 0", str(first), f"{path}.{start}")
        if last <= first:
            yield Issue("inverted-span", f"a position above {first}", str(last), f"{path}.{end}")


def _citation_spans(record: Any, within: str = "") -> Iterator[Issue]:
    if isinstance(record, dict):
        path = f"{within}.citations" if within else "citations"
        for place, citation in items(record.get("citations"), path):
            if citation.get("file_name") == "":
                yield Issue("invalid-value", "a file name", "''", f"{place}.file_name")
        yield from span_issues(record.get("citations"), path, start="start_char", end="end_char")


def _unique_in(value: Any, *, name: str, field: str) -> Iterator[Issue]:
    """A list under ``name`` (or the value itself) repeats no id."""
    records = items(_field(value, name) if name else value, name)
    return unique(((f"{path}.{field}", record.get(field)) for path, record in records), field)


def _citations_in(value: Any, *, name: str) -> Iterator[Issue]:
    """The citations of each record under ``name`` are spans."""
    for path, record in items(_field(value, name), name):
        yield from _citation_spans(record, path)


def annotations_in(value: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each annotation of a file of any of the three shapes, with its path."""
    if isinstance(value, list):
        yield from items(value, "")
    elif isinstance(value, dict) and "annotations" in value:
        yield from items(value["annotations"], "annotations")
    elif isinstance(value, dict):
        yield "", value


def _annotation_spans(value: Any) -> Iterator[Issue]:
    for path, annotation in annotations_in(value):
        yield from _citation_spans(annotation, path)


def _annotation_ids(value: Any) -> Iterator[Issue]:
    ids = (
        (f"{path}.annotation_id", annotation.get("annotation_id"))
        for path, annotation in annotations_in(value)
    )
    return unique(ids, "annotation_id")


def _overall_scores(value: Any) -> Iterator[Issue]:
    """The overall score is the mean of the five quality scores; a different one is only a warning."""
    for path, annotation in annotations_in(value):
        scores, overall = annotation.get("quality_scores"), annotation.get("overall_score")
        if not isinstance(scores, dict) or not _is_number(overall):
            continue
        five = [score for score in map(scores.get, QUALITY_SCORES) if _is_number(score)]
        if len(five) < len(QUALITY_SCORES):
            continue
        mean = sum(five) / len(five)
        if abs(mean - overall) > _ROUNDING:
            place = f"{path}.overall_score" if path else "overall_score"
            expected = f"the mean of the quality scores ({mean:.4g})"
            yield Issue("overall-score-differs", expected, str(overall), place, "warning")


def _intervals(value: Any) -> Iterator[Issue]:
    """An interval's lower end is not above its upper end."""
    for section in _METRIC_SECTIONS:
        metrics = _field(value, section)
        for name, metric in metrics.items() if isinstance(metrics, dict) else ():
            interval = _field(metric, "confidence_interval")
            if isinstance(interval, list) and len(interval) == 2 and all(map(_is_number, interval)):
                low, high = interval
                if low > high:
                    path = f"{section}.{name}.confidence_interval"
                    yield Issue("inverted-interval", f"an upper end of at least {low}", str(high), path)


def _aligned_sources(value: Any) -> Iterator[Issue]:
    """Sources stand beside contexts, one for each."""
    for path, record in (("sources", value), ("rag.sources", _field(value, "rag"))):
        contexts, sources = _field(record, "contexts"), _field(record, "sources")
        if (
            isinstance(contexts, list)
            and isinstance(sources, list)
            and len(sources) not in (0, len(contexts))
        ):
            yield Issue("misaligned", f"{len(contexts)}, one for each context", str(len(sources)), path)


def _langsmith_spans(value: Any) -> Iterator[Issue]:
    spans = _field(_field(value, "outputs"), "spans")
    return span_issues(spans, "outputs.spans", start="start", end="end")


def _squad_questions(value: Any) -> Iterator[tuple[str, dict[str, Any], Any]]:
    """Yield each question with its path and the paragraph's context."""
    for article_path, article in items(_field(value, "data"), "data"):
        for paragraph_path, paragraph in items(article.get("paragraphs"), f"{article_path}.paragraphs"):
            for path, question in items(paragraph.get("qas"), f"{paragraph_path}.qas"):
                yield path, question, paragraph.get("context")


def _squad_ids(value: Any) -> Iterator[Issue]:
    ids = ((f"{path}.id", question.get("id")) for path, question, _ in _squad_questions(value))
    return unique(ids, "id")


def _squad_answers(value: Any) -> Iterator[Issue]:
    """An answer is what stands in the paragraph at its position."""
    for path, question, context in _squad_questions(value):
        for answer_path, answer in items(question.get("answers"), f"{path}.answers"):
            text, start = answer.get("text"), answer.get("answer_start")
            if not isinstance(context, str) or not isinstance(text, str) or not is_whole(start):
                continue
            if not text:
                expected = "an answer of at least one character"
                yield Issue("empty-text", expected, "''", f"{answer_path}.text")
            elif not context.startswith(text, max(start, 0)):
                found = shown(context[max(start, 0) :][: len(text)])
                yield Issue("text-differs", f"{shown(text)} at character {start}", found, answer_path)


def items(value: Any, within: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the objects of a list with their paths; anything else is passed over."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            if isinstance(item, dict):
                yield f"{within}[{index}]", item


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def is_whole(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _golden(value: Any, *, kind: str) -> Iterator[Issue]:
    """The rules of a golden set, of which a value may be one record or all of them."""
    for path, record in [("", value)] if isinstance(value, dict) else items(value, ""):
        for rule in GOLDEN_RULES[kind]:
            yield from (issue.located(within=path) for issue in rule(record))


def _query_counts(value: Any) -> Iterator[Issue]:
    """The queries that were answered and those that failed are together no more than all."""
    summary = _field(value, "summary")
    total, *parts = (_field(summary, f"{name}_queries") for name in ("total", "successful", "failed"))
    counted = [part for part in parts if is_whole(part)]
    if is_whole(total) and sum(counted) > total:
        expected = f"at least {sum(counted)}, as many as succeeded and failed"
        yield Issue("count-differs", expected, str(total), "summary.total_queries")


def _shares(value: Any) -> Iterator[Issue]:
    """A metric that is known to be a share is from 0 to 1, of the whole run and of each query."""
    for section in _METRIC_SECTIONS:
        yield from _share_issues(_field(value, section), section)
    for path, query in items(_field(value, "query_results"), "query_results"):
        yield from _share_issues(query.get("individual_metrics"), f"{path}.individual_metrics")


def _share_issues(metrics: Any, within: str) -> Iterator[Issue]:
    for name, metric in metrics.items() if isinstance(metrics, dict) else ():
        path = written_path((name,))
        place, figure = (f"{path}.value", metric.get("value")) if isinstance(metric, dict) else (path, metric)
        if _is_number(figure) and not -_FLOATING <= figure <= 1 + _FLOATING and _is_share(name):
            yield Issue("out-of-range", "a number from 0 to 1", str(figure), place).located(within=within)


def _is_share(metric: str) -> bool:
    try:
        return parse_metric(metric).metric.is_share
    except UsageError:
        return False  # somebody else's metric


RULES: Mapping[str, tuple[Rule, ...]] = {
    "evaluation-dataset": (
        partial(_unique_in, name="queries", field="query_id"),
        partial(_unique_in, name="documents", field="document_id"),
        partial(_citations_in, name="queries"),
    ),
    "annotation": (_annotation_spans, _overall_scores),
    "annotations": (_annotation_ids, _annotation_spans, _overall_scores),
    "results": (
        partial(_unique_in, name="query_results", field="query_id"),
        partial(_citations_in, name="query_results"),
        _intervals,
        _query_counts,
        _shares,
    ),
    **{
        kind: (partial(_unique_in, name="", field="id"), partial(_golden, kind=kind)) for kind in GOLDEN_RULES
    },
    **dict.fromkeys(("offline-record", "qa-pair", "summary", "retrieval-case"), (_aligned_sources,)),
    "langsmith-example": (_langsmith_spans,),
    "squad": (_squad_ids, _squad_answers),
}
"""The rules of each kind, beside its schema."""
