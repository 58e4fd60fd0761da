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

from benchmarks._auroc import called_across, f1, f1_at_share, figure
from benchmarks._figures import Figure
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
    "clean": "claims without a span flagged",
}
THRESHOLD = 0.5  # fixed beforehand: the probability is calibrated on other data
_PASSAGE = re.compile(r"passage \d+:")
HALVES = (("held-out half", 1), ("design half", 0))


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
            found += _answer_figures(f"RAGTruth {title}, {half}", part, task=task)
        found += _single_claims(f"RAGTruth {title}, {HALVES[0][0]}", everything)
    return found


def _answer_figures(
    name: str, part: Sequence[tuple[LabelledAnswer, Screening]], *, task: str
) -> Iterator[Figure]:
    """Yield AUROC with two controls, and F1.

    F1 depends on how many positives there are: beside F1 here stands F1 with positives weighted to their
    share in the full test set, which is the one to hold beside published figures.
    """
    labels = [bool(each.spans) for each, _ in part]
    sources = [str(each.source) for each, _ in part]
    scores = [screening.probability_unsupported or 0.0 for _, screening in part]
    counts = [float(sum(len(each.new_tokens) for each in screening.verdicts)) for _, screening in part]
    lengths = [float(len(each.answer)) for each, _ in part]
    yield figure(f"{name}: AUROC", labels, scores, sources)
    yield figure(f"{name}: AUROC, control: new tokens counted", labels, counts, sources)
    yield figure(f"{name}: AUROC, control: length", labels, lengths, sources)
    called = [float(call) for call in called_across(labels, scores, sources)]
    plain = partial(f1, least=THRESHOLD)
    yield figure(f"{name}: F1 at 0.5", labels, scores, sources, measure=plain)
    yield figure(f"{name}: F1, threshold across sources", labels, called, sources, measure=plain)
    share = FULL_SHARE[task]
    weighted = partial(f1_at_share, least=THRESHOLD, share=share)
    title, published = f"{name}: F1 at 0.5, {share:.0%} positive", PUBLISHED_F1.get(task, "")
    yield figure(title, labels, scores, sources, measure=weighted, published=published)


def _single_claims(name: str, everything: list[LabelledAnswer]) -> list[Figure]:
    """Return how claims are told apart, and what share of each kind of span lies in a claim not supported."""
    support = LexicalSupport()
    labels: list[bool] = []
    scores: list[float] = []
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
            sources.append(str(each.source))
        for start, end, kind in each.spans:
            hit = any(_touches(verdict, start, end) and not verdict.is_supported for verdict in verdicts)
            flagged[FLAGGED[kind.partition(" ")[2]]].append((float(hit), str(each.source)))
    found = [figure(f"{name}, single claims: AUROC", labels, scores, sources)]
    for kind, hits in flagged.items():
        values = [value for value, _ in hits]
        interval = bootstrap_interval(values, clusters=[source for _, source in hits])
        share = sum(values) / len(values)
        found.append(Figure(f"{name}: {kind}", len(hits), share, interval.low, interval.high))
    return found


def _touches(verdict: ClaimVerdict, start: int, end: int) -> bool:
    return start < verdict.claim.end and verdict.claim.start < end
