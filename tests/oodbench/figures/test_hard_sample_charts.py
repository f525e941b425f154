"""Tests of `eyechart.oodbench.figures.hard_sample_charts`."""

from functools import cache, partial

import pytest

from eyechart.reports.tables.registry import tables
from tests.oodbench.hard_sample_answers import Asked, ask

pytestmark = pytest.mark.deep
# Of ten pairs each, how many a model gets wrong: the falls on hard samples, and those on OOD-H.
WRONG = {"hf[d]": (9, 2), "hf[a]": (1, 3), "hf[b]": (3, 3), "hf[c]": (5, 4)}


@pytest.fixture(scope="module")
def asked(module_bench):
    """Four models, which the tests only read."""
    for model, wrong in WRONG.items():
        ask(module_bench, model, *wrong)
    pool = module_bench.pool()
    return Asked(pool, cache(partial(tables, runs=pool)))


@pytest.mark.parametrize(("name", "texts"), [
    ("oodbench-F11", {"hf[a]", "hf[d]", "ID − Hard", "ID − OOD-H", "exponential trend", "oodbench/coco, n=40"}),
    ("oodbench-F12", {"Pearson's correlation", "OOD-H, p = 0.0010", "10 of 10 hard samples, with replacement"}),
])  # fmt: skip
def test_the_figures_have_what_the_tables_have(asked, drawing, name, texts):
    assert texts <= {*drawing(asked.pool, name, "one.svg")}
