"""Families that hf cannot score, or not load: their configuration says so, before any weights are read."""

import json
from collections.abc import Callable
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from PIL import Image

from eyechart.errors import ModelError
from eyechart.models.generation import generate_all
from eyechart.models.hf import trie_pass, trie_scoring
from eyechart.models.hf.generator import HfGenerator
from eyechart.models.spec import parse_spec
from eyechart.models.types import Request
from eyechart.protocol.context import Context
from eyechart.protocol.registry import get_protocol

Tiny = Callable[[str], Path]
REQUESTS = [Request((Image.new("RGB", (40 + 9 * index, 60), "red"), f"what is thing {index}?")) for index in range(3)]
BLOCKS = "diffusion_gemma writes blocks of tokens at once: a choice has no log-probability. Use another model."


def ours(folder: Path) -> HfGenerator:
    return HfGenerator(parse_spec(f"hf[{folder}]"), offline=True)


def with_family(folder: Path, target: Path, family: str) -> Path:
    """A checkpoint whose configuration names another family."""
    copytree(folder, target)
    (target / "config.json").write_text(json.dumps({"model_type": family}))
    return target


@pytest.fixture
def unscored(tiny_chat: Tiny, tmp_path: Path) -> HfGenerator:
    """A model that does not write one token after another."""
    return ours(with_family(tiny_chat("fast_vlm"), tmp_path / "other", "diffusion_gemma"))


def test_a_family_that_cannot_be_scored_says_why_without_its_weights(unscored: HfGenerator) -> None:
    assert unscored.scoring_obstacle == BLOCKS
    with pytest.raises(ModelError, match=BLOCKS):
        unscored.score(REQUESTS, ["cat", "dog"])
    assert unscored.loads == 0


def unavailable(protocol: str, options: dict[str, str], model: Any) -> str:
    """Why a protocol cannot ask a model."""
    asked = get_protocol(protocol)
    nothing: Any = None
    return asked.unavailable(Context(nothing, model, nothing, (), "", asked.defaults() | options))


@pytest.mark.parametrize(
    ("protocol", "options", "needs"),
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
    tiny_chat: Tiny, unscored: HfGenerator, protocol: str, options: dict[str, str], needs: bool
) -> None:
    assert unavailable(protocol, options, unscored) == (BLOCKS if needs else "")
    assert unavailable(protocol, options, ours(tiny_chat("gemma3"))) == ""


@pytest.mark.parametrize("family", ["phi3", "no_such_family"])
def test_a_family_that_transformers_does_not_load_has_the_right_remedy(
    tiny_chat: Tiny, tmp_path: Path, family: str
) -> None:
    folder = with_family(tiny_chat("fast_vlm"), tmp_path / "other", family)
    with pytest.raises(ModelError, match=rf"has the model_type '{family}', which transformers .* Use vllm\[…\]"):
        generate_all(ours(folder), REQUESTS, 1)


def test_a_model_that_looks_back_in_its_own_way_is_scored_step_by_step(
    tiny_chat: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = ours(tiny_chat("exaone4_5")).score(REQUESTS, ["cat food", "dog"])
    module = ours(tiny_chat("exaone4_5"))._module
    monkeypatch.setattr(trie_pass, "is_exact", lambda *_: True)  # it counts positions by itself, which nobody saw
    model = ours(tiny_chat("exaone4_5"))
    assert model._module is not module
    assert model.score(REQUESTS, ["cat food", "dog"]) == pytest.approx(expected, abs=1e-5)
    assert list(trie_scoring._agreement.values()).count(False) == 1


def test_without_a_chat_template_the_sentence_says_how_to_write_one(tiny_chat: Tiny, tmp_path: Path) -> None:
    folder = Path(copytree(tiny_chat("llava"), tmp_path / "mute"))
    (folder / "chat_template.jinja").unlink()
    with pytest.raises(ModelError, match=r"mute has no chat template.*into chat_template\.jinja") as caught:
        generate_all(ours(folder), REQUESTS, 1)
    (folder / "chat_template.jinja").write_text(str(caught.value).partition("it is: ")[2])
    assert [answer.error for answer in generate_all(ours(folder), REQUESTS, 1)] == [""] * 3
