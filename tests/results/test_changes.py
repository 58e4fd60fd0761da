"""Two evaluations answer by answer: sorts that add up, one family of tests, what the changed ones share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from rag_evaluation_framework import Comparison, Evaluation, Options, compare, evaluate, load

QUESTIONS = [f"q{number:02}" for number in range(20)]
WRONG = "I don't know."


def rows(questions: list[str] = QUESTIONS) -> list[dict[str, Any]]:
    return [
        {
            "id": each,
            "input": each,
            "expected": f"The answer to {each}",
            "relevant_documents": ["fares.md" if each < "q10" else "refunds.md"],
            "tags": ["early" if each < "q10" else "late"],
            "difficulty": "easy" if int(each[1:]) % 2 else "hard",
        }
        for each in questions
    ]


def system(wrong: Mapping[str, str]) -> Callable[[str], dict[str, Any]]:
    """Return a system that answers right, but for these questions, which it answers from other documents."""

    def answer(question: str) -> dict[str, Any]:
        needed = "fares.md" if question < "q10" else "refunds.md"
        document = wrong.get(question, needed)
        text = WRONG if question in wrong else f"The answer to {question}"
        return {"answer": text, "contexts": [{"id": document, "text": text}]}

    return answer


def run(folder: Path, wrong: Mapping[str, str] | list[str] = (), **given: Any) -> Evaluation:  # type: ignore[assignment]
    failing = wrong if isinstance(wrong, Mapping) else dict.fromkeys(wrong, "other.md")
    wish: dict[str, Any] = {"metrics": ["string_match", "token_f1"], "gate": {"string_match": 1.0}, **given}
    data = wish.pop("data", rows())
    return evaluate(data, target=system(failing), runs_directory=folder, **wish)


def ids(answers: Any) -> list[str]:
    return [each.id for each in answers]


def test_every_answer_is_in_one_sort_with_both_answers(tmp_path: Path) -> None:
    compared = compare(run(tmp_path, ["q00", "q01"]), run(tmp_path, ["q01", "q02", "q03", "q04"]))
    (changes,) = compared.answers
    assert (ids(changes.worse), ids(changes.better)) == (["q02", "q03", "q04"], ["q00"])
    assert (changes.correct, changes.wrong, changes.same, changes.paired) == (15, 1, 16, 20)
    assert (changes.new, changes.gone, changes.unpaired, changes.untold) == ((), (), (), 0)
    first = changes.worse[0]
    assert (first.question, first.before, first.now) == ("q02", "The answer to q02", WRONG)
    assert (first.expected, first.scores["string_match"]) == ("The answer to q02", (1.0, 0.0))
    assert compared.to_dict()["answers"][0]["worse"][0]["now"] == WRONG


# Two-sided mid-p of n flips one way is (1/2) ** n: 0.0625, 0.03125; the level is 0.05.
@pytest.mark.parametrize(("wrong", "word"), [(4, "undecided"), (5, "worse")])
def test_comparing_the_other_way_round_is_the_mirror(tmp_path: Path, wrong: int, word: str) -> None:
    good, bad = run(tmp_path), run(tmp_path, QUESTIONS[:wrong])
    fell, rose = compare(good, bad), compare(bad, good)
    (there,), (back,) = fell.answers, rose.answers
    mirrored = {"worse": "better", "undecided": "no worse"}[word]
    assert (fell.verdict, rose.verdict, there.p_value, back.p_value) == (word, mirrored, *[0.5**wrong] * 2)
    assert (ids(there.worse), ids(there.better)) == (ids(back.better), ids(back.worse))
    assert (there.correct, there.wrong, there.same) == (back.correct, back.wrong, back.same)


def test_tests_of_answers_are_corrected_over_contenders(tmp_path: Path) -> None:
    several = compare(run(tmp_path), run(tmp_path, QUESTIONS[:5]), run(tmp_path, QUESTIONS[:2]))
    assert [each.p_value for each in several.answers] == [0.5**5 * 2, 0.25]  # Holm over two contenders
    assert several.verdict == "undecided"


NONSENSE = "Purple monkeys sing."


def recorded(answers: Mapping[str, str], **given: Any) -> Evaluation:
    """Evaluate recorded answers, of which those that are not given are right."""
    return evaluate([{**row, "answer": answers.get(row["id"], row["expected"])} for row in rows()], **given)


def test_metrics_decide_only_where_no_answer_is_judged() -> None:
    near, far = (dict.fromkeys(QUESTIONS, text) for text in ("An answer about other things.", NONSENSE))
    compared = compare(recorded(near, metrics=["token_f1"]), recorded(far, metrics=["token_f1"]))
    (changes,) = compared.answers
    assert (changes.is_tested, changes.untold, changes.worse) == (False, 20, ())
    assert compared.verdict == "worse"
    assert str(compared).startswith("Worse, no answer was judged: token_f1 fell from ")


def test_correct_answers_that_are_not_judged_now_are_undecided() -> None:
    compared = compare(recorded({}), recorded(dict.fromkeys(QUESTIONS[:6], NONSENSE)))
    (changes,) = compared.answers
    assert (ids(changes.unpaired), changes.worse, changes.finding) == (QUESTIONS[:6], (), "undecided")
    assert str(compared).startswith("Undecided: ")
    nothing = compare(recorded({}), recorded(dict.fromkeys(QUESTIONS, NONSENSE)))
    assert str(nothing).startswith("Undecided: ")


def test_order_of_rows_changes_nothing() -> None:
    before = recorded({"q01": WRONG})
    told = {"q03": WRONG, "q11": NONSENSE}
    turned = evaluate([{**row, "answer": told.get(row["id"], row["expected"])} for row in rows()[::-1]])
    first, second = (compare(before, after).answers[0] for after in (recorded(told), turned))
    for name in ("worse", "better", "unpaired"):
        assert ids(getattr(first, name)) == ids(getattr(second, name))
    assert (first.p_value, first.correct, first.wrong) == (second.p_value, second.correct, second.wrong)


def test_what_most_that_got_worse_share_is_named_with_how_many_others_do(tmp_path: Path) -> None:
    wrong = {"q00": "minutes.md", "q10": "minutes.md", "q11": "minutes.md", "q12": "minutes.md"}
    (changes,) = compare(run(tmp_path), run(tmp_path, {**wrong, "q13": "other.md"})).answers
    why, first, *others = changes.traits
    assert (why.kind, why.value, why.count) == ("why", "wrong_refusal", 5)
    assert (first.kind, first.value, first.count, first.of) == ("document", "minutes.md", 4, 5)
    assert (first.others, first.of_others) == (0, 15)
    # Four of five need refunds.md, but so do 6 of the 15 others: by chance 1 in 7.
    assert not [each for each in others if each.kind == "needed"]
    late = changes.slices["tag"]["late"]
    assert (late.worse, late.better, late.same) == (4, 0, 6)
    assert late.metrics["string_match"] == (10, 1.0, 0.6)
    assert list(changes.slices["document"]) == ["fares.md", "refunds.md"]


def test_samples_that_came_went_or_were_edited_are_named(tmp_path: Path) -> None:
    first, *rest = rows()
    # What was expected of q01 is not any more, of neither run.
    edited = {**rest[0], "expected": "Something else"}
    before, after = run(tmp_path, data=[first, *rest[:10]]), run(tmp_path, data=[edited, *rest[1:12]])
    compared = compare(before, after)
    (changes,) = compared.answers
    assert (ids(changes.new), ids(changes.gone), ids(changes.edited)) == (["q11", "q12"], ["q00"], ["q01"])
    assert (changes.paired, changes.untold, changes.unpaired, compared.warnings) == (9, 1, (), ())
    assert "edited since the baseline: q01" in str(compared)


def test_an_answer_that_only_one_run_scores_is_named_with_the_reason(tmp_path: Path) -> None:
    def declining(question: str) -> dict[str, Any]:
        text = "I am sorry, I cannot answer that." if question == "q03" else f"The answer to {question}."
        return {"answer": text, "contexts": [{"id": "a.md", "text": f"The answer to {question}."}]}

    gate, options = {"faithfulness": 0.5}, Options(allow_missing=True)
    wish: dict[str, Any] = {"metrics": ["faithfulness"], "gate": gate, "options": options}
    data = [{"id": each, "input": each, "expected": f"The answer to {each}."} for each in QUESTIONS[:6]]
    before = evaluate(data, target=system({}), runs_directory=tmp_path, **wish)
    after = evaluate(data, target=declining, runs_directory=tmp_path, **wish)
    (changes,) = compare(before, after).answers
    (left_out,) = changes.unscored["faithfulness"]
    assert left_out.id == "q03"
    assert left_out.reason is not None
    assert left_out.reason.startswith("not scored now: ")
    assert "q03" in str(compare(before, after))


def test_a_run_a_file_and_memory_give_the_same_answers(tmp_path: Path) -> None:
    before, after = run(tmp_path, ["q00"]), run(tmp_path, ["q01", "q02"])
    paths = [each.save(tmp_path / f"{n}.results.json") for n, each in enumerate((before, after))]

    def sorts(compared: Comparison) -> Any:
        (changes,) = compared.answers
        figures = [(each.metric, each.n, each.difference, each.p_adjusted) for each in compared.metrics]
        return ids(changes.worse), ids(changes.better), changes.correct, changes.wrong, figures

    expected = sorts(compare(before, after))
    files = [load(path) for path in paths]
    folders = [load(each.head.run_id, runs_directory=tmp_path) for each in (before, after)]
    for first, second in (files, folders, (files[0], folders[1]), (before, files[1])):
        assert isinstance(first, Evaluation)
        assert isinstance(second, Evaluation)
        assert sorts(compare(first, second)) == expected
        assert compare(first, second).answers[0].worse[0].before == "The answer to q01"


def test_its_repr_is_short(tmp_path: Path) -> None:
    compared = compare(run(tmp_path), run(tmp_path, QUESTIONS[:3]))
    lines = repr(compared).splitlines()
    assert lines[0] == "Comparison: Undecided: 3 answers got worse, 0 got better."
    assert len(lines) <= 10
    assert lines[1] == "  17 correct in both, 3 worse."
    assert any(line.split()[:4] == ["string_match", "1.00", "0.85", "-0.15"] for line in lines)
