"""Figures that the page draws by itself, read from the tables beside them."""

from typing import Any

import pytest

pytestmark = pytest.mark.deep


def test_risk_is_the_share_of_wrong_answers_among_those_kept(studio: Any, opened: Any) -> None:
    driver = opened(studio.page(), "#/figures")
    driver.page.get_by_text("The points as a table").click()
    table = driver.page.locator("table", has=driver.page.get_by_text("Risk by coverage, point by point", exact=True))
    rows = [row.split("\t") for row in table.locator("tbody tr").all_inner_texts()]
    whole = {name: risk.split(" ")[0] for name, coverage, risk in rows if float(coverage) == 100}
    labelled = sum(label >= 0 for label in studio.original)
    assert whole["timm[tf_efficientnet_lite0], supervised, ImGT"] == f"{100 / labelled:.2f}"  # one of them is wrong


def test_an_axis_is_zoomed_to_the_intervals_and_can_be_whole(studio: Any, opened: Any) -> None:
    driver = opened(studio.page(studio.run(other=[1], words=[1])), "#/figures")
    ends = driver.page.locator(".shares .scale span")
    ends.first.wait_for()
    low = int(ends.first.inner_text())
    intervals = driver.page.locator(".shares td.number .hint").all_inner_texts()
    lowest = min(float(text.strip("[]").split(",")[0]) for text in intervals)
    assert lowest - 5 <= low <= lowest
    driver.page.get_by_label("axis from 0 to 100 %").check()
    driver.page.locator(".shares .scale").get_by_text("0", exact=True).wait_for()
    assert ends.all_inner_texts() == ["0", "50", "100 %"]


def test_published_figures_are_small_until_one_is_opened(studio: Any, opened: Any) -> None:
    driver = opened(studio.page(figures=True), "#/figures", width=1400, height=900)
    figure = driver.page.locator(".published", has=driver.page.locator("img[src='figures/agreement.svg']"))
    figure.locator("img").wait_for()
    assert driver.page.evaluate("document.documentElement.scrollHeight") <= 5 * 900
    assert figure.locator("img").bounding_box()["height"] < 200
    figure.get_by_role("button").click()
    figure.get_by_role("link", name="The numbers of agreement as a table").wait_for()
    assert figure.locator("img").bounding_box()["width"] > 600


def test_the_confusion_matrix_leads_to_the_confused_samples(studio: Any, opened: Any) -> None:
    driver = opened(studio.page(), "#/figures")
    driver.page.get_by_text("Confusion matrix", exact=True).click()
    driver.page.get_by_label("Case", exact=True).select_option("timm[tf_efficientnet_lite0], supervised")
    row = driver.page.locator(".confusion tbody tr", has_text="(355)")
    row.locator("td:not(.same) a").click()
    driver.page.locator(".found").wait_for()
    assert driver.page.locator(".cards .key").all_inner_texts() == [studio.keys[1]]
