"""A report as one file: a page of a run, of a sweep, or of several runs compared; nothing in it is loaded.

``page(evaluation)`` is the whole file as text. Verdict, leads and figures stand in the HTML itself; what the
script draws is data beside it, compressed where it is large. A content-security policy allows the one style
and the one script that are in the file, by their hashes, and nothing else.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

from rag_evaluation_framework.errors import UsageError, counted
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.files.access import read_text
from rag_evaluation_framework.judging.verdict import name_of_state
from rag_evaluation_framework.records.scores import PART_OF_KIND
from rag_evaluation_framework.reports import blocks
from rag_evaluation_framework.reports.facts import verdict_of
from rag_evaluation_framework.reports.messages.comparison_sentences import short_names, trait_sentence
from rag_evaluation_framework.reports.messages.verdict_sentences import name_kind
from rag_evaluation_framework.reports.page_texts import PageTexts
from rag_evaluation_framework.reports.run_page import GRADE_TONES, MARKS, TONES, run_view
from rag_evaluation_framework.reports.several_runs_page import MOVEMENTS, comparison_view, sweep_view
from rag_evaluation_framework.results.evaluations import Evaluation
from rag_evaluation_framework.results.movements import REGRESSIONS
from rag_evaluation_framework.results.run_store import CELLS
from rag_evaluation_framework.version import __version__

FOLDER = Path(__file__).with_name("pages")
_STYLES = ("look.css",)
_SCRIPTS = ("base.js", "run.js", "comparison.js", "sweep.js", "start.js")
_PACKED_FROM = 1_000_000
# JSON stands inside a script element: nothing in it may end the element, or a line of an old script.
_ESCAPED = {"<": "\\u003c", "\u2028": "\\u2028", "\u2029": "\\u2029"}

_KEYS = {
    "/": "search",
    "j k": "next and previous answer",
    "Enter": "open the answer",
    "Esc": "back to the table, or clear the search",
    "f": "show the wrong answers only, or all",
    "n": "next expected passage in the document",
    "1 … 9": "the passage of that rank, in the document",
    " ".join(MOVEMENTS.values()): ", ".join(MOVEMENTS),
    "m": "next metric",
    "?": "list of keys",
}


def render(evaluation: Evaluation) -> str:
    """Render one evaluation as a page."""
    return page([evaluation])


def page(evaluations: Sequence[Evaluation], *, force: bool = False) -> str:
    """Return the page of one evaluation, or of several: the others compared with the first, then each.

    Runs over other data, or scored in another way, are refused with the reason, unless ``force``.
    """
    return report_page(evaluations, force=force).text


def report_page(
    evaluations: Sequence[Evaluation], *, force: bool = False, home: str | None = None
) -> FilledPage:
    """Return the same page with its policy; ``home`` is where its name leads, where it is one of many."""
    if not evaluations:
        raise UsageError("report: no evaluation given")
    texts = PageTexts()
    views: list[dict[str, Any]] = []
    if len(evaluations) > 1:
        views.append(comparison_view(evaluations, first_view=1, force=force))
    labels = short_names([each.head.run_id for each in evaluations])
    for evaluation in evaluations:
        label = labels[evaluation.head.run_id]
        views.append(_view(evaluation, texts, number=len(views), label=label))
    data = {
        "views": [view["scripted"] for view in views],
        "texts": texts.contexts,
        "documents": texts.documents,
    }
    shown = [view["shown"] for view in views]
    return filled_page(
        "page.html",
        data,
        styles=_STYLES,
        scripts=_SCRIPTS,
        keys=_KEYS,
        title=shown[0]["title"],
        home=home,
        views=shown,
    )


def _view(evaluation: Evaluation, texts: PageTexts, *, number: int, label: str) -> dict[str, Any]:
    if CELLS in evaluation.head.configuration:
        return sweep_view(evaluation, texts, label=label)
    return run_view(evaluation, texts, number=number, label=label)


class FilledPage(NamedTuple):
    """A page as text, and the policy that it is shown under."""

    text: str
    policy: str


def filled_page(
    template: str,
    data: Mapping[str, Any],
    *,
    styles: Sequence[str],
    scripts: Sequence[str],
    keys: Mapping[str, str],
    asks_server: bool = False,
    **given: Any,
) -> FilledPage:
    """Fill a template with a style, a script and data; a page that ``asks_server`` may ask its own."""
    style, script = ("".join(read_text(FOLDER / name) for name in names) for names in (styles, scripts))
    written, is_packed = _embed_data(data)
    asked = "connect-src 'self'; " if asks_server else ""
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; {asked}"
        "base-uri 'none'; form-action 'none'"
    )
    filled = _templates().get_template(template)
    text = filled.render(
        keys=list(keys.items()),
        version=__version__,
        policy=policy,
        # Ours, and JSON that is escaped: the template puts these three in as they are.
        style=style,
        script=script,
        data=written,
        packed=is_packed,
        **{"home": None, **given},
    )
    return FilledPage(_encodable(text), policy)


@cache
def _templates() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    look: dict[str, Any] = {"trim_blocks": True, "lstrip_blocks": True}
    made = Environment(loader=FileSystemLoader(FOLDER), autoescape=True, undefined=StrictUndefined, **look)
    made.globals |= {
        "difference": blocks.difference,
        "figure": blocks.figure,
        "link": lambda **about: "#" + urlencode(about),
        "marks": MARKS,
        "meaning": blocks.meaning,
        "name_of_kind": name_kind,
        "name_of_state": name_of_state,
        "part_of_kind": PART_OF_KIND,
        "probability_text": blocks.probability_text,
        "regressions": REGRESSIONS,
        "tones": GRADE_TONES,
        "trait_sentence": trait_sentence,
    }
    return made


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _embed_data(data: Mapping[str, Any]) -> tuple[str, bool]:
    """Return the data as they stand in the page, and whether they are compressed."""
    try:
        written = strict_json.encode_unchecked(data)
    except UnicodeEncodeError:
        written = strict_json.encode_unchecked(_encodable(data))
    characters = len(written.translate(None, bytes(range(0x80, 0xC0))))  # all but what continues one
    if characters >= _PACKED_FROM:
        return base64.b64encode(gzip.compress(written, 9, mtime=0)).decode(), True
    plain = written.decode()
    for character, escaped in _ESCAPED.items():
        plain = plain.replace(character, escaped)
    return plain, False


def _encodable(value: Any) -> Any:
    """Replace what no file can hold, such as half a surrogate pair; the count of characters stays."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, Mapping):
        return {_encodable(key): _encodable(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_encodable(each) for each in value]
    return value


# A badge: the verdict as a small picture.

_COLOURS = {"yes": "#2f6b4f", "no": "#9f3a08", "un": "#555a62", "": "#0b5a9e"}
_CHARACTER = 6.6


def badge(evaluation: Evaluation) -> str:
    """Return the verdict as an SVG badge: the word of the gate or, without one, the number of answers."""
    word = verdict_of(evaluation).word
    said = counted(evaluation.counts.finished, "answer") if word == "no gate" else word
    left, right = "rag-eval", said
    widths = [round(_CHARACTER * len(text) + 12) for text in (left, right)]
    total = sum(widths)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{total}" height="20" role="img" '
        f'aria-label="{escape(left)}: {escape(right)}"><title>{escape(left)}: {escape(right)}</title>'
        f'<rect width="{widths[0]}" height="20" fill="#1b1e22"/>'
        f'<rect x="{widths[0]}" width="{widths[1]}" height="20" fill="{_COLOURS[TONES.get(word, "")]}"/>'
        '<g fill="#fff" text-anchor="middle" font-family="Verdana,Geneva,sans-serif" font-size="11">'
        f'<text x="{widths[0] / 2}" y="14">{escape(left)}</text>'
        f'<text x="{widths[0] + widths[1] / 2}" y="14">{escape(right)}</text></g></svg>\n'
    )
