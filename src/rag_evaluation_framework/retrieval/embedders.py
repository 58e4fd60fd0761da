"""The hashing embedder, roles, memory and disk cache.

Text is folded and split into words. A word of a script with spaces, with a space on either side, counts
by its pieces of 3 to 5 characters (``rag`` gives `` ra``, ``rag``, ``ag ``, `` rag`` …); Chinese characters
and kana count one by one and in neighbouring pairs. Each piece is hashed to one place of the vector and a
sign (Weinberger et al., Feature Hashing, ICML 2009, section 2), with the weight 1 + ln(count) (Salton and
Buckley, 1988, logarithmic term frequency). Only integers are hashed, with arithmetic modulo 2^64, so the
vector is the same in every process and on every platform.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

from rag_evaluation_framework.errors import InputError, Issue, UsageError, shown
from rag_evaluation_framework.extensions import Embedder, QueryEmbedder, Specification, component_text
from rag_evaluation_framework.files.sqlite import opened, transaction
from rag_evaluation_framework.files.strict_json import drop_nulls
from rag_evaluation_framework.retrieval.stores import Matrix, batches, checked_vectors, unit_vectors
from rag_evaluation_framework.text.scripts import has_unspaced_script
from rag_evaluation_framework.text.tokens import word_tokens
from rag_evaluation_framework.workers import Workforce, crew_for, in_order

Role = Literal["query", "document"]
"""Role of a text for an embedder: the search query, or a document to find."""

# The one place where an embedder is asked: what it returns is checked before anything rests on it.


def embedded(
    embedder: Embedder, texts: Sequence[str], *, dimensions: int | None = None, role: Role = "document"
) -> Matrix:
    """Return one vector a text, in order; a wrong number, size or NaN is an error naming the embedder.

    Queries go to ``embed_queries`` where the embedder has it.
    """
    check_texts(texts)
    if not texts:
        return checked_vectors([], str(embedder), dimensions=dimensions)
    ask = embedder.embed
    if role == "query" and isinstance(embedder, QueryEmbedder):
        ask = embedder.embed_queries
    vectors = ask(list(texts))
    return checked_vectors(vectors, f"embedder {embedder}", rows=len(texts), dimensions=dimensions)


def embedding_roles(embedder: Embedder | None) -> dict[str, str]:
    """Return what an embedder does to queries and to documents; nothing, if it treats them alike."""
    own = getattr(embedder, "roles", None)
    if isinstance(own, Mapping):
        return {str(role): str(done) for role, done in own.items()}
    return {"query": "embed_queries", "document": "embed"} if isinstance(embedder, QueryEmbedder) else {}


class EmbedderByRole(ABC):
    """Embeds queries and documents each in their own way."""

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Return one vector for each document, in order."""
        check_texts(texts)
        return self._embedded(texts, "document")

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """Return one vector for each query, in order."""
        check_texts(texts)
        return self._embedded(texts, "query")

    @abstractmethod
    def _embedded(self, texts: Sequence[str], role: Role) -> Matrix: ...


def check_texts(texts: Sequence[str]) -> None:
    """Refuse one bare text where a list of texts belongs, and anything in the list that is no text."""
    if isinstance(texts, str):
        raise InputError([Issue("not-a-list", "a list of texts", shown(texts), "texts")])
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError([Issue("not-a-text", "text", shown(text), f"texts[{number}]")])


# What models were trained to see before a query and before a document. One that is asked without is measured
# wrongly. From the models' cards; those of sentence-transformers may bring their own.

_ENGLISH = "Represent this sentence for searching relevant passages: "
_INSTRUCTION = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
_BY_MODEL: tuple[tuple[re.Pattern[str], str, str], ...] = (
    (re.compile(r"(multilingual-)?e5-.*instruct"), f"{_INSTRUCTION} ", ""),
    (re.compile(r"(multilingual-)?e5-(small|base|large)"), "query: ", "passage: "),
    (re.compile(r"bge-(small|base|large)-zh"), "为这个句子生成表示以用于检索相关文章：", ""),
    (re.compile(r"bge-(small|base|large)"), _ENGLISH, ""),
    (re.compile(r"nomic-embed-text|modernbert-embed"), "search_query: ", "search_document: "),
    (re.compile(r"mxbai-embed-large|uae-large"), _ENGLISH, ""),
    (re.compile(r"snowflake-arctic-embed(2|.*v2)"), "query: ", ""),
    (re.compile(r"snowflake-arctic-embed"), _ENGLISH, ""),
    (re.compile(r"gte-qwen"), f"{_INSTRUCTION} ", ""),
    (re.compile(r"qwen3-embedding"), _INSTRUCTION, ""),
    (re.compile(r"embeddinggemma"), "task: search result | query: ", "title: none | text: "),
)
_QUERY_NAMES = ("query",)
_DOCUMENT_NAMES = ("document", "passage", "corpus")


class Prompts(msgspec.Struct, frozen=True):
    """The prefixes of queries and of documents."""

    query: str = ""
    document: str = ""

    @property
    def roles(self) -> dict[str, str]:
        """Return the prefix for each role; empty if neither has one."""
        return {"query": self.query, "document": self.document} if self.query or self.document else {}


def prompts_for(
    model: str,
    *,
    query_prefix: str | None = None,
    document_prefix: str | None = None,
    own: Mapping[str, str] | None = None,
) -> Prompts:
    """Return the prefixes that were given, else the model's ``own`` prompts, else those its name stands for.

    The name is the last part of a path or of a name on a hub, without a tag: ``intfloat/e5-base-v2``,
    ``nomic-embed-text:latest``.
    """
    query, document = (
        next((own[name] for name in names if own and own.get(name)), "")
        for names in (_QUERY_NAMES, _DOCUMENT_NAMES)
    )
    if not query and not document:
        name = model.rstrip("/").replace("\\", "/").rsplit("/", 1)[-1].lower().replace("_", "-")
        known = ((query, document) for pattern, query, document in _BY_MODEL if pattern.match(name))
        query, document = next(known, ("", ""))
    return Prompts(
        query if query_prefix is None else query_prefix,
        document if document_prefix is None else document_prefix,
    )


def given_prefixes(query_prefix: str | None, document_prefix: str | None) -> dict[str, str]:
    """Return the prefixes that were given, as arguments of a component's text."""
    return drop_nulls({"query_prefix": query_prefix, "document_prefix": document_prefix})


DIMENSIONS = 1024
MAX_DIMENSIONS = 1 << 20

_WORD_PIECES = (3, 4, 5)
_UNSPACED_PIECES = (1, 2)
_SPACE = 32
_BATCH = 64

# Constants of splitmix64 (Steele, Lea and Flood, OOPSLA 2014) and the prime of the 64-bit FNV hash.
_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_FIRST_FACTOR, _FIRST_SHIFT = np.uint64(0xBF58476D1CE4E5B9), np.uint64(30)
_SECOND_FACTOR, _SECOND_SHIFT = np.uint64(0x94D049BB133111EB), np.uint64(27)
_LAST_SHIFT = np.uint64(31)
_PRIME = np.uint64(0x100000001B3)
# A piece is known by the upper 40 bits of its hash, which leaves 24 to say whose it is.
_OWNER_BITS = np.uint64(24)
_SIGN_BIT = np.uint64(1)

Integers = npt.NDArray[np.uint64]


class HashingEmbedder:
    """Hashes pieces of words: similar spelling, near vectors. Knows no synonyms."""

    engines = ("processes", "ray")

    def __init__(self, dimensions: int = DIMENSIONS) -> None:
        if not isinstance(dimensions, int) or not 1 <= dimensions <= MAX_DIMENSIONS:
            expected = f"a whole number from 1 to {MAX_DIMENSIONS}"
            raise UsageError(f"hashing: dimensions: expected {expected}, got {shown(dimensions)}")
        self.dimensions = dimensions

    def __repr__(self) -> str:
        return str(Specification("hashing", {"dimensions": self.dimensions}))

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Return one vector of length one for each text."""
        check_texts(texts)
        parts = [_hashed(batch, self.dimensions) for batch in batches(texts, _BATCH)]
        return np.concatenate(parts) if parts else np.zeros((0, self.dimensions), np.float32)


def _hashed(texts: Sequence[str], dimensions: int) -> Matrix:
    """Hash a batch: all pieces of all texts at once, then each text's distinct pieces counted."""
    keys = np.concatenate(list(_pieces(texts)))
    distinct, counts = np.unique(keys, return_counts=True)
    owners = (distinct & np.uint64((1 << 24) - 1)).astype(np.int64)
    hashes = _mixed(distinct >> _OWNER_BITS)
    places = ((hashes >> _SIGN_BIT) % np.uint64(dimensions)).astype(np.int64)
    signs = 1.0 - 2.0 * (hashes & _SIGN_BIT).astype(np.float64)
    sums = np.bincount(
        owners * dimensions + places,
        weights=signs * (1.0 + np.log(counts)),
        minlength=len(texts) * dimensions,
    )
    return unit_vectors(sums.reshape(len(texts), dimensions).astype(np.float32))


def _pieces(texts: Sequence[str]) -> Iterator[Integers]:
    """Give the pieces of each size, as keys that hold the hash above and the text's number below."""
    padded = [f" {' '.join(word_tokens(text))} " for text in texts]
    joined = "".join(padded)
    characters = np.frombuffer(joined.encode("utf-32-le"), dtype="<u4").astype(np.uint64)
    owners = np.repeat(np.arange(len(texts), dtype=np.uint64), [len(text) for text in padded])
    spaces = characters == _SPACE
    unspaced = _unspaced(characters) if has_unspaced_script(joined) else np.zeros(len(characters), bool)
    yield from _word_pieces(characters, owners, spaces, unspaced)
    # word_tokens put a space between neighbours, which is left out here so that they are neighbours again.
    kept = unspaced | (spaces & ~np.roll(unspaced, 1))
    yield from _unspaced_pieces(characters[kept], owners[kept], unspaced[kept])


def _word_pieces(
    characters: Integers, owners: Integers, spaces: npt.NDArray[np.bool_], unspaced: npt.NDArray[np.bool_]
) -> Iterator[Integers]:
    """Give pieces that begin and end in one word or at its edge, of words of spaced scripts."""
    breaks = np.concatenate([[0], np.cumsum(spaces)])
    foreign = np.concatenate([[0], np.cumsum(unspaced)])
    for size, rolling in _rolling(characters, max(_WORD_PIECES)):
        if size in _WORD_PIECES:
            starts = np.arange(len(rolling))
            inner_breaks = breaks[starts + size - 1] - breaks[starts + 1]
            whole = (inner_breaks == 0) & (foreign[starts + size] == foreign[starts])
            yield _keys(rolling[whole], owners[starts[whole]], size)


def _unspaced_pieces(
    characters: Integers, owners: Integers, unspaced: npt.NDArray[np.bool_]
) -> Iterator[Integers]:
    """Give single characters and neighbouring pairs of scripts without spaces."""
    within = np.concatenate([[0], np.cumsum(unspaced)])
    for size, rolling in _rolling(characters, max(_UNSPACED_PIECES)):
        starts = np.arange(len(rolling))
        whole = within[starts + size] - within[starts] == size
        yield _keys(rolling[whole], owners[starts[whole]], size)


def _rolling(characters: Integers, longest: int) -> Iterator[tuple[int, Integers]]:
    """Give, for each size, the hash of the piece that begins at each character."""
    mixed = _mixed(characters)
    rolling = mixed
    for size in range(1, min(longest, len(characters)) + 1):
        if size > 1:
            count = len(characters) - size + 1
            rolling = rolling[:count] * _PRIME + mixed[size - 1 :]
        yield size, rolling


def _keys(rolling: Integers, owners: Integers, size: int) -> Integers:
    hashes = _mixed(rolling + np.uint64(size))
    return (hashes >> _OWNER_BITS << _OWNER_BITS) | owners


def _mixed(values: Integers) -> Integers:
    """Spread integers over 64 bits (the finaliser of splitmix64); arithmetic wraps around."""
    values = values + _GAMMA
    values = (values ^ (values >> _FIRST_SHIFT)) * _FIRST_FACTOR
    values = (values ^ (values >> _SECOND_SHIFT)) * _SECOND_FACTOR
    return values ^ (values >> _LAST_SHIFT)


def _unspaced(characters: Integers) -> npt.NDArray[np.bool_]:
    """Tell which characters are of a script without spaces, asking once for each distinct one."""
    distinct, places = np.unique(characters, return_inverse=True)
    known = np.array([has_unspaced_script(chr(int(code))) for code in distinct])
    return np.asarray(known[places])


# Embeddings on disk by (model, role, text): a text is embedded once, whichever run or process asks for it
# first.
#
# One SQLite file in a folder, in write-ahead mode, which many processes read and write at once. A text is
# known by its hash, a model by what the embedder calls itself and, where it tells queries from documents,
# by the role and what it does for it. What was embedded is on disk batch by
# batch, so a run that breaks off begins where it stopped.

FILE_NAME = "embeddings.sqlite3"

_ASKED_AT_ONCE = 500
_EMBEDDED_AT_ONCE = 1024
_TABLES = """
CREATE TABLE IF NOT EXISTS models (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS embeddings (
    model INTEGER NOT NULL, text BLOB NOT NULL, vector BLOB NOT NULL, PRIMARY KEY (model, text)
) WITHOUT ROWID;
"""


class CachedEmbedder(EmbedderByRole):
    """Fulfils ``extensions.Embedder``: asks the embedder it wraps only for what the folder does not hold.

    ``model`` names what embeds, so that another model's vectors are never taken for its own. Without it the
    embedder's ``cache_key`` is used where it has one (a model in a local folder gives the hash of its
    weights), else its text.
    """

    def __init__(self, embedder: Embedder, path: str | Path, *, model: str | None = None) -> None:
        self.embedder = embedder
        self.folder = Path(path)
        self.embedded_texts = 0
        """Number of texts that the wrapped embedder was asked for."""
        self._model = model
        if model is None and _is_nameless(embedder):
            kind = type(embedder).__name__
            raise UsageError(f"embedding cache: {kind} has no name. Set model=… or give the embedder a repr")

    def __repr__(self) -> str:
        return repr(self.embedder)

    @property
    def cache_key(self) -> str:
        """Return the name of the model in the cache."""
        return self._model or str(getattr(self.embedder, "cache_key", None) or self.embedder)

    @property
    def roles(self) -> dict[str, str]:
        """Return the prefixes that the embedder adds to queries and documents."""
        return embedding_roles(self.embedder)

    def _embedded(self, texts: Sequence[str], role: Role) -> Matrix:
        roles = self.roles
        model = f"{self.cache_key} {role} {roles.get(role, '')!r}" if roles else self.cache_key
        keys = [_key(text) for text in texts]
        distinct = dict(zip(keys, texts, strict=True))
        with self._opened() as database:
            number = _model_number(database, model)
            vectors = _read(database, number, list(distinct))
        missing = [key for key in distinct if key not in vectors]
        for start in range(0, len(missing), _EMBEDDED_AT_ONCE):
            batch = missing[start : start + _EMBEDDED_AT_ONCE]
            fresh = embedded(self.embedder, [distinct[key] for key in batch], role=role)
            self.embedded_texts += len(batch)
            rows = dict(zip(batch, (row.astype("<f4").tobytes() for row in fresh), strict=True))
            with self._opened() as database:
                _write(database, number, rows)
            vectors |= rows
        return self._matrix(keys, vectors)

    def _matrix(self, keys: Sequence[bytes], vectors: Mapping[bytes, bytes]) -> Matrix:
        sizes = {len(vector) for vector in vectors.values()}
        if len(sizes) > 1:
            found = "sizes " + ", ".join(str(size // 4) for size in sorted(sizes))
            place = f"{self.folder / FILE_NAME}: {self.cache_key}"
            raise InputError([Issue("wrong-size", "vectors of one size per model", found, place)])
        if not keys:
            return embedded(self.embedder, [])
        joined = np.frombuffer(b"".join(vectors[key] for key in keys), dtype="<f4")
        return joined.reshape(len(keys), -1).astype(np.float32)

    def _opened(self) -> AbstractContextManager[sqlite3.Connection]:
        """Open the file for one call, so that a copy of this object works in every process and thread."""
        return opened(self.folder / FILE_NAME, tables=_TABLES, what="embedding cache")


def _is_nameless(embedder: Embedder) -> bool:
    """Return True if an embedder's only description is its address in memory."""
    kind = type(embedder)
    is_default = kind.__repr__ is object.__repr__ and kind.__str__ is object.__str__
    return is_default and not hasattr(embedder, "cache_key")


def _model_number(database: sqlite3.Connection, name: str) -> int:
    found = database.execute("SELECT number FROM models WHERE name = ?", (name,)).fetchone()
    if found is None:
        with transaction(database):
            database.execute("INSERT OR IGNORE INTO models (name) VALUES (?)", (name,))
        found = database.execute("SELECT number FROM models WHERE name = ?", (name,)).fetchone()
    return int(found[0])


def _read(database: sqlite3.Connection, model: int, keys: Sequence[bytes]) -> dict[bytes, bytes]:
    vectors: dict[bytes, bytes] = {}
    for start in range(0, len(keys), _ASKED_AT_ONCE):
        some = keys[start : start + _ASKED_AT_ONCE]
        marks = ",".join("?" * len(some))
        query = f"SELECT text, vector FROM embeddings WHERE model = ? AND text IN ({marks})"  # noqa: S608  # question marks only
        vectors.update(database.execute(query, (model, *some)))
    return vectors


def _write(database: sqlite3.Connection, model: int, rows: Mapping[bytes, bytes]) -> None:
    with transaction(database):
        database.executemany(
            "INSERT OR IGNORE INTO embeddings (model, text, vector) VALUES (?, ?, ?)",
            [(model, key, vector) for key, vector in rows.items()],
        )


def _key(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


# An embedder that is asked for each text once, however many chunkings of a sweep have it.

# So many texts between two words on how far it is; an embedder makes smaller batches of its own.
BATCH = 1024

OnTexts = Callable[[int], None]
"""Callback with the number of texts that were embedded since its last call."""


class RememberingEmbedder(EmbedderByRole):
    """Fulfils ``extensions.Embedder``. Keeps every vector in memory; its text is that of the embedder itself.

    ``seconds`` is the time that the embedder took.
    """

    def __init__(self, embedder: Embedder, *, on_texts: OnTexts | None = None) -> None:
        self.embedder = embedder
        self.seconds = 0.0
        self.workers: Workforce = 1
        """Embedder in use. Only one that names an engine among its ``engines`` is sent to its workers."""
        self._on_texts = on_texts
        self._rows: dict[tuple[Role, str], int] = {}
        self._matrix: Matrix | None = None

    def __repr__(self) -> str:
        return component_text(self.embedder)

    @property
    def dimensions(self) -> int | None:
        """The length of a vector; not known before the first text."""
        return None if self._matrix is None else int(self._matrix.shape[1])

    @property
    def roles(self) -> dict[str, str]:
        """Return the prefixes that the embedder adds to queries and documents."""
        return embedding_roles(self.embedder)

    def _embedded(self, texts: Sequence[str], role: Role) -> Matrix:
        role = role if self.roles else "document"  # queries that are treated like documents share with them
        new = list(dict.fromkeys(text for text in texts if (role, text) not in self._rows))
        if new:
            self._learn(new, role)
        if self._matrix is None:
            return np.zeros((0, 0), np.float32)
        rows = [self._rows[role, text] for text in texts]
        if rows and rows == list(range(rows[0], rows[0] + len(rows))):  # as they were learnt: not copied
            return self._matrix[rows[0] : rows[0] + len(rows)]
        return self._matrix[rows]

    def _learn(self, texts: Sequence[str], role: Role) -> None:
        begun = time.perf_counter()
        before, known = self._matrix, len(self._rows)
        matrix = np.zeros((known, 0), np.float32) if before is None else before
        # The same batches whoever works on them: a model's last digit may depend on its neighbours.
        portions = [texts[first : first + BATCH] for first in range(0, len(texts), BATCH)]
        crew = crew_for(self.embedder, self.workers)
        work = partial(embedded, self.embedder, role=role)
        source, first = f"embedder {self.embedder}", known
        for made in in_order(work, portions, workers=crew, total=len(portions)):
            vectors = checked_vectors(made, source, rows=len(made), dimensions=matrix.shape[1] or None)
            if first == known:  # the place for all of them, which are copied there while others are made
                matrix = np.empty((known + len(texts), vectors.shape[1]), np.float32)
                if before is not None:
                    matrix[:known] = before
            matrix[first : first + len(vectors)] = vectors
            first += len(vectors)
            if self._on_texts is not None:
                self._on_texts(len(vectors))
        self._matrix = matrix
        matrix.flags.writeable = False
        self._rows.update(zip(((role, text) for text in texts), range(known, first), strict=True))
        self.seconds += time.perf_counter() - begun
