"""The cards of the offline methods, as rows and as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import fill
from typing import Any

import msgspec

from rag_evaluation_framework.judging.cards import MethodCard
from rag_evaluation_framework.reports.tables import text_table


def method_card_rows(cards: Sequence[MethodCard]) -> list[dict[str, Any]]:
    """Return everything that the cards say, as plain values."""
    return [msgspec.to_builtins(card) for card in cards]


def method_cards_text(cards: Sequence[MethodCard]) -> str:
    """Render each card: what the method is, sees and does not see, and its agreement with people."""
    return "\n\n".join("\n".join(_lines(card)) for card in cards)


def _lines(card: MethodCard) -> Iterator[str]:
    yield f"{card.name}   (version {card.version}; {', '.join(card.metrics)})"
    yield _indented(card.summary)
    yield from (_indented(f"+ {text}") for text in card.sees)
    yield from (_indented(f"- {text}") for text in card.does_not_see)
    yield _indented(f"fitted on: {card.fitted_on}")
    if card.agreement:
        rows = [
            [each.figure, each.data, f"{each.n:,}", f"{each.value:.3f}", f"[{each.low:.3f}, {each.high:.3f}]"]
            for each in card.agreement
        ]
        headers = ["agreement with people", "data", "n", "value", "95% interval"]
        table = text_table(headers, rows, align="<<>>>")
        yield ""
        yield "\n".join(f"    {line}" for line in table.splitlines())


def _indented(text: str) -> str:
    return fill(text, 100, initial_indent="    ", subsequent_indent="      ", break_on_hyphens=False)
