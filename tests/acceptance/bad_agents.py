"""Targets that answer questions on the handbook in ``huts``: one right, seven each bad in its own way."""

import re
from pathlib import Path
from typing import Any

import yaml

HUTS = Path(__file__).parent / "huts"
DOCUMENTS = {
    path.name: path.read_text(encoding="utf-8") for path in sorted((HUTS / "documents").glob("*.md"))
}
DATA = yaml.safe_load((HUTS / "answers.yaml").read_text(encoding="utf-8"))
OTHER_NAMES: dict[str, str] = DATA["other_names"]
ANSWERS: dict[str, dict[str, str]] = {row["question"]: row for row in DATA["answers"]}
NUMBERS = {question: number for number, question in enumerate(ANSWERS)}

Reply = dict[str, Any]


def correct_agent(question: str) -> Reply:
    """Answer every question right and decline the three that nobody should answer."""
    return {"answer": ANSWERS[question]["answer"], "contexts": retrieve_passages(question)}


def another_town(question: str) -> Reply:
    """Name another place or person than the handbook does."""
    reply = correct_agent(question)
    names = re.compile("|".join(OTHER_NAMES))
    return reply | {"answer": names.sub(lambda name: OTHER_NAMES[name[0]], reply["answer"])}


def wrong_numbers(question: str) -> Reply:
    """Answer with wrong numbers, from passages that have the same wrong numbers."""
    reply = correct_agent(question)
    contexts = [passage | {"text": change_numbers(passage["text"])} for passage in reply["contexts"]]
    return {"answer": change_numbers(reply["answer"]), "contexts": contexts}


def empty_half(question: str) -> Reply:
    """Leave every second answer empty."""
    return correct_agent(question) | ({"answer": ""} if NUMBERS[question] % 2 else {})


def dont_know_half(question: str) -> Reply:
    """Know nothing every second time."""
    return correct_agent(question) | ({"answer": "I don't know."} if NUMBERS[question] % 2 else {})


def whole_corpus(question: str) -> Reply:
    """Answer with the whole handbook."""
    return correct_agent(question) | {"answer": "\n\n".join(DOCUMENTS.values())}


def whole_passage(question: str) -> Reply:
    """Answer with the whole passage that holds the answer."""
    return correct_agent(question) | {"answer": retrieve_passages(question)[0]["text"]}


def never_refuses(question: str) -> Reply:
    """Answer as the right agent does, but make something up where it declines."""
    row = ANSWERS[question]
    return correct_agent(question) | {"answer": row.get("made_up", row["answer"])}


def retrieve_passages(question: str) -> list[dict[str, str]]:
    """Return the document that holds the answer and the one after it."""
    names = list(DOCUMENTS)
    first = names.index(ANSWERS[question]["document"])
    return [{"id": name, "text": DOCUMENTS[name]} for name in (names[first], names[(first + 1) % len(names)])]


def change_numbers(text: str) -> str:
    """Return a text with three added to each of its numbers."""
    return re.sub(r"\d+", lambda number: f"{int(number[0]) + 3:0{len(number[0])}d}", text)
