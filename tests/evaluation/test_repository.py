"""The branch and commit of a folder, as the files of a repository tell them."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag_evaluation_framework.files.repository import repository_state


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_a_branch_and_its_commit_are_found_from_any_folder_below(tmp_path: Path) -> None:
    assert repository_state(tmp_path) == {}
    written(tmp_path / ".git" / "HEAD", "ref: refs/heads/feature/new\n")
    assert repository_state(tmp_path) == {"branch": "feature/new"}  # before its first commit
    written(tmp_path / ".git" / "packed-refs", "# pack-refs\nabc123 refs/heads/feature/new\n")
    (tmp_path / "evals").mkdir()
    assert repository_state(tmp_path / "evals") == {"branch": "feature/new", "commit": "abc123"}
    written(tmp_path / ".git" / "refs" / "heads" / "feature" / "new", "def456\n")
    assert repository_state(tmp_path) == {"branch": "feature/new", "commit": "def456"}


def test_a_work_tree_has_the_branches_of_its_repository(tmp_path: Path) -> None:
    git = tmp_path / "main" / ".git"
    written(git / "refs" / "heads" / "side", "abc123\n")
    written(git / "worktrees" / "side" / "HEAD", "ref: refs/heads/side\n")
    written(git / "worktrees" / "side" / "commondir", "../..\n")
    written(tmp_path / "side" / ".git", f"gitdir: {git / 'worktrees' / 'side'}\n")
    assert repository_state(tmp_path / "side") == {"branch": "side", "commit": "abc123"}


@pytest.mark.parametrize(
    ("environment", "branch"),
    [
        ({"GITHUB_HEAD_REF": "change", "GITHUB_REF_NAME": "7/merge"}, "change"),
        ({"GITHUB_HEAD_REF": "", "GITHUB_REF_NAME": "main"}, "main"),
        ({"CI_COMMIT_REF_NAME": "main"}, "main"),
        ({}, None),
    ],
)
def test_a_commit_that_was_checked_out_without_its_branch_has_that_of_the_build(
    tmp_path: Path, environment: dict[str, str], branch: str | None
) -> None:
    written(tmp_path / ".git" / "HEAD", "abc123\n")
    found = repository_state(tmp_path, environment)
    assert found == {"commit": "abc123"} | ({"branch": branch} if branch else {})
