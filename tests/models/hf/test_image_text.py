"""What models that read images and texts from a folder have in common: weights, files, precision and names."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from eyechart.errors import ModelError, SpecError
from eyechart.models.hf.clip import HfClipEncoder
from eyechart.models.runtime.torchvision_repair import repair
from eyechart.models.spec import parse_spec

repair()  # before any test imports transformers itself
TEXTS = ["a cat", "a photo of a small and rather shy dog", "dog", "a cat", "the"]
Save = Callable[[str], Path]


def ours(folder: Path, more: str = "") -> HfClipEncoder:
    return HfClipEncoder(parse_spec(f"hf_clip[{folder}{more}]"), offline=True)


def test_the_dtype_is_honoured_and_recorded(save: Save) -> None:
    folder = save("clip")
    low, exact = ours(folder, ",dtype=bfloat16"), ours(folder)
    assert (low.identity.dtype, exact.identity.dtype) == ("bfloat16", "float32")
    assert 0 < np.abs(low.encode_texts(TEXTS) - exact.encode_texts(TEXTS)).max() < 0.5


def test_the_tokenizer_is_part_of_the_identity(save: Save) -> None:
    folder = save("clip")
    before = ours(folder).identity
    path = folder / "tokenizer.json"
    path.write_text(path.read_text() + "\n")
    assert ours(folder).identity.processor != before.processor
    assert ours(folder).identity.weights_sha256 == before.weights_sha256


def test_weights_with_missing_keys(save: Save) -> None:
    from safetensors.torch import load_file, save_file

    path = save("clip") / "model.safetensors"
    state = load_file(path)
    del state["text_projection.weight"]
    save_file(state, path, metadata={"format": "pt"})
    with pytest.raises(ModelError, match=r"do not fit CLIPModel: missing text_projection\.weight"):
        ours(path.parent).encode_texts(["a"])


def test_weights_of_another_shape(save: Save) -> None:
    from safetensors.torch import load_file, save_file

    path = save("clip") / "model.safetensors"
    state = load_file(path)
    state["text_projection.weight"] = state["text_projection.weight"][:5].clone()
    save_file(state, path, metadata={"format": "pt"})
    with pytest.raises(
        ModelError, match=r"do not fit CLIPModel: missing none; of another shape text_projection\.weight"
    ):
        ours(path.parent).encode_texts(["a"])


def test_a_folder_without_weights(save: Save) -> None:
    folder = save("clip")
    (folder / "model.safetensors").unlink()
    with pytest.raises(ModelError, match="holds no weights"):
        _ = ours(folder).identity


def test_offline_and_missing(empty_hub: Path) -> None:
    with pytest.raises(ModelError, match=r"--eye-offline forbids fetching it.*`hf download google/nothing`"):
        _ = HfClipEncoder(parse_spec("hf_clip[google/nothing]"), offline=True).identity


def test_a_model_must_be_named() -> None:
    with pytest.raises(SpecError, match="names no model"):
        HfClipEncoder(parse_spec("hf_clip[]"))
