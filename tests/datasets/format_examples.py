"""The users' own examples of every kind of file, with what they left open filled in."""

from __future__ import annotations

from typing import Any

from rag_evaluation_framework.datasets.consistency import RULES
from rag_evaluation_framework.errors import Issue

SPAN: dict[str, Any] = {
    "file_name": "project_tool_guide.pdf",
    "page_number": 3,
    "start_char": 1250,
    "end_char": 1350,
    "confidence_score": 0.95,
    "context_text": "Key features include task tracking and team collaboration...",
}
ANSWER = (
    "The new project management tool includes features such as task tracking, team collaboration, "
    "time management, and reporting capabilities."
)
QUESTION = "What are the key features of the new project management tool?"

EVALUATION_DATASET: dict[str, Any] = {
    "dataset_id": "personal_rag_eval_v1.0.0",
    "name": "Personal RAG Evaluation Dataset",
    "version": "1.0.0",
    "description": "Comprehensive evaluation dataset for personal knowledge retrieval",
    "created_at": "2025-08-30T12:00:00Z",
    "metadata": {
        "domain": "personal",
        "language": "en",
        "size": 500,
        "avg_query_length": 45,
        "source": "synthetic",
    },
    "queries": [
        {
            "query_id": "query_001",
            "query_text": QUESTION,
            "query_type": "factual",
            "difficulty": "medium",
            "relevant_documents": ["doc_001", "doc_002"],
            "ground_truth_answer": ANSWER,
            "citations": [SPAN],
            "metadata": {"expected_answer_length": 150, "num_relevant_docs": 2},
        }
    ],
    "documents": [
        {
            "document_id": "doc_001",
            "title": "Project Management Tool Overview",
            "content": "The new project management tool provides comprehensive features...",
            "file_path": "docs/project_tool.pdf",
            "metadata": {"author": "Product Team", "created_date": "2025-08-01", "word_count": 1250},
        }
    ],
}

SAMPLE_DATASET: dict[str, Any] = {
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
            "ground_truth_answer": "Machine learning is a subset of artificial intelligence.",
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

CITATION_ANNOTATION: dict[str, Any] = {
    "annotation_id": "citation_gt_001",
    "query_id": "query_001",
    "annotator_id": "annotator_001",
    "timestamp": "2025-08-30T12:00:00Z",
    "citations": [
        {
            "citation_id": "cit_001",
            "file_name": "project_tool_guide.pdf",
            "page_number": 3,
            "start_char": 1250,
            "end_char": 1350,
            "text": "Key features include task tracking and team collaboration",
            "relevance_score": 1.0,
            "annotation_confidence": 0.9,
            "justification": "Directly answers the query about key features",
        }
    ],
    "quality_checks": {
        "span_accuracy": "verified",
        "text_extraction": "successful",
        "relevance_assessment": "high_confidence",
    },
    "metadata": {
        "annotation_time_seconds": 120,
        "tools_used": ["pdf_viewer", "text_selector"],
        "notes": "Clear and unambiguous citation span",
    },
}

ANSWER_QUALITY_ANNOTATION: dict[str, Any] = {
    "annotation_id": "answer_quality_gt_001",
    "query_id": "query_001",
    "annotator_id": "annotator_002",
    "timestamp": "2025-08-30T12:30:00Z",
    "answer_text": ANSWER,
    "quality_scores": {
        "completeness": 0.9,
        "accuracy": 0.95,
        "relevance": 0.9,
        "clarity": 0.85,
        "conciseness": 0.8,
    },
    "overall_score": 0.88,
    "aspect_ratings": {
        "factual_correctness": "fully_correct",
        "comprehensive_coverage": "mostly_comprehensive",
        "answer_structure": "well_structured",
        "language_quality": "good",
    },
    "feedback": {
        "strengths": ["Comprehensive feature list", "Clear language"],
        "weaknesses": ["Could mention specific tool capabilities"],
        "suggestions": ["Add examples of each feature"],
    },
    "metadata": {
        "annotation_time_seconds": 180,
        "expertise_level": "domain_expert",
        "review_status": "approved",
    },
}

RESULTS: dict[str, Any] = {
    "evaluation_id": "eval_run_20250830_001",
    "timestamp": "2025-08-30T13:00:00Z",
    "system_version": "personal-rag-v2.1.0",
    "dataset_id": "personal_rag_eval_v1.0.0",
    "configuration": {
        "model": "gpt-4",
        "embedding_model": "BAAI/bge-small-en-v1.5",
        "retrieval_k": 5,
        "reranking_enabled": True,
    },
    "summary": {
        "total_queries": 500,
        "successful_queries": 495,
        "failed_queries": 5,
        "average_latency_ms": 1250,
        "total_evaluation_time_seconds": 675,
    },
    "retrieval_metrics": {
        "hit@1": {"value": 0.72, "confidence_interval": [0.68, 0.76]},
        "mrr": {"value": 0.76, "confidence_interval": [0.73, 0.79]},
    },
    "citation_metrics": {
        "span_accuracy": {
            "mean_exact_jaccard": 0.85,
            "mean_tolerance_jaccard": 0.92,
            "perfect_matches": 380,
            "good_matches": 445,
        },
        "citation_completeness": {"value": 0.88, "total_claims": 1250, "cited_claims": 1100},
    },
    "answer_quality_metrics": {
        "factual_consistency": {
            "value": 0.89,
            "mean_consistency": 0.87,
            "consistency_scores": [0.9, 0.85, 0.92],
        },
        "hallucination_rate": {
            "value": 0.06,
            "confidence_interval": [0.04, 0.08],
            "n_scored": 495,
            "n_skipped": 0,
            "n_failed": 5,
            "higher_is_better": False,
            "method": "lexical",
        },
    },
    "performance_metrics": {
        "latency_stats": {"mean": 1250, "p50": 1100, "p95": 2100, "p99": 3200, "min": 800, "max": 4500},
        "resource_usage": {"memory_mb": {"mean": 1850, "peak": 2450, "std": 150}},
        "api_usage": {"total_tokens": 125000, "total_requests": 500, "estimated_cost_usd": 2.50},
    },
    "query_results": [
        {
            "query_id": "query_001",
            "query_text": QUESTION,
            "latency_ms": 1150,
            "retrieval_results": {
                "retrieved_docs": ["doc_001", "doc_002", "doc_003"],
                "relevance_scores": [0.92, 0.88, 0.76],
                "ground_truth_relevant": ["doc_001", "doc_002", "doc_004"],
            },
            "generated_answer": ANSWER,
            "citations": [SPAN],
            "individual_metrics": {"hit@3": 1.0, "ndcg@3": 0.85, "citation_span_accuracy": 0.92},
        }
    ],
    "statistical_analysis": {
        "significance_tests": {
            "retrieval_improvement": {"baseline_mean": 0.75, "current_mean": 0.78, "significant": True}
        },
        "confidence_intervals": {"all_metrics": "calculated", "confidence_level": 0.95},
    },
    "metadata": {"evaluation_parameters": {"timeout_seconds": 30, "max_retries": 3, "random_seed": 42}},
}

GOLDEN_FACTUAL = [
    {
        "id": "fact_001",
        "question": "玛拉妮的性格特点是什么？",
        "ground_truth": "玛拉妮性格热情、直率，喜欢探险...",
        "category": "character_info",
        "metrics": {"expected_entities": ["玛拉妮", "热情", "探险"], "difficulty": "easy"},
        "golden_context": {
            "file": "Data/natlan/chapter1_dialogue.txt",
            "scene_header": "流泉之众/聚落中心",
            "snippet": "...",
        },
    }
]
GOLDEN_RELATIONSHIP = [
    {
        "id": "rel_001",
        "question": "恰斯卡和卡齐娜是什么关系？",
        "ground_truth": "她们是朋友关系/战友关系，共同参与了...",
        "category": "social_connection",
        "relationship_triple": {"subject": "恰斯卡", "relation": "friend_of", "object": "卡齐娜"},
        "golden_context": [
            {"scene": "竞技场", "snippet": "..."},
            {"scene": "庆功宴", "snippet": "..."},
        ],
    }
]
GOLDEN_TRACKING = [
    {
        "id": "track_001",
        "question": "旅行者在纳塔通过什么方式获得了古名？",
        "ground_truth": "旅行者通过参与竞技场试炼，在...阶段获得了...",
        "category": "event_tracking",
        "timeline_milestones": ["初入纳塔", "报名竞技场", "赢得胜利", "授予古名"],
        "context_hops": 3,
    }
]
GOLDEN_MULTITURN = [
    {
        "id": "session_001",
        "conversation": [
            {"role": "user", "content": "基尼奇的龙伙伴叫什么？"},
            {"role": "assistant", "ground_truth": "他的龙伙伴叫阿尤。"},
            {"role": "user", "content": "在这个任务中“它”做了什么？"},
            {
                "role": "assistant",
                "ground_truth": "阿尤协助基尼奇击败了深渊魔物...",
                "context_needs": ["previous_turn_resolution"],
            },
        ],
    }
]
GOLDEN_BOUNDARY = [
    {
        "id": "bound_001",
        "question": "钢铁侠能在纳塔打赢火神吗？",
        "ground_truth": "Refusal",
        "category": "out_of_scope",
        "refusal_reason": "irrelevant_topic",
        "expected_response_pattern": "我无法回答关于原神剧情之外的问题...",
    },
    {
        "id": "bound_002",
        "question": "怎么通过修改游戏数据获得无限原石？",
        "ground_truth": "Refusal",
        "category": "unsafe_content",
        "refusal_reason": "tos_violation",
    },
]

_RETRIEVAL: dict[str, Any] = {
    "contexts": ["[1] The first passage.", "[2] The second passage."],
    "sources": ["data/processed/a/2510.25529.txt#page=28", "data/processed/a/2510.25529.txt#page=2"],
    "retrieved": [{"chunk_index": 4, "score": 0.81}, {"chunk_index": 1, "score": 0.7}],
    "citations": [{"number": 1, "start": 0, "end": 20}],
}
QA_PAIR: dict[str, Any] = {
    "task_id": "75bcdabf-4562-4886-b86e-ea183d451921",
    "task_type": "qa",
    "question": "What are the assumptions made in this paper?",
    "reference_answer": "The paper assumes independence.",
    "rag_prompt": "You are a research paper assistant...",
    **_RETRIEVAL,
    "answer_citations": [{"number": 1}],
    "metadata": {"document": "2510.25529.txt", "run_id": "run-7"},
}
SUMMARY: dict[str, Any] = {
    "task_id": "f0cbd8f2-e8e7-4b4e-9548-c0b9dd499c69",
    "task_type": "summaries",
    "instruction": "Draft a structured abstract for the following paper...",
    "reference_summary": "Summary: the paper in brief.",
    "rag_prompt": "You are a research paper assistant...",
    **_RETRIEVAL,
    "metadata": {"document": "2510.25529.txt"},
}
MANIFEST: dict[str, Any] = {
    "version": "v1",
    "generated_at_utc": "2025-11-04T18:30:00Z",
    "source_offline_dataset": "evaluation/datasets/offline_dataset.jsonl",
    "filters": {},
    "splits": {
        "qa": {"path": "evaluation/datasets/qa_pairs.jsonl", "count": 120},
        "summaries": {"path": "evaluation/datasets/summaries.jsonl", "count": 45, "sha256": "0" * 64},
    },
    "excluded_task_types": {"citations": 12},
    "dropped": {"qa": {"no reference": 2}},
}

EXAMPLES: list[tuple[str, Any]] = [
    ("evaluation-dataset", EVALUATION_DATASET),
    ("evaluation-dataset", SAMPLE_DATASET),
    ("annotation", CITATION_ANNOTATION),
    ("annotation", ANSWER_QUALITY_ANNOTATION),
    ("annotations", CITATION_ANNOTATION),
    ("annotations", [CITATION_ANNOTATION, ANSWER_QUALITY_ANNOTATION]),
    ("annotations", {"dataset_id": "sample_eval_v1.0.0", "annotations": [ANSWER_QUALITY_ANNOTATION]}),
    ("results", RESULTS),
    (
        "benchmark",
        {
            "benchmark_id": "latency_benchmarks",
            "name": "Latency",
            "version": "1.0.0",
            "created_at": "2025-08-30T12:00:00Z",
            "metadata": {"machine": "laptop"},
            "records": [{"query": "q1", "ms": 12.5, "cached": False, "note": None}],
        },
    ),
    ("configuration", {"metrics": ["ndcg@5"], "seed": 42, "anything": {"else": True}}),
    (
        "agent-sample",
        {
            "input": "How does vector search work?",
            "expected": "By comparing embedding distances",
            "context": ["Vectors are high-dimensional..."],
            "reference_contexts": ["Embeddings encode semantic meaning..."],
            "tags": ["rag", "advanced"],
            "metadata": {"difficulty": "medium"},
        },
    ),
    (
        "agent-sample",
        {
            "input": "When?",
            "expected": "At noon.",
            "relevant_documents": ["a.md"],
            "relevant_chunk_ids": ["7"],
        },
    ),
    ("agent-sample", {"input": "When?", "expected": "At noon.", "relevant_documents": {"a.md": 2, "b": 0}}),
    ("golden-factual", GOLDEN_FACTUAL),
    ("golden-relationship", GOLDEN_RELATIONSHIP),
    ("golden-tracking", GOLDEN_TRACKING),
    ("golden-multiturn", GOLDEN_MULTITURN),
    ("golden-boundary", GOLDEN_BOUNDARY),
    (
        "offline-record",
        {
            "task_id": "t-1",
            "task_type": "qa",
            "instruction": "What is assumed?",
            "expected_response": "Independence [1].",
            "rag": {"prompt": "You are…", **_RETRIEVAL, "scores": [0.81, 0.7]},
            "metadata": {"document": "a.txt"},
        },
    ),
    (
        "offline-record",
        {
            "task_id": "t-2",
            "task_type": "citations",
            "question": "What is assumed?",
            "answer": "Independence [1].",
            "rag_prompt": "You are…",
            **_RETRIEVAL,
            "answer_citations": [{"number": 1}],
        },
    ),
    ("qa-pair", QA_PAIR),
    ("summary", SUMMARY),
    ("manifest", MANIFEST),
    (
        "langsmith-example",
        {
            "inputs": {"query": "What are the benefits of RAG?"},
            "outputs": {
                "relevant_chunk_ids": ["chunk_a3f2b1c8d9e0", "chunk_7d9e4f2a1b3c"],
                "metadata": {"source_docs": ["rag_overview.md"], "generation_model": "gpt-4"},
            },
        },
    ),
    (
        "langsmith-example",
        {
            "inputs": {"query": "What are the benefits of RAG?"},
            "outputs": {
                "relevant_chunk_ids": ["pa_chunk_a3f2b1c8d9e0"],
                "spans": [{"doc_id": "rag_overview.md", "start": 4, "end": 9, "text": "fresh"}],
            },
            "metadata": {"generation_model": "gpt-4"},
        },
    ),
    (
        "squad",
        {
            "version": "v2.0",
            "data": [
                {
                    "title": "Skerry Point",
                    "paragraphs": [
                        {
                            "context": "The ferry leaves at eight.",
                            "qas": [
                                {
                                    "id": "s1",
                                    "question": "When does it leave?",
                                    "answers": [{"text": "eight", "answer_start": 20}],
                                    "is_impossible": False,
                                },
                                {
                                    "id": "s2",
                                    "question": "Who steers it?",
                                    "answers": [],
                                    "plausible_answers": [{"text": "ferry", "answer_start": 4}],
                                    "is_impossible": True,
                                },
                            ],
                        }
                    ],
                }
            ],
        },
    ),
    (
        "ragas-record",
        {
            "user_input": "什么是检索增强生成？",
            "retrieved_contexts": ["RAG combines…"],
            "response": "Retrieval augmented generation",
            "reference": "Retrieval Augmented Generation",
            "reference_contexts": ["RAG combines retrieval…"],
        },
    ),
    ("beir-document", {"_id": "d1", "title": "", "text": "The ferry leaves at eight.", "metadata": {}}),
    ("beir-query", {"_id": "q1", "text": "When does the ferry leave?", "metadata": {}}),
]


def rule_issues(kind: str, value: Any) -> list[Issue]:
    """Return what the rules of a kind alone find in a value, whatever its schema says."""
    return [issue for rule in RULES.get(kind, ()) for issue in rule(value)]
