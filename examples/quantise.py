"""Quantise an exported model to 8 bits with ONNX Runtime.

    python examples/quantise.py 'onnx[lite0.onnx]' lite0_int8.onnx imagenet/sample-near
    python examples/quantise.py 'onnx[lite0.onnx]' lite0_tensor.onnx imagenet/sample-near tensor
    python examples/quantise.py 'onnx[lite0.onnx]' lite0_dynamic.onnx imagenet/sample-near dynamic
    python examples/quantise.py 'onnx_clip[clip]' clip/vision_model_int8.onnx toybox/sample-scenes

With `channel`, which is the default, each channel of the weights has its own scale; with `tensor`, each tensor. With
`dynamic`, the model finds the scales of activations while it answers, and reads no calibration images.

The model prepares the calibration images as it does those that it answers about. The images are those of a split or of
a folder, one folder for each class; take others than those that are evaluated.
"""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from onnxruntime.quantization import CalibrationDataReader, QuantType, quantize_dynamic, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

from eyechart.api.evaluation import open_data
from eyechart.api.run_settings import complete_settings
from eyechart.data.images import decode_image
from eyechart.models.registry import create_model
from eyechart.models.spec import parse_spec


class Images(CalibrationDataReader):  # type: ignore[misc]  # onnxruntime has no types
    """Calibration images as the inputs of a model, one by one."""

    def __init__(self, model: Any, images: str) -> None:
        dataset = open_data(images, complete_settings("quantise", {"offline": True}), None, 42)
        self.inputs: Iterator[dict[str, Any]] = (
            {model.image_port.name: model.batch([model.prepare(decode_image(data, str(row)))])}
            for row, data in dataset.read([*range(len(dataset))])
        )

    def get_next(self) -> dict[str, Any] | None:
        """Return the next input, None after the last one."""
        return next(self.inputs, None)


def quantise(spec: str, path: Path, images: str, scales: str = "channel") -> None:
    """Write the image part of a model with weights and activations of 8 bits."""
    if scales not in ("channel", "tensor", "dynamic"):
        sys.exit(f"'{scales}' is no kind of scales. Expected channel, tensor or dynamic.")
    model = create_model(parse_spec(spec), device="cpu", offline=True)
    with tempfile.TemporaryDirectory() as folder:
        prepared = Path(folder) / "prepared.onnx"
        quant_pre_process(str(model.path), str(prepared), skip_symbolic_shape=True)
        if scales == "dynamic":
            quantize_dynamic(str(prepared), str(path), weight_type=QuantType.QUInt8)
            return
        quantize_static(
            str(prepared),
            str(path),
            Images(model, images),
            per_channel=scales == "channel",
            activation_type=QuantType.QUInt8 if scales == "channel" else QuantType.QInt8,
            weight_type=QuantType.QInt8,
        )


if __name__ == "__main__":
    quantise(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:])
