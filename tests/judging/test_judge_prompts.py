"""Prompts: what a file must hold, what is told of one that does not, and texts set in as data."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from chat_server import in_turn
from hypothesis import given
from hypothesis import strategies as st
from scripted_judge import judged_by, read_question

from cases import tables_beside
from rag_evaluation_framework import InputError
from rag_evaluation_framework.errors import UnknownNameError
from rag_evaluation_framework.models.prompts import (
    FRAME,
    load_prompt,
    messages_for,
    parse_prompt,
    prompt_names,
    read_prompt,
)

TABLES = tables_beside(__file__)

# A prompt that changes gets a new version, so that figures by different words are told apart: raise the
# version in the file, then its new digest in judge_prompts.yaml. The frame is a part of every prompt.
KNOWN = TABLES["known"]


def digest(name: str) -> str:
    prompt = load_prompt(name)
    words = json.dumps([FRAME, prompt.body, prompt.schema], sort_keys=True)
    return hashlib.sha256(words.encode()).hexdigest()[:12]


def test_a_prompt_changes_only_together_with_its_version() -> None:
    assert {name: [load_prompt(name).version, digest(name)] for name in prompt_names()} == KNOWN


@pytest.mark.parametrize("name", prompt_names())
def test_a_shipped_prompt_is_named_as_its_file_and_binds_its_verdict_to_a_closed_schema(name: str) -> None:
    prompt = load_prompt(name)
    assert prompt.name == name
    objects = [prompt.schema]
    if prompt.listed is not None:
        objects.append(prompt.schema["properties"][prompt.listed]["items"])
    for schema in objects:
        assert schema["additionalProperties"] is False
        assert sorted(schema["required"]) == sorted(schema["properties"])
    assert list(objects[-1]["properties"])[-1] == prompt.decides, "the verdict comes after what it rests on"


def test_an_unknown_prompt_is_told_with_the_nearest_name() -> None:
    with pytest.raises(UnknownNameError, match='Did you mean "relevancy'):
        load_prompt("relevance")


OWN = """\
---
name: politeness
version: 3
description: Whether an answer is polite.
fields:
  answer: text
  notes: optional texts
decides: polite
schema:
  type: object
  required: [polite]
  properties:
    polite: {type: boolean}
---
Is this polite?
{answer}
{notes}
"""


def test_a_prompt_of_ones_own_is_read_from_a_file_and_judged_by(tmp_path: Path) -> None:
    path = tmp_path / "politeness.md"
    path.write_text(OWN, encoding="utf-8")
    prompt = read_prompt(path)
    with judged_by(in_turn('{"polite": true}')) as (judge, _):
        verdict = judge.verdict(prompt, {"answer": "Thank you."})
    assert (dict(verdict.values), verdict.prompt, verdict.prompt_version) == (
        {"polite": True},
        "politeness",
        3,
    )


def test_everything_that_is_wrong_with_a_prompt_is_told_with_its_line() -> None:
    wrong = OWN.replace("version: 3", "version: zero").replace("answer: text", "answer: prose")
    wrong = wrong.replace("{type: boolean}", "{type: string}").replace("{notes}", "{note}")
    wrong = wrong.replace("description:", "descripton:")
    with pytest.raises(InputError) as caught:
        parse_prompt(wrong, file="politeness.md")
    assert [str(issue) for issue in caught.value.issues] == [
        'politeness.md:2: "description" is missing; expected text',
        "politeness.md:3: version: expected a whole number of at least 1, got 'zero'",
        'politeness.md:4: unknown key "descripton" in the file. Did you mean "description"?',
        "politeness.md:6: fields.answer: expected one of text, texts, optional text, optional texts, "
        "instructions, got 'prose'",
        "politeness.md:6: fields: expected a field for {note} in the text, got no such field",
        "politeness.md:7: fields.notes: expected {notes} once in the text, got {notes} 0 times",
        "politeness.md:13: schema.properties.polite: expected a deciding field: a string with enum, "
        "a boolean or a number, got {'type': 'string'}",
    ]


@pytest.mark.parametrize(("decides", "expected"), TABLES["what_decides_must_be_in_the_schema"])
def test_what_decides_must_be_in_the_schema(decides: str, expected: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_prompt(OWN.replace("decides: polite", f"decides: {decides}"))
    assert expected in str(caught.value)


@pytest.mark.parametrize("text", ["Is this polite? {answer}", "", "---\nname: x\nno end"])
def test_a_prompt_without_a_head_is_told_so(text: str) -> None:
    with pytest.raises(InputError, match="expected a header between two lines ---"):
        parse_prompt(text, file="x.md")


def asked(name: str, fields: dict[str, str | list[str]]) -> dict[str, list[dict[str, str]]]:
    messages = messages_for(load_prompt(name), fields)
    return {"messages": [{"role": each.role, "content": each.content} for each in messages]}


@given(st.text(min_size=1).filter(str.strip), st.text(min_size=1).filter(str.strip))
def test_a_judge_reads_the_very_texts_that_were_given(question: str, answer: str) -> None:
    reading = read_question(asked("relevancy", {"question": question, "answer": answer}))
    assert reading.prompt.name == "relevancy"
    assert reading.texts == {"question": question, "answer": answer}


@given(st.lists(st.text(min_size=1).filter(str.strip), min_size=1), st.lists(st.text(min_size=1), min_size=1))
def test_the_texts_of_a_list_keep_their_numbers(claims: list[str], evidence: list[str]) -> None:
    evidence = [*evidence, "something"]
    reading = read_question(asked("claim_support", {"claims": claims, "evidence": evidence}))
    assert (reading.several("claims"), reading.several("evidence")) == (claims, evidence)


def test_a_text_that_is_not_given_is_told_to_be_none() -> None:
    body = messages_for(load_prompt("answer_class"), {"answer": "At nine."})[1].content
    assert "The question:\n(none)\n" in body


def test_places_inside_a_text_are_not_filled() -> None:
    body = messages_for(load_prompt("relevancy"), {"question": "{answer}", "answer": "{question}"})[1].content
    assert body.count("{answer}") == body.count("{question}") == 1


@given(st.text(min_size=1).filter(str.strip), st.text(min_size=1).filter(str.strip))
def test_what_is_remembered_tells_questions_apart_and_does_not_hold_the_code(first: str, second: str) -> None:
    def remembered(answer: str) -> list[str | None]:
        messages = messages_for(load_prompt("toxicity"), {"answer": answer})
        return [message.remembered_as for message in messages]

    assert remembered(first) == remembered(first)
    assert (remembered(first) == remembered(second)) == (first == second)
