"""The sentences of a dry run: the calls and the cost of a judge."""

from __future__ import annotations

from collections.abc import Iterator

from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.evaluation.judge_forecast import (
    BYTES_PER_TOKEN,
    FACTOR,
    REASON_CHARACTERS,
    JudgeForecast,
)
from rag_evaluation_framework.evaluation.plan import Plan
from rag_evaluation_framework.reports import blocks


def span_of_calls(forecast: JudgeForecast) -> str:
    if forecast.fewest == forecast.most:
        return f"{forecast.calls:,}"
    return f"{forecast.fewest:,}–{forecast.most:,}"


def judge_calls(plan: Plan, forecast: JudgeForecast) -> str:
    budget = next((each.budget for each in plan.datasets if each.budget is not None), None)
    known = f"; {forecast.remembered:,} more are cached and free" if forecast.remembered else ""
    if budget is not None:
        within = "the budget" if budget.calls is not None else "one per sample"
        until = f"; it stops when every 95% CI is within {budget.precision:g}" if budget.precision else ""
        return f"Judge calls: at most {forecast.most:,} ({within}){until}{known}"
    if forecast.is_asked_later:
        based = "estimated from the expected answers"
    else:
        based = f"from the prompts of {counted(forecast.samples, 'answer')}"
    return f"Judge calls: about {forecast.calls:,}, plus retries ({based}){known}"


def judge_cost(forecast: JudgeForecast) -> Iterator[str]:
    if forecast.spared:
        cost = f" and {blocks.money(forecast.spared_usd)}" if forecast.spared_usd is not None else ""
        yield (
            f"Judge calls saved: about {forecast.spared:,}{cost}, for answers decided without the judge. "
            "To judge them too, use --judge-all."
        )
    tokens = f"{counted(forecast.input_tokens, 'token')} in, {forecast.output_tokens:,} out"
    if forecast.cost_usd is None:
        first = forecast.unpriced[0]
        yield f"Judge cost: unknown, because {first} has no price; about {tokens} ({_assumed(forecast)})"
        yield (
            "  Set the prices in US dollars per million tokens: "
            f"--judge-model 'openai(model={first}, price_input=…, price_output=…)'"
        )
    else:
        low, high = (forecast.cost_of(each) or 0.0 for each in (forecast.fewest, forecast.most))
        within = "" if forecast.fewest == forecast.most else f"{blocks.money(low)}–{blocks.money(high)}, "
        yield f"Judge cost: {within}about {blocks.money(forecast.cost_usd)}: {tokens} ({_assumed(forecast)})"
        yield f"  The bill can differ by a factor of {FACTOR}, and retries cost extra."
    yield from _stages(forecast)


def _assumed(forecast: JudgeForecast) -> str:
    if forecast.replies:
        replies = (
            f"reply length from {counted(forecast.replies, 'earlier reply', 'earlier replies')} of this judge"
        )
    else:
        replies = f"assumed {REASON_CHARACTERS} characters per quote or reason"
    return f"{BYTES_PER_TOKEN} bytes per token; {replies}"


def _stages(forecast: JudgeForecast) -> Iterator[str]:
    """Yield a line on the claims that each stage of a cascade would decide, and their cost."""
    *earlier, last = forecast.decided.items() if forecast.decided else [("", 0)]
    if forecast.decided:
        total = sum(forecast.decided.values())
        parts = [f"{name} {count:,} of {counted(total, 'claim')}, free" for name, count in earlier]
        paid = "" if forecast.cost_usd is None else f", about {blocks.money(forecast.cost_usd)}"
        upto = "up to " if forecast.untried else ""
        parts.append(f"{last[0]} {upto}{last[1]:,}, in {span_of_calls(forecast)} calls{paid}")
        yield f"cascade: {'; '.join(parts)}"
    elif forecast.fewest < forecast.most and forecast.is_asked_later:
        yield (
            "cascade: the earlier stages are free; how many claims they decide is known after the run, so "
            f"{span_of_calls(forecast)} calls"
        )
    for name in forecast.untried:
        yield f"cascade: {name} was not run for this estimate; its decisions are free"
