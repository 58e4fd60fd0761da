"""Checks the records of the splits against their manifest, and folders of text for what cannot be read."""

from __future__ import annotations

from rag_evaluation_framework.cli.check_corpus import main

if __name__ == "__main__":
    main()
