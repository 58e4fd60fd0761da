"""Faults planted in sentences that an answer copies: how many lexical support finds, by kind and length.

One sentence of a document is copied and one thing in it is changed; its evidence is the passage that it comes
from and two others of the same document. Documents are prose that nothing was tuned on: the Brown corpus,
what Debian and Python say about themselves, and in Chinese the encyclopedia passages of NoMIRACL. What is
planted in the place of a name or a number stands elsewhere in the same passages, or nowhere in them.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import unescape
from pathlib import Path
from pydoc_data import topics
from random import Random
from typing import NamedTuple

from benchmarks import _brown
from benchmarks._figures import Figure, print_figures
from benchmarks._labelled_data import DATA
from rag_evaluation_framework.judging.lexical_support import screen_answer
from rag_evaluation_framework.statistics.intervals import wilson_interval
from rag_evaluation_framework.text.sentences import sentence_spans

LONG = 15
MOST = 500  # of each kind and length
MOST_OF_A_DOCUMENT = 3
PASSAGE = 8  # sentences
JOINED = 0.5  # of the pairs of sentences
FOLDERS = (Path("/usr/share/common-licenses"), Path("/usr/share/doc"))
PROSE = re.compile(
    r"(?:readme|news|faq|history|changes|bugs|intro|.*\.(?:txt|html|md))(?:\..*)?", re.IGNORECASE
)

MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
WORDS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve", "twenty", "fifty")
NAMES = (
    *("Westport", "Eastham", "Kowalski", "Brennerfeld", "Tamsin Oduya", "Okonkwo", "Lindqvist", "Castlebar"),
    *("Marchetti", "Port Ellery", "Ravindra", "Hollingsworth", "Dubrovnik", "Fernanda Reyes", "Yakutsk"),
    *("Thornbury", "Bergstrom", "Nakamura", "Quillan", "Sorensen", "Valparaiso", "Whitcombe", "Zelenka"),
)
INVENTIONS = (
    *("unicorns dance nightly", "the mayor praised it in spring", "free parking lies behind the harbor"),
    *("a local bakery sponsors it", "penguins guard the entrance", "visitors pay with seashells"),
    *("farmers celebrated it with fireworks", "it smells of cinnamon", "volunteers repaint it every winter"),
    *("ferries stop running during storms", "the museum lends bicycles", "a choir sings beside it at dawn"),
    *(
        "insurance covers broken umbrellas",
        "the gardeners water tulips there",
        "dragons sleep under its roof",
    ),
    *(
        "a brewery owns the copyright",
        "tourists photograph its chimney",
        "the orchestra rehearses in pajamas",
    ),
)
MIDDLES = (
    *(
        ", to the surprise of local fishermen,",
        ", painted green by schoolchildren,",
        ", despite heavy snowfall,",
    ),
    *(", with breakfast and laundry included,", " (a gift from the Danish ambassador)"),
    *(
        ", funded by a lottery jackpot,",
        ", as beekeepers predicted,",
        " together with seventeen trained parrots",
    ),
    *(", under pressure from angry shareholders,", ", except during the annual carnival,"),
    *(", wearing orange wool gloves,", " thanks to a secret volcano laboratory"),
)
VERBS = "is|are|was|were|can|could|will|would|should|must|may|might|has|have|had|does|did|do"

NUMBER = re.compile(r"(?<![\w.,:/-])\d+(?:,\d{3})*(?:\.\d+)?(?![\w:/-]|[.,]\d)")
YEAR = re.compile(r"\b(?:1[5-9]|20)\d\d\b")
NAME = re.compile(r"(?<=[a-z,;]\s)[A-Z][a-z]{2,}(?:\s[A-Z][a-z]+)*\b")
DENIED = re.compile(r"\b(?:not|no|never|nor|neither|without|cannot|none)\b|n't\b", re.IGNORECASE)

ZH_NAMES = (
    *("北京", "上海", "广州", "重庆", "天津", "南京", "香港", "台湾", "日本"),
    *("美国", "英国", "法国", "德国", "韩国", "苏联", "湖南", "四川", "浙江"),
)
ZH_NOWHERE = (
    *("巴伐利亚", "爱荷华", "卡萨布兰卡", "乌兰巴托", "圣彼得堡"),
    *("西雅图", "科伦坡", "墨尔本", "赫尔辛基", "阿德莱德"),
)
ZH_INVENTIONS = (
    *("并且每晚有独角兽跳舞", "而且附近的面包店赞助早餐", "渔民对此燃放烟花庆祝", "企鹅把守着入口"),
    *("游客用贝壳付款", "志愿者每年冬天重新粉刷屋顶", "园丁浇灌郁金香", "合唱团黎明时在旁边唱歌"),
)
ZH_NUMBER = re.compile(r"(?<![\d.,])\d+(?:\.\d+)?(?![\d.,])")


class Planted(NamedTuple):
    """A sentence as an answer has it, and what it is held against."""

    kind: str
    answer: str
    contexts: Sequence[str]
    is_long: bool


class Copied(NamedTuple):
    """A sentence and the passages it is copied from."""

    sentence: str
    contexts: Sequence[str]
    words: int
    is_joined: bool
    """Whether it has the first half of a sentence and the second of another."""

    @property
    def around(self) -> str:
        """All that its contexts say."""
        return "\n".join(self.contexts)


Plants = Iterator[tuple[str, str]]


def documents() -> dict[str, list[list[str]]]:
    """Return the sentences of each document, by where the documents come from."""
    return {
        "Brown corpus": list(_brown.documents()),
        "Debian and Python documents": [found for text in _system_texts() if (found := _prose(text))],
        "Chinese encyclopedia": list(_encyclopedia()),
    }


def _system_texts() -> Iterator[str]:
    yield from topics.topics.values()
    for folder in FOLDERS:
        for path in sorted(folder.rglob("*")):
            if (
                path.is_file()
                and not path.is_symlink()
                and (folder is FOLDERS[0] or PROSE.fullmatch(path.name))
            ):
                content = path.read_bytes()
                if path.suffix == ".gz":
                    content = gzip.decompress(content)
                text = content.decode("utf-8", "replace")
                yield unescape(re.sub(r"<[^<>]*>", "", text)) if ".html" in path.name else text


_SEEN: set[str] = set()


def _prose(text: str) -> list[str]:
    """Return the sentences of the paragraphs of a text that are prose, each once in all texts."""
    found = []
    for paragraph in re.split(r"\n\s*\n", text):
        joined = " ".join(paragraph.split())
        for start, end in sentence_spans(joined):
            sentence = joined[start:end]
            if _is_prose(sentence) and sentence not in _SEEN:
                _SEEN.add(sentence)
                found.append(sentence)
    return found


def _is_prose(sentence: str) -> bool:
    words = sentence.split()
    return (
        re.fullmatch(r"[A-Z][^\n<>{}=*_|\\`]+[a-z)]\.", sentence) is not None
        and 6 <= len(words) <= 45
        and sum(word.isalpha() or word[:-1].isalpha() for word in words) >= 0.8 * len(words)
        and sum(word in ("the", "a", "of", "to", "in", "is", "and", "for", "that") for word in words) >= 1
    )


def _encyclopedia() -> Iterator[list[str]]:
    path = DATA / "nomiracl" / "zh.jsonl"
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        text = "".join(context.partition(": ")[2] for context in json.loads(line)["contexts"])
        found = [text[start:end] for start, end in sentence_spans(text)]
        yield [each for each in found if each.endswith("。") and 12 <= len(each) <= 80]


def copies(sentences: Sequence[str], rng: Random) -> list[Copied]:
    """Return the sentences of a document with the passage of each and two others."""
    passages = [sentences[first : first + PASSAGE] for first in range(0, len(sentences), PASSAGE)]
    found = []
    for number, passage in enumerate(passages):
        others = [each for each in passages if each is not passages[number]]
        given = [passage, *rng.sample(others, min(2, len(others)))]
        for sentence in (*passage, *_joined(passage, rng)):
            is_han = sentence.endswith("。")
            words = len(sentence) // 2 if is_han else len(sentence.split())
            contexts = [("" if is_han else " ").join(each) for each in given]
            if is_han or _is_prose(sentence):
                found.append(Copied(sentence, contexts, words, is_joined=sentence not in passage))
    return found


def _joined(sentences: Sequence[str], rng: Random) -> Iterator[str]:
    for first, second in zip(sentences, sentences[2:], strict=False):
        one, other = first.split(), second.split()
        if rng.random() < JOINED and min(len(one), len(other)) >= LONG // 2:
            before, after = " ".join(one[: len(one) // 2]).rstrip(",;:"), other[len(other) // 2 :]
            yield f"{before} and {' '.join(after)}"


def _other(rng: Random, text: str, values: Iterable[str], copied: Copied) -> str | None:
    """Return one of the values that the sentence does not have."""
    kept = sorted({each for each in values if each.lower() not in copied.sentence.lower() and each != text})
    return rng.choice(kept) if kept else None


def _replaced(match: re.Match[str], sentence: str, new: str | None) -> str | None:
    return None if new is None else sentence[: match.start()] + new + sentence[match.end() :]


def _drawn(rng: Random, pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    found = list(pattern.finditer(text))
    return rng.choice(found) if found else None


def _random_number(rng: Random, text: str) -> str:
    digits = str(rng.randint(1, 9)) + "".join(str(rng.randint(0, 9)) for _ in text[1:] if _.isdigit())
    return "".join(
        digits[place] if each.isdigit() else each for place, each in enumerate(text[: len(digits)])
    )


def numbers(copied: Copied, rng: Random) -> Plants:
    sentence, around = copied.sentence, copied.around
    if (found := _drawn(rng, NUMBER, sentence)) and not YEAR.fullmatch(found[0]):
        values = [each for each in NUMBER.findall(around) if not YEAR.fullmatch(each)]
        if new := _replaced(found, sentence, _other(rng, found[0], values, copied)):
            yield "number, of a neighbor", new
        value = _random_number(rng, found[0])
        if not re.search(rf"(?<!\d){re.escape(value)}(?!\d)", around):
            yield "number, from nowhere", _replaced(found, sentence, value) or ""
    in_words = re.compile(rf"\b(?:{'|'.join(WORDS)})\b")
    if found := _drawn(rng, in_words, sentence):
        if new := _replaced(found, sentence, _other(rng, found[0], in_words.findall(around), copied)):
            yield "number in words, of a neighbor", new
        values = [each for each in WORDS if not re.search(rf"\b{each}\b", around, re.IGNORECASE)]
        if new := _replaced(found, sentence, _other(rng, found[0], values, copied)):
            yield "number in words, from nowhere", new


def dates(copied: Copied, rng: Random) -> Plants:
    named = [re.compile(rf"\b(?:{'|'.join(MONTHS)})\b(?= \d)"), re.compile(rf"\b(?:{'|'.join(DAYS)})\b")]
    for pattern, every in zip((YEAR, *named), ((), MONTHS, DAYS), strict=True):
        found = _drawn(rng, pattern, copied.sentence)
        if found is None:
            continue
        values = pattern.findall(copied.around)
        if new := _replaced(found, copied.sentence, _other(rng, found[0], values, copied)):
            yield "date, of a neighbor", new
        others = every or [str(int(found[0]) + step) for step in (-17, -3, -1, 1, 2, 4, 11)]
        values = [each for each in others if each not in copied.around]
        if new := _replaced(found, copied.sentence, _other(rng, found[0], values, copied)):
            yield "date, from nowhere", new


def _is_name(text: str) -> bool:
    return not any(word in (*MONTHS, *DAYS) for word in text.split())


def names(copied: Copied, rng: Random) -> Plants:
    found = _drawn(rng, NAME, copied.sentence)
    if found is None or not _is_name(found[0]):
        return
    own = set(copied.sentence.split())
    values = [each for each in NAME.findall(copied.around) if _is_name(each) and own.isdisjoint(each.split())]
    if new := _replaced(found, copied.sentence, _other(rng, found[0], values, copied)):
        yield "name, of a neighbor", new
    values = [each for each in NAMES if each not in copied.around]
    if new := _replaced(found, copied.sentence, _other(rng, found[0], values, copied)):
        yield "name, from nowhere", new


def negations(copied: Copied, rng: Random) -> Plants:
    denials = list(DENIED.finditer(copied.sentence))
    if not denials and (found := _drawn(rng, re.compile(rf"\b(?:{VERBS})\b"), copied.sentence)):
        yield "negation, added", _replaced(found, copied.sentence, f"{found[0]} not") or ""
    if len(denials) == 1 and denials[0][0] in ("not", "never", "cannot", "n't"):
        before, after = copied.sentence[: denials[0].start()], copied.sentence[denials[0].end() :]
        middle = "can" if denials[0][0] == "cannot" else ""
        yield "negation, removed", re.sub(r"\s+", " ", before + middle + after)


def inventions(copied: Copied, rng: Random) -> Plants:
    clause, middle = rng.choice(INVENTIONS), rng.choice(MIDDLES)
    if _is_new(clause, copied):
        joint = rng.choice((" and ", ", and ", ", where ", " because "))
        yield "invention, at the end", f"{copied.sentence[:-1]}{joint}{clause}."
    gaps = [match.start() for match in re.finditer(r"(?<=\w) (?=[a-z])", copied.sentence)]
    if gaps and _is_new(middle, copied):
        place = rng.choice(gaps)
        yield "invention, inside", copied.sentence[:place] + middle + copied.sentence[place:]


def _is_new(clause: str, copied: Copied) -> bool:
    words = [each for each in re.findall(r"[a-z]+", clause.lower()) if len(each) > 3]
    return sum(each not in copied.around.lower() for each in words) >= 3


def in_chinese(copied: Copied, rng: Random) -> Plants:
    sentence, around = copied.sentence, copied.around
    if found := _drawn(rng, ZH_NUMBER, sentence):
        new = _replaced(found, sentence, _other(rng, found[0], ZH_NUMBER.findall(around), copied))
        if new:
            yield "Chinese number, of a neighbor", new
        value = _random_number(rng, found[0])
        if value not in around:
            yield "Chinese number, from nowhere", _replaced(found, sentence, value) or ""
    if found := _drawn(rng, re.compile("|".join(ZH_NAMES)), sentence):
        values = [each for each in ZH_NAMES if each in around]
        if new := _replaced(found, sentence, _other(rng, found[0], values, copied)):
            yield "Chinese name, of a neighbor", new
        values = [each for each in ZH_NOWHERE if each not in around]
        if new := _replaced(found, sentence, _other(rng, found[0], values, copied)):
            yield "Chinese name, from nowhere", new
    if not re.search("[不没無无未非]", sentence) and (
        found := _drawn(rng, re.compile("(?<!也)[是能会可在](?!不)"), sentence)
    ):
        yield "Chinese negation, added", _replaced(found, sentence, f"不{found[0]}") or ""
    removable = re.compile("不(?=[是能会可在需应])|没(?=有)|未(?=[能有])")
    if len(found_all := list(re.finditer("[不没無无未非]", sentence))) == 1 and (
        found := removable.search(sentence)
    ):
        yield "Chinese negation, removed", sentence[: found_all[0].start()] + sentence[found_all[0].end() :]
    clause = rng.choice(ZH_INVENTIONS)
    yield "Chinese invention, at the end", f"{sentence[:-1]},{clause}。"


ENGLISH: tuple[Callable[[Copied, Random], Plants], ...] = (numbers, dates, names, negations, inventions)


def planted(source: Sequence[Sequence[str]], rng: Random) -> Iterator[Planted]:
    """Yield sentences with faults, and as they stand, a few of each kind from a document."""
    for sentences in source:
        every = copies(sentences, rng)
        rng.shuffle(every)
        taken: Counter[tuple[str, bool]] = Counter()
        for copied in every:
            is_long = copied.words >= LONG
            is_han = copied.sentence.endswith("。")
            rules = (in_chinese,) if is_han else ENGLISH
            plants = [("Chinese, unchanged" if is_han else "unchanged", copied.sentence)]
            plants += [each for rule in rules for each in rule(copied, rng)]
            for name, answer in plants:
                kind = f"joined halves: {name}" if copied.is_joined else name
                taken[kind, is_long] += 1
                if taken[kind, is_long] <= MOST_OF_A_DOCUMENT:
                    yield Planted(kind, answer, copied.contexts, is_long)


def is_found(each: Planted) -> bool:
    return bool(screen_answer(each.answer, each.contexts).unsupported)


def figures(source: str, texts: Sequence[Sequence[str]]) -> Iterator[Figure]:
    """Yield the share found of each kind and length of sentence."""
    rng = Random(7)
    groups: dict[tuple[str, bool], list[Planted]] = defaultdict(list)
    for each in planted(texts, rng):
        groups[each.kind, each.is_long].append(each)
    for (kind, is_long), every in sorted(groups.items()):
        kept = every if len(every) <= MOST else rng.sample(every, MOST)
        hits = [is_found(each) for each in kept]
        interval = wilson_interval(sum(hits), len(hits))
        length = f"{LONG} words or more" if is_long else f"under {LONG} words"
        name = f"{source}: {kind}, {length}"
        yield Figure(name, len(hits), sum(hits) / len(hits), interval.low, interval.high)


def main() -> None:
    for source, texts in documents().items():
        print_figures(f"{source}: {len(texts):,} documents", figures(source, texts))


if __name__ == "__main__":
    main()
