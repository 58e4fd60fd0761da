"""Seed 003 from top to bottom: the golden sets, with the comments that the seed has in them."""

from __future__ import annotations

from pathlib import Path

from following import chapter, sh, tree, write
from format_examples import GOLDEN_FACTUAL, GOLDEN_RELATIONSHIP, GOLDEN_TRACKING  # as the seed has them

from cases import tables_beside

TABLES = tables_beside(__file__)

chapter("1. Directory Structure")
sh("rag-eval init --golden begun")
tree("begun/evaluation")

chapter("2.1 factual_qa.json")
write("evaluation/datasets/factual_qa.json", GOLDEN_FACTUAL)

chapter("2.2 relationship_qa.json")
write("evaluation/datasets/relationship_qa.json", GOLDEN_RELATIONSHIP)

chapter("2.3 tracking_qa.json")
write("evaluation/datasets/tracking_qa.json", GOLDEN_TRACKING)

chapter("2.4 multiturn_qa.json")
write("evaluation/datasets/multiturn_qa.json", TABLES["multiturn"])

chapter("2.5 boundary_qa.json")
write("evaluation/datasets/boundary_qa.json", TABLES["boundary"])

chapter("The sets, checked")
sh("rag-eval validate evaluation/datasets")

chapter("The system, put to them")
write("assistant_zh.py", TABLES["assistant"])
sh(
    "rag-eval golden . --target assistant_zh:answer --threshold entity_coverage=0.8 --out all.results.json",
    first=1,
)
sh("rag-eval golden . --target assistant_zh:answer --split boundary", first=1)
write("assistant_zh2.py", "def answer(question, history=()):\n    return '我无法回答这个问题。'\n")
sh("rag-eval golden . --target assistant_zh2:answer --threshold over_refusal<=0.1", first=1)

chapter("Contexts are found in the text, also where no file is named")
write(
    "Data/natlan/chapter1_dialogue.txt",
    "流泉之众/聚落中心\n玛拉妮：我最喜欢去海里探险了！\n竞技场\n恰斯卡与卡齐娜并肩作战。\n庆功宴\n她们一起举杯。\n",
)
contexts = Path("evaluation/datasets/relationship_qa.json").read_text(encoding="utf-8")
first, second = '"snippet": "并肩作战"', '"snippet": "一起举杯"'
contexts = contexts.replace('"snippet": "..."', first, 1).replace('"snippet": "..."', second, 1)
write("evaluation/datasets/relationship_qa.json", contexts)
sh("rag-eval retrieval Data --glob **/*.txt --dataset evaluation/datasets/relationship_qa.json", first=1)
