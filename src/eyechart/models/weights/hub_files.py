"""Files that transformers reads from a folder or the hub cache: weights, tokenizer and processor."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

from eyechart.errors import ModelError
from eyechart.models.runtime.torchvision_repair import repair
from eyechart.models.weights import weight_source

CONFIGURATION = ("*.json", "*.txt", "*.model", "*.jinja")
CODE = ("*.py",)
TENSORS = ("*.safetensors", "*.bin")
VOCABULARIES = ("tokenizer.json", "vocab.txt", "vocab.json", "*.model")


def find_folder(where: str, *, offline: bool, code: bool = False) -> weight_source.WeightSource:
    """Return a model's folder with its weights, as safetensors if there are any, and with `code` its Python files."""
    wanted = (*CONFIGURATION, *CODE) if code else CONFIGURATION
    source = weight_source.hub_folder(where, (*wanted, TENSORS[0]), offline=offline)
    if not offline and not weight_files(source.path, check=False):
        source = weight_source.hub_folder(where, (*wanted, TENSORS[1]), offline=offline)
    weight_files(source.path)
    return source


def weight_files(path: Path, *, check: bool = True) -> list[Path]:
    """Return the weight files of a folder, all in one format."""
    for pattern in TENSORS:
        if files := sorted(path.glob(pattern)):
            return files
    if check:
        raise ModelError(f"The folder {path} holds no weights ({' or '.join(TENSORS)}). Fetch the model again.")
    return []


def processor_files_sha256(path: Path) -> str:
    """Return the sha256 of the files that define how texts and images become numbers."""
    files = [file for pattern in CONFIGURATION for file in path.glob(pattern) if not file.name.endswith(".index.json")]
    return weight_source.digest(*files)


def read_settings(path: Path) -> dict[str, Any]:
    """Return the content of a JSON file of settings; a missing file has none."""
    settings = read_json(path, {})
    if not isinstance(settings, dict):
        raise ModelError(f"{path} holds no settings by name. Fetch the model again.")
    return settings


def read_json(path: Path, otherwise: Any) -> Any:
    """Return the content of a JSON file, or `otherwise` if it does not exist."""
    try:
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else otherwise
    except (OSError, ValueError) as error:
        raise ModelError(f"{path} cannot be read as JSON ({error}). Fetch the model again.") from error


def load_model(
    kind: str,
    path: Path,
    optional: tuple[str, ...] = (),
    dtype: str = "float32",
    how: Mapping[str, Any] = MappingProxyType({}),
) -> Any:
    """Load a transformers class in `dtype`; every weight must be in its files, except optional prefixes.

    `how` are further arguments of from_pretrained. Raises ModelError for a package that they need.
    """
    repair()
    import torch
    import transformers

    how = {"dtype": getattr(torch, dtype), "ignore_mismatched_sizes": True, "local_files_only": True, **how}
    try:
        with weight_source.explain_load_errors(path, kind), quiet_loading():
            loaded, report = getattr(transformers, kind).from_pretrained(path, output_loading_info=True, **how)
    except ImportError as error:
        raise ModelError(f"transformers cannot load {path} so: {' '.join(str(error).split())[:200]}") from error
    missing = [key for key in sorted(report["missing_keys"]) if not key.startswith(optional or "\0")]
    mismatched = [str(key[0]) for key in report["mismatched_keys"]]
    if missing or mismatched:
        raise ModelError(
            f"The weights in {path} do not fit {type(loaded).__name__}: "
            f"missing {weight_source.shorten_list(missing) or 'none'}; "
            f"of another shape {weight_source.shorten_list(mismatched) or 'none'}. "
            "Fetch the model again, or check its config.json."
        )
    return loaded


def load_processor(kind: str, path: Path, **options: Any) -> Any:
    """Load a tokenizer, processor or configuration class."""
    repair()
    import transformers

    if kind == "AutoTokenizer" and not any(file for pattern in VOCABULARIES for file in path.glob(pattern)):
        raise ModelError(  # transformers would make one that knows no words
            f"The folder {path} holds no tokenizer ({', '.join(VOCABULARIES)}). Fetch the model with all its files."
        )
    try:
        return getattr(transformers, kind).from_pretrained(path, local_files_only=True, **options)
    except (OSError, ValueError, KeyError, ImportError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ModelError(
            f"The folder {path} gives no {kind} ({reason}). Fetch the model with all its files."
        ) from error


def find_auto_class(path: Path, kinds: Sequence[str]) -> str:
    """Return which of some Auto classes loads a checkpoint: the one that its own code names, or else the last."""
    own = read_settings(path / "config.json").get("auto_map", {})
    return next((kind for kind in kinds if kind in own), kinds[-1])


def load_config(path: Path, kind: str, *, trust_remote_code: bool = False) -> Any:
    """Return the configuration of a checkpoint of an Auto class, without loading weights.

    Raises ModelError for a family that transformers, or this class of it, does not know, and for one whose code comes
    with the model, unless it is trusted.
    """
    repair()
    import transformers

    if kind in read_settings(path / "config.json").get("auto_map", {}):
        if trust_remote_code:
            return load_processor("AutoConfig", path, trust_remote_code=True)
        raise ModelError(
            f"The model in {path} brings Python code of its own (auto_map in config.json), which is not run. "
            "Read it, and write trust_remote_code=true to run it, or name a model that transformers knows by itself."
        )
    family = str(read_settings(path / "config.json").get("model_type", "none"))
    known = family in transformers.CONFIG_MAPPING
    configuration = load_processor("AutoConfig", path) if known else None
    if configuration is None or type(configuration) not in getattr(transformers, kind)._model_mapping:
        raise ModelError(
            f"{path / 'config.json'} has the model_type '{family}', which transformers {transformers.__version__} does "
            f"not load as {kind}. Use vllm[…] or openai[…] with a server that knows it, or another checkpoint."
        )
    return configuration


@contextmanager
def quiet_loading() -> Iterator[None]:
    """Silence the reports and progress bars of transformers; problems become errors."""
    from transformers.utils import logging

    before, shown = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(before)
        if shown:
            logging.enable_progress_bar()
