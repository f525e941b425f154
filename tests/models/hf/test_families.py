"""A family of each kind: the answers of transformers alone, exact log-probabilities, and images of any shape.

docs/families.md says the same of the families that are like them.
"""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from shutil import copytree
from typing import Any

import family_table
import numpy as np
import pytest
from families.check import CHOICES, Comparison, draw_requests
from PIL import Image

from eyechart.models.generation import generate_all
from eyechart.models.hf import trie_pass
from eyechart.models.hf.generator import HfGenerator
from eyechart.models.spec import parse_spec
from eyechart.models.types import Request

pytestmark = [
    pytest.mark.deep,
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),  # of PaliGemma's processor
    pytest.mark.filterwarnings("ignore:`hidden_state` is deprecated:FutureWarning"),  # of Mllama's own code
]

Tiny = Callable[[str], Path]
KINDS = {  # by what differs in how its prompts and answers are read
    "blip_2": "images become a fixed number of tokens, and there is no chat template",
    "exaone4_5": "the model counts positions by itself",
    "florence2": "an encoder reads the prompt",
    "gemma3": "sliding attention, and the tokens of an image see one another",
    "gemma4": "sliding attention, and layers that share a cache",
    "granite4_vision": "features of several layers of the image encoder",
    "hunyuan_vl": "positions that depend on the other requests of a batch",
    "lfm2_vl": "convolutions",
    "llama4": "attention in chunks, and experts",
    "mistral3": "images become rows of tokens",
    "mllama": "cross-attention to images",
    "paligemma": "all tokens of the prompt see one another",
    "phi4_multimodal": "an image encoder that needs another implementation of attention",
    "qwen3_5": "linear attention",
    "qwen3_vl": "positions in three dimensions",
}
BOUND = 1e-5
BOUNDS = {"qwen3_5": 2e-5, "florence2": 2e-5, "granite4_vision": 5e-5}  # float32: sums in another order, large numbers
STEPS = "step by step"
ROWS = {row.family: row for row in family_table.read_rows(family_table.PAGE.read_text(encoding="utf-8"))}
REQUESTS = draw_requests(2)  # of different length, so that a batch is padded


@cache
def compare(folder: Path) -> Comparison:
    return Comparison(folder, REQUESTS)


@pytest.mark.parametrize("family", KINDS)
def test_a_familys_choices_are_scored_exactly(tiny_chat: Tiny, family: str) -> None:
    comparison = compare(tiny_chat(family))
    assert comparison.generator.scoring_obstacle == ""
    assert comparison.path == ROWS[family].path
    assert comparison.error < BOUNDS.get(family, BOUND)
    assert comparison.finds_best == ROWS[family].exact
    assert np.abs(comparison.scores[0] - comparison.scores[1]).max() > 0.1  # it looks at the request


@pytest.mark.parametrize("family", KINDS)
def test_a_familys_answers_have_the_tokens_of_transformers(tiny_chat: Tiny, family: str) -> None:
    assert compare(tiny_chat(family)).same_tokens == ROWS[family].same_tokens


@pytest.mark.parametrize("family", ["gemma3", "llama4", "paligemma", "qwen3_vl"])
def test_both_ways_give_the_same(tiny_chat: Tiny, family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = compare(tiny_chat(family)).generator
    passed = model.score(REQUESTS, CHOICES)
    monkeypatch.setattr(trie_pass, "is_exact", lambda *_: False)
    np.testing.assert_allclose(model.score(REQUESTS, CHOICES), passed, rtol=0, atol=2 * BOUND)
    choices, values = model.best(REQUESTS, CHOICES)
    assert choices.tolist() == passed.argmax(axis=1).tolist()
    np.testing.assert_allclose(values, passed.max(axis=1), rtol=0, atol=2 * BOUND)


@pytest.mark.parametrize("family", ["fast_vlm", "qwen3_5"])
def test_weights_of_bfloat16_give_log_probabilities_of_float32(tiny_chat: Tiny, family: str) -> None:
    import torch

    model = HfGenerator(parse_spec(f"hf[{tiny_chat(family)},dtype=bfloat16,batch_size=1]"), offline=True)
    scores = model.score(REQUESTS, ["cat", "dog", "what"], until="unique")
    tokens = [row[0] for row in model._chat.tokenize_choices(["cat", "dog", "what"])]
    for request, row in zip(REQUESTS, scores, strict=True):
        inputs = model._chat.prepare_inputs(request)
        inputs = {k: value.to(torch.bfloat16) if value.is_floating_point() else value for k, value in inputs.items()}
        with torch.inference_mode():
            logits = model._module(**inputs).logits[0, -1]
        assert logits.dtype == torch.bfloat16
        np.testing.assert_allclose(row, logits.double().log_softmax(-1)[tokens], rtol=0, atol=BOUND)
        assert np.abs(row - logits.log_softmax(-1)[tokens].float().numpy()).max() > 1e-3


@pytest.mark.parametrize("family", ["mllama", "qwen3_5"])
def test_a_search_with_little_memory_finds_the_same(
    tiny_chat: Tiny, family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    comparison = compare(tiny_chat(family))
    monkeypatch.setattr("eyechart.models.hf.generator.MAX_LOGITS", (1, 1))
    small = Comparison(tiny_chat(family), REQUESTS)
    np.testing.assert_allclose(small.scores, comparison.scores, rtol=0, atol=2 * BOUND)
    assert small.finds_best


def changed(folder: Path, settings: dict[str, Any]) -> Path:
    """A copy of a checkpoint with other settings of its text model."""
    target = folder.with_name("-".join([folder.name, *map(str, settings.values())]))
    if not target.exists():
        copytree(folder, target)
        config = json.loads((folder / "config.json").read_text())
        config["text_config"] |= settings
        (target / "config.json").write_text(json.dumps(config))
    return target


WINDOW, CHUNK = "sliding_window", "attention_chunk_size"
SHORT = {
    "gemma3": (WINDOW, 8),
    "llama4": (CHUNK, 8),
    "mistral3": (WINDOW, 16),  # which its configuration gives no types of layers for
}


@pytest.mark.parametrize("family", SHORT)
def test_a_prompt_may_be_longer_than_the_window(tiny_chat: Tiny, family: str) -> None:
    name, length = SHORT[family]
    folder = changed(tiny_chat(family), {name: length})
    comparison = Comparison(folder, REQUESTS)
    assert min(prompt["input_ids"].shape[1] for prompt in comparison._prompts) > length
    assert comparison.path == STEPS
    assert comparison.error < BOUND
    assert comparison.finds_best
    whole = compare(tiny_chat(family)).scores
    assert np.abs(comparison.scores - whole).max() > 1e-3


def noise(width: int, height: int) -> Image.Image:
    return Image.fromarray(np.random.default_rng(width).integers(0, 256, (height, width, 3), dtype=np.uint8))


# RGB images, which is what a model is given whatever the file is (test_images.py)
IMAGES = {"plain": noise(50, 40), "one pixel": noise(1, 1), "high": noise(2, 600), "wide": noise(3000, 4)}


@pytest.mark.parametrize("family", KINDS)
def test_an_image_is_answered_as_by_transformers_or_is_an_error(tiny_chat: Tiny, family: str) -> None:
    requests = [Request((image, "what?")) for image in IMAGES.values()]
    comparison = Comparison(tiny_chat(family), requests)
    answers = dict(zip(IMAGES, generate_all(comparison.generator, requests, 5), strict=True))
    assert not answers["plain"].error
    for request, answer in zip(requests, answers.values(), strict=True):
        if "leaves no room for an answer" in answer.error:  # more tokens than the model was made for
            continue
        expected = comparison.ask_transformers(request)
        if isinstance(expected, Exception):
            refusals = (f"{comparison.generator.spec}' cannot {verb} this request" for verb in ("take", "answer"))
            assert any(f"{refusal} ({type(expected).__name__}" in answer.error for refusal in refusals)
        else:
            assert (answer.error, answer.tokens) == ("", expected)


def test_an_omni_model_is_answered_by_the_part_that_writes(tiny_chat: Tiny) -> None:
    from safetensors.torch import load_file, save_file

    folder = tiny_chat("qwen2_5_omni_thinker")
    target = Path(copytree(folder, folder.with_name("qwen2_5_omni"), dirs_exist_ok=True))
    weights = load_file(folder / "model.safetensors")
    save_file({f"thinker.{name}": value for name, value in weights.items()}, target / "model.safetensors")
    config = {"model_type": "qwen2_5_omni", "thinker_config": json.loads((folder / "config.json").read_text())}
    (target / "config.json").write_text(json.dumps(config))
    answers = generate_all(HfGenerator(parse_spec(f"hf[{target}]"), offline=True), REQUESTS, 5)
    assert answers == generate_all(compare(folder).generator, REQUESTS, 5)
    assert not any(answer.error for answer in answers)
