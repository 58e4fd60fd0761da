"""``rag-eval rank``: score retrieval runs against relevance judgements and compare them."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from rag_evaluation_framework.cli.json_output import print_json
from rag_evaluation_framework.cli.shared_options import (
    AS_JSON,
    CONFIDENCE,
    EXISTING_FILE,
    PAIRED_TEST,
    RESAMPLES,
    SEED,
    metrics_option,
)
from rag_evaluation_framework.errors import Problems, UsageError

DEFAULT_METRICS = ("ndcg@10", "map@100", "mrr", "recall@10", "hit@1")
_FORMATS = ("trec", "beir", "json")
_INTERVALS = ("auto", "bootstrap", "wilson", "normal")

EXAMPLES = """\b
Examples:
  rag-eval rank qrels.trec bm25.run
  rag-eval rank qrels.trec bm25.run dense.run -m ndcg@10 -m map@100
  rag-eval rank qrels/test.tsv results.json --json > scores.json
  rag-eval rank qrels.trec bm25.run -m P_5 -m recip_rank --rules trec_eval"""


@click.command("rank", epilog=EXAMPLES)
@click.argument("qrels", type=EXISTING_FILE)
@click.argument("runs", type=EXISTING_FILE, nargs=-1, required=True, metavar="RUN [RUN2 …]")
@metrics_option(f"Metric to compute, e.g. ndcg@10; may be repeated.  [default: {', '.join(DEFAULT_METRICS)}]")
@click.option(
    "--baseline",
    metavar="RUN",
    help="Run to compare the others with: its file, or its name in the table.  [default: the first]",
)
@click.option(
    "--rules",
    type=click.Choice(["ours", "trec_eval"]),
    default="ours",
    help="Whose rules for ties, missing queries and queries without relevant documents apply.",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(_FORMATS),
    help="Format of all files.  [default: recognised by each file's content]",
)
@PAIRED_TEST
@click.option(
    "--interval",
    type=click.Choice(_INTERVALS),
    default="auto",
    help="Interval of a mean; auto is Wilson's for proportions and the bootstrap otherwise.",
)
@CONFIDENCE
@RESAMPLES
@SEED
@click.option("--per-query", is_flag=True, help="Also show the scores of every query.")
@AS_JSON
def command(
    qrels: Path,
    runs: tuple[Path, ...],
    metrics: tuple[str, ...],
    baseline: str | None,
    rules: str,
    format_: Literal["trec", "beir", "json"] | None,
    test: Literal["randomisation", "t", "wilcoxon"],
    interval: Literal["auto", "bootstrap", "wilson", "normal"],
    confidence: float,
    resamples: int,
    seed: int,
    per_query: bool,
    as_json: bool,
) -> None:
    """Score retrieval runs against the relevance judgements QRELS.

    Shows each metric's mean with its interval and, of several runs, whether the others differ from the
    baseline: paired test, corrected for the number of tests, effect size, wins and losses. A difference is
    significant at 1 minus the confidence level. Reads TREC files, BEIR qrels and JSON, plain or compressed
    with gzip or Zstandard.
    """
    # Imported here, not above: numpy and what stands on it should not slow down --help.
    from rag_evaluation_framework.datasets.trec import RetrievalRun, read_qrels, read_run
    from rag_evaluation_framework.metrics.declaration import parse_metrics
    from rag_evaluation_framework.metrics.judged_rankings import RankingRules
    from rag_evaluation_framework.reports.rankings import ranking_text
    from rag_evaluation_framework.results.rankings import rank_systems

    problems = Problems()
    with problems.collected():
        bound = parse_metrics(metrics or DEFAULT_METRICS)
    with problems.collected():
        judgements = read_qrels(qrels, format=format_)
    systems: dict[str, RetrievalRun] = {}
    names = _named(runs)
    for name, path in names.items():
        with problems.collected():
            systems[name] = read_run(path, format=format_)
    problems.raise_all()
    results = rank_systems(
        judgements,
        systems,
        bound,
        rules=RankingRules.trec_eval() if rules == "trec_eval" else RankingRules(),
        baseline=next((name for name, path in names.items() if str(path) == baseline), baseline),
        test=test,
        interval_method=interval,
        confidence=confidence,
        resamples=resamples,
        seed=seed,
    )
    if as_json:
        document = {"qrels": str(qrels), **results.to_dict(per_query=per_query)}
        print_json(document)
    else:
        click.echo(ranking_text(results, per_query=per_query))


def _named(runs: tuple[Path, ...]) -> dict[str, Path]:
    """Name each run by its file's stem, or by its whole path where two stems are the same."""
    stems = [run.name.split(".")[0] or run.name for run in runs]
    if len(set(stems)) == len(stems):
        return dict(zip(stems, runs, strict=True))
    names = [str(run) for run in runs]
    if len(set(names)) < len(names):
        raise UsageError("the same run file is given twice")
    return dict(zip(names, runs, strict=True))
