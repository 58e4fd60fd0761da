"""Short everyday pairs: what a reader tries first. What the method gets wrong stands in the documentation."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag_evaluation_framework.judging.claims import claims_of
from rag_evaluation_framework.judging.lexical_support import LexicalSupport
from rag_evaluation_framework.records.scores import Claim

# A claim, and evidence by which it is supported.
SUPPORTED = [
    ("The flat has three rooms.", "The flat has 3 rooms and a balcony."),
    ("The shop opens at 3 pm.", "The shop opens at 15:00."),
    ("Twenty percent of the tickets are free.", "20 % of the tickets are free."),
    ("The city has 1.2 million inhabitants.", "The city has 1,200,000 inhabitants."),
    ("The trail is 5 km long.", "The trail is 5 kilometres long."),
    ("A ticket costs $12.", "A ticket costs 12 dollars."),
    ("The contract ends on March 9, 2025.", "The contract ends on 2025-03-09."),
    ("Emily Stone wrote the novel.", "The novel was written by Emily Stone in 1911."),
    ("Water damage is not covered by the warranty.", "The warranty does not cover water damage."),
    ("The hotel has a sauna.", "The hotel has a pool, a sauna and a gym."),
    ("Refunds are paid within 14 days.", "Refunds are paid within 14 days after we receive the goods."),
    (
        "Curie received the Nobel Prize two times.",
        "Curie received the Nobel Prize twice, in physics and in chemistry.",
    ),
    ("玛拉妮性格热情。", "玛拉妮是一个很热情的人。"),
    ("这座城市有一百二十万人口。", "这座城市有120万人口。"),
    ("会议于三点开始。", "会议于3点开始，地点在北京。"),
    ("The clinic was founded by Lang.", "Lang founded the clinic in 1950."),
    ("Payment is due in 14 days.", "Payment is due in fourteen days."),
    ("No one was injured in the accident.", "Nobody was injured in the accident."),
    ("Returns are not accepted after 30 days.", "Returns are accepted only within 30 days."),
    ("Her car is blue.", "Her car, which she bought last year, is blue."),
    ("The recipe needs flour.", "The recipe needs 200 grams of flour and two eggs."),
    ("You must wear a helmet on the site.", "On the site you must wear a helmet and gloves."),
    ("Half of the members voted.", "50 % of the members voted."),
    ("The film lasts two hours.", "The film lasts 120 minutes."),
    ("The company employs about 500 people.", "About 500 people work for the company."),
    ("Smoking is prohibited in the building.", "Smoking is not permitted in the building."),
    ("她的老师是李娜。", "李娜是她的老师。"),
    ("公司成立于2001年。", "公司位于杭州，成立于2001年。"),
    ("會議在北京舉行。", "会议在北京举行。"),
    ("Spain has a border with Portugal.", "Spain has borders with France and Portugal."),
    ("Our bakery closes at 6 pm.", "Our bakery closes at 18:00."),
    ("The lake is 0.04 km deep.", "The lake is 40 metres deep."),
    ("The subscription costs 9 pounds monthly.", "The subscription costs £9 a month."),
    ("Pets are welcome.", "Pets are welcome in the restaurant."),
    ("The device has a microphone.", "The device has a camera and a microphone."),
    ("The race was won by a Swede.", "The winner of the race was a Swede."),
    ("The store delivers to islands for free.", "The store delivers to islands at no cost."),
    ("药应在饭后服用。", "这种药应在饭后服用，每天三次。"),
    ("每天服用3次。", "每天服用三次。"),
    ("他的妻子当律师。", "他的妻子是律师。"),
    ("The pole is 5 m long.", "The pole is 5 metres long."),
    ("The trail is 5 km long.", "The trail is 5,000 metres long."),
    ("电影长两小时。", "电影长120分钟。"),
    # What another clause denies is not denied.
    ("标准间含早餐。", "标准间含早餐，经济间不含早餐。"),
    ("支持微信支付。", "支持微信支付，不支持现金。"),
    ("A座有电梯。", "A座有电梯，B座没有。"),
    ("成人可以进入。", "成人可以进入，儿童不可以进入。"),
    ("本店周一至周五营业。", "本店周一至周五营业，周末不营业。"),
    ("WeChat Pay is accepted.", "WeChat Pay is accepted, cash is not accepted."),
    (
        "Batteries are covered for 6 months.",
        "Electronics have a two-year warranty, batteries 6 months, and water damage is not covered.",
    ),
    ("Members can return items.", "Members can return items, non-members cannot."),
    ("人工客服时间为周一至周五9:00-18:00。", "人工客服时间为周一至周五上午9点至下午6点。"),
    ("商店21:30关门。", "商店晚上九点半关门。"),
    ("泳池下午3点开放。", "泳池15:00开放。"),
    ("会议上午9点30分开始。", "会议9:30开始。"),
    ("More than 200 people attended.", "240 people attended."),
    ("The film was released in the 1990s.", "The film was released in 1994."),
    ("It costs about 5 dollars.", "It costs 4.99 dollars."),
    ("超过200人参加。", "240人参加。"),
    ("Pro costs $9.", '{"plan": "Pro", "price": 9}'),
    (
        "The company has more than 300 employees.",
        "The company was founded in 2011 and has 340 employees in 12 countries.",
    ),
    ("The museum opened in the 1980s.", "The museum opened in 1987."),
    ("The firm was founded around 1875.", "The firm was founded in 1876."),
    ("景区海拔超过3000米。", "景区海拔3200米，游客约50万人次。"),
    ("The lamp costs about $50.", '{"name": "lamp", "price": 49.99}'),
    ("The lamp costs less than $60.", '{"name": "lamp", "price": 49.99}'),
    ("It opens at 8 on Sundays.", '{"name": "Cafe", "hours": {"Monday": "7:0-14:0", "Sunday": "8:0-14:0"}}'),
]
# A claim, and evidence by which it is contradicted.
CONTRADICTED = [
    ("The tower is 90 metres high.", "The tower is 60 metres high."),
    ("The museum opened in 1987.", "The museum opened in 1978."),
    ("The shop opens at 4 pm.", "The shop opens at 15:00."),
    ("30 percent of the tickets are free.", "20 % of the tickets are free."),
    ("The trail is 5 miles long.", "The trail is 5 km long."),
    ("A ticket costs 12 dollars.", "A ticket costs 12 euros."),
    ("A ticket costs $12.", "A ticket costs €12."),
    ("The meeting is on Tuesday.", "The meeting is on Thursday."),
    ("The contract ends on 31 March 2025.", "The contract ends on 31 May 2025."),
    ("The capital of Australia is Sydney.", "The capital of Australia is Canberra."),
    ("Sydney is the capital of Australia.", "Canberra is the capital of Australia."),
    ("The CEO is Maria Keller.", "The CEO is Anna Keller."),
    ("The novel was written by Jane Porter.", "The novel was written by Emily Stone in 1911."),
    (
        "The workshop in Lyon repairs broken switches.",
        "Broken switches are repaired by the workshop in Paris, which was founded in 1920 by two brothers.",
    ),
    ("You can return it.", "You cannot return it."),
    ("Dogs are not allowed in the park.", "Dogs are allowed in the park."),
    ("The warranty covers water damage.", "The warranty doesn't cover water damage."),
    ("He has never been to Rome.", "He has been to Rome twice."),
    ("There is no parking at the hotel.", "There is parking at the hotel."),
    ("The pool is open in winter.", "The pool is closed in winter."),
    ("Call us before noon.", "Call us after noon."),
    ("Sales increased in May.", "Sales decreased in May."),
    ("Admission is free.", "Admission is paid."),
    ("The application was rejected.", "The application was accepted."),
    ("The left door is locked.", "The right door is locked."),
    ("会议在上海举行。", "会议在北京举行。"),
    ("他的龙伙伴叫阿尤。", "他的龙伙伴叫阿贝多。"),
    ("您可以退货。", "您不能退货。"),
    ("商店周日不营业。", "商店周日营业。"),
    ("桥长三百米。", "桥长120米。"),
    ("商店上午开放。", "商店下午开放。"),
    ("门票免费。", "门票收费。"),
    ("他没有参加比赛。", "他参加了比赛。"),
    ("The train to Hamburg leaves from platform 7.", "The train to Hamburg leaves from platform 4."),
    ("The train to Munich leaves from platform 4.", "The train to Hamburg leaves from platform 4."),
    ("Our office is located in Madrid.", "Our office is located in Lisbon, Portugal."),
    ("Dr. Weber founded the clinic in 1950.", "Dr. Lang founded the clinic in 1950."),
    (
        "Mount Elbrus is the highest mountain in Africa.",
        "Mount Kilimanjaro is the highest mountain in Africa.",
    ),
    ("The library is closed on Mondays.", "The library is closed on Fridays."),
    ("Payment is due within 60 days.", "Payment is due within 30 days."),
    ("Payment is due in two weeks.", "Payment is due in two months."),
    ("Members pay more than guests.", "Members pay less than guests."),
    ("Children under 12 pay nothing.", "Children over 12 pay nothing."),
    ("The drug is safe for pregnant women.", "The drug is not safe for pregnant women."),
    ("The update won't delete your files.", "The update will delete your files."),
    ("Nobody was injured in the accident.", "Three people were injured in the accident."),
    ("The river flows north.", "The river flows south."),
    ("Her car is red.", "Her car is blue."),
    ("The first prize went to Tom.", "The first prize went to Lucy."),
    ("Water boils at 90 degrees Celsius.", "Water boils at 100 degrees Celsius."),
    ("Helmets are optional on the site.", "Helmets are mandatory on the site."),
    ("他出生于1980年。", "他出生于1990年。"),
    ("她的老师是王芳。", "她的老师是李娜。"),
    ("图书馆周一关闭。", "图书馆周二关闭。"),
    ("这个软件不支持中文。", "这个软件支持中文。"),
    ("公司位于深圳。", "公司位于杭州，成立于2001年。"),
    ("价格上涨了百分之五。", "价格下跌了百分之五。"),
    ("儿童必须买票。", "儿童无需买票。"),
    ("The concert takes place in Oslo.", "The concert takes place in Bergen."),
    ("The painting belongs to Laura Hill.", "The painting belongs to Peter Hill."),
    ("Spain has borders with France and Italy.", "Spain has borders with France and Portugal."),
    ("Our bakery closes at 7 pm.", "Our bakery closes at 18:00."),
    ("The lake is 40 feet deep.", "The lake is 40 metres deep."),
    ("The subscription costs £9 a month.", "The subscription costs £19 a month."),
    ("The subscription costs £9 a year.", "The subscription costs £9 a month."),
    ("Pets aren't welcome in the restaurant.", "Pets are welcome in the restaurant."),
    ("The device has no camera.", "The device has a camera and a microphone."),
    ("The medicine must be taken before meals.", "The medicine must be taken after meals."),
    ("The medicine should never be taken with alcohol.", "The medicine should always be taken with alcohol."),
    ("The exam was difficult.", "The exam was easy."),
    ("Participation is voluntary.", "Participation is mandatory."),
    ("The population decreased by 3 percent.", "The population increased by 3 percent."),
    ("The population increased by 5 percent.", "The population increased by 3 percent."),
    ("The king died in 1603.", "The queen died in 1603."),
    ("Tokyo hosted the games in 2016.", "Rio hosted the games in 2016."),
    ("The winner of the race was a Norwegian.", "The winner of the race was a Swede."),
    ("The store doesn't deliver to islands.", "The store delivers to islands."),
    ("这部电影由张伟导演。", "这部电影由陈强导演。"),
    ("手机没有指纹识别功能。", "手机有指纹识别功能。"),
    ("药应在饭前服用。", "药应在饭后服用。"),
    ("考试成绩提高了。", "考试成绩下降了。"),
    ("每天服用两次。", "每天服用三次。"),
    ("他的妻子是医生。", "他的妻子是律师。"),
    ("The trail is 6 km long.", "The trail is 5,000 metres long."),
    ("包裹重5公斤。", "包裹重5磅。"),
    # The clause that speaks of the claim's matter decides, also where it leaves something out.
    ("经济间含早餐。", "标准间含早餐，经济间不含早餐。"),
    ("支持现金。", "支持微信支付，不支持现金。"),
    ("B座有电梯。", "A座有电梯，B座没有。"),
    ("儿童可以进入。", "成人可以进入，儿童不可以。"),
    ("本店周末营业。", "本店周一至周五营业，周末不营业。"),
    ("Cash is accepted.", "WeChat Pay is accepted, cash is not accepted."),
    ("Cash is accepted.", "Cash, cheques and cards are not accepted."),
    ("Cash is not accepted.", "Cash is accepted, cards are not accepted."),
    ("The shop accepts cash.", "The shop accepts cards but does not accept cash."),
    ("Dogs are allowed in the restaurant.", "Dogs are allowed in the garden but not in the restaurant."),
    ("Dinner is included.", "Breakfast is included, but dinner is not."),
    ("Non-members can return items.", "Members can return items, non-members cannot."),
    ("We ship to Hawaii and Guam.", "We do not ship to Alaska, Hawaii or Guam."),
    ("密码最多12个字符。", "密码至少12个字符。"),
    ("泳池下午4点开放。", "泳池15:00开放。"),
    ("人工客服时间为周一至周五9:00-17:00。", "人工客服时间为周一至周五上午9点至下午6点。"),
    ("Breakfast is actually included in the price.", "Breakfast is not included in the price."),
    ("More than 200 people attended.", "150 people attended."),
    ("The film was released in the 1980s.", "The film was released in 1994."),
    ("Pro costs $10.", '{"plan": "Pro", "price": 9}'),
    ("The Pro plan has a price of 10.", '{"plan": "Pro", "price": 9}'),
    ("Luigi is rated 4.5 stars.", "name: Luigi\nstars: 3.5\ncity: Rome"),
    ("专业版价格为10元。", '{"套餐": "专业版", "价格": 9}'),
    # A bound is met by a number of the same thing only, a cap by none; years have a few years of room.
    (
        "Adults may take up to 8 g in 24 hours.",
        "Adults take 500 mg to 1 g every 4 to 6 hours, no more than 4 g in 24 hours.",
    ),
    (
        "The company has over 1,000 employees.",
        "It was founded in 2011 and has 340 employees in 12 countries.",
    ),
    (
        "The company has fewer than 300 employees.",
        "It was founded in 2011 and has 340 employees in 12 countries.",
    ),
    ("The library has fewer than 40,000 volumes.", "The library has 42,300 volumes and 600 journals."),
    ("The card is valid for more than 24 months.", "The card costs 25 euros and is valid for 12 months."),
    (
        "Preparation takes less than 10 minutes.",
        "It serves 4 and takes 45 minutes: 15 of preparation, 30 of baking.",
    ),
    (
        "The recipe serves more than 6.",
        "The recipe serves 4 and takes 45 minutes: 15 of preparation, 30 of baking.",
    ),
    ("About 40 people were hurt.", "37 houses were damaged and 12 people hurt."),
    ("景区海拔4000多米。", "景区海拔3200米，游客约50万人次。"),
    ("景区海拔超过5000米。", "景区海拔3200米，游客约50万人次。"),
    ("门票不到100元。", "门票120元，索道80元，海拔3200米。"),
    ("门票超过150元。", "门票120元，索道80元，海拔3200米。"),
    ("手机售价不到3000元。", "手机重量189克，售价3999元。"),
    ("手机重量不到150克。", "手机重量189克，售价3999元。"),
    ("Children under 16 enter free.", "Children under 12 enter free."),
    ("重量不超过30公斤。", "重量不超过15公斤，24瓶。"),
    ("5天以内送达。", "3天内送达。"),
    ("The deposit is up to $500.", "The deposit is $300."),
    ("限速不超过20公里。", "限速5公里。"),
    ("The bridge was built around 1450.", "The bridge was built in 1380."),
    ("The firm was founded around 1900.", "The firm was founded in 1876."),
    ("They have lived here since about 1950.", "They have lived here since 1995."),
    ("2019年多地出现暴雨。", "2021年多地出现暴雨。"),
    ("The treaty was signed over 3 meetings.", "The treaty was signed after 5 meetings."),
]
# A claim, and evidence by which it is unsupported.
UNSUPPORTED = [
    ("The hotel has a sauna with a view of the lake and a private chef.", "The hotel has a sauna."),
    ("The hotel belongs to a Swiss family.", "The hotel has a pool, a sauna and a gym."),
    ("他在大学教授数学。", "他住在北京的一座老房子里。"),
    ("The recipe was invented by a monk.", "The recipe needs 200 grams of flour and two eggs."),
    ("公司有五百名员工。", "公司位于杭州，成立于2001年。"),
    ("The device has a fingerprint reader.", "The device has a camera and a microphone."),
    ("The games were a financial disaster for the organisers.", "Rio hosted the games in 2016."),
    ("他有两个孩子和一只狗。", "他住在成都。"),
    ("The recipe serves more than 6.", "It serves 4 and takes 45 minutes: 15 of preparation, 30 of baking."),
    ("手机重量不到150克。", "手机189克，售价3999元。"),
    ("It opens at 9 on Sundays.", '{"hours": {"Monday": "9:0-14:0", "Sunday": "8:0-14:0"}}'),
]


@pytest.mark.parametrize(("claim", "evidence"), SUPPORTED)
def test_what_evidence_says_in_its_own_way_is_supported(claim: str, evidence: str) -> None:
    assert _label(claim, evidence) == "supported"


@pytest.mark.parametrize(("claim", "evidence"), CONTRADICTED)
def test_what_evidence_says_otherwise_is_contradicted(claim: str, evidence: str) -> None:
    assert _label(claim, evidence) == "contradicted"


@pytest.mark.parametrize(("claim", "evidence"), UNSUPPORTED)
def test_what_evidence_does_not_speak_of_is_unsupported(claim: str, evidence: str) -> None:
    assert _label(claim, evidence) == "unsupported"


@pytest.mark.parametrize(
    "opening", ["Yes", "**Yes**", "Sure", "Actually", "Of course", "Correct", "Certainly"]
)
def test_what_begins_an_answer_hides_no_contradiction(opening: str) -> None:
    claims = claims_of(f"{opening}, water damage is covered.")
    (verdict,) = LexicalSupport().decide(claims, ["Water damage is not covered."])
    assert verdict.label == "contradicted"


def _label(claim: str, evidence: str) -> str:
    (verdict,) = LexicalSupport().decide([Claim(claim, 0, len(claim))], [evidence])
    return verdict.label


def known_faults() -> list[tuple[str, str, str, str]]:
    """Return the table of the page: claim, evidence, what it should be and what it is."""
    page = (Path(__file__).parents[2] / "docs" / "lexical-support.md").read_text(encoding="utf-8")
    table = page.partition("| claim | evidence | should be | is |\n")[2].partition("\n\n")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[1:]]
    return [(claim, evidence, should, found) for claim, evidence, should, found in rows]


@pytest.mark.parametrize(("claim", "evidence", "should", "found"), known_faults())
def test_the_faults_that_the_page_tells_are_faults_still(
    claim: str, evidence: str, should: str, found: str
) -> None:
    assert _label(claim, evidence) == found != should
