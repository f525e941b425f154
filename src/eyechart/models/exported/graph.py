"""What the engines of exported graphs have in common: inputs, outputs, and how a batch is computed."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from eyechart.errors import ModelError
from eyechart.files.text_files import HEAD, describe_content
from eyechart.models.types import Floats

QUANTISED = {  # operators that only a quantised graph has, the most telling ones first
    "MatMulNBits": "int4",
    "ConvInteger": "int8 dynamic",
    "MatMulInteger": "int8 dynamic",
    "DynamicQuantizeLinear": "int8 dynamic",
    "QLinearConv": "int8",
    "QLinearMatMul": "int8",
    "QuantizeLinear": "int8",
    "FakeQuantize": "int8",
}
BACKENDS = {
    ".onnx": "onnx",
    ".xml": "openvino",
    ".tflite": "litert",
    ".pte": "executorch",
}  # by the endings of their files
CPU_FLAGS = Path("/proc/cpuinfo")
TAKEN = (np.uint8, np.float16, np.float32, np.float64)  # types of images: whole numbers beyond bytes have no scale
NOTHING: Mapping[str, Any] = {}


@dataclass(frozen=True)
class Port:
    """An input or output of a graph: its name, its type in NumPy, and its shape with None for a free dimension."""

    name: str
    type: Any
    shape: tuple[int | None, ...]

    @property
    def channel_axis(self) -> int | None:
        """The axis of the three channels of images, None if there is none.

        It is the one that has the length 3. Where none has, it is one of free length, and the first one comes first:
        optimum leaves all axes free.
        """
        return next((axis for length in (3, None) for axis in (1, 3) if self.shape[axis] == length), None)

    def __str__(self) -> str:
        return f"{self.name} ({', '.join('free' if edge is None else str(edge) for edge in self.shape)})"


class Graph(ABC):
    """A graph in a file, and the engine that computes it.

    Attributes:
        path: The file.
    """

    path: Path

    @property
    @abstractmethod
    def inputs(self) -> tuple[Port, ...]:
        """What the graph takes."""

    @property
    @abstractmethod
    def outputs(self) -> tuple[Port, ...]:
        """What the graph returns."""

    @property
    @abstractmethod
    def files(self) -> tuple[Path, ...]:
        """The file and those that it keeps its weights in."""

    @property
    @abstractmethod
    def metadata(self) -> Mapping[str, str]:
        """What the file says about itself."""

    @property
    @abstractmethod
    def precision(self) -> str:
        """`int8`, `int8 dynamic`, `int4`, `float16` or `float32`, by operators and weights."""

    @property
    @abstractmethod
    def engine_settings(self) -> Mapping[str, Any]:
        """The engine, and its settings that change numbers."""

    @property
    def on_processor(self) -> bool:
        """Whether the engine computes on the processor."""
        return True

    @property
    def settings(self) -> Mapping[str, Any]:
        """What else changes numbers: the engine, its settings, and the instructions for whole numbers."""
        whole = self.precision.startswith("int") and self.on_processor
        return {**self.engine_settings, **({"instructions": instructions()} if whole else {})}

    @property
    def depends_on_batch(self) -> bool:
        """Whether the answer to an image depends on the others of its batch, by a scale that they share."""
        return self.precision == "int8 dynamic"

    @abstractmethod
    def ends_in_softmax(self, output: str) -> bool:
        """Return whether the last operator before an output makes probabilities."""

    @abstractmethod
    def start(self) -> None:
        """Load the graph into its engine, if it is not there. Raises ModelError if that fails."""

    @abstractmethod
    def run(self, feeds: Mapping[str, Any], output: str) -> Any:
        """Return one output. Raises MemoryError or RuntimeError."""

    def run_rows(self, port: Port, rows: Any, output: str, beside: Mapping[str, Any] = NOTHING) -> Floats:
        """Return the output for all rows of one input; a batch that the file fixes is filled with its last row.

        `beside` are the rows of further inputs, as many.
        """
        fixed, feeds = port.shape[0], {port.name: rows, **beside}
        if fixed is None:
            values = np.asarray(self.run(feeds, output), np.float32)
            if len(values) != len(rows):
                raise ModelError(
                    f"{self.path} returns {len(values)} rows of {output} for {len(rows)} of {port.name}. Expected one "
                    "for each: export it with a free first dimension of the output, too."
                )
            return values
        filled = {
            name: np.concatenate([part, np.repeat(part[-1:], -len(part) % fixed, axis=0)])
            for name, part in feeds.items()
        }
        starts = range(0, len(filled[port.name]), fixed)
        parts = [
            self.run({name: part[start : start + fixed] for name, part in filled.items()}, output) for start in starts
        ]
        return np.asarray(np.concatenate(parts)[: len(rows)], np.float32)

    def image_port(self) -> Port:
        """Return the input that takes images. Raises ModelError if there is not exactly one, of three channels."""
        images = [port for port in self.inputs if len(port.shape) == 4]
        if len(images) != 1 or len(self.inputs) != 1:
            raise ModelError(
                f"{self.path} has the inputs {', '.join(map(str, self.inputs))}. Expected one of images, "
                "(n, 3, h, w) or (n, h, w, 3). A model of images and texts is onnx_clip[…]."
            )
        if images[0].channel_axis is None:
            raise ModelError(f"{self.path} has the input {images[0]}. Expected 3 channels, in RGB.")
        if images[0].type not in TAKEN:
            kind = images[0].type if isinstance(images[0].type, str) else np.dtype(images[0].type).name
            why = ", and says no scale for them" if "int" in kind else ""
            raise ModelError(
                f"{self.path} takes images of the type {kind}{why}. Expected floats of 16, 32 or 64 bits, or uint8 for "
                "the bytes of the images. Export it again with such an input."
            )
        return images[0]


def check_file(path: Path) -> None:
    """Raise ModelError for what is no model file at all, such as a folder or a pointer of Git LFS."""
    if path.is_dir():
        files = sorted(str(file.relative_to(path)) for file in path.rglob("*") if file.suffix in BACKENDS)
        raise ModelError(f"{path} is a folder. Name a file instead; it has {', '.join(files) or 'no model file'}.")
    if not path.is_file():
        raise ModelError(f"The model file {path} does not exist. Check the path.")
    with path.open("rb") as file:
        head = file.read(HEAD)
    if why := describe_content(head):
        raise ModelError(f"The model file {path} {why}.")


def check_backend(path: Path, backend: str) -> None:
    """Raise ModelError for a file with the ending of another backend."""
    if (other := BACKENDS.get(path.suffix, backend)) != backend:
        raise ModelError(f"{path} is no file for {backend}[…]. Write {other}[{path.name},…] for it.")


def instructions() -> str:
    """Return whether this processor multiplies small whole numbers with VNNI, which rounds otherwise than without."""
    try:
        flags = {*CPU_FLAGS.read_text(encoding="utf-8", errors="replace").split()}
    except OSError:
        return "unknown"
    return "vnni" if {"avx512_vnni", "avx_vnni"} & flags else "no vnni"
