"""The sentences of verdicts: one function for each situation, the same words on every surface.

Each returns a sentence of at most 90 characters with its period, so far as the names in it are short.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from math import ceil, floor

from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.judging.verdict import CORRECT, PARTLY_CORRECT, WRONG, name_of_state
from rag_evaluation_framework.reports.blocks import measure, one_line
from rag_evaluation_framework.results.verdicts import BASELINE, Check, Regressions, Verdict, format_bound

_LONGEST = 78
"""Maximum length of a sentence beside its mark and its word."""
KINDS: Mapping[str, tuple[str, str]] = {
    "retrieval_missed": ("retrieval miss", "retrieval misses"),
    "cut_passage": ("cut passage", "cut passages"),
    "not_used": ("retrieved but not used", "retrieved but not used"),
    "contradicted": ("contradicts its sources", "contradict their sources"),
    "wrong_citation": ("wrong citation", "wrong citations"),
    "unknown": ("cause unknown", "cause unknown"),
}
"""Where an answer failed, of one and of several."""
_FAILURES: Mapping[str, tuple[str, str]] = {
    "timeout": ("timeout", "timeouts"),
    "http-5": ("server error", "server errors"),
    "http-4": ("rejected request", "rejected requests"),
    "no-recorded": ("missing answer", "missing answers"),
}


def all_correct(*, total: int) -> str:
    return f"all {total:,} answers are correct." if total > 1 else "the only answer is correct."


def some_wrong(*, wrong: int, total: int, kinds: Mapping[str, int], conversations: int = 0) -> str:
    within = f" in {counted(conversations, 'conversation')}" if conversations else ""
    said = f"{_part(wrong, total, within)} wrong"
    return f"{said}{format_failure_kinds(kinds, room=_LONGEST - len(said))}."


def format_failure_kinds(kinds: Mapping[str, int], *, room: int = _LONGEST) -> str:
    """Return how the wrong answers fail: ``: 2 retrieval misses, 1 wrong refusal``; "" if it is not known."""
    known = {f"{n:,} {name_kind(kind, n)}": n for kind, n in kinds.items() if kind != WRONG}
    listed = _list_counts(known, total=sum(kinds.values()), room=room - 2)
    return f": {listed}" if listed else ""


def _list_counts(counts: Mapping[str, int], *, total: int, room: int) -> str:
    """Return as many of the named counts as there is room for, and how many others there are."""
    names, numbers = list(counts), list(counts.values())
    for shown in range(len(names), 0, -1):
        others = total - sum(numbers[:shown])
        listed = ", ".join([*names[:shown], *([f"{others:,} other"] if others else [])])
        if len(listed) < room:
            return listed
    return ""


def name_kind(kind: str, count: int = 1) -> str:
    """Return a cause, or the state of a wrong answer without a known cause, in words."""
    return KINDS[kind][count != 1] if kind in KINDS else name_of_state(kind, count)


def wrong_allowed(*, wrong: int, total: int, gate: str) -> str:
    return f"{_part(wrong, total)} wrong; the gate {gate}."


def few_unjudged(*, correct: int, total: int, partly: int, unjudged: int) -> str:
    partly_correct = f", {partly:,} partly correct" if partly else ""
    rest = f"; {counted(unjudged, 'was', 'were')} not judged" if unjudged else ""
    return f"{_part(correct, total)} correct{partly_correct}{rest}."


def correctness_not_judged(*, total: int) -> str:
    return f"every threshold is met; the correctness of {counted(total, 'answer')} was not judged."


def too_few_correct(*, correct: int, total: int, partly: int, gate: str) -> str:
    partly_correct = f", {partly:,} partly correct" if partly else ""
    return f"{_part(correct, total)} correct{partly_correct}; the gate {gate}."


def too_many_unjudged(*, unjudged: int, total: int, wrong: int) -> str:
    known = counted(wrong, "is", "are") if wrong else "none is known to be"
    return f"{_part(unjudged, total, verbs=('was', 'were'))} not judged; {known} wrong."


def nothing_to_judge_by() -> str:
    return "the answers have no reference, label or judge."


def other_questions() -> str:
    return "the baseline has other questions."


def nothing_judged(*, total: int) -> str:
    return f"{_part(total, total, verbs=('was', 'were'))} not judged."


def incomplete(*, answered: int, total: int, reason: str | None) -> str:
    done = f"{answered:,} of {counted(total, 'question was', 'questions were')} answered"
    return f"{done}; {reason.rstrip('.')}." if reason else f"{done}."


def flagged_answers(*, flagged: int, total: int) -> str:
    they = "it states" if flagged == 1 else "they state"
    part = _part(flagged, total, verbs=("was", "were"))
    return f"{part} flagged: {they} things that no retrieved passage contains."


def wrong_uncovered(*, wrong: int, total: int) -> str:
    return f"{_part(wrong, total)} wrong; no threshold covers {'it' if wrong == 1 else 'them'}."


def mean_missed(*, metric: str, value: str, threshold: str, wrong: int | None = None) -> str:
    known = "" if wrong is None else "; no answer is known to be wrong"
    known = f"; {counted(wrong, 'answer is', 'answers are')} wrong" if wrong else known
    return f"{metric} is {value}, the threshold is {threshold}{known}."


def became_wrong(
    *, worse: int, baseline: str, partly: int = 0, is_confirmed: bool = False, allowed: int = 0
) -> str:
    answers = counted(worse, "answer that was", "answers that were")
    correct = ("partly correct" if partly == worse else "not wrong") if partly else "correct"
    again = ", also when asked again" if is_confirmed else ""
    limit = f"; the gate allows {allowed:,}" if allowed else ""
    return f"{answers} {correct} in {baseline} {'is' if worse == 1 else 'are'} now wrong{again}{limit}."


def none_got_worse(*, baseline: str, better: int, unstable: int = 0, unsure: int = 0) -> str:
    if unsure:
        changed = counted(unsure, "is partly correct or was", "are partly correct or were")
        return f"no answer became wrong since {baseline}; {changed} not confirmed."
    more = f"; {counted(unstable, 'is', 'are')} unstable" if unstable else ""
    more = more or (f"; {better:,} got better" if better else "")
    return f"no answer got worse than in {baseline}{more}."


def no_longer_confirmed(*, count: int, baseline: str, were_judged: bool = False) -> str:
    if were_judged:
        answers = counted(count, "answer is", "answers are")
        return f"{answers} no longer as good as in {baseline}, but not wrong every time."
    answers = counted(count, "answer that was", "answers that were")
    return f"{answers} correct in {baseline} could not be judged this time."


def different_samples(
    *, word: str, share: float, total: int, share_before: float, before: int, low: int, high: int, what: str
) -> str:
    now = f"{share:.0%} of {counted(total, 'answer was', 'answers were')} {what}"
    return f"{word}: {now}, {share_before:.0%} of {before:,} before ({low:+} to {high:+} points)."


def refusals_missed(*, missed: int, expected: int) -> str:
    was = "was" if missed == 1 else "were"
    return f"{missed:,} of {counted(expected, 'question')} that should be refused {was} answered."


def judge_failed(*, silent: int, asked: int, reason: str | None) -> str:
    said = f"the judge gave no verdict on {silent:,} of {counted(asked, 'answer')}"
    return f"{said} ({reason})." if reason and len(said) + len(reason) + 3 <= _LONGEST else f"{said}."


def agent_failed(*, failed: int, total: int, kinds: Mapping[str, int], noun: str = "question") -> str:
    said = f"{failed:,} of {counted(total, noun)} got no answer"
    by_name: Counter[tuple[str, str]] = Counter()
    for kind, count in kinds.items():
        by_name[_name_failure(kind)] += count
    named = {counted(count, *names): count for names, count in by_name.items()}
    listed = _list_counts(named, total=failed, room=_LONGEST - len(said) - 3)
    return f"{said} ({listed})." if listed else f"{said}."


def _name_failure(kind: str) -> tuple[str, str]:
    known = next((names for start, names in _FAILURES.items() if kind.startswith(start)), None)
    named = kind.replace("-", " ")
    named = named if named.endswith(("error", "failure")) else f"{named} error"
    return known or (named, f"{named}s")


def off_topic(*, count: int, total: int) -> str:
    contain = "contains" if 1 in (count, total) else "contain"
    return f"{_part(count, total, verbs=('', ''))}{contain} none of the expected words; none was judged."


def without_gate(*, correct: int, partly: int, wrong: int, unjudged: int) -> str:
    total = correct + partly + wrong + unjudged
    counts = {CORRECT: correct, PARTLY_CORRECT: partly, WRONG: wrong}
    present = [grade for grade, count in counts.items() if count]
    if not present:
        return nothing_judged(total=total)
    first, *others = present
    named = [name_of_state(first), *(f"{counts[each]:,} {name_of_state(each)}" for each in others)]
    rest = f"; {counted(unjudged, 'was', 'were')} not judged" if unjudged else ""
    return f"{_part(counts[first], total)} {', '.join(named)}{rest}."


def no_problems(*, total: int, unjudged: int) -> str:
    rest = f"; {counted(unjudged, 'was', 'were')} not judged" if unjudged else ""
    return f"No problems found in {counted(total, 'answer')}{rest}."


def compared(*, word: str, worse: int, better: int) -> str:
    return f"{word}: {counted(worse, 'answer')} got worse, {better:,} got better."


def recommended_setup(
    *, setup: str, metric: str, value: str | None, tied: int, total: int, k: int | None = None
) -> str:
    within = "" if k is None else f" for k = {k:,}"
    rank = (
        f"tied with {counted(tied, 'other setup')}" if tied else f"the highest of {counted(total, 'setup')}"
    )
    figure = "" if value is None else f" {metric[0].upper()}{metric[1:]} {value}, {rank}."
    return f"Recommended{within}: {setup}.{figure}"


def no_common_question() -> str:
    return "Not comparable answer by answer: the runs share no questions."


def _part(number: int, total: int, within: str = "", verbs: tuple[str, str] = ("is", "are")) -> str:
    """Return a part of the answers with its verb: ``1 of 30 answers is``, ``0 of 1 answer is``."""
    return f"{number:,} of {counted(total, 'answer')}{within} {verbs[number != 1 and total != 1]}"


def demand_text(check: Check) -> str:
    """Return the number that a limit demands: ``requires 27``, ``allows 2``."""
    required = check.required or 0
    number = f"{ceil(required - 1e-9) if check.operator == '>=' else floor(required + 1e-9):,}"
    return f"{'requires' if check.metric == CORRECT else 'allows'} {number}"


def limit_sentence(check: Check) -> str:
    """Return a threshold, its count and its result."""
    share = "" if check.is_count else f" ({format_bound(check)} of {check.of or 0:,})"
    excess = check.is_count and check.is_of_grade and (check.bound or 0) > (check.of or 0) > 0
    warning = "; warning: the run has fewer answers" if excess else ""
    of = "" if check.dataset is None else f"{one_line(check.dataset)}: "
    found = f"{of}{check.metric}: {check.number or 0:,}"
    return f"{found}, the gate {demand_text(check)}{share}: {check.status}{warning}"


_RUN_DAY = re.compile(r"eval_run_\d{8}_(?=\d)")


def name_baseline(moved: Regressions) -> str:
    return one_line(_RUN_DAY.sub("", moved.baseline), 24)


def open_reasons(verdict: Verdict) -> Iterator[str]:
    yield from verdict.unevaluated
    for check in verdict.checks:
        if check.is_open and check.metric != BASELINE:
            of = "" if check.dataset is None else f"{one_line(check.dataset)}: "
            yield f"{of}{check.metric} was not evaluated" + (f": {check.reason}" if check.reason else "")


def missed_sentence(check: Check, *, several: bool, wrong: int | None) -> str:
    """Say by how much a mean, of one of several datasets, misses its threshold."""
    of = f"{one_line(str(check.dataset), 24)}: " if check.dataset is not None and several else ""
    if check.number is not None:
        value, bound = f"{check.number:,} of {check.of:,}", format_bound(check)
    else:
        value = measure(check.metric, check.value, bound=check.bound)
        bound = measure(check.metric, check.bound)
    held = "" if check.held in ("mean", "answers") else f" ({check.held})"
    return mean_missed(metric=f"{of}{check.metric}{held}", value=value, threshold=bound, wrong=wrong)


def moved_sentence(moved: Regressions) -> str:
    """Say how many answers got worse and better; without any, which metric fell."""
    worse, better, paired = len(moved.worse), len(moved.better), counted(moved.paired, "answer")
    fell = [each for each in moved.metrics if each.finding in ("worse", "undecided")]
    if fell and not worse:
        told = ", ".join(
            f"{each.metric} from {measure(each.metric, each.before)} to {measure(each.metric, each.now)}"
            for each in fell
        )
        return f"0 of {paired} got worse, but {told} fell"
    return f"{worse:,} of {paired} got worse and {better:,} got better"


def excused_sentences(verdict: Verdict) -> Iterator[str]:
    for check in verdict.checks:
        if verdict.enabled and check.excuse == "waived":
            yield f"{check.metric} was not evaluated and is waived" + (
                f": {check.reason}" if check.reason else ""
            )
    left_out = [check.metric for check in verdict.checks if verdict.enabled and check.excuse == "left out"]
    if left_out:
        yield f"Not checked, since the run has a part of the questions: {', '.join(dict.fromkeys(left_out))}"
