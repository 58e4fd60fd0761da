"""Questions that the structure of a document asks by itself: terms, options, headings and records.

Manual pages, changelogs and the copyright files of Debian have a known form, so what a line of them says is
known without reading a sentence.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from rag_evaluation_framework.synthesis.english_clauses import (
    BE,
    DETERMINERS,
    MONTH,
    NOUNS_TOO,
    POSSESSIVES,
    PREPOSITIONS,
    SAYING_NOTHING,
    THIRD_PERSON,
    VERBS,
    points,
    states,
)
from rag_evaluation_framework.synthesis.passages import (
    BROKEN_WORD,
    MANUAL,
    Definition,
    MadeQuestion,
    Passages,
    Place,
    Statement,
    is_question,
    plain,
)
from rag_evaluation_framework.text.scripts import HAN, has_unspaced_script
from rag_evaluation_framework.text.tokens import content_keys

_ASKED = re.compile(
    r"(?:how|what|why|where|when|who)\b(?! (?:not|about|if|else)\b).|\w+ (?:I|you|we|my|your|our)\b"
    rf"|.*[{HAN}]",
    re.I,
)
_FEWEST_NEW_WORDS = 3
_CALLED = re.compile(r"([\w.:-]+)\(")
_WORD_GOES_ON = re.compile(r"[\w.(-]")
_SYNOPSIS = re.compile(r"^SYNOPSIS\s*\n(?P<text>.*?)(?=^\S|\Z)", re.MULTILINE | re.DOTALL)
_GLUED = re.compile(r"-[A-Z][a-z]+\Z")  # "-Dname": an argument without a space
_PLACEHOLDER = re.compile(r"<[^>]*>|\b[A-Z]+_[A-Z_]+\b|\[[^\]]*\]")
_LONGEST_ENTRY = 1200
_FEWEST_VERSIONS = 3
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
    r"|others|not (?:applicable|claimed)|disclaimed)\b",
    re.I,
)
# A line of a copyright begins another holder with a year or a sign; without, it may go on with the one above.
_HOLDER = re.compile(r"(?:©|\(c\)|copyright\b|copr\b)|(?:19|20)\d\d", re.I)
_FULL_LINE = 55
_EMAIL = re.compile(r"\s*<[^<>]*>")
_ABBREVIATION = re.compile(r"[A-Z0-9][A-Z0-9.&/-]+\Z")


def structure_questions(passages: Passages, text: str) -> Iterator[MadeQuestion]:
    """Yield what can be asked about a document's definitions, options and headings."""
    for definition in passages.definitions:
        yield from _about_definition(definition, text)
    for option in passages.options if passages.title else ():
        yield from _about_option(option, _named_as(passages.title, text))
    yield from _about_headings(passages)
    if passages.is_manual:
        yield from _about_command(passages.title, text)
    yield from _about_releases(text)
    yield from _about_copyright(text)


def _about_definition(definition: Definition, text: str) -> Iterator[MadeQuestion]:
    term = definition.term.strip(" .:：")
    is_chinese = has_unspaced_script(term)
    if not term or len(term.split()) > 5 or (len(definition.meaning.split()) < 2 and not is_chinese):
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
        if is_begun and not _WORD_GOES_ON.match(line[len(title) :]):
            return f"the command {title}"
    return title


def _about_option(option: Definition, title: str) -> Iterator[MadeQuestion]:
    """Ask what an option does, if its description begins with what is done and its name does not say it."""
    is_deed = _is_deed(option.meaning, f"{option.term} {title}")
    if is_deed and not _is_said(option.meaning, option.term) and _GLUED.match(option.term) is None:
        text = f"what does the option {option.term} of {title} do"
        yield MadeQuestion(text=text, place=option.place, answer=option.meaning, form="option")


def _is_said(description: str, name: str) -> bool:
    """Tell whether a name of several words says what its description does: ``--ignore-case``."""
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
    if re.search(r"\bman(?:ual)? page", what):
        return
    named = _named_as(title, text)
    if _is_deed(what, title, fewest=2) and not _is_said(what, title):
        asked = f"what does {named} do"
    elif re.match(r"(?:an?|the) ", what, re.I) and len(_new_words(what, title)) >= _FEWEST_NEW_WORDS:
        asked = f"what is {named}"
    else:
        return
    asked = asked if named != title else f"{asked} according to its manual page"
    place = Place(manual.start("name"), manual.end("what"), ())
    yield MadeQuestion(text=asked, place=place, answer=what, form="definition")


def _is_deed(text: str, name: str, *, fewest: int = _FEWEST_NEW_WORDS) -> bool:
    """Tell whether a description begins with what is done, and tells more than a name does.

    ``Name of the file`` and ``process viewer`` begin with nouns; ``Print the version`` tells nothing.
    """
    first, _, others = text.partition(" ")
    verb, following = first.casefold(), others.partition(" ")[0]
    return (
        (verb in VERBS or THIRD_PERSON.get(verb) in VERBS)
        and verb not in ("see", "be", "note")
        and (verb not in NOUNS_TOO or following in DETERMINERS | POSSESSIVES | {"or", "and"})
        and following not in PREPOSITIONS | BE
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
            yield MadeQuestion(
                text=f"what changed in {package}", place=place, answer=item, form="object", rank=1
            )
        yield MadeQuestion(
            text=f"when was {package} released",
            place=place,
            answer=entry["date"],
            form="time",
            kind="temporal",
            rank=1,
        )
        yield MadeQuestion(
            text=f"who released {package}", place=place, answer=entry["who"], form="person", rank=1
        )
    dated = [*_RELEASE.finditer(text), *_DATED_RELEASE.finditer(text)]
    times = Counter(each["version"] for each in dated)
    for each in dated if len(times) >= _FEWEST_VERSIONS else ():
        if times[each["version"]] == 1:
            place = Place(each.start("line"), each.end("line"), ())
            asked = f"when was version {each['version']} released"
            yield MadeQuestion(
                text=asked,
                place=place,
                answer=each["date"],
                form="time",
                kind="temporal",
                rank=1,
                needs_topic=True,
            )


def _about_copyright(text: str) -> Iterator[MadeQuestion]:
    """Ask whose files are, and under which licence, as machine-readable copyright files of Debian tell."""
    named = _UPSTREAM.search(text)
    if named is None:
        return
    for stanza in _FILES.finditer(text):
        files = " ".join(stanza["files"].split())
        holder = "; ".join(_EMAIL.sub("", each).rstrip(" ,;") for each in _holders(stanza["holder"]))
        if files == "*" or " " in files or not holder or _NO_HOLDER.search(holder):
            continue  # what holds for all has its exceptions
        is_one = "*" not in files and "?" not in files
        of = f"the file{'' if is_one else 's'} {files} of {named['name'].strip()}"
        place = Place(stanza.start(), stanza.end("license"), ())
        yield MadeQuestion(
            text=f"who holds the copyright of {of}", place=place, answer=holder, form="person", rank=1
        )
        licence = stanza["license"].strip()
        yield MadeQuestion(
            text=f"under which licence {'is' if is_one else 'are'} {of} distributed",
            place=place,
            answer=licence,
            form="object",
            rank=1,
        )


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
        if asked and passages.blocks[headings] == 1 and not points(f"{heading} {paragraph[0].text}"):
            place = Place(paragraph[0].place.start, paragraph[-1].place.end, headings)
            answer = " ".join(each.text for each in paragraph)
            text = _lowered(heading.rstrip("?？ "))
            yield MadeQuestion(text=text, place=place, answer=answer, form="heading", needs_topic=True)


def _lowered(words: str) -> str:
    """Return a heading as it is written within a sentence, if its capital is only that of a beginning."""
    first, _, rest = words.partition(" ")
    is_name = rest[:1].isupper() and not rest.startswith(("I ", "I'", "I’"))
    is_plain = first[:1].isupper() and first[1:].islower() and len(first) > 1 and not is_name
    return f"{first.lower()} {rest}".strip() if is_plain and rest else words
