"""What graphs of all engines have in common: fixed batches, the input of images, file endings and instructions."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from eyechart.errors import ModelError
from eyechart.models.exported.classifier import OnnxClassifier
from eyechart.models.exported.graph import instructions
from tests.models.exported.plain_images import answers, expected, open_file
from tests.onnx_graphs import save_graph

model = partial(open_file, OnnxClassifier)


@pytest.mark.parametrize("fixed", [1, 3, 8])
def test_a_fixed_batch_is_filled(tmp_path: Path, steps: Path, fixed: int) -> None:
    made = model(save_graph(tmp_path / "m.onnx", (fixed, 3, 8, 8)), f"preprocessing={steps}")
    assert made.batch_size == fixed
    np.testing.assert_allclose(answers(made), expected(), atol=1e-5)


def test_the_instructions_of_the_processor_are_those_of_linux(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for flags, name in (("avx2 avx512_vnni", "vnni"), ("avx2 avx_vnni", "vnni"), ("avx2", "no vnni")):
        (tmp_path / "cpuinfo").write_text(f"flags : {flags}\n")
        monkeypatch.setattr("eyechart.models.exported.graph.CPU_FLAGS", tmp_path / "cpuinfo")
        assert instructions() == name


@pytest.mark.parametrize(("name", "backend"), [("m.xml", "openvino"), ("m.tflite", "litert")])
def test_a_file_of_another_engine_is_told_its_backend(tmp_path: Path, steps: Path, name: str, backend: str) -> None:
    (tmp_path / name).write_text('<?xml version="1.0"?>\n<net name="m" version="11"></net>', encoding="utf-8")
    with pytest.raises(ModelError, match=rf"{name} is no file for onnx\[…\]\. Write {backend}\[{name},…\] for it"):
        _ = model(tmp_path / name, f"preprocessing={steps}").identity


@pytest.mark.parametrize(
    ("shape", "sentence"),
    [
        (("n", 192), r"has the inputs images \(free, 192\)\. Expected one of images"),
        (("n", 1, 8, 8), r"has the input images \(free, 1, 8, 8\)\. Expected 3 channels"),
        (("n", 3, 10, 10), r"takes images of 10x10, but its preprocessing makes 8x8"),
    ],
)
def test_a_graph_that_does_not_suit(tmp_path: Path, steps: Path, shape: tuple[Any, ...], sentence: str) -> None:
    with pytest.raises(ModelError, match=sentence):
        _ = model(save_graph(tmp_path / "m.onnx", shape), f"preprocessing={steps}").identity


def test_inputs_other_than_one_of_images_are_listed(tmp_path: Path, steps: Path) -> None:
    proto = onnx.load(save_graph(tmp_path / "m.onnx"))
    proto.graph.input.append(helper.make_tensor_value_info("input_ids", TensorProto.INT64, ("n", 77)))
    onnx.save(proto, tmp_path / "m.onnx")
    with pytest.raises(ModelError, match=r"the inputs images \(free, 3, 8, 8\), input_ids \(free, 77\)\. Expected one"):
        _ = model(tmp_path / "m.onnx", f"preprocessing={steps}").identity


def test_rows_that_are_not_one_for_each_image_are_refused(tmp_path: Path, steps: Path) -> None:
    first = helper.make_node("ReduceMax", ["product", "edge"], ["logits"])
    proto = onnx.load(save_graph(tmp_path / "m.onnx", last=[first]))
    proto.graph.initializer.append(numpy_helper.from_array(np.array([0]), "edge"))
    onnx.save(proto, tmp_path / "m.onnx")
    with pytest.raises(ModelError, match=r"m\.onnx returns 1 rows of logits for 4 of images\. Expected one for each"):
        answers(model(tmp_path / "m.onnx", f"preprocessing={steps}"))
