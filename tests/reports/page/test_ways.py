"""Ways through the page: keys, links to one sample, tables that sort and filter, and what is not there."""

from typing import Any

import pytest

pytestmark = pytest.mark.deep

PRESSES_J_BEFORE_ANYTHING_IS_PAINTED = """
new MutationObserver((_, observer) => {
  if (document.querySelector(".cards")) {
    observer.disconnect();
    document.dispatchEvent(new KeyboardEvent("keydown", {key: "j", cancelable: true}));
  }
}).observe(document, {childList: true, subtree: true});
"""


def heading(driver: Any) -> str:
    return str(driver.page.locator("article h2").inner_text())


def test_keys_lead_from_sample_to_sample_and_back_to_the_list(driver: Any, studio: Any) -> None:
    driver.go("#/samples/imagenet/sample?outcome=wrong")
    driver.page.locator(".cards").wait_for()
    for key, index in (("j", 0), ("j", 1), ("ArrowRight", 2), ("k", 1), ("ArrowLeft", 0)):
        driver.page.keyboard.press(key)
        driver.page.get_by_role("heading", name=studio.keys[index]).wait_for()
    driver.page.keyboard.press("Escape")
    driver.page.locator(".cards").wait_for()
    assert driver.page.locator(".found").inner_text() == "3 of 12 images"


def test_a_key_is_heard_as_soon_as_the_list_is_there(studio: Any, opened: Any) -> None:
    driver = opened(studio.page(), None, alone=True)
    driver.page.add_init_script(PRESSES_J_BEFORE_ANYTHING_IS_PAINTED)
    driver.go("#/samples/imagenet/sample?outcome=wrong")
    driver.page.get_by_role("heading", name=studio.keys[0]).wait_for()


def test_a_slash_leads_to_the_search_and_letters_there_do_nothing_else(driver: Any) -> None:
    driver.go("#/samples/imagenet/sample")
    driver.page.locator(".cards").wait_for()
    driver.page.keyboard.type("/jk")
    assert driver.page.get_by_role("searchbox").input_value() == "jk"
    assert driver.page.locator("article").count() == 0


def test_keys_can_be_turned_off_and_stay_so(driver: Any) -> None:
    driver.go("#/samples/imagenet/sample")
    driver.page.get_by_text("Keys", exact=True).click()
    driver.page.get_by_label("enable these keys").uncheck()
    driver.page.locator("h1").click()
    driver.page.keyboard.press("j")
    driver.go("#/samples/imagenet/sample")
    driver.page.locator(".cards").wait_for()
    driver.page.keyboard.press("j")
    assert driver.page.locator("article").count() == 0


def test_a_link_leads_to_one_sample_under_one_filter(driver: Any, studio: Any) -> None:
    driver.go(f"#/samples/imagenet/sample?labels=ReGT&outcome=wrong&at={studio.keys[3]}")
    driver.page.locator("article").wait_for()
    assert heading(driver) == studio.keys[3]
    assert driver.page.locator(".moves [role=status]").text_content() == f"4 of 6: {studio.keys[3]}"
    assert driver.page.get_by_label("Labels", exact=True).input_value() == "ReGT"


def test_a_sample_outside_of_the_filter_is_shown_and_leads_into_it(driver: Any, studio: Any) -> None:
    driver.go(f"#/samples/imagenet/sample?outcome=wrong&at={studio.keys[5]}")
    driver.page.get_by_text("Not in the filter").wait_for()
    driver.page.keyboard.press("k")
    driver.page.get_by_text("3 of 3").wait_for()
    assert heading(driver) == studio.keys[2]


@pytest.mark.parametrize(
    ("hash_", "said"),
    [
        ("#/samples/imagenet/sample?at=nobody", "There is no sample nobody here."),
        ("#/samples/imagenet/sample?model=nobody&page=99", "12 of 12 images"),
        ("#/samples/%E0%A4%A", "12 of 12 images"),
        ("#/nowhere/at/all", "may be the best"),
        ("#/tables/none", "Choose a table."),
    ],
)
def test_a_link_to_what_is_not_there_is_answered(driver: Any, hash_: str, said: str) -> None:
    driver.go(hash_)
    driver.page.get_by_text(said).first.wait_for()


def test_a_table_sorts_up_down_and_back_and_filters_by_words(driver: Any) -> None:
    driver.go("#/metrics")
    driver.page.get_by_label("Find").fill("acc1 all")
    sort = driver.page.get_by_role("button", name="%", exact=True)
    column = driver.page.locator("tbody td:nth-child(5)")
    orders = []
    for expected in ("ascending", "descending", "none"):
        sort.click()
        assert driver.page.locator("th[aria-sort]").nth(4).get_attribute("aria-sort") == expected
        orders.append([float(text.split()[0]) for text in column.all_inner_texts() if text[0].isdigit()])
    assert orders[0] == sorted(orders[2])
    assert orders[1] == sorted(orders[2], reverse=True)
    driver.page.get_by_label("Find").fill("mllm REGT acc1 all")
    assert {row.split("\t")[0] for row in driver.page.locator("tbody tr").all_inner_texts()} == {"hf[mllm]"}


def test_every_view_has_its_heading_and_is_told_on_arrival(driver: Any) -> None:
    driver.go("")
    for name in ("Samples", "Figures", "Trends", "Tables", "Metrics", "Cases", "Changes", "Summary"):
        driver.page.get_by_role("navigation", name="Views").get_by_role("link", name=name).click()
        driver.page.locator("h1:focus").wait_for()
        assert driver.page.title().startswith(name)


def test_a_chunk_that_is_not_there_is_said(studio: Any, opened: Any, copied: Any) -> None:
    page = copied(studio.page())
    (page.parent / "data/a0/items.js").unlink()
    driver = opened(page, "#/samples/imagenet/sample")
    assert driver.page.get_by_role("alert").inner_text().startswith("data/a0/items.js cannot be read.")
    driver.complaints.clear()  # the browser's own


def test_data_of_a_later_version_are_not_guessed_at(studio: Any, opened: Any, copied: Any) -> None:
    page = copied(studio.page())
    index = page.parent / "data/index.js"
    index.write_text(index.read_text().replace('\\"schema\\":1', '\\"schema\\":2', 1), encoding="ascii")
    driver = opened(page)
    assert driver.page.get_by_role("alert").inner_text().startswith("These data were written by a later version")
