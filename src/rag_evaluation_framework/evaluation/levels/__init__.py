"""Retrieval evaluated at chunk level, token level and document level."""
