"""Graphs in `.pte` files, which ExecuTorch computes on the processor."""

from collections.abc import Mapping
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

from eyechart.errors import ModelError
from eyechart.models.exported.executorch_file import METHOD, ExecuTorchFile, quiet
from eyechart.models.exported.graph import Graph, Port

SOFTMAXES = {"aten::_softmax", "XNNSoftmax"}


class ExecuTorchGraph(Graph):
    """A graph in a `.pte` file."""

    started = 0  # graphs in this process, which share the threads of ExecuTorch

    def __init__(self, path: Path, *, threads: int) -> None:
        self.path, self.threads = path, threads

    @cached_property
    def _file(self) -> ExecuTorchFile:
        return ExecuTorchFile(self.path)

    @property
    def files(self) -> tuple[Path, ...]:
        """The file."""
        return (self._file.path,)

    @property
    def inputs(self) -> tuple[Port, ...]:
        """What the graph takes."""
        return self._file.inputs

    @property
    def outputs(self) -> tuple[Port, ...]:
        """What the graph returns."""
        return self._file.outputs

    @property
    def metadata(self) -> Mapping[str, str]:
        """Nothing: the format has no place for it."""
        return {}

    @cached_property
    def precision(self) -> str:
        """The precision by operators and by the types of XNNPACK."""
        return self._file.precision

    @property
    def depends_on_batch(self) -> bool:
        """That none does: XNNPACK has a scale for each image also where it quantises dynamically."""
        return False

    @property
    def engine_settings(self) -> Mapping[str, Any]:
        """The engine and the delegates."""
        return {"engine": "ExecuTorch", "delegates": list(self._file.delegates)}

    def ends_in_softmax(self, output: str) -> bool:
        """Return whether the last operator is a softmax, of a graph that returns nothing else."""
        return [port.name for port in self.outputs] == [output] and self._file.operators[-1] in SOFTMAXES

    @cached_property
    def _method(self) -> Any:
        with quiet():
            from executorch.runtime import Runtime
        runtime, engine = Runtime.get(), f"ExecuTorch {version('executorch')}"
        there = runtime.backend_registry.registered_backend_names
        if absent := [name for name in self._file.delegates if name not in there]:
            raise ModelError(
                f"{self.path} needs {', '.join(absent)}, and {engine} has {', '.join(sorted(there))} here. Export it "
                "for XNNPACK, which computes on processors."
            )
        self._set_threads()
        try:
            self._kept = runtime.load_program(self.path)  # a method does not keep its program
            return self._kept.load_method(METHOD)
        except RuntimeError as error:
            raise ModelError(
                f"{engine} cannot load {self.path} ({error}). Export it again, with operators that it has."
            ) from error

    def _set_threads(self) -> None:
        """Give the process its threads before its first graph, since those that are loaded keep the old ones."""
        from executorch.extension.pybindings import portable_lib

        there = portable_lib._threadpool_get_thread_count()
        if there != self.threads and ExecuTorchGraph.started:
            raise ModelError(
                f"{self.path} has {self.threads} threads, but another file in this process has {there}, which "
                "ExecuTorch cannot change. Write the same threads= for each."
            )
        if there != self.threads:
            portable_lib._unsafe_reset_threadpool(self.threads)
        ExecuTorchGraph.started += 1

    def start(self) -> None:
        """Load the method."""
        _ = self._method

    def run(self, feeds: Mapping[str, Any], output: str) -> Any:
        """Return one output. Raises RuntimeError, which ExecuTorch's own errors are."""
        import torch

        values = self._method.execute([torch.from_numpy(feeds[port.name]) for port in self.inputs])
        (number,) = (place for place, port in enumerate(self.outputs) if port.name == output)
        return values[number].numpy()
