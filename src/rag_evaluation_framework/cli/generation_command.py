"""What ``rag-eval generate`` does: from the options to the dataset and the exit code."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from typing import Any

import click
from click.core import ParameterSource

from rag_evaluation_framework.adapters.http_agent import shown_address
from rag_evaluation_framework.adapters.openai import OpenAIChatModel
from rag_evaluation_framework.cli.generate_options import GenerateOptions
from rag_evaluation_framework.cli.output import print_json
from rag_evaluation_framework.components import EMBEDDERS, chunker_from, component_from
from rag_evaluation_framework.errors import ModelError, UsageError, counted
from rag_evaluation_framework.evaluation.preflight import check_writable
from rag_evaluation_framework.extensions import Chunker, PositionAwareChunker
from rag_evaluation_framework.records.documents import Corpus
from rag_evaluation_framework.records.runs import Progress
from rag_evaluation_framework.records.samples import Dataset
from rag_evaluation_framework.reports.overviews import (
    GenerationSummary,
    generation_document,
    generation_text,
)
from rag_evaluation_framework.reports.progress import ProgressLine
from rag_evaluation_framework.results.run_folder import RunFolder
from rag_evaluation_framework.synthesis.draft_quality import NearDuplicates, QualityControl
from rag_evaluation_framework.synthesis.drafts import KINDS, Drafts
from rag_evaluation_framework.synthesis.extractive import generate_extractively
from rag_evaluation_framework.synthesis.generated_datasets import (
    check_format,
    default_dataset_name,
    deliver,
    destination,
    format_of,
    write_generated,
)
from rag_evaluation_framework.synthesis.generation import Generation, generate_with_model
from rag_evaluation_framework.synthesis.model_questions import chunker_of, settings_of

_INCOMPLETE, _INTERRUPTED = 3, 130
# What a resume does not take from the run, and does not do without.
_GIVEN_AGAIN = frozenset(
    {"corpus", "output", "format", "model", "base_url", "key_env", "glob"}
    | {"keep_all", "embedder", "dataset_name", "upload_to_langsmith"}
)


def generate(options: GenerateOptions) -> int:
    """Make the dataset and return the exit code."""
    options.check_model()
    options = _as_begun(options)
    options.check_output()
    summary = _with_model(options) if options.model else _without_model(options)
    if isinstance(summary, int):
        return summary
    if options.as_json:
        print_json(generation_document(summary))
    else:
        click.echo(generation_text(summary))
    return 0


def _without_model(options: GenerateOptions) -> GenerationSummary:
    if options.unanswerable:
        raise UsageError("--unanswerable: expected a --model, since rules cannot tell what nobody answers")
    if not options.extractive:
        _say("no --model: questions are made by rules (extractive)", silent=options.as_json)
    corpus = Corpus.from_folder(options.corpus, options.glob)
    delivery = _Delivery(options, corpus)
    progress = _progress(options)
    begun = time.monotonic()

    def show(done: int) -> None:
        if progress is not None:
            elapsed = time.monotonic() - begun
            progress("documents", Progress(total=len(corpus), done=done, failed=0, elapsed=elapsed))

    try:
        extraction = generate_extractively(
            corpus,
            level=options.level,
            queries_per_doc=options.queries_per_doc,
            queries_across_docs=options.queries_across_docs,
            kinds=options.kinds,
            chunker=_chunker(options),
            quality=_quality(options, is_extractive=True),
            seed=options.seed,
            on_document=show,
        )
    finally:
        if progress is not None:
            progress.finish()
    return delivery.delivered(extraction.dataset, corpus, extraction.drafts)


def _with_model(options: GenerateOptions) -> GenerationSummary | int:
    corpus = Corpus.from_folder(options.corpus, options.glob)
    delivery = _Delivery(options, corpus)
    model = _chat_model(options)
    progress = _progress(options)
    try:
        generation = generate_with_model(
            corpus,
            model,
            level=options.level,
            queries_per_doc=options.queries_per_doc,
            kinds=options.kinds or KINDS,
            queries_across_docs=options.queries_across_docs,
            unanswerable_per_doc=options.unanswerable,
            chunker=_chunker(options),
            quality=_quality(options, is_extractive=False),
            run_folder=_run_to_resume(options),
            runs_directory=options.runs_dir,
            on_progress=None if progress is None else lambda state: progress("questions", state),
            seed=options.seed,
            concurrency=options.concurrency,
            configuration={"arguments": _given_again()},
        )
    except ModelError as error:
        _say(str(error))
        return _INCOMPLETE
    finally:
        if progress is not None:
            progress.finish()
    if generation.dataset is None:
        return _stopped(generation)
    for note in generation.outcome.notes:
        _say(note, silent=options.as_json)
    return delivery.delivered(
        generation.dataset, corpus, generation.drafts, usage=generation.usage, run=generation.run_id
    )


class _Delivery:
    """Where the dataset goes; whatever forbids it is found before anything is generated."""

    def __init__(self, options: GenerateOptions, corpus: Corpus) -> None:
        self._output = options.output
        self._dialect = ""
        if options.output is not None:
            self._dialect = format_of(options.output, options.format)
            check_format(self._dialect, level=options.level, path=options.output)
            if options.output.exists() and not options.force:
                raise UsageError(f"{options.output} exists; give --force to replace it")
            check_writable([options.output.parent])
        self._place = destination(
            options.dataset_name,
            upload_to_langsmith=options.upload_to_langsmith,
            default_name=default_dataset_name(options.level, corpus),
        )

    def delivered(self, dataset: Dataset, corpus: Corpus, drafts: Drafts, **known: Any) -> GenerationSummary:
        """Write the dataset to every place asked for."""
        if not dataset.samples:
            reasons = (
                ", ".join(f"{reason} {count:,}" for reason, count in drafts.counts().items())
                or "none was made"
            )
            raise UsageError(f"no question remained, so nothing is written: {reasons}")
        written: list[str] = []
        if self._output is not None:
            self._output.parent.mkdir(parents=True, exist_ok=True)
            write_generated(dataset, self._output, dialect=self._dialect)
            written.append(str(self._output))
        upload = None
        if self._place is not None:
            went = deliver(dataset, self._place)
            upload = went.upload
            written.append(str(went.path) if went.upload is None else went.upload.url or self._place.name)
        return GenerationSummary(
            dataset=dataset,
            documents=len(corpus),
            drafts=drafts,
            written=tuple(written),
            upload=upload,
            **known,
        )


def _run_to_resume(options: GenerateOptions) -> RunFolder | None:
    if options.resume is None:
        return None
    return RunFolder.open(options.resume, options.runs_dir)


def _as_begun(options: GenerateOptions) -> GenerateOptions:
    """Return the options with what a run to be resumed was begun with, which cannot change on the way."""
    run = _run_to_resume(options)
    if run is None:
        return options
    began = settings_of(run.head)
    return replace(
        options,
        level=began.level,
        queries_per_doc=began.queries_per_doc,
        queries_across_docs=began.queries_across_docs,
        unanswerable=began.unanswerable_per_doc,
        kinds=tuple(began.kinds),
        seed=began.seed,
        chunker=chunker_of(run.head),
    )


def _given_again() -> list[str]:
    """Return those words of the current command line that a resume needs too, without secrets."""
    context = click.get_current_context()
    words: list[str] = []
    for parameter in context.command.params:
        name = parameter.name or ""
        if name not in _GIVEN_AGAIN or context.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
            continue
        if isinstance(parameter, click.Option):
            words.append(parameter.opts[0])
        value = context.params[name]
        if value is not True:
            words.append(shown_address(value) if name == "base_url" else str(value))
    return words


def _stopped(generation: Generation) -> int:
    outcome = generation.outcome
    done = f"{counted(outcome.done, 'request')} done, {outcome.remaining:,} left"
    _say(f"{outcome.reason or 'interrupted'}: {done}; go on with --resume {generation.run_id}")
    return _INTERRUPTED if outcome.interrupted else _INCOMPLETE


def _chunker(options: GenerateOptions) -> Chunker | PositionAwareChunker | None:
    return None if options.chunker is None else chunker_from(options.chunker)


def _chat_model(options: GenerateOptions) -> OpenAIChatModel:
    """Return the model to be asked; it is closed with the command."""
    model = OpenAIChatModel(
        options.model or "",
        base_url=options.base_url,
        key_env=options.key_env,
        concurrency=options.concurrency,
        price_input=options.price_input,
        price_output=options.price_output,
    )
    click.get_current_context().call_on_close(model.close)
    return model


def _quality(options: GenerateOptions, *, is_extractive: bool) -> QualityControl | None:
    if options.keep_all:
        unchecked = QualityControl(leakage=None, round_trip=None, near_duplicates=None)
        return unchecked if is_extractive else None
    if options.embedder is None:
        return QualityControl()
    return QualityControl(
        near_duplicates=NearDuplicates(embedder=component_from(EMBEDDERS, options.embedder))
    )


def _progress(options: GenerateOptions) -> ProgressLine | None:
    return None if options.as_json else ProgressLine(sys.stderr, live=sys.stderr.isatty())


def _say(text: str, *, silent: bool = False) -> None:
    if not silent:
        click.echo(f"rag-eval: {text}", err=True)
