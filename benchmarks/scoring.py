"""Agreement of the offline methods with people, on labelled data that was not tuned on.

``make cards`` measures the same for the cards alone, and writes them.
"""

from __future__ import annotations

from benchmarks import _brown, _pyrit, _sentences, _unseen
from benchmarks._figures import print_figures
from benchmarks._labelled_data import DATA
from benchmarks.cards import CARDS

OTHERS = {
    "refusals, PyRIT": _pyrit.rows,
    "sentence boundaries": _sentences.rows,
    "sentence boundaries, Brown corpus": _brown.rows,
    "what was written by somebody who had not seen the rules": _unseen.rows,
}


def main() -> None:
    on_cards = {
        f"{card}: {', '.join(prefixes)}": rows
        for card, sources in CARDS.items()
        for prefixes, rows in sources.items()
    }
    for title, rows in (on_cards | OTHERS).items():
        figures = rows(DATA)
        print_figures(title, figures) if figures else print(f"{title}: no data")


if __name__ == "__main__":
    main()
