"""One generation over a folder, in a process of its own: ``python -m benchmarks._synthesis_run FOLDER``."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from benchmarks._memory import peak_megabytes
from rag_evaluation_framework.records.documents import Corpus
from rag_evaluation_framework.synthesis.extractive import generate_extractively
from rag_evaluation_framework.synthesis.generated_datasets import write_generated


def main() -> None:
    folder = Path(sys.argv[1])
    begun = time.process_time()
    corpus = Corpus.from_folder(folder / "documents")
    dataset = generate_extractively(corpus, queries_per_doc=5).dataset
    write_generated(dataset, folder / "questions.eval.json", dialect="evaluation-dataset")
    print(len(dataset), time.process_time() - begun, peak_megabytes())


if __name__ == "__main__":
    main()
