"""Qdrant beyond what every store promises: folders, servers that are absent, and what it leaves behind."""

from __future__ import annotations

import importlib.util
import pickle
from pathlib import Path

import pytest

from rag_evaluation_framework import UsageError
from rag_evaluation_framework.adapters.qdrant_store import QdrantVectorStore
from rag_evaluation_framework.errors import TargetError
from stored_texts import chunk

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("qdrant_client") is None, reason="the extra 'qdrant' is not installed"
)

CHUNK = chunk("text", "d", 3)


def test_a_folder_keeps_places_and_texts_as_payload_and_no_collection_afterwards(tmp_path: Path) -> None:
    store = QdrantVectorStore(path=str(tmp_path))
    store.add([CHUNK], [[3.0, 4.0]])
    assert store.search([1.0, 0.0], 5) == [CHUNK]
    client = store._client
    (collection,) = client.get_collections().collections
    (point,) = client.scroll(collection.name)[0]
    expected = {"chunk_id": CHUNK.id, "content": "text", "doc_id": "d", "start": 3, "end": 7}
    assert point.payload == expected
    with pytest.raises(UsageError, match="is already open in this process"):
        pickle.dumps(store)
    store.clear()
    assert client.get_collections().collections == []
    client.close()


def test_a_server_that_is_not_there_is_one_clear_error() -> None:
    store = QdrantVectorStore("http://127.0.0.1:9")
    with pytest.raises(TargetError, match=r"store-failed: qdrant at http://127\.0\.0\.1:9: .*refused"):
        store.add([CHUNK], [[1.0, 2.0]])


def test_a_key_in_the_address_never_shows() -> None:
    assert str(QdrantVectorStore("http://user:secret@host:6333/")) == "qdrant(url=http://host:6333/)"


def test_a_server_and_a_folder_at_once_are_refused() -> None:
    with pytest.raises(UsageError, match="qdrant: expected a url or a path, got both"):
        QdrantVectorStore("http://localhost:6333", path="x")


def test_only_a_store_that_is_gone_may_fail_to_drop_its_collection(tmp_path: Path) -> None:
    gone = QdrantVectorStore(path=str(tmp_path))
    gone.add([CHUNK], [[1.0, 2.0]])
    gone._client.close()
    gone.clear()
    broken = QdrantVectorStore()
    broken.add([CHUNK], [[1.0, 2.0]])
    broken._client.delete_collection = None
    with pytest.raises(TypeError):
        broken.clear()
