"""Dates in one form: 2024年5月3日, ``2024-05-03`` and "the 3rd of May, 2024" become ``May 3 2024``.

May alone has a capital, as no word of a comparable text but names like it: "you may" is no month.
``5/3/2024`` has two readings and stays as it is.
"""

from __future__ import annotations

import re

from rag_evaluation_framework.judging.words.calendar_words import MONTHS
from rag_evaluation_framework.judging.words.comparable_text import rewritten

_NAMES = tuple("May" if month == "may" else month for month in MONTHS)
_BY_START = {name[:3].lower(): name for name in _NAMES}
_MONTH = rf"(?:{'|'.join(f'{month[:3]}(?:{month[3:]})?' for month in MONTHS if month != 'may')}|sept)\b\.?"
# A word for a month is one by its capital or by what stands beside it.
_NAMED = rf"(?:{_MONTH}|May\b|may(?=,? \d{{4}}\b))"
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>[12]\d{3})\b"
_DATES = tuple(
    re.compile(rf"(?<![\d.:/-]){date}")
    for date in (
        rf"{_DAY}(?: (?P<month>{_NAMED})| of (?P<of>{_MONTH}|[Mm]ay\b))(?:,? (?:of )?{_YEAR})?",
        rf"\b(?P<month>{_MONTH}|[Mm]ay) (?:the )?{_DAY}\b(?![:%.]\d|%| ?[ap]m\b)(?:,? (?:of )?{_YEAR})?",
        rf"\b(?P<month>{_MONTH}|[Mm]ay),? (?:of )?{_YEAR}",
        r"(?P<year>[12]\d{3})(?P<mark>[-/.])(?P<number>[01]?\d)(?P=mark)(?P<day>[0-3]?\d)(?!\d)",
        r"(?P<year>[12]\d{3})[-–/](?P<number>0?[1-9]|1[0-2])(?![\d/–-]|\.\d|[年月])",
        r"(?:(?P<year>[12]\d{3})年)?(?P<number>[01]?\d)月(?:份|(?P<day>[0-3]?\d)[日号])?",
    )
)
# 3-5月 and 3、4月: each number is that of a month.
_FROM_MONTH = re.compile(r"(?<![\d.:/-])([01]?\d)(?:月份?)?[-~–—至到](?=[01]?\d月)")
_AND_MONTH = re.compile(r"(?<![\d.:/-])[01]?\d(?=(?:[、和或及与][01]?\d)+月)")
# "In may", "may to july": a month, however it is written.
_OTHERS = "|".join(month for month in MONTHS if month != "may")
_MAY = re.compile(
    rf"(?:(?<=\bin )|(?<=\bof )|(?<=\bsince )|(?<=\buntil )|(?<=\bfrom )|(?<=\blast )|(?<=\bnext ))may\b"
    rf"|\bmay(?= (?:to|until|through|and|or) (?:{_OTHERS})\b)|\Amay(?=\W*\Z)"
)


def with_dates(text: str) -> str:
    """Return a comparable text with figures and its dates in one form.

    >>> with_dates("on the 3rd of may, 2024"), with_dates("2024年5月3日到会"), with_dates("2024-03, 3-5月")
    ('on the May 3 2024', 'May 3 2024 到会', 'march 2024, march 到May')
    """
    text = _AND_MONTH.sub(r"\g<0>月", _FROM_MONTH.sub(r"\1月到", text))
    for date in _DATES:
        text = rewritten(text, date, _written)
    return _MAY.sub("May", text)


def _written(date: re.Match[str]) -> str:
    parts = date.groupdict()
    name = parts.get("month") or parts.get("of")
    number = int(parts.get("number") or 0)
    if not name and not 1 <= number <= len(MONTHS):
        return date[0]
    month = _BY_START[name[:3].lower()] if name else _NAMES[number - 1]
    day = f" {int(parts['day'])}" if parts.get("day") else ""
    year = f" {parts['year']}" if parts.get("year") else ""
    return f"{month}{day}{year}"
