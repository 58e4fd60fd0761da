"""SQuAD 1.1 and 2.0: articles of paragraphs, questions on each paragraph, answers as characters of it.

A paragraph becomes a document, ``<title>#<number>`` (the second article of a title is ``<title> (2)#0`` …); an
article without a title is ``article <number>``. A question is a sample, its answers are the relevant spans
and the first is the reference. A question that cannot be answered expects a refusal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rag_evaluation_framework.datasets.locating import lines_of
from rag_evaluation_framework.datasets.problems import FileProblems
from rag_evaluation_framework.datasets.residues import overlaid, replaces, residue
from rag_evaluation_framework.datasets.schema_validation import schema_issues
from rag_evaluation_framework.datasets.squad_articles import SquadWriter
from rag_evaluation_framework.errors import InputError, Issue
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.files.atomic import atomic_writer
from rag_evaluation_framework.files.compression import compressing, named_compression, read_bytes
from rag_evaluation_framework.files.text import decode_text
from rag_evaluation_framework.records.citations import SpanCitation
from rag_evaluation_framework.records.datasets import Dataset, Preview
from rag_evaluation_framework.records.documents import Document
from rag_evaluation_framework.records.identifiers import DocumentId
from rag_evaluation_framework.records.samples import Origin, Refusal, Sample, Turn

NAME = "squad"
