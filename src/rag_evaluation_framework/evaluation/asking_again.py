"""Questions that got worse since a baseline, put to the agent again in folders beside their run."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from rag_evaluation_framework.evaluation.engine import run_samples
from rag_evaluation_framework.judging.verdict import AnswerVerdict, original_sample_id
from rag_evaluation_framework.records.runs import RunOutcome
from rag_evaluation_framework.results.evaluations import Evaluation, rows_of_folder
from rag_evaluation_framework.results.kept_data import keep_unstable
from rag_evaluation_framework.results.movements import ask_again
from rag_evaluation_framework.results.run_folder import KnownSamples, RunFolder
from rag_evaluation_framework.results.verdicts import Regressions
from rag_evaluation_framework.startup import replace

if TYPE_CHECKING:
    from rag_evaluation_framework.evaluation.suites import Suite
    from rag_evaluation_framework.models.spending import TargetSpending

_FOLDER = "asked_again"
Key = tuple[str, str]
"""A question: its dataset and its id."""


class AskingAgain:
    """Asks questions of a finished evaluation again; what was asked before a kill is not asked twice.

    ``outcome`` is that of an asking that did not complete, if there is one.
    """

    def __init__(
        self, suite: Suite, parts: Mapping[str, Evaluation], spending: TargetSpending | None
    ) -> None:
        self._suite, self._parts, self._spending, self._asked = suite, parts, spending, 0
        self.outcome: RunOutcome | None = None

    def settle(self, moved: Regressions) -> Regressions:
        """Return what is left of the regressions once their questions were asked again."""
        wanted = (*moved.worse, *moved.unconfirmed)
        verdicts = {
            (part.name, row.id): row.verdict
            for part in self._parts.values()
            for row in part.rows
            if (part.name, row.id) in wanted
        }
        first = {key: verdict for key in wanted if (verdict := verdicts.get(key)) is not None}
        if not first:  # only retrieval was measured
            return moved
        found = ask_again(first, self.ask, times=self._suite.gate.ask_again)
        for name, part in self._parts.items():
            unstable = [sample for dataset, sample in found.unstable if dataset == name]
            if unstable and part.folder is not None:
                keep_unstable(part.folder, unstable)
        return replace(
            moved,
            word="no worse",
            worse=found.became_wrong,
            unconfirmed=found.unconfirmed,
            unstable=(*moved.unstable, *found.unstable),
            asked_again=found.calls,
            was_asked_again=True,
        ).settled()

    def ask(self, keys: Collection[Key], times: int) -> dict[Key, Sequence[AnswerVerdict]]:
        """Ask each question a number of times, and return the verdicts on its answers."""
        found: dict[Key, list[AnswerVerdict]] = {}
        for dataset in self._suite.plan.datasets:
            names = {sample for name, sample in keys if name == dataset.name}
            run = self._parts[dataset.name]
            if not names or run.folder is None or self.outcome is not None:
                continue
            samples = KnownSamples(
                replace(sample, id=f"{sample.id}~{number}")
                for sample in dataset.selection()
                if sample.id in names
                for number in range(self._asked + 2, self._asked + 2 + times)
            )
            name = f"after_{self._asked}"
            place = run.folder / _FOLDER
            folder = (
                RunFolder.at(place / name)
                if (place / name / "head.json").is_file()
                else RunFolder.create(place, replace(run.head, run_id=name, started_at=None))
            )
            outcome = run_samples(
                samples,
                self._suite.target,
                dataset.scorers,
                folder=folder,
                options=self._suite.options,
                threads=self._suite.methods.threads,
                spending=self._spending,
            )
            self.outcome = None if outcome.completed else outcome
            for row in rows_of_folder(folder, samples):
                if row.verdict is not None:
                    found.setdefault((dataset.name, original_sample_id(row.id)), []).append(row.verdict)
        self._asked += times
        return dict(found)
