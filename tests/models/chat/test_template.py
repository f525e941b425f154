"""Requests in the chat template of a checkpoint: its system prompt, and whether the model thinks."""

from collections.abc import Callable
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from eyechart.errors import ModelError, SpecError
from eyechart.models.chat.conversation import ChatProcessor
from eyechart.models.chat.template import ChatOptions, ChatSettings, ChatTemplate
from eyechart.models.hf.generator import HfGenerator
from eyechart.models.spec import ModelSpec, parse_spec
from eyechart.samples.files import packaged
from tests.models.hf.tiny_generator import BIG, ours, tokens

pytestmark = pytest.mark.deep
Tiny = Callable[[str], Path]


def prompt(spec: ModelSpec) -> str:
    settings = ChatSettings.from_options(ChatOptions.read(spec), spec)
    return ChatProcessor(Path(spec.arguments[0]), settings).render_prompt(BIG[0])


def test_the_system_prompt_comes_first(tiny_chat: Tiny, tmp_path: Path) -> None:
    file = tmp_path / "system.txt"
    file.write_text("look, and say one word.\n")
    folder = tiny_chat("qwen3_vl")
    plain, short, long = ours(folder), ours(folder, "system_prompt=be short"), ours(folder, f"system_prompt={file}")
    shown = [prompt(model.spec) for model in (plain, short, long)]
    assert shown[1].endswith(shown[0])
    assert "be short" in shown[1].removesuffix(shown[0])
    assert "look, and say one word.<" in shown[2].removesuffix(shown[0])
    assert len({str(model.identity) for model in (plain, short, long)}) == 3
    assert tokens(short) != tokens(plain)
    with pytest.raises(SpecError, match=r"system_prompt=.*none\.txt cannot be read"):
        ours(folder, f"system_prompt={tmp_path / 'none.txt'}")


def test_a_chat_template_without_a_system_prompt_refuses_it_in_a_sentence(tiny_chat: Tiny, tmp_path: Path) -> None:
    folder = Path(copytree(tiny_chat("qwen3_vl"), tmp_path / "no_system"))
    template = folder / "chat_template.jinja"
    refusal = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
    template.write_text(refusal + template.read_text())
    assert tokens(ours(folder)) == tokens(ours(tiny_chat("qwen3_vl")))
    with pytest.raises(ModelError, match=r"refuses a prompt: no system role\. Leave out system_prompt\."):
        tokens(ours(folder, "system_prompt=be short"))


def test_a_template_without_a_switch_can_only_be_said_to_think(opened: Path) -> None:
    assert not HfGenerator(parse_spec("hf[toybox-mllm]")).thinks
    assert not ChatTemplate(packaged("toybox-mllm"), ChatSettings(), pytest.fail).thinks  # no file of it has the word
    assert HfGenerator(parse_spec("hf[toybox-mllm,thinking=on]")).thinks
    with pytest.raises(ModelError, match=r"thinking=off has no effect: the chat template in .* has none of the variab"):
        _ = ours(opened, "thinking=off").thinks


def test_wrong_values_are_sentences(thinking_chat: Path) -> None:
    with pytest.raises(SpecError, match=r"has thinking=of\. Expected on or off; did you mean off"):
        ours(thinking_chat, "thinking=of")
    with pytest.raises(ModelError, match=r"chat_template_kwargs\.enable_thinkin_ has no effect"):
        _ = ours(thinking_chat, "chat_template_kwargs.enable_thinkin_=1").thinks


def test_the_settings_are_in_the_identity_and_the_defaults_are_not(thinking_chat: Path) -> None:
    settings = ((), ("thinking=on",), ("thinking=off",), ("chat_template_kwargs.enable_thinking=false",))
    identities = [ours(thinking_chat, *options).identity for options in settings]
    assert all(one != other for index, one in enumerate(identities) for other in identities[:index])
    assert {*identities[0].processor} == {"files_sha256"}
    assert {replace_processor(identity) for identity in identities} == {replace_processor(identities[0])}


def replace_processor(identity: Any) -> str:
    return str({field: getattr(identity, field) for field in identity.__struct_fields__ if field != "processor"})
