"""How often English and Chinese texts are taken for another language, and what telling a language costs.

Run `python -m benchmarks.languages`. The texts are questions, answers, claims and contexts of the labelled
data: the lists of aliases and of page remnants are left out, since they hold other languages in fact.
"""

from __future__ import annotations

import csv
import gzip
import json
import time
from pathlib import Path
from typing import Any

from benchmarks._labelled_data import DATA
from rag_evaluation_framework.metrics.views import ENGLISH_AND_CHINESE
from rag_evaluation_framework.text.languages import foreign_language, language_of


def english_and_chinese_texts(data: Path) -> dict[str, list[str]]:
    """Return the texts of the labelled data that are there, by their language."""
    found: dict[str, list[str]] = {"en": [], "zh": []}
    for language in found:
        for path in (data / "nomiracl").glob(f"{language}.jsonl*"):
            records = _records(path)
            found[language] += [text for each in records for text in (each["query"], *each["contexts"])]
    for record in _records(data / "evouna" / "triviaqa.jsonl"):
        found["en"] += [record["question"], *(each["answer"] for each in record["answers"].values())]
    for name in ("qa", "summary", "data2txt"):
        for record in _records(data / "ragtruth" / f"{name}.jsonl"):
            found["en"] += [each["response"] for each in record["responses"]]
    found["en"] += [record["claim"] for record in _records(data / "wice" / "claim_dev.jsonl.gz")]
    for record in _records(data / "mtrag" / "mtragun_reference.jsonl.gz"):
        found["en"] += [record["targets"][0]["text"], record["input"][-1]["text"]]
        found["en"] += [each["text"] for each in record["contexts"]]
    for path in (data / "xstest").glob("completions_*.csv"):
        with path.open(encoding="utf-8", newline="") as file:
            found["en"] += [
                text for row in csv.DictReader(file) for text in (row["prompt"], row["completion"])
            ]
    for path in (data / "sentence_split").glob("*.conllu*"):
        lines = [line for line in _text(path).split("\n") if line.startswith("# text = ")]
        found[path.name[:2]] += [line.removeprefix("# text = ") for line in lines]
    return found


def _records(path: Path) -> list[Any]:
    return [json.loads(line) for line in _text(path).split("\n") if line.strip()] if path.exists() else []


def _text(path: Path) -> str:
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode()


def main() -> None:
    """Print the share of texts taken for another language, and the time that a text takes."""
    language_of("Die Sprachen werden geladen, bevor die Zeit läuft.")
    for language, texts in english_and_chinese_texts(DATA).items():
        language_of.cache_clear()
        begin = time.process_time()
        wrong = [text for text in texts if foreign_language([text], ENGLISH_AND_CHINESE)]
        spent = (time.process_time() - begin) / max(len(texts), 1)
        print(f"{language}: {len(texts):,} texts, {spent * 1e6:.0f} µs each; taken for another: {len(wrong)}")
        for text in wrong:
            print(f"    {language_of(text)}: {text[:100]!r}")


if __name__ == "__main__":
    main()
