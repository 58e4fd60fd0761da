"""Answer keys of golden sets, held against their own metrics: a key that its own test fails tests nobody.

The reference is scored as if it were an answer. What falls short of 1 is a fault of the key: an expected
entity or step that the reference does not have, a relation that it does not say. Beside that: one question
with two answers, and an end of a triple that neither question, reference nor context names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from operator import eq

from rag_evaluation_framework.datasets.golden_contexts import placed_issues
from rag_evaluation_framework.errors import Issue, shown
from rag_evaluation_framework.evaluation.scoring import scorer_for
from rag_evaluation_framework.judging.mentions import names_in
from rag_evaluation_framework.metrics.safety import REFUSALS
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Dataset, Entities, Milestones, Refusal, Relation, Sample
from rag_evaluation_framework.records.scores import Score
from rag_evaluation_framework.text.normalisation import folded
from rag_evaluation_framework.text.tokens import word_tokens

# Spellings as near as this are taken for one name: Katchina and Kachina, 陆远洲 and 陆远舟.
_NEAR = 0.6


def key_issues(golden_set: Dataset) -> Iterator[Issue]:
    """Yield what is wrong with the keys of a golden set, as warnings with their places."""
    found = [
        (index, sample, issue)
        for index, sample in enumerate(golden_set.samples)
        for issue in _own_test(sample)
    ]
    found += _two_answers(golden_set.samples)
    yield from placed_issues(sorted(found, key=lambda each: each[0]))


def _own_test(sample: Sample) -> Iterator[Issue]:
    match sample.expectation:
        case Entities(names=names):
            yield from _lacking("entity_coverage", sample, names, "has", "metrics.expected_entities")
        case Milestones(steps=steps):
            yield from _lacking("milestone_recall", sample, steps, "tells", "timeline_milestones")
        case Relation():
            yield from _relation(sample, sample.expectation)
        case Refusal(pattern=str(pattern)):
            score = _score(REFUSALS[0], sample, pattern)
            if score.value == 0:
                expected = f"a pattern of a refusal, as {score.metric} detects it"
                yield _warning("key-fails-own-test", expected, shown(pattern), "expected_response_pattern")
        case _:
            return


def _lacking(metric: str, sample: Sample, parts: Sequence[str], verb: str, path: str) -> Iterator[Issue]:
    score = _score(metric, sample, sample.reference)
    if score.value is not None and score.value < 1:
        missing = ", ".join(map(shown, score.details.get("missing", parts)))
        yield _issue(score, f"a ground_truth that {verb} {missing}", sample, path)


def _relation(sample: Sample, triple: Relation) -> Iterator[Issue]:
    texts = [sample.question, sample.reference or "", *sample.reference_contexts]
    unknown = False
    for field in ("subject", "object"):
        name = getattr(triple, field)
        if not any(any(names_in(text, [name])) for text in texts):
            unknown = True
            near = _nearest(name, texts)
            found = shown(name) + (f"; did you mean {near}?" if near else "")
            expected = "a name from the question, the ground_truth or the golden_context"
            yield _warning("triple-end-unknown", expected, found, f"relationship_triple.{field}")
    score = _score("relation_match", sample, sample.reference)
    if score.value is not None and score.value < 1 and not unknown:
        said = f"{triple.subject} {triple.relation} {triple.object}"
        yield _issue(score, f"a ground_truth that states {shown(said)}", sample, "relationship_triple")


def _two_answers(samples: Sequence[Sample]) -> Iterator[tuple[int, Sample, Issue]]:
    first: dict[str, Sample] = {}
    for index, sample in enumerate(samples):
        if len(sample.turns) != 1:
            continue
        before = first.setdefault(_words(sample.question), sample)
        if before is not sample and _words(_answer(before)) != _words(_answer(sample)):
            found = f"{shown(_answer(sample))} here and {shown(_answer(before))} for {before.id}"
            issue = _warning("question-with-two-answers", "one answer per question", found, "ground_truth")
            yield index, sample, issue


def _answer(sample: Sample) -> str:
    return "Refusal" if isinstance(sample.expectation, Refusal) else sample.reference or ""


def _words(text: str) -> str:
    return " ".join(word_tokens(folded(text)))


def _score(metric: str, sample: Sample, answer: str | None) -> Score:
    return scorer_for(metric).score(sample, Response(text=answer or ""))


def _issue(score: Score, expected: str, sample: Sample, path: str) -> Issue:
    found = f"{shown(sample.reference)} with {score.metric} {score.value:.4g}"
    return _warning("key-fails-own-test", expected, found, path)


def _warning(code: str, expected: str, found: str, path: str) -> Issue:
    return Issue(code, expected, found, path, "warning")


def _nearest(name: str, texts: Sequence[str]) -> str | None:
    """Return the stretch of the texts that is spelt most like a name, if any is near."""
    wanted = folded(name)
    candidates = dict.fromkeys(stretch for text in texts for stretch in _stretches(text, wanted))
    # Of two that are as near, the one with more characters in their places: 卡齐娜 rather than 和卡齐.
    ranked = [
        (SequenceMatcher(None, wanted, each).ratio(), sum(map(eq, wanted, each)), each) for each in candidates
    ]
    likeness, _, near = max(ranked, default=(0.0, 0, ""))
    return near if likeness >= _NEAR else None


def _stretches(text: str, wanted: str) -> Iterator[str]:
    """Yield what may be a name: as many words as it has, or as many characters without spaces."""
    words, parts = word_tokens(folded(text)), word_tokens(wanted)
    between = " " if any(part.isascii() for part in parts) else ""
    for start in range(len(words) - len(parts) + 1):
        yield between.join(words[start : start + len(parts)])
