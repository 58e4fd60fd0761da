"""What asking a judge or a generator has cost, in one line."""

from __future__ import annotations

from collections.abc import Mapping

from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.models.spending import Spending


def spending_text(name: str, spending: Spending, *, failed_votes: Mapping[str, int] | None = None) -> str:
    """Say how many calls were paid for, what is known of their tokens and dollars, and whose votes failed."""
    usage = spending.usage
    parts = [f"{name}: {counted(spending.calls, 'call')}"]
    if usage is not None and usage.input_tokens is not None and usage.output_tokens is not None:
        parts.append(f"{counted(usage.input_tokens, 'token')} in, {usage.output_tokens:,} out")
    if usage is not None and usage.cost_usd is not None:
        parts.append(f"${usage.cost_usd:.4f}")
    for model, count in (failed_votes or {}).items():
        parts.append(f"{counted(count, 'vote')} of {model} failed")
    return ", ".join(parts)
