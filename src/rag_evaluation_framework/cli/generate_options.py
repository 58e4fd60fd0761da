"""What ``rag-eval generate`` is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from rag_evaluation_framework.cli.options import (
    AS_JSON,
    BASE_URL,
    EXISTING_FOLDER,
    FILE,
    GLOB,
    KEY_ENV,
    RUNS_DIR,
    SEED,
    C,
    Option,
    concurrency,
    with_options,
)
from rag_evaluation_framework.errors import UsageError

if TYPE_CHECKING:
    from rag_evaluation_framework.synthesis.drafts import QuestionKind

EXAMPLES = """\b
Examples:
  rag-eval generate documents -o questions.eval.json
  rag-eval generate documents --level chunk --chunker 'recursive(chunk_size=500)' -o questions.jsonl
  rag-eval generate documents --model gpt-4o-mini --queries-per-doc 10 --unanswerable 1 -o q.eval.json
  rag-eval generate documents --model llama3:8b --base-url http://localhost:11434/v1 -o q.eval.json
  rag-eval generate documents --extractive --dataset-name handbook-token-level"""

_KINDS = ("factual", "analytical", "comparative", "temporal")
_FORMATS = ("evaluation-dataset", "langsmith")

_OPTIONS: tuple[Option[Any], ...] = (
    click.argument("corpus", type=EXISTING_FOLDER),
    click.option(
        "-o",
        "--output",
        type=FILE,
        metavar="FILE",
        help="File for the dataset: .eval.json, .eval.yaml, .eval.csv, or .jsonl for LangSmith.",
    ),
    click.option(
        "--format",
        type=click.Choice(_FORMATS),
        help="Format of the dataset.  [default: by the ending of FILE]",
    ),
    click.option("--force", is_flag=True, help="Replace FILE if it exists."),
    click.option(
        "--level",
        type=click.Choice(["token", "chunk"]),
        default="token",
        help="Ground truth as characters, which suits every chunker, or as the chunks of one chunker.",
    ),
    click.option(
        "--chunker",
        metavar="SPEC",
        help="Chunker at chunk level, e.g. recursive(chunk_size=500) or sentence.",
    ),
    click.option(
        "--queries-per-doc",
        type=click.IntRange(0),
        default=5,
        metavar="N",
        help="Number of questions for each document.",
    ),
    click.option(
        "--queries-across-docs",
        type=click.IntRange(0),
        default=0,
        metavar="N",
        help="Additional questions that need several documents.",
    ),
    click.option(
        "--unanswerable",
        type=click.IntRange(0),
        default=0,
        metavar="N",
        help="With --model: additional questions for each document that no document answers.",
    ),
    click.option(
        "--kinds",
        multiple=True,
        type=click.Choice(_KINDS),
        help="Kind of question to make; may be repeated.  [default: all]",
    ),
    click.option(
        "--extractive", is_flag=True, help="Make the questions by rules; this is the default without --model."
    ),
    click.option("--model", metavar="NAME", help="Model that writes the questions."),
    BASE_URL,
    KEY_ENV,
    click.option("--price-input", type=float, metavar="USD", help="US dollars for a million input tokens."),
    click.option("--price-output", type=float, metavar="USD", help="US dollars for a million output tokens."),
    concurrency(type=click.IntRange(1, 256)),
    RUNS_DIR,
    click.option("--resume", metavar="RUN", help="Resume this run; what has a reply is not asked again."),
    click.option(
        "--keep-all",
        is_flag=True,
        help="Keep every question with valid ground truth, without the other checks.",
    ),
    click.option(
        "--embedder", metavar="SPEC", help="Embedder that finds repeated questions.  [default: hashing]"
    ),
    GLOB,
    SEED,
    click.option(
        "--dataset-name",
        metavar="NAME",
        help="Also keep the dataset under this name, in the folder langsmith/ or at LangSmith.",
    ),
    click.option(
        "--upload-to-langsmith",
        is_flag=True,
        help="Upload the dataset to LangSmith; the key is in LANGSMITH_API_KEY.",
    ),
    AS_JSON,
)


def generate_options(command: C) -> C:
    """Give a command all the options above."""
    return with_options(command, _OPTIONS)


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
