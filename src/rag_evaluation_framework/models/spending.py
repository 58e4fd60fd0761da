"""The cost of model calls: tokens and, if prices are known, dollars; and the cap on it.

Remembered completions cost nothing and are not counted.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any

import msgspec

from rag_evaluation_framework.errors import JUDGE_BUDGET, MAX_COST, ModelOutageError, UsageError, shown
from rag_evaluation_framework.models.chat import ChatModel, Completion, Message, Schema, endpoint_of
from rag_evaluation_framework.records.samples import Usage

_TOKENS_PER_PRICE = 1_000_000
# Sums of prices miss what they are by a last digit.
_ROUNDING = 1e-12


class Prices(msgspec.Struct, frozen=True):
    """The price of a million tokens, in dollars.

    >>> Prices(0.15, 0.60).cost(Usage(input_tokens=2000, output_tokens=500))
    0.0006
    """

    input: float
    output: float

    def __post_init__(self) -> None:
        for price in (self.input, self.output):
            if not 0 <= price < float("inf"):
                raise UsageError(f"price: expected US dollars per million tokens, got {shown(price)}")

    def cost(self, usage: Usage) -> float | None:
        """Return what this usage costs, or ``None`` if the tokens are not known."""
        if usage.input_tokens is None or usage.output_tokens is None:
            return None
        cost = usage.input_tokens * self.input + usage.output_tokens * self.output
        return cost / _TOKENS_PER_PRICE


def total_usage(usages: Iterable[Usage | None]) -> Usage | None:
    """Add up what is known; ``None`` where nothing is."""
    known = [usage for usage in usages if usage is not None]
    return reduce(Usage.plus, known) if known else None


class Spending:
    """A running total, which many threads may add to; ``cap`` is the most it may come to, in dollars.

    Under a cap, what a call may cost at most is set aside (:meth:`hold`) before the call is made, and given
    back when its cost is known. So no call is made that could pass the cap, however many are under way.
    """

    def __init__(self, cap: float | None = None) -> None:
        is_number = isinstance(cap, int | float) and not isinstance(cap, bool)
        if cap is not None and not (is_number and 0 < cap < float("inf")):
            raise UsageError(f"max_cost: expected US dollars above 0, got {shown(cap)}")
        self.cap = cap
        self.charged = 0.0
        """The dollars that count towards the cap: a call whose cost is not known counts as its worst case."""
        self._held = 0.0
        self._counted: frozenset[str | None] = frozenset()
        self._lock = threading.Lock()
        self.calls = 0
        """Number of paid calls."""
        self.usage: Usage | None = None
        """The tokens and dollars of all of them, as far as they were reported."""

    def __reduce__(self) -> tuple[Any, ...]:
        if self.cap is not None:
            raise UsageError(
                "max_cost: a cap works in one process only; it cannot be sent to another process"
            )
        return Spending, ()  # a copy counts what it spends itself

    def add(self, usage: Usage | None, *, held: float = 0.0) -> None:
        """Count a call that was paid for, and give back what was ``held`` for it."""
        cost = None if usage is None else usage.cost_usd
        with self._lock:
            self.calls += 1
            self.usage = total_usage([self.usage, usage])
            self._charge(held if cost is None else cost, held)

    def hold(self, most: float) -> bool:
        """Reserve the maximum cost of a call; return False while calls in flight may need it.

        Raises :class:`ModelOutageError` ``max-cost`` where it exceeds the cap in any case.
        """
        with self._lock:
            if self.cap is not None and self.charged + most > self.cap + _ROUNDING:
                said = f"spent {_dollars(self.charged)} of --max-cost {_dollars(self.cap)}"
                raise ModelOutageError(MAX_COST, f"{said}; the next call could cost {_dollars(most)}")
            if self.cap is not None and self.charged + self._held + most > self.cap + _ROUNDING:
                return False
            self._held += most
            return True

    def charge(self, dollars: float, *, held: float = 0.0, once: str | None = None) -> None:
        """Count dollars towards the cap that are no call of this total's, and give back what was held.

        What is counted under a name, such as an earlier part of a run, is counted ``once``.
        """
        with self._lock:
            if once is None or once not in self._counted:
                self._charge(dollars, held)
            self._counted |= {once}

    def of_target(self, prices: Prices | None) -> TargetSpending:
        """Return what holds the answers of a target to the same cap."""
        return TargetSpending(self, prices)

    def _charge(self, dollars: float, held: float) -> None:
        self.charged += dollars
        self._held = max(0.0, self._held - held)


class TargetSpending:
    """The cost of a target's answers under a cap, by prices or by the target's own report.

    The maximum cost of an answer of someone else's system is unknown. The most expensive one so far stands
    for it, and the first is requested alone.
    """

    def __init__(self, spending: Spending, prices: Prices | None) -> None:
        self._spending, self._prices = spending, prices
        self._dearest: float | None = None
        self._is_first_asked = False

    def hold(self) -> float | None:
        """Set aside what the next answer may cost; ``None`` while it has to wait."""
        if self._dearest is None and self._is_first_asked:
            return None
        most = self._dearest or 0.0
        if not self._spending.hold(most):
            return None
        self._is_first_asked = True
        return most

    def settle(self, held: float, usage: Usage | None, *, is_answered: bool) -> None:
        """Count an answer. One with a price and no tokens cannot be kept under a cap: that stops the run."""
        cost = self.cost(usage)
        if cost is None and self._prices is not None and is_answered:
            told = "cannot enforce --max-cost: the agent has a price but does not report its tokens"
            raise ModelOutageError(MAX_COST, f"{told}. To cap only the judge, remove --price-input")
        self._spending.charge(cost or 0.0, held=held)
        if is_answered or self._dearest is not None:
            self._dearest = max(self._dearest or 0.0, cost or 0.0)
        else:
            self._is_first_asked = False  # the next one is asked alone too

    def cost(self, usage: Usage | None) -> float | None:
        """Return what an answer costs by the prices, else what was reported."""
        if usage is None:
            return None
        return usage.cost_usd if self._prices is None else self._prices.cost(usage)


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

    def chat(self, messages: Sequence[Message], *, schema: Schema | None = None, draw: int = 0) -> Completion:
        completion = self._model.chat(messages, schema=schema, draw=draw)
        if not completion.is_cached:
            self.spending.add(completion.usage)
        return completion

    def forget(self, messages: Sequence[Message], *, schema: Schema | None = None, draw: int = 0) -> None:
        """Tell a model that remembers that a completion was useless."""
        if (forget := getattr(self._model, "forget", None)) is not None:
            forget(messages, schema=schema, draw=draw)


class CallBudget:
    """The number of calls that may still be made, shared by many threads; without a number, any.

    Cached completions are not counted, nor is a call without a completion.
    """

    def __init__(self) -> None:
        self.left: int | None = None
        self.made = 0
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        raise UsageError(
            "judge_budget: calls are counted in one process only; the counter cannot be sent to another"
        )

    def take(self) -> None:
        """Take one call; :class:`ModelOutageError` ``judge-budget`` where there is none left."""
        with self._lock:
            if self.left is not None and self.left < 1:
                raise ModelOutageError(JUDGE_BUDGET, "all calls of --judge-budget are used")
            self.left = None if self.left is None else self.left - 1
            self.made += 1

    def give_back(self) -> None:
        """Count a call that was taken as not made."""
        with self._lock:
            self.left = None if self.left is None else self.left + 1
            self.made -= 1


class BudgetedModel:
    """Fulfils ``ChatModel``: a model that may be put so many calls; all else is the model's own."""

    def __init__(self, model: ChatModel, calls: CallBudget) -> None:
        self._model, self._calls = model, calls

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def chat(self, messages: Sequence[Message], *, schema: Schema | None = None, draw: int = 0) -> Completion:
        self._calls.take()
        is_made = False
        try:
            completion = self._model.chat(messages, schema=schema, draw=draw)
            is_made = not completion.is_cached
        finally:
            if not is_made:
                self._calls.give_back()
        return completion


def counted_in(model: ChatModel, spending: Spending) -> ChatModel:
    """Return a model that counts and is capped by a total; :class:`UsageError` of one that cannot be."""
    if (counted := getattr(model, "counted_in", None)) is None:
        expected = "OpenAIChatModel(…, price_input=…, price_output=…)"
        raise UsageError(f"max_cost: {model.name} has no price. Use {expected}")
    found: ChatModel = counted(spending)
    return found


def _dollars(amount: float) -> str:
    return f"${amount:,.2f}" if amount >= 1 or not amount else f"${amount:.3g}"
