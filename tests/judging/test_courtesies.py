"""Which sentences are about the conversation only, and which claim something."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_evaluation_framework.judging import answer_text
from rag_evaluation_framework.judging.answer_text import is_courtesy

COURTESIES = """
Hello! | Hi there! | Hello John! | Dear Ms. Smith, | Hello and welcome! | Sure! | **Certainly!** 😊
Of course. | Sure, I'd be happy to help! | I’m happy to help. | I’d be glad to assist you with that.
I can help you with that. | Don’t hesitate to ask.
Please don't hesitate to reach out if you need anything else. | You’re welcome!
Thank you for your question. | Thanks so much! | Great question! | Here's what I found!
I hope this helps! | I hope this answers your question, and feel free to ask more.
Let me know if you have any questions. | If you have any other questions, feel free to ask!
If you need further assistance, please let me know. | Unable to answer based on given passages.
I am unable to answer this question based on the given passages. | Have a great day! | Kind regards,
你好！ | 您好， | 好的。 | 好的，没问题。 | 很高兴为您解答。 | 很高兴为您服务！ | 希望这对您有帮助。
希望以上信息对您有所帮助！ | 如果您还有其他问题，请随时联系我。 | 如有疑问，欢迎随时咨询。 | 感谢您的提问！
Sorry for the inconvenience. | I apologize for the confusion. | My apologies for the mistake.
I'm sorry to hear that. | If you need anything else, just ask! | I'll do my best to help. | Let's take a look.
Let me know if you have any questions about the museum. | Let me know if this helps.
Let me know what you think!
Please let me know if there is anything else I can help you with! | Thank you for reaching out!
Let me know if you'd like to know more about the fees. | Please feel free to contact us again.
I am unable to answer your question based on the information provided. | I hope this clears things up!
If there's anything else you'd like to know, feel free to ask! | If you have questions, let me know.
抱歉给您带来不便。 | 對此給您帶來不便，深表歉意。 | 我来为您解答。 | 如需更多信息，请随时联系我。 | 请稍等。
以上信息仅供参考。 | 如需进一步了解详情，欢迎咨询。
Youre welcome. | Dont hesitate to ask. | Thats a great question! | 😊 Sure!
謝謝您的提問！ | 當然可以！ | 以下是我找到的信息。 | 欢迎随时提问。 | 祝您旅途愉快！
"""
STATEMENTS = """
Hello Kitty was created in 1974. | Hey Jude.
Hey Jude was released in 1968. | Good morning is a greeting.
Welcome drinks cost 50 euros. | Welcome drinks are free. | Dear customers pay 20 euros.
Dear customers pay more. | I am unable to answer that, but the fee is 20.
I am unable to answer that but the fee is high.
I can help 20 people move. | I can help people move. | Great Britain is an island.
Thank you notes cost extra. | Of course the museum is closed. | Sure, the fee is high.
Thanks to the law, it is free. | Here is the river.
If you have any luggage, the fee is 20. | If you need any medicine the pharmacy is open.
Let us know three days before arrival. | I'm unable to answer calls after six. | Let me know by Friday.
Thank you for calling costs nothing. | Don't hesitate to contact the manager at the front desk.
Let us know how many guests will come. | Let us know if you arrive late. | Feel free to call the front desk.
Sorry for the closure of the road. | Let's take the bus. | I'll do my best to win. | Just ask the guard.
I hope this clears customs. | If you need anything the shop is open. | Sorry for the wait of two hours.
我来自北京。 | 请稍等三天。 | 抱歉，费用不退。 | 以上费用仅供会员。 | 如需停车，请付费。 | 我会解答三个问题。
Feel free to call 555-1234. | I hope this bridge was built in May. | No. | Not now.
好的，费用是50元。 | 感谢信写于1990年。 | 好的产品卖20元。 | 下面的湖叫西湖。 | 以下是费用：50元。
下面是答案：贾政是王夫人的父亲。 | 您好，费用是二十元。 | 希望小学有三百名学生。 | 当然不行。
有问题。 | 好。 | 如果您有会员卡，可打九折。 | 了解历史很重要。 | 收到包裹需三天。 | 需要帮助的人很多。
"""


def listed(table: str) -> list[str]:
    return [sentence.strip() for line in table.strip().splitlines() for sentence in line.split(" | ")]


@pytest.mark.parametrize("sentence", listed(COURTESIES))
def test_a_sentence_of_closed_phrases_is_a_courtesy(sentence: str) -> None:
    assert is_courtesy(sentence)


@pytest.mark.parametrize("sentence", listed(STATEMENTS))
def test_what_only_begins_like_a_courtesy_claims_something(sentence: str) -> None:
    assert not is_courtesy(sentence)


@settings(max_examples=300)
@given(st.from_regex(re.compile(rf"\A(?:{answer_text._ENGLISH})(?:[ ,!.]|\Z)")))
def test_whatever_a_courtesy_begins_with_is_a_cue(sentence: str) -> None:
    assert answer_text._CUE.match(sentence)
