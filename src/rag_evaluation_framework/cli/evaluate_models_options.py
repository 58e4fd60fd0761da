"""The options of ``scripts/evaluate_models.py``, and the record they are read into."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, Literal

import click

from rag_evaluation_framework.cli.options import (
    AS_JSON,
    EXISTING_FILE,
    FILE,
    RUNS_DIR,
    TIMEOUT,
    C,
    Option,
    check_resumed_alone,
    concurrency,
    metrics_option,
    with_options,
)
from rag_evaluation_framework.errors import UsageError, shown

DatasetType = Literal["qa", "summaries"]

DEFAULT_CONFIG = Path("configs", "default.yaml")
DEFAULT_METRICS = ("token_f1", "rouge", "answer_similarity")
MODEL_IN_NAME = "{model}"
ADDRESS_VARIABLE = "OPENAI_BASE_URL"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """What the user asked for."""

    models: tuple[str, ...]
    config: Path | None
    dataset_type: DatasetType | None
    dataset: Path | None
    base_url: str | None
    api_key_env: str | None
    temperature: str
    max_tokens: int | None
    metrics: tuple[str, ...]
    limit: int | None
    seed: int | None
    concurrency: int
    timeout: float
    resume: tuple[str, ...]
    runs_dir: Path
    price: tuple[str, ...]
    output: Path | None
    as_json: bool

    def __post_init__(self) -> None:
        if not self.models and not self.resume:
            raise UsageError("expected --model NAME, or --resume RUN, got neither")
        if any(not model.strip() for model in self.models):
            raise UsageError("--model: expected a name, got an empty one")
        choices = {
            "--dataset-type": self.dataset_type,
            "--metric": self.metrics,
            "--limit": self.limit,
            "--seed": self.seed,
        }
        check_resumed_alone(self.resume, choices)

    @property
    def chosen_temperature(self) -> float | None:
        """The temperature to send; ``None`` to send none."""
        if self.temperature.strip().lower() == "none":
            return None
        try:
            value = float(self.temperature)
        except ValueError:
            value = -1.0
        if not (isfinite(value) and value >= 0):
            raise UsageError(f"--temperature: expected a number or none, got {shown(self.temperature)}")
        return value


_OPTIONS: tuple[Option[Any], ...] = (
    click.option(
        "--model",
        "models",
        multiple=True,
        metavar="NAME",
        help="Model to evaluate; may be repeated. The others are compared with the first.",
    ),
    click.option(
        "--config",
        type=EXISTING_FILE,
        help="Configuration file that says where the splits are.  "
        f"[default: {DEFAULT_CONFIG.as_posix()}, if it exists]",
    ),
    click.option(
        "--dataset-type", type=click.Choice(["qa", "summaries"]), help="Split to evaluate.  [default: qa]"
    ),
    click.option("--dataset", type=FILE, help="Dataset of any dialect to evaluate instead of a split."),
    click.option(
        "--base-url",
        metavar="URL",
        help=f"URL of the models' endpoint.  [default: ${ADDRESS_VARIABLE}, else OpenAI]",
    ),
    click.option(
        "--api-key-env",
        metavar="NAME",
        help="Environment variable that holds the key.  [default: OPENAI_API_KEY, if it is set]",
    ),
    click.option(
        "--temperature", default="0", help="Sampling temperature of new runs; none leaves it to the endpoint."
    ),
    click.option("--max-tokens", type=click.IntRange(1), help="Maximum length of an answer in new runs."),
    metrics_option(help=f"Score by this metric; may be repeated.  [default: {', '.join(DEFAULT_METRICS)}]"),
    click.option("--limit", type=click.IntRange(1), metavar="N", help="Use only the first N samples."),
    click.option("--seed", type=int, help="Random seed; the same seed gives the same figures.  [default: 0]"),
    concurrency(),
    TIMEOUT,
    click.option(
        "--resume",
        multiple=True,
        metavar="RUN",
        help="Resume this run and those that belong to it; what has an answer is not asked again. "
        "May be repeated.",
    ),
    RUNS_DIR,
    click.option(
        "--price",
        multiple=True,
        metavar="MODEL=IN,OUT",
        help="US dollars for a million input and output tokens of a model; may be repeated.",
    ),
    click.option(
        "--output",
        type=click.Path(path_type=Path),
        help=f"File for each model's results document; {MODEL_IN_NAME} stands for the model's name.",
    ),
    AS_JSON,
)


def model_options(command: C) -> C:
    """Give a command all the options above."""
    return with_options(command, _OPTIONS)
