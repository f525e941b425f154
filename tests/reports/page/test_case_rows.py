"""The summaries of cases and runs on the page: their metrics, prompt settings and names."""

from pathlib import Path
from typing import Any

import pytest

from eyechart.reports.page.case_rows import case_rows, metric_rows, trend
from eyechart.reports.runs import load
from eyechart.results.records import LABELLED
from tests.reports.page.pet_pages import FIRST, SECOND, changed, chunk


def test_a_note_says_which_prompt_settings_a_letter_stands_for(pet_run: Any, pet_page: Any) -> None:
    index, _ = pet_page(changed(pet_run(), variant=[{"templates": "1"}, {"templates": "openai"}]))
    assert [case["protocolName"] for case in index["cases"]] == ["supervised (a)", "supervised (b)"]
    settings = "prompt settings of supervised (a): templates 1; supervised (b): templates openai."
    assert any(note.endswith(settings) for note in index["notes"])


@pytest.mark.deep
def test_the_page_names_runs_behind_links_by_their_folders(linked_runs: tuple[Path, Path], pet_page: Any) -> None:
    index, folder = pet_page(*linked_runs)
    assert [run_["folder"] for run_ in index["runs"]] == [FIRST, SECOND]
    assert [run_["started"] for run_ in chunk(folder, "trends")["runs"]] == [
        "2026-01-01 00:00:01 UTC",
        "2026-01-02 12:30:00 UTC",
    ]


@pytest.mark.deep
def test_the_page_tells_runs_of_one_name_apart(pet_run: Any, pet_page: Any) -> None:
    index, _ = pet_page(pet_run("one/latest"), pet_run("two/latest"))
    assert [run_["folder"] for run_ in index["runs"]] == ["one/latest", "two/latest"]


def test_the_page_shows_the_accuracy_over_images_with_a_label(make_run: Any) -> None:
    folder = make_run(labels=("ReGT",))
    pool = load([folder])
    shown = [row["metric"] for _, row in case_rows(pool, {})]
    assert {(row["name"], row["labels"], row["subset"], row["n"]) for row in shown} == {("acc1", "ReGT", LABELLED, 16)}
    rows = {(row[3], row[5]) for row in metric_rows(pool)}
    assert {("acc1", LABELLED), ("acc1", "all, incl. no_label"), ("ece", "all")} <= rows
    assert ("acc1", "all") not in rows
    lines = trend([(folder, run, list(pool.cases)) for folder, run in pool.sessions])["lines"]
    assert {line["points"][0][3] for line in lines if line["metric"] == "acc1"} == {16}
