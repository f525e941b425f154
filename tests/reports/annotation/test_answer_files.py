"""The sheet in a real browser: answered, kept when it is closed, downloaded, made into Figure 7."""

import csv
import json
from io import StringIO
from pathlib import Path
from typing import Any

import msgspec
import pytest

from eyechart.cli import main
from eyechart.reports.annotation.answer_files import SheetKey, key_path, read_key

pytestmark = pytest.mark.deep


def indices(key: SheetKey, by: str) -> list[list[int]]:
    """Where each image offers what somebody suggested, from 1."""
    return [[at for at, candidate in enumerate(item.candidates, 1) if by in candidate.by] for item in key.items]


def kept(path: Path) -> dict[str, Any]:
    answers: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["answers"]
    return answers


def test_answers_by_mouse_and_keyboard_survive_a_closed_page_and_become_figure_7(
    opened: Any, sheet: Path, photographs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    driver, key = opened(sheet), read_key(key_path(sheet))
    model, labels = indices(key, "model"), indices(key, "labels")
    boxes = driver.page.locator("#candidates input")
    boxes.nth(model[0][0] - 1).click()  # the model's
    driver.page.get_by_role("button", name="Next", exact=True).click()
    boxes.nth(model[1][0] - 1).click()  # both
    boxes.nth(labels[1][0] - 1).click()
    driver.press("ArrowRight", str(labels[2][0]), "ArrowRight", "0", "u", str(model[4][0]))  # labels; none; model's
    assert driver.text("count") == "5 of 6 answered"

    driver.reopen()
    assert (driver.text("count"), driver.text("where")) == ("5 of 6 answered", "Picture 5 of 6, answered")
    assert driver.checked() == [key.items[4].candidates[model[4][0] - 1].name]
    path = driver.download(tmp_path)
    assert driver.text("status") == f"Downloaded as {path.name}; 1 of 6 pictures have no answer yet."

    chosen = [answer["selected"] for answer in kept(path).values()]
    assert chosen == [model[0], sorted([*model[1], labels[1][0]]), [labels[2][0]], [], model[4]]
    capsys.readouterr()
    run = str(photographs / "runs" / "latest")
    assert main(["table", "F7", run, f"--annotations={path}", "--format=csv"]) == 0
    rows = [row for row in csv.DictReader(StringIO(capsys.readouterr().out)) if row[""] == "#"]
    totals = [sum(int(row[name]) for row in rows) for name in ("preferred", "preserved", "combined", "other")]
    assert totals == [2, 1, 1, 1]


def test_the_picture_is_shown_whole_and_only_one_at_a_time(opened: Any, sheet: Path) -> None:
    driver = opened(sheet)
    for _ in range(6):
        size = driver.page.evaluate("async () => { await picture.decode(); return picture.naturalWidth }")
        assert size >= 64
        driver.press("ArrowRight")
    assert driver.page.evaluate("document.images.length") == 1


def test_it_can_be_answered_with_the_keyboard_alone_and_the_focus_is_seen(opened: Any, sheet: Path) -> None:
    driver = opened(sheet)
    driver.press("Tab")
    assert driver.page.evaluate("document.activeElement.closest('#candidates') !== null")
    outline = "getComputedStyle(document.activeElement.closest('label')).outlineStyle"
    assert driver.page.evaluate(outline) == "solid"
    driver.press("Space", "Enter")
    assert (driver.text("where"), driver.text("count")) == ("Picture 2 of 6", "1 of 6 answered")
    assert driver.page.evaluate("document.activeElement.closest('#candidates') !== null")


def test_none_and_names_exclude_each_other(opened: Any, sheet: Path) -> None:
    driver = opened(sheet)
    driver.press("1", "2")
    assert len(driver.checked()) == 2
    driver.press("0")
    assert driver.checked() == ["None of these"]
    driver.press("2")
    assert driver.checked() != ["None of these"]
    driver.press("2")
    assert driver.text("count") == "0 of 6 answered"


def test_a_comment_is_kept_and_its_letters_choose_nothing(opened: Any, sheet: Path, tmp_path: Path) -> None:
    driver = opened(sheet)
    driver.page.get_by_role("textbox").press_sequentially("1 or 2, unclear")
    assert (driver.checked(), driver.text("where")) == ([], "Picture 1 of 6")
    driver.reopen()
    assert driver.page.get_by_role("textbox").input_value() == "1 or 2, unclear"
    assert kept(driver.download(tmp_path)) == {"1": {"selected": [], "none": False, "comment": "1 or 2, unclear"}}


def test_the_keys_can_be_turned_off(opened: Any, sheet: Path) -> None:
    driver = opened(sheet)
    driver.page.get_by_text("Keys and how answers are kept").click()
    driver.page.get_by_label("These keys work").uncheck()
    driver.press("1", "ArrowRight")
    assert (driver.checked(), driver.text("where")) == ([], "Picture 1 of 6")


def test_answers_are_loaded_into_another_browser(opened: Any, sheet: Path, tmp_path: Path) -> None:
    first = opened(sheet)
    first.press("1", "ArrowRight", "0")
    path = first.download(tmp_path)
    second = opened(sheet)
    second.press("ArrowRight", "ArrowRight", "1")
    second.page.locator("#file").set_input_files(path)
    second.page.get_by_text("Loaded 2 answers").wait_for()
    assert second.text("count") == "3 of 6 answered"
    assert second.download(tmp_path).name == path.name


NO_ANSWERS: dict[str, dict[str, Any]] = {
    "another sheet": {"sheet": "0" * 16},
    "no such picture": {"answers": {"99": {}}},
    "a later schema": {"schema": 9},
    "no such name": {"answers": {"1": {"selected": [99]}}},
}


def test_a_file_that_is_no_answer_is_refused_by_the_sheet(opened: Any, sheet: Path, tmp_path: Path) -> None:
    driver = opened(sheet)
    driver.press("1")
    good = {"schema": 1, "sheet": read_key(key_path(sheet)).sheet, "answers": {}}
    for name, change in NO_ANSWERS.items():
        (tmp_path / f"{name}.json").write_bytes(msgspec.json.encode(good | change))
        driver.page.locator("#file").set_input_files(tmp_path / f"{name}.json")
        driver.page.get_by_text(f"{name}.json cannot be loaded").wait_for()
        assert driver.text("count") == "1 of 6 answered"


def test_all_pictures_are_listed_and_lead_to_theirs(opened: Any, sheet: Path) -> None:
    driver = opened(sheet)
    driver.press("1")
    driver.page.get_by_text("All pictures").click()
    driver.page.locator("#all button").last.wait_for()
    assert driver.page.locator("#all button").count() == 6
    assert driver.page.get_by_role("button", name="Picture 1, answered").is_visible()
    driver.page.get_by_role("button", name="Picture 4", exact=True).click()
    assert driver.text("where") == "Picture 4 of 6"


def test_the_end_leads_to_what_is_missing_and_then_to_the_download(opened: Any, sheet: Path) -> None:
    driver = opened(sheet)
    driver.press("ArrowRight", *(["1", "ArrowRight"] * 5))
    assert driver.text("where") == "Picture 1 of 6"
    driver.press("1", *["ArrowRight"] * 6)
    assert driver.page.evaluate("document.activeElement.id") == "download"
    assert driver.text("status") == "All 6 pictures are answered: download the answers and send them back."


def test_answers_are_forgotten_only_when_told_twice(opened: Any, sheet: Path) -> None:
    driver = opened(sheet)
    driver.press("1")
    driver.page.get_by_text("Keys and how answers are kept").click()
    driver.page.once("dialog", lambda dialog: dialog.dismiss())
    driver.page.get_by_role("button", name="Forget all answers…").click()
    assert driver.text("count") == "1 of 6 answered"
    driver.page.once("dialog", lambda dialog: dialog.accept())
    driver.page.get_by_role("button", name="Forget all answers…").click()
    assert driver.text("count") == "0 of 6 answered"


def test_what_the_browser_kept_of_another_time_may_be_broken(opened: Any, sheet: Path) -> None:
    driver = opened(sheet)
    for broken in ("{", '{"schema": 1, "sheet": "x", "answers": {}}'):
        driver.page.evaluate("([key, text]) => localStorage.setItem(key, text)", [memory(sheet), broken])
        driver.reopen()
        assert driver.text("status").startswith("The answers stored in this browser cannot be read")
        assert driver.text("count") == "0 of 6 answered"


def memory(sheet: Path) -> str:
    return f"eyechart sheet {read_key(key_path(sheet)).sheet}"


def test_two_windows_share_their_answers(opened: Any, sheet: Path) -> None:
    driver = opened(sheet)
    other = driver.page.context.new_page()
    other.goto(sheet.as_uri())
    other.keyboard.press("1")
    other.get_by_text("1 of 6 answered").wait_for()
    driver.page.bring_to_front()  # a page behind another one is not sure to be told
    driver.page.get_by_text("1 of 6 answered").wait_for()
    driver.press("ArrowRight", "1")
    other.get_by_text("2 of 6 answered").wait_for()
