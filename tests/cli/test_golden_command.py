"""``rag-eval golden`` from the outside: on the example's own assistant, and on a real agent over HTTP."""

from __future__ import annotations

import json
import re
import shutil
import sys
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

import pytest
from chat_server import running_chat
from fault_agent import RunningServer

from cases import tables_beside
from command_lines import Command
from rag_evaluation_framework.cli.main import main
from rag_evaluation_framework.datasets.human_labels import read_labels
from rag_evaluation_framework.datasets.value_files import read_results
from rag_evaluation_framework.results.calibration import match_labels, open_answered_run
from rag_evaluation_framework.results.run_data import read_documents

TABLES = tables_beside(__file__)

EXAMPLES = Path(__file__).parents[2] / "examples"
ASSISTANT = "golden.assistant:answer"
SPLITS = ["facts", "relations", "tracking", "multiturn", "boundary"]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the example's golden sets and assistant, which is the current one."""
    shutil.copytree(EXAMPLES / "golden", tmp_path / "golden", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    for name in [name for name in sys.modules if name.partition(".")[0] == "golden"]:
        monkeypatch.delitem(sys.modules, name)
    return tmp_path


@pytest.fixture
def golden(project: Path, to_the_end: Command) -> Command:
    return partial(to_the_end, main, "golden", "golden")


def test_a_run_keeps_stories_and_shows_passages_without_them(golden: Command, to_the_end: Command) -> None:
    assert golden("--target", ASSISTANT, "--split", "tracking", "--split", "facts").code == 0
    shutil.rmtree("golden")
    shown = to_the_end(main, "show", "--sample", "track_001").out
    for line in (
        "  why        retrieval miss: retrieved 1 of 3 expected passages\n",
        "  passage    stories/chapter2.txt 14–34: 沈栖发现雾礁的灯火熄灭了，于是决定出海。\n",
        "  retrieved  1  stories/chapter2.txt  ✓ expected 88–136 【雾礁/黎明】",
        "             2  stories/chapter1.txt  0–106 【潮门镇/灯塔下】",  # another split names it
    ):
        assert line in shown
    assert to_the_end(main, "report", "-o", "report.html").code == 0
    assert "No texts of documents" not in Path("report.html").read_text(encoding="utf-8")
    kept = [read_documents(path).documents for path in sorted(Path("runs").iterdir())]
    assert [sorted(each.id for each in documents) for documents in kept] == [
        ["stories/chapter1.txt", "stories/chapter3.txt"],
        ["stories/chapter2.txt"],
    ]


def test_all_five_splits_run_into_one_table_and_one_results_file(golden: Command, project: Path) -> None:
    ended = golden("--target", ASSISTANT, "--out", "all.results.json")
    assert ended.code == 0, ended.err
    for name in ("facts", "relations", "events", "conversations", "refusals"):
        assert f"\n  {name} " in ended.out
    assert re.match(r"\d+ of 17 answers (is|are|were) ", ended.out)
    assert "No gate: " in ended.out
    details = golden("--target", ASSISTANT, "--details", "--runs-dir", "others").out
    for line in (
        "category        social_connection  relation_match ",
        "difficulty      easy               entity_coverage ",
        "refusal reason  irrelevant_topic   refusal_recall ",
    ):
        assert line in details
    results = read_results(project / "all.results.json")
    kept = list(project.glob("runs/*/golden.results.json"))
    assert [read_results(path)["golden"] for path in kept] == [results["golden"]]
    slices = results["golden"]["slices"]
    assert set(slices) == {"category", "difficulty", "refusal_reason"}
    assert slices["refusal_reason"]["harmful"]["refusal_recall"]["n_scored"] == 1
    assert {row.get("refusal_reason") for row in results["query_results"]} >= {"harmful", "privacy"}
    performance = results["performance_metrics"]
    # 4 facts, 3 relations, 2 stories and 3 questions to decline; conversations of 2 and of 3 turns.
    assert performance["api_usage"]["total_requests"] == 4 + 3 + 2 + 3 + 2 + 3
    runs = [read_results(path)["performance_metrics"] for path in (project / "runs").glob("*/results.json")]
    times = [run["total_evaluation_time_seconds"] for run in runs]
    assert performance["total_evaluation_time_seconds"] == pytest.approx(sum(times), abs=0.001)
    # 3 questions to refuse, and a turn of a conversation that is not known to be refused.
    refusals = results["golden"]["refusals"]
    assert (refusals["correct"], refusals["wrong"]) == (3, 0)
    states = results["summary"]["answers"]["states"]
    assert refusals["missed"] == states.get("missed_refusal", 0)


def test_what_the_judge_cost_in_each_split_stands_with_what_differs_from_run_to_run(
    golden: Command, project: Path
) -> None:
    with running_chat(lambda _: "Hm.") as judge:
        asked = ("--judge-model", "strict", "--judge-url", judge.url, "--out", "all.results.json")
        golden("--target", ASSISTANT, *asked)
        calls = len(judge.requests)
    results = read_results(project / "all.results.json")
    performance = results["performance_metrics"]
    by_split = {name: usage["calls"] for name, usage in performance["judge_usage_by_split"].items()}
    assert by_split["facts"] > 0
    assert sum(by_split.values()) == performance["judge_usage"]["calls"] == calls
    assert not any("judge_usage" in split for split in results["golden"]["splits"].values())


def test_missing_splits_are_said_and_the_others_run(golden: Command, project: Path) -> None:
    datasets = project / "golden" / "evaluation" / "datasets"
    for name in ("tracking_qa.json", "multiturn_qa.json"):
        (datasets / name).unlink()
    ended = golden("--target", ASSISTANT)
    assert (ended.code, "This folder contains no events or conversations." in ended.out) == (0, True)
    assert golden("--target", ASSISTANT, "--json").json["missingSplits"] == ["tracking", "multiturn"]


def test_a_conversation_can_be_read_turn_by_turn(golden: Command, project: Path) -> None:
    options = ("--target", ASSISTANT, "--split", "multiturn", "--threshold", "turn_correctness=0.9")
    first, second = golden(*options, "--json", "--out", "all.json", "--junit", "j.xml").json["samples"]
    told = [(turn["expected"], turn["value"], (turn["blame"] or {}).get("kind")) for turn in first["turns"]]
    assert told == [("她的伙伴叫小萤。", 1.0, None), ("小萤爱吃海葡萄。", 0.0, "not_used")]
    assert first["turns"][0]["question"] == "沈栖的伙伴叫什么？"
    assert "小萤" in first["turns"][0]["answer"]
    assert first["expected"] == "小萤爱吃海葡萄。"  # beside the last question and the last answer
    assert [turn["expectsRefusal"] for turn in second["turns"]] == [False, False, True]
    assert second["turns"][2]["blame"] is None
    kept = read_results(project / "all.json")["query_results"]
    assert [[turn["value"] for turn in query["turns"]] for query in kept] == [[1.0, 0.0], [1.0, 1.0, 0.0]]
    assert kept[0]["turns"][0]["question"] == "沈栖的伙伴叫什么？"
    assert kept[0]["blame"]["kind"] == "not_used"
    assert "turn 2: 它爱吃什么？: expected 小萤爱吃海葡萄。, got " in (project / "j.xml").read_text()
    text = golden(*options).out
    assert "turn 2: 它爱吃什么？\n               expected  小萤爱吃海葡萄。\n               got  " in text
    asked = "turn 3: And what will the price of her shares be next year?\n"
    assert f"{asked}               expected  (refusal)" in text


@pytest.mark.parametrize("options", [(), ("--threshold", "turn_correctness>=0")])
def test_show_lists_the_same_answers_with_and_without_a_gate(
    golden: Command, project: Path, to_the_end: Command, options: tuple[str, ...]
) -> None:
    reports = ("--junit", "j.xml", "--markdown", "m.md")
    text = golden("--target", ASSISTANT, "--split", "multiturn", *options, *reports).out
    markdown = (project / "m.md").read_text()
    if options:
        said = text.partition("\n")[0].partition(": ")[2]
        assert "5 answers" in said
        assert said in markdown
    else:
        assert re.match(r"\d of 5 answers .*\n\n  session_002  turn 3: ", text)
        assert "missed refusal" in text
        assert "turn 1" not in text  # which is right
    assert "turn 2: 它爱吃什么？" in markdown
    shown = to_the_end(main, "show", "--not-judged").out
    assert re.findall("^session_00.", shown, re.MULTILINE) == ["session_001"]
    suite = ElementTree.parse(project / "j.xml").getroot().findall("testsuite")[-1]
    assert (suite.get("failures"), suite.get("skipped")) == ("0", "2")
    outputs = [case.findtext("system-out") or "" for case in suite.findall("testcase")]
    assert "turn 2: 它爱吃什么？: expected 小萤爱吃海葡萄。, got " in outputs[0]


def test_golden_lists_one_case_and_counts_the_others(golden: Command, project: Path) -> None:
    (project / "wrong.py").write_text("def answer(question):\n    return 'Sorry, I cannot answer that.'\n")
    text = golden("--target", "wrong:answer", "--split", "boundary", "--split", "facts").out
    assert re.match(r"\d of 7 answers (is|are|were) ", text)
    assert "  3 more: " in text


def test_scoring_a_run_again_names_causes_too(golden: Command, project: Path, to_the_end: Command) -> None:
    ran = golden("--target", ASSISTANT, "--split", "multiturn", "--json", "--out", "all.json").json
    run_id = ran["runs"][0]["runId"]
    scoring = (main, "score", run_id, "-m", "turn_correctness")
    again = to_the_end(*scoring, "--json", "--out", "again.json").json
    assert again["answers"] == ran["answers"]
    before, after = read_results(project / "all.json"), read_results(project / "again.json")
    for query, kept in zip(before["query_results"], after["query_results"], strict=True):
        assert kept.get("blame") == query.get("blame")
        assert [turn.get("blame") for turn in kept["turns"]] == [turn.get("blame") for turn in query["turns"]]
        assert not {"pass", "meets_thresholds"} & kept.keys()
    assert "pass_rate" not in after["summary"]
    assert re.match(r"\d of 5 answers (is|are|were) ", to_the_end(*scoring).out)


def test_one_failed_turn_does_not_discard_the_others(golden: Command, project: Path) -> None:
    (project / "broken.py").write_text(
        "from rag_evaluation_framework.errors import TargetError\n"
        "from golden.assistant import answer as whole\n"
        "def answer(question, history):\n"
        "    if question in ('它爱吃什么？', 'Who taught him to read the stars?'):\n"
        "        raise TargetError('http-400', 'bad request')\n"
        "    return whole(question, history)\n"
    )
    ended = golden("--target", "broken:answer", "--split", "multiturn", "--json")
    first, second = ended.json["samples"]
    assert first["error"] == "http-400: turn 2 of 2: bad request"
    # What was answered is scored; what was not has no score, and the mean of the conversation neither.
    assert [(turn["answer"] is None, turn["value"]) for turn in first["turns"]] == [
        (False, 1.0),
        (True, None),
    ]
    assert [turn["value"] for turn in second["turns"]] == [1.0, None, None]
    assert [turn["blame"] for turn in second["turns"]] == [None, None, None]
    assert first["scores"]["turn_correctness"] is None
    assert first["notScored"]["turn_correctness"]["reason"] == "no answer in turn 2: http-400"
    assert ended.json["metrics"]["multiturn"]["turn_correctness"] is None
    assert ended.json["refusals"]["wrong"] == 0
    text = golden("--target", "broken:answer", "--split", "multiturn").out
    assert "why       no answer: http-400: turn 2 of 2: bad request" in text


def test_blame_goes_with_the_metric_of_the_split(golden: Command, project: Path) -> None:
    (project / "sure.py").write_text(
        "ANSWERS = {'沈栖和陆远舟是什么关系？': '沈栖和陆远舟是好朋友。'}\n"
        "def answer(question):\n"
        "    answer = ANSWERS.get(question, '蜘蛛侠能赢。')\n"
        "    return {'response': answer, 'contexts': ['今天下雨。']}\n"
    )
    samples = golden("--target", "sure:answer", "--json").json["samples"]
    kinds = {sample["id"]: (sample["blame"] or {}).get("kind") for sample in samples}
    relation = next(sample for sample in samples if sample["id"] == "rel_001")
    # The reference, "他们是好友/伙伴，从小一起长大。", says more than is asked for.
    assert (relation["scores"]["relation_match"], kinds["rel_001"]) == (1.0, None)
    assert kinds["rel_002"] == "retrieval_missed"
    assert kinds["bound_001"] is None


def test_the_reference_is_the_history_on_request(golden: Command, project: Path) -> None:
    (project / "listener.py").write_text(
        "def answer(question, history):\n"
        "    with open('heard.txt', 'a') as file:\n"
        "        file.write(' | '.join(m['content'] for m in history if m['role'] == 'assistant') + '\\n')\n"
        "    return 'something else'\n"
    )
    options = ("--target", "listener:answer", "--json")
    ended = golden(*options, "--split", "multiturn", "--history", "reference")
    assert ended.code == 0, ended.err
    heard = (project / "heard.txt").read_text().splitlines()
    assert sorted(heard) == [
        "",
        "",
        "Tobin Reed keeps them.",
        "Tobin Reed keeps them. | Mara Quill taught him.",
        "她的伙伴叫小萤。",
    ]
    (project / "heard.txt").unlink()
    golden(*options, "--split", "multiturn")
    assert "something else" in (project / "heard.txt").read_text()
    run = ended.json["runs"][0]["runId"]
    narrowed = golden(*options, "--split", "facts", "--resume", run)
    assert (narrowed.code, "Remove --split" in narrowed.err) == (2, True)
    resumed = golden(*options, "--resume", run)
    assert (resumed.code, "expected --history reference, got --history own" in resumed.err) == (2, True)


def test_an_agent_with_its_own_history_cannot_be_given_another(
    golden: Command, server: RunningServer
) -> None:
    before = server.log()["received"]
    ended = golden("--url", server.url, "--history", "reference")
    assert (ended.code, "does not take the earlier turns" in ended.err) == (2, True)
    assert server.log()["received"] == before


@pytest.mark.parametrize(("threshold", "code"), TABLES["thresholds_decide"])
def test_thresholds_are_a_gate_like_any_other(golden: Command, threshold: str, code: int) -> None:
    ended = golden("--target", ASSISTANT, "--threshold", threshold)
    assert ended.code == code, ended.out
    assert ended.out.startswith("✗ FAILED" if code else "THRESHOLDS MET")


def test_settings_come_from_a_file_and_reports_are_written(golden: Command, project: Path) -> None:
    (project / "golden.yaml").write_text(
        "spec:\n  evaluation:\n    datasets:\n      - {name: boundary, metrics: [refusal_recall, latency]}\n"
        "    thresholds: {refusal_recall: {min: 1}}\n    ciGate: true\n"
    )
    outputs = ("--junit", "junit.xml", "--markdown", "summary.md")
    ended = golden(
        "--target", ASSISTANT, "--config", "golden.yaml", "--split", "boundary", "--json", *outputs
    )
    assert ended.code == 0, ended.err
    assert list(ended.json["metrics"]["boundary"]) == ["refusal_recall", "latency", "pass_rate"]
    assert (project / "summary.md").read_text().startswith("### ✓ PASSED: all 3 answers")
    assert (project / "junit.xml").exists()


def test_score_and_evaluate_agree_with_golden(golden: Command, project: Path, to_the_end: Command) -> None:
    facts = {"id": "f", "question": "小明喜欢什么颜色？", "ground_truth": "红色/蓝色", "category": "c"}
    (project / "golden" / "evaluation" / "datasets" / "factual_qa.json").write_text(
        json.dumps([facts | {"metrics": {"expected_entities": ["红色/蓝色"]}}]), encoding="utf-8"
    )
    (project / "painter.py").write_text(
        "def answer(question):\n    return '小明喜欢蓝色'\n", encoding="utf-8"
    )
    (project / "agent.yaml").write_text(
        "spec: {evaluation: {datasets: [{name: facts, path: golden/evaluation/datasets/factual_qa.json, "
        "metrics: [token_f1]}]}}\n"
    )
    target = ("--target", "painter:answer", "--json")
    ran = golden(*target, "--split", "facts").json["metrics"]["facts"]
    evaluated = to_the_end(main, "evaluate", "agent.yaml", *target).json["metrics"]
    (run,) = [path.parent.name for path in project.glob("runs/*/golden.results.json")]
    scored = to_the_end(main, "score", run, "-m", "token_f1", "--json").json["metrics"]
    # One reading is 蓝色: two of the six characters, and all of the reference. 2 · 1/3 · 1 / (1/3 + 1) = 1/2.
    assert ran["token_f1"] == evaluated["token_f1"] == scored["token_f1"]["value"] == 0.5


def test_score_locates_contexts_as_golden_does(golden: Command, project: Path, to_the_end: Command) -> None:
    ran = golden("--target", ASSISTANT, "--split", "facts", "--json")
    run, figures = ran.json["runs"][0]["runId"], ran.json["runs"][0]["metrics"]
    names = ("span_recall", "span_precision")
    asked = [part for name in names for part in ("-m", name)]
    scored = to_the_end(main, "score", run, *asked, "--json").json["metrics"]
    assert {name: scored[name] for name in names} == {name: figures[name] for name in names}
    assert figures["span_recall"]["value"] == 1.0
    # The same file elsewhere has the same sources beside it.
    shutil.move(project / "golden", project / "moved")
    moved = project / "moved" / "evaluation" / "datasets" / "factual_qa.json"
    again = to_the_end(main, "score", run, *asked, "--dataset", str(moved), "--json").json["metrics"]
    assert again == scored


def evaluated_by_spans(folder: Path) -> str:
    manifest = folder / "agent.yaml"
    manifest.write_text(
        "spec: {evaluation: {datasets: [{name: facts, path: golden/evaluation/datasets/factual_qa.json, "
        "metrics: [span_recall, span_precision]}], thresholds: {span_recall: 1}, ciGate: true}}\n"
    )
    return str(manifest)


def test_evaluate_locates_contexts_as_golden_does(
    golden: Command, project: Path, to_the_end: Command
) -> None:
    ran = golden("--target", ASSISTANT, "--split", "facts", "--json").json["runs"][0]
    manifest = evaluated_by_spans(project)
    evaluated = to_the_end(main, "evaluate", manifest, "--target", ASSISTANT, "--json").json
    metrics = evaluated["runs"][0]["metrics"]
    assert metrics["span_recall"]["n_scored"] == 4
    for name in ("span_recall", "span_precision"):
        assert metrics[name] == ran["metrics"][name]
    assert evaluated["runs"][0]["answers"] == ran["answers"]
    assert evaluated["ciGateResult"] == "PASS"


def test_evaluate_says_before_the_first_request_which_golden_contexts_are_not_located(
    golden: Command, project: Path, to_the_end: Command
) -> None:
    path = project / "golden" / "evaluation" / "datasets" / "factual_qa.json"
    records = json.loads(path.read_text(encoding="utf-8"))
    records[1]["golden_context"]["snippet"] = "zzz no such text"
    path.write_text(json.dumps(records, indent=1, ensure_ascii=False), encoding="utf-8")
    manifest = evaluated_by_spans(project)
    refused = to_the_end(main, "evaluate", manifest, "--target", ASSISTANT)
    assert refused.code == 2
    assert (
        "golden_context: expected golden_context found once in its file, in every sample for "
        "span_recall and span_precision, got 1 of 4 without: "
    ) in refused.err
    assert "; for the reasons, run rag-eval validate; to score the others, add --allow-missing" in refused.err
    ended = to_the_end(main, "evaluate", manifest, "--target", ASSISTANT, "--allow-missing", "--json").json
    assert ended["runs"][0]["metrics"]["span_recall"]["n_skipped"] == 1
    lacking, located = ended["warnings"]
    assert "got 1 of 4 without: " in lacking
    assert lacking.endswith("; they are skipped (--allow-missing)")
    assert located.startswith(
        "facts: 3 of 4 golden contexts located (list all with rag-eval validate): fact_002"
    )


def test_the_results_of_all_splits_have_passes_and_the_verdict(golden: Command, project: Path) -> None:
    bounds = ("--threshold", "entity_coverage=0.9", "--threshold", "refusal_recall=1")
    told = golden("--target", ASSISTANT, *bounds, "--out", "all.results.json", "--json").json
    results = read_results(project / "all.results.json")
    passes = {query["query_id"]: query.get("meets_thresholds") for query in results["query_results"]}
    assert passes == {
        f"{sample['dataset']}/{sample['id']}": sample["meets_thresholds"] for sample in told["samples"]
    }
    # 3 of 4 facts, and 3 of 3 questions to decline, but not the conversation with a turn to decline: 6 of 8.
    rate = results["summary"]["pass_rate"]
    assert (rate["value"], rate["n_scored"], rate["n_skipped"]) == (6 / 8, 8, len(passes) - 8)
    assert results["golden"]["gate"]["result"] == "FAIL"
    assert results["golden"]["gate"] == told["gate"]
    assert results["summary"]["answers"] == told["answers"]


def test_all_wrong_settings_and_thresholds_are_reported_at_once(golden: Command, project: Path) -> None:
    (project / "golden.yaml").write_text(
        "spec:\n  evaluation:\n    datasets:\n      - {name: fcats, metrics: [nonsens]}\n"
    )
    wrong = ("--threshold", "zz:token_f1=0.1", "--threshold", "token_f1=7")
    ended = golden("--target", ASSISTANT, "--config", "golden.yaml", *wrong)
    assert ended.code == 2
    lines = [line.removeprefix("rag-eval: ") for line in ended.err.splitlines()]
    assert [line.partition(" ")[0] for line in lines] == ["golden.yaml:4:"] * 2 + ["--threshold"] * 2


def test_a_drop_from_an_earlier_run_fails(golden: Command, project: Path) -> None:
    (project / "silent.py").write_text("def answer(question):\n    return 'I do not know.'\n")
    options = ("--split", "facts")
    run = golden("--target", ASSISTANT, *options, "--json").json["runs"][0]["runId"]
    assert golden("--target", ASSISTANT, *options, "--baseline", run).code == 0
    passed = " ".join(golden("--target", ASSISTANT, *options, "--threshold", "token_f1=0").out.split())
    assert f"--target {ASSISTANT} --split facts --baseline 003" in passed.replace("\\ ", "")
    ended = golden("--target", "silent:answer", *options, "--baseline", run)
    assert ended.code == 1
    assert re.match(r"[✗?] (FAILED|UNDECIDED): \d+ answers that were correct in 001 ", ended.out)


def test_retrieval_that_missed_counts_as_zero(golden: Command, project: Path) -> None:
    (project / "half.py").write_text(
        "import golden.assistant as real\n"
        "def answer(question, history):\n"
        "    found = real.answer(question, history)\n"
        "    missed = '小萤' in question or 'Mara' in question\n"
        "    return {**found, 'contexts': ['something else entirely']} if missed else found\n"
    )
    ended = golden("--target", "half:answer", "--split", "facts", "--threshold", "span_recall=0.9", "--json")
    figures = ended.json["runs"][0]["metrics"]["span_recall"]
    missed = sum("小萤" in each["input"] or "Mara" in each["input"] for each in ended.json["samples"])
    assert 0 < missed < 4
    assert (figures["n_scored"], figures["n_skipped"]) == (4, 0)
    assert figures["value"] == (4 - missed) / 4  # the assistant finds all of the others
    assert ended.code == 1


def test_contexts_that_cannot_be_located_are_said_everywhere(golden: Command, project: Path) -> None:
    path = project / "golden" / "evaluation" / "datasets" / "factual_qa.json"
    records = json.loads(path.read_text(encoding="utf-8"))
    for record in records:
        record["golden_context"]["snippet"] = "zzz no such text"
    path.write_text(json.dumps(records), encoding="utf-8")
    ended = golden("--target", ASSISTANT, "--threshold", "span_recall=0.2", "--out", "new/folder/all.json")
    assert ended.out.startswith(
        "! NOT EVALUATED: facts: span_recall was not evaluated: 0 of 4 golden contexts"
    )
    waived = golden("--target", ASSISTANT, "--threshold", "span_recall=0.2", "--waive", "span_recall")
    assert (ended.code, waived.code) == (1, 0), waived.out
    said = " ".join(ended.out.split())
    assert "warning: facts: 0 of 4 golden contexts located, so span_recall and span_precision" in said
    written = read_results(project / "new" / "folder" / "all.json")["golden"]
    assert written["splits"]["facts"]["not_scored"]["span_recall"] == "0 of 4 golden contexts located"
    assert [warning.partition(":")[0] for warning in written["warnings"]] == ["facts"]


def test_what_cannot_be_written_hides_neither_report_nor_verdict(golden: Command, project: Path) -> None:
    (project / "full.py").write_text(
        "import pathlib, golden.assistant as real\n"
        "def answer(question, history):\n"
        "    pathlib.Path('results').touch()  # a file where the folder was to be\n"
        "    return real.answer(question, history)\n"
    )
    arguments = ("--target", "full:answer", "--threshold", "entity_coverage=0.8")
    ended = golden(*arguments, "--out", "results/all.json")
    assert ended.code == 2
    assert ended.out.startswith("THRESHOLDS MET")
    assert "cannot write results/all.json: " in ended.err


def test_labels_of_other_splits_are_told_where_the_results_of_all_are(golden: Command, project: Path) -> None:
    golden("--target", ASSISTANT)
    (project / "labels.csv").write_text("query_id,label\nfact_001,1\nrel_001,1\n")
    first = open_answered_run(min(path.name for path in (project / "runs").iterdir()), project / "runs")
    match = match_labels(first, read_labels(project / "labels.csv"))[1]
    assert (match.n_matched, match.n_unknown) == (1, 1)
    assert Path(match.whole_results or "").name == "golden.results.json"


def test_a_dry_run_says_what_would_be_asked(golden: Command, project: Path) -> None:
    plan = golden("--target", ASSISTANT, "--dry-run", "--json").json
    assert (plan["totalSamples"], plan["calls"]) == (14, 17)  # 5 calls for the 2 conversations
    assert not (project / "runs").exists()


def test_a_run_that_lost_its_end_goes_on_and_gives_the_same_results(golden: Command, project: Path) -> None:
    (project / "golden" / "heard.py").write_text(
        "from golden.assistant import answer as quick\n"
        "def answer(question, history):\n"
        "    with open('asked.txt', 'a') as file:\n        file.write(question + '\\n')\n"
        "    return quick(question, history)\n"
    )
    options = ("--target", "golden.heard:answer", "--json")
    whole = golden(*options).json
    # As a kill leaves it: half of the facts are answered, and no split after them is begun.
    first, *others = sorted((project / "runs").iterdir())
    for other in others:
        shutil.rmtree(other)
    lines = (first / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (first / "journal.jsonl").write_bytes(b"".join(lines[:2]))
    resumed = golden(*options, "--resume", first.name).json
    assert resumed["totalSamples"] == len(resumed["samples"]) == 14
    assert (resumed["metrics"], resumed["refusals"]) == (whole["metrics"], whole["refusals"])
    assert len((project / "asked.txt").read_text().splitlines()) == 17 + 17 - 2
