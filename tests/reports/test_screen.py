"""Screens fit their width in any script; figures, intervals and counts are written one way."""

from __future__ import annotations

import pytest

from cases import tables_beside
from rag_evaluation_framework.reports.blocks import (
    BAD,
    BY,
    COUNT,
    Bar,
    Column,
    Screen,
    Styled,
    by,
    cells,
    cut,
    difference,
    figure,
    interval_text,
    listed,
    measure,
    money,
    part_of,
    shortened,
    terminal_screen,
    wrapped,
)
from rag_evaluation_framework.statistics.intervals import Interval
from rag_evaluation_framework.text.display import duration

TABLES = tables_beside(__file__)


def interval(low: float, high: float) -> Interval:
    return Interval(low, high, 0.95, "wilson")


@pytest.mark.parametrize(
    ("text", "width"), [("abc", 3), ("中文", 4), ("e\u0301", 1), ("Ａ", 2), ("", 0), ("⚠️", 2)]
)
def test_width_counts_terminal_cells(text: str, width: int) -> None:
    assert cells(text) == width


@pytest.mark.parametrize(
    ("value", "ends", "bound", "written"), TABLES["figures_have_the_digits_that_tell_something"]
)
def test_figures_have_the_digits_that_tell_something(
    value: float | None, ends: tuple[float, float] | None, bound: float | None, written: str
) -> None:
    assert figure(value, interval(*ends) if ends else None, bound=bound) == written


@pytest.mark.parametrize(("metric", "value", "written"), TABLES["what_has_a_unit_is_written_with_it"])
def test_what_has_a_unit_is_written_with_it(metric: str, value: float | None, written: str) -> None:
    assert measure(metric, value) == written


def test_intervals_differences_times_and_money() -> None:
    assert interval_text(interval(0.74, 1.0), 1.0) == "[0.74, 1.00]"
    assert interval_text(interval(0.605, 0.619), 0.6123) == "[0.605, 0.619]"
    assert interval_text(None, 0.5) == "n too small"
    assert interval_text(None, None) == "–"
    assert difference(-0.4545, interval(-0.73, -0.18)) == "-0.45 [-0.73, -0.18]"
    assert difference(0.0, interval(0.0, 0.0)) == "0.00"
    assert difference(-0.0001) == "0.00"
    assert [duration(each) for each in (0.1412, 2.44, 28.2, 190, 7500)] == [
        "141 ms",
        "2.4 s",
        "28 s",
        "3 min 10 s",
        "2 h 5 min",
    ]
    assert [money(each) for each in (0.1401, 1234.5, 0.00042, None)] == [
        "$0.14",
        "$1,234.50",
        "$0.00042",
        "–",
    ]


def test_counts_and_their_nouns() -> None:
    assert part_of(1, 13, "answer", "is", "are") == "1 of 13 answers is"
    assert part_of(2, 13, "answer", "is", "are") == "2 of 13 answers are"
    assert part_of(13, 13, "answer") == "all 13 answers"
    assert part_of(0, 13, "answer") == "none of 13 answers"
    assert part_of(1, 1, "answer", "is", "are") == "the one answer is"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert listed(["a"]) == "a"


@pytest.mark.parametrize(("method", "word"), TABLES["a_method_has_one_word"])
def test_a_method_has_one_word(method: str, word: str) -> None:
    assert by(method) == word


def test_sentences_wrap_at_words_with_a_hanging_indent_and_commands_so_that_a_shell_reads_them() -> None:
    screen = Screen(width=40)
    screen.say(Styled("✗ FAILED", BAD), "  6 of 13 answers got worse and none got better", hang=10)
    assert str(screen).splitlines() == [
        "✗ FAILED  6 of 13 answers got worse and",
        "          none got better",
    ]
    screen.command("Next:", f"rag-eval show 'the  answers of May.jsonl' {'r' * 40}")
    assert str(screen).endswith(" show \\\n      'the  answers of May.jsonl' \\\n      " + "r" * 40)


def test_chinese_wraps_anywhere_but_before_its_punctuation() -> None:
    text = "灯塔建于一八六一年，高三十一米。"
    lines = [text[start:end] for start, end in wrapped(text, 18)]
    assert lines == ["灯塔建于一八六一", "年，高三十一米。"]
    assert all(cells(line) <= 18 for line in lines)


def test_a_word_longer_than_a_line_is_broken_and_nothing_is_lost() -> None:
    text = "a " + "x" * 25 + " 中" * 9
    lines = [text[start:end] for start, end in wrapped(text, 10)]
    assert all(cells(line) <= 10 for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


def test_marks_stand_under_their_words_counted_in_cells() -> None:
    screen = Screen(width=30)
    text = "登塔收八镑。 A charge\tis kept back here."
    places = [(text.index(word), text.index(word) + len(word)) for word in ("八镑", "kept", "here")]
    screen.labelled("got", text, indent=2, hang=8, marks=places)
    assert str(screen).splitlines() == [
        "  got   登塔收八镑。 A charge",
        "              ~~~~",
        "        is kept back here.",
        "           ~~~~      ~~~~",
    ]


def test_a_long_text_is_cut_after_some_lines() -> None:
    screen = Screen(width=30)
    screen.labelled("got", "word " * 100, hang=8, lines=2)
    assert str(screen).splitlines() == ["got     word word word word", "        word word word word …"]


def test_columns_leave_in_their_order_and_figures_are_never_cut() -> None:
    columns = [
        Column("metric", flexible=True),
        Column("value", right=True),
        Column("answers", right=True, leaves=COUNT),
        Column("by", leaves=BY),
        Column("it says", joins=140),
    ]
    rows = [["faithfulness", "0.95", "11", "words", "supported"], ["登塔", "1.00", "2", "exact", ""]]

    def drawn(width: int) -> list[str]:
        screen = Screen(width=width)
        screen.table(columns, rows)
        return str(screen).splitlines()

    assert drawn(80) == [
        "  metric        value  answers  by",
        "  faithfulness   0.95       11  words",
        "  登塔           1.00        2  exact",
    ]
    assert drawn(36)[0] == "  metric        value  answers"
    assert drawn(28)[0] == "  metric        value"
    assert drawn(140)[1].endswith("words  supported")


def test_names_lose_their_middle_and_a_table_that_cannot_fit_becomes_lines() -> None:
    assert shortened("rag-quality-of-the-whole-of-2026", 18) == "rag-quality-…-2026"
    assert cut("登塔多少钱？", 7) == "登塔多…"
    screen = Screen(width=24)
    screen.table(["run", "dataset", "faithfulness"], [["a", "passengers", "0.95"]])
    assert str(screen).splitlines() == [
        "  run           a",
        "  dataset       passenge",
        "                rs",
        "  faithfulness  0.95",
    ]


def test_control_characters_and_bidi_never_reach_the_terminal() -> None:
    screen = Screen(color=True)
    screen.say("a\x1b[31mb\u202ec\nd [bold]e[/bold]")
    screen.labelled("got", "x\x07y\u2066z", hang=5)
    screen.table(["\x1bh"], [["c\x9b1m"]])
    shown = str(screen)
    assert "[bold]e[/bold]" in shown
    assert all(
        each.isprintable() or each == "\n" for each in shown.replace("\x1b[2m", "").replace("\x1b[0m", "")
    )


def test_colour_adds_codes_and_changes_no_letter() -> None:
    def told(*, color: bool) -> str:
        screen = Screen(color=color, width=60)
        screen.say(Styled("✗ FAILED", f"bold {BAD}"), "  2 of 13")
        screen.labelled("got", "A charge is kept", hang=6, marks=[(2, 8)])
        screen.table(["metric"], [[Styled("missed", BAD)]])
        return str(screen)

    import click

    assert click.unstyle(told(color=True)) == told(color=False)
    assert "\x1b[1;31m✗ FAILED\x1b[0m" in told(color=True)
    assert "\x1b[31mcharge\x1b[0m" in told(color=True)


def test_secrets_are_masked_before_a_line_is_broken() -> None:
    screen = Screen(width=40, mask=lambda text: text.replace("top secret key", "***"))
    screen.say("it is a long sentence and the top secret key is there", hang=4)
    screen.labelled("got", "the top secret key", hang=6, marks=[(4, 18)])
    assert "secret" not in str(screen)


@pytest.mark.parametrize(
    ("given", "width", "color", "plain"), TABLES["the_screen_fits_where_the_output_goes"]
)
def test_the_screen_fits_where_the_output_goes(
    given: dict[str, object], width: int, color: bool, plain: bool
) -> None:
    screen = terminal_screen(**{"encoding": "utf-8", "environment": {}, **given})  # type: ignore[arg-type]
    assert (screen.width, screen.color, screen.plain) == (width, color, plain)


def test_plain_screens_have_plain_characters() -> None:
    screen = Screen(plain=True)
    screen.say("a → b ▸ c … ─")
    assert str(screen) == "a -> b > c ... -"
    for look, drawn in (({"plain": True}, "##"), ({"plain_bars": True}, "##"), ({}, "██▎")):
        screen = Screen(**look)
        screen.say(Bar(0.55, 4))
        assert str(screen).endswith(drawn)
