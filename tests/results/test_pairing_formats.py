"""All rows pair in every format that is read, whatever changes: answers, contexts, references, ids, spacing.

The formats are those of the table of signatures. Files are written by each format's own writer, so that one
that is added is tested here too, or fails until it has a writer below.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import otlp_spans
from rag_evaluation_framework import (
    Document,
    Entities,
    Evaluation,
    Milestones,
    Options,
    Refusal,
    Relation,
    Response,
    Sample,
    SpanCitation,
    Turn,
    compare,
    evaluate,
)
from rag_evaluation_framework.datasets.dialect import SIGNATURES
from rag_evaluation_framework.datasets.field_names import table
from rag_evaluation_framework.datasets.recognition import DIALECTS
from rag_evaluation_framework.records.samples import Dataset, Recorded

N = 6
CHANGES = ("answers", "contexts", "reference", "ids", "case and spaces")
COLUMNS = {"question": "Frage", "answer": "bot_answer", "contexts": "kb_hits", "reference": "gold"}


class Values(NamedTuple):
    """What a row holds, before a change or after it."""

    id: str
    question: str
    answer: str
    contexts: tuple[str, ...]
    reference: str


def values(number: int, change: str) -> Values:
    question, text = f"How many boxes are in hall {number}?", f"There are {number + 3} boxes."
    contexts = (f"Hall {number} holds {number + 3} boxes.",)
    return Values(
        f"new-{number}" if change == "ids" else f"row-{number}",
        f"  {question.upper().replace(' ', '  ')} " if change == "case and spaces" else question,
        f"I counted: {text}" if change == "answers" else text,
        ("Another passage.", *contexts) if change == "contexts" else contexts,
        f"{number + 3} boxes" + (" exactly" if change == "reference" else ""),
    )


def sample_of(number: int, row: Values, holds: frozenset[str]) -> Sample:
    """Return a row as a sample of all that a format holds; without references, of what is relevant."""
    user, name = Turn(role="user", content=row.question), f"hall {number}"
    told: dict[str, Any] = {"turns": (user,)}
    if "question" not in holds:
        told["turns"] = (user, Turn(role="assistant", reference=row.reference), user)
    if "reference" in holds:
        told["reference"] = row.reference
    kinds = {
        "entities": Entities(names=(row.reference,)),
        "relation": Relation(subject=name, relation="holds", object=row.reference),
        "milestones": Milestones(steps=(row.reference,)),
    }
    for kind, expectation in kinds.items():
        if f"expectation.{kind}" in holds:
            told["expectation"] = expectation
    if not holds & {"reference", "turns"} and "expectation.reason" in holds:
        told["expectation"] = Refusal(reason=row.reference)
    if "relevant_documents" in holds:
        told["relevant_documents"] = {name if "reference" in holds else row.reference: 1}
    elif "relevant_chunk_ids" in holds:
        told["relevant_chunk_ids"] = (row.reference,)
    if holds >= {"dataset.documents", "references"}:
        told["relevant_spans"] = (SpanCitation(name, 0, len(row.reference), text=row.reference),)
    if "recorded.contexts" in holds:
        answer = row.answer if "recorded.answer" in holds else None
        prompt = "\n".join([*row.contexts, row.question]) if "recorded.prompt" in holds else None
        told["recorded"] = Recorded(answer=answer, contexts=row.contexts, prompt=prompt)
    return Sample(id=row.id, **told)


Writer = Callable[[Path, list[Values]], object]


def write_plain_rows(path: Path, rows: list[Values]) -> None:
    """Write rows under names of no format, without ids."""
    records = [{called: getattr(row, part) for part, called in COLUMNS.items()} for row in rows]
    if path.suffix == ".csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            table = csv.DictWriter(file, list(records[0]))
            table.writeheader()
            table.writerows({**each, "kb_hits": json.dumps(each["kb_hits"])} for each in records)
    elif path.suffix == ".parquet":
        pyarrow = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet").write_table(pyarrow.Table.from_pylist(records), path)
    elif path.suffix == ".json":
        path.write_text(json.dumps(records), encoding="utf-8")
    else:
        path.write_text("".join(json.dumps(each) + "\n" for each in records), encoding="utf-8")


def write_traces(path: Path, rows: list[Values]) -> None:
    requests = []
    for number, row in enumerate(rows, 1 + 100 * rows[0].id.startswith("new")):
        texts = {f"d{place}": text for place, text in enumerate(row.contexts)}
        root = otlp_spans.root(number, row.question, row.answer)
        requests.append(otlp_spans.request(root, otlp_spans.retrieval(number, 2, row.question, texts)))
    otlp_spans.write(path, *requests)


WRITERS: Mapping[str, tuple[tuple[str, ...], Writer]] = {
    "rows": ((".jsonl", ".json", ".csv", ".parquet"), write_plain_rows),
    "traces": (("traces.jsonl",), write_traces),
}
NOTHING_ASKED = {"trec"}
"""Judgments of documents for the ids of queries: there is no question to pair by."""
WITHOUT_REFERENCES = {"traces"}
FORMATS = [
    (name, ending)
    for name, signature in SIGNATURES.items()
    if name not in NOTHING_ASKED
    for ending in (WRITERS[name][0] if name in WRITERS else ("",) if name == "beir" else signature.suffixes)
]


def write_rows(folder: Path, name: str, ending: str, change: str) -> Path:
    folder.mkdir()
    path, rows = folder / (ending if ending[:1] != "." else f"rows{ending}"), []
    rows = [values(number, change) for number in range(N)]
    if name in WRITERS:
        WRITERS[name][1](path, rows)
        return path
    dialect = DIALECTS.get(name)
    samples = tuple(sample_of(number, row, dialect.holds) for number, row in enumerate(rows))
    documents = [Document(id=f"hall {number}", content=row.reference) for number, row in enumerate(rows)]
    held = tuple(documents) if samples[0].relevant_spans else ()
    dialect.write(
        Dataset(samples=samples, dialect="", documents=held, dataset_id="a", name="a", version="1.0.0"), path
    )
    return path


def evaluate_rows(path: Path, name: str, change: str) -> Evaluation:
    """Evaluate a file with the answers that it holds; where its format holds none, those of an agent."""
    wish: dict[str, Any] = {"metrics": ["string_match"], "options": Options(allow_missing=True)}
    if name in WRITERS or "recorded.answer" in DIALECTS.get(name).holds:
        return evaluate(path, **wish)

    def answer(question: str) -> Response:
        row = values(int(re.findall(r"\d+", question)[-1]), change)
        return Response(text=row.answer, contexts=row.contexts)

    return evaluate(path, target=answer, **wish)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(("name", "ending"), FORMATS)
def test_rows_of_every_format_all_pair(name: str, ending: str, change: str, tmp_path: Path) -> None:
    runs = [
        evaluate_rows(write_rows(tmp_path / str(number), name, ending, each), name, each)
        for number, each in enumerate(("", change))
    ]
    (found,) = compare(*runs).answers
    texts = [{row.response.text for row in run.rows} for run in runs]
    assert len(texts[0]) == N
    assert (texts[0] != texts[1]) == (change == "answers")
    pairs = found.paired + found.untold + len(found.unpaired)
    edited = N if change == "reference" and name not in WITHOUT_REFERENCES else 0
    assert (pairs, found.new, found.gone, len(found.edited)) == (N, (), (), edited)


NAMES = [(part, name) for part in COLUMNS for name in table().ranks[part] if table().part_of[name] == part]


@pytest.mark.parametrize(("part", "name"), NAMES)
def test_rows_pair_whatever_their_fields_are_called(part: str, name: str) -> None:
    def rows(*changes: str) -> list[dict[str, Any]]:
        columns = COLUMNS | {part: name}
        found = []
        for number in range(3):
            row = values(number, "")._asdict()
            for change in changes:
                changed, unchanged = values(number, change), values(number, "")
                pairs = zip(row, unchanged, changed, strict=True)
                row |= {field: new for field, old, new in pairs if old != new}
            found.append({called: row[part] for part, called in columns.items()})
        return found

    before, after = (
        evaluate(rows(*changes), metrics=["string_match"])
        for changes in ((), ("answers", "contexts", "case and spaces"))
    )
    (found,) = compare(before, after).answers
    pairs = found.paired + found.untold + len(found.unpaired)
    assert (pairs, found.new, found.gone, found.edited) == (3, (), (), ())
