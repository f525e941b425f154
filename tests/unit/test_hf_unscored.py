"""Families that hf asks but cannot score: their configuration says so, before any weights are read."""

import json
from collections.abc import Callable
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from PIL import Image

from eyechart.errors import ModelError
from eyechart.models.generation import generate_all
from eyechart.models.hf.generator import HfGenerator
from eyechart.models.types import Request
from eyechart.protocol.context import Context
from eyechart.protocol.registry import get_protocol
from eyechart.spec import parse_spec

Tiny = Callable[[str], Path]
UNSCORED = {
    "gemma3": "gemma3 has layers of sliding_attention",
    "qwen3_5": "qwen3_5 has layers of linear_attention",
    "llama4": "llama4 has layers of chunked_attention",
    "aya_vision": "aya_vision has layers of sliding_attention",
    "paligemma": "paligemma has bidirectional attention within a prompt",
}
ASKED = [Request((Image.new("RGB", (40 + 9 * place, 60), "red"), f"what is thing {place}?")) for place in range(3)]


def ours(folder: Path) -> HfGenerator:
    return HfGenerator(parse_spec(f"hf[{folder}]"), offline=True)


@pytest.mark.parametrize("family", UNSCORED)
def test_a_family_that_cannot_be_scored_says_why_without_its_weights(tiny_chat: Tiny, family: str) -> None:
    model = ours(tiny_chat(family))
    assert model.scoring_obstacle.startswith(UNSCORED[family])
    assert model.scoring_obstacle.endswith("full causal attention alone. Use vllm[…] in place of hf[…].")
    with pytest.raises(ModelError, match=UNSCORED[family]):
        model.score(ASKED, ["cat", "dog"])
    assert model.loads == 0


PALIGEMMA = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # of its processor


@PALIGEMMA
@pytest.mark.parametrize("family", UNSCORED)
def test_a_family_that_cannot_be_scored_answers_in_words(tiny_chat: Tiny, family: str) -> None:
    assert [answer.error for answer in generate_all(ours(tiny_chat(family)), ASKED, 3)] == [""] * 3


@pytest.mark.parametrize("family", ["fast_vlm", "qwen3_vl", "qwen2_5_vl", "mistral3"])
def test_a_family_with_full_attention_is_scored(tiny_chat: Tiny, family: str) -> None:
    model = ours(tiny_chat(family))
    assert model.scoring_obstacle == ""
    assert model.score(ASKED, ["cat", "dog"]).shape == (3, 2)


def unavailable(protocol: str, chosen: dict[str, str], model: Any) -> str:
    """Why a protocol cannot ask a model."""
    asked = get_protocol(protocol)
    nowhere: Any = None
    return asked.unavailable(Context(nowhere, model, nowhere, (), "", asked.defaults() | chosen))


@pytest.mark.parametrize(
    ("protocol", "chosen", "needs"),
    [
        ("posterior", {}, True),
        ("species", {}, True),
        ("flat_list", {}, True),
        ("closed_world", {"answer": "constrained"}, True),
        ("closed_world_plus", {"answer": "constrained"}, True),
        ("closed_world", {"answer": "name"}, False),
        ("mcq", {}, False),
        ("free_form", {"extraction": "choice"}, False),
    ],
)
def test_only_cases_that_need_scores_are_not_asked(
    tiny_chat: Tiny, protocol: str, chosen: dict[str, str], needs: bool
) -> None:
    found = unavailable(protocol, chosen, ours(tiny_chat("gemma3")))
    assert found.startswith(UNSCORED["gemma3"]) if needs else found == ""
    assert unavailable(protocol, chosen, ours(tiny_chat("fast_vlm"))) == ""


@pytest.mark.parametrize("family", ["phi4_multimodal", "no_such_family"])
def test_a_family_that_transformers_does_not_load_has_the_right_remedy(
    tiny_chat: Tiny, tmp_path: Path, family: str
) -> None:
    folder = Path(copytree(tiny_chat("fast_vlm"), tmp_path / "other"))
    told = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(told | {"model_type": family}))
    with pytest.raises(ModelError, match=rf"has the model_type '{family}', which transformers .* Use vllm\[…\]"):
        generate_all(ours(folder), ASKED, 1)


@PALIGEMMA
def test_without_a_chat_template_the_sentence_says_how_to_write_one(tiny_chat: Tiny, tmp_path: Path) -> None:
    folder = Path(copytree(tiny_chat("paligemma"), tmp_path / "mute"))
    (folder / "chat_template.jinja").unlink()
    with pytest.raises(ModelError, match=r"mute has no chat template.*into chat_template\.jinja") as caught:
        generate_all(ours(folder), ASKED, 1)
    (folder / "chat_template.jinja").write_text(str(caught.value).partition("it is: ")[2])
    assert [answer.error for answer in generate_all(ours(folder), ASKED, 1)] == [""] * 3
