"""Which samples lack what a metric needs, found before the first request and named by their lines.

Where several stand on one line, as in a file that is one JSON object, they are named by their ids.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from rag_evaluation_framework.errors import Issue
from rag_evaluation_framework.evaluation.scoring import MetricScorer
from rag_evaluation_framework.metrics.views import LOCATED
from rag_evaluation_framework.records.responses import is_conversation
from rag_evaluation_framework.records.samples import (
    Entities,
    Milestones,
    Refusal,
    Relation,
    Sample,
    is_made_id,
)

# What datasets call otherwise than metrics do.
_FIELDS = {"reference": "expected", "contexts": "context"}
_WANTED = {LOCATED: f"{LOCATED} found once in its file,", "reference": "a reference answer"}
_LISTED_RANGES = 12
_LISTED_IDS = 5
_RELEVANT = ("relevant_documents", "relevant_chunk_ids", "relevant_spans")
_EXPECTATIONS = {"entities": Entities, "relation": Relation, "milestones": Milestones}


class MissingFields:
    """Looks at samples one by one, and keeps for each need of the metrics which of them do not meet it.

    ``located`` has the ids of the samples whose golden contexts were found in their files, ``returned`` what
    the system under test is declared to return.
    """

    def __init__(
        self,
        scorers: Sequence[MetricScorer],
        *,
        file: str,
        located: Container[str] = (),
        returned: Container[str] = (),
    ) -> None:
        self._file, self._located = file, located
        self._metrics: dict[str, list[str]] = {}
        for scorer in scorers:
            for need in (each for each in scorer.needs if each not in returned):
                self._metrics.setdefault(need, []).append(scorer.name)
        self._lacking: dict[str, _Lacking] = {need: _Lacking() for need in self._metrics}
        self._seen = 0
        self._last_line = 0
        self._has_lines = True
        self._referenced = False

    def look_at(self, sample: Sample) -> None:
        """Take note of what a sample lacks."""
        self._seen += 1
        line = sample.origin.line if sample.origin and sample.origin.line is not None else self._seen
        self._has_lines = self._has_lines and line > self._last_line
        self._last_line = line
        self._referenced = self._referenced or bool((sample.reference or "").strip())
        name = sample.name if is_made_id(sample.id) else sample.id
        for need, lacking in self._lacking.items():
            if lacks(sample, need, located=self._located):
                lacking.add(line, name)

    def issues(self) -> list[Issue]:
        """Return one issue for each field that a sample lacks."""
        return [self._issue(need) for need in self._lacked]

    def refusals(self) -> list[Issue]:
        """Return the same issues, each with what can be done without completing the file."""
        return [self._issue(need, self._way_out(need)) for need in self._lacked]

    @property
    def _lacked(self) -> list[str]:
        return [need for need, lacking in self._lacking.items() if lacking.count]

    def _issue(self, need: str, way_out: str = "") -> Issue:
        field, metrics, lacking = _FIELDS.get(need, need), self._metrics[need], self._lacking[need]
        named = lacking.lines if self._has_lines else lacking.sample_ids
        return Issue(
            "missing-field",
            f"{_WANTED.get(need, field)} in every sample for {' and '.join(metrics)}",
            f"{lacking.count:,} of {self._seen:,} without: {named}{way_out}",
            field,
            file=self._file,
            line=lacking.first if self._has_lines else None,
        )

    def _way_out(self, need: str) -> str:
        if need == "contexts":
            return "; to use the agent's contexts, add --allow-missing"
        some_have_it = self._lacking[need].count < self._seen
        recalled = need == "reference_contexts" and self._metrics[need] == ["context_recall"]
        if recalled and self._referenced and not some_have_it:
            return "; to check the reference's claims instead, use -m context_claim_recall"
        why = "; for the reasons, run rag-eval validate" if need == LOCATED else ""
        return f"{why}; to score the others, add --allow-missing" if some_have_it else why


def lacks(sample: Sample, need: str, *, located: Container[str] = ()) -> bool:
    """Tell whether a sample lacks what a metric needs of it; what the system itself gives is not its part."""
    if need == "reference":
        # One that expects a refusal or has checks needs none; in a conversation the turns say it.
        is_told = bool((sample.reference or "").strip() or sample.checks) or is_conversation(sample)
        return not is_told and sample.expectation is None
    if need == "contexts":
        recorded = sample.recorded
        return not (recorded and (_any_text(recorded.contexts) or recorded.retrieved_nothing))
    if need == "reference_contexts":
        return not _any_text(sample.reference_contexts)
    if need == LOCATED:
        return sample.id not in located and not isinstance(sample.expectation, Refusal)
    if need in _RELEVANT:
        return not getattr(sample, need) and not isinstance(sample.expectation, Refusal)
    if need == "turns":
        return not (is_conversation(sample) or isinstance(sample.expectation, Refusal))
    if need == "hops":
        expected = sample.expectation
        return not (isinstance(expected, Refusal) or (isinstance(expected, Milestones) and expected.hops))
    return need in _EXPECTATIONS and not isinstance(sample.expectation, (_EXPECTATIONS[need], Refusal))


def _any_text(texts: Iterable[str]) -> bool:
    return any(text.strip() for text in texts)


class _Lacking:
    """Growing line numbers as ranges, so that a million of them take a few bytes, and the first ids."""

    def __init__(self) -> None:
        self.count = 0
        self.ranges: list[list[int]] = []
        self._first_ids: list[str] = []

    @property
    def first(self) -> int | None:
        return self.ranges[0][0] if self.ranges else None

    @property
    def lines(self) -> str:
        """The lines, in words."""
        listed = self.ranges[:_LISTED_RANGES]
        words = [f"{low}" if low == high else f"{low}–{high}" for low, high in listed]
        kind = "line" if self.count == 1 else "lines"
        return f"{kind} {', '.join(words)}{self._more(sum(high - low + 1 for low, high in listed))}"

    @property
    def sample_ids(self) -> str:
        """The first ids, in words."""
        return f"{', '.join(self._first_ids)}{self._more(len(self._first_ids))}"

    def add(self, line: int, sample_id: str) -> None:
        """Take note of a sample."""
        self.count += 1
        if len(self._first_ids) < _LISTED_IDS:
            self._first_ids.append(sample_id)
        if self.ranges and self.ranges[-1][1] == line - 1:
            self.ranges[-1][1] = line
        else:
            self.ranges.append([line, line])

    def _more(self, listed: int) -> str:
        return f" and {self.count - listed:,} more" if self.count > listed else ""
