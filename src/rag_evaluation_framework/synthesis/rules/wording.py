"""How a question is worded: with its topic if it would be unclear, in other words, with its mark.

A question needs its document's topic if it points elsewhere ("its limit"), or if its words are so common that
other documents would fit as well. Common words are exchanged for others that mean the same, so that a
question does not only repeat its passage.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from rag_evaluation_framework.judging.words.content_tokens import content_keys, content_tokens
from rag_evaluation_framework.metrics.tokens import has_unspaced_script
from rag_evaluation_framework.synthesis.drafts import Difficulty, Excerpt
from rag_evaluation_framework.synthesis.rules.english_words import OTHER_WORDS
from rag_evaluation_framework.synthesis.rules.passages import Statement
from rag_evaluation_framework.synthesis.rules.questions import MadeQuestion

_OPENINGS = ("regarding {}, ", "as for {}, ", "with regard to {}, ")
_CHINESE_OPENING = "关于{}，"
_LONGEST_TOPIC = 8
_SHARE_OF_OTHER_WORDS = 0.5
# So many documents are expected by chance to hold all words of a question: it may be about any of them.
_UNCLEAR_FROM = 0.5
_EASY, _MEDIUM = 0.8, 0.5
_FEWEST_TERM_WORDS = 6
_PARTICLE = re.compile(r" (?:out|up|off|down|over|away|back|in|on)\b")
_WORD = re.compile(r"[A-Za-z][A-Za-z'-]*")


class Wording:
    """Puts questions about the documents of one corpus."""

    def __init__(self, texts: Iterable[str], *, seed: int = 0) -> None:
        self._seed = seed
        self._documents = 0
        self._holding: Counter[str] = Counter()
        for text in texts:
            self._documents += 1
            self._holding.update(set(content_keys(text)))

    def question(self, made: MadeQuestion, title: str) -> str | None:
        """Return a question as it is asked about a document of this title; ``None`` if it cannot be clear."""
        text = self._in_other_words(made.text)
        topic = self._topic(made, title)
        if not topic:
            return None if made.needs_topic and topic is not None else self.finished(text)
        if has_unspaced_script(made.text):
            return self.finished(_CHINESE_OPENING.format(topic) + text)
        opening = self._drawn(made.text).choice(_OPENINGS)
        return self.finished(opening.format(topic) + text)

    def finished(self, text: str) -> str:
        """Return a question with its capital and its mark."""
        mark = "？" if has_unspaced_script(text) else "?"
        return f"{text[0].upper()}{text[1:]}{mark}"

    def difficulty(self, question: str, excerpts: Sequence[Excerpt]) -> Difficulty:
        """Tell how hard a question is by the share of its words that its passage has."""
        asked = set(content_keys(question))
        told = {key for excerpt in excerpts for key in content_keys(excerpt.text)}
        share = len(asked & told) / len(asked) if asked else 0.0
        if len(excerpts) > 1:
            return "medium" if share >= _MEDIUM else "hard"
        return "easy" if share >= _EASY else "medium" if share >= _MEDIUM else "hard"

    def about_terms(self, statement: Statement) -> Iterator[MadeQuestion]:
        """Ask about the rarest words of a sentence, a last resort for sentences that no rule reads."""
        tokens = content_tokens(statement.text)
        if len(tokens) < _FEWEST_TERM_WORDS:
            return
        rarest = sorted(tokens, key=lambda token: (self._holding[token.key], token.start))[:2]
        if has_unspaced_script(statement.text):
            terms = "和".join(statement.text[token.start : token.end] for token in sorted(rarest, key=_start))
            text = f"{terms}是怎么回事"
        else:
            terms = " and ".join(
                statement.text[token.start : token.end] for token in sorted(rarest, key=_start)
            )
            text = f"what is said about {terms}"
        yield MadeQuestion(
            text=text,
            places=(statement.place,),
            answer=statement.text,
            form="terms",
            kind="factual",
            rank=3,
            needs_topic=True,
        )

    def _topic(self, made: MadeQuestion, title: str) -> str | None:
        """Return what the question must name to be clear: ``None`` if nothing, empty if that is unknown."""
        asked = made.text.casefold()
        named = bool(title) and title.casefold() in asked
        headings = [each for each in made.places[0].headings[1:] if each.casefold() not in asked]
        if made.needs_topic and headings and not _is_question(headings[-1]):
            heading = headings[-1]
            is_clear = named or not title or not self._is_unclear(f"{made.text} {heading}")
            whole = heading if is_clear else f"{heading} ({title})"
            return whole if _is_short(whole) else heading
        if named or not (made.needs_topic or self._is_unclear(made.text)):
            return None
        return title if _is_short(title) else ""

    def _is_unclear(self, text: str) -> bool:
        """Tell whether the words of a question would be found together in other documents too."""
        keys = set(content_keys(text))
        expected = float(self._documents)
        for key in keys:
            expected *= max(self._holding[key], 1) / self._documents
        return self._documents > 1 and expected >= _UNCLEAR_FROM

    def _in_other_words(self, text: str) -> str:
        drawn = self._drawn(text)

        def other(match: re.Match[str]) -> str:
            word = match[0]
            is_phrase = _PARTICLE.match(text, match.end()) is not None
            if word not in OTHER_WORDS or is_phrase or drawn.random() >= _SHARE_OF_OTHER_WORDS:
                return word
            return OTHER_WORDS[word]

        return _WORD.sub(other, text)

    def _drawn(self, text: str) -> random.Random:
        return random.Random(f"{self._seed} {text}")  # noqa: S311  # draws words, guards nothing


def _start(token: tuple[str, int, int]) -> int:
    return token[1]


def _is_short(topic: str) -> bool:
    return len(topic.split()) <= _LONGEST_TOPIC and len(topic) <= 60


def _is_question(heading: str) -> bool:
    return heading.rstrip().endswith(("?", "？"))
