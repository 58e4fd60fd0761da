"""Texts in which what has several spellings has one: numbers, dates, times of day, sums, units."""

from __future__ import annotations

from rag_evaluation_framework.judging.words.dates import with_dates
from rag_evaluation_framework.judging.words.figures import with_figures
from rag_evaluation_framework.judging.words.kept_names import comparable_names
from rag_evaluation_framework.judging.words.times_of_day import with_times
from rag_evaluation_framework.judging.words.units import with_units


def even_text(text: str, *, beside: str = "") -> str:
    """Return the comparable text in that one way; ``beside`` is the text that it is compared with.

    >>> even_text("二〇二四年五月三日下午三点,Ａ座"), even_text("On 3 May 2024 at 3 p.m., for €200")
    ('May 3 2024 3:00 pm,a座', 'on May 3 2024 at 3 pm., for 200 euro')
    """
    written = with_figures(comparable_names(text, beside=beside))
    return with_units(with_times(with_dates(written)), beside=beside)
