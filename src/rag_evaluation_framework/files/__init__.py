"""Bytes on disk: atomic writes, bounded decompression, strict JSON, JSON lines, YAML with line numbers."""
