"""The English words that making questions needs: verbs with their forms, function words, units, other words.

The verbs are the common ones of manuals, rules, reports and encyclopedias. A sentence whose verb is not
among them is asked about in another way, or not at all.
"""

from __future__ import annotations

from collections.abc import Mapping


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

OTHER_WORDS: Mapping[str, str] = {
    "accepted": "taken", "additional": "extra", "allow": "permit", "allowed": "permitted",
    "announced": "made known", "annual": "yearly", "approximately": "about", "assist": "help",
    "assistance": "help", "automobile": "car", "began": "started", "begin": "start", "begins": "starts",
    "begun": "started", "bought": "purchased", "built": "constructed", "buy": "purchase",
    "carried": "transported", "children": "kids", "chosen": "picked", "closed": "shut", "commence": "start",
    "completed": "finished", "consists": "is made up", "contain": "hold", "contained": "held",
    "create": "make", "created": "made", "crucial": "important", "decided": "settled",
    "demonstrate": "show", "departure": "leaving", "difficult": "hard", "displayed": "shown",
    "employed": "used", "employees": "staff", "entire": "whole", "error": "mistake", "errors": "mistakes",
    "established": "set up", "examined": "looked at", "firm": "company", "forbidden": "not allowed",
    "founded": "set up", "frequently": "often", "gathered": "collected", "happen": "occur",
    "happened": "occurred", "however": "though", "increased": "raised", "informed": "told",
    "introduced": "brought in", "journey": "trip", "large": "big", "largest": "biggest",
    "located": "situated", "location": "place", "lowered": "reduced", "mandatory": "required",
    "manufactured": "produced", "method": "way", "methods": "ways", "moved": "shifted", "numerous": "many",
    "obtain": "get", "obtained": "got", "occur": "happen", "occurred": "happened", "occurs": "happens",
    "permitted": "allowed", "person": "individual", "persons": "individuals", "photograph": "picture",
    "physician": "doctor", "primary": "main", "prohibited": "not allowed", "provide": "supply",
    "provided": "supplied", "purchased": "bought", "quickly": "fast", "rapidly": "quickly",
    "receive": "get", "received": "got", "reduce": "lower", "reduced": "lowered", "refunded": "paid back",
    "removed": "taken away", "renewed": "replaced", "repaired": "mended", "replaced": "exchanged",
    "require": "need", "required": "needed", "reserved": "booked", "reside": "live",
    "residents": "inhabitants", "retain": "keep", "returned": "given back", "selected": "chosen",
    "shortened": "cut", "shown": "displayed", "significant": "notable", "started": "begun",
    "stopped": "halted", "sufficient": "enough", "terminate": "end", "told": "informed", "transmit": "send",
    "transported": "carried", "utilised": "used", "utilized": "used", "vessel": "boat", "vessels": "boats",
    "wages": "pay",
}  # fmt: skip
"""Common words with others that mean nearly the same in the same form; names and terms are never replaced."""
