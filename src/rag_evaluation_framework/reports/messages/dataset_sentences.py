"""The sentences of generated questions, and of the cost of a judge or a generator."""

from __future__ import annotations

from collections.abc import Mapping

from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.models.spending import Spending
from rag_evaluation_framework.reports import blocks
from rag_evaluation_framework.synthesis.drafts import REASONS, Drafts


def spending_text(name: str, spending: Spending, *, failed_votes: Mapping[str, int] | None = None) -> str:
    """Say how many calls were paid for, what is known of their tokens and dollars, and whose votes failed."""
    usage = spending.usage
    parts = [f"{name}: {counted(spending.calls, 'call')}"]
    if usage is not None and usage.input_tokens is not None and usage.output_tokens is not None:
        parts.append(f"{counted(usage.input_tokens, 'token')} in, {usage.output_tokens:,} out")
    if spending.cap is not None:
        parts.append(f"{blocks.money(spending.charged)} of a ${spending.cap:,g} cap")
    elif usage is not None and usage.cost_usd is not None:
        parts.append(blocks.money(usage.cost_usd))
    for model, count in (failed_votes or {}).items():
        parts.append(f"{counted(count, 'vote')} of {model} failed")
    return ", ".join(parts)


def stages_text(decided: Mapping[str, int]) -> str:
    """Say how many claims each stage of a cascade decided."""
    total = sum(decided.values())
    parts = (f"{name} {count:,} ({count / total:.0%})" for name, count in decided.items())
    return f"{counted(total, 'claim')} decided: {', '.join(parts)}"


_DETAIL_CHARACTERS = 160


def in_words(reason: str, drafts: Drafts) -> str:
    """Return the meaning of a reason; if the model could not be used, its first detail."""
    if not reason.startswith("model-"):
        return REASONS.get(reason, "")
    detail = next(each.detail for each in drafts.rejected if each.reason == reason)
    return blocks.one_line(detail, _DETAIL_CHARACTERS)


POOR_BY_RULES = "reviewers rejected 9 of 203 in our test"


_TURNED_DOWN = {
    "many-passages-fit": ("is ambiguous", "are ambiguous"),
    "copies-passage": ("copies its passage", "copy their passage"),
    "near-duplicate": ("is a near-duplicate", "are near-duplicates"),
    "duplicate-question": ("is a duplicate", "are duplicates"),
    "gives-answer-away": ("reveals the answer", "reveal the answer"),
    "passage-not-found": ("does not retrieve its passage", "do not retrieve their passages"),
    "asks-for-a-section": (
        "asks for a whole section by its heading",
        "ask for a whole section by its heading",
    ),
    "nothing-to-ask": (
        "not generated: no suitable sentences left",
        "not generated: no suitable sentences left",
    ),
}


_GOOD_ONES = "more-than-asked-for"


def turned_down(drafts: Drafts) -> str:
    """Return the counts of rejected drafts by reason, and of good questions beyond the number asked for."""
    counts = dict(drafts.counts())
    good = counts.pop(_GOOD_ONES, 0)
    told = [f"{count:,} {_because(reason, count, drafts)}" for reason, count in counts.items()]
    beyond = (
        [f"{counted(good, 'good question', 'good questions')} beyond the number you asked for"]
        if good
        else []
    )
    return "; ".join(filter(None, [", ".join(told), *beyond]))


def _because(reason: str, count: int, drafts: Drafts) -> str:
    if reason in _TURNED_DOWN:
        return _TURNED_DOWN[reason][count != 1]
    return f"{reason} ({in_words(reason, drafts)})"


def flagged(drafts: Drafts) -> str:
    told = (f"{count:,} {_because(flag, count, drafts)}" for flag, count in drafts.flagged().items())
    kept = ", ".join(told)
    return f"{kept}; included anyway" if kept else ""
