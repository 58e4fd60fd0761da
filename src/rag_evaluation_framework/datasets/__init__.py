"""Dialects to records and back: one module a dialect."""
