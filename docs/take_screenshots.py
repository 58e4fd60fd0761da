"""Takes the pictures of docs/images in Chromium: ``python docs/take_screenshots.py``."""

from __future__ import annotations

import sys
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
SIZE = {"width": 1120, "height": 680}
# The page that a tutorial ends with, by the picture of it.
TUTORIALS = {
    "evaluation": ("first-evaluation", "report.html"),
    "chunkers": ("choose-a-chunker", "sweep.html"),
    "golden": ("golden-set", "golden.html"),
}

sys.path[:0] = [str(ROOT / "tests" / "browser"), str(ROOT / "tests")]


def main() -> None:
    """Take a picture of each kind of page, from runs of the handbook's desk and from the tutorials."""
    from desk import CHROMIUM, desk_run, desk_sweep
    from playwright.sync_api import sync_playwright

    from rag_evaluation_framework.adapters.local_server import LocalServer
    from rag_evaluation_framework.cli.annotate import answers, open_desk, saving
    from rag_evaluation_framework.reports.page import page
    from test_docs import follow

    IMAGES.mkdir(exist_ok=True)
    with TemporaryDirectory() as folder, sync_playwright() as started:
        runs = [desk_run(Path(folder)), desk_run(Path(folder), "fares.md", "timetable.md")]
        made = {
            "report": runs[:1],
            "sample": runs[:1],
            "comparison": runs,
            "sweep": [desk_sweep(Path(folder) / "s")],
        }
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for name, evaluations in made.items():
            path = Path(folder) / f"{name}.html"
            path.write_text(page(evaluations), encoding="utf-8")
            take(browser, path.as_uri(), name)
        path = Path(folder) / "notebook.html"
        ground = "background:#fff;color:#111;margin:20px"
        opened = runs[0]._repr_html_().replace("<details>", "<details open>", 1)
        path.write_text(f'<!doctype html><html data-ready><body style="{ground}">{opened}', encoding="utf-8")
        take(browser, path.as_uri(), "notebook")
        desk = open_desk(str(runs[0].folder), annotator="anna")
        with LocalServer(answers(desk), saving(desk)).running() as address:
            take(browser, address, "annotation")
        for name, (tutorial, written) in TUTORIALS.items():
            place = Path(folder) / tutorial
            place.mkdir()
            with chdir(place):
                follow(ROOT / "docs" / "tutorials" / f"{tutorial}.md", place)
            take(browser, (place / written).as_uri(), f"tutorial-{name}")
        browser.close()


def take(browser: Any, address: str, name: str) -> None:
    """Open a page and take its picture; of a sample one that was given what it needs."""
    tab = browser.new_context(viewport=SIZE, color_scheme="light").new_page()
    tab.goto(address + ("#g=flagged&o=-span_recall" if name == "sample" else ""))
    tab.wait_for_selector("html[data-ready]", state="attached")
    if name == "sample":
        tab.locator(".samples tbody a").first.click()
        tab.wait_for_selector(".sample:not([hidden]) .doc")
    tab.wait_for_timeout(300)
    tab.screenshot(path=str(IMAGES / f"{name}.png"))
    print(f"{name}.png: {(IMAGES / f'{name}.png').stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
