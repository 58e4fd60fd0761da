"""Nuggets: the facts that a right answer should hold, given or made by a judge, and which of them it holds.

The scheme is that of Pradeep et al., "The Great Nugget Recall" (the AutoNuggetizer of TREC 2024's RAG track):
nuggets are made from texts, each is *vital* or *okay*, and an answer supports it, supports a part of it, or
does not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from rag_evaluation_framework.errors import invalid
from rag_evaluation_framework.judging.judge import Judge, Verdict
from rag_evaluation_framework.models.prompts import load_prompt

NUGGETS = "nuggets"
"""Key of a sample's nuggets, in its metadata or its other fields."""

AT_ONCE = 10
"""Number of nuggets per question to a judge, as in the AutoNuggetizer."""
MOST = 30
"""Maximum number of nuggets from the texts of one question."""

HELD: Mapping[str, float] = {"support": 1.0, "partial_support": 0.5, "not_support": 0.0}

_PROMPTS = ("nuggets", "nugget_importance", "nugget_assignment")
_LONGEST = 400


class Nugget(msgspec.Struct, frozen=True):
    """A fact, and whether a good answer must hold it; ``None`` where that is not known yet."""

    text: str
    vital: bool | None = None


class NuggetVerdicts(msgspec.Struct, frozen=True, kw_only=True):
    """The nuggets of a question, and for each how far an answer holds it."""

    nuggets: tuple[Nugget, ...]
    labels: tuple[str, ...]
    agreement: float | None = None
    votes: tuple[Mapping[str, Any], ...] = ()
    prompts: Mapping[str, int] = {}
    """The prompts that were asked, with their versions."""

    @property
    def grades(self) -> list[float]:
        return [HELD[label] for label in self.labels]

    @property
    def vital(self) -> list[bool]:
        return [bool(nugget.vital) for nugget in self.nuggets]

    def to_dict(self) -> dict[str, Any]:
        """Return what stands beside a score: each nugget with its label, and what a panel said."""
        found: dict[str, Any] = {
            NUGGETS: [
                {"text": nugget.text, "vital": bool(nugget.vital), "label": label}
                for nugget, label in zip(self.nuggets, self.labels, strict=True)
            ],
            "prompts": dict(self.prompts),
        }
        if self.agreement is not None:
            found |= {"agreement": round(self.agreement, 4), "votes": list(self.votes)}
        return found


def read_nuggets(written: object) -> list[Nugget]:
    """Read the nuggets of a sample: ``[{"text": …, "vital": true}]``, or texts alone."""
    entries = written if isinstance(written, list | tuple) else None
    if entries is None:
        raise invalid(NUGGETS, "a list of {text, vital}", written)
    found = []
    for place, entry in enumerate(entries):
        fields = entry if isinstance(entry, Mapping) else {"text": entry}
        text, vital = fields.get("text"), fields.get("vital")
        if not isinstance(text, str) or not text.strip():
            raise invalid(f"{NUGGETS}[{place}].text", "text", text)
        if not isinstance(vital, bool | None):
            raise invalid(f"{NUGGETS}[{place}].vital", "true or false", vital)
        found.append(Nugget(text, vital))
    return found


def make_nuggets(judge: Judge, question: str, texts: Sequence[str]) -> list[Nugget]:
    """Have the facts listed that an answer should hold, from references or documents; perhaps there are none.

    Of several votes the list of middle length is taken.
    """
    fields = {"question": question, "texts": [text for text in texts if text.strip()]}
    verdict = judge.verdict("nuggets", fields, check=_problem)
    return [Nugget(text.strip()) for text in verdict.values["nuggets"]]


def rate_nuggets(judge: Judge, question: str, nuggets: Sequence[Nugget]) -> list[Nugget]:
    """Have those nuggets called vital or okay of which that is not known."""
    open_ones = [nugget for nugget in nuggets if nugget.vital is None]
    verdicts = _judge_batches(judge, "nugget_importance", {"question": question}, open_ones)
    rated = dict(zip(open_ones, (label == "vital" for label in _labels(verdicts)), strict=True))
    return [nugget if nugget.vital is not None else Nugget(nugget.text, rated[nugget]) for nugget in nuggets]


def assign_nuggets(judge: Judge, question: str, answer: str, nuggets: Sequence[Nugget]) -> NuggetVerdicts:
    """Have it judged which nuggets an answer holds: ``support``, ``partial_support`` or ``not_support``."""
    verdicts = _judge_batches(judge, "nugget_assignment", {"question": question, "answer": answer}, nuggets)
    shares = [verdict.agreement for verdict in verdicts if verdict.agreement is not None]
    return NuggetVerdicts(
        nuggets=tuple(nuggets),
        labels=tuple(_labels(verdicts)),
        agreement=sum(shares) / len(shares) if shares else None,
        votes=tuple(vote for verdict in verdicts for vote in verdict.details["votes"]),
        prompts={name: load_prompt(name).version for name in _PROMPTS},
    )


def _judge_batches(
    judge: Judge, prompt: str, fields: Mapping[str, str], nuggets: Sequence[Nugget]
) -> list[Verdict]:
    texts = [nugget.text for nugget in nuggets]
    batches = (texts[start : start + AT_ONCE] for start in range(0, len(texts), AT_ONCE))
    return [judge.verdict(prompt, {**fields, "nuggets": batch}) for batch in batches]


def _labels(verdicts: Sequence[Verdict]) -> list[str]:
    return [entry["label"] for verdict in verdicts for entry in verdict.values["nuggets"]]


def _problem(value: Mapping[str, Any]) -> str | None:
    """Return the problem with a list of nuggets; none of its words, since they may be bait."""
    texts = [text.strip() for text in value["nuggets"]]
    if value["count"] != len(texts):
        return f"count: expected {len(texts)}, the number of nuggets"
    if len(texts) > MOST:
        return f"nuggets: expected at most {MOST}, got {len(texts)}"
    if not all(0 < len(text) <= _LONGEST for text in texts):
        return f"nuggets: expected texts of 1 to {_LONGEST} characters each"
    return None if len({text.casefold() for text in texts}) == len(texts) else "nuggets: expected each once"
