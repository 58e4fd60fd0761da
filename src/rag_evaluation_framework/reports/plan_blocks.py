"""The plan and cost of a run, as text, before any call is made."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.evaluation.judge_forecast import JudgeForecast
from rag_evaluation_framework.evaluation.plan import Plan
from rag_evaluation_framework.models.spending import Prices
from rag_evaluation_framework.reports import blocks
from rag_evaluation_framework.reports.messages.plan_sentences import judge_calls, judge_cost, span_of_calls


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
    """Yield the blocks on the plan of a run and its cost."""
    plan, target, judging = outlook.plan, outlook.target, outlook.judging
    questions = counted(plan.samples, "question" if target is not None else "answer")
    plan_text = f"score {questions}" if target is None else f"send {questions} to {target}"
    yield blocks.prose(f"Dry run: would {plan_text}", hang=2)
    yield blocks.GAP
    yield from _describe_datasets(plan, outlook.forecasts, is_asked=target is not None)
    yield blocks.GAP
    if target is not None:
        again = f"; up to {outlook.ask_again} more per question that got worse" if outlook.ask_again else ""
        yield blocks.prose(f"{counted(plan.calls, 'call')}, plus retries{again}")
    for line in () if judging is None else (judge_calls(plan, judging), *judge_cost(judging)):
        yield blocks.prose(line, hang=2)
    if target is None and judging is None:
        yield blocks.prose("Cost: none, because no judge is used.")
    if target is not None:
        usage = plan.usage
        yield blocks.prose(
            f"Tokens: at least {usage.input_tokens:,} in, {usage.output_tokens:,} out (estimated from "
            "questions and expected answers, without the prompts and contexts that the agent adds)",
            hang=2,
        )
        cost = None if outlook.prices is None else outlook.prices.cost(usage)
        known = (
            "unknown. Set --price-input and --price-output."
            if cost is None
            else f"at least {blocks.money(cost)}"
        )
        yield blocks.prose(f"Cost: {known}")
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
            span_of_calls(forecasts[dataset.name]) if dataset.name in forecasts else "0",
        ]
        for dataset in plan.datasets
    ]
    names = ("questions", "calls", "judge calls") if is_asked else ("answers", "judge calls")
    yield blocks.Table([blocks.Column("dataset", flexible=True), *map(blocks.right, names)], rows)
    for dataset in plan.datasets:
        told = ", ".join(f"{scorer.name} ({scorer.method})" for scorer in dataset.scorers)
        yield blocks.aside(f"{dataset.name}: {told}")
