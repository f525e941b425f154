"""CLIP and SigLIP through transformers, on tiny checkpoints made here."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from eyechart.errors import ModelError, SpecError
from eyechart.models import texts
from eyechart.models.hf_clip import HfClip
from eyechart.models.interfaces import Encoder, Floats
from eyechart.models.vision_ops import repair
from eyechart.spec import parse

repair()  # before any test imports transformers itself
TEXTS = ["a cat", "a photo of a small and rather shy dog", "dog", "a cat", "the"]
LETTERS = "abcdefghijklmnopqrstuvwxyz"
VISION = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "patch_size": 8}
TEXT = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "vocab_size": 64}
FAMILIES = ("clip", "siglip", "siglip2")
Save = Callable[[str], Path]


def clip_tokenizer() -> Any:
    from transformers import CLIPTokenizer

    letters = [*LETTERS, *(f"{letter}</w>" for letter in LETTERS)]
    vocabulary = [*letters, "<|startoftext|>", "<|endoftext|>"]
    return CLIPTokenizer(vocab={word: at for at, word in enumerate(vocabulary)}, merges=[])


def siglip_tokenizer() -> Any:
    from transformers import Siglip2Tokenizer

    vocabulary = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>", "▁", *LETTERS]
    return Siglip2Tokenizer(vocab={word: at for at, word in enumerate(vocabulary)}, merges=[], padding_side="right")


def clip_parts() -> tuple[Any, Any, Any]:
    from transformers import CLIPConfig, CLIPImageProcessorPil, CLIPModel

    words = TEXT | {"max_position_embeddings": 77, "eos_token_id": 53, "bos_token_id": 52}
    config = CLIPConfig(text_config=words, vision_config=VISION | {"image_size": 32}, projection_dim=16)
    size = {"shortest_edge": 32}
    return CLIPModel(config), clip_tokenizer(), CLIPImageProcessorPil(size=size, crop_size={"height": 32, "width": 32})


def siglip_parts() -> tuple[Any, Any, Any]:
    from transformers import SiglipConfig, SiglipImageProcessorPil, SiglipModel

    words = TEXT | {"max_position_embeddings": 64, "projection_size": 16}
    config = SiglipConfig(text_config=words, vision_config=VISION | {"image_size": 32})
    return SiglipModel(config), siglip_tokenizer(), SiglipImageProcessorPil(size={"height": 32, "width": 32})


def siglip2_parts() -> tuple[Any, Any, Any]:
    from transformers import Siglip2Config, Siglip2ImageProcessorPil, Siglip2Model

    words = TEXT | {"max_position_embeddings": 64, "projection_size": 16}
    config = Siglip2Config(text_config=words, vision_config=VISION | {"num_patches": 16})
    return Siglip2Model(config), siglip_tokenizer(), Siglip2ImageProcessorPil(patch_size=8, max_num_patches=16)


PARTS = {"clip": clip_parts, "siglip": siglip_parts, "siglip2": siglip2_parts}


@pytest.fixture
def save(tmp_path: Path) -> Save:
    """Save a tiny model of a family with random weights."""
    import torch

    def make(family: str) -> Path:
        torch.manual_seed(0)
        model, *readers = PARTS[family]()
        for weight in model.parameters():
            torch.nn.init.normal_(weight, std=0.3)
        for part in (model, *readers):
            part.save_pretrained(tmp_path / family)
        return tmp_path / family

    return make


def ours(folder: Path, more: str = "") -> HfClip:
    return HfClip(parse(f"hf_clip[{folder}{more}]"), offline=True)


def noise() -> list[Image.Image]:
    pixels = np.random.default_rng(2).integers(0, 256, (3, 50, 40, 3), dtype=np.uint8)
    return [Image.fromarray(image) for image in pixels]


def padded(folder: Path, one: list[str]) -> Floats:
    """Texts as published: padded to the full length, by transformers' own model."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    model, tokenizer = AutoModel.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    length = model.config.text_config.max_position_embeddings
    read = tokenizer(one, padding="max_length", max_length=length, truncation=True, return_tensors="pt")
    with torch.inference_mode():
        return np.asarray(model.get_text_features(input_ids=read["input_ids"]).pooler_output)


@pytest.mark.parametrize("family", FAMILIES)
def test_it_is_an_encoder(save: Save, family: str) -> None:
    assert isinstance(ours(save(family)), Encoder)


@pytest.mark.parametrize("family", FAMILIES)
def test_texts_equal_those_padded_to_the_full_length(save: Save, family: str) -> None:
    folder = save(family)
    np.testing.assert_allclose(ours(folder).encode_texts(TEXTS), padded(folder, TEXTS), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(("family", "longest"), [("clip", 9), ("siglip", 64), ("siglip2", 64)])
def test_only_clip_is_trimmed(save: Save, family: str, longest: int) -> None:
    assert len(ours(save(family))._read(["doggies"])[0]) == longest


def test_trimming_siglip_would_change_it(save: Save) -> None:
    encoder = ours(save("siglip"))
    whole = encoder._read(["dog"])[0]
    assert np.abs(encoder._encode([whole]) - encoder._encode([whole[:5]])).max() > 1e-2


@pytest.mark.parametrize("family", FAMILIES)
def test_small_batches_change_nothing(save: Save, family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = ours(save(family))
    whole = encoder.encode_texts(TEXTS)
    monkeypatch.setattr(texts, "budget", lambda _: 12)
    np.testing.assert_allclose(encoder.encode_texts(TEXTS), whole, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("family", FAMILIES)
def test_images_equal_transformers_own(save: Save, family: str) -> None:
    import torch
    from transformers import AutoImageProcessor, AutoModel

    folder = save(family)
    batch = AutoImageProcessor.from_pretrained(folder, backend="pil")(images=noise(), return_tensors="pt")
    with torch.inference_mode():
        expected = AutoModel.from_pretrained(folder).eval().get_image_features(**batch).pooler_output.numpy()
    encoder = ours(folder)
    found = encoder.encode_images([encoder.prepare(image) for image in noise()])
    np.testing.assert_allclose(found, expected, atol=1e-4, rtol=1e-4)


def heeding(folder: Path) -> Path:
    """Give a model the tokenizer of most SigLIP 2 folders: Gemma's, which heeds case, with the end behind a text."""
    from transformers import GemmaTokenizer

    words = {word: at for at, word in enumerate(["<pad>", "<eos>", "<bos>", "<unk>", "<mask>", "▁", *LETTERS, "C"])}
    more = {"add_bos_token": False, "add_eos_token": True, "padding_side": "right"}
    GemmaTokenizer(vocab=words, merges=[], **more).save_pretrained(folder)
    return folder


def test_siglip_2_reads_small_letters_whatever_it_calls_itself(save: Save) -> None:
    encoder = ours(heeding(save("siglip")))
    upper, lower = encoder.encode_texts(["Cat", "cat"])
    np.testing.assert_array_equal(upper, lower)
    np.testing.assert_allclose([lower], padded(encoder.source.path, ["cat"]), atol=1e-4, rtol=1e-4)
    assert np.abs(padded(encoder.source.path, ["Cat"]) - lower).max() > 1e-3


def test_siglip_2_reads_the_end_of_text_and_its_padding(save: Save) -> None:
    assert ours(heeding(save("siglip")))._read(["cat"]) == [[8, 6, 25, 1, *[0] * 60]]


@pytest.mark.parametrize(("family", "lower"), [("clip", False), ("siglip", True), ("siglip2", True)])
def test_the_identity_says_whether_case_is_dropped(save: Save, family: str, lower: bool) -> None:
    folder = save(family)
    assert ours(folder).identity.processor["lower_case"] is lower


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


def test_another_family_is_refused(save: Save) -> None:
    folder = save("clip")
    (folder / "config.json").write_text('{"model_type": "bert"}')
    with pytest.raises(ModelError, match="family 'bert', expected one of clip, siglip, siglip2"):
        _ = ours(folder).identity


def test_a_folder_without_weights(save: Save) -> None:
    folder = save("clip")
    (folder / "model.safetensors").unlink()
    with pytest.raises(ModelError, match="holds no weights"):
        _ = ours(folder).identity


def test_offline_and_missing(empty_hub: Path) -> None:
    with pytest.raises(ModelError, match=r"--eye-offline forbids fetching it.*`hf download google/nothing`"):
        _ = HfClip(parse("hf_clip[google/nothing]"), offline=True).identity


def test_a_model_must_be_named() -> None:
    with pytest.raises(SpecError, match="names no model"):
        HfClip(parse("hf_clip[]"))
