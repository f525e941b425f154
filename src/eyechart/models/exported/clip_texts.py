"""How an exported text tower reads texts if no original is named: by the files beside it.

These are `open_clip_config.json`, which `eyechart export onnx` writes, or `config.json` of a family that transformers
has, with the tokenizer's files, as optimum and transformers.js keep them.
"""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from eyechart.errors import ModelError
from eyechart.models.hf.clip import FAMILIES, PADDED
from eyechart.models.open_clip.files import Checkpoint, load_tokenizer
from eyechart.models.weights import hub_files
from eyechart.models.weights.weight_source import WeightSource

OPEN_CLIP = "open_clip_config.json"


class TextReader:
    """Reads texts as the files in a folder say, or in the folder above it."""

    def __init__(self, path: Path, *, offline: bool) -> None:
        start = path if path.is_dir() else path.parent
        complete = [
            folder
            for folder in (start, start.resolve().parent)
            if (folder / OPEN_CLIP).is_file()
            or all((folder / name).is_file() for name in ("tokenizer.json", "config.json"))
        ]
        if not complete:
            raise ModelError(
                f"Neither {start} nor the folder above it says how texts are read. Expected {OPEN_CLIP}, or "
                "tokenizer.json and config.json. Copy them there, or write like=open_clip[…], the model that the files "
                "were exported from."
            )
        self.folder, self.offline = complete[0], offline

    @cached_property
    def sha256(self) -> str:
        """The sha256 of all files that say how texts are read."""
        return hub_files.processor_files_sha256(self.folder)

    def read(self, texts: Sequence[str], length: int | None) -> tuple[Any, Any]:
        """Return tokens (m, length), and a mask that is 1 up to the last token that a tower sees."""
        if self._open_clip:
            tokens = np.asarray(self._open_clip(list(texts)))
            return tokens, mask_up_to_the_last(tokens)
        padded = self._family == PADDED
        longest = length or self._configuration.text_config.max_position_embeddings
        if self._family.masks_padding:
            longest = min(longest, self._tokenizer.model_max_length)
        kind = str(hub_files.read_settings(self.folder / "tokenizer_config.json").get("tokenizer_class") or "")
        cased = [text.lower() for text in texts] if padded and kind.startswith(("Gemma", "Siglip2")) else [*texts]
        made = self._tokenizer(
            cased, truncation=True, max_length=longest, padding="max_length", return_attention_mask=True
        )
        tokens = np.asarray(made["input_ids"])
        return tokens, np.ones_like(tokens) if padded else np.asarray(made["attention_mask"])

    @property
    def needs_mask(self) -> bool:
        """Whether a tower that takes no mask would see the filling behind a text, unlike in its training."""
        return not self._open_clip and self._family.masks_padding

    @cached_property
    def _open_clip(self) -> Any:
        """The tokenizer of open_clip, None for one of transformers."""
        if not (self.folder / OPEN_CLIP).is_file():
            return None
        config = hub_files.read_settings(self.folder / OPEN_CLIP).get("model_cfg", {})
        if "text_cfg" not in config:
            raise ModelError(f"{self.folder / OPEN_CLIP} has no model_cfg with text_cfg. Copy the model's own file.")
        source = WeightSource(self.folder)
        checkpoint = Checkpoint(f"local-dir:{self.folder}", config, {}, source, quick_gelu=False, folder=self.folder)
        return load_tokenizer(checkpoint, offline=self.offline)

    @cached_property
    def _configuration(self) -> Any:
        kind = hub_files.read_settings(self.folder / "config.json").get("model_type")
        if kind not in FAMILIES:
            raise ModelError(
                f"{self.folder / 'config.json'} has the model_type {kind}. Expected one of {', '.join(FAMILIES)}. "
                "Write like=open_clip[…] if open_clip has the model."
            )
        return hub_files.load_processor("AutoConfig", self.folder)

    @property
    def _family(self) -> Any:
        return FAMILIES[self._configuration.model_type]

    @cached_property
    def _tokenizer(self) -> Any:
        return hub_files.load_processor("AutoTokenizer", self.folder)


def mask_up_to_the_last(tokens: Any) -> Any:
    """Return 1 up to the last token of each row that is no zero, and 0 behind it."""
    length = tokens.shape[1] - np.argmax(tokens[:, ::-1] != 0, axis=1)
    return (np.arange(tokens.shape[1]) < length[:, None]).astype(np.int64)
