"""Agreement of the offline methods with people, on labelled data that was not tuned on."""

from __future__ import annotations

from importlib import import_module

from benchmarks._figures import print_figures
from benchmarks._labelled_data import DATA

# Each module has rows(data); those whose data is absent give none.
MODULES = {
    "hallucination screening, RAGTruth": "_ragtruth",
    "support of claims, WiCE": "_wice",
    "attribution in dialogue, BEGIN": "_begin",
    "sentences of summaries, Falke": "_falke",
    "answers against references": "_answers",
    "refusals and not knowing": "_refusals",
    "refusals, PyRIT": "_pyrit",
    "sentence boundaries": "_sentences",
    "sentence boundaries, Brown corpus": "_brown",
    "what was written by somebody who had not seen the rules": "_unseen",
    "profanity screen": "_toxicity",
    "lexical relevancy, ALCE": "_relevancy",
}


def main() -> None:
    for title, name in MODULES.items():
        figures = import_module(f"benchmarks.{name}").rows(DATA)
        print_figures(title, figures) if figures else print(f"{title}: no data")


if __name__ == "__main__":
    main()
