"""Know how good a retrieval-augmented assistant is, where it fails, and whether a change helped.

Everything meant to be used is importable from here and loads when it is first touched, so importing the
package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rag_evaluation_framework.version import __version__

if TYPE_CHECKING:
    from rag_evaluation_framework.errors import InputError as InputError
    from rag_evaluation_framework.errors import Issue as Issue
    from rag_evaluation_framework.errors import Location as Location
    from rag_evaluation_framework.errors import RagEvalError as RagEvalError
    from rag_evaluation_framework.errors import UsageError as UsageError
    from rag_evaluation_framework.extensions import Chunker as Chunker
