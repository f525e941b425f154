"""Samples that end in errors are a loss of their own, since every other number leaves them out."""

import json
import re
from typing import Any

import pytest

pytestmark = pytest.mark.deep

HELD, USAGE, REGRESSION = "--eye-baseline=kept", 4, 10
ALLOWED = "--eye-max-errors=18"


@pytest.mark.parametrize(("left", "more"), [(6, ()), (1, ("--eye-strict",))])
def test_right_answers_that_become_errors_are_a_loss(held: Any, left: int, more: tuple[str, ...]) -> None:
    lost = 18 - left
    for picture in range(lost):
        held.damage(f"tiny-{picture:02}")
    said = held.ran(HELD, ALLOWED, *more, code=REGRESSION)
    assert "imagenet/tiny/replay[path=a.csv] (replay): answered (ImGT, asked) is worse than the baseline." in said
    assert re.search(rf"100\.00 % in the baseline, {left / 18 * 100:.2f} % now: -\d+\.\d+ points \[.*\], n=18\n", said)
    assert f"answered before and in error now: {lost}; in error before and answered now: 0" in said
    assert re.search(r"^    \S*tiny-00", said, re.MULTILINE)
    assert f"fewer samples: acc1 (ImGT) has n=18 in the baseline, n={left} now" in said


def test_a_few_errors_are_remarked(held: Any) -> None:
    held.damage("tiny-05")
    said = held.ran(HELD, ALLOWED, "--eye-strict")
    where = re.escape("eyechart: imagenet/tiny/replay[path=a.csv] (replay): fewer samples: acc1 (ImGT) has n=18 ")
    assert re.search(where + r"in the baseline, n=17 now \(and [1-9] more numbers?\)", said)
    assert "tiny2/replay[path=a.csv] (replay): fewer" not in said


def test_a_loss_among_fewer_samples_names_both_n(held: Any) -> None:
    held.answer(wrong=17)
    held.damage("tiny-17")
    said = held.ran(HELD, ALLOWED, code=REGRESSION)
    assert re.search(r"100\.00 % in the baseline, 0\.00 % now: .*, n=17 \(18 in the baseline, 17 now\)\n", said)


def test_errors_that_are_gone_are_a_gain(gated: Any) -> None:
    gated.answer()
    for picture in range(12):
        gated.damage(f"tiny-{picture:02}")
    gated.ran(HELD, ALLOWED, "--eye-update-baseline")
    gated.answer()
    assert "better: answered (ImGT, asked) +66.67 points" in gated.ran(HELD, ALLOWED)


def remove_from_baseline(file: Any, names: set[str]) -> None:
    """Remove the numbers of these names from every case of a baseline, as an editor would."""
    baseline = json.loads(file.read_text())
    for case in baseline["cases"]:
        case["metrics"] = [proof for proof in case["metrics"] if proof["name"] not in names]
    file.write_text(json.dumps(baseline))


def test_an_incomplete_baseline_is_compared_as_far_as_it_goes(held: Any) -> None:
    (file,) = held.files
    remove_from_baseline(file, {"answered"})
    held.damage("tiny-05")
    said = held.ran(HELD, ALLOWED)
    assert "answered (ImGT, asked) is not in the baseline (2 cases)" in said
    assert "fewer samples: acc1 (ImGT) has n=18 in the baseline, n=17 now" in said


def test_an_incomplete_baseline_fails_under_strict(held: Any) -> None:
    (file,) = held.files
    remove_from_baseline(file, {"acc1"})
    said = held.ran(HELD, "--eye-strict", code=REGRESSION)
    assert f"(replay): {file} does not have one number that the case has now: acc1 (ImGT).\n" in said
    assert "They were not compared. Write the baseline again with --eye-update-baseline." in said


def test_a_baseline_without_any_number_is_refused(held: Any) -> None:
    (file,) = held.files
    remove_from_baseline(file, {"acc1", "mean_per_class_recall", "answered"})
    said = held.ran(HELD, code=USAGE)
    assert (
        f"ERROR: imagenet/tiny/replay[path=a.csv] (replay): {file} does not have 3 numbers that the case has now: "
        in said
    )


def test_a_record_has_the_share_of_answers(held: Any) -> None:
    held.damage("tiny-05")
    floors = [f"--eye-floor=imagenet/tiny/replay:answered>={least}" for least in (0.9, 0.99)]
    said = held.ran(ALLOWED, *floors, code=REGRESSION)
    found = {
        record["split"]: next(metric for metric in record["metrics"] if metric["name"] == "answered")
        for record in held.world.session["records"]
    }
    assert {split: (each["value"], each["n"]) for split, each in found.items()} == {
        "tiny": (pytest.approx(17 / 18), 18),
        "tiny2": (1.0, 6),
    }
    assert "answered (ImGT, asked) is 0.9444 (n=18), and --eye-floor=imagenet/tiny/replay:answered>=0.99." in said
    assert "answered>=0.9." not in said
