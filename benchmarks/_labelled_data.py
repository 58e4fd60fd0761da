"""Where the labelled data is that agreement with people is measured on; it is no part of the repository."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

FOLDER_VARIABLE = "RAG_EVAL_LABELLED_DATA"


def labelled_data(environment: Mapping[str, str]) -> Path:
    """Return the folder that ``RAG_EVAL_LABELLED_DATA`` names, else ``shared/data`` beside the checkout."""
    named = environment.get(FOLDER_VARIABLE)
    return Path(named) if named else Path(__file__).parents[2] / "shared" / "data"


DATA = labelled_data(os.environ)
