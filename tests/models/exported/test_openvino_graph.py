"""Classifiers that OpenVINO computes: small graphs made here."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from eyechart.errors import ModelError
from eyechart.models.exported.classifier import OnnxClassifier, OpenVinoClassifier
from eyechart.models.runtime.batch_backoff import BatchBackoff
from eyechart.models.runtime.torch_runtime import out_of_memory
from eyechart.models.spec import parse_spec
from tests.models.exported.plain_images import COLOURS, HALF, answers, expected, open_file
from tests.onnx_graphs import WEIGHTS, save_graph, save_huge_graph

pytestmark = pytest.mark.deep  # OpenVINO is a package of the deep tests
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:dce8\nsize 344569044\n"
model = partial(open_file, OpenVinoClassifier)


@pytest.fixture
def converted(tmp_path: Path) -> Path:
    import openvino

    openvino.save_model(openvino.Core().read_model(save_graph(tmp_path / "m.onnx")), tmp_path / "m.xml", False)
    return tmp_path / "m.xml"


def test_both_engines_and_both_files_agree(converted: Path, steps: Path) -> None:
    source = converted.with_suffix(".onnx")
    expected = answers(OnnxClassifier(parse_spec(f"onnx[{source},preprocessing={steps}]")))
    for path in (converted, source):
        np.testing.assert_allclose(answers(model(path, f"preprocessing={steps}")), expected, atol=1e-5)


def test_float_layers_are_computed_in_float32_unless_asked(converted: Path, steps: Path) -> None:
    import openvino

    made = model(converted, f"preprocessing={steps}", "threads=1")
    answers(made)
    assert made.graph._compiled.get_property("INFERENCE_PRECISION_HINT") == openvino.Type.f32
    assert made.graph._compiled.get_property("INFERENCE_NUM_THREADS") == 1
    low = model(converted, f"preprocessing={steps}", "precision=bf16")
    assert low.identity.in_key != made.identity.in_key
    assert (made.identity.processor["precision"], low.identity.processor["precision"]) == ("f32", "bf16")
    assert made.identity.libraries.keys() == {"openvino", "pillow"}


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        (TensorProto.INT8, "images of the type int8, and says no scale"),
        (TensorProto.UINT16, "images of the type uint16, and says no scale"),
        (TensorProto.BFLOAT16, r"images of the type bf16\. Expected floats of 16, 32 or 64 bits"),
    ],
)
def test_an_input_that_images_do_not_fit_is_refused(tmp_path: Path, steps: Path, kind: int, sentence: str) -> None:
    with pytest.raises(ModelError, match=sentence):
        _ = model(save_graph(tmp_path / "m.onnx", type=kind), f"preprocessing={steps}").identity


def test_an_input_of_doubles_gets_doubles(tmp_path: Path, steps: Path) -> None:
    path = save_graph(tmp_path / "m.onnx", type=TensorProto.DOUBLE)
    np.testing.assert_allclose(answers(model(path, f"preprocessing={steps}")), expected(), atol=1e-5)


@pytest.mark.parametrize("hint", ["bf16", "f16"])
def test_a_precision_that_the_processor_has_not_is_refused(converted: Path, steps: Path, hint: str) -> None:
    """OpenVINO itself computes in another one instead, and says so nowhere."""
    import openvino

    known = openvino.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")
    made = model(converted, f"preprocessing={steps}", f"precision={hint}")
    if {"bf16": "BF16", "f16": "FP16"}[hint] in known:
        assert answers(made).shape == (4, 4)
    else:
        with pytest.raises(ModelError, match=rf"where {hint} is asked for\. Write precision=(bf16|f32), or precision="):
            answers(made)


@pytest.mark.parametrize("threads", [1, 2])
def test_memory_that_runs_out_is_an_error_of_memory(tmp_path: Path, steps: Path, threads: int) -> None:
    """OpenVINO's own call with one thread returns the answer about the image before."""
    made = model(save_huge_graph(tmp_path / "m.onnx"), f"preprocessing={steps}", f"threads={threads}")
    assert answers(made, COLOURS[:1]).shape == (1, 4)
    with pytest.raises(MemoryError, match=r"Failed to allocate \d+ bytes") as raised:
        answers(made, COLOURS[:2])
    assert out_of_memory(raised.value)
    np.testing.assert_array_equal(answers(made, COLOURS[1:2]), answers(made, COLOURS[1:2]))


def test_memory_that_runs_out_halves_the_batch(tmp_path: Path, steps: Path) -> None:
    path = save_huge_graph(tmp_path / "m.onnx")
    one = model(path, f"preprocessing={steps}")
    expected = [answers(one, [colour])[0] for colour in COLOURS]
    made = model(path, f"preprocessing={steps}")
    backoff = BatchBackoff(4, "huge")
    with pytest.warns(RuntimeWarning, match="Memory ran out with"):
        parts = [*backoff.run(COLOURS, lambda part: answers(made, part))]
    np.testing.assert_array_equal(np.concatenate([answer for _, answer in parts]), expected)


def test_a_file_that_no_memory_holds_is_one_sentence(tmp_path: Path, steps: Path) -> None:
    path = save_graph(tmp_path / "m.onnx", (2**38, 3, 8, 8))
    made = model(path, f"preprocessing={steps}")
    with pytest.raises(ModelError, match=r"cannot compute .* \(.*\). Free memory, or export the file"):
        answers(made, COLOURS[:1])


def test_an_odd_batch_is_an_error_of_its_requests(converted: Path, steps: Path) -> None:
    made = model(converted, f"preprocessing={steps}")
    with pytest.raises(RuntimeError, match="incompatible"):
        made.classify([np.zeros((9, 9, 3), np.uint8)])


def test_the_weights_are_in_the_digest(converted: Path, steps: Path) -> None:
    before = model(converted, f"preprocessing={steps}").identity.weights_sha256
    data = bytearray(converted.with_suffix(".bin").read_bytes())
    data[data.find(WEIGHTS.tobytes())] ^= 1
    converted.with_suffix(".bin").write_bytes(data)
    assert model(converted, f"preprocessing={steps}").identity.weights_sha256 != before


def test_external_weights_of_an_onnx_file_are_in_the_digest(tmp_path: Path, steps: Path) -> None:
    path = save_graph(tmp_path / "m.onnx", external="m.data")
    before = model(path, f"preprocessing={steps}").identity.weights_sha256
    data = bytearray((tmp_path / "m.data").read_bytes())
    data[0] ^= 1
    (tmp_path / "m.data").write_bytes(data)
    assert model(path, f"preprocessing={steps}").identity.weights_sha256 != before
    (tmp_path / "m.data").unlink()
    with pytest.raises(ModelError, match=r"m\.onnx keeps its weights in m\.data, which is not beside it"):
        _ = model(path, f"preprocessing={steps}").identity


@pytest.mark.parametrize("quantised", [False, True])
def test_probabilities_become_their_logarithms(tmp_path: Path, steps: Path, quantised: bool) -> None:
    nodes = [helper.make_node("Softmax", ["product"], ["soft" if quantised else "logits"])]
    whole = [
        helper.make_node("QuantizeLinear", ["soft", "scale", "zero"], ["whole"]),
        helper.make_node("DequantizeLinear", ["whole", "scale", "zero"], ["logits"]),
    ]
    proto = onnx.load(save_graph(tmp_path / "m.onnx", last=[*nodes, *(whole if quantised else ())]))
    for name, value in {"scale": np.float32(1 / 255), "zero": np.uint8(0)}.items():
        proto.graph.initializer.append(numpy_helper.from_array(np.array(value), name))
    onnx.save(proto, tmp_path / "m.onnx")
    logs = answers(model(tmp_path / "m.onnx", f"preprocessing={steps}"))
    np.testing.assert_allclose(np.exp(logs).sum(axis=1), 1, atol=0.02 if quantised else 1e-5)
    assert logs.max() <= 0


def test_the_model_apis_settings_are_read_from_the_file(converted: Path) -> None:
    import openvino

    read = openvino.Core().read_model(converted)
    for name, value in {"mean_values": "127.5 127.5 127.5", "scale_values": "127.5 127.5 127.5"}.items():
        read.set_rt_info(value, ["model_info", name])
    read.set_rt_info("standard", ["model_info", "resize_type"])
    openvino.save_model(read, converted.with_name("api.xml"), False)
    made = model(converted.with_name("api.xml"))
    assert made.preprocessing.mean == (0.5, 0.5, 0.5)
    assert answers(made).shape == (4, 4)


ULTRALYTICS = """\
description: Ultralytics YOLO11n-cls model trained on shades
author: Ultralytics
date: '2025-11-03T10:12:44.120356'
version: 8.3.225
license: AGPL-3.0 License (https://ultralytics.com/license)
docs: https://docs.ultralytics.com
stride: 1
task: classify
batch: 1
imgsz:
- 8
- 8
names:
  0: blue
  1: fire truck
  2: green
  3: grey
args:
  batch: 1
  half: false
channels: 3
"""


def test_metadata_of_ultralytics_are_beside_the_file(converted: Path) -> None:
    converted.with_name("metadata.yaml").write_text(ULTRALYTICS, encoding="utf-8")
    made = model(converted)
    assert made.head is not None
    assert made.head.names == ("blue", "fire truck", "green", "grey")
    assert (made.preprocessing.resize, made.preprocessing.crop, made.preprocessing.std) == (8, (8, 8), (1, 1, 1))
    for text, sentence in (("- a", "holds no fields with names"), ("a: [", "is no YAML file")):
        converted.with_name("metadata.yaml").write_text(text, encoding="utf-8")
        with pytest.raises(ModelError, match=f"metadata.yaml {sentence}"):
            _ = model(converted).head


def test_metadata_of_otx_are_read_from_the_file(converted: Path) -> None:
    import openvino

    labels = {"label_names": ["blue", "fire truck", "green", "grey"], "label_ids": ["0", "1", "2", "3"]}
    written = {
        "model_type": "Classification",
        "task_type": "classification",
        "labels": "blue fire_truck green grey",
        "label_info": json.dumps(labels),
        "mean_values": "123.675 116.28 103.53",
        "scale_values": "58.395 57.12 57.375",
        "resize_type": "standard",
        "pad_value": "0",
        "reverse_input_channels": "False",
        "multilabel": "False",
        "hierarchical": "False",
        "confidence_threshold": "0.5",
        "output_raw_scores": "True",
        "optimization_config": "{}",
    }
    read = openvino.Core().read_model(converted)
    for name, value in written.items():
        read.set_rt_info(value, ["model_info", name])
    openvino.save_model(read, converted.with_name("otx.xml"), False)
    made = model(converted.with_name("otx.xml"))
    assert made.head is not None
    assert made.head.names == ("blue", "fire truck", "green", "grey")
    assert (made.preprocessing.size, made.preprocessing.mean[0]) == ((8, 8), 0.485)


def test_the_metadata_of_an_onnx_file_are_read(tmp_path: Path) -> None:
    metadata = {"eyechart.preprocessing": json.dumps(HALF), "eyechart.classes": '["a", "b", "c", "d"]'}
    made = model(save_graph(tmp_path / "m.onnx", metadata=metadata))
    assert made.preprocessing.mean == (0.5, 0.5, 0.5)
    assert made.head is not None
    assert made.head.names == ("a", "b", "c", "d")


def test_threads_change_no_byte(converted: Path, steps: Path) -> None:
    one, two = (answers(model(converted, f"preprocessing={steps}", f"threads={count}")) for count in (1, 2))
    assert one.tobytes() == two.tobytes()


def test_a_dynamically_quantised_file_is_answered_image_by_image(tmp_path: Path, steps: Path) -> None:
    from onnxruntime.quantization import quantize_dynamic

    quantize_dynamic(save_graph(tmp_path / "m.onnx"), tmp_path / "int8.onnx")
    made = model(tmp_path / "int8.onnx", f"preprocessing={steps}")
    assert (made.batch_size, made.identity.dtype) == (1, "int8 dynamic")


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda xml: xml.unlink(), r"m\.xml does not exist"),
        (lambda xml: xml.with_suffix(".bin").unlink(), r"m\.bin does not exist\. A model of OpenVINO is an \.xml file"),
        (lambda xml: xml.write_text("<html>404</html>"), r"m\.xml is a web page"),
        (lambda xml: xml.write_text("<net></net>"), r"cannot read .*m\.xml .* Convert it again"),
        (lambda xml: xml.with_suffix(".bin").write_bytes(b""), r"m\.bin is empty"),
        (lambda xml: xml.with_suffix(".bin").write_text(POINTER), r"m\.bin is a pointer of Git LFS"),
        (lambda xml: xml.with_suffix(".bin").write_bytes(bytes(8)), r"cannot read .*m\.xml"),
    ],
)
def test_a_bad_file_is_one_sentence(converted: Path, steps: Path, damage: object, sentence: str) -> None:
    assert callable(damage)
    damage(converted)
    with pytest.raises(ModelError, match=sentence):
        _ = model(converted, f"preprocessing={steps}").identity
