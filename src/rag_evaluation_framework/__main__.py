"""``python -m rag_evaluation_framework``: the same as ``rag-eval``."""

from rag_evaluation_framework.cli.main import main

main()
