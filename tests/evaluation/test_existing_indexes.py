"""Indexes that exist already, in a sweep and as a target: searched as they are, judged by characters."""

from __future__ import annotations

import json
import pickle
import re
from contextlib import chdir
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cases import tables_beside
from command_lines import rag_eval_ended
from rag_evaluation_framework import (
    Corpus,
    InputError,
    RecursiveCharacterChunker,
    UsageError,
    evaluate,
    read_dataset,
)
from rag_evaluation_framework.datasets.recognition import recognise
from rag_evaluation_framework.evaluation.frameworks import existing_index
from rag_evaluation_framework.records.chunks import PositionAwareChunk
from rag_evaluation_framework.results.evaluations import Evaluation
from rag_evaluation_framework.retrieval.embedders import HashingEmbedder
from rag_evaluation_framework.retrieval.stores import ExactVectorStore
from rag_evaluation_framework.retrieval.sweep import grid_of
from rag_evaluation_framework.structs import replace

TABLES = tables_beside(__file__)

HANDBOOK = Path(__file__).parents[2] / "examples" / "handbook"
NAMES = ("timetable.md", "fares.md", "refunds.md", "glossary.md")
CORPUS = Corpus([each for each in Corpus.from_folder(HANDBOOK / "documents") if each.id in NAMES])
WHOLE = read_dataset(HANDBOOK / "questions.eval.json")
ASKED = [
    each
    for each in WHOLE.samples
    if each.relevant_spans and all(s.file in NAMES for s in each.relevant_spans)
]
QUESTIONS = replace(WHOLE, samples=tuple(ASKED[:12]), documents=CORPUS.documents)
CHUNKER = RecursiveCharacterChunker(chunk_size=500)
CHUNKS = [chunk for document in CORPUS for chunk in CHUNKER.chunk_with_positions(document)]
EMBEDDER = HashingEmbedder()


@pytest.fixture(scope="module")
def vectors() -> Any:
    return EMBEDDER.embed([chunk.content for chunk in CHUNKS])


class Found:
    """What LangChain calls a document."""

    def __init__(self, text: str, source: str) -> None:
        self.page_content, self.metadata = text, {"source": source}


class Searched:
    """A retriever of LangChain's shape over our own exact store; ``k`` is its own."""

    def __init__(self, vectors: Any, k: int = 5) -> None:
        self._store, self._k = ExactVectorStore(), k
        self._store.add(CHUNKS, vectors)

    def _get_relevant_documents(self, query: str) -> list[Found]:
        nearest = self._store.search(EMBEDDER.embed([query])[0], self._k)
        return [self.found(chunk) for chunk in nearest]

    def found(self, chunk: PositionAwareChunk) -> Found:
        return Found(chunk.content, chunk.doc_id)

    def invoke(self, query: str) -> list[Found]:
        return self._get_relevant_documents(query)

    async def ainvoke(self, query: str) -> list[Found]:
        return self.invoke(query)


class Rewritten(Searched):
    """Returns one file in other words, and the others with other white space, under another path."""

    def found(self, chunk: PositionAwareChunk) -> Found:
        if chunk.doc_id == "timetable.md":
            return Found(f"In short: {chunk.content}", chunk.doc_id)
        return Found(chunk.content.replace(" ", "\n"), f"/srv/docs/{chunk.doc_id}")


def _swept(*indexes: Any, is_compared: bool = False) -> Evaluation:
    """Sweep indexes and, where they are compared, our own pipeline of the same parts."""
    grid = grid_of(
        chunkers=[CHUNKER] if is_compared else [],
        retrievers=["dense"] if is_compared else [],
        vector_stores=[ExactVectorStore()],
        indexes=[existing_index(index) for index in indexes],
        k=5,
    )
    return evaluate(QUESTIONS, target=grid, documents=CORPUS)


def _values(evaluation: Evaluation) -> list[dict[str, float | None]]:
    """Return the figures of each combination, but for what depends on chunks that nobody knows."""
    return [
        {name: each.value for name, each in cell.metrics.items() if name != "precision_omega"}
        for cell in evaluation.parts.values()
    ]


def test_an_index_of_the_same_chunks_has_the_figures_of_the_pipeline(vectors: Any) -> None:
    sweep = _swept(Searched(vectors), is_compared=True)
    ours, theirs = _values(sweep)
    assert ours == theirs
    [existing] = [cell for name, cell in sweep.parts.items() if name.startswith("existing")]
    assert existing.metrics["precision_omega"].value is None
    assert "chunks" not in existing.head.configuration
    assert existing.warnings == ()


def test_what_is_not_in_the_documents_counts_as_read_for_nothing(vectors: Any) -> None:
    ours, theirs = _swept(Searched(vectors)), _swept(Rewritten(vectors, k=3))
    [warned, short] = theirs.warnings
    assert "texts are not in the documents; they count as not relevant" in warned
    assert short.endswith("returned at most 3 of 5 requested chunks")
    [[better], [worse]] = _values(ours), _values(theirs)
    assert 0 < (worse["span_recall"] or 0) < (better["span_recall"] or 0)


def test_an_index_of_other_documents_is_refused(vectors: Any) -> None:
    class Elsewhere(Searched):
        def found(self, chunk: PositionAwareChunk) -> Found:
            return Found("Nothing of the kind.", "other.md")

    with pytest.raises(
        InputError, match=r"expected an index of these documents, got \d+ texts, none in the documents"
    ):
        _swept(Elsewhere(vectors))


def test_an_index_that_cannot_be_searched_is_told_before_the_first_question(vectors: Any) -> None:
    class Broken(Searched):
        def invoke(self, query: str) -> list[Found]:
            raise ConnectionError("no such host")

    with pytest.raises(
        UsageError, match="LangChain Broken: cannot be searched: ConnectionError: no such host"
    ):
        _swept(Broken(vectors))
    with pytest.raises(UsageError, match="index: expected an object that can be asked"):
        existing_index(3)


def _chroma(folder: Path, vectors: Any, **settings: Any) -> str:
    chromadb = pytest.importorskip("chromadb")
    nearest_of_all = {"hnsw": {"space": "cosine", "ef_search": 1000, "max_neighbors": 32, **settings}}
    collection = chromadb.PersistentClient(str(folder)).create_collection(
        "handbook", embedding_function=None, configuration=nearest_of_all
    )
    collection.add(
        ids=[str(number) for number in range(len(CHUNKS))],
        embeddings=vectors,
        documents=[chunk.content for chunk in CHUNKS],
        metadatas=[{"source": chunk.doc_id} for chunk in CHUNKS],
    )
    return f'chroma(collection=handbook, path="{folder.name}", embedder=hashing)'


def _qdrant(folder: Path, vectors: Any) -> str:
    client = pytest.importorskip("qdrant_client").QdrantClient(path=str(folder))
    models = pytest.importorskip("qdrant_client").models
    size = models.VectorParams(size=vectors.shape[1], distance=models.Distance.COSINE)
    client.create_collection("handbook", vectors_config=size)
    payloads = [{"page_content": chunk.content, "metadata": {"source": chunk.doc_id}} for chunk in CHUNKS]
    points = models.Batch(ids=list(range(len(CHUNKS))), vectors=vectors.tolist(), payloads=payloads)
    client.upsert("handbook", points=points)
    client.close()
    return f'qdrant(collection=handbook, path="{folder.name}", embedder=hashing)'


def _pgvector(address: str, vectors: Any, table: str = "handbook") -> str:
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(address, autocommit=True) as connection:
        size = vectors.shape[1]
        connection.execute(
            f"CREATE TABLE {table} (id serial, source text, content text, embedding vector({size}))"
        )
        values = [
            (chunk.doc_id, chunk.content, str(vector))
            for chunk, vector in zip(CHUNKS, vectors.tolist(), strict=True)
        ]
        insert = f"INSERT INTO {table} (source, content, embedding) VALUES (%s, %s, %s)"
        connection.cursor().executemany(insert, values)
    return f"pgvector(table={table}, embedder=hashing)"


def test_indexes_of_chroma_qdrant_and_pgvector_are_searched_by_the_command(
    vectors: Any, tmp_path: Path, postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGVECTOR_DSN", postgres)
    indexes = [_chroma(tmp_path / "chroma", vectors), _qdrant(tmp_path / "qdrant", vectors)]
    indexes.append(_pgvector(postgres, vectors))
    recognise(HANDBOOK / "questions.eval.json").write(QUESTIONS, tmp_path / "questions.eval.json")
    given = ["retrieval", "questions.eval.json", "-k", "5"]
    options = [word for index in indexes for word in ("--index", index)]
    done = rag_eval_ended(
        *given, *options, "--chunker", str(CHUNKER), "--store", "exact", "--json", folder=tmp_path
    )
    assert done.returncode == 0, done.stderr
    ranked = json.loads(done.stdout)["cells"]
    assert {cell["configuration"]["chunker"] for cell in ranked} == {"existing", str(CHUNKER)}
    recalls = {round(cell["metrics"]["span_recall"]["value"], 3) for cell in ranked}
    assert len(ranked) == 4
    assert len(recalls) == 1
    assert [cell["performance"]["store_recall"] for cell in ranked] == [1.0] * 4
    with chdir(tmp_path):  # what searches an index is sent without its connection
        for index in map(existing_index, indexes):
            index.index(CHUNKS)  # as if they were the documents
            index.retrieve(["Ferry?"], 2)
            copy = pickle.loads(pickle.dumps(index))
            assert copy.retrieve(["Lunch?"], 5) == index.retrieve(["Lunch?"], 5)
            assert copy.doubts == index.doubts
            assert copy.recall_against_exact(["Lunch?"], 5) == 1.0
    told = "pgvector(table=handbook, vector=embedding, text=content, document=source, distance=cosine, "
    assert [cell for cell in ranked if cell["configuration"]["retriever"].startswith(told)]
    for wrong, line in TABLES["wrong_indexes"].items():
        with chdir(tmp_path), pytest.raises(UsageError, match=re.escape(line)):
            existing_index(wrong)


def test_a_collection_is_a_target_by_its_specification(
    vectors: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    target = _chroma(tmp_path / "chroma", vectors)
    found = evaluate(QUESTIONS, target=target, documents=CORPUS, metrics=["span_recall"])
    [cell] = _swept(Searched(vectors)).parts.values()
    assert [row.result.response.failure for row in found.rows] == [None] * len(QUESTIONS.samples)
    assert found.columns.scored("span_recall") == cell.columns.scored("span_recall")


def test_a_table_is_read_by_its_names_types_and_index_and_never_written_to(
    vectors: Any, postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    psycopg = pytest.importorskip("psycopg")
    monkeypatch.setenv("PGVECTOR_DSN", postgres)
    few = vectors[:6, :32]
    size = few.shape[1]
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(
            f'CREATE TABLE "Rows" (uuid text, "Vec" halfvec({size}), other halfvec({size}), document text, '
            'cmetadata jsonb, "start" int, "end" int)'
        )
        values = [
            (number, str(vector), chunk.content, json.dumps({"source": chunk.doc_id}), number, number + 1)
            for number, (chunk, vector) in enumerate(zip(CHUNKS[:6], few.tolist(), strict=True))
        ]
        insert = 'INSERT INTO "Rows" VALUES (%s, %s, NULL, %s, %s, %s, %s)'
        connection.cursor().executemany(insert, values)
        connection.execute('CREATE INDEX ON "Rows" USING hnsw ("Vec" halfvec_l2_ops)')
    with pytest.raises(
        UsageError, match=r"table Rows: the setting vector is missing; set it to a column \(Vec, other\)"
    ):
        existing_index("pgvector(table=Rows, embedder=hashing)")
    given = "table=public.Rows, vector=Vec, embedder=hashing(dimensions=32)"
    index = existing_index(f"pgvector({given}, where=\"uuid <> '5'\")")
    assert "text=document, distance=l2" in str(index)
    found = index.system.found(CHUNKS[0].content, 9)
    assert len(found) == 5
    assert {(each["source"], each["start"], each["end"]) for each in found} == {
        (chunk.doc_id, number, number + 1) for number, chunk in enumerate(CHUNKS[:5])
    }
    with pytest.raises(UsageError, match="cannot be searched: different halfvec dimensions 32 and 1024"):
        existing_index("pgvector(table=Rows, vector=Vec, embedder=hashing)").index([])
    writes = f"pgvector({given}, where=\"setval('numbers', 7) > 0\")"
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE SEQUENCE numbers")
    with pytest.raises(UsageError, match=r"cannot execute setval\(\) in a read-only transaction"):
        existing_index(writes).index([])


def test_an_approximate_index_tells_what_it_misses_of_the_nearest(
    vectors: Any, tmp_path: Path, postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    psycopg = pytest.importorskip("psycopg")
    monkeypatch.setenv("PGVECTOR_DSN", postgres)
    table = _pgvector(postgres, vectors, "coarse")
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(
            "CREATE INDEX ON coarse USING ivfflat (embedding vector_cosine_ops) WITH (lists = 8)"
        )
    # The server would not use the index of so small a table.
    monkeypatch.setenv("PGOPTIONS", "-c enable_seqscan=off")
    recognise(HANDBOOK / "questions.eval.json").write(QUESTIONS, tmp_path / "questions.eval.json")
    given = ["retrieval", "questions.eval.json", "-k", "5", "--chunker", str(CHUNKER)]
    stores = (
        "pgvector(index=ivfflat, lists=8, probes=1)",
        "pgvector(index=ivfflat, lists=8, probes=8)",
        "exact",
    )
    options = [word for store in stores for word in ("--store", store)]
    done = rag_eval_ended(*given, *options, "--index", table, "--width", "140", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    [run] = (tmp_path / "runs").iterdir()
    cells = json.loads((run / "results.json").read_text())["cells"]
    told = {
        cell["configuration"]["retriever"]: tuple(
            map(cell["performance"].get, ("store_recall", "store_effort"))
        )
        for cell in cells
    }
    found = {name: recall for name, (recall, effort) in told.items() if effort == "probes=1"}
    assert len(found) == 2  # that of the table, and ours
    assert all(0 < recall < 0.99 for recall in found.values())
    assert [each for name, each in told.items() if "probes=8" in name] == [(1.0, "probes=8")]
    assert [each for name, each in told.items() if name.endswith("store=exact)")] == [(1.0, None)]
    wanted = [
        f"index misses {100 * (1 - recall):.0f}% of the nearest chunks with probes=1; "
        "a higher value misses fewer"
        for recall in found.values()
    ]
    exported = rag_eval_ended("export", run.name, "--to", "markdown", "-o", "sweep.md", folder=tmp_path)
    page = rag_eval_ended("report", run.name, "--out", "sweep.html", folder=tmp_path)
    assert (exported.returncode, page.returncode) == (0, 0), page.stderr
    for text in (done.stdout, (tmp_path / "sweep.md").read_text(), (tmp_path / "sweep.html").read_text()):
        assert [line for line in wanted if line not in text] == []
        assert text.count("the index misses") >= 2
    assert "index recall" in (tmp_path / "sweep.html").read_text()


@pytest.mark.parametrize("space", ["cosine", "ip", "l2"])
def test_a_collection_tells_what_it_misses_of_the_nearest_or_why_that_is_not_known(
    tmp_path: Path, vectors: Any, monkeypatch: pytest.MonkeyPatch, space: str
) -> None:
    monkeypatch.chdir(tmp_path)
    scaled = vectors if space == "cosine" else vectors * np.linspace(0.5, 2.0, len(vectors))[:, None]
    asked = EMBEDDER.embed([each.question for each in QUESTIONS.samples])
    near = asked @ scaled.T - (space == "l2") * (scaled**2).sum(axis=1) / 2
    poor = {"space": space, "ef_search": 1, "max_neighbors": 2, "ef_construction": 1}
    index = existing_index(_chroma(tmp_path / "chroma", scaled.astype(np.float32), **poor))
    found = index.system.given.query(query_embeddings=asked, n_results=5, include=[])["ids"]
    reached = np.take_along_axis(near, np.array(found, int), axis=1) >= np.sort(near)[:, -5:-4] - 1e-6
    [told] = [cell.performance.figures for cell in _swept(index).parts.values()]
    assert (told["store_recall"], told["store_effort"]) == (reached.mean(), "ef_search=1")
    assert not reached.all() or space == "l2"  # which finds all by chance now and then
    monkeypatch.setattr("rag_evaluation_framework.adapters.chroma_store._MOST_READ", 10_000)
    assert "search is unknown: expected a collection of 1 to 9 vectors" in _swept(index).warnings[0]


def test_of_several_places_of_a_text_the_index_may_name_its_own() -> None:
    document = next(iter(CORPUS))
    twice = PositionAwareChunk(CHUNKS[0].id, "ferry … ferry", document.id, 0, 13)

    class Named(Searched):
        def __init__(self) -> None: ...

        def invoke(self, query: str) -> Any:
            return [{"page_content": "ferry", "source": document.id, "start": 8, "end": 13}]

    index = existing_index(Named())
    index.index([twice])
    [[found]] = index.retrieve(["?"], 1)
    assert (found.start, found.end, dict(found.metadata)) == (8, 13, {})


@pytest.mark.vendors("langchain_community", "faiss", "llama_index.core")
@pytest.mark.filterwarnings("ignore")
def test_stores_of_langchain_and_llama_index_have_the_figures_of_the_pipeline(vectors: Any) -> None:
    from langchain_community.vectorstores import FAISS
    from langchain_core.embeddings import Embeddings
    from llama_index.core import VectorStoreIndex
    from llama_index.core.embeddings import BaseEmbedding
    from llama_index.core.schema import TextNode

    class Ours(Embeddings):
        def embed_documents(self, texts: list[str]) -> Any:
            return EMBEDDER.embed(texts).tolist()

        def embed_query(self, text: str) -> Any:
            return EMBEDDER.embed([text])[0].tolist()

    class OurNodes(BaseEmbedding):
        def _get_query_embedding(self, query: str) -> Any:
            return EMBEDDER.embed([query])[0].tolist()

        async def _aget_query_embedding(self, query: str) -> Any:
            return self._get_query_embedding(query)

        def _get_text_embedding(self, text: str) -> Any:
            return self._get_query_embedding(text)

    pairs = [(chunk.content, vector) for chunk, vector in zip(CHUNKS, vectors.tolist(), strict=True)]
    faiss = FAISS.from_embeddings(pairs, Ours(), metadatas=[{"source": chunk.doc_id} for chunk in CHUNKS])
    nodes = [
        TextNode(text=chunk.content, embedding=vector, metadata={"file_path": f"/srv/docs/{chunk.doc_id}"})
        for chunk, (_, vector) in zip(CHUNKS, pairs, strict=True)
    ]
    index = VectorStoreIndex(nodes, embed_model=OurNodes())
    retriever = faiss.as_retriever(search_kwargs={"k": 5})
    ours, *theirs = _values(_swept(faiss, retriever, index, is_compared=True))
    for each in theirs:
        assert each == pytest.approx(ours, abs=0.005)  # of equal distances another may come first
