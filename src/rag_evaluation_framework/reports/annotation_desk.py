"""The desk of an annotator: the items of a queue, and the two records written of each.

An item is a question with its documents and, where there is one, an answer. What a person says of it becomes
a citation annotation (the characters that answer the question) and an answer quality annotation (scores,
sentences that nothing supports, whether each citation supports what it follows), both in the annotator's own
file, which is written after every action.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from math import fsum
from pathlib import Path
from typing import Any

import msgspec

from rag_evaluation_framework.datasets.annotations import (
    decoded_annotation,
    encoded_annotation,
    encoded_citations,
    own_annotations,
    save_annotations,
)
from rag_evaluation_framework.datasets.human_labels import HumanLabel, is_same_answer
from rag_evaluation_framework.datasets.recognition import (
    GroundTruthFiles,
    annotations_of_run,
    ground_truth_files,
)
from rag_evaluation_framework.errors import RagEvalError, UsageError, invalid
from rag_evaluation_framework.judging.verdict import KEYS, AnswerVerdict, Key, key_of_state, state_of_key
from rag_evaluation_framework.records.citations import SpanCitation, parse_citations, place_in
from rag_evaluation_framework.records.documents import CharacterSpan, Document, DocumentNames
from rag_evaluation_framework.records.responses import Response, answered_turns, is_conversation
from rag_evaluation_framework.records.samples import (
    QUALITY_SCORES,
    Annotation,
    AnswerQualityAnnotation,
    Dataset,
    Sample,
    asked_until,
)
from rag_evaluation_framework.reports.annotation_form import SUPPORTS, AnnotationForm, text_of
from rag_evaluation_framework.reports.page import FilledPage, filled_page
from rag_evaluation_framework.reports.run_page import verdict_fields
from rag_evaluation_framework.results.answer_labels import AnswerLabel, AnswerLabels, append_labels
from rag_evaluation_framework.results.calibration import Telling, in_telling_order, telling
from rag_evaluation_framework.results.evaluations import Evaluation
from rag_evaluation_framework.results.run_store import labels_beside, labels_file
from rag_evaluation_framework.structs import replace
from rag_evaluation_framework.text.sentences import sentence_spans

_TOOL = "rag-eval annotate"
_KEYS = {
    "j k s": "next, previous, skip",
    "c p w": "label the answer correct, partly correct or wrong; press again to undo",
    "1 … 5": "score the selected criterion and move to the next",
    "u": "mark the selected sentence as unsupported, or undo",
    ", .": "select a sentence",
    "y n": "the selected citation supports its sentence, or does not",
    "0": "no passage in the documents answers the question",
    "Enter": "finish this item; in the document: mark the selection as relevant",
    "d": "move to the document; there:",
    "← →": "move by character; with Ctrl by word, with Alt by sentence",
    "↑ ↓": "move by paragraph",
    "Shift": "hold while moving to select",
    "s": "select the sentence at the caret",
    "Delete": "remove the mark at the caret",
    "Esc": "clear the selection, then leave the document",
    "?": "list of keys",
}
_SHOWN_QUESTION = 240
_UNREAD = "the documents are missing. Set their folder with --corpus"
_OWN_FIELDS = (
    "justification",
    "unsupported_sentences",
    "citation_verdicts",
    "faithfulness",
    "citation_correctness",
)


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """One question to be annotated, with a ``key`` among those of a desk.

    ``find_files`` looks for what people have annotated of its dataset so far.
    """

    key: str
    sample: Sample
    find_files: Callable[[], GroundTruthFiles]
    dataset_id: str | None = None
    response: Response = msgspec.field(default_factory=Response)
    scores: tuple[tuple[str, float, str], ...] = ()
    tells: Telling = msgspec.field(default_factory=Telling)
    verdict: AnswerVerdict | None = None

    @property
    def answer(self) -> str | None:
        return self.response.text

    @property
    def labeled(self) -> tuple[tuple[str, ...], Sample, str]:
        """The questions, sample and answer that a label is about; of a conversation, the last turn."""
        turns = (answered_turns(self.sample, self.response) or ()) if is_conversation(self.sample) else ()
        if not turns:
            return asked_until(self.sample), self.sample, self.answer or ""
        turn = turns[-1]
        return asked_until(self.sample, turn.number), turn.as_sample(self.sample), turn.answer


def items_of_dataset(dataset: Dataset, path: Path) -> list[Item]:
    """Return the questions of a dataset, with the answers that it recorded."""
    find = partial(ground_truth_files, path)
    return [
        Item(
            key=sample.id,
            sample=sample,
            find_files=find,
            dataset_id=dataset.dataset_id,
            response=_recorded(sample),
        )
        for sample in dataset.samples
    ]


def items_of_evaluation(evaluation: Evaluation) -> list[Item]:
    """Return the answers of a run: first those of which a label tells most about its metrics."""
    items: list[Item] = []
    for part in evaluation.runs:
        folder = part.folder or Path("runs") / part.head.run_id
        recorded = part.head.configuration.get("dataset_path")
        find = partial(annotations_of_run, recorded, folder, part.head.dataset_id)
        better = {name: figure.higher_is_better for name, figure in part.metrics.items()}
        for row in part.rows:
            if row.sample is None or row.response.failure is not None:
                continue
            scores = tuple(
                (each.metric, each.value, each.method) for each in row.scores if each.value is not None
            )
            items.append(
                Item(
                    key=row.id if len(evaluation.runs) == 1 else f"{part.head.dataset_id}/{row.id}",
                    # Repeats of a sample have a number after the id that their file knows.
                    sample=replace(row.sample, id=row.id.partition("~")[0]) if "~" in row.id else row.sample,
                    find_files=find,
                    dataset_id=part.head.dataset_id,
                    response=row.response,
                    scores=scores,
                    tells=telling(row.values, better),
                    verdict=row.verdict,
                )
            )
    return in_telling_order(items, lambda item: (item.tells, item.key))


def _recorded(sample: Sample) -> Response:
    recorded = sample.recorded
    if recorded is None:
        return Response()
    origin = "dataset" if recorded.contexts else None
    return Response(text=recorded.answer, contexts=recorded.contexts, context_origin=origin)  # type: ignore[arg-type]


class AnnotationDesk:
    """Shows items to one annotator, and writes down what is said of them.

    With ``is_blind`` neither other people's annotations nor the metrics' results of an item are shown before
    it is finished.
    """

    def __init__(
        self,
        items: Sequence[Item],
        documents: Sequence[Document],
        *,
        annotator: str,
        is_blind: bool = False,
        title: str = "",
        order: str = "",
        runs_directory: Path | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        if not items:
            raise UsageError("the dataset contains no questions to annotate")
        if not documents and all(item.answer is None for item in items):
            raise UsageError(f"nothing to annotate: there are no answers, and {_UNREAD}")
        self._items = {item.key: item for item in items}
        self._documents, self._names = documents, DocumentNames.of_records(documents)
        self.annotator, self.is_blind, self._clock = annotator, is_blind, clock
        self.title, self._order = title, order
        self._runs_directory = runs_directory
        self._called = self._names_in_use(items)
        self._paths: dict[Callable[[], GroundTruthFiles], Path] = {}
        self._own: dict[Path, tuple[Annotation, ...]] = {}
        for item in items:
            self._read_own(item)
        said = {key: self._read_annotations(item, self._read_own(item)) for key, item in self._items.items()}
        self._finished = {key for key, each in said.items() if each["finished"]}

    @property
    def files(self) -> list[Path]:
        """The files that the annotations and labels are written to."""
        labels = labels_file(self._runs_directory)
        return [*self._own, *([labels] if labels.is_file() else [])]

    def head(self) -> dict[str, Any]:
        """Return what the page begins with: the queue, the names of the documents, the state of things."""
        return {
            "annotator": self.annotator,
            "blind": self.is_blind,
            "order": self._order,
            "criteria": list(QUALITY_SCORES),
            "documents": [
                {"name": name, "characters": len(each.content)}
                for name, each in zip(self._called, self._documents, strict=True)
            ],
            "items": [
                {
                    "key": key,
                    "question": item.sample.question[:_SHOWN_QUESTION],
                    "why": "" if self.is_blind else item.tells.why,
                    "finished": key in self._finished or self._label(item) is not None,
                }
                for key, item in self._items.items()
            ],
            "no_documents": None if self._documents else _UNREAD,
        }

    def page(self) -> FilledPage:
        """Return the page."""
        return filled_page(
            "annotate.html",
            self.head(),
            styles=("look.css", "annotate.css"),
            scripts=("base.js", "annotate.js"),
            keys=_KEYS,
            asks_server=True,
            title=f"Annotate {self.title}",
            subject=f"{self.title}, annotated by {self.annotator}",
        )

    def document(self, index: int) -> dict[str, Any]:
        """Return the text of a document, and where its sentences are."""
        if not 0 <= index < len(self._documents):
            raise invalid("document", "the number of a document", index)
        text = self._documents[index].content
        return {"text": text, "sentences": sentence_spans(text)}

    def item(self, key: str) -> dict[str, Any]:
        """Return an item as the page shows it, with what the annotator has said of it so far."""
        item = self._found(key)
        answer = item.answer
        shown: dict[str, Any] = {
            "key": key,
            "id": item.sample.id,
            "about": [each for each in (item.sample.query_type, item.sample.difficulty) if each],
            "question": item.sample.question,
            "reference": item.sample.reference,
            "answer": answer,
            "sentences": _sentences(answer),
            "citations": [] if answer is None else self._citations(item),
            "contexts": self._contexts(item),
            "documents": self._likely(item),
            "file": str(self._path(item)),
            "mine": {**self._read_annotations(item, self._read_own(item)), "label": self._label(item)},
        }
        if not self.is_blind or key in self._finished:
            verdict = None if item.verdict is None else verdict_fields(item.verdict)
            shown |= {"why": item.tells.why, "scores": item.scores, "verdict": verdict, **self._others(item)}
        return shown

    def save(self, change: Mapping[str, Any]) -> dict[str, Any]:
        """Write down all that is said of an item; returns it as :meth:`item` does, and what was written."""
        item = self._found(text_of(change, "key"))
        n_citations = len(self._citations(item))
        said = AnnotationForm.read(change, self._documents, answer=item.answer or "", n_citations=n_citations)
        self._save_label(item, change.get("label"))
        path = self._path(item)
        self._own.pop(path, None)
        about = [each for each in self._read_own(item) if each.query_id == item.sample.id]
        marks, judgement = self._marks(item, said, about), self._judgement(item, said, about)
        written = [record for record in (marks, judgement) if record is not None]
        replaced = {id(_judging(item, about)), id(_marking(item, about))}
        others = [_without_marks(each) for each in about if id(each) not in replaced or _is_other(item, each)]
        save_annotations(
            path, item.sample.id, [*map(decoded_annotation, written), *others], dataset_id=item.dataset_id
        )
        self._own.pop(path, None)
        if said.is_finished and written:
            self._finished.add(item.key)
        else:
            self._finished.discard(item.key)
        return {"item": self.item(item.key), "written": written}

    def _label(self, item: Item) -> Key | None:
        """Return the key by which the annotator labeled an answer."""
        asked, sample, answer = item.labeled
        labels = labels_beside(self._runs_directory) or AnswerLabels()
        given = labels.find_deciding(asked, sample, answer).get(self.annotator)
        return None if given is None or given.state is None else key_of_state(given.state)

    def _save_label(self, item: Item, key: Any) -> None:
        """Write down that an answer is labeled, or is no longer, where that has changed."""
        if key not in (None, *KEYS):
            raise invalid("label", " or ".join(KEYS), key)
        if item.answer is None or key == self._label(item):
            return
        asked, sample, answer = item.labeled
        state = None if key is None else state_of_key(key, sample, answer)
        label = AnswerLabel.of(asked, sample, answer, state, self.annotator)
        append_labels(labels_file(self._runs_directory), [label])

    # What people say of an item, as records and back.

    def _marks(self, item: Item, said: AnnotationForm, own: Sequence[Annotation]) -> dict[str, Any] | None:
        """Return the record of the characters that answer the question."""
        if said.spans is None:
            return None
        before = _marking(item, own)
        elsewhere = [each for each in (before.citations or () if before else ()) if self._place(each) is None]
        is_own = before is not None and not isinstance(before, AnswerQualityAnnotation)
        identifier = f"citation_{item.sample.id}_{self.annotator}"
        record = self._new_record(item, before if is_own else None, identifier, said, part="passage")
        note = {"justification": said.note} if said.note else {}
        record["citations"] = [
            {
                "citation_id": f"cit_{number:03}",
                "file_name": self._called[document],
                "start_char": start,
                "end_char": end,
                "text": self._documents[document].content[start:end],
                "relevance_score": 1.0,
                **note,
            }
            for number, (document, start, end) in enumerate(said.spans, start=1)
        ]
        record["citations"] += encoded_citations(elsewhere)
        if said.spans:
            record["quality_checks"] = {"span_accuracy": "verified", "text_extraction": "successful"}
        else:
            record.pop("quality_checks", None)
        return record

    def _judgement(
        self, item: Item, said: AnnotationForm, own: Sequence[Annotation]
    ) -> dict[str, Any] | None:
        """Return the record of what is said of the answer."""
        if item.answer is None or not (said.says_something or said.is_finished):
            return None
        digits = hashlib.blake2b(item.answer.encode(), digest_size=4).hexdigest()
        identifier = f"answer_{item.sample.id}_{self.annotator}_{digits}"
        record = self._new_record(item, _judging(item, own), identifier, said, part="answer")
        record.pop("citations", None)
        return record | self._judgement_fields(item, said)

    def _judgement_fields(self, item: Item, said: AnnotationForm) -> dict[str, Any]:
        answer, sentences = item.answer or "", _sentences(item.answer)
        scores = said.scores
        is_whole = all(name in scores for name in QUALITY_SCORES)
        found: dict[str, Any] = {"answer_text": answer, "quality_scores": scores}
        if is_whole:
            found["overall_score"] = fsum(scores[name] for name in QUALITY_SCORES) / len(QUALITY_SCORES)
        if said.note:
            found["justification"] = said.note
        found["unsupported_sentences"] = [
            {"start_char": start, "end_char": end, "text": answer[start:end]}
            for start, end in said.unsupported
        ]
        cited = self._citations(item)
        found["citation_verdicts"] = [
            {**_citation_fields(cited[number]), "supports": verdict}
            for number, verdict in sorted(said.verdicts.items())
        ]
        # A person's own figure for the metric of the same name: what was not pressed is supported.
        if said.is_finished and sentences and (item.response.contexts or self._documents):
            found["faithfulness"] = 1.0 - len(said.unsupported) / len(sentences)
        if cited and len(said.verdicts) == len(cited):
            found["citation_correctness"] = fsum(map(SUPPORTS.__getitem__, said.verdicts.values())) / len(
                cited
            )
        return found

    def _new_record(
        self, item: Item, before: Annotation | None, identifier: str, said: AnnotationForm, *, part: str
    ) -> dict[str, Any]:
        record = {} if before is None else encoded_annotation(before)
        metadata = dict(record.get("metadata") or {})
        spent = _seconds(metadata) + (said.seconds if said.part == part else 0.0)
        metadata["annotation_time_seconds"] = round(spent, 1)
        metadata |= {"tools_used": [_TOOL], "finished": said.is_finished}
        for name in (*_OWN_FIELDS, "overall_score"):
            record.pop(name, None)
        return record | {
            "annotation_id": record.get("annotation_id", identifier),
            "query_id": item.sample.id,
            "annotator_id": self.annotator,
            "timestamp": self._clock().isoformat(timespec="seconds").replace("+00:00", "Z"),
            "metadata": metadata,
        }

    def _read_annotations(self, item: Item, annotations: Sequence[Annotation]) -> dict[str, Any]:
        """Return what one annotator says of an item, as the page holds it."""
        marks, judgement = _marking(item, annotations), _judging(item, annotations)
        record = {} if judgement is None else encoded_annotation(judgement)
        cited = [] if item.answer is None else [_citation_fields(each) for each in self._citations(item)]
        verdicts = {
            cited.index(told): verdict["supports"]
            for verdict in _objects(record.get("citation_verdicts"))
            if (told := {name: value for name, value in verdict.items() if name != "supports"}) in cited
            and verdict.get("supports") in SUPPORTS
        }
        metadata = [
            (encoded_annotation(each).get("metadata") or {})
            for each in (marks, judgement)
            if each is not None
        ]
        marked = () if marks is None else marks.citations or ()
        notes = [record.get("justification"), *(each.extra.get("justification") for each in marked)]
        return {
            "spans": None if marks is None else self._placed(marked),
            "scores": {} if judgement is None else dict(judgement.quality_scores),
            "unsupported": [
                [each.get("start_char"), each.get("end_char")]
                for each in _objects(record.get("unsupported_sentences"))
            ],
            "verdicts": verdicts,
            "note": next((note for note in notes if isinstance(note, str)), ""),
            "seconds": fsum(_seconds(each) for each in metadata),
            "finished": bool(metadata) and all(each.get("finished") is True for each in metadata),
        }

    # The rest of what an item shows.

    def _found(self, key: str) -> Item:
        if key not in self._items:
            raise invalid("key", "the key of an item", key)
        return self._items[key]

    def _path(self, item: Item) -> Path:
        if item.find_files not in self._paths:
            self._paths[item.find_files] = item.find_files().of(self.annotator)
        return self._paths[item.find_files]

    def _read_own(self, item: Item) -> tuple[Annotation, ...]:
        path = self._path(item)
        if path not in self._own:
            self._own[path] = own_annotations(path).annotations
        return self._own[path]

    def _names_in_use(self, items: Iterable[Item]) -> list[str]:
        """Return what each document is called: as citations do, else by its file's name or id."""
        called: dict[int, str] = {}
        for span in (span for item in items for span in item.sample.relevant_spans):
            if (place := self._names.position(span.file)) is not None:
                called.setdefault(place, span.file)
        for place, document in enumerate(self._documents):
            name = document.metadata.get("file_name")
            is_clear = isinstance(name, str) and self._names.position(name) == place
            called.setdefault(place, str(name) if is_clear else document.id)
        return [called[place] for place in range(len(self._documents))]

    def _place(self, citation: SpanCitation) -> tuple[int, int, int] | None:
        position = self._names.position(citation.file)
        if position is None:
            return None
        span = place_in(self._documents[position], citation)
        return (position, span.start, span.end) if isinstance(span, CharacterSpan) else None

    def _placed(self, citations: Iterable[SpanCitation]) -> list[tuple[int, int, int]]:
        return sorted(place for each in citations if (place := self._place(each)) is not None)

    def _citations(self, item: Item) -> list[dict[str, Any]]:
        """Return the brackets of an answer that cite, and the citations that came beside it."""
        answer = item.answer or ""
        found: dict[tuple[int, int], dict[str, Any]] = {}
        for each in parse_citations(answer).citations:
            place = self._place(each.citation) if isinstance(each.citation, SpanCitation) else None
            label = answer[each.start : each.end]
            told = {"label": label, "start": each.start, "end": each.end, "place": place}
            found.setdefault((each.start, each.end), told)
        beside = []
        if not found:
            for cited in item.response.citations:
                if isinstance(cited, SpanCitation):
                    label = f"{cited.file} {cited.start}–{cited.end}"
                    beside.append({"label": label, "start": None, "end": None, "place": self._place(cited)})
        return [*found.values(), *beside]

    def _contexts(self, item: Item) -> list[dict[str, Any]]:
        """Return what the system read, in rank order, with its place in a document where that is known."""
        contexts, hits = item.response.contexts, item.response.hits
        found = []
        for number in range(max(len(contexts), len(hits))):
            hit = hits[number] if number < len(hits) else None
            text = contexts[number] if number < len(contexts) else hit.text if hit is not None else None
            place = None
            if hit is not None and hit.span is not None:
                position = self._names.position(hit.span.doc_id)
                place = None if position is None else (position, hit.span.start, hit.span.end)
                if text is None and place is not None:
                    text = self._documents[place[0]].content[place[1] : place[2]]
            name = None if hit is None else hit.id if hit.span is None else hit.span.doc_id
            if text is not None:
                found.append({"text": text, "name": name, "place": place or self._searched(text, name)})
        return found

    def _searched(self, text: str, name: str | None) -> tuple[int, int, int] | None:
        """Find a context to the letter in the document it is named after, or in the only one with it."""
        position = None if name is None else self._names.position(name)
        places = range(len(self._documents)) if position is None else [position]
        found = [
            (place, start, start + len(text))
            for place in places
            if text and (start := self._documents[place].content.find(text)) >= 0
        ]
        return found[0] if len(found) == 1 else None

    def _likely(self, item: Item) -> list[int]:
        """Return the documents that the question is most likely about: needed, cited, retrieved."""
        names = [span.file for span in item.sample.relevant_spans]
        names += [name for name, grade in item.sample.relevant_documents.items() if grade > 0]
        named = [place for name in names if (place := self._names.position(name)) is not None]
        read = [each["place"][0] for each in self._contexts(item) if each["place"] is not None]
        return list(dict.fromkeys([*named, *read]))

    def _others(self, item: Item) -> dict[str, Any]:
        """Return what the other annotators say, and whose file cannot be read."""
        files = item.find_files()
        said: dict[str, Any] = {}
        unreadable: list[str] = []
        for name, path in files.annotators.items():
            if path == self._path(item):
                continue
            try:
                annotations = own_annotations(path).annotations
            except RagEvalError:
                unreadable.append(name)
                continue
            if _marking(item, annotations) is not None or _judging(item, annotations) is not None:
                said[name] = self._read_annotations(item, annotations)
        return {"others": said, "unreadable": unreadable}


# Which of a file's annotations are about an item.


def _marking(item: Item, annotations: Iterable[Annotation]) -> Annotation | None:
    return next(
        (each for each in annotations if each.query_id == item.sample.id and each.citations is not None), None
    )


def _judging(item: Item, annotations: Iterable[Annotation]) -> AnswerQualityAnnotation | None:
    for each in annotations if item.answer is not None else ():
        is_about = each.query_id == item.sample.id
        if is_about and isinstance(each, AnswerQualityAnnotation):
            label = HumanLabel(each.query_id, "", each.answer_text)
            if is_same_answer(label, item.answer):
                return each
    return None


def _is_other(item: Item, annotation: Annotation) -> bool:
    """Return True if a record judges another answer to the question, regardless of its marks."""
    return isinstance(annotation, AnswerQualityAnnotation) and annotation is not _judging(item, [annotation])


def _without_marks(annotation: Annotation) -> Annotation:
    """Return a record of another answer without the marks it may hold too: a query has them once."""
    return replace(annotation, citations=None) if annotation.citations is not None else annotation


def _sentences(answer: str | None) -> list[tuple[int, int]]:
    """Return the sentences of an answer that say something; a mark alone, after a citation, says nothing."""
    spans = [] if answer is None else sentence_spans(answer)
    return [(start, end) for start, end in spans if any(map(str.isalnum, (answer or "")[start:end]))]


def _objects(value: Any) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def _citation_fields(citation: Mapping[str, Any]) -> dict[str, Any]:
    """Return a citation of an answer as a record names it."""
    told = {"citation": citation["label"], "start_char": citation["start"], "end_char": citation["end"]}
    return {name: value for name, value in told.items() if value is not None}


def _seconds(metadata: Any) -> float:
    spent = metadata.get("annotation_time_seconds") if isinstance(metadata, Mapping) else None
    return float(spent) if isinstance(spent, int | float) else 0.0
