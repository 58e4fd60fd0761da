"""What records show of themselves: a few lines of text, or a screen of HTML that says the same."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import is_dataclass
from functools import cache
from html import unescape
from itertools import chain
from typing import Any

import pytest

import rag_evaluation_framework as door
from rag_evaluation_framework import Evaluation, evaluate
from rag_evaluation_framework.errors import MissingExtraError
from rag_evaluation_framework.reports.evaluation_blocks import headline
from rag_evaluation_framework.reports.messages.comparison_sentences import comparison_sentence

LONG = "a line\nand another of a text that goes on " * 2_000
MANY = {f"key {place}": LONG for place in range(1_000)}
SEVERAL = tuple(MANY)

# Every record at the door, and what its functions return, each with more in it than anybody reads.
LARGE: dict[str, Callable[[], Any]] = {
    "CharacterSpan": lambda: door.CharacterSpan(LONG[:200], 0, 5),
    "Chunk": lambda: door.Chunk("chunk_1", LONG, "doc", MANY),
    "ChunkLevelGroundTruth": lambda: door.ChunkLevelGroundTruth(door.Query("q", LONG), SEVERAL),
    "Comparison": lambda: runs()[0].compare(runs()[1]),
    "ContextCitation": lambda: door.ContextCitation(3),
    "Corpus": lambda: door.Corpus([door.Document(name, LONG) for name in SEVERAL]),
    "Dataset": lambda: door.Dataset(samples=(LARGE["Sample"](),), dialect="jsonl", name=LONG),
    "Document": lambda: door.Document("doc", LONG, MANY),
    "Entities": lambda: door.Entities(names=SEVERAL),
    "Evaluation": lambda: runs()[0],
    "EvaluationResult": lambda: door.EvaluationResult({"m": 1.0}, LONG, raw_results=[MANY] * 50),
    "Gate": lambda: door.Gate(thresholds=[door.Threshold(f"m{at}", ">=", 0.5) for at in range(500)]),
    "Hit": lambda: door.Hit(id="a", text=LONG),
    "Issue": lambda: door.Issue("code", "a text", "nothing", "path"),
    "Milestones": lambda: door.Milestones(steps=SEVERAL),
    "Options": lambda: door.Options(),
    "PositionAwareChunk": lambda: door.PositionAwareChunk("c", LONG, "doc", 0, len(LONG), MANY),
    "Query": lambda: door.Query("q", LONG, MANY),
    "Refusal": lambda: door.Refusal(reason="unsafe"),
    "Relation": lambda: door.Relation(subject="a", relation="b", object="c"),
    "Request": lambda: door.Request(sample=LARGE["Sample"](), key="k", thread_id="t", timeout=1.0),
    "Response": lambda: door.Response(text=LONG, contexts=(LONG,) * 50, metadata=MANY),
    "Sample": lambda: door.Sample(
        id=LONG, turns=(door.Turn(role="user", content=LONG),), reference=LONG, tags=SEVERAL, metadata=MANY
    ),
    "Score": lambda: door.Score.scored("m", 1.0, method="lexical", details={"claims": [MANY] * 50}),
    "SpanCitation": lambda: door.SpanCitation("doc", 0, 5, text=LONG),
    "Threshold": lambda: door.Threshold("m", ">=", 0.5),
    "TokenLevelGroundTruth": lambda: door.TokenLevelGroundTruth(door.Query("q", LONG), SEVERAL),
    "Turn": lambda: door.Turn(role="user", content=LONG),
    "Usage": lambda: door.Usage(input_tokens=1),
    "Verdict": lambda: runs()[0].verdict or door.Verdict(unevaluated=SEVERAL),
    "row": lambda: next(iter(runs()[0].rows)),
    "a sweep": lambda: systems(),
    "citation spans": lambda: door.evaluate_citation_spans(
        [door.SpanCitation("doc", at, at + 5) for at in range(0, 900, 9)],
        [door.SpanCitation("doc", at, at + 4) for at in range(0, 900, 9)],
    ),
    "changed answers": lambda: runs()[0].compare(runs()[1]).answers[0],
    "columns": lambda: runs()[0].columns,
    "documents": lambda: runs()[0].documents,
}


@cache
def runs() -> list[Evaluation]:
    """Two runs over a dozen questions with long texts; in the second most answers got worse."""
    asked = [{"id": f"q{at}", "input": f"{at} {LONG}", "expected": f"{at} is so"} for at in range(12)]
    targets = (
        lambda text: f"{text.split()[0]} is so",
        lambda text: "7 is so" if text.startswith("7 ") else "I do not know.",
    )
    metrics, gate = ["string_match", "token_f1"], {"string_match": 0.9}
    return [evaluate(asked, target=target, metrics=metrics, gate=gate) for target in targets]


@cache
def systems() -> Evaluation:
    """Nine systems over the same two questions."""
    asked = [{"input": "first?", "expected": "yes"}, {"input": "second?", "expected": "no"}]
    return evaluate(
        asked, target={f"system {at}": lambda _: "yes" for at in range(9)}, metrics=["string_match"]
    )


def test_every_record_at_the_door_has_a_large_example() -> None:
    own = [name for name, home in door._HOME_OF.items() if not home.startswith("adapters.")]
    records = {name for name in own if is_dataclass(getattr(door, name))}
    assert records <= LARGE.keys()


@pytest.mark.parametrize("name", LARGE)
def test_what_a_record_shows_of_itself_is_at_most_ten_lines(name: str) -> None:
    shown = repr(LARGE[name]())
    assert len(shown.splitlines()) <= 10
    assert len(shown) <= 1_000


def test_what_is_small_is_shown_whole() -> None:
    assert repr(door.Turn(role="user", content="Why?")) == (
        "Turn(role='user', content='Why?', reference=None, needs=(), expectation=None, extra={})"
    )


# One answer that its context supports, and one with something added.
ROWS = [
    {"user_input": "Dogs?", "response": "Dogs travel free.", "retrieved_contexts": ["Dogs travel free."]},
    {
        "user_input": "<b>Refunds</b> & when?",
        "response": "Refunds take 28 days. A handling charge of 3.50 is kept back.",
        "retrieved_contexts": ["Refunds take 28 days.", "Boats <i>leave</i> at nine."],
    },
]


@pytest.fixture(scope="module")
def failed() -> Evaluation:
    return evaluate(ROWS, metrics=["faithfulness"], gate={"faithfulness": 0.98})


def words_of(html: str) -> str:
    """Return what is read, without styles and markup."""
    return unescape(re.sub("<[^>]+>", "", re.sub("<style>.*?</style>", "", html)))


def test_an_evaluation_shows_verdict_figures_and_the_case_with_its_marks(failed: Evaluation) -> None:
    assert failed.verdict is not None
    text = repr(failed).splitlines()
    assert text[0] == f"Evaluation: ✗ FAILED: {headline(failed).sentence}"
    assert text[1] == "  2 answers: 0 correct, 2 not judged; 1 flagged: may contain unsupported text"
    assert re.fullmatch(r"  faithfulness +0\.75 +\[.+\] +>= 0.98 +missed +2  word overlap", text[3])
    assert text[-1].startswith(".failed() .worst(3)")
    html = failed._repr_html_()
    told = words_of(html)
    assert f"✗ FAILED: {headline(failed).sentence}" in told
    assert ">= 0.98missed" in told
    assert "<b>Refunds</b> & when?" in told
    assert "<b>Refunds" not in html
    assert "<mark>handling</mark>" in html
    assert re.search(r"retrieved +1 .*Refunds take 28 days\..*Boats &lt;i&gt;leave", html)
    assert "Dogs" not in told, "what passes is not a case"
    assert failed.failed() == []  # a flag does not make an answer wrong
    row = failed.rows[1]
    assert words_of(row._repr_html_()).count("A handling charge of 3.50 is kept back.") == 1


def test_a_comparison_shows_a_slope_for_what_changed_and_its_sentence() -> None:
    before, after = runs()
    compared = before.compare(after)
    html = compared._repr_html_()
    assert comparison_sentence(compared) in words_of(html)
    # All but q7 fall from 1.00, at 22, to 0.00 at 132, eleven on one line.
    assert re.findall(r'<line class="bad"[^>]* y1="([\d.]+)" y2="([\d.]+)"', html) == [("22.0", "132.0")]
    assert "q0, q1, q2, q3, q4 and 6 more" in words_of(html)
    assert words_of(html).count("got worse") >= 5
    assert repr(compared).startswith(f"Comparison: {comparison_sentence(compared)}\n")


def test_a_corpus_shows_ten_documents_and_a_sample_its_truth() -> None:
    corpus = door.Corpus([door.Document(f"d{at}.md", "x" * at) for at in range(1, 46)])
    assert repr(corpus) == "Corpus: 45 documents, 1,035 characters"
    assert corpus._repr_html_().count("<tr>") == 1 + 10
    assert "35 more documents" in words_of(corpus._repr_html_())
    sample = door.Sample(
        id="q", turns=(door.Turn(role="user", content="A <b>?"),), reference="8.00", tags=("fares",)
    )
    assert repr(sample) == "Sample q: A <b>?\n  expected 8.00; tags fares"
    assert "A &lt;b&gt;?" in sample._repr_html_()


def test_styles_hold_inside_the_display_alone(failed: Evaluation) -> None:
    html = failed._repr_html_()
    rules = re.findall(r"([^{}]+)\{[^}]*\}", re.search("<style>(.*?)</style>", html)[1])  # type: ignore[index]
    selectors = list(chain.from_iterable(rule.split(",") for rule in rules))
    assert [each for each in selectors if not each.startswith(".rag-eval.rag-eval.rag-eval")] == []
    assert "<script" not in html
    assert " style=" not in html


def test_without_its_package_a_frame_or_a_plot_names_the_extra(
    failed: Evaluation, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package, call in (
        ("pandas", failed.to_pandas),
        ("polars", failed.to_polars),
        ("matplotlib", failed.plot),
    ):
        monkeypatch.setitem(sys.modules, package, None)
        monkeypatch.setitem(sys.modules, f"{package}.pyplot", None)
        with pytest.raises(MissingExtraError, match=re.escape(f"rag-evaluation-framework[{package}]")):
            call()


@pytest.mark.vendors("pandas", "polars", "matplotlib")
def test_frames_have_a_row_a_sample_and_a_plot_a_dot_a_figure(failed: Evaluation) -> None:
    verdict = ["verdict", "state", "by", "why", "cause", "turns"]
    columns = ["id", "question", "answer", *verdict, "meets_thresholds", "error", "faithfulness"]
    frame = failed.to_pandas()
    assert [name for name in frame.columns if name != "part"] == columns
    other = failed.to_polars()
    assert other.columns == list(frame.columns)
    assert other["faithfulness"].to_list() == frame["faithfulness"].tolist() == [1.0, 0.5]
    (axes,) = failed.plot().axes
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["faithfulness"]
    assert [line.get_xdata()[0] for line in axes.lines if line.get_marker() == "o"] == [0.75]
