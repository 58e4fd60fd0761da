"""The options that say how answers are scored: by which judge, which embedder, over which documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from rag_evaluation_framework.errors import UsageError

if TYPE_CHECKING:
    from rag_evaluation_framework.evaluation.manifests.judge_settings import JudgeSettings
    from rag_evaluation_framework.evaluation.manifests.preflight import Plan
    from rag_evaluation_framework.evaluation.runs.run_groups import RunGroup
    from rag_evaluation_framework.evaluation.scorers.scoring_methods import ScoringMethods
    from rag_evaluation_framework.extensions import Embedder
    from rag_evaluation_framework.judging.judges.judge import Judge
    from rag_evaluation_framework.judging.judges.rubrics import Rubric
    from rag_evaluation_framework.language_models.chat import ChatModel
    from rag_evaluation_framework.language_models.spending import Spending
    from rag_evaluation_framework.records.documents import Corpus

C = TypeVar("C", bound=Callable[..., Any])

JUDGEMENTS = Path(".rag-eval") / "judgements"
"""Where verdicts are remembered unless another folder is given."""

_FOLDER = click.Path(file_okay=False, path_type=Path)

_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.option(
        "--judge-model",
        "judge_models",
        multiple=True,
        metavar="MODEL",
        help="A model that judges: its name, or openai(model=…, base_url=…). Several are a panel.",
    ),
    click.option(
        "--judge-url", metavar="URL", help="An OpenAI-compatible endpoint: http://localhost:8000/v1"
    ),
    click.option(
        "--judge-key-env", metavar="NAME", help="The variable with its key.  [default: OPENAI_API_KEY]"
    ),
    click.option(
        "--votes",
        type=click.IntRange(1),
        help="How often each judge is asked; the majority counts.  [default: 1]",
    ),
    click.option(
        "--rubric",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        metavar="FILE",
        help="The criteria of the metric rubric, as YAML.",
    ),
    click.option(
        "--judge-cache",
        type=_FOLDER,
        default=JUDGEMENTS,
        show_default=True,
        help="Remember verdicts there: nothing is asked twice.",
    ),
    click.option(
        "--judge-concurrency",
        type=click.IntRange(1, 256),
        default=16,
        show_default=True,
        help="How many questions are with the judge at once.",
    ),
    click.option(
        "--judge-timeout",
        type=click.FloatRange(0.1, 3600),
        default=60.0,
        show_default=True,
        metavar="SECONDS",
        help="How long one attempt to ask the judge may take; a question is put up to 5 times.",
    ),
    click.option(
        "--embedder", metavar="EMBEDDER", help="Compare texts by meaning: hashing, openai(model=…), onnx(…)."
    ),
    click.option(
        "--corpus",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        metavar="DIR",
        help="The documents that answers cite by file and characters.  [default: the dataset's own]",
    ),
    click.option(
        "--glob", default="**/*.md", show_default=True, metavar="PATTERN", help="Which files of the corpus."
    ),
)


def judge_options(command: C) -> C:
    """Add the options of scoring to a command; :func:`methods_of` takes them out again."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringOptions:
    """What the user said of scoring."""

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
        """Set up what was asked for; what is opened for it is closed with the command.

        Each option of the user's goes before what a manifest ``declared`` in its place; the rest of what it
        declared stays, though the user names another model.
        """
        from rag_evaluation_framework.evaluation.scorers.scoring_methods import ScoringMethods

        settings = self._judge_settings(declared)
        spending = None if settings is None else _spending()
        return ScoringMethods(
            judge=None if settings is None else self._judge(settings, spending),
            spending=spending,
            rubric=None if settings is None or settings.rubric is None else _rubric(settings.rubric),
            embedder=None if self.embedder is None else _embedder(self.embedder),
            corpus=None if self.corpus is None else _corpus(self.corpus, self.glob),
            threads=self.judge_concurrency,
        )

    def _judge_settings(self, declared: JudgeSettings | None) -> JudgeSettings | None:
        from rag_evaluation_framework.evaluation.manifests.judge_settings import JudgeSettings

        said: dict[str, Any] = {
            "url": self.judge_url,
            "key_env": self.judge_key_env,
            "votes": self.votes,
            "rubric": self.rubric,
        }
        told = {name: value for name, value in said.items() if value is not None}
        if self.judge_models:
            told["models"] = tuple(dict.fromkeys(self.judge_models))
        if declared is not None or self.judge_models:
            return replace(declared or JudgeSettings(models=()), **told)
        if told:
            raise UsageError("expected --judge-model beside the other options of a judge, got none")
        return None

    def _judge(self, settings: JudgeSettings, spending: Spending | None) -> Judge:
        from rag_evaluation_framework.judging.judges.judge import Judge
        from rag_evaluation_framework.language_models.cache import RememberingModel

        opened = [self._model(text, settings, spending) for text in settings.models]
        return Judge(*(RememberingModel(model, self.judge_cache) for model in opened), votes=settings.votes)

    def _model(self, text: str, settings: JudgeSettings, spending: Spending | None) -> ChatModel:
        from rag_evaluation_framework.adapters.openai_chat import OpenAIChatModel
        from rag_evaluation_framework.specifications import parse_specification

        arguments: dict[str, Any] = {"model": text}
        if "(" in text:
            specification = parse_specification(text)
            if specification.name != "openai":
                raise UsageError(f"judge: expected a model's name or openai(model=…), got {text}")
            arguments = dict(specification.arguments)
        said = {
            "base_url": settings.url,
            "key_env": settings.key_env,
            "concurrency": self.judge_concurrency,
            "timeout": self.judge_timeout,
        }
        arguments = {**{name: value for name, value in said.items() if value is not None}, **arguments}
        try:
            model = OpenAIChatModel(spending=spending, **arguments)
        except TypeError as error:
            raise UsageError(f"judge {text}: {error}") from None
        click.get_current_context().call_on_close(lambda: model.close(for_good=True))
        return model


def methods_of(given: dict[str, Any]) -> ScoringMethods:
    """Take the options of scoring out of those given, and set up what they ask for."""
    return ScoringOptions.taken_from(given).methods()


@contextmanager
def spending_told(methods: ScoringMethods, *, after: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Say on standard error what the judge has cost, however the work ends; ``after`` is called first."""
    from rag_evaluation_framework.reports.spending import spending_text

    try:
        yield
    finally:
        after()
        judge, spending = methods.judge, methods.spending
        if judge is not None and spending is not None:
            click.echo(spending_text(judge.name, spending, failed_votes=judge.failed_votes), err=True)


def waiting_notice(methods: ScoringMethods) -> str:
    """Say how many questions wait because the judge fails or asks for less; nothing where none does."""
    models = () if methods.judge is None else methods.judge.models
    waiting = sum(getattr(model, "waiting", 0) for model in models)
    questions = "1 question waits" if waiting == 1 else f"{waiting:,} questions wait"
    return f"{questions} to be put to the judge again" if waiting else ""


def with_judge_warnings(
    plan: Plan, methods: ScoringMethods, *, model: str | None, baseline: RunGroup | None
) -> Plan:
    """Return the plan with what there is to warn of: a judge that is kin to the ``model`` that it judges, and
    one that is another than the baseline's, though of the same name.
    """
    from rag_evaluation_framework.results.run_judges import other_judge_warnings

    told = kinship_warnings(methods, [model] if model and plan.judge_calls else [])
    told += other_judge_warnings(plan, baseline, methods)
    return replace(plan, warnings=(*plan.warnings, *told))


def kinship_warnings(methods: ScoringMethods, models: Iterable[str]) -> list[str]:
    """Return what to say of those models that the judge is kin to."""
    from rag_evaluation_framework.judging.judges.model_families import kinship_warning

    judges = [] if methods.judge is None else [judge.name for judge in methods.judge.models]
    return [warning for model in models if (warning := kinship_warning(judges, model))]


def _spending() -> Spending:
    from rag_evaluation_framework.language_models.spending import Spending

    return Spending()


def _rubric(path: Path) -> Rubric:
    from rag_evaluation_framework.judging.judges.rubrics import read_rubric

    return read_rubric(path)


def _embedder(text: str) -> Embedder:
    from rag_evaluation_framework.retrieval.components import EMBEDDERS, component_from

    return component_from(EMBEDDERS, text)


def _corpus(folder: Path, pattern: str) -> Corpus:
    from rag_evaluation_framework.records.documents import Corpus

    return Corpus.from_folder(folder, pattern)
