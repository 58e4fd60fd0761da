"""Annotating with mouse and keyboard in a real browser: what is done on the page is what the file says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rag_evaluation_framework.adapters.local_server import LocalServer
from rag_evaluation_framework.cli.annotate import answers, open_desk, saving
from rag_evaluation_framework.results.answer_labels import read_labels

ENGLISH = "The ferry leaves at noon. Dogs travel free of charge."
EMOJI = "Bring 👩‍👩‍👧 and 🏴󠁧󠁢󠁳󠁣󠁴󠁿 flags, a ☕️ and é by 8."
CHINESE = "灯塔有一百二十级台阶。狗免费乘船。"
ARABIC = "تغادر العبّارة ظهراً. الكلاب مجاناً."
HOSTILE = "<img src=x onerror=alert(1)></script><script>alert(2)</script> \u202e[bold]x[/bold] ::error::"
TEXT = "\n".join([f"# {ENGLISH}", "", EMOJI, CHINESE, ARABIC, HOSTILE])
ANSWER = "Dogs travel free [boats.md:?:28-45]. Cats pay 2 pounds <b>each</b> [2]."


class Desk(NamedTuple):
    page: Any
    file: Path
    requested: list[str]

    @property
    def written(self) -> dict[str, Any]:
        """The annotations of the file: by what they are about."""
        self.page.wait_for_function("() => telling.then(() => true)")
        given = json.loads(self.file.read_text(encoding="utf-8"))["annotations"]
        return {each["annotation_id"].partition("_")[0]: each for each in given}

    @property
    def spans(self) -> list[str]:
        """The marked passages; each is held against the document."""
        found = []
        for each in self.written["citation"]["citations"]:
            assert TEXT[each["start_char"] : each["end_char"]] == each["text"]
            assert each["file_name"] == "boats.md"
            found.append(each["text"])
        return found

    def drag(self, words: str) -> None:
        """Select words of the document with the mouse, from their beginning to their end."""
        start = TEXT.index(words)
        self.page.evaluate(
            "at => lines[lineAt(at)].element.scrollIntoView({ block: 'center', behavior: 'instant' })", start
        )
        from_, to = (self.page.evaluate(EDGE, place) for place in ([start, 0], [start + len(words) - 1, 1]))
        self.page.mouse.move(*from_)
        self.page.mouse.down()
        self.page.mouse.move(*to, steps=4)
        self.page.mouse.up()

    def go_to(self, position: int) -> None:
        """Put the caret of the document somewhere, as clicking would."""
        self.page.keyboard.press("d")
        self.page.evaluate("position => move(() => { selection = null; caret = position; })", position)


# The edge of a character on the screen at which it begins (0) or ends (1), whichever way it is written.
EDGE = Path(__file__).with_name("character_edge.js").read_text(encoding="utf-8")

# The document as it is shown, without ranks and what only a screen reader is told.
SHOWN = """() => lines.map(({ element }) => {
  const copy = element.cloneNode(true);
  copy.querySelectorAll('.vh, .rank').forEach(each => each.remove());
  return copy.textContent;
}).join('\\n')"""


@pytest.fixture
def desk(browser: Any, tmp_path: Path) -> Iterator[Desk]:
    answered = {"response": ANSWER, "retrieved_contexts": [f"# {ENGLISH}", HOSTILE]}
    rows = [
        {"id": "q1", "user_input": f"What do dogs pay? {HOSTILE}", "reference": HOSTILE, **answered},
        {"id": "q2", "user_input": "狗多少钱？", "reference": "免费", **answered},
    ]
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "boats.md").write_text(TEXT, encoding="utf-8")
    (tmp_path / "docs" / "other.md").write_text("Nothing of use.", encoding="utf-8")
    dataset = tmp_path / "rag.jsonl"
    dataset.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    opened = open_desk(str(dataset), annotator="anna", corpus=tmp_path / "docs")
    context = browser.new_context(viewport={"width": 1440, "height": 1000})
    page, requested, problems = context.new_page(), [], []
    page.set_default_timeout(60_000)
    page.on("request", lambda request: requested.append(request.url))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("dialog", lambda dialog: problems.append(dialog.message) or dialog.dismiss())
    with LocalServer(answers(opened), saving(opened)).running() as url:
        page.goto(url)
        page.wait_for_selector("html[data-ready=q1]")
        yield Desk(page, tmp_path / "annotations" / "anna" / "rag.gt.json", requested)
        assert [each for each in requested if not each.startswith(url)] == []
        context.close()
    assert problems == []


def test_passages_marked_with_the_mouse_are_exact_in_every_script(desk: Desk) -> None:
    passages = [
        "Dogs travel free",
        "👩‍👩‍👧 and 🏴󠁧󠁢󠁳󠁣󠁴󠁿 flags",
        "一百二十级台阶",
        "العبّارة ظهراً",
        "alert(1)></script><script>",
    ]
    for number, words in enumerate(passages, start=1):
        desk.drag(words)
        desk.page.click("#selection .main-b")
        assert len(desk.spans) == number
    assert sorted(desk.spans) == sorted(passages)
    assert desk.page.evaluate(SHOWN) == TEXT
    desk.page.click("#marks li:nth-child(2) button")
    assert sorted(desk.spans) == sorted(each for each in passages if "flags" not in each)


def test_a_passage_over_two_lines_and_one_that_joins_others(desk: Desk) -> None:
    start = TEXT.index("free of charge.\n")
    desk.page.evaluate("([a, b]) => select(a, b)", [start, TEXT.index("and")])
    desk.page.keyboard.press("d")
    desk.page.keyboard.press("Enter")
    assert desk.spans == [TEXT[start : TEXT.index("and")]]
    desk.drag("travel free")
    desk.page.click("#selection .main-b")
    assert desk.spans == [TEXT[TEXT.index("travel") : TEXT.index("and")]]


def test_passages_marked_with_the_keyboard_alone(desk: Desk) -> None:
    keys = desk.page.keyboard
    desk.go_to(TEXT.index("👩‍👩‍👧"))
    keys.press("Shift+ArrowRight")  # one character as people see it, five as they are counted
    keys.press("Enter")
    assert desk.spans == ["👩‍👩‍👧"]
    desk.go_to(TEXT.index("狗免费"))
    keys.press("s")
    keys.press("Enter")
    assert desk.spans[1] == "狗免费乘船。"
    desk.go_to(TEXT.index(ARABIC))
    for _ in range(5):
        keys.press("Shift+ArrowLeft")  # onwards, where it is written from right to left
    keys.press("Enter")
    assert desk.spans[2] == "تغادر"
    desk.go_to(TEXT.index("The ferry"))
    keys.press("Control+Shift+ArrowRight")
    keys.press("Escape")
    assert len(desk.spans) == 3
    desk.go_to(TEXT.index("👩‍👩‍👧"))
    keys.press("Delete")
    assert desk.spans == ["狗免费乘船。", "تغادر"]
    keys.press("Escape")
    assert desk.page.evaluate("document.activeElement.className") == "q"


def test_an_answer_is_rated_by_keys_and_the_next_item_comes(desk: Desk) -> None:
    keys = desk.page.keyboard
    for key in "54321":
        keys.press(key)
    keys.press(".")
    keys.press("u")
    keys.press("y")
    keys.press("n")
    desk.page.fill("#note", "Cats are not in it.")
    desk.page.click("h2.q")
    keys.press("Enter")
    desk.page.wait_for_selector("html[data-ready=q2]")
    record = desk.written["answer"]
    assert record["quality_scores"] == {
        "completeness": 1.0, "accuracy": 0.75, "relevance": 0.5, "clarity": 0.25, "conciseness": 0.0
    }  # fmt: skip
    assert record["overall_score"] == 0.5
    assert [each["text"] for each in record["unsupported_sentences"]] == [ANSWER[37:]]
    assert [each["supports"] for each in record["citation_verdicts"]] == ["yes", "no"]
    assert (record["faithfulness"], record["citation_correctness"]) == (0.5, 0.5)
    assert record["justification"] == "Cats are not in it."
    assert record["metadata"]["finished"] is True
    assert 0 < record["metadata"]["annotation_time_seconds"] < 60
    assert desk.page.text_content("#progress-title") == "1 of 2 done"


def test_keys_label_answers_one_by_one(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    keys, page = desk.page.keyboard, desk.page
    assert page.locator("#work .contexts li").first.is_visible()
    keys.press("c")
    page.wait_for_selector("html[data-ready=q2]")
    assert page.text_content("#progress-title") == "1 of 2 done"
    keys.press("w")
    page.wait_for_function("() => DATA.items[1].finished")
    keys.press("k")
    page.wait_for_selector("html[data-ready=q1]")
    assert page.get_attribute("[data-f='label correct']", "aria-pressed") == "true"
    keys.press("c")
    page.wait_for_selector("[data-f='label correct'][aria-pressed=false]")
    page.wait_for_function("() => telling.then(() => true)")
    found = [(each.answer, each.state) for each in read_labels(tmp_path / "answers" / "labels.jsonl")]
    assert found == [(ANSWER, "correct"), (ANSWER, "wrong"), (ANSWER, None)]


def test_hostile_text_shows_as_it_is(desk: Desk) -> None:
    assert HOSTILE in desk.page.text_content("h2.q")
    assert HOSTILE in desk.page.text_content(".doc")
    assert "<b>each</b>" in desk.page.text_content(".said")
    assert desk.page.evaluate("document.querySelectorAll('img, .doc script, .doc b').length") == 0


@pytest.mark.parametrize(("width", "scheme"), [(380, "light"), (1440, "dark")])
def test_axe_finds_nothing_serious_and_nothing_exceeds_the_page(desk: Desk, width: int, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    desk.page.emulate_media(color_scheme=scheme)
    desk.page.set_viewport_size({"width": width, "height": 900})
    desk.drag("Dogs travel free")
    desk.page.click("#selection .main-b")
    found = axe.run(desk.page).response["violations"]
    assert [each for each in found if each["impact"] in ("serious", "critical")] == []
    assert desk.page.evaluate("document.documentElement.scrollWidth") <= width


def test_what_could_not_be_written_is_said_and_kept(desk: Desk) -> None:
    desk.page.keyboard.press("5")
    assert desk.written
    folder = desk.file.parent
    aside = folder.rename(folder.with_name("aside"))
    folder.write_text("a file where the folder was")
    desk.page.keyboard.press("4")
    desk.page.wait_for_selector("#saved.failed")
    assert "Not saved: " in desk.page.text_content("#saved")
    folder.unlink()
    aside.rename(folder)
    desk.page.keyboard.press("3")
    assert desk.written["answer"]["quality_scores"] == {
        "completeness": 1.0,
        "accuracy": 0.75,
        "relevance": 0.5,
    }
