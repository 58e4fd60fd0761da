"""``rag-eval probe`` from the outside: what it shows of a reply, and with which exit code it ends."""

from __future__ import annotations

import json
import subprocess

from fault_agent import RunningServer, answer_to

from command_lines import rag_eval_ended


def probe(*arguments: str) -> subprocess.CompletedProcess[str]:
    return rag_eval_ended("probe", *arguments)


def test_an_answer_is_shown_with_the_field_it_came_from(server: RunningServer) -> None:
    done = probe("--url", server.url, "--message", "Who?")
    assert done.returncode == 0, done.stderr
    assert f"POST {server.url}/v1/chat: status 200" in done.stdout
    assert f"answer      {answer_to('Who?')}  ← response" in done.stdout
    assert "contexts    not found" in done.stdout
    assert "hint: No contexts found. If the reply has any" in done.stdout


def test_json_has_everything_and_hides_the_header(server: RunningServer) -> None:
    done = probe(
        "--url", server.fault("echo-headers"), "--header", "Authorization: Bearer tok-5f3a", "--json"
    )
    assert done.returncode == 0, done.stderr
    assert "tok-5f3a" not in done.stdout
    document = json.loads(done.stdout)
    assert document["status"] == 200
    assert document["found"] == {"answer": "response", "contexts": "contexts"}
    assert document["answer"]["contexts"] == [document["answer"]["text"]]


def test_contexts_that_could_not_be_read_are_told_with_the_shape_that_can(server: RunningServer) -> None:
    url = server.fault("odd-contexts")
    line = "Could not read 1 context: expected texts, or objects with text, content, page_content, snippet"
    assert f"hint: {line}" in " ".join(probe("--url", url).stdout.split())
    document = json.loads(probe("--url", url, "--json").stdout)
    assert document["answer"]["unread_contexts"] == 1
    assert any(hint.startswith(line) for hint in document["hints"])


def test_an_empty_list_of_contexts_is_shown_as_such(server: RunningServer) -> None:
    shown = probe("--url", server.fault("no-contexts")).stdout
    assert "contexts    none retrieved  ← contexts" in shown
    assert "no contexts found" not in shown


def test_a_reply_without_an_answer_ends_with_3_and_says_what_to_try(server: RunningServer) -> None:
    done = probe("--url", server.fault("no-answer"))
    assert done.returncode == 3
    assert "for example --answer-path" in done.stdout
    assert '{"status": "ok", "id": 7}' in done.stdout
    again = probe("--url", server.fault("no-answer"), "--answer-path", "status", "--json")
    assert json.loads(again.stdout)["answer"]["text"] == "ok"


def test_an_agent_that_cannot_be_reached_ends_with_3() -> None:
    done = probe("--url", "http://127.0.0.1:1")
    assert done.returncode == 3
    assert "no reply" in done.stdout
    assert "hint: Check that the agent is running" in done.stdout


def test_what_is_secret_in_the_url_is_hidden_in_what_is_shown(server: RunningServer) -> None:
    url = server.fault("echo-headers").replace("http://", "http://user:open-sesame@")
    done = probe("--url", url)
    assert done.returncode == 0, done.stderr
    assert "Basic ***" in done.stdout
    assert "dXNlcjpvcGVuLXNlc2FtZQ" not in done.stdout


def test_the_reply_cannot_write_to_the_terminal(server: RunningServer) -> None:
    done = probe("--url", server.fault("echo-body"), "--message", "\x1b[2Jx\x9b31m")
    assert done.returncode == 0, done.stderr
    assert not set("\x1b\x9b") & set(done.stdout)


def test_what_a_server_escapes_is_shown_as_what_it_means(server: RunningServer) -> None:
    shown = probe("--url", server.fault("escaped")).stdout
    assert '"response": "六镑"' in shown
