"""Graphs in `.tflite` files, which LiteRT computes on the processor."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from eyechart.errors import ModelError
from eyechart.models.exported.graph import Graph, Port
from eyechart.models.exported.litert_file import LiteRtFile
from eyechart.models.exported.litert_metadata import read_metadata
from eyechart.models.exported.trial import try_to_load

NO_MEMORY = "LiteRT cannot allocate memory for its tensors"  # whose own error has no text
LOADING = """
import sys
from ai_edge_litert.interpreter import Interpreter
try:
    Interpreter(model_path=sys.argv[1]).allocate_tensors()
except Exception:
    pass
"""


class LiteRtGraph(Graph):
    """A graph in a `.tflite` file.

    Floats are given to it and returned also where its input or output are whole numbers with a scale and a zero point.
    """

    def __init__(self, path: Path, *, threads: int) -> None:
        self.path, self.threads = path, threads

    @cached_property
    def _file(self) -> LiteRtFile:
        return LiteRtFile(self.path)

    @property
    def files(self) -> tuple[Path, ...]:
        """The file."""
        return (self._file.path,)

    @cached_property
    def inputs(self) -> tuple[Port, ...]:
        """What the graph takes."""
        return tuple(self._file.port(name, number) for name, number in self._file.inputs.items())

    @cached_property
    def outputs(self) -> tuple[Port, ...]:
        """What the graph returns."""
        return tuple(self._file.port(name, number) for name, number in self._file.outputs.items())

    @cached_property
    def metadata(self) -> Mapping[str, str]:
        """Its entries, LiteRT's metadata, and what is zipped into the file."""
        return read_metadata(self.path, self._file.entries)

    @property
    def precision(self) -> str:
        """The precision by operators, then by the type of most weights."""
        return self._file.precision

    @property
    def depends_on_batch(self) -> bool:
        """That none does: each image has a scale of its own also where the file is quantised dynamically."""
        return False

    @property
    def engine_settings(self) -> Mapping[str, Any]:
        """The engine."""
        return {"engine": "LiteRT"}

    def ends_in_softmax(self, output: str) -> bool:
        """Return whether the last operator before an output is a softmax."""
        return self._file.ends_in_softmax(output)

    @cached_property
    def _interpreter(self) -> Any:
        from importlib.metadata import version

        from ai_edge_litert.interpreter import Interpreter

        engine = f"LiteRT {version('ai-edge-litert')}"
        try_to_load(self, LOADING, engine)
        try:
            interpreter = Interpreter(model_path=str(self.path), num_threads=self.threads)
            interpreter.allocate_tensors()
        except (RuntimeError, ValueError) as error:
            reason = " ".join(str(error).split()) or NO_MEMORY
            others = f"It has {', '.join(self._file.custom)}. " if self._file.custom else ""
            remedy = "Convert it again, with operators of LiteRT alone (TFLITE_BUILTINS)."
            raise ModelError(f"{engine} cannot load {self.path} ({reason[:200]}). {others}{remedy}") from error
        return interpreter

    def start(self) -> None:
        """Make the interpreter of LiteRT."""
        _ = self._interpreter

    def run(self, feeds: Mapping[str, Any], output: str) -> Any:
        """Return one output. Raises MemoryError or RuntimeError, which LiteRT's own errors are not always."""
        interpreter = self._interpreter
        try:
            shapes = {port["index"]: tuple(port["shape"]) for port in interpreter.get_input_details()}
            for name, values in feeds.items():
                number = self._file.inputs[name]
                if shapes[number] != values.shape:
                    interpreter.resize_tensor_input(number, values.shape, strict=True)
                    interpreter.allocate_tensors()
                interpreter.set_tensor(number, self._quantised(number, values))
            interpreter.invoke()
            return self._floats(self._file.outputs[output], interpreter.get_tensor(self._file.outputs[output]))
        except (RuntimeError, ValueError) as error:
            if not str(error):
                raise MemoryError(NO_MEMORY) from error
            raise RuntimeError(str(error)) from error

    def _quantised(self, number: int, values: Any) -> Any:
        """Return floats as an input takes them: the nearest whole numbers of its scale, the outermost beyond them."""
        scale, zero = self._file.scale(number)
        if not scale:
            return values
        kind = np.iinfo(self._file.type(number))
        whole = np.rint(np.asarray(values, np.float32) / np.float32(scale)) + np.float32(zero)
        return np.clip(whole, kind.min, kind.max).astype(kind.dtype)

    def _floats(self, number: int, values: Any) -> Any:
        """Return an output as floats."""
        scale, zero = self._file.scale(number)
        return (values.astype(np.float32) - np.float32(zero)) * np.float32(scale) if scale else values
