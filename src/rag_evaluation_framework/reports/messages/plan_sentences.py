"""What is said of a run before anybody is asked: the calls and the cost of a judge."""

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
    return f"{forecast.fewest:,} to {forecast.most:,}"


def judge_calls(plan: Plan, forecast: JudgeForecast) -> str:
    budget = next((each.budget for each in plan.datasets if each.budget is not None), None)
    known = f"; {forecast.remembered:,} more are remembered and cost nothing" if forecast.remembered else ""
    if budget is not None:
        within = "as the budget has" if budget.calls is not None else "as judging every sample takes"
        until = f"; fewer once every interval is ±{budget.precision:g}" if budget.precision else ""
        return f"judge calls: at most {forecast.most:,}, {within}{until}{known}"
    if forecast.is_asked_later:
        based = "answers that are expected stand in for those that will come"
    else:
        based = f"counted from the prompts of {counted(forecast.samples, 'answer')}"
    return f"judge calls: about {forecast.calls:,} ({based}; more where one has to be repeated){known}"


def judge_cost(forecast: JudgeForecast) -> Iterator[str]:
    if forecast.spared:
        cost = f" and {blocks.money(forecast.spared_usd)}" if forecast.spared_usd is not None else ""
        yield (
            f"judge calls saved: about {forecast.spared:,}{cost}, for answers that are decided without the "
            "judge (--judge-all asks about them too)"
        )
    tokens = f"{counted(forecast.input_tokens, 'token')} in, {forecast.output_tokens:,} out"
    if forecast.cost_usd is None:
        first = forecast.unpriced[0]
        yield f"judge cost: not known, since {first} has no price; about {tokens} ({_assumed(forecast)})"
        yield (
            "  say what a million tokens cost, in US dollars: "
            f"--judge-model 'openai(model={first}, price_input=…, price_output=…)'"
        )
    else:
        low, high = (forecast.cost_of(each) or 0.0 for each in (forecast.fewest, forecast.most))
        within = "" if forecast.fewest == forecast.most else f"{blocks.money(low)} to {blocks.money(high)}, "
        yield f"judge cost: {within}about {blocks.money(forecast.cost_usd)}: {tokens} ({_assumed(forecast)})"
        yield f"  expect a bill within a factor of {FACTOR}, and more where calls are repeated"
    yield from _stages(forecast)


def _assumed(forecast: JudgeForecast) -> str:
    if forecast.replies:
        replies = f"replies as long as {counted(forecast.replies, 'reply', 'replies')} of this judge"
    else:
        replies = f"replies are assumed: {REASON_CHARACTERS} characters for each quote or reason"
    return f"{BYTES_PER_TOKEN} bytes a token; {replies}"


def _stages(forecast: JudgeForecast) -> Iterator[str]:
    """Say which stage of a cascade would decide how much, and for how much."""
    *earlier, last = forecast.decided.items() if forecast.decided else [("", 0)]
    if forecast.decided:
        total = sum(forecast.decided.values())
        parts = [f"{name} {count:,} of {counted(total, 'claim')}, for nothing" for name, count in earlier]
        paid = "" if forecast.cost_usd is None else f", about {blocks.money(forecast.cost_usd)}"
        upto = "up to " if forecast.untried else ""
        parts.append(f"{last[0]} {upto}{last[1]:,}, by {span_of_calls(forecast)} calls{paid}")
        yield f"cascade: {'; '.join(parts)}"
    elif forecast.fewest < forecast.most and forecast.is_asked_later:
        yield (
            "cascade: how many claims the stages before the last decide, for nothing, shows when there are "
            f"answers: so {span_of_calls(forecast)} calls"
        )
    for name in forecast.untried:
        yield f"cascade: {name} is not tried here; what it decides costs nothing"
