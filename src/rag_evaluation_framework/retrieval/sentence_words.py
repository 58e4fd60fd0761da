"""The words by which a full stop is told from the end of a sentence."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


TITLES = _words(
    "mr mrs ms dr drs prof rev fr hon gen col maj capt cpt lt sgt cmdr adm gov sen rep pres amb messrs mme "
    "mlle st mt ft vs cf viz e.g i.e eg ie approx ca est min max incl excl subsp"
)
"""Never the end of a sentence: a name follows, or what is said by example."""

BEFORE_NUMBERS = _words(
    "no nos n° nº vol vols pp p fig figs eq eqs sec ch art ed tel ext "
    "jan feb mar apr jun jul aug sep sept oct nov dec"
)
"""Not the end when a number follows: No. 5, Fig. 2, Jan. 31."""

ABBREVIATIONS = _words("inc ltd co corp llc jr sr bros etc al dept ave blvd rd esq ph.d")
"""The end of a sentence only when the next word is one with which sentences start."""

STARTERS = _words(
    "a after all also although an and another any as at because before both but by each for from he her here "
    "his how however i if in is it its many may most my no now of on once one or our she since so some such "
    "that the their then there these they this those though thus to today under until we what when where "
    "which while who why with you your"
)

NAMED_YEARS = "In|Since|By|From|Until|During|After|Before|As|Around|Circa|Till|Through"
"""What stands before a year in brackets that is no citation: (In 2020)."""
