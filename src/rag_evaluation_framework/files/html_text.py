"""The text a reader sees of an HTML page, in paragraphs and lines."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html.parser import HTMLParser

_WHITE_SPACE = re.compile(r"\s+")
# What a browser does not show; the title goes with the page's name.
_HIDDEN = frozenset({"script", "style", "template", "title"})
_PARAGRAPHS = frozenset(
    {
        "address",
        "article",
        "aside",
        "blockquote",
        "dl",
        "fieldset",
        "figure",
        "footer",
        "form",
        "header",
        "hr",
    }
    | {"h1", "h2", "h3", "h4", "h5", "h6", "main", "nav", "ol", "p", "pre", "section", "table", "ul"}
)
_LINES = frozenset({"br", "caption", "dd", "div", "dt", "figcaption", "li", "option", "summary", "tr"})
_CELLS = frozenset({"td", "th"})


@dataclass(frozen=True, slots=True)
class HtmlPage:
    """A page's text and, where it has one, its title."""

    text: str
    title: str | None


def read_html(source: str) -> HtmlPage:
    """Take the text out of HTML: blocks on lines of their own, cells after tabs, ``pre`` as it is written.

    >>> read_html("<title>T</title><h1>Head</h1><p>Fish &amp;\\n chips<br>x<script>y</script>")
    HtmlPage(text='Head\\n\\nFish & chips\\nx', title='T')
    """
    collector = _Collector()
    collector.feed(source)
    collector.close()
    title = _WHITE_SPACE.sub(" ", "".join(collector.title)).strip()
    return HtmlPage("".join(collector.parts).strip(), title or None)


class _Collector(HTMLParser):
    """Collects shown text; breaks between blocks are remembered until text follows."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.title: list[str] = []
        self._titled = False  # pictures have titles too, later in the page
        self._hidden: list[str] = []
        self._preformatted = 0
        self._breaks = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _HIDDEN:
            self._hidden.append(tag)
        self._preformatted += tag == "pre"
        self._break(tag)
        if tag in _CELLS and self.parts and not self._breaks:
            self.parts.append("\t")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._break(tag)

    def handle_endtag(self, tag: str) -> None:
        self._titled = self._titled or tag == "title"
        if tag in self._hidden:
            del self._hidden[self._hidden.index(tag) :]
        self._preformatted = max(self._preformatted - (tag == "pre"), 0)
        self._break(tag)

    def handle_data(self, data: str) -> None:
        if self._hidden:
            if self._hidden == ["title"] and not self._titled:
                self.title.append(data)
            return
        if not self._preformatted:
            data = _WHITE_SPACE.sub(" ", data)
            if self._breaks or not self.parts or self.parts[-1][-1].isspace():
                data = data.lstrip()
        if not data:
            return
        if self._breaks and self.parts:
            self.parts[-1] = self.parts[-1].rstrip()
            self.parts.append("\n" * self._breaks)
        self._breaks = 0
        self.parts.append(data)

    def _break(self, tag: str) -> None:
        if tag in _PARAGRAPHS:
            self._breaks = 2
        elif tag in _LINES:
            self._breaks = max(self._breaks, 1)
