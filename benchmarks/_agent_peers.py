"""The same samples, agent and check in inspect_ai, promptfoo and deepeval, in environments of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

PEERS = ("inspect_ai", "promptfoo", "deepeval")

_QUESTION = "Question {number}: what is the capital of France?"
_PACKAGES = {"inspect_ai": ("inspect_ai", "openai"), "deepeval": ("deepeval", "aiohttp")}

_INSPECT = """
import sys
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.scorer import includes
from inspect_ai.solver import generate

url, samples, concurrency = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
questions = [f"Question {number}: what is the capital of France?" for number in range(samples)]
data = [Sample(id=number, input=question, target="Paris") for number, question in enumerate(questions)]
logs = eval(
    Task(dataset=data, solver=generate(), scorer=includes()),
    model="openai-api/local/m", model_base_url=url + "/v1",
    max_connections=concurrency, max_samples=concurrency, max_tasks=1, display="none", log_dir="logs",
)
assert logs[0].status == "success", logs[0].error
assert logs[0].results.scores[0].metrics["accuracy"].value == 1.0
"""

# deepeval scores answers that it is given, so the asking is done here, by the fastest client there is.
_DEEPEVAL = """
import asyncio, sys
import aiohttp
from deepeval import evaluate
from deepeval.evaluate import AsyncConfig, CacheConfig, DisplayConfig, ErrorConfig
from deepeval.metrics import BaseMetric
from deepeval.test_case import LLMTestCase

url, samples, concurrency = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])

class Contains(BaseMetric):
    threshold = 0.5
    async_mode = True
    def measure(self, case, *args, **kwargs):
        self.score = float(case.expected_output in case.actual_output)
        self.success = self.score >= self.threshold
        return self.score
    async def a_measure(self, case, *args, **kwargs):
        return self.measure(case)
    def is_successful(self):
        return self.success
    @property
    def __name__(self):
        return "Contains"

async def ask_all():
    slots = asyncio.Semaphore(concurrency)
    async with aiohttp.ClientSession() as session:
        async def ask(number):
            question = f"Question {number}: what is the capital of France?"
            body = {"model": "m", "messages": [{"role": "user", "content": question}]}
            async with slots, session.post(url + "/v1/chat/completions", json=body) as reply:
                answer = (await reply.json())["choices"][0]["message"]["content"]
            return LLMTestCase(input=question, actual_output=answer, expected_output="Paris")
        return await asyncio.gather(*map(ask, range(samples)))

cases = asyncio.run(ask_all())
result = evaluate(
    cases, [Contains()],
    async_config=AsyncConfig(max_concurrent=concurrency, throttle_value=0),
    display_config=DisplayConfig(show_indicator=False, print_results=False),
    cache_config=CacheConfig(write_cache=False),
)
assert all(test.success for test in result.test_results)
"""


def peer_seconds(peer: str, folder: Path, *, url: str, samples: int, concurrency: int) -> float | str:
    """Return how long a peer takes, start included, or why it could not be measured."""
    folder = folder.resolve() / peer
    folder.mkdir(parents=True, exist_ok=True)
    try:
        if peer == "promptfoo":
            command = _promptfoo(folder, url=url, samples=samples, concurrency=concurrency)
        else:
            script = folder / "run.py"
            script.write_text(_INSPECT if peer == "inspect_ai" else _DEEPEVAL, encoding="utf-8")
            command = [str(_python(peer, folder)), str(script), url, str(samples), str(concurrency)]
    except (OSError, subprocess.CalledProcessError) as error:
        return f"it does not install here ({error})"
    started = time.perf_counter()
    done = subprocess.run(
        command, cwd=folder, env=_environment(), capture_output=True, text=True, check=False
    )
    if done.returncode:
        return " ".join((done.stderr or done.stdout)[-300:].split())
    return time.perf_counter() - started


def _python(peer: str, folder: Path) -> Path:
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, capture_output=True)
        install = [str(python), "-m", "pip", "install", "--quiet", *_PACKAGES[peer]]
        subprocess.run(install, check=True, capture_output=True)
    return python


def _promptfoo(folder: Path, *, url: str, samples: int, concurrency: int) -> list[str]:
    program = folder / "node_modules" / ".bin" / "promptfoo"
    if not program.exists():
        install = ["npm", "install", "--prefix", str(folder), "promptfoo"]
        subprocess.run(install, check=True, capture_output=True)
    questions = [_QUESTION.format(number=number) for number in range(samples)]
    message = {"role": "user", "content": "{{prompt}}"}
    provider = {
        "id": f"{url}/v1/chat/completions",
        "config": {
            "method": "POST",
            "headers": {"Content-Type": "application/json"},
            "body": {"model": "m", "messages": [message]},
            "transformResponse": "json.choices[0].message.content",
        },
    }
    check = [{"type": "contains", "value": "Paris"}]
    configuration = {
        "prompts": ["{{question}}"],
        "providers": [provider],
        "tests": [{"vars": {"question": question}, "assert": check} for question in questions],
    }
    (folder / "promptfooconfig.json").write_text(json.dumps(configuration), encoding="utf-8")
    options = [
        "--no-cache",
        "--no-table",
        "--no-progress-bar",
        "--no-share",
        "--max-concurrency",
        str(concurrency),
    ]
    return [str(program), "eval", "-c", "promptfooconfig.json", *options, "-o", "out.json"]


def _environment() -> Mapping[str, str]:
    return {
        **os.environ,
        "LOCAL_API_KEY": "none",
        "DEEPEVAL_TELEMETRY_OPT_OUT": "YES",
        "PROMPTFOO_DISABLE_TELEMETRY": "1",
        "PROMPTFOO_DISABLE_UPDATE": "1",
        "PROMPTFOO_CONFIG_DIR": str(Path.home() / ".cache" / "promptfoo-benchmark"),
    }
