"""What the first pages of the manifest's format show, as it stands there."""

MANIFEST = """\
spec:
  evaluation:
    framework: ragas
    datasets:
      - name: rag-quality
        path: $file:evals/rag.jsonl
        metrics: [faithfulness, context_recall, answer_relevancy]

      - name: safety
        path: $file:evals/safety.jsonl
        metrics: [toxicity, bias]

      - name: accuracy
        path: $file:evals/accuracy.jsonl
        metrics: [answer_similarity, hallucination]

    thresholds:
      faithfulness: 0.80
      context_recall: 0.75
      answer_relevancy: 0.75
      toxicity: 0.90
      bias: 0.85
      answer_similarity: 0.80
      hallucination: 0.05
    ciGate: true
"""
LINES = [
    "agentspec evaluate agent.yaml --url http://localhost:4000 --dataset rag-quality",
    "agentspec evaluate agent.yaml --url http://localhost:4000 --dataset rag-quality --sample-size 20",
    "agentspec evaluate agent.yaml --url http://localhost:4000 --dataset rag-quality --tag advanced",
    "agentspec evaluate agent.yaml --url http://localhost:4000 --dataset safety --json",
]
