"""What the models of transformers have in common that read images and texts from one folder."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from PIL import Image

from eyechart.errors import SpecError
from eyechart.models import runtime, weights
from eyechart.models.hf import files
from eyechart.models.types import Identity
from eyechart.spec import ModelSpec

if TYPE_CHECKING:
    import torch

OPTIONS = ("dtype", "batch_size")
LIBRARIES = ("transformers", "tokenizers", "torch", "pillow")


class HfPair:
    """A folder with weights, a tokenizer and an image processor; a subclass says which class reads the weights."""

    backend: ClassVar[str]
    options: ClassVar[tuple[str, ...]] = OPTIONS
    usual_batch: ClassVar[int] = 64

    def __init__(self, spec: ModelSpec, *, device: str = "cpu", offline: bool = False) -> None:
        spec.check(arguments=1, options=self.options)
        if not spec.arguments:
            raise SpecError(f"'{spec}' names no model. Expected {self.backend}[PATH] or {self.backend}[owner/name].")
        self.spec, self.device, self.offline = spec, device, offline
        self.batch_size = runtime.batch_size(spec, self.usual_batch)
        self.dtype = runtime.precision(spec, device)
        self.loads = 0

    @cached_property
    def source(self) -> weights.Found:
        """The folder of weights, tokenizer and processor."""
        return files.folder(self.spec.arguments[0], offline=self.offline)

    @cached_property
    def configuration(self) -> Any:
        """The model's configuration, of a family that is known here."""
        raise NotImplementedError

    @property
    def kind(self) -> str:
        """The class of transformers that reads the weights."""
        raise NotImplementedError

    @property
    def reading(self) -> Mapping[str, Any]:
        """What besides the folder's files and the precision can change an answer."""
        raise NotImplementedError

    @cached_property
    def identity(self) -> Identity:
        """Who answers; the weights are on disk after this, not yet in memory."""
        return Identity(
            backend=self.backend,
            name=self.spec.arguments[0].rstrip("/").rpartition("/")[2],
            weights_sha256=weights.digest(*files.tensors(self.source.path)),
            revision=self.source.revision,
            dtype=self.dtype,
            device=self.device.partition(":")[0],
            processor={
                "family": self.configuration.model_type,
                **self.reading,
                "files_sha256": files.texts_sha256(self.source.path),
            },
            libraries=runtime.libraries(*LIBRARIES),
        )

    @cached_property
    def _processor(self) -> Any:
        return files.reader("AutoImageProcessor", self.source.path, backend="pil")

    @cached_property
    def _tokenizer(self) -> Any:
        return files.reader("AutoTokenizer", self.source.path)

    @cached_property
    def _module(self) -> Any:
        _ = self.configuration  # a family that is not known is refused before its weights are read
        self.loads += 1
        return runtime.place(files.model(self.kind, self.source.path), self.device)

    def prepare(self, image: Image.Image) -> Any:
        """Turn an RGB image into the tensors of a batch of one."""
        return dict(self._processor(images=image, return_tensors="pt"))

    def _batch(self, images: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Put prepared images together on the device."""
        import torch

        return {key: torch.cat([image[key] for image in images]).to(self.device) for key in images[0]}

    def _padded(self, read: Sequence[Sequence[int]]) -> "tuple[torch.Tensor, torch.Tensor]":
        """Put texts' tokens together on the device, (m, longest), with the mask that tells them from the padding."""
        import torch
        from torch.nn.utils.rnn import pad_sequence

        filler = self._tokenizer.pad_token_id or 0
        tokens = pad_sequence([torch.tensor(row) for row in read], batch_first=True, padding_value=filler)
        mask = pad_sequence([torch.ones(len(row), dtype=torch.long) for row in read], batch_first=True)
        return tokens.to(self.device), mask.to(self.device)
