"""Asks models behind an OpenAI-compatible endpoint the samples of a split, and shows them side by side."""

from __future__ import annotations

from rag_evaluation_framework.cli.evaluate_models import main

if __name__ == "__main__":
    main()
