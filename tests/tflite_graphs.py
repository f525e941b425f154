"""Graphs in `.tflite` files, written by LiteRT's schema: small ones whose answers are known, and EfficientNet-Lite0."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray

from tests.onnx_graphs import WEIGHTS

TYPES = {"float32": 0, "float16": 1, "int32": 2, "uint8": 3, "int64": 4, "int8": 9}
RELU6 = 3  # of ActivationFunctionType
OPTIONS = {
    "ADD": "AddOptions",
    "CONV_2D": "Conv2DOptions",
    "DEPTHWISE_CONV_2D": "DepthwiseConv2DOptions",
    "FULLY_CONNECTED": "FullyConnectedOptions",
    "MEAN": "ReducerOptions",
    "MUL": "MulOptions",
    "REDUCE_MAX": "ReducerOptions",
    "SHAPE": "ShapeOptions",
    "SOFTMAX": "SoftmaxOptions",
}


class Writer:
    """A graph that is being written."""

    def __init__(self) -> None:
        from ai_edge_litert import schema_py_generated

        self.schema = schema_py_generated
        self.tensors: list[Any] = []
        self.buffers = [self.schema.BufferT()]
        self.codes: list[Any] = []
        self.operators: list[Any] = []

    def _buffer(self, data: bytes) -> int:
        self.buffers.append(self.schema.BufferT(data=np.frombuffer(data, np.uint8)))
        return len(self.buffers) - 1

    def tensor(
        self, shape: Sequence[int | None], kind: str = "float32", name: str = "", scale: float = 0, zero: int = 0
    ) -> int:
        """Add a tensor without data; None is a free edge."""
        signature = [-1 if edge is None else edge for edge in shape] if None in shape else None
        scaled = self.schema.QuantizationParametersT(scale=[scale], zeroPoint=[zero]) if scale else None
        self.tensors.append(
            self.schema.TensorT(
                shape=[edge or 1 for edge in shape],
                shapeSignature=signature,
                type=TYPES[kind],
                name=name or f"t{len(self.tensors)}",
                quantization=scaled,
                hasRank=True,
            )
        )
        return len(self.tensors) - 1

    def constant(self, values: NDArray[Any], scale: float = 0, zero: int = 0) -> int:
        """Add a tensor with data."""
        number = self.tensor(values.shape, str(values.dtype), scale=scale, zero=zero)
        self.tensors[number].buffer = self._buffer(values.tobytes())
        return number

    def operator(
        self, name: str, inputs: Sequence[int], output: int, *, custom: str = "", version: int = 1, **options: Any
    ) -> int:
        """Add an operator with its options, and return its output."""
        code = getattr(self.schema.BuiltinOperator, name)
        self.codes.append(self.schema.OperatorCodeT(min(code, 127), custom or None, version, code))
        made = self.schema.OperatorT(len(self.codes) - 1, [*inputs], [output])
        if kind := OPTIONS.get(name):
            made.builtinOptionsType = getattr(self.schema.BuiltinOptions, kind)
            made.builtinOptions = getattr(self.schema, f"{kind}T")(**options)
        self.operators.append(made)
        return output

    def save(
        self,
        path: Path,
        inputs: Sequence[int],
        outputs: Sequence[int],
        metadata: Mapping[str, bytes] | None = None,
        files: Mapping[str, str] | None = None,
        signature: Mapping[str, int] | None = None,
    ) -> Path:
        """Write the graph; `files` are zipped onto its end, and `signature` names outputs."""
        entries = [self.schema.MetadataT(name, self._buffer(data)) for name, data in (metadata or {}).items()]
        named = [self.schema.TensorMapT(name, number) for name, number in (signature or {}).items()]
        graph = self.schema.SubGraphT(self.tensors, [*inputs], [*outputs], self.operators, "main")
        model = self.schema.ModelT(3, self.codes, [graph], "small", self.buffers, metadata=entries)
        if named:
            model.signatureDefs = [self.schema.SignatureDefT(inputs=[], outputs=named, signatureKey="serving_default")]
        import flatbuffers

        builder = flatbuffers.Builder(1024)
        builder.Finish(model.Pack(builder), b"TFL3")
        path.write_bytes(builder.Output())
        if files:
            with ZipFile(path, "a") as archive:
                for name, text in files.items():
                    archive.writestr(name, text)
        return path


def save_tflite(
    path: Path,
    shape: Sequence[int | None] = (None, 8, 8, 3),
    *,
    kind: str = "float32",
    scale: float = 0,
    zero: int = 0,
    last: Sequence[str] = (),
    beside: bool = False,
    weights: NDArray[np.float32] = WEIGHTS,
    **more: Any,
) -> Path:
    """Save a graph that multiplies the channels' means with weights; `last` are the operators behind it.

    An input of another kind is dequantised or cast first; `beside` returns the means, too.
    """
    graph, count = Writer(), shape[0]
    image = graph.tensor(shape, kind, "images", scale, zero)
    floats = image if kind == "float32" else graph.tensor(shape)
    if kind != "float32":
        graph.operator("DEQUANTIZE" if scale else "CAST", [image], floats)
    axes = [2, 3] if shape[1] == 3 else [1, 2]
    if len(shape) == 4:
        means = graph.tensor((count, 1 if shape[1] != 3 and shape[3] != 3 else 3), name="means")
        pooled = [floats, graph.constant(np.array(axes, np.int32))]
        graph.operator("MEAN", pooled, means)
    else:
        means = floats
    width = graph.tensors[means].shape[-1]
    kernel = graph.constant(np.ascontiguousarray(np.resize(weights, (width, 4)).T))
    output = graph.tensor((count, 4), name="product" if last else "logits")
    graph.operator("FULLY_CONNECTED", [means, kernel, -1], output)
    for number, name in enumerate(last, start=1):
        options = {"beta": 1.0} if name == "SOFTMAX" else {}
        inputs = [output, graph.constant(np.array([-1, 4], np.int32))] if name == "RESHAPE" else [output]
        output = graph.operator(name, inputs, graph.tensor((count, 4), name=f"scores{number}"), **options)
    return graph.save(path, [image], [*([means] if beside else []), output], **more)


def save_huge_tflite(path: Path) -> Path:
    """Save a graph whose numbers between input and output take 21 megabytes for one image, and n⁴ times that for n."""
    graph = Writer()
    image = graph.tensor((None, 4, 4, 3), name="images")
    shape = graph.operator("SHAPE", [image], graph.tensor((4,), "int32"), outType=TYPES["int32"])
    for _ in range(2):
        shape = graph.operator("MUL", [shape, shape], graph.tensor((4,), "int32"))
    axes = [graph.constant(np.array(axes, np.int32)) for axes in ([0, 1, 2, 3], [1, 2])]
    mean = graph.tensor((1, 1, 1, 1))
    graph.operator("MEAN", [image, axes[0]], mean, keepDims=True)
    huge, logits = graph.tensor((None, None, None, 81)), graph.tensor((None, 81), name="logits")
    graph.operator("BROADCAST_TO", [mean, shape], huge, version=2)
    graph.operator("REDUCE_MAX", [huge, axes[1]], logits)
    return graph.save(path, [image], [logits])


def save_lite0(path: Path, classifier: Any) -> Path:
    """Save timm's EfficientNet-Lite0, whose batch normalisation is folded into its convolutions."""
    graph, size = Writer(), 224
    image = graph.tensor((None, size, size, 3), name="images")

    def convolve(values: int, convolution: Any, activation: int) -> int:
        apart, stride = convolution.groups > 1, convolution.stride[0]
        order = (1, 2, 3, 0) if apart else (0, 2, 3, 1)
        parts = (convolution.weight.detach().permute(order).contiguous(), convolution.bias.detach())
        weights = [graph.constant(part.numpy().copy()) for part in parts]
        edge = -(-graph.tensors[values].shape[1] // stride)
        output = graph.tensor((None, edge, edge, convolution.out_channels))
        options = {"strideW": stride, "strideH": stride, "fusedActivationFunction": activation}
        if apart:
            return graph.operator("DEPTHWISE_CONV_2D", [values, *weights], output, **options, depthMultiplier=1)
        return graph.operator("CONV_2D", [values, *weights], output, **options)

    values = convolve(image, classifier.conv_stem, RELU6)
    for block in (block for stage in classifier.blocks for block in stage):
        names = ("conv_pw", "conv_dw", "conv_pwl") if hasattr(block, "conv_pwl") else ("conv_dw", "conv_pw")
        found = values
        for number, name in enumerate(names, start=1):
            activation = RELU6 if number < len(names) else 0
            found = convolve(found, getattr(block, name), activation)
        if block.has_skip:
            sum_ = graph.tensor((None, *graph.tensors[found].shape[1:]))
            found = graph.operator("ADD", [values, found], sum_)
        values = found
    values = convolve(values, classifier.conv_head, RELU6)
    axes = graph.constant(np.array([1, 2], np.int32))
    means = graph.tensor((None, graph.tensors[values].shape[3]))
    graph.operator("MEAN", [values, axes], means)
    last = classifier.classifier
    dense = [graph.constant(part.detach().numpy().copy()) for part in (last.weight, last.bias)]
    logits = graph.tensor((None, len(last.bias)), name="logits")
    graph.operator("FULLY_CONNECTED", [means, *dense], logits)
    return graph.save(path, [image], [logits])
