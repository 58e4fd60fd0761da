"""Checks of a row: they decide as a plain reading of their rules, damage is named, every format has them."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cases import tables_beside
from command_lines import rag_eval
from rag_evaluation_framework import InputError, Sample, Turn, evaluate
from rag_evaluation_framework.datasets.conversion import convert
from rag_evaluation_framework.judging.verdict import AnswerVerdict, decide, decide_result
from rag_evaluation_framework.records.checks import CHECKS, judge_checks
from rag_evaluation_framework.records.responses import TURNS, Response
from rag_evaluation_framework.records.runs import SampleResult

TABLES = tables_beside(__file__)
ROWS: list[dict[str, Any]] = TABLES["rows"]
KINDS = [*CHECKS]


def reads_plainly(check: Mapping[str, Any], answer: str) -> bool:
    """Return whether an answer passes the checks of one object, as the docs say it and in plain Python."""
    answer, found = answer.strip(), []
    fold = str.casefold if check.get("ignore_case") else str
    value: Any = answer
    if "json_path" in check:
        try:
            value = json.loads(answer)
            for step in re.findall(r"\w+", check["json_path"]):
                value = value[int(step)] if step.isdigit() else value[step]
        except (ValueError, KeyError, IndexError, TypeError):
            value = None
    text = fold(value) if isinstance(value, str) else json.dumps(value)

    def is_value(wanted: Any) -> bool:
        return text == fold(wanted) if isinstance(wanted, str) else value == wanted and value is not True

    for kind, wanted in check.items():
        if kind == "contains":
            found.append(fold(wanted) in text)
        elif kind == "not_contains":
            found.append(fold(wanted) not in text)
        elif kind == "equals":
            found.append(is_value(wanted))
        elif kind == "one_of":
            found.append(any(map(is_value, wanted)))
        elif kind == "regex":
            flags = re.IGNORECASE if check.get("ignore_case") else 0
            found.append(re.search(wanted, text, flags) is not None)
        elif kind == "is_json":
            try:
                found.append((json.loads(answer) is not ...) == wanted)
            except ValueError:
                found.append(not wanted)
        elif kind == "json_path":
            found.append(value is not None)
        elif kind == "max_words":
            han = len(re.findall("[一-鿿]", answer))
            words = [word for word in re.sub("[一-鿿]", " ", answer).split() if any(map(str.isalnum, word))]
            found.append(len(words) + round(han / 1.6) <= wanted)
    return all(each != bool(check.get("negate")) for each in found)


def passes_plainly(row: Mapping[str, Any]) -> bool:
    checks = row["checks"]
    return all(
        reads_plainly(each, row["answer"]) for each in (checks if isinstance(checks, list) else [checks])
    )


def sample_of(checks: Any, **fields: Any) -> Sample:
    return Sample(id="s", turns=(Turn(role="user", content="q?"),), checks=checks, **fields)


def judged(checks: Any, answer: str, **fields: Any) -> AnswerVerdict:
    return decide(sample_of(checks, **fields), Response(text=answer))


def test_checks_decide_as_a_plain_reading() -> None:
    rows = [{"question": f"q{number}?", **row} for number, row in enumerate(ROWS)]
    found = {row.sample.question: row.verdict for row in evaluate(rows).rows if row.sample is not None}
    assert len(found) == len(ROWS) >= 30
    for number, row in enumerate(ROWS):
        verdict = found[f"q{number}?"]
        assert verdict is not None
        assert (verdict.state, verdict.by) == ("correct" if passes_plainly(row) else "wrong", "check"), row
        assert verdict.why.startswith("passes " if verdict.is_correct else "fails "), row
    states = [each.state for each in found.values() if each is not None]
    assert states.count("wrong") >= 10
    assert {kind for row in ROWS for kind in KINDS if kind in str(row["checks"])} == set(KINDS)


def test_verdict_names_the_check_that_failed() -> None:
    checks = [{"contains": "27 days"}, {"json_path": "$.a", "equals": 5, "negate": True}, {"max_words": 2}]
    assert judged(checks, "Thirty days of leave.").why == 'fails contains "27 days", max_words 2'
    assert judged(checks, '{"a": 5}').why == 'fails contains "27 days", not json_path $.a equals 5'


def test_reference_decides_where_checks_hold() -> None:
    assert judged({"max_words": 9}, "At 8:30.", reference="At 7:30.").by == "words"
    assert judged({"max_words": 1}, "At 7:30.", reference="At 7:30.").state == "wrong"


texts = st.text("aAß é1中\n.*", min_size=1, max_size=8).filter(str.strip)
one_check = st.one_of(
    st.builds(
        lambda kind, text: {kind: text}, st.sampled_from(["contains", "not_contains", "equals"]), texts
    ),
    st.builds(lambda several: {"one_of": several}, st.lists(texts, min_size=1, max_size=3)),
    st.builds(lambda text: {"regex": re.escape(text).replace("\\\n", "\n")}, texts),
    st.builds(lambda count: {"max_words": count}, st.integers(1, 4)),
    st.just({"is_json": True}),
    st.builds(lambda value: {"json_path": "$[0]", "equals": value}, st.one_of(texts, st.integers(0, 2))),
)


@settings(max_examples=300, deadline=None)
@given(check=one_check, answer=st.one_of(texts, st.builds(lambda each: json.dumps([each]), texts)))
def test_negating_a_check_flips_it(check: dict[str, Any], answer: str) -> None:
    ((name, holds),) = judge_checks(check, answer)
    assert judge_checks([{**check, "negate": True}], answer) == [(f"not {name}", not holds)]
    assert holds == reads_plainly(check, answer)


@settings(max_examples=300, deadline=None)
@given(check=one_check, answer=texts)
def test_ignoring_case_is_casefold_of_both(check: dict[str, Any], answer: str) -> None:
    if not check.keys() & {"regex", "is_json", "max_words", "json_path"}:
        folded = {
            kind: [each.casefold() for each in value] if kind == "one_of" else value.casefold()
            for kind, value in check.items()
        }
        expected = judge_checks(folded, answer.casefold())[0][1]
        assert judge_checks({**check, "ignore_case": True}, answer)[0][1] == expected


@pytest.mark.parametrize(
    ("pattern", "answer", "holds"),
    [
        ("(a+)+$", "a" * 40 + "b", False),
        (r"^(\w+\s?)*$", "word " * 4000 + "!", False),
        (r"(?:(a|a)*)*b\1", "a" * 60 + "c", None),
        (r"(?=(x|y)*z)x", "x" * 200_000, None),
        (r"(?<!\d)27(?!\d)", "x" * 10_000 + " 27 days", True),
    ],
)
def test_regular_expression_is_bounded_in_time(pattern: str, answer: str, holds: bool | None) -> None:
    began = time.perf_counter()
    verdict = judged([{"regex": pattern}], answer)
    assert time.perf_counter() - began < 10
    assert verdict.state == {True: "correct", False: "wrong", None: "not_judged"}[holds]
    if holds is None:
        assert verdict.why == f'ran out of time: regex "{pattern}"'
        assert judged([{"regex": pattern, "negate": True}], answer).state == "not_judged"


def written(format_: str, checks: Any) -> tuple[str, str]:
    """Return the name and the text of a file of one record with checks, and with no other truth."""
    golden = {"id": "1", "question": "q?", "ground_truth": "", "checks": checks}
    query = {"query_id": "1", "query_text": "q?", "relevant_documents": [], "checks": checks}
    dataset = {"dataset_id": "d", "name": "d", "version": "1.0.0", "queries": [query]}
    turn = {"role": "assistant", "checks": checks}
    row = {"question": "q?", "answer": "a", "checks": checks}
    cell = json.dumps(json.dumps(checks))[1:-1].replace('\\"', '""')
    return {
        "agent-samples": ("a.jsonl", json.dumps({"input": "q?", "checks": checks})),
        "evaluation-dataset": ("d.eval.json", json.dumps(dataset)),
        "evaluation-dataset, YAML": ("d.eval.yaml", json.dumps(dataset, indent=1)),
        "golden-factual": ("factual_qa.json", json.dumps([golden])),
        "golden-multiturn": (
            "multiturn_qa.json",
            json.dumps([{"id": "1", "conversation": [{"role": "user", "content": "q?"}, turn]}]),
        ),
        "rows": ("r.jsonl", json.dumps(row)),
        "rows, JSON": ("r.json", json.dumps([row])),
        "rows, YAML": ("r.yaml", json.dumps([row])),
        "rows, CSV": ("r.csv", f'question,answer,checks\nq?,a,"{cell}"\n'),
    }[format_]


FORMATS = (
    *(
        "agent-samples",
        "evaluation-dataset",
        "evaluation-dataset, YAML",
        "golden-factual",
        "golden-multiturn",
    ),
    *("rows", "rows, JSON", "rows, YAML", "rows, CSV"),
)


@pytest.mark.parametrize(("checks", "told"), TABLES["damaged"])
def test_damaged_check_is_named(checks: Any, told: str, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    records = [{"input": "q?", "expected": "a"}, {"input": "q?", "checks": checks}]
    path.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    lines = rag_eval("validate", path).stdout.splitlines()
    assert lines[0].rpartition(" [")[0] == f"{path}:2: error: {told}"
    with pytest.raises(InputError) as caught:
        evaluate(path, target=lambda _: "a")
    assert str(caught.value) == f"{path}:2: {told}"


@pytest.mark.parametrize("format_", FORMATS)
def test_every_format_names_all_damage_with_its_place(format_: str, tmp_path: Path) -> None:
    name, text = written(format_, [{"contain": "x"}, {"regex": "(", "ignore_case": 1}])
    (tmp_path / name).write_text(text, encoding="utf-8")
    *lines, _, count = rag_eval("validate", tmp_path / name).stdout.splitlines()
    assert count == "3 errors in 1 file"
    assert all(line.startswith(f"{tmp_path / name}:") for line in lines)
    for told in (
        'unknown key "contain" in',
        "checks[1].ignore_case: expected true or false",
        "checks[1].regex: ",
    ):
        assert sum(told in line for line in lines) == 1


@pytest.mark.parametrize("format_", FORMATS)
def test_every_format_carries_checks(format_: str, tmp_path: Path) -> None:
    name, text = written(format_, {"contains": "27 days", "ignore_case": True})
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert rag_eval("validate", tmp_path / name).exit_code == 0
    for answer, state in (("You have 27 DAYS.", "correct"), ("You have 30 days.", "wrong")):
        path = tmp_path / name
        (verdict,) = [row.verdict for row in evaluate(path, target=lambda _, answer=answer: answer).rows]
        assert verdict is not None
        assert (verdict.state, verdict.by) == (state, "check"), verdict


@pytest.mark.parametrize("kind", ["agent-samples", "evaluation-dataset", "golden-factual", "golden-boundary"])
def test_conversion_keeps_checks(kind: str, tmp_path: Path) -> None:
    checks = [{"json_path": "$.a", "equals": 5, "negate": False}, {"max_words": 60}]
    path, there, back = (tmp_path / name for name in ("a.jsonl", "there.json", "back.jsonl"))
    path.write_text(json.dumps({"id": "1", "input": "q?", "expected": "Refusal", "checks": checks}))
    convert(path, there, to=kind)
    convert(there, back, to="agent-samples", lossy=True)
    assert json.loads(back.read_text())["checks"] == checks


def test_format_without_checks_refuses_to_lose_them(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"input": "q?", "checks": {"contains": "x"}}))
    with pytest.raises(InputError, match="checks"):
        convert(path, tmp_path / "b.jsonl", to="ragas")


def test_turns_are_judged_by_their_checks() -> None:
    turns = (
        Turn(role="user", content="How many days?"),
        Turn(role="assistant", extra={"checks": {"contains": "27"}}),
        Turn(role="user", content="And for trainees?"),
        Turn(role="assistant", reference="30 days", extra={"checks": [{"max_words": 3}]}),
    )
    sample = Sample(id="c", turns=turns)
    told = [{"answer": "27 days."}, {"answer": "Trainees have 30 days of leave."}]
    response = Response(text=told[-1]["answer"], metadata={TURNS: told})
    verdict = decide_result(sample, SampleResult(sample_id="c", response=response, scores=()))
    assert verdict is not None
    assert [each.state for each in verdict.turns] == ["correct", "wrong"]
    assert verdict.turns[1].why == "fails max_words 3"


def test_sample_refuses_checks_that_no_turn_would_have() -> None:
    turns = (Turn(role="user", content="q?"), Turn(role="assistant", reference="r"))
    with pytest.raises(InputError, match="checks: expected checks in the turns"):
        Sample(id="c", turns=turns, checks={"contains": "x"})
    with pytest.raises(InputError, match=r"checks\[0\].regex: expected a regular expression"):
        sample_of([{"regex": "["}])


def test_failing_check_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    row = {"question": "How many days?", "answer": "30 days.", "checks": {"contains": "27 days"}}
    Path("rows.jsonl").write_text(json.dumps(row), encoding="utf-8")
    scored = rag_eval("score", "rows.jsonl", "--runs-dir", "runs")
    assert 'why       wrong: fails contains "27 days"' in scored.stdout, scored.output
    assert 'wrong: fails contains "27 days" (check)' in rag_eval("show", "001").stdout
    (shown,) = json.loads(rag_eval("show", "001", "--json").stdout)
    assert shown["verdict"]["why"] == 'fails contains "27 days"'
    assert rag_eval("report", "001", "--out", "run.html").exit_code == 0
    assert r'"by":"check","why":"fails contains \"27 days\""' in Path("run.html").read_text(encoding="utf-8")


def test_list_names_every_check_with_an_example() -> None:
    screen = rag_eval("list", "checks").stdout
    rows = json.loads(rag_eval("list", "checks", "--json").stdout)
    assert [row["name"] for row in rows] == [*KINDS, "ignore_case", "negate"]
    for row in rows[: len(KINDS)]:
        assert row["name"] in row["example"]
        assert json.dumps(row["example"]) in screen
        assert sample_of([row["example"]]).checks
