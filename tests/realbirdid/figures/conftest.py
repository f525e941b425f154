"""Fixtures that tests of realbirdid/figures share."""

import pytest


@pytest.fixture
def ranged(flock):
    """A model that gains by range lists, and one that loses; without a change of their own in the record."""
    for model, before, after in (("hf_clip[a]", 0.5, 0.8), ("hf_clip[b]", 0.6, 0.4)):
        numbers = [(name, labels, of, value, 30, (value - 0.1, value + 0.1))
                   for name, of in (("ig", "answerable"), ("ua_a", "all")) for labels, value in
                   (("eligible", before), ("range", after))]  # fmt: skip
        flock.case(model=model, metrics=numbers)
    return flock.pool()
