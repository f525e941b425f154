"""Preprocessing by Pillow and NumPy, equal to that of the libraries to the last bit, and where it is read from."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from eyechart.errors import ModelError
from eyechart.models.exported.preprocessing import Preprocessing, from_open_clip, from_timm, from_transformers
from eyechart.models.exported.preprocessing_sources import find_preprocessing
from eyechart.models.runtime.torchvision_repair import repair
from eyechart.models.types import Floats

repair()
SIZES = ((64, 48), (48, 64), (37, 91), (33, 32), (200, 151))
MEANS = {"mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)}
TIMM = {"input_size": (3, 32, 32), "interpolation": "bicubic", "crop_pct": 0.875, **MEANS}


def noise() -> list[Image.Image]:
    draw = np.random.default_rng(0)
    return [Image.fromarray(draw.integers(0, 256, (high, wide, 3), dtype=np.uint8)) for wide, high in SIZES]


def batch(steps: Preprocessing) -> Floats:
    return steps.stack([steps.prepare(image) for image in noise()])


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"crop_pct": 1.0, "interpolation": "bilinear"},
        {"crop_pct": 0.9, "crop_mode": "squash"},
        {"crop_mode": "squash", "input_size": (3, 32, 24)},
        {"crop_pct": 0.95, "input_size": (3, 31, 31), "interpolation": "lanczos"},
    ],
)
def test_steps_of_timm(more: dict[str, Any]) -> None:
    from timm.data import create_transform

    transform = create_transform(**TIMM | more, is_training=False)
    theirs = np.stack([transform(image).numpy() for image in noise()])
    np.testing.assert_array_equal(batch(from_timm(TIMM | more)), theirs)


@pytest.mark.parametrize("mode", ["shortest", "squash"])
def test_steps_of_open_clip(mode: str) -> None:
    from open_clip.transform import PreprocessCfg, image_transform_v2

    settings = {"size": (32, 32), "interpolation": "bicubic", "resize_mode": mode, **MEANS}
    transform = image_transform_v2(PreprocessCfg(**settings), is_train=False)
    theirs = np.stack([transform(image).numpy() for image in noise()])
    np.testing.assert_array_equal(batch(from_open_clip(settings)), theirs)


def test_steps_of_transformers() -> None:
    from transformers import CLIPImageProcessorPil

    processor = CLIPImageProcessorPil(size={"shortest_edge": 36}, crop_size={"height": 31, "width": 31})
    settings = json.loads(json.dumps(processor.to_dict()))
    theirs = np.stack([processor(image, return_tensors="np")["pixel_values"][0] for image in noise()])
    np.testing.assert_array_equal(batch(from_transformers(settings)), theirs)


# Files as they are on hubs: of transformers 4.2x and 4.3x to 4.5x, and of transformers 5, which nests them.
OLD_CLIP = {
    "crop_size": 24,
    "do_center_crop": True,
    "do_normalize": True,
    "do_resize": True,
    "feature_extractor_type": "CLIPFeatureExtractor",
    "image_mean": [0.48145466, 0.4578275, 0.40821073],
    "image_std": [0.26862954, 0.26130258, 0.27577711],
    "resample": 3,
    "size": 24,
}
OLD_VIT = {
    "do_normalize": True,
    "do_resize": True,
    "feature_extractor_type": "ViTFeatureExtractor",
    "image_mean": [0.485, 0.456, 0.406],
    "image_std": [0.229, 0.224, 0.225],
    "resample": 3,
    "size": 24,
}
CONVNEXT = {**OLD_VIT, "feature_extractor_type": "ConvNextFeatureExtractor", "crop_pct": 0.875}
DINO = {
    **OLD_CLIP,
    "crop_size": {"height": 24, "width": 24},
    "do_convert_rgb": True,
    "do_rescale": True,
    "image_processor_type": "BitImageProcessor",
    "rescale_factor": 0.00392156862745098,
    "size": {"shortest_edge": 28},
}


@pytest.mark.deep
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("CLIP", OLD_CLIP),
        ("CLIP", {name: value for name, value in OLD_CLIP.items() if name != "do_center_crop"}),
        ("ViT", OLD_VIT),
        ("ConvNext", CONVNEXT),
        ("ConvNext", {name: value for name, value in CONVNEXT.items() if name != "crop_pct"}),
        ("ConvNext", CONVNEXT | {"size": {"shortest_edge": 384}}),
        ("Bit", DINO),
    ],
)
def test_files_of_hubs_give_the_steps_of_their_own_class(name: str, settings: dict[str, Any]) -> None:
    import transformers

    processor = getattr(transformers, f"{name}ImageProcessorPil").from_dict(dict(settings))
    theirs = np.stack([processor(image, return_tensors="np")["pixel_values"][0] for image in noise()])
    settings = {key: value for key, value in settings.items() if key != "feature_extractor_type" or name != "Bit"}
    np.testing.assert_array_equal(batch(from_transformers(settings)), theirs)


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
        ("{", "is no JSON file"),
        ("[]", "holds no JSON object"),
        ({"input_size": [3, 8, 8], "interpolation": "bicubic", "std": [1, 1, 1]}, "has no mean"),
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


def test_a_file_that_is_named_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"preprocessing=absent\.json does not exist"):
        size_found(tmp_path / "m.onnx", given="absent.json")
