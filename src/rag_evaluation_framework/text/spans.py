"""Spans of a text: where something starts and ends."""

from __future__ import annotations

from typing import TypeAlias

SpanList: TypeAlias = list[tuple[int, int]]
