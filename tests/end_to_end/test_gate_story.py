"""The story of a quietly damaged model: real weights, one architecture, one name; only the numbers in a file change."""

import csv
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

CASE = "toybox/sample/open_clip[local-dir:model]"
REGRESSION, HELD = 10, "--eye-baseline=kept"


@dataclass
class Story:
    """A folder with a model in it."""

    folder: Path

    @property
    def weights(self) -> Path:
        """The file that changes in place."""
        return self.folder / "model" / "open_clip_model.safetensors"

    def quantise(self, bits: int) -> None:
        """Round every matrix to as many steps as so many bits have."""
        steps = 2 ** (bits - 1) - 1
        kept = {}
        for name, values in load_file(self.weights).items():
            size = np.abs(values.astype(np.float32)).max() / steps if values.ndim > 1 else 0.0
            kept[name] = (np.round(values / size) * size).astype(values.dtype) if size else values
        save_file(kept, self.weights)

    def run(self, *options: str, code: int = 0) -> str:
        """Run as a user does, to an expected end; what is said."""
        command = ["pytest", "--pyargs", "eyechart.benchmarks", "-k", "toybox/sample/ and zero_shot", "--eye-offline",
                   "--eye-model=open_clip[local-dir:model]", "-p", "no:cacheprovider", *options]  # fmt: skip
        done = subprocess.run([sys.executable, "-m", *command], cwd=self.folder, capture_output=True, encoding="utf-8",
                              timeout=600, check=False)  # fmt: skip
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    def right(self) -> dict[str, bool]:
        """Which images the last run had right."""
        (path,) = (self.folder / "reports/runs/latest/predictions").glob("*.csv")
        with path.open(encoding="utf-8", newline="") as file:
            return {row["key"]: row["ImGT.correct"] == "1" for row in csv.DictReader(file)}


@dataclass
class Told:
    """What was said at each step, and which images were right before and after the damage."""

    same: str
    failed: str
    accepted: str
    passed: str
    before: dict[str, bool]
    after: dict[str, bool]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """The whole story, told once."""
    story = Story(tmp_path_factory.mktemp("story"))
    shutil.copytree(Path(str(files("eyechart.samples"))) / "toybox-clip", story.folder / "model")
    story.run(HELD, "--eye-update-baseline")
    before, same = story.right(), story.run(HELD)
    story.quantise(3)
    failed, after = story.run(HELD, code=REGRESSION), story.right()
    accepted = story.run(HELD, "--eye-update-baseline")
    return Told(same, failed, accepted, story.run(HELD), before, after)


def test_the_same_weights_pass(told: Told) -> None:
    assert re.search(r"gate: \d+ numbers compared, 0 worse", told.same)
    assert "1 passed" in told.same


def test_the_damaged_model_is_named_with_what_it_lost(told: Told) -> None:
    lost = sum(was and not told.after[key] for key, was in told.before.items())
    gained = sum(told.after[key] and not was for key, was in told.before.items())
    assert f"{CASE} (zero_shot): acc1 (ImGT, A) is worse than the baseline." in told.failed
    assert f"right before and wrong now: {lost}; wrong before and right now: {gained}" in told.failed
    assert re.search(r"weights: \w{8} in the baseline, \w{8} now", told.failed)
    assert "1 failed" in told.failed


def test_the_images_that_are_named_were_right_and_are_wrong(told: Told) -> None:
    block, *_ = re.findall(
        r"acc1 \(ImGT, A\) is worse.*?baseline:", told.failed, re.DOTALL
    )  # under CI, said again below
    named = re.findall(r"^    (\S+)$", block, re.MULTILINE)
    assert len(named) == 10
    assert all(told.before[key] and not told.after[key] for key in named)


def test_what_is_accepted_passes(told: Told) -> None:
    assert "eyechart: baseline written: " in told.accepted
    assert re.search(r"gate: \d+ numbers compared, 0 worse", told.passed)
