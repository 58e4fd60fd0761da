"""Questions about Chinese sentences, by rules.

Chinese asks where the answer stands: a number becomes 多少, a date 什么时候, and the words keep their order.
So a clause is asked about as it is, with what answers it replaced. Only the clause that opens a sentence is,
since later ones lean on it, and only if nothing in the sentence is denied, supposed or pointed at.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from rag_evaluation_framework.synthesis.drafts import QuestionKind
from rag_evaluation_framework.synthesis.passages import Form, MadeQuestion, Statement

_DIGITS = "零〇一二两兩三四五六七八九十百千万萬亿億"
_ONE_NUMBER = rf"(?:[0-9０-９][0-9０-９.,．]*[{_DIGITS}]*|[{_DIGITS}]+(?:点[{_DIGITS}]+)?)[多余半]?"
_NUMBER = rf"(?:{_ONE_NUMBER}[至到~～—-])?{_ONE_NUMBER}"
_ABOUT = r"(?:约|大约|(?<!最)近|超过|不超过|至少|最多|不足|不到|将近|低于|高于)?"
_MONTH = r"(?:[0-9０-９]{1,2}|[一二三四五六七八九十]{1,3})月份?(?:[上中下]旬|底|初)?"
_YEAR = r"(?:[0-9０-９]{4}|[零〇一二三四五六七八九]{4})年"
_DAY = rf"(?:{_ONE_NUMBER}[日号])?"
# 明万历二十三年: a year of a reign is a date, and no length of time.
_REIGN = (
    r"(?:[唐宋元明清]代?|日本)?(?:贞观|永徽|开元|天宝|元和|会昌|太平兴国|咸平|景德|大中祥符|天圣|庆历|嘉祐|熙宁|元丰|元祐|崇宁|政和"
    r"|宣和|绍兴|乾道|淳熙|庆元|嘉定|淳祐|咸淳|至元|大德|至正|洪武|建文|永乐|洪熙|宣德|正统|景泰|天顺|成化|弘治|正德|嘉靖|隆庆|万历"
    r"|泰昌|天启|崇祯|顺治|康熙|雍正|乾隆|嘉庆|道光|咸丰|同治|光绪|宣统|民国|明治|大正|昭和|平成|令和)"
    rf"(?:元年|[{_DIGITS}0-9]{{1,3}}年)"
)
_DATE = rf"(?:{_REIGN}(?:{_MONTH})?{_DAY}|{_YEAR}(?:{_MONTH})?{_DAY}|{_MONTH}{_DAY})"
_HOUR = (
    r"(?:上午|下午|早上|晚上|中午|凌晨)?(?:(?!一点[^钟半整])(?:[0-9０-９]{1,2}|[一二两三四五六七八九十]{1,3})点"
    rf"(?:半|钟|一刻|三刻|整|{_ONE_NUMBER}分)?(?![{_DIGITS}0-9])|[0-9]{{1,2}}[:：][0-9]{{2}})"
)
_WEEKDAY = r"(?:星期|周|礼拜)[一二三四五六日天]"
_TIME = re.compile(
    rf"(?P<hours>{_HOUR}[至到—~-]{_HOUR})|(?P<hour>{_HOUR})"
    rf"|(?P<weekdays>{_WEEKDAY}[至到]{_WEEKDAY})|(?P<weekday>{_WEEKDAY})"
    rf"|(?P<year>{_YEAR}(?![{_DIGITS}0-9]+月|代))|(?P<date>{_DATE}(?:[至到—-]{_DATE})?)"
    rf"|(?<![第当之同后近首头上下{_DIGITS}0-9])(?<!(?<!提)前)(?P<spell>{_ABOUT}{_NUMBER}"
    r"(?:个)?(?:分钟|小时|秒|天|日(?=内)|个?工作日|(?<!四)周|星期|个月|年|夜|晚))(?![代级岁期制度])"
)
_MEASURES = (
    "平方公里|平方千米|平方米|立方米|摄氏度|公里|海里|公斤|千克|厘米|毫米|英里|便士|美元|欧元|人民币|百分点|个百分点|人次"
    "|人(?!口)|名|位|张|个|班|米|里|斤|克|镑|元|块|节|吨|毫升|升|度|次|间|家|条|栋|艘|辆|页|项|种|本|部(?!分)|座|层|步|台|套|批|组|只|头"
    "|匹|周岁|岁|公顷|亩|倍|瓶|杯|件|门|所|场|篇|句|字|瓦|千瓦|伏|安|根|册|棵|株|枚|卷|行|列|℃|兆帕|GB|MB|TB"
)
_QUANTITY = re.compile(
    rf"(?<![第之至到前方比点镑元块{_DIGITS}0-9.,])(?<![0-9] )(?P<about>{_ABOUT})"
    rf"(?:(?P<share>百分之[{_DIGITS}]+?[至到]百分之{_NUMBER}|百分之{_NUMBER}|[0-9０-９.]+[%％])|(?P<number>{_NUMBER})(?P<measure>{_MEASURES}))"
    rf"(?![月{_DIGITS}性级型制式])"
)
_CLAUSE = re.compile(r"(?:[^，,；;：:。！!？?]|(?<=[0-9])[:：](?=[0-9]))+")
_NOTES = re.compile(r"（[^（）]*）|\([^()]*\)")
_NUMBERED = re.compile(r"\A\s*第[0-9一二三四五六七八九十百]+[条章款节]\s*")
# 尚余多少公里, 每周喂几天: of what, is not said.
_NOTHING_NAMED = re.compile(r"[尚余剩提经向把加称取喂换停]|每[周月年天]")
_BECAUSE = re.compile(
    r"(?:因为|由于)(?P<reason>[^，；。]{3,60})，(?:所以|因此|因而)?(?P<main>[^，；。]{4,40})\Z"
)
_SO = re.compile(r"(?P<main>[^，；。]{4,40})，(?:因为|以便|为的是)(?P<reason>[^；。]{3,60})\Z")
_PLACED = re.compile(
    r"(?P<subject>[^，；。是]{2,20}?)(?P<verb>位于|放在|设在|停在|存放在|坐落于|坐落在|安装在|保存在|挂在|降落在|张贴于|出生于)"
    r"(?P<place>[^，；。]{2,24})"
)
# 放在中层烘烤: what is done there is no part of the place.
_DONE_THERE = re.compile(r"家庭|[上中下里内外旁侧边层][^上中下里内外旁侧边层处口方面]{1,3}\Z")
# 首部电影是…: whose, is not said. 销售额是为…: a word too many.
_IS = re.compile(
    r"(?!首|第一|最|唯一)(?P<subject>[^，；。是]{2,16})是(?P<what>(?!为|為|在)[^，；。是]{4,40})\Z"
)
_BY = re.compile(
    r"(?P<subject>[^，；。由]{2,20})由(?P<who>[^，；。由]{2,16})"
    r"(?P<does>(?:负责|承担|管理|支付|主持|审核|保管|解决|设计|编写|维护|制定|颁发|提供|运营|组织|建造|发起)[^，；。]{0,8})\Z"
)
_PERSON = re.compile(r"(?:人|者|长|员|师|主任|经理|主席|总统|教授|作者|王|冠军|亚军|得主|主角|导演)\Z")
# Words in which 不, 无, 未, 非, 别 and 没 deny nothing.
_NO_DENIAL = re.compile(
    r"不超过|不少于|不低于|不高于|不足|不到|不断|不仅|不同|不锈钢|非常|非物质|非洲|特别|分别|区别|级别|性别|类别|别墅|无人机|无线|未来"
)
_DENIED = re.compile(r"[不没无未非勿莫别]|禁止|拒绝|除了|除外|以外|避免|否则")
_SUPPOSED = re.compile(
    r"如果|如需|如有|如遇|若|假如|一旦|要是|倘|只要|只有|除非|即使|即便|虽|尽管|的话|无论|当.{1,20}时|遇|凡|可能|或许|就(?!是)"
    r"|(?:时|后|的|前|期间|以上|以内)[，,]"
)
# What means something outside of the question, asks for one of two, or lacks what a note took out.
_POINTING = re.compile(
    r"或|《》|  "
    r"|它|他(?!们?国)|她|其(?!实|他)|该|該|此|这|這|那|本(?!身|地|科|土)|上述|以下|如下|下列|前者|后者|同年|同时|同日|当[时天年日]"
    r"|[之随其]后|最近|近年|[上下]次|另|相反|也|还|又|再|则|仍|您|我|你|咱|今年|去年|明年|目前|如今|现在|同样|均|都|最后|首先|然后|于是|因此|所以|但|[两二三]人|双方|两者"
)
# What opens a sentence without being a statement by itself, or ends without having said anything.
_ADVERBIAL = re.compile(
    r"\A(?:截至|截止|自从|根据|按照|据|随着|为了|为|由于|因为|因|对于|关于|除|每逢|当(?!地)|在[^，]{0,20}[中上下里间时]\Z|从[^，]*起\Z|请|可|应|须|需|已|并|只|就|有|曾|现有|直到|由於|因為|碍于|礙於|鉴于|共|各类|各种|而|但)"
    r"|请|(?:时|后|之后|之前|的时候|以来|方面|而言|来说|底|起|中|期间|的|表明|显示|指出|认为|表示|介绍|後|時|[考量情况形势]下|决定|宣布|规定|提议|建议|了)\Z"
    r"|[碍礙][于於]"
)
# 一天两次, 千年古树: a way of speaking.
_SPOKEN = re.compile(r"一[天日年周夜晚]|[百千万]+年")
# 什么时候任校长: whoever did it is not said.
_NO_SUBJECT = re.compile(
    r"任|获|獲|與|与|被|当选|當選|升|调|成为|成為|由|又|改|在|从|從|开始|加入|毕业|担任|擔任|出任|进入|前往|迁|转|参加|參加|创办|建立"
    r"|成立|设立|更名|首次|正式|把|并|再|因|为|拆|划|隶|出版|发表|发行|推出|主演|执导|晋升|退|辞|去世|逝世|出生|考入|赴|回|离|完成|建成"
    r"|竣工|通车|开通|启用|投入|荣获|经过|以[^色]|将|共|入选|扩"
)
# 二月九日至二十八日, 大门、二门、大堂: what follows belongs to the answer.
_GOES_ON = r"[至到及和与、~～—-]|[早晚夜]|上午|下午|凌晨"
_NO_TIME_BEFORE = re.compile(rf".的|的\Z|之间|{_GOES_ON}")
# 号: a number of a house, of a room.
_COUNTED_BEFORE = re.compile(r"[每一满号由从從自、]\Z")
_COUNTED_AFTER = re.compile(rf"\d|.*的|.*之一\Z|{_GOES_ON}")
_NO_DEFINITION_OF = re.compile(
    rf"世纪|年代|年间|{_YEAR}|{_MONTH}|[时期天夜]\Z|[和与及、]"
    r"|(?:之一|大多|大都|多|多半|主要|一般|通常|仅|只|可能|即|則|则|就|约|約|于|便|正|[东西南北中]部)\Z"
)
_SOMEBODY = re.compile(
    r"(?:人|者|员|員|师|師|演员|作家|画家|歌手|学家|學家|政治家|人物|选手|运动员|总统|總統|总理|主席|账房|匠|医生|商人)\Z"
)
_NAMED_PERSON = re.compile(r"[·・]|(?:父亲|母亲|丈夫|妻子|儿子|女儿|[兄弟姐妹]|先生|女士)[^的]{0,4}\Z")
_ANSWERS_POINTING = re.compile(
    r"它|她|他(?!们?国)|该|該|此|这|這|那[个些]|本(?!身|地|科|土|田|人|质)|其(?!他|实|它)"
)
_DATED_BY = re.compile(r"(?:于|在|自|从|到|至|为)\Z")
# 风速超过三十节，环廊关闭: the first clause is the condition of the second.
_IS_LIMIT = re.compile(r"(?:满|超过|高于|低于|不足|不到)[^，]{1,8}\Z")
# 六年 after anything else may be the sixth year.
_LASTING = re.compile(
    r"(?:历时|历经|为期|期限|长达|达|需|需要|有效期|保存|保留|保修|质保|寿命|使用|持续|任期|学制|工期|年限|存放|提前|超过|已有|每届|为)\Z"
)
_LASTED = re.compile(r"[以之]?[内上后久]|左右")
_ASKED = {
    "hours": "几点到几点",
    "hour": "几点",
    "weekdays": "星期几到星期几",
    "weekday": "星期几",
    "year": "哪一年",
    "date": "什么时候",
    "spell": "多长时间",
}
_FEWEST, _MOST = 6, 34


def chinese_questions(statements: Iterable[Statement]) -> Iterator[MadeQuestion]:
    """Yield what can be asked about sentences."""
    for statement in statements:
        yield from _Sentence(statement).questions()


class _Sentence:
    """Asks about one sentence."""

    def __init__(self, statement: Statement) -> None:
        self._place = statement.place
        self._text = _NUMBERED.sub("", _NOTES.sub("", statement.text)).strip("。！!；; ")

    def questions(self) -> Iterator[MadeQuestion]:
        """Yield what can be asked; of a sentence that denies, supposes or quotes something, nothing."""
        is_denied = _DENIED.search(_NO_DENIAL.sub("", self._text))
        if is_denied or _SUPPOSED.search(self._text) or self._text[:1] in '“"「『':
            return
        reason = _BECAUSE.match(self._text) or _SO.match(self._text)
        if reason is not None:
            yield from self._made(f"为什么{reason['main']}", reason["reason"], "cause", "analytical")
            return
        first, *others = _CLAUSE.findall(self._text) or [""]
        first = first.strip()
        opening = _TIME.fullmatch(first)
        if opening is not None and others and opening.lastgroup in ("year", "date"):
            main = others[0].strip()
            if _ADVERBIAL.search(main) or _NO_SUBJECT.match(main):
                return
            yield from self._made(f"{_ASKED[opening.lastgroup]}{main}", first, "time", "temporal")
            if len(others) == 1:
                yield from self._quantities(main, f"{first}，")
        elif not _ADVERBIAL.search(first) and not (others and _IS_LIMIT.search(first)):
            yield from self._clause(first)

    def _clause(self, clause: str) -> Iterator[MadeQuestion]:
        asked = [*self._where(clause), *self._who(clause), *self._times(clause), *self._quantities(clause)]
        yield from asked
        match = _IS.match(clause)
        if asked or match is None:
            return
        subject, what = match["subject"], match["what"]
        if _NO_DEFINITION_OF.search(subject) or what[0].isdigit() or what.endswith("的"):
            return
        if re.search("最|之一", what) and not self._is_titled(subject):
            return  # one of many things that can be said of it
        is_role = _PERSON.search(subject) is not None
        if is_role and re.search("[的最]", what):
            return  # what the office is, and not who holds it
        is_named = ("·" in what[:6] and len(what) < 12) or _NAMED_PERSON.search(subject)
        is_person = is_role or is_named or _SOMEBODY.search(what)
        yield from self._made(f"{subject.strip()}是{'谁' if is_person else '什么'}", what, "definition")

    def _is_titled(self, subject: str) -> bool:
        """Return True if the title of the document, or of the section, has a subject in it."""
        bare = subject.strip("《》 ")
        return any(bare in heading or heading in bare for heading in self._place.headings)

    def _where(self, clause: str) -> Iterator[MadeQuestion]:
        match = _PLACED.fullmatch(clause)
        if match is not None and not _DONE_THERE.search(match["place"]):
            yield from self._made(f"{match['subject']}{match['verb']}哪里", match["place"], "place")

    def _who(self, clause: str) -> Iterator[MadeQuestion]:
        if (match := _BY.fullmatch(clause)) is not None:
            yield from self._made(f"{match['subject']}由谁{match['does']}", match["who"], "person")

    def _times(self, clause: str) -> Iterator[MadeQuestion]:
        found = list(_TIME.finditer(clause))
        if len(found) != 1:
            return
        (match,) = found
        before, after, form = clause[: match.start()], clause[match.end() :], str(match.lastgroup)
        # "2021年公开赛", "1858年的基尔": the date belongs to a name.
        is_name = form in ("year", "date") and not _DATED_BY.search(before)
        if len(before) < 2 or is_name or _NO_TIME_BEFORE.match(after):
            return
        is_no_length = form == "spell" and (
            # 每周喂六天, 结冰日数十天, 延长至三天: a count of days, or of what is not said.
            re.search(r"每[周月年]|全天|[日天]数|[至到]\Z", before)
            # 收货七天内出现故障: a condition.
            or (re.match("[以之]?内", after) and not re.search("[在应须需可必]", before))
            or _SPOKEN.fullmatch(match[0])
            or (match[0].endswith("年") and not self._lasts(before, after))
        )
        # 押金为一个月租金: the length belongs to what is counted.
        if is_no_length or before.endswith("满") or (before.endswith("为") and after):
            return
        if form == "date" and before.endswith("为"):
            before = f"{before[:-1]}是"  # 为什么 would be *why*
        yield from self._made(f"{before}{_ASKED[form]}{after}", match[0], "time", "temporal")

    def _lasts(self, before: str, after: str) -> bool:
        """Return True if these words stand around a length of time, and no date."""
        return bool(_LASTING.search(before) or _LASTED.match(after))

    def _quantities(self, clause: str, opening: str = "") -> Iterator[MadeQuestion]:
        found = list(_QUANTITY.finditer(clause))
        if len(found) != 1 or (not opening and _TIME.search(clause)):
            return
        match = found[-1]
        before, after = clause[: match.start()], clause[match.end() :]
        if len(before) < 2 or match["number"] == "一" or _COUNTED_BEFORE.search(before):
            return
        if _COUNTED_AFTER.match(after):
            return
        # 后院二层北间, 分红白两种: a floor by its number, and a count of what was named.
        if (match["measure"] in ("层", "米") and after and not after.startswith("处")) or (
            match["measure"] == "种" and before[-1] not in "有共为达"
        ):
            return
        is_thousands = match["measure"] == "瓦" and match["number"].endswith("千")
        asked = "百分之多少" if match["share"] else f"多少{'千' * is_thousands}{match['measure']}"
        yield from self._made(f"{opening}{before}{match['about']}{asked}{after}", match[0], "quantity")

    def _made(
        self, text: str, answer: str, form: Form, kind: QuestionKind = "factual"
    ) -> Iterator[MadeQuestion]:
        """Yield a question that points at nothing outside of it; its document says what it is about."""
        text, answer = text.strip(" “”\"'、"), answer.strip("，；。 ")
        is_whole = all(text.count(pair[0]) == text.count(pair[1]) for pair in ("“”", "《》"))
        if (
            _FEWEST <= len(text) <= _MOST
            and is_whole
            and not _POINTING.search(text)
            and not _NOTHING_NAMED.match(text)
            and not _ANSWERS_POINTING.search(answer)
        ):
            yield MadeQuestion(
                text=text, place=self._place, answer=answer, form=form, kind=kind, needs_topic=True
            )
