"""Seed 000 from top to bottom: the formats of datasets, annotations and results, and their classes."""

from __future__ import annotations

import json
from pathlib import Path

from following import chapter, sh, tree, write
from format_examples import ANSWER_QUALITY_ANNOTATION as RATED
from format_examples import CITATION_ANNOTATION as CITED
from format_examples import EVALUATION_DATASET as PERSONAL
from format_examples import RESULTS  # each as the seed has it

from rag_evaluation_framework import (
    CitationEvaluator,
    DataCompressor,
    DataFormatValidator,
    DataQualityChecker,
    EvaluationDatasetLoader,
    EvaluationResultsStorage,
    read_results,
    write_results,
)

chapter("2.1 Evaluation Dataset Format")
DATASET = "data/evaluation/datasets/personal_rag_eval_v1.0.0.eval.json"
write(DATASET, PERSONAL)
schema = json.loads(sh("rag-eval schema evaluation-dataset", first=4))
print("required:", ", ".join(schema["required"]))
# The example is one query of 500, and the second document and the guide are not in it: that is told.
sh(f"rag-eval validate {DATASET}")

chapter("2.2 Ground Truth Annotations Format")
TRUTH = "data/evaluation/ground_truth/personal_rag_eval_v1.0.0.gt.json"
write(TRUTH, {"dataset_id": "personal_rag_eval_v1.0.0", "annotations": [CITED, RATED]})
sh(f"rag-eval validate {TRUTH}")

chapter("2.3 Evaluation Results Format")
KEPT = "data/evaluation/results/eval_run_20250830_001.results.json"
write(KEPT, RESULTS)
sh(f"rag-eval validate {KEPT}")

chapter("3.1 File Formats and Extensions")
write("weekly.benchmark.json", {"benchmark_id": "weekly", "records": [{"name": "latency", "p95": 2100}]})
write("evaluation_defaults.config.json", {"defaults": {"k": 5}})
for source, target in (
    (DATASET, "personal.eval.yaml"),
    (DATASET, "personal.eval.csv"),
    (TRUTH, "personal.gt.yaml"),
    (KEPT, "run.results.yaml"),
    (KEPT, "run.results.csv"),
    ("weekly.benchmark.json", "weekly.benchmark.parquet"),
    ("weekly.benchmark.json", "weekly.benchmark.h5"),
    ("evaluation_defaults.config.json", "evaluation_defaults.config.yaml"),
):
    sh(f"rag-eval convert {source} {target}")
print("the table holds all of the results:", read_results("run.results.csv") == RESULTS)
write_results(RESULTS, "again.results.json")

chapter("3.2 Directory Structure")
sh("rag-eval init project", first=0)
tree("project")

chapter("3.3 Data Validation")
validator = DataFormatValidator()
print(validator.validate_evaluation_dataset(PERSONAL))
print(validator.validate_ground_truth(CITED), validator.validate_ground_truth(RATED))
print(validator.validate_evaluation_results(RESULTS))
print(validator.validate_evaluation_dataset({"dataset_id": "d", "queries": []}))
inverted = {"file_name": "f", "start_char": 9, "end_char": 3}
print(validator.validate_ground_truth({**CITED, "citations": [inverted]}))


class OwnValidator(DataFormatValidator):
    """Asks for a description too."""

    def _custom_validations(self, data: dict[str, object]) -> list[str]:
        missing = [] if data.get("description") else ["a description is missing"]
        return [*super()._custom_validations(data), *missing]


print(OwnValidator().validate_evaluation_dataset({**PERSONAL, "description": ""}))

chapter("3.4 Data Compression and Storage")
packed = DataCompressor.compress_evaluation_data(PERSONAL)
print("comes back as it was:", DataCompressor.decompress_evaluation_data(packed) == PERSONAL)
print("smaller:", DataCompressor.estimate_compression_ratio(PERSONAL) > 1)

chapter("4.1 Dataset Loader")
loader = EvaluationDatasetLoader()
print(loader.load_dataset("personal_rag_eval_v1.0.0")["name"])
print(loader.load_dataset("personal_rag_eval", "v1.0.0")["version"])
print(len(loader.load_ground_truth("personal_rag_eval")["annotations"]), "annotations")
for listed in loader.get_available_datasets():
    print(listed)
try:
    loader.load_dataset("nothing")
except FileNotFoundError as error:
    print("FileNotFoundError:", error)

chapter("4.2 Results Storage")
storage = EvaluationResultsStorage()
print(storage.save_results(RESULTS, evaluation_type="nightly"))
better = {"hit@1": {"value": 0.81}, "mrr": {"value": 0.8}}
storage.save_results({**RESULTS, "evaluation_id": "eval_run_20250831_001", "retrieval_metrics": better})
for found in storage.list_results(evaluation_type="nightly"):
    print({name: found[name] for name in ("evaluation_id", "system_version", "dataset_id", "file_path")})
comparison = storage.compare_results(["eval_run_20250830_001", "eval_run_20250831_001"])
print(comparison["metrics_comparison"]["hit@1"], list(comparison["performance_comparison"]))

chapter("5.1 Data Integrity Checks")
for issue in DataQualityChecker().run_quality_checks(PERSONAL):
    print(issue)

chapter("6.1 Creating an Evaluation Dataset")


def create_sample_evaluation_dataset() -> str:
    """Create a sample evaluation dataset"""
    dataset = {
        "dataset_id": "sample_eval_v1.0.0",
        "name": "Sample Evaluation Dataset",
        "version": "1.0.0",
        "description": "Sample dataset for testing evaluation framework",
        "created_at": "2025-08-30T12:00:00Z",
        "metadata": {"domain": "general", "language": "en", "size": 2},
        "queries": [
            {
                "query_id": "sample_query_001",
                "query_text": "What is machine learning?",
                "query_type": "factual",
                "difficulty": "easy",
                "relevant_documents": ["doc_ml_intro"],
                "ground_truth_answer": (
                    "Machine learning is a subset of artificial intelligence that enables computers to "
                    "learn from data without being explicitly programmed."
                ),
                "citations": [
                    {
                        "file_name": "ml_guide.pdf",
                        "page_number": 1,
                        "start_char": 100,
                        "end_char": 200,
                        "confidence_score": 0.95,
                    }
                ],
            }
        ],
        "documents": [
            {
                "document_id": "doc_ml_intro",
                "title": "Introduction to Machine Learning",
                "content": "Machine learning is a subset of artificial intelligence...",
                "file_path": "docs/ml_intro.pdf",
            }
        ],
    }
    # Save dataset
    output_path = Path("data/evaluation/datasets/sample_eval_v1.0.0.eval.json")
    output_path.parent.mkdir(parents=True, exist_ok=True)
    with open(output_path, "w", encoding="utf-8") as f:  # noqa: PTH123  # as the seed writes it
        json.dump(dataset, f, indent=2, ensure_ascii=False)
    return str(output_path)


print(create_sample_evaluation_dataset())

chapter("6.2 Loading and Using Evaluation Data")


def run_evaluation_example() -> None:
    """Example of loading and using evaluation data"""
    # Load dataset
    loader = EvaluationDatasetLoader()
    dataset = loader.load_dataset("sample_eval_v1.0.0")
    print(f"Loaded dataset with {len(dataset['queries'])} queries")
    # Load ground truth
    ground_truth = loader.load_ground_truth("sample_eval_v1.0.0")
    print("ground truth from:", ground_truth.get("source"))
    # Run evaluation
    evaluator = CitationEvaluator({})
    for query in dataset["queries"]:
        # Simulate system response
        simulated_answer = query["ground_truth_answer"]  # Perfect answer for demo
        simulated_citations = query["citations"]
        # Evaluate
        results = evaluator.evaluate_answer_citations(
            simulated_answer,
            simulated_citations,
            {doc["document_id"]: doc["content"] for doc in dataset["documents"]},
            query,
        )
        overall = results["overall_scores"]
        print(f"Query {query['query_id']}: Citation accuracy = {overall['overall_citation_accuracy']:.3f}")
        print(*overall["because"], sep="\n")
    # Save results
    results_storage = EvaluationResultsStorage()
    results_path = results_storage.save_results(
        {
            "evaluation_id": "sample_eval_001",
            "timestamp": "2025-08-30T12:00:00Z",
            "dataset_id": "sample_eval_v1.0.0",
            "results": [],  # Would contain actual results
        }
    )
    print(f"Results saved to: {results_path}")


run_evaluation_example()
