"""Fixtures that tests of oodbench/tables share."""

import pytest

from tests.oodbench.tables.existence_answers import falls


@pytest.fixture
def three(existing):
    """Three models, each of which falls a little more."""
    for model, deaf in (("hf[a]", 8), ("hf[b]", 10), ("hf[c]", 18)):
        existing(model, "coco", falls(deaf))
    return existing
