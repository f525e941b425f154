"""Tests of `eyechart.realbirdid.tables.flat`."""

import pytest

from eyechart.errors import ReportError

FLAT = [
    ("acc", "all species", "answerable", 0.1, 30),
    ("acc", "all species", "unanswerable", 0.3, 10),
    ("hm", "all species", "all", 0.15),
    ("abstained", "all species", "answerable", 0.4, 30),
    ("abstained", "all species", "unanswerable", 0.6, 10),
]
TREE = [("tree_acc", "all species", "answerable", 0.2, 30), ("tree_acc", "all species", "unanswerable", 0.6, 10),
        ("tree_hm", "all species", "all", 0.3, 40, (0.2, 0.4))]  # fmt: skip


def test_figure_4_has_a_models_flat_list_above_its_tree(flock):
    flock.case(metrics=TREE)
    flock.case("flat_list", metrics=FLAT)
    rows = flock.rows("realbirdid-F4")
    names = ("Family", "Model", "Method", "Answerable", "Unanswerable", "HM", "A abstained")
    assert [[row[name] for name in names] for row in rows] == [
        ["Encoder-Based", "a", "Flat list", "10.00", "30.00", "15.00", "40.00"],
        ["Encoder-Based", "a", "TreeGT", "20.00", "60.00", "30.00", ""],
    ]
    assert (rows[1]["HM n"], rows[1]["HM low"], rows[1]["HM high"]) == ("40", "20.00", "40.00")


def test_figure_4_has_the_published_order_of_columns(flock):
    flock.case(metrics=TREE)
    flock.case("flat_list", metrics=FLAT)
    (table,) = flock.tables("realbirdid-F4")
    assert table.columns[:5] == ("Model", "Method", "Answerable", "Unanswerable", "HM")


def test_a_model_with_one_of_both_alone_is_left_out(flock):
    flock.case(metrics=TREE)
    flock.case("flat_list", metrics=FLAT)
    flock.case(model="b", metrics=TREE)
    assert {row["Model"] for row in flock.rows("realbirdid-F4")} == {"a"}


def test_without_a_pair_the_remedy_of_figure_4_is_named(flock):
    flock.case(metrics=TREE)
    flock.case("flat_list", "b", metrics=FLAT)
    with pytest.raises(ReportError, match=r'Make it with: pytest -k "realbirdid and \(flat_list or species\)"'):
        flock.tables("realbirdid-F4")
