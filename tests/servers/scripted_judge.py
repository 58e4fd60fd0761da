"""A judge that follows the rules to the letter: it reads only what stands between the delimiters.

It takes the code of the delimiters from the system's message and cuts the user's message at the marks that
carry it. What is left outside must be the prompt's own words: a text that leaks out of its delimiters is an
assertion that fails the test.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from chat_server import Asked, ChatReply, ChatServer, Script, running_chat

from rag_evaluation_framework import Judge
from rag_evaluation_framework.adapters.openai import OpenAIChatModel
from rag_evaluation_framework.models.prompts import Prompt, load_prompt, prompt_names

_CODE = re.compile(r"carry the code ([0-9a-f]{16}):")
_BLANK = re.compile(r"\s*(?:\(none\))?\s*\n\s*")


@dataclass(frozen=True)
class Reading:
    """What the judge was asked: the prompt, and the texts by their names (``answer``, ``claims 2``).

    ``note`` says what was wrong with an earlier reply, where there was one.
    """

    prompt: Prompt
    code: str
    texts: Mapping[str, str]
    note: str

    @property
    def is_repair(self) -> bool:
        return bool(self.note)

    def several(self, name: str) -> list[str]:
        """Return the texts of a list in order."""
        numbers = sorted(int(key.split()[1]) for key in self.texts if key.split()[0] == name and " " in key)
        assert numbers == list(range(1, len(numbers) + 1))
        return [self.texts[f"{name} {number}"] for number in numbers]


def read_question(asked: Asked) -> Reading:
    """Read a request as its first message says that it must be read."""
    system, user = (str(message["content"]) for message in asked["messages"])
    found = _CODE.search(system)
    assert found is not None, "the judge is not told where the texts are"
    code = found[1]
    region = re.compile(rf"<<{code} ([a-z0-9_]+(?: \d+)?)>>\n(.*?)\n<</{code} \1>>", re.DOTALL)
    texts: dict[str, str] = dict(region.findall(user))
    assert user.count(code) == 2 * len(texts), "a code stands outside of the marks"
    prompt = next(
        prompt
        for prompt in map(load_prompt, prompt_names())
        if user.startswith(prompt.body.partition("{")[0].partition("The criteria:")[0])
    )
    outside = _BLANK.sub("\n", region.sub("", user))
    if prompt.name != "rubric":  # whose criteria are instructions
        expected = _BLANK.sub("\n", re.sub(r"\{[a-z0-9_]+\}", "", prompt.body))
        assert outside.startswith(expected), "a text leaks out of its delimiters"
        rest = outside[len(expected) :].strip()
    else:
        rest = outside.partition("then the\nscore.")[2].strip()
    assert not rest or rest.startswith("An earlier reply to this could not be used")
    return Reading(prompt, code, texts, rest)


@contextmanager
def judged_by(script: Script, **options: Any) -> Iterator[tuple[Judge, ChatServer]]:
    """Run a judge behind a real server; ``options`` are those of :class:`Judge`."""
    # One attempt: what the endpoint does wrong is to be seen, not tried again.
    with (
        running_chat(script) as server,
        OpenAIChatModel("scripted", base_url=server.url, max_attempts=1) as model,
    ):
        yield Judge(model, **options), server


def judging(verdict: Callable[[Reading], ChatReply | str]) -> Script:
    """Return a script for the chat server that gives the verdict on each reading."""
    return lambda asked: verdict(read_question(asked))


def found_supported(reading: Reading, holds: Callable[[str], bool] = bool) -> str:
    """Return that the claims of which it ``holds`` are supported by the first words of the evidence."""
    quote = " ".join(reading.several("evidence")[0].split()[:3])
    verdicts = (
        {"label": "supported", "evidence": 1, "quote": quote}
        if holds(claim)
        else {"label": "unsupported", "evidence": 0, "quote": ""}
        for claim in reading.several("claims")
    )
    return json.dumps({"claims": entries(*verdicts)})


def judge_at(server: ChatServer, **settings: Any) -> tuple[str, ...]:
    """Return the option that names the judge at a server."""
    arguments = {"model": "scripted", "base_url": server.url, **settings}
    written = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
    return ("--judge-model", f"openai({written})")


def entries(*values: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the entries of a list, numbered from 1."""
    return [{"number": number, **value} for number, value in enumerate(values, start=1)]
