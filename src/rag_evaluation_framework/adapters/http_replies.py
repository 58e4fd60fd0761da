"""From a reply's bytes to the JSON value it holds, or to the failure that says why there is none."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

from rag_evaluation_framework.adapters.http_client import Reply
from rag_evaluation_framework.adapters.http_status import quoted, status_failure
from rag_evaluation_framework.adapters.masking import unmasked
from rag_evaluation_framework.errors import TargetError

_decoder = msgspec.json.Decoder()

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_CHARSET = re.compile(r"charset\s*=\s*\"?([\w.:-]{1,40})", re.IGNORECASE | re.ASCII)
# JSON is UTF-8 (RFC 8259). Where the bytes are not, a character set that was declared is believed, if it
# is one of those in use on the web; others of Python's codecs take quadratic time or do more than decode.
_KNOWN_CHARSETS = re.compile(
    r"(utf-?16(le|be)?|utf-?32(le|be)?|iso-?8859-?\d+|latin-?1|windows-?125\d|cp125\d|gbk|gb2312|gb18030|big5"
    r"|shift[_-]?jis|euc-?jp|euc-?kr|koi8-?[ru])\Z",
    re.IGNORECASE,
)


def reply_value(reply: Reply, *, url: str, mask: Callable[[str], str]) -> Any:
    """Return the JSON value of a reply; any other reply raises a :class:`TargetError` that says what it was.

    ``mask`` hides secrets, in what an error quotes and in every string of the value.
    """
    failure = status_failure(reply, url=url, mask=mask)
    if failure is not None:
        raise failure
    body = reply.body.removeprefix(_BYTE_ORDER_MARK)
    if not body.strip():
        raise TargetError("empty-reply", f"expected JSON, got status {reply.status} and no body")
    if body.lstrip()[:1] == b"<":
        raise TargetError("html-page", f"expected JSON, got a page: {quoted(body, mask)}")
    try:
        return masked(_decoder.decode(_utf8(body, reply.headers.get("content-type", ""))), mask)
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        reason = str(error) if isinstance(error, msgspec.DecodeError) else type(error).__name__
        message = f"expected JSON, got {quoted(body, mask)} ({reason})"
        raise TargetError("malformed-json", message, retry=True) from None


def masked(value: Any, mask: Callable[[str], str]) -> Any:
    """Return a JSON value with secrets hidden in each of its strings."""
    if mask is unmasked:
        return value
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, list):
        return [masked(item, mask) for item in value]
    if isinstance(value, dict):
        return {mask(key): masked(item, mask) for key, item in value.items()}
    return value


def _utf8(body: bytes, content_type: str) -> bytes:
    """Return the body as UTF-8, or raise a ``TargetError`` when no character set fits."""
    try:
        body.decode("utf-8")
    except UnicodeDecodeError as error:
        declared = _CHARSET.search(content_type)
        name = declared[1] if declared else "utf-8"
        recoded = _recoded(body, name)
        if recoded is None:
            found = f"byte 0x{body[error.start]:02x} at {error.start} (declared: {name})"
            raise TargetError("wrong-charset", f"expected UTF-8, got {found}") from None
        return recoded
    return body


def _recoded(body: bytes, charset: str) -> bytes | None:
    if not _KNOWN_CHARSETS.match(charset):
        return None
    try:
        return body.decode(charset).encode("utf-8")
    except (UnicodeError, LookupError):
        return None
