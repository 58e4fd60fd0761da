"""Questions about Chinese sentences, by rules.

Chinese asks where the answer stands: a number becomes 多少, a date 什么时候, and the words keep their order.
So a clause is asked about as it is, with what answers it replaced. Only the clause that opens a sentence is,
since later ones lean on it, and only if nothing in the sentence is denied, supposed or pointed at.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from rag_evaluation_framework.synthesis.drafts import QuestionKind
from rag_evaluation_framework.synthesis.language_rules import load_patterns
from rag_evaluation_framework.synthesis.passages import Form, MadeQuestion, Statement

_RULES = load_patterns("chinese_patterns.yaml")
_ASKED = {
    "hours": "几点到几点",
    "hour": "几点",
    "weekdays": "星期几到星期几",
    "weekday": "星期几",
    "year": "哪一年",
    "date": "什么时候",
    "spell": "多长时间",
}
_FEWEST, _MOST = 6, 34


def chinese_questions(statements: Iterable[Statement]) -> Iterator[MadeQuestion]:
    """Yield what can be asked about sentences."""
    for statement in statements:
        yield from _Sentence(statement).questions()


class _Sentence:
    """Asks about one sentence."""

    def __init__(self, statement: Statement) -> None:
        self._place = statement.place
        self._text = _RULES["numbered"].sub("", _RULES["notes"].sub("", statement.text)).strip("。！!；; ")

    def questions(self) -> Iterator[MadeQuestion]:
        """Yield what can be asked; of a sentence that denies, supposes or quotes something, nothing."""
        is_denied = _RULES["denied"].search(_RULES["no_denial"].sub("", self._text))
        if is_denied or _RULES["supposed"].search(self._text) or self._text[:1] in '“"「『':
            return
        reason = _RULES["because"].match(self._text) or _RULES["so"].match(self._text)
        if reason is not None:
            yield from self._made(f"为什么{reason['main']}", reason["reason"], "cause", "analytical")
            return
        first, *others = _RULES["clause"].findall(self._text) or [""]
        first = first.strip()
        opening = _RULES["time"].fullmatch(first)
        if opening is not None and others and opening.lastgroup in ("year", "date"):
            main = others[0].strip()
            if _RULES["adverbial"].search(main) or _RULES["no_subject"].match(main):
                return
            yield from self._made(f"{_ASKED[opening.lastgroup]}{main}", first, "time", "temporal")
            if len(others) == 1:
                yield from self._quantities(main, f"{first}，")
        elif not _RULES["adverbial"].search(first) and not (others and _RULES["is_limit"].search(first)):
            yield from self._clause(first)

    def _clause(self, clause: str) -> Iterator[MadeQuestion]:
        asked = [*self._where(clause), *self._who(clause), *self._times(clause), *self._quantities(clause)]
        yield from asked
        match = _RULES["is"].match(clause)
        if asked or match is None:
            return
        subject, what = match["subject"], match["what"]
        if _RULES["no_definition_of"].search(subject) or what[0].isdigit() or what.endswith("的"):
            return
        if re.search("最|之一", what) and not self._is_titled(subject):
            return  # one of many things that can be said of it
        is_role = _RULES["person"].search(subject) is not None
        if is_role and re.search("[的最]", what):
            return  # what the office is, and not who holds it
        is_named = ("·" in what[:6] and len(what) < 12) or _RULES["named_person"].search(subject)
        is_person = is_role or is_named or _RULES["somebody"].search(what)
        yield from self._made(f"{subject.strip()}是{'谁' if is_person else '什么'}", what, "definition")

    def _is_titled(self, subject: str) -> bool:
        """Tell whether the title of the document, or of the section, has a subject in it."""
        bare = subject.strip("《》 ")
        return any(bare in heading or heading in bare for heading in self._place.headings)

    def _where(self, clause: str) -> Iterator[MadeQuestion]:
        match = _RULES["placed"].fullmatch(clause)
        if match is not None and not _RULES["done_there"].search(match["place"]):
            yield from self._made(f"{match['subject']}{match['verb']}哪里", match["place"], "place")

    def _who(self, clause: str) -> Iterator[MadeQuestion]:
        if (match := _RULES["by"].fullmatch(clause)) is not None:
            yield from self._made(f"{match['subject']}由谁{match['does']}", match["who"], "person")

    def _times(self, clause: str) -> Iterator[MadeQuestion]:
        found = list(_RULES["time"].finditer(clause))
        if len(found) != 1:
            return
        (match,) = found
        before, after, form = clause[: match.start()], clause[match.end() :], str(match.lastgroup)
        # "2021年公开赛", "1858年的基尔": the date belongs to a name.
        is_name = form in ("year", "date") and not _RULES["dated_by"].search(before)
        if len(before) < 2 or is_name or _RULES["no_time_before"].match(after):
            return
        is_no_length = form == "spell" and (
            # 每周喂六天, 结冰日数十天, 延长至三天: a count of days, or of what is not said.
            re.search(r"每[周月年]|全天|[日天]数|[至到]\Z", before)
            # 收货七天内出现故障: a condition.
            or (re.match("[以之]?内", after) and not re.search("[在应须需可必]", before))
            or _RULES["spoken"].fullmatch(match[0])
            or (match[0].endswith("年") and not self._lasts(before, after))
        )
        # 押金为一个月租金: the length belongs to what is counted.
        if is_no_length or before.endswith("满") or (before.endswith("为") and after):
            return
        if form == "date" and before.endswith("为"):
            before = f"{before[:-1]}是"  # 为什么 would be *why*
        yield from self._made(f"{before}{_ASKED[form]}{after}", match[0], "time", "temporal")

    def _lasts(self, before: str, after: str) -> bool:
        """Tell whether these words stand around a length of time, and no date."""
        return bool(_RULES["lasting"].search(before) or _RULES["lasted"].match(after))

    def _quantities(self, clause: str, opening: str = "") -> Iterator[MadeQuestion]:
        found = list(_RULES["quantity"].finditer(clause))
        if len(found) != 1 or (not opening and _RULES["time"].search(clause)):
            return
        match = found[-1]
        before, after = clause[: match.start()], clause[match.end() :]
        if len(before) < 2 or match["number"] == "一" or _RULES["counted_before"].search(before):
            return
        if _RULES["counted_after"].match(after):
            return
        # 后院二层北间, 分红白两种: a floor by its number, and a count of what was named.
        if (match["measure"] in ("层", "米") and after and not after.startswith("处")) or (
            match["measure"] == "种" and before[-1] not in "有共为达"
        ):
            return
        is_thousands = match["measure"] == "瓦" and match["number"].endswith("千")
        asked = "百分之多少" if match["share"] else f"多少{'千' * is_thousands}{match['measure']}"
        yield from self._made(f"{opening}{before}{match['about']}{asked}{after}", match[0], "quantity")

    def _made(
        self, text: str, answer: str, form: Form, kind: QuestionKind = "factual"
    ) -> Iterator[MadeQuestion]:
        """Yield a question that points at nothing outside of it; its document says what it is about."""
        text, answer = text.strip(" “”\"'、"), answer.strip("，；。 ")
        is_whole = all(text.count(pair[0]) == text.count(pair[1]) for pair in ("“”", "《》"))
        if (
            _FEWEST <= len(text) <= _MOST
            and is_whole
            and not _RULES["pointing"].search(text)
            and not _RULES["nothing_named"].match(text)
            and not _RULES["answers_pointing"].search(answer)
        ):
            yield MadeQuestion(
                text=text, place=self._place, answer=answer, form=form, kind=kind, needs_topic=True
            )
