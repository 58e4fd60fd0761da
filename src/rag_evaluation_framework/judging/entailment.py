"""Support by a model on this machine that reads evidence and claim together, alone or beside words.

The model sees prose only, packed to its length: all of it where that fits, else the sentences nearest to the
claim by their words, and the windows of the text that have most of them. What supports a claim in one of
these supports it. Records stay with the reader of records, which knows that a key belongs to its value.
"""

from __future__ import annotations

import math
import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import chain
from typing import Any, NamedTuple, Protocol

import msgspec
from msgspec.structs import replace

from rag_evaluation_framework.errors import UsageError
from rag_evaluation_framework.judging.lexical_support import LexicalSupport, probability, shipped_model
from rag_evaluation_framework.judging.structured_evidence import is_structured
from rag_evaluation_framework.records.scores import Claim, ClaimVerdict, Label
from rag_evaluation_framework.text.sentences import sentence_spans
from rag_evaluation_framework.text.tokens import content_keys

WINDOWS = 3
"""Number of passages to judge a claim by, where the evidence is too long for the model."""

_CLAIMS_AT_ONCE = 256
_KEPT_BODIES = 32
_CONTRADICTED = 0.5
# Probabilities are told to so many places: the same pair in another batch differs by less.
_PLACES = 6
_LEAST = 1e-6


class Pair(NamedTuple):
    """The input of one prediction; the question is for models whose prompt has it."""

    evidence: str
    claim: str
    question: str = ""


class Chances(NamedTuple):
    """The probabilities that the evidence supports a claim, and that it contradicts it."""

    supported: float
    contradicted: float = 0.0


class PairModel(Protocol):
    """A model that reads pairs, in any number; what it is given fits its length."""

    name: str

    @property
    def device(self) -> str | None: ...

    def room(self, claim: str, question: str) -> int:
        """Return how many tokens of evidence fit beside a claim."""

    def token_spans(self, text: str) -> Sequence[tuple[int, int]]:
        """Return the characters of each token of a text."""

    def chances(self, pairs: Sequence[Pair]) -> list[Chances]: ...


class _Part(msgspec.Struct, frozen=True):
    """A sentence of the evidence, or a piece of one that is too long."""

    text: int
    start: int
    end: int
    tokens: int
    keys: frozenset[str]


class _Prose:
    """Evidence in sentences, from which passages are put together that fit a model."""

    def __init__(self, texts: tuple[str, ...], model: PairModel) -> None:
        self._texts = texts
        self._parts = [part for number in range(len(texts)) for part in _parts_of(number, texts, model)]
        self._tokens = sum(part.tokens for part in self._parts)
        found_in = Counter(key for part in self._parts for key in part.keys)
        self._weights = {key: math.log1p(len(self._parts) / count) for key, count in found_in.items()}

    def passages(self, claim: str, room: int) -> list[str]:
        """Return what a claim is held against; the first is what has most to do with it."""
        if self._tokens + len(self._texts) <= room:
            return ["\n".join(self._texts)]
        keys = frozenset(content_keys(claim))
        packed = self._packed(keys, room)
        windows = [(self._weight(keys, window), window) for window in self._windows(room)]
        windows.sort(key=lambda each: -each[0])
        best = [window for weight, window in windows[: WINDOWS - 1] if weight > 0]
        told = dict.fromkeys(self._join_sentences(parts) for parts in (packed, *best) if parts)
        return list(told)

    def _weight(self, keys: frozenset[str], parts: Iterable[_Part]) -> float:
        found = keys.intersection(chain.from_iterable(part.keys for part in parts))
        return math.fsum(self._weights[key] for key in found)

    def _packed(self, keys: frozenset[str], room: int) -> list[_Part]:
        """Take the sentences with most of the claim's words, as many as fit, in reading order."""
        ranked = sorted(enumerate(self._parts), key=lambda each: (-self._weight(keys, [each[1]]), each[0]))
        taken: list[tuple[int, _Part]] = []
        for place, part in ranked:
            if part.tokens + 1 <= room:
                taken.append((place, part))
                room -= part.tokens + 1
        return [part for _, part in sorted(taken, key=lambda each: each[0])]

    def _windows(self, room: int) -> Iterator[list[_Part]]:
        """Yield the evidence in reading order, in windows that fit."""
        window: list[_Part] = []
        filled = 0
        for part in self._parts:
            if window and filled + part.tokens + 1 > room:
                yield window
                window, filled = [], 0
            window.append(part)
            filled += part.tokens + 1
        if window:
            yield window

    def _join_sentences(self, parts: Sequence[_Part]) -> str:
        lines: dict[int, list[str]] = {}
        for part in parts:
            lines.setdefault(part.text, []).append(self._texts[part.text][part.start : part.end])
        return "\n".join(" ".join(sentences) for sentences in lines.values())


def _parts_of(number: int, texts: Sequence[str], model: PairModel) -> Iterator[_Part]:
    text = texts[number]
    tokens = model.token_spans(text)
    starts = [start for start, _ in tokens]
    longest = max(8, model.room("", "") // 4)
    for begin, end in sentence_spans(text):
        first, last = bisect_left(starts, begin), bisect_left(starts, end)
        for piece in range(first, max(last, first + 1), longest):
            after = min(piece + longest, last)
            start = begin if piece == first else starts[piece]
            stop = end if after >= last else starts[after]
            keys = frozenset(content_keys(text[start:stop]))
            yield _Part(number, start, stop, max(1, after - piece), keys)


class _Asked:
    """The pairs of one thread, and what the model said of them or raised."""

    def __init__(self, pairs: Sequence[Pair]) -> None:
        self.pairs = pairs
        self.found: list[Chances] | None = None
        self.error: BaseException | None = None


class _Together:
    """Puts the pairs of all threads that wait at the same time to the model at once."""

    def __init__(self, model: PairModel) -> None:
        self._model = model
        self._waiting: list[_Asked] = []
        self._guard, self._turn = threading.Lock(), threading.Lock()

    def chances(self, pairs: Sequence[Pair]) -> list[Chances]:
        asked = _Asked(pairs)
        with self._guard:
            self._waiting.append(asked)
        with self._turn:
            if asked.found is None and asked.error is None:
                with self._guard:
                    taken, self._waiting = self._waiting, []
                self._put(taken)
        if asked.error is not None:  # of another thread that put the pairs of this one too
            raise asked.error
        return asked.found or []

    def _put(self, taken: Sequence[_Asked]) -> None:
        try:
            found = iter(self._model.chances([pair for asked in taken for pair in asked.pairs]))
            for asked in taken:
                asked.found = [next(found) for _ in asked.pairs]
        except BaseException as error:  # whatever it is: raised again, here and where others wait
            for asked in taken:
                asked.error = error
            raise


class EntailmentSupport:
    """Fulfils ``SupportMethod`` by a local model. Safe to share between threads, whose claims it batches.

    A claim is supported from ``threshold`` on. With ``lexical``, the log-odds of lexical support are added to
    the model's, each counted from its own threshold, and 0.5 decides. ``contradicted`` comes only from a
    model with a class for it.

    ``band`` is what calibration on labels found: the model decides answers whose claims of the reference are
    all outside of it, not stated at its lower end or less and stated at its upper end or more.
    """

    version = 1
    is_slow = True
    engines = ("ray",)  # on one machine threads share the model, which uses all cores, or the GPU, by itself

    def __init__(
        self,
        model: PairModel,
        *,
        lexical: bool = False,
        threshold: float = 0.5,
        band: tuple[float, float] | None = None,
    ) -> None:
        if not 0 < threshold < 1:
            raise UsageError(f"entailment: threshold: expected a number above 0 and below 1, got {threshold}")
        if band is not None and not 0 <= band[0] <= band[1] <= 1:
            raise UsageError(f"entailment: expected 0 <= low <= high <= 1, got {band[0]:g} and {band[1]:g}")
        self.model, self.lexical, self.threshold, self.band = model, lexical, threshold, band
        beside = " + lexical support" if lexical else ""
        from_ = "" if threshold == 0.5 else f", from {threshold:g}"
        decides = "" if band is None else f", calibrated to {band[0]:g} and {band[1]:g}"
        self.name = f"entailment:{model.name}{beside}{from_}{decides}"
        self._words = LexicalSupport()
        self._together = _Together(model)
        self._prose = lru_cache(maxsize=_KEPT_BODIES)(lambda texts: _Prose(texts, model))

    def __reduce__(self) -> tuple[Any, ...]:
        # What is loaded stays here: another process loads its own.
        given: Any = {"lexical": self.lexical, "threshold": self.threshold, "band": self.band}
        return partial(EntailmentSupport, **given), (self.model,)

    @property
    def device(self) -> str | None:
        """Return the device of the model: ``cpu``, ``cuda:0`` …; unknown before it is loaded."""
        return self.model.device

    def decide(
        self, claims: Sequence[Claim], evidence: Sequence[str], *, question: str = ""
    ) -> list[ClaimVerdict]:
        """Return a verdict for each claim, in order. Where there is no evidence, no claim is supported."""
        if not any(text.strip() for text in evidence):
            return [ClaimVerdict(claim=claim, label="unsupported") for claim in claims]
        batches = (
            claims[start : start + _CLAIMS_AT_ONCE] for start in range(0, len(claims), _CLAIMS_AT_ONCE)
        )
        return [each for batch in batches for each in self._decided(batch, evidence, question)]

    def _decided(self, claims: Sequence[Claim], evidence: Sequence[str], question: str) -> list[ClaimVerdict]:
        by_words = self._words.decide(claims, evidence, question=question)
        prose = tuple(text for text in evidence if text.strip() and not is_structured(text))
        if not prose:
            return by_words
        records = [text for text in evidence if is_structured(text)]
        if not records:
            return list(map(self._verdict, by_words, self._chances(claims, prose, question)))
        of_prose = self._words.decide(claims, prose, question=question)
        by_model = map(self._verdict, of_prose, self._chances(claims, prose, question))
        of_records = self._words.decide(claims, records, question=question)
        return [
            replace(words, label="supported", probability=record.probability)
            if record.is_supported
            else replace(words, label=model.label, probability=model.probability)
            for words, model, record in zip(by_words, by_model, of_records, strict=True)
        ]

    def _chances(self, claims: Sequence[Claim], prose: tuple[str, ...], question: str) -> list[Chances]:
        """Ask the model of each claim: the best of its passages supports it, the first may contradict it."""
        packed = self._prose(prose)
        passages = [packed.passages(claim.text, self.model.room(claim.text, question)) for claim in claims]
        pairs = [
            Pair(passage, claim.text, question)
            for claim, each in zip(claims, passages, strict=True)
            for passage in each
        ]
        found = iter(self._together.chances(pairs))
        said = [[next(found) for _ in each] for each in passages]
        return [Chances(max(each.supported for each in of), of[0].contradicted) for of in said]

    def _verdict(self, words: ClaimVerdict, chances: Chances) -> ClaimVerdict:
        supported, threshold = chances.supported, self.threshold
        if self.lexical:
            least = shipped_model().threshold
            odds = _odds(supported) - _odds(threshold) + _odds(words.score) - _odds(least)
            supported, threshold = probability(odds), 0.5
        label: Label = "supported" if supported >= threshold else "unsupported"
        if label == "unsupported" and chances.contradicted >= _CONTRADICTED:
            label = "contradicted"
        return replace(words, label=label, probability=round(supported, _PLACES))


def _odds(supported: float) -> float:
    """Return the log-odds of being supported, within bounds that no single method may leave."""
    bounded = min(1 - _LEAST, max(_LEAST, supported))
    return math.log(bounded) - math.log1p(-bounded)
