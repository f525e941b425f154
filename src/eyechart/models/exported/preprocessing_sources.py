"""Where exporters leave the preprocessing of a graph: its metadata and files, in a fixed order. It is never guessed."""

import ast
import json
from collections.abc import Callable, Mapping
from pathlib import Path

from eyechart.errors import ModelError
from eyechart.files.text_files import read_text
from eyechart.models.exported.preprocessing import (
    Preprocessing,
    Settings,
    from_model_api,
    from_open_clip,
    from_steps,
    from_timm,
    from_transformers,
)

KEY = "eyechart.preprocessing"  # what `eyechart` writes into a file that it exports
LITERT_MEAN, LITERT_STD = "litert mean", "litert std"  # of numbers from 0 to 255, in LiteRT's metadata
_Found = tuple[Callable[[Settings], Preprocessing], Settings]


def find_preprocessing(
    path: Path, given: str, metadata: Mapping[str, str], size: tuple[int, int] | None
) -> Preprocessing:
    """Return the preprocessing of a graph.

    Args:
        path: The file of the graph.
        given: The file that the user names, "" for none.
        metadata: What the graph says about itself.
        size: Height and width of the graph's images, None if they are free.

    Raises:
        ModelError: Neither metadata nor a file says it, or what they say is not supported.
    """
    if given:
        source = Path(given).expanduser()
        if not source.is_file():
            raise ModelError(f"The file preprocessing={given} does not exist, or is a folder. Check the path.")
        return _steps(str(source), _of_user(_read_json(source)))
    if found := _in_metadata(path, metadata, size):
        return _steps(f"the metadata of {path}", found)
    beside = path.with_suffix(".json")
    if beside.is_file():
        return _steps(str(beside), _of_user(_read_json(beside)))
    for folder in (path.parent, path.parent.parent):
        for name, reader in READERS.items():
            if (folder / name).is_file() and (found := reader(_read_json(folder / name))):
                return _steps(str(folder / name), found)
    raise ModelError(
        f"{path} says nothing about its preprocessing: neither its metadata ({KEY}, model_info mean_values, imgsz, "
        "NormalizationOptions) nor "
        f"{', '.join([beside.name, *READERS])} beside it or one folder above. Write like=SPEC, the model that it was "
        "exported from, or preprocessing=FILE.json with input_size, mean, std, interpolation and crop_pct."
    )


def _read_json(path: Path) -> Settings:
    return _parse_json(read_text(path, ModelError), str(path))


def _parse_json(text: str, source: str) -> Settings:
    try:
        read = json.loads(text)
    except ValueError as error:
        raise ModelError(f"{source} is no JSON ({error}). Correct it, or write preprocessing=FILE.") from error
    if not isinstance(read, dict):
        raise ModelError(f"{source} holds no JSON object. Correct it, or write preprocessing=FILE.")
    return read


def _steps(source: str, found: _Found) -> Preprocessing:
    """Return the steps of settings. Raises ModelError that names where they are from."""
    reader, settings = found
    try:
        return reader(settings)
    except KeyError as error:
        raise ModelError(
            f"The preprocessing in {source} has no {error.args[0]}. Add it, or write like=SPEC, the model that the "
            "file was exported from."
        ) from error
    except (ValueError, TypeError, AttributeError, ZeroDivisionError) as error:
        raise ModelError(
            f"The preprocessing in {source} cannot be used ({error}). Write preprocessing=FILE with settings that can."
        ) from error


def _of_user(read: Settings) -> _Found:
    """Return the settings in a file that a user names: of a kind that exporters write, or steps in timm's words."""
    return _from_any(read) or (from_steps, {**read, **_tested(read)})


def _from_any(read: Settings) -> _Found | None:
    return next(filter(None, (reader(read) for reader in READERS.values())), None)


def _of_timm(read: Settings) -> _Found | None:
    """Return the settings in a config.json of timm, at the size that the weights were tested with."""
    if not isinstance(config := read.get("pretrained_cfg"), Mapping):
        return None
    return from_timm, {**config, **_tested(config)}


def _tested(config: Settings) -> Settings:
    """Return the size and the share of a configuration of timm that its weights were tested with, where it says so."""
    tested = {"input_size": config.get("test_input_size"), "crop_pct": config.get("test_crop_pct")}
    return {name: value for name, value in tested.items() if value}


def _of_open_clip(read: Settings) -> _Found | None:
    if "model_cfg" not in read or "preprocess_cfg" not in read:
        return None
    size = read["model_cfg"].get("vision_cfg", {}).get("image_size")
    return from_open_clip, {**({"size": size} if size else {}), **read["preprocess_cfg"]}


def _of_transformers(read: Settings) -> _Found | None:
    """Return the settings of a processor, which transformers 5 keeps beside a tokenizer's; those of timm are timm's."""
    read = read["image_processor"] if isinstance(read.get("image_processor"), Mapping) else read
    known = "image_processor_type" in read or "feature_extractor_type" in read or "image_mean" in read
    return _of_timm(read) or ((from_transformers, read) if known else None)


READERS: Mapping[str, Callable[[Settings], _Found | None]] = {
    "config.json": _of_timm,
    "open_clip_config.json": _of_open_clip,
    "preprocessor_config.json": _of_transformers,
    "processor_config.json": _of_transformers,
}


def _in_metadata(path: Path, metadata: Mapping[str, str], size: tuple[int, int] | None) -> _Found | None:
    """Return the settings in a graph's own metadata: eyechart's, OpenVINO Model API's, LiteRT's or Ultralytics'."""
    if text := metadata.get(KEY):
        return _of_user(_parse_json(text, f"The entry {KEY} of {path}"))
    if "model_info mean_values" in metadata:
        return _of_model_api(path, metadata, size)
    if LITERT_MEAN in metadata and size:
        return _of_litert(metadata, size)
    if metadata.get("task") == "classify" and "imgsz" in metadata:
        height, width = ast.literal_eval(metadata["imgsz"])  # numbers from 0 to 1 without mean and deviation
        plain = {"mean": (0.0, 0.0, 0.0), "std": (1.0, 1.0, 1.0), "interpolation": "bilinear", "crop_pct": 1.0}
        return from_timm, {"input_size": (3, height, width), **plain}
    return None


def _of_litert(metadata: Mapping[str, str], size: tuple[int, int]) -> _Found:
    """Return the settings of LiteRT's metadata, whose schema has images resized as a whole, then normalised."""
    mean, std = (tuple(value / 255 for value in json.loads(metadata[key])) for key in (LITERT_MEAN, LITERT_STD))
    return from_model_api, {"resize_type": "standard", "input_size": size, "mean": mean, "std": std}


def _of_model_api(path: Path, metadata: Mapping[str, str], size: tuple[int, int] | None) -> _Found:
    """Return the settings that OpenVINO's Model API and OTX write; their scale is 0 to 255, or 0 to 1 in older ones."""
    info = {key.removeprefix("model_info "): value for key, value in metadata.items() if key.startswith("model_info ")}
    kind, reverse = info.get("resize_type", "standard"), info.get("reverse_input_channels", "False")
    turned = reverse.casefold() in ("true", "yes", "1")
    if kind not in ("standard", "crop") or turned or size is None or (kind == "crop" and size[0] != size[1]):
        raise ModelError(
            f"{path} has resize_type {kind}, reverse_input_channels {reverse} and images of the size "
            f"{'free' if size is None else size}. Expected standard, or crop to a square, no reverse channels and a "
            "fixed size: write preprocessing=FILE.json with input_size, mean, std, interpolation and crop_pct."
        )
    means = _numbers(info["mean_values"])
    scales = _numbers(info.get("scale_values", "")) or ((1.0,) * 3 if max(means) < 1.5 else (255.0,) * 3)
    unit = 1.0 if max(*means, *scales) < 1.5 else 255.0
    return from_model_api, {
        "resize_type": kind,
        "input_size": size,
        "mean": tuple(value / unit for value in means),
        "std": tuple(value / unit for value in scales),
    }


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(float(word) for word in text.strip("[]() ").replace(",", " ").split())
