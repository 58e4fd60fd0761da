"""What a judge costs besides its model: calls for each metric of a sample, and CPU time for each verdict.

The judge is a function in this process that answers at once, so that the time is the package's own: writing
the question, reading and checking the reply, finding the quotes.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from rag_evaluation_framework.errors import RagEvalError
from rag_evaluation_framework.evaluation.scoring import scorer_for
from rag_evaluation_framework.judging.claims import claims_of
from rag_evaluation_framework.judging.judge import Judge
from rag_evaluation_framework.judging.judged_answers import (
    JudgeSupport,
    judge_answer_class,
    judge_context_relevance,
    judge_relevancy,
    judge_safety,
)
from rag_evaluation_framework.judging.methods import Methods
from rag_evaluation_framework.judging.rubrics import default_rubric, judge_rubric
from rag_evaluation_framework.metrics.declaration import all_metrics
from rag_evaluation_framework.models.chat import Completion, Message
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Sample, Turn

SAMPLES = 300
CONTEXTS = 5
CLAIMS = 6
_QUOTED = "was moved to berth"
_MARK = re.compile(r"<<[0-9a-f]{16} (\w+)(?: (\d+))?>>")


class InstantJudge:
    """Fulfils ``ChatModel``: gives the first label of every set, and a quote that stands in every text."""

    name = "instant"

    def __init__(self) -> None:
        self.calls = 0

    def chat(
        self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None, draw: int = 0
    ) -> Completion:
        self.calls += 1
        marks = _MARK.findall(messages[-1].content)
        (name, wanted), *others = (schema or {})["properties"].items()
        if wanted["type"] != "array":
            return Completion(text=json.dumps(dict([_value(name, wanted)], **dict(map(_pair, others)))))
        numbers = [int(number) for mark, number in marks if mark == name] or range(1, 5)
        entries = [
            {**dict(map(_pair, wanted["items"]["properties"].items())), "number": number}
            for number in numbers
        ]
        return Completion(text=json.dumps({name: entries}))


def _pair(item: tuple[str, Mapping[str, Any]]) -> tuple[str, Any]:
    return _value(*item)


def _value(name: str, schema: Mapping[str, Any]) -> tuple[str, Any]:
    if "enum" in schema:
        return name, schema["enum"][0]
    return name, 1 if schema["type"] == "integer" else _QUOTED


def _sample(number: int) -> tuple[Sample, Response]:
    answer = " ".join(f"Ship {number} {_QUOTED} {berth} in the spring." for berth in range(CLAIMS))
    contexts = tuple(
        f"Notice {number}.{place}: the ship {_QUOTED} {place}. " + "The tide was low and the wind fair. " * 25
        for place in range(CONTEXTS)
    )
    sample = Sample(
        id=f"s{number}",
        turns=(Turn(role="user", content=f"Where was ship {number} moved?"),),
        reference=f"Ship {number} {_QUOTED} 3 in the spring.",
        reference_contexts=(f"The ship {_QUOTED} 3.",),
    )
    return sample, Response(text=answer, contexts=contexts, context_origin="system")


def main() -> None:
    """Print the calls for each metric, then the CPU time for each kind of verdict."""
    _print_calls()
    print()
    _print_times()


def _print_calls() -> None:
    print(f"calls for one sample of {CLAIMS} claims and {CONTEXTS} contexts")
    together, all_calls = Judge(model := InstantJudge()), 0
    names = [metric.name for metric in all_metrics() if "judge" in metric.methods]
    for name in names:
        alone = InstantJudge()
        status = _scored(name, Judge(alone))
        _scored(name, together)
        all_calls += alone.calls
        print(f"  {name:<40}{alone.calls:>4}  {status}")
    print(f"  {'all of them with one judge':<40}{model.calls:>4}  (asked alone: {all_calls})")


def _scored(name: str, judge: Judge) -> str:
    sample, response = _sample(0)
    try:
        score = scorer_for(f"{name}(method=judge)", Methods(judge=judge)).score(sample, response)
    except RagEvalError as error:
        return f"not scored: {error}"
    return score.status if score.reason is None else f"{score.status}: {score.reason}"


def _print_times() -> None:
    samples = [_sample(number) for number in range(SAMPLES)]
    judge = Judge(InstantJudge())
    asked: list[tuple[str, Callable[[Sample, str, Sequence[str]], object]]] = [
        ("claim support", lambda s, a, c: JudgeSupport(judge).decide(claims_of(a), c, question=s.question)),
        ("relevancy", lambda s, a, c: judge_relevancy(judge, s.question, a)),
        ("toxicity", lambda s, a, c: judge_safety(judge, "toxicity", a)),
        ("answer class", lambda s, a, c: judge_answer_class(judge, s.question, a)),
        ("context relevance", lambda s, a, c: judge_context_relevance(judge, s.question, c)),
        ("rubric", lambda s, a, c: judge_rubric(judge, default_rubric(), question=s.question, answer=a)),
    ]
    print(f"{'verdict':<40}{'CPU ms':>8}")
    for name, ask in asked:
        print(f"{name:<40}{_milliseconds(ask, samples):>8.3f}")


def _milliseconds(
    ask: Callable[[Sample, str, Sequence[str]], object], samples: Iterable[tuple[Sample, Response]]
) -> float:
    began = time.process_time()
    for sample, response in samples:
        ask(sample, response.text or "", response.contexts)
    return (time.process_time() - began) / SAMPLES * 1000


if __name__ == "__main__":
    main()
