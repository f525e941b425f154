"""Graphs in OpenVINO's `.xml` files with their `.bin`, or in `.onnx` files, which OpenVINO computes."""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from eyechart.errors import ModelError
from eyechart.models.exported.graph import QUANTISED, Graph, Port, check_file
from eyechart.models.exported.onnx_graph import OnnxGraph

TYPES: Mapping[str, Any] = {
    "f16": np.float16, "f32": np.float32, "f64": np.float64, "i8": np.int8, "i16": np.int16, "i32": np.int32,
    "i64": np.int64, "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
}  # fmt: skip
PASSED_ON = {"Convert", "Reshape", "Squeeze", "Transpose"}  # operators after a softmax that change no number
SCALED = {"Subtract", "Multiply"}  # those between whole numbers and floats, behind a FakeQuantize


class OpenVinoGraph(Graph):
    """A graph that OpenVINO computes on the processor, its float layers in `hint`, whatever OpenVINO itself prefers."""

    def __init__(self, path: Path, *, hint: str, threads: int) -> None:
        self.path, self.hint, self.threads = path, hint, threads

    @cached_property
    def files(self) -> tuple[Path, ...]:
        """The file, and the `.bin` beside an `.xml` or the external tensors of an `.onnx` file."""
        check_file(self.path)
        if self.path.suffix == ".onnx" and b"location" in self.path.read_bytes():
            return OnnxGraph(self.path, engine="cpu", threads=self.threads, optimise=True).files
        if self.path.suffix != ".xml":
            return (self.path,)
        weights = self.path.with_suffix(".bin")
        if not weights.is_file():
            raise ModelError(
                f"The model file {weights} does not exist. A model of OpenVINO is an .xml file with a .bin file beside "
                "it. Copy both."
            )
        check_file(weights)
        return (self.path, weights)

    @cached_property
    def _model(self) -> Any:
        import openvino

        try:
            return openvino.Core().read_model(str(self.files[0]))
        except RuntimeError as error:
            raise ModelError(
                f"OpenVINO {openvino.__version__} cannot read {self.path} ({_reason(error)}). Convert it again."
            ) from error

    @cached_property
    def metadata(self) -> Mapping[str, str]:
        """What exporters write into `rt_info`: `model_info`, and in `framework` the metadata of an `.onnx` file.

        Ultralytics writes the rest into `metadata.yaml` beside an `.xml`.
        """
        information = dict(self._model.get_rt_info())
        return {
            **dict(_flatten(information.get("framework", {}))),
            **dict(_flatten({"model_info": information.get("model_info", {})})),
            **(_read_yaml(self.path.with_name("metadata.yaml")) if self.path.suffix == ".xml" else {}),
        }

    @cached_property
    def precision(self) -> str:
        """The precision by operators, then by the type of most weights."""
        if self.path.suffix == ".onnx" and b"DynamicQuantizeLinear" in self.path.read_bytes():
            return "int8 dynamic"  # OpenVINO replaces this operator by several others
        sizes: Counter[str] = Counter()
        for node in self._model.get_ops():
            if (kind := node.get_type_name()) in QUANTISED:
                return QUANTISED[kind]
            if kind == "Constant":
                sizes[node.get_element_type().get_type_name()] += prod(node.get_output_shape(0))
        return {"f16": "float16", "bf16": "bfloat16"}.get(sizes.most_common(1)[0][0] if sizes else "f32", "float32")

    @property
    def engine_settings(self) -> Mapping[str, Any]:
        """The engine, and the precision of float layers."""
        return {"engine": "OpenVINO", "precision": self.hint}

    def ends_in_softmax(self, output: str) -> bool:
        """Return whether the last operator before an output is a softmax."""
        (port,) = (port for port, named in zip(self._model.outputs, self.outputs, strict=True) if named.name == output)
        node, passed = port.get_node().input_value(0).get_node(), set[str]()
        while (kind := node.get_type_name()) in PASSED_ON | SCALED | {"FakeQuantize"}:
            passed.add(kind)
            node = node.input_value(0).get_node()
        return kind == "Softmax" and ("FakeQuantize" in passed or passed.isdisjoint(SCALED))

    @cached_property
    def _compiled(self) -> Any:
        import openvino

        settings = {
            "INFERENCE_PRECISION_HINT": self.hint,
            "PERFORMANCE_HINT": "LATENCY",
            "NUM_STREAMS": "1",
            "INFERENCE_NUM_THREADS": str(self.threads),
        }
        try:
            compiled = openvino.Core().compile_model(self._model, "CPU", settings)
        except RuntimeError as error:
            remedy = (
                "Free memory, or export the file with a smaller batch or smaller images"
                if _is_memory(error)
                else f"{'' if self.hint == 'f32' else 'Write precision=f32, or '}convert the file again".capitalize()
            )
            raise ModelError(
                f"OpenVINO {openvino.__version__} cannot compute {self.path} in {self.hint} ({_reason(error)}). "
                f"{remedy}."
            ) from error
        used = compiled.get_property("INFERENCE_PRECISION_HINT").get_type_name()
        if used != self.hint:  # without a word, OpenVINO takes one that the processor has
            raise ModelError(
                f"{self.path}: OpenVINO {openvino.__version__} computes in {used} on this processor where {self.hint} "
                f"is asked for. Write precision={used}, or precision=f32, which every processor has."
            )
        return compiled

    @cached_property
    def _request(self) -> Any:
        return self._compiled.create_infer_request()

    @cached_property
    def inputs(self) -> tuple[Port, ...]:
        """What the graph takes."""
        return tuple(map(_port, self._model.inputs))

    @cached_property
    def outputs(self) -> tuple[Port, ...]:
        """What the graph returns."""
        return tuple(map(_port, self._model.outputs))

    def start(self) -> None:
        """Compile the graph."""
        _ = self._compiled

    def run(self, feeds: Mapping[str, Any], output: str) -> Any:
        """Return one output. Raises MemoryError or RuntimeError, which OpenVINO's own errors are."""
        try:
            # With one thread, a synchronous call whose memory runs out returns the output of the call before.
            self._request.start_async(dict(feeds))
            self._request.wait()
        except RuntimeError as error:
            if _is_memory(error):
                del self._request, self._compiled  # they would ask for the same memory again, whatever the batch
                raise MemoryError(_reason(error)) from error
            raise RuntimeError(_reason(error)) from error
        (index,) = (index for index, port in enumerate(self.outputs) if port.name == output)
        return np.array(self._request.get_output_tensor(index).data)


def _is_memory(error: RuntimeError) -> bool:
    """Return whether an error of OpenVINO means that memory ran out."""
    return any(text in str(error) for text in ("Failed to allocate", "bad_alloc", "bad allocation"))


def _reason(error: RuntimeError) -> str:
    """Return the last line of an error of OpenVINO; those before it name its source files."""
    return str(error).strip().splitlines()[-1].strip()[:200]


def _read_yaml(path: Path) -> Mapping[str, str]:
    """Return the fields of a YAML file as texts, none without the file. Raises ModelError for another content."""
    import yaml

    if not path.is_file():
        return {}
    try:
        read = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())
        raise ModelError(f"{path} is no YAML file ({reason[:200]}). Correct or remove it.") from error
    if not isinstance(read, Mapping):
        raise ModelError(f"{path} holds no fields with names. Correct or remove it.")
    return {str(name): str(value) for name, value in read.items()}


def _flatten(section: Any, before: str = "") -> Iterator[tuple[str, str]]:
    """Yield the texts of a section by name; one within another has both names, with a space between them."""
    for name, item in section.items():
        value = getattr(item, "value", item)
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{before}{name} ")
        else:
            yield f"{before}{name}", str(value)


def _port(port: Any) -> Port:
    """Return an input or output of OpenVINO; one without a name has that of its node."""
    kind = port.get_element_type().get_type_name()
    name = port.get_any_name() if port.get_names() else port.get_node().get_friendly_name()
    edges = tuple(None if edge.is_dynamic else edge.get_length() for edge in port.get_partial_shape())
    return Port(name, TYPES.get(kind, kind), edges)
