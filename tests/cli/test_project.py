"""A project: ``rag-eval init``, the settings in force, datasets by id, and the workflow it writes."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from serving import QuietHandler, serving

from acceptance.projects import change
from cases import tables_beside
from command_lines import ok, rag_eval_ended
from rag_evaluation_framework.files import yaml_documents

TABLES = tables_beside(__file__)

DOCUMENTS = {
    "ferries.md": "# Ferries\n\nThe ferry to Skell leaves at 9:30 from the north quay.\n\n"
    "Dogs travel free of charge on the lower deck.\n",
    "museum.md": "# Museum\n\nThe museum opens at ten from April to October.\n\n"
    "The museum was founded in 1924 by Ada Finch.\n",
    "notes.docx": "not a document that is read",
}


class Agent(QuietHandler):
    """Answers with the paragraph that shares most words with the question."""

    def do_POST(self) -> None:
        words = set(re.findall(r"\w{4,}", self.sent().decode().lower()))
        paragraphs = [
            {"id": name, "text": text}
            for name, content in DOCUMENTS.items()
            for text in content.split("\n\n")[1:]
        ]
        paragraphs.sort(key=lambda each: -len(words & set(re.findall(r"\w+", each["text"].lower()))))
        self.reply(200, {"response": paragraphs[0]["text"], "contexts": paragraphs[:2]})


@pytest.fixture(scope="module")
def agent() -> Iterator[str]:
    with serving(Agent) as url:
        yield url


@pytest.fixture(scope="module")
def begun(agent: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("begun")
    (folder / "docs").mkdir()
    for name, text in DOCUMENTS.items():
        (folder / "docs" / name).write_text(text, encoding="utf-8")
    done = rag_eval_ended("init", "--agent", agent, "--docs", "docs", folder=folder)
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


@pytest.fixture
def project(begun: tuple[Path, str], tmp_path: Path) -> Path:
    shutil.copytree(begun[0], tmp_path, dirs_exist_ok=True)
    return tmp_path


def settings(folder: Path, *arguments: str) -> dict[str, tuple[str, str]]:
    rows = json.loads(ok(folder, *arguments, "--show-config", "--json"))
    return {row["setting"]: (row["value"], row["from"]) for row in rows}


DEFAULTS = Path("data", "config", "evaluation_defaults.config.yaml")


def test_init_says_what_it_found_and_what_each_file_is_for(begun: tuple[Path, str]) -> None:
    folder, told = begun
    agent, docs, skipped, blank, *files, following = told.splitlines()
    assert re.fullmatch(r"agent  answers in \d+\.\d s; answer in response, contexts in contexts", agent)
    assert re.fullmatch(r"docs   2 files; (\w+) questions made by rules, \w+ of them taken", docs)
    assert "skipped notes.docx" in skipped
    assert blank == ""
    assert following == "Next: rag-eval evaluate"
    named = [line.split()[0] for line in files]
    assert named[:4] == ["agent.yaml", "evals/first.jsonl", "test_rag.py", ".github/workflows/rag-eval.yml"]
    assert all((folder / name).exists() for name in named)
    assert files[-1].endswith("results: committed, with the agent's answers")
    manifest = yaml_documents.decode((folder / "agent.yaml").read_bytes())["spec"]
    # The replies hold contexts with the documents' own names, so both can be measured.
    assert manifest["evaluation"]["metrics"] == ["faithfulness", "answer_correctness", "hit@1", "latency"]
    assert json.loads(ok(folder, "validate", ".", "--json"))["errors"] == 0


def test_init_overwrites_nothing_and_does_not_begin_without_the_agent(project: Path, tmp_path: Path) -> None:
    change(project / "agent.yaml", "min: 90%", "min: 95%")
    before = {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
    again = json.loads(ok(project, "init", "--docs", "docs", "--json"))
    assert again["created"] == []
    assert before == {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
    refused = rag_eval_ended("init", "new", "--agent", "http://127.0.0.1:9", folder=tmp_path)
    assert (refused.returncode, (tmp_path / "new").exists()) == (3, False)
    assert "cannot connect" in refused.stderr
    assert "Nothing was written" in refused.stderr
    assert ".gitlab-ci.yml" in ok(tmp_path, "init", "new", "--ci", "gitlab")


def test_an_evaluation_keeps_its_journal_and_its_results_in_the_project(project: Path) -> None:
    below = project / "evals"
    done = rag_eval_ended("evaluate", folder=below)
    assert done.returncode in (0, 1), done.stderr
    (run,) = (project / "runs").iterdir()
    (kept,) = (project / "data" / "evaluation" / "results").iterdir()
    assert kept.name == f"{run.name}.results.json"
    listed = json.loads(ok(below, "results", "--json"))
    assert [each["id"] for each in listed] == [run.name]
    assert "--runs-dir" not in done.stdout
    ok(below, "show", run.name[-3:])
    # A run that the repository knows of is not overwritten by the next one here.
    shutil.rmtree(run)
    rag_eval_ended("evaluate", folder=project)
    assert [each.name for each in (project / "runs").iterdir()] == [f"{run.name[:-3]}002"]


def test_options_come_before_the_manifest_and_this_before_the_configuration(project: Path) -> None:
    found = settings(project / "docs", "evaluate", "--seed", "3")
    defaults = f"../{DEFAULTS.as_posix()}"
    assert found["--seed"] == ("3", "option")
    assert found["--max-attempts (max_retries)"] == ("4", f"{defaults}:17")
    assert found["--timeout (timeout_seconds)"] == ("30", f"{defaults}:16")
    assert found["metrics"][1].startswith("../agent.yaml:")
    assert found["--concurrency"] == ("16", "default")
    assert found["url"][1].startswith("../agent.yaml:")
    given = settings(project, "evaluate", "--url", "http://127.0.0.1:1", "-m", "latency")
    assert "url" not in given
    assert given["--metric"] == ("latency", "option")
    text = (project / "agent.yaml").read_text(encoding="utf-8")
    head, _, tail = text.partition("    metrics:")
    tail = f"    thresholds: {{mrr: 0.1}}\n    ciGate{tail.partition('    ciGate')[2]}"
    (project / "agent.yaml").write_text(head + tail, encoding="utf-8")
    listed = "hit@1, hit@3, hit@5, ndcg@5, mrr, map@5"
    assert settings(project, "evaluate")["metrics"] == (listed, f"{DEFAULTS}:4")
    assert "map@5" in ok(project, "evaluate")


def test_every_setting_of_an_evaluation_is_in_force(project: Path) -> None:
    text = (project / DEFAULTS).read_text(encoding="utf-8")
    for old, new in TABLES["changed_defaults"]:
        assert old in text
        text = text.replace(old, new)
    (project / DEFAULTS).write_text(text, encoding="utf-8")
    (project / "agent.yaml").rename(project / "other.yaml")
    address = yaml_documents.decode((project / "other.yaml").read_bytes())["spec"]["api"]["url"]
    ok(project, "evaluate", "--url", address, "--allow-missing")
    (path,) = (project / "kept").glob("*.results.json")
    found = json.loads(path.read_bytes())
    assert found["dataset_id"] == "docs_eval_v1.0.0"
    assert found["statistical_analysis"]["confidence_intervals"]["confidence_level"] == 0.8
    assert found["metadata"]["evaluation_parameters"]["timeout_seconds"] == 7
    assert found["metadata"]["evaluation_parameters"]["max_retries"] == 1
    assert found["metadata"]["evaluation_parameters"]["random_seed"] == 42
    assert "citation_tolerance_jaccard(tolerance_chars=3)" in found["citation_metrics"]


@pytest.mark.parametrize(
    ("key", "told"),
    [
        ("max_retrys: 3", 'unknown key "max_retrys" in the file. Did you mean "max_retries"?'),
        ("retrieval: {kk: 3}", 'unknown key "kk" in retrieval. Did you mean "k"?'),
        ("timeout_seconds: soon", "timeout_seconds: expected a number from 0.1 to 3600"),
        ("seed: -1", "seed: expected a whole number of at least 0, got -1"),
    ],
)
def test_a_wrong_setting_is_an_error_with_its_line(project: Path, key: str, told: str) -> None:
    (project / DEFAULTS).write_text(f"# mine\n{key}\n", encoding="utf-8")
    refused = rag_eval_ended("retrieval", folder=project)
    assert refused.returncode == 2
    assert f"evaluation_defaults.config.yaml:2: {told}" in refused.stderr
    ok(project, "retrieval", "--help")


def test_datasets_are_found_by_their_ids(project: Path) -> None:
    below = project / "docs"
    assert "docs_eval_v1.0.0" in ok(below, "stats", "docs_eval")
    ok(below, "sample", "docs_eval_v1.0.0", "-n", "1")
    ok(below, "validate", "docs_eval")
    ok(below, "convert", "docs_eval", "copy.eval.yaml")
    assert "2 documents" in ok(below, "retrieval", "--store", "exact")  # both from the settings
    assert "2 documents" in ok(
        below, "retrieval", ".", "--dataset", "docs_eval", "--store", "exact", "-k", "2"
    )
    wrong = rag_eval_ended("stats", "dogs", folder=below)
    assert wrong.returncode == 2
    assert "which has docs_eval_v1.0.0 (1.0.0)" in wrong.stderr


@pytest.mark.parametrize("service", ["github", "gitlab"])
def test_the_commands_of_the_workflow_run_as_they_stand(
    service: str, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ok(project, "init", "--ci", service, "--docs", "docs")
    if service == "github":
        workflow = yaml_documents.decode((project / ".github" / "workflows" / "rag-eval.yml").read_bytes())
        assert workflow["on"]["push"]["branches"] == ["main"]
        told = (Path(__file__).parents[2] / "docs" / "how-to" / "ci.md").read_text(encoding="utf-8")
        assert (project / ".github" / "workflows" / "rag-eval.yml").read_text(encoding="utf-8") in told
        job = workflow["jobs"]["evaluate"]
        steps = {step["name"]: step["run"].splitlines() for step in job["steps"] if "name" in step}
        steps = {name: lines for name, lines in steps.items() if isinstance(lines, list)}
        keep, compare = steps["Keep the baseline"], steps["Compare with the main branch"]
        report, baseline = steps["Write the report"], job["env"]["BASELINE"]
        caches = [step["with"]["path"] for step in job["steps"] if "cache" in step.get("uses", "")]
        assert caches == ["${{ env.BASELINE }}"] * 2
    else:
        workflow = yaml_documents.decode((project / ".gitlab-ci.yml").read_bytes())
        keep, compare = workflow["keep-the-baseline"]["script"], workflow["compare-with-main"]["script"]
        report, baseline = workflow["keep-the-baseline"]["after_script"], workflow["variables"]["BASELINE"]
        assert workflow[".rag-eval"]["cache"]["key"] == workflow["keep-the-baseline"]["cache"]["key"]
    change(project / "agent.yaml", "ciGate: true", "ciGate: false")
    change(project / "agent.yaml", "min: 90%", "min: 0%")
    change(project / "agent.yaml", "max: 0\n", "max: 100\n")
    address = yaml_documents.decode((project / "agent.yaml").read_bytes())["spec"]["api"]["url"]

    def run(lines: list[str]) -> str:
        told = ""
        for line in lines:
            if line.startswith("rag-eval "):
                compared = "--baseline main" if (project / baseline).is_file() else ""
                words = line.replace("$AGENT_URL", address).replace("$compared", compared)
                told += ok(project, *shlex.split(words)[1:])
        return told

    first = run(compare)
    assert "main" not in first  # there is no baseline yet, and that is no failure
    run(keep)
    assert (project / baseline).is_file()
    assert "main" in run(compare)
    run(report)
    assert {"rag-eval.xml", "rag-eval.html"} <= {path.name for path in project.iterdir()}


def test_commands_find_what_the_project_keeps_from_any_folder_of_it(tmp_path: Path) -> None:
    ok(tmp_path, "init", "--ci", "none")
    below = tmp_path / "evals"
    assert "sample_eval_v1.0.0" in ok(below, "datasets")
    assert ok(below, "agreement").startswith("2 annotators (annotator_001, annotator_002), 2 queries")
    ok(below, "retrieval", "--retriever", "bm25", "--chunker", "sentence")
    (line,) = [line for line in ok(below, "results").splitlines() if "eval_run_" in line]
    assert "1 combination" in line
    assert "1.00" in line
    elsewhere = rag_eval_ended("agreement", folder=tmp_path.parent)
    assert elsewhere.returncode == 2
    assert "no annotations given" in elsewhere.stderr


@pytest.mark.parametrize(
    "command", ["evaluate", "golden", "score", "retrieval", "benchmark", "generate", "rank"]
)
def test_what_is_in_force_can_be_shown_without_arguments(project: Path, command: str) -> None:
    if command == "benchmark":
        assert settings(project, command)["--repetitions"][1].startswith("data/config/performance_benchmark_")
    else:
        assert settings(project, command)["--seed"] == ("42", f"{DEFAULTS.as_posix()}:18")
