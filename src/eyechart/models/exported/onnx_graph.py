"""Graphs in `.onnx` files, which ONNX Runtime computes."""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from itertools import chain
from math import prod
from pathlib import Path
from typing import Any

from eyechart.errors import ModelError
from eyechart.models.exported.graph import QUANTISED, Graph, Port, check_backend, check_file
from eyechart.models.exported.trial import try_to_load

PROVIDERS = {
    "cpu": "CPUExecutionProvider",
    "cuda": "CUDAExecutionProvider",
    "tensorrt": "TensorrtExecutionProvider",
    "openvino": "OpenVINOExecutionProvider",
}
SOFTMAXES = {"Softmax", "QLinearSoftmax"}
PASSED_ON = {"Identity", "Cast", "Reshape", "Flatten", "Squeeze", "Transpose", "QuantizeLinear", "DequantizeLinear"}
# operators after a softmax that keep its meaning
LOADING = """
import sys, onnxruntime
options = onnxruntime.SessionOptions()
options.log_severity_level = 4
if sys.argv[2] == "False":
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
try:
    onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
except Exception:
    pass
"""


class OnnxGraph(Graph):
    """A graph in an `.onnx` file; `optimise` lets ONNX Runtime fuse operators, which changes int8 numbers."""

    def __init__(self, path: Path, *, engine: str, threads: int, optimise: bool) -> None:
        self.path, self.engine, self.threads, self.optimise = path, engine, threads, optimise

    @cached_property
    def _proto(self) -> Any:
        """The graph without the tensors of external files."""
        import onnx
        from google.protobuf.message import DecodeError

        check_file(self.path)
        check_backend(self.path, "onnx")
        try:
            proto = onnx.load(self.path, load_external_data=False)
        except (DecodeError, OSError) as error:
            raise ModelError(
                f"{self.path} is no ONNX file, or is damaged ({error}). Fetch or export it again."
            ) from error
        if not proto.graph.node:
            raise ModelError(f"{self.path} holds no graph: it is cut, or no ONNX file. Fetch or export it again.")
        return proto

    @cached_property
    def files(self) -> tuple[Path, ...]:
        """The file and those of its external tensors."""
        from onnx.external_data_helper import uses_external_data

        tensors = chain(_tensors_in(self._proto.graph), *map(_tensors_in, self._proto.functions))
        names = {
            entry.value
            for tensor in tensors
            if uses_external_data(tensor)
            for entry in tensor.external_data
            if entry.key == "location"
        }
        if absent := [name for name in sorted(names) if not (self.path.parent / name).is_file()]:
            raise ModelError(
                f"{self.path} keeps its weights in {', '.join(absent)}, which is not beside it. Copy both files into "
                "one folder, or export it with external_data=False."
            )
        external = [self.path.parent / name for name in sorted(names)]
        for file in external:
            check_file(file)
        return (self.path, *external)

    @property
    def metadata(self) -> Mapping[str, str]:
        """The `metadata_props` of the file."""
        return {entry.key: entry.value for entry in self._proto.metadata_props}

    def scalar(self, name: str) -> float | None:
        """Return the only number of the weight with this last name, None without such a weight."""
        from onnx.numpy_helper import to_array

        for tensor in self._proto.graph.initializer:
            if tensor.name.rpartition(".")[2] == name and prod(tensor.dims) == 1:
                return float(to_array(tensor, base_dir=str(self.path.parent)).item())
        return None

    @cached_property
    def precision(self) -> str:
        """The precision by operators, then by the type of most weights."""
        operators = {node.op_type for node in self._proto.graph.node}
        for name, precision in QUANTISED.items():
            if name in operators:
                return precision
        sizes: Counter[int] = Counter()
        for tensor in self._proto.graph.initializer:
            sizes[tensor.data_type] += prod(tensor.dims)
        most = sizes.most_common(1)[0][0] if sizes else 1
        return {10: "float16", 16: "bfloat16"}.get(most, "float32")

    @property
    def engine_settings(self) -> Mapping[str, Any]:
        """The provider, and whether operators are fused."""
        return {"engine": PROVIDERS[self.engine], **({} if self.optimise else {"optimise": False})}

    @property
    def on_processor(self) -> bool:
        """Whether the provider is that of the processor."""
        return self.engine == "cpu"

    def ends_in_softmax(self, output: str) -> bool:
        """Return whether the last operator before an output is a softmax."""
        makers = {name: node for node in self._proto.graph.node for name in node.output}
        node = makers.get(output)
        while node is not None and node.op_type in PASSED_ON:
            node = makers.get(node.input[0])
        return node is not None and node.op_type in SOFTMAXES

    @cached_property
    def _session(self) -> Any:
        import onnxruntime

        wanted, there = PROVIDERS[self.engine], onnxruntime.get_available_providers()
        if wanted not in there:  # ONNX Runtime itself only warns, and computes on the processor
            raise ModelError(
                f"{self.path}: engine={self.engine} needs {wanted}, and this onnxruntime has {', '.join(there)}. "
                "Install the build of onnxruntime that has it, or write engine=cpu."
            )
        engine = f"ONNX Runtime {onnxruntime.__version__}"
        remedy = "Write optimise=false, or convert it again"
        try_to_load(self, LOADING, engine, str(self.optimise), remedy=remedy)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = self.threads, 4
        if not self.optimise:
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        with self._explained():
            session = onnxruntime.InferenceSession(str(self.path), options, providers=[wanted])
        if session.get_providers()[0] != wanted:
            raise ModelError(f"{self.path}: {wanted} does not start on this machine. Write engine=cpu, or repair it.")
        return session

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn an error of ONNX Runtime on loading into one sentence."""
        import onnxruntime

        try:
            yield
        except Exception as error:  # its errors have no common class
            text = " ".join(str(error).split())
            if "opset" in text.lower() or "Unsupported model IR version" in text:
                opset = next((item.version for item in self._proto.opset_import if item.domain in ("", "ai.onnx")), 0)
                raise ModelError(
                    f"{self.path} has opset {opset} and IR {self._proto.ir_version}, which onnxruntime "
                    f"{onnxruntime.__version__} does not know. Upgrade onnxruntime, or export with a lower opset."
                ) from error
            raise ModelError(
                f"ONNX Runtime {onnxruntime.__version__} cannot load {self.path} ({text[:200]}). Export it again."
            ) from error

    @cached_property
    def inputs(self) -> tuple[Port, ...]:
        """What the graph takes, without its weights."""
        weights = {tensor.name for tensor in self._proto.graph.initializer}
        return tuple(_port(value) for value in self._proto.graph.input if value.name not in weights)

    @cached_property
    def outputs(self) -> tuple[Port, ...]:
        """What the graph returns."""
        return tuple(_port(value) for value in self._proto.graph.output)

    def start(self) -> None:
        """Make the session of ONNX Runtime."""
        _ = self._session

    def run(self, feeds: Mapping[str, Any], output: str) -> Any:
        """Return one output. Raises MemoryError or RuntimeError, which the library's own errors are not."""
        session = self._session
        try:
            return session.run([output], dict(feeds))[0]
        except Exception as error:
            if any(text in str(error) for text in ("allocate memory", "BFCArena", "bad allocation", "bad_alloc")):
                raise MemoryError(str(error)) from error
            raise RuntimeError(str(error)) from error


def _tensors_in(graph: Any) -> Iterator[Any]:
    """Yield the tensors of a graph or function: weights, constants of its nodes, and those of graphs in its nodes."""
    yield from getattr(graph, "initializer", ())
    for sparse in getattr(graph, "sparse_initializer", ()):
        yield from (sparse.values, sparse.indices)
    for attribute in (attribute for node in graph.node for attribute in node.attribute):
        yield from (attribute.t, *attribute.tensors)
        for inner in (attribute.g, *attribute.graphs):
            yield from _tensors_in(inner)


def _port(value: Any) -> Port:
    """Return an input or output of ONNX; its type is one of NumPy's."""
    from onnx.helper import tensor_dtype_to_np_dtype

    tensor = value.type.tensor_type
    edges = tuple(edge.dim_value if edge.HasField("dim_value") else None for edge in tensor.shape.dim)
    return Port(value.name, tensor_dtype_to_np_dtype(tensor.elem_type), edges)
