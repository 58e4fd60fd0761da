"""The marks that belong to a sentence or begin a block: what cites, and what begins a line of its own.

Each name is the source of a regular expression. Whatever may fail after it began is bounded in length.
"""

from __future__ import annotations

from rag_evaluation_framework.characters import CLOSERS, EMOJI, HAN, ONE_TO_TEN
from rag_evaluation_framework.retrieval.sentence_words import NAMED_YEARS

CLOSING = rf"(?:[{CLOSERS}{EMOJI}~$}}>†‡]|</\w{{1,10}}>)*+"
"""What closes after a full stop: quotes, brackets, emphasis, formulas, daggers, emoji, tags."""

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
"""How a sentence begins that says what a number stands for: [1] Wu, On Tides."""

_MARKER = rf"{_BRACKETED}|{_LENTICULAR}|{_NAMED}|[（(]\d{{1,3}}[)）]|[¹²³⁰⁴-⁹]|{_RAISED}"
_SPACED_MARKER = rf"[ ](?:{_BRACKETED}|{_LENTICULAR}|{_NAMED}|{_RAISED}|{_AUTHORED})(?![ ][a-z])"

CITED = rf"(?:{_MARKER})*+(?:{_SPACED_MARKER}(?:{_MARKER})*+)*+"
"""What cites after a stop: [1], [1, 2](url), [report.pdf:3:10-20], [Source 2], 【1】, (Wu 2020).

Where it touches the stop, so do (1) and ¹. After a space it does not before a small letter: [2] says so.
"""

LINKED = rf"(?:(?<!!)\[[^\[\]\n]{{1,200}}\]{_URL})?+"
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
"""How a line begins that does not go on with the line before."""

CODE_OR_LINK = (
    r"(?<=`)(?<![0-9A-Za-z`]`)`?(?=\S)[^`\n]{1,200}(?<=\S)``?(?![0-9A-Za-z])"
    rf"|(?<=\[)[^\[\]\n]{{1,200}}\]{_URL}"
)
"""The rest of a code span or a link, in which no sentence ends: `a. B`, [What is it? A guide](url)."""

UNDERLINE = r"[^\S\n]*(?:-{3,80}|={3,80}|_{3,80})[^\S\n]*\n"
"""A line of nothing but dashes, which makes a heading of the line above it, or a rule."""
