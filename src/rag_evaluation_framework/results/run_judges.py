"""The judge of a run: which endpoints it asks, so that the run goes on with the same, and what it costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from rag_evaluation_framework.errors import InputError, StorageError, UsageError
from rag_evaluation_framework.evaluation.manifests.preflight import Plan
from rag_evaluation_framework.evaluation.runs.run_folder import RunFolder
from rag_evaluation_framework.evaluation.runs.run_groups import RunGroup
from rag_evaluation_framework.evaluation.scorers.scoring_methods import ScoringMethods
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.files.atomic import write_bytes_atomically
from rag_evaluation_framework.records.responses import Usage

JUDGE = "judge"
"""Where the configuration of a head lists the endpoints of the judge."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeUsage:
    """What a judge was paid for: calls, and tokens and dollars as far as its endpoints told them.

    ``failed_votes`` counts by model the votes that it did not give.
    """

    judge: str
    calls: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    failed_votes: Mapping[str, int] = field(default_factory=dict, hash=False)

    def __add__(self, other: JudgeUsage) -> JudgeUsage:
        return self._combined(other, 1)

    def __sub__(self, other: JudgeUsage) -> JudgeUsage:
        return self._combined(other, -1)

    def to_dict(self) -> dict[str, Any]:
        """Return it as results hold it; what is not known is left out."""
        return {name: value for name, value in asdict(self).items() if value not in (None, {})}

    def _combined(self, other: JudgeUsage, sign: int) -> JudgeUsage:
        models = {**self.failed_votes, **other.failed_votes}
        votes = {
            model: self.failed_votes.get(model, 0) + sign * other.failed_votes.get(model, 0)
            for model in models
        }
        cost = _sum(self.cost_usd, other.cost_usd, sign)
        return JudgeUsage(
            judge=self.judge,
            calls=self.calls + sign * other.calls,
            input_tokens=_sum(self.input_tokens, other.input_tokens, sign),
            output_tokens=_sum(self.output_tokens, other.output_tokens, sign),
            cost_usd=None if cost is None else round(cost, 10),
            failed_votes={model: count for model, count in votes.items() if count},
        )


def judge_usage(methods: ScoringMethods) -> JudgeUsage | None:
    """Return what the judge has cost since it was set up; ``None`` where there is none, or nobody counts."""
    judge, spending = methods.judge, methods.spending
    if judge is None or spending is None:
        return None
    usage = spending.usage or Usage()
    return JudgeUsage(
        judge=judge.name, calls=spending.calls, **asdict(usage), failed_votes=judge.failed_votes
    )


def usage_of_run(folder: RunFolder, spent: JudgeUsage) -> JudgeUsage:
    """Add what a part of a run has spent to what its earlier parts had; the run's folder keeps the sum."""
    with suppress(OSError, InputError, AttributeError, TypeError):  # what cannot be read is not known
        written = strict_json.decode(folder.judge_usage_path.read_bytes())
        known = {each.name for each in fields(JudgeUsage)}
        spent += JudgeUsage(**{name: value for name, value in written.items() if name in known})
    with suppress(StorageError):  # a full disk has been told of before, and the figures stand
        content = strict_json.encode(spent.to_dict(), indent=2) + b"\n"
        write_bytes_atomically(folder.judge_usage_path, content)
    return spent


def judge_fields(methods: ScoringMethods) -> dict[str, Any]:
    """Return what the configuration of a head says of the judge: each model's endpoint and settings."""
    if methods.judge is None:
        return {}
    return {JUDGE: [getattr(model, "cache_key", None) or model.name for model in methods.judge.models]}


def with_same_judge(folder: RunFolder, methods: ScoringMethods) -> RunFolder:
    """Return a run to go on with. :class:`UsageError` where answers are in it and it had another judge.

    A run that has no answers yet, as when the judge's address was wrong, takes the judge that there is now.
    """
    now = judge_fields(methods)
    changed = _change(folder, now)
    if changed is None:
        return folder
    if folder.counts.done:
        began, judge = changed
        raise UsageError(f"cannot resume with another judge: expected {began}, got {judge}")
    return folder.amended(now)


def other_judge_warnings(plan: Plan, baseline: RunGroup | None, methods: ScoringMethods) -> Iterator[str]:
    """Yield a warning for each baseline that a judge of the same name, but another endpoint, has judged."""
    for dataset in plan.datasets if baseline is not None else ():
        folder = baseline.runs.get(dataset.name) if baseline is not None else None
        changed = _change(folder, judge_fields(methods)) if folder and dataset.judge_calls else None
        if folder is not None and changed is not None:
            then, now = changed
            yield f"baseline {folder.head.run_id} was judged by {then}, this run by {now}"


def _change(folder: RunFolder, now: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the first endpoint of a run's judge that is another one now, with that one; ``None`` of none."""
    began = folder.head.configuration.get(JUDGE)
    if began is None or JUDGE not in now or began == now[JUDGE]:
        return None
    pairs = zip(began, now[JUDGE], strict=False)
    whole = ", ".join(map(str, began)), ", ".join(now[JUDGE])
    return next(((str(then), is_now) for then, is_now in pairs if then != is_now), whole)


def _sum(first: Any, second: Any, sign: int) -> Any:
    return first if second is None else (first or 0) + sign * second
