"""`--eye-slices=attributes` from images to verdict: a loss planted on dark, small or blurred images is named."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageFilter

import eyechart
from eyechart.api.run_tables import EvaluationRun

COUNT = 240
CHANCE = np.random.default_rng(11)
KINDS = {name: CHANCE.permutation(COUNT) < COUNT // 4 for name in ("dark", "small", "blurred")}
NAMED = {"dark": "brightness=up to ", "small": "size=up to ", "blurred": "sharpness=up to "}


def draw_image(chance: np.random.Generator, kinds: dict[str, bool]) -> Image.Image:
    """A grey image of coarse structure and fine grain, which may be dark, small and blurred, whatever its size."""
    side = 40 if kinds["small"] else 64
    coarse = Image.fromarray(chance.integers(110, 240, (4, 4), np.uint8)).resize((side, side), Image.Resampling.BICUBIC)
    pixels = (np.asarray(coarse) + chance.normal(0, 8, (side, side))) * (0.3 if kinds["dark"] else 1.0)
    image = Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).convert("RGB")
    return image.filter(ImageFilter.GaussianBlur(2)) if kinds["blurred"] else image


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a split of two classes, and the answers of a model that knows them."""
    folder, chance = tmp_path_factory.mktemp("attributes"), np.random.default_rng(5)
    for index in range(COUNT):
        path = folder / "data" / "pets" / "test" / ("cat", "dog")[index % 2] / f"{index:03}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        draw_image(chance, {name: bool(mask[index]) for name, mask in KINDS.items()}).save(path)
    return folder


def run(home: Path, name: str, wrong: Any = (), **settings: Any) -> EvaluationRun:
    """A run of a model that answers some images wrong."""
    keys = {f"{('cat', 'dog')[index % 2]}/{index:03}.png": index for index in range(COUNT)}
    lines = [f"{key},{(index + (index in wrong)) % 2}" for key, index in keys.items()]
    (home / f"{name}.csv").write_text("\n".join(["key,answer", *lines, ""]))
    return eyechart.evaluate(
        f"m=replay[path={home / name}.csv]",
        home / "data" / "pets" / "test",
        protocol="replay",
        store=home / "store",
        out=home / name,
        progress=False,
        **settings,
    )


@pytest.fixture(scope="module")
def before(home: Path) -> EvaluationRun:
    return run(home, "before", wrong={*range(0, COUNT, 9)}, slices="attributes")


@pytest.mark.parametrize("kind", KINDS)
def test_a_planted_loss_is_named_and_no_other(home: Path, before: EvaluationRun, kind: str) -> None:
    lost = {*np.flatnonzero(KINDS[kind])[::3].tolist()} | {*range(0, COUNT, 9)}
    compared = eyechart.compare(before, run(home, kind, lost, slices="attributes"))
    first, *others = (verdict.comparison for _, verdict in compared.result.slices)
    assert first.metric.subset.startswith(NAMED[kind])
    assert first.loss > 0
    assert [other.explained_by for other in others] == [first.metric.subset] * len(others)  # blur changes contrast, too


def test_a_loss_of_all_images_alike_names_no_attribute(home: Path, before: EvaluationRun) -> None:
    compared = eyechart.compare(before, run(home, "alike", {*range(0, COUNT, 3)}, slices="attributes"))
    assert compared.verdict == "regression"
    assert {*compared.slices["verdict"]} == {"inconclusive"}


def test_attributes_are_metrics_of_the_run_only_where_they_are_requested(home: Path, before: EvaluationRun) -> None:
    subsets = [text.partition("=")[0] for text in before.metrics["subset"] if "=" in text]
    assert {"size", "brightness", "contrast", "sharpness"} <= {*subsets}
    assert not run(home, "plain").metrics["subset"].str.contains("=").any()
