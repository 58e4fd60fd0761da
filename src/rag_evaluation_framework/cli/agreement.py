"""``rag-eval agreement``: how well annotators agree, and the truth that most of them share."""

from __future__ import annotations

from pathlib import Path

import click

from rag_evaluation_framework.cli.options import AS_JSON, CONFIDENCE, FILE, RESAMPLES, SEED, option
from rag_evaluation_framework.cli.output import print_json, print_warnings, tell
from rag_evaluation_framework.errors import Issue, UsageError
from rag_evaluation_framework.files.project_root import in_project

EXAMPLES = """\b
Examples:
  rag-eval agreement data/evaluation/ground_truth/sample_eval_v1.0.0.gt.json
  rag-eval agreement   read the annotations of the project
  rag-eval agreement annotator_001.gt.json annotator_002.gt.json --json
  rag-eval agreement sample_eval_v1.0.0.gt.json --output merged.gt.json"""


@click.command("agreement", epilog=EXAMPLES)
@click.argument("files", type=click.Path(exists=True, path_type=Path), nargs=-1, metavar="[FILE|FOLDER]...")
@option("-o, --output FILE", "Write the passages marked by most annotators to FILE.", type=FILE)
@CONFIDENCE
@RESAMPLES
@SEED
@AS_JSON
def command(
    files: tuple[Path, ...], output: Path | None, confidence: float, resamples: int, seed: int, as_json: bool
) -> None:
    """Measure how well the annotators of a dataset agree, per field and per pair.

    Marked characters are compared by the mean Jaccard of all pairs of annotators (0.85 is the target), cited
    documents and ratings in words by Cohen's kappa (two annotators) or Krippendorff's alpha (more), scores by
    interval alpha. Several files are read as one; a folder stands for all .gt.json and .gt.yaml files
    below it. Default: the annotations of the project.
    """
    # Imported here, not above: numpy and what stands on it should not slow down --help.
    from rag_evaluation_framework.datasets.annotations import read_annotation_files, write_annotations
    from rag_evaluation_framework.datasets.annotator_agreement import agreement_report, merged_truth
    from rag_evaluation_framework.reports.dataset_blocks import describe_agreement
    from rag_evaluation_framework.statistics.agreement import Resampling

    warnings: list[Issue] = []
    annotations = read_annotation_files(_found(files), on_warning=warnings.append)
    print_warnings(warnings)
    resampling = Resampling(confidence=confidence, resamples=resamples, seed=seed)
    report = agreement_report(annotations.annotations, resampling=resampling)
    if output is not None:
        write_annotations(merged_truth(annotations), output)
    if as_json:
        print_json(report.to_dict())
    else:
        tell(None, describe_agreement(report))
        if output is not None:
            click.echo(f"\nmerged ground truth written to {output}")


def _found(paths: tuple[Path, ...]) -> list[Path]:
    """Return the files given and, in order, those of annotations below the folders given."""
    kept = in_project("data", "evaluation", "ground_truth", "annotations")
    if not paths and not kept.is_dir():
        raise UsageError("No annotations given. Pass a file or a folder: rag-eval agreement FILE")
    paths = paths or (kept,)
    found: list[Path] = []
    for path in paths:
        inside = sorted({*path.rglob("*.gt.json*"), *path.rglob("*.gt.yaml*")}) if path.is_dir() else [path]
        if not inside:
            raise UsageError(f"{path} contains no annotations; expected .gt.json or .gt.yaml files")
        found += inside
    return found
