"""Files that transformers reads from a folder: which of them are weights, which are in the key, and what is wrong."""

import json
from pathlib import Path
from typing import Any

import pytest

from eyechart.errors import ModelError
from eyechart.models.weights import hub_files
from eyechart.models.weights.weight_source import WeightSource


def write(path: Path, content: Any) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def test_weights_are_safetensors_if_there_are_any(tmp_path: Path) -> None:
    files = [write(tmp_path / name, "") for name in ("b.bin", "a.bin", "model-2.safetensors", "model-1.safetensors")]
    assert hub_files.find_folder(str(tmp_path), offline=True) == WeightSource(tmp_path)
    assert hub_files.weight_files(tmp_path) == files[:1:-1]
    for path in files[2:]:
        path.unlink()
    assert hub_files.weight_files(tmp_path) == files[1::-1]
    for path in files[:2]:
        path.unlink()
    assert hub_files.weight_files(tmp_path, check=False) == []
    with pytest.raises(ModelError, match=r"holds no weights \(\*\.safetensors or \*\.bin\)\. Fetch the model again\.$"):
        hub_files.find_folder(str(tmp_path), offline=True)


def test_the_files_of_the_processor_are_in_the_digest_and_others_are_not(tmp_path: Path) -> None:
    digests = [hub_files.processor_files_sha256(write(tmp_path / "config.json", {}).parent)]
    for name in ("tokenizer.json", "merges.txt", "spiece.model", "chat_template.jinja"):
        digests.append(hub_files.processor_files_sha256(write(tmp_path / name, "a").parent))
        digests.append(hub_files.processor_files_sha256(write(tmp_path / name, "b").parent))
    assert len({*digests}) == 9
    for name in ("model.safetensors", "model.safetensors.index.json", "README.md", "own.py"):
        write(tmp_path / name, "a")
    assert hub_files.processor_files_sha256(tmp_path) == digests[-1]


def test_settings_are_read_by_name(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    assert (hub_files.read_settings(path), hub_files.read_json(path, ["none"])) == ({}, ["none"])
    assert hub_files.read_settings(write(path, {"é": 1})) == {"é": 1}
    with pytest.raises(ModelError, match=r"config\.json holds no settings by name\. Fetch the model again\.$"):
        hub_files.read_settings(write(path, []))
    with pytest.raises(
        ModelError, match=r"config\.json cannot be read as JSON \(Expecting .*\)\. Fetch the model again"
    ):
        hub_files.read_settings(write(path, "{"))


def test_a_checkpoint_is_loaded_by_the_class_that_its_own_code_names_or_by_the_last(tmp_path: Path) -> None:
    kinds = ("AutoModelForImageTextToText", "AutoModelForCausalLM", "AutoModel")
    assert hub_files.find_auto_class(tmp_path, kinds) == "AutoModel"
    write(tmp_path / "config.json", {"auto_map": {"AutoConfig": "own.Config", "AutoModelForCausalLM": "own.Model"}})
    assert hub_files.find_auto_class(tmp_path, kinds) == "AutoModelForCausalLM"


@pytest.mark.deep
@pytest.mark.parametrize("family", ["unheard_of", "bert"])
def test_a_family_that_transformers_or_its_class_does_not_know_is_refused(tmp_path: Path, family: str) -> None:
    write(tmp_path / "config.json", {"model_type": family})
    said = (
        rf"config\.json has the model_type '{family}', which transformers [\d.]+ does not load as AutoModelForImageTe"
    )
    with pytest.raises(ModelError, match=said):
        hub_files.load_config(tmp_path, "AutoModelForImageTextToText")
    if family == "bert":
        assert hub_files.load_config(tmp_path, "AutoModel").model_type == "bert"


@pytest.mark.deep
def test_transformers_reports_again_after_it_was_silenced() -> None:
    from transformers.utils import logging

    def state() -> tuple[int, bool]:
        return logging.get_verbosity(), logging.is_progress_bar_enabled()

    def fail() -> None:
        seen.append(state())
        raise RuntimeError

    seen, before = [], state()
    try:
        logging.set_verbosity_info()
        logging.enable_progress_bar()
        with pytest.raises(RuntimeError), hub_files.quiet_loading():
            fail()
        assert [*seen, state()] == [(logging.ERROR, False), (logging.INFO, True)]
    finally:
        logging.set_verbosity(before[0])
        (logging.enable_progress_bar if before[1] else logging.disable_progress_bar)()
