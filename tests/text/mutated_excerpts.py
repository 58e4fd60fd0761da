"""Excerpts as models copy them: passages that were changed a little, with where they came from."""

from __future__ import annotations

import random
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

HANDBOOK = Path(__file__).parents[2] / "examples" / "handbook" / "documents"

VOCABULARY = (
    "harbour ferry island morning ticket captain weather lighthouse window crossing engine northern quiet "
    "passenger salt bridge timber autumn record signal shallow copper lantern rope keeper wooden signal"
)
WORDS = VOCABULARY.split()
CHINESE = "渡轮码头灯塔船长天气早晨乘客岛屿航线发动机信号北方秋天记录绳索铜木桥盐窗浅滩安静"
EMOJI = ("⛴️", "🌊", "👩🏽‍✈️", "🗼", "🐧")


@dataclass(frozen=True)
class Mutated:
    """``text[start:end]`` is what was copied; ``near`` are passages beside it."""

    text: str
    start: int
    end: int
    excerpt: str
    words_kept: bool
    near: tuple[tuple[int, int], ...]


def english(chance: random.Random) -> str:
    words = [chance.choice(WORDS) for _ in range(chance.randint(4, 18))]
    if chance.random() < 0.3:
        words.insert(chance.randrange(len(words)), str(chance.randint(1, 2000)))
    if chance.random() < 0.2:
        words.insert(
            chance.randrange(len(words)), chance.choice(("“old quay”", "it's", "**north**", "e\u0301tude"))
        )
    return " ".join(words).capitalize() + chance.choice((".", ".", "!", "?", " — so far.", "…"))


def chinese(chance: random.Random) -> str:
    size = chance.randint(8, 40)
    return "".join(chance.choice(CHINESE) for _ in range(size)) + chance.choice("。！？")


def paragraph(chance: random.Random) -> list[str]:
    make = chance.choice((english, english, chinese))
    sentences = [make(chance) for _ in range(chance.randint(1, 5))]
    if chance.random() < 0.1:
        sentences.append(chance.choice(EMOJI) + " " + english(chance))
    return sentences


def made_up_text(chance: random.Random) -> str:
    """Write paragraphs of which some stand twice, and some sentences many times."""
    repeated = [paragraph(chance) for _ in range(3)]
    paragraphs = [chance.choice(repeated) if chance.random() < 0.25 else paragraph(chance) for _ in range(30)]
    gap = chance.choice(("\n\n", "\r\n\r\n", "\n\n\n"))
    text = gap.join(" ".join(sentences) for sentences in paragraphs)
    if chance.random() < 0.4:  # lines that are wrapped
        text = re.sub(r"(?<=\w) (?=\w)", lambda _: "\n" if chance.random() < 0.1 else " ", text)
    return text


def mutated_excerpts(count: int, *, seed: int) -> Iterator[Mutated]:
    """Yield passages of made-up texts and of real ones, each copied with up to three kinds of changes."""
    chance = random.Random(seed)
    real = [path.read_text(encoding="utf-8") for path in sorted(HANDBOOK.glob("*.md"))]
    made = 0
    while made < count:
        text = chance.choice(real) if chance.random() < 0.4 else made_up_text(chance)
        for _ in range(min(40, count - made)):
            yield mutated(text, chance)
            made += 1


def mutated(text: str, chance: random.Random) -> Mutated:
    units = _units(text)
    size = chance.randint(1, 6) if chance.random() < 0.2 else chance.randint(7, 60)
    first = chance.randrange(max(1, len(units) - size))
    last = min(first + size, len(units)) - 1
    start, end = units[first][0], units[last][1]
    near = ()
    if chance.random() < 0.5 and first >= 12:
        near = ((units[first - 11][0], units[first - 2][1]),)
    excerpt, words_kept = text[start:end], True
    for change in chance.sample(CHANGES, chance.choice((0, 1, 1, 1, 2, 3))):
        changed = change(excerpt, chance) or excerpt
        words_kept = words_kept and change not in WORD_CHANGES
        excerpt = changed
    return Mutated(text, start, end, excerpt, words_kept, near)


@lru_cache(maxsize=8)
def _units(text: str) -> list[tuple[int, int]]:
    """Return where each word, or Chinese character, of a text stands; many excerpts come from one text."""
    return [found.span() for found in re.finditer(r"[\u3400-\u9fff]|[^\s\u3400-\u9fff]+", text)]


def _pieces(text: str) -> list[str]:
    return re.findall(r"[\u3400-\u9fff]|[^\s\u3400-\u9fff]+|\s+", text)


def deleted_word(text: str, chance: random.Random) -> str:
    pieces = _pieces(text)
    del pieces[chance.randrange(len(pieces))]
    return "".join(pieces)


def changed_word(text: str, chance: random.Random) -> str:
    pieces = _pieces(text)
    pieces[chance.randrange(len(pieces))] = chance.choice(WORDS)
    return "".join(pieces)


def inserted_word(text: str, chance: random.Random) -> str:
    pieces = _pieces(text)
    pieces.insert(chance.randrange(len(pieces) + 1), f" {chance.choice(WORDS)} ")
    return "".join(pieces)


def misspelt(text: str, chance: random.Random) -> str:
    at = chance.randrange(len(text))
    return text[:at] + chance.choice("aeiou") + text[at + 1 :]


def other_number(text: str, chance: random.Random) -> str:
    return re.sub(r"\d+", lambda _: str(chance.randint(1, 2000)), text, count=1)


def other_case(text: str, chance: random.Random) -> str:
    return chance.choice((str.upper, str.lower, str.title))(text)


def other_space(text: str, chance: random.Random) -> str:
    return re.sub(r"\s+", chance.choice((" ", "\n", "  ", "\r\n", "\u00a0")), text)


def no_space(text: str, chance: random.Random) -> str:
    return re.sub(r"(?<=[\u3400-\u9fff])\s+|\s+(?=[\u3400-\u9fff])", "", text)


def other_quotes(text: str, chance: random.Random) -> str:
    return text.translate(str.maketrans("“”’—–", '""\'--'))


def no_marks(text: str, chance: random.Random) -> str:
    return text.replace("**", "").replace("`", "")


def wrapped(text: str, chance: random.Random) -> str:
    return chance.choice(('"{}"', "“{}”", "…{}…", " {}\n", "{}...")).format(text)


def decomposed(text: str, chance: random.Random) -> str:
    return unicodedata.normalize(chance.choice(("NFC", "NFD", "NFKC")), text)


WORD_CHANGES: tuple[Callable[[str, random.Random], str], ...] = (
    deleted_word,
    changed_word,
    inserted_word,
    misspelt,
    other_number,
)
CHANGES = (*WORD_CHANGES, other_case, other_space, no_space, other_quotes, no_marks, wrapped, decomposed)
