"""Evaluation data as compressed bytes and back, in memory."""

from __future__ import annotations

import json
from typing import Any

from rag_evaluation_framework.errors import InputError, Issue, shown
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.files.compression import Limits, compress, read_bytes, recognise

# The whole dataset stands in memory afterwards, several times as large, so less is allowed than on the disk.
IN_MEMORY_LIMITS = Limits(max_bytes=2 << 30)


class DataCompressor:
    """Handles compression and decompression of evaluation data."""

    @staticmethod
    def compress_evaluation_data(data: dict[str, Any], compression_level: int = 6) -> bytes:
        """Compress evaluation data with gzip, level 0 to 9; the same data give the same bytes."""
        return compress(strict_json.encode(data), "gzip", level=compression_level)

    @staticmethod
    def decompress_evaluation_data(
        compressed_data: bytes, *, limits: Limits = IN_MEMORY_LIMITS
    ) -> dict[str, Any]:
        """Decompress evaluation data, gzip or Zstandard.

        Data that expand beyond the limits (a "zip bomb") are a ``LimitExceededError`` after a few megabytes.
        """
        if recognise(compressed_data[:4]) is None:
            found = shown(compressed_data[:8])
            raise InputError([Issue("not-compressed", "gzip or Zstandard data", found)])
        value = strict_json.decode(read_bytes(compressed_data, limits=limits))
        if not isinstance(value, dict):
            raise InputError([Issue("wrong-type", "an object", shown(value))])
        return value

    @staticmethod
    def estimate_compression_ratio(original_data: dict[str, Any]) -> float:
        """Return how many times smaller the compressed data are than what ``json.dumps`` writes."""
        compressed_size = len(DataCompressor.compress_evaluation_data(original_data))
        return len(json.dumps(original_data).encode()) / compressed_size
