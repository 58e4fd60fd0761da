"""``rag-eval rank``: score retrieval runs against relevance judgements and compare them."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from rag_evaluation_framework.errors import Problems, UsageError

DEFAULT_METRICS = ("ndcg@10", "map@100", "mrr", "recall@10", "hit@1")
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_FORMATS = ("trec", "beir", "json")
_TESTS = ("randomisation", "t", "wilcoxon")
_INTERVALS = ("auto", "bootstrap", "wilson", "normal")

EXAMPLES = """\b
Examples:
  rag-eval rank qrels.trec bm25.run
  rag-eval rank qrels.trec bm25.run dense.run -m ndcg@10 -m map@100
  rag-eval rank qrels/test.tsv results.json --json > scores.json
  rag-eval rank qrels.trec bm25.run -m P_5 -m recip_rank --rules trec_eval"""


@click.command(
    "rank", epilog=EXAMPLES, short_help="Score retrieval runs against relevance judgements and compare them."
)
@click.argument("qrels", type=_FILE)
@click.argument("runs", type=_FILE, nargs=-1, required=True, metavar="RUN [RUN2 …]")
@click.option(
    "-m",
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME",
    help=f"A metric, such as ndcg@10; may be repeated.  [default: {', '.join(DEFAULT_METRICS)}]",
)
@click.option(
    "--baseline",
    metavar="RUN",
    help="The run to compare the others with, by its file or by its name in the table.  [default: the first]",
)
@click.option(
    "--rules",
    type=click.Choice(["ours", "trec_eval"]),
    default="ours",
    show_default=True,
    help="How ties, missing queries and queries without relevant documents are treated.",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(_FORMATS),
    help="The format of all files.  [default: told from each file's content]",
)
@click.option(
    "--test", type=click.Choice(_TESTS), default="randomisation", show_default=True, help="The paired test."
)
@click.option(
    "--interval",
    type=click.Choice(_INTERVALS),
    default="auto",
    show_default=True,
    help="The interval of a mean: auto is Wilson's for proportions, else the bootstrap.",
)
@click.option(
    "--confidence",
    type=click.FloatRange(0.5, 0.9999),
    default=0.95,
    show_default=True,
    help="Of intervals; differences are claimed at 1 minus it.",
)
@click.option(
    "--resamples",
    type=click.IntRange(100, 10_000_000),
    default=10_000,
    show_default=True,
    help="For the bootstrap and the randomisation test.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Same seed, same figures."
)
@click.option("--per-query", is_flag=True, help="Show every query's scores too.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
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
    baseline: paired test, corrected for the number of tests, effect size, wins and losses. Reads TREC files,
    BEIR qrels and JSON, plain, gzip or Zstandard.
    """
    # Imported here, not above: numpy and what stands on it should not slow down --help.
    from rag_evaluation_framework.datasets.dialects.rankings import RetrievalRun, read_qrels, read_run
    from rag_evaluation_framework.files import strict_json
    from rag_evaluation_framework.metrics.declaration import parse_metrics
    from rag_evaluation_framework.metrics.ranking_rules import RankingRules
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
        click.echo(strict_json.encode(document, indent=2))
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
