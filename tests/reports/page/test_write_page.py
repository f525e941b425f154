"""The page in a real browser, from a run to one sample."""

from typing import Any


def test_it_opens_from_disk_with_every_case(driver: Any) -> None:
    driver.go("#/cases")
    rows = driver.page.locator("tbody tr").all_inner_texts()
    assert [row.split("\t")[0] for row in rows] == ["hf[mllm]", "conse[]", "timm[tf_efficientnet_lite0]"]


def test_a_case_leads_to_its_samples_and_a_sample_to_what_was_said(driver: Any, studio: Any) -> None:
    driver.go("")
    driver.page.locator(".ranks").get_by_role("link").first.click()
    driver.page.get_by_role("link", name=studio.keys[3]).click()
    driver.page.locator("pre.raw").first.wait_for()
    assert driver.page.locator("pre.raw").first.inner_text() == f"Class {studio.original[3]}."
    assert driver.page.locator(".parts img").evaluate("image => image.decode().then(() => image.naturalWidth)") > 100


def test_the_samples_are_all_there_in_order(driver: Any, studio: Any) -> None:
    assert driver.samples() == [*studio.keys]
