"""Count what the rules of wording reject in messages, docstrings, docs and names. The counts may only fall.

``python scripts/check_voice.py`` compares each count with ``scripts/voice_counts.json`` and exits with 1
where one rose. ``--write`` lowers the file to what is found; ``--show GROUP`` lists the places of a group.
``--commits N`` checks the subjects of the last N commits too: imperative, at most 72 characters, no period.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "rag_evaluation_framework"
COUNTS = Path(__file__).with_name("voice_counts.json")
GROUPS = ("messages", "docstrings", "docs", "names")

REJECTED = re.compile(
    r"""\b(?:told|mend|whatever|thereof|wherein)\b
    |\b\d+\s\w+\san?\s(?:question|file|sample|answer)\b
    |\bturned\s(?:down|away)\b
    |\bneeded\stext\b
    |\bsay\s(?:so|what|which)\b
    |\bit\sis\swritten\b
    |\bgot\snone\b
    |\bnone\snew\b
    |\bin\sa\shundred\b
    |\ba\slook\b""",
    re.IGNORECASE | re.VERBOSE,
)
RIDDLE = re.compile(r"\bwhat (?:came|was|were|has|it)\b", re.IGNORECASE)
OPENING = re.compile(r"(?:What|Whether|How)\b")
PARTICIPLE = re.compile(r"(?:\A|_)(?:told|said|asked|kept|held|wanted|drawn|begun|moved|borne|written)\Z")
PAGES = ("*.html", "*.js")
CODE_BLOCK = re.compile(r"^(`{3,}).*?^\1|`[^`\n]*`", re.MULTILINE | re.DOTALL)
LONGEST_SUBJECT = 72
NOT_IMPERATIVE = re.compile(r"(?:\w+(?:ed|ing)|the|a|an|no|more|fewer|labels)\b", re.IGNORECASE)


class Finding(NamedTuple):
    """A place that the rules reject, and the words there."""

    group: str
    place: str
    words: str


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--write", action="store_true", help="lower the counts to those that are found")
    parser.add_argument("--show", choices=GROUPS, help="list the places of a group")
    parser.add_argument("--commits", type=int, metavar="N", help="check the subjects of the last N commits")
    options = parser.parse_args()
    findings = [*_in_modules(), *_in_pages(), *_in_docs()]
    counts = {group: sum(each.group == group for each in findings) for group in GROUPS}
    limits = json.loads(COUNTS.read_text(encoding="utf-8")) if COUNTS.exists() else counts
    if options.write:
        lowered = {group: min(counts[group], limits.get(group, counts[group])) for group in GROUPS}
        COUNTS.write_text(json.dumps(lowered, indent=2) + "\n", encoding="utf-8")
    for each in findings:
        if each.group == options.show:
            print(f"{each.place}: {each.words}")
    problems = [
        f"{group}: {counts[group]} found, {limits[group]} allowed. Show them with --show {group}"
        for group in GROUPS
        if counts[group] > limits[group]
    ]
    if options.commits:
        problems += _wrong_subjects(options.commits)
    print("\n".join(problems) or ", ".join(f"{group} {count}" for group, count in counts.items()))
    return bool(problems)


def _in_modules() -> Iterator[Finding]:
    for path in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        place = str(path.relative_to(ROOT))
        docstrings = {id(node) for node in _docstrings(tree)}
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                if PARTICIPLE.search(node.name):
                    yield Finding("names", f"{place}:{node.lineno}", node.name)
            elif (
                isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and PARTICIPLE.search(node.id)
            ):
                yield Finding("names", f"{place}:{node.lineno}", node.id)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                at = f"{place}:{node.lineno}"
                if id(node) in docstrings:
                    yield from _rejected("docstrings", at, node.value)
                    if opening := OPENING.match(node.value.strip()):
                        yield Finding("docstrings", at, opening[0])
                elif " " in node.value:
                    yield from _rejected("messages", at, node.value)
                    if "?" not in node.value:
                        yield from (
                            Finding("messages", at, found[0]) for found in RIDDLE.finditer(node.value)
                        )


def _docstrings(tree: ast.AST) -> Iterator[ast.Constant]:
    """Yield the docstrings of modules, classes and functions, and texts that stand as statements."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.value


def _in_pages() -> Iterator[Finding]:
    for path in sorted(each for pattern in PAGES for each in SOURCE.rglob(pattern)):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            yield from _rejected("messages", f"{path.relative_to(ROOT)}:{number}", line)


def _in_docs() -> Iterator[Finding]:
    for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        prose = CODE_BLOCK.sub(lambda block: "\n" * block[0].count("\n"), path.read_text(encoding="utf-8"))
        for number, line in enumerate(prose.splitlines(), start=1):
            yield from _rejected("docs", f"{path.relative_to(ROOT)}:{number}", line)


def _rejected(group: str, place: str, text: str) -> Iterator[Finding]:
    return (Finding(group, place, found[0]) for found in REJECTED.finditer(text))


def _wrong_subjects(commits: int) -> Iterator[str]:
    """Yield a problem for each subject that is too long, ends with a period, or is no imperative."""
    command = ["git", "-C", str(ROOT), "log", "--no-merges", "--format=%h %s", f"-{commits}"]
    # An archive has no commits.
    log = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    for line in log.stdout.splitlines():
        digits, subject = line.split(" ", 1)
        words = subject.rpartition(": ")[2]
        if len(subject) > LONGEST_SUBJECT or subject.endswith(".") or NOT_IMPERATIVE.match(words):
            yield f"{digits}: expected an imperative of at most {LONGEST_SUBJECT} characters, got {subject!r}"


if __name__ == "__main__":
    sys.exit(main())
