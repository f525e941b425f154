"""Tests of `eyechart.oodbench.tables.signatures`."""

import pytest

from tests.oodbench.hard_sample_answers import ask

pytestmark = pytest.mark.deep
# Of ten pairs each, how many a model gets wrong: the falls on hard samples, and those on OOD-H.


def test_figure_12_has_the_papers_lines_of_evidence(hard_samples_of_four):
    rows = hard_samples_of_four.rows("oodbench-F12")
    assert [row["Evidence"] for row in rows] == ["1", "2", "2", "3", "4", "4", "5", "5"]
    f, pearson, spearman = rows[:3]
    assert (f["Statistic"][:7], f["Value"], f["Value n"], f["p"]) == ("F(3, 3)", "17.50", "4", "0.0210")
    assert (pearson["Value"], spearman["Value"]) == ("-0.48", "-0.32")
    assert -1 < float(pearson["Value low"]) < -0.48 < float(pearson["Value high"])


def test_resampled_hard_samples_vary_more_than_ood_and_agree_more_with_all(hard_samples_of_four):
    variance, pearson, _ = hard_samples_of_four.rows("oodbench-F12")[3:6]
    assert variance["Value"] == "66.67"  # of 0.2, 0.3, 0.3 and 0.4, in squared points
    assert float(variance["Baseline low"]) < 1166.67 < float(variance["Baseline high"])
    assert float(variance["p low"]) < float(variance["p"]) < float(variance["p high"]) < 0.1
    assert float(pearson["Baseline"]) > 0.9
    assert float(pearson["p"]) == pytest.approx(1 / 1001, abs=1e-4)


def test_models_that_fall_alike_have_no_correlation(bench):
    for model in ("hf[a]", "hf[b]"):
        ask(bench, model, 5, 5)
    rows = bench.rows("oodbench-F12")
    assert [row["Value"] for row in rows[:6]] == ["", "", "", "0.00", "", ""]
