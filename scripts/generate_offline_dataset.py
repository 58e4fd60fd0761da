"""Writes raw records about a folder of documents: what is asked, what was retrieved, what is expected."""

from __future__ import annotations

from rag_evaluation_framework.cli.generate_offline import main

if __name__ == "__main__":
    main()
