"""Which documents the hits of a system name, in their order; the scores of rankings and blame go by the same.

With the documents at hand, a document may be named in any of its ways; without any, a name is an id.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from rag_evaluation_framework.judging.cited_texts import CitableTexts
from rag_evaluation_framework.records.responses import Hit

_OWN_CHUNK_ID = re.compile(r"(?:pa_)?chunk_[0-9a-f]{12}")


def ranked_documents(hits: Sequence[Hit], documents: CitableTexts) -> list[str] | str:
    """Return the ids of the documents of the hits, each once, or why they cannot be told."""
    names = [hit.id if hit.span is None else hit.span.doc_id for hit in hits]
    if not names:
        return []
    if are_own_chunks(names):
        return "its hits are chunks that do not tell their documents"
    if documents and not any(map(documents.document, names)):
        return "none of its hits names a document of the dataset"
    return list(dict.fromkeys(map(documents.id_of, names)))


def are_own_chunks(ids: Sequence[str]) -> bool:
    """Tell whether these are ids that chunkers of this package make."""
    return all(map(_OWN_CHUNK_ID.fullmatch, ids))
