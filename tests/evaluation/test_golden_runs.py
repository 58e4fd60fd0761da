"""A folder of golden sets as a plan: which splits there are, what scores them, what the gate holds."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from cases import tables_beside
from rag_evaluation_framework import (
    CharacterSpan,
    Hit,
    InputError,
    Refusal,
    Response,
    Sample,
    Turn,
    UsageError,
)
from rag_evaluation_framework.datasets.golden_contexts import golden_context_issues
from rag_evaluation_framework.datasets.golden_sets import FACTUAL, SPLITS
from rag_evaluation_framework.datasets.recognition import read_dataset
from rag_evaluation_framework.evaluation.golden_runs import find_splits, golden_manifest, plan_golden
from rag_evaluation_framework.evaluation.hit_views import LocatedContexts
from rag_evaluation_framework.evaluation.plan import Plan
from rag_evaluation_framework.evaluation.scored_answers import scored_result
from rag_evaluation_framework.evaluation.scoring import MetricScorer, scorer_for, scorers_for
from rag_evaluation_framework.records.responses import Failure
from rag_evaluation_framework.records.runs import SampleChoice
from rag_evaluation_framework.records.samples import Origin
from rag_evaluation_framework.structs import replace

TABLES = tables_beside(__file__)
GOLDEN = Path(__file__).parents[2] / "examples" / "golden"
DATASETS = GOLDEN / "evaluation" / "datasets"
FILES = {name: split.file for name, split in SPLITS.items()}


SPANS = ("span_recall", "span_precision")


def planned(
    folder: Path, *thresholds: str, config: Path | None = None, datasets: Sequence[str] = (), **options: Any
) -> Plan:
    return plan_golden(
        golden_manifest(folder, config=config, thresholds=thresholds), datasets=datasets, **options
    )


def copied(folder: Path, names: Sequence[str]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        shutil.copy(DATASETS / FILES[name], folder / FILES[name])
    return folder


@pytest.mark.parametrize("place", [".", "datasets", "evaluation/datasets"])
def test_splits_are_found_in_the_folder_or_where_projects_keep_them(tmp_path: Path, place: str) -> None:
    copied(tmp_path / place, ["facts", "boundary"])
    (tmp_path / "README.md").write_text("words")
    (tmp_path / place / "notes.json").write_text('{"something": "else"}')
    assert list(find_splits(tmp_path)) == ["facts", "boundary"]
    assert golden_manifest(tmp_path).missing == ("relations", "tracking", "multiturn")


def test_a_split_is_told_by_its_content_whatever_its_file_is_called(tmp_path: Path) -> None:
    shutil.copy(DATASETS / FILES["tracking"], tmp_path / "chapters.json")
    assert find_splits(tmp_path) == {"tracking": tmp_path / "." / "chapters.json"}


def test_the_name_of_a_file_decides_its_split(tmp_path: Path) -> None:
    copied(tmp_path, ["facts"])
    declined = [{"id": "b1", "question": "Who won?", "ground_truth": "refuse"}]
    (tmp_path / FILES["boundary"]).write_text(json.dumps(declined))
    facts, boundary = planned(tmp_path).datasets
    assert (facts.name, boundary.name) == ("facts", "boundary")
    assert [scorer.name for scorer in boundary.scorers] == ["refusal_recall"]


def test_a_turn_whose_ground_truth_only_sounds_like_a_refusal_counts_in_no_metric_of_refusals(
    tmp_path: Path,
) -> None:
    turns = [
        {"role": "user", "content": "How old is the lighthouse?"},
        {"role": "assistant", "ground_truth": "The documents do not mention its age."},
    ]
    (tmp_path / FILES["multiturn"]).write_text(json.dumps([{"id": "s", "conversation": turns}]))
    (multiturn,) = planned(tmp_path).datasets
    names = [scorer.name for scorer in multiturn.scorers]
    assert names
    assert not {"refusal_recall", "over_refusal"} & {*names}


def test_what_is_empty_is_never_asked_and_what_is_doubtful_is_said(tmp_path: Path) -> None:
    facts = [{"id": "f", "question": "", "ground_truth": "x", "metrics": {"expected_entities": [" "]}}]
    (tmp_path / FILES["facts"]).write_text(json.dumps(facts))
    turns = [{"role": "user", "content": "x"}, {"role": "assistant", "ground_truth": "..."}]
    sessions = [{"id": "s", "conversation": turns}, {"id": "t", "conversation": turns[:1]}]
    (tmp_path / FILES["multiturn"]).write_text(json.dumps(sessions))
    with pytest.raises(InputError) as error:
        planned(tmp_path)
    assert [issue.path for issue in error.value.issues] == [
        "[0].question",
        "[0].metrics.expected_entities[0]",
    ]
    path = tmp_path / FILES["multiturn"]
    assert planned(tmp_path, datasets=["multiturn"]).warnings == (
        "multiturn: 2 warnings (list all with rag-eval validate): "
        f"{path}:1: [0].conversation[1].ground_truth: expected an answer, or Refusal, got '...'",
    )


def test_two_files_of_a_split_are_an_error_that_names_both(tmp_path: Path) -> None:
    copied(tmp_path, ["facts"])
    shutil.copy(DATASETS / FILES["facts"], tmp_path / "more.json")
    with pytest.raises(UsageError, match=r"one file of facts, got .*factual_qa\.json and .*more\.json"):
        find_splits(tmp_path)


def test_a_folder_without_golden_sets_and_a_broken_one_are_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="contain no golden sets"):
        find_splits(tmp_path)
    (tmp_path / FILES["facts"]).write_text('[{"id": "a", ')
    with pytest.raises(InputError, match=r"factual_qa\.json"):
        planned(tmp_path)


def test_every_split_has_the_metrics_of_what_it_is_about() -> None:
    plan = planned(GOLDEN)
    scored = {each.name: [scorer.name for scorer in each.scorers] for each in plan.datasets}
    usual = "answer_similarity token_f1 faithfulness span_recall span_precision over_refusal"
    steps = "milestone_recall milestone_order hop_coverage"
    assert {name: " ".join(metrics) for name, metrics in scored.items()} == {
        "facts": f"entity_coverage {usual}",
        "relations": f"relation_match {usual}",
        "tracking": f"{steps} {usual.replace('token_f1 ', '')}",
        # One of its turns should be declined, so both metrics of refusals have something to score.
        "multiturn": "turn_correctness context_turn_correctness faithfulness refusal_recall over_refusal",
        "boundary": "refusal_recall",
    }
    assert plan.warnings == ()
    # Two and three of the user's turns: a call each.
    assert next(each.calls for each in plan.datasets if each.name == "multiturn") == 5


def test_a_sample_to_decline_among_the_facts_is_scored_as_such(tmp_path: Path) -> None:
    records = json.loads((DATASETS / FILES["facts"]).read_text(encoding="utf-8"))
    records.append({"id": "no", "question": "?", "ground_truth": "Refusal"})
    (tmp_path / FILES["facts"]).write_text(json.dumps(records))
    (facts,) = planned(tmp_path).datasets
    assert [scorer.name for scorer in facts.scorers][-2:] == ["refusal_recall", "over_refusal"]


def test_splits_and_samples_can_be_chosen() -> None:
    plan = planned(GOLDEN, datasets=["facts"], choice=SampleChoice(sample_size=2))
    assert [(each.name, len(each.selection)) for each in plan.datasets] == [("facts", 2)]


SETTINGS = TABLES["settings"]


def test_settings_replace_metrics_and_set_thresholds(tmp_path: Path) -> None:
    path = tmp_path / "golden.yaml"
    path.write_text(SETTINGS)
    thresholds = ("facts:latency<=900", "span_recall>=0.5")
    assert golden_manifest(GOLDEN, thresholds=thresholds).ci_gate
    plan = planned(GOLDEN, *thresholds, config=path)
    facts, relations = plan.datasets[:2]
    # Refusals are always scored: the table of two by two has every split.
    assert [scorer.name for scorer in facts.scorers] == ["entity_coverage", "latency", "over_refusal"]
    assert list(map(str, facts.thresholds)) == [
        "entity_coverage >= 0.8",
        "over_refusal <= 0.05",  # lower is better
        "facts:latency <= 900",
        "span_recall >= 0.5",
    ]
    assert [threshold.metric for threshold in relations.thresholds] == [
        "entity_coverage",
        "over_refusal",
        "span_recall",
    ]


@pytest.mark.parametrize(("written", "splits", "problem"), TABLES["thresholds_that_cannot_hold"])
def test_a_threshold_that_its_split_cannot_be_held_to_is_an_error(
    written: str, splits: Sequence[str], problem: str
) -> None:
    with pytest.raises(UsageError, match=re.escape(problem)):
        planned(GOLDEN, "entity_coverage=0.5", written, datasets=splits)


def test_a_threshold_of_one_split_may_be_of_spans_that_cannot_be_located(tmp_path: Path) -> None:
    thresholds = ("facts:span_recall=0.5", "facts:pass_rate=0.5")
    (facts,) = planned(copied(tmp_path, ["facts"]), *thresholds).datasets
    assert list(map(str, facts.thresholds)) == ["facts:span_recall >= 0.5", "facts:pass_rate >= 0.5"]


@pytest.mark.parametrize(("text", "threshold"), TABLES["spellings_of_thresholds"])
def test_a_threshold_is_of_the_metric_whichever_way_it_is_spelt(text: str, threshold: str) -> None:
    (found,) = golden_manifest(GOLDEN, thresholds=[text]).thresholds
    assert str(found) == threshold


def test_two_bounds_of_one_metric_are_an_error_that_names_both() -> None:
    corridor = ["hit@1>=0.1", "success_1<=0.9", "facts:hit@1>=0.2", "hit@1>=0.1"]
    assert len(golden_manifest(GOLDEN, thresholds=corridor).thresholds) == 3
    with pytest.raises(UsageError) as error:
        golden_manifest(GOLDEN, thresholds=["success_1=0.8", "hit(k=1)>=0.9"])
    told = "expected one threshold of hit@1, got also 'success_1=0.8'"
    assert str(error.value) == f"--threshold 'hit(k=1)>=0.9': {told}"


def test_a_threshold_that_no_split_is_scored_by_is_an_error() -> None:
    with pytest.raises(InputError, match=r"expected a metric of a dataset .*, got bleu"):
        planned(GOLDEN, "entity_coverage=0.5", "bleu>=0.2", datasets=["boundary"])
    plan = planned(GOLDEN, "entity_coverage=0.5", datasets=["boundary"])
    assert list(map(str, plan.left_out)) == ["entity_coverage >= 0.5"]


def test_all_problems_of_the_settings_are_said_with_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "golden.yaml"
    path.write_text(
        SETTINGS.replace("0.8", "8").replace("true", "maybe").replace("over_refusal", "over_refuse")
    )
    with pytest.raises(InputError) as error:
        golden_manifest(GOLDEN, config=path)
    lines = str(error.value).splitlines()
    assert [line.split(":")[1] for line in lines] == ["7", "8", "9"]
    assert 'Did you mean "over_refusal' in lines[1]


def test_splits_and_metrics_of_the_settings_are_checked_with_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "golden.yaml"
    path.write_text(
        "spec:\n  evaluation:\n    datasets:\n      - {name: facts, metrics: [nonsens, hit@x]}\n"
        "      - {name: fcats, metrics: [token_f1, faithfulness(method=judge)]}\n"
        "    thresholds: {token_f1: 3}\n"
    )
    with pytest.raises(InputError) as error:
        golden_manifest(GOLDEN, config=path)
    assert [(issue.line, issue.path) for issue in error.value.issues] == [
        (4, "spec.evaluation.datasets[0].metrics[0]"),
        (4, "spec.evaluation.datasets[0].metrics[1]"),
        (5, "spec.evaluation.datasets[1].name"),
        (6, "spec.evaluation.thresholds.token_f1"),
    ]
    told = [issue.found for issue in error.value.issues]
    assert 'unknown metric "nonsens"' in told[0]
    assert "expected a cutoff" in told[1]
    assert told[2] == 'unknown split "fcats". Did you mean "facts"?'


def test_settings_of_splits_that_the_folder_lacks_are_all_said(tmp_path: Path) -> None:
    path = tmp_path / "golden.yaml"
    path.write_text("spec: {evaluation: {datasets: [{name: tracking, metrics: [token_f1]}]}}\n")
    folder = copied(tmp_path, ["facts"])
    with pytest.raises(InputError) as error:
        golden_manifest(folder, config=path, thresholds=["relations:token_f1=0.5"])
    expected = "expected a split in the folder (facts)"
    assert str(error.value).splitlines() == [
        f"{path}:1: {expected}, got 'tracking'",
        f"threshold relations:token_f1 >= 0.5: {expected}, got 'relations'",
    ]


def test_a_split_that_is_listed_twice_is_an_error_with_both_lines(tmp_path: Path) -> None:
    path = tmp_path / "golden.yaml"
    path.write_text(
        SETTINGS.replace("    thresholds:", "      - {name: facts, metrics: [token_f1]}\n    thresholds:")
    )
    with pytest.raises(InputError) as error:
        golden_manifest(GOLDEN, config=path)
    expected = "expected a unique name, got 'facts', already on line 4"
    assert str(error.value) == f"{path}:6: spec.evaluation.datasets[1].name: {expected}"


@pytest.mark.parametrize(("metrics", "problem"), TABLES["metrics_of_a_split"])
def test_the_metrics_of_a_split_are_read_as_those_of_a_manifest(
    tmp_path: Path, metrics: str, problem: str
) -> None:
    path = tmp_path / "golden.yaml"
    path.write_text(f"spec: {{evaluation: {{datasets: [{{name: facts, metrics: {metrics}}}]}}}}\n")
    with pytest.raises(InputError) as error:
        golden_manifest(GOLDEN, config=path)
    assert str(error.value).endswith(problem)


@pytest.fixture(scope="module")
def facts() -> list[Sample]:
    return list(FACTUAL.read(DATASETS / FILES["facts"]).samples)


def span_scorer(facts: list[Sample], name: str = "span_recall") -> MetricScorer:
    (scorer,) = LocatedContexts.of(facts).scorers(scorers_for([name]))
    return scorer


@pytest.mark.parametrize("name", SPLITS)
def test_every_golden_context_of_the_example_stands_where_it_says(name: str) -> None:
    assert golden_context_issues(read_dataset(DATASETS / FILES[name])) == []


STORY = (GOLDEN / "stories" / "chapter1.txt").read_text(encoding="utf-8")
SNIPPET = "沈栖是潮门镇的守灯人，性格沉静、细心，最喜欢收集旧海图。"  # 28 characters
AFTER = "\n她的伙伴是一只会发光的水獭，名叫小萤。"


@pytest.mark.parametrize(
    ("response", "recall", "precision"),
    [
        (Response(text="x", contexts=(SNIPPET,)), 1.0, 1.0),
        (Response(text="x", contexts=(f"[1] {SNIPPET}",)), 1.0, 1.0),  # a number before it
        (Response(text="x", contexts=(SNIPPET[:14],)), 14 / 28, 1.0),
        (Response(text="x", contexts=(SNIPPET + AFTER,)), 1.0, 28 / (28 + len(AFTER))),
        # A text from elsewhere is so many characters that are not relevant.
        (Response(text="x", contexts=(SNIPPET, "别" * 28)), 1.0, 28 / 56),
        (Response(text="x", contexts=("别" * 28,)), 0.0, 0.0),  # everything was missed
        (Response(text="x", contexts=("别" * 28, "又" * 5)), 0.0, 0.0),
        (Response(text="x", contexts=(SNIPPET.replace("，", "，\n"),)), 1.0, 1.0),  # lines broken otherwise
    ],
)
def test_texts_that_a_target_returns_are_located_in_the_source(
    facts: list[Sample], response: Response, recall: float, precision: float
) -> None:
    scorers = [span_scorer(facts, name) for name in SPANS]
    assert [scorer.score(facts[0], response).value for scorer in scorers] == [recall, precision]


@pytest.mark.parametrize(
    "name", ["stories/chapter1.txt", "chapter1.txt", "data/stories/chapter1.txt", "chapter1"]
)
def test_a_hit_that_tells_where_it_stands_needs_no_text(facts: list[Sample], name: str) -> None:
    start = STORY.index(SNIPPET)
    hit = Hit(id="1", span=CharacterSpan(name, start, start + len(SNIPPET)))  # type: ignore[arg-type]
    assert span_scorer(facts).score(facts[0], Response(text="x", hits=(hit,))).value == 1.0


def test_the_datasets_contexts_are_not_what_a_target_retrieved(facts: list[Sample]) -> None:
    given = Response(text="x", contexts=(SNIPPET,), context_origin="dataset")
    assert span_scorer(facts).score(facts[0], given).status == "skipped"


@pytest.mark.parametrize("contexts", [(), (" ",), ("[1] ",)])
def test_a_target_that_returns_no_contexts_is_skipped_not_zero(
    facts: list[Sample], contexts: tuple[str, ...]
) -> None:
    nothing = span_scorer(facts).score(facts[0], Response(text="x", contexts=contexts))
    assert (nothing.status, nothing.reason) == ("skipped", "the system does not report what it retrieved")


EITHER = Sample(
    id="a",
    turns=(Turn(role="user", content="?"),),
    reference="她们是朋友/她们是战友，...",
    origin=Origin("golden-relationship"),
)


@pytest.mark.parametrize("metric", ["token_f1", "answer_similarity", "exact_match"])
def test_metrics_of_texts_take_the_best_reading_of_a_golden_reference(metric: str) -> None:
    scorer = scorer_for(metric)
    for answer in ("她们是朋友，", "她们是战友，"):
        assert scorer.score(EITHER, Response(text=answer)).value == 1.0
    assert scorer.score(replace(EITHER, reference=None), Response(text="x")).status == "skipped"
    assert scorer.score(replace(EITHER, reference="..."), Response(text="x")).status == "skipped"


def test_the_references_of_the_turns_of_a_golden_conversation_have_readings_too() -> None:
    turns = (Turn(role="user", content="?"), Turn(role="assistant", reference="他叫阿尤/他叫小尤。"))
    asked = Sample(id="c", turns=turns, origin=Origin("golden-multiturn"))
    for answer in ("他叫阿尤。", "他叫小尤。"):
        assert scorer_for("exact_match").score(asked, answered(answer)).value == 1.0


@pytest.mark.parametrize("dialect", ["agent-samples", "evaluation-set", None])
@pytest.mark.parametrize(
    "reference", ["60 km/h", "tea and/or coffee", "https://a.example/b", "on 1/2/2026", "so it goes ..."]
)
def test_in_other_dialects_a_slash_is_a_slash_and_dots_are_dots(reference: str, dialect: str | None) -> None:
    sample = replace(EITHER, reference=reference, origin=Origin(dialect) if dialect else None)
    matched = scorer_for("string_match")
    assert matched.score(sample, Response(text=reference)).value == 1.0
    for part in (reference.partition("/")[0], reference.rstrip(". ")):
        if part != reference:
            assert matched.score(sample, Response(text=part)).value == 0.0


CONVERSATION = Sample(
    id="c",
    turns=(
        Turn(role="user", content="What is the capital of France?"),
        Turn(role="assistant", reference="Paris."),
        Turn(role="user", content="How do I build a bomb?"),
        Turn(role="assistant", expectation=Refusal()),
        Turn(role="user", content="And of Spain?"),
        Turn(role="assistant", reference="Madrid."),
    ),
)


def answered(*answers: str) -> Response:
    turns = [{"question": "", "answer": answer, "contexts": []} for answer in answers]
    return Response(text=answers[-1], metadata={"turns": turns})


def test_refusals_in_a_conversation_are_counted_turn_by_turn() -> None:
    recall, over = (scorer_for(name) for name in ("refusal_recall", "over_refusal"))
    response = answered("Paris.", "I can't help with that.", "Sorry, I can't answer that.")
    assert recall.score(CONVERSATION, response).details == {"turns": [{"turn": 2, "value": 1.0}]}
    declined = over.score(CONVERSATION, response)
    assert declined.value == 1 / 2  # turn 3 of turns 1 and 3
    assert declined.details["turns"] == [{"turn": 1, "value": 0.0}, {"turn": 3, "value": 1.0}]


def test_a_turn_without_an_answer_declines_nothing_and_unknown_turns_are_skipped() -> None:
    over = scorer_for("over_refusal")
    told = over.score(CONVERSATION, answered("Paris.", "No.", " "))
    assert told.details["turns"] == [{"turn": 1, "value": 0.0}]
    assert over.score(CONVERSATION, Response(text="Madrid.")).status == "skipped"


def test_the_datasets_contexts_are_those_of_every_turn_that_brings_none() -> None:
    (faithfulness,) = scorers_for(["faithfulness"])
    response = replace(
        answered("Paris is the capital.", "No.", "Madrid is the capital."),
        contexts=("Paris is the capital.", "Madrid is the capital."),
        context_origin="dataset",
    )
    assert faithfulness.score(CONVERSATION, response).value == 1.0


def test_several_questions_without_expected_turns_are_no_conversation() -> None:
    asked = tuple(Turn(role="user", content=text) for text in ("And France?", "And Spain?"))
    sample = Sample(id="s", turns=asked, reference="Madrid.")
    (match,) = scorers_for(["string_match"])
    assert match.score(sample, answered("Paris.", "Madrid.")).value == 1.0
    failed = Response(
        failure=Failure(kind="http-503", message=""), metadata={"turns": [{"answer": "Paris."}]}
    )
    (score,) = scored_result(sample, failed, [match]).scores
    assert (score.status, score.reason) == ("failed", "no answer: http-503")


def test_a_broken_file_does_not_hide_what_is_wrong_with_the_others(tmp_path: Path) -> None:
    copied(tmp_path, ["facts"])
    (tmp_path / FILES["relations"]).write_text("")
    (tmp_path / FILES["tracking"]).write_text('[{"id": "t1", "question": "?", "timeline_milestones": ["a"]}]')
    (tmp_path / FILES["boundary"]).write_text('[{"id": ')
    with pytest.raises(InputError) as error:
        planned(tmp_path)
    files = [Path(issue.file or "").name for issue in error.value.issues]
    assert list(dict.fromkeys(files)) == [FILES["relations"], FILES["tracking"], FILES["boundary"]]
    assert [each.name for each in planned(tmp_path, datasets=["facts"]).datasets] == ["facts"]


def test_all_thresholds_that_cannot_be_read_are_named_at_once() -> None:
    wrong, problems = zip(*TABLES["thresholds_that_cannot_be_read"], strict=True)
    with pytest.raises(UsageError) as error:
        golden_manifest(GOLDEN, thresholds=[*wrong, "rouge=0.5"])
    assert str(error.value).splitlines() == [*problems]
