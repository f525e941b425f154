"""What the gate makes of losses, noise, failures, other data, floors, and baselines that cannot serve."""

import json
import re
import shutil
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.deep

HELD, UPDATE = "--eye-baseline=kept", "--eye-update-baseline"
REGRESSION, ERRORS, USAGE = 10, 12, 4


def test_a_loss_spread_over_two_cases_fails_the_case_that_lost_most(new_gated: Callable[[], Any], first: Any) -> None:
    """No case has lost enough to be a regression, both together have."""
    gated = new_gated()
    shutil.copytree(first.world.folder / "kept", gated.world.folder / "kept")
    gated.answer(wrong=6, of="")
    said = gated.ran(HELD, "--eye-verdicts=v.json", code=REGRESSION)
    assert "is worse than the baseline" not in said
    assert re.search(
        r"replay\[path=a.csv\] over 2 cases: regression; 100\.00 % in the baseline, \d+\.\d+ % now: -\d+\.", said
    )
    assert "All its cases are pooled." in said
    assert "gate: regression over all cases of replay[path=a.csv], in none of 2 cases alone" in said
    assert "1 failed, 1 passed" in said
    (model,) = json.loads((gated.world.folder / "v.json").read_bytes())["models"]
    assert (model["verdict"], model["pooled"]["lost"]) == ("regression", 12)


def test_the_last_failed_case_is_the_one_with_the_loss(held: Any) -> None:
    held.answer(wrong=18)
    held.ran(HELD, code=REGRESSION)
    said = held.ran("--lf", "--collect-only", "-q", "--override-ini=cache_dir=.pytest_cache")
    assert re.findall(r"::(test_replay\S+)", said) == ["test_replay[imagenet/tiny/replay[path=a.csv]]"]


def test_a_loss_that_alpha_allows_passes_and_one_that_was_accepted_is_the_baseline(held: Any) -> None:
    held.answer(wrong=18)
    held.ran(HELD, "--eye-alpha=0.00000001")
    assert "Commit it." in held.ran(HELD, UPDATE)
    held.answer()
    assert "better: acc1 (ImGT) +100.00 points" in held.ran(HELD)


def test_noise_passes_and_what_changed_is_noted_once(held: Any) -> None:
    held.answer(wrong=3)
    assert len(re.findall(r"eyechart: weights: \w{8} in the baseline, \w{8} now \(2 cases\)", held.ran(HELD))) == 1


def test_a_case_without_a_baseline_is_said_and_is_no_failure_unless_strict(held: Any) -> None:
    (file,) = held.files
    baseline = json.loads(file.read_text())
    baseline["cases"] = [case for case in baseline["cases"] if "/tiny2/" in case["case"]]
    file.write_text(json.dumps(baseline))
    why = "imagenet/tiny/replay[path=a.csv] (replay) has no baseline. Write it with --eye-update-baseline."
    assert f"eyechart: {why}" in held.ran(HELD)
    said = held.ran(HELD, "--eye-strict", code=REGRESSION)
    assert why in said
    assert "1 failed, 1 passed" in said


def test_another_name_of_the_model_is_said_under_strict_too(held: Any) -> None:
    held.world.models = ("other=replay[path=a.csv]",)
    said = held.ran(HELD, "--eye-strict", code=REGRESSION)
    assert "nothing was compared: --eye-baseline=kept has no baseline of the 2 cases that ran (models: other)." in said
    assert "then compare with --eye-model=NAME=" in said


def test_cases_that_were_not_run_are_kept(held: Any) -> None:
    before = json.loads(held.files[0].read_text())["cases"]
    held.answer(wrong=18)
    held.ran(HELD, UPDATE, "-k", "imagenet/tiny2")
    after = json.loads(held.files[0].read_text())["cases"]
    assert [was == now for was, now in zip(before, after, strict=True)] == [True, False]


def test_workers_give_the_same_verdict(gated: Any) -> None:
    gated.world.models = ("replay[path=a.csv]", "replay[path=b.csv]")
    gated.answer(file="b.csv")
    gated.kept()
    gated.answer(wrong=18, file="b.csv")
    alone, shared = (gated.ran(HELD, f"-n{n}", code=REGRESSION) for n in (0, 2))
    assert losses(alone) == losses(shared)
    assert len(losses(alone)) > 1
    assert gated.world.session["run"]["exit_status"] == REGRESSION
    assert "1 failed, 3 passed" in shared


def losses(said: str) -> list[str]:
    """What the gate said of losses, but for the run's folder."""
    return [
        line for line in said.splitlines() if re.search("is worse|McNemar|right before|tiny-|numbers compared", line)
    ]


def test_a_case_that_failed_and_lost_is_counted_once(held: Any) -> None:
    held.answer(wrong=18)
    held.damage("tiny-05")
    said = held.ran(HELD, "--junitxml=junit.xml", code=1)
    assert "1 failed, 1 passed" in said
    assert all(text in said for text in ("1 of 18 images ended in an error", "is worse than the baseline"))
    suite = ElementTree.parse(held.world.folder / "junit.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures"), len(suite.findall("testcase"))) == ("2", "1", 2)


def test_a_case_that_failed_is_not_accepted(held: Any) -> None:
    before = held.bytes
    held.damage("tiny-05")
    said = held.ran(HELD, UPDATE, code=ERRORS)
    assert "imagenet/tiny/replay[path=a.csv] (replay): failed, and is not accepted" in said
    after = json.loads(held.files[0].read_text())["cases"]
    old = json.loads(next(iter(before.values())))["cases"]
    assert [was == now for was, now in zip(old, after, strict=True)] == [True, False]


def test_what_is_about_something_else_fails_with_what_differs(held: Any) -> None:
    said = held.ran(HELD, "--eye-seed=7", "--eye-equivalences=none", code=REGRESSION)
    assert "cannot be compared with" in said
    assert "  seed: 42 in the baseline, 7 now" in said
    assert "  equivalences: 12 in the baseline, none now" in said


def test_other_data_fail_with_what_differs(held: Any, tmp_path: Path) -> None:
    home = tmp_path / "other" / "imagenet" / "tiny" / "n01440764"
    home.mkdir(parents=True)
    first = next((held.world.data / "imagenet" / "tiny").rglob("*00.jpg"))
    (home / first.name).write_bytes(first.read_bytes())
    held.world.data = tmp_path / "other"
    held.answer()
    assert "  fingerprint: " in held.ran(HELD, code=REGRESSION)


def test_a_baseline_that_cannot_serve_is_refused_before_anything_runs(gated: Any) -> None:
    """The sentences are in tests/gate/baselines/test_baseline_files.py."""
    gated.answer()
    (gated.world.folder / "kept").mkdir()
    (gated.world.folder / "kept" / "a.json").write_text("{")
    result = gated.world.call(*gated.world.usual, HELD)
    assert result.ret == USAGE
    assert "is no whole baseline" in result.stderr.str()
    assert not gated.world.latest.exists()


def test_power_says_what_each_case_could_detect(held: Any) -> None:
    said = held.ran(HELD, "--eye-power")
    assert re.search(r"tiny/replay\S+ \(replay\): acc1 \(ImGT\) would show a loss of \d+\.\d\d points \(n=18", said)
    assert re.search(r"tiny2/replay\S+ \(replay\): acc1 \(ImGT\) would show no loss \(n=6", said)
    assert "answered" not in said  # without errors
    assert re.search(r"gate: 4 numbers compared, 0 significantly worse", said)


def test_a_floor_that_is_missed_fails_its_case(gated: Any) -> None:
    gated.answer(wrong=9)
    floors = ("imagenet/tiny/replay:acc1>=0.62", "imagenet/replay:acc1>=0.5")
    said = gated.ran(*(f"--eye-floor={floor}" for floor in floors), code=REGRESSION)
    assert "acc1 (ImGT) is 0.5000 (n=18), and --eye-floor=imagenet/tiny/replay:acc1>=0.62." in said
    assert "imagenet/replay:acc1>=0.5" not in said
    assert not re.search("baseline|gate:|worse|better", said)


def test_a_floor_about_nothing_is_a_mistake_but_the_run_is_kept(gated: Any) -> None:
    gated.answer()
    said = gated.ran("--eye-floor=imagenet/tiny/replay:acc2>=0.5", "--junitxml=junit.xml", code=USAGE)
    assert "ERROR: --eye-floor=imagenet/tiny/replay:acc2>=0.5 matches no metric of this session; did you mean" in said
    assert "imagenet/tiny/replay:acc1" in said.partition("did you mean")[2]
    assert gated.world.session["run"]["exit_status"] == USAGE
    assert (gated.world.folder / "junit.xml").exists()


def test_a_floor_of_the_ini_file_may_be_about_what_is_not_run(gated: Any) -> None:
    gated.answer()
    (gated.world.folder / "pytest.ini").write_text("[pytest]\neye_floor = imagenet/zero_shot:acc1>=0.5\n")
    assert "--eye-floor=imagenet/zero_shot:acc1>=0.5 matches no metric of this session" in gated.ran()
    gated.ran("--eye-strict", code=USAGE)


def test_one_file_holds_one_model_on_one_benchmark(gated: Any) -> None:
    for name in ("a.csv", "b.csv"):
        gated.answer(file=name)
    gated.world.models += ("replay[path=b.csv]",)
    said = gated.ran("--eye-baseline=kept/two.json", UPDATE, code=USAGE)
    assert "kept/two.json is one file" in said
    assert gated.files == []


def test_an_update_replaces_what_cannot_be_read_and_says_so(held: Any) -> None:
    before = held.bytes
    held.files[0].write_text("{")
    assert "what it held before is lost" in held.ran(HELD, UPDATE)
    assert held.bytes == before
