"""What an evaluation used: judge's tokens and money, memory, processor time."""

from __future__ import annotations

import os
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeAlias

import msgspec

from rag_evaluation_framework.components import EMBEDDERS, component_from
from rag_evaluation_framework.errors import StorageError, UsageError
from rag_evaluation_framework.evaluation.manifest import JudgeSettings
from rag_evaluation_framework.evaluation.preflight import Plan
from rag_evaluation_framework.extensions import Embedder, Registry, built, parse_specification
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.files.atomic import write_bytes_atomically
from rag_evaluation_framework.judging.judge import Judge
from rag_evaluation_framework.judging.methods import ScoringMethods
from rag_evaluation_framework.judging.rubrics import read_rubric
from rag_evaluation_framework.models.chat import ChatModel, endpoint_of
from rag_evaluation_framework.models.clients import as_chat_model
from rag_evaluation_framework.models.memory import RememberingModel
from rag_evaluation_framework.models.spending import Spending
from rag_evaluation_framework.records.documents import Corpus
from rag_evaluation_framework.records.responses import Usage
from rag_evaluation_framework.records.runs import JudgeUsage, ResourceUsage, RunHead, Spread
from rag_evaluation_framework.results.run_folder import RunFolder, RunGroup

# The judge of a run: which endpoints it asks, so that a resume asks the same ones, and what it costs.

JUDGE = "judge"
"""Where the configuration of a head lists the endpoints of the judge."""


def judge_usage(methods: ScoringMethods) -> JudgeUsage | None:
    """Return what the judge has cost since it was set up; ``None`` if there is none, or none is counted."""
    judge, spending = methods.judge, methods.spending
    if judge is None or spending is None:
        return None
    usage = spending.usage or Usage()
    return JudgeUsage(
        judge=judge.name, calls=spending.calls, **asdict(usage), failed_votes=judge.failed_votes
    )


class RunSpending:
    """Counts in a ``with`` block what the judge costs in a part of a run; ``usage`` is that of all its parts.

    The run's folder keeps the sum. While a part is under way it says *at least*, and keeps saying so if the
    part was killed.
    """

    def __init__(self, folder: RunFolder, methods: ScoringMethods) -> None:
        self.usage: JudgeUsage | None = None
        self._folder, self._methods = folder, methods
        self._before: JudgeUsage | None = None
        self._earlier: JudgeUsage | None = None

    def __enter__(self) -> Self:
        self._before = judge_usage(self._methods)
        if self._before is not None:
            self._earlier = _written_usage(self._folder)
            so_far = self._earlier or self._before - self._before
            _write_usage(self._folder, replace(so_far, at_least=True))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        now = judge_usage(self._methods)
        if now is None or self._before is None:
            return
        spent = now - self._before
        self.usage = spent if self._earlier is None else spent + self._earlier
        _write_usage(self._folder, self.usage)


def judge_fields(methods: ScoringMethods) -> dict[str, Any]:
    """Return what the configuration of a head says about the judge: each model's endpoint and settings."""
    return {} if methods.judge is None else {JUDGE: list(map(endpoint_of, methods.judge.models))}


def other_judge_warnings(plan: Plan, baseline: RunGroup | None, methods: ScoringMethods) -> Iterator[str]:
    """Yield a warning for each baseline that a judge of the same name, but another endpoint, has judged."""
    for dataset in plan.datasets if baseline is not None else ():
        folder = baseline.runs.get(dataset.name) if baseline is not None else None
        changed = judge_change(folder.head, methods) if folder and dataset.judge_calls else None
        if folder is not None and changed is not None:
            then, now = changed
            yield f"baseline {folder.head.run_id} was judged by {then}, this run by {now}"


def judge_change(head: RunHead, methods: ScoringMethods) -> tuple[str, str] | None:
    """Name the endpoint of a run's judge that has changed, as it was and as it is; ``None`` if none has.

    Settings that a head does not name have their defaults.
    """
    began, now = head.configuration.get(JUDGE), judge_fields(methods).get(JUDGE)
    if began is None or now is None or began == now:
        return None
    pairs = zip(began, now, strict=False)
    different = [([then], [is_now]) for then, is_now in pairs if then != is_now]
    then, is_now = different[0] if different else (began, now)
    return _in_words(then), _in_words(is_now)


def _in_words(endpoints: Sequence[Any]) -> str:
    return ", ".join(map(_endpoint_in_words, endpoints))


def _endpoint_in_words(endpoint: Any) -> str:
    """Return ``m at http://localhost/v1/chat/completions (temperature 0, seed 7)``."""
    if not isinstance(endpoint, Mapping):
        return str(endpoint)
    where = f" at {endpoint['url']}" if "url" in endpoint else ""
    settings = [f"{name} {value}" for name, value in endpoint.items() if name not in ("model", "url")]
    return f"{endpoint.get('model')}{where}" + (f" ({', '.join(settings)})" if settings else "")


def _written_usage(folder: RunFolder) -> JudgeUsage | None:
    with suppress(OSError, msgspec.DecodeError):  # what cannot be read is not known
        return msgspec.json.decode(folder.judge_usage_path.read_bytes(), type=JudgeUsage)
    return None


def _write_usage(folder: RunFolder, usage: JudgeUsage) -> None:
    with suppress(StorageError):  # a full disk has been told of before, and the figures stand
        content = strict_json.encode(usage.to_dict(), indent=2) + b"\n"
        write_bytes_atomically(folder.judge_usage_path, content)


# How much memory and processor time the evaluation itself takes, measured from a thread beside it.
#
# Memory is what the process holds resident; the processor's share is in percent of one core. The system
# under test is not part of it, unless it runs in this very process.

_INTERVAL = 0.5
_STATM = Path("/proc/self/statm")


class ResourceMeter:
    """Measures for as long as its ``with`` block lasts; ``usage`` is there afterwards."""

    def __init__(self, *, interval: float = _INTERVAL) -> None:
        self._interval = interval
        self._memory: list[float] = []
        self._cpu: list[float] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._measure, name="resources", daemon=True)

    def __enter__(self) -> ResourceMeter:
        self._last = (time.perf_counter(), time.process_time())
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()
        self._take()

    @property
    def usage(self) -> ResourceUsage:
        """What was measured; there once the block has ended."""
        return ResourceUsage(_spread(self._memory) if self._memory else None, _spread(self._cpu))

    def _measure(self) -> None:
        while not self._ended.wait(self._interval):
            self._take()

    def _take(self) -> None:
        wall, cpu = time.perf_counter(), time.process_time()
        passed, spent = wall - self._last[0], cpu - self._last[1]
        self._last = (wall, cpu)
        self._cpu.append(100 * spent / passed if passed > 0 else 0.0)
        if (resident := _resident_megabytes()) is not None:
            self._memory.append(resident)


def _resident_megabytes() -> float | None:
    try:
        pages = int(_STATM.read_text(encoding="ascii").split()[1])
    except OSError:  # only Linux tells it this way
        return None
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def _spread(values: list[float]) -> Spread:
    return Spread(
        round(statistics.fmean(values), 1), round(max(values), 1), round(statistics.pstdev(values), 1)
    )


# What answers are scored with, set up from what people give: a judge, an embedder, documents.

JudgeLike: TypeAlias = str | JudgeSettings | ChatModel | Judge

_MODELS: Registry[Callable[..., Any]] = Registry("chat model")
_MODELS.register("openai", "rag_evaluation_framework.adapters.openai:OpenAIChatModel")


class OpenedMethods:
    """Methods, and the models that were opened for them; :meth:`close` closes those."""

    def __init__(
        self,
        judge: JudgeLike | None = None,
        embedder: str | Embedder | None = None,
        documents: Corpus | str | Path | None = None,
    ) -> None:
        self._opened: list[Any] = []
        settings = JudgeSettings(models=(judge,)) if isinstance(judge, str) else judge
        spending = Spending() if isinstance(settings, JudgeSettings) else None
        rubric = settings.rubric if isinstance(settings, JudgeSettings) else None
        corpus = documents if isinstance(documents, Corpus | None) else Corpus.from_folder(documents)
        self.methods = ScoringMethods(
            judge=self._judge(settings, spending),
            spending=spending,
            rubric=None if rubric is None else read_rubric(rubric),
            embedder=component_from(EMBEDDERS, embedder) if isinstance(embedder, str) else embedder,
            corpus=corpus,
            threads=settings.concurrency if isinstance(settings, JudgeSettings) else 16,
        )

    def close(self) -> None:
        """Close what was opened."""
        for model in self._opened:
            model.close(for_good=True)

    def _judge(
        self, given: JudgeSettings | ChatModel | Judge | None, spending: Spending | None
    ) -> Judge | None:
        if given is None or isinstance(given, Judge):
            return given
        if not isinstance(given, JudgeSettings):
            return Judge(as_chat_model(given))
        models = [self._model(text, given, spending) for text in given.models]
        if given.cache is not None:
            models = [RememberingModel(model, given.cache) for model in models]
        return Judge(*models, votes=given.votes)

    def _model(self, text: str, settings: JudgeSettings, spending: Spending | None) -> ChatModel:
        arguments: dict[str, Any] = {"model": text}
        if "(" in text:
            specification = parse_specification(text)
            if specification.name != "openai":
                raise UsageError(f"judge: expected a model's name or openai(model=…), got {text}")
            arguments = dict(specification.arguments)
        options = {
            "base_url": settings.url,
            "key_env": settings.key_env,
            "concurrency": settings.concurrency,
            "timeout": settings.timeout,
        }
        arguments = {**{name: value for name, value in options.items() if value is not None}, **arguments}
        model: ChatModel = built(
            _MODELS.get("openai"), arguments, of=f"judge {text}", given={"spending": spending}
        )
        self._opened.append(model)
        return model
