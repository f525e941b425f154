"""Graphs of three nodes, whose answers are known: the mean of each channel times a weight."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

WEIGHTS = np.array([[1, 2, 3, 4], [5, 6, 7, 8], [9, 1, 2, 3]], np.float32)


def save_huge_graph(path: Path) -> Path:
    """Save a graph whose numbers between input and output take 4 terabytes for two images, and few for one."""
    nodes = [
        helper.make_node("Shape", ["images"], ["n"], end=1),
        helper.make_node("Sub", ["n", "one"], ["further"]),
        helper.make_node("Mul", ["further", "times"], ["most"]),
        helper.make_node("Add", ["most", "one"], ["many"]),
        helper.make_node("Concat", ["many", "many", "four"], ["edges"], axis=0),
        helper.make_node("ReduceMax", ["product", "first"], ["row"]),
        helper.make_node("Expand", ["row", "edges"], ["huge"]),
        helper.make_node("CumSum", ["huge", "axis"], ["sums"]),  # no engine leaves it out
        helper.make_node("ReduceMax", ["sums", "first"], ["logits"], keepdims=0),
    ]
    proto = onnx.load(save_graph(path, last=nodes))
    for name, values in {"one": [1], "times": [2**19], "four": [4], "first": [0], "axis": 0}.items():
        proto.graph.initializer.append(numpy_helper.from_array(np.array(values), name))
    onnx.save(proto, path)
    return path


def save_graph(
    path: Path,
    shape: Sequence[Any] = ("n", 3, 8, 8),
    *,
    type: int = TensorProto.FLOAT,  # noqa: A002
    last: Sequence[Any] = (),
    output: str = "logits",
    metadata: dict[str, str] | None = None,
    opset: int = 18,
    external: str = "",
    weights: NDArray[np.float32] = WEIGHTS,
) -> Path:
    """Save a graph that multiplies the channels' means with weights; `last` are the nodes behind it."""
    channels = 1 if len(shape) == 4 and shape[1] in (1, 3, "c") else 3
    axes = [2, 3] if channels == 1 else [1, 2]
    width = shape[1] if channels == 1 and shape[1] == 1 else 3
    first = [
        helper.make_node("Cast", ["images"], ["floats"], to=TensorProto.FLOAT),
        helper.make_node("ReduceMean", ["floats", "axes"], ["means"], keepdims=0),
        helper.make_node("MatMul", ["means", "weights"], ["product" if last else output]),
    ]
    graph = helper.make_graph(
        [*first, *last],
        "small",
        [helper.make_tensor_value_info("images", type, shape)],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, (shape[0], 4))],
        [numpy_helper.from_array(weights[:width], "weights"), numpy_helper.from_array(np.array(axes), "axes")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    helper.set_model_props(model, metadata or {})
    if external:
        onnx.save(model, path, save_as_external_data=True, location=external, size_threshold=60)
    else:
        onnx.save(model, path)
    return path


def save_both_towers(path: Path) -> Path:
    """Save both towers in one file, with the inputs and outputs that optimum writes; a text's feature is a sum."""
    proto = onnx.load(save_graph(path, ("n", 3, 96, 96), output="image_embeds"))
    proto.graph.node.extend(
        [
            helper.make_node("Mul", ["input_ids", "attention_mask"], ["masked"]),
            helper.make_node("Cast", ["masked"], ["numbers"], to=TensorProto.FLOAT),
            helper.make_node("ReduceSum", ["numbers", "last"], ["text_embeds"], keepdims=1),
        ]
    )
    proto.graph.initializer.append(numpy_helper.from_array(np.array([1]), "last"))
    for name in ("input_ids", "attention_mask"):
        proto.graph.input.append(helper.make_tensor_value_info(name, TensorProto.INT64, ("m", "length")))
    proto.graph.output.append(helper.make_tensor_value_info("text_embeds", TensorProto.FLOAT, ("m", 1)))
    onnx.save(proto, path)
    return path
