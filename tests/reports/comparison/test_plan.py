"""`plan`: the numbers of samples that the command prints, and what it takes from two earlier runs."""

import csv
from io import StringIO
from typing import Any

import pytest

from eyechart.cli import main
from eyechart.reports.comparison.plan import expect_as_before, plan_table, suppose
from eyechart.statistics.noninferiority import margin_power
from eyechart.statistics.significance import loss_power

CLIP = "open_clip[ViT-B-32,pretrained=laion2b_s34b_b79k]"
SIZE = 200
TRUTHS = tuple((index, (index,), None) for index in range(SIZE))


def planned(*arguments: object, capsys: Any) -> list[dict[str, str]]:
    """The rows that the command writes."""
    assert main(["plan", *arguments, "--format", "csv"]) == 0
    return [*csv.DictReader(StringIO(capsys.readouterr().out))]


@pytest.fixture
def two_runs(make_run: Any) -> Any:
    """Two runs of a model of which 8 outcomes change."""
    return [
        make_run(
            name,
            models={CLIP: ("zero_shot", [999 if index in wrong else index for index in range(SIZE)])},
            truths=TRUTHS,
            labels=("ImGT",),
        )
        for name, wrong in (("before", {1, 2, 3, 4}), ("after", {5, 6, 7, 8}))
    ]


def test_each_number_has_the_power_that_it_is_for(capsys: Any) -> None:
    rows = planned("--margin=0.02", "--models=4", "--alpha=0.05", capsys=capsys)
    assert [row["Changed, %"] for row in rows] == ["5.00", "8.00"] * 2
    for row in rows:
        each, together = (int(row[name]) for name in ("Each model", "All models"))
        share = float(row["Changed, %"]) / 100
        if row["Verdict"].startswith("no loss"):
            power = [margin_power(n, share, 0.02, 0.05) for n in (each, together)]
        else:
            power = [loss_power(n, share, 0.02, 0.05 / 4) for n in (each, together)]
        assert power[0] == pytest.approx(0.8, abs=0.01)
        assert power[1] ** 4 == pytest.approx(0.8, abs=0.02)


def test_a_loss_larger_than_the_changes_makes_more_of_them(capsys: Any) -> None:
    rows = planned("--margin=0.1", "--discordance=0.02", capsys=capsys)
    assert [row["Changed, %"] for row in rows] == ["2.00", "3.20", "10.00"]


def test_two_runs_say_how_often_outcomes_change(two_runs: Any, capsys: Any) -> None:
    rows = planned(*two_runs, "--margin=0.02", capsys=capsys)
    assert rows[0]["Changed, %"] == "4.00"
    assert 4 < float(rows[1]["Changed, %"]) < 8
    assert "8 of 200 outcomes changed between before (2026" in expect_as_before(*two_runs).source


def test_samples_of_one_image_count_by_the_design_effect(capsys: Any) -> None:
    plain = planned("--margin=0.02", capsys=capsys)
    clustered = planned("--margin=0.02", "--design-effect=2", capsys=capsys)
    assert [int(row["Each model"]) for row in clustered] == [2 * int(row["Each model"]) for row in plain]
    assert {row["Sequential"] for row in clustered} == {""}


def test_time_and_price_are_those_of_all_models() -> None:
    expected = suppose(0.05, 1.0)
    table = plan_table(type(expected)(0.05, 0.05, 1.0, seconds=2.0, cost=0.01), 0.05, 1, 0.05, 0.8)
    samples, time, cost = (table.rows[0][table.columns.index(name)] for name in ("Each model", "Time", "Cost, USD"))
    assert (samples, time, cost) == (158, "0:05:16", "1.58")


def test_runs_without_a_case_in_common_are_refused(two_runs: Any, make_run: Any, capsys: Any) -> None:
    other = make_run("other", split="test")
    assert main(["plan", str(two_runs[0]), str(other), "--margin=0.01"]) == 2
    assert "have no accuracy over the same samples in common." in capsys.readouterr().err
