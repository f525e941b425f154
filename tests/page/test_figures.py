"""Figures that the page draws by itself, read from the tables beside them."""

from typing import Any

import pytest

pytestmark = pytest.mark.slow


def test_risk_is_the_share_of_wrong_answers_among_those_kept(studio: Any, opened: Any) -> None:
    driver = opened(studio.page())
    driver.go("#/figures")
    driver.page.get_by_text("The points as a table").click()
    table = driver.page.locator("table", has=driver.page.get_by_text("Risk by coverage", exact=True))
    rows = [row.split("\t") for row in table.locator("tbody tr").all_inner_texts()]
    whole = {name: risk.split(" ")[0] for name, coverage, risk in rows if float(coverage) == 100}
    labelled = sum(label >= 0 for label in studio.original)
    assert whole["timm[tf_efficientnet_lite0], supervised, ImGT"] == f"{100 / labelled:.2f}"  # one of them is wrong
