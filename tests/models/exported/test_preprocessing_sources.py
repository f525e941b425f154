"""Preprocessing is read from metadata and files, in their order, and is never guessed."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from eyechart.errors import ModelError
from eyechart.models.exported.preprocessing_sources import find_preprocessing
from tests.models.exported.preprocessing_settings import MEANS, OLD_CLIP, TIMM


def test_settings_in_other_settings_are_found(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    write(tmp_path / "processor_config.json", {"image_processor": OLD_CLIP, "processor_class": "CLIPProcessor"})
    assert size_found(path) == (24, 24)
    timm = {"image_processor_type": "TimmWrapperImageProcessor", "pretrained_cfg": {**TIMM, "tag": "a1_in1k"}}
    write(tmp_path / "preprocessor_config.json", timm)
    assert size_found(path) == (32, 32)


def write(path: Path, read: Any) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(read if isinstance(read, str) else json.dumps(read), encoding="utf-8")
    return path


CONFIG = {"architecture": "resnet18", "num_classes": 7, "pretrained_cfg": {**TIMM, "crop_mode": "center"}}
OPEN_CLIP = {
    "model_cfg": {"embed_dim": 8, "vision_cfg": {"image_size": 30}},
    "preprocess_cfg": {**MEANS, "interpolation": "bicubic", "resize_mode": "squash"},
}
PROCESSOR = {
    "do_normalize": True,
    "do_rescale": True,
    "do_resize": True,
    "image_mean": [0.5, 0.5, 0.5],
    "image_processor_type": "ViTFeatureExtractor",
    "image_std": [0.5, 0.5, 0.5],
    "resample": 2,
    "rescale_factor": 0.00392156862745098,
    "size": {"height": 28, "width": 28},
}


def size_found(path: Path, metadata: dict[str, str] | None = None, given: str = "") -> Any:
    return find_preprocessing(path, given, metadata or {}, (20, 20)).size


def test_sources_are_read_in_their_order(tmp_path: Path) -> None:
    path = tmp_path / "onnx" / "model_int8.onnx"
    path.parent.mkdir()
    with pytest.raises(ModelError, match=r"says nothing about its preprocessing.*model_int8\.json.*Write like=SPEC"):
        size_found(path)
    write(tmp_path / "preprocessor_config.json", PROCESSOR)
    assert size_found(path) == (28, 28)
    write(tmp_path / "open_clip_config.json", OPEN_CLIP)
    assert size_found(path) == (30, 30)
    write(tmp_path / "config.json", CONFIG)
    assert size_found(path) == (32, 32)
    write(path.parent / "config.json", {"id2label": {"0": "cat"}})  # of transformers, without preprocessing
    write(path.parent / "preprocessor_config.json", PROCESSOR)
    assert size_found(path) == (28, 28)
    write(path.with_suffix(".json"), TIMM | {"input_size": [3, 26, 26]})
    assert size_found(path) == (26, 26)
    own = {"eyechart.preprocessing": json.dumps(TIMM | {"input_size": [3, 24, 24]})}
    assert size_found(path, own) == (24, 24)
    given = write(tmp_path / "mine.json", TIMM | {"input_size": [3, 22, 22]})
    assert size_found(path, own, str(given)) == (22, 22)


def test_the_size_that_weights_were_tested_with_is_used(tmp_path: Path) -> None:
    tested = {"pretrained_cfg": {**TIMM, "test_input_size": [3, 40, 40], "test_crop_pct": 1.0}}
    write(tmp_path / "config.json", tested)
    steps = find_preprocessing(tmp_path / "m.onnx", "", {}, None)
    assert (steps.resize, steps.crop) == (40, (40, 40))


def test_metadata_of_ultralytics() -> None:
    metadata = {
        "task": "classify",
        "imgsz": "[24, 24]",
        "names": "{0: 'cat', 1: 'dog'}",
        "stride": "1",
        "channels": "3",
    }
    steps = find_preprocessing(Path("m.onnx"), "", metadata, None)
    assert (steps.resize, steps.crop, steps.mean, steps.std) == (24, (24, 24), (0, 0, 0), (1, 1, 1))


@pytest.mark.parametrize(
    ("means", "scales"), [("123.675 116.28 103.53", "58.395 57.12 57.375"), ("0.485 0.456 0.406", "0.229 0.224 0.225")]
)
def test_metadata_of_openvinos_model_api(means: str, scales: str) -> None:
    metadata = {
        "model_info mean_values": means,
        "model_info scale_values": scales,
        "model_info resize_type": "standard",
        "model_info reverse_input_channels": "False",
    }
    steps = find_preprocessing(Path("m.onnx"), "", metadata, (20, 24))
    assert (steps.size, steps.resize) == ((20, 24), (20, 24))
    np.testing.assert_allclose([*steps.mean, *steps.std], [*MEANS["mean"], *MEANS["std"]], atol=1e-9)
    with pytest.raises(ModelError, match="reverse_input_channels True"):
        size_found(Path("m.onnx"), metadata | {"model_info reverse_input_channels": "True"})
    with pytest.raises(ModelError, match="Expected standard, or crop to a square"):
        find_preprocessing(Path("m.onnx"), "", metadata | {"model_info resize_type": "crop"}, (20, 24))


@pytest.mark.deep
@pytest.mark.parametrize("kind", ["standard", "crop"])
@pytest.mark.parametrize("shape", [(90, 61), (40, 131), (17, 13)])
def test_images_of_the_model_api_are_those_of_opencv(kind: str, shape: tuple[int, int]) -> None:
    """OpenCV computes with whole numbers: at most one step of 255 apart. Pillow's filter would be far from it."""
    import cv2

    pixels = np.random.default_rng(0).integers(0, 256, (*shape, 3), np.uint8)
    metadata = {"model_info mean_values": "0 0 0", "model_info resize_type": kind}
    prepared = find_preprocessing(Path("m.onnx"), "", metadata, (24, 24)).prepare(Image.fromarray(pixels))
    edge = min(shape)
    top, left = ((length - edge) // 2 for length in shape)
    part = pixels[top : top + edge, left : left + edge] if kind == "crop" else pixels
    expected = cv2.resize(part, (24, 24), interpolation=cv2.INTER_LINEAR)
    assert np.abs(prepared.astype(int) - expected.astype(int)).max() <= 1


@pytest.mark.parametrize(
    ("read", "sentence"),
    [
        ("{", "is no JSON"),
        ("[]", "holds no JSON object"),
        ({"input_size": [3, 8, 8], "interpolation": "bicubic", "std": [1, 1, 1]}, "has no mean"),
        ({name: value for name, value in TIMM.items() if name != "crop_pct"}, "has no crop_pct"),
        (TIMM | {"crop_percent": 1.0}, "crop_percent is not known; did you mean crop_pct"),
        (TIMM | {"crop_pct": 0}, "crop_pct 0 is not above 0"),
        (TIMM | {"input_size": [1, 8, 8]}, "input_size 1, 8, 8 is not 3, height, width"),
        (
            TIMM | {"mean": [123.7, 116.3, 103.5]},
            "not those of numbers from 0 to 1, as pixels are here: divide both by",
        ),
        (TIMM | {"std": [255, 255, 255]}, "not those of numbers from 0 to 1"),
        (TIMM | {"std": [0.5, -0.5, 0.5]}, "std 0.5, -0.5, 0.5 is not above 0"),
        (PROCESSOR | {"image_mean": [127.5] * 3}, "not those of numbers from 0 to 1"),
        (TIMM | {"crop_mode": "border"}, "crop_mode border, .* are not supported together"),
        (TIMM | {"interpolation": "random"}, "interpolation random is not supported"),
        (PROCESSOR | {"do_pad": True}, "do_pad is not supported"),
        (PROCESSOR | {"crop_pct": 0.9}, "crop_pct is not supported"),
        (PROCESSOR | {"image_processor_type": "LevitImageProcessor"}, "the processor Levit is not supported, only ViT"),
        (PROCESSOR | {"image_processor_type": None, "size": 28}, "size 28 is the shorter edge or both, and no image_"),
        (PROCESSOR | {"size": {"shortest_edge": 8, "longest_edge": 9}}, "longest_edge"),
    ],
)
def test_settings_that_cannot_be_used(tmp_path: Path, read: Any, sentence: str) -> None:
    given = write(tmp_path / "mine.json", read)
    with pytest.raises(ModelError, match=sentence):
        size_found(tmp_path / "m.onnx", given=str(given))


def test_settings_may_have_one_number_for_all_channels_a_byte_order_mark_and_the_tested_size(tmp_path: Path) -> None:
    read = TIMM | {"mean": 0.5, "std": [0.25], "test_input_size": [3, 40, 40], "test_crop_pct": 1.0}
    (tmp_path / "m.json").write_bytes(b"\xef\xbb\xbf" + json.dumps(read).encode())
    steps = find_preprocessing(tmp_path / "m.onnx", "", {}, None)
    assert (steps.mean, steps.std, steps.resize, steps.crop) == ((0.5,) * 3, (0.25,) * 3, 40, (40, 40))


def test_metadata_that_are_no_json_are_named() -> None:
    with pytest.raises(ModelError, match=r"The entry eyechart\.preprocessing of m\.onnx is no JSON"):
        size_found(Path("m.onnx"), {"eyechart.preprocessing": "{"})


def test_a_file_that_is_named_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"preprocessing=absent\.json does not exist"):
        size_found(tmp_path / "m.onnx", given="absent.json")
