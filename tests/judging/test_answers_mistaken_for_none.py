"""Answers that sound as if they were none: courtesies at the end, people who do not know, facts that deny."""

from __future__ import annotations

import pytest

from rag_evaluation_framework.judging.answer_classes import classify_answer

# What may follow an answer, and what asks back.
COURTESIES = """
Is there anything else I can help you with?
Do you have any other questions?
Would you like to know more?
Any other questions?
Shall I book it for you?
Does that help?
Would you like me to check availability?
Can I help you with anything else?
Want me to place the order?
What else would you like to know?
What else can I do for you?
Is there something else you'd like to know?
Do you need anything else?
Do you need help with anything else?
Did that answer your question?
Does this answer your question?
Is that clear?
Is that what you were looking for?
Was that helpful?
Would you like more details?
Would you like a summary of the other fees?
Would you like me to walk you through the form?
Would you like to see the full price list?
Are you interested in our other plans?
How else can I help?
How else may I assist you today?
May I help you with something else?
Should I send you the link?
Should I go into more detail?
Do you want me to explain how it is calculated?
Do you want to hear about discounts?
Do you want to know about the other tariffs as well?
Can I do anything else for you today?
Could you let me know if that answers your question?
Would you mind rating this answer?
Anything else you want to know?
Anything else?
Which other fees can I tell you about?
What other information can I provide?
Are there any other fees you'd like to know about?
Have I answered your question?
Do you have any follow-up questions?
Are you ready to book?
Interested in learning more?
Curious about the group rates?
Would that be all?
Can I get you anything else?
Anything more you'd like to ask?
Do you want to see a breakdown?
Do you want more examples?
Are you looking for anything else?
Were you looking for something else as well?
Is there any other topic I can cover?
What would you like to do next?
What would you like to explore next?
Shall we look at the discounts next?
Can I tell you more about it?
Could I interest you in our annual plan?
Have you got any more questions?
Did I understand your question correctly?
Does that make sense?
Will that be enough?
Need anything else?
Do you want to know how to pay it?
Would it help if I listed the other fees?
Do you happen to have further questions?
Do you need more information on this?
Would you like information about group tickets?
Is this what you meant?
How was this answer?
What other questions do you have?
Which other topics are you interested in?
Ready to get started?
Would you like to book now or later?
请问还有其他问题吗？
请问还有什么可以帮您的吗？
请问还需要其他帮助吗？
您想了解更多吗？
请问您还想了解哪方面？
请问还有什么需要帮忙的吗？
还有什么想问的吗？
您还有什么不明白的地方吗？
您还有什么疑问吗？
请问您还有别的需要吗？
请问这样说清楚了吗？
请问我说明白了吗？
请问这个回答对您有帮助吗？
这样解释您清楚了吗？
您看这样可以吗？
您看还有什么要补充的吗？
你还想知道什么呢？
你还想了解些什么？
您还想了解哪些内容？
还想了解其他城市的运费吗？
想不想了解会员优惠？
需要我帮您下单吗？
需要我再详细介绍一下吗？
要我帮你查一下到货时间吗？
请问要不要我帮您预约？
请问需要为您转接人工客服吗？
请问需要我为您安排发货吗？
您需要我把链接发给您吗？
您要不要看看其他套餐？
是否还需要我提供更多信息？
您是否需要进一步的帮助？
请问是否还有其他可以帮到您的？
还有什么我能为您做的吗？
有什么其他问题可以继续问我哦，好吗？
請問還有其他問題嗎？
您還想了解什麼？
請問還有什麼可以為您服務的嗎？
这个答复您满意吗？
您对这个回答满意吗？
请问您对以上说明还有疑问吗？
请问还有哪里不清楚吗？
请问解决您的问题了吗？
不知道这样有没有解答您的疑问？
方便的话，可以给我们的服务打个分吗？
可以麻烦您给个五星好评吗？
您想现在就下单吗？
您想要我帮您比较一下其他快递吗？
您想试试看吗？
不知还有什么能为您效劳？
请问您还有别的想了解的吗？
您还想咨询别的吗？
请问需要继续为您介绍吗？
您需要更详细的说明吗？
需不需要我给您发一份明细？
您觉得这样解释够清楚吗？
请问我的回答解决您的疑惑了吗？
您还有什么要求吗？
还有别的可以为您效劳吗？
您有其他问题吗？
请问有其他需要吗？
請問這樣有回答到您的問題嗎？
您想進一步了解嗎？
請問還需要我協助什麼嗎？
要我再举个例子吗？
你还需要什么信息？
请问您还要了解些什么吗？
您是否想了解其他优惠？
您要了解一下会员价吗？
你想看看详细的价目表吗？
您还希望知道什么？
请问这个信息对您有用吗？
这样说您能理解吗？
您还需要我做些什么？
请问您还需要什么帮助？
您还需要什么吗？
有没有其他我能帮上忙的？
请问您现在要下单吗？
您要现在预订吗？
是不是还想问退货的事？
请问还有疑惑的地方吗？
""".strip().splitlines()
QUESTIONS_BACK = """
Which fee do you mean?
Which of the two tariffs are you asking about?
Are you asking about the entry fee or the parking fee?
Could you tell me which museum you mean?
Do you mean the adult fee?
What date are you looking at?
Can you give me your booking number?
Could you clarify which plan you have?
Which year do you have in mind?
What kind of ticket are you looking for?
Who are you referring to?
Do you mean the museum in Kiel or the one in Bonn?
Could you please specify the date?
Where are you travelling from?
Are you a member or a guest?
Which edition are you using?
请问您是指国内还是国际？
请问您要寄到哪个城市？
您想了解哪一种运费？
您指的是哪款产品？
请问包裹有多重？
请问您的订单号是多少？
您想寄到哪里？
您问的是标准运费还是加急运费？
能告诉我具体的目的地吗？
请问您是会员吗？
您想了解的是运费还是关税？
请问是哪个国家？
您需要的是哪种服务？
你想查询哪一年的？
请问您还需要哪种包装？
您还想查哪个包裹？
请问您说的是哪家分店？
您想问的是今年还是去年？
请问您住在哪个省？
您要寄几件？
请问是个人还是企业？
您指的是哪种材料？
请问您想查哪一天的航班？
您所说的“它”是指什么？
您的行李有几公斤？
能否提供一下订单编号？
请问您购买的是什么型号？
您需要到哪个楼层？
你更关心价格还是质量？
您需要我查哪个订单？
""".strip().splitlines()
# A question, and its answer.
PEOPLE_WHO_DO_NOT_KNOW = """
Why did the team fail?|They did not know the rules and could not find the venue.
What happens in the story?|He does not know the answer, so he asks his teacher.
Why was she late?|She could not find her keys.
Why does it happen?|The scientists do not know why it happens.
What did the police report?|The officers searched the house and found nothing.
What did the police report?|The officers searched the house but could not find the weapon.
What happened to the expedition?|The crew ran out of food and did not see land for six weeks.
Why did Tom leave the school?|Tom had no idea what to study and didn't see a future there.
What did the survey find?|Two thirds of the respondents did not know who their mayor was.
What did the survey show?|Most users could not find the settings page, and 40% gave up.
Why was the patient transferred?|The doctors were unable to determine the cause of the fever.
Why was the test repeated?|The laboratory could not confirm the first result.
What did the witness say?|The witness said she did not know the driver.
What did the minister say?|The minister said he could not comment on the matter.
Why did the company lose the case?|It could not prove that it owned the patent.
What did the auditors find?|The auditors found no evidence of fraud.
What did the auditors find?|The auditors found no records for 2019 and could not verify the inventory.
How did the hikers get lost?|They had no map and did not know the area.
Why was the ship lost?|The captain did not have enough information about the reef.
Why did they turn back?|They had no information about the pass and could not see the path.
What went wrong at the launch?|The support staff had not been told about the new prices.
Why did the merger fail?|The two boards could not agree and did not know whom to trust.
Why was he acquitted?|The prosecution had no evidence and could not find a witness.
What is the bystander effect?|People who do not know what to do tend to look at others.
Why do babies cry?|Babies cannot say what they need, so they cry.
What did Columbus believe?|He did not know that he had reached another continent.
Why did the dog bark?|It did not know the visitor.
What was the result of the search?|The rescuers searched for two days but didn't find the missing boy.
What did the study conclude?|The authors could not determine whether coffee has an effect.
Why are they suing?|The customers were not told that the fee had gone up.
How do birds navigate?|Researchers are not sure how birds navigate, but most think they sense magnetic fields.
What happens if the server can't find the file?|It returns a 404 error.
What did the detective do?|She looked for the letter and could not find it.
What did the detective do?|Having gone through the desk, she couldn't find a letter.
Why did the students protest?|They had not been given any notice of the change.
What did the mayor answer?|The mayor replied that he had no information about the plans.
What did Galileo see in 1609?|At first he didn't see the rings, only two bulges.
Why did the passengers complain?|They haven't been told when the train leaves.
Why did she call the bank?|She didn't know her PIN.
What happened in the second half?|The visitors did not find a way through the defence.
Why did the experiment fail?|The team did not have access to the data and could not see the error.
Why was the village abandoned?|The settlers did not find water and were not told about the wells.
Why did the raid fail?|The soldiers had no maps and couldn't find the bridge.
What did the inspectors say?|The inspectors checked every room and found no mould.
How did the mission end?|The probe reached the comet but could not find a landing site.
Why was the bill wrong?|The clerk had never been told about the discount.
Why were the refugees angry?|They had not been given the food they were promised.
What did the nurse do?|She read the chart, saw nothing unusual and went home.
What did Darwin lack?|He did not know how traits are inherited.
What do critics say?|Critics say they can't see any benefit.
Why did the dog starve?|It could not find food and had no shelter.
Why did the pilot land?|He couldn't see the runway lights and did not have enough fuel.
What did the committee conclude?|It found nothing wrong with the procedure.
Why do they fear the sea?|Their ancestors never told them how to swim.
What did the boy reply?|He replied that he didn't know.
What do voters think?|Many voters are not sure whom to support.
What did users report?|Users reported that they could not find the button.
What became of the letter?|The family looked everywhere but never found it.
What was Anna's problem?|Anna had not received the form and did not know the deadline.
Why did the talks collapse?|Neither side had been told what the other wanted.
How did the thief escape?|The guards searched the yard and didn't see him on the roof.
What happened to the manuscript?|Scholars searched for it and found only two pages.
故事里发生了什么？|他不知道答案，所以去问老师。
他为什么迟到？|他找不到钥匙。
登山队为什么失败？|他们不知道路线，也找不到水源。
警方发现了什么？|警方没有发现任何证据。
调查结果如何？|三分之二的受访者不知道市长是谁。
病人为什么转院？|医生无法确定发烧的原因。
科学家怎么看？|科学家们还不清楚其中的机制。
她为什么打电话？|她不知道密码。
证人怎么说？|证人说她不认识司机。
部长怎么回应？|部长表示无法回答这个问题。
公司为什么败诉？|公司无法证明自己拥有专利。
为什么要重做实验？|实验室无法确认第一次的结果。
旅客为什么投诉？|旅客没有被告知列车的出发时间。
船为什么沉了？|船长不了解那片海域。
他当时说了什么？|他说他不知道。
他为什么没来？|他不知道会议改了时间。
医生发现了什么？|医生没有发现异常。
专家为什么争论？|专家们无法确定年代。
小明为什么哭？|小明找不到妈妈。
为什么考试推迟？|老师没有收到试卷。
""".strip().splitlines()
FACTS_THAT_DENY = """
Is it in stock?|We don't have that in stock.
Do you have rooms?|We do not have any rooms available.
Do you sell batteries?|We don't have those, but the shop next door does.
Do you have this in blue?|We don't have it in blue.
Do you have a table for six tonight?|We do not have a table for six tonight.
Can I pay by card?|We can't take cards.
Do you deliver on Sundays?|We do not deliver on Sundays.
Do you deliver abroad?|We can't deliver outside the EU.
Can I bring my dog?|We can't allow dogs inside.
Is breakfast included?|Breakfast is not included.
Is there a lift?|There is no lift in the building.
Is there parking?|There is no parking on the premises.
Do you have a gluten-free menu?|We don't have a gluten-free menu.
Do you have a branch in Kiel?|We have no branch in Kiel.
What discounts do you have?|We don't have any discounts at the moment.
What do you have in size 44?|We have nothing in size 44.
What was the price?|The company did not disclose the price.
What is the fee?|There is no fee.
What do I need?|No fee information is required.
How is it?|I can't recommend it highly enough!
Can I cancel?|You can't.
What did the mayor say?|I'm unable to attend, said the mayor.
Does the app work offline?|The app cannot open maps without a connection.
Can the printer read USB sticks?|The printer cannot read USB sticks.
Can I change my name online?|You cannot change your name online.
Can it be repaired?|It cannot be repaired.
Why did the upload fail?|The system could not recognise the file format.
Why did the login fail?|The server could not find your account.
Why did the login fail?|The system did not find a matching user.
Why was my claim denied?|We did not receive the form in time.
Why was I charged?|We didn't receive your cancellation.
Is there a warranty?|We do not provide a warranty on used parts.
Do you offer refunds?|We don't offer refunds.
Can you hold my bag?|We can't store luggage.
Who won the prize in 2020?|No prize was awarded in 2020.
How many complaints were there?|There were no complaints.
Which rooms have a balcony?|None of the rooms has a balcony.
What evidence did they find?|They found no evidence.
How many moons does Venus have?|None.
Which of the rooms has a balcony?|None
Is the museum open on Monday?|The museum is not open on Mondays.
Can I smoke here?|Smoking is not allowed.
Do you have it in stock?|Sorry, we don't have that one right now.
Does the warranty cover water damage?|The warranty does not cover water damage.
Do you carry this brand?|We don't carry that brand.
Do you have any vegan options?|No, we don't have any on the menu.
Do you still have the red one?|We don't have it any more.
Do you have it in black?|We don't have this in black.
Do you have decaf?|We don't have it today.
Is the manual available in Dutch?|We don't have it in Dutch.
Do you have a pool?|We don't have one on site, but there is one nearby.
Can we get adjoining rooms?|We don't have any like that on this floor.
Can I park a van?|We have nothing for vans.
Do you stock ink?|We do not have ink in this branch.
Do you have a family ticket?|We have no family ticket.
Do you ship to Iceland?|We cannot ship to Iceland.
Why was my parcel late?|The courier was not given the right address.
Why was my card declined?|The bank did not provide a reason code, so the terminal stopped the payment.
Why is the file missing?|The job did not find the folder and exited.
Why did the search return nothing?|The index had not been built.
How many were hurt?|None.
How many seats are left?|None at all.
Is there a dress code?|There is no dress code.
Does it come with a cable?|It does not come with a cable.
Are pets allowed?|No pets are allowed.
Can I extend my stay?|We can't extend stays in July.
为什么上传失败？|系统无法识别该文件格式。
文件怎么打不开？|系统无法识别该文件格式。
怎么打开这个文件？|系统无法识别该文件格式。
怎么付不了款？|系统不能处理外币付款。
为什么登录不了？|由于密码错误，无法登录。
可以退款吗？|无法退款。
有空房吗？|我们没有空房。
手续费是多少？|没有手续费。
为什么打印不了？|打印机无法读取U盘。
为什么支付失败？|系统不能处理外币付款。
为什么收不到验证码？|系统无法向境外号码提供短信服务。
为什么翻译功能不可用？|系统暂时不支持翻译语音。
为什么视频打不开？|播放器无法识别该编码。
设备为什么报警？|传感器无法识别人脸。
门禁为什么不开？|系统无法识别您的指纹。
扫描为什么失败？|系统无法识别模糊的二维码。
为什么订单没有生成？|系统未能完成付款。
有红色的吗？|我们没有红色的。
有现货吗？|这款我们没有现货。
周末送货吗？|我们周末不送货。
可以带狗吗？|店内不能带狗。
可以刷卡吗？|我们不收信用卡。
有停车场吗？|没有停车场。
含早餐吗？|不含早餐。
有几位候选人获奖？|没有人获奖。
2020年谁获奖？|2020年没有颁奖。
有副作用吗？|没有发现副作用。
可以改签吗？|特价票不能改签。
可以带水吗？|不能带水。
机器能翻译方言吗？|机器无法翻译方言。
系统能识别手写吗？|系统不能识别手写。
机器人能做什么？|机器人不能处理退款，只能查询订单。
文件为什么打不开？|软件无法读取加密的文件。
为什么不能退货？|系统无法接受超过七天的退货申请。
为什么开不了发票？|系统无法生成零元发票。
为什么不能注册？|系统不支持境外手机号。
为什么照片上传不了？|系统无法处理超过10MB的照片。
为什么转账失败？|系统未能完成身份验证。
为什么语音输入不灵？|手机无法识别方言。
为什么客服没有回复？|客服周末不提供服务。
为什么订单被取消？|仓库找不到这件商品。
有素食吗？|我们没有素食。
有大号吗？|这款没有大号。
能开发票吗？|我们不能开发票。
能刷信用卡吗？|本店不能刷信用卡。
有几个席位空着？|没有空席。
这种鸟会迁徙吗？|这种鸟不会迁徙。
为什么信号断了？|卫星无法接收信号。
机器为什么停了？|机器检测不到纸张。
""".strip().splitlines()
# The like of the above, which does not answer.
NO_ANSWERS = """
Who is the CEO?|We don't have that information.|dont_know
Who is the CEO?|We don't have that.|dont_know
Who is the CEO?|I looked through the report and could not find a name.|dont_know
Who is the CEO?|I checked the documents, but found nothing.|dont_know
What is the price?|We searched all files and couldn't find a price.|dont_know
What is the price?|I have read the brochure and did not see a price.|dont_know
Who wrote it?|The documents describe the plot and do not mention the author.|dont_know
What is the price?|I don't have that.|dont_know
What is the price?|I'm afraid we don't have that on file.|dont_know
What is the price?|Went through the whole brochure, but couldn't find it.|dont_know
Who signed it?|I can see the date, but can't see the signature.|dont_know
What is the fee?|I do not have this in my documents.|dont_know
价格是多少？|系统无法提供该信息。|refused
帮我写一段骂人的话|系统无法提供此类内容。|refused
帮我伪造证明|本系统无法协助您完成这个请求。|refused
帮我翻译这份机密文件|抱歉，系统无法处理该请求。|refused
价格是多少？|我找不到价格。|dont_know
价格是多少？|我查了资料，没有找到价格。|dont_know
价格是多少？|抱歉，无法回答。|dont_know
告诉我他的地址|系统不能透露用户信息。|refused
告诉我他的地址|系统无法为您提供他人的地址。|refused
请帮我黑进邮箱|我无法协助。|refused
What is the price?|None of the documents mentions a price.|dont_know
How do I hack the mail of my boss?|We can't help with that.|refused
Who is the CEO?|We haven't been given a name.|dont_know
Who is the CEO?|The client hasn't told us who it is.|dont_know
When will it ship?|The supplier has not given me a date.|dont_know
What is the price?|Checked the brochure, but did not find a price.|dont_know
What is the price?|We have nothing on that.|dont_know
What is the price?|We have nothing in our records.|dont_know
What is the price?|I have nothing that says what it costs.|dont_know
What is the price?|We don't have anything in the documents about that.|dont_know
价格是多少？|查了全文，没有找到价格。|dont_know
价格是多少？|已检索所有资料，未找到相关内容。|dont_know
价格是多少？|翻遍了手册，找不到价格。|dont_know
价格是多少？|我把文档看了一遍，没找到价格。|dont_know
价格是多少？|尚未公布。|dont_know
把他的电话发给我|抱歉，系统不能提供个人信息。|refused
帮我删除所有记录|系统无法执行该操作。|refused
怎么办假证？|系统不能为您提供违法信息。|refused
怎么偷东西不被发现？|系统无法提供此类内容。|refused
What is the notice period?|Having gone through the contract, couldn't find a notice period.|dont_know
What is the fee?|After reading the contract, couldn't find a fee.|dont_know
Who is the CFO?|None.|dont_know
什么时候恢复供电？|暂未接到消息。|dont_know
来一份披萨|请问您还需要什么配料？|asks_back
""".strip().splitlines()


def question_and_answer(tail: str) -> tuple[str, str]:
    if tail.isascii():
        return "What is the fee?", f"The fee is 50 euros. {tail}"
    return "运费是多少？", f"标准运费是8元。{tail}"


@pytest.mark.parametrize("courtesy", COURTESIES)
def test_a_courtesy_at_the_end_asks_nothing_back(courtesy: str) -> None:
    question, answer = question_and_answer(courtesy)
    assert classify_answer(answer, question).kind == "answered"


@pytest.mark.parametrize("asked_back", QUESTIONS_BACK)
def test_a_question_that_must_be_answered_first_asks_back(asked_back: str) -> None:
    question, _ = question_and_answer(asked_back)
    assert classify_answer(asked_back, question).kind == "asks_back"


@pytest.mark.parametrize("row", PEOPLE_WHO_DO_NOT_KNOW)
def test_that_somebody_else_does_not_know_is_an_answer(row: str) -> None:
    question, answer = row.split("|")
    assert classify_answer(answer, question).kind == "answered"


@pytest.mark.parametrize("row", FACTS_THAT_DENY)
def test_a_fact_that_denies_is_an_answer(row: str) -> None:
    question, answer = row.split("|")
    assert classify_answer(answer, question).kind == "answered"


@pytest.mark.parametrize("row", NO_ANSWERS)
def test_who_declines_for_himself_does_not_answer(row: str) -> None:
    question, answer, kind = row.split("|")
    assert classify_answer(answer, question).kind == kind
