"""Encoders of images and texts in two exported files: `onnx_clip[FOLDER,file=int8,like=open_clip[…]]`.

The files are named as those of transformers.js: `vision_model` and `text_model`, in the folder or in its folder `onnx`.
The tokenizer, the templates and the factor of cosines are in neither file: the original has them.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from eyechart.errors import ModelError, SpecError
from eyechart.models.exported.graph import Graph, Port
from eyechart.models.exported.model import Engine, ExportedOptions, OnnxModel, Optimise
from eyechart.models.open_clip.encoder import OpenClipEncoder
from eyechart.models.open_clip.files import load_tokenizer
from eyechart.models.options import described
from eyechart.models.runtime import text_batches
from eyechart.models.spec import ModelSpec
from eyechart.models.types import Encoder, Floats

MOST_TEXTS = 64  # of one pass
EMBEDDINGS = ("image_embeds", "text_embeds", "pooler_output", "embeddings", "features")


class OnnxClipOptions(ExportedOptions):
    """The options of `onnx_clip[…]`."""

    file: Annotated[str, described("ending of both files' names, such as int8, q4 or fp16", "none")] = ""
    engine: Engine = "cpu"
    optimise: Optimise = True


class OnnxClip(OnnxModel, Encoder):
    """An image tower and a text tower, each in an `.onnx` file."""

    declared_options = OnnxClipOptions
    options: OnnxClipOptions
    backend = "onnx_clip"
    packages = (*OnnxModel.packages, "open_clip_torch")

    def __init__(self, spec: ModelSpec, *, device: str = "cpu", offline: bool = False) -> None:
        super().__init__(spec, device=device, offline=offline)
        self.folder = self.path
        if not isinstance(self.original, OpenClipEncoder):
            raise SpecError(
                f"'{spec}' has like={self.options.like or 'nothing'}. Expected the model of open_clip[…] that the "
                "files were exported from: its tokenizer, templates and factor of cosines are in neither file."
            )
        self.templates = self.original.templates
        self.path = self._tower("vision_model")

    def _tower(self, name: str) -> Path:
        """Return the file of a tower. Raises ModelError that lists the files that are there."""
        file = f"{name}_{self.options.file}.onnx" if self.options.file else f"{name}.onnx"
        for folder in (self.folder / "onnx", self.folder):
            if (folder / file).is_file():
                return folder / file
        there = ", ".join(sorted(path.name for path in self.folder.rglob("*.onnx"))) or "no .onnx file"
        raise ModelError(f"{self.folder} has no {file}, in it or in its folder onnx; it has {there}. Correct file=….")

    @cached_property
    def graph(self) -> Graph:
        """The image tower."""
        return self.open(self.path)

    @cached_property
    def text_graph(self) -> Graph:
        """The text tower."""
        return self.open(self._tower("text_model"))

    @property
    def weight_files(self) -> tuple[Path, ...]:
        """The files of both towers."""
        return (*self.graph.files, *self.text_graph.files)

    @property
    def settings(self) -> Mapping[str, Any]:
        """The precision of the text tower, and the original, whose tokenizer and factor of cosines are used."""
        origin = self.original.identity
        return {
            "text": {"dtype": self.text_graph.precision, **self.text_graph.settings},
            "origin": {"sha256": origin.weights_sha256, "tokenizer_sha256": origin.processor["tokenizer_sha256"]},
        }

    @property
    def logit_scale(self) -> float:
        """The original's factor of cosines."""
        return float(self.original.logit_scale)

    def encode_images(self, images: Sequence[Any]) -> Floats:
        """Return features (n, d), not normalised."""
        self.load(self.graph)
        return self.graph.run_rows(self.image_port, self.batch(images), _features(self.graph))

    def encode_texts(self, texts: Sequence[str]) -> Floats:
        """Return features (m, d), not normalised; every text has the full length, so that batches change nothing."""
        once, indices = text_batches.unique(texts)
        port = _tokens_port(self.text_graph)
        tokens = np.asarray(self._tokenizer(once)).astype(port.type)
        if port.shape[1] not in (None, tokens.shape[1]):
            raise ModelError(
                f"{self.text_graph.path} takes texts of {port.shape[1]} tokens, but the tokenizer of "
                f"{self.options.like} makes {tokens.shape[1]}. Name the model that it was exported from in like=SPEC."
            )
        size = 1 if self.text_graph.precision == "int8 dynamic" else MOST_TEXTS
        output = _features(self.text_graph)
        self.load(self.text_graph)
        parts = [
            self.text_graph.run_rows(port, tokens[start : start + size], output)
            for start in range(0, len(tokens), size)
        ]
        return np.concatenate(parts)[indices]

    @cached_property
    def _tokenizer(self) -> Any:
        return load_tokenizer(self.original.checkpoint, offline=self.offline)


def _tokens_port(graph: Graph) -> Port:
    """Return the only input, of tokens. Raises ModelError for others."""
    if len(graph.inputs) != 1 or len(graph.inputs[0].shape) != 2:
        raise ModelError(
            f"{graph.path} has the inputs {', '.join(map(str, graph.inputs))}. Expected one of tokens, (n, length)."
        )
    return graph.inputs[0]


def _features(graph: Graph) -> str:
    """Return the output of features: by its usual name, else the only one of two dimensions."""
    named = [port.name for port in graph.outputs if port.name in EMBEDDINGS]
    flat = named[:1] or [port.name for port in graph.outputs if len(port.shape) == 2]
    if len(flat) != 1:
        raise ModelError(
            f"{graph.path} has the outputs {', '.join(map(str, graph.outputs))}. Expected one of two dimensions, or "
            f"one of the names {', '.join(EMBEDDINGS)}."
        )
    return flat[0]
