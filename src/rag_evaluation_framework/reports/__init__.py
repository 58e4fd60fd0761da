"""Summaries to what people read."""
