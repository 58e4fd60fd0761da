"""What asking models has cost: tokens and, where prices are known, dollars.

Remembered completions cost nothing and are not counted.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rag_evaluation_framework.errors import UsageError, shown
from rag_evaluation_framework.models.chat import ChatModel, Completion, Message, endpoint_of
from rag_evaluation_framework.records.responses import Usage

_TOKENS_PER_PRICE = 1_000_000


@dataclass(frozen=True, slots=True)
class Prices:
    """What a million tokens cost, in dollars.

    >>> Prices(0.15, 0.60).cost(Usage(input_tokens=2000, output_tokens=500))
    0.0006
    """

    input: float
    output: float

    def __post_init__(self) -> None:
        for price in (self.input, self.output):
            if not 0 <= price < float("inf"):
                raise UsageError(f"price: expected dollars for a million tokens, got {shown(price)}")

    def cost(self, usage: Usage) -> float | None:
        """Return what this usage costs, or ``None`` if the tokens are not known."""
        if usage.input_tokens is None or usage.output_tokens is None:
            return None
        cost = usage.input_tokens * self.input + usage.output_tokens * self.output
        return cost / _TOKENS_PER_PRICE


def total_usage(usages: Iterable[Usage | None]) -> Usage | None:
    """Add up what is known; ``None`` where nothing is."""
    known = [usage for usage in usages if usage is not None]
    if not known:
        return None
    return Usage(
        input_tokens=_sum(usage.input_tokens for usage in known),
        output_tokens=_sum(usage.output_tokens for usage in known),
        cost_usd=_sum(usage.cost_usd for usage in known),
    )


class Spending:
    """A running total, which many threads may add to."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.calls = 0
        """How many calls were paid for."""
        self.usage: Usage | None = None
        """The tokens and dollars of all of them, as far as they were reported."""

    def add(self, usage: Usage | None) -> None:
        """Count a call that was paid for."""
        with self._lock:
            self.calls += 1
            self.usage = total_usage([self.usage, usage])


class CountedModel:
    """Fulfils ``ChatModel``: a model whose completions are counted, unless they were remembered.

    Where completions are remembered too, it is the model inside that is counted.
    """

    def __init__(self, model: ChatModel, spending: Spending) -> None:
        self.name = model.name
        self.cache_key: str | None = getattr(model, "cache_key", model.name)
        self.endpoint = endpoint_of(model)
        self.prices: Prices | None = getattr(model, "prices", None)
        self.spending = spending
        self._model = model

    def chat(
        self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None, draw: int = 0
    ) -> Completion:
        completion = self._model.chat(messages, schema=schema, draw=draw)
        if not completion.is_cached:
            self.spending.add(completion.usage)
        return completion

    def forget(
        self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None, draw: int = 0
    ) -> None:
        """Tell a model that remembers that a completion was useless."""
        if (forget := getattr(self._model, "forget", None)) is not None:
            forget(messages, schema=schema, draw=draw)


def _sum(numbers: Iterable[int | float | None]) -> Any:
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None
