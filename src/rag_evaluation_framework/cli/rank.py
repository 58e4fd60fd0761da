"""``rag-eval rank``: score retrieval runs against relevance judgements and compare them."""

from __future__ import annotations

import gc
from pathlib import Path
from shlex import join
from typing import Any

import click

from rag_evaluation_framework.cli import options
from rag_evaluation_framework.cli.help_pages import LongCommand
from rag_evaluation_framework.cli.main import Steps
from rag_evaluation_framework.cli.output import print_json
from rag_evaluation_framework.errors import counted

EXAMPLES = """\b
Examples:
  rag-eval rank qrels.trec bm25.run
  rag-eval rank qrels.trec bm25.run dense.run -m ndcg@10 -m map@100
  rag-eval rank qrels/test.tsv results.json --json > scores.json
  rag-eval rank qrels.trec bm25.run -m P_5 -m recip_rank --rules trec_eval
  rag-eval rank qrels.trec bm25.run -m map -m set_F -m gm_map -l 2 -M 100 \\
    -c -q --rules trec_eval"""

_GIVEN = click.Path(exists=True, path_type=Path)

TOTALS = ("num_q", "num_ret", "num_rel", "num_rel_ret", "gm_map")
"""Names of trec_eval that are no means over queries."""


_COMMON = (
    *("metrics", "baseline", "rules", "relevance_level", "complete", "format", "per_query", "details"),
    "as_json",
)


@click.command("rank", cls=LongCommand, common=_COMMON, epilog=EXAMPLES)
@click.argument("qrels", type=_GIVEN)
@click.argument("runs", type=_GIVEN, nargs=-1, required=True, metavar="RUN [RUN2 …]")
@options.metrics_option(
    "Metric to compute, e.g. ndcg@10; may be repeated.  [default: ndcg@10, map@100, mrr, recall@10, hit@1]"
)
@options.option(
    "--baseline RUN",
    "Run to compare the others with: its file, or its name in the table.  [default: the first]",
)
@options.option(
    "--rules",
    "Rules for ties, missing queries and queries without relevant documents.",
    type=click.Choice(["ours", "trec_eval"]),
    default="ours",
)
@options.option("-l, --relevance-level", "Lowest relevant grade.", type=click.IntRange(1), default=1)
@options.flag("-c, --complete", "Count judged queries without results as 0.")
@options.whole_number("-M, --max-depth", "Number of documents to read per query.")
@options.flag("--totals", f"Also show {', '.join(TOTALS)}; -m with a name does the same.")
@options.option(
    "--format",
    "Format of all files.  [default: detected from the content]",
    type=click.Choice(["trec", "beir", "json"]),
)
@options.PAIRED_TEST
@options.option(
    "--interval",
    "Confidence interval; auto: Wilson for few or coarse scores, else bootstrap.",
    type=click.Choice(["auto", "bootstrap", "wilson", "normal"]),
    default="auto",
)
@options.CONFIDENCE
@options.RESAMPLES
@options.SEED
@options.WORKERS
@options.option(
    "--out FILE",
    "File for the scores per query (.parquet, .arrow) or all results (.json, for merge).",
    type=options.FILE,
)
@options.flag("-q, --per-query", "Also show the scores per query.")
@options.DETAILS
@options.AS_JSON
def command(
    qrels: Path, runs: tuple[Path, ...], metrics: tuple[str, ...], out: Path | None, **given: Any
) -> None:
    """Score retrieval runs against the relevance judgments QRELS.

    Shows the mean of each metric with its interval and, for several runs, the difference to the baseline:
    paired test, corrected for the number of comparisons, effect size, wins and losses. The significance
    level is 1 minus the confidence level. Reads TREC files, BEIR qrels and JSON (also .gz or .zst), Parquet
    (one file, or a folder of parts), and Arrow with the columns query_id, doc_id and relevance or score.
    """
    # What is imported and read stays: looking for garbage in it would take a tenth of the start.
    gc.disable()
    click.get_current_context().call_on_close(gc.enable)
    # Imported here, not above: numpy and what stands on it should not slow down --help.
    from rag_evaluation_framework.evaluation.evaluate import evaluate
    from rag_evaluation_framework.records.runs import Options
    from rag_evaluation_framework.reports.system_blocks import describe_ranking
    from rag_evaluation_framework.results.rankings import named, with_queries

    as_json, details, per_query = (given.pop(name) for name in ("as_json", "details", "per_query"))
    given["totals"] |= not set(TOTALS).isdisjoint(metrics)
    with Steps(f"reading and scoring {counted(len(runs), 'run')}", silent=as_json):
        ranking = evaluate(
            qrels,
            target=named(runs),
            metrics=[name for name in metrics if name not in TOTALS] or None,
            baseline=given.pop("baseline"),
            seed=given.pop("seed"),
            options=Options(**given),
        )
    if out is not None:
        ranking.save(out)
    if not as_json:
        again = f"rag-eval rank {join(options.given_again({'details', 'width', 'color'}))}"
        blocks = describe_ranking(ranking, rows=per_query, details=details, again=again)
        options.show(options.new_screen().draw(blocks))
        return
    document = with_queries(ranking) if per_query else ranking.to_dict()
    print_json({"qrels": str(qrels), **{name: document[name] for name in document if name != "head"}})
