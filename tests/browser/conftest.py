"""A browser for the tests of pages; without one they are skipped, with a message."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from desk import CHROMIUM, desk_run, desk_sweep

from rag_evaluation_framework import Evaluation
from rag_evaluation_framework.reports.page import page


@pytest.fixture(scope="session")
def playwright() -> Any:
    if CHROMIUM is None:
        pytest.skip("pages are tested in chromium, which is not installed")
    return pytest.importorskip("playwright.sync_api", reason="pages are tested with playwright")


# A link to another part of a page is followed in a task of its own, before the next frame is over.
_AFTER_A_FRAME = "() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))"


@pytest.fixture(scope="module")
def browser(playwright: Any) -> Iterator[Any]:
    """A browser for the tests of a module: while it is open, an event loop runs, and no other may.

    After a click the page has drawn what the click changes.
    """
    click = playwright.Locator.click

    def click_and_wait(locator: Any, **options: Any) -> None:
        click(locator, **options)
        locator.page.evaluate(_AFTER_A_FRAME)

    with playwright.sync_playwright() as started, pytest.MonkeyPatch.context() as patched:
        patched.setattr(playwright.Locator, "click", click_and_wait)
        opened = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory, playwright: Any) -> list[Evaluation]:
    folder = tmp_path_factory.mktemp("runs")
    return [desk_run(folder), desk_run(folder, "fares.md", "timetable.md", "visitor-guide-zh.md")]


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory, runs: list[Evaluation]) -> dict[str, Path]:
    """The files of a run, of two runs compared, and of a sweep."""
    folder = tmp_path_factory.mktemp("pages")
    made = {"run": [runs[0]], "comparison": runs, "sweep": [desk_sweep(folder / "sweeps")]}
    for name, evaluations in made.items():
        (folder / f"{name}.html").write_text(page(evaluations), encoding="utf-8")
    return {name: folder / f"{name}.html" for name in made}


Opened = Callable[..., Any]


@pytest.fixture
def opened(browser: Any) -> Iterator[Opened]:
    """Open a file; anything that it requests, any script error and any refused style or script fails."""
    contexts: list[Any] = []
    problems: list[str] = []

    def open_file(path: Path, address: str = "", *, width: int = 1440, scheme: str = "light") -> Any:
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        tab = context.new_page()
        tab.set_default_timeout(60_000)
        tab.on("pageerror", lambda error: problems.append(f"script: {error}"))
        tab.on(
            "console", lambda told: problems.append(told.text) if told.type in ("error", "warning") else None
        )
        tab.on(
            "request", lambda asked: problems.append(asked.url) if not asked.url.startswith("file:") else None
        )
        tab.on("dialog", lambda shown: (problems.append(f"dialog: {shown.message}"), shown.dismiss()))
        tab.goto(path.as_uri() + address)
        tab.wait_for_selector("html[data-ready]", state="attached")
        return tab

    yield open_file
    for context in contexts:
        context.close()
    assert problems == []
