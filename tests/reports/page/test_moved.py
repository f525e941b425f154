"""What each number lost and gained: an address of the gate leads to these very images."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eyechart.gate.comparison.compare_metrics import compare_metrics
from eyechart.gate.verdicts.page_link import page_address
from eyechart.reports.page.previous import sample_changes
from eyechart.reports.runs import load
from eyechart.results.evidence import Evidence
from eyechart.results.records import decode, read_run

pytestmark = pytest.mark.deep

CASE, RULE = "imagenet/sample/conse[]", "zero_shot"
Listed = Callable[..., list[str]]


@pytest.fixture
def listed(studio: Any, opened: Any) -> Listed:
    """The samples that an address of the gate leads to, on the page of a run and one before it."""
    driver = opened(studio.page(studio.run("two", other=[1, 2]), baseline=studio.run("one", other=[0])), None)

    def rows_(*asked: str) -> list[str]:
        driver.go(page_address(*asked).partition("index.html")[2])
        driver.page.locator(".found").wait_for()
        return [str(text) for text in driver.page.locator(".cards .key").all_inner_texts()]

    rows_.seen = driver
    return rows_


def test_a_case_and_a_number_lead_to_what_it_lost(listed: Any, studio: Any) -> None:
    assert listed(CASE, RULE, "ImGT", "acc1 (ImGT)") == [studio.keys[index] for index in (1, 2)]
    assert listed.seen.page.get_by_label("Model", exact=True).input_value() == "conse[], zero_shot"
    assert listed.seen.page.get_by_label("Number").input_value() == "acc1 (ImGT)"


def test_another_truth_lost_others_and_the_address_shows_that_truth(listed: Any, studio: Any) -> None:
    assert listed(CASE, RULE, "ReGT", "acc1 (ReGT)") == [studio.keys[index] for index in (0, 1, 2)]
    assert listed.seen.page.get_by_label("Labels", exact=True).input_value() == "ReGT"
    assert listed(CASE, RULE, "ReGT", "acc1 (ReGT, no_label)") == []


def test_a_number_that_is_not_told_image_by_image_leads_to_all(listed: Any, studio: Any) -> None:
    assert listed(CASE, RULE, "ImGT") == [*studio.keys]
    assert listed(CASE, "supervised", "ImGT") == [*studio.keys]


def test_gained_is_the_other_way_and_labels_no_page_has_are_left_aside(listed: Any, studio: Any) -> None:
    assert listed(CASE, RULE, "nobody's", "acc1 (ImGT)") == [studio.keys[index] for index in (1, 2)]
    listed.seen.page.get_by_label("Since baseline").select_option("gained")
    listed.seen.page.get_by_text("1 of 12 images").wait_for()
    assert listed.seen.page.locator(".cards .key").all_inner_texts() == [studio.keys[0]]


def test_a_card_says_what_the_chosen_model_answered(listed: Any) -> None:
    listed(CASE, RULE, "ImGT", "acc1 (ImGT)")
    assert listed.seen.page.locator(".outcomes").first.text_content() == "1 wrong✗, answered rooster (7)"


def test_a_sample_says_what_became_of_it_in_that_number(listed: Any, studio: Any) -> None:
    listed(CASE, RULE, "ImGT", "acc1 (ImGT)")
    listed.seen.page.get_by_role("link", name=studio.keys[2]).click()
    assert listed.seen.page.locator(".moved").inner_text() == "acc1 (ImGT): ✓ right before, ✗ wrong now"


def test_without_a_baseline_it_says_what_is_lacking(studio: Any, opened: Any) -> None:
    driver = opened(studio.page(), None)
    assert driver.samples("?changed=lost&of=acc1+(ImGT,+A)") == []
    assert "write the page with --baseline" in driver.page.locator("main").inner_text()


def evidence(run: Path) -> dict[str, Evidence]:
    """What each model's case kept."""
    kept = {record.model.spec: record.evidence for record in read_run(run).records}
    return {model: decode((run / file.path).read_bytes(), Evidence) for model, file in kept.items() if file}


def test_they_are_those_that_the_gate_compares(studio: Any) -> None:
    runs = studio.run("one", other=[0, 5]), studio.run("two", other=[1, 2])
    cases = [{item.model: item for item in load([run]).groups[0].cases} for run in runs]
    changes = sample_changes(*(item["conse[]"] for item in cases), studio.keys)
    shares = [
        item for item in compare_metrics(*(evidence(run)["conse[]"] for run in runs)) if item.method == "exact McNemar"
    ]
    assert len(shares) > 2
    for item in shares:
        assert tuple(changes[item.name].lost.tolist()) == item.lost
        assert len(changes[item.name].gained) == item.gained


def test_items_that_are_no_images_and_other_samples_are_left_aside(studio: Any) -> None:
    (case, *_) = load([studio.run("one")]).groups[0].cases
    assert sample_changes(None, case, studio.keys) == {}
    assert sample_changes(case, case, studio.keys * 2) == {}
    assert not any(np.size(change.lost) for change in sample_changes(case, case, studio.keys).values())
