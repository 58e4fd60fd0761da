"""A small assistant for the stories beside it: it finds sentences that share words with the question.

It is no good system, and that is the point: it answers most facts, muddles some of the rest, and answers one
question that it should decline. ``rag-eval golden examples/golden --target examples.golden.assistant:answer``
"""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise
from math import log
from pathlib import Path
from typing import Any, NamedTuple

STORIES = Path(__file__).parent / "stories"
REFUSALS = {True: "抱歉，我只能回答与灯落群岛有关的问题。", False: "Sorry, I cannot answer that."}

_SCENE = re.compile(r"^(?=【|## )", re.MULTILINE)
_SENTENCE = re.compile(r"[^。\n]+。|[^。\n]+?\.(?=\s)")
_CHINESE = re.compile(r"[\u4e00-\u9fff]+")
_WORD = re.compile(r"[a-z]+")
_ASKING = re.compile(r"是什么|什么|多少|怎样|怎么|关系|吗")
_COMMON = (
    "a an and are by did do for how i in is it its me of on that the to was what which who will with like"
)
_POINTS_BACK = re.compile(r"[它他她]|\b(?:he|she|it|him|her|them)\b")
_ENOUGH = 0.25
_CONTEXTS = 2


class Sentence(NamedTuple):
    """A sentence of a scene, with the words in it."""

    text: str
    scene: str
    words: frozenset[str]


def answer(question: str, history: list[dict[str, str]]) -> dict[str, Any]:
    """Answer from the stories; a question that points back is read together with what was said before."""
    asked = _ASKING.sub(" ", question.lower())
    if _POINTS_BACK.search(asked):
        asked += " " + " ".join(message["content"].lower() for message in history[-2:])
    wanted = words(asked)
    ranked = sorted(sentences(), key=lambda sentence: -shared(wanted, sentence))
    best = shared(wanted, ranked[0])
    contexts = list(dict.fromkeys(sentence.scene for sentence in ranked[:4]))[:_CONTEXTS]
    if best < _ENOUGH:
        return {"response": REFUSALS[bool(_CHINESE.search(question))], "contexts": contexts}
    close = [sentence for sentence in ranked[:3] if shared(wanted, sentence) > 0.6 * best]
    told = [sentence.text for sentence in sentences() if sentence in close]
    return {"response": " ".join(told), "contexts": contexts}


def words(text: str) -> frozenset[str]:
    """Return the words of a text; of Chinese, every two neighbours."""
    pairs = (first + second for run in _CHINESE.findall(text) for first, second in pairwise(run))
    return frozenset((*pairs, *(word for word in _WORD.findall(text.lower()) if word not in _COMMON.split())))


def shared(wanted: frozenset[str], sentence: Sentence) -> float:
    """Return the share of the wanted words that a sentence has; rare ones weigh more."""
    weights = {word: rarity(word) for word in wanted}
    found = sum(weight for word, weight in weights.items() if word in sentence.words)
    return found / (sum(weights.values()) or 1.0)


@cache
def rarity(word: str) -> float:
    """Return how much a word tells sentences apart; one that the stories do not know tells little."""
    number = sum(word in sentence.words for sentence in sentences())
    return log(1 + len(sentences()) / number) if number else 1.0


@cache
def sentences() -> tuple[Sentence, ...]:
    """Return every sentence of the stories, in order."""
    return tuple(
        Sentence(text.strip(), scene.strip(), words(text))
        for path in sorted(STORIES.glob("*.txt"))
        for scene in _SCENE.split(path.read_text(encoding="utf-8"))
        for text in _SENTENCE.findall(scene)
    )
