"""Tests of `eyechart.classification.tables.category_tables`."""

import csv
from io import StringIO

import pytest

from eyechart.reports.runs import load
from eyechart.reports.tables.registry import tables
from eyechart.reports.tables.render import to_csv

CELLS = ("A", "S", "S+", "S-", "M", "M+", "M-")
CLIP = "ViT-B-32/laion2b_s34b_b79k"


def read(text):
    return list(csv.DictReader(StringIO(to_csv(text))))


def of(rows, model, **wanted):
    (row,) = [row for row in rows if row["Model"] == model and all(row[key] == value for key, value in wanted.items())]
    return row


@pytest.fixture
def table(run_folder):
    """One table of the run as rows of its csv."""
    return lambda name, labels=None: read(tables(name, load([run_folder]), labels))


def test_table_2_counts_the_categories(table):
    counts, shares = (row for row in table("T2") if row["Labels"] == "ReGT")
    assert [counts[name] for name in (*CELLS, "N")] == ["18", "12", "10", "2", "4", "2", "2", "2"]
    assert (shares["S"], shares["N"]) == ("66.67", "11.11")
    assert float(shares["S low"]) < 66.67 < float(shares["S high"])


def test_table_10_has_each_ground_truths_own_images(table):
    row = of(table("T10"), CLIP)
    assert (row["polecat ImGT"], row["polecat ImGT n"]) == ("33.33", "3")
    assert (row["polecat WeaselGT"], row["polecat WeaselGT n"], row["polecat Δ"]) == ("100.00", "1", "+66.7")
    assert (row["domestic ferret ImGT n"], row["domestic ferret WeaselGT n"]) == ("3", "5")
