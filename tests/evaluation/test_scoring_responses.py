"""Whatever a scorer does, each metric has one score and the run goes on."""

from __future__ import annotations

import pytest
from simulated_targets import ExactMatch, sample

from rag_evaluation_framework import RagEvalError, Response, Sample, Score, Usage, UsageError
from rag_evaluation_framework.errors import ModelError, TargetError
from rag_evaluation_framework.evaluation.scored_answers import check_scorers, scored_result, writable_result


class Scripted:
    """Gives the score it was made with, or raises it."""

    method = "scripted"

    def __init__(self, outcome: object, name: str = "scripted") -> None:
        self.name = name
        self._outcome = outcome

    def score(self, sample: Sample, response: Response) -> Score:
        if isinstance(self._outcome, Exception):
            raise self._outcome
        return self._outcome  # type: ignore[return-value]  # a careless scorer returns anything


class Unwritable(Exception):  # noqa: N818  # a plug-in names its exceptions as it likes
    """Fails again when it is written."""

    def __str__(self) -> str:
        raise RuntimeError("no words")

    __repr__ = __str__


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        (KeyError("boom"), "the scorer failed: KeyError: 'boom'"),
        (Unwritable(), "the scorer failed: Unwritable"),
        ([Unwritable()], "got a value of type list without a text form"),
        (ValueError("x" * 1_000_000), "the scorer failed: ValueError: xxx"),
        (None, "expected a score of scripted, got None"),
        (Score.scored("another", 1.0, method="exact"), "expected a score of scripted, got Score"),
    ],
)
def test_a_scorer_that_breaks_gives_a_failed_score_and_the_others_stand(outcome: object, reason: str) -> None:
    broken, fine = scored_result(sample(1), Response(text="2"), [Scripted(outcome), ExactMatch()]).scores
    assert (broken.metric, broken.method, broken.status) == ("scripted", "scripted", "failed")
    assert reason in (broken.reason or "")
    assert len(broken.reason or "") < 600
    assert fine.value == 1.0


@pytest.mark.parametrize("failure", [TargetError, ModelError])
@pytest.mark.parametrize(
    ("kind", "may_be_retried"), [("http-503", True), ("timeout", True), ("http-400", False)]
)
def test_a_model_that_gives_no_answer_is_no_mistake_of_the_scorer(
    failure: type[TargetError | ModelError], kind: str, may_be_retried: bool
) -> None:
    raised: RagEvalError = failure(kind, "embedder small: busy")
    (score,) = scored_result(sample(1), Response(text="2"), [Scripted(raised)]).scores
    reason = f"the scorer's model gave no answer: {kind}: embedder small: busy"
    assert (score.status, score.reason, score.may_be_retried) == ("failed", reason, may_be_retried)


@pytest.mark.parametrize(
    "response",
    [
        Response(text="half a pair: \ud800"),
        Response(text="2", metadata={"confidence": float("nan")}),
        Response(text="2", metadata={"when": object()}),
        Response(text="2", usage=Usage(cost_usd=float("inf"))),
    ],
)
def test_a_response_that_json_cannot_hold_is_a_failure(response: Response) -> None:
    scorers = [ExactMatch()]
    result = writable_result(sample(1), scored_result(sample(1), response, scorers), scorers)
    assert result.response.failure is not None
    assert result.response.failure.kind == "unwritable-response"
    assert [score.status for score in result.scores] == ["failed"]


@pytest.mark.parametrize("method", ["exact", "timing"])
def test_a_score_that_json_cannot_hold_is_a_failed_score_alone(method: str) -> None:
    odd = Score.scored("odd", 1.0, method=method, details={"seen": {1, 2}})
    scorers = [Scripted(odd, "odd"), ExactMatch()]
    result = writable_result(sample(1), scored_result(sample(1), Response(text="2"), scorers), scorers)
    assert result.response.text == "2"
    assert [score.status for score in result.scores] == ["failed", "scored"]


def test_each_metric_is_asked_for_once() -> None:
    with pytest.raises(UsageError, match="duplicate metrics: exact_match"):
        check_scorers([ExactMatch(), ExactMatch()])
