"""Checks that each golden context stands where its record says, and locates it as a span of characters.

A context's file is looked up under the root that is given. Without one it is looked up from the folder of the
golden set upwards to the project (two folders up: ``evaluation/datasets/`` lies in ``evaluation/`` in the
project), then in the folder ``golden_contexts`` beside the set or beside its folder. A name that leads out of
the folder is refused. Which lines are scene headers, and what counts as the same snippet, is told in
:mod:`.scenes` and :mod:`.snippets`. Nothing is guessed: a context that names no file, or a snippet that
stands in several places, is said to be undecided and gives no span.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path, PurePosixPath

from rag_evaluation_framework.datasets.checks.locating import lines_of
from rag_evaluation_framework.datasets.checks.scenes import SourceText
from rag_evaluation_framework.datasets.checks.snippets import Stretch
from rag_evaluation_framework.datasets.dialects.golden_sets import (
    GOLDEN_DIALECTS,
    GoldenContext,
    golden_contexts,
)
from rag_evaluation_framework.datasets.dialects.recognition import recognise
from rag_evaluation_framework.datasets.dialects.record_files import layout_of
from rag_evaluation_framework.errors import InputError, Issue, Severity, UsageError, shown
from rag_evaluation_framework.files.text import read_text
from rag_evaluation_framework.records.citations import SpanCitation
from rag_evaluation_framework.records.datasets import Dataset
from rag_evaluation_framework.records.samples import Sample

CONTEXTS_FOLDER = "golden_contexts"

_FOLDERS_UPWARDS = 3
_LISTED_LINES = 5


def golden_context_issues(golden_set: Dataset | str | Path, root: str | Path | None = None) -> list[Issue]:
    """Return what is wrong with the golden contexts of a set, given as read or as its file.

    Errors: a file that is not there, a header that is not in it, a snippet that does not stand under it.
    Warnings: a snippet still to be filled in (and its file if that is not there), one that stands in several
    places, a context without a file.
    """
    dataset = golden_set if isinstance(golden_set, Dataset) else _read(Path(golden_set))
    sources = _sources(dataset.samples, root)
    found = [
        (index, sample, issue)
        for index, sample in enumerate(dataset.samples)
        for context in golden_contexts(sample)
        for issue in _Search(context, sources).issues()
    ]
    return list(_placed(found))


def located_contexts(sample: Sample, root: str | Path | None = None) -> list[SpanCitation]:
    """Return the golden contexts of a sample as spans of their files; what is not certain is left out."""
    return next(iter(spans_of_contexts([sample], root).values()))


def spans_of_contexts(
    samples: Sequence[Sample], root: str | Path | None = None
) -> dict[str, list[SpanCitation]]:
    """Return the golden contexts of many samples as spans, by sample id; each file is read once."""
    sources = _sources(samples, root)
    return {
        sample.id: [span for context in golden_contexts(sample) for span in _Search(context, sources).spans()]
        for sample in samples
    }


def unlocated_contexts(
    samples: Sequence[Sample], root: str | Path | None = None
) -> list[tuple[Sample, Issue]]:
    """Return every snippet that gives no span, with its sample and the reason; files are read once."""
    sources = _sources(samples, root)
    return [
        (sample, next(search.issues()))
        for sample in samples
        for search in (_Search(context, sources) for context in golden_contexts(sample))
        if search.context.snippet is not None and not any(True for _ in search.spans())
    ]


def source_texts(samples: Sequence[Sample], root: str | Path | None = None) -> dict[str, SourceText]:
    """Return the files that the golden contexts name, by that name; one that cannot be had is left out."""
    sources = _sources(samples, root)
    names = (context.file for sample in samples for context in golden_contexts(sample))
    found = {name: sources.source(name) for name in names if name is not None}
    return {name: source for name, source in found.items() if isinstance(source, SourceText)}


class _Sources:
    """The files that golden contexts name, each read once."""

    def __init__(self, folders: Sequence[Path], headers: dict[str, list[str]]) -> None:
        self.folders = folders
        self._headers = headers
        self.source = cache(self._source)

    def _source(self, file: str) -> SourceText | Issue:
        """Return the text of a file, or why it cannot be had."""
        name = PurePosixPath(file.replace("\\", "/"))
        if name.is_absolute() or ".." in name.parts or ":" in name.parts[0]:
            return Issue("context-outside", "a path inside the project", shown(file))
        for folder in self.folders:
            path = folder / name
            if path.is_file():
                if not path.resolve().is_relative_to(folder.resolve()):
                    return Issue(
                        "context-outside", "a path inside the project", f"a link to {path.resolve()}"
                    )
                return self._read(path, file)
        looked = ", ".join(str(folder) for folder in self.folders)
        return Issue("context-file-missing", f"a file in {looked}", f"none called {shown(file)}")

    def _read(self, path: Path, file: str) -> SourceText | Issue:
        try:
            return SourceText(read_text(path), headers=self._headers.get(file, ()))
        except InputError as error:
            return Issue("context-unreadable", "a text file", str(error))


@dataclass(frozen=True, slots=True)
class _Search:
    """The search for one golden context in its file."""

    context: GoldenContext
    sources: _Sources

    def issues(self) -> Iterator[Issue]:
        context = self.context
        if context.snippet is None:
            yield self._issue("snippet-missing", "the words of the source", "none yet", "snippet", "warning")
        if context.file is None:
            if context.snippet is not None:
                found = "only a scene: cannot tell where it stands"
                yield self._issue("context-without-file", "a file", found, "file", "warning")
            return
        source = self.sources.source(context.file)
        if isinstance(source, Issue):
            if source.code == "context-file-missing" and context.snippet is None:
                source = replace(source, severity="warning")  # there is nothing yet to look for in it
            yield source.located(within=f"{context.path}.file")
            return
        scenes = self._scenes(source)
        if not scenes:
            expected = f"a line in {context.file} that is the header {shown(context.header)}"
            yield self._issue("scene-header-missing", expected, "none", context.header_field)
        elif context.snippet is not None:
            yield from self._snippet_issues(source, scenes)

    def spans(self) -> Iterator[SpanCitation]:
        context = self.context
        if context.file is None or context.snippet is None:
            return
        source = self.sources.source(context.file)
        if not isinstance(source, Issue):
            places = self._places(source, self._scenes(source))
            if len(places) == 1:
                start, end = places[0].start, places[0].end
                yield SpanCitation(context.file, start, end, text=source.text[start:end])

    def _scenes(self, source: SourceText) -> list[Stretch]:
        """Return the stretches to search: those under the header, or all of the file when none is named."""
        if self.context.header is None:
            return [Stretch(0, len(source.text))]
        return source.scenes(self.context.header)

    def _places(self, source: SourceText, scenes: Sequence[Stretch]) -> list[Stretch]:
        """Return each place once, though scenes may lie inside one another."""
        snippet = self.context.snippet or ""
        return list(dict.fromkeys(place for scene in scenes for place in source.places_of(snippet, scene)))

    def _snippet_issues(self, source: SourceText, scenes: Sequence[Stretch]) -> Iterator[Issue]:
        context = self.context
        where = f"in {context.file}" + (f" under {shown(context.header)}" if context.header else "")
        places = self._places(source, scenes)
        if not places:
            elsewhere = self._places(source, [Stretch(0, len(source.text))])
            found = f"it in line {_lines(source, elsewhere)}" if elsewhere else "nothing like it"
            yield self._issue("snippet-not-found", f"{shown(context.snippet)} {where}", found, "snippet")
        elif len(places) > 1:
            expected = f"a snippet that stands once {where}"
            found = f"one in lines {_lines(source, places)}"
            yield self._issue("snippet-ambiguous", expected, found, "snippet", "warning")

    def _issue(self, code: str, expected: str, found: str, field: str, severity: Severity = "error") -> Issue:
        return Issue(code, expected, found, f"{self.context.path}.{field}", severity)


def _sources(samples: Sequence[Sample], root: str | Path | None) -> _Sources:
    headers: dict[str, list[str]] = {}
    for sample in samples:
        for context in golden_contexts(sample):
            if context.file is not None and context.header is not None:
                headers.setdefault(context.file, []).append(context.header)
    return _Sources(_folders(samples, root), headers)


def _folders(samples: Sequence[Sample], root: str | Path | None) -> list[Path]:
    if root is not None:
        return [Path(root)]
    files = dict.fromkeys(sample.origin.file for sample in samples if sample.origin and sample.origin.file)
    upwards = [folder for file in files for folder in list(Path(file).absolute().parents)[:_FOLDERS_UPWARDS]]
    beside = [folder / CONTEXTS_FOLDER for folder in upwards if (folder / CONTEXTS_FOLDER).is_dir()]
    return list(dict.fromkeys([*upwards, *beside]))


def _read(path: Path) -> Dataset:
    """Read a golden set of whichever of the five kinds it is."""
    dialect = recognise(path)
    if dialect.name not in GOLDEN_DIALECTS:
        raise UsageError(f"{path}: expected a golden set, got one of {dialect.name}")
    return dialect.read(path)


def _placed(found: Sequence[tuple[int, Sample, Issue]]) -> Iterator[Issue]:
    """Add to each issue the file it is in, its path from the top of the file, and its line."""
    origin = next((sample.origin for _, sample, _ in found), None)
    if origin is None or origin.file is None:
        yield from (issue.located(within=f"[{index}]") for index, _, issue in found)
        return
    layout = layout_of(origin.file)
    if layout == "lines":
        for _, sample, issue in found:
            yield issue.located(origin.file, sample.origin.line if sample.origin else None)
        return
    issues = [issue.located(within=f"[{index}]" if layout == "array" else "") for index, _, issue in found]
    lines = lines_of(read_text(origin.file), (issue.path for issue in issues))
    yield from (issue.located(origin.file, lines[issue.path]) for issue in issues)


def _lines(source: SourceText, places: Sequence[Stretch]) -> str:
    numbers = [str(source.line_number(place.start)) for place in places[:_LISTED_LINES]]
    return ", ".join(numbers) + (" …" if len(places) > _LISTED_LINES else "")
