"""Encoders of images and texts in two exported files: `onnx_clip[FOLDER,file=int8,like=open_clip[…]]`.

The files are named as those of transformers.js: `vision_model` and `text_model`, or `model` for both in one file, in
the folder or in its folder `onnx`.
The tokenizer, the templates and the factor of cosines are those of the original, or of the files beside them.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from eyechart.errors import ModelError, SpecError
from eyechart.models.exported.clip_texts import TextReader, mask_up_to_the_last
from eyechart.models.exported.graph import Graph, Port
from eyechart.models.exported.model import Ending, Engine, ExportedOptions, OnnxModel, Optimise
from eyechart.models.exported.onnx_graph import OnnxGraph
from eyechart.models.open_clip.encoder import OpenClipEncoder
from eyechart.models.open_clip.files import load_tokenizer
from eyechart.models.options import Positive, described
from eyechart.models.runtime import text_batches
from eyechart.models.spec import ModelSpec
from eyechart.models.types import Encoder, Floats

MOST_TEXTS = 64  # of one pass
EMBEDDINGS = ("pooler_output", "embeddings", "features")  # beside image_embeds and text_embeds
MASK = "attention_mask"
SCALE_KEY, TEMPLATES_KEY = "eyechart.logit_scale", "eyechart.templates"  # metadata of the text tower


class OnnxClipOptions(ExportedOptions):
    """The options of `onnx_clip[…]`."""

    file: Ending = ""
    engine: Engine = "cpu"
    optimise: Optimise = True
    logit_scale: Annotated[
        Positive | None, described("factor of cosines before a softmax", "as of like or the file")
    ] = None


class OnnxClip(OnnxModel, Encoder):
    """An image tower and a text tower, each in an `.onnx` file, or both in one."""

    declared_options = OnnxClipOptions
    options: OnnxClipOptions
    backend = "onnx_clip"
    packages = (*OnnxModel.packages, "open_clip_torch")

    def __init__(self, spec: ModelSpec, *, device: str = "cpu", offline: bool = False) -> None:
        super().__init__(spec, device=device, offline=offline)
        self.folder = self.path
        if self.original is not None and not isinstance(self.original, OpenClipEncoder):
            raise SpecError(
                f"'{spec}' has like={self.options.like}. Expected the model of open_clip[…] that the files were "
                "exported from, for its tokenizer, templates and factor of cosines."
            )
        self._reader = None if self.original else TextReader(self.folder, offline=offline)
        self.path = self._whole or self.file_of(self.folder, "vision_model")

    @cached_property
    def _whole(self) -> Path | None:
        """The file with both towers, None if each has its own."""
        if self.folder.suffix == ".onnx":
            return self.folder
        return None if self.find_file(self.folder, "vision_model") else self.find_file(self.folder, "model")

    @cached_property
    def graph(self) -> Graph:
        """The image tower."""
        return self.open(self.path)

    @cached_property
    def text_graph(self) -> Graph:
        """The text tower."""
        return self.graph if self._whole else self.open(self.file_of(self.folder, "text_model"))

    @property
    def weight_files(self) -> tuple[Path, ...]:
        """The files of both towers."""
        return self.graph.files if self._whole else (*self.graph.files, *self.text_graph.files)

    @cached_property
    def image_port(self) -> Port:
        """The input that takes images; one file with both towers has inputs for texts, too."""
        images = [port for port in self.graph.inputs if len(port.shape) == 4 and port.channel_axis]
        return images[0] if self._whole and len(images) == 1 else self.graph.image_port()

    def _beside(self, mask: Any) -> dict[str, Any]:
        """Return what a text graph takes beside tokens: their mask, if it has that input."""
        port = next((port for port in self.text_graph.inputs if port.name == MASK), None)
        if port is None and self._reader and self._reader.needs_mask:
            raise ModelError(f"{self.text_graph.path} has no input {MASK}, which its model needs. Export it again.")
        return {MASK: mask.astype(port.type)} if port else {}

    def _read(self, texts: Sequence[str]) -> tuple[Any, Any]:
        """Return tokens and their mask."""
        port = _tokens_port(self.text_graph)
        if self._reader:
            tokens, mask = self._reader.read(texts, port.shape[1])
        else:
            tokens = np.asarray(self._tokenizer(list(texts)))
            mask = mask_up_to_the_last(tokens)
        if port.shape[1] not in (None, tokens.shape[1]):
            source = self._reader.folder if self._reader else self.options.like
            raise ModelError(
                f"{self.text_graph.path} takes texts of {port.shape[1]} tokens, but the tokenizer of {source} makes "
                f"{tokens.shape[1]}. Name the model that it was exported from in like=SPEC."
            )
        return tokens.astype(port.type), mask

    @property
    def settings(self) -> Mapping[str, Any]:
        """The precision of the text tower, and whose tokenizer and factor of cosines are used."""
        text = {"text": {"dtype": self.text_graph.precision, **self.text_graph.settings}}
        scale = self.options.logit_scale
        given = {} if scale is None else {"logit_scale": scale}
        if self._reader:
            return {**text, **given, "origin": {"tokenizer_sha256": self._reader.sha256}}
        origin = self.original.identity
        tokenizer = origin.processor["tokenizer_sha256"]
        return {**text, **given, "origin": {"sha256": origin.weights_sha256, "tokenizer_sha256": tokenizer}}

    @cached_property
    def templates(self) -> str:  # type: ignore[override]
        """The templates of the original, or those that the export names, or those of CLIP."""
        if self.original:
            return str(self.original.templates)
        return self.text_graph.metadata.get(TEMPLATES_KEY, Encoder.templates)

    @property
    def logit_scale(self) -> float:
        """The factor of cosines: the one that is given, the original's, or the file's."""
        if self.options.logit_scale is not None:
            return self.options.logit_scale
        if self.original:
            return float(self.original.logit_scale)
        if SCALE_KEY in self.text_graph.metadata:
            return float(self.text_graph.metadata[SCALE_KEY])
        assert isinstance(self.text_graph, OnnxGraph)
        logarithm = self.text_graph.scalar("logit_scale")
        if logarithm is None:
            raise ModelError(
                f"{self.text_graph.path} does not say its factor of cosines, neither in its metadata ({SCALE_KEY}) nor "
                "as a weight with the name logit_scale. Write logit_scale=NUMBER, such as 100 for CLIP, or "
                "like=open_clip[…], the model that it was exported from."
            )
        return float(np.exp(logarithm))

    def encode_images(self, images: Sequence[Any]) -> Floats:
        """Return features (n, d), not normalised."""
        self.load(self.graph)
        beside = {}
        if self._whole:  # ONNX Runtime wants every input, also for the output of images alone
            port = _tokens_port(self.graph)
            tokens, mask = (np.repeat(row, len(images), axis=0) for row in self._read(["a"]))
            beside = {port.name: tokens, **self._beside(mask)}
        return self.graph.run_rows(self.image_port, self.batch(images), _features(self.graph, "image"), beside)

    def encode_texts(self, texts: Sequence[str]) -> Floats:
        """Return features (m, d), not normalised; every text has the full length, so that batches change nothing."""
        once, indices = text_batches.unique(texts)
        port = _tokens_port(self.text_graph)
        tokens, mask = self._read(once)
        size = 1 if self.text_graph.precision == "int8 dynamic" else MOST_TEXTS
        output = _features(self.text_graph, "text")
        self.load(self.text_graph)
        parts = [slice(start, start + size) for start in range(0, len(tokens), size)]
        rows = [self._encode_tokens(port, tokens[part], self._beside(mask[part]), output) for part in parts]
        return np.concatenate(rows)[indices]

    def _encode_tokens(self, port: Port, tokens: Any, beside: dict[str, Any], output: str) -> Floats:
        if self._whole:
            height, width = self.preprocessing.size or (1, 1)
            blank = self.batch([np.zeros((height, width, 3), np.uint8)])
            beside[self.image_port.name] = np.repeat(blank, len(tokens), axis=0)
        return self.text_graph.run_rows(port, tokens, output, beside)

    @cached_property
    def _tokenizer(self) -> Any:
        return load_tokenizer(self.original.checkpoint, offline=self.offline)


def _tokens_port(graph: Graph) -> Port:
    """Return the input of tokens; another one may be their mask, or take images. Raises ModelError for others."""
    tokens = [port for port in graph.inputs if len(port.shape) == 2 and port.name != MASK]
    others = [port for port in graph.inputs if port not in tokens and port.name != MASK and len(port.shape) != 4]
    if len(tokens) != 1 or others:
        raise ModelError(
            f"{graph.path} has the inputs {', '.join(map(str, graph.inputs))}. Expected one of tokens, (n, length), "
            f"and at most {MASK} and one of images."
        )
    return tokens[0]


def _features(graph: Graph, side: str) -> str:
    """Return the output of features of a side: by its usual name, else the only one of two dimensions."""
    names = [port.name for port in graph.outputs]
    named = [name for name in (f"{side}_embeds", *EMBEDDINGS) if name in names]
    flat = named[:1] or [port.name for port in graph.outputs if len(port.shape) == 2]
    if len(flat) != 1:
        raise ModelError(
            f"{graph.path} has the outputs {', '.join(map(str, graph.outputs))}. Expected one of two dimensions, or "
            f"one of the names {', '.join([f'{side}_embeds', *EMBEDDINGS])}."
        )
    return flat[0]
