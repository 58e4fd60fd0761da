"""Small faults put into metrics, verdict, gate and journal one at a time: does a test notice each?

``python -m benchmarks.mutation [MUTANTS] [SEED]`` draws 500 mutants unless told otherwise, runs the tests
that reach the changed lines, and prints those that none of them noticed. The tests are collected once; each
mutant is a fork of that process in which the code of one function is replaced, so that it costs what its
tests cost. A test that starts processes of its own does not see the mutant there and counts as passed; of
tests that take long together, the quickest are run, as many as fit into some seconds.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import functools
import gc
import os
import random
import re
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, ClassVar

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "rag_evaluation_framework"
MUTANTS, REQUIRED = 500, 0.90
TARGETS = (
    *sorted((PACKAGE / "metrics").glob("[a-z]*.py")),
    PACKAGE / "judging" / "verdict.py",
    *(
        PACKAGE / "results" / f"{name}.py"
        for name in ("gate", "verdicts", "baselines", "regressions", "journal", "run_folder", "damage")
    ),
)
TESTS = (
    "tests/metrics",
    "tests/parity/test_ranking_parity.py",
    "tests/parity/test_texts_parity.py",
    "tests/results",
    "tests/judging/test_verdicts.py",
    *(
        f"tests/evaluation/test_{name}.py"
        for name in (
            "citation_scorers",
            "claim_scorers",
            "golden_scorers",
            "journal",
            "refusal_scorers",
            "retrieved_scorers",
            "run_folder",
            "sample_list",
            "scorers",
            "traced_answers",
        )
    ),
    "tests/datasets/test_trec_tables.py",
    "tests/cli/test_rank_command.py",
)
# What takes long or starts processes says little here that the others do not.
LEFT_OUT = ("simulation", "experiments", "calibration", "processes", "memory", "sweep", "trend")
# Of a test that is repeated with so many seeds the first ones are enough.
_SEEDS = re.compile(r"\[(?:[2-9]\d|\d{3})\]$")
# What the tests of one mutant may take: a mutant that the quick ones let pass counts as a survivor.
_MOST_SECONDS = 15.0

_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
# Changes that change nothing but time, durability or memory, and are not drawn: how the line begins, the
# change, and what becomes of it.
_SAME = (
    ("if digests.repeated():", "always", "the samples are counted again"),
    ("if index_of is None and (sample is None", "compared otherwise", "places are found by name"),
    ("sync_folder(path.parent)", "left out", "shows only when the power fails"),
    ("os.fsync(self._descriptor)", "left out", "shows only when the power fails"),
    ("if len(columns) > _SHORT:", "compared otherwise", "sorted or compared, the same is found"),
    ("if judged.max(initial=0) <= 1:", "never", "grades of 0 and 1 are sorted too"),
    ("step = max(1, _BLOCK_CELLS // max(1, width))", "the other extreme", "blocks of another size"),
    ("return (slice(start, min(start + step, queries))", "the other extreme", "a slice ends by itself"),
    ("changed[1:] = False", "another constant", "another reader takes over"),
    ("if len(missing) == len(seen):", "always", "another reader takes over"),
    ("if small.min(initial=0) >= 0:", "never", "numbers take more room"),
    ("highest = int(grades.max(initial=0))", "another constant", "far below what is refused"),
    ("return any(len(sizes) * 0.5**size <= METRICS", "compared otherwise", "no power of two is the level"),
    ("flipped = fell and flips.p_worse <= FLIPS_LEVEL", "compared otherwise", "no power of two is the level"),
    ("improved = (repeated.rose if", "compared otherwise", "no power of two is the level"),
    ("enough = (n for n in numbers if", "compared otherwise", "no power of two is the level"),
    ("if flips_p_value(paired, 0) <= FLIPS_LEVEL:", "compared otherwise", "no power of two is the level"),
    ("if self.reading.first_hit and depth is not None:", "always", "looked for at once, and found the same"),
    ("if reading.first_hit and depth < run.shape[1]:", "always", "looked for at once, and found the same"),
    ("depth: int | None = 0", "another constant", "it looks less far, and then below"),
    ("missed = np.flatnonzero((first_hit == 0) &", "computed otherwise", "looked for again and found again"),
    ("widest = int(widths.max(initial=1))", "another constant", "blocks of another size"),
    ("if widest <= _ORDINARY_WIDTH:", "compared otherwise", "blocks of another size"),
    ("if widest <= _ORDINARY_WIDTH:", "always", "blocks of another size"),
    ("if widest <= _ORDINARY_WIDTH:", "never", "blocks of another size"),
    ("wider = max(widest, width)", "the other extreme", "blocks of another size"),
    ("if wider * (position + 1 - start) > _BLOCK", "never", "blocks of another size"),
    ("if wider * (position + 1 - start) > _BLOCK", "computed otherwise", "blocks of another size"),
    ("start, wider = position, max(1, width)", "the other extreme", "blocks of another size"),
    ("start, wider = position, max(1, width)", "another constant", "blocks of another size"),
    ("return np.maximum(read, self.qrels.counts", "computed otherwise", "blocks of another size"),
    ("read = retrieved if self.reading.depth is None", "always", "blocks of another size"),
    ("rows = rows if depth is None else min(rows, de", "always", "deeper than it is read"),
    ("rows = int(positive.max(initial=0))", "another constant", "a row of nothing"),
    ("if judged.max(initial=0) <= 1:", "compared otherwise", "grades of 0 and 1 are sorted too"),
    ("left = np.arange(depth, 0, -1, dtype=np.int16", "never", "numbers take more room"),
    ("left = np.arange(depth, 0, -1, dtype=np.int16", "compared otherwise", "the largest fits, too"),
    ("return grades.astype(np.int8 if fits else", "never", "numbers take more room"),
    ("if len(flat) == depth * len(lengths):", "never", "filled in row by row"),
    ("word *= np.uint64((int(_MIX) + 2 * number", "computed otherwise", "other bits, as far apart"),
    ("word *= np.uint64((int(_MIX) + 2 * number", "another constant", "other bits, as far apart"),
    ("if least < WORD:", "compared otherwise", "a mask that leaves all"),
    ("least, most = int(grades.min(initial=0))", "another constant", "0 and 1 take the same room"),
    ("if len(flat) == depth * len(lengths):", "computed otherwise", "filled in row by row"),
    ("line = _Line.through(chunks, wanted, queries=1)", "another constant", "a longer line"),
    ("os.lseek(descriptor, 0, os.SEEK_SET)", "left out", "a file begins where it is opened"),
    ('flags = BINARY | getattr(os, "O_NONBLOCK", 0)', "another constant", "shows only where there is none"),
    ("return -(-int(self.lengths.max(initial=1)) // W", "another constant", "one word in any case"),
    ("found &= MASKS[least] if least == most else", "never", "a mask for each instead of one"),
    ("slots = max(1, (_SLOTS * len(own)).bit_length())", "another constant", "a table of another size"),
    ('if piece.endswith(b"\\n") or len(piece) < _PIECE:', "never", "read in pieces, of which there is one"),
    ('if piece.endswith(b"\\n") or len(piece) < _PIECE:', "and for or", "read in pieces"),
)
_CALLED = {"min": "max", "max": "min", "any": "all", "all": "any"}


@dataclass(frozen=True, slots=True)
class Site:
    """A place that can be changed: the node's number in its module's walk, and which change of it."""

    file: Path
    node: int
    lines: range
    what: str


def _changes(node: ast.AST) -> Iterator[str]:
    """Yield the names of the changes that a node allows."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARED:
        yield "compared otherwise"
    elif isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in _COMPUTED:
        yield "computed otherwise"
    elif isinstance(node, ast.BoolOp):
        yield "and for or"
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield "sign dropped"
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
        yield "another constant"
    elif isinstance(node, ast.Return) and not (
        node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None)
    ):
        yield "nothing returned"
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _CALLED:
        yield "the other extreme"
    elif isinstance(node, ast.If | ast.IfExp):
        yield "always"
        yield "never"
    elif isinstance(node, ast.Continue | ast.Break):
        yield "the other jump"
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield "left out"


def _changed(node: Any, what: str) -> None:
    """Change a node of a copy in place."""
    match what:
        case "compared otherwise":
            node.ops[0] = _COMPARED[type(node.ops[0])]()
        case "computed otherwise":
            node.op = _COMPUTED[type(node.op)]()
        case "and for or":
            node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        case "sign dropped":
            node.op = ast.UAdd() if isinstance(node.op, ast.USub) else node.op
            node.operand = node.operand if isinstance(node.op, ast.UAdd) else _negated(node.operand)
        case "another constant":
            node.value = (not node.value) if isinstance(node.value, bool) else node.value + 1
        case "nothing returned":
            node.value = ast.copy_location(ast.Constant(None), node)
        case "the other extreme":
            node.func.id = _CALLED[node.func.id]
        case "always" | "never":
            node.test = ast.copy_location(ast.Constant(what == "always"), node.test)
        case "left out":
            node.value = ast.copy_location(ast.Constant(None), node)


def _negated(node: ast.expr) -> ast.expr:
    return ast.copy_location(ast.UnaryOp(ast.Not(), node), node)


def _walk(tree: ast.AST) -> Iterator[tuple[ast.AST, range | None]]:
    """Yield every node in order, with the lines of its statement, or ``None`` where it stays as it is.

    What stays is outside a function, a message, a type, a decorator or a default.
    """
    shut_fields = {"annotation", "returns", "decorator_list", "defaults", "kw_defaults"}

    def inside(node: ast.AST, may: bool, lines: range) -> Iterator[tuple[ast.AST, range | None]]:
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            end = max(node.lineno, body[0].lineno - 1) if body else node.end_lineno or node.lineno
            lines = range(node.lineno, end + 1)
        yield node, lines if may else None
        for name, value in ast.iter_fields(node):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    shut = isinstance(node, ast.Raise | ast.JoinedStr) or name in shut_fields
                    # Sides that are of one length whatever happens: ``strict`` says so and checks it.
                    shut = shut or (isinstance(node, ast.keyword) and node.arg == "strict")
                    opens = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and name == "body"
                    yield from inside(child, (may or opens) and not shut, lines)

    yield from inside(tree, False, range(0))


@functools.cache
def _tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def sites() -> list[Site]:
    """Return every change that can be made to the targets."""
    return [
        Site(file, number, lines, what)
        for file in TARGETS
        for number, (node, lines) in enumerate(_walk(_tree(file)))
        if lines is not None
        for what in _changes(node)
        if not _is_same(file, lines, what)
    ]


def _is_same(file: Path, lines: range, what: str) -> bool:
    line = _lines(file)[lines.start - 1].strip()
    return any(line.startswith(begins) and change == what for begins, change, _ in _SAME)


@functools.cache
def _lines(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines()


def _outermost(code: CodeType) -> Iterator[CodeType]:
    """Yield the functions and methods of a module's code, but not the functions inside them."""
    for each in code.co_consts:
        if isinstance(each, CodeType):
            is_class = not each.co_flags & 2  # a class body has no fast locals
            yield from _outermost(each) if is_class else (each,)


Functions = dict[tuple[str, str, int], list[FunctionType]]
"""The functions of the targets by file, name and first line."""
_MARK = "_reached_in_tests"


@functools.cache
def _own_codes(file: Path) -> dict[tuple[str, str, int], CodeType]:
    return _codes(_tree(file), file)


def _codes(tree: ast.Module, file: Path) -> dict[tuple[str, str, int], CodeType]:
    return {
        (str(file), code.co_qualname, code.co_firstlineno): code
        for code in _outermost(compile(tree, file, "exec"))
    }


def _functions_and_caches() -> tuple[Functions, list[Any]]:
    """Return the functions of the targets, wherever they are referred to, and what is remembered of calls."""
    for file in TARGETS:
        import_module(".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts))
    files, caches = {str(file) for file in TARGETS}, []
    functions: Functions = defaultdict(list)
    gc.unfreeze()
    for each in gc.get_objects():
        if isinstance(each, FunctionType) and each.__code__.co_filename in files:
            code = each.__code__
            functions[code.co_filename, code.co_qualname, code.co_firstlineno].append(each)
        elif isinstance(each, functools._lru_cache_wrapper):
            caches.append(each)
    return functions, caches


def _marked(file: Path) -> ast.Module:
    """Return a module in which every statement of a function first says that it was reached."""
    tree = copy.deepcopy(_tree(file))
    bodies = [
        body
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        for name in ("body", "orelse", "finalbody")
        if isinstance(body := getattr(node, name, None), list) and body
    ]
    for body in {id(body): body for body in bodies}.values():
        said = [ast.parse(f"{_MARK}(({str(file)!r}, {statement.lineno}))").body[0] for statement in body]
        body[:] = [
            ast.copy_location(each, statement)
            for pair in zip(said, body, strict=True)
            for each, statement in zip(pair, pair[1:] * 2, strict=True)
        ]
    return ast.fix_missing_locations(tree)


def replaced(site: Site, functions: Functions) -> bool:
    """Put the changed code where the module's function has its own; whether there was one."""
    tree = copy.deepcopy(_tree(site.file))
    node = next(node for number, (node, _) in enumerate(_walk(tree)) if number == site.node)
    if site.what == "the other jump":
        node.__class__ = ast.Break if isinstance(node, ast.Continue) else ast.Continue
    _changed(node, site.what)
    before, after = _own_codes(site.file), _codes(tree, site.file)
    done = False
    for key, code in after.items():
        if code != before[key]:
            for function in functions.get(key, ()):
                function.__code__ = code
                done = True
    return done


def _within_time(tests: set[pytest.Item], seconds: dict[pytest.Item, float]) -> dict[pytest.Item, float]:
    """Return the quickest of some tests that fit into the time of a mutant, and what each takes."""
    chosen: dict[pytest.Item, float] = {}
    left = _MOST_SECONDS
    for item in sorted(tests, key=lambda item: seconds[item]):
        left -= seconds[item]
        if left < 0 and chosen:
            break
        chosen[item] = seconds[item]
    return chosen


class _Mutation:
    """The plug-in: what ``pytest`` would run once, it runs once watched, and then against each mutant."""

    failed: ClassVar[bool] = False

    def __init__(self, mutants: int, seed: int) -> None:
        self.mutants, self.seed = mutants, seed
        self.noticed = self.drawn = 0
        self.out = os.fdopen(os.dup(1), "w", buffering=1)  # where pytest does not capture it

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [
            item
            for item in items
            if not any(word in item.nodeid for word in LEFT_OUT) and not _SEEDS.search(item.nodeid)
        ]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        type(self).failed |= report.failed

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        functions, caches = _functions_and_caches()
        reached, seconds = self._watched(session.items, functions)
        gc.freeze()
        possible = sites()
        random.Random(self.seed).shuffle(possible)
        self._say(f"{len(session.items):,} tests in {sum(seconds.values()):.0f} s")
        self._say(f"{len(possible):,} changes possible")
        for site in possible:
            if self.drawn == self.mutants:
                break
            tests = {item for line in site.lines for item in reached[str(site.file), line]}
            covering = _within_time(tests, seconds)
            outcome = self._outcome(site, covering, functions, caches)
            if outcome == "no such function":
                continue
            self.drawn += 1
            self.noticed += outcome != "survived"
            if outcome == "survived":
                where = f"{site.file.relative_to(ROOT)}:{site.lines.start}"
                self._say(f"  survived {len(covering)} tests: {where}: {site.what}")
            if self.drawn % 50 == 0:
                self._say(f"{self.noticed} of {self.drawn} noticed")
        return True

    def _say(self, line: str) -> None:
        print(line, file=self.out)

    def _watched(
        self, items: list[pytest.Item], functions: Functions
    ) -> tuple[dict[tuple[str, int], list[pytest.Item]], dict[pytest.Item, float]]:
        """Run every test once; return which reach a statement of the targets, and how long each takes."""
        reached: dict[tuple[str, int], list[pytest.Item]] = defaultdict(list)
        lines: set[tuple[str, int]] = set()
        codes = {function: function.__code__ for some in functions.values() for function in some}
        for file in TARGETS:
            for key, code in _codes(_marked(file), file).items():
                for function in functions.get(key, ()):
                    function.__globals__[_MARK] = lines.add
                    function.__code__ = code
        seconds = {}
        for item, following in zip(items, [*items[1:], None], strict=True):
            lines.clear()
            began = time.process_time()
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            seconds[item] = time.process_time() - began
            if self.failed:
                pytest.exit(f"{item.nodeid} fails without any mutant", 2)
            for line in lines:
                reached[line].append(item)
        for function, code in codes.items():
            function.__code__ = code
        for file in TARGETS:
            _own_codes(file)  # once, and not again in each fork
        return reached, seconds

    def _outcome(
        self, site: Site, covering: dict[pytest.Item, float], functions: Functions, caches: list[Any]
    ) -> str:
        child = os.fork()
        if child == 0:
            os.setpgid(0, 0)
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 1)
            os.dup2(nowhere, 2)
            try:
                if not replaced(site, functions):
                    os._exit(3)
                for cache in caches:
                    cache.cache_clear()
                for item, following in zip(covering, [*list(covering)[1:], None], strict=True):
                    # A loop without an end is ended by the signal, which the parent counts as noticed.
                    signal.setitimer(signal.ITIMER_PROF, 3 + 5 * covering[item])
                    item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                    if self.failed:
                        os._exit(1)
            except ValueError:  # the changed function closes over other names
                os._exit(3)
            except BaseException:  # noqa: BLE001 - whatever ends the tests has noticed the mutant
                os._exit(1)
            os._exit(0)
        end = time.monotonic() + 60 + 30 * sum(covering.values())
        while time.monotonic() < end:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                code = os.waitstatus_to_exitcode(status)
                return {0: "survived", 3: "no such function"}.get(code, "noticed")
            time.sleep(0.005)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return "noticed"


def main(mutants: int = MUTANTS, seed: int = 0) -> int:
    """Return 1 where fewer of the mutants are noticed than required."""
    os.chdir(ROOT)
    plugin = _Mutation(mutants, seed)
    code = pytest.main(["-o", "addopts=", "-n", "0", "-p", "no:terminal", *TESTS], plugins=[plugin])
    if code not in (0, pytest.ExitCode.NO_TESTS_COLLECTED) or not plugin.drawn:
        return 2
    share = plugin.noticed / plugin.drawn
    print(f"{plugin.noticed} of {plugin.drawn} mutants noticed: {share:.1%} (required {REQUIRED:.0%})")
    return int(share < REQUIRED)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
