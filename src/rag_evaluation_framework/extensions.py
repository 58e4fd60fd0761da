"""The Protocols, the lazy Registry, the small language of component specifications.

A component is a class that has the Protocol's methods; inheriting from the Protocol is welcome (it then
insists on the abstract methods) and never required. Ours are registered by name; an installed package offers
more through entry points of the group ``rag_evaluation_framework.<kind>s``, such as
``rag_evaluation_framework.dialects``. Nothing is imported before it is asked for.
"""

from __future__ import annotations

import inspect
import re
import sys
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, cast, runtime_checkable

import msgspec

from rag_evaluation_framework.errors import MissingExtraError, UnknownNameError, UsageError, described, shown

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from rag_evaluation_framework.records.chunks import PositionAwareChunk
    from rag_evaluation_framework.records.documents import Document
    from rag_evaluation_framework.records.responses import Request, Response
    from rag_evaluation_framework.records.samples import Dataset, Sample
    from rag_evaluation_framework.records.scores import Score

ENTRY_POINT_PREFIX = "rag_evaluation_framework."

T = TypeVar("T")


@runtime_checkable
class Chunker(Protocol):
    """The interface of a chunker that splits a text into chunk texts, without positions.

    Example:
        >>> from rag_evaluation_framework import Chunker
        >>> class Paragraphs:
        ...     def chunk(self, text: str) -> list[str]:
        ...         return text.split("\\n\\n")
        >>> isinstance(Paragraphs(), Chunker)
        True
    """

    @abstractmethod
    def chunk(self, text: str) -> list[str]: ...


@runtime_checkable
class PositionAwareChunker(Protocol):
    """The interface of a chunker whose chunks have positions: ``content == document[start:end]``."""

    @abstractmethod
    def chunk_with_positions(self, doc: Document) -> list[PositionAwareChunk]: ...


@runtime_checkable
class Embedder(Protocol):
    """The interface of an embedder: texts to vectors, one row per text, in order.

    Example:
        >>> import numpy as np
        >>> from rag_evaluation_framework import Embedder
        >>> class Lengths:
        ...     def embed(self, texts):
        ...         return np.array([[len(text), 1] for text in texts], dtype=np.float32)
        >>> isinstance(Lengths(), Embedder)
        True
    """

    @abstractmethod
    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]: ...


@runtime_checkable
class QueryEmbedder(Embedder, Protocol):
    """An embedder that embeds questions in another way than documents.

    ``roles``, if it has it, says what it does for each, for the record: ``{"query": …, "document": …}``.
    """

    @abstractmethod
    def embed_queries(self, texts: Sequence[str]) -> npt.NDArray[np.float32]: ...


@runtime_checkable
class VectorStore(Protocol):
    """The interface of a vector store, which saves chunks with their vectors and finds the nearest ones."""

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
    """Finds chunks for the text of a query: dense, lexical or fused.

    A retriever may also have ``score(query, chunks)``, which returns by what number it ranks each of them.
    """

    @abstractmethod
    def index(self, chunks: Sequence[PositionAwareChunk]) -> None:
        """Index these chunks in place of those before."""

    @abstractmethod
    def retrieve(self, queries: Sequence[str], k: int) -> list[list[PositionAwareChunk]]:
        """Return for each query at most k chunks, best first."""


@runtime_checkable
class Reranker(Protocol):
    """The interface of a reranker, which reorders the candidates of a query and returns the best k.

    Example:
        >>> from rag_evaluation_framework import Reranker
        >>> class ShortestFirst:
        ...     def rerank(self, query, chunks, k):
        ...         return sorted(chunks, key=lambda chunk: len(chunk.content))[:k]
        >>> isinstance(ShortestFirst(), Reranker)
        True
    """

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

    A dialect of an installed package may have ``recognises(preview: Preview) -> bool``, which is True of its
    own files; without it, the dialect is used only by name. Ours are recognized by a table of signatures.
    """

    name: str
    """Name in ``--format``, ``--from`` and ``--to``: ``agent-samples``."""

    suffixes: tuple[str, ...]
    """Endings of file names that are usual for it; a hint when writing, never a proof when reading."""

    holds: frozenset[str]
    """The fields of ``Sample`` and, as ``dataset.<field>``, of ``Dataset`` that it can hold."""

    @abstractmethod
    def read(self, path: Path) -> Dataset:
        """Read a whole file; all of its problems are in one ``InputError``, with file, line and path."""

    @abstractmethod
    def stream(self, path: Path) -> Iterator[Sample]:
        """Read sample by sample, in memory that does not grow with the file where the layout allows it."""

    @abstractmethod
    def write(self, dataset: Dataset, path: Path) -> None:
        """Write a whole file atomically."""


def _imported(place: str) -> Any:
    module, _, attribute = place.partition(":")
    return getattr(import_module(module), attribute)


def import_on_call(place: str) -> Callable[..., Any]:
    """Return a function that imports the function at ``module:name`` when it is called, and calls it."""
    return lambda *arguments, **options: _imported(place)(*arguments, **options)


# What people call a kind that the code calls otherwise.
_CALLED = {"vector_store": "store", "dialect": "format"}


class Registry(Generic[T]):
    """Components of one kind by name, imported when first asked for.

    >>> registry: Registry[type] = Registry("codec")
    >>> registry.register("json", "json:JSONDecoder")
    >>> registry.get("json").__name__
    'JSONDecoder'
    >>> registry.get("jsn")
    Traceback (most recent call last):
    ...
    rag_evaluation_framework.errors.UnknownNameError: unknown codec "jsn". Did you mean "json"?
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        # What loads a component, and the extra it needs.
        self._entries: dict[str, tuple[Callable[[], Any], str | None]] = {}
        self._packages: dict[str, str] = {}
        self._installed_read = False

    def register(self, name: str, component: T | str, *, extra: str | None = None) -> None:
        """Add a component, or the place to import it from as ``"module:attribute"``.

        ``extra`` names the optional dependency to install when the import fails. A name is taken once:
        registering it again for something else is an error.
        """
        if name in self._entries:
            raise UsageError(f"{self.kind} {name!r} is already registered")
        load = partial(_imported, component) if isinstance(component, str) else lambda: component
        self._entries[name] = (load, extra)

    def get(self, name: str) -> T:
        """Return the component; an unknown name raises with the nearest names.

        A missing package raises with the command that installs it, any other failure a :class:`UsageError`
        with the reason.
        """
        if name not in self._entries:
            self._read_installed()
        if name not in self._entries:
            raise UnknownNameError(_CALLED.get(self.kind, self.kind), name, list(self._entries))
        load, extra = self._entries[name]
        try:
            return cast("T", load())
        except Exception as error:  # anyone's module may raise anything
            if extra is not None and isinstance(error, ImportError):
                raise MissingExtraError(f"{self.kind} {name!r}", extra) from error
            package = f" of {self._packages[name]}" if name in self._packages else ""
            told = f"cannot load the {self.kind} {name!r}{package}: {described(error)}"
            raise UsageError(told) from error

    def package(self, name: str) -> str | None:
        """Return the installed package that a component is of, with its version; ``None`` for ours."""
        self._read_installed()
        return self._packages.get(name)

    def names(self) -> list[str]:
        """Return every name, installed packages' included, sorted; nothing is imported."""
        self._read_installed()
        return sorted(self._entries)

    def _read_installed(self) -> None:
        """Add what installed packages declare; a name that is taken keeps its first owner."""
        if self._installed_read:
            return
        self._installed_read = True
        group = f"{ENTRY_POINT_PREFIX}{self.kind}s"
        if not any(_may_declare(folder, f"[{group}]".encode()) for folder in sys.path):
            return
        from importlib.metadata import entry_points  # costs 30 ms, so only where something is declared

        for point in entry_points(group=group):
            if point.name not in self._entries:
                self._entries[point.name] = (point.load, None)
                self._packages[point.name] = _package_of(point)


def _may_declare(folder: str, section: bytes) -> bool:
    """Return True if a package in a folder of ``sys.path`` has a section of entry points; an archive may."""
    try:  # the metadata of packages stand in *.dist-info, *.egg-info and EGG-INFO
        infos = Path(folder).glob("*-[iI][nN][fF][oO]/entry_points.txt")
        return Path(folder).is_file() or any(section in info.read_bytes() for info in infos)
    except OSError:
        return True


def _package_of(point: Any) -> str:
    """Name the package that declares an entry point; one that lies about unpacked may have no name."""
    return "an unnamed package" if point.dist is None else f"{point.dist.name} {point.dist.version}"


def plugin_at_fault(error: BaseException) -> str | None:
    """Return the kind, name and package of the plug-in that an error came from, or ``None``.

    It is the one whose code was nearest to where the error arose.
    """
    from importlib.metadata import distributions  # costs 30 ms, so only when something went wrong

    points = [
        each
        for package in distributions()
        for each in package.entry_points
        if each.group.startswith(ENTRY_POINT_PREFIX)
    ]
    places: list[tuple[str, str]] = []
    trace = error.__traceback__
    while trace is not None:
        frame = trace.tb_frame
        places.append((frame.f_globals.get("__name__", ""), frame.f_code.co_qualname))
        trace = trace.tb_next
    for module, within in reversed(places):
        package = module.partition(".")[0]
        near = [each for each in points if each.module.partition(".")[0] == package]
        # Of several that a package has, the one that was running; else whichever is of that module.
        near.sort(key=lambda each: (each.attr != within.partition(".")[0], each.module != module))
        if near:
            kind = near[0].group.removeprefix(ENTRY_POINT_PREFIX).removesuffix("s").replace("_", " ")
            told = f"{kind} {near[0].name!r} of {_package_of(near[0])}"
            return f"the {told} failed: {described(error)}"
    return None


RENDERERS: Registry[Callable[..., str]] = Registry("renderer")
"""Renderers of an evaluation or a comparison, by name: ``render(thing) -> str``, and named arguments.

Installed packages add theirs as ``rag_evaluation_framework.renderers``.
"""
for _module in ("github_annotations", "json_report", "junit", "markdown", "notebook", "page", "terminal"):
    RENDERERS.register(_module.partition("_")[0], f"rag_evaluation_framework.reports.{_module}:render")
RENDERERS.register("results", "rag_evaluation_framework.results.results_document:render")


# One small language for components: ``recursive(chunk_size=200, overlap=50)``.
#
# The same text stands on the command line, in YAML and in recorded results, and reads back into what it
# was written from. A value is a number, ``true``, ``false``, ``none``, a quoted or bare word, or another
# specification: ``semantic(embedder=openai(model="m"))``.

_TOKEN = re.compile(
    r"""\s*(?:(?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?P<word>[^\s(),="']+)|(?P<mark>[(),=]))""",
    re.DOTALL,
)
_PASSWORD = re.compile(r"""(://[^\s/:@"']*:)[^\s/"']+(?=@)|(password\s*=\s*)(?:'[^']*'|[^\s"'&]+)""")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_BARE_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_./:-]*\Z")
_INTEGER = re.compile(r"[+-]?\d{1,300}\Z")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\Z")
_CONSTANTS: dict[str, object] = {"true": True, "false": False, "none": None}
# What a setting is declared with: which values fit, and what they are called. To Python, true is a number.
_PLAIN_KINDS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "str": (lambda value: isinstance(value, str), "text"),
    "int": (lambda value: type(value) is int, "a whole number"),
    "float": (lambda value: type(value) in (int, float), "a number"),
    "bool": (lambda value: isinstance(value, bool), "true or false"),
    "None": (lambda value: value is None, "none"),
}
_MAX_NESTING = 20
_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class Specification(msgspec.Struct, frozen=True):
    """A component's name and its arguments. ``str()`` is the canonical text, which parses back."""

    name: str
    arguments: Mapping[str, Any] = {}

    def __str__(self) -> str:
        if not self.arguments:
            return self.name
        inside = ", ".join(f"{key}={_format_value(value)}" for key, value in self.arguments.items())
        return f"{self.name}({inside})"


def without_passwords(text: str) -> str:
    """Return a text in which the password of an address or of a connection string is ``***``.

    >>> without_passwords('pgvector(dsn="postgresql://me:secret@host/db")')
    'pgvector(dsn="postgresql://me:***@host/db")'
    """
    return _PASSWORD.sub(r"\1\2***", text)


def parse_specification(text: str) -> Specification:
    """Read ``name`` or ``name(key=value, …)``; anything else is a :class:`UsageError` that shows where."""
    return _Parser(text).parse()


def built(
    build: Callable[..., T], arguments: Mapping[str, Any], *, of: str, given: Mapping[str, Any] | None = None
) -> T:
    """Build a component with the arguments of a specification and with what is ``given`` besides.

    Every setting that it does not have or cannot do without, and every value of another kind than the setting
    is declared with, is in one :class:`UsageError`, which begins with what the arguments are ``of``.
    """
    given = given or {}
    parameters = [each for each in inspect.signature(build).parameters.values() if each.name not in given]
    named = {each.name: each for each in parameters if each.kind in _BY_NAME}
    takes_any = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters)
    unknown = [] if takes_any else [name for name in arguments if name not in named]
    needed = [name for name, each in named.items() if each.default is each.empty]
    wrong = [str(UnknownNameError("setting", name, list(named))) for name in unknown]
    wrong += [f"the setting {name} is missing" for name in needed if name not in arguments]
    for name, value in arguments.items():
        kinds = _plain_kinds(named[name].annotation) if name in named else []
        if kinds and not any(fits(value) for fits, _ in kinds):
            expected = " or ".join(described for _, described in kinds)
            wrong.append(f"expected {name} to be {expected}, got {shown(value)}")
    if wrong:
        raise UsageError("\n".join(f"{of}: {problem}" for problem in wrong))
    return build(**arguments, **given)


def _plain_kinds(annotation: Any) -> list[tuple[Callable[[Any], bool], str]]:
    """Return what a setting may be, as in ``float | None``; nothing if it may be more than plain values."""
    written = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    names = written.split(" | ")
    return [_PLAIN_KINDS[name] for name in names] if _PLAIN_KINDS.keys() >= set(names) else []


def _format_value(value: object) -> str:
    if isinstance(value, Specification):
        return str(value)
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    word = str(value)
    if _BARE_WORD.match(word) and word.lower() not in _CONSTANTS:
        return word
    return '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"'


class _Parser:
    """Recursive descent over the tokens of one specification."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[tuple[str, str, int]] = []
        position = 0
        end = len(text.rstrip())
        while position < end:
            match = _TOKEN.match(text, position)
            if match is None or match.lastgroup is None:
                raise self.error("a name, a value or one of ( ) , =", position)
            self.tokens.append((match.lastgroup, match[match.lastgroup], match.start(match.lastgroup)))
            position = match.end()
        self.next = 0

    def error(self, expected: str, position: int | None = None) -> UsageError:
        if position is None:
            position = self.tokens[self.next][2] if self.next < len(self.tokens) else len(self.text)
        found = shown(self.text[position : position + 20]) if position < len(self.text) else "the end"
        told = without_passwords(self.text)
        found = found if told == self.text else "other text"
        return UsageError(f"{shown(told)}: expected {expected} at character {position + 1}, got {found}")

    def take(self, kind: str, value: str | None = None) -> str | None:
        """Consume the next token if it is of this kind (and value)."""
        if self.next < len(self.tokens):
            token_kind, token, _ = self.tokens[self.next]
            if token_kind == kind and value in (None, token):
                self.next += 1
                return token
        return None

    def parse(self) -> Specification:
        specification = self.specification(self.name(), depth=0)
        if self.next < len(self.tokens):
            raise self.error("the end of the text")
        return specification

    def name(self) -> str:
        word = self.take("word")
        if word is None:
            raise self.error("a name")
        return word

    def specification(self, name: str, depth: int) -> Specification:
        if depth > _MAX_NESTING:
            raise self.error(f"at most {_MAX_NESTING} levels of nesting")
        arguments: dict[str, object] = {}
        if self.take("mark", "("):
            while not self.take("mark", ")"):
                if arguments and not self.take("mark", ","):
                    raise self.error("',' or ')'")
                key = self.name()
                if key in arguments:
                    raise self.error(f"a new argument ({key} is already set)")
                if not self.take("mark", "="):
                    raise self.error(f"'=' after {key}")
                arguments[key] = self.value(depth)
        return Specification(name, arguments)

    def value(self, depth: int) -> object:
        string = self.take("string")
        if string is not None:
            return _ESCAPE.sub(r"\1", string[1:-1])
        word = self.take("word")
        if word is None:
            raise self.error("a value")
        if self.next < len(self.tokens) and self.tokens[self.next][1] == "(":
            return self.specification(word, depth + 1)
        if word.lower() in _CONSTANTS:
            return _CONSTANTS[word.lower()]
        if _INTEGER.match(word):
            return int(word)
        return float(word) if _NUMBER.match(word) else word


def extra_module(name: str, *, feature: str, extra: str) -> Any:
    """Import a module that an extra brings, or raise the error that names the extra."""
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingExtraError(feature, extra) from error


def component_text(component: object) -> str:
    """Return what results record of a component: its specification, or its class where it has none."""
    kind = type(component)
    if kind.__str__ is object.__str__ and kind.__repr__ is object.__repr__:
        return kind.__qualname__
    return str(component)
