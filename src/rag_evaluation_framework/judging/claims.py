"""The claims of a text: its sentences, and what an answer says in them.

A claim keeps its characters: ``text[claim.start:claim.end] == claim.text``. What states nothing is left out:
headings, table headers and rules, code blocks, questions, a bare yes or no, sentences of nothing but grammar
("It is what it is") or of greetings and offers of help, lines that only announce a list, citations
that stand alone (``Source: [1].``), and a list of sources at the end. A single letter or character states
something: which choice it is. A citation inside a claim is among its characters; whoever reads only what is
said takes the claims of ``said_in(text)``, which stand at the same places.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from rag_evaluation_framework.records.citations import FILE_SUFFIX, without_citations
from rag_evaluation_framework.records.scores import Claim
from rag_evaluation_framework.startup import late_pattern
from rag_evaluation_framework.text.normalisation import comparable
from rag_evaluation_framework.text.numbers import quantities
from rag_evaluation_framework.text.scripts import CLOSERS, HAN, ONE_TO_TEN
from rag_evaluation_framework.text.sentences import kept_sentence_spans
from rag_evaluation_framework.text.tokens import words_in
from rag_evaluation_framework.text.vocabulary import COURTESIES, LIGHT_VERBS, NEGATIONS, PARTICLES

# What an answer says: its text without the citations in it and without a list of sources at its end, nor what
# only leads up to a Chinese statement (``根据资料，``, ``综上所述，``); its like in English are stop words.
# Spaces stand in the place of all of it, so that every other character stays where it is.

_SOURCES = re.compile(
    r"""\n[^\S\n]*+[#>*_]*+[^\S\n]*+
    (?:(?:list\ of\ )?(?:references?|sources?|citations?|works)(?:\ (?:used|cited|consulted))?|bibliography
      |参考文献|参考资料|参考来源|引用来源|资料来源|信息来源|来源|引用|出处
      |參考文獻|參考資料|參考來源|引用來源|資料來源|資訊來源|來源|出處)
    [^\S\n]*+(?:[*_]*+[:：][*_]*+|[#*_]*+(?=[^\S\n]*+\n))[^\S\n]*+""",
    re.IGNORECASE | re.VERBOSE,
)
_ITEM = r"(?:[-*+•·]|\d{1,3}[.)、]|[（(]\d{1,3}[)）])"
_BRACKETED = late_pattern(rf"[^\S\n]*+(?:{_ITEM}[^\S\n]*+)?[\[【［]")
# What sources have: a file's name, an address, a page, a year in parentheses, a title in 《》.
_SIGN = late_pattern(
    rf"""[\w)]\.{FILE_SUFFIX}\b
    |https?://|www\.|\bdoi\b|\b(?:pages?|pp?\.|chapter|section)\s?\d|[（(](?:19|20)\d\d[a-z]?[)）]
    |第\s?[\d{ONE_TO_TEN}百]{{1,9}}\s?[页頁章节節]|《[^》\n]{{1,99}}》""",
    re.IGNORECASE | re.VERBOSE,
)
# "[1]: fees.pdf, p. 3" and "[2] https://…" say where the numbers lead; a rule may stand before them.
_NUMBERED_SOURCE = re.compile(
    rf"""[^\S\n]*+(?:[-*_]{{3,}}+|(?:{_ITEM}[^\S\n]*+)?[\[【［]\d{{1,3}}[\]】］][^\S\n]*+[:：]?[^\S\n]*+
      (?:<?https?://\S++|[^\s\[【［]{{1,200}}?\.{FILE_SUFFIX}(?:[,，]?\s?(?:(?:pages?|pp?\.)\s?\d{{1,5}}|第\d{{1,5}}[页頁]))?))
    [^\S\n]*+""",
    re.IGNORECASE | re.VERBOSE,
)
_NOT_LINE_END = re.compile(r"[^\n]")
# What an answer or its reference says and claims is asked for by several metrics and by blame.
_KEPT = 64

# What leads up to a statement: 根据您提供的资料，; spaces are what is left of 根据[1]，
_LEADING = late_pattern(
    r"""(?:\A|(?<=[\n。！？!?；;]))(?P<mark>(?>(?:[^\S\n]|[*>•·-])*)(?:\d{1,3}[.、)][^\S\n]*+)?\**+)
    (?P<clause>(?>(?:[^\S\n]*+(?:
        (?:根[据據]|依[据據]|按照|基[于於]|[从從])[^\n，,：:。]{0,12}?
          (?:[资資]料|文[档檔件本]|上下文|[内內]容|信息|知[识識][库庫]|[ ]{3})[^\n，,：:。]{0,6}[，,：:]
        |(?:[资資]料|文[档檔]|上下文)[中里裡]?(?:提到|提及|指出|[显顯]示)[，,：:]?
        |(?:[综綜]上所述|[总總]之|[总總]的[来來][说說]|[您你]好|好的)[，,]
    ))+))(?=[^\S\n]*+[^\s。！？!?；;.])""",
    re.VERBOSE,
)


@lru_cache(maxsize=_KEPT)
def said_in(answer: str) -> str:
    """Return what an answer says, with spaces where it cites.

    >>> said_in("It rained [1].\\n\\nSources:\\n- weather.pdf, page 3").split()
    ['It', 'rained', '.']
    """
    said = without_citations(without_source_list(answer))
    if said.isascii():
        return said
    return _LEADING.sub(lambda leading: leading["mark"] + " " * len(leading["clause"]), said)


def without_source_list(answer: str) -> str:
    """Blank out a list of sources at the end: below a heading, or of numbers in brackets with files."""
    return _without_numbered_sources(_without_headed_list(answer))


def _without_numbered_sources(answer: str) -> str:
    """Blank out the last lines that are no more than a number in brackets and a file or an address.

    Where nothing is said before them, or a colon announces them, they are what is said.
    """
    lines = answer.split("\n")
    said = len(lines)
    while said and (not lines[said - 1].strip() or _NUMBERED_SOURCE.fullmatch(lines[said - 1])):
        said -= 1
    if not said or lines[said - 1].rstrip().endswith((":", "：")):
        return answer
    return "\n".join(lines[:said] + [" " * len(line) for line in lines[said:]])


def _without_headed_list(answer: str) -> str:
    """Blank out a heading, and below or beside it nothing but sources, at the end.

    A line is a source where it begins with a bracket or has what sources have. Where nothing is said before
    it, the list is the answer.
    """
    headings = list(_SOURCES.finditer(answer))
    if not headings or not answer[: headings[-1].start()].strip():
        return answer
    start, end = headings[-1].span()
    lines = [line for line in answer[end:].splitlines() if line.strip()]
    if not lines or not all(_BRACKETED.match(line) or _SIGN.search(line) for line in lines):
        return answer
    return answer[:start] + _NOT_LINE_END.sub(" ", answer[start:])


# The sentences that claim something.

# What stands before a statement without being part of it: list markers, quote marks, emphasis.
_LEAD = re.compile(
    r"(?>(?:\s|>|[-*+•·‣◦▪](?=\s)|\d{1,3}[.)、](?=\D)|[A-Z]\d{1,3}[.)、](?=\s)"
    r"|[①-⒛❶-➓](?![①-⒛❶-➓、，和与與及是])"
    r"|(?P<emphasis>[*_]{1,3})[A-Z]?\d{1,3}(?:[.)、](?P=emphasis)|(?P=emphasis)[.)、])(?=\s)"
    rf"|[（(](?:\d{{1,3}}|[a-zA-Z]|[{ONE_TO_TEN}]{{1,3}})[)）]|[{ONE_TO_TEN}]{{1,3}}、)*)"
)
_MARKER = late_pattern(r"\[[^\[\]]{1,200}\]|【[^【】]{1,200}】|［[^［］]{1,200}］")
_LETTER = re.compile(r"[^\W_]")
_HAN = late_pattern(rf"[{HAN}]")
_TABLE_RULE = re.compile(r"(?=[\s|:]*+-)[\s|:-]*+\Z")
_OF_TABLE_RULES = ("|", ":", "-")
_UNDERLINED = re.compile(r"[^\n]+\n[^\S\n]*(?:-{3,}|={3,})\Z")
_ENDS_AS_QUESTION = re.compile(rf"[?？][\s{CLOSERS}]*\Z")
# Nothing is said after a colon: at most what is left of "Source: [1] and [2]." without its citations.
_ANNOUNCEMENT = late_pattern(r"[:：](?>(?:[\s*_.,;&。，；、]|and|[和及与與])*)\Z")
_LONGEST_ANNOUNCEMENT = 120
# What is said by such a word stands in the question alone.
_BARE_REPLY = re.compile(
    r"(?:yes|no|yep|nope|是的?|不是的?|对的?|對的?|不|否|没有|沒有)[\s.!。！]*\Z", re.IGNORECASE
)
# Sentences of nothing but these: 您好！, 希望对您有帮助。, 如有疑问，请随时联系我。
_CHINESE_COURTESY = late_pattern(
    r"(?:(?:[您你]好|好的|没问题|当然(?:可以)?|不客气|请稍等|很高兴[为能][^\W\d]{2,6}|我来为[您你][^\W\d]{2,4}"
    r"|(?:希望|以上)[^\W\d]{0,8}(?:帮助|参考)|(?:感谢|谢谢)(?:[您你][^\W\d]{0,8})?|抱歉(?:给[您你]带来不便)?|祝[您你][^\W\d]{2,8}"
    r"|如[果有需][^\W\d]{0,8}(?:问题|疑问|需要|帮助|信息|详情)|(?:请|欢迎)(?:随时)?[^\W\d]{0,6}(?:联系|提问|咨询|告诉)[^\W\d]{0,2})"
    r"[,!.。~]*)+"
)


@lru_cache(maxsize=_KEPT)
def claims_of(text: str) -> Sequence[Claim]:
    """Return the claims of a text in reading order.

    >>> [claim.text for claim in claims_of("Hello! Rome is old; it was never a port. Is it? [1]")]
    ['Rome is old; it was never a port.']
    """
    said = said_in(text)
    return tuple([Claim(text[start:end], start, end) for start, end in _claim_spans(said)])


@lru_cache(maxsize=_KEPT)
def claims_of_key(text: str) -> Sequence[Claim]:
    """Return the claims of an expected answer; one of grammar alone, such as "The Who", is one as a whole.

    A bare yes or no, and a question, claims nothing here either.
    """
    claims, bare = claims_of(text), text.strip()
    if claims or not _LETTER.search(bare) or _BARE_REPLY.match(bare) or _ENDS_AS_QUESTION.search(bare):
        return claims
    start = text.index(bare)
    return (Claim(bare, start, start + len(bare)),)


def _claim_spans(text: str) -> Iterator[tuple[int, int]]:
    spans = kept_sentence_spans(text)
    for number, (start, end) in enumerate(spans):
        sentence = text[start:end]
        begins = sentence[:2]
        lead = None if begins.isascii() and begins.isalpha() else _LEAD.match(sentence)  # none, as most often
        led = 0 if lead is None else lead.end()
        if not led and "\n" in sentence and _UNDERLINED.match(sentence):
            continue  # a heading; below an item stands a rule
        if led and (led < len(sentence) or len(spans) > 1):  # an answer may be "(b)" alone
            start, sentence = start + led, sentence[led:]
        if sentence.startswith("|") and number + 1 < len(spans):
            following = text[slice(*spans[number + 1])]
            if _TABLE_RULE.match(following):
                continue  # the head of a table
        if not _states_something(sentence):
            continue
        yield start, start + len(sentence.rstrip())


def _states_something(sentence: str) -> bool:
    may_cite = "[" in sentence or not sentence.isascii()
    bare = (_MARKER.sub("", sentence) if may_cite else sentence).strip()
    if bare.startswith(("#", "```", "~~~")) or (bare.startswith(_OF_TABLE_RULES) and _TABLE_RULE.match(bare)):
        return False
    if ("?" in bare or "？" in bare) and _ENDS_AS_QUESTION.search(bare):
        return False
    if len(bare) <= _LONGEST_ANNOUNCEMENT and (":" in bare or "：" in bare) and _ANNOUNCEMENT.search(bare):
        return False
    return _has_content(bare) and not _BARE_REPLY.match(bare)


def _has_content(sentence: str) -> bool:
    """Return True if a sentence is more than grammar, courtesy and talk of the sources.

    A letter alone is a choice.
    """
    if not sentence.isascii() and _HAN.search(sentence) and _CHINESE_COURTESY.fullmatch(comparable(sentence)):
        return False
    words = words_in(sentence)
    for forms_of_word, keys, _ in words:  # the first or second has content most often
        if keys and COURTESIES.isdisjoint(forms_of_word):
            return True
    forms = {form for word in words for form in word.forms}
    if not COURTESIES.isdisjoint(forms):  # "I don't know" says something of the world, if only of oneself
        denies = any(form in NEGATIONS or form.endswith("n't") for form in forms)
        return bool(quantities(sentence)) or (denies and "hesitate" not in forms)
    if any(not LIGHT_VERBS.isdisjoint(word.forms) for word in words):
        return True
    letters = _LETTER.findall(sentence)
    if len(letters) == 1 or quantities(sentence):
        return True
    return any(_HAN.match(letter) and letter not in PARTICLES for letter in letters)
