"""Words and characters that state nothing by themselves: grammar, and talk about the sources."""

from __future__ import annotations

from rag_evaluation_framework.judging.words.number_words import (
    COMMON_ORDINALS,
    PLAIN_NUMERALS,
    SCALES,
    TENS,
    UNITS,
)

_GRAMMAR = """
a about above according across after again against ago ain all almost along already also although always am
among an and another any anyone anything are aren't around as at away back be became because become becomes
been before behind being below beside besides between beyond both but by can can't cannot could couldn't did
didn't do does doesn't doing don don't done down due during each either else enough especially even ever
every everyone everything except far few fewer for from further furthermore get gets getting got had hadn't
has hasn't have haven't having he he'd he'll he's her here here's hers herself him himself his how how's
however i i'd i'll i'm i've if in indeed instead into is isn't it it'd it'll it's its itself just least less
let let's like likely made main mainly make makes making many may maybe me meanwhile might mine more
moreover most mostly much must my myself near nearly need needs neither nevertheless no nobody none
nonetheless nor not nothing now of off often on once one ones only onto or other others otherwise ought our
ours ourselves out over overall own per perhaps plus quite rather really regarding s same seem seems several
shall shan't she she'd she'll she's should shouldn't since so some someone something sometimes soon still
such t than that that's the their theirs them themselves then there there's therefore these they they'd
they'll they're they've thing things this those though through throughout thus to together too toward
towards typically under unless unlike until up upon us usually various very via was wasn't we we'd we'll
we're we've well were weren't what what's whatever when whenever where where's whereas wherever whether
which whichever while who who's whoever whole whom whose why will with within without won't would wouldn't
yet you you'd you'll you're you've your yours yourself yourselves
"""

# Said of the sources or of the answer itself, not of the world; and verbs that only report.
_TALK = """
absolutely actually additional additionally answer answers argue argued argues arguing article articles
author authors based certainly conclude concluded conclusion context contexts currently definitely
describe described describes describing despite detail detailed details discuss discussed discusses
discussing document documents e.g emphasize emphasized emphasizes emphasizing etc example examples
explain explained explaining explains express expressed expresses finally firstly follow followed
following follows given highlight highlighted highlighting highlights i.e important include included
includes including information instance key known lastly mention mentioned mentioning mentions namely
note noted notes overview particular particularly passage passages please possible provide provided
provides providing question questions refer referred refers regard regards related report reported
reportedly reports secondly source sources specific specifically state stated states stating suggest
suggested suggesting suggests summarize summarized summarizes summary text texts ultimately unable use
used uses using writer yeah yep yes
"""

# Verbs that tell little without what stands beside them: to take place, to give way, to come into force.
LIGHT_VERBS = frozenset(
    {"came", "come", "comes", "coming", "gave", "give", "gives", "giving", "go", "goes", "going", "gone"}
    | {"take", "taken", "takes", "taking", "took", "went"}
)

_COURTESIES = """
apologies apologize ask asking assist assistance clarification course dear feel free glad
great greetings happy hello help helped helpful helps hesitate hey hi hope know pleased query request sorry
sure thank thanks welcome
"""
COURTESIES = frozenset(_COURTESIES.split())
"""Words of greetings, thanks and offers of help: a sentence with no other content claims nothing."""

_BESIDE_NUMBERS = "a.m am p.m percent percentage pm"

_LISTED = (_GRAMMAR + _TALK + _BESIDE_NUMBERS).split()
STOP_WORDS = LIGHT_VERBS.union(_LISTED, UNITS, TENS, SCALES, COMMON_ORDINALS)

STRUCTURE = frozenset("的了着著在于於从從被把与與和之")
"""Chinese characters that only join others: of, aspect, prepositions, *and*."""

PARTICLES = STRUCTURE | frozenset("是或及给給其这這那您你我他她它们們个個吗嗎呢吧啊呀")
"""Chinese characters of grammar; also pronouns, *or*, what ends a question."""

# Numerals are compared as numbers. A pair of characters with one of these is grammar or a number more often
# than a word, so that it is left out.
STOP_CHARACTERS = PARTICLES | PLAIN_NUMERALS | frozenset("该該第")
