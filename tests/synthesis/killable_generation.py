"""A generation in a process of its own, made to be killed: ``killable_generation.py OPTIONS_AS_JSON``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from scripted_questions import corpus_of

from rag_evaluation_framework.adapters.openai import OpenAIChatModel
from rag_evaluation_framework.datasets.evaluation_sets import EVALUATION_SETS
from rag_evaluation_framework.synthesis.generation import generate_with_model
from rag_evaluation_framework.synthesis.question_plan import QuestionSettings

DOCUMENTS = 40
CONCURRENCY = 8
SETTINGS: dict[str, Any] = {"queries_per_doc": 3, "queries_across_docs": 20, "unanswerable_per_doc": 1}


def main(options: dict[str, Any]) -> int:
    with OpenAIChatModel("scripted", base_url=options["url"]) as model:
        generation = generate_with_model(
            corpus_of(DOCUMENTS),
            model,
            QuestionSettings(seed=3, **SETTINGS),
            run_folder=options["run"],
            concurrency=CONCURRENCY,
        )
    if generation.dataset is None:
        return 3
    EVALUATION_SETS.write(generation.dataset, Path(options["output"]))
    return 0


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
