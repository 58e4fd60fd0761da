"""JSON that people wrote by hand, with ``//`` comments: the comments are blanked out and reported.

A comment begins with ``//`` outside a string and runs to the end of its line. It is replaced by as many
spaces, so every position, column and line of what remains is that of the file. Only the comments are looked
at here: whether the rest is JSON is for the strict reader to say.
"""

from __future__ import annotations

import re

from rag_evaluation_framework.errors import Issue

# A string is passed over whole, escapes included. One that is never closed ends with its line, where the
# strict reader will stop. Possessive, so that no text makes the search slow.
_STRING_OR_COMMENT = re.compile(r'"[^"\\\r\n]*+(?:\\.[^"\\\r\n]*+)*+"?+|(?P<comment>//[^\r\n]*+)')


def without_comments(text: str) -> str:
    """Return the text with spaces in the place of every comment.

    >>> without_comments('{"url": "http://x"} // why')
    '{"url": "http://x"}       '
    """
    if "//" not in text:
        return text
    return _STRING_OR_COMMENT.sub(lambda found: " " * len(found[0]) if found["comment"] else found[0], text)


def comment_lines(text: str) -> list[int]:
    """Return the 1-based line of every comment."""
    if "//" not in text:
        return []
    lines: list[int] = []
    line, counted = 1, 0
    for found in _STRING_OR_COMMENT.finditer(text):
        if found["comment"]:
            line += text.count("\n", counted, found.start())
            counted = found.start()
            lines.append(line)
    return lines


def comment_issues(text: str) -> list[Issue]:
    """Return one warning where a text has comments, with the line of the first; none where it has none."""
    lines = comment_lines(text)
    if not lines:
        return []
    found = "a // comment" if len(lines) == 1 else f"{len(lines):,} // comments"
    expected = "JSON without comments (they are passed over, and lost when the file is written)"
    return [Issue("json-comment", expected, found, severity="warning", line=lines[0])]
