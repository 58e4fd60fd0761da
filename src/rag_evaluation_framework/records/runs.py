"""A run: responses to a dataset with their scores, how to repeat it, how far it is and how it ended."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec

from rag_evaluation_framework.errors import (
    InputError,
    ModelOutageError,
    StorageError,
    UsageError,
    checked_count,
    invalid,
    shown,
)
from rag_evaluation_framework.files.access import read_text
from rag_evaluation_framework.files.strict_json import drop_nulls
from rag_evaluation_framework.records.citations import (
    Citation,
    ContextCitation,
    SpanCitation,
    TokenSpanCitation,
)
from rag_evaluation_framework.records.documents import CharacterSpan, require_unique
from rag_evaluation_framework.records.responses import Failure, History, Hit, Response
from rag_evaluation_framework.records.samples import Usage, known_sum
from rag_evaluation_framework.records.scores import TIMING_METHOD, Score
from rag_evaluation_framework.text.display import short_repr
from rag_evaluation_framework.version import __version__

if TYPE_CHECKING:
    from rag_evaluation_framework.records.steps import TraceChoice
    from rag_evaluation_framework.workers import Crew


class RunHead(msgspec.Struct, frozen=True, kw_only=True):
    """The data, system, parameters and versions of a run. Equal heads promise equal results."""

    run_id: str
    dataset_id: str
    dataset_version: str | None = None
    dataset_hash: str | None = None
    target: str | None = None
    configuration: Mapping[str, Any] = {}
    metric_versions: Mapping[str, int] = {}
    seed: int = 0
    packages: Mapping[str, str] = {}
    started_at: str | None = None
    parameters: Mapping[str, Any] = {}
    """Request settings: time-outs, retries, prices. They decide no result, so equality ignores them."""
    environment: Mapping[str, Any] = {}
    """The machine it ran on."""

    __repr__ = short_repr

    def __post_init__(self) -> None:
        for name in ("run_id", "dataset_id"):
            value = getattr(self, name)
            if not isinstance(value, str) or not value:
                raise invalid(name, "an id", value)
        for name in ("dataset_version", "dataset_hash", "target", "started_at"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise invalid(name, "text", value)
        for name in ("configuration", "metric_versions", "packages", "parameters", "environment"):
            if not isinstance(getattr(self, name), Mapping):
                raise invalid(name, "an object", getattr(self, name))

    @property
    def repeats(self) -> int:
        """Return the number of requests per sample."""
        selection = self.configuration.get("selection")
        written = selection.get("repeats") if isinstance(selection, Mapping) else None
        return written if isinstance(written, int) else 1


def package_versions() -> dict[str, str]:
    """Return the versions that are running now, as the ``packages`` of a head."""
    return {"rag-evaluation-framework": __version__, "python": platform.python_version()}


def evaluation_environment() -> dict[str, Any]:
    """Return what is known of the machine, as the ``environment`` of a head: nothing is made up.

    The load is that of the last minute before the run, by core: up to 0.5 is low, above 1 is high.
    """
    # What platform.platform() says, which starts a program to be told the processor.
    system = "-".join(
        filter(None, [platform.system(), platform.release(), platform.machine(), *platform.libc_ver()])
    )
    return {"hardware": _hardware(), "software": f"{system}, Python {platform.python_version()}", **_load()}


@cache
def _hardware() -> str:
    cores = os.cpu_count()
    return ", ".join(filter(None, [_processor(), f"{cores} cores" if cores else "", _memory()]))


def _load() -> dict[str, Any]:
    try:
        load = os.getloadavg()[0] / (os.cpu_count() or 1)
    except (AttributeError, OSError):  # not told by every system
        return {}
    return {
        "system_load": "low" if load <= 0.5 else "moderate" if load <= 1 else "high",
        "load_per_core": round(load, 2),
    }


def _processor() -> str:
    try:
        lines = read_text("/proc/cpuinfo").splitlines()
    except (InputError, StorageError):  # there is none but on Linux
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, "") or platform.processor() or platform.machine()


def _memory() -> str:
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not told by every system
        return ""
    return f"{size / 2**30:.0f} GB RAM"


class SampleResult(msgspec.Struct, frozen=True):
    """One sample's response and its scores, each metric once."""

    sample_id: str
    response: Response
    scores: tuple[Score, ...] = ()

    __repr__ = short_repr

    def __post_init__(self) -> None:
        metrics = [score.metric for score in self.scores]
        if len(set(metrics)) != len(metrics):
            raise invalid("scores", "each metric once", metrics)


class Run(msgspec.Struct, frozen=True):
    """A head and the results by sample. Results pair with others by ``sample_id``, never by position."""

    head: RunHead
    results: tuple[SampleResult, ...]

    __repr__ = short_repr

    def __post_init__(self) -> None:
        require_unique((result.sample_id for result in self.results), what="sample", path="results")

    def scores(self, metric: str) -> dict[str, Score]:
        """Return one metric's scores by sample id; samples that do not have it are left out."""
        return {
            result.sample_id: score
            for result in self.results
            for score in result.scores
            if score.metric == metric
        }


_SHORTEST_SAMPLE_LIMIT = 300.0
_CONFIDENCE = 0.95

# How a run goes about it, its counts, its progress, and how it ended.


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of an evaluation; times are in seconds, ``None`` means no limit.

    Args:
        format: Format of the data; by default it is detected.
        datasets: Datasets of a manifest, or splits of golden sets, to evaluate; by default all.
        concurrency: Maximum number of open samples; the number of requests at a time adapts to the target.
        attempt_timeout: Time limit of one request.
        sample_timeout: Time limit of a sample; by default enough for all attempts and the waits between.
        run_timeout: Time limit of the run of each dataset.
        max_attempts: Maximum number of attempts that reach the target.
        allow_missing: True to skip a metric where a sample lacks a field, instead of rejecting the dataset.
        repeats: Number of requests per sample; by default that of the manifest, or 1.
        history: Earlier answers of a conversation that the target receives: ``own`` or ``reference``.
        rules: Rules for ranked runs, ``ours`` or ``trec_eval``. If given, targets are ranked runs.
        relevance_level: Lowest relevant grade of ranked runs (trec_eval's ``-l``).
        complete: True to score missing queries 0 (trec_eval's ``-c``).
        max_depth: Maximum number of documents per query (trec_eval's ``-M``).
        totals: True to report the numbers of queries and documents as trec_eval does.
        level: Level of retrieval pipelines: ``token``, ``chunk`` or ``document``.
        workers: Number of processes that score recorded answers and cut documents; by default all cores but
            one. It changes no result.
        engine: ``processes``, or ``ray`` for the workers of a cluster.
        address: Address of the Ray cluster; by default one is started on this machine.
        test: Paired test of differences between systems.
        interval: Method of the intervals of systems that are compared.
        confidence: Confidence level of intervals and tests.
        resamples: Number of resamples of the bootstrap and the randomization test.
        traces: Choice of the traces to read from a file or a folder.

    Raises:
        UsageError: A value is out of its range.

    Example:
        >>> from rag_evaluation_framework import Options
        >>> Options(concurrency=4, attempt_timeout=10).max_attempts
        5
    """

    format: str | None = None
    datasets: tuple[str, ...] = ()
    concurrency: int = 16
    attempt_timeout: float = 60.0
    sample_timeout: float | None = None
    run_timeout: float | None = None
    max_attempts: int = 5
    allow_missing: bool = False
    repeats: int | None = None
    history: History = "own"
    rules: Literal["ours", "trec_eval"] | None = None
    relevance_level: int = 1
    complete: bool = False
    max_depth: int | None = None
    totals: bool = False
    level: Literal["token", "chunk", "document"] | None = None
    workers: int | None = None
    engine: Literal["processes", "ray"] = "processes"
    address: str | None = None
    test: Literal["randomisation", "t", "wilcoxon"] = "randomisation"
    interval: Literal["auto", "bootstrap", "wilson", "normal"] = "auto"
    confidence: float = _CONFIDENCE
    resamples: int = 10_000
    traces: TraceChoice | None = None

    def __post_init__(self) -> None:
        whole = ("concurrency", "max_attempts", "workers", "repeats", "relevance_level", "max_depth")
        for name in whole:
            value = getattr(self, name)
            if value is not None or name not in ("max_depth", "repeats", "workers"):
                checked_count(name, value, at_least=1)
        for name in ("attempt_timeout", "sample_timeout", "run_timeout"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise UsageError(f"{name}: expected seconds above 0, got {shown(value)}")
        if self.engine != "processes" or self.address is not None:
            _ = self.crew  # which refuses what cannot be

    @property
    def crew(self) -> Crew:
        """Return the workers that score recorded answers and cut documents."""
        from rag_evaluation_framework.workers import Crew

        return Crew(self.workers, self.engine, self.address)

    def reach(self) -> None:
        """Make sure that the cluster whose address is given answers, before anything is begun."""
        if self.address is not None:
            self.crew.reach()

    @property
    def parameters(self) -> dict[str, Any]:
        """Return the request settings, as the ``parameters`` of a head."""
        return {
            "timeout_seconds": self.attempt_timeout,
            "max_retries": self.max_attempts - 1,
            "sample_timeout_seconds": self.sample_limit,
            **({} if self.run_timeout is None else {"run_timeout_seconds": self.run_timeout}),
            "concurrency": self.concurrency,
            **({} if self.confidence == _CONFIDENCE else {"confidence_level": self.confidence}),
        }

    @property
    def sample_limit(self) -> float:
        """Return the maximum seconds of a sample: its attempts and the waits between them."""
        if self.sample_timeout is not None:
            return self.sample_timeout
        return max(_SHORTEST_SAMPLE_LIMIT, self.attempt_timeout * self.max_attempts)


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """The progress of a run. Only samples on the disk count as ``done``, failed ones included.

    After a resume, ``done``, ``failed`` and the costs include what earlier parts of the run had finished.
    ``in_flight`` is what the target works on now, ``concurrency`` the most it would be given at this moment.
    Tokens and cost are ``None`` until a response reports any.
    """

    total: int
    done: int = 0
    failed: int = 0
    in_flight: int = 0
    concurrency: int = 0
    retries: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    elapsed: float = 0.0


OnProgress: TypeAlias = Callable[[str, Progress], None]
"""Called with a dataset's name and how far its run is."""


class RunCounts(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of samples of a run: all, finished, and failed.

    ``rescorable`` samples are finished too, but lack scores that a resume may add. ``reaskable`` ones failed
    because the target could not be reached or turned the caller away: a resume asks them again. A run that
    ``awaits_judge`` has all answers, and not yet all verdicts that its budget buys.
    """

    total: int
    done: int
    failed: int
    rescorable: int
    reaskable: int
    awaits_judge: bool = False

    @property
    def remaining(self) -> int:
        return self.total - self.done

    @property
    def outcome(self) -> RunOutcome:
        """Return the outcome of a run that is not resumed."""
        is_complete = not self.remaining and not self.awaits_judge
        return RunOutcome(
            completed=is_complete,
            interrupted=False,
            done=self.done,
            failed=self.failed,
            remaining=self.remaining,
            reason=None if is_complete else "stopped before its end",
        )

    def before_resuming(self, total: int | None = None) -> Progress:
        """Return how far the run is without what a resume does again.

        A run that never began does not know its ``total``.
        """
        return Progress(
            total=self.total if total is None else total,
            done=self.done - self.rescorable - self.reaskable,
            failed=self.failed - self.reaskable,
        )


class RunOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a run. ``done`` counts every sample in the journal, the failed included.

    A run that is not ``completed`` says why in ``reason`` and can be resumed; ``interrupted`` means that the
    user stopped it. ``notes`` list what was repaired on the way, such as a torn end that was cut off, and
    what a resume could still repair.
    """

    completed: bool
    interrupted: bool
    done: int
    failed: int
    remaining: int
    reason: str | None = None
    notes: tuple[str, ...] = ()
    outage: ModelOutageError | None = None
    """Reason why no model can be asked any more, if that stopped the run."""

    __repr__ = short_repr


# A sample's result as plain fields for the journal, and back.
#
# Fields that are empty are left out, and read back as empty. What differs between two otherwise equal
# runs (the latency, and scores whose method is :data:`TIMING_METHOD`) goes to a section of its own, so
# that equal results are equal bytes.

_CITATIONS = {"characters": SpanCitation, "tokens": TokenSpanCitation, "context": ContextCitation}
_KIND_OF = {record: kind for kind, record in _CITATIONS.items()}


class Timing(msgspec.Struct, frozen=True, kw_only=True):
    """The timing of a sample: its first request (UTC), its attempts, and the time it and its answer took.

    ``requests`` are those that reached the target: one for each turn of each attempt; none for recorded
    answers; ``None`` if they were not counted. ``failures`` are the attempts that failed, by kind.
    ``run_seconds`` is for how long the run had been at work when the sample, asked and scored, was written
    down: all parts of a resumed run together, without the pauses between them.
    """

    started_at: str
    attempts: int
    elapsed_ms: float
    requests: int | None = None
    latency_ms: float | None = None
    run_seconds: float = 0.0
    failures: Mapping[str, int] = {}


def result_fields(result: SampleResult) -> dict[str, Any]:
    """Return what must be the same whenever the same run is repeated."""
    response = result.response
    written: dict[str, Any] = {
        "text": response.text,
        "hits": list(map(_hit_fields, response.hits)) or None,
        "retrieved_nothing": response.retrieved_nothing or None,
        "contexts": list(response.contexts) or None,
        "context_origin": response.context_origin,
        "citations": [{"kind": _KIND_OF[type(cited)], **_present(cited)} for cited in response.citations]
        or None,
        "usage": None if response.usage is None else _present(response.usage),
        "failure": None if response.failure is None else _present(response.failure),
        "metadata": dict(response.metadata) or None,
    }
    return {
        "sample_id": result.sample_id,
        "response": drop_nulls(written),
        "scores": [_present(score) for score in result.scores if score.method != TIMING_METHOD],
    }


def timing_fields(result: SampleResult, timing: Timing) -> dict[str, Any]:
    """Return what may differ when the same run is repeated."""
    timed = [_present(score) for score in result.scores if score.method == TIMING_METHOD]
    return {**_present(timing), **({"scores": timed} if timed else {})}


def result_from(written: Mapping[str, Any], timing: Mapping[str, Any]) -> SampleResult:
    """Read a result back from its two parts; scores of time come last."""
    return SampleResult(
        written["sample_id"],
        _response(written["response"], timing.get("latency_ms")),
        tuple(Score(**score) for score in (*written["scores"], *timing.get("scores", ()))),
    )


def timing_from(timing: Mapping[str, Any]) -> Timing:
    """Read the times back."""
    return Timing(**{name: value for name, value in timing.items() if name != "scores"})


def _response(written: Mapping[str, Any], latency_ms: float | None) -> Response:
    read = {
        **written,
        "hits": tuple(map(_hit, written.get("hits", ()))),
        "contexts": tuple(written.get("contexts", ())),
        "citations": tuple(map(_citation, written.get("citations", ()))),
        "usage": msgspec.convert(written.get("usage"), Usage | None),
        "failure": msgspec.convert(written.get("failure"), Failure | None),
    }
    return Response(**read, latency_ms=latency_ms)


def _hit_fields(hit: Hit) -> dict[str, Any]:
    place = {} if hit.span is None else {"span": [hit.span.doc_id, hit.span.start, hit.span.end]}
    return {**_present(hit), **place}


def _hit(written: Mapping[str, Any]) -> Hit:
    span = written.get("span")
    place = None if span is None else CharacterSpan(*span)
    return Hit(**{**written, "span": place, "names": tuple(written.get("names", ()))})


def _citation(written: Mapping[str, Any]) -> Citation:
    kind: Any = _CITATIONS[written["kind"]]
    found: Citation = kind(**{name: value for name, value in written.items() if name != "kind"})
    return found


def _present(record: msgspec.Struct) -> dict[str, Any]:
    """Return the fields of a flat record that are not empty."""
    fields = msgspec.structs.asdict(record).items()
    return {name: value for name, value in fields if value or (value is not None and value != {})}


class SampleChoice(msgspec.Struct, frozen=True, kw_only=True):
    """The choice of samples per dataset, their repetitions, and whether incomplete ones are allowed."""

    tags: tuple[str, ...] = ()
    sample_size: int | None = None
    seed: int = 0
    allow_missing: bool = False
    repeats: int = 1


class JudgeUsage(msgspec.Struct, frozen=True, kw_only=True):
    """The cost of a judge: calls, and tokens and dollars as far as its endpoints report them.

    ``failed_votes`` counts the votes that each model failed to give, ``decided`` the claims that each stage
    of a cascade decided. ``at_least`` means that more was spent: a part of the run was killed before it could
    record what it had cost.
    """

    judge: str
    calls: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    failed_votes: Mapping[str, int] = {}
    decided: Mapping[str, int] = {}
    at_least: bool = False

    def __add__(self, other: JudgeUsage) -> JudgeUsage:
        return self._combined(other, 1)

    def __sub__(self, other: JudgeUsage) -> JudgeUsage:
        return self._combined(other, -1)

    def to_dict(self) -> dict[str, Any]:
        """Return it as results files store it, without what is unknown."""
        told = {name: value for name, value in msgspec.to_builtins(self).items() if value not in (None, {})}
        return told if self.at_least else {name: told[name] for name in told if name != "at_least"}

    def _combined(self, other: JudgeUsage, sign: int) -> JudgeUsage:
        votes = _counts(self.failed_votes, other.failed_votes, sign)
        cost = known_sum(self.cost_usd, other.cost_usd, sign)
        return JudgeUsage(
            judge=self.judge,
            calls=self.calls + sign * other.calls,
            input_tokens=known_sum(self.input_tokens, other.input_tokens, sign),
            output_tokens=known_sum(self.output_tokens, other.output_tokens, sign),
            cost_usd=None if cost is None else round(cost, 10),
            failed_votes={model: count for model, count in votes.items() if count},
            decided=_counts(self.decided, other.decided, sign),
            at_least=self.at_least or other.at_least,
        )


def _counts(first: Mapping[str, int], second: Mapping[str, int], sign: int) -> dict[str, int]:
    return {name: first.get(name, 0) + sign * second.get(name, 0) for name in {**first, **second}}


class Spread(msgspec.Struct, frozen=True):
    """The mean, peak and standard deviation of what was measured again and again."""

    mean: float
    peak: float
    std: float


class ResourceUsage(msgspec.Struct, frozen=True):
    """Time and memory of an evaluation; memory is ``None`` if the system does not report it."""

    memory_mb: Spread | None
    cpu_percent: Spread

    def to_dict(self) -> dict[str, Any]:
        """Return the shape in which results files store it."""
        return drop_nulls(msgspec.to_builtins(self))
