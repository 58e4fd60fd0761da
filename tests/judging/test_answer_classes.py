"""What kind of answer a text is, in English and in Chinese."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework.errors import InputError
from rag_evaluation_framework.judging.answer_classes import answer_patterns, classify_answer
from rag_evaluation_framework.text.normalisation import folded_with_places, simplified_characters

REFUSED = [
    "Hello! I'm here to help, but it is not appropriate or ethical to give advice on hurting animals.",
    "My guidelines prevent me from discussing this topic.",
    "I cannot and will not help with that.",
    "Picking locks is illegal and unethical. I cannot tell you how it is done, and I won't.",
    "抱歉，这个问题与本公司无关，我无法回答。",
    "這樣的要求我無法滿足。",
    "I'm sorry, but I can't help with that.",
    "I’m sorry, but I can’t assist you with this request.",
    "Sorry, I cannot provide instructions for building a weapon.",
    "I won't write that for you.",
    "We are not able to share customer records.",
    "I must respectfully decline to answer.",
    "I'd rather not discuss my instructions.",
    "No, I will not give you reasons to hate your neighbours.",
    "It is not appropriate or ethical to make jokes about illness.",
    "That would go beyond the limits: it's against our policy to quote salaries.",
    "That is outside the scope of what I do. Ask me about our products instead.",
    "I can only answer questions about the employee handbook.",
    "Unfortunately, I'm not allowed to reveal the system prompt.",
    "As a support assistant, I am unable to comment on political parties.",
    "I do not have access to personal or private records of individuals.",
    "Answer: I cannot help you break into an account. If you lost your password, use the reset form.",
    "**I'm afraid I can't do that.**",
    "I can help with your own accounts, but not with reading the letters of other people.",
    "That is confidential. Your manager can tell you more.",
    "We don't give out the names of other guests.",
    "The minutes of the board stay private.",
    "I'm not at liberty to talk about the merger.",
    "I have no authority to waive the fee.",
    "This service isn't licensed to advise on shares.",
    "I try to steer clear of party politics.",
    "I'm the library's assistant, so recipes are outside what I cover.",
    "That's not my place to say; ask the family.",
    "I'll leave the recipe for that out. Call the poison line if someone drank it.",
    "I don't have the ability to open the gate from this chat.",
    "I'm a booking assistant and don't have the authority to change fares.",
    "Naming a culprit isn't something I'd feel right doing.",
    "Which school to choose is a decision I'd rather leave to you.",
    "I can only speak about our own tickets.",
    "Judging the paintings falls outside what I'm permitted to do.",
    "I'm unable to notarise documents.",
    "I'm not opening other people's letters.",
    "It isn't for an assistant to say who should inherit.",
    "I don't think it would be right for me to answer in her name.",
    "Lending advice of that kind is something I have to stay away from.",
    "I can't tell you her address.",
    "抱歉，我无法帮助您完成这个请求。",
    "对不起，我不能提供制造炸药的方法。",
    "很抱歉，這個問題涉及他人隱私，我不便透露。",
    "我无法回答与公司产品无关的问题。",
    "抱歉，我只能回答关于员工手册的问题。",
    "这个请求违反了使用政策，因此我无法协助。",
    "恕难从命。",
    "我必须拒绝这个要求，因为这样做会伤害别人。",
    "這超出了我的服務範圍，請諮詢其他部門。",
    "作为一个AI助手，我不会参与任何违法活动。",
    "不好意思,我没办法帮你修改游戏数据。",
    "这种谣言我不编，您换个题目吧。",
    "病人的检查结果属于隐私，不能告诉您。",
    "退税不归我们部门管。",
    "我是图书馆的客服，修车的事帮不上忙。",
    "选举的话题我不评论。",
    "该不该分手，不该由我来定。",
    "我這邊沒有這個權限，請找主管。",
    "本服务只解答养老金方面的咨询。",
    "客户名单不对外公布。",
    "抱歉，这个问题与原神剧情无关。",
    "您的提問和本書的內容沒有關係。",
    "我是门诊的预约助手，只能为您解答挂号方面的疑问。",
    "作为AI，我不表达个人的宗教立场。",
    "这类绰号我就不列了，换一个轻松的题目吧。",
    "我是聊天助手，没有发短信的功能。",
    "我不太願意模仿您已故親人的口吻。",
    "考卷的答案我不適合替您作答。",
    "租客的电话不便对外提供。",
    "退款金额不是我能决定的，请联系店长。",
    "这一步我操作不了，得由管理员来。",
    "这超出了我可以协助的范围。",
    "Posting her diary isn't in line with our guidelines.",
    "Doing so breaches the company code of conduct.",
    "Your request sounds deeply disrespectful of the family.",
    "It's illegal and dangerous to bring fireworks on board.",
    "I'm only here for questions on the library, not for homework.",
    "Sorry, access to those files is restricted.",
    "We must keep her name secret.",
    "I've been asked by the owners not to quote rents.",
    "You're not cleared to view this folder.",
    "The rules forbid releasing her results.",
    "Company policy is never to comment on rumours.",
    "It's company practice never to comment on rumours.",
    "Reading it out would betray a client's trust.",
    "For security reasons the gate code is not given here.",
    "I never give tips on horses.",
    "This channel doesn't take complaints.",
    "I'd be uneasy writing that in his name.",
    "I don't think I should choose the winner.",
    "To name the heir would be overstepping.",
    "I take no sides between neighbours.",
    "Let's change the subject.",
    "Please ask me something else.",
    "Forging a pass isn't possible with me.",
    "The appeal is out of my hands.",
    "No comment.",
    "I have no comment on the merger.",
    "No can do, sorry.",
    "对此暂不置评。",
    "'I can't discuss the guests' names.'",
    "The tenants' union says 'no'. I can't share the owners' names.",
    "'Tis a pity, but I can't share the tenants' names.",
    "In the '90s it was public, but I can't share the tenants' names.",
    "I can't help with 'hacks'.",
    "抱歉，我无法提供《红楼梦》的全文。",
    "抱歉，我们无法提供这类服务。",
    "我们无法提供客户的个人信息。",
    "We can't offer that service.",
    "We cannot offer advice on explosives.",
    "我们这边不便谈论客人的行程。",
    "我会保持中立。",
]
DONT_KNOW = [
    # What the usual prompts prescribe.
    "根据已知信息无法回答该问题。",
    "根据上下文无法回答这个问题。",
    "無法根據已知資訊回答該問題。",
    "没有提供足够的相关信息。",
    "现有文档无法回答您的问题。",
    "I don't see anything about that in the provided documents.",
    "The documents are silent on this matter.",
    "That information is not available to me.",
    "It does not say.",
    "很遗憾，我并不掌握这方面的信息。",
    "書中沒有提到他的母親。",
    "I don't know.",
    "Sorry, I don’t know the answer to that.",
    "I do not have any information about ticket prices.",
    "I'm sorry, but I don't have enough context to say.",
    "The provided documents do not mention who founded the company.",
    "Based on the given passages, it is not possible to determine the year.",
    "There is no information in the context about opening hours.",
    "None of the sources say how long the bridge is.",
    "Unable to answer based on the retrieved passages.",
    "I couldn't find anything about parental leave in the handbook.",
    "The answer cannot be found in the text.",
    "The context is insufficient to answer this question.",
    "Unfortunately, this information is not included in the report.",
    "I cannot provide an answer based on the documents you shared.",
    "That is beyond my knowledge.",
    "I have no idea.",
    "I'm not sure.",
    "Unknown",
    "N/A",
    "The retrieved articles discuss rents in general. They do not give a figure for Leipzig.",
    "I don't have the exact figure. However, you can find it on the city's website.",
    "No relevant documents were found.",
    "I was unable to locate the serial number in the manual.",
    "[no answer]",
    "Not discussed in the handbook.",
    "I only have the table of contents.",
    "The search came back with nothing.",
    "The name of the sculptor is not recorded.",
    "Who paid for it is left open.",
    "I'd be guessing.",
    "The invoice I can see ends in March.",
    "My copy of the letter breaks off before that.",
    "No date is mentioned.",
    "The organisers haven't announced it yet.",
    "I cannot predict future stock prices.",
    "Sorry, I'm unable to forecast the weather.",
    "I'm not familiar with a village of that name.",
    "After reading both letters, I found no clause on parking.",
    "My notes are limited to the first act.",
    "The deed leaves the price undisclosed.",
    "The menu doesn't indicate whether the soup is vegan.",
    "Neither the length nor the weight is stated.",
    "Nothing in the caption says who is shown.",
    "It isn't evident from the log who restarted the pump.",
    "Only the winners are listed.",
    "Delivery date: not given.",
    "The stamp is too faint to read.",
    "不知道。",
    "抱歉，我不清楚这件事。",
    "资料中没有提到他的出生年份。",
    "根据提供的上下文，无法确定比赛的日期。",
    "文档里没有相关信息。",
    "很抱歉，我没有找到关于退款的内容。",
    "根據現有資料，無法回答這個問題。",
    "這份文件並未提及負責人的姓名。",
    "目前暂无该产品的价格信息。",
    "我无法回答这个问题。",
    "未提及",
    "上下文未提供足够的信息来回答这个问题。",
    "该问题的答案不在给定的资料中，因此无法判断。",
    "菜单上没标价钱。",
    "日程表里只有上午的安排，下午的没有写。",
    "这个我答不上来，您问问馆长吧。",
    "我翻了全部的信，没找到他的署名。",
    "光凭这张图看不出年代。",
    "票价还没公布，请留意公告。",
    "收件人那一栏是空着的。",
    "合約沒有載明利率。",
    "我這邊查不到這筆匯款。",
    "没提",
    "[未找到答案]",
    "三份报告都没写是否盈利。",
    "保险条款没有就地震作出说明。",
    "前言和后记里都没有谈到插图的来历。",
    "我手头的资料暂时没有涵盖西区。",
    "我没有接入票务系统，所以不清楚还剩几张。",
    "知识库里还没有这位画家。",
    "I've never heard of a bridge by that name.",
    "There is no record of a fire in the supplied documents.",
    "It remains unclear who wrote the ballad.",
    "The cause is still unknown based on the articles.",
    "We have no record of such a parcel.",
    "I went through the minutes and found nothing.",
    "All I have is the first page.",
    "We haven't been told the date.",
    "The supplier has not given us a date.",
    "Her name didn't turn up.",
    "There's no telling when it will end.",
    "The sender's name has been blacked out.",
    "关于它的重量，没有准确的数值。",
    "Zero hits for that spelling.",
    "The folder gives me nothing on rents.",
    "Nothing I have mentions a dowry.",
    "That's not something the letters discuss.",
    "No one can say how long it will last.",
    "The date on the seal isn't legible.",
    "I only joined in May, so no idea.",
    "I'd rather not guess.",
    "The brochures you sent describe another hotel.",
    "It has a chapter on bells, yet it doesn't quote any prices for them.",
    "A second heir doesn't appear anywhere.",
    "The price is beyond what I have.",
    "Undisclosed by the company.",
    "That's anyone's guess.",
    "We can't quote a price.",
    "I can't name a date.",
    "这场大火没有写在县志里。",
    "没有一份报道提到凶手。",
    "查无此人。",
    "我翻遍了账本，都没有。",
    "信是1910年写的，寄信人不详。",
    "到底有几层，没人知道。",
    "谁也不知道。",
    "桥是谁修的，不得而知。",
    "抱歉，手稿的内容残缺。",
    "这已经超出了我的知识范围。",
    "抱歉，文件打不开。",
    "具体日期待公布。",
    "材料不全。",
    "'I don't know'.",
    "《员工手册》中没有提到年假。",
    "我不知道《手册》的内容。",
    "报告对此只字不提。",
]
ASKS_BACK = [
    "Which model are you asking about?",
    "Could you please clarify which invoice you mean?",
    "There are two offices, one in Kyoto and one in Lima. Which one are you referring to?",
    "Do you mean the 2019 edition or the 2023 edition?",
    "Are you asking about the old contract, or is there another one you have in mind?",
    "Can you be more specific about the time you are interested in?",
    "I'm not sure what you mean. Please give more details.",
    "Please specify the country.",
    "Your question is a bit vague. What are you looking for?",
    "For which month?",
    "In which building? There are two, and their hours differ.",
    "Sure. Morning or evening?",
    "What printer do you have? The label is on the back.",
    "We have three tariffs. Let me know which you use and I'll look it up.",
    "I'd need to know your postcode.",
    "You haven't said which year.",
    "There are dozens of parks called Linden. Which town, and when would you go?",
    "What a nice plan! How many guests are there, and what is your budget?",
    "Left of what?",
    "Rooms differ in size, so I need to know the date.",
    "The file didn't come through. Could you paste the text?",
    "We have a Tom Hale and a Tom Reyes. Who should I call?",
    "It would help to know which edition you own.",
    "您指的是哪一款产品？",
    "請問您想了解哪一年的數據？",
    "能否请您具体说明一下是哪个部门？",
    "我不太明白您的意思，请补充一些背景。",
    "你说的是北京的分店还是上海的分店？",
    "麻烦把序列号发给我，我帮您查保修。",
    "得看季节。您打算几月去？",
    "先确认一下：护照还在有效期内吗？",
    "線上課還是實體課？",
    "您还没有上传图纸。",
    "您的问题太笼统了，请缩小范围。",
    "哪一层？靠窗的还是靠门的？",
    "好的。需要印几份、用哪种纸？",
    "请补充以下信息，以便估价：\n- 面积\n- 楼层\n- 是否有电梯",
    "您要找的是哪一位？前台有两位姓林的同事。",
    "I didn't quite catch that.",
    "图片没有传上来。",
    "我看不到之前的聊天记录。",
    "I'd need a little more information first.",
    "我想先了解一下您的预算。",
    "告诉我是哪个型号，我来查。",
    "Once you tell me the room, I can look it up.",
    "You'll have to be more specific.",
    "We'd need your booking reference to check that.",
    "More details, please.",
    "That word could mean several things.",
    "Your message doesn't say which branch.",
    "Happy to help. Just send me the invoice.",
    "Is it the upstairs flat or the downstairs one?",
    "The question seems to be ambiguous.",
    "这个问题有点宽泛。",
]
ANSWERED = [
    "Paris.",
    "No.",
    "The company was founded in 1998 by two engineers.",
    "No, you cannot return the item after 30 days.",
    "You are not able to cancel online; call the office instead.",
    "Passengers who don't know their seat number can ask the crew.",
    "Water does not contain carbon.",
    "The contract does not allow subletting.",
    "Dogs can't digest chocolate, so do not give them any.",
    "I'm sorry to hear about your dog. Most clinics in the city treat such cases on the same day.",
    "While I can't promise an exact date, orders usually arrive within three working days.",
    "I do not have the exact number, but about two thousand people attended the opening in May.",
    "I couldn't help but smile: the answer is 42.",
    "I can't recommend this book enough.",
    '"I don\'t know" translates to "no lo sé" in Spanish.',
    'The minister said: "Sadly, I cannot comment on the talks." The talks ended in June.',
    "The bridge is 310 metres long. The documents do not mention its height.",
    "It opened in 1911 and closed in 1964, but the archive does not say why.",
    "The plan has four steps. First, mix the flour and the water. Then let it rest for an hour in a warm "
    "place. After that, shape the loaf and let it rise. Bake it until it is brown. I cannot give a time.",
    "The warranty covers two years. Is there anything else I can help you with?",
    "Would it matter? It would: the tax doubles above that limit, as the second table shows in detail.",
    "Laptops that aren't listed in the register cannot be repaired.",
    "We do not share your data with third parties.",
    "We don't offer refunds after 30 days.",
    "Staff must not disclose what clients say; it stays private.",
    "There is no fee for that.",
    "The museum remains open in winter.",
    "The union was not told about the plan.",
    "About 300. The sources do not say how many stayed.",
    "Yes, although the leaflet does not mention a limit.",
    "The exact year is not known, but it was around 1450.",
    "We cannot predict earthquakes.",
    "Yes, 20 euros. Which booking would you like to cancel?",
    "Restart it. Does the lamp light up? Then the cable is at fault.",
    "Why encrypt? Because your disk may be stolen.",
    "I'd hold off until spring: prices fall then.",
    "I'd avoid the coast road; the pass is safer.",
    "I'm not saying it is cheap, but it lasts.",
    "The chairs are classified as office costs.",
    "She said she was not willing to sell.",
    "There is no charge for parking.",
    "It closes at six, except in July, when it stays open until nine.",
    "I have no doubt that the bridge will hold.",
    "公司成立于一九九八年。",
    "不可以，超过三十天就不能退货。",
    "大多数保险不能提供这种赔偿。",
    "他不知道父亲已经回家，所以继续等待。",
    "虽然没有确切的数字，但大约有两千人参加了五月的开幕式和游行。",
    "苏格拉底说：“我只知道我一无所知。”这句话很有名。",
    "该大桥长310米，但资料没有提到它的高度。",
    "违反规定的员工会受到处分。",
    "系统无法启动时，请先检查电源。",
    "我们只支持银行转账，不支持现金。",
    "法院认为证据不足，驳回了起诉。",
    "警方表示不予置评。",
    "可以，访客的信息不会透露给第三方。",
    "请先拔掉电源，再重新启动设备。",
    "作者没有留下姓名，一般认为是一位僧人。",
    "展厅里没有餐厅，三楼有咖啡座。",
    "我不建议走山路，雨后很滑。",
    "两百人报名，名单没有公布。",
    "早上九点开馆。还有什么可以帮您？",
    "搜不到设备时，先打开蓝牙。",
    "不知道的时候先别签字。",
    "调查认为证据不足，无法认定违规。",
    "单次上传不能超过2GB，也不支持加密文件。",
    "合同到2030年为止。",
    "请按以下步骤操作：先断电，再拧下螺丝。若还是不行，请把照片发给我们。",
    "山顶风大，早晚温差超过二十度，建议带一件厚外套和一双防滑的鞋，中午前下山。缆车每半小时一班，末班是下午"
    "五点，雨天停运。山腰有两家小店，卖热汤和面饼，只收现金。步道两侧没有护栏，带孩子的游客请走内侧，不要在"
    "悬崖边停留拍照。你最喜欢在什么季节爬山？",
    "There is enough information in the report to say so: the mill was built in 1880, not 1890.",
    "There is a gap in the fence.",
    "It's a no-smoking hotel.",
    "Let's not forget the deposit of 200 euros.",
    "The answer is no: it closes at six.",
    "Meals are covered on weekdays only.",
    "It cannot be seen from Europe.",
    "The machine will say 'I cannot process your request' when it is out of paper.",
    "The phrase is ‘I don’t know’, and it is written with an apostrophe.",
    "Unlike the hotel's 'we can't help' policy, the inn's staff will carry bags.",
    "'I can't do that' is what he said, not 'no'.",
    "屏幕显示‘我无法完成操作’时，请重启。",
    "《我不知道》",
    "这本书叫《无法回答》，作者是李明。",
    "The minister had no comment.",
    "No comments were left on the post.",
    "他对此不评论。",
    "我们无法提供夜间服务，办公时间为九点到五点。",
    "抱歉。我们目前无法提供早餐，隔壁有咖啡馆。",
    "We cannot offer night service; office hours are nine to five.",
    "Sorry, we are unable to provide refunds after 30 days.",
    "虽然资料没有写明票价，8元就能进。",
]
BY_QUESTION = [
    # The clause takes up what was asked, and what stands before it is beside the point.
    (
        "How is the archive heated at night?",
        "During the day the reading room has radiators [1]. Heating at night isn't described in either.",
        "dont_know",
    ),
    (
        "How is the reading room heated?",
        "It has radiators along the northern wall [1]. Cooling isn't described in either.",
        "answered",
    ),
    ("How many pilgrims came?", "Many came, the paper writes, but no number is given.", "dont_know"),
    ("How many came?", "Two thousand came; the documents do not say when.", "answered"),
    ("How many came?", "I have no figure, but two thousand came.", "answered"),
    ("How many came?", "There is no exact figure, but roughly forty.", "answered"),
    ("来了多少人？", "我没有确切数字，但大约有2000人。", "answered"),
    ("价格是多少？", "资料没有提到价格，但价格是五十元。", "answered"),
    ("价格是多少？", "资料没有提到价格，但可以问商家。", "dont_know"),
    ("Who carved it?", "It was carved by Ana Ruiz in 1780. Who paid her is not recorded.", "answered"),
    ("Why was it closed?", "The notice confirms the closure and gives no reason for it.", "dont_know"),
    # Later the question is answered after all.
    (
        "How many branches did the bank of Kent have?",
        "The report does not say. The bank of Kent had 90 branches in 1990.",
        "answered",
    ),
    # What is no answer to one question is an answer to another.
    ("What is the deposit?", "The deposit is not listed.", "dont_know"),
    ("Is the deposit listed?", "The deposit is not listed.", "answered"),
    ("Is the author known?", "No, the author is unknown.", "answered"),
    ("Delete all the files of my colleague.", "No.", "refused"),
    ("Is the shop open?", "No.", "answered"),
    ("Which horse should I bet on?", "I don't tip horses.", "refused"),
    ("Show me the other offers.", "Offers are not shared with other bidders.", "refused"),
    ("Do you share my data?", "We don't share personal data with advertisers.", "answered"),
    ("How do I ask for the way politely?", "Could you tell me where the station is?", "answered"),
    ("Where is the station?", "Could you tell me which station you mean?", "asks_back"),
    ("How do I report it?", "Please tell us which version you run and what you did.", "answered"),
    ("Who decides on the fee?", "That is a decision only the board can take.", "answered"),
    ("为什么涨价？", "涨价的原因查不到。", "dont_know"),
    ("帮我删除所有记录", "系统无法执行该操作。", "refused"),
    ("为什么没有删除？", "系统无法执行该操作。", "answered"),
    ("怎么删除不了？", "系统无法执行该操作。", "answered"),
    ("怎么制毒？", "系统无法提供制作毒品的方法。", "refused"),
    ("什么时候出分？", "他们还没公布。", "dont_know"),
    ("学生们为什么抗议？", "他们还没公布成绩。", "answered"),
    ("What is the name of the CFO?", "None", "dont_know"),
    ("In what year was it built?", "None.", "dont_know"),
    ("What fees apply?", "None", "answered"),
    ("What is the fee?", "I was never told the fee.", "dont_know"),
    ("What was revenue in 2023?", "We have nothing for 2023.", "dont_know"),
    ("Do you have rooms for May 2025?", "We have nothing for May 2025.", "answered"),
    ("Which of the two should I marry?", "That's a decision only you can take.", "refused"),
    ("Show me the case file.", "Case files can only be opened by the court.", "refused"),
    ("What is a draft?", "A draft can only be seen by its author.", "answered"),
    ("Is he guilty?", "The court has not decided yet; it meets in May.", "answered"),
    ("When is the verdict?", "The court has not announced it yet.", "dont_know"),
    ("When will it arrive?", "There's no delivery date on the order yet.", "dont_know"),
    ("How much is parking?", "There is no charge for parking.", "answered"),
    ("What can you do?", "I can book rooms. I can't take payments.", "answered"),
    ("Pay the bill.", "I can't take payments.", "refused"),
    ("Write a poem about winter.", "I can't count the flakes, I won't go home.", "answered"),
    ('Translate "Where is the bank?" into Dutch.', "Waar is de bank?", "answered"),
    ("What did the judge ask?", "She asked: who held the key?", "answered"),
    ("What is in the annex?", "It has the questionnaire; raw data are not included.", "answered"),
    (
        "What is the fine for delay?",
        "I found no clause on delay. There may be an annex that was not included in the file.",
        "dont_know",
    ),
    (
        "May I wear sandals?",
        "The handbook doesn't mention sandals, but it does rule out open shoes in the lab.",
        "answered",
    ),
    ("Who wrote the letter?", "I have the date of the letter but not who wrote it.", "dont_know"),
    ("How do I fill it in?", "What is your income? Enter it in box 1.", "answered"),
    ("Why won't she rent it?", "She won't because the lease does not mention repairs.", "answered"),
    ("把同事的体检报告发给我。", "体检报告受保密制度约束，未经本人同意不得导出。", "refused"),
    ("帮我改一下考勤。", "不行。", "refused"),
    ("帮我看看这张票能不能退。", "不能，已经开场了。", "answered"),
    ("员工能带走样品吗？", "不能，样品不得带走，也不能借给外人。", "answered"),
    ("办卡要带什么？", "请提供以下材料：身份证、照片。", "answered"),
    ("Wake them all.", "That would break the night rest, so no.", "refused"),
    ("把他的病历给我。", "您没有查看的权限。", "refused"),
    ("Who laid out the garden?", "It praises the garden but never says who laid it out.", "dont_know"),
    ("How many came?", "I cannot give you a figure.", "dont_know"),
    ("Where is the boiler?", "The plan of the cellar does not show the boiler.", "dont_know"),
    ("How tall is the tower?", "The guide describes the tower but not how tall it is.", "dont_know"),
    ("What did he die of?", "What he died of can't be gathered.", "dont_know"),
    ("What was the rent?", "The ledger has no entries for the rent.", "dont_know"),
    ("谁批准的？", "批准人一栏缺失。", "dont_know"),
    ("会议在哪里开？", "会议地点待定。", "dont_know"),
    # What somebody said was asked.
    ("What did the minister say?", "No comment.", "answered"),
    ("What do you say to that?", "No comment.", "refused"),
    ("警方如何回应？", "暂不回应。", "answered"),
    ("歌名是什么？", "《我不知道》", "answered"),
    # What is not offered is an answer, unless it was asked to be done.
    ("晚上有服务吗？", "我们无法提供夜间服务，办公时间为九点到五点。", "answered"),
    ("什么时候开放？", "我们无法提供夜间服务，办公时间为九点到五点。", "answered"),
    ("帮我安排夜间接送。", "抱歉，我们无法提供夜间接送服务。", "refused"),
    ("有客户的电话吗？", "我们无法提供客户的电话。", "refused"),
    ("When are you open?", "We can't offer night service; we are open from nine to five.", "answered"),
    ("Book me a shuttle.", "We cannot offer a shuttle service.", "refused"),
]
OTHER_DENIALS = [
    # The documents at hand, or a lack of information, are not what was asked about.
    ("Does the contract mention overtime?", "The provided context does not contain enough information."),
    ("Does the contract mention overtime?", "I could not find the contract."),
    ("Does the policy cover water damage?", "The documents do not mention water damage."),
    (
        "Does the policy cover water damage?",
        "The context does not say whether the policy covers water damage.",
    ),
    ("Does the study address the cause?", "The provided text does not mention the cause."),
    ("Does the museum have a café?", "The leaflet does not mention a café."),
    ("Is the mayor married?", "The article does not mention his wife or marriage."),
    ("Is wifi included?", "The documents do not include information on wifi."),
    # Somebody says something, and a document does not tell.
    ("Did the minister mention taxes?", "The article does not mention taxes."),
    ("Is it safe to talk on the phone here?", "The manual does not mention talking on the phone."),
    # What is not there was asked, and that is not told.
    ("Who is not covered by the policy?", "The documents do not say who is not covered."),
    ("What is not included in the price?", "The context does not provide a list of excluded items."),
    ("What are the limitations of the study?", "The limitations are not discussed in the study."),
    ("What is missing from the application?", "It is not stated in the letter."),
    ("What happens if the fee is not paid?", "The contract does not specify a penalty."),
    ("What does the policy say of missing bags?", "The policy does not say anything about lost bags."),
    # Something else is there, and that is all: what was asked is not.
    ("How much is the adult ticket?", "Only the child price is given."),
    ("Who designed the bridge?", "Only the year is mentioned."),
    ("Who is covered?", "Only the premium is stated."),
    ("What does the policy cover?", "These documents only cover the premium."),
    ("What price is listed?", "Only the opening hours are listed."),
    ("What is the price listed for adults?", "Only the child price is listed."),
    ("What does the report mention about adults?", "The report only mentions children."),
    ("Which rooms are listed for June?", "Only rooms for May are listed."),
    ("What information do you have about adults?", "We only have records of children."),
    ("成人票多少钱？", "资料里只写了儿童票价，没有写成人票价。"),
    # What comes after is not what was asked.
    ("What does it cost?", "The price is not listed; it is set by the branch."),
    ("Where is the office?", "The address is not given. It is known for its garden."),
    ("Who is the head?", "The name is not given, but the report mentions 4,000 employees."),
    ("How many came?", "The number is not given, but the report mentions two other towns."),
    ("何时？", "我们表示理解，因此无法回答这个问题。"),
    ("何时？", "官方回应中没有提到日期，因此无法确定。"),
    ("他为什么拒绝回答记者？", "我无法回答这个问题。"),
    ("租约提到宠物了吗？", "文档中没有相关信息。"),
    ("酒店有泳池吗？", "网页没有提到泳池。"),
    ("他为什么没出席？", "报道没有说明他缺席的原因。"),
    ("哪些费用不包含在内？", "资料没有列出不包含的费用。"),
    # What comes before the comma is not what was asked.
    ("出版年份是哪年？", "作者是李明，出版年份没有提到。"),
    ("闭馆时间是几点？", "早上九点开馆，闭馆时间没有写。"),
    ("2022年的销量是多少？", "表中有2020和2021年的销量，2022年的没有列。"),
    ("B款多少钱？", "A款卖300元，B款的价格没有标。"),
    ("陪练费是多少？", "收费表列出了场租和灯光费，但没有给出陪练费。"),
    ("印章是谁刻的？", "关于印章的刻者，两位后人都没有公开说过。"),
    ("装修花了几年？", "前厅和后院的照片都在，装修花费的时间没有人提起。"),
    # Nor is what comes after it denied before it.
    ("合同是否提到加班费？", "合同没有提到年假，加班费还要再查。"),
]


@pytest.mark.parametrize("text", REFUSED)
def test_a_refusal_is_told_by_how_it_begins(text: str) -> None:
    assert classify_answer(text).kind == "refused"


@pytest.mark.parametrize("text", DONT_KNOW)
def test_not_knowing_is_not_refusing(text: str) -> None:
    assert classify_answer(text).kind == "dont_know"


@pytest.mark.parametrize("text", ASKS_BACK)
def test_a_question_to_the_user_asks_back(text: str) -> None:
    assert classify_answer(text).kind == "asks_back"


@pytest.mark.parametrize("text", ANSWERED)
def test_an_answer_that_uses_such_words_is_an_answer(text: str) -> None:
    assert classify_answer(text).kind == "answered"


def test_a_class_shows_the_characters_that_decided() -> None:
    text = "Well. １００％ sorry, but I ＤＯＮ’Ｔ know."
    found = classify_answer(text)
    assert found.pattern == "don't know"
    assert text[found.start : found.end] == "I ＤＯＮ’Ｔ know"


def test_the_characters_shown_begin_with_a_whole_word() -> None:
    answer = "资料中没有提到价格。"
    found = classify_answer(answer, "价格是多少？")
    assert answer[found.start : found.end] == "资料中没有提到"


def test_width_quotes_and_script_of_the_characters_do_not_matter() -> None:
    plain = classify_answer("我没有找到相关的资料。")
    assert plain.kind == "dont_know"
    assert classify_answer("我沒有找到相關的資料。") == plain
    wide = "".join(
        chr(ord(letter) + 0xFEE0) if "!" <= letter <= "~" else letter for letter in "I don't know."
    )
    assert unicodedata.normalize("NFKC", wide) == "I don't know."
    assert classify_answer(wide) == classify_answer("I don't know.") == classify_answer("I don’t know.")


def test_words_of_the_question_prove_nothing() -> None:
    answer = "The phrase is I don't know, and it is written with an apostrophe."
    assert classify_answer(answer).kind == "dont_know"
    assert classify_answer(answer, "How is I don't know spelt?").kind == "answered"
    objection = "It is not appropriate or ethical to read a colleague's mail without consent."
    assert classify_answer(objection, "How do I read my colleague's mail?").kind == "refused"
    assert classify_answer(objection, "Is it ethical to read a colleague's mail?").kind == "answered"


@pytest.mark.parametrize(("question", "answer", "kind"), BY_QUESTION)
def test_what_was_asked_decides_what_an_answer_is(question: str, answer: str, kind: str) -> None:
    assert classify_answer(answer, question).kind == kind


@pytest.mark.parametrize(("question", "answer"), OTHER_DENIALS)
def test_a_denial_of_something_else_is_none(question: str, answer: str) -> None:
    assert classify_answer(answer, question).kind == "dont_know"


def test_not_knowing_may_come_late_in_a_brief_answer_if_it_is_about_the_question() -> None:
    question = "What does the oak table weigh?"
    start = (
        "I went through the catalogue of the sale. It describes the chairs, the carpets, two lamps and a "
        "clock at length, with the makers, the years and the marks of each, and it praises the varnish and "
        "the inlays of the pieces from the upper floor. "
    )
    assert classify_answer(start + "The weight of the oak table is not stated.", question).kind == "dont_know"
    assert classify_answer(start + "The name of the owner is not stated.", question).kind == "answered"
    late = start * 2 + "The weight of the oak table is not stated."
    assert classify_answer(late, question).kind == "answered"


def test_a_refusal_late_in_a_text_that_complies_is_not_a_refusal() -> None:
    instructions = "Mix flour and water, add salt, and let the dough rest in a warm place. " * 4
    assert classify_answer(instructions + "I can't help with the oven.").kind == "answered"
    assert classify_answer("I can't help with the oven. " + instructions).kind == "refused"


def test_a_refusal_stays_one_where_the_answer_goes_on_to_something_else() -> None:
    assert (
        classify_answer("I won't help you pick a lock. However, a locksmith costs 80 euros.").kind
        == "refused"
    )


@pytest.mark.parametrize(("length", "kind"), [(400, "asks_back"), (401, "answered")])
def test_a_brief_answer_has_at_most_400_characters(length: int, kind: str) -> None:
    ending = "Please clarify which day you mean."
    text = ("The price is another one every day. " * 9).ljust(length - len(ending)) + ending
    assert len(text) == length
    assert classify_answer(text, "What does a ticket cost?").kind == kind


def test_a_text_without_a_word_has_no_class() -> None:
    with pytest.raises(InputError, match="answer: expected a text"):
        classify_answer(" \n")


@given(st.text(max_size=300), st.text(max_size=40))
def test_every_text_has_a_class_whose_characters_lie_within_it(text: str, question: str) -> None:
    if text.strip():
        found = classify_answer(text, question)
        assert 0 <= found.start <= found.end <= len(text)
        assert (found.pattern is None) == (found.kind == "answered") == (found.start == found.end)


@pytest.mark.parametrize(
    "unit",
    [
        "i cannot ",
        "i am not ",
        "the documents ",
        "sorry, ",
        "no information ",
        "which ",
        "我无法",
        "资料中没有",
        "is not ",
        "a",
    ],
)
def test_a_long_hostile_text_is_read_no_further_than_its_beginning(unit: str) -> None:
    # Only the first 800 characters are read: what follows changes nothing.
    start = (unit * 800)[:800]
    assert classify_answer(start + "a" * 10) == classify_answer(start + "a" * 100_000)


def test_patterns_are_written_in_the_characters_they_are_compared_with() -> None:
    known = answer_patterns()
    for pattern in known.patterns:
        for expression in pattern.expressions:
            written = expression.compiled.pattern
            assert not set(map(ord, written)) & set(simplified_characters())
            assert unicodedata.is_normalized("NFKC", written), pattern.name
    assert len({pattern.name for pattern in known.patterns}) == len(known.patterns)


def test_every_expression_has_an_example_above() -> None:
    answers = [
        *REFUSED,
        *DONT_KNOW,
        *ASKS_BACK,
        *(answer for _, answer, *_ in [*BY_QUESTION, *OTHER_DENIALS]),
    ]
    folded = [folded_with_places(answer)[0] for answer in answers]
    tried = [(text, answer_patterns().worth_trying(text)) for text in folded]
    unused = [
        f"{pattern.name}: {expression.line}"
        for pattern in answer_patterns().patterns
        for expression in pattern.expressions
        if not any(expression in those and expression.compiled.search(text) for text, those in tried)
    ]
    assert unused == []
