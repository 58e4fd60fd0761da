"""Checks of ``rag-eval doctor``: this installation, the project around the current folder, its agent.

A finding is right, worth knowing, or a problem that has to be mended. Nothing is changed; the agent that
``agent.yaml`` names is asked one question.
"""

from __future__ import annotations

import asyncio
import os
import platform
import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

import msgspec

from rag_evaluation_framework.components import (
    CHUNKERS,
    EMBEDDERS,
    INDEXES,
    RERANKERS,
    RETRIEVERS,
    VECTOR_STORES,
)
from rag_evaluation_framework.datasets.catalogue import catalogue_path, checked_entries
from rag_evaluation_framework.datasets.project_settings import AB_TESTING, project_settings, read_settings
from rag_evaluation_framework.errors import RagEvalError, TargetError, UnknownNameError, UsageError, counted
from rag_evaluation_framework.evaluation.jobs import Job, prepared
from rag_evaluation_framework.evaluation.manifest import read_manifest
from rag_evaluation_framework.evaluation.secrets import Secrets
from rag_evaluation_framework.evaluation.targets import Address, shown_target, target_of
from rag_evaluation_framework.extensions import parse_specification
from rag_evaluation_framework.files.atomic import check_writable
from rag_evaluation_framework.files.project_root import (
    CONFIGURATIONS,
    configuration_file,
    in_project,
    project_root,
)
from rag_evaluation_framework.metrics.declaration import parse_metrics
from rag_evaluation_framework.records.responses import Request
from rag_evaluation_framework.records.samples import Sample, Turn
from rag_evaluation_framework.results.experiments import read_experiment
from rag_evaluation_framework.structs import asdict
from rag_evaluation_framework.version import __version__

Status = Literal["right", "note", "problem", "unreachable"]
DISTRIBUTION = "rag-evaluation-framework"
_ANY_QUESTION = "What can you help me with?"
_SECONDS = 10.0
_LITTLE_ROOM = 1 << 30
_OF_DEVELOPERS = frozenset({"test", "vendors", "dev", "bench"})
EXTRAS = {
    "chonkie": "Chonkie's chunkers",
    "chroma": "Chroma as a vector store (default: exact search)",
    "cohere": "Cohere's embedders and rerankers",
    "faiss": "FAISS as a vector store",
    "hdf5": "benchmark files in HDF5",
    "lancedb": "LanceDB as a vector store",
    "langchain": "LangChain's text splitters",
    "langsmith": "datasets and results at LangSmith",
    "onnx": "embedders and pair models in ONNX, without torch",
    "matplotlib": "plots for papers",
    "mlflow": "results in MLflow",
    "pandas": "pandas data frames",
    "parquet": "Parquet and Arrow files",
    "pdf": "PDF documents",
    "pgvector": "PostgreSQL as a vector store",
    "polars": "polars data frames",
    "qdrant": "Qdrant as a vector store",
    "ray": "--engine ray",
    "sentence-transformers": "sentence-transformers' embedders and rerankers",
    "tokens": "exact OpenAI token counts",
    "transformers": "local entailment models",
    "wandb": "results in Weights & Biases",
    "xlsx": "Excel files",
}
"""The contents of each extra."""
# Files of these kinds are skipped or refused where their extra is missing.
_NEEDED_BY = {".pdf": "pdf", ".xlsx": "xlsx", ".parquet": "parquet", ".h5": "hdf5"}
_COMPONENT_NAMES: Mapping[str, Callable[[], list[str]]] = {
    "chunker": CHUNKERS.names,
    "embedder": EMBEDDERS.names,
    "retriever": RETRIEVERS.names,
    "store": VECTOR_STORES.names,
    "index": INDEXES.names,
    "reranker": RERANKERS.names,
}
_BY_NAME = {"retriever": ("dense", "fused"), "reranker": ("none",)}


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was looked at; ``fix`` is the command that mends it, where there is one."""

    status: Status
    about: str
    text: str
    fix: str = ""

    def to_dict(self) -> dict[str, str]:
        """Return it as a plain value."""
        return {name: value for name, value in asdict(self).items() if value}


def diagnosis(*, ask: bool = True, details: bool = False) -> Iterator[Finding]:
    """Look at everything, one thing after another; ``ask`` says whether the agent is asked a question.

    With ``details`` every extra that is not installed is a note of its own.
    """
    system = f"{platform.system()} {platform.machine()}".strip()
    yield _right("rag-eval", f"rag-eval {__version__}, Python {platform.python_version()}, {system}")
    root = project_root()
    if root is None:
        yield _note("project", "No project here (optional). To create one, run rag-eval init.")
    yield from _agent(ask=ask)
    yield from _disk()
    yield from _judge()
    yield from _extras(details=details)
    if root is not None:
        yield from _configuration(root / "data" / "config")
        yield from _datasets()


def _right(about: str, text: str) -> Finding:
    return Finding(status="right", about=about, text=text)


def _note(about: str, text: str, fix: str = "") -> Finding:
    return Finding(status="note", about=about, text=text, fix=fix)


def _problems(about: str, error: RagEvalError) -> Iterator[Finding]:
    """Yield a finding for each line of an error."""
    lines: list[str] = []
    for line in str(error).splitlines():
        if line.startswith(" ") and lines:
            lines[-1] += f" {line.strip()}"
        else:
            lines.append(line)
    yield from (Finding(status="problem", about=about, text=line) for line in lines)


# The agent, and what it is to be asked.


def _agent(*, ask: bool) -> Iterator[Finding]:
    here = Path("agent.yaml")
    path = here if here.is_file() else in_project("agent.yaml")
    if not path.is_file():
        yield _note(
            "agent.yaml", ("No agent.yaml here. To create one, run rag-eval probe URL --write agent.yaml.")
        )
        return
    try:
        manifest = read_manifest(path)
        # Checks the datasets and metrics too, before anybody is asked.
        with prepared(Job(data=path, target=str)):
            pass
    except RagEvalError as error:
        yield from _problems("agent.yaml", error)
        return
    told = f"{path} is valid"
    if manifest.api.url is None:
        yield _right("agent.yaml", f"{told}. It has no agent: pass --url or --target.")
    elif not ask:
        yield _right("agent.yaml", f"{told}. The agent was not asked.")
    else:
        yield from _check_agent(manifest, told)


def _check_agent(manifest: Any, told: str) -> Iterator[Finding]:
    secrets = Secrets()
    try:
        url = Address(manifest.api.resolved_url(os.environ, secrets=secrets))
        target = target_of(url, manifest, secrets)
    except RagEvalError as error:
        yield from _problems("agent.yaml", error)
        return
    sample = Sample(id="doctor", turns=(Turn(role="user", content=_ANY_QUESTION),))
    request = Request(sample=sample, key=uuid4().hex, thread_id=uuid4().hex, timeout=_SECONDS)

    async def answer() -> None:
        try:
            async with asyncio.timeout(_SECONDS):
                await target.answer(request)
        finally:
            await target.close()

    begun, shown = time.perf_counter(), shown_target(url, target)
    try:
        asyncio.run(answer())
    except (TargetError, TimeoutError) as error:
        reason = error.message if isinstance(error, TargetError) else f"no answer within {_SECONDS:g} s"
        yield _right("agent.yaml", told)
        text = f"No answer from {shown}: {reason}"
        yield Finding(status="unreachable", about="agent", text=text, fix=f"rag-eval probe {shown}")
    else:
        seconds = max(time.perf_counter() - begun, 0.1)
        yield _right("agent.yaml", f"{told}. The agent at {shown} replied in {seconds:.1f} s.")


# The disk.


def _disk() -> Iterator[Finding]:
    runs = in_project("runs")
    folders = [runs]
    if project_root() is not None:
        folders += [in_project("data", "evaluation", "results"), in_project("data", "benchmarks")]
    refused = False
    for folder in folders:
        try:
            check_writable([folder])
        except RagEvalError as error:
            refused = True
            yield from _problems("disk", error)
    there = next(each for each in (runs, *runs.absolute().parents) if each.exists())
    free = shutil.disk_usage(there).free
    room = f"{free / 2**30:,.0f} GB free" if free >= 10 << 30 else f"{free / 2**30:.1f} GB free"
    if free < _LITTLE_ROOM:
        yield Finding(status="unreachable", about="disk", text=f"Only {room} for {runs}/. Free some space.")
    elif not refused:
        yield _right("disk", f"{runs}/ is writable, {room}")


# Models that judge, and what extras bring.


def _judge() -> Iterator[Finding]:
    name = "OPENAI_API_KEY"
    path = in_project("agent.yaml")
    with suppress(RagEvalError):
        if path.is_file():
            judge = read_manifest(path).scoring.judge
            name = (judge.key_env if judge is not None else None) or name
    if os.environ.get(name):
        yield _right("judge", f"{name} is set")
    else:
        yield _note("judge", f"{name} is not set: metrics that need a judge are skipped")


def extras_installed() -> dict[str, list[str]]:
    """Return the extras for users, each with the packages of it that are missing."""
    from importlib.metadata import PackageNotFoundError, distribution, version

    found: dict[str, list[str]] = {}
    for need in distribution(DISTRIBUTION).requires or ():
        package, _, condition = need.partition(";")
        extra = re.search(r"extra == ['\"]([\w-]+)['\"]", condition)
        if extra is None or extra[1] in _OF_DEVELOPERS:
            continue
        missing = found.setdefault(extra[1], [])
        name = re.split(r"[\[<>=!~ ]", package.strip())[0]
        try:
            version(name)
        except PackageNotFoundError:
            missing.append(name)
    return found


def _extras(*, details: bool) -> Iterator[Finding]:
    """Name what is installed and what is not, above all what files of the project would need."""
    found = extras_installed()
    there = [name for name, missing in found.items() if not missing]
    if there:
        yield _right("extras", f"installed: {', '.join(sorted(there))}")
    kinds = {path.suffix.lower() for path in _project_files()}
    for ending, extra in _NEEDED_BY.items():
        if ending in kinds and found.get(extra):
            yield _note(extra, f"not installed: {EXTRAS[extra]} cannot be read", _pip(extra))
    absent = sorted(name for name, missing in found.items() if missing)
    if details:
        yield from (_note(name, f"not installed: {EXTRAS.get(name, name)}", _pip(name)) for name in absent)
    elif absent:
        text = f"not installed: {', '.join(absent)}; for their uses: --details"
        yield _note("extras", text)


def _pip(extra: str) -> str:
    return f"pip install '{DISTRIBUTION}[{extra}]'"


def _project_files() -> Iterator[Path]:
    """Yield the files of the project's data and documents."""
    folders = [in_project("data"), in_project("evals")]
    with suppress(RagEvalError):
        corpus = project_settings().get("retrieval.corpus")
        folders += [] if corpus is None else [in_project(corpus.value)]
    for folder in folders if project_root() is not None else ():
        yield from folder.rglob("*") if folder.is_dir() else ()


# The settings of the project, and its datasets.


def _configuration(folder: Path) -> Iterator[Finding]:
    problems: list[Finding] = []
    sound: list[str] = []
    for name in CONFIGURATIONS:
        path = configuration_file(folder, name)
        if path is None:
            continue
        try:
            if name == AB_TESTING:
                read_experiment(path)
                found: list[Finding] = []
            else:
                found = list(_named_in(read_settings(path, name)))
        except RagEvalError as error:
            found = list(_problems(path.name, error))
        problems += found
        sound += [] if found else [path.name]
    if sound:
        yield _right("settings", f"{folder}: {', '.join(sound)} {'is' if len(sound) == 1 else 'are'} valid")
    yield from problems
    yield from _strangers(folder)


def _named_in(settings: Any) -> Iterator[Finding]:
    """Look for the datasets, folders, metrics and parts that settings name."""
    for key, setting in settings.items():
        name = key.rpartition(".")[2]
        values = setting.value if isinstance(setting.value, tuple) else (setting.value,)
        try:
            _check_named(name, values)
        except (RagEvalError, OSError) as error:
            text = " ".join(line.strip() for line in str(error).splitlines())
            yield Finding(status="problem", about=setting.file.name, text=f"{setting.origin}: {key}: {text}")


def _check_named(name: str, values: Sequence[Any]) -> None:
    if name == "dataset" and not in_project(values[0]).exists():
        catalogue_path(values[0])
    elif name == "corpus" and not in_project(values[0]).exists():
        raise UsageError(f"there is no file or folder {in_project(values[0])}")
    elif name == "metrics":
        parse_metrics(values)
    elif name in _COMPONENT_NAMES:
        known = [*_COMPONENT_NAMES[name](), *_BY_NAME.get(name, ())]
        for each in values:
            is_place = re.match(r"[\w.]+:\w", each)
            if not is_place and (called := parse_specification(each).name) not in known:
                raise UnknownNameError(name, called, known)


def _strangers(folder: Path) -> Iterator[Finding]:
    """Name files beside the settings that nothing reads, since their names are none of ours."""
    for path in sorted(folder.iterdir()):
        if path.name.endswith((".config.yaml", ".config.json", ".config.yml", ".yaml", ".yml")):
            stem = path.name.partition(".")[0]
            if stem in CONFIGURATIONS and path.name.endswith((".config.yaml", ".config.json")):
                continue
            near = get_close_matches(stem, CONFIGURATIONS, n=1, cutoff=0.6)
            hint = f". Did you mean {near[0]}.config.yaml?" if near else ""
            yield _note("settings", f"{path}: no command reads this file name{hint}")


def _datasets() -> Iterator[Finding]:
    folder = in_project("data", "evaluation", "datasets")
    if not folder.is_dir():
        return
    try:
        entries = checked_entries(folder)
    except RagEvalError as error:
        yield from _problems("datasets", error)
        return
    wrong = [entry for entry in entries if entry.error is not None]
    for entry in wrong:
        place = "" if str(entry.path) in str(entry.error) else f"{entry.path}: "
        yield Finding(status="problem", about="datasets", text=f"{place}{entry.error}")
    if len(wrong) < len(entries):
        yield _right("datasets", f"{folder}: {counted(len(entries) - len(wrong), 'valid dataset')}")


def exit_code(findings: Iterable[Finding]) -> int:
    """Return 2 where something is wrong, 3 where only the world is (agent, disk), else 0."""
    found = {finding.status for finding in findings}
    return 2 if "problem" in found else 3 if "unreachable" in found else 0
