"""The files of an open_clip specification: architecture, weights, preprocessing and tokenizer."""

import json
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from eyechart.errors import ModelError, SpecError
from eyechart.messages.suggestions import did_you_mean
from eyechart.models.backend_suggestions import near_or_absent
from eyechart.models.runtime.torchvision_repair import repair
from eyechart.models.spec import PACKAGED_MODELS, ModelSpec, is_path, packaged_folder
from eyechart.models.weights import hub_files, weight_source

FROM_TAG = ("mean", "std", "interpolation", "resize_mode")
PACKAGED_TEMPLATES = "7"  # the packaged model's templates
HUB = ("*.json", "*.txt", "*.model", "open_clip_*.safetensors")


@dataclass(frozen=True)
class Checkpoint:
    """Everything that defines a model; `name` is open_clip's name of the architecture, `repo` the hub repository."""

    name: str
    config: Mapping[str, Any]
    preprocessing: Mapping[str, Any]
    source: weight_source.WeightSource
    quick_gelu: bool
    folder: Path | None = None
    repo: str = ""

    @property
    def display_name(self) -> str:
        """The last part of the name; a folder in the hub's cache would otherwise be named by a commit."""
        return (self.repo or self.name).rpartition("/")[2]

    @property
    def config_sha256(self) -> str:
        """The sha256 of the architecture; local folders may change it under one name."""
        return sha256(json.dumps(self.config, sort_keys=True).encode()).hexdigest()


def find_checkpoint(spec: ModelSpec, *, offline: bool) -> Checkpoint:
    """Return the checkpoint that a specification names; raise ModelError with the remedy if it is missing."""
    repair()
    from open_clip.factory import parse_model_name

    if folder := packaged_checkpoint(spec):
        return _from_folder(weight_source.WeightSource(folder))
    schema, name = parse_model_name(spec.arguments[0]) if spec.arguments else (None, "")
    if schema == "local-dir":
        return _from_folder(weight_source.find_local(name))
    if schema == "hf-hub":
        return replace(_from_folder(_hub_checkpoint(name, offline)), repo=name)
    name, pretrained = parse_architecture(spec)
    return _from_file(name, pretrained) if is_path(pretrained) else _from_tag(spec, name, pretrained, offline)


def packaged_checkpoint(spec: ModelSpec) -> Path | None:
    """Return the folder of a packaged model, which is given by its name alone."""
    return packaged_folder(spec) if "pretrained" not in spec.options else None


def parse_architecture(spec: ModelSpec) -> tuple[str, str]:
    """Return architecture and weights; also reads `ViT-B/32` and Mill's `ViT-B-32/laion2b_s34b_b79k`."""
    from open_clip import list_models, list_pretrained_tags_by_model

    name_in_spec, pretrained, known = "".join(spec.arguments), spec.options.get("pretrained", ""), list_models()
    name = name_in_spec.replace("/", "-")
    if name not in known and not pretrained:
        head, _, pretrained = name_in_spec.rpartition("/")
        name = head.replace("/", "-")
    if name not in known:
        near = did_you_mean(name_in_spec, [*known, *PACKAGED_MODELS["open_clip"]])
        near = near_or_absent(name_in_spec, near)
        raise SpecError(f"'{spec}' names '{name_in_spec}', which open_clip does not have{near}")
    if not pretrained:
        tags = ", ".join(list_pretrained_tags_by_model(name)) or "none"
        raise ModelError(f"'{spec}' names no weights. Add pretrained=PATH or pretrained=TAG; {name} has: {tags}.")
    return name, pretrained


def _from_tag(spec: ModelSpec, name: str, tag: str, offline: bool) -> Checkpoint:
    from open_clip import get_model_config, list_pretrained_tags_by_model
    from open_clip.pretrained import get_pretrained_cfg

    listed = get_pretrained_cfg(name, tag)
    if not listed:
        tags = list_pretrained_tags_by_model(name)
        near = did_you_mean(tag, tags)
        raise SpecError(f"'{spec}': {name} has no weights '{tag}'{near} It has: {', '.join(tags) or 'none'}.")
    repo, _, file = listed["hf_hub"].rpartition("/")
    source = weight_source.hub_file(repo, _alternatives(file or "open_clip_pytorch_model.bin"), offline=offline)
    # the tag knows how its weights were trained; open_clip itself only warns of a mismatch
    quick = bool(listed.get("quick_gelu")) or tag == "openai"
    config = get_model_config(name)
    return Checkpoint(name, config, _preprocessing(config, listed), source, quick or bool(config.get("quick_gelu")))


def _alternatives(file: str) -> list[str]:
    safe = "open_clip_model.safetensors" if file == "open_clip_pytorch_model.bin" else f"{Path(file).stem}.safetensors"
    return list(dict.fromkeys([safe, file]))


def _from_file(name: str, path: str) -> Checkpoint:
    from open_clip import get_model_config

    config = get_model_config(name)
    quick = bool(config.get("quick_gelu"))
    return Checkpoint(name, config, _preprocessing(config, _agreed(name)), weight_source.find_local(path), quick)


def gelu_note(spec: ModelSpec) -> str:
    """Return a note if weights of a file may have been trained with another GELU than the architecture has, else ""."""
    from open_clip import get_model_config, list_models

    if spec.backend != "open_clip" or packaged_checkpoint(spec) or not spec.arguments or ":" in spec.arguments[0]:
        return ""  # a model in memory has its GELU already
    name, pretrained = parse_architecture(spec)
    quick = f"{name}-quickgelu"
    if not is_path(pretrained) or get_model_config(name).get("quick_gelu") or quick not in list_models():
        return ""
    return (
        f"{Path(pretrained).name} is read with GELU, as {name} has it, since a file does not say. For weights that "
        f"were trained with quick GELU, such as those of OpenAI, MetaCLIP and DFN, name open_clip[{quick},…]."
    )


def _agreed(name: str) -> dict[str, Any]:
    """Return the preprocessing that all listed weights of an architecture share; a weight file has none of its own."""
    from open_clip import list_pretrained_tags_by_model
    from open_clip.pretrained import get_pretrained_cfg

    every = [get_pretrained_cfg(name, tag) for tag in list_pretrained_tags_by_model(name)]
    return {key: every[0][key] for key in FROM_TAG if every and len({str(listed.get(key)) for listed in every}) == 1}


def _from_folder(source: weight_source.WeightSource) -> Checkpoint:
    from open_clip.factory import _find_checkpoint_in_dir

    path = source.path / "open_clip_config.json"
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
        config, preprocessing = read["model_cfg"], read.get("preprocess_cfg", {})
    except (OSError, ValueError, KeyError) as error:
        raise ModelError(
            f"{path} cannot be read as an open_clip configuration ({error!r}). Save the model again."
        ) from error
    file = _find_checkpoint_in_dir(source.path)
    if not file:
        raise ModelError(f"The folder {source.path} holds no weights beside its open_clip_config.json.")
    where = weight_source.WeightSource(Path(file), source.revision)
    quick, full = bool(config.get("quick_gelu")), f"local-dir:{source.path}"
    return Checkpoint(full, config, _preprocessing(config, preprocessing), where, quick, source.path)


def _hub_checkpoint(repo: str, offline: bool) -> weight_source.WeightSource:
    source = weight_source.hub_folder(repo, HUB, offline=offline)
    if not offline and not [*source.path.glob("open_clip_*.safetensors")]:
        source = weight_source.hub_folder(repo, (*HUB, "open_clip_*.bin"), offline=offline)
    return source


def _preprocessing(config: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    from open_clip.transform import PreprocessCfg, merge_preprocess_dict

    merged: dict[str, Any] = merge_preprocess_dict(asdict(PreprocessCfg()), dict(settings))
    size = config["vision_cfg"].get("image_size", 224)
    return merged | {"size": (size, size) if isinstance(size, int) else tuple(size)}


def load_model(checkpoint: Checkpoint, *, offline: bool) -> Any:
    """Return the model with its weights, in float32 on the processor."""
    import open_clip

    changes = {"text_cfg": _local_text(checkpoint.config["text_cfg"], offline)}
    pretrained = None if checkpoint.folder else str(checkpoint.source.path)
    preprocessing = {key: checkpoint.preprocessing[key] for key in FROM_TAG}
    with weight_source.explain_load_errors(checkpoint.source.path, checkpoint.name):
        return open_clip.create_model(
            checkpoint.name,
            pretrained=pretrained,
            force_quick_gelu=checkpoint.quick_gelu,
            force_preprocess_cfg=preprocessing,
            require_pretrained=True,
            weights_only=True,
            **changes,
        )


def _local_text(config: Mapping[str, Any], offline: bool) -> dict[str, Any]:
    """Return a configuration whose transformers text tower is on this machine; the checkpoint has its weights."""
    local = deepcopy(dict(config))
    if name := local.get("hf_model_name"):
        local |= {"hf_model_name": str(_hf_folder(name, offline)), "hf_model_pretrained": False}
    return local


def _hf_folder(name: str, offline: bool) -> Path:
    return weight_source.hub_folder(name, hub_files.CONFIGURATION, offline=offline).path


def load_tokenizer(checkpoint: Checkpoint, *, offline: bool) -> Any:
    """Return the tokenizer; its files are in the checkpoint's folder or the hub cache."""
    import open_clip
    from open_clip.tokenizer import HFTokenizer

    text = checkpoint.config["text_cfg"]
    if not (folder := tokenizer_folder(checkpoint, offline=offline)):
        return open_clip.get_tokenizer(checkpoint.name)
    hub_files.load_processor("AutoTokenizer", folder)
    length = text.get("context_length", 77)
    mode, more = text.get("tokenizer_mode"), text.get("tokenizer_kwargs", {})
    return HFTokenizer(str(folder), context_length=length, tokenizer_mode=mode, **more)


def tokenizer_folder(checkpoint: Checkpoint, *, offline: bool) -> Path | None:
    """Return the folder of a transformers tokenizer; None for open_clip's own tokenizer."""
    name = checkpoint.config["text_cfg"].get("hf_tokenizer_name")
    return None if not name else checkpoint.folder or _hf_folder(name, offline)
