"""An export whose logits moved by rounding is no regression, whatever the margin and the digest are."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

pytestmark = pytest.mark.deep

INCONCLUSIVE = 13
COLOURS = {"a": (0, 0, 255), "b": (255, 0, 0), "c": (0, 255, 0), "d": (51, 102, 153)}
STEPS = {"input_size": [3, 8, 8], "mean": [0.5] * 3, "std": [0.5] * 3, "interpolation": "bicubic", "crop_pct": 1.0}
PROVEN = "gate: no regression: no answer can have changed, since logits moved"


@pytest.fixture(scope="module")
def shades(new_world: Callable[[], Any]) -> Any:
    """A folder of plain pictures, and the baseline of a small graph on them, which is named m."""
    world = new_world()
    for name, colour in COLOURS.items():
        for number in range(3):
            path = world.folder / "data" / "shades" / "test" / name / f"{number}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (12 + number, 12), colour).save(path)
    (world.folder / "steps.json").write_text(json.dumps(STEPS))
    result = run(world, weights(), "--eye-update-baseline")
    assert result.ret == 0, result.stdout.str()
    return world


def weights() -> NDArray[np.float32]:
    from tests.onnx_graphs import WEIGHTS

    return WEIGHTS.copy()


def run(world: Any, values: NDArray[np.float32], *arguments: str) -> pytest.RunResult:
    """Run a graph with some weights; its file is another one for other weights."""
    from tests.onnx_graphs import save_graph

    save_graph(world.folder / "m.onnx", weights=values, metadata={"eyechart.classes": json.dumps([*COLOURS])})
    spec = "--eye-model=m=onnx[m.onnx,preprocessing=steps.json]"
    usual = ("--pyargs", "eyechart.benchmarks", "-k", "shades", "--eye-data=data", spec, "--eye-baseline=kept")
    result: pytest.RunResult = world.call(*usual, *arguments)
    return result


def test_logits_that_moved_by_rounding_are_no_regression(shades: Any) -> None:
    result = run(shades, weights() * np.float32(1 + 1e-6), "--eye-margin=0.01", "--eye-strict", "--eye-verdicts=v.json")
    said = result.stdout.str()
    assert result.ret == 0, said
    assert f"{PROVEN} by at most 1" in said
    assert "less than half of the smallest top-1 margin, 1" in said
    assert "): weights: " in said  # the digest differs, and the gate says so
    verdicts = json.loads((shades.folder / "v.json").read_bytes())
    assert (verdicts["verdict"], verdicts["metrics"][0]["loss_limit"]) == ("no regression", 0)


def test_larger_moves_prove_nothing_though_no_answer_changed(shades: Any) -> None:
    moved = weights()
    moved[:, 3] -= 0.6
    result = run(shades, moved, "--eye-margin=0.01")
    said = result.stdout.str()
    assert result.ret == INCONCLUSIVE, said
    assert "No answer changed, but some may have: logits moved by up to 0.6, and the smallest top-1 margin is 1" in said


def test_without_the_logits_of_the_baseline_nothing_is_proven(shades: Any) -> None:
    moved = weights() * np.float32(1 + 1e-6)
    result = run(shades, moved, "--eye-margin=0.01", "--eye-store=other")
    said = result.stdout.str()
    assert result.ret == INCONCLUSIVE, said
    assert "whether none can have changed is known if the baseline is written with the same store" in said


def test_compare_knows_it_too(shades: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from eyechart.cli import main

    assert run(shades, weights() * np.float32(1 + 1e-6)).ret == 0
    monkeypatch.chdir(shades.folder)
    assert main(["compare", "kept", "reports/runs/latest", "--check", "--margin=0.01"]) == 0
