"""Write a classifier as an `.onnx` file with its preprocessing and classes, and check that it answers alike."""

import json
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from eyechart.data.imagenet.classes import CLASSES, open_clip_names
from eyechart.data.images import decode_image
from eyechart.data.readers.imagenet_sample import open_sample
from eyechart.errors import ModelError, SpecError
from eyechart.messages.install_commands import install_package_command
from eyechart.models.exported.class_names import CLASSES_KEY
from eyechart.models.exported.classifier import IMAGENET_KEY, OnnxClassifier
from eyechart.models.exported.preprocessing_sources import KEY
from eyechart.models.registry import create_model
from eyechart.models.runtime import torch_runtime
from eyechart.models.spec import ModelSpec
from eyechart.models.timm.classifier import TimmClassifier

CHECKED_IMAGES = 16
TOLERANCE = 1e-4  # of a logit; a correct export of float32 moves them by about 1e-5
MOST_BYTES = 2**31 - 2**20  # of a file of protobuf, without its graph


def export_onnx(spec: ModelSpec, path: Path, *, offline: bool = False) -> float:
    """Write a classifier of timm as an `.onnx` file.

    Args:
        spec: The classifier.
        path: The file.
        offline: Whether nothing may be fetched.

    Returns:
        The largest difference of a logit between the file and the classifier, on 16 packaged images.

    Raises:
        SpecError: The specification names no classifier of timm in float32.
        ModelError: It cannot be exported, or the file answers otherwise; nothing is then written.
    """
    model = create_model(spec, device="cpu", offline=offline)
    if not isinstance(model, TimmClassifier) or model.dtype != "float32" or model.head is None:
        raise SpecError(f"'{spec}' cannot be exported. Expected a classifier of timm[…] in float32 with its outputs.")
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        written = Path(folder) / path.name
        _write(model, written)
        _describe(model, written)
        moved = _largest_difference(model, written)
        if not moved <= TOLERANCE:
            raise ModelError(
                f"The export of '{spec}' moves a logit by {moved:.2g}, and {TOLERANCE} was expected at most. No file "
                "was written. Try another version of torch or onnxscript."
            )
        written.replace(path)
    return moved


def _write(model: TimmClassifier, path: Path) -> None:
    """Write the graph with a free batch size. Raises ModelError if it cannot be."""
    import torch

    size = sum(weight.numel() * weight.element_size() for weight in model.module.parameters())
    if size > MOST_BYTES:
        raise ModelError(f"'{model.spec}' has {size / 2**30:.1f} GiB of weights; one .onnx file holds less than 2.")
    images = torch.zeros(2, *model.preprocessing["input_size"])
    module = model.module.to(memory_format=torch.contiguous_format)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of torch about its own code
            torch.onnx.export(
                module,
                (images,),
                str(path),
                dynamo=True,
                input_names=["pixel_values"],
                output_names=["logits"],
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
        raise ModelError(f"torch cannot export '{model.spec}' ({' '.join(str(error).split())[:200]}).") from error


def _describe(model: TimmClassifier, path: Path) -> None:
    """Write preprocessing, classes and origin into a file."""
    import onnx

    proto = onnx.load(path)
    head: Any = model.head
    named = head.imagenet and head.outputs == CLASSES
    properties = {
        KEY: json.dumps(torch_runtime.to_jsonable(model.preprocessing), sort_keys=True),
        IMAGENET_KEY: str(head.imagenet).lower(),
        **({CLASSES_KEY: json.dumps(open_clip_names(), ensure_ascii=False)} if named else {}),
        "eyechart.origin": str(model.spec),
        "eyechart.origin_sha256": model.identity.weights_sha256,
    }
    onnx.helper.set_model_props(proto, properties)
    onnx.save(proto, path)


def _largest_difference(model: TimmClassifier, path: Path) -> float:
    """Return how far the file moves a logit of packaged images."""
    exported = OnnxClassifier(ModelSpec("onnx", (str(path),)))
    dataset = open_sample("sample")
    rows = [*range(0, len(dataset.index), len(dataset.index) // CHECKED_IMAGES)][:CHECKED_IMAGES]
    images = [decode_image(data, str(row)) for row, data in dataset.source.read(rows)]
    ours = exported.classify([exported.prepare(image) for image in images])
    theirs = model.classify([model.prepare(image) for image in images])
    return float(np.abs(ours - theirs).max())
