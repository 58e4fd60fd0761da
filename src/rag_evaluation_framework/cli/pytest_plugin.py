"""A plug-in of pytest: an evaluation as a test, and its answers as one test each.

::

    def test_the_agent_may_ship(rag_eval):
        rag_eval.evaluate("agent.yaml", target="app:answer")

    @pytest.mark.rag_eval("agent.yaml", target="app:answer")
    def test_an_answer(rag_eval_answer):
        rag_eval_answer.check()

pytest loads this file wherever the package is installed: it imports nothing of the package, and pytest
itself only when that configures itself, until a test asks for a fixture.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

    from rag_evaluation_framework.records.samples import Sample
    from rag_evaluation_framework.results.evaluations import Evaluation, Row

_MARKER = (
    "rag_eval(data, **wish): arguments of evaluate(); a test with the fixture rag_eval_answer runs "
    "once per answer."
)
_ANSWER = "rag_eval_answer"


class Evaluations:
    """The value of the fixture ``rag_eval``: evaluates, and fails the test if the gate does not pass."""

    def __init__(self, folder: Path, kept: dict[str, Any]) -> None:
        self._folder, self._kept = folder, kept

    def evaluate(self, data: Any, *, check: bool = True, **wish: Any) -> Evaluation:
        """Do what ``rag_evaluation_framework.evaluate`` does; paths are those beside the test, if there.

        The test fails where the verdict is failed, not evaluated or incomplete, with what the command prints;
        ``check=False`` leaves that to the test. The same wish is evaluated once in a session.
        """
        import pytest

        from rag_evaluation_framework.errors import RagEvalError

        where = found(data, self._folder)
        key = repr((where, sorted(wish.items(), key=lambda each: each[0])))
        wrong = None
        if key not in self._kept:
            from rag_evaluation_framework.evaluation.evaluate import evaluate

            try:
                self._kept[key] = evaluate(where, **wish)
            except RagEvalError as error:
                wrong = str(error)
        if wrong is not None:  # outside of the handler, so that pytest shows the message alone
            pytest.fail(f"rag-eval: {wrong}", pytrace=False)
        evaluation: Evaluation = self._kept[key]
        if check and evaluation.verdict is not None and evaluation.verdict.exit_code:
            pytest.fail(str(evaluation), pytrace=False)
        return evaluation


class Answer:
    """The value of the fixture ``rag_eval_answer``: one answer of an evaluation."""

    def __init__(self, name: str, row: Row) -> None:
        self.name, self.row = name, row

    @property
    def text(self) -> str:
        """Text of the answer; empty if asking failed."""
        return self.row.response.text or ""

    def check(self) -> None:
        """Fail the test if the answer is wrong or partly correct; skip it if it was not judged."""
        row, verdict = self.row, self.row.verdict
        if verdict is not None and verdict.is_correct:
            return
        import pytest

        from rag_evaluation_framework.reports.blocks import Screen
        from rag_evaluation_framework.reports.facts import cases_of, list_answers, verdict_sentence

        if verdict is None:
            pytest.skip("no answer: only retrieval was measured")
        if not verdict.is_judged:
            pytest.skip(verdict_sentence(row, verdict))
        answer = list_answers([cases_of(row, self.name)], full=1, asked=0, total=0)
        pytest.fail(str(Screen().draw([answer])), pytrace=False)


def found(data: Any, folder: Path) -> Any:
    """Return a path beside the test, if it is there, and anything else as it is."""
    if isinstance(data, str | Path) and (folder / data).exists():
        return folder / data
    return data


def _samples(data: Any) -> list[tuple[str | None, Sample]]:
    """Read the samples that will be asked, by their dataset; nobody is asked yet."""
    from rag_evaluation_framework.results.stored_runs import load

    if isinstance(data, Path) and data.suffix in (".yaml", ".yml") and not data.name.endswith(".eval.yaml"):
        from rag_evaluation_framework.evaluation.manifest import read_manifest
        from rag_evaluation_framework.evaluation.plan import source_of

        entries = read_manifest(data).datasets
        return [(entry.name, sample) for entry in entries for sample in source_of(entry).stream()]
    return [(None, sample) for sample in load(data).samples]


def pytest_configure(config: pytest.Config) -> None:
    """Tell pytest of the marker and the fixtures."""
    import pytest

    config.addinivalue_line("markers", _MARKER)
    kept: dict[str, Any] = {}

    class Fixtures:
        """The fixtures, made here so that pytest is imported by nobody who does not use it."""

        @pytest.fixture
        def rag_eval(self, request: pytest.FixtureRequest) -> Evaluations:
            """Evaluate, and fail the test where the gate does not pass: rag_eval.evaluate("agent.yaml")."""
            return Evaluations(request.path.parent, kept)

        @pytest.fixture
        def rag_eval_answer(self, request: pytest.FixtureRequest) -> Answer:
            """One answer of what the marker rag_eval asks for: rag_eval_answer.check()."""
            marker = request.node.get_closest_marker("rag_eval")
            dataset, sample_id, name = request.param
            evaluations = Evaluations(request.path.parent, kept)
            evaluation = evaluations.evaluate(*marker.args, check=False, **marker.kwargs)
            runs = evaluation.named_runs
            for row in runs.get(dataset, evaluation).rows:
                if row.id == sample_id:
                    return Answer(name, row)
            return pytest.skip(f"{name} has no answer: the sample was not drawn")

    config.pluginmanager.register(Fixtures(), "rag_eval_fixtures")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make of a test that asks for an answer one test for each."""
    if _ANSWER not in metafunc.fixturenames:
        return
    import pytest

    from rag_evaluation_framework.errors import RagEvalError

    marker = metafunc.definition.get_closest_marker("rag_eval")
    if marker is None or not marker.args:
        raise pytest.UsageError(
            f"{metafunc.definition.nodeid}: {_ANSWER} needs data: @pytest.mark.rag_eval('agent.yaml')"
        )
    try:
        samples = _samples(found(marker.args[0], metafunc.definition.path.parent))
    except RagEvalError as error:
        raise pytest.UsageError(f"{metafunc.definition.nodeid}: {error}") from None
    several = len({dataset for dataset, _ in samples}) > 1
    names = [f"{dataset} {each.name}" if several else each.name for dataset, each in samples]
    cases = [(dataset, each.id, name) for (dataset, each), name in zip(samples, names, strict=True)]
    metafunc.parametrize(_ANSWER, cases, ids=[name.replace(" ", "-") for name in names], indirect=True)
