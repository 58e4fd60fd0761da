"""Questions about Chinese sentences, by rules.

Chinese asks where the answer stands: a number becomes 多少, a date 什么时候, a person 谁, and the words keep
their order. So a clause is asked about as it is, with what answers it replaced.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from rag_evaluation_framework.synthesis.drafts import QuestionKind
from rag_evaluation_framework.synthesis.passages import Form, MadeQuestion, Statement

_DIGITS = "零〇一二两三四五六七八九十百千万亿"
_NUMBER = rf"(?:[0-9０-９][0-9０-９.,．]*[{_DIGITS}]*|[{_DIGITS}]+(?:点[{_DIGITS}]+)?)半?"
_ABOUT = r"(?:约|大约|近|超过|不超过|至少|最多|不足|不到|将近|共)?"
_MONTH = r"(?:[0-9０-９]{1,2}|[一二三四五六七八九十]{1,3})月份?(?:[上中下]旬|底|初)?"
_YEAR = r"(?:[0-9０-９]{4}|[零〇一二三四五六七八九]{4})年"
_DATE = rf"(?:{_YEAR}(?:{_MONTH})?(?:{_NUMBER}[日号])?|{_MONTH}(?:{_NUMBER}[日号])?)"
_CLOCK = (
    r"(?!一点[^钟半整])(?:[0-9０-９]{1,2}|[一二三四五六七八九十]{1,3})点"
    rf"(?:半|钟|一刻|三刻|整|{_NUMBER}分)?(?![{_DIGITS}0-9])"
)
_TIME = re.compile(
    rf"(?P<clock>(?:上午|下午|早上|晚上|中午|凌晨)?(?:{_CLOCK}|[0-9]{{1,2}}[:：][0-9]{{2}}))"
    rf"|(?P<weekday>(?:星期|周|礼拜)[一二三四五六日天](?:[到至](?:星期|周|礼拜)[一二三四五六日天])?)"
    rf"|(?P<date>{_DATE}(?:[至到—-]{_DATE})?)(?!内|后|前|以)"
    rf"|(?<![第当之同{_DIGITS}0-9])(?<!前(?=一))(?P<spell>{_ABOUT}{_NUMBER}"
    r"(?:个)?(?:多)?(?:分钟|小时|秒|天|个?工作日|周|星期|个月|年|夜|晚))(?!代|级)"
)
_MEASURES = (
    "平方公里|平方千米|平方米|立方米|摄氏度|公里|海里|公斤|千克|厘米|毫米|英里|便士|美元|欧元|人民币|百分点|个百分点|人次"
    "|人|名|位|张|个|级|班|米|里|斤|克|镑|元|块|节|吨|升|度|次|间|家|条|栋|艘|辆|页|项|种|本|部|座|层|步|台|套|批|组|只|头"
    "|匹|岁|公顷|亩|倍|瓶|杯|件|门|所|期|届|场|篇|句|字|瓦|千瓦|伏"
)
_QUANTITY = re.compile(
    rf"(?<![第之至到前方{_DIGITS}0-9])(?P<about>{_ABOUT})(?P<number>{_NUMBER})"
    rf"(?P<measure>{_MEASURES}|%|％)(?![月{_DIGITS}性])"
)
_CLAUSE = re.compile(r"[^，,；;：:。！!？?]+")
_ADVISED = re.compile(r"请|应|须|要|可|不得|不要|不能|必须")
_BECAUSE = re.compile(
    r"(?:因为|由于)(?P<reason>[^，；。]{3,60})，(?:所以|因此|因而)?(?P<main>[^，；。]{3,40})"
)
_SO = re.compile(
    r"(?P<main>[^，；。]{3,40})，(?P<word>因为|否则|以免|以防|以便|为的是)(?P<reason>[^；。]{3,60})"
)
_IF = re.compile(
    r"(?P<word>如果|若是|假如|一旦|要是|当)(?P<condition>[^，；。]{3,40}?)(?:时|的时候|的话)?，(?P<main>.{3,})"
)
_PLACED = re.compile(
    r"(?P<subject>[^，；。]{2,20}?)(?P<verb>位于|放在|设在|停在|存放在|坐落于|坐落在|安装在|保存在|挂在|降落在|张贴于|出生于)"
    r"(?P<place>[^，；。]{2,24})"
)
_IS = re.compile(r"(?P<subject>[^，；。是]{2,14})是(?P<what>[^，；。是]{3,30})\Z")
_POINTING = re.compile(
    r"^(?:它|他|她|其|该|此|这|那|本|您|并|也|还|但|而|则|只|都|又|再|先|最)|(?:它们|这些|那些|此时|该项)"
)
_LEADING = re.compile(r"^(?:请|但是|但|而且|并且|并|同时|另外|此外|因此|所以|不过|其中|然后|最后)+")
_NOTES = re.compile(r"（[^（）]*）|\([^()]*\)")
_DANGLING = re.compile(r"(?:时|后|之后|之前|的时候|家长|的人)\Z")
_INNER = re.compile(r"因为|由于|否则|以免|以防|如果|若|即使|虽然|尽管")
# A condition or a subject may open a question; a request to the reader may not.
_OPENS = re.compile(r"(?!请|我们|您|到|等|要)")
_FEWEST, _MOST = 5, 32
_SHORT_OPENING = 8


def chinese_questions(statements: Iterable[Statement]) -> Iterator[MadeQuestion]:
    """Yield what can be asked about sentences."""
    for statement in statements:
        yield from _Sentence(statement).questions()


class _Sentence:
    """Asks about one sentence."""

    def __init__(self, statement: Statement) -> None:
        self._place = statement.place
        self._text = statement.text.strip("。！!；; ")

    def questions(self) -> Iterator[MadeQuestion]:
        yield from self._reasons()
        yield from self._conditions()
        opening = ""
        clauses = _CLAUSE.findall(_NOTES.sub("", self._text))
        for place, written in enumerate(clauses):
            clause = _LEADING.sub("", written.strip("“”\"' "))
            if _INNER.match(clause) or _DANGLING.search(clause):
                continue
            asked = [*self._where(clause), *self._times(clause), *self._quantities(clause)]
            if place == 0:
                yield from asked
                if not asked and len(clause) <= _SHORT_OPENING and _OPENS.match(written):
                    opening = clause
            elif opening:
                # Without what opens its sentence, a later clause does not say what it is about.
                yield from (replace(made, text=f"{opening}，{made.text}") for made in asked)
        if clauses and (match := _IS.match(clauses[0])) is not None and not _TIME.search(match["what"]):
            yield from self._made(f"{match['subject']}是什么", match["what"], "definition")

    def _reasons(self) -> Iterator[MadeQuestion]:
        match = _BECAUSE.match(self._text) or _SO.search(self._text)
        if match is not None:
            main = _LEADING.sub("", match["main"])
            yield from self._made(f"为什么{main}", match["reason"], "cause", "analytical")

    def _conditions(self) -> Iterator[MadeQuestion]:
        match = _IF.match(self._text)
        if match is not None:
            asked = "怎么办" if _ADVISED.search(match["main"]) else "会怎么样"
            word, tail = ("当", "时") if match["word"] == "当" else ("如果", "")
            text = f"{word}{match['condition']}{tail}，{asked}"
            yield from self._made(text, match["main"], "condition", "analytical")

    def _where(self, clause: str) -> Iterator[MadeQuestion]:
        if (match := _PLACED.fullmatch(clause)) is not None:
            yield from self._made(f"{match['subject']}{match['verb']}哪里", match["place"], "place")

    def _times(self, clause: str) -> Iterator[MadeQuestion]:
        match = _TIME.search(clause)
        if match is None:
            return
        word = {"clock": "几点", "weekday": "星期几", "date": "什么时候", "spell": "多长时间"}[
            str(match.lastgroup)
        ]
        if match["date"] and re.fullmatch(_YEAR, match["date"]):
            word = "哪一年"
        if len(clause) - len(match[0]) > 2:
            text = f"{clause[: match.start()]}{word}{clause[match.end() :]}"
            yield from self._made(text, match[0], "time", "temporal")

    def _quantities(self, clause: str) -> Iterator[MadeQuestion]:
        match = _QUANTITY.search(clause)
        if match is None or _TIME.match(clause, match.start()) or match["number"] == "一":
            return
        measure = match["measure"]
        if measure in ("%", "％"):
            measure = "百分比"
        text = f"{clause[: match.start()]}{match['about']}多少{measure}{clause[match.end() :]}"
        yield from self._made(text, match[0], "quantity")

    def _made(
        self, text: str, answer: str, form: Form, kind: QuestionKind = "factual"
    ) -> Iterator[MadeQuestion]:
        text = text.strip(" “”\"'、")
        if _FEWEST <= len(text) <= _MOST and text.count("“") == text.count("”"):
            yield MadeQuestion(
                text=text,
                place=self._place,
                answer=answer.strip("，；。 "),
                form=form,
                kind=kind,
                needs_topic=_POINTING.search(text) is not None or len(text) < _FEWEST + 3,
            )
