"""The system under test from one text: a URL, a function, a file, or a specification.

===================================================  ==========================================
``http://localhost:4000``                            an agent
``package.module:function``                          a Python function
``answers.jsonl``                                    recorded answers
``openai(model="m", base_url="http://host/v1")``     a model; ``http``, ``python`` and ``recorded`` too
===================================================  ==========================================

Installed packages add names through the entry points ``rag_evaluation_framework.targets``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from rag_evaluation_framework.errors import shown
from rag_evaluation_framework.extensions import Registry, Target
from rag_evaluation_framework.specifications import built, parse_specification

TARGETS: Registry[Callable[..., Target]] = Registry("target")
TARGETS.register("http", "rag_evaluation_framework.adapters.http_agent:HttpAgent")
TARGETS.register("openai", "rag_evaluation_framework.adapters.openai_model:OpenAIModel")
TARGETS.register("python", "rag_evaluation_framework.adapters.python_callable:PythonCallable")
TARGETS.register("recorded", "rag_evaluation_framework.adapters.recorded_answers:RecordedAnswers")

_FUNCTION = re.compile(r"[^\W\d][\w.]*:[^\W\d][\w.]*\Z")
_RECORDED_SUFFIXES = (".jsonl", ".jsonl.gz", ".jsonl.zst", ".ndjson")


def target_from(text: str) -> Target:
    """Return the target a text stands for."""
    text = text.strip()
    if text.startswith(("http://", "https://")):
        return TARGETS.get("http")(text)
    if text.lower().endswith(_RECORDED_SUFFIXES) or ("(" not in text and Path(text).is_file()):
        return TARGETS.get("recorded")(text)
    if _FUNCTION.match(text):
        return TARGETS.get("python")(text)
    specification = parse_specification(text)
    build = TARGETS.get(specification.name)
    return built(build, specification.arguments, of=f"target {shown(text)}")
