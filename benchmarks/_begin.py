"""BEGIN: dialogue answers that are fully attributable to what the speaker knew, or not.

Coefficients are fitted on half of them, by the text known; figures are of models fitted without any of a part
(``_support_fit``). Generic answers, which say nothing to attribute, are left out.
"""

from __future__ import annotations

import csv
from pathlib import Path

PARTS = {"cmu": "film chats", "tc": "topical chats", "wow": "Wikipedia chats"}
NOT_ATTRIBUTABLE = "Not fully attributable"
ATTRIBUTABLE = "Fully attributable"


def answers(data: Path, part: str) -> list[tuple[str, str, bool]]:
    """Return what was known, what was answered, and whether it is not attributable."""
    with (data / "begin" / f"begin_dev_{part}.tsv").open(encoding="utf-8", newline="") as lines:
        records = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [
        (record["knowledge"], record["response"], record["begin_label"] == NOT_ATTRIBUTABLE)
        for record in records
        if record["begin_label"] in (NOT_ATTRIBUTABLE, ATTRIBUTABLE)
    ]
