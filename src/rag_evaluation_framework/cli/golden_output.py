"""What ``rag-eval golden`` prints and writes. Everything passes the secrets' mask on its way out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rag_evaluation_framework.cli.evaluation_output import Output, Told
from rag_evaluation_framework.cli.run_options import RunOptions
from rag_evaluation_framework.evaluation.dataset_evaluations import DatasetEvaluation
from rag_evaluation_framework.evaluation.golden.golden_runs import missing_splits
from rag_evaluation_framework.evaluation.golden_results import golden_evaluation, write_golden_results
from rag_evaluation_framework.evaluation.manifests.manifest import Manifest
from rag_evaluation_framework.evaluation.manifests.preflight import Plan, check_writable
from rag_evaluation_framework.evaluation.manifests.secrets import Secrets
from rag_evaluation_framework.reports.golden_json import golden_json
from rag_evaluation_framework.reports.golden_text import golden_text
from rag_evaluation_framework.reports.markdown import evaluation_markdown
from rag_evaluation_framework.results.gate import Verdict
from rag_evaluation_framework.results.run_groups import RESULTS_FILE


class GoldenOutput(Output):
    """Where a golden run is told: one table, and one results file for all splits."""

    def __init__(self, options: RunOptions, secrets: Secrets, target: str, *, folder: Path) -> None:
        super().__init__(options, secrets, target)
        self.folder = folder

    def check(self, plan: Plan) -> None:
        """Make sure, before the first request, that everything can be written."""
        options = self.options
        files = [path for path in (options.out, options.junit, options.markdown) if path is not None]
        check_writable([options.runs_dir, *(path.parent for path in files)])

    def _told(
        self,
        manifest: Manifest,
        evaluations: Sequence[DatasetEvaluation],
        verdict: Verdict,
        *,
        plan: Plan,
    ) -> Told:
        """Tell all splits as one; only a run that is complete has results."""
        golden = golden_evaluation(evaluations, missing_splits(manifest), plan.warnings)

        def write_results() -> None:
            if all(each.outcome.completed for each in evaluations):
                for path in (evaluations[0].folder.path / RESULTS_FILE, self.options.out):
                    if path is not None:
                        write_golden_results(golden, path, folder=self.folder, verdict=verdict)

        if self.options.as_json:
            return Told(golden_json(golden, verdict, plan=plan, target=self.target), write_results)
        return Told(golden_text(golden, verdict, warnings=plan.warnings), write_results)

    def _markdown(
        self, evaluations: Sequence[DatasetEvaluation], verdict: Verdict, *, warnings: Sequence[str]
    ) -> str:
        refusals = golden_evaluation(evaluations).refusals
        return evaluation_markdown(
            evaluations, verdict, target=self.target, warnings=warnings, refusals=refusals
        )
