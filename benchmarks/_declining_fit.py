"""Fits the model of declining in other words, and writes its weights into the package.

Run `python -m benchmarks._declining_fit`. It learns from texts of our own (the sets to work with, answers
written for the purpose, the older sets, the tables of the tests) and from answers whose licence allows it:
right ones of EVOUNA and BEGIN, and of MTRAG-UN and NoMIRACL the half that does not report. Long texts that
only tell something keep it from taking length for declining: turns of MTRAG-UN, passages of NoMIRACL, pages
cited in WiCE. The set that was opened once, XSTest, RAGTruth and ALCE take no part.
"""

from __future__ import annotations

import csv
import gzip
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from benchmarks._labelled_data import DATA
from benchmarks._refusals import _records as _unpacked
from benchmarks._refusals import is_for_writing, prescribed
from rag_evaluation_framework.files import yaml_documents
from rag_evaluation_framework.judging import declining as package
from rag_evaluation_framework.judging.answer_classes import classify_by_patterns
from rag_evaluation_framework.judging.declining import FAMILY, signs_of, words_of
from rag_evaluation_framework.text.normalisation import folded_with_places

FOLDER = Path(__file__).parent / "data"
TABLES = Path(__file__).parents[1] / "tests" / "judging" / "answer_classes.yaml"
WEIGHTS = Path(package.__file__).parent / "data" / "declining_weights.json.gz"
WORK_SETS = tuple(f"refusals_work_{number}.jsonl" for number in (1, 2, 3, 4, 5))
DECLINED = ("refused", "dont_know")

# What a text counts for: others' answers are many and easy.
WORK, OWN, WRITTEN, TABLE, RIGHT, TOLD, REFERENCE, ASKS_BACK = 1.0, 0.7, 0.8, 0.8, 0.1, 0.25, 0.4, 0.3
RIGHT_ANSWERS, RIGHT_SCRAPS, LONG = 1500, 200, 40
# Long texts: from so many characters on (Chinese ones say more with fewer), so many of a source.
TURN, PASSAGE, PASSAGE_IN_CHINESE, PAGE, REPLY, PAGES, REPLIES = 150, 150, 60, 120, 60, 250, 80
SENTENCE, PAGE_LENGTHS = 60, (300, 500, 700, 850)
SWAPPED, SWAPPED_TEXTS = 0.2, 1200
# Penalties of weights, chosen by leaving sets out in turn; rarer words and smaller weights go. What the
# question says weighs less than what the answer does: a topic is no sign of declining.
OF_SIGNS, OF_WORDS, OF_CHARACTERS, OF_FAMILIES = 10.0, 2.0, 3.0, 5.0
OF_QUESTION_SIGNS, QUESTION = 15.0, 4.0
LEAST_TEXTS, LEAST_WEIGHT = 2, 0.04
# From which probability on an answer declines, chosen on sets left out. Without a sign more is asked for:
# what the question is about must not make an answer beside the point a declining one.
THRESHOLDS = {
    "threshold": 0.62,
    "without_signs": 0.7,
    "of_questions": 0.75,
    "of_answers": 0.7,
    "of_patterns": 0.29,
    "of_long_answers": 0.75,
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
    yield from _long_texts(data)


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


def _long_texts(data: Path) -> Iterator[Text]:
    """Yield what people and models tell at length, with the question where there is one."""
    turns = {
        answer["text"]: asked["text"]
        for each in _unpacked(data / "mtrag" / "mtragun_reference.jsonl.gz")
        if is_for_writing(each["conversation_id"])
        for asked, answer in pairwise(each["input"])
        if answer["speaker"] == "agent" and len(answer["text"]) >= TURN
    }
    for text, question in turns.items():
        if classify_by_patterns(text, question).kind == "answered":
            yield Text(text, question, False, TOLD)
    random = Random(0)
    for language, least in (("en", PASSAGE), ("zh", PASSAGE_IN_CHINESE)):
        (path,) = (data / "nomiracl").glob(f"{language}.jsonl*")
        for each in filter(lambda record: is_for_writing(record["query_id"]), _unpacked(path)):
            passage = random.choice(each["contexts"][:3]).partition(": ")[2]
            if len(passage) > least:
                yield Text(passage, each["query"], False, TOLD)
    pages = {each["meta"]["claim_title"]: each for each in _unpacked(data / "wice" / "claim_dev.jsonl.gz")}
    for each in [*pages.values()][:PAGES]:
        sentences = [one for one in each["evidence"] if len(one) > SENTENCE and one.rstrip().endswith(".")]
        page = " ".join(sentences)[: random.choice(PAGE_LENGTHS)].rpartition(". ")[0]
        if len(page) > PAGE:
            yield Text(f"{page}.", "", False, TOLD)
    for source in ("cmu", "tc", "wow"):
        text = (data / "begin" / f"begin_dev_{source}.tsv").read_text(encoding="utf-8")
        rows = csv.DictReader(text.split("\n"), delimiter="\t", quoting=csv.QUOTE_NONE)
        replies = [row for row in rows if row["begin_label"] == "Fully attributable"]
        for row in [row for row in replies if len(row["response"]) > REPLY][:REPLIES]:
            yield Text(row["response"], row["message"], False, TOLD)


def _swapped(texts: Sequence[Text]) -> Iterator[Text]:
    """Yield answers to other questions, those that were declined: asking for it does not make it declined."""
    random = Random(1)
    questions = [text.question for text in texts if text.declines and text.question]
    others = [text for text in texts if not text.declines and text.question and text.weight != ASKS_BACK]
    for question in random.sample(questions, min(SWAPPED_TEXTS, len(questions))):
        yield Text(random.choice(others).answer, question, False, SWAPPED)


def fitted(texts: Sequence[Text]) -> dict[str, Any]:
    """Return the weights that fit the texts, as the package reads them."""
    texts = [*texts, *_swapped(texts)]
    shown = [_shown(text.answer, text.question) for text in texts]
    signs, words = [each[0] for each in shown], [each[1] for each in shown]
    counted = Counter(word for each in words for word in each)
    known = sorted(word for word, number in counted.items() if number >= LEAST_TEXTS)
    names = sorted({name for each in signs for name in each})
    declines = np.array([text.declines for text in texts], dtype=float)
    weights = np.array([text.weight for text in texts])
    dense = np.array([[each.get(name, 0.0) for name in names] for each in signs])
    asked = frozenset(signs_of(".", "what?").values) - frozenset(signs_of(".", "").values)
    penalties = [_penalty_of_sign(name, asked) for name in names], [_penalty(word) for word in known]
    found = _logistic(dense, _sparse(words, known), declines, weights, penalties)
    kinds = [place for place, text in enumerate(texts) if text.kind in DECLINED]
    unknowing = np.array([texts[place].kind == "dont_know" for place in kinds], dtype=float)
    of_kind = _logistic(dense[kinds], None, unknowing, weights[kinds], (penalties[0], []))
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
    bare = word.lstrip("?")
    own = OF_FAMILIES if FAMILY in word else OF_CHARACTERS if len(bare) == 1 else OF_WORDS
    return own if bare == word else QUESTION * own


def _penalty_of_sign(name: str, asked: frozenset[str]) -> float:
    return OF_QUESTION_SIGNS if name in asked else OF_SIGNS


def _logistic(
    dense: Any, sparse: Any, labels: Any, weights: Any, penalties: tuple[list[float], list[float]]
) -> Any:
    """Return the bias and the weights of a penalised logistic regression."""
    from scipy.optimize import minimize
    from scipy.sparse import csr_matrix, hstack

    columns = [np.ones((len(labels), 1)), dense]
    penalty = np.concatenate([[0.01], *penalties])
    matrix = csr_matrix(np.hstack(columns))
    if sparse is not None:
        matrix = hstack([matrix, sparse]).tocsr()

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


@cache  # models are fitted without one set after the other
def _shown(answer: str, question: str) -> tuple[Mapping[str, float], set[str]]:
    pair = tuple(folded_with_places(text[:READ])[0] for text in (answer, question))
    return signs_of(*pair).values, words_of(*pair)


def _records(name: str) -> list[dict[str, Any]]:
    lines = (FOLDER / name).read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines if line.strip()]


def main() -> None:
    """Fit the model on everything and write its weights."""
    texts = [*own_sets(), *other_texts()]
    found = fitted(texts)
    written = json.dumps(found, ensure_ascii=False) + "\n"
    WEIGHTS.write_bytes(gzip.compress(written.encode(), mtime=0))
    print(f"{len(texts)} texts, {len(found['signs'])} signs, {len(found['words'])} words: {WEIGHTS.name}")


if __name__ == "__main__":
    main()
