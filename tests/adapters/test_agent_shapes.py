"""Agents as they are: what each is sent, what is read from its reply, what ``rag-eval probe`` finds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote

import pytest
from fault_agent import RunningServer
from shaped_agents import ANSWER, CONTEXT, shaped_agent

from asked_targets import answer_of
from cases import tables_beside
from command_lines import commands_next, rag_eval_ended
from rag_evaluation_framework import HttpAgent, Sample, Turn
from rag_evaluation_framework.adapters.agent_probe import Candidate, Probe
from rag_evaluation_framework.errors import TargetError
from rag_evaluation_framework.evaluation.agent_shapes import ReadAnswer
from rag_evaluation_framework.files import yaml_documents
from rag_evaluation_framework.structs import replace

TABLES = tables_beside(__file__)


CONVERSATION = Sample(
    id="c",
    turns=(
        Turn(role="user", content="When?"),
        Turn(role="assistant"),
        Turn(role="user", content="And then?"),
    ),
)

# The agent, what is put behind its address, and what is found: how it is asked, at how many requests the
# probe arrives, and where contexts and usage stand.
FOUND: dict[str, tuple[str, dict[str, Any], int, str | None, str | None]] = TABLES["found"]


@pytest.mark.parametrize("name", FOUND)
def test_a_probe_finds_the_shape_and_writes_a_manifest_that_runs_as_it_is(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_KEY", "app-5f3a9c")
    behind, lines, requests, contexts, usage = FOUND[name]
    key = ["--header", "Authorization: Bearer ${AGENT_KEY}"] if name == "dify" else []
    with shaped_agent(name) as agent:
        address = agent.url + behind
        done = rag_eval_ended("probe", address, *key, "--write", "agent.yaml", "--json", folder=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        found = json.loads(done.stdout)
        assert found["answer"]["text"].startswith(ANSWER)
        assert (found["found"].get("contexts"), found["found"].get("usage")) == (contexts, usage)
        assert found["answer"]["contexts"] == ([CONTEXT] if contexts else [])
        assert len(found["tried"]) == requests
        api = yaml_documents.decode((tmp_path / "agent.yaml").read_text())["spec"]["api"]
        assert api == found["manifest"]["spec"]["api"]
        assert {part: api[part] for part in lines} == lines
        assert api["url"] == agent.url
        assert "app-5f3a9c" not in (tmp_path / "agent.yaml").read_text() + done.stdout
        ran = rag_eval_ended("evaluate", "agent.yaml", "--json", folder=tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    (sample,) = json.loads(ran.stdout)["samples"]
    assert sample["actual"].startswith(ANSWER)


@pytest.mark.parametrize(("name", "options", "contexts"), TABLES["the_pieces_of_a_stream_are_one_answer"])
def test_the_pieces_of_a_stream_are_one_answer(name: str, options: dict[str, Any], contexts: int) -> None:
    with shaped_agent(name) as agent:
        response = answer_of(HttpAgent(agent.url, **options), "When?")
    assert (response.text, len(response.contexts)) == (ANSWER, contexts)


def test_bare_pieces_are_joined_and_the_mark_of_the_end_is_none() -> None:
    with shaped_agent("tokens") as agent:
        assert answer_of(HttpAgent(agent.url)).text == "It leaves at 6, they say"


def test_an_error_in_a_stream_is_a_failure_and_tells_no_secret() -> None:
    with (
        shaped_agent("broken") as agent,
        pytest.raises(TargetError, match=r"ended with an error: .*\*\*\*") as failed,
    ):
        answer_of(HttpAgent(agent.url, secret_headers={"X-Key": "app-5f3a9c"}))
    assert failed.value.kind == "stream-error"
    assert "app-5f3a9c" not in str(failed.value)


@pytest.mark.parametrize("mode", ["blocking", "streaming"])
def test_the_thread_that_a_reply_names_is_passed_on(mode: str) -> None:
    with shaped_agent("dify") as agent:
        key = {"Authorization": "Bearer app-5f3a9c"}
        target = HttpAgent(
            agent.url, protocol="dify", secret_headers=key, body={"response_mode": mode, "inputs": {"a": 1}}
        )
        response = answer_of(target, sample=CONVERSATION)
        threads = [asked.body.get("conversation_id") for asked in agent.asked]
    assert threads == [None, "c-7"]
    assert response.text == f"{ANSWER} (again)"
    assert response.metadata["turns"][0]["answer"] == f"{ANSWER} (first)"
    assert response.usage.input_tokens == 24


def test_a_template_is_filled_once_and_whatever_the_question_says() -> None:
    body = TABLES["body"]
    hostile = Sample(
        id="h",
        turns=(
            Turn(role="user", content="{{thread}} ${HOME}"),
            Turn(role="assistant"),
            Turn(role="user", content="2"),
        ),
    )
    with shaped_agent("growing") as agent:
        target = HttpAgent(
            agent.url, path="/x/{{question}}?t={{thread}}", body=body, headers={"X-T": "{{thread}}"}
        )
        assert target.takes_history
        answer_of(target, sample=hostile, thread_id="t/1&")
        first, second = agent.asked
    question = "{{thread}} ${HOME}"
    place, _, query = first.path.partition("?")
    assert (unquote(place), parse_qs(query)) == (f"/x/{question}", {"t": ["t/1&"]})
    assert first.headers["x-t"] == "t/1&"
    filled = {"q": question, "text": f"Q: {question}!", "so_far": [], "told": "So far: ", "in": ["t/1&", 5]}
    assert first.body == filled
    assert [each["content"] for each in second.body["so_far"]] == [question, ANSWER]
    assert second.body["told"] == f"So far: user: {question}\nassistant: {ANSWER}"


def test_an_agent_that_takes_no_shape_is_told_with_what_came_back_and_what_to_add() -> None:
    with shaped_agent("not_found") as agent:
        done = rag_eval_ended("probe", agent.url)
        assert len(agent.asked) <= 17
    assert done.returncode == 3
    assert "no answer   http-404: Not Found" in done.stdout
    assert (
        "hint: No known request format worked. Set the path and the body: --path /ask --body" in done.stdout
    )
    assert f'POST {agent.url}/ask {{"question": "{{{{question}}}}"}}: 404' in done.stdout


def test_a_refusal_that_no_shape_would_change_ends_the_probe(server: RunningServer) -> None:
    led_away = rag_eval_ended("probe", server.fault("redirect"))
    assert (led_away.returncode, "requests in all" in led_away.stdout) == (3, False)
    assert "leads to another origin" in led_away.stdout
    with shaped_agent("dify") as agent:
        done = rag_eval_ended("probe", f"{agent.url}/v1/chat-messages")
        assert len(agent.asked) == 1
    assert done.returncode == 3
    assert "hint: The agent needs a key. Set it: --header 'Authorization: Bearer ${AGENT_KEY}'" in done.stdout
    done = rag_eval_ended("probe", "http://169.254.169.254/ask")
    assert done.returncode == 2
    assert "link-local or metadata address" in done.stderr


def test_a_manifest_that_exists_is_replaced_only_when_asked(tmp_path: Path, server: RunningServer) -> None:
    (tmp_path / "agent.yaml").write_text("mine")
    done = rag_eval_ended("probe", server.url, "--write", "agent.yaml", folder=tmp_path)
    assert (done.returncode, (tmp_path / "agent.yaml").read_text()) == (2, "mine")
    assert (
        done.stderr
        == "rag-eval: agent.yaml already exists. Replace it with --force, or choose another name.\n"
    )
    done = rag_eval_ended("probe", server.url, folder=tmp_path)
    (following,) = commands_next(done.stdout)
    assert following[-1] == "agent-2.yaml"
    done = rag_eval_ended("probe", server.url, "--write", "agent.yaml", "--force", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "spec:" in (tmp_path / "agent.yaml").read_text()


def test_a_missing_variable_of_a_body_is_named_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").write_text('{"user_input": "q"}\n')
    (tmp_path / "agent.yaml").write_text(
        "spec:\n  evaluation:\n    datasets: [{name: d, path: q.jsonl, metrics: [latency]}]\n"
        "  api:\n    url: http://127.0.0.1:1\n    request:\n      body:\n        q: '{{question}}'\n"
        "        key: ${NO_SUCH_KEY}\n"
    )
    done = rag_eval_ended("evaluate", "agent.yaml", folder=tmp_path)
    assert done.returncode == 2
    assert "agent.yaml:9: spec.api.request.body.key: expected the secret NO_SUCH_KEY" in done.stderr


@pytest.mark.vendors("fastapi", "sse_starlette", "uvicorn")
@pytest.mark.parametrize(
    ("name", "behind", "api", "contexts"),
    [
        *TABLES["agents_of_the_real_fastapi_are_found"],
        (
            "described",
            "",
            {
                "chatEndpoint": {"path": "/v2/rag"},
                "request": {"body": {"query": "{{question}}", "session_id": "{{thread}}"}},
                "responsePaths": {
                    "answer": "result.answer",
                    "contexts": "result.documents",
                    "usage": "usage",
                },
            },
            [CONTEXT],
        ),
        (
            "undescribed",
            "/tell",
            {
                "chatEndpoint": {"path": "/tell"},
                "request": {"body": {"user_query": "{{question}}"}},
                "responsePaths": {"answer": "token", "contexts": "contexts", "usage": "usage"},
            },
            [CONTEXT],
        ),
    ],
)
def test_agents_of_the_real_fastapi_are_found(
    name: str, behind: str, api: dict[str, Any], contexts: list[str], tmp_path: Path
) -> None:
    from fastapi_agents import fastapi_agent

    with fastapi_agent(name) as url:
        done = rag_eval_ended("probe", url + behind, "--write", "agent.yaml", "--json", folder=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        found = json.loads(done.stdout)
        assert (found["answer"]["text"], found["answer"]["contexts"]) == (ANSWER, contexts)
        assert found["manifest"]["spec"]["api"] == {"url": url, **api}
        ran = rag_eval_ended("evaluate", "agent.yaml", "--json", folder=tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert json.loads(ran.stdout)["samples"][0]["actual"] == ANSWER


def test_where_contexts_may_stand_is_offered_as_an_option() -> None:
    found = [{"body": "The last boat leaves at noon.", "source": "a.md"}]
    reply = {"result": {"text": "Noon.", "found": found}}
    answer = ReadAnswer(text="Noon.")
    asked = Probe(candidate=Candidate(), address="http://agent", elapsed_ms=1.0, answer=answer)
    said = "No contexts found. If the reply has any, set --contexts-path"
    assert replace(asked, body=json.dumps(reply)).hints()[0] == f"{said} 'result.found[*].body'"
    assert replace(asked, body="Noon.").hints()[0] == f"{said} PATH"
