"""The version, alone, so that packaging can read it without importing anything."""

__version__ = "2.0.0.dev0"
