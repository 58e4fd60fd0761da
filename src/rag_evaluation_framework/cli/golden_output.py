"""What ``rag-eval golden`` prints and writes. Everything passes the secrets' mask on its way out."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import click

from rag_evaluation_framework.cli.evaluation_output import Output
from rag_evaluation_framework.cli.golden_options import GoldenOptions
from rag_evaluation_framework.evaluation.golden.golden_runs import missing_splits
from rag_evaluation_framework.evaluation.manifests.manifest import Manifest
from rag_evaluation_framework.evaluation.manifests.preflight import Plan, check_writable
from rag_evaluation_framework.evaluation.manifests.secrets import Secrets
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.files.atomic import write_text_atomically
from rag_evaluation_framework.reports.github_annotations import github_annotations
from rag_evaluation_framework.reports.golden_json import golden_json
from rag_evaluation_framework.reports.golden_text import golden_text
from rag_evaluation_framework.reports.junit import evaluation_junit
from rag_evaluation_framework.reports.markdown import evaluation_markdown
from rag_evaluation_framework.results.evaluations import DatasetEvaluation
from rag_evaluation_framework.results.gate import GateVerdict
from rag_evaluation_framework.results.golden import RESULTS_FILE, golden_evaluation, write_golden_results


class GoldenOutput(Output):
    """Where a golden run is told: one table, and one results file for all splits."""

    def __init__(self, options: GoldenOptions, secrets: Secrets, *, target: str) -> None:
        super().__init__(options.shared, secrets, target=target)
        self.folder = options.folder

    def check(self, plan: Plan) -> None:
        """Make sure, before the first request, that everything can be written."""
        options = self.options
        files = [path for path in (options.out, options.junit, options.markdown) if path is not None]
        check_writable([options.runs_dir, *(path.parent for path in files)])

    def evaluation(
        self,
        manifest: Manifest,
        evaluations: Sequence[DatasetEvaluation],
        verdict: GateVerdict,
        *,
        plan: Plan,
    ) -> None:
        """Print the golden run and write its files; results only of a run that is complete."""
        options, mask, warnings = self.options, self.secrets.mask, plan.warnings
        golden = golden_evaluation(evaluations, missing_splits(manifest))
        if all(each.outcome.completed for each in evaluations):
            for path in (evaluations[0].folder.path / RESULTS_FILE, options.out):
                if path is not None:
                    write_golden_results(golden, path, folder=self.folder)
        if options.junit is not None:
            _write(options.junit, mask(evaluation_junit(evaluations, verdict)))
        if options.markdown is not None:
            text = evaluation_markdown(evaluations, verdict, target=self.target, warnings=warnings)
            _write(options.markdown, mask(text))
        if options.as_json:
            document = golden_json(golden, verdict, plan=plan, target=self.target)
            click.echo(strict_json.encode(self.secrets.mask_value(document), indent=2))
        else:
            click.echo(mask(golden_text(golden, verdict, warnings=warnings)))
        if os.environ.get("GITHUB_ACTIONS"):
            # On standard error, which GitHub reads as well, so that --json stays JSON.
            for line in github_annotations(evaluations, verdict, manifest=manifest.file, warnings=warnings):
                click.echo(mask(line), err=True)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # What an agent sends may hold half a surrogate pair, which no file can.
    write_text_atomically(path, text.encode("utf-8", "replace").decode("utf-8"))
