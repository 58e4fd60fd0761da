"""What the gate says, in words: the verdict in one sentence, why, which answers got worse, and the way on.

Every report says it by these, so that none of them disagrees with the exit code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from math import comb
from pathlib import Path
from shlex import join, quote
from typing import TypeAlias

from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.evaluation.agent_shapes import DEFAULT_PATH
from rag_evaluation_framework.evaluation.suites import JUDGE
from rag_evaluation_framework.files.project_root import is_runs_directory
from rag_evaluation_framework.metrics.declaration import PASS_RATE
from rag_evaluation_framework.records.runs import RunHead
from rag_evaluation_framework.records.samples import RECORDED_ROWS
from rag_evaluation_framework.reports.cases import (
    KINDS,
    in_common,
    kinds_said,
    named_rows,
    names_listed,
    sample_name,
    shortcomings,
)
from rag_evaluation_framework.reports.screen import listed, measure, number_word, one_line, part_of
from rag_evaluation_framework.results.evaluations import Evaluation, Row
from rag_evaluation_framework.results.gate import asked_id
from rag_evaluation_framework.results.pairing import OTHER_QUESTIONS
from rag_evaluation_framework.results.regressions import FLIPS_LEVEL
from rag_evaluation_framework.results.run_folder import CELLS, in_runs, short_id
from rag_evaluation_framework.results.summaries import Figure
from rag_evaluation_framework.results.verdicts import BASELINE, Check, Regressions, Verdict
from rag_evaluation_framework.startup import dataclass
from rag_evaluation_framework.statistics.paired import flips_p_value

MARKS = {"passed": "✓", "failed": "✗", "undecided": "?", "not evaluated": "!", "incomplete": "…"}

_NAMED = 20
_FULL = "the disk is full"
_IMPORTED = re.compile(r"[\w.]+:[\w.]+")
_LISTED_REASONS = 3


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
    if verdict.word == "incomplete":
        reason = evaluation.outcome.reason
        reason = _FULL if reason and reason.startswith(_FULL) else reason
        done = part_of(counts.finished, counts.total, "answer")
        return done + (f": {one_line(reason, 300)}" if reason else "")
    if verdict.word == "no gate":
        return _without_gate(evaluation)
    if verdict.word == "undecided" and moved is not None:
        return f"{_moved(moved)}: too few to rule out chance"
    if verdict.word == "not evaluated":
        reason = None if moved is None else moved.reason
        first = next(_open_reasons(verdict), None) or reason or "nothing was evaluated"
        return f"{first}; the gate fails (exit 1)"
    if moved is not None and (moved.word == "worse" or verdict.word == "passed"):
        passing = f"; {_passing(evaluation)}" if verdict.word == "passed" and _decided(evaluation) else ""
        return f"{_moved(moved)}, compared with {one_line(moved.baseline)}{passing}"
    if verdict.word == "failed":
        return _failing(evaluation) or next(iter(_failed_checks(verdict)), None) or verdict.reasons[0]
    return _passing(evaluation) if _decided(evaluation) else _without_gate(evaluation)


def _without_gate(evaluation: Evaluation) -> str:
    """Say how many answers are wrong, where that is known, and how many have none."""
    counts, blame = evaluation.counts, evaluation.blame
    asked = counts.total if counts.finished == counts.total else counts.finished
    kinds = ", ".join(f"{kind} {count:,}" for kind, count in counts.failures.items())
    lacking = (
        f", {counts.failed:,} without an answer{f' ({kinds})' if kinds else ''}" if counts.failed else ""
    )
    if blame is None or not (blame.told or blame.unknown_but_wrong):
        of = part_of(counts.finished, counts.total, "answer") if counts.total != counts.finished else ""
        is_unwanted = blame is None and evaluation.head.configuration.get("blame") is False
        unsought = "; where they fail was not looked for (--no-blame)" if is_unwanted else ""
        return (of or counted(asked, "answer")) + lacking + unsought
    faults = {
        KINDS[each.kind]: each.count
        for each in blame.shares
        if each.count and each.kind not in ("ok", "unknown")
    }
    unclear = blame.unknown_but_wrong
    wrong, unknown = sum(faults.values()) + unclear, blame.total - blame.told - unclear
    untold = f"; cause unknown for {unknown:,}" if unknown else ""
    said = part_of(wrong, blame.total, "answer", "is", "are")
    if unclear and not faults:
        return f"{said} wrong for an unknown reason{untold}{lacking}"
    if not wrong:
        return f"{part_of(blame.told, blame.total, 'answer', 'is', 'are')} right{untold}{lacking}"
    is_of_rows = holds_rows(evaluation)  # which stand as they are: of the others nothing is known to be wrong
    faults |= {f"{'wrong ' * is_of_rows}for an unknown reason": unclear} if unclear else {}
    if is_of_rows:
        return (
            f"{part_of(wrong, blame.total, 'answer', 'needs', 'need')} a look: {kinds_said(faults)}{lacking}"
        )
    return f"{said} wrong: {kinds_said(faults)}{untold}{lacking}"


def holds_rows(evaluation: Evaluation) -> bool:
    """Tell whether the answers are somebody's rows, which nobody was asked for."""
    return "reading" in evaluation.head.configuration


def _rates(evaluation: Evaluation) -> list[Figure]:
    return [part.metrics[PASS_RATE] for part in evaluation.runs if PASS_RATE in part.metrics]


def _decided(evaluation: Evaluation) -> tuple[int, int] | None:
    """Return how many answers pass, and of how many that is known; ``None`` if of none."""
    rates = _rates(evaluation)
    total = sum(rate.n_scored for rate in rates)
    return (sum(round((rate.value or 0) * rate.n_scored) for rate in rates), total) if total else None


def _passing(evaluation: Evaluation) -> str:
    errors = f", {evaluation.counts.errors:,} with errors" if evaluation.counts.errors else ""
    rates = _rates(evaluation)
    if len(rates) == 1 and rates[0].judged is not None and rates[0].value is not None:
        of_all = counted(rates[0].judged.n, "answer")
        return f"about {rates[0].value:.0%} of {of_all}, by {rates[0].n_scored:,} judged{errors}"
    passed, total = _decided(evaluation) or (0, 0)
    all_of_them = evaluation.counts.total // evaluation.head.repeats
    others = f"; {all_of_them - total:,} of {all_of_them:,} have no threshold" if total < all_of_them else ""
    return part_of(passed, total, "answer") + others + errors


def _failing(evaluation: Evaluation) -> str | None:
    """Say how many answers do not pass, and why; ``None`` if all that count do."""
    asked = evaluation.counts.total // evaluation.head.repeats
    if evaluation.head.repeats > 1:
        passed, total = _decided(evaluation) or (0, 0)
        told = part_of(total - passed, asked, "question", "does", "do")
        return f"{told} not pass" if total > passed else None
    found = shortcomings(evaluation)
    if found.failing and (judged := sum(each.n_scored for each in _rates(evaluation) if each.judged)):
        return f"{found.failing:,} of {judged:,} judged answers: {kinds_said(found.kinds)}"
    return f"{part_of(found.failing, asked, 'answer')}: {kinds_said(found.kinds)}" if found.failing else None


def _failed_checks(verdict: Verdict) -> list[str]:
    """Say of each check that was missed what it is and what it needs."""
    return [_missed(check) for check in verdict.checks if check.fails and check.metric != BASELINE]


def _missed(check: Check) -> str:
    of = "" if check.dataset is None else f"{one_line(check.dataset)}: "
    needs = "" if check.bound is None else f", needs {check.operator} {check.bound:g}"
    held = "" if check.held == "mean" else f" ({check.held})"
    return f"{of}{check.metric} is {measure(check.metric, check.value, bound=check.bound)}{needs}{held}"


def _open_reasons(verdict: Verdict) -> Iterator[str]:
    yield from verdict.unevaluated
    for check in verdict.checks:
        if check.is_open and check.metric != BASELINE:
            of = "" if check.dataset is None else f"{one_line(check.dataset)}: "
            yield f"{of}{check.metric} was not evaluated" + (f": {check.reason}" if check.reason else "")


def _moved(moved: Regressions) -> str:
    """Say how many answers got worse and better; without any, which metric fell."""
    worse, better, paired = len(moved.worse), len(moved.better), counted(moved.paired, "answer")
    if moved.answers_passed is not None:
        passed_before, before, passed_now, now = moved.answers_passed
        of_now = counted(now, "answer passes", "answers pass")
        several = f"{passed_now:,} of {of_now}, {passed_before:,} of {before:,} did before"
        return f"{several}; {worse or 'none':} of {counted(moved.paired, 'question')} got worse"
    if worse and moved.word == "worse":
        return f"{worse:,} of {paired} got worse and {better or 'none':} got better"
    if worse:
        return f"{worse:,} of {paired} got worse, {better or 'none':} better"
    fell = [each for each in moved.metrics if each.finding in ("worse", "undecided")]
    if fell:
        told = ", ".join(
            f"{each.metric} from {measure(each.metric, each.before)} to {measure(each.metric, each.now)}"
            for each in fell
        )
        return f"none of {paired} got worse, but {told} fell"
    return f"none of {paired} got worse and {better or 'none':} got better"


def explanation(evaluation: Evaluation) -> Iterator[str]:
    """Yield what stands below the sentence: why, what was waived or left out, what would have counted."""
    verdict, moved = verdict_of(evaluation), evaluation.regressions
    said = sentence(evaluation)
    if verdict.word == "failed":
        yield from verdict.broken_rules
        if moved is not None and moved.word == "worse":
            yield from filter(None, [in_common([each.row for each in worse_answers(evaluation)])])
            yield from _failed_checks(verdict)
        elif moved is not None:
            yield f"Compared with {one_line(moved.baseline)}: {_moved(moved)}."
        elif not shortcomings(evaluation).failing:
            yield from (each for each in _failed_checks(verdict) if each != said)
    if verdict.word in ("failed", "not evaluated"):
        yield from (each for each in _open_reasons(verdict) if not said.startswith(each))
    if verdict.word == "not evaluated" and moved is not None and moved.reason not in (None, OTHER_QUESTIONS):
        named = (
            f" ({names_listed([each.name for each in worse_answers(evaluation, _NAMED)])})"
            if moved.worse
            else ""
        )
        told = _moved(moved).replace(" got worse", f" got worse{named}", 1)
        yield f"Compared with {one_line(moved.baseline)}: {told}."
        least, likely = sizes_needed()
        if moved.paired < least:
            yield f"At least {least} are needed, and about {likely} to notice one answer in four."
    if verdict.word == "incomplete":
        finished = evaluation.counts.finished
        kept = f"The {number_word(finished)} are kept" if finished > 1 else "What is done is kept"
        yield f"{kept}, and will not be asked again. Nothing was decided (exit {verdict.exit_code})."
    if verdict.word == "undecided" and moved is not None:
        fails = verdict.exit_code
        says = "The gate fails in doubt, as asked" if fails else "The gate passes with this warning"
        needed = "" if moved.would_fail is None else f" With {counted(moved.paired, 'answer')}, "
        needed += f"{moved.would_fail:,} would have failed it." if needed else ""
        yield f"{says} (exit {fails}).{needed}"
    if verdict.word != "incomplete":
        yield from _excused(verdict)
        yield from _not_compared(moved)


def _excused(verdict: Verdict) -> Iterator[str]:
    for check in verdict.checks:
        if verdict.enabled and check.excuse == "waived":
            yield f"{check.metric} was not evaluated, and is waived" + (
                f": {check.reason}" if check.reason else ""
            )
    left_out = [check.metric for check in verdict.checks if verdict.enabled and check.excuse == "left out"]
    if left_out:
        yield f"left out, since the run was narrowed: {', '.join(dict.fromkeys(left_out))}"


def _not_compared(moved: Regressions | None) -> Iterator[str]:
    if moved is not None and moved.unpaired:
        names = names_listed([sample_id for _, sample_id in moved.unpaired])
        yield f"{counted(len(moved.unpaired), 'answer')} cannot be compared, scored in one run alone: {names}"
    if moved is None:
        return
    if moved.reason in (None, OTHER_QUESTIONS) and (moved.new or moved.gone):
        yield f"{moved.new:,} new, {moved.gone:,} gone since"
    if moved.edited:
        yield f"edited since, and compared all the same: {names_listed([name for _, name in moved.edited])}"
    if moved.left_out:
        names = names_listed([name for _, name in moved.left_out])
        left_out = counted(len(moved.left_out), "question")
        yield f"{left_out} left out by --sample-size, --tag or --dataset: {names}"
    if moved.notice is not None:
        yield moved.notice


def sizes_needed() -> tuple[int, int]:
    """Return how many answers can show a drop at all, and how many show one of four times in five."""
    least = next(n for n in range(1, 100) if flips_p_value(n, 0) <= FLIPS_LEVEL)

    def misses(n: int) -> float:
        return sum(comb(n, k) * 0.25**k * 0.75 ** (n - k) for k in range(least))

    likely = next(n for n in range(least, 1000) if misses(n) <= 0.2)
    return least, 5 * round(likely / 5)


def chance(moved: Regressions) -> str | None:
    """Say how often chance alone would make so many answers worse; ``None`` if they are not shown to be."""
    if moved.word != "worse" or not moved.worse or moved.p_value > FLIPS_LEVEL:
        return None
    often = (
        "less than once" if moved.p_value < 0.01 else f"about {counted(round(100 * moved.p_value), 'time')}"
    )
    return f"By chance alone this would happen {often.replace('1 time', 'once')} in a hundred times."


def way_on(evaluation: Evaluation) -> Iterator[tuple[str, str]]:
    """Yield what can be done now, a command or a sentence, and what for."""
    verdict, moved = verdict_of(evaluation), evaluation.regressions
    run, runs_option = _named(evaluation)
    if verdict.word == "undecided":
        yield "if your agent answers the same each time, --max-regressions 0 fails here", ""
        if evaluation.head.repeats == 1:
            yield "otherwise --repeats 5 asks each question five times and tells noise from change", ""
        if not verdict.fails_undecided:
            yield "--on-undecided fail stops every build in doubt", ""
    elif verdict.word == "not evaluated":
        names = dict.fromkeys(check.metric for check in verdict.checks if check.is_open)
        waiving = f"add {' '.join(f'--waive {name}' for name in names)}" if names else ""
        if moved is not None and BASELINE in names:
            is_other = moved.reason == OTHER_QUESTIONS
            yield f"{'save a new baseline' if is_other else 'leave out --sample-size'}, or {waiving}", ""
        elif waiving:
            yield f"{waiving} to pass without", ""
    elif not _is_kept(evaluation):
        return
    elif verdict.word == "incomplete":
        yield from _continued(evaluation)
    elif verdict.word == "passed" and moved is None:
        if shortcomings(evaluation).failing:
            yield f"rag-eval show {run} --failed{runs_option}", "what falls short"
        if (command := _asking_again(evaluation)) is not None:
            yield f"{command} --baseline {run}{runs_option}", "compare the next version with this one"
    elif moved is not None and moved.word == "worse":
        yield (
            f"rag-eval compare {_short(moved.baseline, evaluation)} {run}{runs_option}",
            f"all {number_word(len(moved.worse))}, side by side",
        )
    elif verdict.word == "failed" and shortcomings(evaluation).failing:
        yield f"rag-eval show {run} --failed{runs_option}", "with everything that was retrieved"
    elif verdict.word == "no gate" and holds_rows(evaluation):
        more = shortcomings(evaluation).wrong - 3
        has_contexts = any(part.counts.origins for part in evaluation.runs)
        others = [f"the other {number_word(more)}"] * (more > 0) + ["with their contexts"] * has_contexts
        yield f"rag-eval show {run}{runs_option}", ", ".join(others) or "each answer"
        yield f"rag-eval report {run}{runs_option}", "all of it as one page"
    elif verdict.word == "no gate" and (shortcomings(evaluation).wrong or shortcomings(evaluation).failing):
        yield f"rag-eval show {run} --failed{runs_option}", "each with what was retrieved"


def _named(evaluation: Evaluation) -> tuple[str, str]:
    """Return what a command calls an evaluation: its run, and the option that says where runs are kept."""
    folder = evaluation.folder or next((part.folder for part in evaluation.runs if part.folder), None)
    if folder is None:
        return evaluation.head.run_id, ""
    return short_id(folder), in_runs(folder.parent)


def _asking_again(evaluation: Evaluation) -> str | None:
    """Return the command that asks everything anew; ``None`` if no command began the run."""
    head = next((part.head for part in evaluation.runs), evaluation.head)
    selection = head.configuration.get("selection")
    words = _golden if "golden" in head.configuration else _evaluate
    if not isinstance(selection, Mapping) or not {"golden", "manifest"} & head.configuration.keys():
        return None
    chosen = ["--allow-missing"] if words is _evaluate and selection.get("allow_missing") else []
    part = "--split" if words is _golden else "--dataset"
    for name, option in (("datasets", part), ("metrics", "-m"), ("tags", "--tag")):
        chosen += [f"{option} {quote(str(each))}" for each in selection.get(name) or ()]
    if selection.get("sample_size"):
        chosen.append(f"--sample-size {selection['sample_size']}")
    return " ".join([_addressed(" ".join(words(head)), evaluation.target), *chosen, *_judges(head)])


def _addressed(command: str, target: str | None) -> str:
    """Return a command with the address as it was given, where the head of a run does not tell it."""
    is_known = target is not None and target.startswith("http") and target.isprintable()
    return command.replace("--url URL", f"--url {quote(str(target))}") if is_known else command


def _continued(evaluation: Evaluation) -> Iterator[tuple[str, str]]:
    """Yield the command that continues a run, with the address and the id as they are."""
    ended = ((part, part.outcome) for part in evaluation.runs)
    part = next((part for part, end in ended if end.interrupted or not end.completed), None)
    if part is None or part.folder is None:
        return
    command = resuming_command(part.head, part.folder)
    target = evaluation.target or part.target
    if command is not None:
        command, reason = _addressed(command, target), part.outcome.reason or ""
        if "--max-cost" in reason:  # a higher one, which only the reader knows
            command = re.sub(r"--max-cost \S+", "--max-cost USD", command)
        named = f"--resume {part.head.run_id}"
        is_full = reason.startswith(_FULL)
        purpose = "when there is room on the disk" if is_full else ""
        yield command.replace(named, f"--resume {short_id(part.folder)}"), purpose


def _short(run_id: str, evaluation: Evaluation) -> str:
    """Return the shortest end of a run's id, if the run is kept beside the evaluation."""
    path = None if evaluation.folder is None else evaluation.folder.parent / run_id
    return short_id(path) if path is not None and path.is_dir() else one_line(run_id)


def _is_kept(evaluation: Evaluation) -> bool:
    folder = evaluation.folder or next((part.folder for part in evaluation.runs), None)
    return evaluation.kept is None and folder is not None


@dataclass(frozen=True, slots=True)
class WorseAnswer:
    """An answer that got worse: its name, what was asked, and both answers as far as they are known."""

    name: str
    question: str
    before: str | None
    now: str | None
    row: Row
    file: str | None = None
    line: int | None = None


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
                    row,
                    str(part.head.configuration.get("dataset_path")),
                    None if origin is None else origin.line,
                )
    return [found[each] for each in wanted if each in found]


def wrong_though_passing(evaluation: Evaluation) -> str | None:
    """Name the answers that are wrong though no threshold says so; ``None`` if there are none."""
    found = shortcomings(evaluation)
    if not found.wrong or not verdict_of(evaluation).enabled:
        return None
    names = names_listed([name for name, _ in named_rows(evaluation, found.worst_wrong[:_NAMED])])
    are = "is" if found.wrong == 1 else "are"
    kinds = kinds_said(found.wrong_kinds)
    return f"{counted(found.wrong, 'answer')} {are} wrong, though no threshold says so: {kinds} ({names})"


def untold_blame(evaluation: Evaluation) -> str | None:
    """Say for how many answers the cause is unknown, and what is missing; ``None`` if it is known for all."""
    summary = evaluation.blame
    unknown = 0 if summary is None else summary.total - summary.told
    if summary is None or not unknown:
        return None
    reasons = list(summary.unknown_because.items())
    said = "; ".join(f"{one_line(why)} ({count:,})" for why, count in reasons[:_LISTED_REASONS])
    more = "; …" if len(reasons) > _LISTED_REASONS else ""
    return f"cause unknown for {unknown:,}: {said}{more}"


def refusals_said(evaluation: Evaluation) -> str | None:
    """Say how many questions were declined that should be, and that should not; ``None`` without any."""
    table = evaluation.refusals
    if table is None or not table.methods:
        return None
    right, wrong = table.should_refuse, table.should_answer
    parts = []
    if right.total:
        parts.append(f"{part_of(right.refused, right.total, 'question')} it should decline")
    if wrong.total:
        none = (
            f"none of the {wrong.total:,}"
            if not wrong.refused
            else f"{wrong.refused:,} of the {wrong.total:,}"
        )
        parts.append(f"{none} it should answer")
    return f"It declined {listed(parts)}." if parts else None


# The command that goes on with a run: the one that began it, with what its head tells of the arguments.
#
# What the head does not tell, as where the documents are, stands in capitals as in the command's help.

_Words: TypeAlias = Callable[[RunHead], Iterator[str]]


def resuming_command(head: RunHead, path: Path) -> str | None:
    """Return the command that goes on with the run in this folder; ``None`` if no command began it."""
    words = next((words for kind, words in _COMMANDS.items() if kind in head.configuration), None)
    if words is None:
        return None
    if words is _evaluate and head.target == RECORDED_ROWS:
        words = partial(_evaluate, command="score")
    run = head.run_id if is_runs_directory(path.parent) else str(path)
    options = [quote(str(each)) for each in head.parameters.get("options") or ()]
    told = [each for each in (*words(head), *_judges(head)) if each.split()[0] not in options]
    return " ".join([*told, *options, "--resume", quote(run)])


def _golden(head: RunHead) -> Iterator[str]:
    yield f"rag-eval golden {quote(str(head.configuration['golden']))}"
    yield _target(head)
    if head.configuration.get("history") == "reference":
        yield "--history reference"


def _evaluate(head: RunHead, *, command: str = "evaluate") -> Iterator[str]:
    named = head.configuration.get("manifest") or head.configuration.get("dataset_path") or "MANIFEST"
    yield f"rag-eval {command} {quote(str(named))}"
    yield from (_target(head),) if command == "evaluate" else ()


def _generate(head: RunHead) -> Iterator[str]:
    given = head.configuration.get("arguments")
    usual = f"CORPUS -o FILE --model {quote(str(head.target))}"
    yield "rag-eval generate " + (join(map(str, given)) if isinstance(given, list) else usual)


def _retrieval(head: RunHead) -> Iterator[str]:
    given = head.configuration.get("arguments")
    yield "rag-eval retrieval " + (join(map(str, given)) if isinstance(given, list) else "CORPUS")


def _evaluate_models(head: RunHead) -> Iterator[str]:
    yield "python scripts/evaluate_models.py"
    yield f"--base-url {quote(str(head.configuration.get('base_url', 'URL')))}"


# By the field that only heads of this kind have; those of golden sets and of models have what those of
# manifests have too.
_COMMANDS: Mapping[str, _Words] = {
    "golden": _golden,
    "models": _evaluate_models,
    "selection": _evaluate,
    "generation": _generate,
    CELLS: _retrieval,
}


def _target(head: RunHead) -> str:
    """Return the option that names the target again, as far as its own name tells what was given."""
    name = str(head.target)
    if name.startswith(("http://", "https://")):
        address = name.removesuffix(DEFAULT_PATH)
        return f"--url {quote(address) if address != name and address.isprintable() else 'URL'}"
    is_told = _IMPORTED.fullmatch(name) or Path(name).is_file()
    return f"--target {quote(name) if is_told and name.isprintable() else 'TARGET'}"


def _judges(head: RunHead) -> Iterator[str]:
    cap, prices = (head.parameters.get(name) for name in ("max_cost_usd", "prices_usd_per_million_tokens"))
    for judge in head.configuration.get(JUDGE) or ():
        model = str(judge["model"] if isinstance(judge, Mapping) else judge)
        if cap is not None and (price := (prices or {}).get(model)):
            amounts = f"price_input={price['input']:g}, price_output={price['output']:g}"
            name = model if model.replace("-", "").replace(".", "").isalnum() else repr(model)
            model = f"openai(model={name}, {amounts})"
        yield f"--judge-model {quote(model)}"
    if cap is not None:
        yield "--max-cost USD"


def card_notes(evaluation: Evaluation) -> list[str]:
    """Return what the card of the judge says of it, where it had one."""
    card = evaluation.head.configuration.get("judge_card")
    return [] if card is None else [str(card)]
