"""Lists, scores and arrays of ids give the same figures; wrong values are named with query and document."""

from __future__ import annotations

from collections import UserList
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cases import tables_beside
from rag_evaluation_framework import InputError, evaluate_ranking
from rag_evaluation_framework.metrics.judged_columns import Ids, NotPlain, QrelColumns, RunBlock
from rag_evaluation_framework.metrics.judged_rankings import RankingRules
from rag_evaluation_framework.metrics.ranking import ranking_totals

TABLES = tables_beside(__file__)

EVERY_METRIC = [
    "hit", "hit@3", "precision", "precision@3", "precision_strict@3", "recall", "recall@3", "ndcg", "ndcg@3",
    "ndcg(gain=exponential)@3", "mrr", "mrr@3", "map", "map@3", "r_precision", "bpref", "rbp", "rbp@3", "err",
    "err@3", "hole", "hole@3",
]  # fmt: skip
CUT_OFF_METRICS = ["hit", "mrr", "ndcg@2", "map@2", "precision@2", "recall@2", "hole@2"]


@st.composite
def judged_runs(draw: st.DrawFn) -> tuple[dict[int, dict[int, int]], dict[int, list[int]]]:
    """Some queries with graded documents and ranked lists, all ids being whole numbers."""
    queries = range(draw(st.integers(1, 6)))
    documents = st.integers(0, 40)
    qrels = {q: draw(st.dictionaries(documents, st.integers(-2, 3), max_size=12)) for q in queries}
    run = {q: draw(st.lists(documents, unique=True, max_size=30)) for q in queries}
    return qrels, run


def padded(rows: list[list[int]], fill: int = -1) -> np.ndarray[Any, np.dtype[np.int64]]:
    width = max(1, *map(len, rows))
    return np.array([row + [fill] * (width - len(row)) for row in rows])


@given(judged_runs(), st.randoms(use_true_random=False), st.sampled_from([EVERY_METRIC, CUT_OFF_METRICS]))
def test_lists_scores_and_arrays_agree_to_the_bit(
    judged: tuple[dict[int, dict[int, int]], dict[int, list[int]]], random: Any, metrics: list[str]
) -> None:
    qrels, run = judged
    lists = evaluate_ranking(qrels, run, metrics)
    scored = {q: [(d, -float(rank)) for rank, d in enumerate(ranked)] for q, ranked in run.items()}
    shuffled = {q: dict(random.sample(pairs, len(pairs))) for q, pairs in scored.items()}
    ids = padded([list(each) for each in qrels.values()])
    grades = padded([list(each.values()) for each in qrels.values()], fill=0)
    for other in (
        evaluate_ranking(qrels, {q: dict(pairs) for q, pairs in scored.items()}, metrics),
        evaluate_ranking(qrels, shuffled, metrics),
        evaluate_ranking((ids, grades), padded(list(run.values())), metrics),
    ):
        assert other.query_ids == lists.query_ids
        assert other.mean == lists.mean
        assert all((other.per_query[name] == lists.per_query[name]).all() for name in lists.per_query)
        assert other.skipped == lists.skipped


IDS = ("d1", "d2", "d10", "é", "文档", "exactly8", "exactly9c", *(f"a name of two words {n}" for n in "abc"))
QUERIES = ("q1", "q2", "q3", "a query of more than eight bytes", "q5")


@dataclass
class Blocks:
    """A run in memory, so many queries a block."""

    run: dict[str, dict[str, float]]
    at_once: int

    def blocks(self) -> Iterator[RunBlock]:
        for start in range(0, len(self.run), self.at_once):
            some = dict(list(self.run.items())[start : start + self.at_once])
            counts = np.array([len(each) for each in some.values()])
            documents = Ids.of(document.encode() for each in some.values() for document in each)
            scores = np.array([score for each in some.values() for score in each.values()], dtype=np.float64)
            yield RunBlock(tuple(some), counts, documents, scores)

    @property
    def queries(self) -> set[str]:
        return set(self.run)


@given(
    st.dictionaries(
        st.sampled_from(QUERIES[:4]),
        st.dictionaries(st.sampled_from(IDS), st.sampled_from((0, 1, 2, -1, 300)), max_size=6),
        min_size=1,
    ),
    st.dictionaries(
        st.sampled_from(QUERIES),
        st.dictionaries(st.sampled_from(IDS), st.sampled_from((0.5, 1.0, 1.0 + 1e-12, 2.0, -3.0))),
        min_size=1,
    ),
    st.integers(1, 5),
    st.sampled_from([RankingRules(), RankingRules.trec_eval(), RankingRules(relevance_level=2)]),
    st.sampled_from([None, 1, 3]),
    st.sampled_from([["map", "ndcg", "bpref", "hole"], CUT_OFF_METRICS, ["mrr"]]),
)
def test_columns_give_what_mappings_give(
    qrels: dict[str, dict[str, int]],
    run: dict[str, dict[str, float]],
    at_once: int,
    rules: RankingRules,
    depth: int | None,
    metrics: list[str],
) -> None:
    assume(run.keys() & qrels.keys())
    expected = evaluate_ranking(qrels, run, metrics, rules=rules, max_depth=depth)
    found = evaluate_ranking(
        QrelColumns.of(qrels), Blocks(run, at_once), metrics, rules=rules, max_depth=depth
    )
    assert (found.query_ids, found.mean, found.skipped) == (
        expected.query_ids,
        expected.mean,
        expected.skipped,
    )
    assert all((found.per_query[name] == expected.per_query[name]).all() for name in expected.per_query)
    totals = [
        ranking_totals(judged, retrieved, rules=rules, max_depth=depth)
        for judged, retrieved in ((qrels, run), (QrelColumns.of(qrels), Blocks(run, at_once)))
    ]
    assert totals[0] == totals[1]


def of_ids(*ids: str) -> Ids:
    return Ids.of(each.encode() for each in ids)


@dataclass
class Given:
    """Blocks as they are given, each a query's name and its documents, by falling scores."""

    given: list[list[tuple[str, tuple[str, ...]]]]
    queries = frozenset[str]()

    def blocks(self) -> Iterator[RunBlock]:
        for block in self.given:
            documents = [each for _, some in block for each in some]
            counts = np.array([len(some) for _, some in block])
            scores = -np.arange(len(documents), dtype=np.float64)
            yield RunBlock(tuple(query for query, _ in block), counts, of_ids(*documents), scores)


@pytest.mark.parametrize(
    ("qrels", "blocks"),
    [
        ({"q": {"a": 2**31}}, [[("q", ("a",))]]),
        ({"q": {"a": -(2**31) - 1}}, [[("q", ("a",))]]),
        ({"q": {"a": 2**80}}, [[("q", ("a",))]]),
        ({"q": {"\ud800": 1}}, [[("q", ("a",))]]),
        ({"q": {"a\0b": 1}}, [[("q", ("a",))]]),
        ({"q": {"": 1}}, [[("q", ("a",))]]),
        ({"q": {"a": 1}}, [[("q", ("a", "b", "a"))]]),  # a document twice
        ({"q": {"a": 1}}, [[("q", ("a",)), ("q", ("b",))]]),  # a query twice
        ({"q": {"a": 1}}, [[("q", ("a",))], [("q", ("b",))]]),
        ({"q": {"a": 1}}, [[("q", ("a",)), ("x", ("a",)), ("x", ("b",))]]),  # and one that nobody judged
        ({"q": {"a": 1}}, [[("q", ("a",)), ("x", ("a",))], [("x", ("b",))]]),
        ({"q": {"a": 1}}, [[("x", ("a",))]]),  # nothing to compare
    ],
)
def test_what_columns_cannot_say_is_left_to_another_reader(qrels: Any, blocks: Any) -> None:
    with pytest.raises(NotPlain):
        evaluate_ranking(QrelColumns.of(qrels), Given(blocks), ["map"])


def test_queries_of_columns_come_in_the_order_of_the_judgements() -> None:
    qrels = QrelColumns.of(
        {"first": {"a": 1}, "none": {"a": 0}, "absent": {"a": 1}, "last": {"b": 1}, "nil": {}}
    )
    blocks = [[("nil", ("a",)), ("last", ("a", "b"))], [("x", ("a",)), ("none", ("a",)), ("first", ("a",))]]
    report = evaluate_ranking(qrels, Given(blocks), ["mrr"])
    assert (report.query_ids, report.per_query["mrr"].tolist()) == (
        ("first", "absent", "last"),
        [1, 0, 1 / 2],
    )
    assert list(report.skipped) == ["x", "none", "nil"]
    dropped = evaluate_ranking(qrels, Given(blocks), ["mrr"], rules=RankingRules.trec_eval())
    assert dropped.query_ids == ("first", "none", "last", "nil")
    assert dropped.skipped == {"x": "no judgments for this query", "absent": "not in the run"}


def test_columns_are_told_apart_byte_by_byte() -> None:
    ids = of_ids("a", "exactly8", "exactly8", "exactly8+", "exactly8-", "exactly8-", "b")
    assert ids.changes().tolist() == [0, 1, 3, 4, 6]
    assert ids[1:6].texts() == ["exactly8", "exactly8", "exactly8+", "exactly8-", "exactly8-"]
    others = of_ids("a", "exactly8", "exactly9", "exactly8", "exactly8-", "exactly8+", "b")
    assert np.flatnonzero(ids.equal(others)).tolist() == [0, 1, 4, 6]
    assert len(set(ids.hashes().tolist())) == 5
    assert (ids.words, of_ids("exactly8").words, of_ids("a" * 17).words) == (2, 1, 3)
    joined = Ids.joined([ids[1:3], ids[4:5], of_ids("c", "a longer one")])
    assert joined.texts() == ["exactly8", "exactly8", "exactly8-", "c", "a longer one"]
    assert joined.changes().tolist() == [0, 2, 3, 4]
    low, high = (ids.in_order(np.zeros(7), descending=each).tolist() for each in (False, True))
    assert [ids.texts()[place] for place in low] == sorted(ids.texts())
    assert [ids.texts()[place] for place in high] == sorted(ids.texts(), reverse=True)
    # A grade that needs more than a byte, and one that stands for no judgement, are kept as they are.
    for grades, kind in (([1, 127], "int8"), ([1, 128], "int32"), ([1, -1], "int32")):
        columns = QrelColumns.of({"q": dict(zip("ab", grades, strict=True))})
        assert (columns.grades.tolist(), columns.grades.dtype.name) == (grades, kind)
    report = evaluate_ranking(
        QrelColumns.of({"q": {"a": -(2**31), "b": 2**31 - 1}}), Given([[("q", ("a", "b"))]]), ["mrr"]
    )
    assert report.mean == {"mrr": 0.5}


@given(judged_runs())
def test_bare_documents_are_judgements_of_grade_one(
    judged: tuple[dict[int, dict[int, int]], dict[int, list[int]]],
) -> None:
    qrels, run = judged
    graded = evaluate_ranking({q: dict.fromkeys(each, 1) for q, each in qrels.items()}, run, EVERY_METRIC)
    as_array = padded([list(each) for each in qrels.values()]), padded(list(run.values()))
    for bare in (
        evaluate_ranking({q: list(each) for q, each in qrels.items()}, run, EVERY_METRIC),
        evaluate_ranking({q: set(each) for q, each in qrels.items()}, run, EVERY_METRIC),
        evaluate_ranking(*as_array, EVERY_METRIC),
    ):
        assert bare.mean == graded.mean


def test_queries_that_retrieved_nothing_leave_their_neighbours_alone() -> None:
    # The relevant document has the highest score but stands last, right before queries without any.
    run: dict[int, dict[str, float]] = {0: {}, 1: {"x": 1.0, "a": 2.0}, 2: {}, 3: {"x": 1.0, "a": 2.0}, 4: {}}
    report = evaluate_ranking({q: {"a": 1} for q in run}, run, ["mrr"])
    assert report.per_query["mrr"].tolist() == [0, 1, 0, 1, 0]
    judged: dict[int, dict[str, int]] = {0: {}, 1: {"x": 0, "a": 1}, 2: {}, 3: {"x": 2, "a": 1}, 4: {}}
    counted = evaluate_ranking(judged, {q: ["a"] for q in judged}, ["recall"])
    assert (counted.query_ids, counted.per_query["recall"].tolist()) == ((1, 3), [1, 1 / 2])


def test_one_enormous_list_among_many_short_ones_changes_nothing() -> None:
    qrels = {q: {f"d{q}": 1} for q in range(300)}
    run = {q: [f"d{q + 1}", f"d{q}"] for q in range(300)}
    run[150] = [f"x{n}" for n in range(70_000)] + ["d150"]
    report = evaluate_ranking(qrels, run, ["map"])
    assert sorted(set(report.per_query["map"].tolist())) == [1 / 70_001, 1 / 2]


QRELS: dict[str, Any] = {"q1": {"a": 1}, "q2": {"b": 1}}


@pytest.mark.parametrize(
    ("qrels", "run", "messages"),
    [
        *TABLES["wrong_values_are_named_with_query_and_document"],
        (QRELS, {"q1": {"a": float("nan")}}, ["run['q1']['a']: expected a finite score, got nan"]),
        (QRELS, {"q1": {"a": 1, "b": float("-inf")}}, ["run['q1']['b']: expected a finite score, got -inf"]),
        (QRELS, {"q1": {"a": "1.5"}}, ["run['q1']['a']: expected a finite score, got '1.5'"]),
        (QRELS, {"q1": {"a": None}}, ["run['q1']['a']: expected a finite score, got None"]),
        ({"q1": {"a": 2**40}}, {"q1": ["a"]}, ["expected a whole-number grade, got 1099511627776"]),
        ({"q1": {"a": 2**80}}, {"q1": ["a"]}, ["expected a whole-number grade, got 1208925"]),
        (QRELS, {"q1": ["x", "a", "x"]}, ["unique documents, got duplicate 'x' at ranks 1 and 3"]),
        (QRELS, {"q1": [["a", 1.0]]}, ["run['q1'][0]: expected a document id, got ['a', 1.0]"]),
        (QRELS, {"q1": [("a", 1.0)]}, ["run['q1'][0]: expected a document id, got ('a', 1.0)"]),
        (QRELS, {"q1": [*map(str, range(20)), ["a"]]}, ["run['q1'][20]: expected a document id, got ['a']"]),
        (QRELS, {"q1": {"a": 10**400}}, ["run['q1']['a']: expected a finite score, got 1000"]),
        (QRELS, {"q1": {"a": 1.0, 7: 1.0}}, ["run: expected document ids of one type to break ties"]),
        (QRELS, {"q1": "a"}, ["run['q1']: expected a ranked list of document ids, got 'a'"]),
        (QRELS, {"q1": {"a"}}, ["run['q1']: expected a ranked list of document ids, got {'a'}"]),
        (QRELS, {"q1": ["a"], "q2": {"b": 1.0}}, ["run['q2']: expected a ranked list of document ids"]),
        (QRELS, {}, ["run: expected at least one query, got {}"]),
        (QRELS, {1: ["a"]}, ["run: expected queries of the qrels such as 'q1', got 1"]),
        (
            {"q1": {"a": 1.5}, "q2": {"b": 1}},
            {"q1": {"a": 1.0}, "q2": {"b": float("inf")}},
            ["qrels['q1']['a']: expected a whole-number grade", "run['q2']['b']: expected a finite score"],
        ),
    ],
)  # fmt: skip
def test_wrong_values_are_named_with_query_and_document(qrels: Any, run: Any, messages: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        evaluate_ranking(qrels, run, ["ndcg@5", "mrr"])
    assert len(caught.value.issues) == len(messages)
    for message in messages:
        assert message in str(caught.value)


@pytest.mark.parametrize(
    ("qrels", "run", "message"),
    [
        *TABLES["wrong_arrays_are_named_with_their_row"],
        ([[1], [2]], [[1, 2], [*range(40, 65), 50]], "run[1]: expected unique documents, got [40,"),
    ],
)
def test_wrong_arrays_are_named_with_their_row(qrels: Any, run: Any, message: str) -> None:
    run_array = padded(run) if any(run) else np.array(run, dtype=np.int64)
    with pytest.raises(InputError) as caught:
        evaluate_ranking(np.array(qrels), run_array, ["ndcg@30", "mrr"])
    assert message in str(caught.value)


def test_grades_of_another_shape_than_their_ids_are_refused() -> None:
    with pytest.raises(InputError, match="expected the shape"):
        evaluate_ranking((np.array([[1, 2]]), np.array([[1]])), np.array([[1]]), ["ndcg@5"])


@pytest.mark.parametrize("grade", [-(2**31) - 1, 2**31])
def test_grades_beyond_32_bits_are_refused_as_they_stand(grade: int) -> None:
    ids, run = np.array([[1, 2]]), np.array([[1]])
    with pytest.raises(
        InputError, match=f"grades: expected whole numbers from -2147483648 to .*, got {grade}"
    ):
        evaluate_ranking((ids, np.array([[1, grade]])), run, ["hit"])
    # The grade next to it, on the side of 0, is one; above 0 it is relevant.
    nearest, rules = grade - 1 if grade > 0 else grade + 1, RankingRules(no_relevant="zero")
    report = evaluate_ranking((ids, np.array([[nearest, 0]])), run, ["hit"], rules=rules)
    assert report.mean == {"hit": float(grade > 0)}


@pytest.mark.parametrize("as_array", [False, True])
def test_a_document_twice_matters_only_where_it_could_change_a_figure(as_array: bool) -> None:
    def score(ranked: list[int], metrics: list[str]) -> float:
        if as_array:
            return evaluate_ranking(np.array([[99]]), np.array([ranked]), metrics).mean["mrr"]
        return evaluate_ranking({0: [99]}, {0: ranked}, metrics).mean["mrr"]

    top = list(range(10))
    assert score([*top, 99, 3, 3], ["mrr", "hit@5"]) == 1 / 11
    with pytest.raises(InputError, match="unique documents"):
        score([*top, 3, 99], ["mrr", "hit@5"])
    with pytest.raises(InputError, match="unique documents"):
        score([*top, 99, 3, 3], ["mrr", "map"])
    with pytest.raises(InputError) as caught:
        score([*top[:8], 3, 99, 50, 51], ["mrr"])  # above the first relevant one, which is the tenth
    assert len(caught.value.issues) == 1
    assert score([*top[:9], 99, 3, 3], ["mrr"]) == 1 / 10


def test_any_sequence_of_documents_is_a_ranked_list() -> None:
    ranked = UserList([f"d{n}" for n in range(15)])
    for place in (0, 9, 10, 14):
        assert evaluate_ranking({"q": [f"d{place}"]}, {"q": ranked}, ["mrr"]).mean == {"mrr": 1 / (place + 1)}


def test_a_wrong_column_is_reported_with_the_first_problems_and_a_count() -> None:
    qrels = {q: {"a": 1} for q in range(100)}
    with pytest.raises(InputError) as caught:
        evaluate_ranking(qrels, {q: {"a": float("nan")} for q in range(100)}, ["mrr"])
    assert len(caught.value.issues) == 21
    assert "got 80 more" in str(caught.value)
    with pytest.raises(InputError) as caught:
        evaluate_ranking(qrels, {q: {"a": float("nan")} for q in range(20)}, ["mrr"])
    assert [issue.path for issue in caught.value.issues] == [f"run[{q}]['a']" for q in range(20)]


@given(judged_runs(), st.randoms(use_true_random=False))
def test_query_order_changes_nothing(
    judged: tuple[dict[int, dict[int, int]], dict[int, list[int]]], random: Any
) -> None:
    qrels, run = judged
    order = random.sample(list(qrels), len(qrels))
    one = evaluate_ranking(qrels, run, EVERY_METRIC)
    other = evaluate_ranking({q: qrels[q] for q in order}, run, EVERY_METRIC)
    assert one.mean == other.mean
    for name, values in one.per_query.items():
        by_query = dict(zip(other.query_ids, other.per_query[name].tolist(), strict=True))
        assert [by_query[q] for q in one.query_ids] == values.tolist()


@given(judged_runs(), st.lists(st.integers(100, 140), unique=True))
def test_what_stands_below_the_cut_off_changes_nothing(
    judged: tuple[dict[int, dict[int, int]], dict[int, list[int]]], more: list[int]
) -> None:
    qrels, run = judged
    at_3 = [name for name in EVERY_METRIC if name.endswith("@3")]
    long_enough = {q: [*ranked, 50, 51, 52] for q, ranked in run.items()}
    longer = {q: [*ranked, *more] for q, ranked in long_enough.items()}
    assert evaluate_ranking(qrels, long_enough, at_3).mean == evaluate_ranking(qrels, longer, at_3).mean


@given(judged_runs(), st.integers(1, 3))
def test_values_lie_between_zero_and_one_and_are_numbers(
    judged: tuple[dict[int, dict[int, int]], dict[int, list[int]]], level: int
) -> None:
    rules = RankingRules(no_relevant="zero", relevance_level=level)
    report = evaluate_ranking(*judged, EVERY_METRIC, rules=rules)
    for values in report.per_query.values():
        assert ((values >= 0) & (values <= 1)).all()
