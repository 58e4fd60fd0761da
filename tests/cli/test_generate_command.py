"""``rag-eval generate`` from the outside: files, what is said, how it fails, and with which exit code."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from chat_server import failing, running_chat
from langsmith_server import KEY, running_langsmith

from acceptance.projects import crane_question
from cases import tables_beside
from command_lines import commands_next, rag_eval_ended
from rag_evaluation_framework import read_dataset
from rag_evaluation_framework.reports.messages import dataset_sentences
from rag_evaluation_framework.synthesis.drafts import Drafts

TABLES = tables_beside(__file__)
HANDBOOK = Path(__file__).parents[2] / "examples" / "handbook" / "documents"
ONE_EACH = ("--model", "m", "--queries-per-doc", "1", "--concurrency", "1", "--keep-all")


def generate(*arguments: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LANG", "OPENAI"))}
    return rag_eval_ended("generate", *arguments, folder=folder, environment={**kept, **environment})


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    folder = tmp_path / "documents"
    folder.mkdir()
    for number in range(3):
        text = f"# Dock {number}\n\n## Crane\n\nThe crane of dock {number} was built in 19{number}8. "
        text += f"The jib lifts {number + 3} tonnes. The jib is painted every two years. "
        text += "Nobody climbs the crane alone, because the ladder is loose.\n"
        (folder / f"dock-{number}.md").write_text(text, encoding="utf-8")
    return folder


def test_without_a_model_it_makes_questions_by_rules_and_says_so(documents: Path) -> None:
    run = generate(str(documents), "--queries-per-doc", "2", "-o", "q.eval.json", folder=documents.parent)
    assert run.returncode == 0, run.stderr
    assert "No --model given; generating rule-based questions." in run.stderr
    assert run.stdout.startswith("6 rule-based questions about 3 documents, each with its expected passage")
    assert "wrote q.eval.json" in run.stdout
    dataset = read_dataset(documents.parent / "q.eval.json")
    assert dataset.metadata["generator"]["name"] == "extractive"
    assert all(sample.relevant_spans for sample in dataset.samples)


def test_rejections_are_shown_by_reason_and_stand_in_the_file(tmp_path: Path) -> None:
    run = generate(str(HANDBOOK), "--extractive", "-o", "q.eval.json", folder=tmp_path)
    assert "no --model" not in run.stderr
    rejected = read_dataset(tmp_path / "q.eval.json").metadata["rejected"]
    assert rejected["copies-passage"] > 0
    told = " ".join(run.stdout.split())
    assert f"rejected {rejected['copies-passage']} copies its passage, " in told
    assert re.search(rf"\b{rejected['gives-answer-away']} reveals? the answer", told)
    assert f"; {rejected['more-than-asked-for']} good questions beyond the number you asked for" in told


def test_chunk_level_dataset_names_its_chunker(documents: Path) -> None:
    options = ("--level", "chunk", "--chunker", "recursive(chunk_size=60)", "-o", "q.jsonl")
    run = generate(str(documents), *options, folder=documents.parent)
    assert run.returncode == 0, run.stderr
    sample = read_dataset(documents.parent / "q.jsonl").samples[0]
    assert sample.relevant_chunk_ids[0].startswith("chunk_")
    assert sample.metadata["chunker"] == "recursive(chunk_size=60, overlap=0)"


def test_dataset_name_keeps_it_in_the_local_folder(documents: Path) -> None:
    run = generate(str(documents), "--dataset-name", "docks", folder=documents.parent)
    assert run.returncode == 0, run.stderr
    assert len(read_dataset(documents.parent / "langsmith" / "docks.jsonl").samples) > 3


@pytest.mark.parametrize(("options", "message"), TABLES["wrong_usage"])
def test_wrong_usage_exits_2_before_anything_is_written(documents: Path, options: str, message: str) -> None:
    run = generate(str(documents), *options.split(), folder=documents.parent)
    assert run.returncode == 2
    assert message in run.stderr
    assert not (documents.parent / "q.eval.json").exists()


def test_where_sentences_give_nothing_sections_are_asked_for_by_their_headings(tmp_path: Path) -> None:
    section = "Run `make` in the folder, then `make check`, and read what it prints before you go on with it."
    building, trying = f"{section} {section}", f"{section} Or so. {section}"
    text = f"# Widget\n\n## Building it\n\n{building}\n\n## Trying it out\n\n{trying}\n"
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "widget.md").write_text(text, encoding="utf-8")
    (tmp_path / "documents" / "logo.png").write_bytes(b"\x89PNG")
    run = generate("documents", "-o", "q.eval.json", folder=tmp_path)
    assert run.returncode == 0, run.stderr
    assert "skipped logo.png (not Markdown, text, HTML or PDF)" in run.stderr
    assert "2 ask for a whole section by its heading" in " ".join(run.stdout.split())
    samples = read_dataset(tmp_path / "q.eval.json").samples
    assert [sample.question for sample in sorted(samples, key=lambda each: each.question)] == [
        "What does the section “Building it” of “Widget” say?",
        "What does the section “Trying it out” of “Widget” say?",
    ]
    for span in (sample.relevant_spans[0] for sample in samples):
        assert text[span.start : span.end] == span.text


def test_nothing_to_ask_is_an_error_with_its_reasons(tmp_path: Path) -> None:
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "a.md").write_text("# Nothing\n", encoding="utf-8")
    run = generate("documents", "-o", "q.eval.json", folder=tmp_path)
    assert run.returncode == 2
    assert "rules found no suitable sentences in 1 document. Nothing was written.\n" in run.stderr


def test_model_writes_the_questions_and_its_cost_is_shown(documents: Path) -> None:
    with running_chat(crane_question) as server:
        run = generate(
            *(str(documents), *ONE_EACH, "--base-url", server.url),
            *("--price-input", "1", "--price-output", "2", "-o", "q.eval.json"),
            folder=documents.parent,
        )
    assert run.returncode == 0, run.stderr
    assert "; model m" in run.stdout.splitlines()[0]
    assert "tokens in" in run.stdout
    assert "$" in run.stdout
    assert len(read_dataset(documents.parent / "q.eval.json").samples) == 3


def test_resume_with_the_right_key_asks_only_what_the_wrong_one_could_not(documents: Path) -> None:
    options = (*ONE_EACH, "--json")
    with running_chat(crane_question, key="right") as server:
        asking = (str(documents), *options, "--base-url", server.url, "-o", "q.eval.json")
        failed = generate(*asking, folder=documents.parent, OPENAI_API_KEY="wrong")
        assert failed.returncode == 3, failed.stderr
        assert not (documents.parent / "q.eval.json").exists()
        (run_id,) = re.findall(r"then resume run (eval_run_\w+)", failed.stderr)
        assert server.requests == []
        mended = generate(*asking, "--resume", folder=documents.parent, OPENAI_API_KEY="right")
        assert mended.returncode == 0, mended.stderr
        assert len(server.requests) == 3
        again = generate(
            *asking, "--resume", run_id, "--force", folder=documents.parent, OPENAI_API_KEY="right"
        )
        assert len(server.requests) == 3
    (before, after) = (json.loads(each.stdout) for each in (mended, again))
    assert before == after
    assert len(read_dataset(documents.parent / "q.eval.json").samples) == 3


def test_key_that_is_revoked_on_the_way_loses_no_question(documents: Path) -> None:
    replies = iter([crane_question])

    def revoked_after_one(asked: dict[str, Any]) -> Any:
        return next(replies, lambda _: failing(401, "revoked"))(asked)

    with running_chat(revoked_after_one) as server:
        asking = (str(documents), *ONE_EACH, "--base-url", server.url)
        first = generate(*asking, "-o", "some.eval.json", folder=documents.parent)
    assert first.returncode == 0, first.stderr
    assert "2 samples were rejected or did not reach the agent; resume the run to ask again" in first.stderr
    with running_chat(crane_question) as server:
        asking = (str(documents), *ONE_EACH, "--base-url", server.url, "--resume")
        mended = generate(*asking, "-o", "all.eval.json", folder=documents.parent)
        assert mended.returncode == 0, mended.stderr
        assert len(server.requests) == 2
    kept = [len(read_dataset(documents.parent / f"{name}.eval.json").samples) for name in ("some", "all")]
    assert kept == [1, 3]


def test_request_that_failed_is_shown_with_what_the_endpoint_said(documents: Path) -> None:
    def second_too_long(asked: dict[str, Any]) -> Any:
        is_second = "dock 1" in str(asked["messages"])
        return failing(400, "prompt too long") if is_second else crane_question(asked)

    with running_chat(second_too_long) as server:
        asking = (str(documents), *ONE_EACH, "--base-url", server.url)
        run = generate(*asking, "-o", "q.eval.json", folder=documents.parent)
    assert run.returncode == 0, run.stderr
    told = " ".join(run.stdout.split())
    assert "rejected 1 model-http-400 (" in told
    assert "prompt too long" in told


def test_upload_says_what_was_sent_and_what_else_is_there(documents: Path) -> None:
    with running_langsmith() as langsmith:
        key = {"LANGSMITH_API_KEY": KEY, "LANGSMITH_ENDPOINT": langsmith.url}
        upload = ("--extractive", "--upload-to-langsmith", "--dataset-name", "docks")
        first = generate(str(documents), *upload, folder=documents.parent, **key)
        fewer = generate(str(documents), *upload, "--queries-per-doc", "1", folder=documents.parent, **key)
        told = generate(str(documents), *upload, "--json", folder=documents.parent, **key)
    assert first.returncode == fewer.returncode == told.returncode == 0, first.stderr + fewer.stderr
    number = int(first.stdout.split()[0])
    assert first.stdout.splitlines()[-1] == f"LangSmith: {number} added, 0 updated, 0 unchanged"
    assert fewer.stdout.rstrip().endswith(f"{number - 3} others in the remote dataset")
    assert json.loads(told.stdout)["upload"]["others"] == 0


def test_every_reason_to_turn_a_question_away_is_put_in_words() -> None:
    source = Path(dataset_sentences.__file__).parents[2] / "synthesis"
    given = {
        reason
        for module in source.rglob("*.py")
        for reason in re.findall(
            r"""(?:Rejection|_rejection|_TurnedAway)\(\s*(?:self\._task, |task, )?"([a-z-]+)\"""",
            module.read_text(encoding="utf-8"),
        )
    }
    assert {"near-duplicate", "unknown-chunk-id", "nothing-to-ask", "one-document"} <= given
    assert {reason for reason in given if not dataset_sentences.in_words(reason, Drafts())} == set()


def test_far_fewer_questions_than_asked_for_are_said(documents: Path) -> None:
    asked = ("--extractive", "--queries-per-doc", "20", "-o", "q.eval.json")
    run = generate(str(documents), *asked, folder=documents.parent)
    made = len(read_dataset(documents.parent / "q.eval.json").samples)
    assert f"You asked for 60 questions; rag-eval generated {made}." in run.stdout


def test_question_that_words_do_not_find_is_flagged_and_dropped_on_demand(documents: Path) -> None:
    def in_its_own_words(asked: dict[str, Any]) -> str:
        names = {"0": "Hoist age, north", "1": "Winch vintage, south", "2": "Davit vintage, east"}
        return re.sub(
            r"How old is the crane of dock (\d)", lambda match: names[match[1]], crane_question(asked)
        )

    asked = ("--model", "m", "--queries-per-doc", "1", "--json", "--force", "-o", "q.eval.json")
    with running_chat(in_its_own_words) as server:
        url = ("--base-url", server.url)
        kept = generate(str(documents), *asked, *url, folder=documents.parent)
        dropped = generate(str(documents), *asked, *url, "--drop-flagged", folder=documents.parent)
        both = generate(str(documents), *asked, *url, "--drop-flagged", "--keep-all", folder=documents.parent)
    assert json.loads(kept.stdout)["flagged"] == {"passage-not-found": 3}
    samples = read_dataset(documents.parent / "q.eval.json").samples
    assert [sample.metadata["flags"] for sample in samples] == [["passage-not-found"]] * 3
    assert "3 passage-not-found" in dropped.stderr
    assert (both.returncode, "--drop-flagged" in both.stderr) == (2, True)


def test_one_document_is_taken_like_a_folder_that_holds_it(documents: Path, tmp_path: Path) -> None:
    made = generate("documents/dock-1.md", folder=tmp_path)
    assert made.returncode == 0, made.stderr
    dataset = read_dataset(tmp_path / "questions.eval.json")
    assert {span.file for sample in dataset.samples for span in sample.relevant_spans} == {"dock-1.md"}
    (following,) = commands_next(made.stdout)
    assert following[:2] == ["retrieval", "documents/dock-1.md"]
    compared = rag_eval_ended(*following, "--chunker", "sentence", "--retriever", "bm25", folder=tmp_path)
    assert compared.returncode == 0, compared.stderr


def test_a_file_of_another_kind_is_no_document(tmp_path: Path) -> None:
    (tmp_path / "map.png").write_bytes(b"\x89PNG")
    told = generate("map.png", folder=tmp_path)
    assert told.returncode == 2
    assert "map.png: expected a document (.md, .markdown, .txt" in told.stderr
