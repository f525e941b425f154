"""The overview and aggregate.csv when cases about image–category pairs stand in a run."""

import csv
from io import StringIO

import pytest

from eyechart.reports.overview.write_overview import aggregate, overview_tables, write_overview

PROGRESSION = [(f"{stage}_acc", "ID", 0.9, 30, (0.7, 1.0), "bootstrap") for stage in "ecl"]


@pytest.fixture
def pool(bench, existing):
    """A case of existence, one of progression and one of detection."""
    existing("hf[a]", "coco", {"ID": "ynyn", "OOD-H": "ynnn"})
    bench.case("progression", metrics=PROGRESSION)
    bench.case("detection", "open_clip[b]", metrics=[("flagged", "all", 0.5, 10, (0.2, 0.8), "wilson")])
    return bench.pool()


def test_every_case_has_its_numbers_and_its_outcomes(pool) -> None:
    titles = [table.title for table in overview_tables(pool)]
    assert [title.rpartition(": ")[2] for title in titles][-2:] == ["outcomes", "every metric"]
    assert any("existence" in title for title in titles)
    assert any("progression" in title for title in titles)


def test_nothing_of_a_set_is_the_benchmark_as_a_whole(pool) -> None:
    rows = list(csv.DictReader(StringIO(aggregate(pool))))
    assert {row["metric"] for row in rows} >= {"e_acc", "flagged"}
    assert all(row["task"] != row["benchmark"] for row in rows)


def test_notes_name_the_division_and_leave_no_gap(pool, tmp_path) -> None:
    text = write_overview(pool, tmp_path)
    assert "Divisions, annotations and observations: OODBench dddddddddddd." in text
    assert "equivalences ;" not in text
    assert "labels: ." not in text
