"""Sentences of English and Chinese text, with their positions, by rules.

A sentence ends at ``。！？`` wherever they stand, and at ``. ! ?`` before white space unless the stop belongs
to an abbreviation, an initial or a number, or the next word shows that the sentence goes on. Closing quotes,
emoji and citation markers (``[1]``, ``【1】``, ``(Wu 2020)``) after the stop belong to the sentence before.
Blank lines, headings, list items, table rows and lines of fenced code end a sentence too; a line end inside a
paragraph does not.
"""

from __future__ import annotations

import re

from rag_evaluation_framework.characters import CLOSERS, EMOJI, HAN, ONE_TO_TEN
from rag_evaluation_framework.retrieval.recursive_spans import SpanList
from rag_evaluation_framework.retrieval.sentence_words import (
    ABBREVIATIONS,
    BEFORE_NUMBERS,
    DATES,
    NAMED_YEARS,
    NEVER_LAST,
    STARTERS,
    SURNAMES,
)

_NUMBERS = r"\^?\d{1,4}(?:[,;\s–-]{1,2}\d{1,4}){0,20}"
_SOURCE = r"(?i:source|doc|document|ref|context|passage|来源|來源|文档|文檔|资料|資料|参考|參考|出处|出處)"
_FILE = r"(?!\d{1,2}:\d\d)[^\[\]\n:]{1,80}:[\d?][^\[\]\n]{0,40}"  # but no time of day
_BRACKETED = rf"\[(?:{_NUMBERS}|{_FILE}|{_SOURCE}[\s:：#]{{0,2}}\d{{1,3}})\]"
# What cites, right after the stop: [1], [1, 2], [report.pdf:3:10-20], [Source 2], 【1】, (1), ¹.
_MARKER = rf"{_BRACKETED}|【{_NUMBERS}[^【】\n]{{0,20}}】|[（(]\d{{1,3}}[)）]|[¹²³⁰⁴-⁹]"
_NAME = r"[A-Z][\w’'-]{1,30}"
# What cites even after a space: [1], [report.pdf:3], (Wu 2020), (Wu and Li, 2020).
_AUTHORS = rf"(?!(?:{NAMED_YEARS})\s){_NAME}(?:,?\s(?:and|&|et\sal\.?|{_NAME})){{0,4}}"
_SPACED_MARKER = rf"[ ]{_BRACKETED}|[ ]\({_AUTHORS},?\s(?:19|20)\d\d[a-z]?\)"
_LIST_ITEM = (
    rf"[-*+•–·]\s|\(?\d{{1,3}}[.)]\s|\d{{1,3}}\.(?=[{HAN}])|\(?[a-z]\)\s|[（(]\d{{1,3}}[)）]"
    rf"|\d{{1,3}}[、．]|[{ONE_TO_TEN}]{{1,3}}[、．]|[（(][{ONE_TO_TEN}]{{1,3}}[)）]|[①-⑳]|步[骤驟]\s?\d"
)
# Marks that can end a sentence with what closes after them; or the end of a block. The first character is
# matched by one set and looked back at: so most of a text is passed over at the speed of a scan.
_CANDIDATE = re.compile(
    r"[.!?…。！？｡．\n#|`~•▪◦‣⁃](?:"
    rf"(?P<mark>(?<=[.!?…])(?<![.!?…].)[.!?…]*+(?:[ ]\.(?![.\w]))*+)(?P<closers>[{CLOSERS}{EMOJI}]*+)"
    rf"(?P<cited>(?:{_MARKER})*+(?:(?:{_SPACED_MARKER})(?:{_MARKER})*+)*+)(?=\s|\Z|[{HAN}]|[A-Z][a-z])"
    rf"|(?P<wide>(?:(?<=[。！？｡])(?<![。！？｡].)|(?<=．)(?<![0-9０-９．].)(?![0-9０-９]))"
    rf"[。！？｡．!?…{CLOSERS}{EMOJI}]*+(?P<wide_cited>(?:{_MARKER})*+)(?![，、；：]))"
    rf"|(?P<line>(?<=[{HAN}\U0001f000-\U0001faff]\n))"
    rf"|(?P<block>(?<=[:：]\n)|(?<=\*\*\n)|(?<=\n)(?=[^\S\n]*(?:\n|#{{1,6}}\s|\||```|~~~|{_LIST_ITEM})))"
    r"|(?P<bullet>(?<=\s[•▪◦‣⁃]))|(?P<heading>(?<=^#)#{0,5}\s[^\n]*\n)|(?P<row>(?<=^\|)[^\n]*\n)"
    r"|(?P<fence>(?:(?<=^`)``|(?<=^~)~~)[^\n]*\n(?:(?!```|~~~)[^\n]*\n)*+(?:```|~~~)[^\n]*\n?))",
    re.MULTILINE,
)

# Of small letters, and a full stop after them may yet not end a sentence; so may one after "iv".
_STOPPED = NEVER_LAST | ABBREVIATIONS
_ABBREVIATED = _STOPPED | BEFORE_NUMBERS
_WORD_BEFORE = re.compile(r"[^\s\"'“”‘’()\[\]]*\Z")
_NEXT_WORD = re.compile(r"\s*[\"'“‘«(\[]*(?P<word>\w[\w'’]*)?")
_INITIALS = re.compile(r"(?:[A-Za-z]\.)*[A-Za-z]\Z")
_LIST_MARK = re.compile(
    r"^[^\S\n]*(?:[-*+•⁃>][^\S\n]*)?(?:\d{1,3}|[A-Za-z]|[ivx]{1,4})\Z|:\s\d{1,3}\Z", re.MULTILINE
)
_MAY_LABEL = re.compile(r"[-*+•⁃>]?(?:\d{1,3}|[A-Za-z]|[ivx]{1,4})\Z|第")
# The same where a list runs on in one line: it begins a sentence.
_BARE_MARK = re.compile(r"\s*+(?:[-*+•⁃]\s*+)?(?:\d{1,3}|[a-z])\Z")
_ITEM = re.compile(r"\s*+(?:[-*+•⁃]\s*+)?(?:(?P<number>\d{1,3})|(?P<letter>[a-y]))\.")
_PLAIN_WORD = re.compile(r"[A-Za-z]*[a-z]{2}\Z")
_STEP = re.compile(
    r"\s*(?:step|phase|question|section|article|chapter|clause|part|item|rule|appendix|schedule|第)\s*\d{1,3}\Z",
    re.IGNORECASE,
)
# “走吧。”他说。 The speaker stands after the quote, and a mark after the verb.
_SAID = re.compile(r"[^\s，。！？：“「]{1,14}?(?:说|說|问|問|道|答|喊|叫)[，。：！？:,]")
# say “走吧。” and leave: a Chinese quote in an English sentence.
_IN_ENGLISH = re.compile(r"\s[a-z]")
_WIDE_ITEM = re.compile(r"([（(])(\d{1,3})([)）])")
_LOOK_BACK, _LONGEST_LIST_MARK, _LONGEST_ASIDE = 40, 4, 60
# A Chinese line no longer than this was not broken because it was full: a heading, an item, a message.
_SHORT_LINE = 18


def sentence_spans(text: str) -> SpanList:
    """Return start and end of each sentence, without the white space around it.

    >>> text = "Dr. Wu paid $3.50.[1] 她很高兴！“真的？”"
    >>> [text[start:end] for start, end in sentence_spans(text)]
    ['Dr. Wu paid $3.50.[1]', '她很高兴！', '“真的？”']
    """
    spans: SpanList = []
    begin = 0
    for match in _CANDIDATE.finditer(text):
        kind = match.lastgroup
        if kind == "cited":
            if _ends_plainly(text, match.start()):
                begin = _append(spans, text, begin, match.end())
            elif _ends_sentence(text, begin, match):
                begin = _append(spans, text, begin, _end_of(text, begin, match))
        elif kind == "wide":
            if not _wide_goes_on(text, begin, match):
                begin = _append(spans, text, begin, _end_of_wide(text, begin, match))
        elif kind == "bullet":
            begin = _append(spans, text, begin, match.start())
        elif kind == "line":
            if match.end() - 1 - text.rfind("\n", 0, match.start()) <= _SHORT_LINE + 1:
                begin = _append(spans, text, begin, match.end())
        elif kind == "fence":
            begin = _append_lines(spans, text, begin, match)
        else:
            begin = _append(spans, text, begin, match.end())
    _append(spans, text, begin, len(text))
    return spans


def _append(spans: SpanList, text: str, begin: int, end: int) -> int:
    piece = text[begin:end].lstrip()
    if piece:
        start = end - len(piece)
        spans.append((start, start + len(piece.rstrip())))
    return end


def _append_lines(spans: SpanList, text: str, begin: int, fence: re.Match[str]) -> int:
    """Append the lines of fenced code: a full stop says nothing there."""
    begin = _append(spans, text, begin, fence.start())
    for line in fence[0].splitlines(keepends=True):
        begin = _append(spans, text, begin, begin + len(line))
    return begin


def _end_of(text: str, begin: int, match: re.Match[str]) -> int:
    """Return the end of the sentence, without what begins the next one in a list that runs on.

    That is ``[2]`` after a space where ``[1]`` began the sentence, and ``2.`` where ``1.`` did.
    """
    if match["cited"].startswith(" ") and text[begin : match.start()].lstrip().startswith("["):
        return match.start("cited")
    ending = text[match.start() - 2 : match.start()]
    item = _ITEM.match(text, begin) if ending[-1:].isdigit() or ending[:1] == " " else None
    if item is not None:
        mark = int(item["number"]) + 1 if item["number"] else chr(ord(item["letter"]) + 1)
        if text.endswith(f" {mark}", begin, match.start()):
            return match.start() - len(f"{mark}")
    return match.end()


def _wide_goes_on(text: str, begin: int, match: re.Match[str]) -> bool:
    """Tell whether a sentence goes on after ``。！？``: a speaker follows, or a bracket is open."""
    end = match.end()
    if match[0][-1] == "》":
        return True
    if match[0][-1] in "”」』" and (_SAID.match(text, end) or _IN_ENGLISH.match(text, end)):
        return True
    before, after = text[max(begin, end - _LONGEST_ASIDE) : end], text[end : end + _LONGEST_ASIDE]
    return any(
        before.count(opens) > before.count(closes) and closes in after for opens, closes in ("《》", "（）")
    )


def _end_of_wide(text: str, begin: int, match: re.Match[str]) -> int:
    """Return the end of a Chinese sentence, without ``（2）`` where ``（1）`` stands before it."""
    item = _WIDE_ITEM.fullmatch(match["wide_cited"])
    is_listed = item is not None and f"{item[1]}{int(item[2]) - 1}{item[3]}" in text[begin : match.start()]
    return match.start("wide_cited") if is_listed else match.end()


def _ends_plainly(text: str, stop: int) -> bool:
    """Tell whether a word, a full stop and a capital stand here, as most sentences end: the rest is rules."""
    if text[stop : stop + 2] not in (". ", ".\n") or not "A" <= text[stop + 2 : stop + 3] <= "Z":
        return False
    word = text[text.rfind(" ", max(stop - _LOOK_BACK, 0), stop) + 1 : stop]
    is_word = len(word) > 1 and word.isascii() and word.isalpha() and word.islower()
    return is_word and word not in _STOPPED and word.strip("ivx") != ""


def _ends_sentence(text: str, begin: int, match: re.Match[str]) -> bool:
    """Tell whether ASCII marks end a sentence."""
    following = _NEXT_WORD.match(text, match.end())
    word = following["word"] if following is not None else None
    if word is None:
        return True
    mark = text[match.start() : match.end("mark")]
    if word[0].islower() and (match["closers"] or mark.endswith(("..", "…", ". ."))):
        return False  # "Why?" she asked; well … maybe
    if text[match.start() - 1 : match.start()] == "[" and match["closers"].startswith("]"):
        return False  # "it fell [...]" (Wu 3)
    if not word[0].isupper() and _is_in_brackets(text, max(begin, match.start() - _LOOK_BACK), match):
        return False  # (see. page 3)
    is_spaced = text[match.end()].isspace()
    if is_spaced and mark != ".":
        return True
    last = _word_before(text, match.start())
    if not is_spaced:
        return _ends_without_space(text, match, last, word)
    if len(last) <= _LONGEST_LIST_MARK and _MAY_LABEL.match(last) and _is_label(text, begin, match.start()):
        return False
    return _stop_ends_sentence(last, word)


def _word_before(text: str, end: int) -> str:
    before = _WORD_BEFORE.search(text, max(end - _LOOK_BACK, 0), end)
    return before[0] if before is not None else ""


def _is_in_brackets(text: str, begin: int, match: re.Match[str]) -> bool:
    """Tell whether a bracket that opened before the mark is still open after it."""
    before, closers = text[begin : match.start()], match["closers"]
    return any(
        before.count(opens) > before.count(closes) + closers.count(closes)
        for opens, closes in ("()", "[]", "{}", "（）")
    )


def _is_label(text: str, begin: int, end: int) -> bool:
    """Tell whether the stop is that of a list item's number or of "Step 1."."""
    if _LIST_MARK.search(text, max(end - _LOOK_BACK, 0), end):
        return True
    return _BARE_MARK.match(text, begin, end) is not None or _STEP.match(text, begin, end) is not None


def _ends_without_space(text: str, match: re.Match[str], last: str, following: str) -> bool:
    """Tell whether marks right before a letter end a sentence: in ``rained.The match``, not in ``a.Of``."""
    if text[match.end()] > "\u2e80":
        mark = text[match.start() : match.end("mark")]
        return mark[-1] in "!?" or (mark == "." and (last[-1:] > "\u2e80" or _is_plain(last)))
    end = match.end() + len(following)
    return _is_plain(last) and following.lower() in STARTERS and text[end : end + 1].isspace()


def _is_plain(word: str) -> bool:
    return _PLAIN_WORD.match(word) is not None and word.lower() not in _ABBREVIATED


def _stop_ends_sentence(last: str, following: str) -> bool:
    """Tell whether one full stop after the word ``last`` ends a sentence that ``following`` comes after."""
    lowered = last.lower().rpartition("-")[2]
    if lowered in NEVER_LAST or (lowered in BEFORE_NUMBERS and following[0].isdigit()):
        return False
    if lowered in DATES and following[0].islower():
        return False
    if lowered in ABBREVIATIONS or (len(last) > 1 and _INITIALS.match(last)):
        return following[0].isupper() and following.lower() in STARTERS
    if len(last) == 1 and last.isupper() and last != "I":  # an initial, but in "vitamin C. It"
        return following[0].isupper() and following.lower() in STARTERS - SURNAMES
    return True
