"""What exported models have in common: files, engine, preprocessing and batches of images."""

import os
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from PIL import Image

from eyechart.errors import ModelError, SpecError
from eyechart.models.exported.graph import Graph, Port
from eyechart.models.exported.onnx_graph import OnnxGraph
from eyechart.models.exported.preprocessing import Preprocessing, from_open_clip, from_timm
from eyechart.models.exported.preprocessing_sources import find_preprocessing
from eyechart.models.options import Count, ModelOptions, described
from eyechart.models.runtime import torch_runtime
from eyechart.models.runtime.device import count_processors
from eyechart.models.runtime.phases import phase
from eyechart.models.spec import ModelSpec, parse_spec
from eyechart.models.types import Identity, Model
from eyechart.models.weights import weight_source

MOST_IMAGES = 16
ONE_BY_ONE = (
    "The file is quantised dynamically: an answer depends on the other images of its batch, so images are answered one "
    "by one."
)
Engine = Annotated[Literal["cpu", "cuda", "tensorrt", "openvino"], described("what computes the graph in ONNX Runtime")]
Ending = Annotated[str, described("ending of a file's name in a folder, such as int8, q4 or fp16", "none")]
Optimise = Annotated[bool, described("whether ONNX Runtime fuses operators")]


class ExportedOptions(ModelOptions):
    """The options of an exported model, whatever it is and whatever computes it."""

    like: Annotated[str, described("model that the file was exported from: its preprocessing and classes")] = ""
    preprocessing: Annotated[
        str, described("JSON file with the preprocessing", "found in or beside the file", "path")
    ] = ""
    threads: Annotated[Count | None, described("threads of the engine", "this process's part of the processors")] = None
    batch_size: Annotated[Count | None, described("number of images in one pass", "the file's, or 16")] = None


class ExportedModel(Model):
    """A model in exported files; a subclass says what it is and what computes its graph."""

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
        self._loaded: list[Graph] = []

    @property
    @abstractmethod
    def graph(self) -> Graph:
        """The graph; what is known without its engine does not start it."""

    @property
    def weight_files(self) -> tuple[Path, ...]:
        """The files whose bytes are in the key."""
        return self.graph.files

    @property
    def settings(self) -> Mapping[str, Any]:
        """What else is in the key."""
        return {}

    @cached_property
    def identity(self) -> Identity:
        """The identity, with all that changes numbers: the files, the engine and its precision."""
        return Identity(
            backend=self.backend,
            name=self.path.stem,
            weights_sha256=weight_source.digest(*self.weight_files),
            dtype=self.graph.precision,
            device=self.device,
            processor={
                **torch_runtime.to_jsonable(self.preprocessing.settings),
                **self.graph.settings,
                **self.settings,
            },
            libraries=torch_runtime.library_versions(*self.packages, "pillow"),
        )

    @property
    def model_note(self) -> str:
        """That they are answered one by one, where they are."""
        return ONE_BY_ONE if self.graph.depends_on_batch else ""

    @cached_property
    def batch_size(self) -> int:  # type: ignore[override]
        """Images in one pass: what is asked for and what the file allows. Raises SpecError if they differ."""
        wanted, fixed = self.options.batch_size, self.image_port.shape[0]
        if self.graph.depends_on_batch and (wanted or 1) != 1:
            raise SpecError(f"'{self.spec}' has batch_size={wanted}. {ONE_BY_ONE} Leave batch_size out.")
        if fixed and wanted and wanted != fixed:
            raise SpecError(
                f"'{self.spec}' has batch_size={wanted}, but {self.path.name} takes batches of {fixed} alone. Leave "
                "batch_size out, or export the file with a free first dimension."
            )
        return 1 if self.graph.depends_on_batch else fixed or wanted or MOST_IMAGES

    @cached_property
    def image_port(self) -> Port:
        """The input that takes images."""
        return self.graph.image_port()

    @property
    def _channels_last(self) -> bool:
        return self.image_port.channel_axis == 3

    @cached_property
    def original(self) -> Any:
        """The model that `like=` names, without its weights; None without the option."""
        from eyechart.models.registry import create_model

        like = self.options.like
        return create_model(parse_spec(like), device="cpu", offline=self.offline) if like else None

    @cached_property
    def preprocessing(self) -> Preprocessing:
        """The steps from an image to the graph's numbers. Raises ModelError if none are known, or they do not fit."""
        edges = self.image_port.shape[1:3] if self._channels_last else self.image_port.shape[2:]
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

    def load(self, graph: Graph) -> None:
        """Load a graph into its engine at its first use."""
        if graph not in self._loaded:
            with phase("load"):
                graph.start()
            self._loaded.append(graph)
            self.loads = 1

    def prepare(self, image: Image.Image) -> Any:
        """Return an RGB image as bytes (h, w, 3)."""
        return self.preprocessing.prepare(image)

    def batch(self, images: Sequence[Any]) -> Any:
        """Return images in the layout and type of the input; a graph that takes bytes normalises them itself."""
        if self.image_port.type == np.uint8:
            pixels = np.stack(images)
            return pixels if self._channels_last else np.ascontiguousarray(pixels.transpose(0, 3, 1, 2))
        floats = self.preprocessing.stack(images)
        return np.ascontiguousarray(
            floats.transpose(0, 2, 3, 1) if self._channels_last else floats, self.image_port.type
        )


class OnnxModel(ExportedModel):
    """A model whose graphs ONNX Runtime computes.

    Its options have the ending of the `file` in a folder, an `engine`, and whether to `optimise`.
    """

    options: Any
    packages: ClassVar[tuple[str, ...]] = ("onnxruntime", "onnxruntime-gpu", "onnxruntime-openvino")

    def __init__(self, spec: ModelSpec, *, device: str = "cpu", offline: bool = False) -> None:
        super().__init__(spec, device=device, offline=offline)
        self.device = "cuda" if self.options.engine in ("cuda", "tensorrt") else "cpu"

    def find_file(self, folder: Path, name: str) -> Path | None:
        """Return a file by its name and ending, in a folder or in its folder `onnx`; None if it is not there."""
        paths = (part / self._file_name(name) for part in (folder / "onnx", folder))
        return next((path for path in paths if path.is_file()), None)

    def file_of(self, folder: Path, name: str) -> Path:
        """Return a file as `find_file` does. Raises ModelError that lists the files that are there."""
        if path := self.find_file(folder, name):
            return path
        there = ", ".join(sorted(path.name for path in folder.rglob("*.onnx"))) or "no .onnx file"
        raise ModelError(
            f"{folder} has no {self._file_name(name)}, in it or in its folder onnx; it has {there}. Correct file=…."
        )

    def _file_name(self, name: str) -> str:
        return f"{name}_{self.options.file}.onnx" if self.options.file else f"{name}.onnx"

    def open(self, path: Path) -> OnnxGraph:
        """Return the graph in a file, which is not loaded before it is used."""
        threads = self.options.threads or divided_threads()
        return OnnxGraph(path, engine=self.options.engine, threads=threads, optimise=self.options.optimise)


def divided_threads() -> int:
    """Return this process's part of the processors.

    The engines do not read `OMP_NUM_THREADS`, by which the suite divides processors among processes.
    """
    divided = os.environ.get("OMP_NUM_THREADS", "")
    return int(divided) if divided.isdigit() else count_processors()
