"""Thumbnails: many in one file, each made once, and those that cannot be read."""

from typing import Any

from tests.reports.page.pet_pages import NAMES, thumbnails


def test_thumbnails_lie_together_in_few_files(pet_run: Any, pet_page: Any, opened: Any) -> None:
    folder_ = pet_run()
    index, folder = pet_page(folder_)
    assert len([*(folder / "images").rglob("*.js")]) == 1
    assert index["notes"] == []
    driver = opened(folder / "index.html", "#/samples/pets/test")
    driver.page.locator(".cards img").nth(2 * len(NAMES) - 1).wait_for()
    assert (
        driver.page.locator(".cards img").first.evaluate("image => image.decode().then(() => image.naturalWidth)") == 8
    )


def test_a_thumbnail_is_an_address_of_an_image_and_nothing_else(pet_run: Any, pet_page: Any, opened: Any) -> None:
    _, folder = pet_page(pet_run())
    (file,) = (folder / "images").rglob("*.js")
    text = file.read_text(encoding="ascii")
    file.write_text(text.replace("data:image/jpeg;base64,", "data:text/html,<script>", 1), encoding="ascii")
    driver = opened(folder / "index.html", "#/samples/pets/test")
    driver.page.locator(".cards img").nth(2 * len(NAMES) - 2).wait_for()
    assert driver.page.locator(".cards img").count() == 2 * len(NAMES) - 1


def test_another_page_in_the_folder_makes_only_thumbnails_that_are_missing(pet_run: Any, pet_page: Any) -> None:
    run = pet_run()
    _, folder = pet_page(run)
    (file,) = (folder / "images").rglob("*.js")
    file.write_text("kept", encoding="ascii")
    pet_page(run)
    assert file.read_text(encoding="ascii") == "kept"
    file.unlink()
    pet_page(run)
    assert thumbnails(folder) == 2 * len(NAMES)
