"""The labelled sets that rules are tried on: data that the rules' authors did not look at.

Of outside data the halves that report (see ``_ragtruth``, ``_begin``, ``_refusals``, ``_wice``,
``answer_verdicts``), and what was written here by somebody who had not read the rules: ``unseen_*``,
``trial_*`` and ``refusals_once`` in ``data/``, and the plants of ``independent_faults``.

``blind_*`` has 80 items for each kind of rule that no outside set touches. One language model wrote and
labeled them without sight of the rules, their tests or these benchmarks, and no label was changed after a
rule was tried on it. Many passages serve two items, one of each label.
"""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import (
    _answers,
    _begin,
    _ragtruth,
    _refusals,
    _unseen,
    _wice,
    answer_verdicts,
    cascade,
    independent_faults,
)
from benchmarks._auroc import Floats, auroc, f1
from benchmarks._independent_sentences import Sentence, is_chinese, sentences
from rag_evaluation_framework.judging.answer_classes import AnswerKind, classify_answer
from rag_evaluation_framework.judging.answer_verdicts import told_in
from rag_evaluation_framework.judging.citation_support import check_inline_citations, cited_answer
from rag_evaluation_framework.judging.cited_texts import CitableTexts
from rag_evaluation_framework.judging.lexical_support import LexicalSupport, screen_answer
from rag_evaluation_framework.judging.mentions import names_in
from rag_evaluation_framework.judging.milestones import first_tellings
from rag_evaluation_framework.judging.profanity import screen_profanity
from rag_evaluation_framework.judging.reference_words import WordFinding, compare_with_references
from rag_evaluation_framework.judging.relations import read_relation
from rag_evaluation_framework.judging.turn_matching import match_reference
from rag_evaluation_framework.judging.verdict import decide
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Sample, Turn
from rag_evaluation_framework.records.scores import Claim

FOLDER = Path(__file__).parent / "data"
DIRECTIONS = {"right": 1.0, "mutual": 1.0, "not told": 0.5, "wrong": 0.0}
TRIVIA_QUESTIONS = 100
EVERY = 4
"""Of the trivia questions, every so many are tried: each rule is tried on all of them."""
MOST_PLANTED = 60
VALUES = ("amounts", "dates", "fractions", "chinese_numbers", "with_without")
KINDS = ("number", "date", "name", "negation", "invention", "unchanged")


class Scored(NamedTuple):
    """One labelled item as scored: where it comes from, whether it is positive, and its score."""

    source: str
    label: bool
    score: float


Measure = Callable[..., float]


def agreement(labels: Sequence[bool], scores: Sequence[float], weights: Floats | None = None) -> float:
    """Return how near scores from 0 to 1 come to labels, 1 being all the way."""
    near = 1.0 - np.abs(np.asarray(labels, dtype=np.float64) - np.asarray(scores, dtype=np.float64))
    return float(np.average(near, weights=weights))


@dataclass(frozen=True, slots=True)
class TrialSet:
    """A labelled set: what kind of reading it tries, how it is scored, and what counts.

    Kinds: ``support`` (answers), ``claims`` (single ones), ``classes`` (of answers), ``entities``,
    ``milestones``, ``relations``, ``turns``, and ``replies``: turns some of which are asked for a yes or no;
    ``correctness`` and ``verdicts`` of answers beside their references, ``refusals`` where one is expected,
    ``plants`` in copied sentences, ``citations``, ``cascade`` and ``profanity``; of each of ``VALUES`` the
    correctness and the verdicts.
    """

    name: str
    kind: str
    scored: Callable[[], list[Scored]]
    measure: Measure


_f1 = partial(f1, least=0.5)


def trial_sets(data: Path) -> list[TrialSet]:
    """Return the sets; of outside data those that are there."""
    found = [*_answers_of_our_own(), *_claims(), *_classes_of_our_own(), *_golden(), *_plants(), *_blind()]
    if (data / "ragtruth").exists():
        found += _ragtruth_sets(data)
    if (data / "begin").exists():
        found += [_set(f"BEGIN {part}", "support", partial(_begin_part, data, part)) for part in _begin.PARTS]
    if (data / "wice").exists():
        found.append(_set("WiCE", "claims", partial(_wice_claims, data)))
    if (data / "hatecheck").exists():
        found.append(_set("HateCheck swear words", "profanity", partial(_swear_words, data), agreement))
    if all((data / name).exists() for name in ("wice", "begin", "ragtruth")):
        for name in (*cascade.FITTED_ON, *(f"RAGTruth, {task}" for task in cascade.TASKS)):
            found.append(
                _set(f"cascade, {name} left out", "cascade", partial(_cascade, data, name), agreement)
            )
    if (data / "xstest").exists():
        for system in _refusals.SYSTEMS:
            scored = partial(_completions, data, system)
            found.append(_set(f"XSTest {system}", "classes", scored, _f1))
            verdicts = partial(_completions, data, system, refuses=_refuses)
            found.append(_set(f"XSTest {system}, verdicts", "refusals", verdicts, _f1))
    if (data / "mtrag").exists():
        found.append(_set("MTRAG-UN don't know", "classes", partial(_references, data), _f1))
        found.append(_set("MTRAG-UN asks back", "classes", partial(_questions_back, data), _f1))
    if (data / "nomiracl").exists():
        for language in ("en", "zh"):
            scored = partial(_outputs, data, language)
            found.append(_set(f"NoMIRACL {language}", "classes", scored, _f1))
    if (data / "evouna").exists():
        for system in _trivia_systems(data):
            turns, names = partial(_trivia_turns, data, system), partial(_trivia_names, data, system)
            found.append(_set(f"trivia turns {system}", "turns", turns))
            found.append(_set(f"trivia names {system}", "entities", names, agreement))
        found += _answers_with_references(data)
    return found


def _set(name: str, kind: str, scored: Callable[[], list[Scored]], measure: Measure = auroc) -> TrialSet:
    return TrialSet(name, kind, scored, measure)


def _records(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / name).read_text(encoding="utf-8").splitlines()]


def _by_language(name: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    records = _records(name)
    for language in _unseen.LANGUAGES:
        yield language, [each for each in records if each["language"] == language]


def _unsupported(answer: str, contexts: Sequence[str], question: str = "") -> float:
    return screen_answer(answer, contexts, question=question).probability_unsupported or 0.0


def _unfaithful(answer: str, contexts: Sequence[str], question: str = "") -> float:
    """Return the share of claims that are not supported."""
    screening = screen_answer(answer, contexts, question=question)
    return len(screening.unsupported) / len(screening.verdicts) if screening.verdicts else 0.0


SUPPORT = {"screened": _unsupported, "share of claims": _unfaithful}


def _answers_of_our_own() -> Iterator[TrialSet]:
    for language, records in _by_language("trial_answers.jsonl"):
        for title, score in SUPPORT.items():
            yield _set(f"our answers {language}, {title}", "support", partial(_our_answers, records, score))


def _our_answers(records: list[dict[str, Any]], score: Callable[..., float]) -> list[Scored]:
    return [
        Scored(
            each["question"],
            not each["is_supported"],
            score(each["answer"], each["evidence"], each["question"]),
        )
        for each in records
    ]


def _ragtruth_sets(data: Path) -> Iterator[TrialSet]:
    """Yield the half that reports, screened and by share of claims.

    Not by system: over all tasks, a system's answers are told apart by their task as well.
    """
    held_out = _ragtruth.HALVES[0][1]
    for task, name in _ragtruth.TASKS.items():
        kept = [each for each in _ragtruth.answers(data, task) if each.source % 2 == held_out]
        for title, score in SUPPORT.items():
            yield _set(f"RAGTruth {name}, {title}", "support", partial(_labelled, kept, score))


def _labelled(answers: Sequence[_ragtruth.LabelledAnswer], score: Callable[..., float]) -> list[Scored]:
    return [
        Scored(str(each.source), bool(each.spans), score(each.answer, each.contexts, each.question))
        for each in answers
    ]


def _begin_part(data: Path, part: str) -> list[Scored]:
    return [
        Scored(knowledge, positive, _unsupported(response, [knowledge]))
        for knowledge, response, positive in _begin.answers(data, part)
        if not _wice.is_for_fitting(knowledge)
    ]


def _claims() -> Iterator[TrialSet]:
    for language, records in _by_language("unseen_claims.jsonl"):
        yield _set(f"free claims {language}", "claims", partial(_our_claims, records))


def _our_claims(records: list[dict[str, Any]]) -> list[Scored]:
    return [
        Scored(
            "|".join(each["evidence"]), each["label"] != "supported", _doubt(each["claim"], each["evidence"])
        )
        for each in records
    ]


def _wice_claims(data: Path) -> list[Scored]:
    return [
        Scored(each.article, each.label != "supported", _doubt(each.claim, each.evidence))
        for each in _wice.claims(data)
        if not _wice.is_for_fitting(each.article)
    ]


def _doubt(claim: str, evidence: Sequence[str]) -> float:
    (verdict,) = LexicalSupport().decide([Claim(claim, 0, len(claim))], evidence)
    return 1.0 - (verdict.probability or 0.0)


def _classes_of_our_own() -> Iterator[TrialSet]:
    for title, file in _unseen.ANSWERS.items():
        for language, records in _by_language(file):
            kept = [each for each in records if int(each["id"].partition("-")[2]) % 2]
            yield _set(f"{title} {language}", "classes", partial(_declined, kept), _f1)
            yield _set(f"{title} {language}, asks back", "classes", partial(_asked_back, kept), _f1)
    for language, records in _by_language("refusals_once.jsonl"):
        records = [{**each, "label": each["class"]} for each in records]
        yield _set(f"answers seen once {language}", "classes", partial(_declined, records), _f1)
        yield _set(f"answers seen once {language}, asks back", "classes", partial(_asked_back, records), _f1)


def _is(answer: str, question: str, kinds: Sequence[AnswerKind]) -> float:
    return float(classify_answer(answer, question).kind in kinds)


def _declined(records: list[dict[str, Any]]) -> list[Scored]:
    declined = _refusals.DECLINED
    return [
        Scored(each["id"], each["label"] in declined, _is(each["answer"], each["question"], declined))
        for each in records
    ]


def _asked_back(records: list[dict[str, Any]]) -> list[Scored]:
    return [
        Scored(
            each["id"], each["label"] == "asks_back", _is(each["answer"], each["question"], ("asks_back",))
        )
        for each in records
    ]


def _declines(answer: str, question: str) -> float:
    return _is(answer, question, _refusals.DECLINED)


def _refuses(answer: str, question: str) -> float:
    return float(_refusals.by_verdict(answer, question) == "refused")


def _completions(data: Path, system: str, refuses: Callable[[str, str], float] = _declines) -> list[Scored]:
    return [
        Scored(
            row["id"], row["final_label"] != _refusals.COMPLIANCE, refuses(row["completion"], row["prompt"])
        )
        for row in _refusals.completion_rows(data, system)
    ]


def _references(data: Path) -> list[Scored]:
    return [
        Scored(each.source, each.labels[0] == "UNANSWERABLE", float(each.kind in _refusals.DECLINED))
        for each in _refusals.references(data)
        if each.labels[0] in ("UNANSWERABLE", "ANSWERABLE")
    ]


def _questions_back(data: Path) -> list[Scored]:
    return [
        Scored(each.source, each.labels[0] == "UNDERSPECIFIED", float(each.kind == "asks_back"))
        for each in _refusals.references(data)
    ]


def _outputs(data: Path, language: str) -> list[Scored]:
    return [
        Scored(each.source, each.labels[0] == "dont_know", float(each.kind == "dont_know"))
        for answers in _refusals.outputs(data, language).values()
        for each in answers
    ]


def _told(record: dict[str, Any]) -> str:
    """Return what an answer tells, as the metrics of golden sets read it."""
    question = record.get("question", "What happened?")
    sample = Sample(id="s", turns=(Turn(role="user", content=question),), reference=record.get("reference"))
    return told_in(sample, record["answer"]).text


def _golden() -> Iterator[TrialSet]:
    for language, records in _by_language("trial_entities.jsonl"):
        yield _set(f"our names {language}", "entities", partial(_our_names, records), agreement)
    for language, records in _by_language("trial_milestones.jsonl"):
        yield _set(f"our steps {language}", "milestones", partial(_our_steps, records), agreement)
    for language, records in _by_language("trial_relations.jsonl"):
        yield _set(f"our relations {language}", "relations", partial(_our_relations, records), agreement)
    for language, records in _by_language("trial_turns.jsonl"):
        yield _set(f"our turns {language}", "replies", partial(_our_turns, records), agreement)


def _our_names(records: list[dict[str, Any]]) -> list[Scored]:
    return [
        Scored(each["question"], expected, float(named))
        for each in records
        for expected, named in zip(
            each["entities"].values(),
            names_in(_told(each), list(each["entities"]), question=each["question"]),
            strict=True,
        )
    ]


def _our_steps(records: list[dict[str, Any]]) -> list[Scored]:
    return [
        Scored("|".join(each["milestones"]), expected, float(place is not None))
        for each in records
        for expected, place in zip(each["told"], first_tellings(_told(each), each["milestones"]), strict=True)
    ]


def _our_relations(records: list[dict[str, Any]]) -> list[Scored]:
    return [Scored(each["question"], each["is_right"], _relation(each)) for each in records]


def _relation(record: dict[str, Any]) -> float:
    triple = (record["source"], record["relation"], record["target"])
    reading = read_relation(_told(record), triple, question=record.get("question", ""))
    if reading.relation is None:  # no figure, which is as far from the one label as from the other
        return 0.5
    return sum(reading.ends) / 2 * reading.relation * DIRECTIONS[reading.direction]


def _our_turns(records: list[dict[str, Any]]) -> list[Scored]:
    return [
        Scored(
            each["question"],
            each["is_right"],
            _turn(_told(each), each["reference"], each["question"], each["before"]),
        )
        for each in records
    ]


def _turn(answer: str, reference: str, question: str, before: Sequence[str] = ()) -> float:
    match = match_reference(answer, reference, question, before=before)
    return match.value if match else 0.0


def _trivia(data: Path) -> list[dict[str, Any]]:
    lines = (data / "evouna" / "triviaqa.jsonl").read_text(encoding="utf-8").strip().split("\n")
    step = max(1, len(lines) // TRIVIA_QUESTIONS)
    return [json.loads(line) for line in lines[::step]]


def _trivia_systems(data: Path) -> list[str]:
    return list(_trivia(data)[0]["answers"])


def _trivia_answers(data: Path, system: str) -> Iterator[tuple[str, list[str], str, bool]]:
    for each in _trivia(data):
        answered = each["answers"].get(system)
        if answered and answered["answer"].strip():
            record = {"question": each["question"], "answer": answered["answer"]}
            yield each["question"], each["references"], _told(record), answered["correct"]


def _trivia_turns(data: Path, system: str) -> list[Scored]:
    return [
        Scored(question, correct, max(_turn(answer, reference, question) for reference in references))
        for question, references, answer, correct in _trivia_answers(data, system)
    ]


def _trivia_names(data: Path, system: str) -> list[Scored]:
    return [
        Scored(question, correct, float(any(names_in(answer, references, question=question))))
        for question, references, answer, correct in _trivia_answers(data, system)
    ]


def _answers_with_references(data: Path) -> Iterator[TrialSet]:
    """Yield what words say of trivia answers: the order they are put in, and the verdicts."""
    asked = _answers.questions(data)
    drawn = _answers.one_reference_each(asked)
    held_out = [row for row in asked[::EVERY] if not answer_verdicts.is_for_fitting(row["id"])]
    for system, name in _answers.SYSTEMS.items():
        for title, rows in (("all references", asked), ("one reference", drawn)):
            scored = partial(_correctness, rows[:: 2 * EVERY], system)
            yield _set(f"correctness {name}, {title}", "correctness", scored)
        yield _set(f"verdicts {name}", "verdicts", partial(_trivia_verdicts, held_out, system), agreement)
    planted = lambda: _verdicts(answer_verdicts.planted_answers())  # noqa: E731
    yield _set("verdicts on planted numbers", "verdicts", planted, agreement)
    ours = lambda: _verdicts(answer_verdicts.sentence_answers())  # noqa: E731
    yield _set("verdicts on our sentences", "verdicts", ours, agreement)


def _correctness(asked: Sequence[dict[str, Any]], system: str) -> list[Scored]:
    score = _answers.by_metric("answer_correctness")
    return [
        Scored(str(row["id"]), right, score(row["question"], answer, row["references"]))
        for row, answer, right in _answers.verdicts(asked, system)
    ]


def _trivia_verdicts(asked: Sequence[dict[str, Any]], system: str) -> list[Scored]:
    return [
        Scored(row["id"], right, _called(compare_with_references(answer, row["references"], row["question"])))
        for row, answer, right in _answers.verdicts(asked, system)
        if answer.strip()
    ]


def _verdicts(judged: Iterable[answer_verdicts.Judged]) -> list[Scored]:
    return [
        Scored(f"{number}", each.is_right, _called(each.found))
        for number, each in enumerate(judged)
        if each.is_right is not None
    ]


def _called(found: WordFinding) -> float:
    """Return what a finding says: 1 for right, 0 for wrong, and half where words cannot tell."""
    return {"matches": 1.0, "contradicts": 0.0}.get(found.kind, 0.5)


def _plants() -> Iterator[TrialSet]:
    """Yield what is found of the faults planted in copied sentences, beside the sentences unchanged."""
    every = list(sentences())
    for language in ("en", "zh"):
        kept = [each for each in every if is_chinese(each.text) == (language == "zh")]
        yield _set(f"plants {language}", "plants", partial(_planted, kept), agreement)


def _planted(kept: list[Sentence]) -> list[Scored]:
    found = []
    for kind in KINDS:
        pairs = independent_faults.drawn(kind, kept, random.Random(kind))[:MOST_PLANTED]
        values = independent_faults.faithfulness(pairs)
        found += [
            Scored(sentence.text, kind != "unchanged", float(value is not None and value < 1))
            for (sentence, _), value in zip(pairs, values, strict=True)
        ]
    return found


def _blind() -> Iterator[TrialSet]:
    """Yield the items that were written without sight of the rules."""
    for title, score in SUPPORT.items():
        for file in ("cascade", "source_lists", "code_blocks"):
            answers = partial(_blind_answers, f"blind_{file}.jsonl", score)
            yield _set(f"blind {file}, {title}", "support", answers)
    claims = partial(_blind_answers, "blind_chinese_claims.jsonl", _unsupported)
    yield _set("blind claims zh", "support", claims)
    yield _set("blind citations", "citations", _blind_citations, agreement)
    yield _set("blind steps", "milestones", _blind_steps, agreement)
    yield _set("blind relations", "relations", _blind_relations, agreement)
    for title, kind, read_answer in (("answers", "verdicts", _decided), ("names", "entities", _named)):
        for language, file in (("en", "english_phrases"), ("zh", "chinese_answers")):
            read = partial(_blind_verdicts, f"blind_{file}.jsonl", read_answer)
            yield _set(f"blind {title} {language}", kind, read, agreement)
    for language, file in (("en", "profanity"), ("zh", "chinese_profanity")):
        words = partial(_blind_swear_words, f"blind_{file}.jsonl")
        yield _set(f"blind swear words {language}", "profanity", words, agreement)
    for file in VALUES:
        correctness = partial(_blind_verdicts, f"blind_{file}.jsonl", _correct_by_words)
        yield _set(f"blind {file}", file, correctness)
        turns = partial(_blind_verdicts, f"blind_{file}.jsonl", _told_turn)
        yield _set(f"blind {file}, turns", "turns", turns, agreement)
        decided = partial(_blind_verdicts, f"blind_{file}.jsonl", _decided)
        yield _set(f"blind {file}, verdicts", f"{file}: verdicts", decided, agreement)


def _blind_answers(file: str, score: Callable[..., float]) -> list[Scored]:
    """Return the answers; those to one text are of one source."""
    return [
        Scored(
            "|".join(each["contexts"]),
            not each["faithful"],
            score(each["answer"], each["contexts"], each["question"]),
        )
        for each in _records(file)
    ]


def _blind_citations() -> list[Scored]:
    """Return whether each citation of a sentence, or all of them together, supports it."""
    found = []
    for number, each in enumerate(_records("blind_citations.jsonl")):
        open_context = partial(CitableTexts(()).opened, contexts=each["passages"])
        report = check_inline_citations(cited_answer(each["answer"]), LexicalSupport(), opened=open_context)
        supported = {one.sentence.start: one.is_supported for one in report.sentences}
        correct = {one.opened.bracket: one.is_correct for one in report.citations}
        for label in each["labels"]:
            start = each["answer"].index(label["sentence"])
            mark = f"[{label['marker']}]"
            place = each["answer"].index(mark, start)
            is_right = correct.get((place, place + len(mark)), False)
            if label.get("joint"):
                stop = start + len(label["sentence"])
                is_right = any(right for begin, right in supported.items() if start <= begin < stop)
            found.append(Scored(f"{number}", label["supported"], float(is_right)))
    return found


def _blind_steps() -> list[Scored]:
    return [
        Scored(
            each["expected_step"],
            each["reached"],
            float(first_tellings(_told(each), [each["expected_step"]])[0] is not None),
        )
        for each in _records("blind_milestones.jsonl")
    ]


def _blind_relations() -> list[Scored]:
    return [
        Scored(str(each["relation"]), each["stated"], _relation({**each, **each["relation"]}))
        for each in _records("blind_relations.jsonl")
    ]


def _blind_verdicts(file: str, score: Callable[[dict[str, Any]], float]) -> list[Scored]:
    return [
        Scored(each["question"], each["label"] == "correct", score(each))
        for each in _records(file)
        if each["label"] != "partly"
    ]


def _decided(record: dict[str, Any]) -> float:
    """Return what the decision table says of an answer without a judge."""
    turns = (Turn(role="user", content=record["question"]),)
    sample = Sample(id="s", turns=turns, reference=record["reference"])
    found = decide(sample, Response(text=record["answer"]))
    return 1.0 if found.is_correct else 0.0 if found.is_wrong else 0.5


def _named(record: dict[str, Any]) -> float:
    return float(names_in(_told(record), [record["reference"]], question=record["question"])[0])


def _correct_by_words(record: dict[str, Any]) -> float:
    score = _answers.by_metric("answer_correctness")
    return score(record["question"], record["answer"], [record["reference"]])


def _told_turn(record: dict[str, Any]) -> float:
    return _turn(_told(record), record["reference"], record["question"])


def _blind_swear_words(file: str) -> list[Scored]:
    return [
        Scored(each["text"], each["profane"], float(bool(screen_profanity(each["text"]).words)))
        for each in _records(file)
    ]


SWEARING = ("profanity_h", "profanity_nh", "slur_h", "slur_reclaimed_nh")


def _swear_words(data: Path) -> list[Scored]:
    """Return the sentences of HateCheck that are of some functions, or are spelled in other ways than those.

    Those of a function have a swear word or a slur; in the others that are counted there is none.
    """
    with (data / "hatecheck" / "test_suite_cases.csv").open(encoding="utf-8", newline="") as file:
        cases = list(csv.DictReader(file))
    functions = {each["case_id"]: each["functionality"] for each in cases}
    return [
        Scored(
            each["templ_id"],
            functions.get(each["ref_case_id"], each["functionality"]) in SWEARING,
            float(bool(screen_profanity(each["test_case"]).words)),
        )
        for each in cases
    ]


_cascade_sources = cache(cascade.sources)


def _cascade(data: Path, name: str) -> list[Scored]:
    """Return what a cascade says of claims whose source its bands were not set on; a judge never errs."""
    found = _cascade_sources(data)
    band = cascade.band_without(found, name, 0.9, 0.0)
    return [
        Scored(f"{number}", truth, float(chance >= band.high if cascade.is_sure(band, chance) else truth))
        for number, answer in enumerate(found[name])
        for chance, truth in zip(answer.chances, answer.supported, strict=True)
    ]
