"""Fixtures that tests of classification/tables share."""

import pytest

from eyechart.reports.runs import load
from eyechart.reports.tables.registry import tables
from tests.classification.tables.table_rows import read


@pytest.fixture
def table(run_folder):
    """One table of the run as rows of its csv."""
    return lambda name, labels=None: read(tables(name, load([run_folder]), labels))


@pytest.fixture
def text_protocols(session):
    """CW with two answers out of the prompt, CW+ with one of them right, OW wrong on an image of M- and one of S+."""
    outside = {0: "a beast", 2: "I don't know"}
    made = session()
    made.closed_world(made.right(outside))
    made.closed_world_plus(made.right(outside), {"a beast": 356, "I don't know": 7})
    made.open_world(made.right({8: 7, 14: 7}))
    return made
