"""Shards of a run: other samples of a dataset, or its parts, asked of the same system; joined, divided."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, count, islice
from typing import Any

from msgspec.structs import replace

from rag_evaluation_framework.errors import UsageError, counted
from rag_evaluation_framework.extensions import import_on_call
from rag_evaluation_framework.metrics.declaration import PASS_RATE
from rag_evaluation_framework.records.runs import RunHead, RunOutcome
from rag_evaluation_framework.results.evaluations import Evaluation, Row, Rows, suite, summed_up
from rag_evaluation_framework.results.gate import Gate, PassCounter, sample_bounds, with_pass_rate
from rag_evaluation_framework.results.run_data import content_hash
from rag_evaluation_framework.results.run_store import CELLS
from rag_evaluation_framework.results.summaries import Performance

_merge_rankings: Callable[..., Evaluation] = import_on_call(
    "rag_evaluation_framework.results.rankings:merge_rankings"
)
_with_queries: Callable[[Evaluation], dict[str, Any]] = import_on_call(
    "rag_evaluation_framework.results.rankings:with_queries"
)
_rank_cells: Callable[..., Evaluation] = import_on_call(
    "rag_evaluation_framework.evaluation.grid_runs:rank_cells"
)


def merge_evaluations(first: Evaluation, *others: Evaluation) -> Evaluation:
    """Join shards of a run; the figures are those of one run over all samples, to the last digit.

    Files of other names are parts of one dataset, which is called by all of them. Anything that keeps
    shards from being one run is a :class:`UsageError`: another system, setting, method or threshold, a
    sample in two of them, a shard that is not complete. Where the shards had a gate it decides the whole
    anew; where it cannot, a warning says why there is no verdict.
    """
    shards = (first, *others)
    if not others:
        raise UsageError("merge: only one shard given; expected two or more")
    called, by_name = _told_apart(shards), _by_name(shards)
    reasons = [*_unlike(shards, called)]
    reasons += [reason for parts in by_name.values() for reason in _reasons_against(parts, called)]
    if reasons:
        raise UsageError(
            f"cannot merge: {'; '.join(dict.fromkeys(reasons))}.\n  Give the shards of one run, each once."
        )
    if first.is_ranking:
        head = _head(first.head, shards, name=_joint_name([shard.name for shard in shards]))
        documents = map(_with_queries, shards)
        return _merge_rankings([*documents], head=head)
    if _is_sweep(first):
        return _joined_sweep(shards, by_name)
    parts = {name: _joined(name, parts) for name, parts in by_name.items()}
    if not first.parts:
        return _decided(next(iter(parts.values())), shards)
    left_out = [each for each in first.left_out if all(each in shard.left_out for shard in others)]
    whole = suite(
        _head(first.head, shards, name=next(iter(parts)) if len(parts) == 1 else first.name),
        parts,
        kind=first.kind,
        parts_are=first.parts_are,
        warnings=tuple(dict.fromkeys(warning for shard in shards for warning in shard.warnings)),
        target=first.target,
        left_out=tuple(left_out),
    )
    return _decided(whole, shards)


def _is_sweep(shard: Evaluation) -> bool:
    return CELLS in shard.head.configuration


def _joined_sweep(shards: Sequence[Evaluation], by_name: Mapping[str, Sequence[Evaluation]]) -> Evaluation:
    """Return sweeps over other questions as one: each cell joined, and all of them ranked and tested anew."""
    like = shards[0].head
    cells = [
        replace(
            _joined(_joint_name([part.name for part in by_name[cell]]), by_name[cell]),
            performance=Performance(),
        )
        for cell in like.configuration[CELLS]
    ]
    head = _head(like, shards, name=cells[0].name)
    moved = sum(shard.head.configuration["moved_spans"] for shard in shards)
    swept = {**head.configuration, "samples": cells[0].counts.total, "moved_spans": moved}
    head = replace(head, dataset_hash=cells[0].head.dataset_hash, configuration=swept)
    return _rank_cells(cells, head)


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
        why = f"{lacking} has no thresholds of its gate"
    elif any(gate != gates[0] for gate in gates):
        why = "the gates of the shards differ"
    if why is not None:
        return replace(whole, warnings=(*whole.warnings, f"no verdict on the merged run: {why}"))
    return replace(whole, verdict=gates[0].decide(whole))


# What the configuration of a shard may have of its own; methods and thresholds are looked at elsewhere.
_OWN = (
    *("annotations", "arguments", "blame", "branch", "commit", "dataset_path", "datasets", "evaluation"),
    *("golden", "judge_card", "manifest", "merged_from", "metrics", "moved_spans", "reading", "samples"),
    *("selection", "splits", "support", "thresholds", "traces"),
)


def _told_apart(shards: Sequence[Evaluation]) -> list[str]:
    """Return what to call shards: machines that run apart give the same ids."""
    ids = [shard.head.run_id for shard in shards]
    if len(set(ids)) == len(ids):
        return ids
    return [str(shard.folder or f"{shard.head.run_id} ({n})") for n, shard in enumerate(shards, start=1)]


def _is_of_a_file(shard: Evaluation) -> bool:
    return len(shard.runs) == 1 and shard.parts_are not in ("splits", "systems")


def _by_name(shards: Sequence[Evaluation]) -> dict[str, list[Evaluation]]:
    """Return the runs that belong together; the parts of a dataset are called by the names of their files."""
    named = [shard.named_runs for shard in shards]
    if all(map(_is_of_a_file, shards)):
        return {_joint_name([name for each in named for name in each]): [shard.runs[0] for shard in shards]}
    return {name: [each[name] for each in named] for name in named[0] if all(name in each for each in named)}


def _joint_name(several: Sequence[str]) -> str:
    names = list(dict.fromkeys(several))
    names[1:-1] = names[1:-1] if len(names) < 4 else ["…"]
    return "+".join(names)


def _unlike(shards: Sequence[Evaluation], called: Sequence[str]) -> Iterator[str]:
    """Yield what keeps shards from being of the same run as the first."""
    first, one = shards[0], called[0]
    for other, shard in zip(called, shards, strict=True):
        names = [", ".join(sorted(each.named_runs)) for each in (first, shard)]
        if _is_sweep(first) and _is_sweep(shard):
            pass  # the cells are among the settings
        elif shard.kind == "systems" and not (first.is_ranking and shard.is_ranking):
            yield f"{other} is of several systems"
        elif names[0] != names[1] and not all(map(_is_of_a_file, (first, shard))):
            word = "of" if first.is_ranking else "over"
            yield f"{other} is {word} {names[1]}, {one} {word} {names[0]}"
        if not shard.outcome.completed:
            yield f"{other} is incomplete"
        if any(part.columns.draws for part in shard.runs):
            yield f"{other} was judged in part, by a draw of its own: judge the merged run instead"
        settings = [{"repeats": each.head.repeats, **each.head.configuration} for each in (first, shard)]
        if differing := _differing(settings, {*settings[0], *settings[1]} - {*_OWN}):
            yield f"{differing}: set otherwise in {other} than in {one}"


def _reasons_against(parts: Sequence[Evaluation], called: Sequence[str]) -> Iterator[str]:
    """Yield what keeps runs of a dataset from being one."""
    first = parts[0]
    places: dict[str, int] = {}
    again: dict[str, tuple[int, int]] = {}
    for number, part in enumerate(parts):
        for sample in part.columns.ids:
            owner = places.setdefault(sample, number)
            if owner != number:
                again[sample] = (owner, number)
    if again:
        sample, both = next(iter(again.items()))
        one, other = (called[number] for number in both)
        twice = counted(len(again), "sample is", "samples are")
        yield f"{twice} in two of them, such as {sample} in {one} and {other}"
    for one, other, part in zip([called[0]] * len(parts), called, parts, strict=True):
        if part.head.target != first.head.target:
            yield f"{one} asked {first.head.target}, {other} {part.head.target}"
        methods = [{name: each.method for name, each in run.metrics.items()} for run in (first, part)]
        if differing := _differing(methods, {*methods[0], *methods[1]}):
            yield f"{differing}: scored otherwise in {other} than in {one}"
        if set(map(str, part.thresholds)) != set(map(str, first.thresholds)):
            yield f"{other} has other thresholds than {one}"
        versions = (first.head.metric_versions, part.head.metric_versions)
        if changed := _differing(versions, versions[0].keys() & versions[1].keys()):
            yield f"{changed}: of another version in {other} than in {one}"


def _differing(sides: Sequence[Mapping[str, Any]], names: Iterable[str]) -> str:
    return ", ".join(sorted(name for name in names if sides[0].get(name) != sides[1].get(name)))


def _joined(name: str, parts: Sequence[Evaluation]) -> Evaluation:
    """Return the runs of one dataset as one: shards of a file in its order, files one after another."""
    first = parts[0]
    # A results file tells neither where its samples stood nor all of them.
    are_whole = all(part.document is None for part in parts)
    is_one_file = are_whole and name == first.name and _are_of_a_file(parts)

    def rows() -> Iterator[Row]:
        several = [part.rows for part in parts]
        ordered = heapq.merge(*several, key=_line) if is_one_file else chain.from_iterable(several)
        return (replace(row, index=index) for index, row in enumerate(ordered))

    head = _head(first.head, parts, name=name)
    if are_whole and all(row.sample is not None for row in rows()):
        head = replace(head, dataset_hash=content_hash(lambda: (row.sample for row in rows() if row.sample)))
    return _summed_up(
        first,
        head=head,
        rows=rows,
        total=sum(part.counts.total for part in parts),
        outcome=_outcome([part.outcome for part in parts]),
    )


def _are_of_a_file(parts: Sequence[Evaluation]) -> bool:
    """Return True if the samples stood in one file, each shard in its order."""
    lines = [[_line(row) for row in part.rows] for part in parts]
    every = list(chain.from_iterable(lines))
    # A line that stands twice is of two files, whatever they are called.
    is_each_once = None not in every and len(set(every)) == len(every)
    return is_each_once and all(each == sorted(each) for each in lines)


def _summed_up(like: Evaluation, *, head: RunHead, rows: Rows, total: int, outcome: RunOutcome) -> Evaluation:
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
        intervals=like.intervals if like.kind == "retrieval" else None,
        thresholds=like.thresholds,
        unmeasured=like.unmeasured,
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
        yield _summed_up(
            whole,
            head=replace(whole.head, run_id=f"{evaluation.head.run_id}-{number:05}", dataset_hash=None),
            rows=lambda rows=rows: rows,  # type: ignore[misc]
            total=len(rows),
            outcome=replace(_outcome([whole.outcome]), done=len(rows), failed=0),
        )


def _line(row: Row) -> Any:
    """Return where in its file a sample stands; ``None`` if that is not known."""
    origin = None if row.sample is None else row.sample.origin
    return None if origin is None or origin.line is None else (origin.line, origin.number or 0)


def _outcome(outcomes: Sequence[RunOutcome]) -> RunOutcome:
    done, failed = sum(each.done for each in outcomes), sum(each.failed for each in outcomes)
    return RunOutcome(completed=True, interrupted=False, done=done, failed=failed, remaining=0)


def _head(head: RunHead, shards: Sequence[Evaluation], *, name: str) -> RunHead:
    ids = [shard.head.run_id for shard in shards]
    of_a_file = () if name == head.dataset_id else ("dataset_path", "reading")
    configuration = {each: told for each, told in head.configuration.items() if each not in of_a_file}
    configuration |= {"merged_from": ids} | ({"datasets": [name]} if of_a_file else {})
    return replace(
        head, run_id=f"merged_{ids[0]}", dataset_id=name, configuration=configuration, dataset_hash=None
    )
