"""The sheet of a spot check in a real browser: accepted and rejected by keyboard, downloaded, made into rates."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eyechart.cli import main
from eyechart.oodbench.division.division_files import read_file
from eyechart.oodbench.spot_check.sheet_outcomes import read_outcome
from eyechart.oodbench.spot_check.spot_check import SpotCheckOptions, write

pytestmark = pytest.mark.deep

Make = Callable[..., Path]
HARM = "</script><img src=x onerror=\"document.title='pwned'\"><script>document.title='pwned'</script>" + "wide" * 60


@pytest.fixture
def checked(make_division: Make) -> Path:
    """A division, and beside it a sheet of four of its pairs."""
    division = make_division()
    write(
        division,
        SpotCheckOptions(data=str(division.parents[1] / "data"), store=division.parent, per_set=2),
        sheet(division),
    )
    return division


def sheet(division: Path) -> Path:
    return division.with_suffix(".html")


def test_verdicts_by_keyboard_survive_a_closed_page_and_become_rates(
    opened: Any, checked: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    driver = opened(sheet(checked))
    driver.press("a", "ArrowRight", "r", "Enter", "3", "u")
    assert (driver.text("count"), driver.text("where")) == ("3 of 4 answered", "Picture 4 of 4")
    driver.reopen()
    driver.press("ArrowLeft", "ArrowLeft")
    assert driver.checked() == ["Reject"]
    path = driver.download(tmp_path)
    outcome = read_outcome(checked, [path])
    pairs = json.loads(path.read_text(encoding="utf-8"))["pairs"]
    assert outcome.verdicts == dict(sorted(zip(pairs, ("accept", "reject", "unsure"), strict=False)))
    new = tmp_path / "new.json"
    assert main(["divide", "check-answers", str(checked), str(path), f"--out={new}"]) == 0
    assert len(read_file(new).pairs) == len(read_file(checked).pairs) - 1
    assert "50.00 [9.45, 90.55]" in capsys.readouterr().out


def test_each_picture_has_its_own_pair(opened: Any, checked: Path) -> None:
    driver, whole = opened(sheet(checked)), read_file(checked)
    shown = []
    for _ in range(4):
        shown.append((driver.text("key"), driver.text("category"), driver.text("set")))
        assert driver.page.evaluate("async () => { await picture.decode(); return picture.naturalWidth }") >= 48
        assert driver.page.locator("#why li").count() == 2
        driver.press("ArrowRight")
    assert {*shown} <= {(pair.key, pair.category, pair.set) for pair in whole.pairs}
    assert len({*shown}) == 4


def test_a_verdict_can_be_taken_back_and_is_one(opened: Any, checked: Path) -> None:
    driver = opened(sheet(checked))
    driver.press("a", "s")
    assert driver.checked() == ["Not sure"]
    driver.press("s")
    assert (driver.checked(), driver.text("count")) == ([], "0 of 4 answered")
    driver.page.get_by_text("Accept", exact=True).click()
    assert (driver.checked(), driver.text("count")) == (["Accept"], "1 of 4 answered")


def test_tab_reaches_the_verdicts_and_letters_of_a_comment_say_nothing(
    opened: Any, checked: Path, tmp_path: Path
) -> None:
    driver = opened(sheet(checked))
    driver.press("Tab", "Space", "Enter")
    assert (driver.text("count"), driver.text("where")) == ("1 of 4 answered", "Picture 2 of 4")
    driver.page.get_by_role("textbox").press_sequentially("a rare sort 1")
    assert driver.checked() == []
    answers = json.loads(driver.download(tmp_path).read_text(encoding="utf-8"))["answers"]
    assert answers == {"1": {"verdict": "accept", "comment": ""}, "2": {"verdict": "", "comment": "a rare sort 1"}}


def test_answers_are_loaded_and_those_to_nothing_known_are_refused(opened: Any, checked: Path, tmp_path: Path) -> None:
    first = opened(sheet(checked))
    first.press("a", "ArrowRight", "r")
    path = first.download(tmp_path)
    second = opened(sheet(checked))
    second.page.locator("#file").set_input_files(path)
    second.page.get_by_text("Loaded 2 answers").wait_for()
    assert second.checked() == ["Accept"]
    path.write_text(path.read_text(encoding="utf-8").replace('"reject"', '"maybe"'), encoding="utf-8")
    second.page.locator("#file").set_input_files(path)
    second.page.get_by_text("the verdict on picture 2 is maybe, expected accept, reject, unsure").wait_for()


def test_hostile_and_wide_names_do_nothing(opened: Any, make_division: Make) -> None:
    division = make_division(names=(HARM, f"{HARM} 2", f"{HARM} 3"))
    write(division, SpotCheckOptions(data=str(division.parents[1] / "data"), store=division.parent), sheet(division))
    driver = opened(sheet(division), width=400, height=800)
    assert driver.text("category").startswith(HARM)
    driver.press("a", "ArrowRight")
    assert driver.page.title() == "Is this pair out of distribution?"
    assert driver.page.evaluate("document.documentElement.scrollWidth") == 400
