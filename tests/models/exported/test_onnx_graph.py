"""Graphs in `.onnx` files: their weights, precision and errors, and what ONNX Runtime computes."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.external_data_helper import set_external_data
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, quantize_static
from PIL import Image

from eyechart.errors import ModelError
from eyechart.models.exported import onnx_graph
from eyechart.models.exported.classifier import OnnxClassifier
from eyechart.models.exported.graph import instructions
from eyechart.models.runtime.torch_runtime import out_of_memory
from tests.models.exported.plain_images import COLOURS, HALF, answers, expected, open_file
from tests.onnx_graphs import save_graph, save_huge_graph

model = partial(open_file, OnnxClassifier)


class Colours(CalibrationDataReader):
    def __init__(self) -> None:
        self.batches = iter([{"images": np.ones((1, 3, 8, 8), np.float32)}])

    def get_next(self) -> Any:
        return next(self.batches, None)


def test_the_threads_are_those_of_the_suites_division(
    tmp_path: Path, steps: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    made = model(save_graph(tmp_path / "m.onnx"), f"preprocessing={steps}")
    answers(made)
    assert made.graph._session.get_session_options().intra_op_num_threads == 3


def test_external_weights_are_in_the_digest(tmp_path: Path, steps: Path) -> None:
    path = save_graph(tmp_path / "m.onnx", external="m.data")
    first = model(path, f"preprocessing={steps}")
    before = first.identity.weights_sha256
    np.testing.assert_allclose(answers(first), expected(), atol=1e-5)
    data = bytearray((tmp_path / "m.data").read_bytes())
    data[0] ^= 1
    (tmp_path / "m.data").write_bytes(data)
    assert model(path, f"preprocessing={steps}").identity.weights_sha256 != before


def test_external_constants_of_nodes_and_inner_graphs_are_weights(tmp_path: Path, steps: Path) -> None:
    values = numpy_helper.from_array(np.arange(4, dtype=np.float32), "values")
    constant = helper.make_node("Constant", [], ["shift"], value=values)
    inner = helper.make_graph(
        [constant], "inner", [], [helper.make_tensor_value_info("shift", TensorProto.FLOAT, (4,))]
    )
    last = [
        helper.make_node("If", ["always"], ["chosen"], then_branch=inner, else_branch=inner),
        helper.make_node("Add", ["product", "chosen"], ["logits"]),
    ]
    proto = onnx.load(save_graph(tmp_path / "m.onnx", last=last))
    proto.graph.initializer.append(numpy_helper.from_array(np.array(True), "always"))
    set_external_data(proto.graph.node[-2].attribute[0].g.node[0].attribute[0].t, "shift.bin")
    onnx.save(proto, tmp_path / "m.onnx")
    (tmp_path / "shift.bin").write_bytes(values.raw_data)
    assert model(tmp_path / "m.onnx", f"preprocessing={steps}").weight_files == (
        tmp_path / "m.onnx",
        tmp_path / "shift.bin",
    )


@pytest.mark.parametrize("kind", ["QDQ", "QOperator"])
def test_a_quantised_softmax_is_one(tmp_path: Path, steps: Path, kind: str) -> None:
    soft = [helper.make_node("Softmax", ["product"], ["logits"])]
    path, quantised = save_graph(tmp_path / "m.onnx", last=soft), tmp_path / "int8.onnx"
    quantize_static(path, quantised, Colours(), quant_format=QuantFormat[kind])
    assert [node.op_type for node in onnx.load(quantised).graph.node][-1] == "DequantizeLinear"
    np.testing.assert_allclose(np.exp(answers(model(quantised, f"preprocessing={steps}"))).sum(axis=1), 1, atol=0.02)


def test_a_statically_quantised_file_is_another_model(tmp_path: Path, steps: Path) -> None:
    path = save_graph(tmp_path / "m.onnx")
    quantize_static(path, tmp_path / "int8.onnx", Colours())
    made = model(tmp_path / "int8.onnx", f"preprocessing={steps}")
    assert (made.identity.dtype, made.batch_size) == ("int8", 16)
    assert made.identity.processor["instructions"] == instructions()
    assert made.identity.in_key != model(path, f"preprocessing={steps}").identity.in_key
    assert not np.array_equal(answers(made), expected())


def damaged(folder: Path, kind: str) -> Path:
    path = save_graph(folder / f"{kind}.onnx", external="gone.data" if kind == "external" else "")
    data = path.read_bytes()
    if kind == "missing":
        path.unlink()
    if kind == "external":
        (folder / "gone.data").unlink()
    if kind == "folder":
        path.unlink()
        (path / "onnx").mkdir(parents=True)
        save_graph(path / "onnx" / "model_int8.onnx")
    if kind in ("ir", "opset"):
        proto = onnx.load(path)
        proto.opset_import[0].version, proto.ir_version = (40, 10) if kind == "opset" else (18, 99)
        onnx.save(proto, path)
    texts = {
        "cut": data[: len(data) // 2],
        "pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:dce8\nsize 344569044\n",
        "empty": b"",
        "html": b"<!doctype html><html><body>404</body></html>",
    }
    if kind in texts:
        path.write_bytes(texts[kind])
    return path


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("missing", r"missing\.onnx does not exist\. Check the path"),
        ("folder", r"folder\.onnx has no model\.onnx, in it or in its folder onnx; it has model_int8\.onnx\. Correct"),
        ("cut", r"cut\.onnx (is no ONNX file, or is damaged|holds no graph)"),
        ("pointer", r"pointer\.onnx is a pointer of Git LFS instead of the file: run git lfs pull"),
        ("empty", r"empty\.onnx is empty \(0 bytes\): copy it again"),
        ("html", r"html\.onnx is a web page, such as that of an error, instead of the file: download it again"),
        ("external", r"keeps its weights in gone\.data, which is not beside it"),
        ("opset", r"has opset 40 and IR 10, which onnxruntime .* does not know"),
        ("ir", r"has opset 18 and IR 99, which onnxruntime .* does not know"),
    ],
)
def test_a_bad_file_is_one_sentence(tmp_path: Path, steps: Path, kind: str, sentence: str) -> None:
    with pytest.raises(ModelError, match=sentence):
        answers(made) if (made := model(damaged(tmp_path, kind), f"preprocessing={steps}")).identity else None


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", r"gone\.data is empty"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:dce8\nsize 344569044\n", "gone.data is a pointer of"),
        (bytes(8), r"cannot load .*external\.onnx .*Export it again"),
    ],
)
def test_external_weights_that_are_none_are_never_scored(
    tmp_path: Path, steps: Path, data: bytes, sentence: str
) -> None:
    path = save_graph(tmp_path / "external.onnx", external="gone.data")
    (tmp_path / "gone.data").write_bytes(data)
    with pytest.raises(ModelError, match=sentence):
        answers(model(path, f"preprocessing={steps}"))


def test_newer_opsets_that_onnxruntime_knows_are_computed(tmp_path: Path, steps: Path) -> None:
    """ONNX Runtime 1.22, the lowest version, knows opset 22."""
    made = model(save_graph(tmp_path / "m.onnx", opset=22), f"preprocessing={steps}")
    np.testing.assert_allclose(answers(made), expected(), atol=1e-5)


def test_an_absent_provider_is_refused(tmp_path: Path, steps: Path) -> None:
    """No build of ONNX Runtime has all providers."""
    import onnxruntime

    there = onnxruntime.get_available_providers()
    absent = [engine for engine, provider in onnx_graph.PROVIDERS.items() if provider not in there]
    assert absent
    for engine in absent:
        with pytest.raises(ModelError, match=f"engine={engine} needs .*Provider, and this onnxruntime has .*CPU"):
            answers(model(save_graph(tmp_path / "m.onnx"), f"preprocessing={steps}", f"engine={engine}"))


def test_an_odd_batch_is_an_error_of_its_requests(tmp_path: Path, steps: Path) -> None:
    made = model(save_graph(tmp_path / "m.onnx"), f"preprocessing={steps}")
    with pytest.raises(RuntimeError, match="Got invalid dimensions"):
        made.classify([np.zeros((9, 9, 3), np.uint8)])


def test_memory_that_runs_out_is_an_error_of_memory(tmp_path: Path, steps: Path) -> None:
    made = model(save_huge_graph(tmp_path / "m.onnx"), f"preprocessing={steps}")
    assert answers(made, COLOURS[:1]).shape == (1, 4)
    with pytest.raises(MemoryError, match="allocate memory") as raised:
        answers(made, COLOURS[:2])
    assert out_of_memory(raised.value)


@pytest.mark.deep
def test_threads_change_no_byte(tmp_path: Path, steps: Path) -> None:
    """Convolutions and products of a size that ONNX Runtime divides among its threads."""
    draw = np.random.default_rng(0)
    kernels = [draw.normal(size=shape).astype(np.float32) for shape in ((64, 3, 3, 3), (64, 64, 3, 3), (64, 4))]
    nodes = [
        helper.make_node("Conv", ["images", "k0"], ["first"], pads=[1] * 4),
        helper.make_node("Relu", ["first"], ["relu"]),
        helper.make_node("Conv", ["relu", "k1"], ["second"], pads=[1] * 4),
        helper.make_node("ReduceMean", ["second", "axes"], ["means"], keepdims=0),
        helper.make_node("MatMul", ["means", "k2"], ["logits"]),
    ]
    weights = [numpy_helper.from_array(kernel, f"k{number}") for number, kernel in enumerate(kernels)]
    shapes = (("images", ("n", 3, 64, 64)), ("logits", ("n", 4)))
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes]
    axes = numpy_helper.from_array(np.array([2, 3]), "axes")
    graph = helper.make_graph(nodes, "wide", ports[:1], ports[1:], [*weights, axes])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    onnx.save(proto, tmp_path / "m.onnx")
    steps.write_text(json.dumps(HALF | {"input_size": [3, 64, 64]}), encoding="utf-8")
    images = [Image.fromarray(draw.integers(0, 256, (64, 64, 3), np.uint8)) for _ in range(9)]
    made = [model(tmp_path / "m.onnx", f"preprocessing={steps}", f"threads={count}") for count in (1, 2, 4)]
    rows = [each.classify([each.prepare(image) for image in images]) for each in made]
    assert rows[0].tobytes() == rows[1].tobytes() == rows[2].tobytes()
    assert all(each.identity.in_key == made[0].identity.in_key for each in made)
