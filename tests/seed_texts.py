"""What the first pages of the manifest's format show, as it stands there."""

from pathlib import Path

MANIFEST = Path(__file__).with_name("seed_manifest.yaml").read_text(encoding="utf-8")
LINES = [
    "agentspec evaluate agent.yaml --url http://localhost:4000 --dataset rag-quality",
    "agentspec evaluate agent.yaml --url http://localhost:4000 --dataset rag-quality --sample-size 20",
    "agentspec evaluate agent.yaml --url http://localhost:4000 --dataset rag-quality --tag advanced",
    "agentspec evaluate agent.yaml --url http://localhost:4000 --dataset safety --json",
]
