"""Rows of tables."""

import csv
from io import StringIO

from eyechart.reports.tables.registry import tables
from eyechart.reports.tables.render import to_csv


def rows(pool, name):
    """A table as the rows of its csv."""
    return list(csv.DictReader(StringIO(to_csv(tables(f"realbirdid-{name}", pool, None)))))
