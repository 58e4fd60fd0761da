"""What ``rag-eval generate`` is asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from rag_evaluation_framework.errors import UsageError

if TYPE_CHECKING:
    from rag_evaluation_framework.adapters.openai_chat import OpenAIChatModel
    from rag_evaluation_framework.extensions import Chunker, Embedder, PositionAwareChunker
    from rag_evaluation_framework.records.documents import Corpus
    from rag_evaluation_framework.synthesis.drafts import QuestionKind

C = TypeVar("C", bound=Callable[..., Any])

EXAMPLES = """\b
Examples:
  rag-eval generate documents -o questions.eval.json
  rag-eval generate documents --level chunk --chunker 'recursive(chunk_size=500)' -o questions.jsonl
  rag-eval generate documents --model gpt-4o-mini --queries-per-doc 10 --unanswerable 1 -o q.eval.json
  rag-eval generate documents --model llama3:8b --base-url http://localhost:11434/v1 -o q.eval.json
  rag-eval generate documents --extractive --dataset-name handbook-token-level"""

_KINDS = ("factual", "analytical", "comparative", "temporal")
_FORMATS = ("evaluation-dataset", "langsmith")

_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.argument("corpus", type=click.Path(exists=True, file_okay=False, path_type=Path)),
    click.option(
        "-o",
        "--output",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="The dataset: .eval.json, .eval.yaml, .eval.csv, or .jsonl for LangSmith's shape.",
    ),
    click.option("--format", type=click.Choice(_FORMATS), help="[default: told by the ending of FILE]"),
    click.option("--force", is_flag=True, help="Replace FILE if it exists."),
    click.option(
        "--level",
        type=click.Choice(["token", "chunk"]),
        default="token",
        show_default=True,
        help="Ground truth by characters, for every chunker; or by the chunks of one.",
    ),
    click.option("--chunker", metavar="SPEC", help="At chunk level: recursive(chunk_size=500), sentence …"),
    click.option("--queries-per-doc", type=click.IntRange(0), default=5, show_default=True, metavar="N"),
    click.option(
        "--queries-across-docs",
        type=click.IntRange(0),
        default=0,
        metavar="N",
        help="In addition, questions that need several documents.",
    ),
    click.option(
        "--unanswerable",
        type=click.IntRange(0),
        default=0,
        metavar="N",
        help="With --model: for each document, questions that the documents do not answer.",
    ),
    click.option(
        "--kinds", multiple=True, type=click.Choice(_KINDS), help="May be repeated.  [default: all]"
    ),
    click.option("--extractive", is_flag=True, help="Without a model, and without a note that says so."),
    click.option("--model", metavar="NAME", help="A model behind an OpenAI-compatible endpoint."),
    click.option("--base-url", metavar="URL", help="Its endpoint: http://localhost:8000/v1"),
    click.option("--key-env", metavar="NAME", help="The variable with its key.  [default: OPENAI_API_KEY]"),
    click.option("--price-input", type=float, metavar="USD", help="Dollars for a million tokens read."),
    click.option("--price-output", type=float, metavar="USD", help="Dollars for a million tokens written."),
    click.option("--concurrency", type=click.IntRange(1, 256), default=16, show_default=True),
    click.option(
        "--runs-dir",
        type=click.Path(file_okay=False, path_type=Path),
        default=Path("runs"),
        show_default=True,
        help="With --model: where the journal is kept.",
    ),
    click.option("--resume", metavar="RUN", help="Go on with an interrupted run; nothing is asked twice."),
    click.option("--keep-all", is_flag=True, help="Check nothing but the ground truth."),
    click.option(
        "--embedder", metavar="SPEC", help="Finds questions that repeat others.  [default: hashing]"
    ),
    click.option("--glob", default="**/*.md", show_default=True, metavar="PATTERN", help="The documents."),
    click.option("--seed", type=click.IntRange(0), default=0, show_default=True),
    click.option(
        "--dataset-name",
        metavar="NAME",
        help="Keep the dataset under this name too: in the folder langsmith/, or at LangSmith.",
    ),
    click.option("--upload-to-langsmith", is_flag=True, help="Upload it (LANGSMITH_API_KEY)."),
    click.option("--json", "as_json", is_flag=True, help="Print JSON for machines."),
)


def generate_options(command: C) -> C:
    """Add the options to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateOptions:
    """What the user said."""

    corpus: Path
    output: Path | None
    format: str | None
    force: bool
    level: Literal["token", "chunk"]
    chunker: str | None
    queries_per_doc: int
    queries_across_docs: int
    unanswerable: int
    kinds: tuple[QuestionKind, ...]
    extractive: bool
    model: str | None
    base_url: str | None
    key_env: str | None
    price_input: float | None
    price_output: float | None
    concurrency: int
    runs_dir: Path
    resume: str | None
    keep_all: bool
    embedder: str | None
    glob: str
    seed: int
    dataset_name: str | None
    upload_to_langsmith: bool
    as_json: bool

    def check_model(self) -> None:
        """Refuse options of a model without one, and a model where there is to be none."""
        if self.extractive and self.model:
            raise UsageError("--extractive: expected no --model, since rules ask none")
        if not self.model:
            for name in ("base_url", "key_env", "price_input", "price_output", "resume"):
                if getattr(self, name) is not None:
                    raise UsageError(f"--{name.replace('_', '-')}: expected a --model with it, got none")

    def check_output(self) -> None:
        """Refuse what leaves the dataset without a place, and a chunker that does not go with the level."""
        if self.output is None and self.dataset_name is None and not self.upload_to_langsmith:
            raise UsageError(
                "-o: expected a file for the dataset, or --dataset-name, or --upload-to-langsmith"
            )
        if self.level == "chunk" and self.chunker is None:
            raise UsageError("--chunker: expected one at chunk level, such as recursive(chunk_size=500)")
        if self.level == "token" and self.chunker is not None:
            raise UsageError(
                "--chunker: expected --level chunk with it; at token level every chunker will do"
            )

    def read_corpus(self) -> Corpus:
        from rag_evaluation_framework.records.documents import Corpus

        return Corpus.from_folder(self.corpus, self.glob)

    def chosen_chunker(self) -> Chunker | PositionAwareChunker | None:
        from rag_evaluation_framework.retrieval.components import chunker_from

        return None if self.chunker is None else chunker_from(self.chunker)

    def chosen_embedder(self) -> Embedder:
        from rag_evaluation_framework.retrieval.components import EMBEDDERS, component_from

        return component_from(EMBEDDERS, self.embedder or "hashing")

    def chat_model(self) -> OpenAIChatModel:
        """Return the model to be asked; it is closed with the command."""
        from rag_evaluation_framework.adapters.openai_chat import OpenAIChatModel

        model = OpenAIChatModel(
            self.model or "",
            base_url=self.base_url,
            key_env=self.key_env,
            concurrency=self.concurrency,
            price_input=self.price_input,
            price_output=self.price_output,
        )
        click.get_current_context().call_on_close(model.close)
        return model
