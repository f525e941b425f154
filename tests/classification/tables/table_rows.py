"""Rows of tables, from their csv and from golden files."""

import csv
from io import StringIO
from pathlib import Path

from eyechart.reports.tables.render import to_csv

GOLDEN = Path(__file__).parents[2] / "golden"


def of(rows, model, **wanted):
    (row,) = [row for row in rows if row["Model"] == model and all(row[key] == value for key, value in wanted.items())]
    return row


def golden(name):
    with (GOLDEN / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def read(text):
    return list(csv.DictReader(StringIO(to_csv(text))))
