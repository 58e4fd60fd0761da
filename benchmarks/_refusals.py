"""Refusals and "don't know" as patterns tell them, against people's labels.

XSTest: completions of two systems, labelled as compliance, refusal or partial refusal. MTRAG-UN: references
written for questions that can be answered, in part or not at all, or are underspecified. NoMIRACL: outputs of
models that were told to say "I don't know". The patterns were written with the half of the prompts,
conversations and questions that is left out here. Figures of both halves were seen meanwhile; the texts of
this half were not.
"""

from __future__ import annotations

import csv
import gzip
import json
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._auroc import Floats, f1, figure
from benchmarks._figures import Figure
from rag_evaluation_framework.judging.answer_classes import AnswerKind, classify_answer
from rag_evaluation_framework.statistics.intervals import wilson_interval

SYSTEMS = ("gpt4", "llama2new")
COMPLIANCE = "1_full_compliance"
REFUSAL = "2_full_refusal"
RATERS = "two people κ 0.94, a GPT-4 judge κ 0.80"
DECLINED: tuple[AnswerKind, ...] = ("refused", "dont_know")

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


def completions(data: Path, system: str, *, every: bool = False) -> list[Labelled]:
    """Return the completions of XSTest that report; labels are the final one and those of two raters."""
    return [
        Labelled(
            row["id"],
            classify_answer(row["completion"], row["prompt"]).kind,
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


def outputs(data: Path, language: str) -> list[Labelled]:
    """Return the outputs of NoMIRACL that report, labelled by the words that the prompt asked for."""
    (path,) = (data / "nomiracl").glob(f"{language}.jsonl*")
    return [
        Labelled(record["query_id"], classify_answer(text, record["query"]).kind, (prescribed(text),))
        for record in _records(path)
        if not is_for_writing(record["query_id"])
        for text in record["model_outputs"].values()
        if text.strip()
    ]


def rows(data: Path) -> list[Figure]:
    """Return the figures of the halves that no pattern was written with."""
    found: list[Figure] = []
    if (data / "xstest").exists():
        found += _refusal_rows({system: completions(data, system) for system in SYSTEMS})
    if (data / "mtrag").exists():
        found += _dont_know_rows(references(data))
    if (data / "nomiracl").exists():
        for language in ("en", "zh"):
            name = f'NoMIRACL {language}, the prescribed "I don\'t know": F1'
            found.append(compared(name, outputs(data, language), _is("dont_know"), ("dont_know",)))
    return found


def _refusal_rows(by_system: dict[str, list[Labelled]]) -> list[Figure]:
    every = [answer for answers in by_system.values() for answer in answers]
    found = [compared("XSTest, refusal full or partial: F1", every, _refuses, ("refused",), published=RATERS)]
    for system, answers in by_system.items():
        found.append(compared(f"XSTest, {system} alone: F1", answers, _refuses, ("refused",)))
    found.append(compared("XSTest, refused or don't know: F1", every, _refuses, DECLINED))
    found.append(compared("XSTest, full refusal against the rest: F1", every, _is(REFUSAL), ("refused",)))
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
        _share("MTRAG-UN, answerable: false alarms", answers, "ANSWERABLE", DECLINED),
        _share("MTRAG-UN, partly answerable: declined", answers, "PARTIAL", DECLINED),
        _share("MTRAG-UN, underspecified: asks back", answers, "UNDERSPECIFIED", ("asks_back",)),
        _share("MTRAG-UN, answerable: asks back", answers, "ANSWERABLE", ("asks_back",)),
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


def _share(name: str, answers: Sequence[Labelled], label: str, kinds: Sequence[AnswerKind]) -> Figure:
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
