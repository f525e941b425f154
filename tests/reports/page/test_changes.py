"""The page says of every number how sure its change is, in the words and numbers of `compare`."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from eyechart.data.dataset.dataset import SliceVariable
from eyechart.gate.verdicts.decide import DEFAULT_RULE, Rule
from eyechart.reports.comparison.run_comparison import comparison_tables, match_runs
from eyechart.reports.tables.render import format_cell
from eyechart.results.records import full_name, read_run

pytestmark = pytest.mark.deep

COLUMNS = {  # of the page, by the name that `compare` has for it
    "Model": "Case",
    "Change, points": "Δ",
    "Before, %": "Before, %",
    "Now, %": "After, %",
    "n": "n",
    "p": "p",
    "Adjusted p": "Adjusted p",
    "Test": "Test",
    "Verdict": "Verdict",
    "Lost": "Lost",
    "Gained": "Gained",
}
CELLS = """body => [...body.rows].map(
    (row) => Object.fromEntries([...row.cells].map((cell) => [cell.dataset.name, cell.innerText.trim()])))"""
RULE = Rule(0.5, 0.2)
ONE, TWO = {"other": [], "sure": [0]}, {"other": [*range(12)], "sure": []}


@pytest.fixture
def folders(studio: Any) -> tuple[Path, Path]:
    """Two runs, of which one model lost all images and another gained one."""
    return studio.run("one", **ONE), studio.run("two", **TWO)


def compared(folders: tuple[Path, Path], rule: Rule = DEFAULT_RULE) -> list[dict[str, str]]:
    """What `compare` writes."""
    table = comparison_tables(match_runs(folders), rule)[0]
    return [dict(zip(table.columns, map(format_cell, row), strict=True)) for row in table.rows]


def rows(driver: Any) -> list[dict[str, str]]:
    """What the page shows of every number."""
    more = driver.page.get_by_role("button", name="Show all")
    driver.page.locator(".since tbody tr").first.wait_for()
    if more.count():
        more.first.click()
    return [*driver.page.locator(".since tbody").evaluate(CELLS)]


def readable_cells(row: dict[str, str]) -> dict[str, str]:
    """A row of the page as `compare` would write it: a link says what it counts to those who do not see the head."""
    words = {"Verdict": row["Verdict"].partition(" ")[2], "Lost": first(row["Lost"]), "Gained": first(row["Gained"])}
    return {COLUMNS[name]: text for name, text in (row | words).items() if name in COLUMNS and name != "Model"}


def first(text: str) -> str:
    return text.split()[0]


def test_the_page_has_the_cells_of_compare_in_its_order(studio: Any, folders: Any, opened: Any) -> None:
    shown = rows(opened(studio.page(folders[1], baseline=folders[0], rule=RULE), "#/changes"))
    wanted = compared(folders, RULE)
    assert len(shown) == len(wanted) > 20
    names = {*COLUMNS.values()} - {"Case"}
    assert [readable_cells(row) for row in shown] == [{name: row[name] for name in names} for row in wanted]
    metrics = [full_name(row["Metric"], row["Labels"], row["Subset"]) for row in wanted]
    assert [row["Metric"] for row in shown] == metrics
    assert [row["Model"] in line["Case"] for row, line in zip(shown, wanted, strict=True)] == [True] * len(shown)


def test_losses_come_first_with_word_and_sign_and_the_rest_is_counted(studio: Any, folders: Any, opened: Any) -> None:
    driver = opened(studio.page(folders[1], baseline=folders[0], rule=RULE), "#/changes")
    words = [row["Verdict"] for row in rows(driver)]
    assert words[0] == "▼ regression"
    assert driver.page.locator(".sums .decision").all_inner_texts() == [*dict.fromkeys(words)]
    counts = [int(text.split()[0]) for text in driver.page.locator(".sums > span").all_inner_texts()]
    assert counts == [len(words), *(words.count(word) for word in dict.fromkeys(words))]


def test_lost_and_gained_lead_to_their_samples(studio: Any, folders: Any, opened: Any) -> None:
    """A number that is no share leads to what changed in its set."""
    driver = opened(studio.page(folders[1], baseline=folders[0], rule=RULE), None)

    def clicked(metric: str, model: str, column: str) -> list[str]:
        driver.go("#/changes")
        rows(driver)
        line = driver.page.locator(".since tbody tr", has_text=metric).filter(has_text=model).first
        line.locator(f"td[data-name={column}] a").click()
        driver.page.locator(".found").wait_for()
        return [str(text) for text in driver.page.locator(".cards .key").all_inner_texts()]

    lost = [key for key, label in zip(studio.keys, studio.original, strict=True) if label >= 0]
    assert clicked("acc1 (ImGT)", "conse[]", "Lost") == lost
    assert clicked("acc1 (ImGT)", "timm", "Gained") == [studio.keys[0]]
    assert 0 < len(clicked("mean_per_class_recall (ImGT, single_label)", "conse[]", "Lost")) < len(studio.keys)


def test_a_case_says_the_word_that_matters_most_of_it(studio: Any, folders: Any, opened: Any) -> None:
    driver = opened(studio.page(folders[1], baseline=folders[0], rule=RULE), "#/changes")
    every = [row["Verdict"] for row in rows(driver) if row["Model"] == "conse[]"]
    driver.go("#/cases")
    line = driver.page.locator("table:has-text('Results of every case') tbody tr", has_text="conse[]")
    assert line.locator(".decision").inner_text() == "▼ regression"
    losses = every.count("▼ regression")
    assert line.locator("td:has(.decision) .hint").inner_text().strip() == f"{losses} of {len(every)}"


def test_the_table_sorts_and_filters(studio: Any, folders: Any, opened: Any) -> None:
    driver = opened(studio.page(folders[1], baseline=folders[0], rule=RULE), "#/changes", width=1400, height=900)
    driver.page.locator(".since input[type=search]").fill("conse inconclusive")
    shown = rows(driver)
    assert {(row["Model"], row["Verdict"]) for row in shown} == {("conse[]", "≈ inconclusive")}
    driver.page.locator(".since").get_by_role("button", name="n", exact=True).click()
    order = [int(row["n"]) for row in rows(driver)]
    assert order == sorted(order)
    assert len({*order}) > 1


def test_a_number_without_what_it_was_made_of_is_told_by_its_interval(
    studio: Any, folders: Any, opened: Any, copied: Any
) -> None:
    records = tuple(replace(record, evidence=None) for record in read_run(folders[0]).records)
    old = studio.make_run.written(copied(folders[0]), records)
    shown = rows(opened(studio.page(folders[1], baseline=old), "#/changes"))
    assert {row["Test"] for row in shown} == {"unpaired"}
    assert {first(row["Lost"]) for row in shown} == {"—"}
    assert [readable_cells(row) for row in shown] == [
        {name: row[name] for name in {*COLUMNS.values()} - {"Case"}} for row in compared((old, folders[1]))
    ]


def test_a_page_of_one_run_alone_says_nothing_of_changes(studio: Any, opened: Any) -> None:
    driver = opened(studio.page(), "#/changes")
    assert driver.page.locator(":is(.since, .decision)").count() == 0


COUNT = "1 of 29 slices lost, 0 gained; 28 have too few changed samples for a significant change"


@pytest.fixture(scope="module")
def sliced(studio: Any) -> Any:
    """Photographs by day and by night, of which a model lost those of the night."""
    light = SliceVariable("light", ("day", "night"), np.full(len(studio.dataset.index), -1))
    light.codes[[*studio.dataset.selected]] = np.arange(len(studio.keys)) % 2
    return dataclasses.replace(studio, dataset=dataclasses.replace(studio.dataset, slices=(light,)), kept={})


@pytest.fixture
def night(sliced: Any) -> Path:
    """The page of the loss."""
    folders = sliced.run("by day", other=[], sure=[]), sliced.run("by night", other=[*range(1, 12, 2)], sure=[])
    return Path(sliced.page(folders[1], baseline=folders[0], rule=RULE))


def test_a_slice_that_lost_leads_to_its_samples(sliced: Any, night: Path, opened: Any) -> None:
    driver = opened(night, "#/changes")
    section = driver.page.locator("section.slices")
    line = section.locator("tbody tr")
    assert line.count() == 1
    assert "acc1 (ImGT, light=night)" in line.inner_text()
    assert f"{COUNT}; conse[], light=night lost" in section.inner_text()
    line.get_by_role("link", name="lost").click()
    driver.page.locator(".found").wait_for()
    shown = [str(text) for text in driver.page.locator(".cards .key").all_inner_texts()]
    labelled = [key for key, label in zip(sliced.keys, sliced.original, strict=True) if label >= 0]
    assert shown == [key for key in sliced.keys[1::2] if key in labelled]


def test_the_verdict_names_the_slice_that_lost_most_certainly(night: Path, opened: Any) -> None:
    text = opened(night).page.locator("[aria-label=Verdict]").inner_text()
    assert f"Slices: {COUNT}; conse[], light=night lost 100.0 points (n=" in text
