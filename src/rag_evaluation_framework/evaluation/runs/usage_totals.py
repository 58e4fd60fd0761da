"""Adds up what responses cost, as far as they report it."""

from __future__ import annotations

from dataclasses import dataclass

from rag_evaluation_framework.records.responses import Usage


@dataclass(slots=True)
class UsageTotals:
    """Tokens and cost so far; ``None`` until a response reports any."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None

    def add(self, usage: Usage | None) -> None:
        """Add what one response reports."""
        if usage is None:
            return
        if usage.input_tokens is not None:
            self.input_tokens = (self.input_tokens or 0) + usage.input_tokens
        if usage.output_tokens is not None:
            self.output_tokens = (self.output_tokens or 0) + usage.output_tokens
        if usage.cost_usd is not None:
            self.cost_usd = (self.cost_usd or 0.0) + usage.cost_usd
