"""Answers with the counts of the published Tables 11 and 14 give these tables back, through the real code.

All of their rows are about the same 625 images. Each is rebuilt with as many right answers in every category, under the
original labels too, and as many answers out of the prompt.
"""

import csv
from pathlib import Path

import pytest

pytestmark = pytest.mark.deep

GOLDEN = Path(__file__).parents[2] / "golden"
# The new labels and the original one, by category.
TRUTHS = {"S+": ((1,), 1), "S-": ((1,), 4), "M+": ((1, 2), 1), "M-": ((1, 2), 4), "N": ((), 4)}
CELLS = ("S", "S+", "S-", "M", "M+", "M-")
OUTSIDE, OTHER = "a beast", 7
CHOICES = {"batch": "images_per_request", "response": "answer"}
VALUES = {"ID": "id", "Class name": "name"}


def read(name, **wanted):
    with (GOLDEN / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if all(row[key] == value for key, value in wanted.items())]


SIZES = {row["category"]: int(row["images"]) for row in read("sizes", subset="one a class")}
IMAGES = [cell for cell in TRUTHS for _ in range(SIZES[cell])]


def rebuilt(row):
    """The answers of one row, image by image."""
    right = {cell: round(float(row[f"ReGT {cell}"]) * SIZES[cell] / 100) for cell in TRUTHS if cell != "N"}
    original = round(float(row["ImGT A"]) * 625 / 100) - right["S+"]
    outside = int(row["OOP"])
    for cell in IMAGES:
        hit = right.get(cell, 0) > 0
        right[cell] = right.get(cell, 0) - hit
        if agrees := cell != "S+" and hit == (cell == "M+") and original > 0:
            original -= 1
        silent = not hit and not agrees and outside > 0
        outside -= silent
        yield OUTSIDE if silent else said(cell, hit=hit, agrees=agrees)
    assert (original, outside, {*right.values()}) == (0, 0, {0})


def said(cell, *, hit, agrees):
    """A class that is right or wrong under the new labels and, where it can be chosen, under the original one."""
    labels, original = TRUTHS[cell]
    if hit:
        return original if agrees else labels[-1]
    return original if agrees else OTHER


@pytest.fixture
def table(session):
    """The published table of a name, made from answers, and as it was printed."""

    def table(name, golden, choice):
        truths = tuple((TRUTHS[cell][1], TRUTHS[cell][0], None) for cell in IMAGES)
        made, printed = session(truths=truths), read(golden)
        for row in printed:
            chosen = {CHOICES[choice]: VALUES.get(row[choice], row[choice])}
            made.closed_world(list(rebuilt(row)), model=f"hf[{row['model']}]", **chosen)
        return {(row["Model"], row[choice.title()]): row for row in made.rows(name)}, printed

    return table


@pytest.mark.parametrize(("name", "golden", "choice"), [("T11", "table_11", "batch"), ("T14", "table_14", "response")])
def test_the_published_counts_give_the_published_tables(table, name, golden, choice) -> None:
    ours, printed = table(name, golden, choice)
    assert len(ours) == len(printed)
    for row in printed:
        mine = ours[f"hf[{row['model']}]", row[choice]]
        assert [mine["ImGT"], mine["A"], mine["OOP"]] == [row["ImGT A"], row["ReGT A"], row["OOP"]]
        assert [mine[cell] for cell in CELLS] == [row[f"ReGT {cell}"] for cell in CELLS]


def test_table_14_has_the_published_changes_and_the_weakest_model_first(table) -> None:
    ours, printed = table("T14", "table_14", "response")
    for row in printed:
        mine = ours[f"hf[{row['model']}]", row["response"]]
        assert [mine["ImGT Δ"], mine["A Δ"]] == [row["ImGT A delta"], row["ReGT A delta"]]
    models = [model for model, _ in ours]
    assert (models[0], models[-1]) == ("hf[LLaVA-OV]", "hf[GPT-4o]")
