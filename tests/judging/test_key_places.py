"""Which units of the evidence have a key: the bytes of numbers say the same as plain sets would."""

from __future__ import annotations

from collections.abc import Collection
from threading import Thread
from time import sleep

from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework.judging.key_places import KeyPlaces
from rag_evaluation_framework.text.tokens import content_keys

WORDS = ("rome", "port", "ship", "wall", "king", "the", "42")
SENTENCES = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)
TEXTS = st.lists(st.lists(SENTENCES, max_size=5), max_size=4)


def places_of(texts: list[list[str]]) -> KeyPlaces:
    return KeyPlaces([frozenset(content_keys(sentence)) for sentence in text] for text in texts)


def most(places: KeyPlaces, keys: Collection[str]) -> tuple[int, list[tuple[int, int]]]:
    together, units = places.with_most(frozenset(keys))
    return together, places.units(units)


KEYS = st.sets(st.sampled_from([*WORDS, "submarine"]))


def held(texts: list[list[str]], keys: set[str]) -> dict[tuple[int, int], set[str]]:
    """Return which of the keys each unit has."""
    return {
        (number, place): keys & set(content_keys(sentence))
        for number, text in enumerate(texts)
        for place, sentence in enumerate(text)
    }


@given(TEXTS, KEYS)
def test_units_have_as_many_of_the_keys_as_sets_find(texts: list[list[str]], keys: set[str]) -> None:
    units = held(texts, keys)
    highest = max(map(len, units.values()), default=0)
    expected = [unit for unit, found in units.items() if len(found) == highest] if highest else []
    together = max((len(one | other) for one in units.values() for other in units.values()), default=0)
    assert most(places_of(texts), keys) == (together, expected)


def test_two_lesser_units_may_have_more_together_than_the_first_with_any_other() -> None:
    texts = [["rome port ship"], ["rome port wall"], ["ship king"]]
    # Each of the first two has 3 and the third 2; the second and the third have all five keys.
    assert most(places_of(texts), ("rome", "port", "ship", "wall", "king")) == (5, [(0, 0), (1, 0)])


def test_units_are_told_apart_in_a_text_of_many_blocks() -> None:
    sentences = ["Rome has a wall." if number % 100 == 0 else "The ship left." for number in range(1_000)]
    places = places_of([["A king."], sentences, ["Rome."]])
    # Of the second text every hundredth sentence has both; the third has Rome alone.
    assert most(places, ("rome", "wall")) == (2, [(1, number) for number in range(0, 1_000, 100)])
    assert places.units(places["rome"]) == [*((1, number) for number in range(0, 1_000, 100)), (2, 0)]


def test_more_keys_are_counted_than_a_byte_holds() -> None:
    names = ["".join(map(chr, (97 + one, 97 + other, 120))) for one in range(20) for other in range(20)]
    keys = set(content_keys(" ".join(names)))
    assert most(places_of([[" ".join(names[:300])], [" ".join(names[300:])]]), keys) == (len(keys), [(0, 0)])
    assert len(keys) > 255


def test_another_thread_sees_no_key_whose_places_are_not_all_found() -> None:
    places = KeyPlaces([[frozenset({"ship"})] * 50_000 + [frozenset({"port"})]])
    finding = Thread(target=places.__getitem__, args=("port",))
    finding.start()
    while "port" not in places:
        sleep(0)
    seen = places["port"]
    finding.join()
    assert places.units(seen) == [(0, 50_000)]
