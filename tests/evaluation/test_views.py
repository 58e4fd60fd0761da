"""What views declare is what their readers give, and the names of views and fields are kept by a table."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from rag_evaluation_framework import Response, Sample, Turn, metric
from rag_evaluation_framework.datasets.golden_sets import GOLDEN_DIALECTS
from rag_evaluation_framework.evaluation.scoring import READERS, Reader, score, scorer_for
from rag_evaluation_framework.judging.methods import Methods
from rag_evaluation_framework.metrics.declaration import all_metrics, parse_metric
from rag_evaluation_framework.metrics.views import NEEDS, TEXTS, VIEWS, Field, NoValueError, View
from rag_evaluation_framework.models.prompts import prompt_names

# What every reader has, whatever its view.
SHARED = {
    "sample",
    "response",
    "method",
    "methods",
    "details",
    "nothing",
    "method_name",
    "keeps",
    "is_literal",
}
# What readers share among their fields.
INNER = {"on", "judge", "answer"}
ASKED = Sample(id="s", turns=(Turn(role="user", content="When does it sail?"),), reference="At nine.")
ANSWER = Response(text="It sails at nine!", contexts=("It sails at nine.",))


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.name)
def test_a_view_and_its_reader_have_the_same_fields(view: View) -> None:
    reader = READERS.get(view.name)
    given = {name for name in dir(reader) if not name.startswith("_")} - SHARED
    if view.name == "exchange":
        given |= {"sample", "response"}
    declared = {each.name for each in view.fields}
    assert given - (INNER - declared) == declared


def test_every_view_has_a_name_of_its_own_and_a_reader() -> None:
    assert sorted(view.name for view in VIEWS) == READERS.names()


def test_what_fields_need_and_ask_is_known() -> None:
    for view in VIEWS:
        for each in view.fields:
            assert set(each.needs) <= set(NEEDS)
            assert each.doc
            assert not each.prompt or each.prompt in prompt_names()
            assert not each.asks or "judge" in each.methods
            assert ("lexical" in each.methods) or not each.by_support


def test_every_field_that_methods_find_is_read_by_one_of_our_metrics() -> None:
    read = {(each.view.name, field.name) for each in all_metrics() for field in each.fields}
    unread = {(view.name, field.name) for view in VIEWS for field in view.fields if field.methods} - read
    assert unread == {("claims", "useful_contexts")}


def test_the_dialects_of_golden_sets_are_known_by_how_their_names_begin() -> None:
    assert all(name.startswith("golden-") for name in GOLDEN_DIALECTS)


def test_the_loop_scores_an_answer_by_several_metrics() -> None:
    bound = [parse_metric(name) for name in ("string_match", "faithfulness", "latency")]
    scores = score(ASKED, ANSWER, bound, Methods())
    assert [(each.metric, each.status, each.value) for each in scores] == [
        ("string_match", "scored", 0.0),  # "At nine." does not stand in it with its point
        ("faithfulness", "scored", 1.0),
        ("latency", "skipped", None),
    ]


class Shouting(Reader):
    """A reader of somebody's own view."""

    @property
    def capitals(self) -> int:
        if self.response.text == "…":
            raise NoValueError("nothing is said")
        return sum(letter.isupper() for letter in self.response.text or "")


@pytest.mark.usefixtures("own_metrics")
def test_somebody_may_bring_a_view_of_their_own_with_its_reader() -> None:
    shouting = View("shouting", (Field("capitals", ("answer",)),), "safety", reader=Shouting)

    @metric("shouted", reads=shouting, higher_is_better=False, is_share=False)
    def shouted(capitals: int, *, allowed: int = 1) -> float:
        """Capitals beyond those allowed.

        Formula: capitals - allowed, at least 0.

        Empty: never.

        Source: ours.
        """
        return float(max(0, capitals - allowed))

    scorer = scorer_for("shouted(allowed=2)")
    assert scorer.score(ASKED, Response(text="HELLO")).value == 3.0
    silent = scorer.score(ASKED, Response(text="…"))
    assert (silent.status, silent.reason) == ("skipped", "nothing is said")
    assert scorer.score(ASKED, Response(text=" ")).reason == "the answer is empty"


@pytest.mark.usefixtures("own_metrics")
def test_a_function_that_returns_nothing_skips_with_what_its_docstring_says() -> None:
    @metric("second_word", reads=TEXTS)
    def second_word(answer: str) -> float | None:
        """Whether the second word is long.

        Formula: 1 if it is.

        Empty: the answer has one word; 0 is for short ones.

        Source: ours.
        """
        words = answer.split()
        return float(len(words[1]) > 3) if len(words) > 1 else None

    scorer = scorer_for("second_word")
    assert scorer.score(ASKED, Response(text="one three")).value == 1.0
    alone = scorer.score(ASKED, Response(text="one"))
    assert (alone.status, alone.reason) == ("skipped", "the answer has one word")


def imported_for(metric_name: str, **response: Any) -> set[str]:
    """Return the modules that scoring one answer imports, in a process of its own."""
    program = f"""
import sys
from rag_evaluation_framework.evaluation.scoring import scorer_for
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Sample, Turn
asked = Sample(id="s", turns=(Turn(role="user", content="q"),), reference="At nine.")
assert scorer_for({metric_name!r}).score(asked, Response(**{response!r})).status == "scored"
print(*(name for name in sys.modules if name.startswith("rag_evaluation_framework.")))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return {name.removeprefix("rag_evaluation_framework.") for name in done.stdout.split()}


def test_a_metric_of_texts_imports_nothing_that_judges() -> None:
    found = imported_for("string_match", text="At nine.")
    assert {name for name in found if name.startswith("judging.")} == {"judging.methods", "judging.verdict"}
    assert {name for name in found if name.startswith("datasets.")} == set()
    assert "metrics.ranking" not in found
    assert "judging.answer_verdicts" in imported_for("faithfulness", text="At nine.", contexts=("At nine.",))
