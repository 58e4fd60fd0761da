"""Faults of one kind each, planted in a sentence: numbers, dates, names, negations and invented clauses."""

import calendar
import random
import re
from collections.abc import Iterator
from pathlib import Path

from benchmarks._independent_sentences import Sentence, is_chinese

PASSES = 3
_LINES = Path(__file__).with_name("data").joinpath("independent_plants.txt").read_text("utf-8").splitlines()
LISTS: dict[str, list[str]] = {}
for _kind, _, _text in (line.partition("\t") for line in _LINES):
    LISTS.setdefault(_kind, []).append(_text)
MONTHS: list[str] = list(calendar.month_name)[1:]
DAYS: list[str] = list(calendar.day_name)
WORDS = LISTS["word"]
_MEASURES = "人天镑米节名张海级步件台个分小公度岁栋盏枚本班周种条便幅夜层块艘头次"
DIGITS = "〇一二三四五六七八九"
_LEAD = rf"(?:in|since|until|from|to|by|of|before|after|for|winter|summer|{'|'.join(MONTHS)})"
# A mention is replaced by one of the same shape only.
NUMBERS = [
    rf"(?<![\w.,:/$-])(?!(?:1[5-9]|20)\d\d\b|1\b)\d+(?:,\d{{3}})*(?![\w:/-]|[.,]\d| (?:{'|'.join(MONTHS)}))",
    r"(?<![\w.,:/$-])\d+\.\d+(?![\w:/-]|[.,]\d)",
    r"(?<![\w:.])\d{1,2}:\d\d(?![\w:])",
    rf"(?<!-)\b(?:{'|'.join(WORDS)})\b(?!-)",
    rf"(?<![{DIGITS}十百千万第点几])(?!十分(?![之钟]))[{DIGITS[2:]}十][{DIGITS}十百千]*(?=[{_MEASURES}])",
]
DATES = [
    rf"\b(?:{'|'.join(set(MONTHS) - {'May', 'March'})})\b|(?:\d|\b[Ii]n|\bof) (May|March)\b",
    rf"\b(?:{'|'.join(DAYS)})(?=s?\b)",
    rf"(?i:\b{_LEAD}) ((?:1[5-9]|20)\d\d)\b(?![,.-]\d| \w+s\b)",
    r"(?:十[一二]?|(?<!十)[一二三四五六七八九])(?=月)",
    r"(?<=星期)[一二三四五六日]",
    rf"[{DIGITS}]{{4}}(?=年)",
]
_DATED = "|".join(MONTHS + DAYS)
_NO_NAME = rf"(?:The|If|It|This|That|We|You|See|Note|(?:{_DATED})s?|[A-Z][a-z]+(?:ish|ese|[iu]an))\b"
NAMES = [
    rf"(?<=[a-z,] )(?!{_NO_NAME})[A-Z][a-z]{{2,}}(?: [A-Z][a-z]+)*(?!\w)",
    *("|".join(LISTS[kind]) for kind in ("vessel", "person", "place")),
]
NEGATED = re.compile(
    r"(?i)\b(?:not|no|never|cannot|none|nobody|nothing|without|neither|nor|hardly)\b|n't|[不没无非未别]"
)
POLAR = re.compile(
    r"(?i)\b(?:any\w*|nor|neither|either|ever|yet|only|unless|but)\b|是不是|能不能|有没有|不是.*而是"
)
LOWERED = set(LISTS["lowered"])


def replaced(sentence: Sentence, shapes: list[str], rng: random.Random) -> Iterator[str]:
    """Yield the sentence with a mention replaced by one from nearby or from nowhere."""
    for shape in shapes:
        for found in re.finditer(shape, sentence.text):
            old, start, end = found[found.lastindex or 0], *found.span(found.lastindex or 0)
            others = [other[other.lastindex or 0] for other in re.finditer(shape, sentence.near)]
            fresh = [_new(old, shape, rng) for _ in range(20)]
            near = {new for new in others if not _shares(new, sentence.text)}
            far = {new for new in fresh if not _shares(new, sentence.document)}
            away = {new for new in fresh if not _shares(new, sentence.text)}
            for new in (rng.choice(sorted(pool)) for pool in (near, far or away) if pool):
                before = re.sub(
                    r"\b([Aa])n? $", r"\1n " if new[0] in "AEIO8" else r"\1 ", sentence.text[:start]
                )
                yield before + new + sentence.text[end:]


def _shares(new: str, text: str) -> bool:
    parts = re.findall(r"[^\W\d]{3,}|[\d:,.]+|^\W*\w{1,2}$", new) if not is_chinese(new) else [new]
    return any(
        re.search(re.escape(part) + (r"" if is_chinese(part) else r"(?!\d|[a-rt-z])"), text) for part in parts
    )


def _new(old: str, shape: str, rng: random.Random) -> str:
    for mentions in (MONTHS, DAYS, WORDS, LISTS["vessel"], LISTS["person"], LISTS["place"]):
        if old in mentions:
            return rng.choice(mentions)
    if re.fullmatch(r"\d{1,2}:\d\d", old):
        return f"{rng.randint(6, 22):02}:{rng.randrange(0, 60, 5):02}"
    if re.fullmatch(r"(1[5-9]|20)\d\d", old):
        return str(int(old) + rng.choice([-1, 1]) * rng.randint(1, 12))
    if old[0].isdigit() and old.isascii():
        return str(rng.randint(2, 9)) + re.sub(r"\d", lambda _: str(rng.randint(1, 9)), old[1:])
    if re.fullmatch(rf"[{DIGITS}]{{4}}", old):
        return old[:2] + rng.choice(DIGITS) + rng.choice(DIGITS)
    if "星期" in shape:
        return rng.choice("一二三四五六日")
    if shape.endswith("月)"):
        return str(rng.choice([*DIGITS[1:], "十", "十一", "十二"]))
    if re.fullmatch(rf"[{DIGITS}十百千]+", old):
        return re.sub(rf"[{DIGITS[2:]}]|^十$", lambda _: rng.choice(DIGITS[3:]), old)
    return rng.choice([name for name in LISTS["name"] if (" " in name) == (" " in old)])


def negated(sentence: Sentence, rng: random.Random) -> Iterator[str]:
    kinds = [] if POLAR.search(sentence.text) else ["remove" if NEGATED.search(sentence.text) else "add"]
    for pattern, _, new in (rule.partition(" => ") for kind in kinds for rule in LISTS[kind]):
        for found in re.finditer(pattern, sentence.text):
            yield sentence.text[: found.start()] + found.expand(new) + sentence.text[found.end() :]


def invented(sentence: Sentence, rng: random.Random) -> Iterator[str]:
    text, (first, *_) = sentence.text, sentence.text.split()
    if is_chinese(text):
        yield from (text[:-1] + clause + "。" for clause in _unsaid("zh", sentence))
        return
    yield text[:-1] + rng.choice(_unsaid("tail", sentence)) + "."
    if first in LOWERED:
        yield f"{rng.choice(_unsaid('front', sentence))} {text[0].lower()}{text[1:]}"
        opening = (
            r"^((?:When|If|After|In|On|At|For)\b[^,]*|(?:The|An?|This|Each) [a-z]+)(,| (?:is|was|has|can)\b)"
        )
        mid = rng.choice(_unsaid("mid", sentence))
        if re.search(opening, text):
            yield re.sub(opening, rf"\1, {mid},\2", text, count=1).replace(f"{mid},,", f"{mid},")


def _unsaid(kind: str, sentence: Sentence) -> list[str]:
    """The clauses of which the document says at least three content words nowhere."""
    document = sentence.document.lower()
    word = r"\w\w" if kind == "zh" else r"\w{5,}"
    words = {clause: re.findall(word, clause.lower()) for clause in LISTS[kind]}
    return [clause for clause in words if sum(new not in document for new in words[clause]) >= 3]


def plants(kind: str, sentence: Sentence, rng: random.Random) -> list[str]:
    """Return what the kind makes of the sentence, a few answers at most, none of which the document says."""
    made = {
        "number": lambda: replaced(sentence, NUMBERS, rng),
        "date": lambda: replaced(sentence, DATES, rng),
        "name": lambda: replaced(sentence, NAMES, rng),
        "negation": lambda: negated(sentence, rng),
        "invention": lambda: invented(sentence, rng),
        "unchanged": lambda: iter([sentence.text]),
    }[kind]()
    is_same = kind == "unchanged"
    answers = sorted({text for text in made if is_same or text not in sentence.document})
    return rng.sample(answers, min(PASSES, len(answers)))
