"""Options of `hf[…]`: each one reaches transformers, is in the identity, and is refused in a sentence."""

import dataclasses
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from eyechart.errors import EyechartError, ModelError, SpecError
from eyechart.models.hf.generator import HfGenerator
from eyechart.models.options import names_of
from eyechart.models.spec import parse_spec
from eyechart.models.types import Request
from tests.models.hf.tiny_generator import BIG, ours, tokens

pytestmark = pytest.mark.deep

Tiny = Callable[[str], Path]


@pytest.fixture(scope="session")
def adapter(tiny_chat: Tiny, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Save a LoRA adapter of the tiny checkpoint, with weights that change its answers."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForImageTextToText

    torch.manual_seed(1)
    model = AutoModelForImageTextToText.from_pretrained(tiny_chat("qwen3_vl"))
    config = LoraConfig(r=4, target_modules=["q_proj", "down_proj"], init_lora_weights=False)
    folder = tmp_path_factory.mktemp("adapter")
    adapted = get_peft_model(model, config)
    for name, value in adapted.named_parameters():
        if "lora_" in name:
            value.data.mul_(20)
    adapted.save_pretrained(folder)
    return folder


def test_the_implementation_of_attention(tiny_chat: Tiny, questions: list[Request]) -> None:
    model, plain = ours(tiny_chat("qwen3_vl"), "attn_implementation=eager"), ours(tiny_chat("qwen3_vl"))
    assert tokens(model, questions[:4]) == tokens(plain, questions[:4])
    assert model._module.config._attn_implementation == "eager"
    assert model.identity != plain.identity
    assert model.scoring_obstacle == ""
    assert model.score(questions[:1], ["cat", "dog"]) == pytest.approx(
        plain.score(questions[:1], ["cat", "dog"]), abs=1e-4
    )


def test_flash_attention_that_is_not_installed_is_a_sentence(tiny_chat: Tiny) -> None:
    model = ours(tiny_chat("qwen3_vl"), "attn_implementation=flash_attention_2")
    assert model.scoring_obstacle.startswith("flash_attention_2 cannot score a tree of answers")
    with pytest.raises(ModelError, match=r"transformers cannot load .* so: .*[Ff]lash"):
        tokens(model)


@pytest.mark.parametrize(
    "more", ["max_pixels=1024", "min_pixels=65536,max_pixels=65536", "mm_processor_kwargs.max_pixels=1024"]
)
def test_the_sizes_of_images_change_the_prompt(tiny_chat: Tiny, more: str) -> None:
    plain, model = ours(tiny_chat("qwen3_vl")), ours(tiny_chat("qwen3_vl"), *more.split(","))
    lengths = [int(one._chat.prepare_inputs(BIG[0])["input_ids"].shape[1]) for one in (plain, model)]
    assert lengths[0] != lengths[1]
    assert plain.identity != model.identity
    assert tokens(model)[0]


def test_a_setting_that_the_image_processor_lacks_is_refused(tiny_chat: Tiny) -> None:
    with pytest.raises(SpecError, match=r"has no setting 'max_pixel'; did you mean .*max_pixels.* It has .*do_resize"):
        _ = ours(tiny_chat("qwen3_vl"), "mm_processor_kwargs.max_pixel=9")._chat.image_kwargs


def test_a_device_map_gives_the_same_answers(tiny_chat: Tiny, questions: list[Request]) -> None:
    model = ours(tiny_chat("qwen3_vl"), "device_map=auto")
    assert tokens(model, questions[:4]) == tokens(ours(tiny_chat("qwen3_vl")), questions[:4])


def test_a_model_is_compiled_if_asked(tiny_chat: Tiny) -> None:
    plain, model = ours(tiny_chat("llava")), ours(tiny_chat("llava"), "compile=eager")
    assert [one._module._compiled_call_impl is not None for one in (plain, model)] == [False, True]
    assert model.identity != plain.identity


def test_an_adapter_is_merged_and_changes_answers(tiny_chat: Tiny, adapter: Path, tmp_path: Path) -> None:
    plain, model = ours(tiny_chat("qwen3_vl")), ours(tiny_chat("qwen3_vl"), f"adapter={adapter}")
    assert tokens(model) != tokens(plain)
    assert model.scoring_obstacle == ""
    assert model.score(BIG, ["cat", "dog"]).shape == (1, 2)
    assert model.identity != plain.identity
    other = Path(copytree(adapter, tmp_path / "other"))
    settings = json.loads((other / "adapter_config.json").read_text())
    (other / "adapter_config.json").write_text(json.dumps(settings | {"lora_alpha": 99}))
    assert ours(tiny_chat("qwen3_vl"), f"adapter={other}").identity != model.identity
    with pytest.raises(ModelError, match=r"has no adapter_config\.json"):
        _ = ours(tiny_chat("qwen3_vl"), f"adapter={tmp_path}").identity


@pytest.mark.parametrize(
    ("option", "package", "command"),
    [
        ("quantization=bitsandbytes_4bit", "bitsandbytes", "pip install bitsandbytes"),
        ("quantization=torchao_int8", "torchao", "pip install torchao"),
        ("adapter=somewhere", "peft", "pip install 'eyechart[adapters]'"),
        ("device_map=auto", "accelerate", "pip install accelerate"),
    ],
)
def test_a_package_that_is_missing_is_named(
    monkeypatch: pytest.MonkeyPatch, option: str, package: str, command: str
) -> None:
    monkeypatch.setattr("eyechart.models.hf.loading.find_spec", lambda name: None if name == package else object())
    with pytest.raises(ModelError) as raised:
        HfGenerator(parse_spec(f"hf[toybox-mllm,{option}]"))
    assert f"{option} needs the package {package}, which is not installed" in str(raised.value)
    assert str(raised.value).endswith(command)


OWN_CODE = """
from transformers import FastVlmConfig, FastVlmForConditionalGeneration


class OwnConfig(FastVlmConfig):
    model_type = "own_vlm"


class OwnModel(FastVlmForConditionalGeneration):
    config_class = OwnConfig
"""


@pytest.fixture
def remote(tiny_chat: Tiny, tmp_path: Path) -> Path:
    """A checkpoint with Python code of its own."""
    folder = Path(copytree(tiny_chat("fast_vlm"), tmp_path / "remote"))
    (folder / "own.py").write_text(OWN_CODE)
    config = json.loads((folder / "config.json").read_text())
    targets = {"AutoConfig": "own.OwnConfig", "AutoModelForImageTextToText": "own.OwnModel"}
    (folder / "config.json").write_text(json.dumps(config | {"model_type": "own_vlm", "auto_map": targets}))
    return folder


def test_code_of_a_model_is_run_only_if_it_is_written(
    tiny_chat: Tiny, remote: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "modules"))
    with pytest.raises(ModelError, match=r"brings Python code of its own .* write trust_remote_code=true"):
        tokens(ours(remote))
    model = ours(remote, "trust_remote_code=true")
    assert tokens(model) == tokens(ours(tiny_chat("fast_vlm")))
    assert type(model._module).__name__ == "OwnModel"
    before = model.identity
    (remote / "own.py").write_text(OWN_CODE + "\n# changed\n")
    assert ours(remote, "trust_remote_code=true").identity != before


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        ("attn_implementation=flsh", "has attn_implementation=flsh. Expected one of eager, sdpa"),
        ("quantization=int8", "has quantization=int8. Expected one of bitsandbytes_8bit"),
        ("device_map=gpu", "has device_map=gpu. Expected one of auto, balanced"),
        ("max_pixels=0", "has max_pixels=0. Expected a whole number of at least 1."),
        ("trust_remote_code=yes", "has trust_remote_code=yes. Expected true or false."),
        (
            "quantisation=torchao_int8",
            "has the option 'quantisation', which hf does not know; did you mean quantization",
        ),
        ("chat_template_kwargs.a=1,chat_template_kwargs.a.b=1", "both a value and parts"),
    ],
)
def test_wrong_values_are_sentences(option: str, sentence: str) -> None:
    with pytest.raises(EyechartError) as raised:
        HfGenerator(parse_spec(f"hf[toybox-mllm,{option}]"))
    assert sentence in str(raised.value)


@cache
def identity_of(option: str) -> str:
    return str(HfGenerator(parse_spec(f"hf[toybox-mllm{option and f',{option}'}]")).identity)


def test_every_option_that_changes_answers_is_in_the_identity(adapter: Path) -> None:
    changed: dict[str, Any] = {
        "dtype": "bfloat16",
        "thinking": "on",
        "thinking_budget": "0",
        "chat_template_kwargs.KEY": "true",
        "system_prompt": "be short",
        "attn_implementation": "eager",
        "device_map": "auto",
        "adapter": str(adapter),
        "compile": "eager",
        "trust_remote_code": "true",
        "min_pixels": "1",
        "max_pixels": "9",
        "mm_processor_kwargs.KEY": "1",
    }
    same = {"batch_size": "2"}  # part of keys by itself, where it matters
    refused = {"quantization"}  # without its package, which the tests do not install: it writes on stderr when imported
    assert {*changed, *same, *refused} == {*names_of(HfGenerator.declared_options)}
    identities = [identity_of(f"{name}={value}") for name, value in changed.items()]
    assert len({*identities, identity_of("")}) == len(changed) + 1
    assert identity_of("batch_size=2") == identity_of("")


def test_quantisation_is_in_the_identity_of_loaded_weights(tmp_path: Path) -> None:
    plain = HfGenerator(parse_spec("hf[toybox-mllm]")).load_settings
    quantised = dataclasses.replace(plain, quantization="torchao_int8")
    assert quantised.identity(tmp_path)["quantization"] == "torchao_int8"
    assert "quantization" not in plain.identity(tmp_path)


def test_a_revision_is_part_of_a_name_on_the_hub(tiny_chat: Tiny, empty_hub: Path) -> None:
    first, second = "a" * 40, "b" * 40
    repository = empty_hub / "models--owner--name"
    for commit, family in ((first, "fast_vlm"), (second, "qwen3_vl")):
        copytree(tiny_chat(family), repository / "snapshots" / commit)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(first)
    named = {name: HfGenerator(parse_spec(f"hf[owner/{name}]"), offline=True) for name in ("name", f"name@{second}")}
    plain, other = (model.identity for model in named.values())
    assert (plain.revision, other.revision) == (first, second)
    assert plain.weights_sha256 != other.weights_sha256
    assert tokens(named[f"name@{second}"]) == tokens(ours(tiny_chat("qwen3_vl")))
