"""Tests of `eyechart.classification.tables.category_tables`."""

from tests.classification.tables.table_rows import of

CELLS = ("A", "S", "S+", "S-", "M", "M+", "M-")
CLIP = "ViT-B-32/laion2b_s34b_b79k"


def test_table_2_counts_the_categories(table):
    counts, shares = (row for row in table("T2") if row["Labels"] == "ReGT")
    assert [counts[name] for name in (*CELLS, "N")] == ["18", "12", "10", "2", "4", "2", "2", "2"]
    assert (shares["S"], shares["N"]) == ("66.67", "11.11")
    assert float(shares["S low"]) < 66.67 < float(shares["S high"])


def test_table_10_has_each_ground_truths_own_images(table):
    row = of(table("T10"), CLIP)
    assert (row["polecat ImGT"], row["polecat ImGT n"]) == ("33.33", "3")
    assert (row["polecat WeaselGT"], row["polecat WeaselGT n"], row["polecat Δ"]) == ("100.00", "1", "+66.7")
    assert (row["domestic ferret ImGT n"], row["domestic ferret WeaselGT n"]) == ("3", "5")
