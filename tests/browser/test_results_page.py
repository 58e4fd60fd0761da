"""The list of all that is stored, in a real browser: searched, two compared by clicking, live."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rag_evaluation_framework import evaluate
from rag_evaluation_framework.adapters.local_server import LocalServer
from rag_evaluation_framework.cli.serve import answers
from rag_evaluation_framework.reports.stored_pages import StoredPages

HOSTILE = "<img src=x onerror=alert(1)></script><script>alert(2)</script>"


@pytest.fixture
def tab(browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.chdir(tmp_path)
    rows = [{"input": f"What is {n}? {HOSTILE}", "expected": str(n)} for n in range(4)]
    for answer in ("0", HOSTILE, "3"):
        evaluate(
            rows,
            target=lambda question, answer=answer: answer,
            metrics=["exact_match"],
            runs_directory="runs",
        )
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page, problems = context.new_page(), []
    page.set_default_timeout(60_000)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("dialog", lambda dialog: problems.append(dialog.message) or dialog.dismiss())
    pages = StoredPages(Path("runs"), title=HOSTILE)
    with LocalServer(answers(pages)).running() as url:
        page.on("request", lambda each: None if each.url.startswith(url) else problems.append(each.url))
        page.goto(url)
        page.wait_for_selector("html[data-ready]")
        yield page
        context.close()
    assert problems == []


def test_two_results_are_compared_by_clicking_and_the_way_back(tab: Any) -> None:
    assert tab.text_content("#headline") == "3 results."
    heads = [each.strip() for each in tab.locator("#head th").all_text_contents()]
    assert heads[5:9] == ["correct", "partly correct", "wrong", "not judged"]
    counts = tab.locator("#rows tr:nth-child(3) td").all_text_contents()[
        4:8
    ]  # of which each counts one grade
    assert sum(map(int, counts)) == 4
    assert counts[0] == "1"
    assert HOSTILE in tab.text_content("header")
    tab.click("#rows tr:nth-child(3) input")
    tab.click("#rows tr:nth-child(1) input")
    tab.click("#compare")
    tab.wait_for_selector("html[data-ready] h1")
    assert "_001" in tab.text_content(".kicker")  # the earlier one is what the other is compared with
    tab.click("a.brand")
    tab.wait_for_selector("#headline")
    tab.click("#rows tr:nth-child(2) a")
    tab.wait_for_selector("html[data-ready] h1")
    assert "_002" in tab.text_content(".kicker")


def test_searching_and_keys(tab: Any) -> None:
    tab.keyboard.press("/")
    tab.keyboard.type("_002")
    assert tab.locator("#rows tr").count() == 1
    assert tab.text_content("#found") == "1 result"
    tab.keyboard.type("zzz")
    assert "No result matches" in tab.text_content("#empty")
    tab.keyboard.press("Escape")
    assert tab.locator("#rows tr").count() == 3
    for key in ("j", "x", "j", "x", "c"):
        tab.keyboard.press(key)
    tab.wait_for_url("**/compare?**")


def test_what_comes_in_appears_by_itself(tab: Any) -> None:
    rows = [{"input": "Who?", "expected": "I."}]
    evaluate(rows, target=lambda question: "I.", metrics=["exact_match"], runs_directory="runs")
    tab.wait_for_function("() => document.querySelector('#headline').textContent.startsWith('4 results')")
    assert tab.locator("#rows tr").count() == 4


@pytest.mark.parametrize(("width", "scheme"), [(380, "light"), (1440, "dark")])
def test_axe_finds_nothing_serious(tab: Any, width: int, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    tab.emulate_media(color_scheme=scheme)
    tab.set_viewport_size({"width": width, "height": 900})
    found = axe.run(tab).response["violations"]
    assert [each for each in found if each["impact"] in ("serious", "critical")] == []
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
