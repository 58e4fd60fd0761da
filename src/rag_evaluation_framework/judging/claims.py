"""The claims of a text: sentences, cut further only where two statements plainly stand side by side.

A claim keeps its characters: ``text[claim.start:claim.end] == claim.text``. What states nothing is left out:
headings, table headers and rules, code blocks, questions, greetings and offers of help, lines that only
announce a list, and citation markers that stand alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rag_evaluation_framework.judging.verdicts import Claim
from rag_evaluation_framework.retrieval.sentences import sentence_spans

_FENCE = re.compile(r"^[^\S\n]*(```|~~~)[^\n]*\n.*?(?:^[^\S\n]*\1[^\n]*$|\Z)", re.MULTILINE | re.DOTALL)
# What stands before a statement without being part of it: list markers, quote marks, emphasis.
_LEAD = re.compile(
    r"(?:\s|>|[-*+•·‣◦▪](?=\s)|\d{1,3}[.)、](?=\D)|[（(](?:\d{1,3}|[a-zA-Z]|[一二三四五六七八九十]{1,3})[)）]"
    r"|[一二三四五六七八九十]{1,3}、)*+"
)
_MARKER = re.compile(r"\[[^\[\]]{1,200}\]|【[^【】]{1,200}】")
_LETTER = re.compile(r"[^\W_]")
_TABLE_RULE = re.compile(r"\|?[\s|:-]*-[\s|:-]*\Z")
_ENDS_AS_QUESTION = re.compile(r"[?？][\s\"'”’»)\]）】」』》*]*\Z")
_ANNOUNCEMENT = re.compile(r"[:：][\s*_]*\Z")
_LONGEST_ANNOUNCEMENT = 120
# Courtesies: whole sentences that are about the conversation, not about the world.
_COURTESY = re.compile(
    r"""(?:hi|hello|hey|dear|greetings|good\ (?:morning|afternoon|evening)|welcome)\b[^.!?]{0,40}[.!,]?\Z
    |(?:sure|certainly|of\ course|absolutely|great|thank(?:s|\ you)|you'?re\ welcome|no\ problem|got\ it|okay)
       (?:[\s,!.]+(?:thing|so\ much|very\ much|question|for\ [^.!?]{1,60}))?[.!,]?\Z
    |(?:sure|certainly|of\ course|absolutely)?[\s,!.]*(?:here(?:'s|\ is|\ are)|below\ (?:is|are))
       \ [^.!?]{1,120}[:!]\Z
    |(?:i\ )?hope\ (?:this|that|it|these)\b[^.!?]{0,80}[.!]?\Z
    |(?:please\ )?(?:let\ me\ know|feel\ free|don'?t\ hesitate|do\ not\ hesitate)\b[^.!?]{0,120}[.!]?\Z
    |if\ you\ (?:have|need)\ (?:any|more|further|other)\b[^.!?]{0,120}[.!]?\Z
    |(?:sure|certainly|of\ course|absolutely)?[\s,!.]*i\ (?:can|would|will|'d|'ll)
       \ [^.!?]{0,20}\bhelp\b[^.!?]{0,60}[.!]\Z
    |(?:note:\ )?(?:i\ am|i'm)?\s*(?:unable|not\ able)\ to\ answer\b[^.!?]{0,120}[.!]?\Z
    |i(?:'m|\ am)\ (?:happy|glad|here)\ to\ (?:help|assist)\b[^.!?]{0,80}[.!]?\Z
    |(?:你好|您好|大家好|好的|当然|當然|没问题|沒問題|谢谢|謝謝|感谢|感謝|不客气|不客氣)[^。！？]{0,12}[。！!，]?\Z
    |(?:以下|下面)[^。！？]{0,40}[。：:！]\Z
    |(?:希望|如果?您?还?有|如有|请随时|請隨時|欢迎|歡迎)[^。！？]{0,20}(?:帮助|幫助|问题|問題|疑问|疑問|联系|聯繫|提问|提問)
       [^。！？]{0,20}[。！!]?\Z""",
    re.IGNORECASE | re.VERBOSE,
)
# Where a sentence is two claims: a semicolon, or a conjunction with a new subject that is a pronoun.
_JOINT = re.compile(
    r"&#?\w{1,8};|(?P<joint>[;；]|,(?=\s(?:and|but|while|whereas|yet)\s(?:it|he|she|they|there|we|you|this|these|those)\s\w))"
)
_WORDS_ENOUGH = re.compile(r"(?:[^\W\d_]+(?:['’]\w+)?\W+){2}\w|[\u3400-\u9fff]\W*(?:[\u3400-\u9fff]\W*){3}")


def claims_of(text: str) -> list[Claim]:
    """Return the claims of a text in reading order.

    >>> [claim.text for claim in claims_of("Hello! Rome is old; it was never a port. Is it? [1]")]
    ['Rome is old', 'it was never a port.']
    """
    claims: list[Claim] = []
    for first, last in _outside_code(text):
        claims += _claims_between(text, first, last)
    return claims


def _outside_code(text: str) -> Iterator[tuple[int, int]]:
    begin = 0
    for fence in _FENCE.finditer(text):
        yield begin, fence.start()
        begin = fence.end()
    yield begin, len(text)


def _claims_between(text: str, first: int, last: int) -> Iterator[Claim]:
    part = text[first:last]
    spans = sentence_spans(part)
    for number, (start, end) in enumerate(spans):
        lead = _LEAD.match(part, start, end)
        start = lead.end() if lead is not None else start
        sentence = part[start:end]
        header = number + 1 < len(spans) and _is_table_header(sentence, part[slice(*spans[number + 1])])
        if header or not _states_something(sentence):
            continue
        for piece_start, piece_end in _pieces(sentence):
            claim_start, claim_end = first + start + piece_start, first + start + piece_end
            yield Claim(text[claim_start:claim_end], claim_start, claim_end)


def _is_table_header(sentence: str, following: str) -> bool:
    return sentence.startswith("|") and _TABLE_RULE.match(following) is not None


def _states_something(sentence: str) -> bool:
    bare = _MARKER.sub("", sentence).strip()
    if bare.startswith("#") or _TABLE_RULE.match(bare) or _ENDS_AS_QUESTION.search(bare):
        return False
    if _ANNOUNCEMENT.search(bare) and len(bare) <= _LONGEST_ANNOUNCEMENT:
        return False
    return _COURTESY.match(bare) is None and _LETTER.search(bare) is not None


def _pieces(sentence: str) -> Iterator[tuple[int, int]]:
    """Cut a sentence at its joints, where both sides are long enough to state something."""
    begin = 0
    for joint in _JOINT.finditer(sentence):
        if joint["joint"] is None:
            continue  # an HTML entity
        before, after = sentence[begin : joint.start()], sentence[joint.end() :]
        if _WORDS_ENOUGH.search(before) and _WORDS_ENOUGH.search(after):
            yield _stripped(sentence, begin, joint.start())
            begin = joint.end()
    yield _stripped(sentence, begin, len(sentence))


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    piece = text[start:end]
    return end - len(piece.lstrip()), start + len(piece.rstrip())
