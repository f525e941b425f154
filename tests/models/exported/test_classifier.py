"""Classifiers in `.onnx` files: small graphs made here, and an exported EfficientNet-Lite0."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

from eyechart.errors import ModelError, SpecError
from eyechart.models.exported import onnx_graph
from eyechart.models.exported.classifier import OnnxClassifier
from eyechart.models.exported.graph import instructions
from eyechart.models.runtime.torch_runtime import out_of_memory
from eyechart.models.spec import parse_spec
from eyechart.models.weights.digests import set_digest_folder
from tests.models.exported.plain_images import COLOURS, HALF, answers, expected
from tests.onnx_graphs import WEIGHTS, save_graph, save_huge_graph


def model(path: Path, *parts: str) -> OnnxClassifier:
    return OnnxClassifier(parse_spec(f"onnx[{','.join([str(path), *parts])}]"))


@pytest.mark.parametrize("shape", [("n", 3, 8, 8), ("n", 8, 8, 3), ("n", 3, "h", "w")])
def test_channels_may_be_first_or_last(tmp_path: Path, steps: Path, shape: tuple[Any, ...]) -> None:
    made = model(save_graph(tmp_path / "m.onnx", shape), f"preprocessing={steps}")
    np.testing.assert_allclose(answers(made), expected(), atol=1e-5)


@pytest.mark.parametrize("shape", [("n", 3, 8, 8), ("n", 8, 8, 3)])
def test_a_graph_that_takes_bytes_gets_bytes(tmp_path: Path, steps: Path, shape: tuple[Any, ...]) -> None:
    made = model(save_graph(tmp_path / "m.onnx", shape, type=TensorProto.UINT8), f"preprocessing={steps}")
    np.testing.assert_allclose(answers(made), np.array(COLOURS) @ WEIGHTS, rtol=1e-6)


def test_halves_are_given_to_a_graph_that_takes_them(tmp_path: Path, steps: Path) -> None:
    made = model(save_graph(tmp_path / "m.onnx", type=TensorProto.FLOAT16), f"preprocessing={steps}")
    np.testing.assert_allclose(answers(made), expected(), atol=1e-2)


@pytest.mark.parametrize("fixed", [1, 3, 8])
def test_a_fixed_batch_is_filled(tmp_path: Path, steps: Path, fixed: int) -> None:
    made = model(save_graph(tmp_path / "m.onnx", (fixed, 3, 8, 8)), f"preprocessing={steps}")
    assert made.batch_size == fixed
    np.testing.assert_allclose(answers(made), expected(), atol=1e-5)


def test_another_batch_size_than_the_files_is_refused(tmp_path: Path, steps: Path) -> None:
    path = save_graph(tmp_path / "m.onnx", (4, 3, 8, 8))
    with pytest.raises(SpecError, match=r"batch_size=8, but m.onnx takes batches of 4 alone"):
        _ = model(path, f"preprocessing={steps}", "batch_size=8").batch_size


def test_probabilities_become_their_logarithms(tmp_path: Path, steps: Path) -> None:
    softmax = [helper.make_node("Softmax", ["product"], ["soft"]), helper.make_node("Identity", ["soft"], ["logits"])]
    logs = answers(model(save_graph(tmp_path / "m.onnx", last=softmax), f"preprocessing={steps}"))
    np.testing.assert_allclose(np.exp(logs).sum(axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(logs - logs[:, :1], expected() - expected()[:, :1], atol=1e-3)
    kept = answers(model(tmp_path / "m.onnx", f"preprocessing={steps}", "probabilities=false"))
    np.testing.assert_allclose(kept.sum(axis=1), 1, atol=1e-5)


def test_rows_that_add_up_to_one_without_a_softmax_are_asked_about(tmp_path: Path, steps: Path) -> None:
    nodes = [
        helper.make_node("Exp", ["product"], ["powers"]),
        helper.make_node("ReduceL1", ["powers", "last"], ["sum"], keepdims=1),
        helper.make_node("Div", ["powers", "sum"], ["logits"]),
    ]
    constant = helper.make_node("Constant", [], ["last"], value_ints=[1])
    path = save_graph(tmp_path / "m.onnx", last=[constant, *nodes])
    with pytest.raises(ModelError, match="rows that add up to 1, but its last operator is no softmax"):
        answers(model(path, f"preprocessing={steps}"))
    assert answers(model(path, f"preprocessing={steps}", "probabilities=true")).max() <= 0


def test_scores_are_found_by_name_among_several_outputs(tmp_path: Path, steps: Path) -> None:
    proto = onnx.load(save_graph(tmp_path / "m.onnx"))
    proto.graph.output.append(helper.make_tensor_value_info("means", TensorProto.FLOAT, ("n", 3)))
    onnx.save(proto, tmp_path / "m.onnx")
    np.testing.assert_allclose(answers(model(tmp_path / "m.onnx", f"preprocessing={steps}")), expected(), atol=1e-5)
    proto = onnx.load(save_graph(tmp_path / "m.onnx", output="out"))
    proto.graph.output.append(helper.make_tensor_value_info("means", TensorProto.FLOAT, ("n", 3)))
    onnx.save(proto, tmp_path / "m.onnx")
    with pytest.raises(ModelError, match=r"has the outputs out \(free, 4\), means \(free, 3\)\. Expected one"):
        answers(model(tmp_path / "m.onnx", f"preprocessing={steps}"))


def test_logits_beside_probabilities_are_taken_as_they_are(tmp_path: Path, steps: Path) -> None:
    proto = onnx.load(save_graph(tmp_path / "m.onnx"))
    proto.graph.node.append(helper.make_node("Softmax", ["logits"], ["soft"]))
    proto.graph.output.insert(0, helper.make_tensor_value_info("soft", TensorProto.FLOAT, ("n", 4)))
    onnx.save(proto, tmp_path / "m.onnx")
    np.testing.assert_allclose(answers(model(tmp_path / "m.onnx", f"preprocessing={steps}")), expected(), atol=1e-5)


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


def test_the_key_has_what_changes_numbers(tmp_path: Path, steps: Path) -> None:
    path = save_graph(tmp_path / "m.onnx")
    plain = model(path, f"preprocessing={steps}").identity
    assert plain.libraries.keys() == {"onnxruntime", "pillow"}
    assert (plain.processor["engine"], plain.dtype) == ("CPUExecutionProvider", "float32")
    assert "instructions" not in plain.processor
    for option in ("optimise=false", "probabilities=true", "engine=cuda"):
        assert model(path, f"preprocessing={steps}", option).identity.in_key != plain.in_key


@pytest.fixture
def dynamic(tmp_path: Path) -> Path:
    from onnxruntime.quantization import quantize_dynamic

    quantize_dynamic(save_graph(tmp_path / "m.onnx"), tmp_path / "int8.onnx")
    return tmp_path / "int8.onnx"


def test_dynamic_quantisation_is_answered_image_by_image(dynamic: Path, steps: Path) -> None:
    made = model(dynamic, f"preprocessing={steps}")
    assert (made.batch_size, made.identity.dtype) == (1, "int8 dynamic")
    assert "answered one by one" in made.model_note
    assert made.identity.processor["instructions"] == instructions() != "unknown"
    with pytest.raises(SpecError, match=r"batch_size=4\. The file is quantised dynamically.*Leave batch_size out"):
        _ = model(dynamic, f"preprocessing={steps}", "batch_size=4").batch_size


def test_an_answer_of_a_dynamically_quantised_file_is_its_images_own(dynamic: Path, steps: Path) -> None:
    made = model(dynamic, f"preprocessing={steps}")
    one_by_one = [answers(made, [colour]).tobytes() for colour in COLOURS]
    assert [answers(made, [colour]).tobytes() for colour in reversed(COLOURS)] == one_by_one[::-1]
    assert answers(made).tobytes() != b"".join(one_by_one)  # in one batch they share the scale of the activations


def test_a_statically_quantised_file_is_another_model(tmp_path: Path, steps: Path) -> None:
    from onnxruntime.quantization import CalibrationDataReader, quantize_static

    class Colours(CalibrationDataReader):
        def __init__(self) -> None:
            self.batches = iter([{"images": np.ones((1, 3, 8, 8), np.float32)}])

        def get_next(self) -> Any:
            return next(self.batches, None)

    path = save_graph(tmp_path / "m.onnx")
    quantize_static(path, tmp_path / "int8.onnx", Colours())
    made = model(tmp_path / "int8.onnx", f"preprocessing={steps}")
    assert (made.identity.dtype, made.batch_size) == ("int8", 16)
    assert made.identity.processor["instructions"] == instructions()
    assert made.identity.in_key != model(path, f"preprocessing={steps}").identity.in_key
    assert not np.array_equal(answers(made), expected())


def test_the_instructions_of_the_processor_are_those_of_linux(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for flags, name in (("avx2 avx512_vnni", "vnni"), ("avx2 avx_vnni", "vnni"), ("avx2", "no vnni")):
        (tmp_path / "cpuinfo").write_text(f"flags : {flags}\n")
        monkeypatch.setattr("eyechart.models.exported.graph.CPU_FLAGS", tmp_path / "cpuinfo")
        assert instructions() == name


def test_the_head_is_known_before_an_image(tmp_path: Path, steps: Path) -> None:
    path = save_graph(tmp_path / "m.onnx")
    head = model(path, f"preprocessing={steps}").head
    assert head is not None
    assert (head.outputs, head.imagenet) == (4, False)
    told = model(path, f"preprocessing={steps}", "imagenet=true").head
    assert told is not None
    assert told.imagenet


def test_a_folder_has_files_by_their_endings_and_the_preprocessing_above_them(tmp_path: Path) -> None:
    (tmp_path / "onnx").mkdir()
    save_graph(tmp_path / "onnx" / "model.onnx")
    save_graph(tmp_path / "model_q4.onnx")
    (tmp_path / "config.json").write_text(json.dumps({"pretrained_cfg": HALF}))
    whole, small = model(tmp_path), model(tmp_path, "file=q4")
    assert (whole.identity.name, small.identity.name) == ("model", "model_q4")
    for made in (whole, small):
        np.testing.assert_allclose(answers(made), expected(), atol=1e-5)
    with pytest.raises(ModelError, match=r"has no model_fp16\.onnx, .* it has model\.onnx, model_q4\.onnx\. Correct"):
        model(tmp_path, "file=fp16")
    with pytest.raises(SpecError, match=r"has file=q4, which chooses among the files of a folder\. Leave it out"):
        model(tmp_path / "model_q4.onnx", "file=q4")


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


@pytest.mark.parametrize(("name", "backend"), [("m.xml", "openvino"), ("m.tflite", "litert")])
def test_a_file_of_another_engine_is_told_its_backend(tmp_path: Path, steps: Path, name: str, backend: str) -> None:
    (tmp_path / name).write_text('<?xml version="1.0"?>\n<net name="m" version="11"></net>', encoding="utf-8")
    with pytest.raises(ModelError, match=rf"{name} is no file for onnx\[…\]\. Write {backend}\[{name},…\] for it"):
        _ = model(tmp_path / name, f"preprocessing={steps}").identity


def test_newer_opsets_that_onnxruntime_knows_are_computed(tmp_path: Path, steps: Path) -> None:
    made = model(save_graph(tmp_path / "m.onnx", opset=onnx.defs.onnx_opset_version()), f"preprocessing={steps}")
    np.testing.assert_allclose(answers(made), expected(), atol=1e-5)


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


def test_an_absent_provider_is_refused(tmp_path: Path, steps: Path) -> None:
    """No build of ONNX Runtime has all providers."""
    import onnxruntime

    there = onnxruntime.get_available_providers()
    absent = [engine for engine, provider in onnx_graph.PROVIDERS.items() if provider not in there]
    assert absent
    for engine in absent:
        with pytest.raises(ModelError, match=f"engine={engine} needs .*Provider, and this onnxruntime has .*CPU"):
            answers(model(save_graph(tmp_path / "m.onnx"), f"preprocessing={steps}", f"engine={engine}"))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("onnx[]", "names no file"),
        ("onnx[m.onnx,engine=gpu]", "Expected one of cpu, cuda, tensorrt, openvino"),
        ("onnx[m.onnx,threads=0]", "whole number of at least 1"),
        ("onnx[m.onnx,optimise=off]", "Expected true or false"),
        ("onnx[m.onnx,thread=2]", "did you mean threads"),
    ],
)
def test_what_is_asked_for_must_exist(text: str, sentence: str) -> None:
    with pytest.raises(SpecError, match=sentence):
        OnnxClassifier(parse_spec(text))


def test_a_file_that_ends_its_process_is_one_sentence(
    tmp_path: Path, steps: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onnx_graph, "LOADING", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    with pytest.raises(ModelError, match=r"m\.onnx crashes ONNX Runtime .* Write optimise=false, or convert it again"):
        answers(model(save_graph(tmp_path / "m.onnx"), f"preprocessing={steps}"))


def test_a_file_that_loaded_once_is_not_tried_again(
    tmp_path: Path, steps: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_digest_folder(tmp_path / "digests")
    try:
        path = save_graph(tmp_path / "m.onnx")
        answers(model(path, f"preprocessing={steps}"))
        monkeypatch.setattr(onnx_graph, "LOADING", "import os; os.abort()")
        answers(model(path, f"preprocessing={steps}"))
        with pytest.raises(ModelError, match="crashes ONNX Runtime"):
            answers(model(save_graph(path, metadata={"other": "bytes"}), f"preprocessing={steps}"))
    finally:
        set_digest_folder(None)


def test_rows_that_are_not_one_for_each_image_are_refused(tmp_path: Path, steps: Path) -> None:
    first = helper.make_node("ReduceMax", ["product", "edge"], ["logits"])
    proto = onnx.load(save_graph(tmp_path / "m.onnx", last=[first]))
    proto.graph.initializer.append(numpy_helper.from_array(np.array([0]), "edge"))
    onnx.save(proto, tmp_path / "m.onnx")
    with pytest.raises(ModelError, match=r"m\.onnx returns 1 rows of logits for 4 of images\. Expected one for each"):
        answers(model(tmp_path / "m.onnx", f"preprocessing={steps}"))


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


def test_no_torch_is_imported_without_like(tmp_path: Path, steps: Path) -> None:
    save_graph(tmp_path / "m.onnx")
    code = f"""
import sys
for name in ("torch", "torchvision", "timm", "transformers", "open_clip"):
    sys.modules[name] = None  # an import of it fails
from PIL import Image
from eyechart.models.registry import create_model
from eyechart.models.spec import parse_spec
model = create_model(parse_spec("onnx[{tmp_path / "m.onnx"},preprocessing={steps}]"), device="cpu", offline=True)
assert model.identity and model.head and model.batch_size
assert model.classify([model.prepare(Image.new("RGB", (16, 12)))]).shape == (1, 4)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
