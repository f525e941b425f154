"""Fixtures that tests of realbirdid/tables share."""

import pytest

from tests.realbirdid.tables.abstention_answers import ANSWERS, numbers, said


@pytest.fixture
def two_levels(flock):
    """A model at two levels."""
    files = {"wordings": [{"level": "naive", "wording": "01", "text": "Which?", "n": 40, "abstained": 4, "rate": 0.1,
                           "ci_low": 0.04, "ci_high": 0.23}]}  # fmt: skip
    rows = [*said("naive", ANSWERS), *said("refuse", ANSWERS[:2])]
    flock.case("abstention", "a", metrics=[*numbers(), *numbers("refuse", points=(0.9, 0.7))], rows=rows, files=files)
    return flock
