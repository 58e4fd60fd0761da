"""What the gate says, in words: the verdict in one sentence, why, which answers got worse, and the way on.

Every report says it by these, so that none of them disagrees with the exit code.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.metrics.declaration import PASS_RATE
from rag_evaluation_framework.reports.tables import figure, one_line
from rag_evaluation_framework.results.evaluations import Evaluation, Row
from rag_evaluation_framework.results.gate import asked_id
from rag_evaluation_framework.results.verdicts import BASELINE, GatedMetric, Regressions, Verdict

MARKS = {"passed": "✓", "failed": "✗", "undecided": "?", "not evaluated": "!", "incomplete": "…"}

_LISTED_IN_FULL = 3
_NAMED = 20


def verdict_of(evaluation: Evaluation) -> Verdict:
    """Return the verdict; of an evaluation without one, that of a gate that is off."""
    if evaluation.verdict is not None:
        return evaluation.verdict
    stopped = None if evaluation.outcome.completed else "incomplete"
    return Verdict(enabled=False, stopped=stopped)  # type: ignore[arg-type]  # one of the words it may be


def headline(evaluation: Evaluation) -> str:
    """Return the verdict's word and its sentence; without a gate, the sentence alone."""
    word = verdict_of(evaluation).word
    said = sentence(evaluation)
    return f"{MARKS[word]} {word.upper()}  {said}" if word in MARKS else said


def sentence(evaluation: Evaluation) -> str:
    """Say in one sentence what came of it."""
    verdict, moved, counts = verdict_of(evaluation), evaluation.regressions, evaluation.counts
    of = f" of {one_line(evaluation.name)}" if len(evaluation.parts) < 2 else ""
    done = f"{counts.finished:,} of {counted(counts.total, 'sample')}{of}"
    errors = f", {counts.errors:,} with errors" if counts.errors else ""
    if verdict.word == "incomplete":
        reason = evaluation.outcome.reason
        return f"{done}{errors}" + (f": {one_line(reason, 300)}" if reason else "")
    if verdict.word == "no gate":
        return f"{done}{errors}"
    if verdict.word == "undecided" and moved is not None:
        return f"{_moved(moved)}: too few to rule out chance"
    if verdict.word == "not evaluated":
        first = next(iter(verdict.reasons), "nothing was evaluated")
        if moved is not None and moved.reason is not None and len(verdict.reasons) == 1:
            first = moved.reason
        return f"{first}; the gate fails (exit 1)"
    if moved is not None and (moved.word == "worse" or verdict.word == "passed" or moved.worse):
        passing = f"; {_passing(evaluation)}" if verdict.word == "passed" and _decided(evaluation) else ""
        return f"{_moved(moved)}, compared with {one_line(moved.baseline)}{passing}"
    if verdict.word == "failed":
        return f"{_failing(evaluation) or next(iter(verdict.reasons))}"
    return f"{_passing(evaluation)}{errors}" if _decided(evaluation) else f"{done}{errors}"


def _decided(evaluation: Evaluation) -> tuple[int, int] | None:
    """Return how many answers pass, and of how many that is known; ``None`` if of none."""
    rates = [part.metrics[PASS_RATE] for part in evaluation.runs if PASS_RATE in part.metrics]
    total = sum(rate.n_scored for rate in rates)
    return (sum(round((rate.value or 0) * rate.n_scored) for rate in rates), total) if total else None


def _passing(evaluation: Evaluation) -> str:
    passed, total = _decided(evaluation) or (0, 0)
    all_of_them = evaluation.counts.total // evaluation.head.repeats
    others = f"; {all_of_them - total:,} of {all_of_them:,} have no threshold" if total < all_of_them else ""
    if passed == total:
        pass_all = counted(total, "answer passes", "answers pass")
        return (f"all {pass_all}" if total > 1 else "the answer passes") + others
    return f"{passed:,} of {counted(total, 'answer')} {'passes' if passed == 1 else 'pass'}{others}"


def _failing(evaluation: Evaluation) -> str | None:
    passed, total = _decided(evaluation) or (0, 0)
    failing = total - passed
    if not failing:
        return None
    return f"{failing:,} of {counted(total, 'answer')} {'does' if failing == 1 else 'do'} not pass"


def _moved(moved: Regressions) -> str:
    """Say how many answers got worse and better; without any, which metric fell."""
    worse, better, paired = len(moved.worse), len(moved.better), counted(moved.paired, "answer")
    if moved.answers_passed is not None:
        passed_before, before, passed_now, now = moved.answers_passed
        of_now = counted(now, "answer passes", "answers pass")
        several = f"{passed_now:,} of {of_now}, {passed_before:,} of {before:,} did before"
        return f"{several}; {worse or 'none':} of {counted(moved.paired, 'question')} got worse"
    if worse:
        return f"{worse:,} of {paired} got worse and {better or 'none':} got better"
    fell = [each for each in moved.metrics if each.finding in ("worse", "undecided")]
    if fell:
        told = ", ".join(f"{each.metric} from {figure(each.before)} to {figure(each.now)}" for each in fell)
        return f"none of {paired} got worse, but {told} fell"
    return f"none of {paired} got worse and {better or 'none':} got better"


def explanation(evaluation: Evaluation) -> Iterator[str]:
    """Yield what stands below the sentence: why, what was waived or left out, what would have counted."""
    verdict, moved = verdict_of(evaluation), evaluation.regressions
    if verdict.word in ("failed", "not evaluated"):
        said = sentence(evaluation)
        baseline = [str(check) for check in verdict.checks if check.metric == BASELINE]
        yield from (each for each in verdict.reasons if each not in baseline and not said.startswith(each))
    if verdict.word == "not evaluated" and moved is not None and moved.reason is not None:
        yield f"Compared with {one_line(moved.baseline)}: {_moved(moved)}."
    if verdict.word == "incomplete":
        kept = "What is done is kept, and will not be asked again"
        yield f"{kept}. Nothing was decided (exit {verdict.exit_code})."
    if verdict.word == "undecided" and moved is not None:
        fails = verdict.exit_code
        says = "The gate fails in doubt, as asked" if fails else "The gate passes with this warning"
        needed = "" if moved.would_fail is None else f" With {counted(moved.paired, 'answer')}, "
        needed += f"{moved.would_fail:,} would have failed it." if needed else ""
        yield f"{says} (exit {fails}).{needed}"
    for check in verdict.checks:
        if verdict.enabled and check.excuse == "waived":
            yield str(check)
    left_out = [check.metric for check in verdict.checks if verdict.enabled and check.excuse == "left out"]
    if left_out:
        yield f"left out, since the run was narrowed: {', '.join(dict.fromkeys(left_out))}"
    if moved is not None and moved.unpaired:
        names = ", ".join(sample_id for _, sample_id in moved.unpaired[:_NAMED])
        yield f"{counted(len(moved.unpaired), 'answer')} cannot be compared, scored in one run alone: {names}"
    if moved is not None and (moved.new or moved.gone):
        yield f"{moved.new:,} new, {moved.gone:,} gone or edited since"


def way_on(evaluation: Evaluation) -> Iterator[str]:
    """Yield what can be done now, one a line."""
    verdict, moved = verdict_of(evaluation), evaluation.regressions
    if verdict.word == "undecided":
        yield "if your agent answers the same each time, --max-regressions 0 fails here"
        if evaluation.head.repeats == 1:
            yield "otherwise --repeats 5 asks each question five times and tells noise from change"
        if not verdict.fails_undecided:
            yield "--on-undecided fail stops every build in doubt"
    elif verdict.word == "not evaluated":
        names = dict.fromkeys(check.metric for check in verdict.checks if check.is_open)
        if moved is not None and BASELINE in names:
            yield "leave out --sample-size, or compare with a run of the same samples"
        if names:
            yield f"{' '.join(f'--waive {name}' for name in names)} passes without"
    elif verdict.word == "passed" and moved is None and _is_kept(evaluation):
        yield f"--baseline {evaluation.head.run_id} compares the next version with this one"


def _is_kept(evaluation: Evaluation) -> bool:
    return evaluation.kept is None and evaluation.folder is not None


@dataclass(frozen=True, slots=True)
class WorseAnswer:
    """An answer that got worse: its name, what was asked, and both answers as far as they are known."""

    name: str
    question: str
    before: str | None
    now: str | None
    file: str | None = None
    line: int | None = None


def sample_name(row: Row, *, by_line: bool = True) -> str:
    """Return what a sample is called: the line of its file, counted from 1, or its id."""
    origin = None if row.sample is None else row.sample.origin
    return row.id if origin is None or origin.line is None or not by_line else f"line {origin.line}"


def worse_answers(evaluation: Evaluation, limit: int | None = None) -> list[WorseAnswer]:
    """Return the answers that got worse since the baseline, up to ``limit`` of them."""
    moved = evaluation.regressions
    if moved is None:
        return []
    wanted = dict.fromkeys(moved.worse[:limit])
    found: dict[tuple[str, str], WorseAnswer] = {}
    for name, part in evaluation.named_runs.items():
        ids = {sample_id for dataset, sample_id in wanted if dataset == part.name}
        several = len(evaluation.parts) > 1
        for row in part.rows if ids else ():
            asked = asked_id(row.id) if part.head.repeats > 1 else row.id
            # Of several answers one that does not pass is shown.
            if asked in ids and ((part.name, asked) not in found or row.passes is False):
                called = sample_name(row, by_line=part.kind != "golden")
                origin = None if row.sample is None else row.sample.origin
                found[part.name, asked] = WorseAnswer(
                    f"{name}, {called}" if several else called,
                    row.question,
                    moved.answers.get((part.name, asked)),
                    row.response.text if row.response.failure is None else row.error,
                    str(part.head.configuration.get("dataset_path")),
                    None if origin is None else origin.line,
                )
    return [found[each] for each in wanted if each in found]


def worse_lines(evaluation: Evaluation) -> Iterator[str]:
    """Yield the answers that got worse: the first few with both answers, the rest by name."""
    answers = worse_answers(evaluation, _LISTED_IN_FULL + _NAMED)
    for each in answers[:_LISTED_IN_FULL]:
        yield f"  {each.name}  {one_line(each.question)}"
        for word, text in (("before", each.before), ("now   ", each.now)):
            if text is not None:
                yield f"    {word}  {one_line(text, 300)}"
    moved = evaluation.regressions
    more = len(moved.worse) - min(len(answers), _LISTED_IN_FULL) if moved is not None else 0
    if more:
        named = [each.name for each in answers[_LISTED_IN_FULL:]]
        rest = ", …" if more > len(named) else ""
        yield f"  {more:,} more: {', '.join(named)}{rest}"


def moved_cells(moved: Regressions) -> tuple[list[str], list[list[str]]]:
    """Return the headers and a row for each gated metric: before, now, what may be claimed."""
    rows = [_moved_row(each) for each in moved.metrics]
    return ["dataset", "metric", "before", "now", "difference", "samples", "verdict"], rows


def _moved_row(each: GatedMetric) -> list[str]:
    difference = each.difference
    ends = "" if each.interval is None else f" [{each.interval.low:+.4f}, {each.interval.high:+.4f}]"
    told = "–" if difference is None else f"{difference:+.4f}{ends}" if difference else "0"
    figures = [figure(each.before), figure(each.now), told, f"{each.n:,}"]
    return [each.dataset, each.metric, *figures, each.finding]
