"""Base class of transformers models that read images and texts from one folder."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from PIL import Image

from eyechart.errors import SpecError
from eyechart.models.options import BatchSize, DtypeOption, ModelOptions
from eyechart.models.runtime import torch_runtime
from eyechart.models.runtime.phases import phase
from eyechart.models.spec import ModelSpec
from eyechart.models.types import Identity
from eyechart.models.weights import hub_files, weight_source

if TYPE_CHECKING:
    import torch

LIBRARIES = ("transformers", "tokenizers", "torch", "pillow")


class ImageTextOptions(ModelOptions):
    """The options of a folder that is read by transformers."""

    dtype: DtypeOption = None
    batch_size: BatchSize = 64


class HfImageTextModel:
    """A folder with weights, tokenizer and image processor; a subclass names the class of the weights."""

    backend: ClassVar[str]
    declared_options: ClassVar[type[ModelOptions]] = ImageTextOptions

    def __init__(self, spec: ModelSpec, *, device: str = "cpu", offline: bool = False) -> None:
        options: Any = self.declared_options.read(spec)
        if not spec.arguments:
            raise SpecError(f"'{spec}' names no model. Expected {self.backend}[PATH] or {self.backend}[owner/name].")
        self.spec, self.device, self.offline = spec, device, offline
        self.batch_size = options.batch_size
        self.dtype = options.dtype or torch_runtime.native_dtype(device)
        self.loads = 0

    @cached_property
    def source(self) -> weight_source.WeightSource:
        """The folder of weights, tokenizer and processor."""
        return hub_files.find_folder(self.spec.arguments[0], offline=self.offline)

    @cached_property
    def configuration(self) -> Any:
        """The model's configuration, which must be of a known family."""
        raise NotImplementedError

    @property
    def class_name(self) -> str:
        """The transformers class that loads the weights."""
        raise NotImplementedError

    @property
    def identity_settings(self) -> Mapping[str, Any]:
        """Settings besides the files and the precision that can change an answer."""
        raise NotImplementedError

    @property
    def weight_files(self) -> tuple[Path, ...]:
        """The files of the weights."""
        return (*hub_files.weight_files(self.source.path),)

    @cached_property
    def identity(self) -> Identity:
        """The model's identity; it reads the weights on disk but does not load them into memory."""
        return Identity(
            backend=self.backend,
            name=self.spec.arguments[0].rstrip("/").rpartition("/")[2],
            weights_sha256=weight_source.digest(*self.weight_files),
            revision=self.source.revision,
            dtype=self.dtype,
            device=self.device.partition(":")[0],
            processor={
                "family": self.configuration.model_type,
                **self.identity_settings,
                "files_sha256": hub_files.processor_files_sha256(self.source.path),
            },
            libraries=torch_runtime.library_versions(*LIBRARIES),
        )

    @cached_property
    def _processor(self) -> Any:
        return hub_files.load_processor("AutoImageProcessor", self.source.path, backend="pil")

    @cached_property
    def _tokenizer(self) -> Any:
        return hub_files.load_processor("AutoTokenizer", self.source.path)

    @cached_property
    def _module(self) -> Any:
        _ = self.configuration  # a family that is not known is refused before its weights are read
        self.loads += 1
        with phase("load"):
            return torch_runtime.to_device(hub_files.load_model(self.class_name, self.source.path), self.device)

    def prepare(self, image: Image.Image) -> Any:
        """Return an RGB image as the tensors of a batch of one."""
        return dict(self._processor(images=image, return_tensors="pt"))

    def _batch(self, images: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return prepared images as one batch on the device."""
        import torch

        return {key: torch.cat([image[key] for image in images]).to(self.device) for key in images[0]}

    def _padded(self, read: Sequence[Sequence[int]]) -> "tuple[torch.Tensor, torch.Tensor]":
        """Return tokens (m, longest) on the device, and the attention mask."""
        import torch
        from torch.nn.utils.rnn import pad_sequence

        filler = self._tokenizer.pad_token_id or 0
        tokens = pad_sequence([torch.tensor(row) for row in read], batch_first=True, padding_value=filler)
        mask = pad_sequence([torch.ones(len(row), dtype=torch.long) for row in read], batch_first=True)
        return tokens.to(self.device), mask.to(self.device)
