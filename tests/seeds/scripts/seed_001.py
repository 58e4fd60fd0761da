"""Seed 001 from top to bottom: one dataset, one concern; an agent evaluated by its manifest."""

from __future__ import annotations

import json

from following import chapter, sh, tree, write
from serving import QuietHandler, serving

from seed_texts import MANIFEST

BY_WORDS = MANIFEST.replace(", answer_relevancy]", "]").replace("      answer_relevancy: 0.75\n", "")
BY_WORDS = BY_WORDS.replace("toxicity, bias", "toxicity").replace("      bias: 0.85\n", "")

FIRST = {
    "input": "What is RAG?",
    "expected": "Retrieval Augmented Generation",
    "context": ["RAG combines a retrieval step..."],
    "tags": ["basics"],
}
SECOND = {
    "input": "How does vector search work?",
    "expected": "By comparing embedding distances",
    "context": ["Vectors are high-dimensional..."],
    "reference_contexts": ["Embeddings encode semantic meaning..."],
    "tags": ["rag", "advanced"],
    "metadata": {"difficulty": "medium"},
}
FACTS = [
    "RAG combines a retrieval step with a generation step.",
    "Vector search works by comparing the distances of embeddings.",
    "A reranker puts the retrieved chunks into a better order.",
]


class Agent(QuietHandler):
    """Answers with the fact that shares most words with the question."""

    def do_POST(self) -> None:
        asked = set(json.loads(self.sent())["message"].lower().strip("?").split())
        self.reply(200, {"response": max(FACTS, key=lambda fact: len(asked & set(fact.lower().split())))})


def samples(count: int = len(FACTS)) -> list[dict[str, object]]:
    """Return samples with all that their metrics need."""
    questions = ["What is RAG?", "How does vector search work?", "What does a reranker do?"]
    pairs = [(questions[number % 3], FACTS[number % 3]) for number in range(count)]
    return [
        {
            "input": question,
            "expected": fact,
            "context": [fact],
            "reference_contexts": [fact],
            "tags": ["advanced"] if number % 3 == 1 else ["basics"],
        }
        for number, (question, fact) in enumerate(pairs)
    ]


with serving(Agent) as url:
    chapter("The rule: one dataset, one concern")
    write("agent.yaml", MANIFEST)
    for name in ("rag", "safety", "accuracy"):
        write(f"evals/{name}.jsonl", [FIRST, SECOND])

    chapter("JSONL sample format")
    sh("rag-eval validate evals")
    write("wrong.jsonl", [{"input": "What is RAG?"}, {"expected": "RAG"}, {**FIRST, "metrics": ["bias"]}])
    sh("rag-eval validate wrong.jsonl")

    chapter("Which metrics need which fields")
    # Bias cannot be measured without a judge, nor relevancy without an embedding model or a judge.
    sh(f"agentspec evaluate agent.yaml --url {url} --dataset rag-quality")
    sh(f"agentspec evaluate agent.yaml --url {url} --dataset safety")
    # The first line has no reference contexts, which context_recall needs: told before anything is asked.
    write("agent.yaml", BY_WORDS)
    sh(f"agentspec evaluate agent.yaml --url {url} --dataset rag-quality")

    chapter("Running a dataset")
    write("evals/rag.jsonl", samples(30))
    write("evals/safety.jsonl", samples())
    sh(f"agentspec evaluate agent.yaml --url {url} --dataset rag-quality", first=1)
    sh(f"agentspec evaluate agent.yaml --url {url} --dataset rag-quality --sample-size 20", first=1)
    sh(f"agentspec evaluate agent.yaml --url {url} --dataset rag-quality --tag advanced", first=1)
    told = json.loads(sh(f"agentspec evaluate agent.yaml --url {url} --dataset safety --json", first=0))
    print({name: told[name] for name in ("dataset", "totalSamples", "metrics", "ciGateResult")})

    chapter("Exit code 1 when ciGate: true and any metric falls below its threshold")
    write(
        "agent.yaml",
        BY_WORDS.replace("[toxicity]", "[string_match]").replace("toxicity: 0.90", "string_match: 1"),
    )
    write("evals/safety.jsonl", [*samples(), {"input": "What is a token?", "expected": "A piece of a word."}])
    sh(f"agentspec evaluate agent.yaml --url {url} --dataset safety", first=1)
    tree("evals")
