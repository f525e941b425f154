"""CLIP, SigLIP and SigLIP 2 through transformers: `hf_clip[PATH]` or `hf_clip[owner/name]`.

Texts are read as each family was trained: CLIP's causal tower needs no padding, SigLIP's sees the padding up to its
full length and no attention mask, and SigLIP 2's, whose tokenizer is Gemma's, saw small letters alone. Images are
resized with Pillow, as for the published numbers.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from PIL import Image

from eyechart.errors import ModelError, SpecError
from eyechart.models import hf_files, runtime, texts, weights
from eyechart.models.interfaces import Floats, Identity
from eyechart.spec import ModelSpec

OPTIONS = ("dtype", "batch_size")
PADDED = {"clip": False, "siglip": True, "siglip2": True}


class HfClip:
    """Images and texts in one space; the published prompts are 80 a class."""

    templates = "80"

    def __init__(self, spec: ModelSpec, *, device: str = "cpu", offline: bool = False) -> None:
        spec.check(arguments=1, options=OPTIONS)
        if not spec.arguments:
            raise SpecError(f"'{spec}' names no model. Expected hf_clip[PATH] or hf_clip[owner/name].")
        self.spec, self.device, self.offline = spec, device, offline
        self.batch_size = runtime.batch_size(spec, 64)
        self.dtype = runtime.precision(spec, device)
        self.loads = 0

    @cached_property
    def source(self) -> weights.Found:
        """The folder of weights, tokenizer and processor."""
        return hf_files.folder(self.spec.arguments[0], offline=self.offline)

    @cached_property
    def configuration(self) -> Any:
        """The model's configuration, of a family that is known here."""
        found = hf_files.reader("AutoConfig", self.source.path)
        if found.model_type not in PADDED:
            raise ModelError(
                f"{self.source.path / 'config.json'} is of the family '{found.model_type}', expected one of "
                f"{', '.join(PADDED)}. Use the open_clip backend if it has the model."
            )
        return found

    @cached_property
    def identity(self) -> Identity:
        """Who answers; the weights are on disk after this, not yet in memory."""
        return Identity(
            backend="hf_clip",
            name=self.spec.arguments[0].rstrip("/").rpartition("/")[2],
            weights_sha256=weights.digest(*hf_files.tensors(self.source.path)),
            revision=self.source.revision,
            dtype=self.dtype,
            device=self.device.partition(":")[0],
            processor={
                "family": self.configuration.model_type,
                "lower_case": self._lower_case,
                "files_sha256": hf_files.texts_sha256(self.source.path),
            },
            libraries=runtime.libraries("transformers", "tokenizers", "torch", "pillow"),
        )

    @cached_property
    def _lower_case(self) -> bool:
        """Whether this is a SigLIP 2; most of them say `siglip` of themselves and have a tokenizer that heeds case."""
        told = hf_files.settings(self.source.path / "tokenizer_config.json").get("tokenizer_class") or ""
        return PADDED[self.configuration.model_type] and str(told).startswith(("Gemma", "Siglip2"))

    @cached_property
    def _processor(self) -> Any:
        return hf_files.reader("AutoImageProcessor", self.source.path, backend="pil")

    @cached_property
    def _tokenizer(self) -> Any:
        return hf_files.reader("AutoTokenizer", self.source.path)

    @cached_property
    def _module(self) -> Any:
        self.loads += 1
        kind = type(self.configuration).__name__.replace("Config", "Model")
        return runtime.place(hf_files.model(kind, self.source.path), self.device)

    def prepare(self, image: Image.Image) -> Any:
        """Turn an RGB image into the tensors of a batch of one."""
        return dict(self._processor(images=image, return_tensors="pt"))

    def encode_images(self, images: Sequence[Mapping[str, Any]]) -> Floats:
        """Return features (n, d), not normalised."""
        import torch

        batch = {key: torch.cat([image[key] for image in images]).to(self.device) for key in images[0]}
        with runtime.inference(self.device, self.dtype):
            return _features(self._module.get_image_features(**batch))

    def encode_texts(self, wanted: Sequence[str]) -> Floats:
        """Return features (m, d), not normalised."""
        once, places = texts.unique(wanted)
        read = self._read(once)

        def encode(rows: list[int], _: int) -> Floats:
            return self._encode([read[row] for row in rows])

        return texts.in_batches([len(row) for row in read], encode, texts.budget(self.device))[places]

    def _read(self, once: list[str]) -> list[list[int]]:
        longest = self.configuration.text_config.max_position_embeddings
        padding = "max_length" if PADDED[self.configuration.model_type] else False
        cased = [text.lower() for text in once] if self._lower_case else once
        read: list[list[int]] = self._tokenizer(cased, truncation=True, max_length=longest, padding=padding)[
            "input_ids"
        ]
        return read

    def _encode(self, read: list[list[int]]) -> Floats:
        import torch
        from torch.nn.utils.rnn import pad_sequence

        filler = self._tokenizer.pad_token_id or 0
        tokens = pad_sequence([torch.tensor(row) for row in read], batch_first=True, padding_value=filler)
        with runtime.inference(self.device, self.dtype):
            return _features(self._module.get_text_features(input_ids=tokens.to(self.device)))


def _features(found: Any) -> Floats:
    return runtime.to_numpy(getattr(found, "pooler_output", found))
