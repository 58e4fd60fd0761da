"""How often English and Chinese texts are taken for another language, and other languages for these.

Run `python -m benchmarks.languages`. English and Chinese texts are questions, answers, claims and contexts of
the labelled data: the lists of aliases and of page remnants are left out, since they hold other languages in
fact. Texts of other languages are messages of programs, from the catalogues of packages that are installed
(`pip install --no-deps django-oscar django-cms django-allauth sphinx`): mostly short, and none was tuned on.
"""

from __future__ import annotations

import csv
import gettext
import gzip
import json
import re
import time
from collections import defaultdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks._labelled_data import DATA
from rag_evaluation_framework.metrics.views import ENGLISH_AND_CHINESE
from rag_evaluation_framework.text.languages import foreign_language, language_of

PACKAGES = ("oscar", "cms", "allauth", "sphinx")
# The languages in Latin letters that most of the catalogues are in.
COMMON = {
    *("de", "es", "fr", "it", "nl", "pt", "sv", "pl", "tr"),
    *("ca", "cs", "da", "fi", "hu", "ro", "id", "vi", "nb"),
}
_LENGTHS = ((3, 4), (5, 7), (8, 14), (15, 99))


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


def messages() -> dict[str, set[str]]:
    """Return the messages of installed packages that are nothing but words, by their language."""
    found: dict[str, set[str]] = defaultdict(set)
    for package in PACKAGES:
        spec = find_spec(package)
        for folder in () if spec is None else map(Path, spec.submodule_search_locations or ()):
            for path in folder.glob("**/*.mo"):
                language = re.split(r"[_@-]", path.parts[-3])[0].lower()
                with path.open("rb") as file:
                    pairs = vars(gettext.GNUTranslations(file))["_catalog"].items()
                for message, told in pairs:
                    if isinstance(message, str) and not re.search(r"[%{<&\n]", message + told):
                        found["en"].add(message)
                        found[language] |= {told} - {message, ""}
    return found


def told_of_messages() -> None:
    """Print which share of messages in Latin letters is told from English, by the number of words."""
    by_language = messages()
    if not by_language:
        print("messages of programs: no package with a catalogue is installed")
        return
    english = by_language.pop("en")
    wrong = [text for text in english if foreign_language([text], ENGLISH_AND_CHINESE)]
    print(f"English messages: {len(english):,}; taken for another: {len(wrong)}")
    kinds = {"18 common languages": COMMON, "other languages": by_language.keys() - COMMON}
    for kind, languages in kinds.items():
        texts = [text for each in languages for text in by_language[each] if _is_latin(text)]
        for least, most in _LENGTHS:
            some = [text for text in texts if least <= len(re.findall(r"[^\W\d_]+", text)) <= most]
            told = sum(foreign_language([text], ENGLISH_AND_CHINESE) is not None for text in some)
            print(
                f"{kind}, {least} to {most} words: {told / max(len(some), 1):.3f} of {len(some):,} are told"
            )


def _is_latin(text: str) -> bool:
    return not re.search(r"[^\W\d_\u0000-\u024f\u1e00-\u1eff]", text)


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
    told_of_messages()


if __name__ == "__main__":
    main()
