"""Whether the cause that is said of a wrong answer is true: against exact character spans, at small k.

The questions of the handbook in ``examples/`` and of Chroma's chunking report (the folder ``chroma_chunking``
of the labelled data) are put to toy agents that retrieve by BM25, 1 or 3 chunks of 200 or 400 characters, and
answer wrongly: about another question, or with other numbers than the expected answer has. Blame knows the
expected passages as spans, as texts, by their documents, or only the expected answer; the truth knows the
spans. Of the passages (with other numbers: of those with these numbers), it is true to say

- ``retrieval_missed`` if one has no character among the retrieved ones;
- ``cut_passage`` if one has some, but more than a fifth of it is cut off, or one of the numbers is;
- ``not_used`` if all came, but for a fifth, or with all these numbers and at least half of each.

A cause is as precise as it is true where it is said.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks._labelled_data import DATA
from benchmarks.chroma_report import ReportData
from benchmarks.retrieval import DOCUMENTS, QUESTIONS
from rag_evaluation_framework.components import chunker_from
from rag_evaluation_framework.evaluation.blame import find_blame
from rag_evaluation_framework.judging.cited_texts import CitableTexts
from rag_evaluation_framework.judging.verdict import AnswerVerdict
from rag_evaluation_framework.records.chunks import PositionAwareChunk
from rag_evaluation_framework.records.citations import SpanCitation
from rag_evaluation_framework.records.documents import CharacterSpan, Corpus, DocumentId
from rag_evaluation_framework.records.responses import Hit, Response
from rag_evaluation_framework.records.runs import SampleResult
from rag_evaluation_framework.records.samples import Sample, Turn
from rag_evaluation_framework.retrieval.bm25 import BM25Retriever
from rag_evaluation_framework.retrieval.pipeline import chunk_corpus
from rag_evaluation_framework.statistics.intervals import wilson_interval
from rag_evaluation_framework.text.numbers import Quantity, quantities, readings

SIZES, KS = (200, 400), (1, 3)
KNOWN = ("spans", "passages", "documents", "answer")
CAUSES = ("retrieval_missed", "cut_passage", "not_used")
CUT, HALF = 0.2, 0.5
_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True)
class Question:
    """A question with its answer and the exact places of its passages, each with its copies."""

    text: str
    reference: str
    spans: tuple[tuple[CharacterSpan, ...], ...]
    passages: tuple[str, ...]


def handbook() -> Iterator[Question]:
    """Yield the handbook's questions; a passage that is cited twice counts as one."""
    for query in json.loads(QUESTIONS.read_text(encoding="utf-8"))["queries"]:
        places: dict[str, list[CharacterSpan]] = {}
        for cited in query["citations"]:
            span = CharacterSpan(DocumentId(cited["file_name"]), cited["start_char"], cited["end_char"])
            places.setdefault(cited["context_text"], []).append(span)
        if places:
            spans = tuple(map(tuple, places.values()))
            yield Question(query["query_text"], query["ground_truth_answer"], spans, tuple(places))


def chroma(data: ReportData) -> Iterator[Question]:
    """Yield the questions of Chroma's report, answered in the words of their passages."""
    for row, spans in zip(data.rows, data.relevant.values(), strict=True):
        passages = tuple(each["content"] for each in json.loads(row["references"]))
        yield Question(row["question"], " ".join(passages), tuple((span,) for span in spans), passages)


def with_other_numbers(text: str) -> tuple[str, list[Quantity]]:
    """Return a text with other digits, and the numbers that it no longer has."""
    lost = [each for each in quantities(text) if _DIGITS.search(text[each.start : each.end])]
    return _DIGITS.sub(lambda found: str(int(found[0]) * 2 + 37), text), lost


def true_causes(
    question: Question, lost: Sequence[Quantity], hits: Sequence[CharacterSpan], *, lacks_all: bool
) -> set[str]:
    """Return the causes that are true, by the characters that were retrieved.

    An answer that does not lack all lacks the lost numbers alone; of copies, the best one counts.
    """
    values = {value for each in lost for value in readings(each)}
    found: list[set[str]] = []
    for copies, text in zip(question.spans, question.passages, strict=True):
        places = [each for each in quantities(text) if values.intersection(readings(each))]
        if places or lacks_all:
            fates = [_true_of(span, places, hits) for span in copies]
            found.append(next((each for each in fates if "not_used" in each), min(fates, key=sorted)))
    if not found:
        return true_causes(question, (), hits, lacks_all=True)
    return set.union(*found) - (set() if all("not_used" in each for each in found) else {"not_used"})


def _true_of(span: CharacterSpan, places: Sequence[Quantity], hits: Sequence[CharacterSpan]) -> set[str]:
    lacking = set(range(span.start, span.end))
    for hit in hits:
        lacking.difference_update(range(hit.start, hit.end) if hit.doc_id == span.doc_id else ())
    share = len(lacking) / span.length()
    if share == 1:
        return {"retrieval_missed"}
    is_lost = any(span.start + at in lacking for each in places for at in range(each.start, each.end))
    true = {"cut_passage"} if is_lost or share > CUT else set()
    return true if is_lost or share > (HALF if places else CUT) else true | {"not_used"}


def samples(question: Question) -> dict[str, Sample]:
    """Return the question as a sample by what is known of its passages."""
    spans = [span for copies in question.spans for span in copies[:1]]
    known: Mapping[str, dict[str, Any]] = {
        "spans": {"relevant_spans": tuple(SpanCitation(each.doc_id, each.start, each.end) for each in spans)},
        "passages": {"reference_contexts": question.passages},
        "documents": {"relevant_documents": {each.doc_id: 1 for each in spans}},
        "answer": {},
    }
    turns = (Turn(role="user", content=question.text),)
    return {
        name: Sample(id="1", turns=turns, reference=question.reference, **fields)
        for name, fields in known.items()
    }


def response(answer: str, found: Sequence[PositionAwareChunk], known: str) -> Response:
    """Return what the agent says and retrieved, with no more of it than is known."""
    hits: tuple[Hit, ...] = ()
    if known in ("spans", "documents"):
        place = known == "spans"
        hits = tuple(
            Hit(id=each.doc_id, text=each.content, span=each.to_span() if place else None) for each in found
        )
    return Response(text=answer, hits=hits, contexts=tuple(each.content for each in found))


def said(questions: Sequence[Question], corpus: Corpus) -> Iterator[tuple[str, str, bool]]:
    """Yield what was known, the cause that is said, and whether it is true."""
    documents = CitableTexts(list(corpus))
    for size in SIZES:
        retriever = BM25Retriever()
        retriever.index(chunk_corpus(corpus, chunker_from(f"recursive(chunk_size={size})")).chunks)
        ranked = retriever.retrieve([each.text for each in questions], max(KS))
        for place, question in enumerate(questions):
            changed, lost = with_other_numbers(question.reference)
            other = questions[place - 1].reference
            answers = [(other, True), *([(changed, False)] if lost else [])]
            for k in KS:
                found = ranked[place][:k]
                for answer, is_other in answers:
                    true = true_causes(question, lost, [each.to_span() for each in found], lacks_all=is_other)
                    for known, sample in samples(question).items():
                        given = response(answer, found, known)
                        told = find_blame(
                            sample, SampleResult(sample.id, given, ()), AnswerVerdict("wrong"), documents
                        )
                        kind = "unknown" if told is None else told.kind
                        yield known, kind, kind in true


def main() -> None:
    notes, data = Corpus.from_folder(DOCUMENTS), ReportData(DATA / "chroma_chunking")
    sets = {"handbook": (list(handbook()), notes)}
    if data.folder.is_dir():
        sets["chroma_chunking"] = (list(chroma(data)), data.corpus)
    else:
        print(f"chroma_chunking is skipped: there is no labeled data at {data.folder}")
    print(f"{'known':<30}" + "".join(f"{cause:>34}" for cause in CAUSES) + f"{'others':>10}")
    for name, (questions, corpus) in sets.items():
        counts = Counter(said(questions, corpus))
        for known in KNOWN:
            figures = ""
            for cause in CAUSES:
                true, false = counts[known, cause, True], counts[known, cause, False]
                share = "–"
                if said_so := true + false:
                    interval = wilson_interval(true, said_so)
                    share = f"{true / said_so:.2f} [{interval.low:.2f}, {interval.high:.2f}]"
                figures += f"{share:>22} of {true + false:>5,}   "
            others = sum(
                count for (it, kind, _), count in counts.items() if it == known and kind not in CAUSES
            )
            print(f"{f'{name}, {known}':<30}{figures}{others:>10,}", flush=True)


if __name__ == "__main__":
    main()
