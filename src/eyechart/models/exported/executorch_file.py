"""What is in a `.pte` file, read by ExecuTorch's own readers without computing anything."""

import json
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from eyechart.errors import ModelError
from eyechart.models.exported.graph import Port, check_backend, check_file

IDENTIFIER, METHOD = b"ET", "forward"
XNNPACK = "XnnpackBackend"  # the delegate whose part of a file can be read
TYPES: Mapping[int, Any] = {
    0: np.uint8, 1: np.int8, 2: np.int16, 3: np.int32, 4: np.int64, 5: np.float16, 6: np.float32, 7: np.float64,
}  # fmt: skip
PRECISIONS = {"qd": "int8 dynamic", "int4": "int4", "int8": "int8", "fp16": "float16"}  # by parts of XNNPACK's types
INFINITE = re.compile(r"([:\[,]\s*[-+]?)(inf|nan)\b")  # as FlatBuffers writes them
NOISE = r"(read|open)_text is deprecated|`torch\.jit\.script_method` is deprecated|This API is experimental"


@contextmanager
def quiet() -> Iterator[None]:
    """Leave out what ExecuTorch warns about at its own import."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", NOISE)
        yield


class ExecuTorchFile:
    """The method `forward` in a `.pte` file.

    Raises:
        ModelError: The file is none of ExecuTorch, is damaged, or has no such method.
    """

    def __init__(self, path: Path) -> None:
        check_file(path)
        check_backend(path, "executorch")
        data = path.read_bytes()
        if data[4:6] != IDENTIFIER:
            raise ModelError(f"{path} is no file of ExecuTorch, which has {IDENTIFIER.decode()} as its bytes 5 and 6.")
        with quiet():
            from executorch.exir._serialize._program import deserialize_pte_binary
        try:
            program = deserialize_pte_binary(data).program
            plans = {plan.name: plan for plan in program.execution_plan}
            self._plan: Any = plans.get(METHOD)
            self._delegated = [_read_delegate(each, program) for each in self._plan.delegates] if self._plan else []
        except Exception as error:  # its errors have no common class
            raise ModelError(f"{path} is cut or damaged ({error}). Fetch or export it again.") from error
        if self._plan is None:
            raise ModelError(f"{path} has the methods {', '.join(plans)}. Expected {METHOD}: export the model with it.")
        self.path = path

    @property
    def inputs(self) -> tuple[Port, ...]:
        """What the method takes; the batch is the largest one of the export."""
        return self._ports(self._plan.inputs, "input")

    @property
    def outputs(self) -> tuple[Port, ...]:
        """What the method returns."""
        return self._ports(self._plan.outputs, "output")

    def _ports(self, numbers: Sequence[int], name: str) -> tuple[Port, ...]:
        values = [self._plan.values[number].val for number in numbers]
        kinds: list[Any] = [getattr(value, "scalar_type", type(value).__name__) for value in values]
        return tuple(
            Port(f"{name} {place}", TYPES.get(kind, str(kind)), tuple(getattr(value, "sizes", ())))
            for place, (value, kind) in enumerate(zip(values, kinds, strict=True))
        )

    @property
    def delegates(self) -> tuple[str, ...]:
        """The names of the delegates that compute parts of it, such as XnnpackBackend."""
        return tuple(sorted({delegate.id for delegate in self._plan.delegates}))

    @property
    def operators(self) -> Sequence[str]:
        """The names of the operators, one after another, also those in the graphs of XNNPACK."""
        names: list[str] = []
        for step in (step.instr_args for chain in self._plan.chains for step in chain.instructions):
            if hasattr(step, "delegate_index"):
                graph = self._delegated[step.delegate_index]
                names += [node["xnode_union_type"] for node in graph.get("xnodes", ())]
            elif hasattr(step, "op_index"):
                names.append(self._plan.operators[step.op_index].name)
        return names

    @property
    def precision(self) -> str:
        """The precision by the types of XNNPACK, and by the operators outside it."""
        values = [value["xvalue_union"] for graph in self._delegated for value in graph.get("xvalues", ())]
        types = " ".join(str(value.get("tensor_value", value).get("datatype")) for value in values)
        found = (precision for part, precision in PRECISIONS.items() if part in types)
        whole = any("quantize" in name for name in self.operators)
        return next(found, "int8" if whole else "float32")


def _read_delegate(delegate: Any, program: Any) -> Any:
    """Return the graph that a delegate computes, {} for another one than XNNPACK."""
    if delegate.id != XNNPACK:
        return {}
    from executorch.backends.xnnpack.serialization import xnnpack_graph_serialize as xnnpack
    from executorch.exir._serialize._flatbuffer import _flatc_decompile

    data = bytes(program.backend_delegate_data[delegate.processed.index].data)
    header = xnnpack.XNNHeader.from_bytes(data[: xnnpack.XNNHeader.EXPECTED_LENGTH])
    start, schema = header.flatbuffer_offset, Path(xnnpack.__file__).with_name("runtime_schema.fbs")
    with TemporaryDirectory() as folder:
        part = Path(folder) / "graph.bin"
        part.write_bytes(data[start : start + header.flatbuffer_size])
        _flatc_decompile(folder, str(schema), str(part), ["--raw-binary"])
        return json.loads(INFINITE.sub(_as_json, part.with_suffix(".json").read_text(encoding="utf-8")))


def _as_json(found: re.Match[str]) -> str:
    """Return infinity and NaN, such as the largest output of a ReLU, as Python's JSON has them."""
    return f"{found[1]}{'NaN' if found[2] == 'nan' else 'Infinity'}"
