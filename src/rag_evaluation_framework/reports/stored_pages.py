"""The pages over all that is stored: a list to search, the report of each result, and any two compared.

What is read are the runs of a directory and the project's results; nothing is ever written. A report is made
when it is asked for, and kept until its files change.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import urlencode

from rag_evaluation_framework.datasets.project_settings import results_directory
from rag_evaluation_framework.errors import RagEvalError, invalid
from rag_evaluation_framework.judging.verdict import GRADES, name_of_state
from rag_evaluation_framework.reports.page import FilledPage, filled_page, report_page
from rag_evaluation_framework.results.results_document import results_paths
from rag_evaluation_framework.results.run_store import RunFolder, run_paths
from rag_evaluation_framework.results.stored_runs import open_evaluation, stored_results
from rag_evaluation_framework.structs import asdict

_MOST_KEPT = 8
_KEYS = {
    "/": "search",
    "j k": "next and previous result",
    "Enter": "open the result",
    "x": "select the result for a comparison, or not",
    "c": "compare the two selected results",
    "Esc": "clear the search",
    "?": "list of keys",
}


class StoredPages:
    """The pages of the runs in a directory and of the results of the project that it belongs to."""

    def __init__(self, runs_directory: Path, *, title: str) -> None:
        self._runs, self._title = runs_directory, title
        self._lock = Lock()
        self._list: tuple[str, list[dict[str, Any]]] = ("", [])
        self._kept: OrderedDict[tuple[str, ...], FilledPage] = OrderedDict()

    def index(self) -> FilledPage:
        """Return the page with the list."""
        return filled_page(
            "results.html",
            self.listed(),
            styles=("look.css", "results.css"),
            scripts=("base.js", "results.js"),
            asks_server=True,
            title=f"Results of {self._title}",
            subject=self._title,
            keys=_KEYS,
        )

    def listed(self) -> dict[str, Any]:
        """Return the data of the list."""
        stamp = self._stamp()
        with self._lock:
            if self._list[0] != stamp:
                found = [asdict(each) for each in stored_results(self._runs)]
                self._list = stamp, [{**each, "key": _key(Path(each["path"]))} for each in found]
            grades = {grade: name_of_state(grade) for grade in GRADES}
            return {"results": self._list[1], "grades": grades, **self.state()}

    def state(self) -> dict[str, Any]:
        """Return the progress of runs under way, and a stamp that changes with the list."""
        return {"running": list(self._running()), "stamp": self._stamp()}

    def refusal(self, reason: str, base: str = "", candidate: str = "") -> FilledPage:
        """Return the page with the reason why two runs cannot be compared, and a link that compares them."""
        pair = urlencode({"base": base, "candidate": candidate, "force": "yes"})
        return filled_page(
            "refusal.html",
            {},
            styles=("look.css",),
            scripts=("base.js",),
            keys={},
            title="Not comparable",
            home=".",
            reason=reason,
            again=f"compare?{pair}" if base and candidate else None,
        )

    def report(self, *keys: str, force: bool = False) -> FilledPage:
        """Return the report of one result, or of others compared with the first.

        Other data or methods are refused with the reason, unless forced.
        """
        known = dict(self._places())
        for key in keys:
            if key not in known:
                raise invalid("key", "one of the results that are listed", key)
        about = (*keys, str(force), *(_changed(known[key]) for key in keys))
        with self._lock:
            if about in self._kept:
                self._kept.move_to_end(about)
                return self._kept[about]
        filled = report_page(
            [open_evaluation(known[key], known[key].parent) for key in keys], force=force, home="."
        )
        with self._lock:
            self._kept[about] = filled
            while len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        return filled

    def _places(self) -> Iterator[tuple[str, Path]]:
        """Yield every run and results file by its key; a request can name nothing else."""
        for path in run_paths(self._runs):
            yield _key(path / "results.json"), path
        for path in results_paths(results_directory()) if results_directory().is_dir() else ():
            yield _key(path), path

    def _running(self) -> Iterator[dict[str, Any]]:
        for path in run_paths(self._runs):
            try:
                folder = RunFolder.at(path)
                if folder.owner is None:
                    continue
                counts = folder.counts
            except RagEvalError:  # its files are being written at this moment, or broken
                continue
            yield {
                "key": _key(path / "results.json"),
                "id": path.name,
                "dataset": folder.head.dataset_id,
                "done": counts.done,
                "failed": counts.failed,
                "total": counts.total,
            }

    def _stamp(self) -> str:
        digest = hashlib.blake2b(digest_size=8)
        for _, path in self._places():
            digest.update(_changed(path).encode())
        return digest.hexdigest()


def _key(path: Path) -> str:
    return path.parent.name if path.name == "results.json" else path.name


def _changed(path: Path) -> str:
    """Return what is different once a run or a results file has changed."""
    files: Sequence[Path] = (path,)
    if path.is_dir():
        files = [
            path / name for name in ("results.json", "verdict.json", "journal.jsonl", "journal.jsonl.zst")
        ]
    found = []
    for file in files:
        try:
            state = file.stat()
        except OSError:
            continue
        found.append(f"{file} {state.st_mtime_ns} {state.st_size}")
    return "\n".join(found)
