"""open_clip's encoders, on small architectures with random weights."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from eyechart.data.labels.class_names import load_class_names, load_templates
from eyechart.errors import ModelError, SpecError
from eyechart.inference.requests.class_weights import class_weights, cosine_similarity
from eyechart.models.open_clip import files
from eyechart.models.open_clip.encoder import OpenClipEncoder
from eyechart.models.runtime import text_batches
from eyechart.models.runtime.torchvision_repair import repair
from eyechart.models.spec import parse_spec
from eyechart.models.types import Encoder, Floats

repair()  # before any test imports open_clip itself
TEXTS = ["a cat", "a photo of a very small and rather shy Siberian husky, in the snow.", "dog", "a cat", "the", ""]
POOLS: dict[str, dict[str, Any]] = {
    "argmax": {},
    "custom": {"custom_text": True},
    "eos": {"custom_text": True, "pool_type": "eos", "eos_id": 49407},
    "first": {"custom_text": True, "pool_type": "first"},
    "siglip": {"custom_text": True, "pool_type": "last", "no_causal_mask": True},
    "last": {"custom_text": True, "pool_type": "last"},
    "coca": {"custom_text": True, "embed_cls": True},
}
TRIMMED = ("argmax", "custom", "eos", "first")
Save = Callable[..., Path]


def configuration(**text: Any) -> dict[str, Any]:
    model = {
        "embed_dim": 24,
        "vision_cfg": {"image_size": 32, "layers": 2, "width": 32, "patch_size": 8, "head_width": 16},
    }
    for key in ("custom_text", "quick_gelu"):
        if key in text:
            model[key] = text.pop(key)
    return {"model_cfg": model | {"text_cfg": {"layers": 2, "width": 32, "heads": 2} | text}}


@pytest.fixture
def save(tmp_path: Path) -> Save:
    """Save a small model of random weights as a folder."""
    import open_clip
    import torch
    from safetensors.torch import save_file

    def make(name: str = "small", **text: Any) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "open_clip_config.json").write_text(json.dumps(configuration(**text)))
        model = open_clip.create_model(f"local-dir:{folder}", load_weights=False)
        torch.manual_seed(0)
        state = {key: torch.randn_like(value) * 0.2 for key, value in model.state_dict().items()}
        save_file(state, folder / "open_clip_model.safetensors")
        return folder

    return make


@pytest.fixture
def theirs() -> Callable[[Path], tuple[Any, Any, Any]]:
    """open_clip's own model, preprocessing and tokenizer."""
    import open_clip

    def load(folder: Path) -> tuple[Any, Any, Any]:
        model, _, preprocess = open_clip.create_model_and_transforms(f"local-dir:{folder}")
        return model.eval(), preprocess, open_clip.get_tokenizer(f"local-dir:{folder}")

    return load


@pytest.fixture
def architecture(tmp_path: Path) -> str:
    """A small architecture among open_clip's named ones."""
    import open_clip

    (tmp_path / "eyechart-small.json").write_text(json.dumps(configuration()["model_cfg"]))
    open_clip.add_model_config(tmp_path)
    return "eyechart-small"


def ours(folder: Path, **options: str) -> OpenClipEncoder:
    return OpenClipEncoder(
        parse_spec(f"open_clip[local-dir:{folder}{''.join(f',{k}={v}' for k, v in options.items())}]")
    )


def noise(count: int = 3) -> list[Image.Image]:
    pixels = np.random.default_rng(1).integers(0, 256, (count, 50, 40, 3), dtype=np.uint8)
    return [Image.fromarray(image) for image in pixels]


def close(found: Floats, expected: Any, atol: float = 1e-5) -> None:
    """Compare directions: features are scaled as they come."""
    unit = [x / np.linalg.norm(x, axis=1, keepdims=True) for x in (found, np.asarray(expected))]
    np.testing.assert_allclose(unit[0], unit[1], atol=atol)


def test_it_is_an_encoder(save: Save) -> None:
    assert isinstance(ours(save()), Encoder)


def test_images_are_encoded_as_open_clip_does(save: Save, theirs: Any) -> None:
    import torch

    folder = save()
    model, preprocess, _ = theirs(folder)
    with torch.inference_mode():
        expected = model.encode_image(torch.stack([preprocess(image) for image in noise()]))
    encoder = ours(folder)
    close(encoder.encode_images([encoder.prepare(image) for image in noise()]), expected)


def test_the_scaled_cosines_are_open_clips_own_logits(save: Save, theirs: Any) -> None:
    import torch

    folder = save()
    model, preprocess, tokenizer = theirs(folder)
    with torch.inference_mode():
        expected, _ = model.get_logits(torch.stack([preprocess(image) for image in noise()]), tokenizer(TEXTS))
    encoder = ours(folder)
    seen, read = encoder.encode_images([encoder.prepare(image) for image in noise()]), encoder.encode_texts(TEXTS)
    cosines = seen @ read.T / np.linalg.norm(seen, axis=1)[:, None] / np.linalg.norm(read, axis=1)
    np.testing.assert_allclose(encoder.logit_scale * cosines, expected, atol=1e-5)
    assert encoder.logit_scale != 1


@pytest.mark.deep
@pytest.mark.parametrize("pool", POOLS)
def test_texts_are_encoded_as_open_clip_does(save: Save, theirs: Any, pool: str) -> None:
    import torch

    folder = save(**POOLS[pool])
    model, _, tokenizer = theirs(folder)
    with torch.inference_mode():
        expected = model.encode_text(tokenizer(TEXTS))
    close(ours(folder).encode_texts(TEXTS), expected)


@pytest.fixture
def siglip2(save: Save) -> Path:
    """A SigLIP 2 text tower with a tokenizer as Gemma's: it heeds case, and puts the end behind every text."""
    from transformers import GemmaTokenizer

    words = {
        word: at for at, word in enumerate(["<pad>", "<eos>", "<bos>", "<unk>", "<mask>", "▁", *"abcdefghinoprst"])
    }
    reading = {"hf_tokenizer_name": "absent/words", "tokenizer_kwargs": {"clean": "canonicalize"}}
    folder = save(**POOLS["siglip"], **reading, context_length=64, vocab_size=32)
    more = {"add_bos_token": False, "add_eos_token": True, "padding_side": "right"}
    GemmaTokenizer(vocab=words, merges=[], **more).save_pretrained(folder)
    return folder


def test_siglip_2_reads_small_letters_and_64_tokens(siglip2: Path, theirs: Any) -> None:
    import torch

    model, _, tokenizer = theirs(siglip2)
    read = tokenizer(["a cat", "dog"])
    assert read[1].tolist() == [9, 16, 12, 1, *[0] * 60]
    with torch.inference_mode():
        close(ours(siglip2).encode_texts(["A Cat.", "dog"]), model.encode_text(read))


@pytest.mark.deep
@pytest.mark.parametrize("pool", POOLS)
def test_texts_are_trimmed_exactly_where_that_is_valid(save: Save, theirs: Any, pool: str) -> None:
    from eyechart.models.open_clip.encoder import TextTower

    model, _, tokenizer = theirs(save(**POOLS[pool]))
    lengths = TextTower(model).lengths(tokenizer(["a cat"]))
    assert lengths.tolist() == [{"first": 1}.get(pool, 4) if pool in TRIMMED else 77]


@pytest.mark.parametrize("pool", ["siglip", "last", "coca"])
def test_trimming_the_others_would_change_them(save: Save, theirs: Any, pool: str) -> None:
    import torch

    model, _, tokenizer = theirs(save(**POOLS[pool]))
    model.text.attn_mask = None if model.text.attn_mask is None else model.text.attn_mask[:10, :10]
    short = tokenizer(TEXTS[:1])[:, : 9 if pool == "coca" else 10]
    with torch.inference_mode():
        cut = model.encode_text(short)
    whole = theirs_again(theirs, save, pool)
    assert np.abs(cut.numpy() - whole).max() > 1e-3


def theirs_again(theirs: Any, save: Save, pool: str) -> Any:
    import torch

    model, _, tokenizer = theirs(save("whole", **POOLS[pool]))
    with torch.inference_mode():
        return model.encode_text(tokenizer(TEXTS[:1])).numpy()


@pytest.mark.deep
def test_zero_shot_equals_open_clips_own(save: Save, theirs: Any) -> None:
    import open_clip
    import torch

    folder, names = save(), load_class_names("mill").names[:60]
    model, preprocess, tokenizer = theirs(folder)
    prompts = [(lambda c, t=t: t.replace("{c}", c)) for t in load_templates("7").formats]
    with torch.inference_mode():
        weights = open_clip.build_zero_shot_classifier(model, tokenizer, names, prompts)
        seen = model.encode_image(torch.stack([preprocess(image) for image in noise(20)]), normalize=True)
    expected = (seen @ weights).numpy()
    encoder = ours(folder)
    found = cosine_similarity(
        encoder.encode_images([encoder.prepare(image) for image in noise(20)]),
        class_weights(encoder.encode_texts, names, load_templates("7").formats),
    )
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert found.argmax(axis=1).tolist() == expected.argmax(axis=1).tolist()


def test_small_batches_change_nothing(save: Save, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = ours(save())
    whole = encoder.encode_texts(TEXTS)
    monkeypatch.setattr(text_batches, "token_budget", lambda _: 5)
    close(encoder.encode_texts(TEXTS), whole)


def test_equal_texts_are_read_once(save: Save, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = ours(save())
    seen: list[int] = []
    encode = encoder._encode
    monkeypatch.setattr(encoder, "_encode", lambda tower, tokens: (seen.append(len(tokens)), encode(tower, tokens))[1])
    found = encoder.encode_texts(["a", "b", "a", "a"])
    assert sum(seen) == 2
    np.testing.assert_array_equal(found[0], found[3])


@pytest.mark.parametrize(("quick", "activation"), [(True, "QuickGELU"), (False, "GELU")])
def test_quick_gelu_reaches_both_towers(save: Save, quick: bool, activation: str) -> None:
    model = files.load_model(replace(ours(save()).checkpoint, quick_gelu=quick), offline=True)
    for tower in (model.visual.transformer, model.transformer):
        assert {type(block.mlp.gelu).__name__ for block in tower.resblocks} == {activation}


def cached(hub: Path, repo: str, commit: str = "0123456789abcdef0123456789abcdef01234567") -> Path:
    folder = hub / f"models--{repo.replace('/', '--')}"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs" / "main").write_text(commit)
    (folder / "snapshots" / commit).mkdir(parents=True)
    return folder / "snapshots" / commit


@pytest.mark.parametrize(("tag", "quick"), [("openai", True), ("laion2b_s34b_b79k", False), ("metaclip_400m", True)])
def test_quick_gelu_follows_the_tag(empty_hub: Path, tag: str, quick: bool) -> None:
    from open_clip.pretrained import get_pretrained_cfg

    repo, _, file = get_pretrained_cfg("ViT-B-32", tag)["hf_hub"].rpartition("/")
    (cached(empty_hub, repo) / (file or "open_clip_pytorch_model.bin")).write_bytes(b"")
    found = OpenClipEncoder(parse_spec(f"open_clip[ViT-B-32/{tag}]"), offline=True).checkpoint
    assert found.quick_gelu is quick


def test_the_tags_own_preprocessing_is_used(empty_hub: Path) -> None:
    (cached(empty_hub, "timm/ViT-B-16-SigLIP") / "open_clip_model.safetensors").write_bytes(b"")
    found = OpenClipEncoder(parse_spec("open_clip[ViT-B-16-SigLIP,pretrained=webli]"), offline=True).checkpoint
    assert tuple(found.preprocessing["mean"]) == (0.5, 0.5, 0.5)
    assert (found.preprocessing["resize_mode"], found.preprocessing["size"]) == ("squash", (224, 224))


def test_a_file_of_a_known_architecture(save: Save, architecture: str) -> None:
    folder = save()
    spec = parse_spec(f"open_clip[{architecture},pretrained={folder / 'open_clip_model.safetensors'}]")
    np.testing.assert_allclose(OpenClipEncoder(spec).encode_texts(TEXTS), ours(folder).encode_texts(TEXTS), atol=1e-6)


def test_weights_that_do_not_fit(save: Save, architecture: str) -> None:
    path = save(vocab_size=49500) / "open_clip_model.safetensors"
    with pytest.raises(ModelError, match=rf"{re.escape(str(path))} does not fit eyechart-small: size mismatch for "):
        OpenClipEncoder(parse_spec(f"open_clip[{architecture},pretrained={path}]")).encode_texts(["a"])


def test_weights_with_missing_keys(save: Save, architecture: str) -> None:
    from safetensors.torch import load_file, save_file

    path = save() / "open_clip_model.safetensors"
    state = load_file(path)
    save_file({key: value for key, value in state.items() if key != "ln_final.bias"}, path)
    with pytest.raises(ModelError, match=r"missing key: ln_final\.bias"):
        OpenClipEncoder(parse_spec(f"open_clip[{architecture},pretrained={path}]")).encode_texts(["a"])


def test_offline_and_missing(empty_hub: Path) -> None:
    encoder = OpenClipEncoder(parse_spec("open_clip[ViT-B-32,pretrained=laion2b_s34b_b79k]"), offline=True)
    with pytest.raises(ModelError, match=r"--eye-offline forbids fetching it.*`hf download laion/"):
        _ = encoder.identity


def test_a_folder_without_weights(save: Save) -> None:
    folder = save()
    (folder / "open_clip_model.safetensors").unlink()
    with pytest.raises(ModelError, match="holds no weights"):
        _ = ours(folder).identity


@pytest.mark.parametrize(
    ("text", "kind", "sentence"),
    [
        ("open_clip[ViT-B-32]", ModelError, "names no weights.*laion2b_s34b_b79k"),
        ("open_clip[ViT-B-33,pretrained=openai]", SpecError, "did you mean ViT-B-32"),
        ("open_clip[]", SpecError, "open_clip does not have"),
        ("open_clip[dino.txt]", SpecError, r"which open_clip does not have\. dino\.txt, the text tower of DINOv2 and"),
        ("open_clip[ViT-B-32,dtype=half,pretrained=openai]", SpecError, "Expected one of float32"),
    ],
)
def test_what_is_asked_for_must_exist(text: str, kind: type[Exception], sentence: str) -> None:
    with pytest.raises(kind, match=sentence):
        OpenClipEncoder(parse_spec(text))


def test_an_unknown_tag_lists_the_known_ones() -> None:
    with pytest.raises(SpecError, match=r"no weights 'laion2b'.*It has: openai"):
        _ = OpenClipEncoder(parse_spec("open_clip[ViT-B-32,pretrained=laion2b]"), offline=True).checkpoint


def test_the_dtype_is_honoured_and_recorded(save: Save) -> None:
    folder = save()
    low = ours(folder, dtype="bfloat16")
    assert low.identity.dtype == "bfloat16"
    found, exact = low.encode_texts(TEXTS), ours(folder).encode_texts(TEXTS)
    assert found.dtype == np.float32
    assert 0 < np.abs(found - exact).max() < 0.1 * np.abs(exact).max()


def test_the_identity_changes_with_weights_and_architecture(save: Save) -> None:
    one, other = ours(save()).identity, ours(save("other", heads=4)).identity
    assert one.weights_sha256 == other.weights_sha256
    assert one.processor["config_sha256"] != other.processor["config_sha256"]
