"""CLIP, SigLIP and models like them through transformers, on tiny checkpoints made here."""

from collections.abc import Callable
from pathlib import Path
from runpy import run_path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from eyechart.errors import ModelError
from eyechart.models.hf.clip import HfClipEncoder
from eyechart.models.runtime import text_batches
from eyechart.models.runtime.torchvision_repair import repair
from eyechart.models.spec import parse_spec
from eyechart.models.types import Encoder, Floats

repair()  # before any test imports transformers itself
TEXTS = ["a cat", "a photo of a small and rather shy dog", "dog", "a cat", "the"]
LETTERS = run_path(str(Path(__file__).parents[2] / "tiny_pairs.py"))["LETTERS"]
MASKED = ("lit", "lit-roberta", "altclip", "chinese_clip", "align", "tipsv2")
FAMILIES = ("clip", "metaclip_2", "siglip", "siglip2", "groupvit", *MASKED)
Save = Callable[[str], Path]


def ours(folder: Path, more: str = "") -> HfClipEncoder:
    return HfClipEncoder(parse_spec(f"hf_clip[{folder}{more}]"), offline=True)


def noise() -> list[Image.Image]:
    """Images of several shapes, which SigLIP 2 cuts into patches of as many shapes."""
    draw, shapes = np.random.default_rng(2).integers, ((50, 40), (20, 90), (64, 64), (1, 1), (600, 2), (4, 3000))
    return [Image.fromarray(draw(0, 256, (*shape, 3), dtype=np.uint8)) for shape in shapes]


def padded(folder: Path, one: list[str]) -> Floats:
    """Texts as published: padded to the full length, by transformers' own model."""
    import torch
    from transformers import AutoModel

    with torch.inference_mode():
        return np.asarray(
            AutoModel.from_pretrained(folder).eval().get_text_features(**tokens(folder, one)).pooler_output
        )


def tokens(folder: Path, one: list[str]) -> dict[str, Any]:
    """Texts of the full length; a tower that sees both ways is told which tokens are padding."""
    from transformers import AutoConfig, AutoTokenizer

    tokenizer, words = AutoTokenizer.from_pretrained(folder), AutoConfig.from_pretrained(folder).text_config
    length = min(words.max_position_embeddings, tokenizer.model_max_length)
    read = tokenizer(one, padding="max_length", max_length=length, truncation=True, return_tensors="pt")
    return dict(read) if folder.name in MASKED else {"input_ids": read["input_ids"]}


@pytest.mark.deep
@pytest.mark.parametrize("family", FAMILIES)
def test_the_scaled_cosines_are_transformers_own_logits(save: Save, family: str) -> None:
    import torch
    from transformers import AutoImageProcessor, AutoModel

    folder, encoder = save(family), ours(save(family))
    images = AutoImageProcessor.from_pretrained(folder, backend="pil")(images=noise(), return_tensors="pt")
    model = AutoModel.from_pretrained(folder).eval()
    with torch.inference_mode():
        expected = model(**images, **tokens(folder, TEXTS)).logits_per_image - getattr(model, "logit_bias", 0)
    seen, read = encoder.encode_images([encoder.prepare(image) for image in noise()]), encoder.encode_texts(TEXTS)
    np.testing.assert_allclose(encoder.logit_scale * unit(seen) @ unit(read).T, expected, atol=1e-4, rtol=1e-4)


def unit(features: Floats) -> Floats:
    return np.asarray(features / np.linalg.norm(features, axis=1, keepdims=True), np.float32)


def test_it_is_an_encoder(save: Save) -> None:
    assert isinstance(ours(save("clip")), Encoder)


@pytest.mark.parametrize(
    ("family", "longest"), [("clip", 9), ("groupvit", 9), ("siglip", 64), ("siglip2", 64), ("lit", 9)]
)
def test_only_siglip_is_filled_up(save: Save, family: str, longest: int) -> None:
    assert len(ours(save(family))._read(["doggies"])[0]) == longest


@pytest.mark.parametrize("family", MASKED)
def test_a_tower_that_sees_both_ways_would_see_unmasked_padding(save: Save, family: str) -> None:
    import torch

    encoder = ours(save(family))
    (read,) = encoder._read(["dog"])
    filled = torch.tensor([read + [encoder._tokenizer.pad_token_id] * 50])
    with torch.inference_mode():
        seen = encoder._module.get_text_features(filled).pooler_output.numpy()
    assert np.abs(seen - encoder._encode([read])).max() > 1e-3


@pytest.mark.deep
@pytest.mark.parametrize(("family", "longest"), [("clip", 77), ("groupvit", 77), ("lit", 64), ("lit-roberta", 62)])
def test_long_texts_are_cut(save: Save, family: str, longest: int) -> None:
    encoder = ours(save(family))
    assert len(encoder._read(["dog " * 99])[0]) == longest
    assert np.isfinite(encoder.encode_texts(["dog " * 99])).all()


def test_trimming_siglip_would_change_it(save: Save) -> None:
    encoder = ours(save("siglip"))
    whole = encoder._read(["dog"])[0]
    assert np.abs(encoder._encode([whole]) - encoder._encode([whole[:5]])).max() > 1e-2


@pytest.mark.parametrize("family", ["clip", "siglip", "lit"])  # no padding, padding that is seen, and masked padding
def test_small_batches_change_nothing(save: Save, family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = ours(save(family))
    whole = encoder.encode_texts(TEXTS)
    monkeypatch.setattr(text_batches, "token_budget", lambda _: 12)
    np.testing.assert_allclose(encoder.encode_texts(TEXTS), whole, atol=1e-4, rtol=1e-4)


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


def test_another_family_is_refused(save: Save) -> None:
    folder = save("clip")
    (folder / "config.json").write_text('{"model_type": "bert"}')
    with pytest.raises(
        ModelError, match=r"family 'bert', expected one of clip, metaclip_2, .* Use the open_clip backend"
    ):
        _ = ours(folder).identity


@pytest.mark.parametrize("family", ["dinov2", "dinov3_vit"])
def test_dino_txt_is_in_no_library(save: Save, family: str) -> None:
    folder = save("clip")
    (folder / "config.json").write_text(f'{{"model_type": "{family}"}}')
    with pytest.raises(ModelError, match=r"dino\.txt, the text tower .* only in the code of facebookresearch/dinov3"):
        _ = ours(folder).identity


def test_tips_2_is_published_without_its_temperature(save: Save) -> None:
    from safetensors.torch import load_file, save_file

    path = save("tipsv2") / "model.safetensors"
    state = load_file(path)
    del state["temperature"]
    save_file(state, path, metadata={"format": "pt"})
    assert ours(path.parent).logit_scale == pytest.approx(1 / 0.005065968260169029)
