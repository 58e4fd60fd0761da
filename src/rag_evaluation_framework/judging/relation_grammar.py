"""The words and sentence frames of relations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from rag_evaluation_framework.files import yaml_documents
from rag_evaluation_framework.judging.mentions import mentions
from rag_evaluation_framework.text.normalisation import alternatives, comparable
from rag_evaluation_framework.text.scripts import has_unspaced_script
from rag_evaluation_framework.text.spans import Span
from rag_evaluation_framework.text.tokens import pieces
from rag_evaluation_framework.text.vocabulary import stem

# The sentences by which a relation is said of two, in English and Chinese, and who is what to whom in
# each.
#
# They are read in clauses in which names, pronouns and words of the relation are single characters, the
# marks below: "mara is tobin's mentor" reads SUBJECT is OBJECT's ROLE. A frame says how the marks must
# stand to each other, so that nothing else can be the one who is meant: "the sister of Bob's mother" is
# no mother of Bob's. ``<a>`` has the role or does the deed, ``<b>`` is the one whose role it is or to
# whom it is done.

SUBJECT, OBJECT, PRONOUN, UNSAID, BOTH = "\ue000\ue001\ue002\ue003\ue004"
"""One of the ends, whom a pronoun stands for, who is left out at an edge of the clause, and "they"."""
ROLE, INVERSE_ROLE, VERB, INVERSE_VERB, MUTUAL, OWN = "\ue010\ue011\ue012\ue013\ue014\ue015"
"""The words of a relation by how they are read; ``OWN`` are those of a relation that is in no table."""
NOUNS, VERBS = f"{ROLE}{INVERSE_ROLE}{MUTUAL}{OWN}", f"{VERB}{INVERSE_VERB}{MUTUAL}{OWN}"
WORDS = f"{ROLE}{INVERSE_ROLE}{VERB}{INVERSE_VERB}{MUTUAL}{OWN}"

# Atomic, so that a run of these is read in one way only, however long it is.
_ADVERB = (
    r"(?>and|but|also|still|now|then|once|later|first|indeed|always|never|not|only|just|even|simply|again|soon"
    r"|already|in fact|for (?:\w+ )?years|in (?:the )?\d+s?|the (?:one|person)|who|that|which|himself|herself"
    r"|itself|would|will|may|might|could|can|did|does|do|has|have|had|is|was|are|were|been|being|be|\w+ly"
    r"|\w+n't)"
)
_BE = (
    r"(?:is|was|are|were|be|been|became|become|becomes|remains|remained|got|get)(?:n't)?"
    r"|(?:acts?|acted|serves|served|works|worked|known|regarded|seen|introduced|described) as"
)
# What may stand before a noun, and before a name: adjectives and titles, nothing that brings in another noun.
_PREPOSITION = r"(?:of|to|by|than|with|from|for|at|near|on|in|like|into|over|under|against)"
_OTHERS = rf"(?:{_PREPOSITION}|who|whom|that|which|when|where|how|is|was|are|were|has|had|but|or|nor|not)\b"
_WORD = rf"(?!{_OTHERS})[\w.-]+ "
_SOME = r"[^\sa-z,的\ue000-\ue015]"
_ZH_ADVERB = (
    r"(?>正式|曾经?|[也还又都既更才便就正只仅则却亦而并且但不没未]|一直|后来|现在|其实|确实|的确|应该|可能|似乎|好像|大概|也许|不仅|不只|不光"
    r"|不但|毕竟|终于|最终|最后|已经?|会|将|同时|本来|原来|原本|并且|而且|但是|亲自|长期|自幼|从小|并非|绝非|没有)"
)
_ZH_BE = "(?:是|为|乃|系|成为|成了|当上|当|做|作为|担任|叫做|名叫|名为|叫)[了过]?"
_ZH_ONE = r"(?:[1一][个位名对])?"
_ZH_WHEN = rf"(?:[在于]{_SOME}{{1,8}}|\d+年(?:\d+月(?:\d+日)?)?|[去今前]年)"
_ZH_FOND = (
    r"(?:自己|很|最|非常|十分|特别|多年|亲密|要好|忠实|真正|共同|唯一|重要|可靠|值得|亲生|深厚|真挚|第"
    r"|从小|自幼|一起|相识|青梅竹马|\d+年)"
)
# Who does something in a clause of its own inside this one: 看沈栖教导陆远舟.
_ZH_ANOTHER = "[是为很说看听见请让派命使问把被由对给向替]|认为|觉得|知道|讨厌|喜欢|之?[前后时](?!来)"

_ENDS = f"[{SUBJECT}{OBJECT}{PRONOUN}{UNSAID}]"
_HIS = f"{PRONOUN}(?:'s)? "
_PAIR = f"{ROLE}(?=.{{0,24}}{INVERSE_ROLE})|{INVERSE_ROLE}(?=.{{0,24}}{ROLE})"

# What the frames are made of; a part stands before those that it is made of itself.
_PARTS = {
    "<a>": f"(?P<a>{_ENDS})",
    "<b>": f"(?P<b>{_ENDS})",
    "<noun>": f"(?P<word>[{NOUNS}])",
    "<verb>": f"(?P<word>[{VERBS}])",
    "<one>": f"(?P<word>{_PAIR})",
    "<other>": f"[{ROLE}{INVERSE_ROLE}]",
    "<shared>": rf"(?P<word>{MUTUAL}|{OWN}(?=\W*\Z|的?关系| (?:in|for|since|with) )|{_PAIR})",
    # English: "was later", "has also", "old and dear", "Mr", "young prince"; then what is not followed by
    # anything that makes it somebody else: 's and "-in-law", a verb of its own, "with Carl".
    "<one who>": r"<is>(?!\w+ing )(?:an?|the) <adjectives>",
    "<who>": r"(?:who|that|which)<does> ",
    "<is>": rf"(?: {_ADVERB})* (?:{_BE})(?: {_ADVERB})* (?:one of )?",
    "<does>": rf"(?> and {_WORD[:-1]}| {_ADVERB})*",
    "<adjectives>": f"(?:{_WORD}){{0,5}}",
    "<mr>": r"(?:(?:mr|mrs|ms|dr|prof|king|queen|prince|princess|lord|lady|young|old|little|dear)\.? )*",
    "<title>": rf"(?:(?:{_HIS}(?=\w))?(?:(?!and\b){_WORD}){{0,2}}(?!{UNSAID})|[\w.-]+ and (?=.\W*\Z)|)",
    "<head>": r"(?!'s|-)(?! (?:is|was|are|were)\b)",
    "<alone>": r"(?!'s? \w|-)(?! (?:is|was|are|were)\b)",
    "<together>": r"(?!'s|-| (?:of|with|to) (?!each|one))",
    # Chinese: 之间有, 一直是, 的好, 很好的, 年轻的, 曾亲自; then what is followed by no 的 of its own.
    "<相>": f"(?:{_SOME}{{0,8}}?(?:[是为成有互做当]|存在|属于)了?<好>"
    f"|{_ZH_ADVERB}*(?:{_ZH_WHEN}{_ZH_ADVERB}*)?)",
    "<是>": f"{_ZH_ADVERB}*{_ZH_BE}{_ZH_ONE}",
    "<的>": f"(?:[的之]<好>|{_ZH_FOND}{_SOME}{{0,6}}的)",
    "<好>": f"{_ZH_ONE}(?:{_ZH_FOND}(?:{_SOME}|{MUTUAL}){{0,6}}的?)?{_SOME}{{0,4}}",
    "<名>": f"(?:(?:{_SOME}{{1,6}}的|{_SOME}{{0,2}})(?!{UNSAID})|)",
    "<曾>": f"(?:(?<={UNSAID}){_ZH_ADVERB}*|(?<!{UNSAID})(?>{_ZH_ADVERB}|(?!{_ZH_ANOTHER}){_SOME}){{0,10}})",
    "<独>": "(?!的(?!人|那)|之(?!间))",
    "<首>": "(?!的(?!关系)|之)",
}
_FRAMES = (
    # Mara is Tobin's old mentor; a mentor to Tobin; Tobin's mentor is Mara; the mentor of Tobin is Mara
    "<a><is><mr><b>'s <adjectives><noun><head>",
    r"<a><is>[\w' -]{1,40} and <mr><b>'s <adjectives><noun>(?=\W*\Z)",
    r"<a><is>(?!\w+ing )<adjectives><noun>(?: and [\w-]+)? (?:of|to|for|with|from) <title><b><alone>",
    "<b>'s <adjectives><noun>(?:<is><title>|,? (?:named |called )?<mr>|: ?)<a><alone>",
    "(?<!of )(?<!of the )<noun> (?:of|to|for) <title><b><is><title><a><alone>",
    # Mara, Tobin's mentor; Tobin, a student of Mara; Acme founder Ann
    "<a>[ ,:(]+<b>'s <adjectives><noun><head>",
    "<a>[ ,:(]+<adjectives><noun> (?:of|to|for|with) <title><b><alone>",
    f"<b> (?P<word>[{ROLE}{INVERSE_ROLE}]),? <a><alone>",
    # Tobin, whose mentor is Mara; Mara and her son are friends of Tobin; a mentor (Mara) and a pupil (Tobin)
    "<b>,? whose <adjectives><noun><is><title><a><alone>",
    rf"<a> and (?:{_HIS})?(?:(?!and\b){_WORD}){{1,4}}(?:are|were) "
    "<adjectives><noun> (?:of|to|for|with) <title><b><alone>",
    r"<one> \(<a>\),? and <adjectives><other> \(<b>\)",
    # Tobin has a mentor named Mara; Mara took Tobin as her apprentice
    "<b><does> (?:has|have|had|got|found|made) <adjectives><noun>,? ?(?:named |called |in |: )?<a><alone>",
    "<b><does> (?:(?:call|consider|regard|count|treat)(?:s|ed)?|sees|saw|takes|took|made) <a> (?:on )?"
    f"(?:as )?(?:one of )?(?:{PRONOUN}'s )?<adjectives><noun><head>",
    # Mara is the teacher and Tobin the pupil; 闻伯是师父，陆远舟是徒弟
    "<a><is><adjectives><one>(?:,? and|,|,? while) <b>(?:<is>| )<adjectives><other>",
    "<a><是><好><one>,?而?<b><是><好><other>",
    # Mara taught Tobin; Tobin was taught by Mara; Tobin is whom Mara taught
    rf"<a><does> <verb>(?: (?!by\b){_PREPOSITION})? <title><b><alone>",
    r"<b><does> <verb>(?: (?!by\b)\w+){0,3} by <title><a><alone>",
    # Mara is the sailor who taught Tobin; Tobin is a sailor taught by Mara, who was taught by Mara
    rf"<a><one who><who><verb>(?: (?!by\b){_PREPOSITION})? <title><b><alone>",
    r"<b><one who>(?:<who>)?<verb>(?: (?!by\b)\w+){0,3} by <title><a><alone>",
    r"<b>(?:<is>(?:[\w-]+ ){0,4}?| )(?:(?:that|which|whom?) )?<a><does> <verb>\W*\Z",
    # 闻伯是陆远舟的师父；陆远舟的师父是闻伯；闻伯，陆远舟的师父
    "<a><是><b><的><noun><首>",
    "<b><的><noun>(?:(?:<是>|[:(有]|包括)<名>|)<a><独>",
    f"<a>[,(:]?<b><的><noun>(?!的|之|{_ZH_ADVERB}*{_ZH_BE})",
    # 陆远舟有个师父叫闻伯；陆远舟把闻伯当作师父
    f"<b>{_ZH_ADVERB}*(?:有|收了?|找到)了?<好><noun>(?:<是>|[:,])?<a><独>",
    "<b><曾>[把将视称当尊认奉拜收任聘请]<a>(?:视为|视作|当作|当成|看作|看成|称为|称作|[为作做当])"
    f"(?:{PRONOUN}的?|自己的?)?<好><noun><首>",
    # 闻伯教导过陆远舟；陆远舟由闻伯教导；闻伯对陆远舟悉心教导；陆远舟是闻伯教导的
    "<a><曾><verb>[了过着给到于向在住上起]{0,2}<名><b><独>",
    f"<b>{_SOME}{{0,8}}(?:被|由|受到?|遭到?|经|为)<名><a>所?<曾><verb>",
    "<a><曾>[把将对给向为替]<b><曾><verb>",
    f"<b>{_ZH_ADVERB}*是<a><曾><verb>了?的",
)
_FRAMES_OF_BOTH = (
    # Ann and Bob are good friends, not only rivals but also friends; they share a friendship; the friendship
    # between Ann and Bob
    f"(?:<a> (?:and|&) <b>|{BOTH}|\\A{UNSAID})<is>(?!\\w+ing )"
    "(?:<adjectives>[\\w-]+,? but also )?<adjectives><shared><together>",
    f"(?:<a> (?:and|&) <b>|{BOTH})<does> (?:(?:have|had|shared?|formed) <adjectives>)?<shared><together>",
    f"<shared> (?:\\w+ ){{0,2}}between (?:<a> and <b>|{BOTH})",
    r"between <a> and <b>[\w ]{0,30}<shared>",
    # 恰斯卡和卡齐娜是很好的朋友；她们之间有友谊；是朋友
    f"(?:<a>(?:和|与|跟|同|及|以及|、)<b>|{BOTH})(?:之间的?|[两二]人|俩)?(?:的关系)?<相><shared><首>",
    f"\\A{UNSAID}<是><好><shared><首>",
)


@dataclass(frozen=True, slots=True)
class Statement:
    """A word of a relation and of whom it is said: ``first`` is it or does it to ``second``, or both are it.

    ``start`` is where the mark of the word stands, ``text`` the words from the one to the other.
    """

    word: str
    start: int
    text: str
    first: str = ""
    second: str = ""
    is_deed: bool = False


@cache
def _compiled(frame: str) -> re.Pattern[str]:
    for part, pattern in _PARTS.items():
        frame = frame.replace(part, pattern)
    return re.compile(frame)


def statements(marked: str) -> Iterator[Statement]:
    """Yield what a marked clause says of two."""
    for frame in _FRAMES:
        for found in _compiled(frame).finditer(marked):
            first, second = found["a"], found["b"]
            if first != second or first == PRONOUN:
                is_deed = "<verb>" in frame
                yield Statement(found["word"], found.start("word"), found[0], first, second, is_deed)
    for frame in _FRAMES_OF_BOTH:
        for found in _compiled(frame).finditer(marked):
            ends = found.groupdict()
            if ends.get("a") is None or ends["a"] != ends["b"]:
                yield Statement(found["word"], found.start("word"), found[0])


# The relations that golden sets name, and the words by which answers express each.
#
# The words are data (``data/relations.yaml``). ``friend_of``, ``is_friend_of``, ``friends_with`` and
# ``friendOf`` are one relation. A relation that is not in the table is expressed by its own words only,
# ``sworn_sister_of`` by "sworn sister", ``advisor_of`` by "advises" too, ``sued`` by "sues", and
# ``sued_by`` from the other end; it may be written in the words of the answers, 结义姐妹, or as several,
# 结义姐妹/sworn_sister_of.

_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_AROUND = re.compile(r"\A(?:is|are|was|were|has|have)_(?=.)|(?<=.)_(?:of|with|to|by|for|from|in|on|at)\Z")
_PASSIVE = re.compile(r"(?<=.)_by\Z|\A被(?=.)")
# 拜_为师 has its object inside.
_GAP = "_"
_WIDEST_GAP = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationWords:
    """How one relation is said; ``inverted`` where the triple's name tells it from the object's end."""

    mutual: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    inverse_roles: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    inverse_verbs: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    inverted: bool = False
    is_known: bool = True

    @property
    def has_direction(self) -> bool:
        return bool(self.roles or self.inverse_roles or self.verbs or self.inverse_verbs or self.own)

    @property
    def marks(self) -> Iterator[tuple[str, str]]:
        """Yield each word with the mark that says how it is read."""
        for words, mark in (
            (self.mutual, MUTUAL),
            (self.verbs, VERB),
            (self.inverse_verbs, INVERSE_VERB),
            (self.roles, ROLE),  # after the verbs: "mentors" does, and is only then a plural
            (self.inverse_roles, INVERSE_ROLE),
            (self.own, OWN),
        ):
            yield from ((word, mark) for word in words)

    @property
    def all(self) -> tuple[str, ...]:
        return tuple(word for word, _ in self.marks)

    def found_in(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Yield where a comparable text has one of the words, and its mark.

        A word inside a longer one that says another relation is not found: no mother in "mother-in-law".
        """
        for word, mark in self.marks:
            before, _, after = word.partition(_GAP)
            for found in self._mentions(text, before, mark):
                if after:
                    end = text.find(after, found.end, found.end + _WIDEST_GAP)
                    if end > found.end:
                        yield found.start, found.end, mark
                        yield end, end + len(after), ""
                elif not _is_in_longer(text, found, word, self):
                    yield found.start, found.end, mark

    @staticmethod
    def _mentions(text: str, word: str, mark: str) -> Iterator[Span]:
        return _mentions_by_stem(text, word) if mark == OWN else mentions(text, word)


def words_of_relation(relation: str) -> list[RelationWords]:
    """Return the ways to say a relation: the table's, or its own words; "A/B" has those of either."""
    names = alternatives(relation.strip()) if "/" in relation else [relation.strip()]
    found = [words for name in names for words in _ways(name)]
    return [words for words in found if words.is_known] or found


@lru_cache(maxsize=256)
def relations_said(text: str) -> tuple[RelationWords, ...]:
    """Return the relations of the table one of whose words a comparable text has."""
    return tuple(words for words in _table()[1] if next(words.found_in(text), None))


def _ways(name: str) -> Iterator[RelationWords]:
    by_name, _ = _table()
    whole = _even(name)
    bare = _AROUND.sub("", whole)
    candidates = (whole, bare, _AROUND.sub("", bare))
    known = next((by_name[each] for each in candidates if each in by_name), None)
    if known is not None:
        yield from known
        return
    own = (comparable(_PASSIVE.sub("", bare).replace("_", " ")),)
    if whole.endswith("_of"):
        yield RelationWords(roles=own, verbs=_deeds(own[0]), is_known=False)
    else:
        yield RelationWords(own=own, inverted=_PASSIVE.search(whole) is not None, is_known=False)


def _deeds(role: str) -> tuple[str, ...]:
    """Return what the verb of a role may be, where it has one: an advisor advises, a sponsor sponsored.

    >>> _deeds("advisor"), _deeds("heir")
    (('adviss', 'advises', 'advised', 'advisored'), ())
    """
    if not role.endswith(("er", "or")):
        return ()
    return (*(f"{role[:-2]}{ending}" for ending in ("s", "es", "ed")), f"{role}ed")


def is_told_in(words: RelationWords, answer: str) -> bool:
    """Tell whether a relation has words in the script of a comparable answer, or could where it has none."""
    scripts = {has_unspaced_script(character) for character in answer if character.isalpha()}
    return not scripts or any(has_unspaced_script(word[0]) in scripts for word in words.all if word)


def _mentions_by_stem(text: str, name: str) -> Iterator[Span]:
    """Yield where a text has a name in any inflection; Chinese has none."""
    if has_unspaced_script(name[:1] or " "):
        yield from mentions(text, name)
        return
    wanted = [stem(piece.text) for piece in pieces(name)]
    found = list(pieces(text))
    for first in range(len(found) - len(wanted) + 1 if wanted else 0):
        window = found[first : first + len(wanted)]
        if [stem(piece.text) for piece in window] == wanted:
            yield Span(window[0].start, window[-1].end)


def _is_in_longer(text: str, found: Span, word: str, way: RelationWords) -> bool:
    return any(
        longer.holds(found)
        for other in _longer_words(word)
        if other not in way.all
        for longer in mentions(text, other)
    )


@lru_cache(maxsize=1024)
def _longer_words(word: str) -> tuple[str, ...]:
    _, listed = _table()
    return tuple({other for way in listed for other in way.all if word in other and word != other})


def _even(name: str) -> str:
    separated = _CAMEL.sub("_", name.strip())
    return re.sub(r"[\s_-]+", "_", comparable(separated)).strip("_")


@cache
def _table() -> tuple[dict[str, list[RelationWords]], list[RelationWords]]:
    """Return the relations by each of their names, and all of them, not inverted."""
    place = files(__package__) / "data" / "relations.yaml"
    by_name: dict[str, list[RelationWords]] = {}
    listed: list[RelationWords] = []
    for entry in yaml_documents.decode(place.read_text(encoding="utf-8"), file=place.name):
        words = RelationWords(
            mutual=_words(entry, "mutual"),
            roles=_words(entry, "roles"),
            inverse_roles=_words(entry, "inverse_roles"),
            verbs=_words(entry, "verbs"),
            inverse_verbs=_words(entry, "inverse_verbs"),
        )
        listed.append(words)
        for kind, inverted in (("names", False), ("inverse_names", True)):
            for name in entry.get(kind, ()):
                by_name.setdefault(_even(name), []).append(replace(words, inverted=inverted))
    return by_name, listed


def _words(entry: dict[str, Any], kind: str) -> tuple[str, ...]:
    words: Iterable[str] = entry.get(kind, ())
    return tuple(comparable(word) for word in words)
