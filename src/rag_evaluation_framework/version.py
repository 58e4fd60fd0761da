"""The version, alone, so that packaging can read it without importing anything."""

__version__ = "2.0.0.dev0"

FORMAT_VERSION = 2
"""The format of the files that this version keeps. It reads those of every version before it."""
