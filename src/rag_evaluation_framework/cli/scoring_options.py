"""The options that say how answers are scored: by which judge, which embedder, against which documents."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rag_evaluation_framework.cli.shared_options import (
    EXISTING_FILE,
    EXISTING_FOLDER,
    GLOB,
    C,
    Option,
    with_options,
)
from rag_evaluation_framework.errors import UsageError

if TYPE_CHECKING:
    from rag_evaluation_framework.evaluation.manifests.judge_settings import JudgeSettings
    from rag_evaluation_framework.judging.judge import Judge
    from rag_evaluation_framework.judging.methods import ScoringMethods
    from rag_evaluation_framework.models.chat import ChatModel
    from rag_evaluation_framework.models.spending import Spending

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


def scoring_options(command: C) -> C:
    """Give a command the options above; :meth:`ScoringOptions.taken_from` reads them."""
    return with_options(command, _OPTIONS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringOptions:
    """How the user wants answers scored."""

    judge_models: tuple[str, ...]
    judge_url: str | None
    judge_key_env: str | None
    votes: int | None
    rubric: Path | None
    judge_cache: Path
    judge_concurrency: int
    judge_timeout: float
    embedder: str | None
    corpus: Path | None
    glob: str

    @classmethod
    def taken_from(cls, given: dict[str, Any]) -> ScoringOptions:
        """Take the options of scoring out of those given to a command."""
        return cls(**{field.name: given.pop(field.name) for field in fields(cls)})

    def methods(self, declared: JudgeSettings | None = None) -> ScoringMethods:
        """Set up what was asked for; whatever is opened for it is closed when the command ends.

        Each of the user's options replaces what a manifest ``declared``; the rest of the declaration still
        holds, even for another model.
        """
        from rag_evaluation_framework.components import EMBEDDERS, component_from
        from rag_evaluation_framework.judging.methods import ScoringMethods
        from rag_evaluation_framework.judging.rubrics import read_rubric
        from rag_evaluation_framework.models.spending import Spending
        from rag_evaluation_framework.records.documents import Corpus

        settings = self._judge_settings(declared)
        spending = None if settings is None else Spending()
        return ScoringMethods(
            judge=None if settings is None else self._judge(settings, spending),
            spending=spending,
            rubric=None if settings is None or settings.rubric is None else read_rubric(settings.rubric),
            embedder=None if self.embedder is None else component_from(EMBEDDERS, self.embedder),
            corpus=None if self.corpus is None else Corpus.from_folder(self.corpus, self.glob),
            threads=self.judge_concurrency,
        )

    def _judge_settings(self, declared: JudgeSettings | None) -> JudgeSettings | None:
        from rag_evaluation_framework.evaluation.manifests.judge_settings import JudgeSettings

        options: dict[str, Any] = {
            "models": tuple(dict.fromkeys(self.judge_models)) or None,
            "url": self.judge_url,
            "key_env": self.judge_key_env,
            "votes": self.votes,
            "rubric": self.rubric,
        }
        given = {name: value for name, value in options.items() if value is not None}
        if declared is not None or self.judge_models:
            return replace(declared or JudgeSettings(models=()), **given)
        if given:
            raise UsageError("expected --judge-model beside the other options of a judge, got none")
        return None

    def _judge(self, settings: JudgeSettings, spending: Spending | None) -> Judge:
        from rag_evaluation_framework.judging.judge import Judge
        from rag_evaluation_framework.models.memory import RememberingModel

        opened = [self._model(text, settings, spending) for text in settings.models]
        return Judge(*(RememberingModel(model, self.judge_cache) for model in opened), votes=settings.votes)

    def _model(self, text: str, settings: JudgeSettings, spending: Spending | None) -> ChatModel:
        from rag_evaluation_framework.adapters.openai import OpenAIChatModel
        from rag_evaluation_framework.extensions import built, parse_specification

        arguments: dict[str, Any] = {"model": text}
        if "(" in text:
            specification = parse_specification(text)
            if specification.name != "openai":
                raise UsageError(f"judge: expected a model's name or openai(model=…), got {text}")
            arguments = dict(specification.arguments)
        options = {
            "base_url": settings.url,
            "key_env": settings.key_env,
            "concurrency": self.judge_concurrency,
            "timeout": self.judge_timeout,
        }
        arguments = {**{name: value for name, value in options.items() if value is not None}, **arguments}
        model = built(OpenAIChatModel, arguments, of=f"judge {text}", given={"spending": spending})
        click.get_current_context().call_on_close(lambda: model.close(for_good=True))
        return model
