"""The sample browser's filters: what passes each, for one model or for any."""

from typing import Any

import pytest

pytestmark = pytest.mark.deep

TIMM, CONSE, MLLM = "timm%5Btf_efficientnet_lite0%5D%2C+supervised", "conse%5B%5D%2C+zero_shot", "hf%5Bmllm%5D%2C+CW"


PASSED = {
    "outcome=wrong": [0, 1, 2, 4],
    f"outcome=wrong&model={TIMM}": [1],
    f"outcome=right&model={TIMM}": [0, 2, 3, 4, 5, 10, 11],
    f"outcome=right&model={CONSE}&labels=ReGT": [0, 5, 7, 8, 10, 11],
    f"outcome=unscored&model={TIMM}": [6, 7, 8, 9],
    "outcome=error": [11],
    "outcome=unparsed": [],
    "flip=ImGT>ReGT": [0],
    f"flip=ImGT>ReGT&model={TIMM}": [],
    "flip=ReGT>ImGT": [0, 3],
    "prompt=1": [0, 2],
    f"prompt=1&model={TIMM}": [],
    "disagree=1": [0, 1, 2, 4],
    "labels=ReGT&category=single_label_other": [0, 3, 6, 9],
    "labels=ReGT&category=single_label_original": [1, 2, 4, 5, 10, 11],
    "category=no_label": [6, 7, 8, 9],
    "find=KINGFISHER": [6],
    "find=cheetah": [0],
    "find=no+such+thing": [],
    "changed=lost": [4],
    "changed=gained": [3, 5],
    f"changed=gained&model={CONSE}": [5],
    "changed=answer": [3, 4, 5],
    "changed=outcome": [3, 4, 5],
    f"changed=lost&model={TIMM}": [],
    "flip=ImGT>Nothing": [],
}


@pytest.fixture
def driver(studio: Any, opened: Any) -> Any:
    """The page of two runs: since the first, `conse` lost place 4 and gained place 5, and the words changed at 3."""
    before = studio.run("before", other=[0, 1, 2, 5], words=[0, 2, 3])
    return opened(studio.page(before, studio.run("after", other=[0, 1, 2, 4])), None)


def test_a_filter_passes_what_it_says(driver: Any, studio: Any) -> None:
    passed = {query: [studio.keys.index(key) for key in driver.samples(f"?{query}")] for query in PASSED}
    assert passed == PASSED


def test_conditions_on_models_hold_for_one_of_them_together(driver: Any, studio: Any) -> None:
    assert driver.samples("?outcome=wrong&prompt=1") == [studio.keys[index] for index in (0, 2)]
    assert (
        driver.samples("?outcome=right&prompt=1") == []
    )  # others were right there, but none of them out of the prompt


def test_the_controls_say_and_do_what_the_address_does(driver: Any, studio: Any) -> None:
    driver.go("#/samples/imagenet/sample")
    driver.page.get_by_label("Outcome").select_option("wrong")
    driver.page.get_by_label("Model", exact=True).select_option("conse[], zero_shot")
    driver.page.get_by_label("Labels", exact=True).select_option("ReGT")
    driver.page.get_by_text("6 of 12 images").wait_for()
    assert driver.page.url.rpartition("?")[2] == "outcome=wrong&model=conse%5B%5D%2C+zero_shot&labels=ReGT"
    driver.page.go_back()
    driver.page.get_by_text("4 of 12 images").wait_for()
    assert driver.page.get_by_label("Labels", exact=True).input_value() == "ImGT"


def test_typing_finds_at_every_letter_and_leaves_one_step_to_go_back(driver: Any, studio: Any) -> None:
    driver.go("#/samples/imagenet/sample")
    driver.page.get_by_label("Outcome").select_option("right")
    driver.page.get_by_role("searchbox").press_sequentially("lobster")
    driver.page.get_by_text("1 of 12 images").wait_for()
    assert driver.page.locator(".cards .key").all_inner_texts() == [studio.keys[10]]
    driver.page.go_back()
    driver.page.get_by_text("12 of 12 images").wait_for()


def test_a_confused_pair_leads_to_its_samples(driver: Any, studio: Any) -> None:
    driver.go("#/figures")
    driver.page.get_by_label("Find").fill("timm (355) ImGT")
    driver.page.get_by_role("link", name="1 sample").click()
    driver.page.locator(".found").wait_for()
    assert driver.page.locator(".cards .key").all_inner_texts() == [studio.keys[1]]
    driver.page.get_by_role("button", name="answered").click()
    driver.page.get_by_role("button", name="labelled").click()
    assert driver.page.locator(".found").inner_text() == "1 of 12 images"
