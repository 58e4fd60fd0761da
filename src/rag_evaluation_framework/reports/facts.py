"""The facts that every report shows: answers as cases, figures as rows, and which of them a verdict is about.

Terminal, Markdown, annotations, JUnit, notebook and page say of an answer or a figure what stands here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from textwrap import shorten
from typing import Any
from weakref import WeakKeyDictionary

import msgspec
from msgspec.structs import replace

from rag_evaluation_framework.datasets.golden_contexts import spans_of_contexts
from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.judging.verdict import AnswerCounts, AnswerVerdict, Flag, original_sample_id
from rag_evaluation_framework.metrics.declaration import PASS_RATE, without_parameters
from rag_evaluation_framework.records.citations import SpanCitation
from rag_evaluation_framework.records.documents import CharacterSpan, Document
from rag_evaluation_framework.records.responses import Hit
from rag_evaluation_framework.records.scores import PROBABILITY_UNSUPPORTED, Blame, Score
from rag_evaluation_framework.records.steps import median_uses
from rag_evaluation_framework.reports import blocks
from rag_evaluation_framework.reports.messages.verdict_sentences import name_kind
from rag_evaluation_framework.results.comparison import Comparison, MetricComparison
from rag_evaluation_framework.results.evaluations import Evaluation, Row
from rag_evaluation_framework.results.run_data import NO_DOCUMENTS, KeptDocuments
from rag_evaluation_framework.results.run_evaluations import KEPT, rows_at, worst_rows
from rag_evaluation_framework.results.summaries import Figure
from rag_evaluation_framework.results.verdicts import Check, GatedMetric, Regressions, Threshold, Verdict

FLAGS: Mapping[Flag, str] = {
    "unsupported_text": "may contain unsupported text",
    "wrong_citation": "wrong citation",
}
"""Phrase for each flag of an answer."""
DECIDERS = {
    "check": "check",
    "metric": "metric",
    "judge": "LLM judge",
    "local_model": "local model",
    "words": "word overlap",
}
TO_DECLINE = "(refusal)"
_LONGEST_NAME = 24
_QUOTED = 46
_STEPS = 20
_MOST_WORSE = 30


def verdict_of(evaluation: Evaluation) -> Verdict:
    """Return the verdict; of an evaluation without one, that of a gate that is off."""
    if evaluation.verdict is not None:
        return evaluation.verdict
    stopped = None if evaluation.outcome.completed else "incomplete"
    return Verdict(enabled=False, stopped=stopped)  # type: ignore[arg-type]  # one of the words it may be


# What an answer is called, and what is told of it.


def sample_name(row: Row, *, by_line: bool = True) -> str:
    """Return what a sample is called: the line of its file, counted from 1, or its id."""
    return row.sample.name if row.sample is not None and by_line else row.id


class Case(msgspec.Struct, frozen=True):
    """An answer, or that of a turn, as every report lists it: what was asked, expected and given, and why.

    ``turn`` is the place in a conversation, from 1, and ``None`` for a single question. An answer that got
    worse ``is_worse`` and stands beside the one ``before``.
    """

    name: str
    row: Row
    question: str
    answer: str | None
    expected: str | None = None
    turn: int | None = None
    blame: Blame | None = None
    verdict: AnswerVerdict | None = None
    is_worse: bool = False
    before: str | None = None
    file: str = ""

    @property
    def question_label(self) -> str:
        """The question, with the turn it was asked in."""
        return self.question if self.turn is None else f"turn {self.turn}: {self.question}"

    @property
    def texts(self) -> dict[str, str | None]:
        """Text that the answer is compared with, and the answer, by their labels."""
        if self.is_worse:
            return {"before": self.before, "now": self.answer}
        return {"expected": self.expected, "got": self.answer}

    @property
    def marks(self) -> list[tuple[int, int]]:
        """The characters of the answer that nothing retrieved supports."""
        is_whole = self.turn is None and self.answer == self.row.response.text
        return unsupported_words(self.row) if is_whole else []

    @property
    def differs(self) -> str:
        """Changes that the answer makes to the sentences that it copies."""
        return changes_of_answer(self.row) if self.turn is None else ""

    @property
    def why(self) -> str | None:
        return None if self.is_worse else why(self.row, self.blame, verdict=self.verdict)

    @property
    def sentence(self) -> str:
        """The expected text, the answer, and why it is not correct, in one line."""
        turn = "" if self.turn is None else f"{blocks.one_line(self.question_label)}: "
        texts = ", ".join(f"{label} {text}" for label, text in self.texts.items() if text is not None)
        return turn + (f"{texts} ({self.why})" if texts and self.why else texts or self.why or "")

    @property
    def kind(self) -> str:
        return "got worse" if self.is_worse else kind_of(self.row)

    @property
    def line(self) -> int | None:
        sample = self.row.sample
        return None if sample is None or sample.origin is None else sample.origin.line


def cases_of(row: Row, name: str = "", *, file: str = "") -> list[Case]:
    """Return what to show of a sample: of a conversation the turns that are not correct."""
    whole, turns = Case(name, row, row.question, row.response.text, file=file), row.turns
    if not turns:
        expected = TO_DECLINE if row.expects_refusal else row.expected
        return [replace(whole, expected=expected, blame=row.blame, verdict=row.verdict)]
    listed_ones = [turn for turn in turns if turn.verdict is not None and turn.verdict.is_listed]
    open_ones = [turn for turn in turns if turn.verdict is not None and turn.verdict.deserves_attention]
    return [
        replace(
            whole,
            turn=turn.number,
            question=turn.question,
            expected=TO_DECLINE if turn.expects_refusal else turn.expected,
            answer=turn.answer,
            blame=turn.blame,
            verdict=turn.verdict,
        )
        for turn in listed_ones or open_ones or turns
    ]


def worse_cases(evaluation: Evaluation, limit: int | None = None) -> list[Case]:
    """Return the answers that got worse since the baseline, up to ``limit`` of them."""
    moved = evaluation.regressions
    if moved is None:
        return []
    wanted = dict.fromkeys(moved.worse[:limit])
    found: dict[tuple[str, str], Case] = {}
    for name, part in evaluation.named_runs.items():
        ids = {sample_id for dataset, sample_id in wanted if dataset == part.name}
        for row in part.rows if ids else ():
            asked = part.name, original_sample_id(row.id) if part.head.repeats > 1 else row.id
            # Of several answers one that does not pass is shown.
            if asked[1] in ids and (asked not in found or row.has_failed):
                called = sample_name(row, by_line=part.kind != "golden")
                called = f"{name}, {called}" if len(evaluation.parts) > 1 else called
                given = row.response.text if row.response.failure is None else row.error
                before, file = moved.answers.get(asked), dataset_file(part)
                found[asked] = Case(called, row, row.question, given, is_worse=True, before=before, file=file)
    return [found[each] for each in wanted if each in found]


def dataset_file(run: Evaluation) -> str:
    """Return the file that the samples of a run are from, as far as it is known."""
    return str(run.head.configuration.get("dataset_path") or "")


def cases_sentence(cases: Iterable[Case]) -> str:
    """Say in one line what was expected, what was answered, and why it is not correct."""
    return "; ".join(each.sentence for each in cases)


# Why an answer is not correct.


def why(row: Row, blame: Blame | None = None, *, verdict: AnswerVerdict | None = None) -> str | None:
    """Say why an answer, or that of a turn, is not correct or is flagged; ``None`` for any other."""
    verdict, blame = verdict or row.verdict, blame or row.blame
    if verdict is None or not verdict.deserves_attention:
        return None if row.response.failure is None else f"no answer: {row.error}"
    if fault := _fault_of(row, verdict, blame):
        return fault if verdict.is_wrong else f"{verdict.name}, {fault}"
    if verdict.is_correct:
        return f"{verdict.name}, but {', '.join(FLAGS[flag] for flag in verdict.flags)}"
    return verdict_sentence(row, verdict)


def _fault_of(
    row: Row, verdict: AnswerVerdict | None, blame: Blame | None, *, is_listed: bool = False
) -> str | None:
    """Return the cause that blame found for a failure; ``None`` if it adds nothing to the verdict.

    ``is_listed``: what was retrieved stands beside it, so that it need not be named.
    """
    if verdict is None or blame is None or verdict.is_unanswered:
        return None
    if blame.kind not in (verdict.cause, *verdict.flags):
        return None
    fault = _fault(row, blame, is_listed=is_listed)
    return None if fault == name_kind(blame.kind) else fault


def verdict_sentence(row: Row, verdict: AnswerVerdict, *, by: str | None = None) -> str:
    """Return a verdict in words: the state, why, by whom it was decided, and what was flagged."""
    reason = (row.response.failure is not None and verdict.is_unanswered and row.error) or verdict.why
    told = f"{verdict.name}: {reason}" + (f" ({by})" if by else "")
    stale = ["its label belongs to an earlier reference: confirm it"] if verdict.to_confirm else []
    return "; ".join([told, *(FLAGS[flag] for flag in verdict.flags), *stale])


def changes_of_answer(row: Row) -> str:
    """Return the changes that unsupported claims of an answer make to the sentences that they copy."""
    text, claims = row.response.text or "", answer_claims(row)
    changes = [each for claim in claims if claim["label"] != "supported" for each in changes_of(claim, text)]
    return ", ".join(dict.fromkeys(changes))


def changes_of(claim: Mapping[str, Any], text: str) -> Iterator[str]:
    """Yield what a claim of a text changes in the sentence that it copies: *"Westport" → "Eastham"*."""
    for edit in claim.get("edits") or ():
        said, instead = (
            blocks.one_line(each, _QUOTED) for each in (text[edit["start"] : edit["end"]], edit["instead_of"])
        )
        if said and instead:
            yield f'"{said}" → "{instead}"'
        else:
            yield f'adds "{said}"' if said else f'lacks "{instead}"'


def _fault(row: Row, blame: Blame, *, is_listed: bool) -> str:
    came, needed = retrieved_names(row), needed_names(row)
    word = name_kind(blame.kind)
    if blame.kind == "retrieval_missed":
        return f"{word}: {_not_retrieved(row, blame, came, needed, is_listed=is_listed)}"
    if blame.kind == "cut_passage":
        found = [name for name in needed if name in came]
        return f"{word}: retrieved {blocks.listed(found[:2])}, but not the whole passage" if found else word
    if blame.kind == "not_used":
        return f"{word}: {has}" if (has := _has_answer(row, blame)) else word
    return f"{word}: {blocks.one_line(blame.evidence[0].claim)}" if blame.evidence else word


def _not_retrieved(
    row: Row, blame: Blame, came: Sequence[str], needed: Sequence[str], *, is_listed: bool
) -> str:
    missing = [name for name in needed if name not in came]
    if missing and (is_listed or not came):
        return f"{blocks.listed(missing[:3])} {'was' if len(missing) == 1 else 'were'} not retrieved"
    if missing:
        others = f" and {counted(len(came) - 2, 'other')}" if len(came) > 2 else ""
        first = f"{', '.join(came[:2])}{others}" if others else blocks.listed(came)
        return f"retrieved {first}; expected {blocks.listed(missing[:3])}"
    if needed:
        spans = () if row.sample is None else row.sample.relevant_spans
        if met := sum(any(_meet(span, hit) for hit in row.response.hits) for span in spans):
            return f"retrieved {met:,} of {counted(len(spans), 'expected passage')}"
        return f"retrieved {blocks.listed(list(needed[:2]))}, but not the expected passage"
    if row.response.retrieved_nothing:
        return "nothing was retrieved"
    if came:
        return f"the expected answer is not in {blocks.listed(came[:3])}"
    return blame.why.rpartition("; ")[2]


def _has_answer(row: Row, blame: Blame) -> str | None:
    """Return a phrase on the documents with the expected answer, else on the retrieved expected ones."""
    hits, texts = row.response.hits, row.response.contexts
    passages = [each.passage for each in blame.evidence if each.passage]
    named = [
        (document_of(hit), hit.text or (texts[place] if len(texts) == len(hits) else ""))
        for place, hit in enumerate(hits)
    ]
    if seen := list(dict.fromkeys(name for name, text in named for each in passages if each in text)):
        return f"{blocks.listed(seen[:2])} {'contains' if len(seen) == 1 else 'contain'} the expected answer"
    came = retrieved_names(row)
    found = [name for name in needed_names(row) if name in came]
    if found and not passages:
        return f"retrieved {blocks.listed(found[:2])}"
    return f'a retrieved passage contains the expected answer: "{_quote(passages[0])}"' if passages else None


def _meet(needed: SpanCitation, hit: Hit) -> bool:
    read = hit.span
    return read is not None and needed.file == read.doc_id and read.meets(needed)


def _quote(passage: str) -> str:
    text = blocks.one_line(passage, 1000)
    return (
        shorten(text, _QUOTED, placeholder=" …") if " " in text[:_QUOTED] else blocks.one_line(text, _QUOTED)
    )


def retrieved_names(row: Row) -> list[str]:
    """Return the documents that came, in order, each once."""
    return list(dict.fromkeys(map(document_of, row.response.hits)))


def document_of(hit: Hit) -> str:
    """Return the document of a hit: that of its characters, else its own id."""
    return blocks.one_line(hit.id if hit.span is None else hit.span.doc_id)


def needed_names(row: Row) -> list[str]:
    """Return the documents that the answer needs, each once."""
    if row.sample is None:
        return []
    names = (*row.sample.relevant_documents, *(span.file for span in row.sample.relevant_spans))
    return list(dict.fromkeys(map(blocks.one_line, names)))


def rows_of_runs(evaluation: Evaluation) -> Iterator[tuple[str, Row]]:
    """Yield the rows of all runs by their part; of golden sets with what was needed and came as places."""
    for name, part in evaluation.named_runs.items():
        yield from ((name, row) for row in _with_places(evaluation, part, part.rows))


def rows_in_order(evaluation: Evaluation, order: Callable[[Row], Any]) -> Iterator[tuple[str, Row]]:
    """Yield the same rows in an order; of runs on the disk some are in memory at a time."""
    runs = evaluation.named_runs
    places = [(order(row), name, row.index) for name, part in runs.items() for row in part.rows]
    places.sort(key=itemgetter(0))
    size = max(_AT_ONCE, len(places) // 10)
    for first in range(0, len(places), size):
        found: dict[tuple[str, int], Row] = {}
        for name, part in runs.items():
            wanted = sorted(index for _, other, index in places[first : first + size] if other == name)
            rows = _with_places(evaluation, part, rows_at(part, wanted))
            found |= {(name, row.index): row for row in rows}
        yield from ((name, found[name, index]) for _, name, index in places[first : first + size])


_AT_ONCE = 500
"""The number of rows that are read at a time at least."""


def _with_places(evaluation: Evaluation, part: Evaluation, rows: Iterable[Row]) -> Iterable[Row]:
    """Return the rows of a part; those of golden sets with the places of what was needed and what came."""
    kept = evaluation.documents.documents if part.kind == "golden" else ()
    return _placed_rows(list(rows), kept) if kept else rows


def _placed_rows(rows: Sequence[Row], kept: Sequence[Document]) -> Iterator[Row]:
    needed = spans_of_contexts([row.sample for row in rows if row.sample is not None], kept=kept)
    for row in rows:
        if row.sample is not None and not row.sample.relevant_spans:
            row = replace(row, sample=replace(row.sample, relevant_spans=tuple(needed[row.sample.id])))
        texts = row.response.contexts
        hits = () if row.response.hits else tuple(_placed(text, kept, n) for n, text in enumerate(texts, 1))
        if any(hit.span is not None for hit in hits):
            row = replace(row, result=replace(row.result, response=replace(row.response, hits=hits)))
        yield row


def _placed(text: str, documents: Sequence[Document], number: int) -> Hit:
    """Return a context that came without a name as a place in the document in which it stands."""
    for document in documents if text.strip() else ():
        start = document.content.find(text)
        if start >= 0:
            span = CharacterSpan(document.id, start, start + len(text))
            return Hit(id=document.id, text=text, span=span)
    return Hit(id=f"text {number}", text=text)


OF_ANSWERS = ("faithfulness", "hallucination", "claim_hallucination", "factual_consistency")
"""The metrics whose claims are the answer's own."""


def answer_claims(row: Row) -> Sequence[Mapping[str, Any]]:
    """Return the claims of the answer itself, as the first metric that has any tells them."""
    told = (
        each.details.get("claims") for each in row.scores if without_parameters(each.metric) in OF_ANSWERS
    )
    return next(filter(None, told), ())


def unsupported_words(row: Row) -> list[tuple[int, int]]:
    """Return the characters of the answer that nothing retrieved supports: the new words of such claims."""
    return [
        (place[0], place[1])
        for claim in answer_claims(row)
        if claim["label"] != "supported"
        for place in claim.get("new_tokens") or _changed(claim) or [(claim["start"], claim["end"])]
    ]


def _changed(claim: Mapping[str, Any]) -> list[tuple[int, int]]:
    return [(edit["start"], edit["end"]) for edit in claim.get("edits") or () if edit["start"] < edit["end"]]


# How many of which kind, and what wrong answers have in common.


def kind_of(row: Row) -> str:
    """Return the kind of failure in words: the cause where it is known, else the state."""
    return name_kind("unknown" if row.verdict is None else row.verdict.failure_kind)


def counts_sentence(counts: AnswerCounts) -> str:
    """Say how many answers are correct, partly correct, wrong, not judged and flagged."""
    to_questions = "" if counts.total == counts.questions else f" to {counted(counts.questions, 'question')}"
    grades = {"partly correct": counts.partly_correct, "wrong": counts.wrong}
    told = [f"{counts.correct:,} correct", *(f"{n:,} {name}" for name, n in grades.items() if n)]
    if counts.not_judged:
        look = "looks" if counts.looks_wrong == 1 else "look"
        leaning = f" ({counts.looks_wrong:,} {look} wrong)" if counts.looks_wrong else ""
        told.append(f"{counts.not_judged:,} not judged{leaning}")
    flags = [f"{n:,} flagged: {FLAGS[flag]}" for flag, n in counts.flags.items()]
    flags += [labels_to_confirm(counts.to_confirm)] if counts.to_confirm else []
    return "; ".join([f"{counted(counts.total, 'answer')}{to_questions}: {', '.join(told)}", *flags])


def labels_to_confirm(count: int) -> str:
    """Say how many labels do not decide because the reference has changed."""
    return f"{counted(count, 'label')} to confirm (the reference has changed)"


def counts_sentences(evaluation: Evaluation) -> Iterator[str]:
    """Yield the counts of the answers by grade; of systems those of each."""
    counts = {"": evaluation.answers}
    if evaluation.parts_are == "systems":
        counts = {f"{blocks.one_line(name)}: ": part.answers for name, part in evaluation.named_runs.items()}
    yield from (name + counts_sentence(each) for name, each in counts.items() if each.total)


class FailedAnswers(msgspec.Struct, frozen=True):
    """The number of listed answers, and the worst rows by part: those that look wrong or are flagged last."""

    listed: int
    cases: tuple[tuple[str, Row], ...]


_FOUND: WeakKeyDictionary[Evaluation, FailedAnswers] = WeakKeyDictionary()


def failed_answers(evaluation: Evaluation, *, everything: bool = False) -> FailedAnswers:
    """Return the answers of an evaluation that failed; its rows are read once for all reports.

    The worst rows are a few, or with ``everything`` all of them.
    """
    if everything:
        return _failed_answers(evaluation, evaluation.counts.total)
    found = _FOUND.get(evaluation)
    if found is None:
        found = _FOUND[evaluation] = _failed_answers(evaluation, KEPT)
    return found


def _failed_answers(evaluation: Evaluation, most: int) -> FailedAnswers:
    total, worst = sum(run.answers.listed for run in evaluation.runs), []
    for name, run in evaluation.named_runs.items() if total else ():
        found = worst_rows(run, most)
        rows = _with_places(evaluation, run, [row for _, row in found])
        worst += [(order, name, row) for (order, _), row in zip(found, rows, strict=True)]
    first = sorted(worst, key=lambda each: each[0][:-1])[:most]
    return FailedAnswers(total, tuple([each[1:] for each in first]))


def in_common(rows: Sequence[Row]) -> str | None:
    """Say from which document wrong answers were answered, and which they need; ``None`` if they differ."""
    first = Counter(names[0] for row in rows if (names := retrieved_names(row)))
    if len(rows) < 2 or not first:
        return None
    name, count = first.most_common(1)[0]
    if count < max(2, 0.8 * len(rows)):
        return None
    needed = Counter(
        each for row in rows for each in needed_names(row) if each not in retrieved_names(row)
    ).most_common(3)
    who = (
        f"all {counted(count, 'answer')}"
        if count == len(rows)
        else f"{count:,} of {counted(len(rows), 'answer')}"
    )
    if not needed:
        return f"Retrieved first for {who}: {name}."
    missing = blocks.listed([f"{each} ({times:,})" for each, times in needed], "or")
    return f"Retrieved first for {who}: {name}; expected {missing if len(needed) > 1 else needed[0][0]}."


class ListedCases(msgspec.Struct, frozen=True):
    """The answers behind a verdict that reports list, and how many they are; what moved if they got worse."""

    cases: Sequence[Sequence[Case]]
    total: int
    moved: Regressions | None = None


def listed_cases(evaluation: Evaluation, *, everything: bool = False) -> ListedCases:
    """Return the answers that got worse where these decide, else those that failed, the worst first."""
    word, moved = verdict_of(evaluation).word, evaluation.regressions
    if moved is not None and moved.worse and (word == "undecided" or moved.word == "worse"):
        worse = worse_cases(evaluation, None if everything else _MOST_WORSE)
        return ListedCases([[each] for each in worse], len(moved.worse), moved)
    found, runs = failed_answers(evaluation, everything=everything), evaluation.named_runs
    files = [dataset_file(runs[part]) for part, _ in found.cases]
    named = zip(named_rows(evaluation, found.cases), files, strict=True)
    return ListedCases([cases_of(row, name, file=file) for (name, row), file in named], found.listed)


# Figures, and metrics before and now, as rows of a table.


class Demand(msgspec.Struct, frozen=True):
    """The gate's requirement for a metric and its result; empty if there is no requirement."""

    check: Check | None

    @property
    def needs(self) -> str:
        check = self.check
        return "" if check is None or check.bound is None else f"{check.operator} {check.bound:g}"

    @property
    def status(self) -> str:
        if self.check is None or not self.needs:
            return ""
        held = "" if self.check.held == "mean" else f" ({self.check.held})"
        excuse = "" if self.check.excuse is None else f" ({self.check.excuse})"
        return f"{self.check.status}{held}{excuse}"

    @property
    def result(self) -> blocks.Piece:
        """The status in its color."""
        if self.check is None or not self.status:
            return ""
        return blocks.Styled(self.status, blocks.STYLES[self.check.status])

    @property
    def is_missed(self) -> bool:
        return self.status.startswith(("missed", "not evaluated"))

    def __str__(self) -> str:
        return f"{self.needs}, {self.status}" if self.needs else ""


def demand_of(evaluation: Evaluation, part: Evaluation, metric: str) -> Demand:
    """Return what the gate needs of a metric of one dataset."""
    checks = (each for each in verdict_of(evaluation).checks if each.metric == metric)
    return Demand(next((each for each in checks if each.dataset in (None, part.name)), None))


class FigureRow(msgspec.Struct, frozen=True):
    """A figure of one part of an evaluation."""

    part: str
    run: Evaluation
    figure: Figure
    demand: Demand

    @property
    def metric(self) -> str:
        return self.figure.metric

    @property
    def answers(self) -> str:
        return self.figure.answers

    @property
    def bound(self) -> float | None:
        return None if self.demand.check is None else self.demand.check.bound

    @property
    def value(self) -> str:
        """The value, as exactly as it takes to show whether it meets what is needed."""
        return blocks.measure(self.metric, self.figure.value, self.figure.interval, bound=self.bound)

    @property
    def by(self) -> str:
        return blocks.by(self.figure.method)

    @property
    def interval(self) -> str:
        return blocks.interval_text(self.figure.interval, self.figure.value)

    @property
    def is_share(self) -> bool:
        value, interval = self.figure.value, self.figure.interval
        return value is not None and 0 <= value <= 1 and (interval is None or interval.high <= 1 + 1e-9)


def list_figures(evaluation: Evaluation) -> list[FigureRow]:
    """Return the figures that say something: the share that passes only where something is demanded of it."""
    return [
        FigureRow(name, part, each, demand_of(evaluation, part, each.metric))
        for name, part in evaluation.named_runs.items()
        for each in part.metrics.values()
        if each.metric != PASS_RATE or PASS_RATE in {one.metric for one in part.thresholds}
    ]


class MovedRow(msgspec.Struct, frozen=True):
    """A metric before and now, ``of`` a dataset or a contender."""

    of: str
    moved: GatedMetric | MetricComparison
    before: str
    now: str
    by: str
    counts: tuple[int, int, int] = (0, 0, 0)
    """The number of answers that are better, the same and worse, of contenders."""
    demand: Demand = Demand(None)

    @property
    def metric(self) -> str:
        return self.moved.metric

    @property
    def difference(self) -> str:
        return blocks.difference(self.moved.difference, self.moved.interval)

    @property
    def finding(self) -> blocks.Styled:
        return blocks.result(self.moved.finding)

    @property
    def picture(self) -> blocks.Piece:
        """The difference as a picture."""
        value, interval, style = self.moved.difference, self.moved.interval, self.finding.style
        if value is None or abs(value) > 1:
            return ""
        return blocks.Bar(value, least=-1, interval=interval, limit=0, style=style)

    def __str__(self) -> str:
        return f"{self.metric} {self.before} → {self.now}, {self.moved.finding}"


def gated_rows(evaluation: Evaluation) -> list[MovedRow]:
    """Return the gated metrics of an evaluation beside those of its baseline."""
    moved, runs = evaluation.regressions, {part.name: part for part in evaluation.runs}
    rows = []
    for each in () if moved is None else moved.metrics:
        part = runs.get(each.dataset, evaluation)
        made, demand = part.metrics.get(each.metric), demand_of(evaluation, part, each.metric)
        before, now = (blocks.measure(each.metric, mean) for mean in (each.before, each.now))
        method = "" if made is None else blocks.by(made.method)
        rows.append(MovedRow(each.dataset, each, before, now, method, demand=demand))
    return rows


def compared_rows(comparison: Comparison) -> list[MovedRow]:
    """Return the metrics of a comparison."""
    rows = []
    for each in comparison.metrics:
        method, counts = comparison.methods.get(each.metric), (each.wins, each.ties, each.losses)
        means = (each.baseline_mean, each.contender_mean)
        before, now = (blocks.measure(each.metric, mean) for mean in means)
        made = "" if method is None else blocks.by(method)
        rows.append(MovedRow(each.contender, each, before, now, made, counts))
    return rows


# A case as blocks.


def list_answers(cases: Sequence[Sequence[Case]], *, full: int, asked: int, total: int) -> blocks.Answers:
    """Return cases as a list of which a terminal shows the first in full, the next by their question."""
    shown = [each[0].name for each in cases[: full + asked]]
    hang = min(4 + max(map(len, shown), default=0), 4 + _LONGEST_NAME)
    return blocks.Answers([describe_case(each, hang=hang) for each in cases], total, full, asked)


def describe_case(turns: Sequence[Case], *, hang: int) -> blocks.Answer:
    """Return a case: the question, what was expected and given, the words that nothing supports, and why."""
    first = turns[0]
    is_one = first.is_worse or first.row.verdict is None
    return blocks.Answer(
        name=first.name,
        kind=first.kind,
        question=_describe_question(first.name, first.row.question, hang),
        turns=[[*_describe_turn(each, place, hang)] for place, each in enumerate(turns)],
        count=1 if is_one else sum(each.is_listed for each in first.row.verdicts),
        opened=_describe_opened(first.row),
    )


def _describe_question(name: str, question: str, hang: int) -> blocks.Labelled:
    called = blocks.shortened(blocks.one_line(name, 1000), _LONGEST_NAME)
    return blocks.Labelled(called, question, hang=hang, lines=3)


def _describe_turn(case: Case, place: int, hang: int) -> Iterator[blocks.Labelled]:
    yield _describe_question("" if place else case.name, case.question_label, hang)
    found = {**case.texts, "differs": case.differs or None, "why": case.why}
    named = {label: text for label, text in found.items() if text is not None}
    inner = hang + 2 + max(map(len, [*case.texts, *named]))
    for label, text in named.items():
        marks, lines = case.marks if label in ("got", "now") else (), 4 if label in case.texts else 3
        yield blocks.Labelled(label, text, indent=hang, hang=inner, marks=marks, lines=lines)


def describe_whole_case(
    name: str, row: Row, thresholds: Sequence[Threshold], *, documents: KeptDocuments = NO_DOCUMENTS
) -> blocks.Blocks:
    """Add everything that is needed to put an answer right, what was retrieved in its order included."""
    tags = ", ".join(() if row.sample is None else row.sample.tags)
    shown = cases_of(row)
    yield blocks.GAP
    title = f"{name}  {blocks.one_line(shown[0].question if shown[0].turn is None else row.id, 400)}"
    yield blocks.prose(title, blocks.Styled(f"   {tags}", blocks.DIM) if tags else "", hang=len(name) + 2)
    for each in shown:
        if each.turn is not None:
            yield blocks.Labelled(f"turn {each.turn}", each.question)
        for label, text in each.texts.items():
            if text is not None:
                marks = each.marks if label == "got" else ()
                yield blocks.Labelled(label, text, marks=marks, lines=12)
        if each.differs:
            yield blocks.Labelled("differs", each.differs)
        if each.verdict is not None:
            yield blocks.Labelled(
                "verdict", verdict_sentence(row, each.verdict, by=DECIDERS.get(each.verdict.by or ""))
            )
        if fault := _fault_of(row, each.verdict, each.blame, is_listed=True):
            yield blocks.Labelled("why", fault)
    yield from _describe_needed(row, documents)
    yield from _describe_opened(row, thresholds, documents=documents)


def _describe_opened(
    row: Row, thresholds: Sequence[Threshold] = (), *, documents: KeptDocuments = NO_DOCUMENTS
) -> Iterator[blocks.Labelled]:
    """Add what was retrieved in its order, the steps of a trace, and the scores."""
    yield from _describe_retrieved(row, documents)
    yield from _describe_steps(row)
    if told := ", ".join(_scores(row, thresholds)):
        yield blocks.Labelled("scores", told)


def _describe_needed(row: Row, documents: KeptDocuments) -> blocks.Blocks:
    """Add the passages that are needed, where they are known to the character."""
    for place, span in enumerate(() if row.sample is None else row.sample.relevant_spans[:3]):
        found = documents.find(span.file)
        text = span.text or ("" if found is None else found.content[span.start : span.end])
        told = f"{span.file} {span.start}–{span.end}" + (f": {text}" if text else "")
        yield blocks.Labelled("" if place else "passage", told, lines=3)


def _describe_retrieved(row: Row, documents: KeptDocuments) -> Iterator[blocks.Labelled]:
    needed, hits = needed_names(row), row.response.hits
    texts = row.response.contexts
    names = [document_of(hit) for hit in hits] or [f"text {place}" for place in range(1, len(texts) + 1)]
    width = min(max(map(len, names), default=0), 30)
    for place, name in enumerate(names):
        hit = hits[place] if hits else None
        text = (hit.text if hit is not None else None) or (texts[place] if place < len(texts) else "")
        at = ""
        if hit is not None and hit.span is not None:
            found = documents.find(hit.span.doc_id)
            text = text or ("" if found is None else found.content[hit.span.start : hit.span.end])
            at = f"{hit.span.start}–{hit.span.end}  "
        mark = "✓ expected  " if name in needed and is_needed(row, hit) else ""
        label = f"{'retrieved' if not place else '':<11}{place + 1}  {blocks.shortened(name, width)}"
        yield blocks.Labelled(label, f"{mark}{at}{text}", indent=2, hang=18 + width, lines=2)
    if not names:
        nothing = "nothing" if row.response.retrieved_nothing else "not reported by the agent"
        yield blocks.Labelled("retrieved", nothing)


def _describe_steps(row: Row) -> Iterator[blocks.Labelled]:
    """Add the steps of a trace in their order, and what those of each kind took."""
    trace = None if row.sample is None else row.sample.trace
    if trace is None or not trace.steps:
        return
    width = len(str(min(len(trace.steps), _STEPS)))
    for number, step in enumerate(trace.steps[:_STEPS], start=1):
        label = f"{'steps' if number == 1 else '':<11}{number:>{width}}"
        yield blocks.Labelled(label, step.summary, indent=2, hang=15 + width, lines=3)
    if (more := len(trace.steps) - _STEPS) > 0:
        yield blocks.Labelled("", f"{more:,} more")
    yield blocks.Labelled("by step", trace.by_kind)


def steps_sentence(rows: Iterable[Row]) -> str:
    """Return a sentence on the use of each kind of step in the median trace; empty without traces."""
    told = median_uses(
        row.sample.trace for row in rows if row.sample is not None and row.sample.trace is not None
    )
    return f"By step, in the median trace: {told}." if told else ""


def is_needed(row: Row, hit: Hit | None) -> bool:
    """Return True if a hit of a document that is needed has characters that are, where they are known."""
    if hit is None or hit.span is None or row.sample is None:
        return True
    known = [each for each in row.sample.relevant_spans if each.file == hit.span.doc_id]
    return not known or any(_meet(each, hit) for each in known)


def _scores(row: Row, thresholds: Sequence[Threshold]) -> Iterator[str]:
    bounds = {each.metric: each for each in thresholds}
    for score in row.scores:
        bound = bounds.get(score.metric)
        if score.value is not None:
            needs = ""
            if bound is not None and not bound.is_met_by(score.value):
                needs = f" (the gate requires a mean {bound.operator} {bound.bound:g})"
            value = blocks.measure(score.metric, score.value, bound=bound.bound if bound else None)
            yield f"{score.metric} {value}{_probability(score)}{needs}"
        elif score.status == "failed":
            yield f"{score.metric} {blocks.NOTHING} (failed: {blocks.one_line(score.reason or '', 200)})"


def _probability(score: Score) -> str:
    """Return what orders answers, where it stands beside a score."""
    probability = score.details.get(PROBABILITY_UNSUPPORTED)
    return "" if probability is None else f" (probability of unsupported text {probability:.2f})"


def named_rows(evaluation: Evaluation, rows: Iterable[tuple[str, Row]]) -> Iterator[tuple[str, Row]]:
    """Yield rows of parts with what they are called: of several parts with the part's name before it."""
    runs, several = evaluation.named_runs, len(evaluation.parts) > 1
    for part, row in rows:
        is_golden = runs[part].kind == "golden"
        called = sample_name(row, by_line=not is_golden)
        yield f"{part}, {called}" if several and not is_golden else called, row
