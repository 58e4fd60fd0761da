"""What a number measures: ``2 hours`` and ``120 minutes`` are the same, ``5 km`` and ``5000 m`` too."""

from __future__ import annotations

import re

from rag_evaluation_framework.characters import HAN_CHARACTER

Measure = tuple[str, float]
"""What is measured, and the value in one unit of it."""

# Factors are exact by definition.
_UNITS: dict[str, dict[str, float]] = {
    "length": {
        "mm millimetre millimeter 毫米": 0.001,
        "cm centimetre centimeter 厘米": 0.01,
        "m metre meter 米": 1,
        "km kilometre kilometer 公里 千米": 1000,
        "inch inches": 0.0254,
        "ft foot feet 英尺": 0.3048,
        "yard": 0.9144,
        "mile 英里": 1609.344,
    },
    "mass": {
        "mg milligram 毫克": 0.001,
        "g gram 克": 1,
        "kg kilogram kilo 公斤 千克": 1000,
        "tonne 吨": 1_000_000,
        "lb pound": 453.59237,
    },
    "volume": {"ml millilitre milliliter 毫升": 0.001, "l litre liter 升": 1},
    "duration": {
        "sec second 秒": 1,
        "min minute 分钟": 60,
        "h hr hour 小时": 3600,
        "day 天": 86_400,
        "week 周": 604_800,
    },
}
_MEASURES = {
    name: (measured, factor)
    for measured, units in _UNITS.items()
    for names, factor in units.items()
    for name in names.split()
}
UNIT_NAMES = tuple(_MEASURES)
"""How units are written, English ones without an ending."""
UNIT_GROUPS = tuple(tuple(names.split()) for units in _UNITS.values() for names in units)
"""The same, each unit with all of its names."""
# A word that is longer than every unit is none, however long it is.
_AFTER = re.compile(rf"[\s-]?(\w{{1,{max(map(len, UNIT_NAMES)) + 2}}})")
_LONGEST_CHINESE = 2
# The same in other units, but for the last digits that a computer's fractions have.
_DIGITS = 6


def measure(text: str, end: int, value: float) -> Measure | None:
    """Return what a number that ends at ``end`` measures, where a unit follows it.

    >>> measure("2 hours", 1, 2.0), measure("120 minutes", 3, 120.0), measure("2 rooms", 1, 2.0)
    (('duration', 7200.0), ('duration', 7200.0), None)
    """
    after = _AFTER.match(text, end)
    found = _unit(after[1].lower()) if after is not None else None
    if found is None:
        return None
    measured, factor = found
    return measured, float(f"{value * factor:.{_DIGITS}g}")


def _unit(word: str) -> tuple[str, float] | None:
    """Return what a word is a unit of, and how many of the common one it is; Chinese goes on after a unit."""
    if HAN_CHARACTER.match(word):
        return _MEASURES.get(word[:_LONGEST_CHINESE]) or _MEASURES.get(word[0])
    return _MEASURES.get(word) or _MEASURES.get(word.removesuffix("s"))
