"""Support methods by their text; and cascades, in which each stage decides the claims it is sure of.

``cascade(lexical, entailment(path=…), judge)`` asks the next stage only about the claims that the one before
leaves open. A stage is sure outside its band of probabilities: at ``low`` or less a claim is not supported,
at ``high`` or more it is. Bands come from labelled claims (``labels=FILE``), chosen so that, in every source
of them, the stages before the last put no more than ``1 - target`` of all claims wrong; those of lexical
support are shipped for some targets; or they are given: ``lexical(low=0.1, high=0.9)``.
"""

from __future__ import annotations

import json
import threading
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from rag_evaluation_framework.components import METHODS, component_from
from rag_evaluation_framework.errors import InputError, Issue, Problems, UsageError, shown
from rag_evaluation_framework.extensions import Specification, parse_specification
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.files.access import read_bytes
from rag_evaluation_framework.judging.judge import Judge
from rag_evaluation_framework.judging.judged_answers import JudgeSupport
from rag_evaluation_framework.metrics.views import ENGLISH_AND_CHINESE, LEXICAL_SUPPORT
from rag_evaluation_framework.models.chat import HOW_TO_JUDGE
from rag_evaluation_framework.records.scores import Claim, ClaimVerdict, SupportMethod
from rag_evaluation_framework.statistics.intervals import wilson_interval
from rag_evaluation_framework.text.languages import foreign_language

TARGET = 0.9
"""Agreement of a cascade with its last stage, unless another target is stated."""

_CASCADE = "cascade("
# The bounds that bands are fitted to are one-sided ones of 95 %.
_CONFIDENCE = 0.9
_STEPS = 100
# What a plan reckons with, before there are answers.
_CLAIMS_OF_AN_ANSWER = 3
_FEWEST, _FEWEST_SOURCES = 50, 3
_PARTS = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)


def support_from(text: str, judge: Judge | None = None) -> SupportMethod:
    """Return who decides what supports what: ``lexical``, ``entailment(…)``, ``judge`` or a cascade."""
    text = text.strip()
    if text.startswith(_CASCADE) and text.endswith(")"):
        return _cascade_from(text, judge)
    if text == "judge":
        return _judged(judge)
    method: SupportMethod = component_from(METHODS, text)
    return method


def _judged(judge: Judge | None) -> SupportMethod:
    if judge is None:
        raise UsageError(f"support: judge: needs a judge: {HOW_TO_JUDGE}")
    return JudgeSupport(judge)


class Band(msgspec.Struct, frozen=True):
    """Between these two probabilities a stage is unsure; without claims to judge by, it always is."""

    low: float = -1.0
    high: float = 2.0
    asked: float = 1.0
    """The share of the labelled claims that it leaves open."""

    def is_sure(self, verdict: ClaimVerdict) -> bool:
        """Return True if a verdict is final; one without a probability counts as certain."""
        return verdict.probability is None or not self.low < verdict.probability < self.high

    def __str__(self) -> str:
        return "never sure" if self.asked >= 1 and self.low < 0 else f"{self.low:.3g} to {self.high:.3g}"


class Stage(msgspec.Struct, frozen=True):
    """A method, and the band in which it passes claims on; the last stage has none."""

    method: SupportMethod
    band: Band | None = None


class Cascade:
    """Fulfils ``SupportMethod`` by several, cheapest first. ``decided`` counts the claims of each stage."""

    version = 1
    is_slow = True

    def __init__(self, stages: Sequence[Stage]) -> None:
        if len(stages) < 2 or any(stage.band is None for stage in stages[:-1]):
            raise UsageError("cascade: expected two stages or more, each but the last with a band")
        self.stages = tuple(stages)
        names = [_short(each.method.name) + (f" {each.band}" if each.band else "") for each in stages]
        self.name = f"cascade({' > '.join(names)})"
        self.labels = tuple(_short(stage.method.name) for stage in stages)
        """Labels of the stages, for the claims that each decided."""
        self._lock = threading.Lock()
        self._decided: Counter[str] = Counter()

    def __reduce__(self) -> tuple[Any, ...]:
        return Cascade, (self.stages,)

    @property
    def decided(self) -> dict[str, int]:
        """Return the number of claims that each stage has decided so far."""
        with self._lock:
            return {label: self._decided[label] for label in self.labels}

    @property
    def device(self) -> str | None:
        """Return the device of its local model, if it has one."""
        return next((at for each in self.stages if (at := getattr(each.method, "device", None))), None)

    @property
    def judge(self) -> Judge | None:
        """The judge among its stages, if there is one."""
        return next((found for each in self.stages if (found := getattr(each.method, "judge", None))), None)

    @property
    def last_stage_share(self) -> float:
        """The share of claims that the last stage is expected to be asked about."""
        share = 1.0
        for stage in self.stages[:-1]:
            share *= stage.band.asked if stage.band else 1.0
        return share

    @property
    def asked_answers(self) -> float:
        """The share of answers about which the last stage is expected to be asked, of some claims each."""
        return 1 - (1 - self.last_stage_share) ** _CLAIMS_OF_AN_ANSWER

    def decide(
        self, claims: Sequence[Claim], evidence: Sequence[str], *, question: str = ""
    ) -> list[ClaimVerdict]:
        """Return a verdict for each claim, in order, each with the stage that decided it."""
        found: dict[int, ClaimVerdict] = {}
        left = list(range(len(claims)))
        for label, stage in zip(self.labels, self.stages, strict=True):
            if not left:
                break
            said = [claims[place] for place in left]
            if stage.band is not None and not _is_measured(stage.method, said):
                continue
            verdicts = stage.method.decide(said, evidence, question=question)
            sure = [stage.band is None or stage.band.is_sure(verdict) for verdict in verdicts]
            decided = [
                (place, replace(each, by=label))
                for place, each, is_sure in zip(left, verdicts, sure, strict=True)
                if is_sure
            ]
            found.update(decided)
            left = [place for place in left if place not in found]
            with self._lock:
                self._decided[label] += len(decided)
        return [found[place] for place in range(len(claims))]


def _short(name: str) -> str:
    return "lexical" if name == LEXICAL_SUPPORT else name


def _is_measured(method: SupportMethod, claims: Sequence[Claim]) -> bool:
    """Return True if a stage knows the language: words were measured on two only."""
    said = " ".join(claim.text for claim in claims)
    return method.name != LEXICAL_SUPPORT or foreign_language([said], ENGLISH_AND_CHINESE) is None


# Bands from labels.


class LabelledClaim(msgspec.Struct, frozen=True):
    """A claim, the evidence it was held against, and what people said; of the same source, one system."""

    claim: str
    evidence: tuple[str, ...]
    supported: bool
    source: str = ""
    question: str = ""


class _Source:
    """The probabilities that a stage gives to the claims of one source, sorted, by what is so."""

    def __init__(self, total: int | None = None) -> None:
        self.supported: list[float] = []
        self.unsupported: list[float] = []
        self._total = total

    @property
    def claims(self) -> int:
        return len(self.supported) + len(self.unsupported)

    @property
    def total(self) -> int:
        """Return the number of claims before other stages took theirs."""
        return self._total or self.claims

    def wrong(self, low: float, high: float) -> int:
        """Return how many claims a band puts wrong."""
        return bisect_right(self.supported, low) + self._from(self.unsupported, high)

    def sure(self, low: float, high: float) -> int:
        both = (self.supported, self.unsupported)
        return sum(bisect_right(each, low) + self._from(each, high) for each in both)

    @staticmethod
    def _from(chances: list[float], high: float) -> int:
        return len(chances) - bisect_left(chances, high)


def fitted_band(
    labelled: Iterable[tuple[str, float, bool]], allowed: float, *, totals: Mapping[str, int] | None = None
) -> Band:
    """Return the band that leaves fewest claims open with at most a share ``allowed`` of all put wrong.

    ``labelled`` has the source of each claim, its probability and what is so. The share is an upper bound at
    95 %, and holds in every source by itself. From three sources on, what is allowed is cut down until a band
    holds it on each source that it was not set on: the next source is like none of them. ``totals`` has how
    many claims a source had before other stages took theirs.
    """
    sources: dict[str, _Source] = {}
    for name, chance, supported in labelled:
        of = sources.setdefault(name, _Source((totals or {}).get(name)))
        (of.supported if supported else of.unsupported).append(chance)
    for of in sources.values():
        of.supported.sort()
        of.unsupported.sort()
    if not sources or any(of.claims < _FEWEST for of in sources.values()):
        return Band()
    part = next((part for part in _PARTS if _holds(sources, allowed, part)), _PARTS[-1])
    return _best(sources, part * allowed)


def _holds(sources: Mapping[str, _Source], allowed: float, part: float) -> bool:
    """Return True if bands at a part of the allowed error hold on the held-out source."""
    if len(sources) < _FEWEST_SOURCES:
        return True
    for name, left_out in sources.items():
        band = _best({other: of for other, of in sources.items() if other != name}, part * allowed)
        if left_out.wrong(band.low, band.high) > allowed * left_out.total:
            return False
    return True


def _best(sources: Mapping[str, _Source], allowed: float) -> Band:
    """Return the band that leaves fewest claims open, on the mean of the sources, with no more put wrong."""
    chances = sorted(chance for of in sources.values() for chance in chain(of.supported, of.unsupported))
    steps = sorted({chances[(len(chances) - 1) * step // _STEPS] for step in range(_STEPS + 1)})
    most = {name: _most_wrong(of.total, allowed) for name, of in sources.items()}
    best = Band()
    highs = [*steps, 2.0]
    for low in [-1.0, *steps]:
        # The lower it ends, the fewer are left open and the more are put wrong: the first that holds is best.
        start = bisect_right(highs, low)
        place = bisect_left(
            range(start, len(highs)),
            True,
            key=lambda each: all(of.wrong(low, highs[each]) <= most[name] for name, of in sources.items()),
        )
        if start + place < len(highs):
            high = highs[start + place]
            asked = sum(1 - of.sure(low, high) / of.claims for of in sources.values()) / len(sources)
            best = min(best, Band(low, high, asked), key=lambda each: each.asked)
    return best


def _most_wrong(total: int, allowed: float) -> int:
    """Return how many of so many claims may be wrong for the share to be shown to be at most ``allowed``."""
    return bisect_left(
        range(1, total + 1),
        True,
        key=lambda wrong: wilson_interval(wrong, total, confidence=_CONFIDENCE).high > allowed,
    )


def fitted_cascade(
    methods: Sequence[SupportMethod], labelled: Sequence[LabelledClaim], *, target: float = TARGET
) -> Cascade:
    """Return a cascade whose bands are set from labelled claims, so that it agrees as far as is stated.

    What may be put wrong is shared evenly among the stages before the last; each is fitted on what those
    before it leave open.
    """
    _check_target(target)
    allowed = (1 - target) / (len(methods) - 1)
    totals = Counter(each.source for each in labelled)
    left, stages = list(labelled), []
    for method in methods[:-1]:
        verdicts = [_verdict_on(each, method) for each in left]
        said = [
            (each.source, verdict.score, each.supported) for each, verdict in zip(left, verdicts, strict=True)
        ]
        band = fitted_band(said, allowed, totals=totals)
        stages.append(Stage(method, band))
        left = [each for each, verdict in zip(left, verdicts, strict=True) if not band.is_sure(verdict)]
    return Cascade([*stages, Stage(methods[-1])])


def _verdict_on(labelled: LabelledClaim, method: SupportMethod) -> ClaimVerdict:
    claim = Claim(labelled.claim, 0, len(labelled.claim))
    (verdict,) = method.decide([claim], labelled.evidence, question=labelled.question)
    return verdict


def _check_target(target: float) -> None:
    if not 0.5 < target < 1:
        raise UsageError(f"cascade: target: expected a number above 0.5 and below 1, got {shown(target)}")


def read_labelled_claims(path: str | Path) -> list[LabelledClaim]:
    """Read labelled claims, a JSON object a line: ``claim``, ``evidence``, ``supported``, and ``source``."""
    found, problems = [], Problems()
    for number, line in enumerate(read_bytes(Path(path)).splitlines(), 1):
        if line.strip():
            with problems.collected():
                found.append(_labelled_claim(line, f"{path}:{number}"))
    problems.raise_all()
    if not found:
        raise InputError([Issue("empty", "labelled claims, a JSON object a line", "none", str(path))])
    return found


def _labelled_claim(line: bytes, place: str) -> LabelledClaim:
    row = strict_json.decode(line)
    if not isinstance(row, dict):
        raise InputError([Issue("wrong-type", "a JSON object", shown(row), place)])
    evidence = row.get("evidence")
    texts = [evidence] if isinstance(evidence, str) else evidence
    wrong = []
    if not isinstance(row.get("claim"), str):
        wrong.append(("claim", "text", row.get("claim")))
    if not isinstance(texts, list) or not all(isinstance(each, str) for each in texts):
        wrong.append(("evidence", "text or a list of texts", evidence))
    if row.get("supported") not in (True, False):
        wrong.append(("supported", "true or false", row.get("supported")))
    if wrong:
        raise InputError(
            [Issue("wrong-type", f"{name}: {expected}", shown(got), place) for name, expected, got in wrong]
        )
    source, question = str(row.get("source") or ""), str(row.get("question") or "")
    return LabelledClaim(row["claim"], tuple(texts or ()), bool(row["supported"]), source, question)


@cache
def shipped_bands() -> dict[float, Band]:
    """Return the bands of lexical support by the target they hold."""
    data = json.loads((files(__package__) / "data" / "cascade_bands.json").read_text(encoding="utf-8"))
    return {float(target): Band(**band) for target, band in data["lexical"].items()}


# Cascades from a text.


def _cascade_from(text: str, judge: Judge | None) -> Cascade:
    methods: list[SupportMethod] = []
    given: list[Band | None] = []
    settings: dict[str, Any] = {}
    for part in _parts(text[len(_CASCADE) : -1]):
        if part.startswith(_CASCADE):
            raise UsageError("cascade: expected stages, got a cascade within a cascade")
        name, separator, value = part.partition("=")
        if separator and "(" not in name:
            settings[name.strip()] = parse_specification(f"x(v={value})").arguments["v"]
            continue
        stage = parse_specification(part)
        methods.append(_method_of(stage, judge))
        given.append(_band_of(stage))
    if unknown := sorted(set(settings) - {"labels", "target"}):
        raise UsageError(f"cascade: expected the settings labels and target, got {', '.join(unknown)}")
    if len(methods) < 2:
        raise UsageError(f"cascade: expected two stages or more, got {shown(text)}")
    target = settings.get("target", TARGET)
    _check_target(target)
    if "labels" in settings:
        return fitted_cascade(methods, read_labelled_claims(str(settings["labels"])), target=target)
    bands = [each or _shipped(method, target) for each, method in zip(given[:-1], methods, strict=False)]
    return Cascade([*map(Stage, methods, bands), Stage(methods[-1])])


def _method_of(stage: Specification, judge: Judge | None) -> SupportMethod:
    left = {name: value for name, value in stage.arguments.items() if name not in ("low", "high")}
    return support_from(str(Specification(stage.name, left)), judge)


def _band_of(stage: Specification) -> Band | None:
    given = [stage.arguments.get(name) for name in ("low", "high")]
    if given == [None, None]:
        return None
    low, high = (value if isinstance(value, int | float) else None for value in given)
    if low is None or high is None or not 0 <= low <= high <= 1:
        told = f"low={shown(given[0])}, high={shown(given[1])}"
        raise UsageError(f"cascade: {stage.name}: expected low and high, from 0 to 1, got {told}")
    return Band(float(low), float(high))


def _shipped(method: SupportMethod, target: float) -> Band:
    if method.name != LEXICAL_SUPPORT:
        raise UsageError(
            f"cascade: {method.name}: expected labels=FILE, or low= and high= of its own, got neither: "
            "what its probabilities are worth was not measured"
        )
    bands = shipped_bands()
    if target not in bands:
        known = ", ".join(f"{each:g}" for each in bands)
        raise UsageError(f"cascade: target: expected one of {known}, or labels=FILE, got {shown(target)}")
    return bands[target]


def _parts(text: str) -> Iterator[str]:
    """Split at the commas that stand in no brackets and no quotes."""
    depth, quote, part = 0, "", ""
    for sign in text:
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "\"'":
            quote = sign
        elif sign in "()":
            depth += 1 if sign == "(" else -1
        if sign == "," and not depth and not quote:
            yield part.strip()
            part = ""
        else:
            part += sign
    if part.strip():
        yield part.strip()
