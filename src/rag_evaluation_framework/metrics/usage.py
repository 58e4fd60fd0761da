"""The cost of an answer: time, tokens and money, as far as the system reports them."""

from __future__ import annotations

from rag_evaluation_framework.metrics.declaration import metric
from rag_evaluation_framework.metrics.views import USAGE


@metric("latency", reads=USAGE, higher_is_better=False, is_share=False)
def latency(latency_ms: float) -> float:
    """The time to the whole answer, in milliseconds, of the successful attempt only.

    Formula: the time from the request to the whole answer.

    Empty: no value where the target does not report how long it took; such a sample is skipped.

    Source: measured by the target; in a conversation the sum over its turns.
    """
    return latency_ms


@metric("tokens", reads=USAGE, higher_is_better=False, is_share=False)
def tokens(input_tokens: int, output_tokens: int) -> float:
    """The total of input and output tokens of the answer.

    Formula: input tokens + output tokens.

    Empty: no value where the system does not report both; such a sample is skipped.

    Source: the usage that the system reports.
    """
    return float(input_tokens + output_tokens)


@metric("cost", reads=USAGE, higher_is_better=False, is_share=False)
def cost(cost_usd: float) -> float:
    """The cost of the answer, in US dollars.

    Formula: the cost that the system reports.

    Empty: no value where the system does not report it; such a sample is skipped.

    Source: the usage that the system reports.
    """
    return cost_usd
