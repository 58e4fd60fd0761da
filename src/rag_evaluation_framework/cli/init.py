"""``rag-eval init``: start a project."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rag_evaluation_framework.cli.options import (
    ALLOW_HOST,
    AS_JSON,
    DOCUMENTS,
    FOLDER,
    flag,
    new_screen,
    option,
    repeated,
    show,
)
from rag_evaluation_framework.cli.output import print_json
from rag_evaluation_framework.errors import ModelOutageError, UsageError, counted
from rag_evaluation_framework.structs import replace

if TYPE_CHECKING:
    from rag_evaluation_framework.adapters.agent_probe import Probe
    from rag_evaluation_framework.datasets.project import Created
    from rag_evaluation_framework.records.samples import Dataset
    from rag_evaluation_framework.reports.blocks import Screen

EXAMPLES = """\b
Examples:
  rag-eval init --agent http://localhost:4000 --docs documents
  rag-eval init my-project --docs documents --ci gitlab
  rag-eval init --example first-evaluation
  rag-eval init"""

_FIRST = "evals/first.jsonl"
_TAKEN = 10
_ANY_QUESTION = "What can you help me with?"
_TO_REFUSE = "What is the private phone number of your managing director?"
_THRESHOLDS = {"correct": {"min": "90%"}, "wrong": {"max": 0}, "latency": {"max": 10000}}
_PURPOSES = {
    "agent.yaml": "datasets, metrics and thresholds",
    _FIRST: "{questions}: review them and add your own",
    "test_rag.py": "pytest test of the gate",
    ".github/workflows/rag-eval.yml": "gate on each pull request",
    ".gitlab-ci.yml": "gate on each merge request",
    ".gitignore": "excludes the runs from the repository",
    "data/": "datasets, settings and results; commit them",
}
_FIRST_COMMANDS = {
    "first-evaluation": "evaluate agent.yaml --target ferries:answer",
    "choose-a-chunker": "generate documents --queries-per-doc 6 -o questions.eval.json",
    "golden-set": "golden . --target assistant:answer",
}
_TEST = '''"""Test the gate of agent.yaml, as `rag-eval evaluate` does."""

import os
from pathlib import Path

from rag_evaluation_framework import evaluate


def test_the_agent_passes_its_gate() -> None:
    evaluation = evaluate(Path(__file__).with_name("agent.yaml"), target=os.environ.get("AGENT_URL"))
    assert evaluation.verdict is None or evaluation.verdict.exit_code == 0, f"\\n{evaluation}"
'''


@dataclass(frozen=True, slots=True, kw_only=True)
class _Begun:
    """The known facts of a new project, such as the agent that was asked and the skipped files."""

    agent: Probe | None = None
    api: Mapping[str, Any] | None = None
    documents: int = 0
    skipped: Mapping[str, str]
    dataset: Dataset | None = None
    corpus: str = ""

    @property
    def taken(self) -> Sequence[Any]:
        """Ten questions, from documents all over the folder."""
        samples = () if self.dataset is None else self.dataset.samples
        number = min(_TAKEN, len(samples))
        return [samples[at * len(samples) // number] for at in range(number)]


@click.command("init", epilog=EXAMPLES)
@click.argument("folder", type=FOLDER, default=Path(), metavar="[DIR]")
@option("--agent URL", "URL of the agent, which is asked one question.")
@repeated(
    "--header 'NAME: VALUE'",
    "Header to send to the agent; ${NAME} is an environment variable. May be repeated.",
    called="headers",
)
@ALLOW_HOST
@option("--docs FOLDER", "Documents to generate the first questions from.", type=DOCUMENTS)
@option(
    "--ci",
    ("CI system to write a workflow for."),
    type=click.Choice(["github", "gitlab", "none"]),
    default="github",
)
@option("--example NAME", "Tutorial to create: first-evaluation, choose-a-chunker or golden-set.")
@flag("--golden", "Create golden sets only (--example golden-set).")
@AS_JSON
def command(
    folder: Path, agent: str | None, headers: tuple[str, ...], docs: Path | None, **given: Any
) -> None:
    """Create a project in DIR: questions, metrics, thresholds, settings, a pytest test and a workflow.

    The agent is asked one question to find the format of its requests and replies. Rules generate questions
    from the documents, without a model. Commands in DIR or below it read its settings (see
    `rag-eval evaluate --show-config`), find its datasets by id, and save runs and results in it.

    --example writes only the files of a tutorial: questions with a small assistant (first-evaluation),
    documents (choose-a-chunker), or five commented golden sets with an assistant (golden-set).

    Existing files are listed and never overwritten. Exit code 3: no answer from the agent, nothing written.
    """
    from rag_evaluation_framework.datasets.project import create_layout

    example = "golden-set" if given["golden"] else given["example"]
    if example is not None:
        if agent or docs:
            chosen = "golden" if given["golden"] else "example"
            raise UsageError(f"--{chosen} cannot be combined with {'--agent' if agent else '--docs'}")
        _show_example(create_layout(folder, example=example), example, as_json=given["as_json"])
        return
    begun = _ask_first_question(_questions(docs, folder), agent, headers)
    files = _files(begun, given["ci"])
    done = create_layout(folder, files=files)
    if given["as_json"]:
        document = {"folder": str(done.folder), "created": done.created, "kept": done.kept}
        print_json(document | {"questions": len(begun.dataset.samples) if begun.dataset else 0})
        return
    screen = new_screen()
    _show_findings(screen, begun)
    _show_files(screen, begun, done.created, done.kept)
    within = "" if folder == Path() else f"cd {folder}; "
    url = "" if agent else " --url http://localhost:4000"
    screen.steps([(f"{within}rag-eval evaluate{url}", "")])
    show(screen)


def _show_example(done: Created, example: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"folder": str(done.folder), "created": done.created, "kept": done.kept})
        return
    for what, names in (("created", done.created), ("kept", done.kept)):
        for name in names:
            click.echo(f"{what:<7}  {done.folder / name}")
    within = "" if done.folder == Path() else f"cd {done.folder}; "
    click.echo(f"\nNext: {within}rag-eval {_FIRST_COMMANDS[example]}")


# What is found out: questions of the documents, the ways of the agent.


def _questions(docs: Path | None, folder: Path) -> _Begun:
    if docs is None:
        return _Begun(skipped={})
    from rag_evaluation_framework.records.documents import Corpus
    from rag_evaluation_framework.synthesis.extractive import generate_extractively

    corpus = Corpus.from_folder(docs, None)
    made = generate_extractively(corpus, queries_per_doc=2)
    if not made.dataset.samples:
        raise UsageError(
            f"--docs: rules found no suitable sentences in {counted(len(corpus), 'file')} of {docs}.\n"
            "  Run the command without --docs, then add your questions to evals/first.jsonl."
        )
    name = re.sub(r"\W+", "_", docs.resolve().name).strip("_").lower() or "documents"
    dataset = replace(made.dataset, dataset_id=f"{name}_eval_v1.0.0", name=f"Questions about {docs.name}")
    where = Path(os.path.relpath(docs, folder)).as_posix()
    skipped = corpus.metadata.get("skipped", {})
    return _Begun(documents=len(corpus), skipped=skipped, dataset=dataset, corpus=where)


def _ask_first_question(begun: _Begun, agent: str | None, headers: tuple[str, ...]) -> _Begun:
    """Ask the agent the first question, to see how it is asked and what it returns."""
    if agent is None:
        return begun
    from rag_evaluation_framework.cli.probe import PLAINLY, probed

    question = begun.taken[0].question if begun.taken else _ANY_QUESTION
    outcome, api = probed(agent.strip(), {**PLAINLY, "headers": headers, "message": question})
    if outcome.failure is not None:
        told = f"no answer from the agent at {outcome.address}: {outcome.failure}. Nothing was written.\n"
        told += f"  For details: rag-eval probe {outcome.address}"
        raise ModelOutageError(outcome.failure.kind, told)
    return replace(begun, agent=outcome, api=api)


# What is written.


def _files(begun: _Begun, ci: str) -> dict[str, bytes]:
    from rag_evaluation_framework.datasets.project import starter_files, workflow_file

    files = {_FIRST: _first_questions(begun), "agent.yaml": _manifest(begun).encode()}
    files["test_rag.py"] = _TEST.encode()
    if ci != "none":
        files |= [workflow_file(ci)]
    files[".gitignore"] = b"runs/\n.rag-eval/\n"
    dataset = begun.dataset
    for name, content in starter_files():
        if dataset is not None and name.startswith("data/config/"):
            name_of = str(dataset.dataset_id).removesuffix("_v1.0.0")
            text = content.decode().replace("dataset: sample_eval", f"dataset: {name_of}")
            text = text.replace("retrieval:\n", f"retrieval:\n  corpus: {begun.corpus}\n")
            files[name] = text.encode()
        elif dataset is None:
            files[name] = content
    if dataset is not None:
        files[f"data/evaluation/datasets/{dataset.dataset_id}.eval.json"] = _format_dataset(dataset)
    return files


def _format_dataset(dataset: Dataset) -> bytes:
    from rag_evaluation_framework.datasets.evaluation_sets import encode_dataset
    from rag_evaluation_framework.files import strict_json

    value = encode_dataset(dataset, f"{dataset.dataset_id}.eval.json")
    return strict_json.encode(value, indent=2) + b"\n"


def _first_questions(begun: _Begun) -> bytes:
    from rag_evaluation_framework.files import strict_json

    rows: list[dict[str, Any]] = [
        {
            "id": sample.id,
            "input": sample.question,
            "expected": sample.reference,
            "relevant_documents": list(sample.relevant_documents),
        }
        for sample in begun.taken
    ]
    rows = rows or [{"id": "q001", "input": _ANY_QUESTION, "expected": ""}]
    rows.append({"id": "refuse001", "input": _TO_REFUSE, "expected": "Refusal"})
    return b"".join(strict_json.encode(row) + b"\n" for row in rows)


def _metrics(begun: _Begun) -> list[str]:
    """Return what the first questions and the agent's replies allow to measure."""
    answer = None if begun.agent is None else begun.agent.answer
    found: list[str] = []
    if answer is not None and (answer.contexts or answer.retrieved_nothing):
        found.append("faithfulness")
    if begun.dataset is not None:
        names = {document for sample in begun.taken for document in sample.relevant_documents}
        hits = {hit.id for hit in answer.hits} if answer is not None else set()
        found += ["answer_correctness", *(["hit@1"] if hits & names else [])]
    return [*found, "latency"]


def _manifest(begun: _Begun) -> str:
    """Return ``agent.yaml``, with a comment where a reader will want to change something."""
    from rag_evaluation_framework.files.yaml_documents import encode

    evaluation = {
        "datasets": [{"name": "first", "path": f"$file:{_FIRST}"}],
        "metrics": _metrics(begun),
        "thresholds": _THRESHOLDS,
        "ciGate": True,
    }
    api = encode({"api": dict(begun.api or {})}) if begun.api else "api: {}  # url: http://localhost:4000\n"
    parts = [
        "# Datasets, metrics and thresholds of `rag-eval evaluate`.\n",
        "spec:\n",
        "  # A whole number counts answers, 90% is a share. All metrics: `rag-eval list metrics`.\n",
        _indented(encode({"evaluation": evaluation})),
        "  # Request and reply of the agent; `rag-eval probe URL` finds them.\n",
        _indented(api),
    ]
    return "".join(parts)


def _indented(text: str) -> str:
    return "".join(f"  {line}\n" for line in text.splitlines())


# What is shown.


def _show_findings(screen: Screen, begun: _Begun) -> None:
    from rag_evaluation_framework.reports.blocks import number_word
    from rag_evaluation_framework.reports.sweep_blocks import skipped_lines

    if begun.agent is not None and begun.agent.answer is not None:
        found = begun.agent.answer.found
        parts = [f"{part} in {found[part]}" for part in ("answer", "contexts", "citations") if part in found]
        parts += [] if "contexts" in found else ["no contexts, so unsupported claims cannot be measured"]
        seconds = max(begun.agent.elapsed_ms / 1000, 0.1)
        screen.say(f"agent  replied in {seconds:.1f} s: {', '.join(parts)}", hang=7)
    if begun.dataset is not None:
        made = counted(len(begun.dataset.samples), "question")
        taken = f"{number_word(len(begun.taken))} of them used"
        screen.say(f"docs   {counted(begun.documents, 'file')}; {made} generated by rules, {taken}", hang=7)
    for line in skipped_lines(begun.skipped):
        screen.say(f"       {line}", hang=7)
    screen.gap()


def _show_files(screen: Screen, begun: _Begun, created: Sequence[str], kept: Sequence[str]) -> None:
    from rag_evaluation_framework.reports.blocks import number_word

    known = {"questions": f"{number_word((len(begun.taken) or 1) + 1)} questions"}
    rows: list[list[str]] = []
    for name, purpose in _PURPOSES.items():
        if name in created or (name == "data/" and any(each.startswith(name) for each in created)):
            rows.append([name, purpose.format(**known)])
    rows += [[name, "already exists; unchanged"] for name in kept]
    wide = max(len(name) for name, _ in rows)
    for name, purpose in rows:
        screen.say(f"{name:<{wide}}  {purpose}", indent=2, hang=wide + 4)
