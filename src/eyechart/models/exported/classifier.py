"""Classifiers in exported files: `onnx[…]`, `openvino[…]`, `litert[…]` and `executorch[…]`.

Resize, crop and normalisation come from the model that the file was exported from, or what the exporter wrote into
or beside the file; they are never guessed. PyTorch is needed only for `like=`.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from eyechart.errors import ModelError, SpecError
from eyechart.models.exported.class_names import find_class_names
from eyechart.models.exported.executorch_graph import ExecuTorchGraph
from eyechart.models.exported.graph import Graph, Port
from eyechart.models.exported.litert_graph import LiteRtGraph
from eyechart.models.exported.model import (
    Ending,
    Engine,
    ExportedModel,
    ExportedOptions,
    OnnxModel,
    Optimise,
    divided_threads,
)
from eyechart.models.exported.openvino_graph import OpenVinoGraph
from eyechart.models.options import described
from eyechart.models.spec import ModelSpec
from eyechart.models.types import Classifier, Floats, Head

IMAGENET_KEY = "eyechart.imagenet"  # metadata: whether the outputs are one of ImageNet's lists of classes
TINY = np.finfo(np.float32).tiny
FREE_SIZE = (224, 224)  # of a blank image, where every image has a size of its own


class _ClassifierOptions(ExportedOptions):
    """The options of an exported classifier, whatever computes it."""

    imagenet: Annotated[
        bool | None, described("whether the outputs are ImageNet's classes", "as of like or the file, or false")
    ] = None
    probabilities: Annotated[
        bool | None,
        described("whether the outputs are probabilities, whose logarithm is taken", "whether a softmax is last"),
    ] = None


class _OnnxOptions(_ClassifierOptions):
    """The options of `onnx[…]`."""

    file: Ending = ""
    engine: Engine = "cpu"
    optimise: Optimise = True


class _OpenVinoOptions(_ClassifierOptions):
    """The options of `openvino[…]`."""

    precision: Annotated[Literal["f32", "bf16", "f16"], described("precision of float layers")] = "f32"


class ExportedClassifier(ExportedModel, Classifier):
    """A classifier in an exported file; a subclass says what computes its graph."""

    declared_options: ClassVar[type[_ClassifierOptions]]
    options: _ClassifierOptions

    @property
    def settings(self) -> Mapping[str, Any]:
        """What the specification says about the outputs."""
        given = self.options.probabilities
        return {} if given is None else {"probabilities": given}

    @cached_property
    def _scores(self) -> Port:
        """The output of scores: the only one of two dimensions, or the one that is named for it."""
        flat = [port for port in self.graph.outputs if len(port.shape) == 2]
        named = [port for port in flat if port.name in ("logits", "scores")] or flat
        if len(named) != 1:
            raise ModelError(
                f"{self.path} has the outputs {', '.join(map(str, self.graph.outputs))}. Expected one with two "
                "dimensions, logits (n, classes), or one of them with the name logits."
            )
        return named[0]

    @cached_property
    def _width(self) -> int:
        """The number of outputs; a file that leaves it free answers a blank image, so that its names can be used."""
        if listed := self._scores.shape[1]:
            return listed
        blank = self.batch([np.zeros((*(self.preprocessing.size or FREE_SIZE), 3), np.uint8)])
        self.load(self.graph)
        return int(self.graph.run_rows(self.image_port, blank, self._scores.name).shape[1])

    @cached_property
    def head(self) -> Head:
        """The outputs, by the shape in the file; ImageNet's if the option, the original or the file says so."""
        width = self._width
        original = self.original.head if isinstance(self.original, Classifier) else None
        given = self.options.imagenet
        recorded = original is None and self.graph.metadata.get(IMAGENET_KEY) == "true"
        known = recorded or bool(original and original.imagenet and original.outputs == width)
        imagenet = known if given is None else given
        names = () if imagenet else find_class_names(self.path, self.graph.metadata, width)
        return Head(width, imagenet=imagenet, names=names)

    def classify(self, images: Sequence[Any]) -> Floats:
        """Return logits (n, classes), which are the logarithms of a graph that returns probabilities."""
        self.load(self.graph)
        scores = self.graph.run_rows(self.image_port, self.batch(images), self._scores.name)
        if self._are_probabilities:
            return np.asarray(np.log(np.maximum(scores, TINY)))
        if self.options.probabilities is None:
            self._check_logits(scores)
        return scores

    @cached_property
    def _are_probabilities(self) -> bool:
        given = self.options.probabilities
        return self.graph.ends_in_softmax(self._scores.name) if given is None else given

    def _check_logits(self, scores: Floats) -> None:
        """Raise ModelError for rows that look like probabilities, though no softmax is last."""
        if scores.shape[1] > 2 and scores.min() >= 0 and np.allclose(scores.sum(axis=1), 1, atol=1e-3):
            raise ModelError(
                f"{self.path} returns rows that add up to 1, but its last operator is no softmax. Write "
                "probabilities=true if they are probabilities, or probabilities=false if they are logits."
            )


class OnnxClassifier(OnnxModel, ExportedClassifier):
    """A classifier in an `.onnx` file, or in a folder with `model.onnx` and others, which ONNX Runtime computes."""

    declared_options = _OnnxOptions
    options: _OnnxOptions
    backend = "onnx"

    def __init__(self, spec: ModelSpec, *, device: str = "cpu", offline: bool = False) -> None:
        super().__init__(spec, device=device, offline=offline)
        if self.path.is_dir():
            self.path = self.file_of(self.path, "model")
        elif self.options.file:
            raise SpecError(
                f"'{spec}' has file={self.options.file}, which chooses among the files of a folder. Leave it out."
            )

    @cached_property
    def graph(self) -> Graph:
        """The graph."""
        return self.open(self.path)


class OpenVinoClassifier(ExportedClassifier):
    """A classifier in OpenVINO's `.xml` and `.bin`, or in an `.onnx` file, which OpenVINO computes."""

    declared_options = _OpenVinoOptions
    options: _OpenVinoOptions
    backend = "openvino"
    packages = ("openvino",)

    @cached_property
    def graph(self) -> Graph:
        """The graph."""
        threads = self.options.threads or divided_threads()
        return OpenVinoGraph(self.path, hint=self.options.precision, threads=threads)


class LiteRtClassifier(ExportedClassifier):
    """A classifier in a `.tflite` file, which LiteRT computes."""

    declared_options = _ClassifierOptions
    backend = "litert"
    packages = ("ai-edge-litert",)

    @cached_property
    def graph(self) -> Graph:
        """The graph."""
        return LiteRtGraph(self.path, threads=self.options.threads or divided_threads())


class ExecuTorchClassifier(ExportedClassifier):
    """A classifier in a `.pte` file, which ExecuTorch computes."""

    declared_options = _ClassifierOptions
    backend = "executorch"
    packages = ("executorch", "torch")

    @cached_property
    def graph(self) -> Graph:
        """The graph."""
        return ExecuTorchGraph(self.path, threads=self.options.threads or divided_threads())
