"""What a status means for a run: the published table of what is tried again, and ``Retry-After``.

==============================================================  ==========================================
408, 425, 429, 500, 502, 503, 504                               tried again
429, and 503 with ``Retry-After``                               and the system asks for less
a reset, a timeout, a truncated or damaged body                 tried again
a connection that cannot be made                                tried again
malformed JSON                                                  tried again once
400, 401, 403, 404, 413, 422 and every other status             final
a redirect                                                      final: it is never followed
a body over the limit, no body, no answer in it, wrong charset  final
==============================================================  ==========================================

The engine does the trying; here a failure is only named.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from urllib.parse import urljoin, urlsplit

from rag_evaluation_framework.adapters.http_client import Reply
from rag_evaluation_framework.errors import TargetError
from rag_evaluation_framework.evaluation.runs.retries import LONGEST_RETRY_AFTER

RETRIED_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})

_QUOTED_CHARACTERS = 300
_LOOKED_AT_BYTES = 8_192
_MAX_DIGITS = 300  # beyond them a float is infinite


def status_failure(
    reply: Reply, *, url: str, mask: Callable[[str], str], now: datetime | None = None
) -> TargetError | None:
    """Return the failure that a reply's status stands for, or ``None`` for a status of success.

    ``mask`` hides secrets in what is quoted of the body.
    """
    if 200 <= reply.status < 300:
        return None
    kind = f"http-{reply.status}"
    if 300 <= reply.status < 400:
        return TargetError(kind, _redirect(reply, url, mask))
    wait = retry_after(reply.headers.get("retry-after", ""), now or datetime.now(UTC))
    return TargetError(
        kind,
        _described(reply, mask),
        retry=reply.status in RETRIED_STATUSES,
        throttled=reply.status == 429 or (reply.status == 503 and wait is not None),
        retry_after=wait if reply.status in RETRIED_STATUSES else None,
    )


def retry_after(header: str, now: datetime) -> float | None:
    """Read ``Retry-After``, seconds or a date, as seconds from now, at most 60.

    A negative or unreadable value is no value; a date that has passed is 0.

    >>> noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    >>> retry_after("1.5", noon), retry_after("99999", noon), retry_after("soon", noon)
    (1.5, 60.0, None)
    >>> retry_after("Thu, 01 Jan 2026 12:00:20 GMT", noon)
    20.0
    """
    text = header.strip()
    if not text or len(text) > _MAX_DIGITS:
        return None
    if text.isascii() and text.replace(".", "", 1).isdigit():
        return min(float(text), LONGEST_RETRY_AFTER)
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return min(max((moment - now).total_seconds(), 0.0), LONGEST_RETRY_AFTER)


def quoted(body: bytes, mask: Callable[[str], str]) -> str:
    """Return the beginning of a body on one line, for a message to people, with secrets hidden."""
    # Hidden before the text is cut, so that no half of a secret is left over.
    text = " ".join(mask(body[:_LOOKED_AT_BYTES].decode("utf-8", errors="replace")).split())
    return text if len(text) <= _QUOTED_CHARACTERS else text[: _QUOTED_CHARACTERS - 1] + "…"


def _described(reply: Reply, mask: Callable[[str], str]) -> str:
    try:
        phrase = HTTPStatus(reply.status).phrase
    except ValueError:
        phrase = "a status that is not registered"
    body = quoted(reply.body, mask)
    is_text = "content-encoding" not in reply.headers and "\0" not in body
    return f"{phrase}: {body}" if body and is_text else phrase


def _redirect(reply: Reply, url: str, mask: Callable[[str], str]) -> str:
    place = reply.headers.get("location", "")
    try:
        old, new = urlsplit(url), urlsplit(urljoin(url, place))
        same = (old.scheme, old.hostname, old.port) == (new.scheme, new.hostname, new.port)
        named = f"{new.scheme}://{new.netloc.rpartition('@')[2]}{new.path}"
    except ValueError:
        return "redirects are not followed; this one leads nowhere"
    if not place:
        return "redirects are not followed; this one names no place"
    where = "elsewhere on the same origin" if same else "another origin"
    return mask(f"redirects are not followed; this one leads to {where}: {named}")
