"""The words by which a full stop is told from the end of a sentence."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


COMMON_TITLES = _words("mr mrs ms dr prof gen col capt gov sen rep st")
"""What people are most often called before their names, in short."""

NEVER_LAST = COMMON_TITLES | _words(
    "drs rev fr hon maj cpt lt sgt cpl pvt cmdr adm cllr supt insp pres amb messrs mme mlle wm mt ft v vs cf "
    "viz e.g i.e eg ie approx ca est min max incl excl subsp esp ref proc"
)
"""Never the end of a sentence: a name follows, or what is said by example."""

BEFORE_NUMBERS = _words(
    "no nos n° nº vol vols pp p fig figs eq eqs sec ch art arts ed tel ext sched para paras cl cls reg regs "
    "app rm apt ste bldg jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs "
    "fri sat sun"
)
"""Not the end when a number follows: No. 5, Fig. 2, Jan. 31."""

DATES = _words("jan feb apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri")
"""Not the end either before a small letter or another date: from Apr. to Oct., Mon. – Fri."""

ABBREVIATIONS = _words(
    "inc ltd co corp llc jr sr bros etc al dept ave blvd rd esq ph.d mgmt bldg mfg govt assn intl natl univ "
    "misc soc mo mos yr yrs hr hrs mins wk wks ft oz lb lbs"
)
"""The end of a sentence only when the next word is one with which sentences start."""

STARTERS = _words(
    "a after all also although an and another any as at because before both but by each for from he her here "
    "his how however i if in is it its many may most my no now of on once one or our she since so some such "
    "that the their then there these they this those though thus to today under until we what when where "
    "which while who why with you your"
)

SURNAMES = _words("a an each i in may my no on so to")
"""Starters that may be a surname after an initial: T. May."""

NAMED_YEARS = "In|Since|By|From|Until|During|After|Before|As|Around|Circa|Till|Through"
"""What stands before a year in brackets that is no citation: (In 2020)."""
