"""Answers with the counts of the published Tables 15 and 16 give Tables 5, 6, 15 and 16 back, through the real code.

A model's 31,250 images get answers and labels of our own, so that every category has the published numbers of right
answers (Table 6), of answers out of the prompt and of those that CW+ maps rightly (Table 15), of the published kinds
(Table 16). They are sorted, scored and recorded as any model's answers are.
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import cycle, islice
from pathlib import Path

import pytest

from eyechart.data.labels.class_names import load_class_names
from eyechart.parsers import class_name, json_answers

pytestmark = pytest.mark.deep

GOLDEN = Path(__file__).parents[2] / "golden"
CELLS = ("S+", "S-", "M+", "M-", "N")
NAMES = load_class_names("kisel").names
TEXTS = {
    "Partial": ("ferret", "shepherd german", "Snake"),
    "IN": ("canoe", "vespa", "corn cob"),  # which the prompt calls kayak, motor scooter and a fruiting spike
    "Abstain": ("I don't know", "Unable to identify."),
    "Wrong": ("a thing on three wheels", "somebody's aunt", "Nessie"),
}
IN_PROMPT = 1
OTHERS = (2, 3, 4, 5, 6)  # no two of them equivalent, nor to anything above
ROUNDED, DELTA, ONE_DECIMAL = 0.01 + 1e-9, 0.06 + 1e-9, 0.05 + 1e-9  # as in test_golden_tables
TWICE = 0.1 + 1e-9  # ours rounds a difference, theirs the difference of rounded values


def read(name, **wanted):
    with (GOLDEN / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if all(row[key] == value for key, value in wanted.items())]


MAPPED = {text: 10 + number for number, text in enumerate(text for kind in TEXTS.values() for text in kind)}  # by CW+


@dataclass
class Model:
    """A published model's answers, rebuilt: what was said about each image, and its labels."""

    name: str
    said: list[str] = field(default_factory=list)
    truths: list[tuple[int, tuple[int, ...], None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.counts = {row["category"]: row for row in read("table_15", model=self.name)}
        (self.plain,), (self.plus,) = (read("table_6", model=self.name, task=task) for task in ("CW", "CW+"))
        self.original = {False: self.hits("ImGT A", self.plain), True: 0}
        self.original[True] = self.hits("ImGT A", self.plus) - self.original[False]
        texts = self.texts()
        for cell in CELLS:
            self.fill(cell, texts)

    def hits(self, column: str, row: dict[str, str]) -> int:
        """A published percentage as a number of images."""
        n = int(self.counts[column.removeprefix("ReGT ").removeprefix("ImGT ")]["images"])
        return round(float(row[column]) * n / 100)

    def texts(self) -> Iterator[str]:
        """As many answers out of the prompt of each kind as were published."""
        (row,) = read("out_of_prompt_counts", model=self.name)
        for kind, texts in TEXTS.items():
            yield from islice(cycle(texts), int(row[kind]))

    def fill(self, cell: str, texts: Iterator[str]) -> None:
        """All images of a category: first the answers out of the prompt, the mapped ones ahead, then the right ones."""
        images, outside, mapped = (int(self.counts[cell][name] or 0) for name in ("images", "OOP", "mapped"))
        right = 0 if cell == "N" else self.hits(f"ReGT {cell}", self.plain)
        for index in range(images):
            if index < outside:
                text = next(texts)
                self.add(cell, text, MAPPED[text], hit=index < mapped, outside=True)
            else:
                self.add(cell, NAMES[IN_PROMPT], IN_PROMPT, hit=index - outside < right, outside=False)

    def add(self, cell: str, text: str, said: int, *, hit: bool, outside: bool) -> None:
        """One image: its labels put what is said right or wrong, and its original label too, as long as it should."""
        one, two, three = [other for other in OTHERS if other != said][:3]
        first = said if hit else one
        labels = {"S": (first,), "M": (first, two), "N": ()}[cell[0]]
        agrees = {"S+": first, "M+": two}.get(cell, three)
        could = {"S+": hit, "M+": hit, "N": True}.get(cell, not hit)  # the original label be what is said
        chosen = could and self.original[outside] > 0
        self.original[outside] -= chosen
        assert chosen or not (cell == "S+" and hit)  # there the original label is the only one
        self.said.append(text)
        self.truths.append((said if chosen else agrees, labels, None))


MODEL = "GPT-4o"  # with answers of every kind; unit/test_golden_tables has the four models' tables agree


@pytest.fixture
def published(session):
    """The tables of the rebuilt model's answers, in CW and CW+, and its name."""
    model = Model(MODEL)
    assert set(model.original.values()) == {0}
    made = session(truths=tuple(model.truths))
    made.closed_world(model.said, model=f"hf[{MODEL}]")
    made.closed_world_plus(model.said, MAPPED, model=f"hf[{MODEL}]")
    pool = made.pool()
    return lambda table: made.rows(table, "ReGT", pool), MODEL


def close(ours, theirs, within):
    """Whether both are nothing, or numbers next to one another."""
    return ours == theirs if "" in (ours, theirs) else abs(float(ours) - float(theirs)) <= within


def test_the_published_counts_give_the_published_tables(published) -> None:
    rows, model = published
    assert_table_15(rows("T15"), model)
    assert_table_5(rows("T5"), model)
    assert_table_16(rows("T16"), model)
    assert_table_6(rows("T6"), model)


def assert_table_15(rows, model) -> None:
    for ours, theirs in zip(rows, read("table_15", model=model), strict=True):
        assert [ours[name] for name in ("Category", "Images", "OOP #", "mapped #")] == [
            theirs[name] for name in ("category", "images", "OOP", "mapped")
        ]
        assert close(ours["OOP %"], theirs["OOP percent"], ROUNDED)
        assert close(ours["mapped %"], theirs["mapped percent"], ROUNDED)


def assert_table_5(rows, model) -> None:
    (ours,), (theirs,) = rows, read("table_5", model=model)
    assert all(close(ours[cell], value, ONE_DECIMAL) for cell, value in theirs.items() if cell != "model")


def assert_table_16(rows, model) -> None:
    (ours,), (theirs,) = rows, read("table_16", model=model)
    assert all(close(ours[kind], value, ROUNDED) for kind, value in theirs.items() if kind != "model")


def assert_table_6(rows, model) -> None:
    heads = {"ImGT A": "ImGT"} | {f"ReGT {cell}": cell for cell in ("A", "S", "S+", "S-", "M", "M+", "M-")}
    assert [row["Protocol"] for row in rows] == ["CW+", "CW"]
    plus, plain = rows
    for column, head in heads.items():
        for ours in rows:
            (theirs,) = read("table_6", model=model, task=ours["Protocol"])
            assert close(ours[head], theirs[column], 2 * ROUNDED), column
            assert close(ours[f"{head} Δ"], theirs[f"{column} delta"], TWICE), column
        (theirs,) = read("table_6", model=model, task="CW+")
        assert close(float(plus[head]) - float(plain[head]), theirs[f"{column} delta"], DELTA), column


@pytest.mark.parametrize("text", [text for kind in TEXTS.values() for text in kind])
def test_an_answer_out_of_the_prompt_is_read_from_json_and_names_no_class_in_any_reading(text) -> None:
    said = json_answers.parse(f'{{"1": "{text}"}}', ["1"]).strict["1"]
    assert said == text
    assert class_name.parse(said, NAMES).lenient is None
