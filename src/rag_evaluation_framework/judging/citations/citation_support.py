"""Whether what an answer cites bears out what it says, sentence by sentence.

The definitions are those of ALCE (Gao et al., EMNLP 2023), for a sentence and the set of what it cites:

- The sentence is *supported* when all that it cites, taken together, supports it. A sentence that cites
  nothing, or cites something that cannot be opened, is not supported.
- A citation is *idle* when the sentence is supported without it, and *irrelevant* when it is idle and does
  not support the sentence alone. It is *relevant* when its sentence is supported and it is not irrelevant: of
  two citations that each suffice both are relevant; of one that suffices and one that adds nothing, the
  former only.

Citing the same place twice in one sentence counts once. The first hundred citations of a sentence are
weighed; any after them are neither relevant nor correct. Citations that come beside an answer do not tell
where they belong: each sentence is then held against all of them that can be opened, and a citation counts
once, as relevant when it is to at least one sentence.

Beyond ALCE, a citation is *correct* when it alone supports a claim of its sentence. Who decides what supports
what is a :class:`SupportMethod`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from rag_evaluation_framework.errors import Issue, shown
from rag_evaluation_framework.judging.citations.cited_sentences import Bracket, CitedAnswer, CitedSentence
from rag_evaluation_framework.judging.citations.cited_texts import OpenedCitation
from rag_evaluation_framework.judging.verdicts import Claim, SupportMethod
from rag_evaluation_framework.metrics.inline_citations import MalformedCitation
from rag_evaluation_framework.records.citations import Citation

Texts: TypeAlias = tuple[str, ...]

# Weighing one citation takes all the others, so that thousands at one sentence would take hours.
MOST_WEIGHED = 100


@dataclass(frozen=True, slots=True)
class CheckedCitation:
    """A citation, and what became of it."""

    opened: OpenedCitation
    is_correct: bool
    is_relevant: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the citation as results hold it."""
        return {**self.opened.to_dict(), "correct": self.is_correct, "relevant": self.is_relevant}


@dataclass(frozen=True, slots=True)
class CheckedSentence:
    """A sentence, whether all that it cites supports it, and which of its claims are cited."""

    sentence: Claim
    is_supported: bool
    cited_claims: tuple[bool, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the sentence as results hold it; its text is the answer's at this place."""
        place = {"start": self.sentence.start, "end": self.sentence.end}
        return {**place, "supported": self.is_supported, "cited": any(self.cited_claims)}


@dataclass(frozen=True, slots=True)
class CitationReport:
    """The sentences of an answer that claim something, and its citations, both in reading order."""

    sentences: tuple[CheckedSentence, ...]
    citations: tuple[CheckedCitation, ...]

    @property
    def supported(self) -> list[bool]:
        return [sentence.is_supported for sentence in self.sentences]

    @property
    def cited(self) -> list[bool]:
        """A flag for each claim, not for each sentence."""
        return [cited for sentence in self.sentences for cited in sentence.cited_claims]

    @property
    def relevant(self) -> list[bool]:
        return [citation.is_relevant for citation in self.citations]

    @property
    def correct(self) -> list[bool]:
        return [citation.is_correct for citation in self.citations]


def check_inline_citations(
    answer: CitedAnswer,
    support: SupportMethod,
    *,
    opened: Callable[[Citation], OpenedCitation],
    question: str = "",
) -> CitationReport:
    """Check the citations that are written in an answer; ``opened`` opens one."""
    verdicts = _Verdicts(support, question)
    cited = [(each, _each_once(open_brackets(each.brackets, opened))) for each in answer.sentences]
    weighed = [(each, own[:MOST_WEIGHED]) for each, own in cited]
    verdicts.ask(pair for sentence, own in weighed for pair in _first_questions(sentence, _texts(own)))
    verdicts.ask(
        pair
        for sentence, own in weighed
        if all(each.is_open for each in own)
        for pair in verdicts.without_each(sentence.sentence, _texts(own))
    )
    sentences, citations = [], []
    for sentence, own in cited:
        chosen, rest = own[:MOST_WEIGHED], own[MOST_WEIGHED:]
        texts = _texts(chosen)
        is_supported = len(texts) == len(chosen) and verdicts.supports(sentence.sentence, texts)
        relevant = verdicts.relevant(sentence.sentence, texts) if is_supported else [False] * len(chosen)
        claims_cited = (bool(own),) * len(sentence.claims)
        sentences.append(CheckedSentence(sentence.sentence, is_supported, claims_cited))
        citations += [
            CheckedCitation(each, verdicts.is_correct(each, sentence.claims), is_relevant)
            for each, is_relevant in zip(chosen, relevant, strict=True)
        ]
        citations += [CheckedCitation(each, is_correct=False, is_relevant=False) for each in rest]
    return CitationReport(tuple(sentences), tuple(citations))


def check_listed_citations(
    answer: CitedAnswer, support: SupportMethod, *, listed: Sequence[OpenedCitation], question: str = ""
) -> CitationReport:
    """Check citations that come beside an answer; those written in it are left aside."""
    verdicts = _Verdicts(support, question)
    listed = _each_once(listed)
    listed, rest = listed[:MOST_WEIGHED], listed[MOST_WEIGHED:]
    texts = _texts(listed)
    verdicts.ask(pair for each in answer.sentences for pair in _first_questions(each, texts))
    verdicts.ask(pair for each in answer.sentences for pair in verdicts.without_each(each.sentence, texts))
    sentences = tuple(
        CheckedSentence(
            each.sentence,
            verdicts.supports(each.sentence, texts),
            tuple(any(verdicts.is_correct(cited, [claim]) for cited in listed) for claim in each.claims),
        )
        for each in answer.sentences
    )
    to_each_sentence = [verdicts.relevant(each.sentence, texts) for each in answer.sentences]
    relevant = iter([any(flags) for flags in zip(*to_each_sentence, strict=True)] or [False] * len(texts))
    claims = [claim for each in answer.sentences for claim in each.claims]
    citations = tuple(
        CheckedCitation(each, verdicts.is_correct(each, claims), each.is_open and next(relevant))
        for each in listed
    )
    uncounted = tuple(CheckedCitation(each, is_correct=False, is_relevant=False) for each in rest)
    return CitationReport(sentences, citations + uncounted)


def relevant_citations(count: int, suffices: Callable[[tuple[int, ...]], bool]) -> list[bool]:
    """Return which of so many citations are relevant; ``suffices`` tells whether some of them support."""
    everything = tuple(range(count))
    if not count or not suffices(everything):
        return [False] * count
    return [
        suffices((number,)) or not suffices(tuple(other for other in everything if other != number))
        for number in everything
    ]


def open_brackets(
    brackets: Iterable[Bracket], opened: Callable[[Citation], OpenedCitation]
) -> list[OpenedCitation]:
    """Open the citations written in an answer; a bracket that cannot be read is one that cannot be opened."""
    found = []
    for bracket in brackets:
        if isinstance(bracket, MalformedCitation):
            issue = Issue("unreadable-citation", bracket.expected, shown(bracket.text))
            each = OpenedCitation(citation=None, issue=issue)
        else:
            each = opened(bracket.citation)
        found.append(replace(each, bracket=(bracket.start, bracket.end)))
    return found


class _Verdicts:
    """What a method says of claims against texts. It is asked once for each set of texts, for all claims."""

    def __init__(self, support: SupportMethod, question: str) -> None:
        self._support, self._question = support, question
        self._known: dict[tuple[Claim, Texts], bool] = {}

    def ask(self, pairs: Iterable[tuple[Claim, Texts]]) -> None:
        """Find out whether each claim is supported by the texts beside it."""
        claims_by_texts: dict[Texts, dict[Claim, None]] = {}
        for claim, texts in pairs:
            if _has_words(texts) and (claim, texts) not in self._known:
                claims_by_texts.setdefault(texts, {})[claim] = None
        for texts, claims in claims_by_texts.items():
            given = self._support.decide(list(claims), texts, question=self._question)
            self._known |= {
                (claim, texts): verdict.is_supported for claim, verdict in zip(claims, given, strict=True)
            }

    def supports(self, claim: Claim, texts: Texts) -> bool:
        return _has_words(texts) and self._known[claim, texts]

    def is_correct(self, citation: OpenedCitation, claims: Iterable[Claim]) -> bool:
        """Tell whether a citation alone supports one of the claims."""
        return citation.is_open and any(self.supports(claim, (citation.text,)) for claim in claims)

    def relevant(self, claim: Claim, texts: Texts) -> list[bool]:
        """Return which of the texts are relevant to a claim."""
        return relevant_citations(
            len(texts), lambda numbers: self.supports(claim, tuple(texts[number] for number in numbers))
        )

    def without_each(self, claim: Claim, texts: Texts) -> list[tuple[Claim, Texts]]:
        """Return what is still to be asked to tell which texts are relevant: the others without each."""
        if not self.supports(claim, texts):
            return []
        return [
            (claim, texts[:number] + texts[number + 1 :])
            for number, text in enumerate(texts)
            if not self.supports(claim, (text,))
        ]


def _first_questions(sentence: CitedSentence, texts: Texts) -> Iterator[tuple[Claim, Texts]]:
    """Yield what is asked of every sentence: all texts together, then each alone."""
    yield sentence.sentence, texts
    for text in texts:
        yield from ((claim, (text,)) for claim in (sentence.sentence, *sentence.claims))


def _has_words(texts: Texts) -> bool:
    """Tell whether there is anything to ask about: nothing, and blank texts, support nothing."""
    return any(text.strip() for text in texts)


def _each_once(opened: Sequence[OpenedCitation]) -> list[OpenedCitation]:
    kept: dict[object, OpenedCitation] = {}
    for number, each in enumerate(opened):
        kept.setdefault(number if each.citation is None else each.citation, each)
    return list(kept.values())


def _texts(opened: Iterable[OpenedCitation]) -> Texts:
    return tuple(each.text for each in opened if each.is_open)
