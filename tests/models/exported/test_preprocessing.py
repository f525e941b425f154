"""Preprocessing by Pillow and NumPy, equal to that of the libraries to the last bit."""

import json
from typing import Any

import numpy as np
import pytest
from PIL import Image

from eyechart.models.exported.preprocessing import Preprocessing, from_open_clip, from_timm, from_transformers
from eyechart.models.runtime.torchvision_repair import repair
from eyechart.models.types import Floats
from tests.models.exported.preprocessing_settings import MEANS, OLD_CLIP, TIMM

repair()
SIZES = ((64, 48), (48, 64), (37, 91), (33, 32), (200, 151))


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
