"""What an answer says: its text without the citations in it and without a list of sources at its end.

Spaces stand in the place of both, so that every other character stays where it is.
"""

from __future__ import annotations

import re

from rag_evaluation_framework.judging.courtesies import is_courtesy
from rag_evaluation_framework.metrics.inline_citations import without_citations

_HEADING = re.compile(
    r"""\n[^\S\n]*+[#>*_]*+[^\S\n]*+
    (?:(?:list\ of\ )?(?:references?|sources?|citations?|works)(?:\ (?:used|cited|consulted))?|bibliography
      |参考文献|参考资料|参考来源|引用来源|资料来源|信息来源|来源|引用|出处
      |參考文獻|參考資料|參考來源|引用來源|資料來源|資訊來源|來源|出處)
    [^\S\n]*+(?:[*_]*+[:：][*_]*+|[#*_]*+(?=[^\S\n]*+\n))[^\S\n]*+""",
    re.IGNORECASE | re.VERBOSE,
)
_BRACKETED = re.compile(r"[^\S\n]*+(?:(?:[-*+•·]|\d{1,3}[.)、]|[（(]\d{1,3}[)）])[^\S\n]*+)?[\[【]")
# What sources have: a file's name, an address, a page, a year in parentheses, a title in 《》.
_SIGN = re.compile(
    r"""[\w)]\.(?:pdf|md|markdown|html?|docx?|txt|rtf|csv|tsv|xlsx?|pptx?|jsonl?|xml|epub)\b
    |https?://|www\.|\bdoi\b|\b(?:pages?|pp?\.|chapter|section)\s?\d|[（(](?:19|20)\d\d[a-z]?[)）]
    |第\s?[\d一二三四五六七八九十百]{1,9}\s?[页頁章节節]|《[^》\n]{1,99}》""",
    re.IGNORECASE | re.VERBOSE,
)
_LIST_MARK = re.compile(r"\s*+(?:[-*+•·]|\d{1,3}[.)、]|[（(]\d{1,3}[)）])?")
# What a title does not have: the end of a sentence, and a number that is no year.
_NOT_OF_TITLES = re.compile(r"[.!?。！？;；][\s\"'”’)\]）」*_]*\Z|(?<!\d)(?!(?:19|20)\d\d(?!\d))\d")
_LONGEST_TITLE = 120
_NOT_LINE_END = re.compile(r"[^\n]")


def said_in(answer: str) -> str:
    """Return what an answer says, with spaces where it cites.

    >>> said_in("It rained [1].\\n\\nSources:\\n- weather.pdf, page 3").split()
    ['It', 'rained', '.']
    """
    return without_citations(without_source_list(answer))


def without_source_list(answer: str) -> str:
    """Blank out a list of sources at the end: a heading, and below or beside it nothing but sources.

    A line is a source where it begins with a bracket, has what sources have, or is no more than a title.
    Courtesies may follow the list. Where nothing is said before it, the list is the answer.
    """
    headings = list(_HEADING.finditer(answer))
    if not headings or not answer[: headings[-1].start()].strip():
        return answer
    start, end = headings[-1].span()
    beside, _, below = answer[end:].partition("\n")
    lines = [line for line in below.splitlines() if line.strip()]
    while lines and is_courtesy(lines[-1]):
        lines.pop()
    begins = _is_surely_source(beside) if beside.strip() else bool(lines)
    if not begins or not all(_is_surely_source(line) or _is_title(line) for line in lines):
        return answer
    return answer[:start] + _NOT_LINE_END.sub(" ", answer[start:])


def _is_surely_source(line: str) -> bool:
    return _BRACKETED.match(line) is not None or _SIGN.search(line) is not None


def _is_title(line: str) -> bool:
    mark = _LIST_MARK.match(line)
    title = line[mark.end() :] if mark else line
    return len(title) <= _LONGEST_TITLE and _NOT_OF_TITLES.search(title) is None
