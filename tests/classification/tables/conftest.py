"""Fixtures that tests of classification/tables share."""

import pytest

from eyechart.reports.runs import load
from eyechart.reports.tables.registry import tables
from tests.classification.tables.table_rows import read


@pytest.fixture
def table(run_folder):
    """One table of the run as rows of its csv."""
    return lambda name, labels=None: read(tables(name, load([run_folder]), labels))
