"""What is shown in the browser: ``serve`` and ``annotate`` behind real servers, until Ctrl-C."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from acceptance.outside import PATIENCE, Argument, Commands, kept, read_json, start


@contextmanager
def served(*arguments: Argument, folder: Path) -> Iterator[str]:
    """Run a command that serves pages, and give their address; at the end it is stopped as by Ctrl-C."""
    process = start(*arguments, "--no-open", folder=folder)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
    finally:
        end(process)


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def fetch(url: str, path: str = "", sent: Any = None, **headers: str) -> tuple[int, str]:
    """Return the status and the body of a page, to which something may be sent."""
    data = None if sent is None else json.dumps(sent).encode()
    request = urllib.request.Request(url + path, data, {"Content-Type": "application/json", **headers})
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_all_that_is_stored_is_served(project: Path) -> None:
    with served("serve", folder=project) as url:
        assert url.startswith("http://127.0.0.1:")
        status, page = fetch(url)
        assert (status, page.lstrip()[:15].lower()) == (200, "<!doctype html>")
        listed = json.loads(fetch(url, "list")[1])["results"]
        assert len(listed) == 7
        first, second = sorted(each["key"] for each in listed)[:2]
        status, report = fetch(url, f"run?key={first}")
        assert (status, "The answer to q5" in report) == (200, True)
        assert fetch(url, f"compare?base={first}&candidate={second}")[0] == 200
        assert fetch(url, "run?key=nothing")[0] >= 400
        # Nobody gets anything without the secret in the address.
        assert fetch(url.replace(url.split("/")[3], "guessed"))[0] >= 400
    with served("serve", "runs", folder=project) as url:
        assert len(json.loads(fetch(url, "list")[1])["results"]) == 7


@pytest.mark.parametrize("subject", [("001",), ("tiny.eval.json", "--corpus", "documents")])
def test_a_run_and_a_dataset_are_annotated(subject: tuple[str, ...], project: Path) -> None:
    with served("annotate", *subject, "--annotator", "anna", folder=project) as url:
        status, page = fetch(url)
        assert (status, page.lstrip()[:15].lower()) == (200, "<!doctype html>")
        # A page of another site does not know the secret, and can write nothing.
        assert fetch(url, "save", {"key": "x"})[0] >= 400
    assert not list(project.rglob("anna"))


def test_what_is_marked_is_written_and_read_by_calibrate(project: Path, rag_eval: Commands) -> None:
    with served("annotate", "001", "--annotator", "anna", folder=project) as url:
        token = {"X-Rag-Eval-Token": url.split("/")[3]}
        keys = re.findall(r'"key": ?"(sample-[^"]*)"', fetch(url)[1])
        assert len(set(keys)) == 23  # one was not answered
        for key in keys:
            item = json.loads(fetch(url, f"item?key={key}")[1])
            score = 0.25 if item["answer"] == "no" else 1.0
            mine = item["mine"] | {"scores": {"accuracy": score}, "finished": True}
            assert fetch(url, "save", {**mine, "key": key, "seconds": 1, "part": "answer"}, **token)[0] == 200
    (file,) = project.rglob("anna/*.gt.json")
    assert file == project / "evals" / "annotations" / "anna" / "rag.gt.json"
    assert len(read_json(file)["annotations"]) == 23
    rag_eval("validate", file).ok()
    calibrated = rag_eval("calibrate", "001", "--resamples", "100", "--json").ok().json
    kept("annotate-calibrate", calibrated, project)
