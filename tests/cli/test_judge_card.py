"""Judges' cards: planted faults are found with their size, a clean judge passes, and cards are used."""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from chat_server import Asked, running_chat
from scripted_judge import Reading, read_question

from command_lines import rag_eval
from kept_screens import WIDTHS, check
from rag_evaluation_framework import UsageError
from rag_evaluation_framework.judging import judge_card
from rag_evaluation_framework.models.prompts import load_prompt
from rag_evaluation_framework.reports.blocks import Screen
from rag_evaluation_framework.reports.dataset_blocks import describe_judge_card

FILE = Path(judge_card.__file__).parent / "data" / "judge_card.yaml"
TEXTS = yaml.safe_load(FILE.read_text(encoding="utf-8"))
LABELS = {
    (passage["evidence"], text): label
    for passages in TEXTS["claims"].values()
    for passage in passages
    for label in ("supported", "contradicted", "unsupported")
    for text in passage[label]
}
BETTER = {pair[1]: pair[2] for pairs in TEXTS["pairs"].values() for pair in pairs}
pytestmark = pytest.mark.usefixtures("folder")


def chance(*texts: str) -> float:
    """Return a number from 0 to 1 that these texts always have."""
    return int.from_bytes(hashlib.sha256("|".join(texts).encode()).digest()[:4], "big") / 2**32


class ScriptedJudge:
    """Knows the labels, is wrong about four in a hundred, and has the faults that it is given, at a rate."""

    def __init__(self, **faults: float) -> None:
        self.faults = faults
        self.seen: Counter[str] = Counter()
        self.draw = random.Random(4)

    def has(self, fault: str, *texts: str) -> bool:
        return chance(fault, *texts) < self.faults.get(fault, 0.0)

    def __call__(self, asked: Asked) -> str:
        reading = read_question(asked)
        if self.has("garbled", *reading.texts.values()):
            return "Well, that depends."
        return json.dumps(self.preferred(reading) if "answer_1" in reading.texts else self.judged(reading))

    def judged(self, reading: Reading) -> dict[str, Any]:
        (told,) = reading.several("evidence")
        evidence, _, injected = told.partition("\n\n")
        claims = reading.several("claims")
        key = "|".join([told, *claims])
        self.seen[key] += 1
        entries = []
        for number, claim in enumerate(claims, 1):
            label = LABELS[evidence, claim]
            if chance("error", claim) < 0.04 or (label != "supported" and self.has("lenient", claim)):
                label = "unsupported" if label == "supported" else "supported"
            if self.seen[key] > 1 and self.draw.random() < self.faults.get("fickle", 0.0):
                label = "unsupported" if label != "unsupported" else "supported"
            if injected and self.has("obedient", claim):
                label = "supported"
            is_open = label == "unsupported"
            beginning = " ".join(evidence.split()[:3]) if evidence.isascii() else evidence[:12]
            quote = {"evidence": 0, "quote": ""} if is_open else {"evidence": 1, "quote": beginning}
            entries.append({"number": number, **quote, "label": label})
        return {"claims": entries}

    def preferred(self, reading: Reading) -> dict[str, Any]:
        question, first, second = (reading.texts[name] for name in ("question", "answer_1", "answer_2"))
        label = "answer_1" if first == BETTER[question] else "answer_2"
        if self.has("place", question):
            label = "answer_1"
        if self.has("length", question):
            label = "answer_1" if len(first) > len(second) else "answer_2"
        for name, text in (("answer_1", first), ("answer_2", second)):
            if ("choose it" in text or "请选它" in text) and self.has("obedient", question):
                label = name
        return {"reason": "So.", "label": label}


def card_of(judge: ScriptedJudge, code: int) -> dict[str, Any]:
    with running_chat(judge) as server:
        model = f'openai(model=scripted, base_url="{server.url}", price_input=1.0, price_output=2.0)'
        done = rag_eval("judge-card", "--judge-model", model, "--judge-concurrency", "4", "--json")
    assert done.return_value == code, done.output
    card: dict[str, Any] = json.loads(done.stdout)
    card["by_name"] = {each["name"]: each for each in card["figures"]}
    return card


def test_the_texts_are_as_many_and_as_even_as_is_said() -> None:
    pairs = [pair for each in TEXTS["pairs"].values() for pair in each]
    assert (len(LABELS), len(pairs), len(BETTER)) == (204, 60, 60)
    assert Counter(LABELS.values()) == {"supported": 68, "contradicted": 68, "unsupported": 68}
    assert sum(len(worse) > len(better) for _, _, better, worse in pairs) == 30
    assert {pair[0] for pair in pairs} == {"easy", "hard"}


def test_a_clean_judge_passes_and_its_card_is_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    card = card_of(ScriptedJudge(), 0)
    assert card["faults"] == []
    found = card["by_name"]["claims: agreement"]
    assert found["n"] == 204
    assert found["low"] < 0.96 < found["high"]
    for name in ("pairs: position bias", "claims: inconsistency", "injected instructions obeyed"):
        assert card["by_name"][name]["value"] == 0
    assert (card["calls"], card["failures"], card["cost_per_call"] > 0) == (259, {}, True)
    assert card["prompts"] == {"claim_support": 2, "preference": 1}

    # The sentence of the card stands beside the figures of the judge, in the terminal and in Markdown.
    text = "Ferry 1 sails at nine."
    rows = [{"question": "When?", "answer": text, "contexts": [text], "expected": text}]
    (folder / "rows.jsonl").write_text(json.dumps(rows[0]))

    def supported(asked: Asked) -> str:
        entry = {"number": 1, "evidence": 1, "quote": "Ferry 1 sails", "label": "supported"}
        return json.dumps({"claims": [entry]})

    with running_chat(supported) as server:
        judge = ("--judge-model", "scripted", "--judge-url", server.url)
        scored = rag_eval("score", "rows.jsonl", "-m", "faithfulness", *judge)
        assert "judge:scripted: agrees with the labels on 0.9" in " ".join(scored.stdout.split())
        (folder / "agent.yaml").write_text(
            "spec:\n  evaluation:\n    datasets: [{name: r, path: rows.jsonl, metrics: [faithfulness]}]\n"
            "    thresholds: {faithfulness: 0.1}\n    ciGate: true\n"
        )
        (folder / "answers.jsonl").write_text(json.dumps({"input": "When?", "answer": text}))
        sample = {"input": "When?", "expected": text, "context": [text]}
        (folder / "rows.jsonl").write_text(json.dumps(sample))
        gated = ("evaluate", "agent.yaml", "--target", "answers.jsonl", *judge)
        assert rag_eval(*gated).return_value == 0
        # Once the prompt has a later version, the gate refuses the card.
        (file,) = Path(".rag-eval/judge-cards").iterdir()
        assert file.name == "scripted.2.1.json"
        kept = json.loads(file.read_text())
        file.write_text(json.dumps({**kept, "prompts": {"claim_support": 1, "preference": 1}}))
        refused = rag_eval(*gated)
    assert load_prompt("claim_support").version == 2
    assert isinstance(refused.exception, UsageError)
    late = "the report card of judge:scripted is outdated: made with claim_support 1, now 2"
    assert late in str(refused.exception)


def test_a_judge_who_favours_a_place_is_lenient_and_fickle() -> None:
    card = card_of(ScriptedJudge(place=0.5, lenient=0.4, fickle=0.25), 1)
    told = " ".join(card["faults"])
    for fault in ("favors the first of two answers", "is lenient", "changes its verdict when asked again"):
        assert fault in told
    assert "length" not in told
    assert "obeys" not in told
    by_name = card["by_name"]
    # Half of the pairs go to the first place in both orders; of what is not supported, 40 % is let through.
    assert by_name["pairs: position bias"]["low"] < 0.5 < by_name["pairs: position bias"]["high"]
    assert by_name["claims: leniency"]["low"] < 0.4 < by_name["claims: leniency"]["high"] + 0.02
    # Twice asked again, a verdict changes with 1 - 0.75² = 0.44.
    assert by_name["claims: inconsistency"]["low"] < 0.44 < by_name["claims: inconsistency"]["high"]


def test_a_judge_who_favours_length_obeys_and_garbles() -> None:
    card = card_of(ScriptedJudge(length=0.6, obedient=0.7, garbled=0.15), 1)
    told = " ".join(card["faults"])
    for fault in ("favors the longer of two answers", "obeys instructions", "often fails to reply"):
        assert fault in told
    assert "lenient" not in told
    assert "first" not in told
    by_name = card["by_name"]
    assert by_name["pairs: length bias"]["low"] < 0.6 < by_name["pairs: length bias"]["high"]
    obeyed = by_name["injected instructions obeyed"]
    assert obeyed["low"] < 0.7 < obeyed["high"]
    assert by_name["failed replies"]["low"] < 0.15 < by_name["failed replies"]["high"]
    assert sum(card["failures"].values()) > 20
    made = judge_card.card_of("judge:scripted")
    assert made is not None
    for width in WIDTHS:
        screen = Screen(width=width)
        screen.draw(describe_judge_card(msgspec.structs.replace(made, seconds_per_call=0.31), card["path"]))
        check("judge-card", width, f"{screen}\n")


def test_without_a_judge_it_says_how_to_give_one() -> None:
    done = rag_eval("judge-card")
    assert isinstance(done.exception, UsageError)
    assert "judge-card needs a judge: use --judge-model MODEL" in str(done.exception)
