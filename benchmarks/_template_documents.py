"""Documents by the thousand, written from templates: manuals of machines that do not exist."""

from __future__ import annotations

import random
from pathlib import Path

_THINGS = ("pump", "boiler", "crane", "kiln", "lathe", "press", "turbine", "winch", "mixer", "conveyor")
_PARTS = ("filter", "valve", "belt", "bearing", "seal", "gauge", "switch", "nozzle", "gearbox", "sensor")
_PLACES = ("north hall", "east yard", "main store", "old foundry", "loading bay", "control room")
_PEOPLE = ("shift manager", "safety officer", "maintenance engineer", "stores keeper", "plant director")
_MONTHS = ("January", "March", "April", "June", "August", "October", "November")
_SENTENCES = (
    "The {part} of the {name} is replaced every {number} weeks.",
    "The {name} was built in {year} by the works in {city} and cost {price} pounds.",
    "The spare {part} is kept in the {place} under number {code}.",
    "If the {part} leaks, the {person} stops the machine and closes the main tap.",
    "The {person} must be told within {number} hours.",
    "The {name} runs at {speed} turns a minute because the {part} would overheat above that.",
    "A new {part} costs {price} pounds and is ordered from {city}.",
    "The {part} cannot be cleaned with water.",
    "When the pressure falls below {number} bar, the {name} shuts down by itself.",
    "The limit was lowered from {speed} to {number} bar in {month} {year}.",
    "The {person} inspects the {part} twice a year.",
    "There are {number} {part}s on each side of the {name}.",
    "The {name} is the oldest {thing} of the plant.",
    "Records are kept for {number} years.",
    "The log is written by the {person} before the shift ends.",
    "Oil is drained in {month}, so that the {part} does not freeze.",
)


def write_documents(folder: Path, number: int, *, seed: int = 0) -> int:
    """Write so many documents of about four thousand characters; return how many characters in all."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = random.Random(seed)
    written = 0
    for count in range(number):
        text = _document(count, drawn)
        written += len(text)
        (folder / f"machine-{count:05}.md").write_text(text, encoding="utf-8")
    return written


def _document(count: int, drawn: random.Random) -> str:
    thing = drawn.choice(_THINGS)
    name = f"{drawn.choice(('Alder', 'Birch', 'Cedar', 'Dogwood', 'Elm'))} {thing} {count}"
    lines = [f"# The {name}\n"]
    for section in range(8):
        lines.append(f"\n## {drawn.choice(_PARTS).title()} and {drawn.choice(_PARTS)} {section}\n")
        lines.append(" ".join(_sentence(name, thing, drawn) for _ in range(7)) + "\n")
    lines.append("\n## Data\n\n| Item | Value |\n| --- | --- |\n")
    lines += [f"| {part.title()} pressure | {drawn.randint(1, 90)} bar |\n" for part in _PARTS[:5]]
    return "".join(lines)


def _sentence(name: str, thing: str, drawn: random.Random) -> str:
    return drawn.choice(_SENTENCES).format(
        name=name,
        thing=thing,
        part=drawn.choice(_PARTS),
        place=drawn.choice(_PLACES),
        person=drawn.choice(_PEOPLE),
        month=drawn.choice(_MONTHS),
        city=f"{drawn.choice('BCDFGHKLMNPRSTVW')}{drawn.choice(('alden', 'orley', 'unton', 'ersby'))}",
        code=f"EQ-{drawn.randint(1000, 9999)}",
        number=drawn.randint(2, 40),
        speed=drawn.randint(41, 900),
        price=f"{drawn.randint(20, 9000):,}",
        year=drawn.randint(1950, 2024),
    )
