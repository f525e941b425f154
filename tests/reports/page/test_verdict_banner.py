"""The page opens with a summary: the verdict, the best models, and the main metric of every model."""

import re
from pathlib import Path
from typing import Any

import pytest

from eyechart.gate.policy.tiers import ADVISORY, Policy, PolicyRule
from eyechart.gate.verdicts.decide import Rule
from eyechart.results.glossary import describe_metric, glossary

pytestmark = pytest.mark.deep


@pytest.fixture
def folders(studio: Any) -> tuple[Path, Path]:
    """Two runs, of which one model lost all images and another gained one."""
    return studio.run("one", other=[], sure=[0]), studio.run("two", other=[*range(12)], sure=[])


def test_it_opens_with_the_verdict_in_one_sentence_and_a_link_to_the_changes(
    studio: Any, folders: Any, opened: Any
) -> None:
    driver = opened(studio.page(folders[1], baseline=folders[0], rule=Rule(0.5)))
    line = driver.page.locator(".gate-line")
    said = line.inner_text()
    change = r"\d+\.\d\d % → \d+\.\d\d %, -\d+\.\d\d points \[.+\], p[=<]\S+ adjusted"
    assert re.match(rf"▼ Worse in imagenet/sample/\S+ \(\w+\): .+ {change}", said), said
    losses = re.search(r"(\d+) of \d+ numbers are significantly worse than", said)[1]
    driver.page.locator(".lost img").nth(2).wait_for(state="attached")  # the page reads them after its first line
    assert driver.page.locator(".lost img").count() == 3
    row = driver.page.locator(".ranks tbody tr", has_text="▼ regression").first.inner_text()
    assert re.search(
        r"\d+\.\d\d → \d+\.\d\d \[.+\]\s+▼ regression -\d+\.\d+ \[.+\] adjusted p = \S+; \d+ lost, \d+ gained", row
    ), row
    driver.page.get_by_role("link", name="All changes").click()
    driver.page.locator(".since tbody tr").first.wait_for()
    assert f"{losses} ▼ regression" in driver.page.locator(".sums").inner_text()
    assert int(losses) > 0


def test_what_the_policy_makes_advisory_is_no_headline(studio: Any, folders: Any, opened: Any) -> None:
    rule = Rule(0.5, policy=Policy(rules=(PolicyRule(tier=ADVISORY),)))
    driver = opened(studio.page(folders[1], baseline=folders[0], rule=rule))
    assert "Worse in" not in driver.page.locator(".gate-line").inner_text()


def test_where_nothing_is_worse_it_says_what_would_have_been_detected(studio: Any, opened: Any) -> None:
    driver = opened(studio.page(studio.run("one"), studio.run("two")))
    gate = driver.page.get_by_role("region", name="Verdict")
    line = gate.locator(".gate-line").inner_text()
    assert line.startswith("✓ No number is significantly worse than the run before: ")
    gate.locator("summary").click()
    assert gate.locator(".hint").last.inner_text() == "This comparison has too few samples to detect any loss."


def test_names_have_a_sentence_as_a_tooltip_and_in_a_legend(studio: Any, opened: Any) -> None:
    driver = opened(studio.page(), "#/metrics")
    driver.page.locator("tbody tr").first.wait_for()
    name = driver.page.locator("tbody .term", has_text="acc1").first
    assert name.get_attribute("title") == describe_metric("acc1")
    driver.page.get_by_text("What the names mean").click()
    assert driver.page.locator(".glossary dd", has_text=glossary().subsets["single_label_original"]).is_visible()


def test_facets_narrow_the_metrics_down_and_stand_in_the_address(studio: Any, opened: Any) -> None:
    driver = opened(studio.page(), "#/metrics")
    driver.page.get_by_label("Model", exact=True).select_option("conse[]")
    driver.page.get_by_label("Metric", exact=True).select_option("acc1")
    driver.page.get_by_label("Labels", exact=True).select_option("ReGT")
    rows = driver.page.locator("tbody tr")
    assert {tuple(row.split("\t")[:3]) for row in rows.all_inner_texts()} == {("conse[]", "acc1", "ReGT")}
    assert driver.page.url.endswith("#/metrics?model=conse%5B%5D&metric=acc1&labels=ReGT")
    driver.page.go_back()
    driver.page.get_by_role("cell", name="ImGT", exact=True).first.wait_for()


def test_rows_of_few_samples_are_folded(studio: Any, opened: Any) -> None:
    driver = opened(studio.page(), "#/metrics")
    subsets = driver.page.locator("tbody td:nth-child(4)")
    subsets.first.wait_for()
    assert "single_label_original" not in subsets.all_inner_texts()
    driver.page.get_by_label("rows of fewer than 10 samples").check()
    driver.page.get_by_role("cell", name="single_label_original", exact=True).first.wait_for()


def test_on_a_phone_filters_are_folded_and_the_samples_are_on_the_first_screen(studio: Any, opened: Any) -> None:
    driver = opened(studio.page(), "#/samples/imagenet/sample", width=390, height=844)
    card = driver.page.locator(".cards li").first
    card.wait_for()
    assert not driver.page.get_by_label("Outcome").is_visible()
    assert card.bounding_box()["y"] < 400
    driver.page.get_by_text("Filter", exact=True).click()
    assert driver.page.get_by_label("Outcome").is_visible()
