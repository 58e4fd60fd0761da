"""``rag-eval generate``: make an evaluation dataset from a folder of documents."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from rag_evaluation_framework.cli import options
from rag_evaluation_framework.cli.help_pages import LongCommand
from rag_evaluation_framework.cli.output import check_free, tell
from rag_evaluation_framework.errors import MissingKeyError, ModelError, UsageError, counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rag_evaluation_framework.adapters.openai import OpenAIChatModel
    from rag_evaluation_framework.extensions import Chunker, PositionAwareChunker
    from rag_evaluation_framework.models.spending import Spending
    from rag_evaluation_framework.records.documents import Corpus
    from rag_evaluation_framework.records.runs import Progress
    from rag_evaluation_framework.records.samples import Dataset
    from rag_evaluation_framework.reports.dataset_blocks import GenerationSummary
    from rag_evaluation_framework.results.run_store import RunFolder
    from rag_evaluation_framework.synthesis.draft_quality import QualityControl
    from rag_evaluation_framework.synthesis.drafts import Drafts
    from rag_evaluation_framework.synthesis.question_plan import QuestionSettings

EXAMPLES = """\b
Examples:
  rag-eval generate documents
  rag-eval generate documents --level chunk \\
    --chunker 'recursive(chunk_size=500)' -o questions.jsonl
  rag-eval generate documents --model gpt-4o-mini --queries-per-doc 10 \\
    --unanswerable 1 -o q.eval.json
  rag-eval generate documents --model llama3:8b \\
    --base-url http://localhost:11434/v1 -o q.eval.json
  rag-eval generate documents --extractive \\
    --dataset-name handbook-token-level"""

_INCOMPLETE, _INTERRUPTED = 3, 130
# What a resume does not take from the run, and does not do without.
_GIVEN_AGAIN = frozenset(
    {"corpus", "output", "format", "model", "base_url", "key_env", "glob"}
    | {"keep_all", "drop_flagged", "embedder", "dataset_name", "upload_to_langsmith"}
)


_COMMON = (
    *("output", "extractive", "model", "base_url", "queries_per_doc", "kinds", "unanswerable", "level"),
    *("force", "resume"),
)


@click.command("generate", cls=LongCommand, common=_COMMON, epilog=EXAMPLES)
@click.argument("corpus", type=options.DOCUMENTS)
@options.option(
    "-o, --output FILE",
    "File for the dataset: .eval.json, .eval.yaml, .eval.csv, or .jsonl for LangSmith.  "
    f"[default: {options.QUESTIONS}, unless --dataset-name is given]",
    type=options.FILE,
)
@options.option(
    "--format",
    "Format of the dataset.  [default: from the extension of FILE]",
    type=click.Choice(["evaluation-dataset", "langsmith"]),
)
@options.flag("--force", "Replace FILE if it exists.")
@options.option(
    "--level",
    "Unit of the expected passages: characters, for every chunker, or the chunks of one chunker.",
    type=click.Choice(["token", "chunk"]),
    default="token",
)
@options.option("--chunker SPEC", "Chunker for --level chunk, e.g. recursive(chunk_size=500).")
@options.whole_number("--queries-per-doc", "Number of questions per document.", least=0, default=5)
@options.whole_number(
    "--queries-across-docs", "Number of questions across documents; needs --model.", least=0, default=0
)
@options.whole_number(
    "--unanswerable", "Number of unanswerable questions per document; needs --model.", least=0, default=0
)
@options.repeated(
    "--kinds",
    "Type of questions to generate; may be repeated.  [default: all]",
    type=click.Choice(["factual", "analytical", "comparative", "temporal"]),
)
@options.flag("--extractive", "Generate rule-based questions (the default without --model).")
@options.option("--model NAME", "Model to generate the questions.")
@options.BASE_URL
@options.KEY_ENV
@options.ALLOW_HOST
@options.option("--price-input USD", "US dollars per million input tokens.", type=options.Amount(0))
@options.option("--price-output USD", "US dollars per million output tokens.", type=options.Amount(0))
@options.MAX_COST
@options.concurrency(type=click.IntRange(1, 256))
@options.RUNS_DIR
@options.RESUME
@options.ASK_DAMAGED
@options.flag("--keep-all", "Keep every question with a valid expected passage; skip the other checks.")
@options.flag("--drop-flagged", "Reject, rather than flag, questions whose passage BM25 does not retrieve.")
@options.option("--embedder SPEC", "Embedder to detect duplicate questions.  [default: hashing]")
@options.GLOB
@options.SEED
@options.WORKERS
@options.option("--dataset-name NAME", "Name to save the dataset under, in langsmith/ or at LangSmith.")
@options.flag("--upload-to-langsmith", "Upload the dataset to LangSmith (needs LANGSMITH_API_KEY).")
@options.AS_JSON
@click.pass_context
def command(context: click.Context, /, **given: Any) -> None:
    """Generate questions about CORPUS, a folder or one file, with their expected passages.

    With --model, a language model generates them, and you can resume an interrupted run. Without it, rules
    generate them from sentences, lists and headings (extractive): free, offline and reproducible, but simpler
    than the questions of a person or a model.

    Trivial and duplicate questions are rejected and counted. Ambiguous questions, and questions that do not
    retrieve their passage, are flagged and counted.

    Exit code 0: dataset written; 2: wrong usage or data; 3: the model failed before the end;
    130: interrupted.
    """
    from rag_evaluation_framework.reports.dataset_blocks import describe_generation, generation_document

    summary = _generated(given)
    if isinstance(summary, int):
        context.exit(summary)
    else:
        tell(generation_document(summary), describe_generation(summary), as_json=given["as_json"])


def _generated(given: dict[str, Any]) -> GenerationSummary | int:
    """Make the dataset; a run that was stopped gives an exit code."""
    from rag_evaluation_framework.components import chunker_from
    from rag_evaluation_framework.records.documents import Corpus
    from rag_evaluation_framework.results.run_store import RunFolder
    from rag_evaluation_framework.synthesis.drafts import KINDS
    from rag_evaluation_framework.synthesis.generation import chunker_of, settings_of
    from rag_evaluation_framework.synthesis.question_plan import QuestionSettings

    _check_model(given)
    given = options.mend_journals(given)
    if given["resume"] is None:
        run, chunker = None, given["chunker"]
        settings = QuestionSettings(
            level=given["level"],
            queries_per_doc=given["queries_per_doc"],
            kinds=given["kinds"] or KINDS,
            queries_across_docs=given["queries_across_docs"],
            unanswerable_per_doc=given["unanswerable"],
            seed=given["seed"],
        )
    else:
        run = RunFolder.open(given["resume"], given["runs_dir"])
        settings, chunker = settings_of(run.head), chunker_of(run.head)
    _check_output(given, settings.level, chunker)
    if not given["model"] and not given["extractive"]:
        _say("No --model given; generating rule-based questions.", silent=given["as_json"])
    from rag_evaluation_framework.reports.sweep_blocks import skipped_lines

    corpus = Corpus.from_folder(given["corpus"], given["glob"])
    for line in skipped_lines(corpus.metadata.get("skipped", {})):
        _say(line, silent=given["as_json"])
    made_by = None if chunker is None else chunker_from(chunker)
    if not given["model"]:
        return _by_rules(given, settings, made_by, corpus)
    return _by_model(given, settings, made_by, corpus, run)


def _check_model(given: dict[str, Any]) -> None:
    """Refuse options of a model without one, and a model where there is to be none."""
    if given["keep_all"] and given["drop_flagged"]:
        raise UsageError("--keep-all skips the checks. Remove --drop-flagged.")
    if given["extractive"] and given["model"]:
        raise UsageError("--extractive uses rules only. Remove --model.")
    if given["model"]:
        return
    for name in ("base_url", "key_env", "price_input", "price_output", "max_cost", "resume"):
        if given[name] is not None:
            raise UsageError(f"--{name.replace('_', '-')}: needs --model")
    if given["queries_across_docs"]:
        raise UsageError("--queries-across-docs needs --model")
    if given["unanswerable"]:
        raise UsageError("--unanswerable needs --model")


def _check_output(given: dict[str, Any], level: str, chunker: str | None) -> None:
    """Give the dataset a place where none is named; refuse a chunker that does not go with the level."""
    if given["output"] is None and given["dataset_name"] is None and not given["upload_to_langsmith"]:
        given["output"] = options.QUESTIONS
    if level == "chunk" and chunker is None:
        raise UsageError("--level chunk needs a chunker. Pass --chunker 'recursive(chunk_size=500)'.")
    if level == "token" and chunker is not None:
        raise UsageError(
            "--chunker needs --level chunk. At token level, all chunkers share the expected passages."
        )


def _by_rules(
    given: dict[str, Any],
    settings: QuestionSettings,
    chunker: Chunker | PositionAwareChunker | None,
    corpus: Corpus,
) -> GenerationSummary:
    from rag_evaluation_framework.synthesis.extractive import generate_extractively
    from rag_evaluation_framework.workers import Crew

    delivery = _Delivery(given, settings.level, corpus)
    with _progress(given, "documents") as show:
        extraction = generate_extractively(
            corpus,
            level=settings.level,
            queries_per_doc=settings.queries_per_doc,
            kinds=settings.kinds,
            chunker=chunker,
            quality=_quality(given),
            seed=settings.seed,
            workers=Crew(given["workers"], given["engine"], given["address"]),
            on_progress=show,
        )
    return delivery.delivered(extraction.dataset, extraction.drafts)


def _by_model(
    given: dict[str, Any],
    settings: QuestionSettings,
    chunker: Chunker | PositionAwareChunker | None,
    corpus: Corpus,
    run: RunFolder | None,
) -> GenerationSummary | int:
    from rag_evaluation_framework.synthesis.generation import generate_with_model

    delivery = _Delivery(given, settings.level, corpus)
    prices = {name: given[name] for name in ("price_input", "price_output")}
    model = opened_model(given, **prices, spending=_capped(given, run))
    try:
        with _progress(given, "questions") as show:
            generation = generate_with_model(
                corpus,
                model,
                settings,
                chunker=chunker,
                quality=_quality(given),
                run_folder=run,
                runs_directory=given["runs_dir"],
                on_progress=show,
                concurrency=given["concurrency"],
                configuration={"arguments": options.given_again(given.keys() - _GIVEN_AGAIN)},
            )
    except ModelError as error:
        _say(str(error))
        return _INCOMPLETE
    outcome = generation.outcome
    if generation.dataset is None:
        done = f"{counted(outcome.done, 'request')} done, {outcome.remaining:,} left"
        _say(f"{outcome.reason or 'interrupted'}: {done}; resume with --resume {generation.run_id}")
        return _INTERRUPTED if outcome.interrupted else _INCOMPLETE
    for note in outcome.notes:
        _say(note, silent=given["as_json"])
    return delivery.delivered(
        generation.dataset, generation.drafts, usage=generation.usage, run=generation.run_id
    )


class _Delivery:
    """The destination of the dataset; anything that prevents writing is found before generation starts."""

    def __init__(self, given: dict[str, Any], level: Any, corpus: Corpus) -> None:
        from rag_evaluation_framework.synthesis import generated_datasets

        self._documents = len(corpus)
        self._folder = quote(str(given["corpus"]))
        if given["glob"] is not None:
            self._folder += f" --glob {quote(given['glob'])}"
        self._output: Path | None = given["output"]
        if self._output is not None:
            self._dialect = generated_datasets.dialect_of(self._output, given["format"], level=level)
            check_free(self._output, force=given["force"])
        self._place = generated_datasets.destination(
            given["dataset_name"],
            upload_to_langsmith=given["upload_to_langsmith"],
            default_name=generated_datasets.default_dataset_name(level, corpus),
        )

    def delivered(self, dataset: Dataset, drafts: Drafts, **known: Any) -> GenerationSummary:
        """Write the dataset to every place asked for."""
        from rag_evaluation_framework.reports.dataset_blocks import GenerationSummary
        from rag_evaluation_framework.synthesis.generated_datasets import deliver, write_generated

        if not dataset.samples:
            raise UsageError(_nothing_made(drafts, self._documents))
        written: list[str] = []
        if self._output is not None:
            self._output.parent.mkdir(parents=True, exist_ok=True)
            write_generated(dataset, self._output, dialect=self._dialect)
            written.append(str(self._output))
        upload = name = None
        if self._place is not None:
            went = deliver(dataset, self._place)
            upload, name = went.upload, went.name
            written.append(str(went.path) if upload is None else upload.url or self._place.name)
        return GenerationSummary(
            dataset=dataset,
            documents=self._documents,
            drafts=drafts,
            written=tuple(written),
            upload=upload,
            dataset_name=name,
            folder=self._folder,
            **known,
        )


def _nothing_made(drafts: Drafts, documents: int) -> str:
    """Say why there is no question, and what to do."""
    counts = drafts.counts()
    if set(counts) <= {"nothing-to-ask"}:
        why = f"rules found no suitable sentences in {counted(documents, 'document')}"
    else:
        why = ("all questions were rejected: ") + ", ".join(
            f"{count:,} {reason}" for reason, count in counts.items()
        )
    return (
        f"{why}. Nothing was written.\n  Pass --model NAME, or write your own questions as CSV: "
        "question,relevant_documents"
    )


def _capped(given: dict[str, Any], run: RunFolder | None) -> Spending | None:
    """Return the total with its cap, if there is one, and what the run has cost so far."""
    from rag_evaluation_framework.models.spending import Spending

    spending = None if given["max_cost"] is None else Spending(given["max_cost"])
    if spending is not None and None in (given["price_input"], given["price_output"]):
        raise UsageError(f"--max-cost: {given['model']} has no price. Give --price-input and --price-output.")
    if spending is not None and run is not None:
        spending.charge(run.index().usage.cost_usd or 0.0)
    return spending


def opened_model(given: dict[str, Any], **paid: Any) -> OpenAIChatModel:
    """Return the model to be asked; it is closed with the command."""
    from rag_evaluation_framework.adapters.openai import OpenAIChatModel

    try:
        asked = {name: given[name] for name in ("base_url", "key_env", "concurrency")}
        model = OpenAIChatModel(given["model"], **asked, **paid)
    except MissingKeyError as error:
        raise MissingKeyError(error.model, error.variable, error.option and "--key-env") from None
    click.get_current_context().call_on_close(model.close)
    return model


def _quality(given: dict[str, Any]) -> QualityControl | None:
    from rag_evaluation_framework.components import EMBEDDERS, component_from
    from rag_evaluation_framework.synthesis.draft_quality import NearDuplicates, QualityControl, RoundTrip

    if given["keep_all"]:
        return None
    round_trip = RoundTrip(drops=given["drop_flagged"])
    if given["embedder"] is None:
        return QualityControl(round_trip=round_trip)
    embedder = component_from(EMBEDDERS, given["embedder"])
    return QualityControl(round_trip=round_trip, near_duplicates=NearDuplicates(embedder=embedder))


@contextmanager
def _progress(given: dict[str, Any], what: str) -> Iterator[Callable[[Progress], None]]:
    from rag_evaluation_framework.reports.progress import ProgressLine

    if given["as_json"]:
        yield lambda _: None
        return
    line = ProgressLine(sys.stderr, live=sys.stderr.isatty())
    try:
        yield lambda state: line(what, state)
    finally:
        line.finish()


def _say(text: str, *, silent: bool = False) -> None:
    if not silent:
        click.echo(f"rag-eval: {text}", err=True)
