"""The one sentence splitter, English and Chinese."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import product

from rag_evaluation_framework.startup import late_pattern
from rag_evaluation_framework.text.scripts import CLOSERS, EMOJI, HAN, ONE_TO_TEN
from rag_evaluation_framework.text.spans import SpanList

# The words by which a full stop is told from the end of a sentence.


_words = str.split

COMMON_TITLES = frozenset(_words("mr mrs ms dr prof gen col capt gov sen rep st"))
"""The most frequent abbreviated titles before names."""

NEVER_LAST = COMMON_TITLES | frozenset(
    _words(
        "drs rev fr hon maj cpt lt sgt cpl pvt cmdr adm cllr supt insp pres amb messrs mme mlle wm mt ft v "
        "vs cf viz e.g i.e eg ie approx ca est min max incl excl subsp esp ref proc"
    )
)
"""Never the end of a sentence: a name follows, or what is said by example."""

BEFORE_NUMBERS = frozenset(
    _words(
        "no nos n° nº vol vols pp p fig figs eq eqs sec ch art arts ed tel ext sched para paras cl cls reg "
        "regs app rm apt ste bldg jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu "
        "thur thurs fri sat sun"
    )
)
"""Not the end when a number follows: No. 5, Fig. 2, Jan. 31."""

DATES = frozenset(_words("jan feb apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri"))
"""Not the end either before a small letter or another date: from Apr. to Oct., Mon. – Fri."""

ABBREVIATIONS = frozenset(
    _words(
        "inc ltd co corp llc jr sr bros etc al dept ave blvd rd esq ph.d mgmt bldg mfg govt assn intl natl "
        "univ misc soc mo mos yr yrs hr hrs mins wk wks ft oz lb lbs"
    )
)
"""The end of a sentence only when the next word is one with which sentences start."""

STARTERS = frozenset(
    _words(
        "a after all also although an and another any as at because before both but by each for from he her "
        "here his how however i if in is it its many may most my no now of on once one or our she since so "
        "some such that the their then there these they this those though thus to today under until we what "
        "when where which while who why with you your"
    )
)

SURNAMES = frozenset(_words("a an each i in may my no on so to"))
"""Starters that may be a surname after an initial: T. May."""

NAMED_YEARS = "In|Since|By|From|Until|During|After|Before|As|Around|Circa|Till|Through"
"""Words before a year in brackets that is no citation: (In 2020)."""


# The marks that belong to a sentence or begin a block: what cites, and what begins a line of its own.
#
# Each name is the source of a regular expression. Whatever may fail after it began is bounded in length.

CLOSING = rf"(?>(?:[{CLOSERS}{EMOJI}~$}}>†‡]|</\w{{1,10}}>)*)"
"""Closing marks after a full stop: quotes, brackets, emphasis, formulas, daggers, emoji, tags."""

_NUMBERS = r"\^?\d{1,4}(?:[,;\s–-]{1,2}\d{1,4}){0,20}"
_SOURCE = r"(?i:sources?|doc|document|ref|context|passage|来源|來源|文档|文檔|资料|資料|参考|參考|出处|出處)"
_FILE = r"(?!\d{1,2}:\d\d)[^\[\]\n:]{1,80}:[\d?][^\[\]\n]{0,40}"  # but no time of day
_URL = r"\([^()\s]{1,300}\)"
_SQUARE = rf"\[(?:{_NUMBERS}|{_FILE}|{_SOURCE}[\s:：#]{{0,2}}\d{{1,3}})\]"
_BRACKETED = rf"(?:{_SQUARE}|\[{_SQUARE}\]|\[{_SOURCE}\](?=\())(?:{_URL})?"
_LENTICULAR = rf"【{_NUMBERS}[^【】\n]{{0,20}}】"
_NAMED = rf"[（(](?:{_BRACKETED}|{_SOURCE}(?:[\s#]{{0,2}}\d{{1,3}}|\s?[:：][^()（）\n]{{1,80}}))[)）]"
_RAISED = r"<sup>[^<>\n]{1,30}</sup>"
_NAME = r"[A-Z][\w’'-]{1,30}"
_AUTHORS = rf"(?!(?:{NAMED_YEARS})\s){_NAME}(?:,?\s(?:and|&|et\sal\.?|{_NAME})){{0,4}}"
_AUTHORED = rf"\({_AUTHORS},?\s(?:19|20)\d\d[a-z]?\)"

LIST_OF_SOURCES = rf"\s*+(?:{_BRACKETED}|{_LENTICULAR})"
"""Beginning of a sentence that explains a number: [1] Wu, On Tides."""

_MARKER = rf"{_BRACKETED}|{_LENTICULAR}|{_NAMED}|[（(]\d{{1,3}}[)）]|[¹²³⁰⁴-⁹]|{_RAISED}"
_SPACED_MARKER = rf"[ ](?:{_BRACKETED}|{_LENTICULAR}|{_NAMED}|{_RAISED}|{_AUTHORED})(?![ ][a-z])"

CITED = rf"(?>(?:{_MARKER}|{_SPACED_MARKER})*)"
"""Citations after a stop: [1], [1, 2](url), [report.pdf:3:10-20], [Source 2], 【1】, (Wu 2020).

(1) and ¹ are citations if they touch the stop. After a space and before a small letter, as in "[2] shows",
the number is none.
"""

LINKED = rf"(?>(?:(?<!!)\[[^\[\]\n]{{1,200}}\]{_URL})?)"
"""A link that touches the stop before it cites as well, in English; but ![this](url) is an image."""

ITEM_NUMBER = r"\d{1,3}(?:\.\d{1,3}){0,3}"
"""The number of an item: 1 or 2.1.3."""

_PICTURES = rf"[→➢►●○■□◆◇{EMOJI}]"
_LIST_ITEM = (
    rf"[-*+•–·]\s|{_PICTURES}{{1,4}}\s|\d\ufe0f?\u20e3"
    rf"|[*_]{{0,3}}\(?(?:\d{{1,3}}[*_\\]{{0,3}}[.)]|{ITEM_NUMBER}\.)[*_]{{0,3}}\s|\d{{1,3}}\.(?=[{HAN}])"
    r"|\(?(?:[A-Za-z]|[ivx]{1,4}|[IVX]{1,4})\)\s|[（(]\d{1,3}[)）]"
    rf"|(?:\d{{1,3}}|[A-Za-z]|[{ONE_TO_TEN}]{{1,3}})[、．]|[（(][{ONE_TO_TEN}]{{1,3}}[)）]|[①-⒛❶-➓]"
    r"|步[骤驟]\s?\d|[Ss]tep\s\d{1,2}[.:]"
)
_BOLD_LINE = r"\*\*[^*\n]{1,80}(?:[:：]\*\*|\*\*[^\S\n]?(?:[:：]|$))"
_TAG = r"</?(?:li|p|ul|ol|tr|div|h[1-6])\b[^<>\n]{0,100}>"

BLOCK = rf"[^\S\n]*(?:\n|#{{1,6}}\s|\||```|~~~|{_LIST_ITEM}|{_BOLD_LINE}|{_TAG})"
"""Beginning of a line that does not continue the line before."""

CODE_OR_LINK = (
    r"(?<=`)(?<![0-9A-Za-z`]`)`?(?=\S)[^`\n]{1,200}(?<=\S)``?(?![0-9A-Za-z])"
    rf"|(?<=\[)[^\[\]\n]{{1,200}}\]{_URL}"
)
"""The rest of a code span or a link, in which no sentence ends: `a. B`, [What is it? A guide](url)."""

UNDERLINE = r"[^\S\n]*(?:-{3,80}|={3,80}|_{3,80})[^\S\n]*\n"
"""A line of nothing but dashes, which makes a heading of the line above it, or a rule."""


# Sentences of English and Chinese text, with their positions, by rules.
#
# A sentence ends at ``。！？`` wherever they stand, and at ``. ! ?`` before white space unless the stop
# belongs to an abbreviation, an initial or a number, or the next word shows that the sentence goes on.
# What a word is wrapped in (``**Dr.** Wu``, ``approx. $5``) does not matter. Closing quotes, emoji and
# citation markers (``[1]``, ``【1】``, ``(Wu 2020)``) after the stop belong to the sentence before. Blank
# lines, headings, list items, table rows, lines in bold type and lines of fenced code end a sentence too;
# a line end inside a paragraph does not, nor does a mark inside a code span or a link.

# Marks that can end a sentence with what closes after them; or the end of a block, looked back at from after
# its first character.
_CANDIDATE = late_pattern(
    r"[.!?…。！？｡．\n#|`~<\[•▪◦‣⁃](?:"
    rf"(?P<mark>(?<=[.!?…])(?<![.!?…].)[.!?…]*+(?>(?:[ ]\.(?![.\w]))*))(?P<closers>{CLOSING})"
    rf"(?P<cited>{LINKED}{CITED})(?=\s|\Z|[{HAN}]|[A-Z][a-z]|<(?!br)[a-z])"
    rf"|(?P<wide>(?:(?<=[。！？｡])(?<![。！？｡].)|(?<=．)(?<![0-9０-９．].)(?![0-9０-９]))"
    rf"[。！？｡．!?…{CLOSERS}{EMOJI}]*+(?P<wide_cited>{CITED})(?![，、；：]))"
    rf"|(?P<underline>(?<=\n){UNDERLINE})|(?P<line>(?<=[{HAN}\U0001f000-\U0001faff]\n))"
    rf"|(?P<block>(?<=[:：]\n)|(?<=\*\*\n)|(?<=\n)(?={BLOCK}))"
    r"|(?P<bullet>(?<=\s[•▪◦‣⁃]))|(?P<heading>(?<=^#)#{0,5}\s[^\n]*\n)|(?P<row>(?<=^\|)[^\n]*\n)"
    r"|(?P<fence>(?:(?<=^`)``|(?<=^~)~~)[^\n]*\n(?>(?:(?!```|~~~)[^\n]*\n)*)(?:```|~~~)[^\n]*\n?)"
    rf"|(?P<whole>{CODE_OR_LINK})|(?P<break>(?<=<)(?<!`<)br\s?/?>))",
    re.MULTILINE,
)

# With what a candidate begins; but no full stop before what shows that nothing ends: 3.5, example.com. The
# group is there at a full stop as most sentences have it: after three small letters, before a capital or an
# item of a list.
_IF_IT_ENDS = r"(?:(?<=[a-z]{3}\.)(?=(?: |\n\n?)[A-Z]|\n\* )()|(?<!\.)|(?![a-z0-9,]))"
_STOPS = re.compile(rf"[.!?…。！？｡．\n#|`~<\[•▪◦‣⁃]{_IF_IT_ENDS}")
_TYPED_STOPS = re.compile(rf"[.!?\n#|`~<\[]{_IF_IT_ENDS}")

# Of small letters, and a full stop after them may yet not end a sentence; so may one after "iv".
_ABBREVIATED = NEVER_LAST | ABBREVIATIONS | BEFORE_NUMBERS | DATES
# The last three letters of these: any other word of three letters or more ends its sentence before a capital.
_ENDS_OF_ABBREVIATED = frozenset(word[-3:] for word in _ABBREVIATED) | frozenset(
    map("".join, product("ivx", repeat=3))
)
_WORD_BEFORE = re.compile(r"[^\s\"'“”‘’()\[\]*_`~，。：；！？]*\Z")
# The next word, past what joins it and what it is wrapped in; the sign of a sum of money is part of it.
_NEXT_WORD = re.compile(
    r"\s*+(?>(?:[-–—&/]{1,2}\s)?)(?>(?:</?[a-z][^<>\n]{0,99}>|(?![$€£¥￥]\d)[^\w\s–—-]|_){0,20})"
    r"(?P<word>[$€£¥￥]?[^\W_][\w'’]*+(?>(?:(?<=\d),\d{3})*))?"
)
_INITIALS = re.compile(r"(?:[A-Za-z]\.)*[A-Za-z]\Z")
# What an item is called by, up to its full stop; that may stand outside of emphasis, or after a backslash.
_LABEL = rf"[A-Z]?{ITEM_NUMBER}|[A-Za-z]|[ivx]{{2,4}}"
_LIST_MARK = re.compile(
    rf"^[^\S\n]*(?:[-*+•⁃>][^\S\n]*){{0,3}}[*_]{{0,3}}(?:{_LABEL})[*_\\]{{0,3}}\Z"
    r"|(?::\s|(?<!\d)：\s?)(?:\d{1,3}|[a-z])\Z",
    re.MULTILINE,
)
_MAY_LABEL = re.compile(rf"[-+•⁃>]?(?:{_LABEL}|[IVX]{{2,4}})\\?\Z|第|步[骤驟]|\Z")
# The same where a list runs on in one line: it begins a sentence. Elsewhere, II is in World War II.
_BARE_MARK = re.compile(rf"\s*+(?:[-*+•⁃>]\s*+)?[*_]{{0,3}}(?:{_LABEL}|[IVX]{{2,4}})[*_\\]{{0,3}}\Z")
_ITEM = late_pattern(
    r"\s*+(?:[^:：\n]{1,80}(?::\s|：))?(?:[-*+•⁃]\s*+)?(?:(?P<number>\d{1,3})|(?P<letter>[a-y]))\."
)
_CITES_FIRST = late_pattern(LIST_OF_SOURCES)
_PLAIN_WORD = re.compile(r"[A-Za-z]*[a-z]{2}\Z")
_STEP = re.compile(
    r"\s*[*_]{0,3}(?:step|phase|question|section|article|chapter|clause|part|item|rule|appendix|schedule|table"
    r"|figure|example|option|stage|第|步[骤驟])\s*\d{1,3}\Z",
    re.IGNORECASE,
)
# “走吧。”他说。 The speaker stands after the quote, and a mark after the verb.
_SAID = late_pattern(r"[^\s，。！？：“「]{1,14}?(?:说|說|问|問|道|答|喊|叫)[，。：！？:,]")
# say “走吧。” and leave: a Chinese quote in an English sentence.
_IN_ENGLISH = re.compile(r"\s[a-z]")
_WIDE_ITEM = re.compile(r"([（(])(\d{1,3})([)）])")
_OPENS = frozenset("([{（")
# Emphasis and straight quotes open and close by the same mark.
_EITHER_WAY = re.compile(r"\"|\*+|_+")
_SHORTEST_PLAIN, _SHORTEST_YEAR = 2, 4
_LOOK_BACK, _LONGEST_ASIDE, _LONGEST_COUNTED = 40, 60, 1000
# Since c. 1900, but: they chose c. 5 did not.
_SHORTEST_ABOUT = 3
# A Chinese line no longer than this was not broken because it was full: a heading, an item, a message.
_SHORT_LINE = 18
_KEPT = 64


def sentence_spans(text: str) -> SpanList:
    """Return start and end of each sentence, without the white space around it.

    >>> text = "Dr. Wu paid $3.50.[1] 她很高兴！“真的？”"
    >>> [text[start:end] for start, end in sentence_spans(text)]
    ['Dr. Wu paid $3.50.[1]', '她很高兴！', '“真的？”']
    """
    spans: SpanList = []
    begin = at = 0
    last = len(text.rstrip()) - 1
    for found in (_TYPED_STOPS if text.isascii() else _STOPS).finditer(text):
        stop = found.start()
        if stop < at:
            continue  # within what was read
        if found.lastindex and text[stop - 3 : stop] not in _ENDS_OF_ABBREVIATED:
            if text[begin].isspace():
                _append(spans, text, begin, stop + 1)
            else:
                spans.append((begin, stop + 1))
            begin = at = stop + 3 if text[stop + 2] == "\n" else stop + 2
            continue
        if text[stop] == ".":
            if stop == last:
                break  # whether it ends a sentence or not, the text ends here
            if _ends_plainly(text, begin, stop):
                begin = at = _append(spans, text, begin, stop + 1)
                continue
        match = _CANDIDATE.match(text, stop)
        if match is not None:
            begin, at = _after(match, spans, begin), match.end()
    _append(spans, text, begin, len(text))
    return spans


kept_sentence_spans = lru_cache(maxsize=_KEPT)(sentence_spans)
"""Returns the same list for the same text, not to be changed: what was said of late is read again."""


def _after(match: re.Match[str], spans: SpanList, begin: int) -> int:
    """Append the sentence that ends at a mark, if one does; return where the next begins."""
    text, kind = match.string, match.lastgroup
    if kind == "cited":
        if _ends_sentence(text, begin, match):
            return _append(spans, text, begin, _end_of(text, begin, match))
    elif kind == "wide":
        end = _end_of_wide(text, begin, match)
        if not _wide_goes_on(text, begin, end):
            return _append(spans, text, begin, end)
    elif kind == "bullet":
        return _append(spans, text, begin, match.start())
    elif kind == "line":
        if match.end() - 1 - text.rfind("\n", 0, match.start()) <= _SHORT_LINE + 1:
            return _append(spans, text, begin, match.end())
    elif kind == "fence":
        return _append_lines(spans, text, begin, match)
    elif kind != "whole":
        return _append(spans, text, begin, match.end())
    return begin


def _append(spans: SpanList, text: str, begin: int, end: int) -> int:
    if begin < end and text[begin] == " ":  # as between most sentences
        begin += 1
    if begin < end and not text[begin].isspace() and not text[end - 1].isspace():
        spans.append((begin, end))
    elif piece := text[begin:end].lstrip():
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
    if match["cited"].startswith(" ") and _CITES_FIRST.match(text, begin):
        return match.start("cited")
    ending = text[match.start() - 2 : match.start()]
    item = _ITEM.match(text, begin) if ending[-1:].isdigit() or ending[:1] == " " else None
    if item is not None:
        mark = int(item["number"]) + 1 if item["number"] else chr(ord(item["letter"]) + 1)
        if text.endswith(f" {mark}", begin, match.start()):
            return match.start() - len(f"{mark}")
    return match.end()


def _wide_goes_on(text: str, begin: int, end: int) -> bool:
    """Return True if a sentence goes on after ``。！？``: a speaker follows, or a bracket is open."""
    if text[end - 1] == "》":
        return True
    if text[end - 1] in '”」』"' and (_SAID.match(text, end) or _IN_ENGLISH.match(text, end)):
        return True
    before, after = text[max(begin, end - _LONGEST_ASIDE) : end], text[end : end + _LONGEST_ASIDE]
    return any(
        before.count(opens) > before.count(closes) and closes in after for opens, closes in ("《》", "（）")
    )


def _end_of_wide(text: str, begin: int, match: re.Match[str]) -> int:
    """Return the end of a Chinese sentence, without what begins the next one.

    That is ``（2）`` where ``（1）`` stands before it, ``[2]`` after a space where ``[1]`` began it, and
    emphasis or a straight quote that is not open.
    """
    stop, cited = match.start(), match["wide_cited"]
    for mark in _EITHER_WAY.finditer(text, stop, match.start("wide_cited")):
        if _is_closed(text, mark[0], mark.start()):
            return mark.start()
    item = _WIDE_ITEM.fullmatch(cited)
    is_listed = item is not None and f"{item[1]}{int(item[2]) - 1}{item[3]}" in text[begin:stop]
    if is_listed or (cited.startswith(" ") and _CITES_FIRST.match(text, begin)):
        return match.start("wide_cited")
    return match.end()


def _is_closed(text: str, mark: str, end: int) -> bool:
    """Return True if every such mark of the line is closed here; unknown for a long line."""
    first = max(end - _LONGEST_COUNTED, 0)
    line = text.rfind("\n", first, end) + 1
    return (line > 0 or first == 0) and text.count(mark, line, end) % 2 == 0


def _ends_plainly(text: str, begin: int, stop: int) -> bool:
    """Return True if a word, a full stop, and a capital or a figure stand here.

    The rest is rules.
    """
    if text[stop + 1 : stop + 2] not in (" ", "\n"):
        return False
    following, first = text[stop + 2 : stop + 3], max(stop - _LOOK_BACK, 0)
    if not "A" <= following <= "Z" and not (
        "0" <= following <= "9" and _OPENS.isdisjoint(text[max(begin, first) : stop])
    ):
        return False
    word = text[text.rfind(" ", first, stop) + 1 : stop]
    if len(word) < _SHORTEST_PLAIN or not word.isascii():
        return False
    if not word.isalpha():
        return word.isdecimal() and len(word) >= _SHORTEST_YEAR  # a year is no item's number
    word = word.lower()
    return word not in _ABBREVIATED and word.strip("ivx") != ""


def _ends_sentence(text: str, begin: int, match: re.Match[str]) -> bool:
    """Return True if ASCII marks end a sentence."""
    following = _NEXT_WORD.match(text, match.end())
    word = following["word"] or "" if following is not None else ""
    mark = text[match.start() : match.end("mark")]
    if word[:1].islower() and (match["closers"] or mark.endswith(("..", "…", ". ."))):
        return False  # "Why?" she asked; well … maybe
    if text[match.start() - 1 : match.start()] == "[" and match["closers"].startswith("]"):
        return False  # "it fell [...]" (Wu 3)
    if (
        word
        and not word[0].isupper()
        and _is_in_brackets(text, max(begin, match.start() - _LOOK_BACK), match)
    ):
        return False  # (see. page 3)
    touches_letter = text[match.end() : match.end() + 1].isalpha()
    if mark != "." and not touches_letter:
        return True
    last = _word_before(text, match.start())
    if touches_letter:
        return _ends_without_space(text, match, last, word)
    if _MAY_LABEL.match(last) and _is_label(text, begin, match.start()):
        return False
    return _stop_ends_sentence(last, word)


def _word_before(text: str, end: int) -> str:
    before = _WORD_BEFORE.search(text, max(end - _LOOK_BACK, 0), end)
    return before[0] if before is not None else ""


def _is_in_brackets(text: str, begin: int, match: re.Match[str]) -> bool:
    """Return True if a bracket that opened before the mark is still open after it."""
    before, closers = text[begin : match.start()], match["closers"]
    return any(
        before.count(opens) > before.count(closes) + closers.count(closes)
        for opens, closes in ("()", "[]", "{}", "（）")
    )


def _is_label(text: str, begin: int, end: int) -> bool:
    """Return True if the stop is that of a list item's number or of "Step 1."."""
    if _LIST_MARK.search(text, max(end - _LOOK_BACK, 0), end):
        return True
    return _BARE_MARK.match(text, begin, end) is not None or _STEP.match(text, begin, end) is not None


def _ends_without_space(text: str, match: re.Match[str], last: str, following: str) -> bool:
    """Return True if marks right before a letter end a sentence: in ``rained.The match``, not in ``a.Of``."""
    if text[match.end()] > "\u2e80":
        mark = text[match.start() : match.end("mark")]
        return mark[-1] in "!?" or (mark == "." and (last[-1:] > "\u2e80" or _is_plain(last)))
    end = match.end() + len(following)
    return _is_plain(last) and following.lower() in STARTERS and text[end : end + 1].isspace()


def _is_plain(word: str) -> bool:
    return _PLAIN_WORD.match(word) is not None and word.lower() not in _ABBREVIATED


def _stop_ends_sentence(last: str, following: str) -> bool:
    """Return True if one full stop after the word ``last`` ends a sentence that ``following`` comes after."""
    lowered = last.lower().rpartition("-")[2]
    if lowered in NEVER_LAST:
        return False
    if not following:  # but a picture, or nothing
        return True
    if lowered in BEFORE_NUMBERS and following[0].isdigit():
        return False
    if last == "c" and following[0].isdigit():
        return len(following) < _SHORTEST_ABOUT
    if lowered in DATES and (following[0].islower() or following.lower() in DATES):
        return False
    if lowered in ABBREVIATIONS or (len(last) > 1 and _INITIALS.match(last)):
        return following[0].isupper() and following.lower() in STARTERS
    if len(last) == 1 and last.isupper() and last != "I":  # an initial, but in "vitamin C. It"
        return following[0].isupper() and following.lower() in STARTERS - SURNAMES
    return True


SENTENCE_END = re.compile(r"[。!?;\n]|\.(?=\s|\Z)")
"""Ends of a sentence, or of a part of one, in a comparable text."""
