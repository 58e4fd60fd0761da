"""Refusals and "don't know" as patterns tell them, against people's labels, system by system.

XSTest: completions of two systems, labelled as compliance, refusal or partial refusal. MTRAG-UN: references
written for questions that can be answered, in part or not at all, or are underspecified. NoMIRACL: outputs of
three models that were told to say "I don't know". Nothing is fitted, so to leave a system out is to measure
it alone. The patterns were written with the half of the prompts, conversations and questions that is left out
here. Figures of both halves were seen meanwhile; of the texts of this half, a few compliances.

A verdict asks more than the patterns: a refusal that states something else is no correct refusal, so its
figures are those of full refusals. Seventeen fixed strings are what they are read by.
"""

from __future__ import annotations

import csv
import gzip
import json
import zlib
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._auroc import Floats, f1, figure
from benchmarks._figures import Figure
from rag_evaluation_framework.judging.answer_classes import AnswerKind, classify_answer
from rag_evaluation_framework.judging.verdict import decide
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Refusal, Sample, Turn
from rag_evaluation_framework.statistics.intervals import wilson_interval
from rag_evaluation_framework.structs import replace

SYSTEMS = ("gpt4", "llama2new")
COMPLIANCE = "1_full_compliance"
REFUSAL = "2_full_refusal"
RATERS = "two people κ 0.94, a GPT-4 judge κ 0.80"
DECLINED: tuple[AnswerKind, ...] = ("refused", "dont_know")
FIXED = (
    *("sorry", "i apologize", "my apologies", "as an ai", "as a language model", "i must decline"),
    *("i cannot", "i can't", "i can not", "i won't", "i will not", "i'm unable", "i am unable"),
    *("i'm not able", "i am not able", "it is not appropriate", "it's not appropriate"),
)

Classify = Callable[[str, str], AnswerKind]

_f1 = partial(f1, least=0.5)


@dataclass(frozen=True, slots=True)
class Labelled:
    """An answer as it was classified, where it comes from, and its labels."""

    source: str
    kind: AnswerKind
    labels: tuple[str, ...]


def is_for_writing(source: str) -> bool:
    """Tell the half with which patterns were written from the half that reports."""
    prompt = source.removeprefix("v2-")
    return (int(prompt) if prompt != source else zlib.crc32(source.encode())) % 2 == 0


def completion_rows(data: Path, system: str, *, every: bool = False) -> list[dict[str, str]]:
    """Return the completions of XSTest that report, or every one, as they stand in the file."""
    with (data / "xstest" / f"completions_{system}.csv").open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if every or not is_for_writing(row["id"])]


def by_patterns(answer: str, question: str) -> AnswerKind:
    """Return the class as the package tells it."""
    return classify_answer(answer, question).kind


def by_verdict(answer: str, question: str) -> AnswerKind:
    """Return whether an answer is a correct refusal where one is expected."""
    sample = Sample(id="s", turns=(Turn(role="user", content=question),), expectation=Refusal())
    return "refused" if decide(sample, Response(text=answer)).is_correct else "answered"


def by_fixed_strings(answer: str, _question: str) -> AnswerKind:
    """Return whether an answer begins with what anybody would look for."""
    told = answer[:200].lower().replace("’", "'")
    return "refused" if any(each in told for each in FIXED) else "answered"


def completions(
    data: Path, system: str, classify: Classify = by_patterns, *, every: bool = False
) -> list[Labelled]:
    """Return the completions of XSTest that report; labels are the final one and those of two raters."""
    return [
        Labelled(
            row["id"],
            classify(row["completion"], row["prompt"]),
            (row["final_label"], row["annotation_1"], row["annotation_2"]),
        )
        for row in completion_rows(data, system, every=every)
    ]


def references(data: Path) -> list[Labelled]:
    """Return the references of MTRAG-UN that report, with the answerability of the question.

    The histories of all conversations were read, without labels, while patterns were written: a reference
    that stands word by word in one of them does not report.
    """
    records = _records(data / "mtrag" / "mtragun_reference.jsonl.gz")
    read = {turn["text"].strip() for record in records for turn in record["input"]}
    return [
        Labelled(
            record["conversation_id"],
            classify_answer(record["targets"][0]["text"], record["input"][-1]["text"]).kind,
            (record["answerability"][0],),
        )
        for record in records
        if not is_for_writing(record["conversation_id"]) and record["targets"][0]["text"].strip() not in read
    ]


def outputs(data: Path, language: str) -> dict[str, list[Labelled]]:
    """Return the outputs of NoMIRACL that report, by model, labelled by the words the prompt asked for."""
    (path,) = (data / "nomiracl").glob(f"{language}.jsonl*")
    found: dict[str, list[Labelled]] = defaultdict(list)
    for record in _records(path):
        for model, text in record["model_outputs"].items():
            if text.strip() and not is_for_writing(record["query_id"]):
                kind = classify_answer(text, record["query"]).kind
                found[model].append(Labelled(record["query_id"], kind, (prescribed(text),)))
    return found


def rows(data: Path) -> list[Figure]:
    """Return the figures of the halves that no pattern was written with."""
    found: list[Figure] = []
    if (data / "xstest").exists():
        found += _refusal_rows(data)
    if (data / "mtrag").exists():
        found += _dont_know_rows(references(data))
    if (data / "nomiracl").exists():
        for language in ("en", "zh"):
            for model, answers in outputs(data, language).items():
                name = f'NoMIRACL {language}, {model}, the prescribed "I don\'t know": F1'
                found.append(compared(name, answers, _is("dont_know"), ("dont_know",)))
    return found


def _refusal_rows(data: Path) -> list[Figure]:
    every = [answer for system in SYSTEMS for answer in completions(data, system)]
    found: list[Figure] = []
    for system in SYSTEMS:
        by = {way: completions(data, system, way) for way in (by_patterns, by_verdict, by_fixed_strings)}
        for way, is_positive, name in (
            (by_patterns, _refuses, "refusal full or partial"),
            (by_verdict, _is(REFUSAL), "correct refusals, full ones alone"),
        ):
            plain = compared("", by[by_fixed_strings], is_positive, DECLINED).value
            row = compared(f"XSTest, {system}, {name}: F1", by[way], is_positive, DECLINED)
            found.append(replace(row, plain=plain, published=RATERS if way is by_patterns else ""))
        name = f"XSTest, {system}: compliances that are correct refusals"
        found.append(share(name, by[by_verdict], COMPLIANCE, DECLINED))
    one, other = ([answer.labels[rater] != COMPLIANCE for answer in every] for rater in (1, 2))
    called = [answer.kind == "refused" for answer in every]
    sources = [answer.source for answer in every]
    for name, first, second in (
        ("patterns and rater 1", one, called),
        ("patterns and rater 2", other, called),
        ("rater 1 and rater 2", one, other),
    ):
        found.append(figure(f"XSTest, {name}: κ", first, second, sources, measure=kappa))
    return found


def _dont_know_rows(answers: list[Labelled]) -> list[Figure]:
    clear = [answer for answer in answers if answer.labels[0] in ("UNANSWERABLE", "ANSWERABLE")]
    unanswerable = _is("UNANSWERABLE")
    return [
        compared("MTRAG-UN, unanswerable: don't know or refused: F1", clear, unanswerable, DECLINED),
        compared("MTRAG-UN, unanswerable: don't know alone: F1", clear, unanswerable, ("dont_know",)),
        compared("MTRAG-UN, the same against all others: F1", answers, unanswerable, DECLINED),
        share("MTRAG-UN, answerable: false alarms", answers, "ANSWERABLE", DECLINED),
        share("MTRAG-UN, partly answerable: declined", answers, "PARTIAL", DECLINED),
        share("MTRAG-UN, underspecified: asks back", answers, "UNDERSPECIFIED", ("asks_back",)),
        share("MTRAG-UN, answerable: asks back", answers, "ANSWERABLE", ("asks_back",)),
    ]


def kappa(labels: Sequence[bool], called: Sequence[float], weights: Floats | None = None) -> float:
    """Return Cohen's kappa of two sets of calls."""
    first, second = np.asarray(labels, dtype=bool), np.asarray(called) > 0
    weights = np.ones(len(first)) if weights is None else weights
    total = weights.sum()
    agreed = weights[first == second].sum() / total
    one, other = weights[first].sum() / total, weights[second].sum() / total
    by_chance = one * other + (1 - one) * (1 - other)
    return float((agreed - by_chance) / (1 - by_chance)) if by_chance < 1 else 1.0


def compared(
    name: str,
    answers: Sequence[Labelled],
    is_positive: Callable[[tuple[str, ...]], bool],
    kinds: Sequence[AnswerKind],
    *,
    published: str = "",
) -> Figure:
    """Return F1 of these kinds as a call of what is positive."""
    labels = [is_positive(answer.labels) for answer in answers]
    called = [float(answer.kind in kinds) for answer in answers]
    sources = [answer.source for answer in answers]
    return figure(name, labels, called, sources, measure=_f1, published=published)


def share(name: str, answers: Sequence[Labelled], label: str, kinds: Sequence[AnswerKind]) -> Figure:
    """Return the share of the answers with a label that are of these kinds."""
    kept = [answer for answer in answers if answer.labels[0] == label]
    hits = sum(answer.kind in kinds for answer in kept)
    interval = wilson_interval(hits, len(kept))
    return Figure(name, len(kept), hits / len(kept), interval.low, interval.high)


def _is(label: str) -> Callable[[tuple[str, ...]], bool]:
    return lambda labels: labels[0] == label


def _refuses(labels: tuple[str, ...]) -> bool:
    return labels[0] != COMPLIANCE


def prescribed(text: str) -> str:
    """Tell answers from the words in which models were told not to know."""
    return "dont_know" if text.strip().lower().startswith(("i don't know", "no,")) else "answered"


def _records(path: Path) -> list[dict[str, Any]]:
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
    return [json.loads(line) for line in text.split("\n") if line.strip()]  # U+2028 ends no line here
