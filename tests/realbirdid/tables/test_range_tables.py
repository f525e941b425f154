"""Figures 4, 6 and 19 of RealBirdID: a flat list against a tree, and what range lists change."""

import pytest

from eyechart.errors import ReportError


def ranged(ig, ua_a, *more):
    """IG and UA/A without the lists and with them."""
    sides = [(labels, *pair) for labels, *pair in zip(("eligible", "range"), ig, ua_a, strict=True)]
    return [
        *(("ig", labels, "answerable", one, 20, (0.1, 0.9)) for labels, one, _ in sides),
        *(("ua_a", labels, "all", other, 25) for labels, _, other in sides),
        *more,
    ]


@pytest.fixture
def listed(flock):
    """Two encoders and a model that answers in words, which loses UA/A."""
    change = [
        ("ig_change", "range", "answerable", 0.31, 20, (0.2, 0.4)),
        ("ua_a_change", "range", "all", 0.05, 25, (-0.1, 0.2)),
    ]
    flock.case(model="a", metrics=ranged((0.5, 0.81), (0.4, 0.45), *change))
    flock.case(model="b", metrics=ranged((0.6, 0.8), (0.5, 0.56)))
    flock.mllm(model="c", metrics=ranged((0.4, 0.9), (0.5, 0.4)))
    flock.case(model="d", metrics=[("ig", "all species", "answerable", 0.5)])
    return flock


def test_figure_19_has_both_numbers_without_and_with_the_lists_and_the_change(listed):
    rows = listed.rows("realbirdid-F19")
    heads = [f"{name} {side}" for name in ("IG", "UA/A") for side in ("without", "with", "Δ")]
    assert [row["Model"] for row in rows] == ["a", "b", "c"]
    assert [rows[0][head] for head in heads] == ["50.00", "81.00", "+31.00", "40.00", "45.00", "+5.00"]
    assert [rows[2][head] for head in heads] == ["40.00", "90.00", "+50.00", "50.00", "40.00", "-10.00"]


def test_the_change_has_the_records_paired_interval_where_there_is_one(listed):
    rows = listed.rows("realbirdid-F19")
    assert [rows[0][name] for name in ("IG Δ low", "IG Δ high", "UA/A Δ low", "UA/A Δ n")] == [
        *("+20.00", "+40.00", "-10.00", "25"),
    ]
    assert rows[1]["IG Δ low"] == ""


def test_figure_6_has_mean_and_spread_over_the_models_of_each_family(listed):
    rows = {(row["Models"], row["Metric"]): row for row in listed.rows("realbirdid-F6")}
    row = rows["Encoder-Based", "IG"]
    assert [row[name] for name in ("Number", "n", "without", "SD", "with", "Δ", "Rose")] == [
        *("2", "20", "55.00", "7.07", "80.50", "+25.50", "2"),
    ]
    assert [rows["Multimodal LLMs", "UA/A"][name] for name in ("Number", "Rose", "Δ low")] == ["1", "0", ""]
    assert rows["All models", "IG"]["Number"] == "3"


@pytest.mark.parametrize("name", ["realbirdid-F6", "realbirdid-F19"])
def test_without_lists_the_remedy_is_named(flock, name):
    flock.case(metrics=[("ig", "all species", "answerable", 0.5), ("ig", "range", "answerable", None, 0)])
    with pytest.raises(
        ReportError, match=r"under 'range', which observations with latitude and longitude and candidates"
    ):
        flock.tables(name)
