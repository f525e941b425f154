"""Families that open_clip takes from timm or gives a tokenizer of its own: zero-shot scores as open_clip's own."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from eyechart.inference.requests.class_weights import class_weights, cosine_similarity
from eyechart.models.open_clip.encoder import OpenClipEncoder
from eyechart.models.runtime.torchvision_repair import repair
from eyechart.models.spec import parse_spec

repair()  # before any test imports open_clip itself
pytestmark = pytest.mark.deep
TEXT = {"width": 32, "heads": 2, "layers": 2}
FAMILIES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {  # architecture, and what is smaller than in it
    "Perception Encoder": ("PE-Core-T-16-384", {}, TEXT),
    "MobileCLIP 2": ("MobileCLIP2-S0", {}, TEXT),
    "EVA02-CLIP": ("EVA02-B-16", {"timm_model_name": "eva02_tiny_patch14_224"}, TEXT),
    "MetaCLIP 2": (
        "ViT-H-14-worldwide",
        {"image_size": 32, "layers": 2, "width": 32, "head_width": 16, "patch_size": 8},
        TEXT | {"vocab_size": 64},
    ),
}
NAMES = ["cat", "Siberian husky", "tench", "hot-air balloon", "x"]
TEMPLATES = ["a photo of a {c}.", "{c}", "a drawing of the {c} in the snow, and of nothing else at all"]
IMAGES = [
    Image.fromarray(np.random.default_rng(1).integers(0, 256, (*shape, 3), dtype=np.uint8))
    for shape in ((50, 40), (1, 1))
]


@pytest.fixture
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The family's architecture with few layers and random weights, in a folder."""
    import open_clip
    import torch
    from safetensors.torch import save_file

    name, vision, text = FAMILIES[request.param]
    config = open_clip.get_model_config(name)
    config["vision_cfg"] |= vision
    config["text_cfg"] |= text
    (tmp_path / "open_clip_config.json").write_text(json.dumps({"model_cfg": config}))
    if "hf_tokenizer_name" in config["text_cfg"]:
        save_tokenizer(tmp_path)
    torch.manual_seed(0)
    model = open_clip.create_model(f"local-dir:{tmp_path}", load_weights=False)
    save_file(model.state_dict(), tmp_path / "open_clip_model.safetensors")
    return tmp_path


def save_tokenizer(folder: Path) -> None:
    """Save a tokenizer of XLM's kind, whose texts end in the token 2."""
    from transformers import XLMRobertaTokenizer

    words = ["<s>", "<pad>", "</s>", "<unk>", "▁", *"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.,"]
    XLMRobertaTokenizer(vocab=[(word, -1.0) for word in words]).save_pretrained(folder)


@pytest.mark.parametrize("folder", FAMILIES, indirect=True)
def test_zero_shot_equals_open_clips_own(folder: Path) -> None:
    import open_clip
    import torch

    model, _, preprocess = open_clip.create_model_and_transforms(f"local-dir:{folder}")
    tokenizer = open_clip.get_tokenizer(f"local-dir:{folder}")
    prompts: list[Callable[[str], str]] = [(lambda c, t=t: t.replace("{c}", c)) for t in TEMPLATES]
    with torch.inference_mode():
        weights = open_clip.build_zero_shot_classifier(model.eval(), tokenizer, NAMES, prompts)
        seen = model.encode_image(torch.stack([preprocess(image) for image in IMAGES]), normalize=True)
    expected = (seen @ weights).numpy()
    encoder = OpenClipEncoder(parse_spec(f"open_clip[local-dir:{folder}]"), offline=True)
    found = cosine_similarity(
        encoder.encode_images([encoder.prepare(image) for image in IMAGES]),
        class_weights(encoder.encode_texts, NAMES, TEMPLATES),
    )
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert np.ptp(found, axis=0).min() > 1e-3  # it looks at the image
    assert np.ptp(found, axis=1).min() > 1e-3  # and at the name
