"""Tests of `eyechart.realbirdid.tables.reasons`."""

from tests.realbirdid.tables.abstention_answers import ANSWERS, A, Q, numbers, said


def test_figure_8_counts_reasons_by_issue_over_answers_that_abstain(two_levels):
    rows = [row for row in two_levels.rows("realbirdid-F8") if row["Level"] == "naive"]
    names = ("Issue", "Q", "A", "V", "another reason")
    assert [[row[name] for name in names] for row in rows] == [
        ["Q", "2", "0", "0", "0"],
        ["A", "2", "1", "0", "0"],
        ["V", "0", "0", "0", "1"],
        ["all", "4", "1", "0", "1"],
    ]


def test_figure_8_has_shares_of_the_row_with_n_and_the_rate_of_abstention(two_levels):
    _, row, _, every = two_levels.rows("realbirdid-F8")[:4]
    assert [row[name] for name in ("Q %", "A %", "Q % n", "AR")] == ["66.67", "33.33", "3", "25.00"]
    assert float(row["Q % low"]) < 66.67 < float(row["Q % high"])
    assert (every["AR"], every["Right"]) == ("30.00", "60.00")


def test_a_row_without_abstention_has_no_shares(two_levels):
    row = next(row for row in two_levels.rows("realbirdid-F8") if (row["Level"], row["Issue"]) == ("refuse", "V"))
    assert [row[name] for name in ("Q", "Q %", "Q % n", "another reason %")] == ["0", "", "0", ""]


def test_models_that_never_abstain_have_a_matrix_of_zeros(flock):
    flock.case("abstention", "a", metrics=numbers(), rows=said("naive", [("1", Q, ""), ("2", A, "")]))
    rows = flock.rows("realbirdid-F8")
    assert [[row[name] for name in ("Issue", "Q", "A", "V", "Q %", "Q % n", "AR")] for row in rows] == [
        ["Q", "0", "0", "0", "", "0", "50.00"],
        ["A", "0", "0", "0", "", "0", "25.00"],
        ["V", "0", "0", "0", "", "0", "0.00"],
        ["all", "0", "0", "0", "", "", "30.00"],
    ]


def test_an_unknown_issue_has_a_row_of_its_own(flock):
    rows = [row | {"target": "abstain"} for row in said("naive", ANSWERS)]
    flock.case("abstention", "a", metrics=numbers(), rows=rows)
    assert [row["Issue"] for row in flock.rows("realbirdid-F8")] == ["Q", "A", "V", "not known", "all"]
