"""Shards of a run: the same datasets, other samples, asked of the same system apart; joined, and divided."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, count, islice
from typing import Any

from rag_evaluation_framework.errors import UsageError, counted
from rag_evaluation_framework.metrics.declaration import PASS_RATE
from rag_evaluation_framework.records.runs import RunHead, RunOutcome
from rag_evaluation_framework.results.breakdowns import BlameSummary, blame_of_all, blame_summary
from rag_evaluation_framework.results.evaluations import Evaluation, Row, Rows, summed_up
from rag_evaluation_framework.results.gate import Gate, PassCounter, sample_bounds, with_pass_rate
from rag_evaluation_framework.results.run_folder import content_hash
from rag_evaluation_framework.results.summaries import NO_COLUMNS, Counts


def merge_evaluations(first: Evaluation, *others: Evaluation) -> Evaluation:
    """Join shards of a run; the figures are those of one run over all samples, to the last digit.

    Whatever keeps them from being one run is a :class:`UsageError`: another dataset, system, method or
    threshold, a sample in two of them, a shard that is not complete. Where the shards had a gate it decides
    the whole anew; where it cannot, a warning says why there is no verdict.
    """
    shards = (first, *others)
    if not others:
        raise UsageError("merge: expected two shards or more, got one")
    names = dict.fromkeys(part.name for shard in shards for part in shard.runs)
    by_name = {name: [part for shard in shards for part in shard.runs if part.name == name] for name in names}
    reasons = [reason for shard in shards for reason in _unlike(first, shard)]
    reasons += [reason for parts in by_name.values() for reason in _reasons_against(parts)]
    if reasons:
        raise UsageError(
            f"cannot merge: {'; '.join(dict.fromkeys(reasons))}.\n  Give the shards of one run, each once."
        )
    parts = {name: _joined(parts, shards) for name, parts in by_name.items()}
    if not first.parts:
        return _decided(next(iter(parts.values())), shards)
    only = next(iter(parts.values())) if len(parts) == 1 else None
    counts = [part.counts for part in parts.values()]
    summed = {name: sum(getattr(each, name) for each in counts) for name in _SUMMED}
    blames = [part.blame for part in parts.values() if part.blame is not None]
    left_out = [each for each in first.left_out if all(each in shard.left_out for shard in others)]
    whole = Evaluation(
        kind=first.kind,
        head=_head(first.head, shards),
        metrics={} if only is None else only.metrics,
        counts=Counts(**summed) if only is None else only.counts,
        outcome=next(iter(parts.values())).outcome,
        columns=NO_COLUMNS if only is None else only.columns,
        parts=parts,
        parts_are=first.parts_are,
        blame=blame_of_all(blames),
        warnings=tuple(dict.fromkeys(warning for shard in shards for warning in shard.warnings)),
        target=first.target,
        left_out=tuple(left_out),
    )
    return _decided(whole, shards)


def _decided(whole: Evaluation, shards: Sequence[Evaluation]) -> Evaluation:
    """Return the whole with the verdict of the gate that its shards had, or with why it has none."""
    verdicts = [shard.verdict for shard in shards]
    known = [each for each in verdicts if each is not None]
    if not any(each.enabled for each in known):
        return whole
    gates = [Gate.of_verdict(each) for each in known]
    waived = frozenset[str]().union(*(gate.waive for gate in gates))
    gates = [replace(gate, waive=waived) for gate in gates]
    lacking = next((shard.head.run_id for shard in shards if shard.verdict is None), None)
    why = None
    if any(shard.regressions is not None for shard in shards):
        why = "each shard was compared with its part of a baseline; compare the whole with it"
    elif lacking is not None:
        why = f"{lacking} does not keep what its gate demanded"
    elif any(gate != gates[0] for gate in gates):
        why = "the gates of the shards differ"
    if why is not None:
        return replace(whole, warnings=(*whole.warnings, f"no verdict of the whole: {why}"))
    return replace(whole, verdict=gates[0].decide(whole))


_SUMMED = ("total", "finished", "failed", "errors")


def _unlike(first: Evaluation, shard: Evaluation) -> Iterator[str]:
    names = [part.name for part in shard.runs]
    if shard.kind == "systems":
        yield f"{shard.head.run_id} is of several systems"
    elif sorted(names) != sorted(part.name for part in first.runs):
        known = ", ".join(part.name for part in first.runs)
        yield f"{shard.head.run_id} is over {', '.join(names)}, {first.head.run_id} over {known}"
    if not shard.outcome.completed:
        yield f"{shard.head.run_id} is incomplete"
    if any(part.columns.draws for part in shard.runs):
        yield f"{shard.head.run_id} was judged in part, by a draw of its own: judge the merged run instead"


def _reasons_against(parts: Sequence[Evaluation]) -> Iterator[str]:
    """Yield what keeps runs of a dataset from being one."""
    first, *others = parts
    places: dict[str, int] = {}
    again: dict[str, tuple[int, int]] = {}
    for number, part in enumerate(parts):
        for sample in part.columns.ids:
            owner = places.setdefault(sample, number)
            if owner != number:
                again[sample] = (owner, number)
    if again:
        sample, both = next(iter(again.items()))
        one, other = (parts[number].head.run_id for number in both)
        twice = counted(len(again), "sample is", "samples are")
        yield f"{twice} in two of them, such as {sample} in {one} and {other}"
    for part in others:
        one, other = first.head.run_id, part.head.run_id
        if part.head.target != first.head.target:
            yield f"{one} asked {first.head.target}, {other} {part.head.target}"
        methods = [{name: each.method for name, each in run.metrics.items()} for run in (first, part)]
        if differing := sorted(
            name for name in methods[0].keys() | methods[1].keys() if _differ(name, methods)
        ):
            yield f"{', '.join(differing)}: scored otherwise in {other} than in {one}"
        if set(map(str, part.thresholds)) != set(map(str, first.thresholds)):
            yield f"{other} has other thresholds than {one}"
        versions = (first.head.metric_versions, part.head.metric_versions)
        if changed := sorted(
            name for name in versions[0].keys() & versions[1].keys() if _differ(name, versions)
        ):
            yield f"{', '.join(changed)}: of another version in {other} than in {one}"


def _differ(name: str, sides: Sequence[Mapping[str, Any]]) -> bool:
    return sides[0].get(name) != sides[1].get(name)


def _joined(parts: Sequence[Evaluation], shards: Sequence[Evaluation]) -> Evaluation:
    """Return the runs of one dataset as one, in the order of its file where that is known."""
    first = parts[0]

    is_in_order = all(map(_is_in_order, parts))

    def rows() -> Iterator[Row]:
        several = [part.rows for part in parts]
        ordered = heapq.merge(*several, key=_line) if is_in_order else chain.from_iterable(several)
        return (replace(row, index=index) for index, row in enumerate(ordered))

    blames = [part.blame for part in parts if part.blame is not None]
    head = _head(first.head, parts)
    # A results file does not tell all of its samples.
    if all(part.document is None for part in parts) and all(row.sample is not None for row in rows()):
        head = replace(head, dataset_hash=content_hash(lambda: (row.sample for row in rows() if row.sample)))
    return _summed_up(
        first,
        head=head,
        rows=rows,
        total=sum(part.counts.total for part in parts),
        outcome=_outcome([part.outcome for part in parts]),
        blame=blame_of_all(blames) if len(blames) == len(parts) else None,
    )


def _summed_up(
    like: Evaluation,
    *,
    head: RunHead,
    rows: Rows,
    total: int,
    outcome: RunOutcome,
    blame: BlameSummary | None,
) -> Evaluation:
    """Return a run over these rows that was scored as another was."""
    passes = PassCounter(sample_bounds(like.thresholds, like.metrics))
    summed = summed_up(
        head,
        passes.counted(rows()),
        kind=like.kind,
        outcome=outcome,
        rows=rows,
        total=total,
        order=list(like.metrics),
        directions={name: each.higher_is_better for name, each in like.metrics.items()},
        thresholds=like.thresholds,
        unmeasured=like.unmeasured,
        blame=blame,
        target=like.target,
    )
    return with_pass_rate(summed, passes) if PASS_RATE in like.metrics else summed


def divided(evaluation: Evaluation, samples: int) -> Iterator[Evaluation]:
    """Yield a run in shards of so many samples, in their order; merged they have the figures of the whole."""
    if len(evaluation.runs) != 1:
        runs = counted(len(evaluation.runs), "run")
        raise UsageError(f"shards: expected one run, got {runs}: divide each of the parts by itself")
    (whole,) = evaluation.runs
    left = iter(whole.rows)
    for number in count():
        rows = tuple(islice(left, samples))
        if not rows:
            return
        blames = [row.blame for row in rows if row.blame is not None]
        yield _summed_up(
            whole,
            head=replace(whole.head, run_id=f"{evaluation.head.run_id}-{number:05}", dataset_hash=None),
            rows=lambda rows=rows: rows,  # type: ignore[misc]
            total=len(rows),
            outcome=replace(_outcome([whole.outcome]), done=len(rows), failed=0),
            blame=None if whole.blame is None else blame_summary(blames, method=whole.blame.method),
        )


def _line(row: Row) -> float:
    origin = None if row.sample is None else row.sample.origin
    return math.inf if origin is None or origin.line is None else origin.line


def _is_in_order(part: Evaluation) -> bool:
    lines = [_line(row) for row in part.rows]
    return math.inf not in lines and lines == sorted(lines)


def _outcome(outcomes: Sequence[RunOutcome]) -> RunOutcome:
    done, failed = sum(each.done for each in outcomes), sum(each.failed for each in outcomes)
    return RunOutcome(completed=True, interrupted=False, done=done, failed=failed, remaining=0)


def _head(head: RunHead, shards: Sequence[Evaluation]) -> RunHead:
    names = [shard.head.run_id for shard in shards]
    configuration = {**head.configuration, "merged_from": names}
    return replace(head, run_id=f"merged_{names[0]}", configuration=configuration, dataset_hash=None)
