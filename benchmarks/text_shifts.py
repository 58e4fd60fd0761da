"""What every reader of text makes of real texts, written down, so that two trees can be compared.

Foldings, splitters and tokenisers feed most figures: one that treats a single character otherwise moves
scores without a word. ``dump`` writes a line for each text and function, ``diff`` lists what changed::

    PYTHONPATH=/path/to/before/src python -m benchmarks.text_shifts dump before.jsonl.gz
    python -m benchmarks.text_shifts dump after.jsonl.gz
    python -m benchmarks.text_shifts diff before.jsonl.gz after.jsonl.gz

The texts are those of the labelled data, up to a number of each file, drawn by a fixed seed, and all of
``examples/``. Nothing of them is kept but in the file that is written.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import IO, Any

import numpy as np

from benchmarks._labelled_data import DATA

ROOT = Path(__file__).parents[1]
PACKAGE = "rag_evaluation_framework"
CAP = 400
SEED = 20240611
_LONGEST_TEXT = 6000
_SHOWN = 1200


@dataclass(frozen=True, slots=True)
class Item:
    """A text with what it came with."""

    source: str
    name: str
    text: str
    question: str = ""
    contexts: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    is_document: bool = False


# The texts.


def items(data: Path, *, cap: int) -> Iterator[Item]:
    """Yield the texts of the examples and of the labelled data, at most ``cap`` of each file."""
    yield from _examples()
    for source, found in _labelled(data):
        texts = [item for item in found if item.text.strip()]
        drawn = random.Random(SEED).sample(range(len(texts)), min(cap, len(texts)))
        for number in sorted(drawn):
            item = texts[number]
            yield Item(
                source,
                f"{number}",
                item.text[:_LONGEST_TEXT],
                item.question,
                item.contexts,
                item.references,
                item.is_document,
            )


def _item(
    text: str, question: str = "", contexts: Iterable[str] = (), references: Iterable[str] = ()
) -> Item:
    return Item("", "", text, question, tuple(contexts), tuple(references))


def _examples() -> Iterator[Item]:
    for path in sorted((ROOT / "examples").rglob("*")):
        name = path.relative_to(ROOT).as_posix()
        if path.suffix in (".md", ".txt"):
            yield Item("examples", name, path.read_text("utf-8"), is_document=True)
        elif path.suffix in (".json", ".jsonl") and "qa" not in path.stem:
            for number, text in enumerate(_strings(path.read_text("utf-8"))):
                yield Item("examples", f"{name}:{number}", text)


def _strings(text: str) -> list[str]:
    """Return the strings of a JSON text in its order, those of one word left out."""
    found = (json.loads(match[0]) for match in re.finditer(r'"(?:[^"\\]|\\.)*"', text))
    return [each for each in dict.fromkeys(found) if " " in each or not each.isascii()]


def _labelled(data: Path) -> Iterator[tuple[str, Iterator[Item]]]:
    readers: Sequence[tuple[str, Callable[[Path], Iterator[Item]]]] = (
        ("ragtruth/*.jsonl", _ragtruth),
        ("wice/*.jsonl*", _wice),
        ("begin/*.tsv", _begin),
        ("mtrag/mtragun_reference.jsonl*", _mtrag),
        ("xstest/completions_*.csv", _xstest),
        ("nomiracl/*.jsonl*", _nomiracl),
        ("hatecheck/*.csv", lambda path: (_item(row["test_case"]) for row in _rows(path))),
        ("alce_human/*.json", _alce),
        ("sentence_split/*.conllu*", _treebank),
        ("evouna/*.jsonl", _evouna),
        ("chroma_chunking/corpora/*.md", _paragraphs),
        ("chroma_chunking/questions.csv", _chroma),
    )
    for pattern, reader in readers:
        for path in sorted(data.glob(pattern)):
            yield path.relative_to(data).as_posix(), reader(path)


def _opened(path: Path) -> IO[str]:
    return gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8")


def _records(path: Path) -> Iterator[dict[str, Any]]:
    with _opened(path) as lines:
        for line in lines:
            yield json.loads(line)


def _rows(path: Path, **how: Any) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as lines:
        yield from csv.DictReader(lines, **how)


def _ragtruth(path: Path) -> Iterator[Item]:
    for record in _records(path):
        source, question = record["source"], ""
        if path.stem == "qa":
            question = source["question"]
            contexts = [part for part in re.split(r"passage \d+:", source["passages"]) if part.strip()]
        else:
            contexts = [source if isinstance(source, str) else json.dumps(source)]
        for response in record["responses"]:
            yield _item(response["response"], question, contexts)


def _wice(path: Path) -> Iterator[Item]:
    return (_item(record["claim"], "", record["evidence"]) for record in _records(path))


def _begin(path: Path) -> Iterator[Item]:
    for row in _rows(path, delimiter="\t", quoting=csv.QUOTE_NONE):
        yield _item(row["response"], row["message"], [row["knowledge"]])


def _mtrag(path: Path) -> Iterator[Item]:
    for record in _records(path):
        said = [turn["text"] for turn in record["input"]]
        references = [target["text"] for target in record["targets"]]
        contexts = [context["text"] for context in record["contexts"]]
        for text in (*references, *said[:-1]):
            yield _item(text, said[-1], contexts, references)


def _xstest(path: Path) -> Iterator[Item]:
    return (_item(row["completion"], row["prompt"]) for row in _rows(path))


def _nomiracl(path: Path) -> Iterator[Item]:
    for record in _records(path):
        texts = [*record["model_outputs"].values(), *record["contexts"][:3]]
        for text in filter(None, texts):
            yield _item(text, record["query"], record["contexts"][:3], record["contexts"][:1])


def _alce(path: Path) -> Iterator[Item]:
    for systems in json.loads(path.read_text("utf-8")).values():
        for answers in systems.values():
            for answer in answers.values():
                if "output" in answer:  # the last is a summary
                    yield _item(answer["output"], answer["question"])


def _treebank(path: Path) -> Iterator[Item]:
    with _opened(path) as lines:
        sentences = [line[9:].strip() for line in lines if line.startswith("# text = ")]
    joint = "" if path.name.startswith("zh") else " "
    for first in range(0, len(sentences), 4):
        yield _item(joint.join(sentences[first : first + 4]))


def _evouna(path: Path) -> Iterator[Item]:
    for record in _records(path):
        for answer in record["answers"].values():
            yield _item(answer["answer"], record["question"], (), record["references"])


def _paragraphs(path: Path) -> Iterator[Item]:
    text = path.read_text("utf-8")
    for first in range(0, len(text), _LONGEST_TEXT):
        yield Item("", "", text[first : first + _LONGEST_TEXT], is_document=True)


def _chroma(path: Path) -> Iterator[Item]:
    for row in _rows(path):
        corpus = (path.parent / "corpora" / f"{row['corpus_id']}.md").read_text("utf-8")
        for reference in json.loads(row["references"]):
            around = corpus[max(0, reference["start_index"] - 1500) : reference["end_index"] + 1500]
            yield _item(reference["content"], row["question"], [around])


# The functions. Where a name has left its place, it is looked for by its definition.

PLACES: Mapping[str, tuple[str, ...]] = {
    "folded": ("text.normalisation:folded", "metrics.tokens:folded"),
    "plain": ("text.normalisation:plain", "metrics.tokens:plain"),
    "excerpt_folded": ("text.normalisation:FoldedText", "synthesis.locating.folded_text:FoldedText"),
    "pieces": ("text.tokens:pieces", "judging.words.comparable_text:pieces"),
    "is_whole": ("text.search:is_whole", "synthesis.locating.word_borders:is_whole"),
    "answer_similarity": ("metrics.texts:wording_similarity", "metrics.similarity:answer_similarity"),
    "sentence_words": ("judging.words.sentence_words:sentence_words",),
    "variants": ("text.normalisation:variants", "judging.words.comparable_text:variants"),
    "normalised": ("text.shingles:normalised", "datasets.checks.near_duplicates:normalised"),
}


@cache
def found(name: str) -> Any:
    """Return a function or class of the tree under test by its name; ``None`` where it has none."""
    for place in PLACES.get(name, ()):
        module, _, attribute = place.partition(":")
        try:
            return getattr(import_module(f"{PACKAGE}.{module}"), attribute)
        except (ImportError, AttributeError):
            continue
    if name in PLACES:
        return None
    folder = Path(import_module(PACKAGE).__file__ or "").parent
    defined = re.compile(rf"^(?:def|class) {name}\b|^{name} = ", re.MULTILINE)
    homes = [path for path in sorted(folder.rglob("*.py")) if defined.search(path.read_text("utf-8"))]
    if len(homes) > 1:
        sys.exit(f"{name} is defined in {len(homes)} modules; name its place in PLACES")
    if not homes:
        return None
    module = ".".join(homes[0].relative_to(folder.parent).with_suffix("").parts)
    return getattr(import_module(module), name)


Reader = Callable[[Any, Item], Any]
"""What a function, found in the tree, makes of a text."""


def _said(function: Any, item: Item) -> Any:
    return function(item.text)


def _each(*names: str) -> dict[str, tuple[str, Reader]]:
    return {name: (name, _said) for name in names}


def _pairs(*names: str) -> dict[str, tuple[str, Reader]]:
    return {name: (name, _with_references) for name in names}


def _with_references(function: Any, item: Item) -> Any:
    references = [text for text in item.references if text.strip()]
    return function(item.text, references) if references else None


def _screened(function: Any, item: Item) -> Any:
    return function(item.text, item.contexts, question=item.question) if item.contexts else None


def _matched(function: Any, item: Item) -> Any:
    return [function(item.text, reference, item.question) for reference in item.references] or None


def _named(function: Any, item: Item) -> Any:
    return function(item.text, item.references, question=item.question) if item.references else None


def _told(function: Any, item: Item) -> Any:
    steps = [text for reference in item.references for text in re.split(r"[,.;，。；]\s*", reference) if text]
    comparable = found("comparable")
    return function(comparable(item.text), steps) if steps else None


def _located(function: Any, item: Item) -> Any:
    """Look for the text where it is known to stand, and as a model may copy it."""
    if not item.contexts or len(item.text) > 2000:
        return None
    wanted = item.text.strip()
    copies = (wanted, f"“{'  '.join(wanted.upper().split())}”", wanted.replace("e", "", 1))
    return [function(copy, context) for context in item.contexts[:2] for copy in copies]


def _quoted(function: Any, item: Item) -> Any:
    if not item.contexts:
        return None
    quotes = [item.text[:120], item.question, *(context[7:90] for context in item.contexts[:2])]
    return [_evidence(function(quote, item.contexts), item.contexts) for quote in quotes if quote]


def _evidence(quoted: Any, texts: Sequence[str]) -> Any:
    """Return where a quote was found, in the form that it had first."""
    if not isinstance(quoted, tuple):
        return quoted
    number, (start, end) = quoted
    return {"end": end, "number": number, "start": start, "text": texts[number][start:end]}


def _content(function: Any, item: Item) -> Any:
    """Return content tokens with the names that their fields had first."""
    return [{"end": end, "key": key, "start": start} for key, start, end in function(item.text)]


def _spans_of_chunks(**settings: Any) -> Reader:
    def read(chunker: Any, item: Item) -> Any:
        return chunker(**settings).spans(item.text) if item.is_document else None

    return read


def _embedded(embedder: Any, item: Item) -> Any:
    vector = embedder(64).embed([item.text])[0]
    return np.round(vector, 5).tolist()


def _offsets(tokenizer: Any, item: Item) -> Any:
    return tokenizer().offsets(item.text).tolist()


def _even(function: Any, item: Item) -> Any:
    return function(item.text)


def _pieces(function: Any, item: Item) -> Any:
    return list(function(found("comparable")(item.text)))


def _folded_excerpt(folded_text: Any, item: Item) -> Any:
    folded = folded_text(item.text)
    return [folded.folded, list(folded.places)]


def _foreign(function: Any, item: Item) -> Any:
    return function(item.question, [item.text]) if item.question else None


def _whole(function: Any, item: Item) -> Any:
    text = item.text[:300]
    return [place for place in range(1, len(text)) if function(text, 0, place)]


def _squeezed(squeezed: Any, item: Item) -> Any:
    text = squeezed(item.text)
    return [text.characters, text.positions.tolist()]


def _rouge(variant: str) -> Reader:
    def read(function: Any, item: Item) -> Any:
        references = [text for text in item.references if text.strip()]
        return function(item.text, references, variant=variant) if references else None

    return read


def _classified(function: Any, item: Item) -> Any:
    return function(item.text, item.question)


def _sentence_words(function: Any, item: Item) -> Any:
    return [function(item.text[start:end]) for start, end in found("sentence_spans")(item.text)]


READERS: Mapping[str, tuple[str, Reader]] = {
    **_each("sentence_spans", "claims_of", "said_in"),
    **_each("folded", "plain", "comparable", "folded_with_places", "normalised", "spellings", "variants"),
    **_each("plain_tokens", "word_tokens", "lexical_tokens", "content_keys"),
    "content_tokens": ("content_tokens", _content),
    **_each("quantities"),
    **_each("parse_citations", "without_citations", "without_marks", "cited_answer", "screen_profanity"),
    "even_text": ("even_text", _even),
    "pieces": ("pieces", _pieces),
    "excerpt_folded": ("excerpt_folded", _folded_excerpt),
    "squeezed": ("SqueezedText", _squeezed),
    "is_whole": ("is_whole", _whole),
    "sentence_words": ("sentence_words", _sentence_words),
    "writes_another_script": ("writes_another_script", _foreign),
    "WordTokenizer": ("WordTokenizer", _offsets),
    "classify_answer": ("classify_answer", _classified),
    "screen_answer": ("screen_answer", _screened),
    "names_in": ("names_in", _named),
    "match_reference": ("match_reference", _matched),
    "first_tellings": ("first_tellings", _told),
    "locate": ("locate", _located),
    "find_quote": ("find_quote", _quoted),
    **_pairs("string_match", "exact_match", "token_f1", "bleu", "chrf", "answer_similarity"),
    **{variant: ("rouge", _rouge(variant)) for variant in ("rouge1", "rouge2", "rougeL")},
    "HashingEmbedder": ("HashingEmbedder", _embedded),
    "chunks by sentence": ("SentenceChunker", _spans_of_chunks(chunk_size=300)),
    "chunks by character": ("RecursiveCharacterChunker", _spans_of_chunks(chunk_size=200, overlap=40)),
    "chunks by token": ("FixedTokenChunker", _spans_of_chunks(tokens=80, overlap=10)),
    "chunks by heading": ("MarkdownHeadingChunker", _spans_of_chunks(chunk_size=600)),
}


# Whole journeys over the examples.


def journeys() -> Iterator[tuple[str, str, Any]]:
    """Yield (function, record, value) of what is read from a golden set and made of documents."""
    yield from _golden_scores()
    yield from _near_duplicates()
    yield from _drafts()


def _golden_scores() -> Iterator[tuple[str, str, Any]]:
    from examples.golden.assistant import answer

    for path in sorted((ROOT / "examples" / "golden" / "evaluation" / "datasets").glob("*.json")):
        for record in json.loads(re.sub(r"//.*", "", path.read_text("utf-8"))):
            question = record.get("question", "")
            if not question:
                continue
            told = answer(question, [])["response"]
            for number, text in enumerate((told, record["ground_truth"], f"{told} {question}")):
                name = f"{record['id']}:{number}"
                if triple := record.get("relationship_triple"):
                    ends = (triple["subject"], triple["relation"], triple["object"])
                    reading = found("read_relation")(text, ends, question=question)
                    yield "read_relation", name, reading
                if steps := record.get("timeline_milestones"):
                    told_at = found("first_tellings")(found("comparable")(text), steps)
                    yield "first_tellings", name, told_at
                matched = found("match_reference")(text, record["ground_truth"], question)
                yield "match_reference", name, matched


def _near_duplicates() -> Iterator[tuple[str, str, Any]]:
    texts = [
        text for path in (ROOT / "examples").rglob("*.json*") for text in _strings(path.read_text("utf-8"))
    ]
    texts = sorted(dict.fromkeys(texts))
    changed = [text.replace(" the ", " a ", 1).upper() for text in texts[::3]]
    yield "near_duplicates", "examples", found("near_duplicates")([*texts, *changed])


def _drafts() -> Iterator[tuple[str, str, Any]]:
    from rag_evaluation_framework import Corpus

    corpus = Corpus.from_folder(ROOT / "examples" / "handbook" / "documents")
    drafts = found("extractive_drafts")(corpus, queries_per_doc=8, seed=SEED)
    for number, draft in enumerate(drafts.kept):
        yield "extractive_drafts", f"{number}", draft


# Writing down and comparing.


def plainly(value: Any) -> Any:
    """Return a value of the package as JSON can hold it, whatever its class is called."""
    if value is None or type(value) in (str, int, bool):
        return value
    if type(value) is list and {str, int}.issuperset(map(type, value)):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        shown = {field.name: plainly(getattr(value, field.name)) for field in fields(value)}
        return dict(sorted(shown.items()))
    if hasattr(value, "_asdict") and len(value) > 2:  # a pair of start and end stays one
        return dict(sorted((name, plainly(part)) for name, part in value._asdict().items()))
    if isinstance(value, Mapping):
        return {str(key): plainly(part) for key, part in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted((plainly(part) for part in value), key=repr)
    if isinstance(value, float):
        return float(f"{value:.9g}")
    if value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, Iterable):
        return [plainly(part) for part in value]
    return repr(value)


def line_of(source: str, name: str, function: str, value: Any) -> str:
    written = json.dumps(plainly(value), ensure_ascii=False)
    digest = hashlib.sha256(written.encode()).hexdigest()[:16]
    return json.dumps([function, source, name, digest, written[:_SHOWN]], ensure_ascii=False) + "\n"


def dump(path: Path, *, cap: int) -> None:
    """Write what every function of the tree under test makes of every text."""
    functions = {name: found(home) for name, (home, _) in READERS.items()}
    absent = [name for name, function in functions.items() if function is None]
    if absent:
        print(f"not in this tree: {', '.join(absent)}", file=sys.stderr)
    written: Counter[str] = Counter()
    with closing(_written_to(path)) as out:
        for function, name, value in journeys():
            out.write(line_of("examples", name, function, value))
        for item in items(DATA, cap=cap):
            for name, (_, reader) in READERS.items():
                if functions[name] is None:
                    continue
                value = reader(functions[name], item)
                if value is not None:
                    out.write(line_of(item.source, item.name, name, value))
                    written[name] += 1
    print(f"{sum(written.values()):,} records of {len(written)} functions", file=sys.stderr)


def _written_to(path: Path) -> IO[str]:
    return (
        gzip.open(path, "wt", encoding="utf-8") if path.suffix == ".gz" else path.open("w", encoding="utf-8")
    )


Key = tuple[str, str, str]


def read_dump(path: Path) -> dict[Key, tuple[str, str]]:
    with _opened(path) as lines:
        return {
            (function, source, name): (digest, shown)
            for function, source, name, digest, shown in map(json.loads, lines)
        }


def diff(first: Path, second: Path, *, examples: int) -> int:
    """Print what differs by function, with examples; return how many records do."""
    before, after = read_dump(first), read_dump(second)
    differing: dict[str, list[Key]] = {}
    for key in sorted(before.keys() & after.keys()):
        if before[key][0] != after[key][0]:
            differing.setdefault(key[0], []).append(key)
    for title, only in (
        ("only before", before.keys() - after.keys()),
        ("only after", after.keys() - before.keys()),
    ):
        for function, number in sorted(Counter(key[0] for key in only).items()):
            print(f"{title}: {number:,} records of {function}")
    compared = Counter(key[0] for key in before.keys() & after.keys())
    for function, keys in sorted(differing.items(), key=lambda each: -len(each[1])):
        sources = ", ".join(
            f"{name} {number}" for name, number in Counter(key[1] for key in keys).most_common(4)
        )
        print(f"\n{function}: {len(keys):,} of {compared[function]:,} records differ ({sources})")
        for key in keys[:examples]:
            print(f"  {key[1]} {key[2]}")
            for sign, shown in zip("-+", _around(before[key][1], after[key][1]), strict=True):
                print(f"    {sign} {shown}")
    same = [name for name in compared if name not in differing]
    print(f"\nthe same: {', '.join(sorted(same)) or 'nothing'}")
    total = sum(map(len, differing.values()))
    print(f"{total:,} of {sum(compared.values()):,} records differ")
    return total


def _around(first: str, second: str, *, reach: int = 60) -> tuple[str, str]:
    """Return the two texts around the first place in which they differ."""
    pairs = enumerate(zip(first, second, strict=False))
    at = next((place for place, (one, other) in pairs if one != other), min(len(first), len(second)))
    if at >= _SHOWN:
        return "(differs beyond what is kept)", "(differs beyond what is kept)"
    around = slice(max(0, at - reach), at + reach)
    return first[around], second[around]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    dumped = commands.add_parser("dump", help="write what the tree on PYTHONPATH makes of the texts")
    dumped.add_argument("path", type=Path)
    dumped.add_argument("--cap", type=int, default=CAP, help="most texts of one file (default %(default)s)")
    compared = commands.add_parser("diff", help="list the records in which two such files differ")
    compared.add_argument("first", type=Path)
    compared.add_argument("second", type=Path)
    compared.add_argument("--examples", type=int, default=3, help="shown of each function")
    wish = parser.parse_args()
    if wish.command == "dump":
        dump(wish.path, cap=wish.cap)
    else:
        sys.exit(1 if diff(wish.first, wish.second, examples=wish.examples) else 0)


if __name__ == "__main__":
    main()
