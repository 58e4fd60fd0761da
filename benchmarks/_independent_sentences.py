"""Plain sentences of prose that is on the machine, each with the passage that it stands in."""

import ast
import re
import sysconfig
from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path
from pydoc_data.topics import topics
from typing import NamedTuple

NEAR = 3  # sentences on either side
ROOT, LIBRARY = Path(__file__).parent.parent, Path(sysconfig.get_path("stdlib"))
# Neither the pages on metrics nor those that explain the rules.
PAGES = {
    "handbook": "examples/handbook/documents/*.md",
    "golden": "examples/golden/stories/*.txt",
    "docs": "docs/[ht]*/*.md",
}


class Sentence(NamedTuple):
    text: str
    context: str
    document: str
    near: str
    source: str


def documents() -> Iterator[tuple[str, list[str]]]:
    """Yield each document's source and its passages: sections of pages, paragraphs of documentation."""
    for source, pattern in PAGES.items():
        for page in sorted(ROOT.glob(pattern)):
            if page.stem not in {"metrics", "print_pages"}:
                yield source, re.split(r"\n(?=#|【)", page.read_text("utf-8"))
    for source, texts in (("topics", topics.values()), ("docstrings", _docstrings())):
        yield from ((source, re.split(r"\n\s*\n", cleandoc(text))) for text in texts)


def _docstrings() -> Iterator[str]:
    for module in sorted([*LIBRARY.glob("*.py"), *LIBRARY.glob("*/*.py")]):
        if module.parent.name not in {"test", "idlelib", "lib2to3", "pydoc_data"}:
            for node in ast.walk(ast.parse(module.read_text("utf-8", "replace"))):
                if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                    yield ast.get_docstring(node) or ""


def sentences() -> Iterator[Sentence]:
    """Yield every plain sentence once, with its passage, its document and the sentences around it."""
    seen: set[str] = set()
    for source, passages in documents():
        split = [(text, passage) for passage in passages for text in _split(passage)]
        for at, (text, passage) in enumerate(split):
            if _is_plain(text) and text not in seen:
                seen.add(text)
                around = split[max(0, at - NEAR) : at] + split[at + 1 : at + 1 + NEAR]
                near = "\n".join(other for other, _ in around if _is_plain(other))
                yield Sentence(text, passage.strip(), "\n".join(passages), near, source)


def _split(passage: str) -> Iterator[str]:
    if re.search(r"^( {3,}|>>>)", passage, re.MULTILINE) and "```" not in passage:
        passage = "" if ">>>" in passage or passage.startswith("   ") else passage
    prose = re.sub(r"(?ms)^```.*?^```|^[|#>!【].*?$", "", passage)
    for block in re.split(
        r"\n\s*\n|\n\s*(?:[-*•—]|\d+\.)\s+|(?<=[.。])\n(?=[A-Z\u4e00-\u9fff])", "\n" + prose
    ):
        text = " ".join(re.sub(r"\*{1,2}(\w[^*]*)\*{1,2}|(?<!\w)_(\w[^_]*)_(?!\w)", r"\1\2", block).split())
        end = r"(?<=[。！？])(?!”)|(?<!e\.g\.)(?<!i\.e\.)(?<!Mr\.)(?<=[.!?])\s+(?=[A-Z“\"])"
        yield from (sentence.strip() for sentence in re.split(end, text))


def is_chinese(text: str) -> bool:
    return re.search(r"[\u4e00-\u9fff]", text) is not None


def _is_plain(text: str) -> bool:
    if is_chinese(text):
        return re.fullmatch(r"[\w，、；：“”·〇 -]{9,71}。", text) is not None and text.count(
            "“"
        ) == text.count("”")
    is_prose = re.fullmatch(r"[A-Z][A-Za-z0-9 ,.;:'’\"“”%()-]*\.", text) and not re.search(
        r" -|--|\.\.|\. [a-z0-9']", text
    )
    pairs = text.count("(") == text.count(")") and text.count('"') % 2 == 0
    return bool(
        is_prose and pairs and 6 <= len(text.split()) <= 45 and len(re.findall(r"\b[a-z]+\b", text)) >= 4
    )


def is_long(text: str) -> bool:
    """A Chinese word is taken as 1.6 characters."""
    return len(text) >= 24 if is_chinese(text) else len(text.split()) >= 15
