"""Checkpoints without a chat template are asked in the form of their family, which is part of the model's identity."""

from collections.abc import Callable
from pathlib import Path
from shutil import copytree

import pytest
from PIL import Image

from eyechart.models.chat import conversation
from eyechart.models.generation import generate_all
from eyechart.models.hf.generator import HfGenerator
from eyechart.models.runtime.torchvision_repair import repair
from eyechart.models.spec import parse_spec
from eyechart.models.types import Request

pytestmark = [
    pytest.mark.deep,
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),  # of PaliGemma's processor
]
Tiny = Callable[[str], Path]
IMAGE = Image.new("RGB", (48, 48), "red")
PROMPTS = {
    "paligemma": "<image>answer en what?",
    "blip_2": "Question: what? Answer:",
    "instructblip": "what?",
    "chameleon": "what?<image>",
    "florence2": "what?",
}


@pytest.fixture
def bare(tiny_chat: Tiny, tmp_path: Path) -> Callable[[str], Path]:
    """A copy of a checkpoint without a chat template."""

    def copy(family: str) -> Path:
        folder = Path(copytree(tiny_chat(family), tmp_path / family))
        (folder / "chat_template.jinja").unlink(missing_ok=True)
        return folder

    return copy


def test_every_form_is_of_a_family_of_transformers_and_has_a_source() -> None:
    repair()  # before transformers is imported
    import transformers

    assert {*conversation._read_forms()} <= {*transformers.CONFIG_MAPPING}
    assert {name.replace("-", "_") for name in conversation._read_forms()} == {*PROMPTS}


@pytest.mark.parametrize("family", PROMPTS)
def test_a_request_is_written_in_the_form_of_its_family(bare: Callable[[str], Path], family: str) -> None:
    model = HfGenerator(parse_spec(f"hf[{bare(family)}]"), offline=True)
    request = Request(("what?", IMAGE))
    assert model._chat.render_prompt(request) == PROMPTS[family]
    assert [answer.error for answer in generate_all(model, [request], 3)] == [""]
    assert model.identity.processor["prompt_form"] == conversation._read_forms()[family.replace("blip_2", "blip-2")]


@pytest.mark.parametrize("family", ["paligemma", "blip_2"])
def test_a_template_of_the_checkpoint_takes_precedence(bare: Callable[[str], Path], family: str) -> None:
    folder = bare(family)
    (folder / "chat_template.jinja").write_text(conversation.PLAIN_TEMPLATE)
    model = HfGenerator(parse_spec(f"hf[{folder}]"), offline=True)
    assert model._chat.render_prompt(Request((IMAGE, "what?"))) == "<image>what?"
    assert "prompt_form" not in model.identity.processor


def test_another_form_is_another_model(bare: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    folder = bare("paligemma")
    before, other = (HfGenerator(parse_spec(f"hf[{folder}]"), offline=True) for _ in range(2))
    _ = before.identity
    monkeypatch.setattr(conversation, "_read_forms", lambda: {"paligemma": "<image>describe en"})
    assert before.identity != other.identity
