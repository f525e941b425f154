"""Write a classifier, or the towers of a CLIP, as `.onnx` files, and check that they answer alike."""

import json
import logging
import shutil
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from eyechart.data.imagenet.classes import CLASSES, open_clip_names
from eyechart.data.images import decode_image
from eyechart.data.readers.imagenet_sample import open_sample
from eyechart.errors import ModelError, SpecError
from eyechart.messages.install_commands import install_package_command
from eyechart.models.exported.class_names import CLASSES_KEY
from eyechart.models.exported.classifier import IMAGENET_KEY, OnnxClassifier
from eyechart.models.exported.clip import SCALE_KEY, TEMPLATES_KEY, OnnxClip
from eyechart.models.exported.preprocessing import from_open_clip
from eyechart.models.exported.preprocessing_sources import KEY
from eyechart.models.open_clip.encoder import OpenClipEncoder
from eyechart.models.open_clip.files import tokenizer_folder
from eyechart.models.registry import create_model
from eyechart.models.runtime import torch_runtime
from eyechart.models.spec import ModelSpec
from eyechart.models.timm.classifier import TimmClassifier
from eyechart.models.weights.hub_files import VOCABULARIES

CHECKED_IMAGES = 16
TOLERANCE = 1e-4  # of a logit; a correct export of float32 moves them by about 1e-5
MOST_BYTES = 2**31 - 2**20  # of a file of protobuf, without its graph


def export_onnx(spec: ModelSpec, path: Path, *, offline: bool = False) -> float:
    """Write a classifier of timm as an `.onnx` file, or a model of open_clip as two files in a folder.

    Args:
        spec: The model.
        path: The file, or the folder of `vision_model.onnx` and `text_model.onnx`.
        offline: Whether nothing may be fetched.

    Returns:
        The largest difference of a logit, or of a number of features, between the files and the model, on 16 packaged
        images and 16 texts.

    Raises:
        SpecError: The specification names no model that can be exported.
        ModelError: It cannot be exported, or the files answer otherwise; nothing is then written.
    """
    model = create_model(spec, device="cpu", offline=offline)
    if isinstance(model, OpenClipEncoder) and model.dtype == "float32":
        return _export_towers(model, path)
    if not isinstance(model, TimmClassifier) or model.dtype != "float32" or model.head is None:
        raise SpecError(
            f"'{spec}' cannot be exported. Expected a classifier of timm[…] in float32 with its outputs, or a model of "
            "open_clip[…] in float32."
        )
    import torch

    images = torch.zeros(2, *model.preprocessing["input_size"])
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        written = Path(folder) / path.name
        _write(model.module, images, written, ("pixel_values", "logits"), spec)
        _describe(model, written)
        moved = _check(_largest_difference(model, written), spec)
        written.replace(path)
    return moved


def _check(moved: float, spec: ModelSpec) -> float:
    """Return the largest difference. Raises ModelError if it is above the tolerance."""
    if moved <= TOLERANCE:
        return moved
    raise ModelError(
        f"The export of '{spec}' moves a logit by {moved:.2g}, and {TOLERANCE} was expected at most. No file was "
        "written. Try another version of torch or onnxscript."
    )


def _export_towers(model: OpenClipEncoder, folder: Path) -> float:
    """Write the image tower and the text tower as files named as those of transformers.js."""
    import torch
    from torch import nn

    clip = model.network

    class Tower(nn.Module):
        """One method of the model as a module's forward, which is what torch exports."""

        def __init__(self, method: str) -> None:
            super().__init__()
            self.clip, self.method = clip, method

        def forward(self, rows: torch.Tensor) -> Any:
            return getattr(self.clip, self.method)(rows)

    size = from_open_clip(model.checkpoint.preprocessing).size
    towers = {
        "vision_model": ("encode_image", torch.zeros(2, 3, *(size or ())), ("pixel_values", "image_embeds")),
        "text_model": (
            "encode_text",
            torch.zeros(2, clip.context_length, dtype=torch.int64),
            ("input_ids", "text_embeds"),
        ),
    }
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as draft:
        for name, (method, rows, ports) in towers.items():
            _write(Tower(method).eval(), rows, Path(draft) / f"{name}.onnx", ports, model.spec)
        _set_metadata(
            Path(draft) / "text_model.onnx",
            {SCALE_KEY: repr(model.logit_scale), TEMPLATES_KEY: model.templates, **_origin(model)},
        )
        _write_tokenizer(model, Path(draft))
        exported = OnnxClip(ModelSpec("onnx_clip", (draft,)))
        images, texts = _packaged_images(), open_clip_names()[:CHECKED_IMAGES]
        pairs = (
            [one.encode_images([one.prepare(image) for image in images]) for one in (exported, model)],
            [one.encode_texts(texts) for one in (exported, model)],
        )
        moved = _check(max(float(np.abs(ours - theirs).max()) for ours, theirs in pairs), model.spec)
        folder.mkdir(exist_ok=True)
        for file in Path(draft).iterdir():
            file.replace(folder / file.name)
    return moved


def _write_tokenizer(model: OpenClipEncoder, folder: Path) -> None:
    """Write the configuration of open_clip with the preprocessing, and copy the files of a tokenizer that has some."""
    checkpoint = model.checkpoint
    config = {"model_cfg": checkpoint.config, "preprocess_cfg": torch_runtime.to_jsonable(checkpoint.preprocessing)}
    (folder / "open_clip_config.json").write_text(json.dumps(config, indent=2), encoding="utf-8")
    if tokenizer := tokenizer_folder(checkpoint, offline=model.offline):
        for pattern in (*VOCABULARIES, "tokenizer_config.json", "special_tokens_map.json", "merges.txt"):
            for file in tokenizer.glob(pattern):
                shutil.copyfile(file, folder / file.name)


def _write(module: Any, rows: Any, path: Path, ports: tuple[str, str], spec: ModelSpec) -> None:
    """Write the graph of a module with a free batch size. Raises ModelError if it cannot be."""
    import torch

    size = sum(weight.numel() * weight.element_size() for weight in module.parameters())
    if size > MOST_BYTES:
        raise ModelError(f"'{spec}' has {size / 2**30:.1f} GiB of weights; one .onnx file holds less than 2.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of torch about its own code
            logging.getLogger("onnxscript").setLevel(logging.ERROR)  # it warns about constants that it keeps
            torch.onnx.export(
                module.to(memory_format=torch.contiguous_format),
                (rows,),
                str(path),
                dynamo=True,
                input_names=[ports[0]],
                output_names=[ports[1]],
                dynamic_shapes=({0: torch.export.Dim("batch")},),
                external_data=False,
                verbose=False,
            )
    except ModuleNotFoundError as error:
        raise ModelError(
            f"The export needs the package '{error.name}', which is not installed. Install it with: "
            f"{install_package_command(str(error.name))}"
        ) from error
    except Exception as error:  # whatever a network does that torch cannot export
        raise ModelError(f"torch cannot export '{spec}' ({' '.join(str(error).split())[:200]}).") from error


def _describe(model: TimmClassifier, path: Path) -> None:
    """Write preprocessing, classes and origin into a file."""
    head: Any = model.head
    named = head.imagenet and head.outputs == CLASSES
    properties = {
        KEY: json.dumps(torch_runtime.to_jsonable(model.preprocessing), sort_keys=True),
        IMAGENET_KEY: str(head.imagenet).lower(),
        **({CLASSES_KEY: json.dumps(open_clip_names(), ensure_ascii=False)} if named else {}),
        **_origin(model),
    }
    _set_metadata(path, properties)


def _origin(model: TimmClassifier | OpenClipEncoder) -> dict[str, str]:
    return {"eyechart.origin": str(model.spec), "eyechart.origin_sha256": model.identity.weights_sha256}


def _set_metadata(path: Path, properties: dict[str, str]) -> None:
    import onnx

    proto = onnx.load(path)
    onnx.helper.set_model_props(proto, properties)
    onnx.save(proto, path)


def _packaged_images() -> list[Image.Image]:
    """Return the packaged images that an export is checked with."""
    dataset = open_sample("sample")
    rows = [*range(0, len(dataset.index), len(dataset.index) // CHECKED_IMAGES)][:CHECKED_IMAGES]
    return [decode_image(data, str(row)) for row, data in dataset.source.read(rows)]


def _largest_difference(model: TimmClassifier, path: Path) -> float:
    """Return how far the file moves a logit of packaged images."""
    exported, images = OnnxClassifier(ModelSpec("onnx", (str(path),))), _packaged_images()
    ours = exported.classify([exported.prepare(image) for image in images])
    theirs = model.classify([model.prepare(image) for image in images])
    return float(np.abs(ours - theirs).max())
