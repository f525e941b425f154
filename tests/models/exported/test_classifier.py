"""Exported classifiers: which output has the scores, and whether they are logits or probabilities."""

import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from eyechart.errors import ModelError, SpecError
from eyechart.models.exported.classifier import OnnxClassifier
from eyechart.models.spec import parse_spec
from tests.models.exported.plain_images import answers, expected, open_file
from tests.onnx_graphs import save_graph

model = partial(open_file, OnnxClassifier)


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


def test_the_head_is_known_before_an_image(tmp_path: Path, steps: Path) -> None:
    path = save_graph(tmp_path / "m.onnx")
    head = model(path, f"preprocessing={steps}").head
    assert (head.outputs, head.imagenet) == (4, False)
    told = model(path, f"preprocessing={steps}", "imagenet=true").head
    assert told.imagenet


@pytest.mark.parametrize("option", ["", "like=timm[]"])
def test_names_are_read_where_the_width_is_free_and_beside_an_original_of_other_classes(
    tmp_path: Path, steps: Path, option: str
) -> None:
    proto = onnx.load(save_graph(tmp_path / "m.onnx", metadata={"eyechart.classes": '["d", "b", "a", "c"]'}))
    proto.graph.output[0].type.tensor_type.shape.dim[1].dim_param = "classes"
    onnx.save(proto, tmp_path / "m.onnx")
    head = model(tmp_path / "m.onnx", f"preprocessing={steps}", *filter(None, [option])).head
    assert (head.outputs, head.imagenet, head.names) == (4, False, ("d", "b", "a", "c"))


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
