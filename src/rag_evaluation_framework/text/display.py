"""The display of a record: a line or two for ``repr``, and pieces of HTML for a notebook.

HTML is put together from elements. Everything else is text and is escaped, so that nothing
people or systems wrote can become markup. There is no script in it, and its styles hold inside it alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from reprlib import Repr
from typing import Any

_LONGEST_REPR = 600
_REPR = Repr()
_REPR.maxlevel, _REPR.maxdict, _REPR.maxset, _REPR.maxfrozenset = 3, 4, 3, 3
_REPR.maxlist, _REPR.maxtuple, _REPR.maxstring, _REPR.maxother = 3, 3, 80, 160


def short_repr(record: Any) -> str:
    """Write a record as its class and fields: many values as the first few, long texts by their ends."""
    names = getattr(record, "__struct_fields__", None) or record.__dataclass_fields__
    told = ", ".join(f"{name}={_REPR.repr(getattr(record, name))}" for name in names)
    return (
        f"{type(record).__qualname__}({told if len(told) <= _LONGEST_REPR else f'{told[:_LONGEST_REPR]}…'})"
    )


def short_text(text: str, characters: int = 80) -> str:
    """Return a text in one line, its beginning if it is long, without anything that cannot be shown.

    >>> short_text("How long is a\\nten-trip card valid?", 20)
    'How long is a ten-t…'
    """
    line = " ".join("".join(each if each.isprintable() else " " for each in text[: 4 * characters]).split())
    return line if len(line) <= characters and len(text) <= 4 * characters else f"{line[: characters - 1]}…"


def duration(seconds: float) -> str:
    """Write a time for people: ``141 ms``, ``2.4 s``, ``3 min 10 s``, ``2 h 5 min``."""
    if seconds < 1:
        return f"{round(seconds * 1000)} ms"
    if seconds < 59.5:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


class Html(str):
    """A piece of HTML, in which every text is escaped."""

    __slots__ = ()


def element(name: str, *inside: str | None, **attributes: object) -> Html:
    """Return an element with what is inside it; an attribute that is ``None`` is left out.

    ``class_`` stands for ``class``, and ``stroke_width`` for ``stroke-width``.

    >>> element("b", "1 < 2", element("i", "so"), class_="note")
    '<b class="note">1 &lt; 2<i>so</i></b>'
    """
    told = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_escaped(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Html(f"<{name}{told}>{together(inside)}</{name}>")


def together(pieces: Iterable[str | None]) -> Html:
    """Return pieces one after the other; what is not HTML is escaped."""
    return Html("".join(each if isinstance(each, Html) else _escaped(each) for each in pieces if each))


def marked(text: str, marks: Iterable[tuple[int, int]]) -> Html:
    """Return a text whose characters from and to are marked."""
    pieces: list[str] = []
    done = 0
    for start, end in sorted(marks):
        if done <= start < end <= len(text):
            pieces += [text[done:start], element("mark", text[start:end])]
            done = end
    return together([*pieces, text[done:]])


def people_text(text: str | Html, characters: int = 600, **attributes: object) -> Html:
    """Return what a person or a system wrote, in a direction of its own; the beginning of a long text."""
    is_cut = not isinstance(text, Html) and len(text) > characters
    return element("span", f"{text[:characters]}…" if is_cut else text, dir="auto", **attributes)


def labelled(label: str, *inside: str) -> Html:
    """Return a line of a list of labels, with what stands beside it."""
    return together([element("dt", label), element("dd", *inside)])


def display(*inside: str | None) -> Html:
    """Return what a notebook shows: the pieces, with styles that hold for them alone."""
    return element("div", Html(f"<style>{_STYLES}</style>"), *inside, class_="rag-eval")


def _escaped(text: str) -> str:
    """Escape a text; half a character, which no notebook can save, and a NUL become a replacement."""
    return escape(text.encode("utf-8", "replace").decode().replace("\0", "\ufffd"))


# Ink and ground are the notebook's own, whichever theme it has; the two colours reach a contrast of 4.5 on
# white as well as on black. The class stands three times so that a notebook's styles of tables, which are
# more exact than one class, do not win.
_STYLES = """
@{font:14px/1.45 system-ui,sans-serif;max-width:60rem;text-align:left}
@ p{margin:4px 0}
@ .dim{opacity:.75}
@ .beside{margin-left:12px}
@ .word{font-weight:700}
@ .bad{color:#c95510}
@ .good,@ .data{color:#2b7fc4}
@ table{border-collapse:collapse;border:0;margin:6px 0;font:inherit;table-layout:auto}
@ tr,@ tr:nth-child(odd),@ tr:nth-child(even),@ tr:hover{background:none}
@ th,@ td{border:0;border-bottom:1px solid rgba(128,128,128,.3);padding:3px 14px 3px 0;text-align:left;
vertical-align:baseline;white-space:normal;max-width:none}
@ th{font-weight:400;opacity:.75}
@ .number{text-align:right;font-variant-numeric:tabular-nums lining-nums;white-space:nowrap}
@ svg{vertical-align:middle;overflow:visible}
@ svg .track{stroke:rgba(128,128,128,.5)}
@ svg .limit{stroke:#808080}
@ svg text{fill:currentColor;font-size:12px}
@ details{margin:2px 0;border-bottom:1px solid rgba(128,128,128,.3);padding:3px 0}
@ summary{cursor:pointer}
@ dl{display:grid;grid-template-columns:max-content 1fr;gap:2px 14px;margin:4px 0 8px 16px}
@ dt{opacity:.75;font-weight:400;margin:0}
@ dd{margin:0;overflow-wrap:anywhere}
@ dd span[dir]{font-family:Georgia,"Noto Serif CJK SC",serif;font-size:15px}
@ ol{margin:0;padding-left:20px}
@ mark{background:none;color:inherit;text-decoration:underline wavy #c95510;text-underline-offset:3px}
@ code{font-size:12px;background:none;padding:0;overflow-wrap:anywhere}
""".replace("@", ".rag-eval.rag-eval.rag-eval").replace("\n", "")
