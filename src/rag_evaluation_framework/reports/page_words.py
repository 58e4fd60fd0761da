"""What pages say of answers and of combinations of a sweep, in the words of the screens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from rag_evaluation_framework.errors import UsageError, counted
from rag_evaluation_framework.extensions import Specification, parse_specification
from rag_evaluation_framework.records.responses import Hit
from rag_evaluation_framework.records.scores import BlameKind
from rag_evaluation_framework.reports.compared_answers import metric_word
from rag_evaluation_framework.reports.screen import difference, figure, one_line
from rag_evaluation_framework.results.comparison import MetricComparison
from rag_evaluation_framework.results.evaluations import Evaluation, Row
from rag_evaluation_framework.results.summaries import Figure

KINDS: Mapping[BlameKind, str] = {
    "ok": "right",
    "retrieval_missed": "not retrieved",
    "not_used": "retrieved but not used",
    "contradicted": "contradicts what was retrieved",
    "invented": "invented",
    "wrong_citation": "right, cites the wrong passage",
    "refused_wrongly": "declined though it could answer",
    "answered_wrongly": "should have declined",
    "unknown": "cause unknown",
}
"""What became of an answer, in words."""


def document_of(hit: Hit) -> str:
    """Return the document of a hit: that of its characters, else its own id."""
    return one_line(hit.id if hit.span is None else hit.span.doc_id)


def needed_names(row: Row) -> list[str]:
    """Return the documents that the answer needs, each once."""
    if row.sample is None:
        return []
    names = (*row.sample.relevant_documents, *(span.file for span in row.sample.relevant_spans))
    return list(dict.fromkeys(map(one_line, names)))


def why(row: Row) -> str | None:
    """Say why an answer is wrong, or does not pass; ``None`` if neither is known."""
    if row.response.failure is not None:
        return f"failed: {row.error}"
    blame = row.blame
    if blame is not None and blame.is_fault:
        return f"{KINDS[blame.kind]}: {blame.why}"
    if row.error is not None:
        return f"not scored: {row.error}"
    if row.misses:
        right = "right, but " if blame is not None and blame.kind == "ok" else ""
        return right + "; ".join(row.misses)
    return None


# A sweep: which combination to take, and why.

_NEAR = 0.01
_READ_ROWS = 200
_PARTS = ("chunker", "retriever", "reranker")
_NEEDED = {"span_recall": "the needed text", "chunk_recall": "the needed passages"}


@dataclass(frozen=True, slots=True)
class SweepAdvice:
    """What to take of a sweep, the largest k first; short names of combinations, and what each reads."""

    sentences: tuple[str, ...]
    taken: tuple[str, ...]
    names: Mapping[str, tuple[str, ...]]
    read: Mapping[str, float | None]


def sweep_advice(sweep: Evaluation) -> SweepAdvice:
    """Return which combination of each k to take: of those about as good as the best, what reads least."""
    cells = sweep.parts
    ks = sorted(dict.fromkeys(cell.head.configuration["k"] for cell in cells.values()), reverse=True)
    names, read = _names(list(cells.values())), {name: _read(cell) for name, cell in cells.items()}
    taken: list[str] = []
    sentences: list[str] = []
    for k in ks:
        group = {name: cell for name, cell in cells.items() if cell.head.configuration["k"] == k}
        take = _taken(sweep, group, read)
        taken.append(take)
        sentences += _sentences(sweep, group, take, names=names, read=read, several=len(ks) > 1)
    return SweepAdvice(tuple(sentences), tuple(taken), names, read)


def _figure(sweep: Evaluation, cell: Evaluation) -> Figure | None:
    return cell.metrics.get(sweep.head.configuration["rank_by"])


def _tests(sweep: Evaluation) -> dict[str, MetricComparison]:
    return {} if sweep.comparison is None else {each.contender: each for each in sweep.comparison.metrics}


def _taken(sweep: Evaluation, group: Mapping[str, Evaluation], read: Mapping[str, float | None]) -> str:
    tests, best = _tests(sweep), next(iter(group))
    top, take = _figure(sweep, group[best]), best
    for name, cell in group.items():
        found, test = _figure(sweep, cell), tests.get(name)
        values = (None if each is None else each.value for each in (top, found))
        highest, value = values
        if name == best or test is None or highest is None or value is None:
            continue
        is_near = metric_word(test) in ("undecided", "same") and highest - value <= _NEAR + 1e-12
        least, amount = read[take], read[name]
        if is_near and least is not None and amount is not None and amount < least:
            take = name
    return take


def _sentences(
    sweep: Evaluation,
    group: Mapping[str, Evaluation],
    take: str,
    *,
    names: Mapping[str, tuple[str, ...]],
    read: Mapping[str, float | None],
    several: bool,
) -> Iterator[str]:
    best, rank_by = next(iter(group)), sweep.head.configuration["rank_by"]
    k = counted(group[take].head.configuration["k"], "result")
    if len(group) == 1:
        yield "Only one combination: nothing to compare."
        return
    yield f"{f'With {k} a question, take' if several else 'Take'} {' + '.join(filter(None, names[take]))}."
    found, top = _figure(sweep, group[take]), _figure(sweep, group[best])
    if found is None or found.value is None or top is None or top.value is None:
        return
    of = f"of {_NEEDED[rank_by]}" if rank_by in _NEEDED else f"by {rank_by}"
    if take == best:
        undecided = sum(
            metric_word(each) == "undecided" for name, each in _tests(sweep).items() if name in group
        )
        rest = f"; {counted(undecided, 'other')} may be as good" if undecided else ""
        yield f"It finds the most ({figure(top.value, top.interval)} {of}){rest}."
        return
    test, ends = _tests(sweep).get(take), ""
    if test is not None and test.interval is not None:
        low, high = difference(test.interval.low), difference(test.interval.high)
        ends = f"; the true difference lies between {low} and {high}"
    against = f"{figure(found.value)} {of} against {figure(top.value)}{ends}"
    amounts = [f"{round(amount, -2):,.0f}" for amount in (read[take], read[best]) if amount is not None]
    less = f"less: {' characters a question against '.join(amounts)}" if len(amounts) == 2 else "less"
    yield f"It finds about as much as the best ({against}) and reads {less}."


def _names(cells: Sequence[Evaluation]) -> dict[str, tuple[str, ...]]:
    """Return what differs between combinations: the short name of each part that does."""
    values = {part: [cell.head.configuration.get(part) or "" for cell in cells] for part in _PARTS}
    varying = [part for part in _PARTS if len(set(values[part])) > 1] or ["chunker"]
    return {
        str(cell.head.target): tuple(short_name(values[part][place], values[part]) for part in varying)
        for place, cell in enumerate(cells)
    }


def short_name(specification: str, others: Sequence[str]) -> str:
    """Return the name of a component with those of its settings that differ: ``recursive 1000/200``."""
    read = _specification(specification)
    if read is None:
        return specification or "none"
    settings = dict(read.arguments)
    found = map(_specification, set(others))
    alike = [each.arguments for each in found if each is not None and each.name == read.name]
    told = []
    if "chunk_size" in settings:
        overlap = settings.pop("overlap", 0)
        told.append(f"{settings.pop('chunk_size')}{f'/{overlap}' if overlap else ''}")
    for key, value in settings.items():
        values = [str(each.get(key, "")) for each in alike]
        if len(set(values)) > 1:
            is_number = isinstance(value, int | float)
            told.append(f"{key}={value}" if is_number else short_name(str(value), values))
    return " ".join([read.name, *told])


def _specification(text: str) -> Specification | None:
    try:
        return parse_specification(text)
    except UsageError:
        return None


def _read(cell: Evaluation) -> float | None:
    """Return how many characters came back for a question, on average of the first so many."""
    sizes = [
        sum(hit.span.end - hit.span.start for hit in row.response.hits if hit.span is not None)
        for row in islice(cell.rows, _READ_ROWS)
        if row.response.hits
    ]
    return sum(sizes) / len(sizes) if any(sizes) else None
