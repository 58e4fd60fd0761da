"""What an answer says: its text without the citations in it and without a list of sources at its end.

What only leads up to a Chinese statement (``根据资料，``, ``文档中提到``, ``综上所述，``, ``您好，``) is not
said either; its like in English are stop words.
Spaces stand in the place of all of it, so that every other character stays where it is.
"""

from __future__ import annotations

import re

from rag_evaluation_framework.records.citations import FILE_SUFFIX, without_citations
from rag_evaluation_framework.text.scripts import CLOSERS, ONE_TO_TEN

_HEADING = re.compile(
    r"""\n[^\S\n]*+[#>*_]*+[^\S\n]*+
    (?:(?:list\ of\ )?(?:references?|sources?|citations?|works)(?:\ (?:used|cited|consulted))?|bibliography
      |参考文献|参考资料|参考来源|引用来源|资料来源|信息来源|来源|引用|出处
      |參考文獻|參考資料|參考來源|引用來源|資料來源|資訊來源|來源|出處)
    [^\S\n]*+(?:[*_]*+[:：][*_]*+|[#*_]*+(?=[^\S\n]*+\n))[^\S\n]*+""",
    re.IGNORECASE | re.VERBOSE,
)
# Headings below which nothing but sources stands. "Sources" and "Works" may be of power, or of a poet.
_OF_TEXTS_ONLY = re.compile(
    "references?|citations?|bibliography|cited|consulted|[参參]考|引用|[资資]料|信息|[资資][讯訊]",
    re.IGNORECASE,
)
_ITEM = r"(?:[-*+•·]|\d{1,3}[.)、]|[（(]\d{1,3}[)）])"
_BRACKETED = re.compile(rf"[^\S\n]*+(?:{_ITEM}[^\S\n]*+)?[\[【［]")
# What sources have: a file's name, an address, a page, a year in parentheses, a title in 《》.
_SIGN = re.compile(
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
_LIST_MARK = re.compile(rf"\s*+{_ITEM}?")
# What a title does not have: the end of a sentence, and a number that is no year.
_NOT_OF_TITLES = re.compile(rf"[.!?。！？;；][\s{CLOSERS}]*\Z|(?<!\d)(?!(?:19|20)\d\d(?!\d))\d")
_LONGEST_TITLE = 120
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_NOT_LINE_END = re.compile(r"[^\n]")

# What leads up to a statement: 根据您提供的资料，; spaces are what is left of 根据[1]，
_LEADING = re.compile(
    r"""(?:\A|(?<=[\n。！？!?；;]))(?P<mark>(?:[^\S\n]|[*>•·-])*+(?:\d{1,3}[.、)][^\S\n]*+)?\**+)
    (?P<clause>(?:[^\S\n]*+(?:
        (?:根[据據]|依[据據]|按照|基[于於]|[从從])[^\n，,：:。]{0,12}?
          (?:[资資]料|文[档檔件本]|上下文|[内內]容|信息|知[识識][库庫]|[ ]{3})[^\n，,：:。]{0,6}[，,：:]
        |(?:[资資]料|文[档檔]|上下文)[中里裡]?(?:提到|提及|指出|[显顯]示)[，,：:]?
        |(?:[综綜]上所述|[总總]之|[总總]的[来來][说說]|[您你]好|好的)[，,]
    ))++)(?=[^\S\n]*+[^\s。！？!?；;.])""",
    re.VERBOSE,
)


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

    A line is a source where it begins with a bracket, has what sources have, or is no more than a title.
    Titles alone are sources only below a heading that can mean nothing else.
    Where nothing is said before it, the list is the answer.
    """
    headings = list(_HEADING.finditer(answer))
    if not headings or not answer[: headings[-1].start()].strip():
        return answer
    start, end = headings[-1].span()
    beside, _, below = answer[end:].partition("\n")
    lines = [line for line in below.splitlines() if line.strip()]
    begins = _is_surely_source(beside) if beside.strip() else bool(lines)
    if not begins or not all(_is_surely_source(line) or _is_title(line) for line in lines):
        return answer
    if not _OF_TEXTS_ONLY.search(answer, start, end) and not any(map(_shows_source, (beside, *lines))):
        return answer
    return answer[:start] + _NOT_LINE_END.sub(" ", answer[start:])


def _is_surely_source(line: str) -> bool:
    return _BRACKETED.match(line) is not None or _SIGN.search(line) is not None


def _shows_source(line: str) -> bool:
    return _is_surely_source(line) or _YEAR.search(line) is not None


def _is_title(line: str) -> bool:
    mark = _LIST_MARK.match(line)
    title = line[mark.end() :] if mark else line
    return len(title) <= _LONGEST_TITLE and _NOT_OF_TITLES.search(title) is None
