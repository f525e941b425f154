"""Classifiers in exported files: `onnx[FILE.onnx,like=SPEC]` and `openvino[FILE.xml,like=SPEC]`.

Resize, crop and normalisation are those of the model that the file was exported from, or what the exporter wrote into
or beside the file; they are never guessed. PyTorch is needed only for `like=`.
"""

import os
from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from PIL import Image

from eyechart.errors import ModelError, SpecError
from eyechart.models.exported.class_names import find_class_names
from eyechart.models.exported.graph import Graph, Port
from eyechart.models.exported.onnx_graph import OnnxGraph
from eyechart.models.exported.openvino_graph import OpenVinoGraph
from eyechart.models.exported.preprocessing import Preprocessing, from_open_clip, from_timm
from eyechart.models.exported.preprocessing_sources import find_preprocessing
from eyechart.models.options import Count, ModelOptions, described
from eyechart.models.runtime import torch_runtime
from eyechart.models.runtime.device import count_processors
from eyechart.models.runtime.phases import phase
from eyechart.models.spec import ModelSpec, parse_spec
from eyechart.models.types import Classifier, Floats, Head, Identity
from eyechart.models.weights import weight_source

MOST_IMAGES = 16
ONE_BY_ONE = (
    "The file is quantised dynamically: an answer depends on the other images of its batch, so images are answered one "
    "by one."
)
IMAGENET_KEY = "eyechart.imagenet"  # metadata: whether the outputs are one of ImageNet's lists of classes
TINY = np.finfo(np.float32).tiny


class ExportedOptions(ModelOptions):
    """The options of an exported classifier, whatever computes it."""

    like: Annotated[str, described("model that the file was exported from: its preprocessing and classes")] = ""
    preprocessing: Annotated[
        str, described("JSON file with the preprocessing", "found in or beside the file", "path")
    ] = ""
    threads: Annotated[Count | None, described("threads of the engine", "this process's part of the processors")] = None
    batch_size: Annotated[Count | None, described("number of images in one pass", "the file's, or 16")] = None
    imagenet: Annotated[
        bool | None, described("whether the outputs are ImageNet's classes", "as of like or the file, or false")
    ] = None
    probabilities: Annotated[
        bool | None,
        described("whether the outputs are probabilities, whose logarithm is taken", "whether a softmax is last"),
    ] = None


class OnnxOptions(ExportedOptions):
    """The options of `onnx[…]`."""

    engine: Annotated[
        Literal["cpu", "cuda", "tensorrt", "openvino"], described("what computes the graph in ONNX Runtime")
    ] = "cpu"
    optimise: Annotated[bool, described("whether ONNX Runtime fuses operators")] = True


class OpenVinoOptions(ExportedOptions):
    """The options of `openvino[…]`."""

    precision: Annotated[Literal["f32", "bf16", "f16"], described("precision of float layers")] = "f32"


class ExportedClassifier(Classifier):
    """A classifier in an exported file; a subclass says what computes its graph."""

    declared_options: ClassVar[type[ExportedOptions]]
    options: ExportedOptions
    backend: ClassVar[str]
    packages: ClassVar[tuple[str, ...]]  # whose versions are in the key

    def __init__(self, spec: ModelSpec, *, device: str = "cpu", offline: bool = False) -> None:
        self.options = self.declared_options.read(spec)
        if not spec.arguments:
            raise SpecError(f"'{spec}' names no file. Expected one, such as {self.backend}[model.onnx,like=timm[…]].")
        self.spec, self.device, self.offline = spec, device, offline
        self.path = Path(spec.arguments[0]).expanduser()
        self.loads = 0

    @property
    @abstractmethod
    def graph(self) -> Graph:
        """The graph; what is known without its engine does not start it."""

    @cached_property
    def identity(self) -> Identity:
        """The identity, with all that changes numbers: the files, the engine and its precision."""
        probabilities = self.options.probabilities
        return Identity(
            backend=self.backend,
            name=self.path.stem,
            weights_sha256=weight_source.digest(*self.graph.files),
            dtype=self.graph.precision,
            device=self.device,
            processor={
                **torch_runtime.to_jsonable(self.preprocessing.settings),
                **self.graph.settings,
                **({} if probabilities is None else {"probabilities": probabilities}),
            },
            libraries=torch_runtime.library_versions(*self.packages, "pillow"),
        )

    @property
    def model_note(self) -> str:
        """That images are answered one by one, where they are."""
        return ONE_BY_ONE if self._is_dynamic else ""

    @property
    def _is_dynamic(self) -> bool:
        return self.graph.precision == "int8 dynamic"

    @cached_property
    def batch_size(self) -> int:  # type: ignore[override]
        """Images in one pass: what is asked for and what the file allows. Raises SpecError if they differ."""
        wanted, fixed = self.options.batch_size, self._images.shape[0]
        if self._is_dynamic and (wanted or 1) != 1:
            raise SpecError(f"'{self.spec}' has batch_size={wanted}. {ONE_BY_ONE} Leave batch_size out.")
        if fixed and wanted and wanted != fixed:
            raise SpecError(
                f"'{self.spec}' has batch_size={wanted}, but {self.path.name} takes batches of {fixed} alone. Leave "
                "batch_size out, or export the file with a free first dimension."
            )
        return 1 if self._is_dynamic else fixed or wanted or MOST_IMAGES

    @cached_property
    def _images(self) -> Port:
        return self.graph.image_port()

    @property
    def _channels_last(self) -> bool:
        return self._images.shape[1] != 3

    @cached_property
    def original(self) -> Any:
        """The model that `like=` names, without its weights; None without the option."""
        from eyechart.models.registry import create_model

        like = self.options.like
        return create_model(parse_spec(like), device="cpu", offline=self.offline) if like else None

    @cached_property
    def preprocessing(self) -> Preprocessing:
        """The steps from an image to the graph's numbers. Raises ModelError if none are known, or they do not fit."""
        edges = self._images.shape[1:3] if self._channels_last else self._images.shape[2:]
        size = None if None in edges else (int(edges[0] or 0), int(edges[1] or 0))
        if self.options.preprocessing or self.original is None:
            found = find_preprocessing(self.path, self.options.preprocessing, self.graph.metadata, size)
        else:
            found = self._of_original()
        if size and found.size != size:
            made = f"{found.size[0]}x{found.size[1]}" if found.size else "different sizes"
            raise ModelError(
                f"{self.path} takes images of {size[0]}x{size[1]}, but its preprocessing makes {made}. Write like=SPEC "
                "or preprocessing=FILE of the model that it was exported from."
            )
        return found

    def _of_original(self) -> Preprocessing:
        """Return the preprocessing of the original. Raises ModelError for a model whose steps are not known."""
        steps = {"TimmClassifier": "timm", "OpenClipEncoder": "open_clip"}.get(type(self.original).__name__)
        try:
            if steps == "timm":
                return from_timm(self.original.preprocessing)
            if steps == "open_clip":
                return from_open_clip(self.original.checkpoint.preprocessing)
        except (ValueError, LookupError) as error:
            raise ModelError(f"The preprocessing of '{self.options.like}' cannot be used ({error}).") from error
        raise ModelError(
            f"'{self.spec}' has like={self.options.like}. Expected a model of timm[…] or open_clip[…]; for others "
            "write preprocessing=FILE.json with input_size, mean, std, interpolation and crop_pct."
        )

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
    def head(self) -> Head | None:
        """The outputs, by the shape in the file; ImageNet's if the option, the original or the file says so."""
        width = self._scores.shape[1]
        original = self.original.head if isinstance(self.original, Classifier) else None
        said = self.options.imagenet
        told = original is None and self.graph.metadata.get(IMAGENET_KEY) == "true"
        known = told or bool(original and original.imagenet and original.outputs == width)
        imagenet = known if said is None else said
        if not width:
            return None
        names = () if imagenet or original else find_class_names(self.path, self.graph.metadata, width)
        return Head(width, imagenet=imagenet, names=names)

    def prepare(self, image: Image.Image) -> Any:
        """Return an RGB image as bytes (h, w, 3)."""
        return self.preprocessing.prepare(image)

    def classify(self, images: Sequence[Any]) -> Floats:
        """Return logits (n, classes), which are the logarithms of a graph that returns probabilities."""
        self._load()
        scores = self.graph.run_rows(self._images, self._batch(images), self._scores.name)
        if self._are_probabilities:
            return np.asarray(np.log(np.maximum(scores, TINY)))
        if self.options.probabilities is None:
            self._check_logits(scores)
        return scores

    @cached_property
    def _are_probabilities(self) -> bool:
        said = self.options.probabilities
        return self.graph.ends_in_softmax(self._scores.name) if said is None else said

    def _load(self) -> None:
        if not self.loads:
            with phase("load"):
                _ = self._scores
            self.loads += 1

    def _batch(self, images: Sequence[Any]) -> Any:
        """Return images in the layout and type of the input; a graph that takes bytes normalises them itself."""
        if self._images.type == np.uint8:
            pixels = np.stack(images)
            return pixels if self._channels_last else np.ascontiguousarray(pixels.transpose(0, 3, 1, 2))
        floats = self.preprocessing.stack(images)
        return np.ascontiguousarray(floats.transpose(0, 2, 3, 1) if self._channels_last else floats, self._images.type)

    def _check_logits(self, scores: Floats) -> None:
        """Raise ModelError for rows that look like probabilities, though no softmax is last."""
        if scores.shape[1] > 2 and scores.min() >= 0 and np.allclose(scores.sum(axis=1), 1, atol=1e-3):
            raise ModelError(
                f"{self.path} returns rows that add up to 1, but its last operator is no softmax. Write "
                "probabilities=true if they are probabilities, or probabilities=false if they are logits."
            )


class OnnxClassifier(ExportedClassifier):
    """A classifier in an `.onnx` file, which ONNX Runtime computes."""

    declared_options = OnnxOptions
    options: OnnxOptions
    backend = "onnx"
    packages = ("onnxruntime", "onnxruntime-gpu", "onnxruntime-openvino")

    def __init__(self, spec: ModelSpec, *, device: str = "cpu", offline: bool = False) -> None:
        super().__init__(spec, device=device, offline=offline)
        self.device = "cuda" if self.options.engine in ("cuda", "tensorrt") else "cpu"

    @cached_property
    def graph(self) -> Graph:
        """The graph."""
        return OnnxGraph(
            self.path,
            engine=self.options.engine,
            threads=self.options.threads or divided_threads(),
            optimise=self.options.optimise,
        )


class OpenVinoClassifier(ExportedClassifier):
    """A classifier in OpenVINO's `.xml` and `.bin`, or in an `.onnx` file, which OpenVINO computes."""

    declared_options = OpenVinoOptions
    options: OpenVinoOptions
    backend = "openvino"
    packages = ("openvino",)

    @cached_property
    def graph(self) -> Graph:
        """The graph."""
        threads = self.options.threads or divided_threads()
        return OpenVinoGraph(self.path, hint=self.options.precision, threads=threads)


def divided_threads() -> int:
    """Return this process's part of the processors.

    ONNX Runtime and OpenVINO do not read `OMP_NUM_THREADS`, by which the suite divides processors among processes.
    """
    divided = os.environ.get("OMP_NUM_THREADS", "")
    return int(divided) if divided.isdigit() else count_processors()
