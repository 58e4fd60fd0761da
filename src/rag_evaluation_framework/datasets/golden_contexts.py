"""The places of golden contexts in their sources, scene by scene."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, cached_property
from pathlib import Path, PurePosixPath

import msgspec

from rag_evaluation_framework.datasets.golden_sets import GoldenContext, golden_contexts
from rag_evaluation_framework.datasets.record_files import layout_of
from rag_evaluation_framework.errors import InputError, Issue, Severity, counted, shown
from rag_evaluation_framework.files.access import is_there, read_text
from rag_evaluation_framework.files.json_scanner import lines_of
from rag_evaluation_framework.records.citations import SpanCitation
from rag_evaluation_framework.records.documents import Document, DocumentId, DocumentNames
from rag_evaluation_framework.records.samples import Dataset, Sample
from rag_evaluation_framework.structs import replace
from rag_evaluation_framework.text.normalisation import folded
from rag_evaluation_framework.text.search import SqueezedText, exact_places, without_dots
from rag_evaluation_framework.text.spans import Span, Spanned

# Scenes of a source text: the stretch under a header, in which a snippet is looked for.
#
# A header is a line of its own. A line is the header that a golden set names if the two are equal once
# width, case and white space are made even and the line's decoration is taken off:
#
# =====================================  ================================================
# ``## 流泉之众/聚落中心``                a Markdown heading
# ``【流泉之众/聚落中心】`` ``[Arena]``   brackets; also ``《》 「」 <> == == ** ** -- --``
# ``【场景】流泉之众`` ``Scene: Arena``   a word for scene before it
# ``流泉之众/聚落中心``                  the plain line, perhaps with a colon behind it
# =====================================  ================================================
#
# Where a decorated line is the header, plain ones with the same words are not. ``流泉之众/聚落中心`` also
# names the Markdown heading 聚落中心 inside the heading 流泉之众.
#
# Under a Markdown heading a scene goes to the next heading of its level or above. Any other goes to the
# next Markdown heading, the next line with a word for scene, the next header that the golden set names in
# this file, or the next line that is decorated in the same way and has as many slashes (a plain line must
# have one at least).

# A longer line is a paragraph, not a header.
LONGEST_HEADER = 200
# Without any decoration, a line this long is a sentence.
_LONGEST_PLAIN_HEADER = 40

_LINE = re.compile(r"[^\r\n]+(?:\r\n|\r|\n|\Z)")
_HEADING = re.compile(r"(#{1,6})\s*([^#\s].*?)(?:\s+#+)?\Z")
_WRAPPED = re.compile(
    r"(【)(.+)】\Z|(\[)(.+)\]\Z|(《)(.+)》\Z|(「)(.+)」\Z|(<)(.+)>\Z|(=)=*\s*(.+?)\s*=+\Z|(\*\*)(.+)\*\*\Z"
    r"|(--)-*\s*(.+?)\s*--+\Z|(—)—*\s*(.+?)\s*—+\Z"
)
_WORD = r"(?:场景|場景|地点|地點|scene|location)"
_AFTER_A_WORD = re.compile(
    rf"(?:【\s*{_WORD}\s*】|\[\s*{_WORD}\s*\]|{_WORD}\s*[:：])\s*(.+)\Z", re.IGNORECASE
)
_SENTENCE_MARKS = re.compile(r"[。！？，；：、.!?,;:“”\"…]")


class _Line(msgspec.Struct, Spanned, frozen=True):
    """A line short enough to be a header: what it may be the header of, and how it is decorated."""

    start: int
    end: int
    names: tuple[str, ...]
    """The name as in the file, and without one layer of decoration after the other."""
    style: str
    """``#``, ``word``, an opening bracket or ``""``: the outermost decoration."""
    level: int
    """Level of a Markdown heading, else 0."""

    @property
    def slashes(self) -> int:
        return self.names[-1].count("/")


class SourceText:
    """The text of a source file, with the scenes in it."""

    def __init__(self, text: str, *, headers: Iterable[str] = ()) -> None:
        """``headers`` are those that a golden set names in this file, each of which ends the scene before."""
        self.text = text
        self._known = {folded(header) for header in headers}
        self._lines = list(_scene_lines(text))
        self._named: dict[str, list[int]] = defaultdict(list)
        for index, line in enumerate(self._lines):
            for name in dict.fromkeys(line.names):
                self._named[name].append(index)

    def scenes(self, header: str) -> list[Span]:
        """Return every stretch under the header, in order; none when no line is that header."""
        wanted = folded(header)
        found = self._named.get(wanted) or [
            index
            for index in self._named.get(wanted.rpartition("/")[2], ())
            if self._is_nested(index, wanted)
        ]
        decorated = [index for index in found if self._lines[index].style]
        return [Span(self._lines[index].end, self._scene_end(index)) for index in decorated or found]

    def places_of(self, snippet: str, within: Span) -> list[Span]:
        """Return where a snippet stands in a stretch, exactly or else tolerantly; see ``text.search``."""
        for candidate in dict.fromkeys((snippet, without_dots(snippet))):
            if candidate.strip():
                found = exact_places(candidate, self.text, within) or self._squeezed.places(candidate, within)
                if found:
                    return found
        return []

    def words_of(self, scene: Span) -> Span | None:
        """Return a scene without the white space around it; none if it has nothing else."""
        text = self.text[scene.start : scene.end]
        start = scene.start + len(text) - len(text.lstrip())
        return Span(start, start + len(text.strip())) if text.strip() else None

    @cached_property
    def _squeezed(self) -> SqueezedText:
        return SqueezedText(self.text)

    def line_number(self, position: int) -> int:
        """Return the 1-based line of a character."""
        return self.text.count("\n", 0, position) + 1

    def _is_nested(self, index: int, wanted: str) -> bool:
        """Return True if a Markdown heading and those around it spell a header with slashes."""
        parts = wanted.split("/")
        level = self._lines[index].level + 1
        for line in reversed(self._lines[: index + 1]):
            if 0 < line.level < level:
                if parts.pop() not in line.names:
                    return False
                level = line.level
                if not parts:
                    return True
        return False

    def _scene_end(self, index: int) -> int:
        header = self._lines[index]
        ends = (line.start for line in self._lines[index + 1 :] if self._ends_scene(line, header))
        return next(ends, len(self.text))

    def _ends_scene(self, line: _Line, header: _Line) -> bool:
        if header.level:
            return 0 < line.level <= header.level
        if line.level or line.style == "word" or not self._known.isdisjoint(line.names):
            return True
        if line.style != header.style or line.slashes != header.slashes:
            return False
        name = line.names[-1]
        is_plain = len(name) <= _LONGEST_PLAIN_HEADER and _SENTENCE_MARKS.search(name) is None
        return bool(header.style) or (header.slashes > 0 and is_plain)


def _scene_lines(text: str) -> Iterator[_Line]:
    for found in _LINE.finditer(text):
        written = found[0].strip()
        if written and len(written) <= LONGEST_HEADER:
            yield _line(written, found.start(), found.end())


def _line(written: str, start: int, end: int) -> _Line:
    heading = _HEADING.match(written)
    style = "#" if heading else ""
    names = [written, heading[2]] if heading else [written]
    while True:
        if after := _AFTER_A_WORD.match(names[-1]):
            style, inner = style or "word", after[1]
        elif wrapped := _WRAPPED.match(names[-1]):
            opening, inner = (group for group in wrapped.groups() if group)
            style = style or opening
        else:
            break
        names.append(inner)
    names.append(names[-1].rstrip(":："))
    return _Line(start, end, tuple(map(folded, names)), style, len(heading[1]) if heading else 0)


# Checks that each golden context stands where its record says, and locates it as a span of characters.
#
# A context's file is looked up under the root that is given. Without one it is looked up from the folder
# of the golden set upwards to the project (two folders up: ``evaluation/datasets/`` lies in
# ``evaluation/`` in the project), then in the folder ``golden_contexts`` beside the set or beside its
# folder. A name that leads out of the folder is refused. Which lines are scene headers, and what counts
# as the same snippet, is told below and in ``text.search``. A context that names no file is looked for in
# the documents of the corpus or, without one, in ``golden_contexts`` and in the files that other contexts
# name: under its scene or, where no document has such a header, anywhere. Nothing is guessed: a snippet that
# stands in several places is said to be undecided and gives no span. A header without a snippet is truth
# too: all that stands under it, wherever the scene comes back (in one document, where no file is named).

CONTEXTS_FOLDER = "golden_contexts"

_FOLDERS_UPWARDS = 3
_TEXT_SUFFIXES = (".txt", ".md", ".markdown")
_LISTED_LINES = 5


def golden_context_issues(golden_set: Dataset) -> list[Issue]:
    """Return what is wrong with the golden contexts of a set.

    Errors: a file that is not there, a header that is not in it, a snippet that does not stand under it.
    Warnings: a snippet still to be filled in (and its file if that is not there), one that stands in several
    places, a context without a file that is not found in exactly one place.
    """
    sources = _sources(golden_set.samples, None)
    found = [
        (index, sample, issue)
        for index, sample in enumerate(golden_set.samples)
        for context in golden_contexts(sample)
        for issue in _Search(context, sources).issues()
    ]
    return list(placed_issues(found))


def spans_of_contexts(
    samples: Sequence[Sample],
    root: str | Path | None = None,
    *,
    documents: Sequence[Document] = (),
    kept: Sequence[Document] = (),
) -> dict[str, list[SpanCitation]]:
    """Return the golden contexts of many samples as spans, by sample id; each file is read once.

    ``documents`` are those of the corpus, in which contexts without a file are looked for. ``kept`` are texts
    of the files themselves, as :func:`with_sources` returns them, and no file is read.
    """
    sources = _sources(samples, root, documents or kept, kept=kept)
    return {
        sample.id: [span for context in golden_contexts(sample) for span in _Search(context, sources).spans()]
        for sample in samples
    }


def unlocated_contexts(
    samples: Sequence[Sample], *, documents: Sequence[Document] = ()
) -> list[tuple[Sample, Issue]]:
    """Return every snippet or scene that gives no span, with its sample and why; files are read once."""
    sources = _sources(samples, None, documents)
    return [
        (sample, next(search.issues()))
        for sample in samples
        for search in (_Search(context, sources) for context in golden_contexts(sample))
        if (search.context.snippet or search.context.header) and not any(True for _ in search.spans())
    ]


def source_documents(samples: Sequence[Sample], *, documents: Sequence[Document] = ()) -> list[Document]:
    """Return the texts that golden contexts name or are found in; what cannot be had is left out."""
    sources = _sources(samples, None, documents)
    contexts = [context for sample in samples for context in golden_contexts(sample)]
    found = {each.file: sources.source(each.file) for each in contexts if each.file is not None}
    unnamed = [_Search(context, sources) for context in contexts if context.file is None]
    found |= {span.file: sources.unnamed[span.file] for search in unnamed for span in search.spans()}
    return [
        Document(DocumentId(name), source.text)
        for name, source in found.items()
        if isinstance(source, SourceText)
    ]


def with_sources(documents: Sequence[Document], samples: Sequence[Sample]) -> tuple[Document, ...]:
    """Return documents, and with them the texts that golden contexts stand in, under the names they have."""
    known = DocumentNames.of_records(documents)
    found = source_documents(samples, documents=documents)
    return (*documents, *(each for each in found if not known.positions(each.id)))


class _Sources:
    """The files that golden contexts name, each read once."""

    def __init__(
        self,
        folders: Sequence[Path],
        headers: dict[str | None, list[str]],
        documents: Sequence[Document],
        kept: Sequence[Document],
    ) -> None:
        self.folders = folders
        self._headers = headers
        self._documents = documents
        self._kept = {each.id: each.content for each in kept}
        self.source = cache(self._source)

    @cached_property
    def unnamed(self) -> dict[str, SourceText]:
        """The texts in which contexts that name no file are looked for, by name."""
        headers = list(dict.fromkeys(header for known in self._headers.values() for header in known))
        if self._documents:
            return {each.id: SourceText(each.content, headers=headers) for each in self._documents}
        beside = {
            path.relative_to(folder).as_posix(): path
            for folder in self.folders
            if folder.name == CONTEXTS_FOLDER
            for path in sorted(folder.rglob("*"))
            if path.suffix.lower() in _TEXT_SUFFIXES and path.is_file()
        }
        named = (name for name in self._headers if name is not None)
        found = {name: self.source(name) for name in dict.fromkeys((*beside, *named))}
        return {
            name: SourceText(source.text, headers=headers)
            for name, source in found.items()
            if isinstance(source, SourceText)
        }

    def _source(self, file: str) -> SourceText | Issue:
        """Return the text of a file, or why it cannot be had."""
        if file in self._kept:
            return SourceText(self._kept[DocumentId(file)], headers=self._headers.get(file, ()))
        name = PurePosixPath(file.replace("\\", "/"))
        if name.is_absolute() or ".." in name.parts or ":" in name.parts[0]:
            return Issue("context-outside", "a path inside the project", shown(file))
        for folder in self.folders:
            path = folder / name
            if is_there(path) and path.is_file():
                if not path.resolve().is_relative_to(folder.resolve()):
                    return Issue(
                        "context-outside", "a path inside the project", f"a link to {path.resolve()}"
                    )
                try:
                    return SourceText(read_text(path), headers=self._headers.get(file, ()))
                except InputError as error:
                    return Issue("context-unreadable", "a text file", str(error))
        looked = ", ".join(str(folder) for folder in self.folders)
        return Issue("context-file-missing", f"a file in {looked}", f"no file called {shown(file)}")


class _Search(msgspec.Struct, frozen=True):
    """The search for one golden context in its file."""

    context: GoldenContext
    sources: _Sources

    def issues(self) -> Iterator[Issue]:
        context = self.context
        if context.snippet is None and (context.is_open or context.header is None):
            found = "no snippet yet" if context.header is None else "no snippet yet; the whole scene counts"
            yield self._issue("snippet-missing", "a quote from the source", found, "snippet", "warning")
        if context.file is None:
            if context.snippet is not None or (context.header is not None and not context.is_open):
                yield from self._unnamed_issues()
            return
        source = self.sources.source(context.file)
        if isinstance(source, Issue):
            if source.code == "context-file-missing" and context.snippet is None:
                source = replace(source, severity="warning")  # there is nothing yet to look for in it
            yield source.located(within=f"{context.path}.{context.file_field}")
            return
        scenes = self._scenes(source)
        if not scenes:
            expected = f"a line in {context.file} that is the header {shown(context.header)}"
            yield self._issue("scene-header-missing", expected, "no such line", context.header_field)
        elif context.snippet is not None:
            yield from self._snippet_issues(source, scenes)

    def spans(self) -> Iterator[SpanCitation]:
        context = self.context
        if context.snippet is None and context.header is None:
            return
        if context.file is None:
            found = list(self._anywhere())
            if len({name for name, _, _ in found} if context.snippet is None else found) == 1:
                yield from (_cited(name, source, place) for name, source, place in found)
            return
        source = self.sources.source(context.file)
        if not isinstance(source, Issue):
            places = self._places(source, self._scenes(source))
            if context.snippet is None or len(places) == 1:
                yield from (_cited(context.file, source, place) for place in places)

    def _anywhere(self) -> Iterator[tuple[str, SourceText, Span]]:
        """Yield every place of a context that names no file: under its scene if any document has that."""
        texts, header = self.sources.unnamed, self.context.header
        scenes = {name: source.scenes(header) for name, source in texts.items()} if header else {}
        if not any(scenes.values()) and self.context.snippet is not None:
            scenes = {name: [Span(0, len(source.text))] for name, source in texts.items()}
        for name, stretches in scenes.items():
            yield from ((name, texts[name], place) for place in self._places(texts[name], stretches))

    def _unnamed_issues(self) -> Iterator[Issue]:
        """Yield why a context that names no file is not located, unless it is."""
        if any(True for _ in self.spans()):
            return
        places = [f"{name}:{source.line_number(place.start)}" for name, source, place in self._anywhere()]
        if places:
            listed = ", ".join(places[:_LISTED_LINES]) + (" …" if len(places) > _LISTED_LINES else "")
            found = f"no file, and several matching places: {listed}"
        elif self.sources.unnamed:
            found = f"no file, and no matching place in {counted(len(self.sources.unnamed), 'document')}"
        else:
            found = "only a scene, which is not enough to find it"
        yield self._issue("context-without-file", "a file", found, "file", "warning")

    def _scenes(self, source: SourceText) -> list[Span]:
        """Return the stretches to search: those under the header, or all of the file when none is named."""
        if self.context.header is None:
            return [Span(0, len(source.text))]
        return source.scenes(self.context.header)

    def _places(self, source: SourceText, scenes: Sequence[Span]) -> list[Span]:
        """Return each place once, though scenes may lie inside one another; without a snippet, the scenes."""
        snippet = self.context.snippet
        if snippet is None:
            return [words for scene in scenes if (words := source.words_of(scene)) is not None]
        return list(dict.fromkeys(place for scene in scenes for place in source.places_of(snippet, scene)))

    def _snippet_issues(self, source: SourceText, scenes: Sequence[Span]) -> Iterator[Issue]:
        context = self.context
        where = f"in {context.file}" + (f" under {shown(context.header)}" if context.header else "")
        places = self._places(source, scenes)
        if not places:
            elsewhere = self._places(source, [Span(0, len(source.text))])
            found = f"this text in line {_lines(source, elsewhere)}" if elsewhere else "no matching text"
            yield self._issue("snippet-not-found", f"{shown(context.snippet)} {where}", found, "snippet")
        elif len(places) > 1:
            expected = f"a snippet that occurs once {where}"
            found = f"one that occurs in lines {_lines(source, places)}"
            yield self._issue("snippet-ambiguous", expected, found, "snippet", "warning")

    def _issue(self, code: str, expected: str, found: str, field: str, severity: Severity = "error") -> Issue:
        return Issue(code, expected, found, f"{self.context.path}.{field}", severity)


def _cited(name: str, source: SourceText, place: Span) -> SpanCitation:
    return SpanCitation(name, place.start, place.end, text=source.text[place.start : place.end])


def _sources(
    samples: Sequence[Sample],
    root: str | Path | None,
    documents: Sequence[Document] = (),
    *,
    kept: Sequence[Document] = (),
) -> _Sources:
    headers: dict[str | None, list[str]] = {}
    for sample in samples:
        for context in golden_contexts(sample):
            known = headers.setdefault(context.file, [])
            if context.header is not None:
                known.append(context.header)
    folders = [] if kept else _folders(samples, root)
    return _Sources(folders, headers, documents, kept)


def _folders(samples: Sequence[Sample], root: str | Path | None) -> list[Path]:
    if root is not None:
        return [Path(root)]
    files = dict.fromkeys(sample.origin.file for sample in samples if sample.origin and sample.origin.file)
    upwards = [folder for file in files for folder in list(Path(file).absolute().parents)[:_FOLDERS_UPWARDS]]
    beside = [folder / CONTEXTS_FOLDER for folder in upwards if (folder / CONTEXTS_FOLDER).is_dir()]
    return list(dict.fromkeys([*upwards, *beside]))


def placed_issues(found: Sequence[tuple[int, Sample, Issue]]) -> Iterator[Issue]:
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


def _lines(source: SourceText, places: Sequence[Span]) -> str:
    numbers = [str(source.line_number(place.start)) for place in places[:_LISTED_LINES]]
    return ", ".join(numbers) + (" …" if len(places) > _LISTED_LINES else "")
