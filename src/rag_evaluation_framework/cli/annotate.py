"""``rag-eval annotate``: a page on which a person says what is right, and the files that remember it."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from rag_evaluation_framework.cli.options import DOCUMENTS, GLOB, RUNS_DIR, SEED, flag, option, whole_number
from rag_evaluation_framework.cli.output import MAP, tell_reading
from rag_evaluation_framework.errors import UsageError

if TYPE_CHECKING:
    from rag_evaluation_framework.adapters.local_server import LocalServer, Reply
    from rag_evaluation_framework.records.samples import Dataset
    from rag_evaluation_framework.reports.annotation_desk import AnnotationDesk
    from rag_evaluation_framework.results.evaluations import Evaluation

EXAMPLES = """\b
Examples:
  rag-eval annotate eval_run_20261115_001              annotate a run
  rag-eval annotate evals/rag.jsonl --corpus docs --annotator anna
  rag-eval annotate eval_run_20261115_001 --blind --no-open
  rag-eval annotate eval_run_20261115_001 --draw 100   draw 100 answers
  rag-eval calibrate eval_run_20261115_001             check its metrics"""


PORT = whole_number(
    "--port", "Port to listen on.  [default: a free one]", least=0, most=65535, default=0, show_default=False
)
NO_OPEN = flag("--no-open", "Do not open a browser.")


@click.command("annotate", epilog=EXAMPLES)
@click.argument("subject", metavar="DATASET|RUN")
@option("--annotator NAME", "Name of the annotator.  [default: the user of this machine]")
@flag("--blind", "Hide other annotations and metrics until you finish an item.")
@whole_number(
    "--draw", "Draw N answers at random, to estimate the mean of the run; use them with calibrate --drawn."
)
@option("-m, --metric METRIC", "Metric that guides the draw.  [default: the run's first]")
@SEED
@option(
    "--corpus FOLDER", "Folder of documents to mark.  [default: those of the dataset or run]", type=DOCUMENTS
)
@MAP
@GLOB
@PORT
@NO_OPEN
@RUNS_DIR
def command(subject: str, **given: Any) -> None:
    """Annotate a dataset, or the answers of a run, in the browser.

    You mark expected passages, score answers, click unsupported sentences and check citations, by mouse or
    keyboard. Each action is saved at once in your own file, annotations/NAME/DATASET.gt.json beside the
    dataset (data/evaluation/ground_truth/annotations/NAME in a project). Later evaluations, calibrate and
    agreement read this file. For a run, the most informative answers come first.

    The page is served on 127.0.0.1 to everybody with the printed address. To stop the server, press Ctrl-C.
    """
    from rag_evaluation_framework.adapters.local_server import LocalServer

    total = given["draw"]
    desk = open_desk(
        subject,
        annotator=given["annotator"] or user_name(),
        is_blind=given["blind"],
        corpus=given["corpus"],
        glob=given["glob"],
        runs_directory=given["runs_dir"],
        map=dict(given["mapped"]),
        draw=None if total is None else Drawing(total, given["metric"], given["seed"]),
    )
    show(LocalServer(answers(desk), saving(desk), port=given["port"]), is_opened=not given["no_open"])
    click.echo(f"annotations saved in {' and '.join(map(str, desk.files))}")


class Drawing(NamedTuple):
    """The number of answers drawn for people to label, the metric they are drawn by, and the seed."""

    total: int
    metric: str | None = None
    seed: int = 0


def open_desk(
    subject: str,
    *,
    annotator: str,
    is_blind: bool = False,
    corpus: Path | None = None,
    glob: str | None = None,
    runs_directory: Path = Path("runs"),
    map: dict[str, str] | None = None,  # noqa: A002  # as the door calls it
    draw: Drawing | None = None,
) -> AnnotationDesk:
    """Open a dataset, or a run by its id or folder, for one annotator; of a run, perhaps what is drawn."""
    from rag_evaluation_framework.records.documents import Corpus
    from rag_evaluation_framework.records.samples import Dataset
    from rag_evaluation_framework.reports.annotation_desk import (
        AnnotationDesk,
        items_of_dataset,
        items_of_evaluation,
    )

    loaded, path = _loaded(subject, runs_directory, map or {})
    if isinstance(loaded, Dataset):
        title, kept_in, documents = loaded.name or path.name, None, loaded.documents
        if draw is not None:
            raise UsageError(f"--draw: expected a run with metrics, got the dataset {subject}")
        items, order = items_of_dataset(loaded, path), "Items in the order of the dataset."
    else:
        title, kept_in = loaded.head.run_id, None if loaded.folder is None else loaded.folder.parent
        documents = () if corpus is not None else loaded.documents.documents
        items, order = items_of_evaluation(loaded), "Most informative answers first."
        if draw is not None:
            by_key = {item.key: item for item in items}
            queue = _queue(loaded, subject, runs_directory, draw)
            items, order = (
                [by_key[key] for key in queue if key in by_key],
                "Answers in the order of the draw.",
            )

    if not items:
        raise UsageError(f"{subject} contains no answered questions to annotate")
    return AnnotationDesk(
        items,
        documents if corpus is None else Corpus.from_folder(corpus, glob).documents,
        annotator=annotator,
        is_blind=is_blind,
        title=title,
        order=order,
        runs_directory=kept_in,
    )


def _queue(evaluation: Evaluation, subject: str, runs_directory: Path, draw: Drawing) -> list[str]:
    """Return the samples to label now: the first part of a draw or, once that has labels, all of it."""
    from rag_evaluation_framework.cli.calibrate import annotations_of, labels_in
    from rag_evaluation_framework.results.calibration import open_answered_run, queue_for_people

    if len(evaluation.runs) != 1:
        raise UsageError(f"--draw: expected a run of one dataset, got {subject} with several datasets")
    run = subject if Path(subject).is_file() else str(evaluation.runs[0].folder or subject)
    files = annotations_of(run, runs_directory)
    labels = labels_in(files, (), ()) if files else []
    answered = open_answered_run(run, runs_directory)
    return queue_for_people(answered, labels, draw.total, metric=draw.metric, seed=draw.seed)


def _loaded(subject: str, runs_directory: Path, mapped: dict[str, str]) -> tuple[Dataset | Evaluation, Path]:
    """Read what a name means: the file of a dataset, a run by any end of its id, a dataset of the project."""
    from rag_evaluation_framework.datasets.catalogue import catalogue_path
    from rag_evaluation_framework.datasets.recognition import read_dataset
    from rag_evaluation_framework.errors import MissingDatasetError, RagEvalError
    from rag_evaluation_framework.results.results_document import SUFFIXES
    from rag_evaluation_framework.results.stored_runs import find_evaluation

    path = Path(subject)
    is_result = (path / "head.json").is_file() or path.name.endswith(SUFFIXES) or path.name == "results.json"
    if path.exists() and not is_result:
        tell_reading(path, None, tuple(mapped.items()))
        return read_dataset(path, map=mapped), path
    if mapped:
        raise UsageError("--map: expected a file of rows, got a run")
    try:
        return find_evaluation(subject, runs_directory=runs_directory), path
    except RagEvalError as error:
        try:
            path = catalogue_path(subject)
        except MissingDatasetError:
            raise error from None
        return read_dataset(path), path


def answers(desk: AnnotationDesk) -> Any:
    """Return what answers the page's questions."""
    from rag_evaluation_framework.adapters.local_server import Reply

    def read(path: str, given: Mapping[str, str]) -> Reply | None:
        if path == "":
            return Reply.of_page(*desk.page())
        if path == "item":
            return Reply.of_json(desk.item(given.get("key", "")))
        number = given.get("number", "")
        if path == "document" and number.isascii() and number.isdecimal():
            return Reply.of_json(desk.document(int(number[:9])))
        return None

    return read


def saving(desk: AnnotationDesk) -> Any:
    """Return what writes down what the page sends."""
    from rag_evaluation_framework.adapters.local_server import Reply

    def write(path: str, sent: Any) -> Reply | None:
        if path != "save":
            return None
        if not isinstance(sent, Mapping):
            raise UsageError("expected an object")
        return Reply.of_json(desk.save(sent))

    return write


def show(server: LocalServer, *, is_opened: bool) -> None:
    """Print the address, open it, and serve until Ctrl-C."""
    click.echo(f"{server.url}\nTo stop the server, press Ctrl-C.")
    sys.stdout.flush()
    if is_opened:
        click.launch(server.url)
    server.run()


def user_name() -> str:
    """Return the name of the user of this machine."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        raise UsageError(
            "--annotator is missing: this machine has no user name. Pass --annotator NAME."
        ) from None
