"""Questions made without a model, drawn from documents of a Debian machine to be read by people.

    python -m benchmarks.free_questions B --seed 3 --without read.jsonl -o read_next.jsonl

The documents are what the machine has: licences, changelogs, manual pages as text, READMEs, the Chinese
texts of the tests and, where the shared data is, passages of the Chinese encyclopedia. Half of them, by the
hash of their content, is **A**: what the rules are worked out on. The other half, **B**, is read once:
documents with a question that was read before are in A, or left out with ``--without``.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import random
import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from rag_evaluation_framework.records.documents import Corpus, Document, DocumentId
from rag_evaluation_framework.synthesis.drafts import Draft
from rag_evaluation_framework.synthesis.extractive import generate_extractively
from rag_evaluation_framework.synthesis.passages import passages_of

TESTS = Path(__file__).parents[1] / "tests" / "synthesis"
ENCYCLOPEDIA = Path(__file__).parents[2] / "shared" / "data" / "nomiracl" / "zh.jsonl"
PER_DOCUMENT = 3
AROUND = 400
SHARES = {"man": 60, "readme": 50, "changelog": 30, "licence": 30, "chinese": 30}
"""How many questions of each kind are read."""
PLACES = ("/usr/share", "/usr/lib", "/usr/local", "/root/.pyenv/versions", "/opt")
_LICENCE = re.compile(r"(?:licen[cs]e|copying|copyright|notice|eula)[\w.-]*\Z", re.I)
_CHANGELOG = re.compile(r"(?:change(?:s|log)|news|history|release[-_]?notes)[\w.-]*\Z", re.I)
_README = re.compile(r"readme[\w.-]*\Z|METADATA\Z|[\w.-]+\.(?:md|rst)\Z", re.I)
_NO_TEXT = re.compile(
    r"\.(?:py|js|pyc|html?|json|png|so|h|c|ts|svg|map|pm|pl|al|tcl|el|go|yaml|yml|css|rb)\Z"
)
_MANUAL = re.compile(r"/man/man[1-8]/(?!gcloud)[^/]+\.[1-8][a-z]*\.gz\Z")
_RECORD = re.compile(r"of the Debian package|when was version|the files? \S+ of", re.I)
_LONGEST, _SHORTEST = 300_000, 300
_MOST = {"man": 300, "readme": 700, "changelog": 150, "licence": 150, "chinese": 700}
"""How many documents are enough for the share of their kind."""


def main() -> None:
    """Draw the questions of one half and write them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("half", choices=["A", "B", "AB"])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--all", action="store_true", help="every question, not only the share of its kind")
    parser.add_argument("--without", type=Path, help="questions read before: their documents are left out")
    parser.add_argument(
        "--place", type=Path, action="append", help="a folder of documents instead of the machine"
    )
    parser.add_argument("-o", "--output", type=Path, required=True)
    arguments = parser.parse_args()
    drawn = random.Random(arguments.seed)
    read = _read_before(arguments.without) if arguments.without else frozenset()
    lines: list[dict[str, str]] = []
    for kind, share in SHARES.items():
        found = _documents(kind, arguments.place)
        documents = [each for each in found if _half(each.content) in arguments.half]
        documents = [each for each in documents if not {_hash(each.content), str(each.id)} & read]
        documents = drawn.sample(documents, min(_MOST[kind], len(documents)))
        corpus = Corpus(documents)
        samples = generate_extractively(corpus, queries_per_doc=PER_DOCUMENT, seed=arguments.seed)
        made = list(samples.drafts.kept)
        print(f"{kind}: {len(made)} questions about {len(documents)} documents")
        chosen = made if arguments.all else _drawn(made, share, drawn)
        lines += [_line(kind, draft, corpus) for draft in chosen]
    drawn.shuffle(lines)
    with arguments.output.open("w", encoding="utf-8") as written:
        for number, line in enumerate(lines, start=1):
            written.write(json.dumps({"id": f"r{number:03}", **line}, ensure_ascii=False) + "\n")


def _drawn(made: Sequence[Draft], share: int, drawn: random.Random) -> list[Draft]:
    """Draw some; at most half are read off records, unless there are too few others."""
    records = [draft for draft in made if _RECORD.search(draft.question)]
    others = [draft for draft in made if not _RECORD.search(draft.question)]
    of_records = min(len(records), max(share // 2, share - len(others)))
    chosen = drawn.sample(others, min(len(others), share - of_records))
    return [*chosen, *drawn.sample(records, of_records)]


def _line(kind: str, draft: Draft, corpus: Corpus) -> dict[str, str]:
    """Return a question with its passage as a reader sees it: its document's name, some lines around."""
    (excerpt,) = draft.excerpts
    text = corpus[excerpt.doc_id].content
    start = max(0, text.rfind("\n\n", 0, max(0, excerpt.start - AROUND)))
    end = text.find("\n\n", excerpt.end + AROUND)
    around = text[start : end if end >= 0 else len(text)][: 4 * AROUND + excerpt.end - excerpt.start].strip()
    title = passages_of(corpus[excerpt.doc_id]).title
    name = f"[{excerpt.doc_id.rpartition('/')[2]}: {title}]" if title else f"[{excerpt.doc_id}]"
    passage = f"{name}\n{around}\n[the passage] {excerpt.text}"
    return {
        "kind": kind, "document": excerpt.doc_id, "passage": passage,
        "question": draft.question, "answer": draft.answer or "",
    }  # fmt: skip


def _documents(kind: str, places: Sequence[Path] | None) -> Iterator[Document]:
    """Yield the documents of a kind, those with the same text once, in an order that the machine's is not."""
    seen: set[str] = set()
    is_own = kind == "chinese" and not places
    paths = (TESTS / "chinese").glob("*.md") if is_own else _files(kind, places or PLACES)
    if is_own and ENCYCLOPEDIA.exists():
        yield from _encyclopedia()
    for path in sorted(paths, key=lambda path: hashlib.sha256(str(path).encode()).hexdigest())[:1500]:
        text = _manual(path) if kind == "man" else _text(path)
        same = re.sub(r"\W+", "", text[:20_000]).casefold()[:3000]
        if (_SHORTEST if kind != "chinese" else 0) <= len(text) <= _LONGEST and same not in seen:
            seen.add(same)
            yield Document(DocumentId(str(path)), text)


def _encyclopedia() -> Iterator[Document]:
    """Yield the passages of the Chinese encyclopedia, the first of each article."""
    seen: set[str] = set()
    for line in ENCYCLOPEDIA.read_text(encoding="utf-8").splitlines():
        for title, _, text in (context.partition(": ") for context in json.loads(line)["contexts"]):
            if text and title not in seen:
                seen.add(title)
                yield Document(DocumentId(f"{title}.md"), f"# {title}\n\n{text}\n")


def _read_before(path: Path) -> frozenset[str]:
    """Return the names and hashes of the documents that had a question; those of articles have no file."""
    lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    asked = {(line["kind"], Path(line["document"])) for line in lines}
    texts = (_manual(path) if kind == "man" else _text(path) for kind, path in asked if path.exists())
    return frozenset([*map(_hash, texts), *(str(path) for _, path in asked)])


def _hash(text: str) -> str:
    return hashlib.sha256(" ".join(text.split())[:5000].encode()).hexdigest()


def _files(kind: str, places: Sequence[str | Path]) -> Iterator[Path]:
    for place in places:
        for folder, folders, names in os.walk(place):
            folders[:] = [
                each for each in folders if each not in ("__pycache__", "locale", "examples", "Help")
            ]
            for name in names:
                path = Path(folder, name)
                if _kind(path) == kind and not path.is_symlink():
                    yield path


def _kind(path: Path) -> str | None:
    name = path.name.removesuffix(".gz")
    if "/man/" in str(path):
        return "man" if _MANUAL.search(str(path)) else None
    if _NO_TEXT.search(name):
        return None
    if name.endswith(".zh.md"):
        return "chinese"
    patterns = {"licence": _LICENCE, "changelog": _CHANGELOG, "readme": _README}
    is_licence = path.parent.name in ("common-licenses", "licenses")
    return (
        "licence" if is_licence else next((kind for kind, each in patterns.items() if each.match(name)), None)
    )


def _text(path: Path) -> str:
    raw = path.read_bytes()[: _LONGEST + 1]
    try:
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else raw
        text = raw.decode("utf-8").replace("\r\n", "\n")
        # What follows the fields of a Python package's metadata is its README.
        return text.partition("\n\n")[2] if path.name == "METADATA" else text
    except (OSError, UnicodeDecodeError):
        return ""


def _manual(path: Path) -> str:
    kept = Path(os.environ.get("MANUALS", "/tmp/manuals"), path.name + ".txt")  # rendered once
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        command = ["sh", "-c", 'MANWIDTH=80 man -l "$0" 2>/dev/null | col -bx', str(path)]
        kept.write_bytes(subprocess.run(command, capture_output=True, check=False).stdout)
    return kept.read_bytes().decode("utf-8", "replace")


def _half(text: str) -> str:
    squeezed = " ".join(text.split())
    if any(passage in squeezed for passage in _READ):
        return "A"
    return "AB"[int(_hash(text), 16) % 2]


_READ = {
    " ".join(json.loads(line)["passage"].split())
    for line in (TESTS / "read_questions.jsonl").read_text(encoding="utf-8").splitlines()
}

if __name__ == "__main__":
    main()
