"""Figures 14 to 16 of OODBench: how the logits of detectors lie."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.errors import ReportError
from eyechart.oodbench.tables import logits
from eyechart.oodbench.tables.logits import _order_statistic_shares, quantiles
from eyechart.reports.figures.registry import draw

BIN = ("what", "name", "present", "low", "high", "count")
LOGITS = (
    ("logit", "cat", 1, 0, 1, 30),
    ("logit", "cat", 1, 3, 4, 10),
    ("logit", "cat", 0, -1, 0, 7),
    ("logit", "dog", 1, 3, 4, 60),
    ("probability", "cat", 1, 0, 0.05, 40),
)


@pytest.fixture
def detected(bench):
    """Two detectors, the second of which divided first."""
    rows = [{**dict(zip(BIN, row, strict=True)), "category": 0} for row in LOGITS]
    for name in ("blip2[x]", "hf_clip[y]"):
        bench.case("detection", name, files={"logits": rows})
    bench.case("existence", detectors="hf_clip[y]+blip2[x]")
    return bench


def test_all_categories_are_put_together(detected):
    rows = detected.rows("oodbench-F14")
    assert [row["Detector"] for row in rows] == ["hf_clip[y]"] * 3 + ["blip2[x]"] * 3
    assert [(row["Values"], row["Num"]) for row in rows[:3]] == [
        ("logit, present", "100"),
        ("logit, absent", "7"),
        ("probability, present", "40"),
    ]


def test_quantiles_are_read_off_the_bins(detected):
    first, *_ = detected.rows("oodbench-F14")
    assert [first[f"{q} %"] for q in (5, 25, 50, 75, 95)] == ["0.167", "0.833", "3.286", "3.643", "3.929"]
    assert float(first["25 % low"]) < 0.833 < float(first["25 % high"])
    assert (first["50 % low"], first["50 % high"]) == ("3.136", "3.436")  # the 40th and the 61st of a hundred


def test_every_category_has_its_rows_those_with_most_pairs_first(detected):
    rows = detected.rows("oodbench-F15")
    assert {row["detector"] for row in rows} == {"hf_clip[y]"}
    assert [(row["Category"], row["Values"], row["Num"]) for row in rows[:2]] == [
        ("dog", "logit, present", "60"),
        ("cat", "logit, present", "40"),
    ]


def test_the_second_detector_has_a_figure_of_its_own(detected):
    assert {row["detector"] for row in detected.rows("oodbench-F16")} == {"blip2[x]"}


def test_without_a_second_detector_the_remedy_is_named(bench):
    rows = [{**dict(zip(BIN, LOGITS[0], strict=True)), "category": 0}]
    bench.case("detection", files={"logits": rows})
    with pytest.raises(ReportError, match=r"which no case has; .*detection. --eye-model=A --eye-model=B"):
        bench.rows("oodbench-F16")


@given(st.lists(st.integers(0, 9), min_size=1, max_size=30), st.floats(0, 1))
def test_a_quantile_is_in_the_bin_of_the_value_it_stands_for(values, q):
    bins, counts = np.unique(np.array(values, float), return_counts=True)
    low, high = _order_statistic_shares(np.array([len(values)]), q)
    quantile, below, above = quantiles(bins, bins + 1, counts, np.array([q, low[0], high[0]]))
    assert sum(value + 1 < quantile for value in values) <= q * len(values) + 1e-6
    assert sum(value > quantile for value in values) <= (1 - q) * len(values) + 1e-6
    assert np.isnan(below) or below <= quantile <= above


def test_few_values_have_a_quantile_but_no_interval(detected):
    absent = detected.rows("oodbench-F14")[1]
    assert (absent["50 %"], absent["50 % low"]) == ("-0.500", "-0.929")  # seven: between the first and the last
    assert (absent["95 %"], absent["95 % low"]) == ("-0.050", "")


@pytest.fixture
def drawn(detected, drawing):
    """Draw a figure and give its texts."""
    return partial(drawing, detected.pool())


@pytest.mark.parametrize(("name", "texts"), [
    ("oodbench-F14", {"hf_clip[y], oodbench/coco", "absent, n=7", "present, n=100", "probability, purified"}),
    ("oodbench-F15", {"dog (n=60)", "cat (n=40)",
                      "hf_clip[y], oodbench/coco: logits of 2 categories; blue: present, grey: absent"}),
    ("oodbench-F16", {"blip2[x], oodbench/coco: logits of 2 categories; blue: present, grey: absent"}),
])  # fmt: skip
def test_the_figures_have_what_the_tables_have(drawn, name, texts):
    assert texts <= {*drawn(name)}


@pytest.mark.deep
def test_many_categories_are_too_many_for_one_figure(bench, tmp_path, monkeypatch):
    monkeypatch.setattr(logits, "MOST", 4)
    rows = [{**dict(zip(BIN, LOGITS[0], strict=True)), "category": n, "name": f"thing {n}"} for n in range(6)]
    bench.case("detection", files={"logits": rows})
    text = draw("oodbench-F15", bench.pool(), None, tmp_path / "f.svg", tmp_path).read_text(encoding="utf-8")
    assert "4 of 6 categories" in text
