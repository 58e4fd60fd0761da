"""Makes the question answering and summary splits from raw offline records, as ``rag-eval build`` does."""

from __future__ import annotations

import sys

from rag_evaluation_framework.cli.main import main

if __name__ == "__main__":
    main(["build", *sys.argv[1:]])
