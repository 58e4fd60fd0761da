"""The options that say how answers are scored: by which judge, which embedder, against which documents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rag_evaluation_framework.cli.shared_options import (
    EXISTING_FILE,
    EXISTING_FOLDER,
    GLOB,
    C,
    Option,
    with_options,
)

_OPTIONS: tuple[Option[Any], ...] = (
    click.option(
        "--judge-model",
        "judge_models",
        multiple=True,
        metavar="MODEL",
        help="Model that judges: a name, or openai(model=…, base_url=…); several make a panel.",
    ),
    click.option(
        "--judge-url",
        metavar="URL",
        help="URL of the judge's OpenAI-compatible endpoint, e.g. http://localhost:8000/v1.",
    ),
    click.option(
        "--judge-key-env",
        metavar="NAME",
        help="Environment variable that holds the judge's key.  [default: OPENAI_API_KEY]",
    ),
    click.option(
        "--votes",
        type=click.IntRange(1),
        help="Number of times each judge is asked; the majority counts.  [default: 1]",
    ),
    click.option(
        "--rubric",
        type=EXISTING_FILE,
        metavar="FILE",
        help="YAML file with the criteria of the metric rubric.",
    ),
    click.option(
        "--judge-cache",
        type=click.Path(file_okay=False, path_type=Path),
        default=Path(".rag-eval") / "judgements",
        help="Folder in which verdicts are remembered, so that nothing is asked twice.",
    ),
    click.option(
        "--judge-concurrency",
        type=click.IntRange(1, 256),
        default=16,
        help="Maximum number of questions put to the judge at the same time.",
    ),
    click.option(
        "--judge-timeout",
        type=click.FloatRange(0.1, 3600),
        default=60.0,
        metavar="SECONDS",
        help="Seconds allowed for one attempt to ask the judge; a question gets up to 5 attempts.",
    ),
    click.option(
        "--embedder",
        metavar="EMBEDDER",
        help="Embedder that compares texts by meaning: hashing, openai(model=…) or onnx(…).",
    ),
    click.option(
        "--corpus",
        type=EXISTING_FOLDER,
        metavar="DIR",
        help="Folder of the documents that answers cite.  [default: the dataset's own documents]",
    ),
    GLOB,
)


# The options of a judge as :class:`JudgeSettings` calls them.
_OF_THE_JUDGE = {
    "judge_models": "models",
    "judge_url": "url",
    "judge_key_env": "key_env",
    "votes": "votes",
    "rubric": "rubric",
    "judge_cache": "cache",
    "judge_concurrency": "concurrency",
    "judge_timeout": "timeout",
}


def scoring_options(command: C) -> C:
    """Give a command the options above; :func:`scoring_of` reads them."""
    return with_options(command, _OPTIONS)


def scoring_of(given: dict[str, Any]) -> dict[str, Any]:
    """Take the options of scoring out of those given to a command, as ``evaluate`` takes them."""
    from rag_evaluation_framework.records.documents import Corpus

    judge = {ours: given.pop(name) for name, ours in _OF_THE_JUDGE.items()}
    judge["models"] = tuple(dict.fromkeys(judge["models"])) or None
    corpus, glob = given.pop("corpus"), given.pop("glob")
    return {
        "judge": {name: value for name, value in judge.items() if value is not None},
        "embedder": given.pop("embedder"),
        "documents": None if corpus is None else Corpus.from_folder(corpus, glob),
    }
