"""Questions without a model.

The rules for sentences are in :mod:`english_questions` and :mod:`chinese_questions`; what the known form of
a document asks by itself (terms, options, headings, records) is at the end of this module. It decides which
of all these questions are taken: of many forms and from all over the document, at most one about the same
passage. The same corpus and seed give the same questions.
"""

from __future__ import annotations

import random
import re
import time
from bisect import bisect_left
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import msgspec
from msgspec.structs import replace

from rag_evaluation_framework.errors import UsageError, checked_count, shown
from rag_evaluation_framework.extensions import Chunker, PositionAwareChunker
from rag_evaluation_framework.records.documents import Corpus, Document
from rag_evaluation_framework.records.runs import Progress
from rag_evaluation_framework.records.samples import Dataset
from rag_evaluation_framework.synthesis.chinese_questions import chinese_questions
from rag_evaluation_framework.synthesis.draft_quality import QualityControl
from rag_evaluation_framework.synthesis.drafts import (
    KINDS,
    Difficulty,
    Draft,
    Drafts,
    Excerpt,
    Level,
    QuestionKind,
    Rejection,
)
from rag_evaluation_framework.synthesis.english_clauses import (
    BE,
    DETERMINERS,
    MONTH,
    NOUNS_TOO,
    PARTICIPLES,
    POSSESSIVES,
    PREPOSITIONS,
    SAYING_NOTHING,
    THIRD_PERSON,
    VERBS,
    points,
    states,
)
from rag_evaluation_framework.synthesis.english_questions import english_questions, known_words
from rag_evaluation_framework.synthesis.generated_datasets import dataset_of
from rag_evaluation_framework.synthesis.passages import (
    BROKEN_WORD,
    MANUAL,
    Definition,
    Form,
    MadeQuestion,
    Passages,
    Place,
    Statement,
    filled_with_sections,
    is_question,
    is_short,
    passages_of,
    plain,
    section_of,
    title_of,
)
from rag_evaluation_framework.text.scripts import HAN, has_unspaced_script
from rag_evaluation_framework.text.tokens import content_keys
from rag_evaluation_framework.workers import Workforce, in_order

# How a question is worded: after the name of its document, unless that is in it already, and with its mark.

_EASY, _MEDIUM = 0.8, 0.5


_BEFORE_NAMES = frozenset(
    ("command", "function", "does", "do", "is", "are", "can", "may", "of", "in", "by", "with", "for")
)


def worded(made: MadeQuestion, passages: Passages) -> str | None:
    """Return a question as it is asked about a document; ``None`` if that has no name and needs one."""
    title = "" if is_question(passages.title) else passages.title
    if made.place.headings and title_of(made.place.headings[0]) != title:
        title = ""  # this stands beside what the title heads, not below
    asked = made.text.casefold()
    is_named = bool(title) and f" {title.casefold()} " in f" {asked} "
    if is_named and passages.is_manual and title.isalpha() and title.islower():
        # "How long is the snake?" does not name the game.
        words = made.text.split()
        is_named = any(word == title and before in _BEFORE_NAMES for before, word in pairwise(words))
    if is_named or not is_short(title):
        return _finished(made.text) if is_named or not made.needs_topic else None
    if not title:
        return None if made.needs_topic else _finished(made.text)
    if passages.is_manual:
        return _finished(f"according to the manual page of {title}, {made.text}")
    heading = section_of(made.place)
    heading = "" if heading.casefold() in asked else heading
    if has_unspaced_script(made.text):
        part = f"的“{heading}”部分" if heading else ""
        return _finished(f"根据《{title.replace('《', '〈').replace('》', '〉')}》{part}，{made.text}")
    part = f"“{heading}” in " if heading else ""
    return _finished(f"according to {part}“{title.strip('“”')}”, {made.text}")


def _finished(text: str) -> str:
    """Return a question with its capital and its mark."""
    return f"{text[0].upper()}{text[1:]}{'？' if has_unspaced_script(text) else '?'}"


def _difficulty(question: str, passage: str) -> Difficulty:
    """Tell how hard a question is by the share of its words that its passage has."""
    asked = set(content_keys(question))
    share = len(asked.intersection(content_keys(passage))) / len(asked) if asked else 0.0
    return "easy" if share >= _EASY else "medium" if share >= _MEDIUM else "hard"


NAME = "extractive"
VERSION = 8

SPARE = 3
"""Number of drafts per requested question, if a document has them: some are rejected."""

_USUAL_QUALITY = QualityControl()
_UNCHECKED = QualityControl(leakage=None, round_trip=None, near_duplicates=None)
_CONSIDERED = 20
_WEIGHTS: dict[Difficulty | None, int] = {"easy": 1, "medium": 2, "hard": 3}


class Extraction(msgspec.Struct, frozen=True):
    """The dataset, and the drafts behind it with everything that was rejected."""

    dataset: Dataset
    drafts: Drafts


def generate_extractively(
    corpus: Corpus,
    *,
    level: Level = "token",
    queries_per_doc: int = 5,
    kinds: Collection[QuestionKind] = KINDS,
    chunker: Chunker | PositionAwareChunker | None = None,
    quality: QualityControl | None = _USUAL_QUALITY,
    seed: int = 0,
    **work: Any,
) -> Extraction:
    """Make a dataset of questions about a corpus without a model.

    ``quality`` checks the questions, by default with every check, with ``None`` by none; no document has more
    of them than asked for, and harder ones are preferred: most of what rules make is easy to find. ``work``
    is the ``workers`` and the ``on_progress`` of :func:`extractive_drafts`.
    """
    drafts = extractive_drafts(corpus, queries_per_doc=queries_per_doc, kinds=kinds, seed=seed, **work)
    checked = replace(quality or _UNCHECKED, per_document=queries_per_doc).checked(drafts, corpus)
    generator = {
        "name": NAME,
        "version": VERSION,
        "queries_per_doc": queries_per_doc,
        "kinds": [kind for kind in KINDS if kind in kinds],
        "seed": seed,
    }
    dataset = dataset_of(checked, corpus, level=level, chunker=chunker, generator=generator)
    return Extraction(dataset, checked)


def extractive_drafts(
    corpus: Corpus,
    *,
    queries_per_doc: int = 5,
    kinds: Collection[QuestionKind] = KINDS,
    seed: int = 0,
    workers: Workforce = 1,
    on_progress: Callable[[Progress], None] | None = None,
) -> Drafts:
    """Draft questions about every document, the best of each first.

    Up to :data:`SPARE` times ``queries_per_doc`` are drafted for a document, so that enough remain when some
    are rejected. ``kinds`` are those to ask for, by default all. What a document does not offer is counted
    (``nothing-to-ask``), so that every question asked for is either drafted or accounted for.
    """
    checked_count("queries_per_doc", queries_per_doc, at_least=0)
    for kind in kinds:
        if kind not in KINDS:
            raise UsageError(f"kinds: expected some of {', '.join(KINDS)}, got {shown(kind)}")
    known = known_words(document.content for document in corpus)
    kept: list[Draft] = []
    rejected: list[Rejection] = []
    begun = time.monotonic()
    draft = partial(_draft_questions, known=known, most=SPARE * queries_per_doc, kinds=kinds, seed=seed)
    drafted = in_order(draft, corpus, workers=workers, total=len(corpus))
    for number, (document, drafts) in enumerate(zip(corpus, drafted, strict=True), start=1):
        kept.extend(drafts)
        rejected += [Rejection("nothing-to-ask", "", document.id)] * (queries_per_doc - len(drafts))
        if on_progress is not None:
            elapsed = time.monotonic() - begun
            on_progress(Progress(total=len(corpus), done=number, failed=0, elapsed=elapsed))
    return filled_with_sections(Drafts(tuple(kept), tuple(rejected)), corpus, queries_per_doc, kinds)


def _draft_questions(
    document: Document, *, known: frozenset[str], most: int, kinds: Collection[QuestionKind], seed: int
) -> list[Draft]:
    passages = passages_of(document)
    pool = [each for each in _made(passages, document, known) if each.kind in kinds]
    random.Random(f"{seed} {document.id}").shuffle(pool)  # noqa: S311  # draws questions, guards nothing
    considered = sorted(pool[: _CONSIDERED * most], key=lambda each: each.rank)
    drafted = (_draft(made, document, passages) for made in considered)
    return _chosen([each for each in drafted if each is not None], most)


def _made(passages: Passages, document: Document, known: frozenset[str]) -> Iterator[MadeQuestion]:
    chinese = [each for each in passages.statements if has_unspaced_script(each.text)]
    english = [each for each in passages.statements if not has_unspaced_script(each.text)]
    yield from english_questions(english, known, document.content, passages.title)
    yield from chinese_questions(chinese)
    yield from structure_questions(passages, document.content)


_Candidate = tuple[MadeQuestion, Draft]


def _draft(made: MadeQuestion, document: Document, passages: Passages) -> _Candidate | None:
    question = worded(made, passages)
    if question is None:
        return None
    excerpt = Excerpt(document.id, made.place.start, made.place.end, made.place.of(document.content))
    return made, Draft(
        question=question,
        excerpts=(excerpt,),
        answer=made.answer,
        kind=made.kind,
        difficulty=_difficulty(question, excerpt.text),
        origin=document.id,
    )


def _chosen(candidates: Sequence[_Candidate], limit: int) -> list[Draft]:
    """Choose by rank, then by difficulty, form and section, those seldom chosen first; no passage twice."""
    alike: defaultdict[_Traits, deque[tuple[int, _Candidate]]] = defaultdict(deque)
    for number, (made, draft) in enumerate(candidates):
        traits = made.rank, draft.difficulty, made.form, made.place.headings
        alike[traits].append((number, (made, draft)))
    counts: Counter[object] = Counter()
    taken: list[tuple[int, int]] = []
    chosen: list[Draft] = []

    def key(traits: _Traits) -> tuple[float, ...]:
        rank, difficulty, form, headings = traits
        seldom = counts[difficulty] / _WEIGHTS[difficulty]
        return rank, seldom, counts[form], counts[headings], alike[traits][0][0]

    while alike and len(chosen) < limit:
        traits = min(alike, key=key)
        _, (made, draft) = alike[traits].popleft()
        if not alike[traits]:
            del alike[traits]
        span = (made.place.start, made.place.end)
        if _is_taken(span, taken):
            continue
        chosen.append(draft)
        taken = sorted([*taken, span])
        counts.update(traits[1:])
    return chosen


_Traits = tuple[int, Difficulty | None, Form, tuple[str, ...]]
"""Traits that decide the next question: rank, difficulty, form, headings."""


def _is_taken(span: tuple[int, int], taken: Sequence[tuple[int, int]]) -> bool:
    """Return True if a place overlaps one of those taken, which are in order and do not overlap."""
    before = bisect_left(taken, (span[1],))
    return before > 0 and taken[before - 1][1] > span[0]


# What the structure of a document asks by itself.

# What the known form of a document asks by itself.
_ASKED = re.compile(
    r"(?:how|what|why|where|when|who)\b(?! (?:not|about|if|else)\b).|\w+ (?:I|you|we|my|your|our)\b"
    rf"|.*[{HAN}]",
    re.I,
)
_CALLED = re.compile(r"([\w.:-]+)\(")
_WORD_GOES_ON = re.compile(r"[\w.(-]")
# Commands stand in the sections 1, 6 and 8 of the manual; what 4, 5 and 7 describe is files and notions.
_NO_COMMAND = re.compile(r"\s*\S+\([457]\w*\)")
_SYNOPSIS = re.compile(r"^SYNOPSIS\s*\n(?P<text>.*?)(?=^\S|\Z)", re.MULTILINE | re.DOTALL)
# "-Dname": an argument without a space.
_GLUED = re.compile(r"-[A-Z][a-z]+\Z")  # "-Dname": an argument without a space
_PLACEHOLDER = re.compile(r"<[^>]*>|\b[A-Z]+_[A-Z_]+\b|\[[^\]]*\]")
_DEBIAN_ENTRY = re.compile(
    r"^(?P<name>[a-z0-9][a-z0-9+.-]+) \((?P<version>[^()\s]+)\) (?!UNRELEASED)[^\n;]+; urgency=\w+\n"
    r"(?P<body>(?:(?! --|\S)[^\n]*\n)+) -- (?P<who>[^<\n]+?) <[^>\n]*>  "
    r"(?P<date>\w{3}, +\d{1,2} \w{3} \d{4})\b",
    re.MULTILINE,
)
_ENTRY_HEAD = re.compile(r"^[a-z0-9][a-z0-9+.-]+ \([^()\s]+\)", re.MULTILINE)
_ONLY_ITEM = re.compile(r"\s*\n {2}\* (?P<item>[^\n]+\n(?: {4}(?![-+*])[^\n]+\n)*)\s*")
_ENTRY_SENTENCE = re.compile(r"[A-Z](?:[^\n:;\[\].]|\.(?=\S))*[a-z0-9)]\.?")
_ORDINAL = r"\d{1,2}(?:st|nd|rd|th)?"
_DAY = rf"\d{{4}}-\d\d-\d\d|{_ORDINAL} {MONTH} \d{{4}}|{MONTH} {_ORDINAL},? \d{{4}}"
_VERSION = r"(?:v|[Vv]ersion |[Rr]elease |[Rr]evision )?(?P<version>\d+(?:\.\d+)+(?:[\w.+-]*\w)?)"
_RELEASE = re.compile(
    rf"^(?P<line>[#*= ]{{0,5}}\[?{_VERSION}\]?(?:\([^()\s]*\))?[ ,:–—-]*"
    rf"\(?(?:released )?(?:on )?(?P<date>{_DAY})\)?)[ \t:.]*$",
    re.MULTILINE,
)
_DATED_RELEASE = re.compile(rf"^(?P<line>#{{1,4}} (?P<date>{_DAY}), {_VERSION}\b[^\n]*)", re.MULTILINE)
_UPSTREAM = re.compile(r"^Upstream-Name:[ \t]*(?P<name>\S[^\n]*)", re.MULTILINE)
_FILES = re.compile(
    r"^Files:[ \t]*(?P<files>\S[^\n]*)\nCopyright:[ \t]*(?P<holder>\S[^\n]*(?:\n[ \t]+[^\n]+)*)\n"
    r"License:[ \t]*(?P<license>\S[^\n]*)",
    re.MULTILINE,
)
_NO_HOLDER = re.compile(
    r"[<>:/]|HOLDER|rights reserved|\b(?:unknown|various|none|nobody|public domain|same as|see|et al"
    r"|others|no copyright|not (?:applicable|claimed)|disclaimed)\b|\b(?:the|of|and|for)\Z",
    re.I,
)
# A line of a copyright begins another holder with a year or a sign; without, it may go on with the one above.
_HOLDER = re.compile(r"(?:©|\(c\)|copyright\b|copr\b)|(?:19|20)\d\d", re.I)
_EMAIL = re.compile(r"\s*<[^<>]*>")
# What stands before a remark is no term.
_LABELS = re.compile(
    r"(?:notes?|tip|hint|warning|caution|important|examples?|remark|attention|default|required|optional)\Z",
    re.I,
)
_ABBREVIATION = re.compile(r"[A-Z0-9][A-Z0-9.&/-]+\Z")
_FEWEST_NEW_WORDS = 3
_LONGEST_ENTRY = 1200
_FEWEST_VERSIONS = 3
_FULL_LINE = 55
_FEWEST_ASKED = 4


def structure_questions(passages: Passages, text: str) -> Iterator[MadeQuestion]:
    """Yield what can be asked about a document's definitions, options and headings."""
    for definition in passages.definitions:
        yield from _about_definition(definition, text)
    named = _named_as(passages.title, text) if passages.options and passages.title else ""
    # Only commands have options: what begins with a dash elsewhere may be the end of a name.
    for option in passages.options if named.startswith("the command ") else ():
        yield from _about_option(option, named)
    yield from _about_headings(passages)
    if passages.is_manual:
        yield from _about_command(passages.title, text)
    yield from _about_releases(text)
    yield from _about_copyright(text)


def _about_definition(definition: Definition, text: str) -> Iterator[MadeQuestion]:
    term = definition.term.strip(" .:：")
    is_chinese = has_unspaced_script(term)
    if (
        not term
        or _LABELS.match(term)
        or len(term.split()) > 5
        or (len(definition.meaning.split()) < 2 and not is_chinese)
    ):
        return
    if is_chinese:
        asked = f"“{term}”是什么意思"
    elif _ABBREVIATION.match(term):
        asked = f"what does {term} stand for"
    else:
        asked = f"what is meant by “{term}”"
    written = definition.place.of(text)
    start = definition.place.start + len(written) - len(written.lstrip())
    place = Place(start, start + len(written.strip()), definition.place.headings)
    yield MadeQuestion(text=asked, place=place, answer=definition.meaning, form="definition")


def _named_as(title: str, text: str) -> str:
    """Return the name of a manual page with what it is the name of, as its synopsis shows: a command."""
    synopsis = _SYNOPSIS.search(text)
    used = synopsis["text"] if synopsis is not None else ""
    if title in _CALLED.findall(used):
        return f"the function {title}"
    for line in map(str.strip, used.splitlines()):
        is_begun = line.replace("-", " ").startswith(title.replace("-", " "))
        if is_begun and not _WORD_GOES_ON.match(line[len(title) :]) and not _NO_COMMAND.match(text):
            return f"the command {title}"
    return title


def _about_option(option: Definition, title: str) -> Iterator[MadeQuestion]:
    """Ask what an option does, if its description begins with what is done and its name does not say it."""
    is_deed = _is_deed(option.meaning, f"{option.term} {title}")
    if is_deed and not _is_repeated(option.meaning, option.term) and _GLUED.match(option.term) is None:
        text = f"what does the option {option.term} of {title} do"
        yield MadeQuestion(text=text, place=option.place, answer=option.meaning, form="option")


def _is_repeated(description: str, name: str) -> bool:
    """Return True if a name of several words repeats its description: ``--ignore-case``."""
    words = re.sub(r"[-_.]", " ", name).casefold().split()
    keys = set(content_keys(" ".join(words)))
    is_begun = description.casefold().startswith(" ".join(words))
    return len(words) > 1 and (is_begun or (len(keys) > 1 and keys.issubset(content_keys(description))))


def _about_command(title: str, text: str) -> Iterator[MadeQuestion]:
    """Ask what a manual page is about, by the line under NAME, if it has one name only."""
    manual = MANUAL.search(text)
    if manual is None or manual["more"] or BROKEN_WORD.search(manual["what"]):
        return
    what = plain(manual["what"]).rstrip(".")
    if re.search(r"\bman(?:ual)? page|\s[—–-]\s|:\Z", what) or title.endswith(":"):
        return  # a page about pages, with a second name, or with a remnant
    named = _named_as(title, text)
    if _is_deed(what, title, fewest=2) and not _is_repeated(what, title):
        asked = f"what does {named} do"
    elif re.match(r"(?:an?|the) ", what, re.I) and len(_new_words(what, title)) >= _FEWEST_NEW_WORDS:
        asked = f"what is {named}"
    else:
        return
    asked = asked if named != title else f"{asked} according to its manual page"
    place = Place(manual.start("name"), manual.end("what"), ())
    yield MadeQuestion(text=asked, place=place, answer=what, form="definition")


def _is_deed(text: str, name: str, *, fewest: int = _FEWEST_NEW_WORDS) -> bool:
    """Return True if a description begins with the action, and adds to the name.

    ``Name of the file`` and ``process viewer`` begin with nouns; ``Print the version`` tells nothing.
    """
    first, _, others = text.partition(" ")
    verb, following = first.casefold(), others.partition(" ")[0]
    return (
        (verb in VERBS or THIRD_PERSON.get(verb) in VERBS)
        and verb not in ("see", "be", "note")
        and (verb not in NOUNS_TOO or following in DETERMINERS | POSSESSIVES | {"or", "and"})
        and following not in PREPOSITIONS | BE | PARTICIPLES
        and len(_new_words(others, name)) >= max(fewest, len(set(content_keys(others))) / 2)
        and states(text)
        and not points(others)
        and _PLACEHOLDER.search(others) is None
        and re.search(r"[:;]\s", others) is None
    )


def _new_words(text: str, name: str) -> set[str]:
    """Return the words of a description that its name does not say, without those of every description."""
    said = content_keys(re.sub(r"[-_.]", " ", name))
    squeezed = re.sub(r"\W", "", name.casefold())
    new = {key for key in content_keys(text) if key not in said and key not in squeezed}
    return new - set(content_keys(" ".join(SAYING_NOTHING)))


_recorded = partial(MadeQuestion, rank=1)
_dated = partial(_recorded, form="time", kind="temporal")


def _about_releases(text: str) -> Iterator[MadeQuestion]:
    """Ask when a version came out, by whom, and for what, as the entries of changelogs tell."""
    entries = Counter(match[0] for match in _ENTRY_HEAD.finditer(text))
    for entry in _DEBIAN_ENTRY.finditer(text):
        package = f"version {entry['version']} of the Debian package {entry['name']}"
        place = Place(entry.start(), entry.end(), ())
        is_twice = entries[f"{entry['name']} ({entry['version']})"] > 1
        if is_twice or entry.end() - entry.start() > _LONGEST_ENTRY:
            continue
        only = _ONLY_ITEM.fullmatch(entry["body"])
        item = plain(only["item"]) if only is not None else ""
        if _ENTRY_SENTENCE.fullmatch(item) and _is_deed(item, entry["name"]):
            yield _recorded(text=f"what changed in {package}", place=place, answer=item, form="object")
        yield _dated(text=f"when was {package} released", place=place, answer=entry["date"])
        yield _recorded(text=f"who released {package}", place=place, answer=entry["who"], form="person")
    dated = [*_RELEASE.finditer(text), *_DATED_RELEASE.finditer(text)]
    times = Counter(each["version"] for each in dated)
    for each in dated if len(times) >= _FEWEST_VERSIONS else ():
        if times[each["version"]] == 1:
            place = Place(each.start("line"), each.end("line"), ())
            asked = f"when was version {each['version']} released"
            yield _dated(text=asked, place=place, answer=each["date"], needs_topic=True)


def _about_copyright(text: str) -> Iterator[MadeQuestion]:
    """Ask whose files are, and under which licence, as machine-readable copyright files of Debian tell."""
    named = _UPSTREAM.search(text)
    if named is None:
        return
    before = text.rpartition(named["name"].strip())[0].rstrip(" ,-")
    if before[-4:].isdigit():
        return  # a year stands before it: the name is a holder's
    for stanza in _FILES.finditer(text):
        files = " ".join(stanza["files"].split())
        holder = "; ".join(_EMAIL.sub("", each).rstrip(" ,;") for each in _holders(stanza["holder"]))
        if files == "*" or " " in files or not holder or _NO_HOLDER.search(holder):
            continue  # what holds for all has its exceptions
        is_one = "*" not in files and "?" not in files
        of = f"the file{'' if is_one else 's'} {files} of {named['name'].strip()}"
        place = Place(stanza.start(), stanza.end("license"), ())
        licence = stanza["license"].strip()
        if not re.search(r"public.?domain|cc0|unlicense", licence, re.I):  # there nobody holds any
            text = f"who holds the copyright of {of}"
            yield _recorded(text=text, place=place, answer=holder, form="person")
        asked = f"under which licence {'is' if is_one else 'are'} {of} distributed"
        yield _recorded(text=asked, place=place, answer=licence, form="object")


def _holders(written: str) -> list[str]:
    """Return those who hold a copyright, each in one line; none if it is not clear where one ends."""
    lines = [" ".join(line.split()) for line in written.splitlines()]
    if not any(map(_HOLDER.match, lines)):
        return lines
    holders: list[str] = []
    for before, line in zip(["", *lines], lines, strict=False):
        if _HOLDER.match(line):
            holders.append(line)
        elif holders and (len(before) >= _FULL_LINE or before.endswith(",")):
            holders[-1] += f" {line}"
        else:
            return []
    return holders


def _about_headings(passages: Passages) -> Iterator[MadeQuestion]:
    """Ask a heading that is a question itself, and that a single paragraph answers."""
    below: dict[tuple[str, ...], list[Statement]] = {}
    for statement in passages.statements:
        below.setdefault(statement.place.headings, []).append(statement)
    for headings, paragraph in below.items():
        heading = headings[-1] if headings else ""
        asked = is_question(heading) and _ASKED.match(heading)
        if len(heading.split()) < _FEWEST_ASKED or paragraph[0].text.startswith("See "):
            continue  # "Where am I?", and what answers nothing itself
        if asked and passages.blocks[headings] == 1 and not points(f"{heading} {paragraph[0].text}"):
            place = Place(paragraph[0].place.start, paragraph[-1].place.end, headings)
            answer = " ".join(each.text for each in paragraph)
            text = _lowered(heading.rstrip("?？ "))
            yield MadeQuestion(text=text, place=place, answer=answer, form="heading", needs_topic=True)


def _lowered(words: str) -> str:
    """Return a heading in lower case, if its capital is only that of a beginning."""
    first, _, rest = words.partition(" ")
    is_name = rest[:1].isupper() and not rest.startswith(("I ", "I'", "I’"))
    is_plain = first[:1].isupper() and first[1:].islower() and len(first) > 1 and not is_name
    return f"{first.lower()} {rest}".strip() if is_plain and rest else words
