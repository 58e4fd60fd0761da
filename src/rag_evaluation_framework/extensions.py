"""What can be plugged in: the Protocols a component fulfils, and the registry that finds it by name.

A component is a class that has the Protocol's methods; inheriting from the Protocol is welcome (it then
insists on the abstract methods) and never required. Ours are registered by name; an installed package offers
more through entry points of the group ``rag_evaluation_framework.<kind>s``, such as
``rag_evaluation_framework.dialects``. Nothing is imported before it is asked for.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, cast, runtime_checkable

from rag_evaluation_framework.errors import MissingExtraError, UnknownNameError, UsageError, described
from rag_evaluation_framework.records.chunks import PositionAwareChunk
from rag_evaluation_framework.records.datasets import Dataset, Preview
from rag_evaluation_framework.records.documents import Document
from rag_evaluation_framework.records.responses import Request, Response
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.records.scores import Score

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

ENTRY_POINT_PREFIX = "rag_evaluation_framework."

T = TypeVar("T")


@runtime_checkable
class Chunker(Protocol):
    """Splits text into chunk texts, without positions."""

    @abstractmethod
    def chunk(self, text: str) -> list[str]: ...


@runtime_checkable
class PositionAwareChunker(Protocol):
    """Splits a document into chunks that know their characters: ``content == document[start:end]``."""

    @abstractmethod
    def chunk_with_positions(self, doc: Document) -> list[PositionAwareChunk]: ...


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors, one row a text, in order."""

    @abstractmethod
    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]: ...


@runtime_checkable
class VectorStore(Protocol):
    """Keeps chunks with their vectors and finds the nearest ones."""

    @abstractmethod
    def add(self, chunks: Sequence[PositionAwareChunk], embeddings: Sequence[Sequence[float]]) -> None: ...

    @abstractmethod
    def search(self, query_embedding: Sequence[float], k: int) -> list[PositionAwareChunk]: ...


@runtime_checkable
class BatchVectorStore(VectorStore, Protocol):
    """A store that searches for many queries at once and can be emptied for the next run."""

    @abstractmethod
    def search_many(
        self, query_embeddings: Sequence[Sequence[float]], k: int
    ) -> list[list[PositionAwareChunk]]: ...

    @abstractmethod
    def clear(self) -> None: ...


@runtime_checkable
class Retriever(Protocol):
    """Finds chunks for the text of a query: dense, lexical or fused."""

    @abstractmethod
    def index(self, chunks: Sequence[PositionAwareChunk]) -> None:
        """Index these chunks in place of those before."""

    @abstractmethod
    def retrieve(self, queries: Sequence[str], k: int) -> list[list[PositionAwareChunk]]:
        """Return for each query at most k chunks, best first."""


@runtime_checkable
class Reranker(Protocol):
    """Orders candidates anew for a query and keeps the best k."""

    @abstractmethod
    def rerank(
        self, query: str, chunks: Sequence[PositionAwareChunk], k: int
    ) -> list[PositionAwareChunk]: ...


@runtime_checkable
class LanguageModel(Protocol):
    """Completes a prompt."""

    @abstractmethod
    def complete(self, prompt: str) -> str: ...


@runtime_checkable
class Target(Protocol):
    """The system under test.

    ``answer`` returns a response or raises :class:`TargetError`, which says whether another attempt may help;
    it never retries by itself. ``close`` gives back what the target holds.

    A target may also have ``async answer_many(requests)``, which returns for each request a response or the
    :class:`TargetError` that stands in its place: it is then asked in batches of ``batch_size`` (256).
    """

    name: str

    @abstractmethod
    async def answer(self, request: Request) -> Response: ...

    @abstractmethod
    async def close(self) -> None: ...


@runtime_checkable
class Scorer(Protocol):
    """Scores one response to one sample; what cannot be scored is a skipped or failed score.

    A scorer may also have ``score_many(samples, responses)``, which returns a score for each at once.
    """

    name: str

    @abstractmethod
    def score(self, sample: Sample, response: Response) -> Score: ...


@runtime_checkable
class Dialect(Protocol):
    """A way of writing samples down, read and written by one object.

    Within one dialect nothing is lost: what has no field in :class:`Sample` goes through ``extra``. Between
    dialects, what the target cannot hold is known beforehand from ``holds``.
    """

    name: str
    """What ``--format``, ``--from`` and ``--to`` call it: ``agent-samples``."""

    suffixes: tuple[str, ...]
    """Endings of file names that are usual for it; a hint when writing, never a proof when reading."""

    holds: frozenset[str]
    """The fields of ``Sample`` and, as ``dataset.<field>``, of ``Dataset`` that it can hold."""

    @abstractmethod
    def recognises(self, preview: Preview) -> bool:
        """Tell from the content whether a file is of this dialect."""

    @abstractmethod
    def read(self, path: Path) -> Dataset:
        """Read a whole file; all of its problems are in one ``InputError``, with file, line and path."""

    @abstractmethod
    def stream(self, path: Path) -> Iterator[Sample]:
        """Read sample by sample, in memory that does not grow with the file where the layout allows it."""

    @abstractmethod
    def write(self, dataset: Dataset, path: Path) -> None:
        """Write a whole file atomically."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """A registered component: the object itself, or where to import it from."""

    load: Callable[[], Any]
    extra: str | None


class Registry(Generic[T]):
    """Components of one kind by name, imported when first asked for.

    >>> registry: Registry[type] = Registry("codec")
    >>> registry.register("json", "json:JSONDecoder")
    >>> registry.get("json").__name__
    'JSONDecoder'
    >>> registry.get("jsn")
    Traceback (most recent call last):
    ...
    rag_evaluation_framework.errors.UnknownNameError: unknown codec 'jsn'; did you mean json?
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._entries: dict[str, _Entry] = {}
        self._installed_read = False

    def register(self, name: str, component: T | str, *, extra: str | None = None) -> None:
        """Add a component, or the place to import it from as ``"module:attribute"``.

        ``extra`` names the optional dependency to install when the import fails. A name is taken once:
        registering it again for something else is an error.
        """
        if name in self._entries:
            raise UsageError(f"{self.kind} {name!r} is registered already")
        if isinstance(component, str):
            self._entries[name] = _Entry(lambda: _imported(component), extra)
        else:
            self._entries[name] = _Entry(lambda: component, extra)

    def get(self, name: str) -> T:
        """Return the component; unknown names offer the nearest, missing packages say what to install.

        What fails to load otherwise is a :class:`UsageError` with the reason.
        """
        entry = self._entries.get(name)
        if entry is None:
            self._read_installed()
            entry = self._entries.get(name)
        if entry is None:
            raise UnknownNameError(self.kind, name, list(self._entries))
        try:
            return cast("T", entry.load())
        except Exception as error:  # anyone's module may raise anything
            if entry.extra is not None and isinstance(error, ImportError):
                raise MissingExtraError(f"{self.kind} {name!r}", entry.extra) from error
            raise UsageError(f"{self.kind} {name!r} cannot be loaded: {described(error)}") from error

    def names(self) -> list[str]:
        """Return every name, installed packages' included, sorted; nothing is imported."""
        self._read_installed()
        return sorted(self._entries)

    def _read_installed(self) -> None:
        """Add what installed packages declare; a name that is taken keeps its first owner."""
        if self._installed_read:
            return
        self._installed_read = True
        from importlib.metadata import entry_points  # costs 30 ms, so only when a name is not ours

        for point in entry_points(group=f"{ENTRY_POINT_PREFIX}{self.kind}s"):
            self._entries.setdefault(point.name, _Entry(point.load, None))


RENDERERS: Registry[Callable[..., str]] = Registry("renderer")
"""What renders an evaluation or a comparison, by name: ``render(thing, **wish) -> str``.

Installed packages add theirs as ``rag_evaluation_framework.renderers``.
"""
for _name in ("terminal", "notebook"):
    RENDERERS.register(_name, f"rag_evaluation_framework.reports.{_name}:render")


def _imported(place: str) -> object:
    module, _, attribute = place.partition(":")
    return getattr(import_module(module), attribute)
