"""Quantise an exported model, by ONNX Runtime or NNCF, with images that it is not tested with.

    python examples/quantise.py 'onnx[lite0.onnx]' lite0_int8.onnx imagenet/sample-near
    python examples/quantise.py 'onnx[lite0.onnx]' lite0_tensor.onnx imagenet/sample-near tensor
    python examples/quantise.py 'onnx[lite0.onnx]' lite0_nncf.xml imagenet/sample-near nncf
    python examples/quantise.py 'onnx_clip[clip]' clip/vision_model_int8.onnx toybox/sample-scenes

The last argument is a recipe, `channel` if there is none:

    channel      8 bits; each channel of the weights has its own scale, and activations have no sign
    channel_s8   the same with a sign
    percentile   the same with a sign, and without the most extreme activations of the calibration images
    tensor       8 bits; each tensor has one scale
    dynamic      8 bits; the model finds the scales of activations while it answers, which needs no calibration images
    dynamic_s8   the same, and weights have a sign
    nncf         8 bits by NNCF, as .onnx or as .xml of OpenVINO
    fp16         floats of 16 bits, as .onnx or as .xml of OpenVINO, which needs no calibration images

The model prepares the calibration images as it does those that it answers about. The images are those of a split or of
a folder, one folder for each class; take others than those that are evaluated.
"""

import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from onnxruntime.quantization import (
    CalibrationDataReader,
    CalibrationMethod,
    QuantType,
    quantize_dynamic,
    quantize_static,
)
from onnxruntime.quantization.shape_inference import quant_pre_process

from eyechart.api.evaluation import open_data
from eyechart.api.run_settings import complete_settings
from eyechart.data.images import decode_image
from eyechart.models.registry import create_model
from eyechart.models.spec import parse_spec

Inputs = Sequence[Mapping[str, Any]]
SIGNED, UNSIGNED = QuantType.QInt8, QuantType.QUInt8
DYNAMIC = {"dynamic": UNSIGNED, "dynamic_s8": SIGNED}  # and the type of weights
STATIC: Mapping[str, Mapping[str, Any]] = {
    "channel": {"per_channel": True, "activation_type": UNSIGNED},
    "channel_s8": {"per_channel": True, "activation_type": SIGNED},
    "percentile": {
        "per_channel": True,
        "activation_type": SIGNED,
        "calibrate_method": CalibrationMethod.Percentile,
    },
    "tensor": {"per_channel": False, "activation_type": SIGNED},
}
RECIPES = (*STATIC, *DYNAMIC, "nncf", "fp16")


class Reader(CalibrationDataReader):  # type: ignore[misc]  # onnxruntime has no types
    """Inputs of a model one by one, as ONNX Runtime asks for them."""

    def __init__(self, inputs: Iterable[Mapping[str, Any]]) -> None:
        self.inputs = iter(inputs)

    def get_next(self) -> Mapping[str, Any] | None:
        """Return the next input, None after the last one."""
        return next(self.inputs, None)


def calibration_inputs(model: Any, images: str) -> Inputs:
    """Return the images of a split or folder as the inputs of a model."""
    dataset = open_data(images, complete_settings("quantise", {"offline": True}), None, 42)
    return [
        {model.image_port.name: model.batch([model.prepare(decode_image(data, str(row)))])}
        for row, data in dataset.read([*range(len(dataset))])
    ]


def quantise(source: Path, path: Path, recipe: str, inputs: Inputs) -> None:
    """Write a graph of ONNX in a file of fewer bits."""
    with redirect_stdout(sys.stderr):  # both packages print their progress
        if recipe == "fp16":
            _write_halves(source, path)
        elif recipe == "nncf":
            _write_by_nncf(source, path, inputs)
        else:
            _write_by_onnxruntime(source, path, recipe, inputs)


def _write_by_onnxruntime(source: Path, path: Path, recipe: str, inputs: Inputs) -> None:
    with tempfile.TemporaryDirectory() as folder:
        prepared = Path(folder) / "prepared.onnx"
        quant_pre_process(str(source), str(prepared), skip_symbolic_shape=True)
        if recipe in DYNAMIC:
            quantize_dynamic(str(prepared), str(path), weight_type=DYNAMIC[recipe])
        else:
            quantize_static(str(prepared), str(path), Reader(inputs), weight_type=SIGNED, **STATIC[recipe])


def _write_halves(source: Path, path: Path) -> None:
    if path.suffix == ".xml":
        import openvino

        openvino.save_model(openvino.Core().read_model(str(source)), str(path), compress_to_fp16=True)
    else:
        import onnx
        from onnxruntime.transformers.float16 import convert_float_to_float16

        onnx.save(convert_float_to_float16(onnx.load(source), keep_io_types=True), path)


def _write_by_nncf(source: Path, path: Path, inputs: Inputs) -> None:
    import nncf
    import onnx
    import openvino

    images = nncf.Dataset(inputs)
    if path.suffix == ".xml":
        graph = nncf.quantize(openvino.Core().read_model(str(source)), images, subset_size=len(inputs))
        openvino.save_model(graph, str(path))
    else:
        onnx.save(nncf.quantize(onnx.load(source), images, subset_size=len(inputs)), path)


def main(spec: str, path: str, images: str, recipe: str = "channel") -> None:
    """Quantise the image part of a model."""
    if recipe not in RECIPES:
        sys.exit(f"'{recipe}' is no recipe. Expected one of {', '.join(RECIPES)}.")
    model: Any = create_model(parse_spec(spec), device="cpu", offline=True)
    quantise(model.path, Path(path), recipe, calibration_inputs(model, images))


if __name__ == "__main__":
    main(*sys.argv[1:])
