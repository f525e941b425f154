"""Thumbnails: many in one file, each made once, and those that cannot be read."""

from pathlib import Path
from typing import Any

from tests.reports.page.pet_pages import NAMES, chunk, thumbnails


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


def test_an_unreadable_image_is_said_and_its_file_is_written_anew_for_every_page(
    pet_root: Path, pet_run: Any, pet_page: Any
) -> None:
    broken = next(pet_root.rglob("3.png"))
    broken.write_bytes(broken.read_bytes()[:40])
    run = pet_run()
    index, folder = pet_page(run)
    assert [note.partition(": ")[2] for note in index["notes"]] == ["1 unreadable image is left out."]
    assert thumbnails(folder) == 2 * len(NAMES) - 1
    (file,) = (folder / "images").rglob("*.js")
    assert chunk(folder, "a0/items")["pictureFiles"] == [file.relative_to(folder).with_suffix("").as_posix()]
    file.write_text("of a page before the image was mended", encoding="ascii")
    pet_page(run)
    assert thumbnails(folder) == 2 * len(NAMES) - 1
