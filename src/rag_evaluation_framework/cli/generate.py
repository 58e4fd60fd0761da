"""``rag-eval generate``: make an evaluation dataset from a folder of documents."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from rag_evaluation_framework.cli.generate_options import (
    EXAMPLES,
    GenerateOptions,
    generate_options,
    given_again,
)
from rag_evaluation_framework.cli.json_output import print_json
from rag_evaluation_framework.counts import counted
from rag_evaluation_framework.errors import ModelError, UsageError

if TYPE_CHECKING:
    from rag_evaluation_framework.evaluation.runs.run_folder import RunFolder
    from rag_evaluation_framework.records.datasets import Dataset
    from rag_evaluation_framework.records.documents import Corpus
    from rag_evaluation_framework.reports.generation import GenerationSummary
    from rag_evaluation_framework.synthesis.drafts import Drafts
    from rag_evaluation_framework.synthesis.generation import Generation
    from rag_evaluation_framework.synthesis.quality import QualityControl

_INCOMPLETE, _INTERRUPTED = 3, 130


@click.command("generate", epilog=EXAMPLES)
@generate_options
@click.pass_context
def command(context: click.Context, /, **given: Any) -> None:
    """Make questions about the documents in the folder CORPUS, with the exact passages that answer them.

    With --model a language model writes them, and an interrupted run can be resumed. Without one, rules make
    them from the documents' own sentences, tables and headings (extractive): free, offline and the same each
    time, but plainer than what a person or a model would ask.

    Questions that copy their passage, do not lead back to it, fit many passages or repeat another are
    rejected and counted.

    Exit code 0: the dataset is written; 2: wrong usage or data; 3: the model failed before the end;
    130: interrupted.
    """
    from rag_evaluation_framework.reports.generation import generation_document, generation_text

    options = GenerateOptions(**given)
    options.check_model()
    options = _as_begun(options)
    options.check_output()
    summary = _with_model(options) if options.model else _without_model(options)
    if isinstance(summary, int):
        context.exit(summary)
    if options.as_json:
        print_json(generation_document(summary))
    else:
        click.echo(generation_text(summary))


def _without_model(options: GenerateOptions) -> GenerationSummary:
    from rag_evaluation_framework.evaluation.runs.run_records import Progress
    from rag_evaluation_framework.synthesis.extractive import generate_extractively

    if options.unanswerable:
        raise UsageError("--unanswerable: expected a --model, since rules cannot tell what nobody answers")
    if not options.extractive:
        _say("no --model: questions are made by rules (extractive)", silent=options.as_json)
    corpus = options.read_corpus()
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
            chunker=options.chosen_chunker(),
            quality=_quality(options, is_extractive=True),
            seed=options.seed,
            on_document=show,
        )
    finally:
        if progress is not None:
            progress.finish()
    return delivery.delivered(extraction.dataset, corpus, extraction.drafts)


def _with_model(options: GenerateOptions) -> GenerationSummary | int:
    from rag_evaluation_framework.synthesis.drafts import KINDS
    from rag_evaluation_framework.synthesis.generation import generate_with_model

    corpus = options.read_corpus()
    delivery = _Delivery(options, corpus)
    model = options.chat_model()
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
            chunker=options.chosen_chunker(),
            quality=_quality(options, is_extractive=False),
            run_folder=_run_to_resume(options),
            runs_directory=options.runs_dir,
            on_progress=None if progress is None else lambda state: progress("questions", state),
            seed=options.seed,
            concurrency=options.concurrency,
            configuration={"arguments": given_again()},
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
        from rag_evaluation_framework.evaluation.manifests.preflight import check_writable
        from rag_evaluation_framework.synthesis.uploading import default_dataset_name, destination
        from rag_evaluation_framework.synthesis.written_datasets import check_format, format_of

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
        from rag_evaluation_framework.reports.generation import GenerationSummary
        from rag_evaluation_framework.synthesis.uploading import deliver
        from rag_evaluation_framework.synthesis.written_datasets import write_generated

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
    from rag_evaluation_framework.evaluation.runs.run_folder import RunFolder

    return RunFolder.open(options.resume, options.runs_dir)


def _as_begun(options: GenerateOptions) -> GenerateOptions:
    """Return the options with what a run to be resumed was begun with, which cannot change on the way."""
    run = _run_to_resume(options)
    if run is None:
        return options
    from rag_evaluation_framework.synthesis.asking.model_questions import chunker_of, settings_of

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


def _stopped(generation: Generation) -> int:
    outcome = generation.outcome
    done = f"{counted(outcome.done, 'request')} done, {outcome.remaining:,} left"
    _say(f"{outcome.reason or 'interrupted'}: {done}; go on with --resume {generation.run_id}")
    return _INTERRUPTED if outcome.interrupted else _INCOMPLETE


def _quality(options: GenerateOptions, *, is_extractive: bool) -> QualityControl | None:
    from rag_evaluation_framework.synthesis.quality import NearDuplicates, QualityControl

    if options.keep_all:
        unchecked = QualityControl(leakage=None, round_trip=None, near_duplicates=None)
        return unchecked if is_extractive else None
    if options.embedder is None:
        return QualityControl()
    return QualityControl(near_duplicates=NearDuplicates(embedder=options.chosen_embedder()))


def _progress(options: GenerateOptions) -> Any:
    from rag_evaluation_framework.reports.progress import ProgressLine

    return None if options.as_json else ProgressLine(sys.stderr, live=sys.stderr.isatty())


def _say(text: str, *, silent: bool = False) -> None:
    if not silent:
        click.echo(f"rag-eval: {text}", err=True)
