"""``rag-eval agreement``: how far annotators agree, and the truth that most of them share."""

from __future__ import annotations

from pathlib import Path

import click

from rag_evaluation_framework.errors import Issue

_SHOWN_WARNINGS = 5
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)

EXAMPLES = """\b
Examples:
  rag-eval agreement data/evaluation/ground_truth/sample_eval_v1.0.0.gt.json
  rag-eval agreement annotator_001.gt.json annotator_002.gt.json --json
  rag-eval agreement sample_eval_v1.0.0.gt.json --output merged.gt.json"""


@click.command(
    "agreement", epilog=EXAMPLES, short_help="Show how far annotators agree, and merge what they say."
)
@click.argument("files", type=_FILE, nargs=-1, required=True, metavar="FILE [FILE2 …]")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the merged truth: the characters that more than half of a query's annotators marked.",
)
@click.option(
    "--confidence",
    type=click.FloatRange(0.5, 0.9999),
    default=0.95,
    show_default=True,
    help="Of the intervals.",
)
@click.option(
    "--resamples", type=click.IntRange(100, 10_000_000), default=10_000, show_default=True, help="Of queries."
)
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Same seed, same intervals."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
def command(
    files: tuple[Path, ...],
    output: Path | None,
    confidence: float,
    resamples: int,
    seed: int,
    as_json: bool,
) -> None:
    """Show how far the annotators of a dataset agree, on what, and who disagrees where.

    Marked characters are compared by the mean Jaccard of all pairs of annotators (0.85 is the target),
    cited documents and ratings in words by Cohen's kappa (two annotators) or Krippendorff's alpha (more),
    scores by interval alpha. Several files are read as one.
    """
    # Imported here, not above: numpy and what stands on it should not slow down --help.
    from rag_evaluation_framework.datasets.annotators.agreement import agreement_report
    from rag_evaluation_framework.datasets.annotators.annotations import (
        read_annotation_files,
        write_annotations,
    )
    from rag_evaluation_framework.datasets.annotators.merged_truth import merged_truth
    from rag_evaluation_framework.files import strict_json
    from rag_evaluation_framework.reports.agreement import agreement_text
    from rag_evaluation_framework.statistics.agreement_tables import Resampling

    warnings: list[Issue] = []
    annotations = read_annotation_files(files, on_warning=warnings.append)
    for warning in warnings[:_SHOWN_WARNINGS]:
        click.echo(f"rag-eval: warning: {warning}", err=True)
    if len(warnings) > _SHOWN_WARNINGS:
        more = len(warnings) - _SHOWN_WARNINGS
        click.echo(f"rag-eval: {more} more warnings: rag-eval validate shows them all", err=True)
    resampling = Resampling(confidence=confidence, resamples=resamples, seed=seed)
    report = agreement_report(annotations.annotations, resampling=resampling)
    if output is not None:
        write_annotations(merged_truth(annotations), output)
    if as_json:
        click.echo(strict_json.encode(report.to_dict(), indent=2))
    else:
        click.echo(agreement_text(report))
        if output is not None:
            click.echo(f"\nmerged truth written to {output}")
