"""Tests of `eyechart.classification.tables.published_tables`."""

from eyechart.reports.runs import load
from eyechart.reports.tables.registry import tables
from eyechart.reports.tables.render import to_markdown


def test_mills_table_puts_ours_beside_what_was_reported(run_folder):
    (table,) = tables("mill-imagenet", load([run_folder]))
    assert table.columns == ("Model", "Mill (acc)", "Reported", "Source", "Δ")
    (line,) = [line for line in to_markdown(table).splitlines() if "laion2b" in line]
    assert [cell.strip() for cell in line.strip("|").split("|")] == [
        "ViT-B-32 / laion2b_s34b_b79k", "0.7059 [0.4687, 0.8672]", "0.6656", "open_clip results", "+0.0403"
    ]  # fmt: skip


def test_mills_table_leaves_open_what_nobody_reported(run_folder):
    (table,) = tables("mill-imagenet", load([run_folder]))
    (line,) = [line for line in to_markdown(table).splitlines() if "conse" in line]
    assert [cell.strip() for cell in line.strip("|").split("|")][2:] == ["—"] * 3
