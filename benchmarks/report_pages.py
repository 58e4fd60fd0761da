"""How large reports of many samples are, and how fast they open and filter in a browser.

``python -m benchmarks.report_pages [SAMPLES …]``; needs Chromium and playwright.
"""

from __future__ import annotations

import random
import shutil
import sys
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from rag_evaluation_framework.records.citations import SpanCitation
from rag_evaluation_framework.records.documents import CharacterSpan, Document, DocumentId
from rag_evaluation_framework.records.responses import Hit, Response
from rag_evaluation_framework.records.runs import RunHead, RunOutcome, SampleResult
from rag_evaluation_framework.records.samples import Sample, Turn
from rag_evaluation_framework.records.scores import BLAME_KINDS, Blame, Score
from rag_evaluation_framework.reports.page import page
from rag_evaluation_framework.results.evaluations import Evaluation, Row, summed_up
from rag_evaluation_framework.results.run_data import KeptDocuments

SAMPLES = (1_000, 10_000)
DOCUMENTS, WORDS_A_DOCUMENT = 200, 1_500
METRICS = ("faithfulness", "claim_recall", "span_recall", "hit@1", "citation_recall", "answer_correctness")


def evaluation_of(number: int) -> Evaluation:
    """Return an evaluation of so many samples over 200 documents; two of five contexts stand in none."""
    draw = random.Random(0)
    words = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(2, 9))) for _ in range(5_000)]

    def text(count: int) -> str:
        return " ".join(draw.choices(words, k=count))

    documents = tuple(
        Document(DocumentId(f"folder/document-{place}.md"), text(WORDS_A_DOCUMENT))
        for place in range(DOCUMENTS)
    )
    loose = [text(60) for _ in range(number // 2)]
    rows = []
    for place in range(number):
        found = [draw.choice(documents) for _ in range(3)]
        needed = found[0].content
        start = draw.randrange(len(needed) - 300)
        hits = [
            Hit(id=f"{each.id}-{start}", span=CharacterSpan(each.id, start, start + 250)) for each in found
        ]
        hits += [Hit(id=f"loose-{place}-{n}", text=draw.choice(loose)) for n in range(2)]
        answer = text(40)
        claims = [
            {"start": 0, "end": 60, "label": "supported", "probability": 0.9},
            {
                "start": 61,
                "end": len(answer),
                "label": "unsupported",
                "probability": 0.1,
                "new_tokens": [[61, 66]],
            },
        ]
        sample = Sample(
            id=f"sample-{place:06}",
            turns=(Turn(role="user", content=text(12)),),
            reference=text(15),
            relevant_spans=(SpanCitation(found[0].id, start, start + 120),),
            tags=(draw.choice(words[:20]),),
            difficulty=draw.choice(("easy", "medium", "hard")),
        )
        scores = tuple(
            Score.scored(
                name, draw.choice((0, 0.5, 1)), method="exact", details={"claims": claims} if not n else {}
            )
            for n, name in enumerate(METRICS)
        )
        response = Response(text=answer, hits=tuple(hits), latency_ms=draw.expovariate(1 / 300))
        blame = Blame(draw.choice(BLAME_KINDS), "why it is so")
        rows.append(
            Row(
                place,
                SampleResult(sample.id, response, scores),
                sample,
                passes=draw.random() < 0.8,
                blame=blame,
            )
        )
    outcome = RunOutcome(completed=True, interrupted=False, done=number, failed=0, remaining=0)
    return summed_up(
        RunHead(run_id="measured", dataset_id="measured"),
        rows,
        kind="answers",
        outcome=outcome,
        rows=lambda: rows,
        read_documents=lambda: KeptDocuments(documents),
    )


FILTER = """text => {
  const input = document.querySelector('.samples input[type=search]'), began = performance.now();
  input.value = text;
  input.dispatchEvent(new Event('input'));
  document.body.offsetHeight;
  return performance.now() - began;
}"""
SORT = """() => {
  const button = [...document.querySelectorAll('.samples th button')][4], began = performance.now();
  button.click();
  document.body.offsetHeight;
  return performance.now() - began;
}"""


class Timed:
    """Times of what is done in a page: by the clock, and of the processor, which other work does not slow."""

    def __init__(self, tab: Any) -> None:
        self._tab, self._session = tab, tab.context.new_cdp_session(tab)
        self._session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def done(self, script: str, *arguments: Any) -> tuple[float, float]:
        """Return the milliseconds that a script takes, layout included."""
        before = self.processor_ms()
        by_clock = self._tab.evaluate(script, *arguments)
        return by_clock, self.processor_ms() - before

    def processor_ms(self) -> float:
        told = self._session.send("Performance.getMetrics")["metrics"]
        return 1000 * sum(float(each["value"]) for each in told if each["name"] == "TaskDuration")


def measured(browser: Any, number: int, folder: Path) -> str:
    """Make the page of so many samples, open it, search and sort, and say what that took."""
    evaluation = evaluation_of(number)
    began = time.perf_counter()
    written = page([evaluation])
    made = time.perf_counter() - began
    path = folder / f"{number}.html"
    path.write_text(written, encoding="utf-8")
    opened, filtered, ordered = [], [], []
    for _ in range(5):
        tab = browser.new_page()
        timed = Timed(tab)
        began = time.perf_counter()
        tab.goto(path.as_uri())
        tab.wait_for_selector("html[data-ready]", state="attached")
        opened.append((1000 * (time.perf_counter() - began), timed.processor_ms()))
        tab.wait_for_timeout(500)
        filtered += [timed.done(FILTER, text) for text in ("ab", "document-7", "zzzz", "")]
        ordered.append(timed.done(SORT))
        tab.close()
    size = path.stat().st_size / 1e6
    told = ", ".join(
        "{} in {:.0f} ms ({:.0f} processor)".format(
            what, *(median(each) for each in zip(*times, strict=True))
        )
        for what, times in (("opens", opened), ("filters", filtered), ("sorts", ordered))
    )
    return f"{number:,} samples: {size:.2f} MB, made in {made:.1f} s; {told}"


def main() -> None:
    """Measure pages of the numbers of samples given, by default 1,000 and 10,000."""
    from playwright.sync_api import sync_playwright

    numbers = [int(each) for each in sys.argv[1:]] or SAMPLES
    with TemporaryDirectory() as folder, sync_playwright() as started:
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for number in numbers:
            print(measured(browser, number, Path(folder)))
        browser.close()


if __name__ == "__main__":
    main()
