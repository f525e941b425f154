"""What is in a `.tflite` file, read by LiteRT's schema without computing anything."""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from eyechart.errors import ModelError
from eyechart.models.exported.graph import Port, check_backend, check_file

IDENTIFIER = b"TFL3"
FLOAT32 = 0
TYPES: Mapping[int, Any] = {
    FLOAT32: np.float32, 1: np.float16, 2: np.int32, 3: np.uint8, 4: np.int64, 7: np.int16, 9: np.int8, 16: np.uint16,
}  # fmt: skip
PRECISIONS = {FLOAT32: "float32", 1: "float16", 3: "int8", 9: "int8", 17: "int4"}  # by the types of weights
PASSED_ON = {"DEQUANTIZE", "QUANTIZE", "CAST", "RESHAPE", "SQUEEZE"}  # operators after a softmax that keep its meaning


class LiteRtFile:
    """The first graph in a `.tflite` file.

    Attributes:
        path: The file.
        inputs: The numbers of the input tensors, by the names of the signature or of the tensors.
        outputs: The numbers of the output tensors, by the same.
        entries: The entries of its metadata.
        precision: The precision by operators, then by the type of most weights.

    Raises:
        ModelError: The file is none of LiteRT, is damaged, or does not hold the whole graph.
    """

    def __init__(self, path: Path) -> None:
        from ai_edge_litert import schema_py_generated as schema

        check_file(path)
        check_backend(path, "litert")
        data = path.read_bytes()
        if data[4:8] != IDENTIFIER:
            raise ModelError(f"{path} is no file of LiteRT, which has {IDENTIFIER.decode()} as its bytes 5 to 8.")
        self.path = path
        try:
            model = schema.ModelT.InitFromPackedBuf(data)
            graphs = model.subgraphs or []
            whole = bool(graphs and graphs[0].operators) and not model.externalBuffers
            if whole:
                self._graph, self._codes = graphs[0], model.operatorCodes
                signatures = [each for each in model.signatureDefs or () if each.subgraphIndex == 0]
                self.inputs = self._named(self._graph.inputs, signatures[0].inputs if signatures else ())
                self.outputs = self._named(self._graph.outputs, signatures[0].outputs if signatures else ())
                parts = [() if buffer.data is None else buffer.data for buffer in model.buffers]
                self.entries = {entry.name.decode(): bytes(parts[entry.buffer]) for entry in model.metadata or ()}
                self.precision = self._precision([len(part) > 0 for part in parts])
        except Exception as error:  # what lies outside the file raises errors of many classes
            raise ModelError(f"{path} is cut or damaged ({error}). Fetch or convert it again.") from error
        if not whole:
            fault = "keeps its weights in other files" if model.externalBuffers else "holds no operator"
            raise ModelError(f"{path} {fault}. Convert it again, into one file with the whole graph.")

    def _named(self, numbers: Sequence[int], ports: Sequence[Any] | None) -> Mapping[str, int]:
        names = {port.tensorIndex: port.name.decode() for port in ports or ()}
        return {names.get(number) or self._graph.tensors[number].name.decode(): int(number) for number in numbers}

    def port(self, name: str, number: int) -> Port:
        """Return an input or output; one with a scale and a zero point is one of floats."""
        tensor = self._graph.tensors[number]
        edges = tensor.shape if tensor.shapeSignature is None else tensor.shapeSignature
        kind = np.float32 if self.scale(number)[0] else self.type(number)
        return Port(name, kind, tuple(None if edge < 0 else int(edge) for edge in edges))

    def type(self, number: int) -> Any:
        """Return the type of a tensor in NumPy, or its number in LiteRT for another."""
        kind = self._graph.tensors[number].type
        return TYPES.get(kind, str(kind))

    def scale(self, number: int) -> tuple[float, int]:
        """Return the scale and the zero point of a tensor, a scale of 0 for one that has none."""
        quantisation, kind = self._graph.tensors[number].quantization, self._graph.tensors[number].type
        if kind == FLOAT32 or quantisation is None or quantisation.scale is None or len(quantisation.scale) != 1:
            return 0.0, 0
        points = quantisation.zeroPoint
        return float(quantisation.scale[0]), 0 if points is None or len(points) == 0 else int(points[0])

    @property
    def custom(self) -> tuple[str, ...]:
        """The names of operators that are not LiteRT's own, such as FlexErf of TensorFlow."""
        return tuple(code.customCode.decode() for code in self._codes if code.customCode)

    def _precision(self, filled: Sequence[bool]) -> str:
        sizes: Counter[int] = Counter()
        for operator in self._graph.operators:
            first, *others = [self._graph.tensors[number] for number in operator.inputs[:2] if number >= 0] or [None]
            whole = others and PRECISIONS.get(others[0].type, "").startswith("int")
            if whole and first.type == FLOAT32:
                return "int8 dynamic"  # the activations are quantised while it computes
        for tensor in self._graph.tensors:
            if filled[tensor.buffer]:
                sizes[tensor.type] += prod(tensor.shape)
        return PRECISIONS.get(sizes.most_common(1)[0][0], "float32") if sizes else "float32"

    def ends_in_softmax(self, output: str) -> bool:
        """Return whether the last operator before an output is a softmax."""
        makers = {number: operator for operator in self._graph.operators for number in operator.outputs}
        operator = makers.get(self.outputs[output])
        while operator is not None and self._name(operator) in PASSED_ON:
            operator = makers.get(operator.inputs[0])
        return operator is not None and self._name(operator) == "SOFTMAX"

    def _name(self, operator: Any) -> str:
        """Return the name of an operator, such as CONV_2D."""
        from ai_edge_litert.schema_py_generated import BuiltinOperator

        code = self._codes[operator.opcodeIndex]
        number = max(code.builtinCode, code.deprecatedBuiltinCode)  # the latter has no numbers above 127
        return next((name for name, value in vars(BuiltinOperator).items() if value == number), str(number))
