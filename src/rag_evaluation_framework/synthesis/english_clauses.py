"""A shallow reading of English sentences, with its words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

# The English words that making questions needs: verbs with their forms, function words, units, other
# words.
#
# The verbs are the common ones of manuals, rules, reports and encyclopedias. A sentence whose verb is not
# among them is asked about in another way, or not at all.


def word_set(text: str) -> frozenset[str]:
    """Return the words of a list that is written as one text."""
    return frozenset(text.split())


_REGULAR = """
accept access achieve acquire act adapt add adjust adopt advise affect agree aid aim allow alter announce
answer appear apply appoint approach approve argue arrange arrive ask assess assign assist associate assume
attach attack attempt attend attract award base become begin belong bend bind bite bleed block blow board
borrow break breed bring build burn buy calculate call cancel capture care carry cast catch cause cease
change charge check choose claim clean clear climb close collect come command comment compare compete
complain complete comprise concern conclude conduct confirm connect consider consist constitute construct
contain continue contribute control convert convey convince cook copy correspond cost count cover crash
create cross cut deal decide declare decline decrease define delay deliver demand demonstrate deny depart
depend derive describe design destroy detect determine develop die differ dig direct disappear discover
discuss display distinguish distribute divide double draw drink drive drop earn eat elect eliminate emerge
emit employ empty enable encounter encourage end enforce engage enjoy ensure enter establish estimate
evaluate examine exceed exclude execute exist expand expect expire explain export expose express extend face
facilitate fail fall feature feed feel fetch fight fill find finish fit fix flow fly follow force forget
form found freeze function gain gather generate get give go govern grant grow guarantee guide hand handle
hang happen hear help hide hire hold host house hurt identify ignore illustrate impose improve include
incorporate increase indicate influence inform inherit initiate inspect install introduce invent invest
investigate invite involve issue join keep kill know lack last launch lay lead learn leave lend let lie
light limit link list live load locate lock look lose lower maintain make manage manufacture mark match mean
measure meet mention merge mix modify monitor mount move name need note notice notify obtain occupy occur
offer open operate oppose order organise organize originate overlap own paint participate pass pay perform
permit pick place plan play point possess post practice practise predict prefer prepare prescribe present
preserve press prevent print proceed process produce prohibit promise promote propose protect prove provide
publish pull purchase pursue push put qualify quote raise range reach react read receive recognise recognize
recommend record recover reduce refer reflect refund refuse regard register regulate reject relate release
rely remain remove renew rent repair repay repeat replace reply report represent request require rescue
research reserve reside resist resolve respond rest restore restrict result retain retire retrieve return
reveal revise ride ring rise rotate run sail save say scale schedule search see seek select sell send
separate serve set settle shake share shift shine ship shoot shorten show shrink shut sign simplify sing
sink sit slide solve sound span speak specify spend spread stand start state stay steal steer stem stick
stop store strengthen strike study submit succeed suffer suggest supply support surround survive suspend
swear sweep swim switch take talk target teach tear tell tend terminate test think throw touch trace track
trade train transfer transform translate transmit transport travel treat trigger try turn undergo understand
undertake update upgrade use utilise utilize vary verify visit vote wait walk want warn wash watch wear
weigh win withdraw work write yield
"""

_IRREGULAR: Mapping[str, tuple[str, str]] = {
    base: (past, participle)
    for base, past, participle in (
        line.split()
        for line in """
become became become;begin began begun;bend bent bent;bind bound bound;bite bit bitten;bleed bled bled
blow blew blown;break broke broken;breed bred bred;bring brought brought;build built built
burn burnt burnt;buy bought bought;cast cast cast;catch caught caught;choose chose chosen;come came come
cost cost cost;cut cut cut;deal dealt dealt;dig dug dug;draw drew drawn;drink drank drunk
drive drove driven;eat ate eaten;fall fell fallen;feed fed fed;feel felt felt;fight fought fought
find found found;fly flew flown;forget forgot forgotten;freeze froze frozen;get got got;give gave given
go went gone;grow grew grown;hang hung hung;hear heard heard;hide hid hidden;hold held held;hurt hurt hurt
keep kept kept;know knew known;lay laid laid;lead led led;learn learnt learnt;leave left left
lend lent lent;let let let;lie lay lain;light lit lit;lose lost lost;make made made;mean meant meant
meet met met;overlap overlapped overlapped;pay paid paid;put put put;read read read;repay repaid repaid
ride rode ridden;ring rang rung;rise rose risen;run ran run;say said said;see saw seen;seek sought sought
sell sold sold;send sent sent;set set set;shake shook shaken;shine shone shone;shoot shot shot
shrink shrank shrunk;shut shut shut;sing sang sung;sink sank sunk;sit sat sat;slide slid slid
speak spoke spoken;spend spent spent;spread spread spread;stand stood stood;steal stole stolen
stick stuck stuck;strike struck struck;swear swore sworn;sweep swept swept;swim swam swum;take took taken
teach taught taught;tear tore torn;tell told told;think thought thought;throw threw thrown
undergo underwent undergone;understand understood understood;undertake undertook undertaken;wear wore worn
win won won;withdraw withdrew withdrawn;write wrote written
""".replace("\n", ";")
        .strip(";")
        .split(";")
    )
}

_DOUBLING = word_set(
    "drop fit plan refer ship stem stop step submit transfer trigger permit control travel cancel"
)
# One -p- and -l- less in some forms, and no doubling where the stress is elsewhere.
_NO_DOUBLING = word_set("trigger")


def third_person(base: str) -> str:
    """Return the form of he, she and it: ``carries``."""
    if base.endswith(("s", "x", "z", "ch", "sh", "o")):
        return base + "es"
    if base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "ies"
    return base + "s"


def past_of(base: str) -> str:
    """Return the past: ``carried``, ``took``."""
    if base in _IRREGULAR:
        return _IRREGULAR[base][0]
    if base.endswith("e"):
        return base + "d"
    if base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "ied"
    if base in _DOUBLING and base not in _NO_DOUBLING:
        return base + base[-1] + "ed"
    return base + "ed"


VERBS = word_set(_REGULAR)
THIRD_PERSON: Mapping[str, str] = {third_person(base): base for base in sorted(VERBS)}
PAST: Mapping[str, str] = {past_of(base): base for base in sorted(VERBS)}
PARTICIPLES = frozenset(
    [*(past_of(base) for base in VERBS), *(_IRREGULAR[base][1] for base in _IRREGULAR), "been", "done", "had"]
)

NOUNS_TOO = word_set(
    "access act aid aim answer approach attack attempt award base block board break call care cause "
    "change charge check claim command comment concern control copy cost count cover crash cross cut "
    "deal delay demand design display draw drive drop end estimate export face feature feed fight fit "
    "flow fly force form found function gain grant guide hand help hire hold host house increase "
    "influence issue lack lead limit link list load lock look mark match measure mention mix mount move "
    "name need note notice offer open order own paint pass pay pick place plan play point post present "
    "press process produce promise pull purchase push quote raise range reach record refund release "
    "rent repair reply report request rescue research reserve result return rise run sail save scale "
    "schedule search set share shift ship show sign sound span spread stand start state stay stem stop "
    "store strike study supply support survey switch talk target test touch trace track trade train "
    "transfer transport travel try turn update upgrade use visit vote wait walk want wash watch wear "
    "work yield last blow drink light ring ride stick tear bite hurt lower lie empty clear clean close "
    "double separate complete direct live fill"
)
"""Verbs whose forms are nouns or adjectives as often: they are verbs only in the right company."""

BE = word_set("is are was were")
MODALS = word_set("can could may might must shall should will would cannot")
DETERMINERS = word_set(
    "a an the this that these those each every all some any no both either neither another such several "
    "many most few other one two three four five six seven eight nine ten twelve"
)
POSSESSIVES = word_set("my your his her its our their")
PRONOUNS = word_set("he she it they we you i this these those there one ones him them us me who which that")
PREPOSITIONS = word_set(
    "about above across after against along among around as at before behind below beneath beside "
    "besides between beyond by despite down during except for from in inside into like near of off on "
    "onto out outside over per past since through throughout to toward towards under underneath until "
    "up upon via with within without than"
)
CONJUNCTIONS = word_set(
    "and or but nor so yet while whereas because although though if when unless until whether"
)
RELATIVES = word_set("that which who whose whom where when")
ADVERBS = word_set(
    "also always already currently generally normally often only originally still then therefore "
    "typically usually mainly mostly never now sometimes first finally later just even again soon once "
    "twice daily weekly monthly not"
)

NUMBER_WORD = (
    r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen"
    r"|eighteen|nineteen|(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:-(?:one|two|three|four|five|six"
    r"|seven|eight|nine))?|(?:a |one |two |three )?(?:hundred|thousand|million|billion))"
)
MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December"
    r"|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)"
)
WEEKDAY = r"(?:Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)s?"
TIME_UNIT = r"(?:seconds?|minutes?|hours?|days?|nights?|weeks?|months?|years?|decades?|centuries|seasons?)"


# A shallow reading of English sentences: where the subject ends and the verb begins.
#
# There is no grammar here beyond word lists, so a sentence is read only where they leave no doubt: one
# finite verb, a short subject without clauses of its own. Everything else is left to rules that need no
# verb.

_TOKEN = re.compile(r"[^\W_]+(?:[-'’.:,/][^\W_]+)*%?|[^\w\s]")
_LONGEST_SUBJECT = 9
_LOOK_AHEAD = 8
_NO_SUBJECTS = (
    PREPOSITIONS | CONJUNCTIONS | {"what", "who", "where", "how", "why", "which", "not", "then", "either"}
) - {"both", "past"}
_PLURAL_NOUNS = frozenset({"people", "children", "men", "women", "staff", "crew", "police", "both"})
_PLURAL_PRONOUNS = frozenset({"we", "you", "they", "these", "those", "i", "both"})
# What opens a sentence and is no part of its subject.
_LEAD = re.compile(
    r"(?:(?:In|On|At|From|By|During|With|For|Under|Since|Before|After|Until|Between|Within|Every|Each|Once"
    r"|Above|Below|Over|Through|Throughout|As of|As a result of|According to|Depending on|Today|Now|Here"
    r"|However|Therefore|Instead|Otherwise|Moreover|Furthermore|Additionally|Also|Then|Finally|Originally"
    r"|Initially|Currently|Usually|Normally|Typically|Generally|Often|Sometimes|Similarly|Consequently"
    r"|Meanwhile|Nevertheless|Nonetheless|Thus|Hence|Historically)\b[^,;:.]{0,60},\s+"
    r"|(?:In|Since|By|From) (?:\d{4})\s+)"
)


@dataclass(frozen=True, slots=True)
class Clause:
    """``lead`` + ``subject`` + ``auxiliary`` or ``verb`` + ``rest``; ``verb`` is the base form.

    Of ``must be claimed within 28 days`` the auxiliary is ``must`` and the rest begins with ``be claimed``.
    """

    lead: str
    subject: str
    auxiliary: str
    verb: str
    form: str
    rest: str
    is_negated: bool = False

    @property
    def is_plural(self) -> bool:
        """Whether the subject is plural, as far as its words tell."""
        return self.auxiliary in ("are", "were") or self.form == "plain" or is_plural(self.subject)

    def question(self, wh: str = "", *, rest: str | None = None) -> str:
        """Return the clause with its verb before the subject, after a question word or by itself."""
        tail = self.rest if rest is None else rest
        if self.auxiliary:
            words = [wh, self.auxiliary, self.subject, tail]
        else:
            words = [wh, self.support, self.subject, self.verb, tail]
        return " ".join(" ".join(words).split())

    @property
    def support(self) -> str:
        """The form of *do* that a question without auxiliary needs."""
        if self.form == "past":
            return "did"
        return "does" if self.form == "third" else "do"

    @property
    def finite(self) -> str:
        """The verb as it stands after the subject, for a question about the subject."""
        if self.auxiliary:
            return self.auxiliary
        if self.form == "past":
            return "had" if self.verb == "have" else past_of(self.verb)
        return "has" if self.verb == "have" else third_person(self.verb)


def clause_of(text: str, known: frozenset[str] = frozenset()) -> Clause | None:
    """Read a main clause without its final mark; ``None`` if it is not clear which word is the verb.

    ``known`` are the words that occur without a capital, and so are no names.

    >>> clause = clause_of("A lost card cannot be replaced")
    >>> clause.question()
    'can a lost card be replaced'
    """
    lead = _LEAD.match(text)
    begin = lead.end() if lead is not None else 0
    opening = text[:begin].strip(" ,")
    tokens = [(match[0], match.start(), match.end()) for match in _TOKEN.finditer(text, begin)]
    words = [token[0].casefold() for token in tokens]
    place = _verb_place(words)
    if place is None or words[0] in _NO_SUBJECTS or (place == 1 and _is_bare(tokens[0][0], words, known)):
        return None
    word = words[place]
    # A plural before its verb, as in "Dogs are", is no name.
    is_noun = place == 1 and is_plural(words[0]) and (word in VERBS or word in ("are", "were", "have"))
    subject = cased(text[tokens[0][1] : tokens[place - 1][2]], known | {words[0]} if is_noun else known)
    after = place + 1
    is_negated = word == "cannot"
    while after < len(words) and words[after] in ("not", "never"):
        is_negated = True
        after += 1
    rest = text[tokens[after][1] :] if after < len(tokens) else ""
    if is_auxiliary(words, place):
        if word in ("does", "do", "did"):
            base = words[after] if after < len(words) else ""
            following = text[tokens[after + 1][1] :] if after + 1 < len(tokens) else ""
            form = {"does": "third", "do": "plain", "did": "past"}[word]
            return Clause(opening, subject, "", base, form, following, is_negated) if base else None
        auxiliary = "can" if word == "cannot" else word
        return Clause(opening, subject, auxiliary, "", "", rest, is_negated)
    base, form = verb_form(word)
    return Clause(opening, subject, "", base, form, rest, is_negated)


def cased(phrase: str, known: frozenset[str] = frozenset()) -> str:
    """Return a phrase from a sentence's beginning as it stands within one: names keep their capitals.

    >>> cased("Rafts of Guillemot", frozenset({"rafts"}))
    'rafts of Guillemot'
    """
    first, _, others = phrase.partition(" ")
    lowered = first.casefold()
    is_common = lowered in DETERMINERS | POSSESSIVES | PRONOUNS | PREPOSITIONS | CONJUNCTIONS | ADVERBS
    # A name of several words has capitals in the others too, and a made-up one within: "LangSmith".
    is_name = (others[:1].isupper() and not is_common) or first[1:] != first[1:].lower()
    if lowered != "i" and not is_name and (is_common or lowered in known):
        first = first[0].lower() + first[1:]
    return f"{first} {others}".strip()


def is_plural(noun: str) -> bool:
    """Tell whether a noun phrase is plural, by the last word before what qualifies it."""
    words = noun.casefold().split()
    head = next((place for place, word in enumerate(words) if place and word in PREPOSITIONS), len(words))
    last = words[head - 1]
    return (
        " and " in noun
        or last in _PLURAL_NOUNS
        or (last.endswith("s") and not last.endswith(("ss", "us", "is", "'s", "’s")))
    )


def _is_bare(first: str, words: list[str], known: frozenset[str]) -> bool:
    """Tell whether a noun without article stands before what may be a noun too: ``Short answers for``."""
    base = THIRD_PERSON.get(words[1]) or PAST.get(words[1])
    return base in NOUNS_TOO and first.casefold() in known and first.casefold() not in PRONOUNS


def is_auxiliary(words: list[str], place: int) -> bool:
    """Tell whether the verb at a place is an auxiliary, or *be*, which moves like one."""
    word = words[place]
    if word in BE or word in MODALS:
        return True
    following = next((each for each in words[place + 1 :] if each not in ADVERBS), "")
    if word in ("has", "have", "had"):
        return following in PARTICIPLES or (following.endswith("ed") and len(following) > 4)
    negated = words[place + 1 : place + 2] == ["not"]
    return word in ("does", "do", "did") and negated and following in VERBS | {"have"}


def verb_form(word: str) -> tuple[str, str]:
    """Return the base of a finite form, and which form it is: third, past or plain."""
    if word in ("has", "have", "had"):
        return "have", {"has": "third", "have": "plain", "had": "past"}[word]
    if word in THIRD_PERSON:
        return THIRD_PERSON[word], "third"
    if word in VERBS:
        return word, "plain"
    return PAST[word], "past"


def _verb_place(words: list[str]) -> int | None:
    for place in range(1, min(len(words), _LONGEST_SUBJECT + 1)):
        word = words[place]
        if word in RELATIVES or word in CONJUNCTIONS - {"and", "or"} or not word[0].isalnum():
            return None
        if is_auxiliary(words, place):
            return place
        if _is_finite(words, place):
            return None if _is_doubtful(words, place) else place
    return None


def _is_finite(words: list[str], place: int) -> bool:
    word, before = words[place], words[place - 1]
    after = words[place + 1] if place + 1 < len(words) else ""
    if before in DETERMINERS | POSSESSIVES | PREPOSITIONS:
        return False
    if word in ("has", "have", "had"):
        return True
    base = THIRD_PERSON.get(word) or PAST.get(word) or (word if word in VERBS else None)
    if base is None:
        return False
    if base in NOUNS_TOO and (after in BE | MODALS | {"of", "has", "have", "had"} or not after):
        return False
    if word in VERBS and word not in PAST:
        return before in _PLURAL_PRONOUNS or (
            before.endswith("s") and not before.endswith(("ss", "us", "is", "'s", "’s"))
        )
    if word in THIRD_PERSON:
        # "School visits are up": a plural noun is followed by another verb.
        return not any(each in BE | MODALS for each in words[place + 1 : place + 3])
    return True


def _is_doubtful(words: list[str], place: int) -> bool:
    """Tell whether a past form may be a participle: ``cards sold before April keep …`` has another verb."""
    if words[place] not in PAST or words[place] in THIRD_PERSON:
        return False
    following = words[place + 1] if place + 1 < len(words) else ""
    if words[place] in VERBS or following == "by":  # cut, put, read: present or past
        return True
    for later in range(place + 1, min(len(words), place + _LOOK_AHEAD)):
        if words[later] in CONJUNCTIONS | RELATIVES or not words[later][0].isalnum():
            return False
        if is_auxiliary(words, later) or (words[later] in VERBS - NOUNS_TOO and words[later - 1] != "to"):
            return True
        if _is_finite(words, later) and words[later] not in PAST:
            return True
    return False


# What can be asked for in a sentence: times, quantities, places, reasons, as patterns.

_THOUSANDS = r"(?: (?:hundred|thousand|million|billion|trillion)\b)?"
_NUMBER = rf"(?:[£$€¥]\s?)?(?:\d[\d,.]*\d|\d|\b{NUMBER_WORD}\b){_THOUSANDS}"
_ABOUT = (
    r"(?:(?:at least|at most|no more than|no less than|no longer than|up to|about|around|some|only|exactly"
    r"|over|more than|less than|fewer than|nearly|almost|approximately|an average of) )?"
)
_SPELL = rf"{_ABOUT}{_NUMBER} (?:(?:working|calendar|consecutive|full|whole|more|short|long) )?{TIME_UNIT}\b"
_CLOCK = r"\d{1,2}:\d\d(?: ?[ap]\.?m\.?)?|\d{1,2}(?:\.\d\d)? ?[ap]\.?m\.?"
_DATE = (
    rf"(?:{_CLOCK}|(?:\d{{1,2}} )?{MONTH}\b(?: \d{{1,2}}(?:st|nd|rd|th)?\b)?(?:,? \d{{4}})?"
    rf"|[12]\d{{3}}s?\b|{WEEKDAY}\b"
    r"|(?:the )?(?:early |late )?(?:spring|summer|autumn|winter)(?: of \d{4})?(?! \w+days?\b))"
)

DATED = re.compile(
    rf"\b(?P<preposition>in|on|at|from|since|until|by|before|after|between|during) "
    rf"{_DATE}(?: (?:and|to|or|until) {_DATE})?"
)
OFTEN = re.compile(
    rf"\b(?:in )?every (?:{_NUMBER} |second |other |third )?{TIME_UNIT}\b(?: of the \w+)?"
    rf"|\b(?:once|twice|{_NUMBER} times) (?:a|an|every|each|per) \w+"
)
LASTING = re.compile(rf"\bfor {_SPELL}")
SPELL = re.compile(rf"{_SPELL}(?! (?:before|after|ahead|late|early|old|in\b))")
TAKES_TIME = frozenset({"last", "take", "need", "run", "wait", "stay", "spend", "require", "remain", ""})
"""Verbs whose object may be a length of time; the empty one is *be*."""
WITHIN = re.compile(rf"\b(?:within|inside) {_SPELL}(?: of [\w ]+)?")
BEFORE = re.compile(
    rf"\b{_SPELL} "
    r"(?:(?P<order>before|after) (?P<event>[\w' -]+)|(?P<ahead>ahead|in advance|late|early|old)\b)"
)
QUANTITY = re.compile(
    rf"(?P<verb>(?:be |been )?[a-z]+ )?(?P<number>{_ABOUT}{_NUMBER})(?![\d%])"
    r"(?P<noun>(?: [a-z][\w-]*){0,4})(?P<tail>.*)",
    re.S,
)
MONEY = re.compile(r"[£$€¥]|\d\.\d\d\b")
CHANGED = re.compile(
    r"\b(?:lowered|raised|shortened|lengthened|extended|increased|reduced|cut|changed|goes|went|rose|fell|grew"
    r"|dropped|rises|falls|risen|fallen|grown)\b [\w %]*?(?P<change>from [^,;]+? to [^,;]+)"
)
PLACE = re.compile(
    r"(?P<verb>(?:be |been )?(?:kept|stored|located|found|situated|shown|printed|held|sold|made|placed|fitted"
    r"|displayed|recorded|posted|parked|hung|built|buried|published|born|issued) )?"
    r"(?P<place>(?:in|at|on|under|beside|behind|outside|inside|near|next to|opposite|below|above|between"
    r"|along|off) (?:the|a|an|its|our|your|their|each|either|[A-Z])[^,;]*)\Z"
)
PURPOSE = re.compile(
    r"\s(?:in order )?to (?=(?:keep|avoid|prevent|protect|ensure|reduce|increase|allow|make|save|improve|help"
    r"|enable|support|stop|let|cover|meet|give|show|find|maintain|provide)\b)"
)
TAKES_INFINITIVE = word_set(
    "able likely unlikely supposed allowed used required expected essential important necessary possible "
    "easy hard going ready willing free due made asked told want wants need needs have has had trying"
)
"""Words after which *to* does not introduce a purpose."""
MANNER = re.compile(r"\bby (?P<how>\w+ing\b[^,;]*)")
SUPERLATIVE = re.compile(r"the (?:\w{2,}est|most|least|only|first|last|main|best|worst)\b \w+ \w+")
PERSON = re.compile(
    r"(?:Mr|Mrs|Ms|Dr|Prof|Professor|Captain|Sir|Lady|President|King|Queen|Pope|Saint)\b"
    r"|.*\b(?:manager|director|master|officer|captain|keeper|warden|curator|engineer|president|minister|king"
    r"|queen|teacher|author|scientist|chair(?:man|woman|person)?|crew|staff|team|committee|board|council"
    r"|superintendent|driver|doctor|nurse|secretary|treasurer|inspector|owner|editor|founder|emperor|general|researchers?"
    r"|scholars?|passengers?|visitors?|members?|students?|employees?|users?|customers?)\Z",
    re.I,
)
OPENING_CLAUSE = re.compile(
    r"(?P<word>If|When|Whenever|Once(?! (?:a|an|every|each|per|in)\b)|Because|Where|As|Since|While|Although"
    r"|Though|Unless|Until|After|Before)\s"
    r"(?P<clause>[^,;]{8,120}),\s(?P<main>.+)",
    re.S,
)
CLOSING_CLAUSE = re.compile(
    r",?\s(?P<word>because|so that|when|whenever|if|unless|until|while|whereas|although|though)\s"
    r"(?P<clause>.+)",
    re.S,
)
JOINT = re.compile(r"[,:](?!\d)|[;(]|\s[–—-]\s|\s(?:and|but|or)\s(?=(?P<next>\w+))")
END_OF_PHRASE = re.compile(
    r"[,:](?!\d)|[;(]|\s[–—]\s|\s(?:but|than|which|who|that|before|without)\s|(?<!\d)\sand\s|\sand\s(?!\d)"
)
NEGATIVE = re.compile(
    r"\b(?:no(?! (?:more|less|fewer|longer|later|earlier)\b)|nobody|nothing|none|never|neither)\b", re.I
)
POINTING = re.compile(
    r"\b(?:it|its|they|their|them|she|her|he|his|him|this|that|these|those|such|here|there|both|former|latter"
    r"|same|other|others|then)\b",
    re.I,
)
GROUP = re.compile(r".*\b(?:crew|staff|team|committee|board|council|company)\Z", re.I)
TAKES_PREPOSITION = re.compile(
    r"(?:consist of|depend on|belong to|lead to|refer to|rely on|come from|result (?:in|from)|apply to"
    r"|relate to|differ from|correspond to|contribute to|originate (?:in|from)|stem from|derive from"
    r"|look after|deal with)\b"
)
"""Verbs that ask for their preposition: ``what does it depend on``."""
