"""Agreement, a dataset in figures, generation and spending as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import msgspec

from rag_evaluation_framework.datasets.annotator_agreement import AgreementFigure, AgreementReport
from rag_evaluation_framework.datasets.overview import Coverage, Drawn, Lengths, Overview
from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.records.samples import Dataset, Recorded, Sample, Usage
from rag_evaluation_framework.reports import blocks
from rag_evaluation_framework.reports.messages.dataset_sentences import POOR_BY_RULES, flagged, turned_down
from rag_evaluation_framework.structs import asdict
from rag_evaluation_framework.synthesis.drafts import Drafts

if TYPE_CHECKING:
    from rag_evaluation_framework.judging.judge_card import JudgeCard
    from rag_evaluation_framework.synthesis.generated_datasets import Upload

# The agreement between annotators.

_LISTED = 10


def describe_agreement(report: AgreementReport) -> blocks.Blocks:
    """Add the figures, then the pairs and the queries that agree least."""
    annotators = f"{counted(len(report.annotators), 'annotator')} ({', '.join(report.annotators)})"
    queries = counted(report.n_queries, "query", "queries")
    yield blocks.prose(f"{annotators}, {queries}, {report.n_shared:,} annotated by at least 2")
    if not report.figures:
        yield blocks.prose("No query has 2 annotators, so there is no agreement to compute.")
        return
    yield blocks.GAP
    yield from _agreement_figures(report)
    for title, rows in _least_alike(report):
        yield blocks.GAP
        yield blocks.prose(title)
        yield blocks.table(rows[:_LISTED])
        if (more := len(rows) - _LISTED) > 0:
            yield blocks.prose(f"{more:,} more (--json has all)", indent=2)


def _agreement_figures(report: AgreementReport) -> blocks.Blocks:
    confidence = next((each.interval.confidence for each in report.figures if each.interval), 0.95)
    yield blocks.table(
        [
            ("what", each.what),
            (blocks.Column("measure", leaves=blocks.BY), each.measure),
            (blocks.right("agreement"), blocks.figure(each.value, each.interval)),
            (
                blocks.interval_header(confidence),
                blocks.interval_text(each.interval, each.value) if each.interval else blocks.NOTHING,
            ),
            (blocks.right("queries", leaves=blocks.COUNT), str(each.n_queries)),
            ("target", _target(each)),
        ]
        for each in report.figures
    )
    for method in dict.fromkeys(each.interval.method for each in report.figures if each.interval):
        yield blocks.aside(f"95% CI: {method}, over queries")
    if any(each.value is None for each in report.figures):
        defined = "so chance-corrected agreement is undefined"
        yield blocks.aside(f"–: all annotators always agree, {defined}")
    if any(each.value is not None and each.interval is None for each in report.figures):
        yield blocks.aside("no 95% CI: too few queries, or their values are too similar")


def _target(each: AgreementFigure) -> blocks.Piece:
    if each.target is None or each.value is None:
        return ""
    is_met = each.value >= each.target
    return blocks.Styled(
        f">= {each.target:g} {'met' if is_met else 'missed'}", blocks.GOOD if is_met else blocks.BAD
    )


def _least_alike(report: AgreementReport) -> Iterator[tuple[str, list[list[blocks.Cell]]]]:
    """Yield the pairs, the queries and the scores that agree least, each with its title."""
    column, count = partial(blocks.Column, flexible=True), partial(blocks.right, leaves=blocks.COUNT)
    if len(report.pairs) > 1:
        yield (
            "pairs, lowest agreement first",
            [
                [
                    (column("annotators"), " – ".join(pair.pair)),
                    (blocks.right("queries"), str(pair.n_queries)),
                    (blocks.right("Jaccard"), blocks.figure(pair.jaccard)),
                    (count("scores"), str(pair.n_scores)),
                    (blocks.right("mean difference"), blocks.figure(pair.score_difference)),
                ]
                for pair in report.pairs
            ],
        )
    if report.queries and report.queries[0].jaccard < 1.0:
        yield (
            "queries, lowest overlap of marked characters first",
            [
                [
                    (column("query"), query.query_id),
                    (count("annotators"), str(query.n_annotators)),
                    (blocks.right("Jaccard"), blocks.figure(query.jaccard)),
                    (column("largest gap"), " – ".join(query.furthest_pair)),
                    (blocks.right("Jaccard"), blocks.figure(query.furthest_jaccard)),
                ]
                for query in report.queries
                if query.jaccard < 1.0
            ],
        )
    if report.scores and report.scores[0].difference > 0.0:
        yield (
            "answers, largest difference of scores first",
            [
                [
                    (column("query"), row.query_id),
                    ("score", row.score),
                    (blocks.right("difference"), blocks.figure(row.difference)),
                    (column("lowest"), row.lowest),
                    (column("highest"), row.highest),
                ]
                for row in report.scores
                if row.difference > 0.0
            ],
        )


# A dataset in figures.

_SHOWN_VALUES = 12
_SHOWN_FILES = 5
_BAR_CELLS = 30


def describe_overview(overview: Overview) -> blocks.Blocks:
    """Add what there is, how long it is, and how it spreads; parts without data are left out."""
    yield from _head(overview)
    if overview.lengths:
        yield blocks.GAP
        yield from _lengths_table(overview)
    for kind in ("questions", "documents"):
        if kind in overview.lengths:
            yield from _histogram(f"{kind} by length", overview.lengths[kind])
            break
    for label, counts in overview.labels.items():
        yield from _counts_table(label, list(counts.items()), overview.samples or 0)
    if overview.coverage:
        yield blocks.GAP
        yield from _coverage(overview.coverage)


def _head(overview: Overview) -> blocks.Blocks:
    if overview.samples is None:
        files = sum(overview.files.values())
        kinds = ", ".join(f"{count:,} {suffix}" for suffix, count in overview.files.items())
        yield blocks.prose(overview.path)
        yield blocks.prose(f"{counted(files, 'document')} ({kinds})" if files else "no documents", hang=2)
        if overview.unreadable:
            named = ", ".join(overview.unreadable[:_SHOWN_FILES])
            more = ", …" if len(overview.unreadable) > _SHOWN_FILES else ""
            unread = counted(len(overview.unreadable), "file")
            yield blocks.prose(f"cannot read the text of {unread}: {named}{more}", hang=2)
        return
    known = [overview.dialect, overview.dataset_id, overview.version]
    having = ", ".join(f"{count:,} with {_words(what)}" for what, count in overview.having.items())
    yield blocks.prose(f"{overview.path} ({', '.join(name for name in known if name)})", hang=2)
    yield blocks.prose(counted(overview.samples, "sample") + (f": {having}" if having else ""), hang=2)


def _lengths_table(overview: Overview) -> blocks.Blocks:
    columns = ("count", "min", "median", "p95", "max", "total")
    yield blocks.table(
        [
            ("characters", _words(name)),
            *((blocks.right(column), f"{summary[column]:,}") for column in columns),
        ]
        for name, lengths in overview.lengths.items()
        if (summary := lengths.summary())
    )


def _histogram(title: str, lengths: Lengths) -> blocks.Blocks:
    bins = lengths.bins()
    largest = max(count for _, _, count in bins)
    yield blocks.GAP
    yield blocks.table(
        [
            (blocks.right(title), f"{start:,}–{end:,}" if end > start else f"{start:,}"),
            (blocks.right("count"), f"{count:,}"),
            (blocks.Column("", leaves=blocks.BAR), blocks.Bar(count / largest, _BAR_CELLS)),
        ]
        for start, end, count in bins
    )


def _counts_table(label: str, counts: Sequence[tuple[str, int]], samples: int) -> blocks.Blocks:
    largest = max(count for _, count in counts)
    yield blocks.GAP
    yield blocks.table(
        [
            (blocks.Column(label, flexible=True), value),
            (blocks.right("count"), f"{count:,}"),
            (blocks.right("share"), f"{100 * count / samples:.1f}%"),
            (blocks.Column("", leaves=blocks.BAR), blocks.Bar(count / largest, _BAR_CELLS)),
        ]
        for value, count in counts[:_SHOWN_VALUES]
    )
    more = len(counts) - _SHOWN_VALUES
    if more > 0:
        yield blocks.prose(f"{counted(more, 'more value')}", indent=2)


def _coverage(coverage: Coverage) -> blocks.Blocks:
    if coverage.documents is None:
        yield blocks.prose(f"{counted(coverage.relevant, 'document')} relevant to at least one query")
    else:
        covered = f"{coverage.covered or 0:,} of {counted(coverage.documents, 'document')}"
        yield blocks.prose(f"{covered} relevant to at least one query", hang=2)
        if coverage.missing:
            yield blocks.prose(f"{counted(coverage.missing, 'relevant document')} not in the file")
    if coverage.most_used:
        used = ", ".join(f"{document} ({count:,})" for document, count in coverage.most_used)
        yield blocks.prose(f"most used: {used}", hang=2)


def _words(name: str) -> str:
    return name.replace("_", " ")


# What asking a judge or a generator has cost, in one line.


def describe_judge_card(card: JudgeCard, path: str) -> blocks.Blocks:
    """Show what is wrong with a judge, and what was measured of it."""
    verdict = "; ".join(card.faults)
    yield blocks.prose(
        f"{card.judge} {verdict}" if verdict else f"{card.judge} passes: no fault was found", hang=2
    )
    yield blocks.GAP
    yield blocks.table(
        [
            ("figure", each.name),
            (blocks.right("value"), f"{each.value:.2f}"),
            (blocks.right(blocks.interval_header()), f"[{each.low:.2f}, {each.high:.2f}]"),
            (blocks.right("n"), f"{each.n:,}"),
            ("result", blocks.Styled("✗ fault", blocks.BAD) if each.fault else ""),
        ]
        for each in card.figures
    )
    yield blocks.GAP
    failed = ", ".join(f"{kind} {count:,}" for kind, count in card.failures.items())
    told = [counted(card.calls, "question"), f"{card.seconds_per_call:.2f} s each"]
    told += [] if card.cost_per_call is None else [f"{blocks.money(card.cost_per_call)} each"]
    told += [f"unusable replies: {failed}"] if failed else []
    yield blocks.prose(", ".join(told), hang=2)
    versions = ", ".join(f"{name} {version}" for name, version in card.prompts.items())
    yield blocks.prose(f"saved as {path} for the prompts {versions}", hang=2)


# The outcome of generating questions: how many, of which kinds, what was rejected and why, what it cost.


class GenerationSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A generated dataset with what is reported about it; ``written`` lists where it was written."""

    dataset: Dataset
    documents: int
    drafts: Drafts
    written: tuple[str, ...] = ()
    upload: Upload | None = None
    dataset_name: str | None = None
    usage: Usage | None = None
    run: str | None = None
    folder: str | None = None


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


def describe_generation(summary: GenerationSummary) -> blocks.Blocks:
    """Add how many questions there are, some to judge by eye, and what was rejected and why."""
    dataset = summary.dataset
    generator = dataset.metadata.get("generator", {})
    model = generator.get("model")
    questions = counted(len(dataset), f"{'LLM-generated' if model else 'rule-based'} question")
    level = str(dataset.metadata.get("level"))
    expected = {"token": "passage", "chunk": "chunk"}.get(level, "document")
    about = f"{questions} about {counted(summary.documents, 'document')}, each with its expected {expected}"
    yield blocks.prose(f"{about}; model {model}" if model else about, hang=2)
    if len(dataset) < (asked_for := _asked_for(summary)):
        yield blocks.prose(
            f"You asked for {counted(asked_for, 'question')}; rag-eval generated {len(dataset):,}.", indent=2
        )
    if len(dataset):
        yield blocks.GAP
        yield from _shown_questions(dataset, summary.written)
    if unanswerable := _unanswerable(dataset):
        yield blocks.prose(
            f"{counted(unanswerable, 'question has', 'questions have')} no answer in the documents", indent=2
        )
    yield blocks.GAP
    for label, told in (("rejected", turned_down(summary.drafts)), ("flagged", flagged(summary.drafts))):
        if told:
            yield blocks.Labelled(label, told, indent=2, hang=15, lines=12)
    if not model and len(dataset):
        yield blocks.aside(f"Rule-based questions: {POOR_BY_RULES}. Review these before use.")
    if (usage := summary.usage) is not None:
        cost = f", {blocks.money(usage.cost_usd)}" if usage.cost_usd is not None else ""
        yield blocks.prose(
            f"{counted(usage.input_tokens or 0, 'token')} in, {usage.output_tokens or 0:,} out{cost}",
            indent=2,
        )
    yield blocks.GAP
    if summary.written:
        yield blocks.prose("wrote " + ", ".join(summary.written), hang=2)
    if summary.written and len(dataset) and summary.folder is not None and summary.upload is None:
        step = f"rag-eval retrieval {summary.folder} --dataset {quote(summary.written[0])}"
        yield blocks.Steps([(step, "compare chunkers on these questions")])
    if summary.dataset_name is not None:
        yield blocks.prose(f"dataset name for evaluations: {summary.dataset_name}", hang=2)
    if (upload := summary.upload) is not None:
        sent = f"{upload.added:,} added, {upload.updated:,} updated, {upload.unchanged:,} unchanged"
        others = f"; {counted(upload.others, 'other')} in the remote dataset" if upload.others else ""
        yield blocks.prose(f"LangSmith: {sent}{others}", hang=2)


_EXAMPLES = 3


def _shown_questions(dataset: Dataset, written: Sequence[str]) -> blocks.Blocks:
    """Add some questions from all over the dataset, each with its answer and where that stands."""
    samples = [sample for sample in dataset.samples if sample.expectation is None] or list(dataset.samples)
    step = max(len(samples) // _EXAMPLES, 1)
    for sample in samples[: step * _EXAMPLES : step]:
        span = next(iter(sample.relevant_spans), None)
        where = "" if span is None else f"{span.file} {span.start}–{span.end}"
        yield blocks.Example(sample.question, where, sample.reference)
    if written:
        yield blocks.prose(f"others: rag-eval sample {written[0]} -n 5", indent=2)


# Of one question, and of several; other reasons are said as they are.


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


def describe_samples(found: Drawn, path: Path, *, seed: int, full: bool) -> blocks.Blocks:
    """Add each sample drawn: where it is, what is asked, what is expected, what it rests on."""
    yield blocks.prose(
        f"{len(found.samples):,} of {counted(found.total, 'sample')} of {path}, selected with seed {seed}",
        hang=2,
    )
    lines = 1_000_000 if full else 2
    for row in drawn_rows(found):
        place = path if row["line"] is None else f"{path}:{row['line']}"
        yield blocks.GAP
        yield blocks.prose(f"{place}  ", blocks.Styled(row["id"], blocks.DIM), hang=2)
        for name in ("question", "reference", "answer", "category"):
            if row[name]:
                yield blocks.Labelled(name, row[name], lines=1_000_000)
        sources = row["sources"] or [""] * len(row["contexts"])
        for number, (text, source) in enumerate(zip(row["contexts"], sources, strict=True), start=1):
            yield blocks.Labelled(f"context {number}", f"{source}: {text}" if source else text, lines=lines)
        for text in row["reference_contexts"]:
            yield blocks.Labelled("expected text", text, lines=lines)
        if row["relevant"]:
            yield blocks.Labelled("relevant", ", ".join(row["relevant"]))
