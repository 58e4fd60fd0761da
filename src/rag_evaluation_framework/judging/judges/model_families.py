"""Which models are kin: a judge rates the answers of its own family better than people do."""

from __future__ import annotations

import re
from collections.abc import Iterable

# Models trained by the same house, or from the same weights. A name may belong to two families: a distilled
# model is kin to both its parents.
_FAMILIES: dict[str, re.Pattern[str]] = {
    "claude": re.compile(r"claude"),
    "cohere": re.compile(r"\b(?:command|aya|c4ai)\b"),
    "deepseek": re.compile(r"deepseek"),
    "falcon": re.compile(r"falcon"),
    "gemini": re.compile(r"gemini|gemma|\bpalm\b|bison"),
    "glm": re.compile(r"glm"),
    "gpt": re.compile(r"(?<![a-z])gpt(?!-?(?:neo|j\b))|chatgpt|davinci|\bo[1-9]\b"),
    "granite": re.compile(r"granite"),
    "grok": re.compile(r"grok"),
    "internlm": re.compile(r"internlm"),
    "jamba": re.compile(r"jamba"),
    "kimi": re.compile(r"kimi|moonshot"),
    "llama": re.compile(r"llama|vicuna|alpaca|nemotron"),
    "mistral": re.compile(r"(?:mis|minis|magis|codes|devs|mix|pix|vox)tral"),
    "nova": re.compile(r"\bnova\b"),
    "olmo": re.compile(r"\bolmo"),
    "phi": re.compile(r"\bphi(?:\b|\d)"),
    "qwen": re.compile(r"qwen|qwq|qvq"),
    "yi": re.compile(r"\byi\b"),
}
_SEPARATORS = re.compile(r"[\s_./:@]+")
# Whose names say nothing of the model: a house that hosts or tunes others' weights.
_HOUSES = re.compile(r"^(?:meta-llama|deepseek-ai|ollama|vllm|huggingface)[/:]")


def families(model: str) -> frozenset[str]:
    """Return the families of a model by its name; none where the name tells nothing.

    >>> sorted(families("deepseek-ai/DeepSeek-R1-Distill-Llama-8B"))
    ['deepseek', 'llama']
    """
    name = _SEPARATORS.sub("-", _HOUSES.sub("", model.lower()))
    return frozenset(family for family, pattern in _FAMILIES.items() if pattern.search(name))


def same_family(judge_model: str, target_model: str) -> bool:
    """Tell whether two models are kin, as far as their names tell.

    >>> same_family("gpt-4o-mini", "azure/gpt-4.1"), same_family("gpt-4o-mini", "claude-sonnet-4")
    (True, False)
    """
    is_same = judge_model.strip().lower() == target_model.strip().lower()
    return is_same or bool(families(judge_model) & families(target_model))


def kinship_warning(judge_models: Iterable[str], target_model: str) -> str | None:
    """Return what to tell a user whose judge is kin to what it judges; ``None`` where it is not."""
    kin = [model for model in judge_models if same_family(model, target_model)]
    if not kin:
        return None
    return (
        f"judge {' and '.join(kin)} is of the same family as {target_model}, which it judges: such judges "
        f"favour their kin; take one of another family, or check it against people's labels"
    )
