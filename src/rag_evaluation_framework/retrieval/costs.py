"""What the cells of a sweep cost in US dollars, as far as their parts tell what they use and at what price.

``spent`` was paid for a cell and for none before it, so that the cells of a sweep add up to what was paid in
all. ``alone`` is what the cell costs by itself, with nothing shared and nothing cached: every chunk and every
query embedded, every query reranked.

A part is metered when it counts its use: an embedder by ``tokens_used`` and ``characters_used``, a reranker
by ``searches_used``. Its ``price`` is for a million tokens, or for one search. A part that counts nothing
runs on this machine, as far as anybody can tell, and adds nothing. A metered part without a price, or one
whose server does not say what it read (its count is then ``None``), makes the cost unknown, which is never
shown as 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from rag_evaluation_framework.errors import UsageError, shown

TOKENS = "tokens_used"
SEARCHES = "searches_used"

_UNITS_A_PRICE = {TOKENS: 1_000_000, SEARCHES: 1}


class Meter:
    """What one part uses from now on; ``part`` is what counts it, ``None`` where nothing does."""

    def __init__(self, part: object, counter: str) -> None:
        self.part, self._counter = metered(part, counter), counter
        self._before = self._count()

    @property
    def units(self) -> int | None:
        """How many units were used since; ``None`` where the part does not tell."""
        now = self._count()
        return None if now is None or self._before is None else now - self._before

    @property
    def cost(self) -> float | None:
        """What they cost, if a price is known."""
        units, price = self.units, self.price
        return None if units is None or price is None else units * price

    @property
    def price(self) -> float | None:
        """US dollars for one unit."""
        price: float | None = getattr(self.part, "price", None)
        return None if price is None else price / _UNITS_A_PRICE[self._counter]

    def cost_of_embedding(self, texts: Iterable[str]) -> float | None:
        """Estimate what it costs to embed texts, each once, by the tokens a character had so far."""
        tokens, price = self._count(), self.price
        characters: int | None = getattr(self.part, "characters_used", None)
        if tokens is None or price is None or not characters:
            return None
        return sum(map(len, set(texts))) * tokens / characters * price

    def _count(self) -> int | None:
        count = getattr(self.part, self._counter, None)
        return count if isinstance(count, int) else None


def metered(part: object, counter: str) -> object | None:
    """Return the part that counts its use: this one, or what it wraps as its ``embedder``."""
    while not hasattr(part, counter):
        if not hasattr(part, "embedder"):
            return None
        part = part.embedder
    return part


def checked_price(price: float | None, part: str) -> float | None:
    """Return a price, or refuse what is none."""
    is_number = isinstance(price, int | float) and not isinstance(price, bool)
    if price is not None and not (is_number and math.isfinite(price) and price >= 0):
        raise UsageError(f"{part}: price: expected US dollars of at least 0, got {shown(price)}")
    return price


def summed(values: Iterable[float | None]) -> float | None:
    """Return the sum of what is known, unless there is nothing or something is not known."""
    every = list(values)
    known = [value for value in every if value is not None]
    return math.fsum(known) if known and len(known) == len(every) else None
