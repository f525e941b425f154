"""Slices in the gate: which class of a split lost, in the terminal and the verdict file, and when it fails a case."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.deep

HELD, LOOSE, REGRESSION, INCONCLUSIVE = "--eye-baseline=kept", "--eye-alpha=0.1", 10, 13


def lose_class(held: Any, synset: str) -> None:
    """Answer every image of a class of imagenet/tiny with another class."""
    file = Path(held.world.folder / "a.csv")
    pictures = {path.name for path in (held.world.data / "imagenet" / "tiny" / synset).iterdir()}
    rows = [line.split(",") for line in file.read_text(encoding="utf-8").splitlines()]
    lines = [",".join([key, "7" if key in pictures else answer, split]) for key, answer, split in rows]
    file.write_text("\n".join([*lines, ""]), encoding="utf-8")


def test_the_class_that_lost_is_named(held: Any) -> None:
    lose_class(held, "n01443537")
    said = held.ran(HELD, LOOSE, "--eye-verdicts=v.json", code=REGRESSION)
    counts = "n=6, 6 right before, 0 now, all others unchanged, p=0.031 adjusted"
    line = f"slices of acc1 (ImGT): class=goldfish lost 100.0 points ({counts}); 1 of 3 slices lost"
    assert f"eyechart: imagenet/tiny/replay[path=a.csv] (replay): {line}" in said
    assert said.count("slices of ") == 1
    verdicts = json.loads((held.world.folder / "v.json").read_bytes())
    (part,) = verdicts["slices"]
    fields = ("subset", "family", "n", "lost", "gained", "tier", "verdict")
    assert [part[name] for name in fields] == ["class=goldfish", "slices", 6, 6, 0, "advisory", "regression"]
    assert verdicts["slices_compared"] == 6


def test_a_slice_fails_a_case_where_a_rule_of_the_policy_names_it(held: Any) -> None:
    lose_class(held, "n01443537")
    lenient = '[[rules]]\ntier = "advisory"\n'
    policy = Path(held.world.folder / "policy.toml")
    policy.write_text(f'{lenient}[[rules]]\nsubset = "class=goldfish"\ntier = "critical"\n', encoding="utf-8")
    said = held.ran(HELD, LOOSE, "--eye-policy=policy.toml", "--eye-verdicts=v.json", code=REGRESSION)
    assert "acc1 (ImGT, class=goldfish) is worse than the baseline." in said
    assert "p=0.031 adjusted for all slices of the session" in said
    assert "gate: regression in 1 of 2 cases" in said
    assert json.loads((held.world.folder / "v.json").read_bytes())["verdict"] == "regression"
    assert "right before and wrong now: 6; wrong before and right now: 0" in said
    assert "of=acc1+%28ImGT%2C+class%3Dgoldfish%29" in said
    assert "numbers compared, 1 significantly worse" in said


def test_a_critical_slice_with_a_margin_must_be_decided_under_strict(held: Any) -> None:
    policy = Path(held.world.folder / "policy.toml")
    policy.write_text('[[rules]]\nsubset = "class=goldfish"\ntier = "critical"\nmargin = 0.4\n', encoding="utf-8")
    said = held.ran(HELD, "--eye-policy=policy.toml", "--eye-strict", "--eye-verdicts=v.json", code=INCONCLUSIVE)
    assert "acc1 (ImGT, class=goldfish) is inconclusive" in said
    parts = json.loads((held.world.folder / "v.json").read_bytes())["slices"]
    critical = [part for part in parts if part["tier"] == "critical"]
    assert critical
    assert all(part["loss_limit"] > part["margin"] == 0.4 for part in critical)


def test_a_limited_run_has_slices_on_the_shared_samples(held: Any) -> None:
    lose_class(held, "n01443537")
    said = held.ran(HELD, "--eye-alpha=0.4", "--eye-limit=3/class", "-k", "imagenet/tiny/", code=REGRESSION)
    counts = "n=3, 3 right before, 0 now, all others unchanged, p=0.25 adjusted"
    assert f"slices of acc1 (ImGT): class=goldfish lost 100.0 points ({counts}); 1 of 3 slices lost" in said


def test_a_baseline_has_no_slices(first: Any) -> None:
    assert not [*(first.world.folder / "kept").rglob("slices")]
    assert not any(b'"slices"' in content for content in first.bytes.values())


def test_a_column_of_slices_csv_is_recorded_printed_and_compared(gated: Any, tmp_path: Path) -> None:
    data = tmp_path / "own"
    shutil.copytree(gated.world.data, data)
    gated.world.data = data
    pictures = sorted(
        path.relative_to(data / "imagenet" / "tiny").as_posix() for path in data.glob("imagenet/tiny/*/*")
    )
    rows = [f"{key},{'night' if index % 3 else 'day'}" for index, key in enumerate(pictures)]
    (data / "imagenet" / "tiny" / "slices.csv").write_text("\n".join(["key,lighting", *rows, ""]))
    gated.kept()
    night = {Path(row.split(",")[0]).name for row in rows if row.endswith("night")}
    answers = [line.split(",") for line in (gated.world.folder / "a.csv").read_text().splitlines()]
    wrong = [",".join([key, "7" if key in night else answer, split]) for key, answer, split in answers]
    (gated.world.folder / "a.csv").write_text("\n".join([*wrong, ""]))
    floor = "--eye-floor=imagenet/tiny/replay:acc1[ImGT,lighting=night]>=0.5"
    said = gated.ran(HELD, LOOSE, floor, code=REGRESSION)
    assert "ignored" not in said
    assert re.search(r"acc1 +lighting=night +0\.00 \[0\.00, 24\.25\] +12", said)
    assert re.search(r"acc1 +lighting=day +100\.00 \[60\.97, 100\.00\] +6", said)
    counts = "n=12, 12 right before, 0 now, all others unchanged, p=0.00049 adjusted"
    assert f"slices of acc1 (ImGT): lighting=night lost 100.0 points ({counts}); 1 of 5 slices lost" in said
    assert "acc1 (ImGT, lighting=night) is 0.0000 (n=12)" in said
