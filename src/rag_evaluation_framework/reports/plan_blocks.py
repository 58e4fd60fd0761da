"""What a run would do and cost, as text, before anybody is asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.evaluation.judge_forecast import (
    BYTES_PER_TOKEN,
    FACTOR,
    REASON_CHARACTERS,
    JudgeForecast,
)
from rag_evaluation_framework.evaluation.plan import Plan
from rag_evaluation_framework.models.spending import Prices
from rag_evaluation_framework.reports import blocks


class Outlook(msgspec.Struct, frozen=True, kw_only=True):
    """A plan and what it depends on: who is asked, for what price, and what a judge will have to do.

    ``judging`` is all forecasts together. Without a target the answers are there, and nobody but a judge is
    asked.
    """

    plan: Plan
    target: str | None
    prices: Prices | None
    forecasts: Mapping[str, JudgeForecast]
    judging: JudgeForecast | None
    ask_again: int = 0


def describe_plan(outlook: Outlook) -> blocks.Blocks:
    """Say what a run would do, and what it would cost."""
    plan, target, judging = outlook.plan, outlook.target, outlook.judging
    questions = counted(plan.samples, "question" if target is not None else "answer")
    wish = f"this would score {questions}" if target is None else f"this would ask {target} {questions}"
    yield blocks.prose(f"nothing was asked; {wish}", hang=2)
    yield blocks.GAP
    yield from _describe_datasets(plan, outlook.forecasts, is_asked=target is not None)
    yield blocks.GAP
    if target is not None:
        again = f"; up to {outlook.ask_again} more per question that got worse" if outlook.ask_again else ""
        yield blocks.prose(f"calls: {plan.calls:,}, and more where one has to be repeated{again}")
    for line in () if judging is None else (_calls(plan, judging), *_judge_cost(judging)):
        yield blocks.prose(line, hang=2)
    if target is None and judging is None:
        yield blocks.prose("cost: none; no judge is asked")
    if target is not None:
        usage = plan.usage
        yield blocks.prose(
            f"tokens: at least {usage.input_tokens:,} in, {usage.output_tokens:,} out (estimated from "
            "questions and expected answers; what the agent adds is not known)",
            hang=2,
        )
        cost = None if outlook.prices is None else outlook.prices.cost(usage)
        known = (
            "not known (--price-input, --price-output)" if cost is None else f"at least {blocks.money(cost)}"
        )
        yield blocks.prose(f"cost: {known}")
    for warning in plan.warnings:
        yield blocks.prose(blocks.Styled("warning: ", blocks.DOUBT), warning, hang=2)


def _describe_datasets(
    plan: Plan, forecasts: Mapping[str, JudgeForecast], *, is_asked: bool
) -> blocks.Blocks:
    rows: list[list[blocks.Piece]] = [
        [
            dataset.name,
            f"{len(dataset.selection):,} of {dataset.selection.n_in_file:,}",
            *([f"{dataset.calls:,}"] if is_asked else []),
            _span(forecasts[dataset.name]) if dataset.name in forecasts else "0",
        ]
        for dataset in plan.datasets
    ]
    names = ("questions", "calls", "judge calls") if is_asked else ("answers", "judge calls")
    yield blocks.Table([blocks.Column("dataset", flexible=True), *map(blocks.right, names)], rows)
    for dataset in plan.datasets:
        told = ", ".join(f"{scorer.name} ({scorer.method})" for scorer in dataset.scorers)
        yield blocks.aside(f"{dataset.name} by {told}")


def _span(forecast: JudgeForecast) -> str:
    if forecast.fewest == forecast.most:
        return f"{forecast.calls:,}"
    return f"{forecast.fewest:,} to {forecast.most:,}"


def _calls(plan: Plan, forecast: JudgeForecast) -> str:
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


def _judge_cost(forecast: JudgeForecast) -> Iterator[str]:
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
        parts.append(f"{last[0]} {upto}{last[1]:,}, by {_span(forecast)} calls{paid}")
        yield f"cascade: {'; '.join(parts)}"
    elif forecast.fewest < forecast.most and forecast.is_asked_later:
        yield (
            "cascade: how many claims the stages before the last decide, for nothing, shows when there are "
            f"answers: so {_span(forecast)} calls"
        )
    for name in forecast.untried:
        yield f"cascade: {name} is not tried here; what it decides costs nothing"
