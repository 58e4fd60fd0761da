"""The agreement between annotators as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rag_evaluation_framework.datasets.annotator_agreement import AgreementFigure, AgreementReport
from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.reports.tables import text_table
from rag_evaluation_framework.statistics.intervals import Interval

_LISTED = 10


def agreement_text(report: AgreementReport, *, listed: int = _LISTED) -> str:
    """Render the figures, then the pairs and the queries that agree least."""
    return "\n\n".join(_parts(report, listed))


def _parts(report: AgreementReport, listed: int) -> Iterator[str]:
    annotators = f"{counted(len(report.annotators), 'annotator')} ({', '.join(report.annotators)})"
    queries = counted(report.n_queries, "query", "queries")
    yield f"{annotators}, {queries}, {report.n_shared:,} of them annotated by two or more"
    if not report.figures:
        yield "no query has two annotators: nothing to compare"
        return
    yield _figures(report)
    if len(report.pairs) > 1:
        yield "pairs that agree least first\n\n" + _pairs(report, listed)
    if report.queries and report.queries[0].jaccard < 1.0:
        yield "queries whose marked characters agree least first\n\n" + _queries(report, listed)
    if report.scores and report.scores[0].difference > 0.0:
        yield "answers whose scores differ most first\n\n" + _scores(report, listed)


def _figures(report: AgreementReport) -> str:
    confidence = next((figure.interval.confidence for figure in report.figures if figure.interval), 0.95)
    rows = [
        [
            figure.what,
            figure.measure,
            _number(figure.value),
            _interval(figure.interval),
            str(figure.n_queries),
            _target(figure),
        ]
        for figure in report.figures
    ]
    headers = ["what", "measure", "agreement", f"{confidence:.0%} interval", "queries", "target"]
    methods = dict.fromkeys(figure.interval.method for figure in report.figures if figure.interval)
    notes = [f"intervals: {method}, over queries" for method in methods]
    if any(figure.value is None for figure in report.figures):
        notes.append("–: everybody always says the same, so agreement beyond chance is not defined")
    if any(figure.value is not None and figure.interval is None for figure in report.figures):
        notes.append(
            "no interval: too few queries, or all resamples alike, which do not tell how far off it is"
        )
    return "\n".join([text_table(headers, rows, align="<<>>><"), *([""] if notes else []), *notes])


def _target(figure: AgreementFigure) -> str:
    if figure.target is None or figure.value is None:
        return ""
    return f"≥ {figure.target:g} {'met' if figure.value >= figure.target else 'missed'}"


def _pairs(report: AgreementReport, listed: int) -> str:
    rows = [
        [
            " – ".join(pair.pair),
            str(pair.n_queries),
            _number(pair.jaccard),
            str(pair.n_scores),
            _number(pair.score_difference),
        ]
        for pair in report.pairs[:listed]
    ]
    headers = ["annotators", "queries", "Jaccard", "scores", "mean difference"]
    return text_table(headers, rows, align="<>>>>") + _more(len(report.pairs) - listed)


def _queries(report: AgreementReport, listed: int) -> str:
    differing = [query for query in report.queries if query.jaccard < 1.0]
    rows = [
        [
            query.query_id,
            str(query.n_annotators),
            _number(query.jaccard),
            " – ".join(query.furthest_pair),
            _number(query.furthest_jaccard),
        ]
        for query in differing[:listed]
    ]
    headers = ["query", "annotators", "Jaccard", "furthest apart", "Jaccard"]
    return text_table(headers, rows, align="<>><>") + _more(len(differing) - listed)


def _scores(report: AgreementReport, listed: int) -> str:
    differing = [row for row in report.scores if row.difference > 0.0]
    rows = [
        [row.query_id, row.score, _number(row.difference), row.lowest, row.highest]
        for row in differing[:listed]
    ]
    headers = ["query", "score", "difference", "lowest", "highest"]
    return text_table(headers, rows, align="<<><<") + _more(len(differing) - listed)


def _more(number: int) -> str:
    return f"\n… and {number} more (--json has all)" if number > 0 else ""


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def _interval(interval: Interval | None) -> str:
    return "–" if interval is None else f"[{interval.low:.4f}, {interval.high:.4f}]"
