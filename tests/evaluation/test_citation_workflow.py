"""Creating a dataset and evaluating with it, as the description of the data formats writes it."""

# ruff: noqa: E501  # the functions stand here as they are written there

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rag_evaluation_framework.datasets.project import create_layout

CREATING = '''
from pathlib import Path
import json

def create_sample_evaluation_dataset():
    """Create a sample evaluation dataset"""

    dataset = {
        "dataset_id": "sample_eval_v1.0.0",
        "name": "Sample Evaluation Dataset",
        "version": "1.0.0",
        "description": "Sample dataset for testing evaluation framework",
        "created_at": "2025-08-30T12:00:00Z",
        "metadata": {
            "domain": "general",
            "language": "en",
            "size": 2
        },
        "queries": [
            {
                "query_id": "sample_query_001",
                "query_text": "What is machine learning?",
                "query_type": "factual",
                "difficulty": "easy",
                "relevant_documents": ["doc_ml_intro"],
                "ground_truth_answer": "Machine learning is a subset of artificial intelligence that enables computers to learn from data without being explicitly programmed.",
                "citations": [
                    {
                        "file_name": "ml_guide.pdf",
                        "page_number": 1,
                        "start_char": 100,
                        "end_char": 200,
                        "confidence_score": 0.95
                    }
                ]
            }
        ],
        "documents": [
            {
                "document_id": "doc_ml_intro",
                "title": "Introduction to Machine Learning",
                "content": "Machine learning is a subset of artificial intelligence...",
                "file_path": "docs/ml_intro.pdf"
            }
        ]
    }

    # Save dataset
    output_path = Path("data/evaluation/datasets/sample_eval_v1.0.0.eval.json")
    output_path.parent.mkdir(parents=True, exist_ok=True)

    with open(output_path, 'w', encoding='utf-8') as f:
        json.dump(dataset, f, indent=2, ensure_ascii=False)

    return str(output_path)
'''

EVALUATING = '''
def run_evaluation_example():
    """Example of loading and using evaluation data"""

    # Load dataset
    loader = EvaluationDatasetLoader()
    dataset = loader.load_dataset("sample_eval_v1.0.0")

    print(f"Loaded dataset with {len(dataset['queries'])} queries")

    # Load ground truth
    ground_truth = loader.load_ground_truth("sample_eval_v1.0.0")

    # Run evaluation
    evaluator = CitationEvaluator({})

    for query in dataset['queries']:
        # Simulate system response
        simulated_answer = query['ground_truth_answer']  # Perfect answer for demo
        simulated_citations = query['citations']

        # Evaluate
        results = evaluator.evaluate_answer_citations(
            simulated_answer,
            simulated_citations,
            {doc['document_id']: doc['content'] for doc in dataset['documents']},
            query
        )

        print(f"Query {query['query_id']}: Citation accuracy = {results['overall_scores']['overall_citation_accuracy']:.3f}")

    # Save results
    results_storage = EvaluationResultsStorage()
    results_path = results_storage.save_results({
        'evaluation_id': 'sample_eval_001',
        'timestamp': '2025-08-30T12:00:00Z',
        'dataset_id': 'sample_eval_v1.0.0',
        'results': []  # Would contain actual results
    })

    print(f"Results saved to: {results_path}")
'''

IMPORTS = """
from rag_evaluation_framework import CitationEvaluator, EvaluationDatasetLoader, EvaluationResultsStorage
"""


@pytest.mark.parametrize("is_new_project", [False, True], ids=["empty folder", "new project"])
def test_creating_and_evaluating_run_as_written(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    is_new_project: bool,
) -> None:
    if is_new_project:
        create_layout(tmp_path)  # what `rag-eval init` does; the annotations of sample_eval come with it
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(IMPORTS + CREATING + EVALUATING, names)
    assert names["create_sample_evaluation_dataset"]() == (  # type: ignore[operator]
        "data/evaluation/datasets/sample_eval_v1.0.0.eval.json"
    )
    names["run_evaluation_example"]()  # type: ignore[operator]
    loaded, accuracy, saved = capsys.readouterr().out.splitlines()
    assert loaded == "Loaded dataset with 1 queries"
    label, _, value = accuracy.rpartition(" = ")
    assert label == "Query sample_query_001: Citation accuracy"
    # The spans are the true ones: 0.30. The citation cannot be opened, since no document is called
    # ml_guide.pdf: 0. What the answer adds to the document is left to the method: at most 0.25 + 0.15.
    assert 0.30 <= float(value) <= 0.70
    written = json.loads((tmp_path / saved.removeprefix("Results saved to: ")).read_text(encoding="utf-8"))
    assert written["evaluation_id"] == "sample_eval_001"


def test_the_sample_of_a_new_project_is_evaluated_with_its_own_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    create_layout(tmp_path)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(IMPORTS + EVALUATING, names)
    names["run_evaluation_example"]()  # type: ignore[operator]
    for line in capsys.readouterr().out.splitlines()[1:-1]:
        # Its citations stand in its documents: 0.30 + 0.30 at least.
        assert float(line.rpartition(" = ")[2]) >= 0.60
