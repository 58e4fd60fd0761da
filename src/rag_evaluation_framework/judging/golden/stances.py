"""Whether a text states what stands at one of its places, denies it, or leaves it open.

- *Denied*: a negation or a verb of lack or dislike comes directly before it, or with nothing but light words
  between: ``不喜欢探险``, ``缺乏热情``, ``did not win``. Two negations cancel out.
- *Open*: the clause says that it is not shown or not known, ``没有证据表明她们是朋友``, ``hard to say``;
  or it is a guess among others or by one who is not sure: ``我不确定，可能是阿尤或者别的``. A
  guess that the answer settles on is a statement: ``可能是阿尤``, ``我不确定，但应该是阿尤``.

What is denied further away, by irony or by a later sentence, is not seen.
"""

from __future__ import annotations

import re
from typing import Literal

from rag_evaluation_framework.judging.words.comparable_text import SENTENCE_END
from rag_evaluation_framework.judging.words.negation import CHINESE_NEGATIONS, CHINESE_NOT, NEGATIONS
from rag_evaluation_framework.judging.words.question_words import CHINESE_QUESTION_WORDS, QUESTION_WORDS

Stance = Literal["stated", "denied", "open"]

_LACKS = "缺乏|缺少|欠缺|讨厌|厌恶|反感|憎恶|嫌弃|厌倦|排斥|否认|谈不上|算不上|称不上|说不上"
_NEGATIONS = frozenset(("没有", "没法", "无法", *CHINESE_NEGATIONS, *_LACKS.split("|")))
# What may stand between a negation and what it denies; also denials of a denial, which are none.
_LIGHT = """
喜欢 参加 参与 成为 属于 认识 认为 存在 获得 得到 赢得 去过 可能 应该 可以 任何 这么 那么 怎么 什么 经常
一个 一位 一名 1个 1位 1名 真正 是 叫 会 能 爱 太 很 够 算 再 曾 有 想 要 去 在 和 与 跟 对 像 被 把 将 为
得 他 她 它 的 的就是 们 个 位 好 不可否认 无可否认 不能否认 无法否认 不容否认
"""
_STEPS = sorted((*_NEGATIONS, *_LIGHT.split()), key=len, reverse=True)
_LAST_CHARACTERS = frozenset(word[-1] for word in _STEPS)

_ENGLISH_LACKS = "hardly lack lacks lacked lacking dislike dislikes disliked hate hates hated"
_ENGLISH_NEGATIONS = (*NEGATIONS, *_ENGLISH_LACKS.split())
_ENGLISH_LIGHT = """
a an the be been being is was are were have has had do does did really very at all exactly actually even
that so as to like likes love loves his her their its any anyone longer ever in on with by of called named
become became get got win wins won good one
"""
_ENGLISH_STEPS = frozenset(_ENGLISH_LIGHT.split())
_BEHIND = 48  # characters: light words do not go on for longer

# What goes on with a denial: 缺乏勇气和热情, 缺乏对探险的热情.
_LACKED_TOO = re.compile(
    r"(?:缺乏|缺少|欠缺|讨厌|厌恶|反感)[^,。;!?]{1,8}(?:以及|或者|[和与及或、])\Z"
    r"|(?:不喜欢|毫无|没有(?!人|谁))[^,。;!?]{1,8}(?:以及|或者|[或、])\Z"
    r"|(?:缺乏|缺少|欠缺|毫无|没有)对于?[^,。;!?]{1,10}的\Z"
)

_CLAUSE_END = re.compile(f",|{SENTENCE_END.pattern}")
_HEAD, _TAIL = 160, 80

# Not shown, not said, not known: what follows in the clause is not stated. "No evidence" may be
# parted from it by a comma.
_NO_EVIDENCE = (
    r"(?:没有?|无|缺乏|缺少|未有|未见)[^,。;!?]{0,8}(?:证据|迹象|依据|根据|线索|理由|资料|记载|信息|文本|原文|内容)"
    r"[^,。;!?]{0,6}?(?:表明|显示|证明|说明|支持|指出|暗示|提到|提及|证实|认为|相信|表示|说)"
    r"|\bno (?:\w+ ){0,2}?(?:evidence|indication|signs?|proof|hint)\b"
    r"|\bnothing (?:to )?(?:suggests?|shows?|indicates?)\b"
)
_NOT_SAID = (
    r"(?:难以?|不好|(?<!不)不能|无法|没法|不敢|不足以|未能)(?:直接|明确|完全|简单地?)?"
    r"(?:说|讲|断定|断言|确定|确认|判断|证明|证实|认定|认为|肯定|看出|推断|得出|称)"
    r"|(?:不|没有?|未)(?:太|大|能|曾|明确|直接)?"
    r"(?:代表|意味着|等于|表明|证明|说明|认为|觉得|相信|提到|提及|记载|指出)"
    r"|不(?:太|大)?(?:清楚|确定|肯定)|没有?说|未说|是否|是不是|有没有|(?:拒绝|不|没有?|未)承认"
    r"|\b(?:hard|difficult|impossible) to (?:say|tell|know|call)\b|\b(?:unclear|unsure|uncertain|whether)\b"
    r"|(?:\bnot|n't)(?: (?!only)\w+)?? (?:clear|sure|certain|think|believe)\b"
    r"|(?:\bnot|n't) (?:mean|say|prove|show|suggest|indicate|confirm|imply|state) (?:that|if)\b|\bknow if\b"
    r"|(?<!no )(?<!not )(?<!n't )\bdoubt(?:s|ful|ed)?\b"
)
_NOT_SHOWN = re.compile(rf"(?:(?:{_NO_EVIDENCE}),?|{_NOT_SAID})[^,]*\Z")
# Said of a whole clause at its end: 她们是朋友的说法没有根据.
_NOT_SO = re.compile(
    r"(?:的|这[种一个]*)(?:说法|传闻|传言|证据|记载|观点|结论|猜测)[^,。;!?]{0,4}?"
    r"(?:不|没(?!有?(?:错|误|问题))|无(?!误)|未|缺乏|(?<![没有])是?[假错]|(?<!没)有误)|并?不(?:成立|属实|准确|正确)\Z|\A.{1,4}(?:谈不上|不足)\Z"
)
# 对探险没有兴趣: what stands after 对 is denied by what follows.
_TOWARDS = re.compile(r"对于?\Z")
_NO_INTEREST = re.compile(r"(?:没有?|毫无|不感|缺乏|失去|提不起)(?:任何)?(?:兴趣|好感)")
# 难道她们不是朋友吗 says that they are.
_RHETORICAL = re.compile(r"难道[^,。;!?]*\Z")

_MAYBE = re.compile(
    r"可能|也许|或许|大概|好像|似乎|恐怕|估计|没准|说不定|我猜"
    r"|\b(?:maybe|perhaps|possibly|probably|(?:might|may|could) be|i guess)\b"
)
_LIKELY = re.compile(r"应该|应当|想必|\b(?:should be|must be|i think|i believe)\b|吧\Z")
_UNSURE = (
    r"(?:不(?:太|大|是很)?(?:能)?(?:确定|肯定|清楚|知道|记得)|[说拿]不准|不得而知|没有?提[到及]|未提[到及]|不好说|难说|记不清楚?)[了呢]?"
    r"|(?:\bnot|n't)(?: (?:really|entirely|quite|completely))? (?:sure|certain|know)"
)
_UNSURE_BEFORE = re.compile(rf"(?:{_UNSURE})\s*[,。;!?\n.]")
_UNSURE_AFTER = re.compile(
    rf"[,。;.]\s*(?:但是?|不过|but )?(?:我|i(?:'m| am| do)? ?)?[也并]?(?:{_UNSURE})\s*(?:[,。;!?\n.]|\Z)"
)
_ONLY_UNSURE = re.compile(
    rf"\W*+(?:(?:对不起|抱歉|sorry)\W*+)?(?:我|i(?:'m| am| do)?)? ?[也并]?(?:{_UNSURE})\W*"
)
_BUT = re.compile(r"\s*(?:但是?|不过|然而|可是|but\b|however\b|still\b)")
_OR = re.compile(r"或者?|还是|\bor\b")
_OR_ELSE = re.compile(
    r"(?:或者?|还是|\bor )(?:是)?(?:别的什么|别的|别人|其他人|(?:some(?:thing|one) else))\s*\Z"
)
_OR_NEXT = re.compile(r",\s*(?:也可能|也许|或者?|还是|又或|or\b|maybe\b|perhaps\b)")

_ASKS_FOR = re.compile(rf"{CHINESE_QUESTION_WORDS}|\b(?:{QUESTION_WORDS})\b")
_DENIES = re.compile(rf"{CHINESE_NOT}|无法|{_LACKS}|\b(?:{'|'.join(_ENGLISH_NEGATIONS)})\b|n't\b")
_BARE = re.compile(r"\W*(?:就?是|it is|it's|the|a|an)?\s*")


def stance_at(text: str, start: int, *, through: tuple[str, ...] = ()) -> Stance:
    """Return the stance of a comparable text on what begins at a place; ``through`` are more light words.

    >>> [stance_at(text, text.index("热情")) for text in ("很热情", "缺乏热情", "没有证据表明她热情")]
    ['stated', 'denied', 'open']
    """
    head, tail = _around(text, start)
    if _NOT_SHOWN.search(head) or _NOT_SO.search(tail):
        return "open"
    is_negated = _is_negated(text, start, through) != bool(_RHETORICAL.search(head))
    if is_negated or _LACKED_TOO.search(head) or (_TOWARDS.search(head) and _NO_INTEREST.search(tail)):
        return "denied"
    return "open" if _is_a_guess(text, start, head, tail) else "stated"


def asks_for_name(question: str) -> bool:
    """Tell whether a comparable question asks who or what, and not for a yes or no."""
    return _ASKS_FOR.search(question) is not None


def asks_for_denied(question: str) -> bool:
    """Tell whether a comparable question asks for what is denied: 她讨厌什么？, "What did he not see?"."""
    return asks_for_name(question) and _DENIES.search(question) is not None


def stands_bare(text: str, start: int) -> bool:
    """Tell whether nothing is said before a place of a comparable text: it only names what was asked."""
    return _BARE.fullmatch(text[max(0, start - 16) : start]) is not None


def only_doubts(text: str) -> bool:
    """Tell whether a comparable text says nothing but that it is not sure."""
    return _ONLY_UNSURE.fullmatch(text) is not None


def _around(text: str, start: int) -> tuple[str, str]:
    """Return the sentence before a place and the rest of the clause after it, as far as they matter."""
    head = text[max(0, start - _HEAD) : start]
    ends = [found.end() for found in SENTENCE_END.finditer(head)]
    tail = text[start : start + _TAIL]
    end = _CLAUSE_END.search(tail)
    return head[ends[-1] if ends else 0 :], tail[: end.start()] if end else tail


def _is_a_guess(text: str, start: int, head: str, tail: str) -> bool:
    """Tell whether what begins at a place is one guess among others, or a guess by one who is not sure."""
    clause = head.rpartition(",")[2]
    maybe = _MAYBE.search(clause)
    if _OR_ELSE.search(tail):
        return True
    if not (maybe or _LIKELY.search(clause) or _LIKELY.search(tail) or _OR.search(clause + tail)):
        return False
    following = text[start + len(tail) : start + len(tail) + _TAIL]
    if maybe and (_OR.search(clause[maybe.end() :] + tail) or _OR_NEXT.match(following)):
        return True
    if tail.endswith("吧") and _OR.search(clause + tail):
        return True
    if clause.startswith("也可能") or _UNSURE_AFTER.match(following):
        return True
    before = text[max(0, start - _HEAD) : start - len(clause)]
    return _UNSURE_BEFORE.search(before) is not None and not _BUT.match(clause)


def _is_negated(text: str, start: int, through: tuple[str, ...]) -> bool:
    floor = max(0, start - _BEHIND)
    at, negations = start, 0
    while (step := _step_back(text, at, floor, through)) is not None:
        at, is_negation = step
        negations += is_negation
    return negations % 2 == 1


def _step_back(text: str, at: int, floor: int, through: tuple[str, ...]) -> tuple[int, bool] | None:
    """Return where the light word or negation before a place begins, and whether it is a negation."""
    if at > floor and text[at - 1] in _LAST_CHARACTERS:
        for word in _STEPS:
            if text.endswith(word, floor, at):
                return at - len(word), word in _NEGATIONS
    before = text[floor:at].rstrip(" ")
    end = floor + len(before)
    if before.endswith(through):  # of very many, all at once
        return end - next(len(name) for name in through if before.endswith(name)), False
    word = before.rpartition(" ")[2]
    if end == at or not word:  # words of spaced scripts are parted from what they deny
        return None
    if word in _ENGLISH_NEGATIONS or word.endswith("n't"):
        return end - len(word), True
    owner = word.removesuffix("'s")
    return (end - len(word), False) if owner in _ENGLISH_STEPS or owner in through else None
