"""BLIP-2's image–text matching through transformers, on a tiny checkpoint made here."""

import json
from pathlib import Path
from runpy import run_path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from eyechart.errors import ModelError, SpecError
from eyechart.models.hf.blip2 import Blip2Matcher
from eyechart.models.runtime import text_batches
from eyechart.models.runtime.torchvision_repair import repair
from eyechart.models.spec import parse_spec
from eyechart.models.types import Encoder, Floats, Matcher

repair()  # before any test imports transformers itself
TEXTS = ["a cat", "a small and shy dog", "dog", "a cat", "the"]
HEADS = ("itm", "itc")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny BLIP-2 with random weights, whose answers depend on both images and texts."""
    import torch

    torch.manual_seed(0)
    model, processor = run_path(str(Path(__file__).parents[2] / "tiny_pairs.py"))["PARTS"]["blip2"]()
    for weight in model.parameters():
        torch.nn.init.normal_(weight, std=0.7)
    path = tmp_path_factory.mktemp("models") / "tiny-blip2"
    for part in (model, processor):
        part.save_pretrained(path)
    return path


@pytest.fixture
def copy(folder: Path, tmp_path: Path) -> Path:
    """A copy that a test may spoil."""
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    return tmp_path


def ours(folder: Path, more: str = "") -> Blip2Matcher:
    return Blip2Matcher(parse_spec(f"blip2[{folder}{more}]"), offline=True)


def noise() -> list[Image.Image]:
    pixels = np.random.default_rng(2).integers(0, 256, (3, 50, 40, 3), dtype=np.uint8)
    return [Image.fromarray(image) for image in pixels]


def matched(model: Blip2Matcher, wanted: list[str] = TEXTS) -> Floats:
    return model.match([model.prepare(image) for image in noise()], wanted)


def theirs(folder: Path, head: str, queries: int | None = None) -> Floats:
    """What transformers' own model says of each pair alone: of two logits the difference, or the cosine.

    With `queries`, its processor puts so many image tokens before each text.
    """
    import torch
    from transformers import AutoImageProcessor, AutoTokenizer, Blip2ForImageTextRetrieval, Blip2Processor

    images = AutoImageProcessor.from_pretrained(folder, backend="pil")
    processor = Blip2Processor(images, AutoTokenizer.from_pretrained(folder), num_query_tokens=queries)
    model = Blip2ForImageTextRetrieval.from_pretrained(folder).eval()

    def said(image: Image.Image, text: str) -> float:
        read = processor(images=image, text=text, return_tensors="pt")
        with torch.inference_mode():
            found = model(**read, use_image_text_matching_head=head == "itm").logits_per_image[0]
        return float(found[1] - found[0] if head == "itm" else found[0])

    return np.array([[said(image, text) for text in TEXTS] for image in noise()], np.float32)


@pytest.mark.deep
def test_it_is_a_matcher_and_no_encoder(folder: Path) -> None:
    assert isinstance(ours(folder), Matcher)
    assert not isinstance(ours(folder), Encoder)


@pytest.mark.parametrize("head", HEADS)
def test_logits_equal_transformers_own_of_each_pair_alone(folder: Path, head: str) -> None:
    expected = theirs(folder, head)
    np.testing.assert_allclose(matched(ours(folder, f",head={head},scale=1")), expected, atol=1e-5, rtol=1e-5)
    assert min(expected.std(axis=0).min(), expected[:, [0, 1, 2, 4]].std(axis=1).min()) > 1e-3


@pytest.mark.parametrize("head", HEADS)
def test_image_tokens_that_a_processor_puts_before_texts_change_nothing(copy: Path, head: str) -> None:
    changed(copy, image_token_index=57)
    expected = theirs(copy, head, queries=4)
    np.testing.assert_allclose(matched(ours(copy, f",head={head},scale=1")), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("head", HEADS)
def test_small_batches_change_nothing(folder: Path, head: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = ours(folder, f",head={head}")
    whole = matched(model)
    monkeypatch.setattr(text_batches, "token_budget", lambda _: 12)
    np.testing.assert_allclose(matched(ours(folder, f",head={head}")), whole, atol=1e-5, rtol=1e-5)


def test_the_logits_of_equal_texts_are_equal(folder: Path) -> None:
    found = matched(ours(folder))
    np.testing.assert_array_equal(found[:, 0], found[:, 3])


@pytest.mark.parametrize("head", HEADS)
def test_an_image_is_seen_once_whatever_the_number_of_texts(folder: Path, head: str) -> None:
    model, seen = ours(folder, f",head={head}"), []
    model._module.vision_model.register_forward_hook(lambda _, __, found: seen.append(len(found[0])))
    matched(model, [*"abcdefghijklmnopqrstuvwxyz"] * 9)
    assert seen == [3]


def test_texts_that_are_compared_are_read_once_for_all_images(folder: Path) -> None:
    model, read = ours(folder, ",head=itc"), []
    model._module.embeddings.register_forward_hook(lambda _, __, found: read.append(len(found)))
    matched(model)
    matched(model)
    assert sum(read) == 4
    np.testing.assert_allclose(matched(model, TEXTS[::-1]), matched(model)[:, ::-1], rtol=1e-6)


def test_long_texts_are_cut_at_the_last_position(folder: Path) -> None:
    assert len(ours(folder)._read(["dog " * 99])[0]) == 24
    assert np.isfinite(matched(ours(folder), ["dog " * 99])).all()


@pytest.mark.parametrize(("head", "usual"), [("itm", 1), ("itc", 100)])
def test_the_scale_multiplies(folder: Path, head: str, usual: int) -> None:
    one = matched(ours(folder, f",head={head},scale=1"))
    np.testing.assert_allclose(matched(ours(folder, f",head={head}")), usual * one, rtol=1e-5)
    np.testing.assert_allclose(matched(ours(folder, f",head={head},scale=2.5")), 2.5 * one, rtol=1e-5)


@pytest.mark.parametrize("other", [",head=itc", ",scale=2", ",dtype=bfloat16"])
def test_what_changes_answers_changes_the_identity(folder: Path, other: str) -> None:
    assert ours(folder, other).identity != ours(folder).identity
    assert ours(folder, ",batch_size=1").identity == ours(folder).identity


def test_weights_are_read_at_the_first_question(folder: Path) -> None:
    model = ours(folder)
    assert (model.identity.name, model.identity.backend, model.loads) == ("tiny-blip2", "blip2", 0)
    matched(model)
    matched(model)
    assert model.loads == 1


def test_lower_precision_is_near(folder: Path) -> None:
    low, exact = matched(ours(folder, ",dtype=bfloat16")), matched(ours(folder))
    assert low.dtype == np.float32
    assert 0 < np.abs(low - exact).max() < 0.2 * np.abs(exact).max()


def changed(path: Path, **values: Any) -> None:
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps(config | values))


def test_a_q_former_that_reads_no_texts_is_refused(copy: Path) -> None:
    config = json.loads((copy / "config.json").read_text())["qformer_config"]
    changed(copy, qformer_config=config | {"use_qformer_text_input": False})
    with pytest.raises(ModelError, match=r"config\.json is of a BLIP-2 whose Q-Former reads no texts.*blip2-itm-vit-g"):
        matched(ours(copy))


def test_another_family_is_refused(copy: Path) -> None:
    (copy / "config.json").write_text('{"model_type": "bert"}')
    with pytest.raises(ModelError, match="family 'bert', expected blip-2"):
        _ = ours(copy).identity


def test_weights_without_the_head(copy: Path) -> None:
    from safetensors.torch import load_file, save_file

    state = load_file(copy / "model.safetensors")
    save_file({key: state[key] for key in state if "itm" not in key}, copy / "model.safetensors", {"format": "pt"})
    with pytest.raises(ModelError, match=r"do not fit Blip2ForImageTextRetrieval: missing itm_head\.bias, itm_head\."):
        matched(ours(copy))


def test_offline_and_missing(empty_hub: Path) -> None:
    with pytest.raises(ModelError, match=r"--eye-offline forbids fetching it.*`hf download Salesforce/nothing`"):
        _ = Blip2Matcher(parse_spec("blip2[Salesforce/nothing]"), offline=True).identity


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("blip2[]", r"names no model\. Expected blip2\[PATH\] or blip2\[owner/name\]"),
        ("blip2[a,head=lm]", "has head=lm. Expected itm or itc"),
        ("blip2[a,scale=0]", "has scale=0. Expected a number above 0"),
        ("blip2[a,scale=much]", "has scale=much. Expected a number above 0"),
        ("blip2[a,heads=itm]", "did you mean head"),
    ],
)
def test_what_is_asked_for_must_make_sense(text: str, sentence: str) -> None:
    with pytest.raises(SpecError, match=sentence):
        Blip2Matcher(parse_spec(text))
