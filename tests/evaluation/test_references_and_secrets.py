"""References are resolved late and never guessed; what they stand for is hidden wherever it may come back."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import tables_beside
from rag_evaluation_framework import Hit, InputError, Options, Request, Response, Sample, SpanCitation, Turn
from rag_evaluation_framework.errors import ModelError, ModelOutageError, TargetError
from rag_evaluation_framework.evaluation.attempts import Asker, StopSign
from rag_evaluation_framework.evaluation.secrets import (
    MASK,
    SHORTEST,
    MaskedTarget,
    Secrets,
    file_inside,
    resolved,
)
from rag_evaluation_framework.evaluation.targets import PythonCallable

TABLES = tables_beside(__file__)

SAMPLE = Sample(id="s", turns=(Turn(role="user", content="q"),))


@pytest.mark.parametrize(
    ("text", "environment", "expected"), TABLES["references_are_filled_in_from_the_environment"]
)
def test_references_are_filled_in_from_the_environment(
    text: str, environment: dict[str, str], expected: str
) -> None:
    assert resolved(text, environment, secrets=Secrets()) == expected


def test_a_secret_is_read_from_the_secrets_folder_before_the_environment(tmp_path: Path) -> None:
    (tmp_path / "agent-key").write_text("from-the-file\n")
    environment = {"RAG_EVAL_SECRETS_DIR": str(tmp_path), "AGENT_KEY": "from-the-variable"}
    assert resolved("$secret:agent-key", environment, secrets=Secrets()) == "from-the-file"
    assert resolved("$secret:other", {**environment, "OTHER": "from-the-variable"}, secrets=Secrets()) == (
        "from-the-variable"
    )


@pytest.mark.parametrize(
    ("text", "environment", "expected"), TABLES["what_is_missing_empty_or_too_short_to_hide_is_an_error"]
)
def test_what_is_missing_empty_or_too_short_to_hide_is_an_error(
    text: str, environment: dict[str, str], expected: str
) -> None:
    with pytest.raises(InputError) as caught:
        resolved(text, environment, secrets=Secrets())
    assert expected in str(caught.value)
    assert "abc" not in str(caught.value)


def test_a_secrets_name_cannot_leave_the_secrets_folder(tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("not-for-you")
    inside = tmp_path / "inside"
    inside.mkdir()
    for name in ("../outside", "..", ".", "/etc/hostname"):
        with pytest.raises(InputError):
            resolved(f"$secret:{name}", {"RAG_EVAL_SECRETS_DIR": str(inside)}, secrets=Secrets())


def test_an_unreadable_secret_is_an_error_that_does_not_show_it(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(b"\xff\xfesecret-bytes")
    with pytest.raises(InputError) as caught:
        resolved("$secret:key", {"RAG_EVAL_SECRETS_DIR": str(tmp_path)}, secrets=Secrets())
    assert "secret-bytes" not in str(caught.value)
    assert "0xff" not in str(caught.value)


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a/../../x", "", "$file:", "a\0b"])
def test_a_file_reference_cannot_leave_the_folder(tmp_path: Path, path: str) -> None:
    with pytest.raises(InputError):
        file_inside(path, tmp_path)


@given(
    st.text(st.characters(codec="utf-8"), min_size=SHORTEST, max_size=40)
    .map(str.strip)
    .filter(lambda text: len(text) >= SHORTEST and len(text.split()) == 1)
)
def test_a_secret_is_hidden_in_every_form_in_which_it_may_come_back(secret: str) -> None:
    secrets = Secrets()
    secrets.add(f"Bearer {secret}")
    forms = [
        secret,
        json.dumps({"key": secret}),
        json.dumps({"key": secret}, ensure_ascii=False),
        f"{secret!r}",
        quote(secret, safe=""),
        base64.b64encode(secret.encode()).decode(),
        json.dumps([f"Bearer {secret}"]),
        secret.encode().hex(),
        secret.encode().hex().upper(),
    ]
    for form in forms:
        masked = secrets.mask(f"before {form} after")
        assert MASK in masked
        assert secret not in masked.replace(MASK, "")


def test_a_secret_that_was_cut_off_is_hidden_from_12_characters_on() -> None:
    secrets = Secrets()
    secrets.add("Bearer sk-live-0123456789abcdef")
    for shown in ("sk-live-0123", "sk-live-0123456789", "736b2d6c6976"):
        assert secrets.mask(f"no key {shown}..., no key {shown}!") == "no key ***..., no key ***!"
    assert secrets.mask("no key sk-live-012... for the Bearer") == "no key sk-live-012... for the Bearer"


def test_masking_a_value_reaches_keys_lists_and_depths_and_changes_nothing_else() -> None:
    secrets = Secrets()
    secrets.add("s3cret-value")
    value = {"s3cret-value": [1, None, {"a": ("x s3cret-value y", 2.5)}], "b": True}
    assert secrets.mask_value(value) == {"***": [1, None, {"a": ("x *** y", 2.5)}], "b": True}
    assert "s3cret" not in repr(secrets)


class _Leaky:
    """A target that tells a secret wherever it can."""

    name = "agent at s3cret-value"

    def __init__(self, outcome: Response | Exception) -> None:
        self.outcome = outcome

    async def answer(self, request: Request) -> Response:
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome

    async def close(self) -> None:
        pass


@pytest.mark.parametrize("kind", [ModelError, ModelOutageError])
def test_an_error_of_a_model_stays_one_when_a_secret_in_it_is_hidden(kind: type[ModelError]) -> None:
    secrets = Secrets()
    secrets.add("s3cret-key")
    with pytest.raises(kind) as caught, secrets.masked_errors():
        raise kind("http-401", "no key like s3cret-key")
    assert (type(caught.value), caught.value.kind, caught.value.message) == (
        kind,
        "http-401",
        "no key like ***",
    )


def masked_answer(outcome: Response | Exception) -> Response:
    secrets = Secrets()
    secrets.add("s3cret-value")
    target = MaskedTarget(_Leaky(outcome), secrets)
    assert target.name == "agent at ***"
    return asyncio.run(target.answer(Request(sample=SAMPLE, key="k", thread_id="t", timeout=1)))


def test_a_masked_target_hides_secrets_in_every_part_of_a_response() -> None:
    response = Response(
        text="s3cret-value",
        hits=(Hit(id="h", text="has s3cret-value"),),
        contexts=("s3cret-value", "other"),
        citations=(SpanCitation(file="s3cret-value.md", start=0, end=1, text="s3cret-value"),),
        metadata={"turns": [{"answer": "s3cret-value"}]},
    )
    masked = masked_answer(response)
    assert "s3cret" not in str(masked)
    assert masked.contexts == ("***", "other")
    assert masked.hits[0].id == "h"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (TargetError("http-503", "s3cret-value", retry=True, throttled=True, retry_after=2.0), "http-503"),
        (ValueError("no s3cret-value here"), "target-error"),
        (ValueError("x" * 480 + "s3cret-value" + "y" * 1000), "target-error"),
    ],
)
def test_a_masked_target_hides_secrets_in_failures_and_keeps_the_rest(error: Exception, kind: str) -> None:
    with pytest.raises(TargetError) as caught:
        masked_answer(error)
    assert "s3cret" not in str(caught.value)
    assert caught.value.kind == kind
    if isinstance(error, TargetError):
        assert (caught.value.retry, caught.value.throttled, caught.value.retry_after) == (True, True, 2.0)


@pytest.mark.parametrize("secret", ["s3cret-value", "s3cret\nof two lines"])
@pytest.mark.parametrize("before", ["", "x" * 475, "x " * 240, "x" * 2000])
def test_a_secret_is_hidden_before_the_message_of_a_function_is_shortened(secret: str, before: str) -> None:
    secrets = Secrets()
    secrets.add(secret)

    def answer(question: str) -> str:
        raise ValueError(f"{before}{secret} is wrong, said the agent" + "y" * 1000)

    target = MaskedTarget(PythonCallable(answer), secrets)
    asker = Asker(target, "run", options=Options(), stop=StopSign(), seed=0)
    failure = asyncio.run(asker.ask(SAMPLE)).response.failure
    assert "s3c" not in failure.message
    assert "two lines" not in failure.message
    assert (len(failure.message), failure.message.count("\n")) == (500, 0)
