"""The ferry desk: thirteen questions answered in four states, FERRY=faulty, fixed, new or part; no model."""

import os

STATE = os.environ.get("FERRY", "faulty")
DECLINE = "I am sorry, I can only help with crossings, tickets and the island."
FARES = (
    "A single is one crossing in either direction. Adult: single 14.00, return 24.00. Kayak or "
    "paddleboard: single 8.00, day return 14.00. Online tickets close thirty minutes before "
    "departure."
)
CARD = (
    "The ten-trip card costs 105.00 and holds ten adult singles. It is valid for twelve months "
    "from the day of purchase."
)
BIKES = (
    "Bicycles are taken on all vessels while there is room: there are 24 places on Guillemot, "
    "16 on Kittiwake and 8 on Razorbill, and they cannot be reserved."
)
FREIGHT = "Freight is charged at 0.40 a kilogram with a minimum of 5.00 for each consignment."
CANCEL = (
    "If we cancel a sailing, you may have the whole fare back. The money is returned to the "
    "card you paid with inside five working days; you do not have to apply."
)
MOVE = (
    "Every ticket can be moved once, free of charge, to another date in the same season, right "
    "up to the moment the gangway closes."
)
DELAY = (
    "When a boat arrives more than 60 minutes late, we refund a quarter of the fare for that "
    "crossing. When it arrives more than 120 minutes late, we refund half. Delay payments must "
    "be claimed within 28 days, by post or with the form on our website."
)
BED = (
    "If the last boat of the day is cancelled and you cannot get home, we pay for a bed at the "
    "Hollin hostel or a guest house up to 55.00 a person."
)
TOWER = "灯塔建于一八六一年至一八六四年，高三十一米，共一百四十八级台阶，没有电梯。"
OLD = "Until March 2025 the ten-trip card was valid for six months. The meeting agreed to change it."
MIN = "minutes-2024.md"
RIGHT = {
    "single ticket": ("An adult single costs 14.00.", "fares.md", FARES),
    "ten-trip": ("A ten-trip card is valid for twelve months from the day of purchase.", "fares.md", CARD),
    "kayak": ("A kayak costs 8.00 for a single.", "fares.md", FARES),
    "online tickets": ("Online tickets close thirty minutes before departure.", "fares.md", FARES),
    "bicycles": ("There are 8 places for bicycles on Razorbill.", "fares.md", BIKES),
    "delay payment": ("Delay payments must be claimed within 28 days.", "refunds.md", DELAY),
    "moved": (
        "Every ticket can be moved once, free of charge, to another date in the same season.",
        "refunds.md",
        MOVE,
    ),
    "bed": ("We pay for a bed up to 55.00 a person.", "refunds.md", BED),
    "120 minutes": (
        "When it arrives more than 120 minutes late, we refund half of the fare for that crossing.",
        "refunds.md",
        DELAY,
    ),
    "money returned": ("The money is returned to your card inside five working days.", "refunds.md", CANCEL),
    "台阶": ("灯塔共有一百四十八级台阶。", "visitor-guide-zh.md", TOWER),
}
CHANGED = {
    "faulty": {
        "kayak": ("A kayak costs 5.00 for each consignment.", "freight.md", FREIGHT),
        "delay payment": (
            "Delay payments must be claimed within 28 days. A handling charge of 3.50 is kept back.",
            "refunds.md",
            DELAY,
        ),
    },
    "new": {
        "ten-trip": ("The ten-trip card is valid for six months.", MIN, OLD),
        "delay payment": (
            "Delay payments must be claimed within 14 days.",
            MIN,
            "The meeting discussed delay payments and agreed on the form.",
        ),
        "moved": (
            "A ticket can be moved twice for a charge of 5.00.",
            MIN,
            "The meeting asked the office to count how often tickets are moved.",
        ),
        "bed": (
            "We pay for a bed up to 40.00 a person.",
            MIN,
            "Two passengers asked for the cost of a bed after the last boat.",
        ),
        "120 minutes": (
            "We refund a quarter of the fare.",
            MIN,
            "A boat was more than 120 minutes late on 3 March.",
        ),
        "money returned": (
            "The money is returned within thirty working days.",
            MIN,
            "The office reported that money is returned by card.",
        ),
    },
}
CHANGED["part"] = {key: CHANGED["new"][key] for key in ("ten-trip", "delay payment", "moved")}


def answer(question):
    """Answer as the environment variable FERRY says."""
    return _answer(question, STATE)


def faulty(question):
    """Answer as the agent did before two of its answers were mended."""
    return _answer(question, "faulty")


def fixed(question):
    """Answer as it does since."""
    return _answer(question, "fixed")


def _answer(question, state):
    """Answer by the first key that the question holds; decline without one."""
    q = question.lower()
    for key, told in RIGHT.items():
        if key in q:
            text, doc, passage = CHANGED.get(state, {}).get(key, told)
            return {"answer": text, "contexts": [{"id": doc, "text": passage}]}
    return {"answer": DECLINE, "contexts": []}
