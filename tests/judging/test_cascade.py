"""Cascades: every stage decides what it is sure of, bands hold what they promise, wrong texts are told."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from benchmarks import cascade as benchmark
from chat_server import running_chat

from cases import tables_beside
from labelled_data import present
from rag_evaluation_framework import UsageError, evaluate
from rag_evaluation_framework.errors import InputError
from rag_evaluation_framework.judging.cascade import (
    Band,
    Cascade,
    LabelledClaim,
    Stage,
    fitted_band,
    fitted_cascade,
    read_labelled_claims,
    shipped_bands,
    support_from,
)
from rag_evaluation_framework.judging.judge import Judge
from rag_evaluation_framework.judging.lexical_support import LexicalSupport
from rag_evaluation_framework.models.clients import as_chat_model
from rag_evaluation_framework.records.scores import Claim, ClaimVerdict

TABLES = tables_beside(__file__)

EVIDENCE = ["The old bridge was built in 1890 by Clara Weiss. It is 120 metres long."]


class Fixed:
    """Says of claims what a table has; keeps what it was asked."""

    version = 1

    def __init__(self, name: str, table: dict[str, float | None]) -> None:
        self.name, self.table = name, table
        self.asked: list[list[str]] = []

    def decide(
        self, claims: Sequence[Claim], evidence: Sequence[str], *, question: str = ""
    ) -> list[ClaimVerdict]:
        self.asked.append([claim.text for claim in claims])
        return [
            ClaimVerdict(
                claim=claim,
                label="supported" if (self.table[claim.text] or 0) >= 0.5 else "unsupported",
                probability=self.table[claim.text],
            )
            for claim in claims
        ]


def claims(*texts: str) -> list[Claim]:
    return [Claim(text, 0, len(text)) for text in texts]


def test_each_stage_decides_what_it_is_sure_of_and_passes_on_the_rest() -> None:
    first = Fixed("first", {"a": 0.95, "b": 0.5, "c": 0.05, "d": 0.6})
    second = Fixed("second", {"b": 0.9, "d": 0.4})
    last = Fixed("last", {"d": 1.0})
    both = Cascade([Stage(first, Band(0.1, 0.9)), Stage(second, Band(0.2, 0.8)), Stage(last)])
    found = both.decide(claims("a", "b", "c", "d"), EVIDENCE)
    assert [(each.claim.text, each.label, each.by) for each in found] == [
        ("a", "supported", "first"),
        ("b", "supported", "second"),
        ("c", "unsupported", "first"),
        ("d", "supported", "last"),
    ]
    assert [first.asked, second.asked, last.asked] == [[["a", "b", "c", "d"]], [["b", "d"]], [["d"]]]
    assert both.decided == {"first": 2, "second": 1, "last": 1}
    assert both.name == "cascade(first 0.1 to 0.9 > second 0.2 to 0.8 > last)"
    both.decide(claims("a"), EVIDENCE)
    assert len(last.asked) == 1  # nobody is asked about nothing


def test_words_leave_open_what_they_were_not_measured_on() -> None:
    german = "Die alte Brücke wurde im Jahr 1890 von der berühmten Baumeisterin errichtet und ist sehr lang."
    last = Fixed("last", {german: 1.0})
    stages = Cascade([Stage(LexicalSupport(), Band(0.4, 0.5)), Stage(last)])
    assert [each.by for each in stages.decide(claims(german), EVIDENCE)] == ["last"]


def test_a_band_puts_no_more_wrong_than_is_allowed_in_any_source() -> None:
    draw = random.Random(1)
    labelled = []
    for source, noise in (("clear", 0.15), ("hard", 0.3)):
        for _ in range(1_500):
            truth = draw.random() < 0.6
            chance = min(1.0, max(0.0, (0.8 if truth else 0.2) + draw.gauss(0, noise)))
            labelled.append((source, chance, truth))
    wide, narrow = fitted_band(labelled, 0.1), fitted_band(labelled, 0.02)
    for band, allowed in ((wide, 0.1), (narrow, 0.02)):
        for source in ("clear", "hard"):
            of = [(chance, truth) for name, chance, truth in labelled if name == source]
            wrong = sum(
                (chance >= band.high) != truth for chance, truth in of if not band.low < chance < band.high
            )
            assert wrong / len(of) <= allowed
    assert 0 < wide.asked < narrow.asked < 1
    assert fitted_band(labelled[:20], 0.1) == Band()  # too few to know anything: never sure
    coin = [("s", draw.random(), draw.random() < 0.5) for _ in range(500)]
    assert fitted_band(coin, 0.03).asked > 0.9


def test_bands_from_a_file_of_labels_and_what_is_wrong_with_one(tmp_path: Path) -> None:
    rows = [
        {"claim": f"The bridge was built in {year}.", "evidence": EVIDENCE, "supported": year == 1890}
        for year in [1890, *range(1891, 1921)] * 4
    ]
    rows += [{"claim": "It is long.", "evidence": EVIDENCE[0], "supported": True}] * 100
    file = tmp_path / "claims.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    built = support_from(
        f'cascade(lexical, judge, labels="{file}", target=0.9)', Judge(as_chat_model(lambda _: ""))
    )
    assert isinstance(built, Cascade)
    decided = built.decide(claims("The bridge was built in 1890.", "The bridge was built in 1977."), EVIDENCE)
    assert [(each.is_supported, each.by) for each in decided] == [(True, "lexical"), (False, "lexical")]
    labelled = [LabelledClaim("It is long.", tuple(EVIDENCE), True)] * 60
    assert fitted_cascade([LexicalSupport(), Fixed("x", {})], labelled, target=0.9).last_stage_share < 1
    file.write_text('{"claim": 1, "supported": "yes"}\n[]\n')
    with pytest.raises(InputError) as told:
        read_labelled_claims(file)
    lines = str(told.value)
    for expected in (":1: ", ":2: ", "claim: text", "evidence: text or a list", "supported: true or false"):
        assert expected in lines


@pytest.mark.parametrize(("text", "message"), TABLES["a_wrong_text_is_told"])
def test_a_wrong_text_is_told(text: str, message: str) -> None:
    with pytest.raises(UsageError) as told:
        support_from(text)
    assert message in str(told.value)


def test_a_run_by_a_cascade_says_who_decided(tmp_path: Path) -> None:
    asked: list[str] = []

    def judge(prompt: dict[str, Any]) -> str:
        asked.append(str(prompt))
        entries = [{"number": 1, "label": "unsupported", "evidence": 0, "quote": ""}]
        return json.dumps({"claims": entries})

    said = "The old bridge was built in 1890 by Clara Weiss. It has a tower."
    with running_chat(judge) as server:
        run = evaluate(
            [{"question": "How is the bridge?", "answer": said, "contexts": EVIDENCE}],
            metrics=["faithfulness"],
            judge={"models": ("scripted",), "url": server.url},
            support="cascade(lexical(low=0.0, high=0.8), judge)",
            runs_directory=tmp_path,
        )
    assert run.metrics["faithfulness"].value == 0.5
    assert len(asked) == 1
    (head,) = [json.loads(file.read_text()) for file in tmp_path.rglob("head.json")]
    method = head["configuration"]["metrics"]["faithfulness"]
    assert method == "cascade(lexical 0 to 0.8 > judge:scripted)"
    assert "judge" in head["configuration"]
    (kept,) = [json.loads(file.read_text()) for file in tmp_path.rglob("judge_usage.json")]
    assert (kept["calls"], kept["decided"]) == (1, {"lexical": 1, "judge:scripted": 1})


def test_the_target_is_held_on_sources_it_was_not_set_on_for_half_the_calls() -> None:
    for name in ("begin", "ragtruth"):
        present(name)
    data = present("wice").parent
    found = benchmark.sources(data, ["qa", "summary"])
    assert len(found) == 6
    spared = set()
    for name, answers in found.items():
        band = benchmark.band_without(found, name, 0.85, 0.05)
        of = benchmark.tried(band, answers, benchmark.judged(answers, 0.05, 99))
        assert of.agreed / of.claims >= 0.85
        assert of.agreed > of.words_agreed
        spared |= {name.partition(",")[0]} if of.calls <= of.answers / 2 else set()
    assert spared == {"WiCE", "BEGIN"}
    assert set(shipped_bands()) == set(benchmark.TARGETS)
