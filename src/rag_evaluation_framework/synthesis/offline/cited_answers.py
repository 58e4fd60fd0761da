"""Answers that cite numbered contexts: asked for, enforced, and verified.

Every statement must end in the number of the context it rests on, ``[2]``. A reply that cites nothing, or a
number that no context has, or a context that says nothing of the kind, is asked for once more, with what was
wrong; after that it is rejected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rag_evaluation_framework.errors import ModelError
from rag_evaluation_framework.judging.classes.answer_classes import classify_answer
from rag_evaluation_framework.judging.words.content_tokens import content_keys
from rag_evaluation_framework.language_models.chat import ChatModel, Completion, Message, with_paragraph
from rag_evaluation_framework.metrics.inline_citations import parse_citations
from rag_evaluation_framework.records.citations import ContextCitation
from rag_evaluation_framework.retrieval.sentences import sentence_spans

PROMPT = """\
Answer from the numbered contexts and from nothing else. End every sentence with the number of the context \
it rests on, like [2]. If the contexts do not hold the answer, say so.

{contexts}

{instruction}"""

# Words of a cited sentence that its contexts must have at least: fewer, and it rests on something else.
_LEAST_SUPPORT = 0.4
_REPAIR = (
    "An earlier reply to this could not be used: {problem}. Write it again and cite the contexts as told."
)


@dataclass(frozen=True, slots=True)
class CitedAnswer:
    """An answer with the numbers of the contexts that it cites; ``problem`` is why it cannot be used."""

    text: str
    numbers: tuple[int, ...]
    problem: str | None = None
    detail: str = ""
    completions: tuple[Completion, ...] = ()


def prompt_of(instruction: str, contexts: Sequence[str]) -> str:
    """Return the prompt that an assistant is given: contexts with their numbers, then what is asked."""
    numbered = "\n\n".join(f"[{number}] {text}" for number, text in enumerate(contexts, start=1))
    return PROMPT.format(contexts=numbered, instruction=instruction)


def ask_with_citations(model: ChatModel, instruction: str, contexts: Sequence[str]) -> CitedAnswer:
    """Ask a model, at most twice; what it says is verified. A failing model is a problem of its kind."""
    messages = [Message("user", prompt_of(instruction, contexts))]
    completions: list[Completion] = []
    conversation = messages
    answer = CitedAnswer("", (), "no-reply")
    for _ in range(2):
        try:
            completion = model.chat(conversation)
        except ModelError as error:
            return CitedAnswer("", (), error.kind, error.message, tuple(completions))
        completions.append(completion)
        answer = verified(completion.text.strip(), contexts)
        if answer.problem is None:
            break
        note = _REPAIR.format(problem=f"{answer.problem.replace('-', ' ')} ({answer.detail})")
        conversation = with_paragraph(messages, note)
    return CitedAnswer(answer.text, answer.numbers, answer.problem, answer.detail, tuple(completions))


def verified(text: str, contexts: Sequence[str]) -> CitedAnswer:
    """Check an answer's citations against the contexts.

    >>> verified("Four a day [3].", ["Four ferries a day."]).problem
    'citation-out-of-range'
    """
    numbers = cited_numbers(text)
    wrong = [number for number in numbers if not 1 <= number <= len(contexts)]
    if wrong:
        return CitedAnswer(
            text, numbers, "citation-out-of-range", f"[{wrong[0]}] of {len(contexts)} contexts"
        )
    if not numbers:
        is_answer = bool(text) and classify_answer(text).kind == "answered"
        return CitedAnswer(text, numbers, "no-citations" if is_answer else "not-answered", "nothing is cited")
    for start, end in sentence_spans(text):
        sentence = text[start:end]
        cited = cited_numbers(sentence)
        if cited and _support(sentence, [contexts[number - 1] for number in cited]) < _LEAST_SUPPORT:
            return CitedAnswer(text, numbers, "citation-unsupported", sentence)
    return CitedAnswer(text, numbers)


def cited_numbers(text: str) -> tuple[int, ...]:
    """Return the numbers of the contexts that a text cites, each once, in order."""
    cited = (placed.citation for placed in parse_citations(text).citations)
    return tuple(dict.fromkeys(each.number for each in cited if isinstance(each, ContextCitation)))


def _support(sentence: str, contexts: Sequence[str]) -> float:
    """Return the share of a sentence's content words that the contexts have."""
    said = set(content_keys(sentence))
    told = {word for context in contexts for word in content_keys(context)}
    return len(said & told) / len(said) if said else 1.0
