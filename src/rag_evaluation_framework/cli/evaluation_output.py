"""What ``rag-eval evaluate`` prints and writes. Everything passes the secrets' mask on its way out."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from rag_evaluation_framework.cli.json_output import print_json
from rag_evaluation_framework.cli.run_options import RunOptions
from rag_evaluation_framework.errors import UsageError, refused
from rag_evaluation_framework.evaluation.dataset_evaluations import DatasetEvaluation
from rag_evaluation_framework.evaluation.manifests.manifest import Manifest
from rag_evaluation_framework.evaluation.manifests.preflight import Plan, Prices, check_writable
from rag_evaluation_framework.evaluation.manifests.secrets import Secrets
from rag_evaluation_framework.files.atomic import write_text_atomically
from rag_evaluation_framework.reports.evaluation_json import evaluation_document, plan_document
from rag_evaluation_framework.reports.evaluation_text import evaluation_text, plan_text
from rag_evaluation_framework.reports.github_annotations import github_annotations
from rag_evaluation_framework.reports.junit import evaluation_junit
from rag_evaluation_framework.reports.markdown import evaluation_markdown
from rag_evaluation_framework.reports.progress import ProgressLine
from rag_evaluation_framework.results.gate import Verdict


class Told(NamedTuple):
    """What is printed of an evaluation (a text, or a document for machines), and what writes its results."""

    report: str | dict[str, Any]
    write_results: Callable[[], None]


class Output:
    """Where an evaluation is told, as the options ask."""

    def __init__(self, options: RunOptions, secrets: Secrets, target: str) -> None:
        self.options, self.secrets, self.target = options, secrets, target

    def check(self, plan: Plan) -> None:
        """Make sure, before the first request, that everything can be written."""
        options = self.options
        if options.out is not None and len(plan.datasets) > 1 and not options.out.is_dir():
            names = ", ".join(dataset.name for dataset in plan.datasets)
            raise UsageError(f"--out: expected a folder that exists, for {names}; got {options.out}")
        files = [path for path in (options.out, options.junit, options.markdown) if path is not None]
        check_writable([options.runs_dir, *(path if path.is_dir() else path.parent for path in files)])

    def progress(self, notice: Callable[[], str]) -> ProgressLine | None:
        """Return what shows how far a run is, with the notice there is: nothing where only JSON is wanted."""
        if self.options.as_json:
            return None
        return ProgressLine(sys.stderr, live=sys.stderr.isatty(), mask=self.secrets.mask, notice=notice)

    def plan(self, plan: Plan) -> None:
        """Print what a run would do."""
        prices = Prices(self.options.price_input, self.options.price_output)
        if self.options.as_json:
            document = plan_document(plan, target=self.target, prices=prices)
            print_json(self.secrets.mask_value(document))
        else:
            click.echo(self.secrets.mask(plan_text(plan, target=self.target, prices=prices)))

    def evaluation(
        self,
        manifest: Manifest,
        evaluations: Sequence[DatasetEvaluation],
        verdict: Verdict,
        *,
        plan: Plan,
    ) -> None:
        """Print the evaluation, then write the files that were asked for, that a full disk hides nothing."""
        told = self._told(manifest, evaluations, verdict, plan=plan)
        try:
            self._print(told.report)
        finally:  # Whoever was reading may go away, as with `| head`; the files are written all the same.
            self._write_files(told, evaluations, verdict, warnings=plan.warnings)
        mask, warnings = self.secrets.mask, plan.warnings
        if os.environ.get("GITHUB_ACTIONS"):
            # On standard error, which GitHub reads as well, so that --json stays JSON.
            for line in github_annotations(evaluations, verdict, manifest=manifest.file, warnings=warnings):
                click.echo(mask(line), err=True)

    def _print(self, report: str | dict[str, Any]) -> None:
        if isinstance(report, str):
            click.echo(self.secrets.mask(report))
        else:
            print_json(self.secrets.mask_value(report))

    def _write_files(
        self,
        told: Told,
        evaluations: Sequence[DatasetEvaluation],
        verdict: Verdict,
        *,
        warnings: Sequence[str],
    ) -> None:
        options, mask = self.options, self.secrets.mask
        if options.out is not None:
            _make_folder_of(options.out)
        told.write_results()
        if options.junit is not None:
            _write(options.junit, mask(evaluation_junit(evaluations, verdict)))
        if options.markdown is not None:
            _write(options.markdown, mask(self._markdown(evaluations, verdict, warnings=warnings)))

    def _markdown(
        self, evaluations: Sequence[DatasetEvaluation], verdict: Verdict, *, warnings: Sequence[str]
    ) -> str:
        return evaluation_markdown(evaluations, verdict, target=self.target, warnings=warnings)

    def _told(
        self,
        manifest: Manifest,
        evaluations: Sequence[DatasetEvaluation],
        verdict: Verdict,
        *,
        plan: Plan,
    ) -> Told:
        """Tell the evaluation, as a text or as a document."""

        def write_results() -> None:
            out = self.options.out
            if out is not None:
                for each in evaluations:
                    name = f"{each.folder.head.run_id}.results.json"
                    each.write_results(out / name if out.is_dir() else out)

        if self.options.as_json:
            document = evaluation_document(evaluations, verdict, plan=plan, target=self.target)
            return Told(document, write_results)
        return Told(evaluation_text(evaluations, verdict, warnings=plan.warnings), write_results)


def _make_folder_of(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise refused("write", path, error) from error


def _write(path: Path, text: str) -> None:
    _make_folder_of(path)
    # What an agent sends may hold half a surrogate pair, which no file can.
    write_text_atomically(path, text.encode("utf-8", "replace").decode("utf-8"))
