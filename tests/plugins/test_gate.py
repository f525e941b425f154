"""The gate as a user meets it: a baseline is written, the same run passes, a worse model fails."""

import re
import shutil
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from typing import Any

import pytest

HELD = "--eye-baseline=kept"
REGRESSION = 10


@pytest.fixture(scope="module")
def damaged(new_gated: Callable[[], Any], first: Any) -> Any:
    """A session after a loss of all of one split's pictures."""
    gated = new_gated()
    shutil.copytree(first.world.folder / "kept", gated.world.folder / "kept")
    gated.answer(wrong=18)
    gated.ran(HELD, "--junitxml=junit.xml", code=REGRESSION)
    return gated


def test_the_same_run_passes_with_workers_and_without(held: Any) -> None:
    held.ran(HELD, "-n2")
    said = held.ran(HELD)
    assert re.search(r"eyechart: gate: \d\d? numbers compared, 0 significantly worse", said)
    assert "2 passed" in said
    assert held.world.session["run"]["exit_status"] == 0


def test_a_baseline_is_said_and_is_the_same_again(first: Any, gated: Any) -> None:
    assert len(first.files) == 1
    assert f"eyechart: baseline written: {first.files[0]}" in first.world.said.str()
    assert gated.kept() == first.bytes


def test_a_baseline_has_no_path_and_no_time_of_this_machine(first: Any) -> None:
    (text,) = first.bytes.values()
    assert str(first.world.folder).encode() not in text
    assert not re.search(rb"20\d\d-\d\d-\d\d|seconds|started", text)


def test_a_loss_is_told_with_all_that_is_needed(damaged: Any) -> None:
    said = damaged.world.said.str()
    assert "imagenet/tiny/replay[path=a.csv] (replay): acc1 (ImGT) is worse than the baseline." in said
    assert re.search(r"100\.00 % in the baseline, 0\.00 % now: -100\.00 points \[-100\.00, -\d+\.\d+\], n=18", said)
    assert re.search(r"exact McNemar, p=7\.6e-06, p[=≤][\de.-]+ adjusted for all primary metrics", said)
    assert "right before and wrong now: 18; wrong before and right now: 0" in said
    assert f"baseline: {damaged.files[0]}" in said
    assert f"run: {damaged.world.latest.resolve()}" in said
    assert "accept it with --eye-update-baseline" in said


def test_a_loss_names_ten_images_that_were_lost(damaged: Any) -> None:
    said = damaged.world.said.str()
    block, *_ = re.findall(r"acc1 \(ImGT\) is worse.*?on the page:", said, re.DOTALL)
    assert len(re.findall(r"^    \S*tiny-\d\d\S*$", block, re.MULTILINE)) == 10


def test_a_case_is_counted_once_however_much_it_lost(damaged: Any) -> None:
    said = damaged.world.said.str()
    assert said.count("is worse than the baseline") > 1
    assert "1 failed, 1 passed" in said
    assert said.count("FAILED ") == 1


def test_junit_has_each_case_once_with_its_failure_and_its_record(damaged: Any) -> None:
    suite = ElementTree.parse(damaged.world.folder / "junit.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert [len(case.findall("failure")) for case in suite.findall("testcase")] == [0, 1]
    assert "is worse than the baseline" in suite.findall("testcase")[1].findall("failure")[0].get("message", "")
    good, bad = (
        {each.get("name") for each in case.findall("properties/property")} for case in suite.findall("testcase")
    )
    assert good == bad != set()


def test_the_record_of_a_regression_is_written_once_and_says_how_the_session_ended(damaged: Any) -> None:
    assert damaged.world.session["run"]["exit_status"] == REGRESSION
    assert len((damaged.world.latest / "records.jsonl").read_text().splitlines()) == 2
