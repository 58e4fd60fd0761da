"""Agreement, a dataset in figures, generation and spending as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_evaluation_framework.datasets.annotator_agreement import AgreementFigure, AgreementReport
from rag_evaluation_framework.datasets.overview import Coverage, Drawn, Lengths, Overview
from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.models.spending import Spending
from rag_evaluation_framework.records.responses import Usage
from rag_evaluation_framework.records.samples import Dataset, Recorded, Sample
from rag_evaluation_framework.reports.tables import figure as figure_text
from rag_evaluation_framework.reports.tables import interval_text, one_line, text_table
from rag_evaluation_framework.synthesis.drafts import REASONS, Drafts

if TYPE_CHECKING:
    from rag_evaluation_framework.synthesis.generated_datasets import Upload

# The agreement between annotators as text for a terminal.

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
            figure_text(figure.value),
            interval_text(figure.interval),
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
            figure_text(pair.jaccard),
            str(pair.n_scores),
            figure_text(pair.score_difference),
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
            figure_text(query.jaccard),
            " – ".join(query.furthest_pair),
            figure_text(query.furthest_jaccard),
        ]
        for query in differing[:listed]
    ]
    headers = ["query", "annotators", "Jaccard", "furthest apart", "Jaccard"]
    return text_table(headers, rows, align="<>><>") + _more(len(differing) - listed)


def _scores(report: AgreementReport, listed: int) -> str:
    differing = [row for row in report.scores if row.difference > 0.0]
    rows = [
        [row.query_id, row.score, figure_text(row.difference), row.lowest, row.highest]
        for row in differing[:listed]
    ]
    headers = ["query", "score", "difference", "lowest", "highest"]
    return text_table(headers, rows, align="<<><<") + _more(len(differing) - listed)


def _more(number: int) -> str:
    return f"\n… and {number} more (--json has all)" if number > 0 else ""


# A dataset in figures, as text for a terminal.

BAR_WIDTH = 30
_SHOWN_VALUES = 12
_SHOWN_FILES = 5


def overview_text(overview: Overview) -> str:
    """Return what there is, how long it is, and how it spreads; parts without data are left out."""
    return "\n\n".join(part for part in _overview_parts(overview) if part)


def bar(count: int, largest: int) -> str:
    """Draw a count as a bar, in eighths of a character; anything but 0 is visible."""
    eighths = max(round(count / largest * BAR_WIDTH * 8), 1) if count else 0
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


def _overview_parts(overview: Overview) -> Iterator[str]:
    yield _head(overview)
    if overview.lengths:
        yield _lengths_table(overview)
    if "questions" in overview.lengths:
        yield _histogram("questions by length", overview.lengths["questions"])
    elif "documents" in overview.lengths:
        yield _histogram("documents by length", overview.lengths["documents"])
    for label, counts in overview.labels.items():
        yield _counts_table(label, list(counts.items()), overview.samples or 0)
    if overview.coverage:
        yield _coverage(overview.coverage)


def _head(overview: Overview) -> str:
    if overview.samples is None:
        files = sum(overview.files.values())
        kinds = ", ".join(f"{count:,} {suffix}" for suffix, count in overview.files.items())
        lines = [overview.path, f"{counted(files, 'document')} ({kinds})" if files else "no documents"]
        if overview.unreadable:
            named = ", ".join(overview.unreadable[:_SHOWN_FILES])
            more = ", …" if len(overview.unreadable) > _SHOWN_FILES else ""
            lines.append(f"{counted(len(overview.unreadable), 'file')} not UTF-8 text: {named}{more}")
        return "\n".join(lines)
    known = [overview.dialect, overview.dataset_id, overview.version]
    having = ", ".join(f"{count:,} with {_words(what)}" for what, count in overview.having.items())
    lines = [f"{overview.path} ({', '.join(name for name in known if name)})"]
    lines.append(counted(overview.samples, "sample") + (f": {having}" if having else ""))
    return "\n".join(lines)


def _lengths_table(overview: Overview) -> str:
    columns = ("count", "min", "median", "p95", "max", "total")
    rows = [
        (_words(name), *(f"{summary[column]:,}" for column in columns))
        for name, lengths in overview.lengths.items()
        if (summary := lengths.summary())
    ]
    return text_table(("characters", *columns), rows, align="<>>>>>>")


def _histogram(title: str, lengths: Lengths) -> str:
    bins = lengths.bins()
    largest = max(count for _, _, count in bins)
    rows = [
        (f"{start:,}–{end:,}" if end > start else f"{start:,}", f"{count:,}", bar(count, largest))
        for start, end, count in bins
    ]
    return text_table((title, "count", ""), rows, align=">><")


def _counts_table(label: str, counts: Sequence[tuple[str, int]], samples: int) -> str:
    largest = max(count for _, count in counts)
    rows = [
        (value, f"{count:,}", f"{count / samples:.1%}", bar(count, largest))
        for value, count in counts[:_SHOWN_VALUES]
    ]
    table = text_table((label, "count", "share", ""), rows, align="<>><")
    more = len(counts) - _SHOWN_VALUES
    return f"{table}\n… and {counted(more, 'more value')}" if more > 0 else table


def _coverage(coverage: Coverage) -> str:
    if coverage.documents is None:
        lines = [f"{counted(coverage.relevant, 'document')} relevant to at least one query"]
    else:
        share = (coverage.covered or 0) / coverage.documents
        lines = [
            f"{coverage.covered:,} of {counted(coverage.documents, 'document')} ({share:.1%}) "
            "relevant to at least one query"
        ]
        if coverage.missing:
            lines.append(f"{counted(coverage.missing, 'relevant document')} not in the file")
    if coverage.most_used:
        used = ", ".join(f"{document} ({count:,})" for document, count in coverage.most_used)
        lines.append(f"most used: {used}")
    return "\n".join(lines)


def _words(name: str) -> str:
    return name.replace("_", " ")


# What asking a judge or a generator has cost, in one line.


def spending_text(name: str, spending: Spending, *, failed_votes: Mapping[str, int] | None = None) -> str:
    """Say how many calls were paid for, what is known of their tokens and dollars, and whose votes failed."""
    usage = spending.usage
    parts = [f"{name}: {counted(spending.calls, 'call')}"]
    if usage is not None and usage.input_tokens is not None and usage.output_tokens is not None:
        parts.append(f"{counted(usage.input_tokens, 'token')} in, {usage.output_tokens:,} out")
    if usage is not None and usage.cost_usd is not None:
        parts.append(f"${usage.cost_usd:.4f}")
    for model, count in (failed_votes or {}).items():
        parts.append(f"{counted(count, 'vote')} of {model} failed")
    return ", ".join(parts)


# The outcome of generating questions: how many, of which kinds, what was rejected and why, what it
# cost.

_DETAIL_CHARACTERS = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationSummary:
    """A generated dataset with what is reported about it; ``written`` lists where it was written."""

    dataset: Dataset
    documents: int
    drafts: Drafts
    written: tuple[str, ...] = ()
    upload: Upload | None = None
    dataset_name: str | None = None
    usage: Usage | None = None
    run: str | None = None


def generation_text(summary: GenerationSummary) -> str:
    """Show a summary to people."""
    return "\n".join(_lines(summary))


def generation_document(summary: GenerationSummary) -> dict[str, Any]:
    """Show a summary to machines."""
    usage = summary.usage
    return {
        "queries": len(summary.dataset),
        "asked_for": _asked_for(summary),
        "documents": summary.documents,
        "level": summary.dataset.metadata.get("level"),
        "generator": summary.dataset.metadata.get("generator"),
        "by_kind": _labels(summary.dataset, "query_type"),
        "by_difficulty": _labels(summary.dataset, "difficulty"),
        "unanswerable": _unanswerable(summary.dataset),
        "rejected": dict(summary.drafts.counts()),
        "flagged": dict(summary.drafts.flagged()),
        "usage": None if usage is None else asdict(usage),
        "run": summary.run,
        "written": list(summary.written),
        "dataset_name": summary.dataset_name,
        "upload": None if summary.upload is None else asdict(summary.upload),
    }


def in_words(reason: str, drafts: Drafts) -> str:
    """Say what a reason means; where the model could not be used, what it said first."""
    if not reason.startswith("model-"):
        return REASONS.get(reason, "")
    detail = next(each.detail for each in drafts.rejected if each.reason == reason)
    return one_line(detail, _DETAIL_CHARACTERS)


def _lines(summary: GenerationSummary) -> Iterator[str]:
    dataset = summary.dataset
    generator = dataset.metadata.get("generator", {})
    made_by = generator.get("model") or f"{generator.get('name')}, no model"
    about = f"{counted(len(dataset), 'question')} about {counted(summary.documents, 'document')}"
    yield f"{about}, {dataset.metadata.get('level')} level ({made_by})"
    if len(dataset) < (asked_for := _asked_for(summary)):
        yield f"  {asked_for:,} were asked for: {asked_for - len(dataset):,} fewer, for the reasons below"
    for name in ("query_type", "difficulty"):
        labels = _labels(dataset, name)
        if labels:
            yield "  " + ", ".join(f"{label} {count:,}" for label, count in labels.items())
    if unanswerable := _unanswerable(dataset):
        yield f"  {unanswerable:,} without an answer in the documents"
    if counts := summary.drafts.counts():
        rows = [(f"{count:,}", reason, in_words(reason, summary.drafts)) for reason, count in counts.items()]
        yield "\n" + text_table(("rejected", "reason", ""), rows, align="><<")
    if flags := summary.drafts.flagged():
        rows = [(f"{count:,}", flag, REASONS.get(flag, "")) for flag, count in flags.items()]
        yield "\n" + text_table(("flagged", "kept all the same", ""), rows, align="><<")
    if (usage := summary.usage) is not None:
        cost = f", ${usage.cost_usd:.4f}" if usage.cost_usd is not None else ""
        yield f"\n{counted(usage.input_tokens or 0, 'token')} in, {usage.output_tokens or 0:,} out{cost}"
    if summary.written:
        yield "\nwrote " + ", ".join(summary.written)
    if summary.dataset_name is not None:
        yield f"evaluations find it by the name {summary.dataset_name}"
    if (upload := summary.upload) is not None:
        sent = f"{upload.added:,} added, {upload.updated:,} updated, {upload.unchanged:,} unchanged"
        others = f"; {upload.others:,} there that are not of this dataset" if upload.others else ""
        yield f"LangSmith: {sent}{others}"


def _asked_for(summary: GenerationSummary) -> int:
    """Return how many questions the settings ask for in all."""
    asked = summary.dataset.metadata.get("generator", {})
    per_document = asked.get("queries_per_doc", 0) + asked.get("unanswerable_per_doc", 0)
    return int(per_document * summary.documents + asked.get("queries_across_docs", 0))


def _labels(dataset: Dataset, name: str) -> dict[str, int]:
    counts = Counter(getattr(sample, name) for sample in dataset.samples)
    return {label: count for label, count in counts.most_common() if label is not None}


def _unanswerable(dataset: Dataset) -> int:
    return sum(sample.expectation is not None for sample in dataset.samples)


# Records drawn from a dataset, to be read side by side with what they refer to.

_BEGINNING = 160


def drawn_rows(found: Drawn) -> list[dict[str, Any]]:
    """Return the samples drawn as plain values."""
    return [_drawn_row(sample) for sample in found.samples]


def _drawn_row(sample: Sample) -> dict[str, Any]:
    recorded = sample.recorded or Recorded()
    return {
        "id": sample.id,
        "line": sample.origin.line if sample.origin else None,
        "question": "\n".join(turn.content for turn in sample.turns if turn.role == "user" and turn.content),
        "reference": sample.reference,
        "answer": recorded.answer,
        "contexts": list(recorded.contexts),
        "sources": list(recorded.sources),
        "reference_contexts": list(sample.reference_contexts),
        "relevant": [
            *(f"{name} ({grade:g})" for name, grade in sample.relevant_documents.items()),
            *(f"{span.file} {span.start}-{span.end}" for span in sample.relevant_spans),
            *sample.relevant_chunk_ids,
        ],
        "category": sample.category,
    }


def drawn_text(found: Drawn, path: Path, *, seed: int, full: bool) -> str:
    """Render each sample drawn: where it is, what is asked, what is expected, what it rests on."""
    parts = [f"{len(found.samples):,} of {counted(found.total, 'record')} of {path}, drawn with seed {seed}"]
    for row in drawn_rows(found):
        place = path if row["line"] is None else f"{path}:{row['line']}"
        lines = [f"{place}  {row['id']}"]
        lines += [
            f"  {name:<10} {row[name]}".replace("\n", "\n" + " " * 13)
            for name in ("question", "reference", "answer", "category")
            if row[name]
        ]
        sources = row["sources"] or [""] * len(row["contexts"])
        for number, (text, source) in enumerate(zip(row["contexts"], sources, strict=True), start=1):
            lines.append(f"  context {number:<2} {source}".rstrip())
            lines.append(
                " " * 13 + (text.replace("\n", "\n" + " " * 13) if full else one_line(text, _BEGINNING))
            )
        lines += [f"  true text  {one_line(text, _BEGINNING)}" for text in row["reference_contexts"]]
        lines += [f"  relevant   {', '.join(row['relevant'])}"] if row["relevant"] else []
        parts.append("\n".join(lines))
    return "\n\n".join(parts)
