"""Data sets of FiftyOne: predictions of all models on an image, and tags of the images that changed."""

import json
from pathlib import Path
from typing import Any

from eyechart.cli import main

FILES = Path(__file__).parents[2] / "interchange" / "files" / "inspect"
CONSE = "conse[]"


def read(folder: Path) -> dict[str, dict[str, Any]]:
    content = json.loads((folder / "samples.json").read_text(encoding="utf-8"))
    return {sample["key"]: sample for sample in content["samples"]}


def test_an_image_has_the_prediction_of_each_model_under_each_label_set(run_folder: Path, tmp_path: Path) -> None:
    assert main(["export", "fiftyone", run_folder, "--out", tmp_path]) == 0
    (folder,) = [path for path in tmp_path.iterdir() if path.name.startswith("imagenet-val")]
    samples = read(folder)
    assert [*samples] == [f"{row:04d}" for row in range(18)]
    sample = samples["0002"]  # original label 356, new label 357
    fields = {name for name in sample if isinstance(sample[name], dict)} - {"ground_truth"}
    assert len(fields) == 3
    assert {"timm_tf_efficientnet_lite0_supervised", "conse_zero_shot"} < fields
    supervised = sample["timm_tf_efficientnet_lite0_supervised"]
    assert supervised["_cls"] == "Classification"
    assert (supervised["ImGT_correct"], supervised["ReGT_correct"]) == (True, False)
    assert json.loads((folder / "metadata.json").read_text(encoding="utf-8"))["media_type"] == "image"


def test_changed_images_are_tagged(make_run: Any, tmp_path: Path) -> None:
    before = make_run("before", {CONSE: ("zero_shot", [356] * 18)})
    after = make_run("after", {CONSE: ("zero_shot", [7] * 3 + [357] * 3 + [356] * 12)})
    assert main(["export", "fiftyone", after, "--before", before, "--out", tmp_path / "out"]) == 0
    (folder,) = (tmp_path / "out").iterdir()
    tags = {key: sample["tags"] for key, sample in read(folder).items() if sample["tags"]}
    assert tags == {
        **{f"000{row}": ["lost:conse_zero_shot"] for row in range(3)},
        **{f"000{row}": ["gained:conse_zero_shot"] for row in range(3, 6)},
    }


def test_without_images_the_key_stands_for_the_path(import_files: Any, tmp_path: Path, capsys: Any) -> None:
    run = import_files("inspect", FILES / "before.eval")
    assert main(["export", "fiftyone", run, "--out", tmp_path / "out"]) == 0
    assert "shapes/shapes: no images are known, so keys stand for paths." in capsys.readouterr().err
    sample = read(tmp_path / "out" / "shapes-shapes")["shape-7"]
    assert sample["filepath"] == "shape-7"  # without images, the key
    assert sample["mockllm_before_inspect_ai"]["correct"] in (True, False)
