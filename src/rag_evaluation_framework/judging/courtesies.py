"""Courtesies: sentences about the conversation, not about the world, such as "I'd be happy to help!"

A sentence is one only where all of it is made of the phrases below, one after the other. So ``Hello Kitty was
created in 1974``, ``好的，费用是50元`` and ``I can help 20 people`` claim something: what follows a phrase is
never passed over, no phrase holds a number, and only a greeting may hold a name. Words of any kind stand only
where an offer says what it is about: ``Let me know if you have any questions about the fees``.
"""

from __future__ import annotations

import re

from rag_evaluation_framework.characters import EMOJI, HAN_CHARACTER
from rag_evaluation_framework.judging.words.comparable_text import comparable
from rag_evaluation_framework.judging.words.folded_text import STRAIGHT_APOSTROPHES

_LONGEST = 160

# Words in lower case: there is neither a name nor a number among them.
_FEW_WORDS = r"[a-z'-]+(?: [a-z'-]+){0,7}"
_NAME = r"[A-Z][\w'-]+"
_ASKED = r"(?:that|this|it|(?:your|the|this|that) (?:question|request|query))"
_HELP = r"(?:help|assist|answer|explain|clarify)"
_HELPING = rf"{_HELP}(?: you)?(?: out| (?:with )?(?:{_ASKED}|anything(?: else)?|any (?:other )?questions?))?"
_INFORMATION = (
    "(?:answers?|information|details|facts|summary|overview|list|results?|steps|explanation|points)"
)
_ASSISTANCE = "(?:questions?|help|assistance|information|details|clarification|concerns?|queries|support)"
_MATTER = rf"(?:about|on|regarding|concerning|with|for) {_FEW_WORDS}"
_THANKED_FOR = (
    r"(?:(?:your|the)(?: [a-z]+){0,2} (?:questions?|interest|patience|understanding|feedback|request|query"
    r"|inquiry|message|help|time|support|information|context|passages?|documents?|details|cooperation)"
    r"|(?:asking|calling|writing|waiting|sharing|visiting|reading|joining|clarifying|reaching out|contacting"
    r"|choosing|using|providing|letting (?:me|us) know)"
    r"(?: (?:me|us|our services?|again|today|here|this|that|it|to|with"
    r"|(?:the|your) (?:text|context|information|passages?|documents?|details|question)))*|that|this|it)"
)
_TROUBLE = (
    "(?:inconvenience|confusion|misunderstanding|mistakes?|errors?|delay|trouble|mix-up|oversight|wait"
    "|frustration)"
)
_SORRY_FOR = (
    r"(?:that|this|it|(?:the|any|my|our|this|that|your)(?: (?:late|long|earlier|previous|initial))?"
    rf" {_TROUBLE}(?: (?:caused|(?:this|that|it|I|we)(?: (?:may|might))?(?: have)? caused))?"
    r"(?: (?:to )?you)?)"
)
_GIVEN_TEXTS = (
    r"(?:the |these |this |your )?(?:(?:given|provided|available|above|supplied|retrieved|current) ){0,2}"
    r"(?:passages?|contexts?|information|documents?|texts?|sources?|data|content|details|excerpts?|materials?)"
    r"(?: (?:given|provided|available|above|supplied|retrieved))?"
)
# What is talked of in a conversation: so an open end names nothing and states nothing.
_TALK = (
    r"(?:out|back|in|touch|me|us|we|again|anytime|any|time|at|a|more|further|follow-up|other|additional|another"
    r"|specific|questions?|message|to|with|for|about|of|know|ask|helps?|assist|assistance|clarification"
    r"|information|details|here|directly|anything|something|everything|else|our|team|support|and|or|up|things"
    r"|clear|unclear|helpful|useful|you|your|the|this|that|it|is|isn't|was|are|were|doesn't|does|not|do|would"
    r"|like|you'd|want|need|needed|looking|think|prefer|what|how|which|I|can|could|may|might|concerns?|query"
    r"|queries|request|works?|makes?|sense|answers?|so|some|way|ways|one|have|mind|matter|clarify)"
)
_OCCASION = "(?:day|evening|morning|weekend|time|trip|journey|stay|visit)"

_ENGLISH = "|".join(
    (
        # greetings, with a name only before "!" or ","
        r"(?:hi|hello|hey|greetings|good (?:morning|afternoon|evening|day))"
        rf"(?: (?:there|again|all|everyone|everybody|friends?|and welcome))?(?:(?: {_NAME}){{1,2}}(?=[!,]))?",
        r"dear (?:all|sir|madam|sir or madam|(?:friend|guest|customer|user|reader|student|colleague)s?)",
        rf"dear {_NAME}(?:\.? {_NAME})?(?=[!,])",
        r"welcome(?: back)?(?: to (?:the|our|my)(?: [a-z]+){1,2})?",
        # consent and thanks
        r"sure thing|sure|certainly|of course|absolutely|definitely|okay|ok|alright|great|understood|got it",
        r"(?:that'?s )?(?:a )?(?:great|good|excellent|interesting) question",
        r"no (?:problem|worries)|you'?re (?:very |most )?welcome|my pleasure",
        r"(?:many )?(?:thanks|thank you)(?: again)?(?: (?:so|very) much)?"
        rf"(?: in advance| for {_THANKED_FOR})?",
        # regrets
        r"(?:I(?:'m| am) )?(?:(?:so|very|really|truly) )?sorry"
        rf"(?: (?:about|for) {_SORRY_FOR}| to hear (?:that|this))?",
        r"(?:(?:I|we)(?: (?:do|sincerely|deeply|truly))? apologi[sz]e|(?:(?:my|our) )?(?:sincere )?apologies)"
        rf"(?: for {_SORRY_FOR})?",
        # what is about to be said, or was not
        rf"here(?:'s| is| are) (?:what I found|(?:the|your|an?|some|my)(?: [a-z]+){{0,2}} {_INFORMATION})",
        r"(?:note: )?(?:I(?: am|'m) )?(?:unable|not able) to answer"
        rf"(?: {_ASKED}| any questions?)?(?: (?:based on|from|with|using|given) {_GIVEN_TEXTS})?",
        r"let(?:'s| us| me) (?:(?:take|have) a (?:closer |quick )?look|dive in|get started|begin|see|check"
        r"|explain|clarify|break (?:it|this|that) down|look into (?:it|this|that)|find out|think)"
        rf"(?: (?:at|about) {_ASKED})?(?: (?:together|step by step|for you|first|now))?",
        # offers of help
        rf"(?:glad|happy) to {_HELP}",
        r"I(?: (?:can|could|will|would)|'ll|'d)(?: (?:certainly|definitely|gladly|surely|try to))?"
        rf" {_HELPING}",
        rf"I(?: will|'ll| can|'m going to) (?:do|try) my (?:very )?best(?: to {_HELPING})?",
        r"I(?: am|'m| would be|'d be| will be|'ll be) (?:always )?"
        rf"(?:happy|glad|here|delighted|pleased|more than happy) to {_HELPING}",
        r"(?:I )?hope (?:that )?(?:this|that|it|these|the above|(?:this|the|my) (?:answer|information))"
        r" (?:helps?|helped|(?:is|was) (?:helpful|useful|clear)|answers?|clarifies|clears)"
        rf"(?: {_TALK}){{0,8}}",
        rf"let (?:me|us) know(?: (?:what|how|which)(?: {_TALK}){{1,8}})?",
        r"(?:feel free|do(?:n'?t| not) hesitate) to (?:ask|contact|reach|let|call|write|get|message)"
        rf"(?: {_TALK}){{0,10}}",
        rf"feel free to ask(?: {_TALK}){{0,6}} {_MATTER}",
        r"just (?:ask|let (?:me|us) know)|ask (?:away|me anytime)",
        r"if (?:you|there)(?:'s| (?:have|need|want|require|is|are|would like))"
        r"(?:(?: (?:any|more|further|other|additional|some|anything|something|another|specific|else)){1,3}"
        rf"(?: (?:and|or|{_ASSISTANCE}|I|we|you))*| (?:questions|help|assistance|clarification))"
        rf"(?: {_MATTER}| (?:can|to|would|you'd|you|need|want|like) {_FEW_WORDS})?",
        r"(?:if|whether) you(?:'d| would)? (?:like|want|need|prefer|wish)(?: me| us)? to (?:know|learn"
        rf"|explore|discuss|explain|clarify|elaborate|expand|provide|help|go|dig|look)(?: {_FEW_WORDS})?",
        rf"(?:if|whether) (?:this|that|it|anything|something)(?: {_TALK}){{1,7}}",
        # farewells
        rf"(?:have a|enjoy (?:the|your))(?: [a-z]+)? {_OCCASION}",
        r"(?:(?:best|kind|warm) )?regards|sincerely|good luck",
    )
)
_JOINED_BY = "(?:and |or |so |then |please )*"
_COURTESY = re.compile(rf"(?:{_JOINED_BY}(?:{_ENGLISH})(?:[\s,!.;…:]+|\Z))+\Z")
# With which words a courtesy begins: few sentences do, and the others need not be looked at further.
_CUE = re.compile(
    r"[\W_]*+(?:please|and|or|so|then|hi|hello|hey|greetings|good|dear|welcome|sure|certainly|of|absolutely|okay|ok"
    r"|definitely|great|understood|got|alright|thats?|a|excellent|interesting|no|you(?:re)?|my|glad|happy|many|thanks?"
    r"|here|hope|let|feel|do|dont?|if|whether|i|we|our|very|really|truly|sorry|sincere|apologies|just|ask|note|unable"
    r"|not|have|enjoy|best|kind|warm|regards|sincerely)\b",
    re.IGNORECASE,
)

_YOU = "[您你]们?"
_KINDNESS = "(?:提问|问题|咨询|询问|来信|留言|关注|支持|理解|耐心|耐心等待|等待|信任|配合|反馈|帮助)"
_REPLY = "(?:信息|答案|内容|回答|要点|总结|摘要|说明|解答|解释|建议|步骤|列表|详情|介绍|结果)"
_WISHED = (
    rf"(?:对{_YOU}(?:能够?|会)?有(?:所|一些)?(?:帮助|用)|有所?帮助|帮[到助]{_YOU}"
    rf"|解[答决]{_YOU}的(?:问题|疑[问惑]))"
)
_SORRY = "(?:(?:非常|十分|很|真的?|实在|深感|深表)?(?:抱歉|对不起|不好意思|歉意))"
_TROUBLED = rf"[给为对]{_YOU}(?:造成|带来)了?的?(?:不便|困扰|麻烦|困惑|误解|误会)(?:之处)?"
_CHINESE = "|".join(
    (
        rf"{_SORRY}(?:{_TROUBLED})?|(?:对此,?)?{_TROUBLED}(?:,?我们?)?{_SORRY}?|敬?请(?:{_YOU})?(?:谅解|见谅|理解|包涵)",
        "请?(?:稍等|稍候|等一下|等一等)(?:片刻|一下)?",
        rf"(?:让我来?|由我来?|我[来将会])[为帮给]?(?:{_YOU}|大家)?(?:详细|简单|一一)?(?:地)?"
        rf"(?:解答|回答|解释|说明|查询|查一下|看看|看一下)(?:一下)?(?:这个问题|{_YOU}的(?:问题|疑[问惑]))?",
        rf"(?:以上|上述|这些|此|本)?(?:{_REPLY})?[仅只]供(?:{_YOU})?参考",
        rf"(?:{_YOU}|大家|早上|上午|下午|晚上|各位)好[呀啊哦呢]?|嗨|哈喽",
        "好(?:的[呀啊哦呢吧]?|[呀啊哦])|当然(?:可以)?|没问题|没关系|明白了?|收到|了解了?",
        rf"(?:非常|十分|多)?(?:谢谢|感谢)(?:{_YOU}|大家)?(?:的?{_KINDNESS})?|不客气|不用谢|别客气",
        rf"(?:以下|下面)(?:就?是|为)[^,:;、\d]{{0,20}}{_REPLY}",
        rf"我?(?:很|非常|十分)?(?:高兴|乐意|荣幸)(?:能够?)?帮助?{_YOU}",
        rf"我?(?:很|非常|十分)?(?:高兴|乐意|荣幸)(?:能够?)?为(?:{_YOU}|大家)(?:解答|服务|效劳|回答|提供帮助)",
        rf"希望(?:我的|以上|上述|这些?|此)?{_REPLY}?(?:能够?|可以|会)?{_WISHED}",
        rf"(?:如果?|若|要是|假如)(?:{_YOU})?(?:还|仍)?(?:有|需要?|想)(?:了解)?"
        "(?:任何|其他|其它|更多|别的|什么|进一步)?(?:了解)?的?"
        "(?:问题|疑问|需要|需求|帮助|协助|信息|详情|不清楚的地方|不明白的地方)",
        rf"(?=请|欢迎|随时|尽管)(?:请|欢迎)?(?:{_YOU})?(?:随时|尽管|继续|再次)?(?:[与和向跟给]我们?)?"
        "(?:联系|提问|告诉|告知|咨询|询问|提出|留言|问)(?:我们?)?",
        rf"祝{_YOU}(?:生活|旅途|工作|学习|购物|入住)?(?:愉快|顺利|好运|一切顺利)",
    )
)
_CHINESE_COURTESY = re.compile(rf"(?:(?:{_CHINESE})(?:[\s,!.。;:~…]+|\Z))+\Z")

_OF_THE_SPEAKER = re.compile(r"I\b")
_ORNAMENT = re.compile(rf"[*_\"“”「」{EMOJI}]")


def is_courtesy(sentence: str) -> bool:
    """Tell whether a sentence is only about the conversation.

    >>> is_courtesy("Sure, I’d be happy to help!"), is_courtesy("Welcome drinks cost 50 euros.")
    (True, False)
    """
    if len(sentence) > _LONGEST:
        return False
    if not sentence.isascii() and HAN_CHARACTER.search(sentence):
        return _CHINESE_COURTESY.match(comparable(_ORNAMENT.sub("", sentence)).strip()) is not None
    if _CUE.match(sentence) is None:
        return False
    plain = _ORNAMENT.sub("", sentence).strip().translate(STRAIGHT_APOSTROPHES)
    # A large first letter makes no name of the word that begins a sentence.
    begun = plain if _OF_THE_SPEAKER.match(plain) else plain[0].lower() + plain[1:]
    return _COURTESY.match(begun) is not None
