"""Compress two packaged models in every way that runs on a processor, and compare what each way costs.

    python examples/compression_table.py compressed
    python examples/compression_table.py compressed --no-speed

It exports EfficientNet-Lite0 and the CLIP of toybox into the folder, compresses the exports by the recipes of
`quantise.py` with packaged pictures that are not evaluated, and prints a table for each model. All files stay in the
folder. `OMP_NUM_THREADS` sets the threads of the measured speed.

It needs `pip install 'eyechart[models,onnx,openvino]' nncf onnxscript`.
"""

import argparse
import shutil
from contextlib import chdir
from pathlib import Path
from typing import Any

import openvino
from quantise import DYNAMIC, STATIC, calibration_inputs, quantise

import eyechart
from eyechart.models.exported.export import export_onnx
from eyechart.models.registry import create_model
from eyechart.models.spec import parse_spec

LITE0, PHOTOS = "timm[tf_efficientnet_lite0]", "imagenet/sample-near"
CLIP, TOYS = "open_clip[toybox-clip]", "toybox/sample-scenes"


def compare_lite0(*, speed: bool) -> eyechart.Compression:
    """Export and compress EfficientNet-Lite0, and compare the files computed by ONNX Runtime and by OpenVINO."""
    source = Path("lite0.onnx")
    export_onnx(parse_spec(LITE0), source, offline=True)
    model: Any = create_model(parse_spec("onnx[lite0.onnx]"), device="cpu", offline=True)
    inputs = calibration_inputs(model, PHOTOS)
    variants = {"fp32": "onnx[lite0.onnx]"}
    for recipe in ("fp16", *DYNAMIC, *STATIC):
        path = Path(f"lite0_{recipe}.onnx")
        quantise(source, path, recipe, inputs)
        variants[recipe] = f"onnx[{path}]"
    variants["openvino_fp32"] = "openvino[lite0.onnx]"
    if "BF16" in openvino.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES"):
        variants["openvino_bf16"] = "openvino[lite0.onnx,precision=bf16]"
    for recipe in ("fp16", "nncf"):
        path = Path(f"lite0_{recipe}.xml")
        quantise(source, path, recipe, inputs)
        variants[f"openvino_{recipe}"] = f"openvino[{path}]"
    return eyechart.compress(
        LITE0, "imagenet/sample", variants, margin=0.08, speed=speed, calibration=PHOTOS, offline=True, progress=False
    )


def compare_clip(*, speed: bool) -> eyechart.Compression:
    """Export and compress the image tower of the CLIP of toybox, and also its text tower where that is dynamic."""
    folder = Path("clip")
    export_onnx(parse_spec(CLIP), folder, offline=True)
    model: Any = create_model(parse_spec("onnx_clip[clip]"), device="cpu", offline=True)
    inputs = calibration_inputs(model, TOYS)
    variants = {"fp32": "onnx_clip[clip]"}
    for recipe in ("dynamic", "tensor", "channel", "nncf"):
        quantise(model.path, folder / f"vision_model_{recipe}.onnx", recipe, inputs)
        texts, compressed = folder / "text_model.onnx", folder / f"text_model_{recipe}.onnx"
        if recipe in DYNAMIC:
            quantise(texts, compressed, recipe, ())
        else:
            shutil.copyfile(texts, compressed)
        variants[recipe] = f"onnx_clip[clip,file={recipe}]"
    return eyechart.compress(
        CLIP, "toybox/sample", variants, margin=0.05, speed=speed, calibration=TOYS, offline=True, progress=False
    )


def main() -> None:
    """Print the tables of both models."""
    parser = argparse.ArgumentParser(description="Compress two packaged models, and compare what each way costs.")
    parser.add_argument("folder", type=Path, help="Folder of the files.")
    parser.add_argument("--speed", action=argparse.BooleanOptionalAction, default=True, help="Measure images/second.")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    with chdir(options.folder):
        for compare in (compare_lite0, compare_clip):
            print(compare(speed=options.speed), end="\n\n")


if __name__ == "__main__":
    main()
