"""Pages in a real browser: every view at phone and desk width, light and dark, typed and clicked through."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from benchmarks.report_pages import evaluation_of

from rag_evaluation_framework import evaluate
from rag_evaluation_framework.reports.page import page

Opened: TypeAlias = Callable[..., Any]
WIDTHS = (380, 1440)
LAPTOP = 1280
TRACES = Path(__file__).parents[2] / "examples" / "langchain_traces" / "traces.jsonl"


def texts(tab: Any, query: str) -> list[str]:
    return [" ".join(each.split()) for each in tab.locator(query).all_inner_texts()]


def check_access(tab: Any) -> None:
    """Hold a view against axe-core's rules; serious faults fail, with the elements that have them."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    found = axe.Axe().run(tab).response["violations"]
    serious = {
        each["id"]: [node["html"][:200] for node in each["nodes"][:3]]
        for each in found
        if each["impact"] in ("serious", "critical")
    }
    assert serious == {}


@pytest.mark.parametrize(
    ("name", "address"),
    [("run", ""), ("run", "sample"), ("comparison", ""), ("comparison", "#v=1"), ("sweep", "")],
)
def test_every_view_fits_its_width_and_is_accessible(
    pages: dict[str, Path], opened: Opened, name: str, address: str
) -> None:
    tab = opened(pages[name], "" if address == "sample" else address)
    if address == "sample":
        tab.locator(".view:not([hidden]) .samples tbody a").first.click()
        tab.wait_for_selector(".sample:not([hidden]) h1")
    for scheme, widths in (("light", WIDTHS), ("dark", WIDTHS[::-1])):
        tab.emulate_media(color_scheme=scheme)
        for width in widths:
            tab.set_viewport_size({"width": width, "height": 900})
            fits = "document.documentElement.scrollWidth <= innerWidth"  # once it is drawn for the new width
            is_narrow = any(tab.evaluate(fits) or tab.wait_for_timeout(50) for _ in range(100))
            assert is_narrow, f"at {width} the page scrolls sideways"
            assert tab.locator("h1:visible").count() == 1
        check_access(tab)  # wide and light, then narrow and dark
    tab.set_viewport_size({"width": LAPTOP, "height": 900})
    tables = "[...document.querySelectorAll('table')]"
    cut = f"{tables}.filter(each => each.scrollWidth > each.parentElement.clientWidth + 1)"
    assert tab.evaluate(f"{cut}.map(each => each.className)") == []


def test_the_steps_of_a_trace_are_a_list_with_times_and_errors(opened: Opened, tmp_path: Path) -> None:
    made = page([evaluate(TRACES)])
    (tmp_path / "traces.html").write_text(made, encoding="utf-8")
    tab = opened(tmp_path / "traces.html", "#v=0&s=f6fb392dc3861d819705dc7a0ee97a86")
    steps = texts(tab, ".steps li")
    assert steps[0].startswith("retrieval WordRetriever, “adult return fare”, 3 documents")
    assert steps[2].endswith("failed: KeyError(('senior', 'return'))")
    assert tab.locator(".steps li.bad").count() == 1
    for width in WIDTHS:
        tab.set_viewport_size({"width": width, "height": 900})
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    check_access(tab)


def test_samples_are_searched_filtered_sorted_by_address(pages: dict[str, Path], opened: Opened) -> None:
    tab = opened(pages["run"])
    total = tab.locator(".samples .count").inner_text()
    assert total.split(" of ")[0] == total.split(" of ")[1]
    tab.keyboard.press("/")
    tab.keyboard.type("mobile number")
    assert tab.locator(".samples .count").inner_text().startswith("1 of")
    assert "q=mobile" in tab.url
    tab.keyboard.press("Escape")
    tab.locator(".samples .chip", has_text="not judged").last.click()
    assert {each[:10] for each in texts(tab, ".samples tbody td:first-child .verd")} == {"not judged"}
    tab.get_by_role("button", name="faithfulness").click()
    values = [float(each) for each in texts(tab, ".samples tbody td.num:nth-child(6)") if each != "–"]
    assert values == sorted(values)
    assert tab.locator("th[aria-sort=ascending]").inner_text() == "faithfulness"
    tab.get_by_role("button", name="faithfulness").click()
    values = [float(each) for each in texts(tab, ".samples tbody td.num:nth-child(6)") if each != "–"]
    assert values == sorted(values, reverse=True)
    again = opened(pages["run"], tab.url.partition(".html")[2])
    assert texts(again, ".samples tbody tr") == texts(tab, ".samples tbody tr")
    again.fill(".samples input", "zzz")
    assert again.locator(".samples .empty").inner_text().startswith("No answer matches “zzz” with")
    again.get_by_role("button", name="show all").click()
    assert again.locator(".samples .count").inner_text() == total


def test_a_sample_opens_by_key_and_shows_read_and_needed_text(pages: dict[str, Path], opened: Opened) -> None:
    tab = opened(pages["run"], "#g=correct")
    tab.keyboard.press("j")
    tab.keyboard.press("Enter")
    tab.wait_for_selector(".sample:not([hidden]) .doc")
    question = tab.locator(".sample h1").inner_text()
    assert tab.evaluate("document.activeElement.tagName") == "H1"
    needed, read = (
        tab.evaluate(f"[...document.querySelectorAll('.doc {kind}')].map(e => e.lastChild.data).join('')")
        for kind in (".n", ".r.n")
    )
    assert needed
    assert read
    marks = tab.evaluate("[...document.querySelectorAll('.doc mark:not(.n)')].map(e => e.textContent)")
    assert not any(text.startswith("0") for text in marks)
    assert (
        f"Expected {len(needed):,} characters, {len(read):,} of them retrieved."
        in tab.locator(".docpane").inner_text()
    )
    tab.keyboard.press("1")
    assert tab.locator(".ctx.on .rank").inner_text() == "1"
    tab.keyboard.press("j")
    tab.wait_for_function("before => document.querySelector('.sample h1').innerText !== before", arg=question)
    tab.keyboard.press("Escape")
    tab.wait_for_selector(".samples tbody tr.at")
    tab.wait_for_selector(".overview", state="visible")


def test_unsupported_sentences_are_marked_with_their_reason(pages: dict[str, Path], opened: Opened) -> None:
    tab = opened(pages["run"], "#q=handling+charge&o=faithfulness")
    tab.locator(".samples tbody a").first.click()
    marked = tab.locator(".unsup").last
    assert "A handling charge of 3.50 is kept back." in marked.inner_text()
    assert "3.50" in tab.locator(".notes li").last.inner_text()


def test_movers_are_chosen_by_key_and_metrics_by_name(pages: dict[str, Path], opened: Opened) -> None:
    tab = opened(pages["comparison"])
    assert tab.locator("h1:visible").inner_text().startswith(("Worse", "Undecided"))
    moved = tab.locator(".mover").count()
    assert moved > 0
    assert tab.locator(".moves .chip[aria-pressed=true]").inner_text().endswith(f" {moved}")
    tab.keyboard.press("c")
    assert tab.locator(".moves .chip[aria-pressed=true]").inner_text().startswith("became correct")
    tab.keyboard.press("m")
    tab.wait_for_function("location.hash.includes('m=faithfulness')")
    tab.select_option(".which-metric", "span_recall")
    moved = tab.locator(".slopes tbody tr:not(:has(td[colspan]))").count()
    assert tab.locator(".sums").inner_text().startswith(f"{moved} changed")
    tab.locator("header nav a").nth(2).click()
    tab.wait_for_selector("#view-2:not([hidden]) .samples tbody tr")


def test_a_sweep_shows_a_mark_for_each_setup_and_curves_over_k(
    pages: dict[str, Path], opened: Opened
) -> None:
    tab = opened(pages["sweep"])
    tab.wait_for_selector(".scatter svg")
    assert tab.locator(".scatter .pt").count() == 8
    assert tab.locator(".kc svg").count() == 2
    least = tab.locator(".against output").inner_text()
    tab.locator(".against input").press("Home")
    assert tab.locator(".against output").inner_text() != least
    tab.get_by_role("button", name="k = 5").click()
    assert "k=5" in tab.url
    assert tab.locator(".heat:visible tbody tr").count() == 4


def test_without_scripts_verdict_and_figures_are_there(pages: dict[str, Path], browser: Any) -> None:
    context = browser.new_context(java_script_enabled=False)
    tab = context.new_page()
    tab.goto(pages["run"].as_uri())
    assert tab.locator("h1").first.inner_text().startswith("✗ FAILED")
    assert tab.locator(".figures tbody tr").count() == 4
    assert tab.locator(".figures svg circle").count() >= 4
    context.close()


def test_print_is_light_and_whole(pages: dict[str, Path], opened: Opened) -> None:
    tab = opened(pages["run"], scheme="dark")
    tab.emulate_media(media="print")
    assert tab.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(255, 255, 255)"
    assert tab.locator(".samples .chips").is_hidden()


WORK = Path(__file__).with_name("search_work.js").read_text(encoding="utf-8")


def test_a_search_among_many_samples_reads_the_index_and_draws_a_screen(
    tmp_path: Path, opened: Opened
) -> None:
    """Held by counts of work, which a busy machine does not change; the benchmark has the times."""
    path = tmp_path / "page.html"
    path.write_text(page([evaluation_of(400)]), encoding="utf-8")
    tab = opened(path)
    tab.wait_for_timeout(500)
    for text in ("document-7", "e", ""):
        folded, made = tab.evaluate(WORK, text)
        assert folded <= 1, "only what is searched for is folded; each sample was when the page had time"
        assert made <= 1 + 30, "the header and thirty rows"
    assert tab.locator(".samples .count").inner_text() == "400 of 400"
    tab.locator(".samples tbody tr").last.scroll_into_view_if_needed()
    tab.wait_for_selector(".samples tbody tr:nth-child(31)", state="attached")


def test_a_citation_of_characters_leads_to_them_highlighted(tmp_path: Path, opened: Opened) -> None:
    text = "The ferry leaves at noon. 狗免费乘船 👩‍👩‍👧 and dogs travel free."
    document = {"document_id": "d1", "content": text, "metadata": {"file_name": "boats.md"}}
    start = text.index("dogs")
    needed = {"file_name": "boats.md", "start_char": 0, "end_char": 25}
    query = {"query_id": "q1", "query_text": "What?", "relevant_documents": ["d1"], "citations": [needed]}
    head = {"dataset_id": "boats", "name": "Boats", "version": "1.0.0"}
    (tmp_path / "boats.eval.json").write_text(
        json.dumps({**head, "queries": [query], "documents": [document]}), encoding="utf-8"
    )
    result = evaluate(
        tmp_path / "boats.eval.json",
        target=lambda _: f"👩 Free [boats.md:?:{start}-{len(text)}]. Not [nowhere.md:?:1-2].",
        metrics=["citation_exact_jaccard"],
        runs_directory=tmp_path / "runs",
    )
    tab = opened(result.report(tmp_path / "page.html"))
    tab.locator(".samples tbody a").first.click()
    tab.locator(".cite").wait_for()
    assert texts(tab, ".cite") == [f"[boats.md:?:{start}-{len(text)}]"]
    tab.locator(".cite").click()
    tab.locator(".docpane mark.cited").first.wait_for()
    assert texts(tab, ".docpane mark.cited") == ["dogs travel free."]
    assert tab.evaluate("document.activeElement.className") == "doc"
