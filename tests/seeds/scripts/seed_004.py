"""Seed 004 from top to bottom: the offline dataset, its splits and their manifest."""

from __future__ import annotations

import json
from pathlib import Path

from chat_server import running_chat
from following import ROOT, chapter, sh, tree, write

from cases import FERRIES
from rag_evaluation_framework import read_results

DATASETS = Path("evaluation", "datasets")


def first_of(name: str) -> dict[str, object]:
    record: dict[str, object] = json.loads((DATASETS / name).read_text(encoding="utf-8").splitlines()[0])
    return record


chapter("Target Artifacts")
write("documents/ferries.md", FERRIES)
configuration = (ROOT / "configs" / "default.yaml").read_text(encoding="utf-8")
write("configs/default.yaml", configuration.replace("examples/handbook/documents", "documents"))

chapter("Generation Process")
sh("python scripts/generate_offline_dataset.py")
sh("python scripts/build_evaluation_dataset.py --config configs/default.yaml")
tree("evaluation")
sh("python scripts/build_evaluation_dataset.py --config configs/default.yaml")
sh("python scripts/build_evaluation_dataset.py --config configs/default.yaml --limit 3 --version v2 --force")
sh(
    "python scripts/build_evaluation_dataset.py --offline-dataset evaluation/datasets/offline_dataset.jsonl"
    " --qa-output other/qa.jsonl --summary-output other/summaries.jsonl --manifest-output other/manifest.json"
)
sh("python scripts/build_evaluation_dataset.py --config configs/default.yaml --force")

chapter("Record Schemas")
for name in ("qa_pairs.jsonl", "summaries.jsonl"):
    print(name, list(first_of(name)))
print("contexts begin with:", str(first_of("qa_pairs.jsonl")["contexts"])[:6])

chapter("File Layout & Versioning")
manifest = json.loads((DATASETS / "manifest.json").read_text(encoding="utf-8"))
print(manifest["version"], manifest["source_offline_dataset"], manifest["filters"])
for split, about in manifest["splits"].items():
    print(split, about["path"], about["count"])
print("excluded:", manifest["excluded_task_types"])

chapter("Validation & Regression Checks")
sh("python scripts/check_processed_corpus.py")
write(
    "older.json",
    {**manifest, "splits": {**manifest["splits"], "qa": {**manifest["splits"]["qa"], "count": 90}}},
)
sh("rag-eval validate evaluation/datasets/manifest.json --against older.json")
sh("rag-eval sample evaluation/datasets/qa_pairs.jsonl -n 1 --seed 1", first=1)

chapter("Next Steps")
with running_chat(lambda asked: "Dogs pay 2 pounds [1].") as server:
    for split in ("qa", "summaries", "citations"):
        model = f"--model gpt-4 --base-url {server.url}"
        line = f"python scripts/evaluate_models.py --dataset-type {split} {model} --limit 1 --json"
        (told,) = json.loads(sh(line, first=0))["models"]
        print({name: figure["n_scored"] for name, figure in told["metrics"].items()})
sh("python scripts/evaluate_models.py --dataset-type retrieval --output r.results.json", first=1)
print("the snapshot:", read_results("r.results.json")["metadata"]["dataset_version"])
