"""RAGTruth: answers with hallucinated spans marked by people; any span makes an answer positive.

Sources with an even number guided the design of the features and the weights set by hand; the figures that
count are those of the odd ones, whose texts were not looked at. No coefficient was fitted on either.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks._auroc import Floats, auroc, called_across, f1_at_share, figure
from benchmarks._figures import Figure, reached
from rag_evaluation_framework.judging.claims import claims_of
from rag_evaluation_framework.judging.lexical_support import LexicalSupport, Screening, screen_answer
from rag_evaluation_framework.records.scores import ClaimVerdict
from rag_evaluation_framework.statistics.intervals import bootstrap_interval

TASKS = {"qa": "QA", "summary": "summary", "data2txt": "data-to-text"}
PUBLISHED_F1 = {"qa": "GPT-4-turbo 45.6, ragas 35.7, Luna 51.3, LettuceDetect-large 70.2"}
# The share of positives in the full test set, which published F1 was measured on; here it is higher.
FULL_SHARE = {"qa": 0.193, "summary": 0.267, "data2txt": 0.643}
FLAGGED = {
    "Baseless Info": "additions in a claim flagged",
    "Conflict": "contradictions in a claim flagged",
    "clean": "claims without a fault flagged",
}
THRESHOLD = 0.5  # fixed beforehand: the probability is calibrated on other data
_PASSAGE = re.compile(r"passage \d+:")
HALVES = (("", 1), (", the half that guided the design", 0))


@dataclass(frozen=True, slots=True)
class LabelledAnswer:
    """An answer, what it was given, and the spans that people found unsupported in it."""

    source: int
    contexts: tuple[str, ...]
    question: str
    answer: str
    spans: tuple[tuple[int, int, str], ...]
    """Start, end and kind of each: ``Evident Baseless Info``, ``Subtle Conflict`` …"""
    system: str


def answers(data: Path, task: str) -> Iterator[LabelledAnswer]:
    for line in (data / "ragtruth" / f"{task}.jsonl").read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        source, question = record["source"], ""
        if task == "qa":
            question = source["question"]
            contexts = [part for part in _PASSAGE.split(source["passages"]) if part.strip()]
        else:
            contexts = [source if task == "summary" else json.dumps(source)]
        for response in record["responses"]:
            spans = tuple((label["start"], label["end"], label["label_type"]) for label in response["labels"])
            answer, system = response["response"], response["model"]
            yield LabelledAnswer(record["source_id"], tuple(contexts), question, answer, spans, system)


def card_rows(data: Path) -> list[Figure]:
    """Return the figures that count: those of the half that guided nothing."""
    return [row for row in rows(data) if HALVES[1][0] not in row.name]


def rows(data: Path) -> list[Figure]:
    """Return AUROC and F1 of screening whole answers, by task and half, and AUROC of single claims."""
    if not (data / "ragtruth").exists():
        return []
    found: list[Figure] = []
    for task, title in TASKS.items():
        everything = list(answers(data, task))
        screened = [screen_answer(each.answer, each.contexts, question=each.question) for each in everything]
        for half, remainder in HALVES:
            part = [
                pair for pair in zip(everything, screened, strict=True) if pair[0].source % 2 == remainder
            ]
            found += _answer_figures(f"RAGTruth {title}{half}", part, task=task)
        found += _single_claims(f"RAGTruth {title}", everything)
        found += _of_right_answers(f"RAGTruth {title}", everything)
    return found


def _answer_figures(
    name: str, part: Sequence[tuple[LabelledAnswer, Screening]], *, task: str
) -> Iterator[Figure]:
    """Yield AUROC beside a plain count of new tokens, F1, and the share that is flagged.

    F1 depends on how many positives there are: beside F1 here stands F1 with positives weighted to their
    share in the full test set, which is the one to hold beside published figures. So is the share flagged.
    """
    labels = [bool(each.spans) for each, _ in part]
    sources = [str(each.source) for each, _ in part]
    scores = [screening.probability_unsupported or 0.0 for _, screening in part]
    counts = [float(sum(len(each.new_tokens) for each in screening.verdicts)) for _, screening in part]
    lengths = [float(len(each.answer)) for each, _ in part]
    note = f"length alone {auroc(labels, lengths):.3f}"
    title = f"{name}: AUROC, answers with an unsupported part"
    yield figure(title, labels, scores, sources, published=note, plain=counts)
    # The count has no threshold of its own: it takes the one that is best on other sources.
    called = [float(call) for call in called_across(labels, counts, sources)]
    share = FULL_SHARE[task]
    note = f"positives weighted to the {share:.0%} of the full test set"
    weighted = partial(f1_at_share, least=THRESHOLD, share=share)
    published = f"{note}; published: {PUBLISHED_F1[task]}" if task in PUBLISHED_F1 else note
    title = f"{name}: F1 at 0.5"
    yield figure(title, labels, scores, sources, measure=weighted, published=published, plain=called)
    flagged = partial(_flagged_at_share, share=share)
    title = f"{name}: flagged at 0.5, of answers as they come"
    yield figure(title, labels, scores, sources, measure=flagged, published=note, plain=called)


def _single_claims(name: str, everything: list[LabelledAnswer]) -> list[Figure]:
    """Return how claims are told apart, and what share of each kind of span lies in a claim not supported."""
    support = LexicalSupport()
    labels: list[bool] = []
    scores: list[float] = []
    plain: list[float] = []
    sources: list[str] = []
    flagged: dict[str, list[tuple[float, str]]] = {name: [] for name in FLAGGED.values()}
    for each in everything:
        if each.source % 2 == 0:
            continue
        verdicts = support.decide(claims_of(each.answer), each.contexts, question=each.question)
        for verdict in verdicts:
            labels.append(any(_touches(verdict, start, end) for start, end, _ in each.spans))
            if not labels[-1]:
                flagged[FLAGGED["clean"]].append((float(not verdict.is_supported), str(each.source)))
            scores.append(1.0 - (verdict.probability or 0.0))
            plain.append(float(len(verdict.new_tokens)))
            sources.append(str(each.source))
        for start, end, kind in each.spans:
            hit = any(_touches(verdict, start, end) and not verdict.is_supported for verdict in verdicts)
            flagged[FLAGGED[kind.partition(" ")[2]]].append((float(hit), str(each.source)))
    found = [figure(f"{name}: AUROC, single claims with a fault", labels, scores, sources, plain=plain)]
    for kind, hits in flagged.items():
        values = [value for value, _ in hits]
        interval = bootstrap_interval(values, clusters=[source for _, source in hits])
        share = sum(values) / len(values)
        found.append(Figure(f"{name}: {kind}", len(hits), share, interval.low, interval.high))
    return found


def _of_right_answers(name: str, everything: Sequence[LabelledAnswer]) -> Iterator[Figure]:
    """Yield what faithfulness and hallucination are of answers without a fault."""
    support, shares, sources = LexicalSupport(), [], []
    for each in everything:
        if each.source % 2 and not each.spans:
            verdicts = support.decide(claims_of(each.answer), each.contexts, question=each.question)
            shares += [sum(one.is_supported for one in verdicts) / len(verdicts)] if verdicts else []
            sources += [str(each.source)] if verdicts else []
    yield reached(name, "faithfulness", shares, sources)
    yield reached(name, "hallucination", [1 - share for share in shares], sources)


def _flagged_at_share(
    labels: Sequence[bool], scores: Sequence[float], weights: Floats | None = None, *, share: float
) -> float:
    """Return how many answers are flagged, with the positives weighted to this share of all."""
    positive, called = np.asarray(labels, dtype=bool), np.asarray(scores) >= THRESHOLD
    weights = np.ones(len(positive)) if weights is None else weights
    right, wrong = (np.average(called[part], weights=weights[part]) for part in (positive, ~positive))
    return float(share * right + (1 - share) * wrong)


def _touches(verdict: ClaimVerdict, start: int, end: int) -> bool:
    return start < verdict.claim.end and verdict.claim.start < end
