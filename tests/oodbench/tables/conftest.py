"""Fixtures that tests of oodbench/tables share."""

from functools import cache, partial

import pytest

from eyechart.reports.tables.registry import tables
from tests.oodbench.division_answers import answered, divided
from tests.oodbench.hard_sample_answers import WRONG, Asked, ask
from tests.oodbench.tables.existence_answers import falls


@pytest.fixture
def three(existing):
    """Three models, each of which falls a little more."""
    for model, deaf in (("hf[a]", 8), ("hf[b]", 10), ("hf[c]", 18)):
        existing(model, "coco", falls(deaf))
    return existing


@pytest.fixture(scope="module")
def hard_samples_of_four(module_bench):
    """Four models, which the tests only read."""
    for model, wrong in WRONG.items():
        ask(module_bench, model, *wrong)
    pool = module_bench.pool()
    return Asked(pool, cache(partial(tables, runs=pool)))


@pytest.fixture
def divided_bench(bench):
    """Two models asked about one division."""
    for model, name in enumerate(("hf[a]", "hf[b]")):
        bench.case("existence", name, rows=answered(model), files={"division": divided()}, detectors="clip+blip2")
    return bench
