"""Keeps results in a folder: saved atomically, found by id, listed, compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

from rag_evaluation_framework.datasets.value_files import read_results
from rag_evaluation_framework.errors import (
    InputError,
    Issue,
    MissingResultsError,
    UsageError,
    invalid,
    refused,
    shown,
)
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.files.atomic import write_bytes_atomically
from rag_evaluation_framework.results.result_files import (
    SUFFIX,
    check_id,
    check_inside,
    named_id,
    results_entries,
    results_paths,
)
from rag_evaluation_framework.results.results_comparison import compare_documents


class EvaluationResultsStorage:
    """Saves, loads, lists and compares results in one folder, which several processes may use at once.

    A file is whole at every moment, and a write that the disk refuses leaves the old one as it was. No id can
    lead out of the folder. ``now`` is the clock.
    """

    def __init__(
        self,
        results_directory: str | Path = "data/evaluation/results",
        *,
        now: Callable[[], datetime] | None = None,
    ) -> None:
        self.results_directory = Path(results_directory)
        self._now = now or _utc_now
        try:
            self.results_directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise refused("write", self.results_directory, error) from error

    def save_results(self, results: Mapping[str, Any], evaluation_type: str = "standard") -> str:
        """Save results and return the path of their file; what was given is not changed.

        Results with an ``evaluation_id`` replace earlier ones of the same id. Results without one get
        ``eval_run_<UTC date>_<nnn>``, which no other process gets.
        """
        if not isinstance(results, Mapping):
            raise invalid("results", "a dictionary", results)
        given = results.get("evaluation_id")
        if given is not None:
            path = check_inside(self._path(check_id(given)))
            write_bytes_atomically(path, self._content(results, path, evaluation_type))
            return str(path)
        return self._save_as_next(results, evaluation_type)

    def load_results(self, evaluation_id: str) -> dict[str, Any]:
        """Load results by id: from the file of that name, else from the one whose content has the id.

        A ``FileNotFoundError`` when there are none, a ``ValueError`` when the file does not hold results or
        two files have the id.
        """
        check_id(evaluation_id)
        found = [path for path in results_paths(self.results_directory) if named_id(path) == evaluation_id]
        if not found:
            entries = results_entries(self.results_directory)
            found = [entry.path for entry in entries if entry.evaluation_id == evaluation_id]
        if not found:
            raise MissingResultsError(f"no results {shown(evaluation_id)} in {self.results_directory}")
        if len(found) > 1:
            both = " and ".join(map(str, found))
            raise InputError([Issue("duplicate-results", f"one file of {evaluation_id!r}", both)])
        return read_results(check_inside(found[0]))

    def list_results(self, evaluation_type: str | None = None) -> list[dict[str, Any]]:
        """List the results by file name, of one type if asked for.

        A file that cannot be read is in every list, with the reason as ``error``, which is ``None`` for the
        others.
        """
        return [
            {
                "evaluation_id": entry.evaluation_id,
                "timestamp": entry.timestamp,
                "system_version": entry.system_version,
                "dataset_id": entry.dataset_id,
                "evaluation_type": entry.evaluation_type,
                "file_path": str(entry.path),
                "error": entry.error,
            }
            for entry in results_entries(self.results_directory)
            if entry.error is not None or evaluation_type in (None, entry.evaluation_type)
        ]

    def compare_results(self, evaluation_ids: Sequence[str]) -> dict[str, Any]:
        """Set results side by side: every figure of every metric section, and performance.

        Where the first and another have the same queries scored by the same methods, ``paired_tests`` says
        whether they differ; where not, ``not_tested`` says why. See :func:`compare_documents`.
        """
        if isinstance(evaluation_ids, str):
            raise UsageError(f"evaluation_ids: expected a list of ids, got {shown(evaluation_ids)}")
        loaded = {evaluation_id: self.load_results(evaluation_id) for evaluation_id in evaluation_ids}
        return {**compare_documents(loaded), "evaluations": list(evaluation_ids)}

    def _save_as_next(self, results: Mapping[str, Any], evaluation_type: str) -> str:
        """Save under the next free id of the day; whoever else is saving gets another."""
        prefix = f"eval_run_{self._now():%Y%m%d}_"
        for number in count(self._last(prefix) + 1):
            evaluation_id = f"{prefix}{number:03}"
            path = self._path(evaluation_id)
            if path.is_symlink():
                continue
            content = self._content(
                {"evaluation_id": evaluation_id, **_without_id(results)}, path, evaluation_type
            )
            try:
                write_bytes_atomically(path, content, overwrite=False)
            except UsageError:  # somebody was faster
                continue
            return str(path)
        raise AssertionError("numbers do not end")

    def _last(self, prefix: str) -> int:
        numbers = (
            identifier.removeprefix(prefix)
            for identifier in map(named_id, results_paths(self.results_directory))
            if identifier.startswith(prefix)
        )
        return max((int(number) for number in numbers if number.isdecimal()), default=0)

    def _path(self, evaluation_id: str) -> Path:
        return self.results_directory / f"{evaluation_id}{SUFFIX}"

    def _content(self, results: Mapping[str, Any], path: Path, evaluation_type: str) -> bytes:
        saved = {
            "saved_at": self._now().isoformat(),
            "file_path": str(path),
            "evaluation_type": evaluation_type,
        }
        return strict_json.encode({**results, "_metadata": saved}, indent=2) + b"\n"


def _without_id(results: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in results.items() if name != "evaluation_id"}


def _utc_now() -> datetime:
    return datetime.now(UTC)
