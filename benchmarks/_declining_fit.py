"""Fits the model of declining in other words, and writes its weights into the package.

Run `python -m benchmarks._declining_fit`. It learns from texts of our own (the sets to work with, answers
written for the purpose, the older sets, the tables of the tests) and from answers whose licence allows it:
right ones of EVOUNA, and of MTRAG-UN and NoMIRACL the half that does not report. The set that was opened
once, XSTest, RAGTruth and ALCE take no part.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from benchmarks._labelled_data import DATA
from benchmarks._refusals import _records as _unpacked
from benchmarks._refusals import is_for_writing, prescribed
from rag_evaluation_framework.files import yaml_documents
from rag_evaluation_framework.judging import declining as package
from rag_evaluation_framework.judging.declining import FAMILY, signs_of, words_of
from rag_evaluation_framework.text.normalisation import folded_with_places

FOLDER = Path(__file__).parent / "data"
TABLES = Path(__file__).parents[1] / "tests" / "judging" / "answer_classes.yaml"
WEIGHTS = Path(package.__file__).parent / "data" / "declining_weights.json"
WORK_SETS = ("refusals_work_1.jsonl", "refusals_work_2.jsonl", "refusals_work_3.jsonl")
DECLINED = ("refused", "dont_know")

# What a text counts for: others' answers are many and easy.
WORK, OWN, WRITTEN, TABLE, RIGHT, REFERENCE, ASKS_BACK = 1.0, 0.7, 0.8, 0.8, 0.1, 0.4, 0.3
RIGHT_ANSWERS, RIGHT_SCRAPS, LONG = 1500, 200, 40
# Penalties of weights, chosen by leaving sets out in turn; rarer words and smaller weights go.
OF_SIGNS, OF_WORDS, OF_CHARACTERS, OF_FAMILIES, OF_PLACES, OF_PAIRS = 10.0, 2.0, 3.0, 5.0, 8.0, 10.0
LEAST_TEXTS, LEAST_WEIGHT = 2, 0.04
# From which probability on an answer declines, chosen on sets left out for false alarms of at most .04.
THRESHOLDS = {
    "threshold": 0.62,
    "without_signs": 0.7,
    "of_questions": 0.85,
    "of_answers": 0.75,
    "of_patterns": 0.1,
    "of_late_patterns": 0.55,
    "of_long_answers": 0.93,
}
READ = 800


@dataclass(frozen=True, slots=True)
class Text:
    """An answer that declines or not, and what it counts for."""

    answer: str
    question: str
    declines: bool
    weight: float
    kind: str = ""


def own_sets(but: str = "") -> Iterator[Text]:
    """Yield the sets to work with, except one; what only partly declines is neither."""
    for each in [record for name in WORK_SETS if name != but for record in _records(name)]:
        if each["class"] != "partly":
            weight = ASKS_BACK if each["class"] == "asks_back" else WORK
            declines = each["class"] in DECLINED
            yield Text(each["answer"], each["question"], declines, weight, each["class"])


def other_texts(data: Path = DATA) -> Iterator[Text]:
    """Yield everything else to learn from."""
    for name in ("unseen_answers.jsonl", "unseen_model_answers.jsonl"):
        for each in _records(name):
            if each["label"] in (*DECLINED, "answered"):
                declines = each["label"] in DECLINED
                yield Text(each["answer"], each["question"], declines, OWN, each["label"])
    for each in _records("declining_answers.jsonl"):
        yield Text(each["answer"], each["question"], each["declines"], WRITTEN)
    tables = yaml_documents.decode(TABLES.read_text(encoding="utf-8"), file=TABLES.name)
    for question, answer in (*tables["people_who_do_not_know"], *tables["facts_that_deny"]):
        yield Text(answer, question, False, TABLE)
    for question, answer, kind in (*tables["by_question"], *tables["no_answers"]):
        if kind != "asks_back":
            yield Text(answer, question, kind in DECLINED, TABLE, kind)
    for question, answer in tables["other_denials"]:
        yield Text(answer, question, True, TABLE, "dont_know")
    for courtesy in tables["courtesies"]:
        fee = (
            ("What is the fee?", "The fee is 50 euros. ")
            if courtesy.isascii()
            else ("运费是多少？", "运费8元。")
        )
        yield Text(fee[1] + courtesy, fee[0], False, ASKS_BACK)
    for asked in tables["questions_back"]:
        yield Text(asked, "What is the fee?" if asked.isascii() else "运费是多少？", False, ASKS_BACK)
    right = [
        Text(answer["answer"], each["question"], False, RIGHT)
        for each in _unpacked(data / "evouna" / "triviaqa.jsonl")
        for answer in each["answers"].values()
        if answer["correct"] and answer["answer"].strip()
    ]
    Random(0).shuffle(right)
    yield from [each for each in right if len(each.answer) > LONG][:RIGHT_ANSWERS]
    yield from [each for each in right if len(each.answer) <= LONG][:RIGHT_SCRAPS]
    yield from _outside_texts(data)


def _outside_texts(data: Path) -> Iterator[Text]:
    """Yield answers of others, from the half that does not report."""
    for each in _unpacked(data / "mtrag" / "mtragun_reference.jsonl.gz"):
        kind = each["answerability"][0]
        if is_for_writing(each["conversation_id"]) and kind in ("ANSWERABLE", "UNANSWERABLE"):
            reference, question = each["targets"][0]["text"], each["input"][-1]["text"]
            yield Text(reference, question, kind == "UNANSWERABLE", REFERENCE)
    for language in ("en", "zh"):
        (path,) = (data / "nomiracl").glob(f"{language}.jsonl*")
        for each in _unpacked(path):
            for answer in each["model_outputs"].values():
                if is_for_writing(each["query_id"]) and answer.strip() and prescribed(answer) == "answered":
                    yield Text(answer, each["query"], False, RIGHT)


def fitted(texts: Sequence[Text]) -> dict[str, Any]:
    """Return the weights that fit the texts, as the package reads them."""
    folded = [(_folded(text.answer), _folded(text.question)) for text in texts]
    signs = [signs_of(*pair).values for pair in folded]
    words = [words_of(*pair) for pair in folded]
    counted = Counter(word for each in words for word in each)
    known = sorted(word for word, number in counted.items() if number >= LEAST_TEXTS)
    names = sorted({name for each in signs for name in each})
    declines = np.array([text.declines for text in texts], dtype=float)
    weights = np.array([text.weight for text in texts])
    dense = np.array([[each.get(name, 0.0) for name in names] for each in signs])
    found = _logistic(dense, _sparse(words, known), declines, weights, [_penalty(word) for word in known])
    kinds = [place for place, text in enumerate(texts) if text.kind in DECLINED]
    unknowing = np.array([texts[place].kind == "dont_know" for place in kinds], dtype=float)
    of_kind = _logistic(dense[kinds], None, unknowing, weights[kinds], ())
    own, others = found[1 : len(names) + 1], found[len(names) + 1 :]
    return {
        "bias": round(float(found[0]), 4),
        "signs": {name: round(float(weight), 4) for name, weight in zip(names, own, strict=True)},
        "words": {
            word: round(float(weight), 3)
            for word, weight in zip(known, others, strict=True)
            if abs(weight) >= LEAST_WEIGHT
        },
        "unknowing": {
            name: round(float(weight), 4)
            for name, weight in zip(("bias", *names), of_kind, strict=True)
            if abs(weight) >= 0.001
        },
        **THRESHOLDS,
    }


def _penalty(word: str) -> float:
    """Return what holds the weight of a word, a character or a family near 0."""
    if FAMILY not in word:
        return OF_CHARACTERS if len(word.lstrip("?")) == 1 else OF_WORDS
    if "+" in word or "!" in word:
        return OF_PAIRS
    return OF_PLACES if "@" in word else OF_FAMILIES


def _logistic(dense: Any, sparse: Any, labels: Any, weights: Any, of_words: Sequence[float]) -> Any:
    """Return the bias and the weights of a penalised logistic regression."""
    from scipy.optimize import minimize
    from scipy.sparse import csr_matrix, hstack

    columns = [np.ones((len(labels), 1)), dense]
    penalty = np.concatenate([[0.01], np.full(dense.shape[1], OF_SIGNS)])
    matrix = csr_matrix(np.hstack(columns))
    if sparse is not None:
        matrix = hstack([matrix, sparse]).tocsr()
        penalty = np.concatenate([penalty, of_words])

    def loss(found: Any) -> Any:
        odds = matrix @ found
        losses = np.logaddexp(0, odds) - labels * odds
        error = weights * (1 / (1 + np.exp(-np.clip(odds, -30, 30))) - labels)
        return (weights * losses).sum() + 0.5 * (penalty * found**2).sum(), matrix.T @ error + penalty * found

    start = np.zeros(matrix.shape[1])
    return minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 150}).x


def _sparse(words: Sequence[set[str]], known: Sequence[str]) -> Any:
    from scipy.sparse import csr_matrix

    place = {word: column for column, word in enumerate(known)}
    cells = [(row, place[word]) for row, each in enumerate(words) for word in each if word in place]
    rows, columns = zip(*cells, strict=True)
    return csr_matrix((np.ones(len(cells)), (rows, columns)), shape=(len(words), len(known)))


def _folded(text: str) -> str:
    return folded_with_places(text[:READ])[0]


def _records(name: str) -> list[dict[str, Any]]:
    lines = (FOLDER / name).read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines if line.strip()]


def main() -> None:
    """Fit the model on everything and write its weights."""
    texts = [*own_sets(), *other_texts()]
    found = fitted(texts)
    WEIGHTS.write_text(json.dumps(found, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{len(texts)} texts, {len(found['signs'])} signs, {len(found['words'])} words: {WEIGHTS.name}")


if __name__ == "__main__":
    main()
