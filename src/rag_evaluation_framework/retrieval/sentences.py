"""Sentences of English and Chinese text, with their positions, by rules.

A sentence ends at ``。！？`` wherever they stand, and at ``. ! ?`` before white space unless the stop belongs
to an abbreviation, an initial or a number, or the next word shows that the sentence goes on. Blank lines,
headings, list items and table rows end a sentence too; a line end inside a paragraph does not.
"""

from __future__ import annotations

import re

from rag_evaluation_framework.retrieval.recursive_spans import SpanList

_CLOSERS = "\"'”’»)\\]）】」』》"
# Marks that can end a sentence with the quotes and brackets that close after them; or the end of a block.
_CANDIDATE = re.compile(
    rf"(?P<wide>(?<![。！？｡])[。！？｡][。！？｡!?…{_CLOSERS}]*+(?![，、；：]))"
    rf"|(?P<mark>(?<![.!?…])[.!?…]++)(?P<closers>[{_CLOSERS}]*+)(?=\s|\Z|(?<=[!?])[\u4e00-\u9fff])"
    r"|(?P<block>\n(?=[^\S\n]*(?:\n|#{1,6}\s|[-*+•]\s|\d{1,3}[.)]\s|\||```|~~~)))"
    r"|(?P<heading>^#{1,6}\s[^\n]*\n)|(?P<row>^[^\S\n]*\|[^\n]*\n)",
    re.MULTILINE,
)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Never the end of a sentence: a name follows, or what is said by example.
_TITLES = _words(
    "mr mrs ms dr drs prof rev fr hon gen col maj capt cpt lt sgt cmdr adm gov sen rep pres amb messrs mme "
    "mlle st mt ft vs cf viz e.g i.e eg ie approx ca est min max incl excl"
)
# Not the end when a number follows: No. 5, Fig. 2, Jan. 31.
_BEFORE_NUMBERS = _words(
    "no nos vol vols pp p fig figs eq eqs sec ch art ed tel ext "
    "jan feb mar apr jun jul aug sep sept oct nov dec"
)
# The end of a sentence only when the next word is one with which sentences start.
_ABBREVIATIONS = _words("inc ltd co corp llc jr sr bros etc al dept ave blvd rd esq ph.d")
_STARTERS = _words(
    "a after all also although an and another any as at because before both but by each for from he her here "
    "his how however i if in is it its many may most my no now of on once one or our she since so some such "
    "that the their then there these they this those though thus to today under until we what when where "
    "which while who why with you your"
)
_WORD_BEFORE = re.compile(r"[^\s\"'“”‘’()\[\]]*\Z")
_NEXT_WORD = re.compile(r"\s*[\"'“‘«(\[]*(?P<word>\w[\w'’]*)?")
_INITIALS = re.compile(r"(?:[A-Za-z]\.)*[A-Za-z]\Z")
_LIST_NUMBER = re.compile(r"^[^\S\n]*\d{1,3}\Z", re.MULTILINE)
_LOOK_BACK = 40


def sentence_spans(text: str) -> SpanList:
    """Return start and end of each sentence, without the white space around it.

    >>> text = "Dr. Wu paid $3.50. 她很高兴！“真的？”"
    >>> [text[start:end] for start, end in sentence_spans(text)]
    ['Dr. Wu paid $3.50.', '她很高兴！', '“真的？”']
    """
    spans: SpanList = []
    begin = 0
    for match in _CANDIDATE.finditer(text):
        if match["mark"] is None or _ends_sentence(text, match):
            begin = _append(spans, text, begin, match.end())
    _append(spans, text, begin, len(text))
    return spans


def _append(spans: SpanList, text: str, begin: int, end: int) -> int:
    piece = text[begin:end]
    start = begin + len(piece) - len(piece.lstrip())
    piece = piece.strip()
    if piece:
        spans.append((start, start + len(piece)))
    return end


def _ends_sentence(text: str, match: re.Match[str]) -> bool:
    """Tell whether ASCII marks before white space end a sentence."""
    following = _NEXT_WORD.match(text, match.end())
    word = following["word"] if following is not None else None
    if word is None:
        return True
    mark = match["mark"]
    if word[0].islower() and (match["closers"] or mark.endswith(("..", "…"))):
        return False  # "Why?" she asked; well … maybe
    if mark != ".":
        return True
    before = _WORD_BEFORE.search(text, max(match.start() - _LOOK_BACK, 0), match.start())
    last = before[0] if before is not None else ""
    if last.isdigit() and _LIST_NUMBER.search(text, max(match.start() - _LOOK_BACK, 0), match.start()):
        return False
    return _stop_ends_sentence(last, word)


def _stop_ends_sentence(last: str, following: str) -> bool:
    """Tell whether one full stop after the word ``last`` ends a sentence that ``following`` comes after."""
    lowered = last.lower()
    if lowered in _TITLES or (lowered in _BEFORE_NUMBERS and following[0].isdigit()):
        return False
    if lowered in _ABBREVIATIONS or (len(last) > 1 and _INITIALS.match(last)):
        return following[0].isupper() and following.lower() in _STARTERS
    return not (len(last) == 1 and last.isupper() and last != "I")
