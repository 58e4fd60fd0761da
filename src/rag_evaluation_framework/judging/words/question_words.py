"""The words by which a question asks for more than a yes or no, as expressions for comparable texts."""

from __future__ import annotations

QUESTION_WORDS = "what|who|whom|whose|which|where|when|why|how"
CHINESE_QUESTION_WORDS = "什么|谁|哪(?!怕)|(?<!任)何|几(?!乎)|多少|怎[么样]"
"""Not those of 哪怕, 任何 and 几乎, which ask nothing."""
