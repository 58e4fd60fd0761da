"""What an answer says: without citations, source lists, courtesies."""

from __future__ import annotations

import re

from rag_evaluation_framework.records.citations import FILE_SUFFIX, without_citations
from rag_evaluation_framework.text.normalisation import STRAIGHT_APOSTROPHES, comparable
from rag_evaluation_framework.text.scripts import CLOSERS, EMOJI, HAN_CHARACTER, ONE_TO_TEN
from rag_evaluation_framework.text.tokens import content_keys

# Courtesies: sentences about the conversation, not about the world, such as "I'd be happy to help!"
#
# A sentence is one only where all of it is made of the phrases below, one after the other. So ``Hello
# Kitty was created in 1974``, ``好的，费用是50元`` and ``I can help 20 people`` claim something: what
# follows a phrase is never passed over, no phrase holds a number, and only a greeting may hold a name.
# Words of any kind stand only where an offer says what it is about: ``Let me know if you have any
# questions about the fees``.

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


# What an answer says: its text without the citations in it and without a list of sources at its end.
#
# What only leads up to a Chinese statement (``根据资料，``, ``文档中提到``, ``综上所述，``, ``您好，``)
# is not said either; its like in English are stop words, but for what begins an answer (``Yes,``, ``Of
# course,``). Spaces stand in the place of all of it, so that every other character stays where it is.

_HEADING = re.compile(
    r"""\n[^\S\n]*+[#>*_]*+[^\S\n]*+
    (?:(?:list\ of\ )?(?:references?|sources?|citations?|works)(?:\ (?:used|cited|consulted))?|bibliography
      |参考文献|参考资料|参考来源|引用来源|资料来源|信息来源|来源|引用|出处
      |參考文獻|參考資料|參考來源|引用來源|資料來源|資訊來源|來源|出處)
    [^\S\n]*+(?:[*_]*+[:：][*_]*+|[#*_]*+(?=[^\S\n]*+\n))[^\S\n]*+""",
    re.IGNORECASE | re.VERBOSE,
)
# Headings below which nothing but sources stands. "Sources" and "Works" may be of power, or of a poet.
_OF_TEXTS_ONLY = re.compile(
    "references?|citations?|bibliography|cited|consulted|[参參]考|引用|[资資]料|信息|[资資][讯訊]",
    re.IGNORECASE,
)
_ITEM = r"(?:[-*+•·]|\d{1,3}[.)、]|[（(]\d{1,3}[)）])"
_BRACKETED = re.compile(rf"[^\S\n]*+(?:{_ITEM}[^\S\n]*+)?[\[【［]")
# What sources have: a file's name, an address, a page, a year in parentheses, a title in 《》.
_SIGN = re.compile(
    rf"""[\w)]\.{FILE_SUFFIX}\b
    |https?://|www\.|\bdoi\b|\b(?:pages?|pp?\.|chapter|section)\s?\d|[（(](?:19|20)\d\d[a-z]?[)）]
    |第\s?[\d{ONE_TO_TEN}百]{{1,9}}\s?[页頁章节節]|《[^》\n]{{1,99}}》""",
    re.IGNORECASE | re.VERBOSE,
)
# "[1]: fees.pdf, p. 3" and "[2] https://…" say where the numbers lead; a rule may stand before them.
_NUMBERED_SOURCE = re.compile(
    rf"""[^\S\n]*+(?:[-*_]{{3,}}+|(?:{_ITEM}[^\S\n]*+)?[\[【［]\d{{1,3}}[\]】］][^\S\n]*+[:：]?[^\S\n]*+
      (?:<?https?://\S++|[^\s\[【［]{{1,200}}?\.{FILE_SUFFIX}(?:[,，]?\s?(?:(?:pages?|pp?\.)\s?\d{{1,5}}|第\d{{1,5}}[页頁]))?))
    [^\S\n]*+""",
    re.IGNORECASE | re.VERBOSE,
)
_LIST_MARK = re.compile(rf"\s*+{_ITEM}?")
# What a title does not have: the end of a sentence, and a number that is no year.
_NOT_OF_TITLES = re.compile(rf"[.!?。！？;；][\s{CLOSERS}]*\Z|(?<!\d)(?!(?:19|20)\d\d(?!\d))\d")
_LONGEST_TITLE = 120
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_NOT_LINE_END = re.compile(r"[^\n]")

# The texts that an answer was given, however they are called. Whose they are is said: 根据公司的文件.
_GIVEN = (
    "(?:[您你我][们們]?|用[户戶]|[这這][些份个個段]?|[该該本此]|上述|以上|上面|所?(?:提供|[给給](?:出|定)|上[传傳]|[检檢]索)到?|[现現已]有"
    "|[参參]考|相[关關]|背景|知[识識][库庫]|的){0,8}"
)
_TEXTS = (
    "(?:[资資]料|文[档檔件本章]|上下文|原文|[内內]容|信息|[资資][讯訊]|材料|段落|片段|知[识識][库庫]|文[献獻])"
    "(?:[中里裡内內]?的?(?:[内內]容|信息|[资資][讯訊]))?"
)
_SAYS = "(?:提到|提及|指出|[显顯]示|表明|[写寫]道)"
_TELLS = f"(?:{_SAYS}|[记記][载載錄录]|[说說]明|描述|介[绍紹]|[规規]定|所[示述]|可知|得知|可以看出|[来來]看)"
_SPACES = r"[^\S\n]*+"
_COMMA = rf"{_SPACES}[，,：:]"
_WITHIN = "[中里裡内內上]?[还還也明确確均都已]{0,2}"
_LEADING = re.compile(
    rf"""(?:\A|(?<=[\n。！？!?；;]))(?P<mark>(?:[^\S\n]|[*>•·-])*+(?:\d{{1,3}}[.、)]{_SPACES})?\**+)
    (?P<clause>(?:{_SPACES}(?:
        # 根据文档1中的描述，; spaces are what is left of 根据[1]，
        (?:根[据據]|依[据據照]|按照?|基[于於]|[参參]照|[据據从從])
          (?:{_GIVEN}{_TEXTS}(?:[ ]?\d{{1,3}})?{_SPACES}|[ ]{{3,}}+)
          [中里裡内內]?的?{_TELLS}{{0,2}}{_COMMA}
        |(?:{_GIVEN}{_TEXTS}|文(?=[中里裡内內])|本文){_WITHIN}{_SAYS}[了过過的]?(?![器屏于於在为為])(?:{_COMMA})?
        |(?:{_GIVEN}{_TEXTS}(?:[ ]?\d{{1,3}})?{_SPACES}|文(?=[中里裡内內])|本文){_WITHIN}{_TELLS}{_COMMA}
        |(?:[综綜]上所述|[总總]之|[总總]而言之|[总總]的[来來][说說])(?:{_COMMA})?
        |(?:[综綜]上|[总總][体體](?:[来來][说說]|而言)|[简簡]而言之|[简簡][单單][来來][说說]){_COMMA}
        |(?:[您你]好|好的|[当當]然(?:可以)?){_SPACES}[，,]
    ))++)(?={_SPACES}[^\s。！？!?；;.])""",
    re.VERBOSE,
)

_OPENING = re.compile(
    rf"""(?:\A|(?<=[\n.!?]))(?P<mark>(?:[^\S\n]|[>•·-])*+)
    (?P<clause>(?:\**+(?:yes|yeah|yep|sure|certainly|absolutely|definitely|of\ course|indeed|correct|exactly
        |actually|in\ fact|(?:that[’']?s|that\ is|you[’']?re|you\ are)\ (?:right|correct|true))\**+
        (?:{_SPACES}[,:]|[ ][–—-](?=[ ]))\**+{_SPACES})++)
    (?=(?P<rest>(?:[^\n.!?]|\.(?=\S))++))""",
    re.VERBOSE | re.IGNORECASE,
)


def said_in(answer: str) -> str:
    """Return what an answer says, with spaces where it cites.

    >>> said_in("It rained [1].\\n\\nSources:\\n- weather.pdf, page 3").split()
    ['It', 'rained', '.']
    """
    said = without_citations(without_source_list(answer))
    return _without_leading_clauses(_OPENING.sub(_blank_opening, said))


def without_source_list(answer: str) -> str:
    """Blank out a list of sources at the end: below a heading, or of numbers in brackets with files."""
    return _without_numbered_sources(_without_headed_list(answer))


def _without_numbered_sources(answer: str) -> str:
    """Blank out the last lines that are no more than a number in brackets and a file or an address.

    Where nothing is said before them, or a colon announces them, they are what is said.
    """
    lines = answer.split("\n")
    said = len(lines)
    while said and (not lines[said - 1].strip() or _NUMBERED_SOURCE.fullmatch(lines[said - 1])):
        said -= 1
    if not said or lines[said - 1].rstrip().endswith((":", "：")):
        return answer
    return "\n".join(lines[:said] + [" " * len(line) for line in lines[said:]])


def _without_headed_list(answer: str) -> str:
    """Blank out a heading, and below or beside it nothing but sources, at the end.

    A line is a source where it begins with a bracket, has what sources have, or is no more than a title.
    Titles alone are sources only below a heading that can mean nothing else. Courtesies may follow the list.
    Where nothing is said before it, the list is the answer.
    """
    headings = list(_HEADING.finditer(answer))
    if not headings or not answer[: headings[-1].start()].strip():
        return answer
    start, end = headings[-1].span()
    beside, _, below = answer[end:].partition("\n")
    lines = [line for line in below.splitlines() if line.strip()]
    while lines and is_courtesy(lines[-1]):
        lines.pop()
    begins = _is_surely_source(beside) if beside.strip() else bool(lines)
    if not begins or not all(_is_surely_source(line) or _is_title(line) for line in lines):
        return answer
    if not _OF_TEXTS_ONLY.search(answer, start, end) and not any(map(_shows_source, (beside, *lines))):
        return answer
    return answer[:start] + _NOT_LINE_END.sub(" ", answer[start:])


def _is_surely_source(line: str) -> bool:
    return _BRACKETED.match(line) is not None or _SIGN.search(line) is not None


def _shows_source(line: str) -> bool:
    return _is_surely_source(line) or _YEAR.search(line) is not None


def _is_title(line: str) -> bool:
    mark = _LIST_MARK.match(line)
    title = line[mark.end() :] if mark else line
    return len(title) <= _LONGEST_TITLE and _NOT_OF_TITLES.search(title) is None


def _without_leading_clauses(text: str) -> str:
    return text if text.isascii() else _LEADING.sub(_blank_clause, text)


def _blank_clause(leading: re.Match[str]) -> str:
    return leading["mark"] + " " * len(leading["clause"])


def _blank_opening(opening: re.Match[str]) -> str:
    """Blank out what begins an answer, where something is said after it: "Yes, you can" says no more."""
    return _blank_clause(opening) if content_keys(opening["rest"]) else opening[0]
