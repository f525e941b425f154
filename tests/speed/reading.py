"""How reading grows with an answer: 1 when the time is in proportion to its length, 8 when it goes with the square."""

import json
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from time import perf_counter

from eyechart.parsers import class_name, json_answers, letter, number, yes_no

READERS = {
    "letter": letter.parse,
    "class_name": class_name.parse,
    "json_answers": json_answers.parse,
    "yes_no": lambda text, _: yes_no.parse(text),
    "number": lambda text, _: number.parse(text),
}
CORPUS = Path(__file__).parents[1] / "golden/hard_answers.jsonl"
TIMES = 8


def facts(pairs: int) -> Iterator[str]:
    """The worst growth of every parser over the noise of the corpus."""
    rows = [json.loads(line) for line in CORPUS.read_text(encoding="utf-8").splitlines()]
    for kind in READERS:
        noise = [row for row in rows if row["kind"] == kind and "times" in row]
        worst = max(median(growth(row) for _ in range(pairs)) for row in noise)
        yield f"{kind}: seconds a character of {TIMES} times the noise, over those of the noise: {worst:.2f} at worst"


def growth(row: dict[str, object]) -> float:
    """Seconds a character of a long answer over those of a short one."""
    text = str(row["answer"]) * int(str(row["times"]))
    return seconds(row, text * TIMES) / seconds(row, text) / TIMES


def seconds(row: dict[str, object], text: str) -> float:
    """The wall time of reading one answer."""
    started = perf_counter()
    READERS[str(row["kind"])](text, row["context"])
    return perf_counter() - started
