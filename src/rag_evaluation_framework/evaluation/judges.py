"""What answers are scored with, set up from what people give: a judge, an embedder, documents."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from rag_evaluation_framework.components import EMBEDDERS, component_from
from rag_evaluation_framework.errors import UsageError
from rag_evaluation_framework.evaluation.manifest import JudgeSettings
from rag_evaluation_framework.extensions import Embedder, Registry, built, parse_specification
from rag_evaluation_framework.judging.judge import Judge
from rag_evaluation_framework.judging.methods import ScoringMethods
from rag_evaluation_framework.judging.rubrics import read_rubric
from rag_evaluation_framework.models.chat import ChatModel
from rag_evaluation_framework.models.clients import as_chat_model
from rag_evaluation_framework.models.memory import RememberingModel
from rag_evaluation_framework.models.spending import Spending
from rag_evaluation_framework.records.documents import Corpus

JudgeLike: TypeAlias = str | JudgeSettings | ChatModel | Judge

_MODELS: Registry[Callable[..., Any]] = Registry("chat model")
_MODELS.register("openai", "rag_evaluation_framework.adapters.openai:OpenAIChatModel")


class OpenedMethods:
    """Methods, and the models that were opened for them; :meth:`close` closes those."""

    def __init__(
        self,
        judge: JudgeLike | None = None,
        embedder: str | Embedder | None = None,
        documents: Corpus | str | Path | None = None,
    ) -> None:
        self._opened: list[Any] = []
        settings = JudgeSettings(models=(judge,)) if isinstance(judge, str) else judge
        spending = Spending() if isinstance(settings, JudgeSettings) else None
        rubric = settings.rubric if isinstance(settings, JudgeSettings) else None
        corpus = documents if isinstance(documents, Corpus | None) else Corpus.from_folder(documents)
        self.methods = ScoringMethods(
            judge=self._judge(settings, spending),
            spending=spending,
            rubric=None if rubric is None else read_rubric(rubric),
            embedder=component_from(EMBEDDERS, embedder) if isinstance(embedder, str) else embedder,
            corpus=corpus,
            threads=settings.concurrency if isinstance(settings, JudgeSettings) else 16,
        )

    def close(self) -> None:
        """Close what was opened."""
        for model in self._opened:
            model.close(for_good=True)

    def _judge(
        self, given: JudgeSettings | ChatModel | Judge | None, spending: Spending | None
    ) -> Judge | None:
        if given is None or isinstance(given, Judge):
            return given
        if not isinstance(given, JudgeSettings):
            return Judge(as_chat_model(given))
        models = [self._model(text, given, spending) for text in given.models]
        if given.cache is not None:
            models = [RememberingModel(model, given.cache) for model in models]
        return Judge(*models, votes=given.votes)

    def _model(self, text: str, settings: JudgeSettings, spending: Spending | None) -> ChatModel:
        arguments: dict[str, Any] = {"model": text}
        if "(" in text:
            specification = parse_specification(text)
            if specification.name != "openai":
                raise UsageError(f"judge: expected a model's name or openai(model=…), got {text}")
            arguments = dict(specification.arguments)
        options = {
            "base_url": settings.url,
            "key_env": settings.key_env,
            "concurrency": settings.concurrency,
            "timeout": settings.timeout,
        }
        arguments = {**{name: value for name, value in options.items() if value is not None}, **arguments}
        model: ChatModel = built(
            _MODELS.get("openai"), arguments, of=f"judge {text}", given={"spending": spending}
        )
        self._opened.append(model)
        return model
