"""The messages that reports print, each written once."""
