"""Questions about whole sections, where the sentences of a corpus give next to none.

Technical pages seldom say when, where or how much, which is what the rules ask for. Their headings still say
what stands below them: enough to find out which chunker keeps a section together, too little to test facts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import PurePosixPath

from rag_evaluation_framework.records.documents import Corpus, Document
from rag_evaluation_framework.synthesis.drafts import ABOUT_A_SECTION, Draft, Drafts, Excerpt, QuestionKind
from rag_evaluation_framework.synthesis.passages import Place, blocks_of, is_short, plain, title_of
from rag_evaluation_framework.text.scripts import has_unspaced_script

_FEWEST_CHARACTERS, _MOST_CHARACTERS = 120, 1200


def filled_with_sections(
    drafts: Drafts, corpus: Corpus, queries_per_doc: int, kinds: Collection[QuestionKind]
) -> Drafts:
    """Add questions about sections if there are fewer questions than documents: as many as are missing."""
    if len(drafts.kept) >= len(corpus) or "analytical" not in kinds:
        return drafts
    made = Counter(draft.origin for draft in drafts.kept)
    added: list[Draft] = []
    for document in corpus:
        sections = list(_section_drafts(document))
        wanted = max(queries_per_doc - made[document.id], 0)
        # From all over the document: every n-th section.
        step = max(len(sections) / wanted, 1) if wanted else 1
        added += [sections[int(number * step)] for number in range(min(wanted, len(sections)))]
    filled = Counter(draft.origin for draft in added)
    rejected = []
    for rejection in drafts.rejected:
        if rejection.reason == "nothing-to-ask" and filled[rejection.origin]:
            filled[rejection.origin] -= 1
        else:
            rejected.append(rejection)
    return Drafts((*drafts.kept, *added), tuple(rejected))


def _section_drafts(document: Document) -> Iterator[Draft]:
    """Yield a question for each section that has a name of its own and says something."""
    sections: dict[tuple[str, ...], list[Place]] = {}
    for block in blocks_of(document.content):
        sections.setdefault(block.headings, []).append(block)
    names = Counter(_name(headings) for headings in sections)
    title = _name(next(iter(sections), ())[:1]) or PurePosixPath(document.id).name
    for headings, blocks in sections.items():
        name = _name(headings)
        start, end = blocks[0].start, blocks[0].end
        for block in blocks:
            end = block.end if block.end - start <= _MOST_CHARACTERS else end
        text = document.content[start:end].rstrip()
        if not name or name == title or names[name] > 1 or len(plain(text)) < _FEWEST_CHARACTERS:
            continue
        if len(text) > _MOST_CHARACTERS:
            continue
        excerpt = Excerpt(document.id, start, start + len(text), text)
        asked = f"What does the section “{name}” of “{title}” say?"
        if has_unspaced_script(name):
            asked = f"《{title}》的“{name}”部分说了什么？"
        yield Draft(
            question=asked,
            excerpts=(excerpt,),
            kind="analytical",
            difficulty="medium",
            origin=document.id,
            flags=(ABOUT_A_SECTION,),
        )


def _name(headings: tuple[str, ...]) -> str:
    """Return the innermost heading, if it names something and is short."""
    name = title_of(headings[-1]) if headings else ""
    return name if is_short(name) and len(name) > 2 else ""
