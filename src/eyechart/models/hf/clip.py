"""CLIP, SigLIP and models like them through transformers: `hf_clip[PATH]` or `hf_clip[owner/name]`.

Texts are read as each family was trained: the causal towers of CLIP, MetaCLIP 2 and GroupViT need no padding; SigLIP's
sees the padding up to its full length and no attention mask, and SigLIP 2's, whose tokenizer is Gemma's, saw small
letters alone; the towers of AltCLIP, Chinese-CLIP, ALIGN and TIPS 2, and the one that LiT tunes beside a locked image
tower (a VisionTextDualEncoderModel, whatever its two towers are), see both ways, so their padding is masked. Images are
resized with Pillow where transformers has that, as for the published numbers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from eyechart.errors import ModelError
from eyechart.models.backend_suggestions import DINO_TXT
from eyechart.models.hf.image_text import HfImageTextModel
from eyechart.models.runtime import text_batches, torch_runtime
from eyechart.models.types import Encoder, Floats
from eyechart.models.weights import hub_files


@dataclass(frozen=True)
class Family:
    """How the text tower was trained: texts padded to the full length or not, padding masked or not."""

    pads_to_full_length: bool = False
    masks_padding: bool = False


CAUSAL, PADDED, MASKED = Family(), Family(pads_to_full_length=True), Family(masks_padding=True)
FAMILIES: Mapping[str, Family] = {
    **dict.fromkeys(("clip", "metaclip_2", "groupvit"), CAUSAL),
    **dict.fromkeys(("siglip", "siglip2"), PADDED),
    **dict.fromkeys(("align", "altclip", "chinese_clip", "tipsv2", "vision-text-dual-encoder"), MASKED),
}


class HfClipEncoder(HfImageTextModel, Encoder):
    """Encodes images and texts in one space; the published prompts are 80 templates per class."""

    backend = "hf_clip"
    templates = "80"

    @cached_property
    def configuration(self) -> Any:
        """The model's configuration, which must be of a known family."""
        configuration = hub_files.load_processor("AutoConfig", self.source.path)
        family = str(configuration.model_type)
        if family not in FAMILIES:
            remedy = DINO_TXT if family.startswith("dino") else "Use the open_clip backend if it has the model."
            raise ModelError(
                f"{self.source.path / 'config.json'} is of the family '{family}', expected one of "
                f"{', '.join(FAMILIES)}. {remedy}"
            )
        return configuration

    @property
    def family(self) -> Family:
        """How the text tower was trained."""
        return FAMILIES[self.configuration.model_type]

    @property
    def class_name(self) -> str:
        """The transformers class that loads the weights."""
        return type(self.configuration).__name__.replace("Config", "Model")

    @property
    def identity_settings(self) -> Mapping[str, Any]:
        """Whether the tokenizer distinguishes upper and lower case."""
        return {"lower_case": self._lower_case}

    @property
    def logit_scale(self) -> float:
        """The learned factor of cosines."""
        if hasattr(self._module, "temperature"):
            return float(1 / self._module.temperature.item())
        return float(self._module.logit_scale.exp().item())

    @cached_property
    def _lower_case(self) -> bool:
        """Whether this is a SigLIP 2; most of them are labelled `siglip` and have a case-sensitive tokenizer."""
        tokenizer_class = (
            hub_files.read_settings(self.source.path / "tokenizer_config.json").get("tokenizer_class") or ""
        )
        return self.family.pads_to_full_length and str(tokenizer_class).startswith(("Gemma", "Siglip2"))

    def encode_images(self, images: Sequence[Mapping[str, Any]]) -> Floats:
        """Return features (n, d), not normalised."""
        with torch_runtime.inference_mode(self.device, self.dtype):
            return _features(self._module.get_image_features(**self._batch(images)))

    def encode_texts(self, wanted: Sequence[str]) -> Floats:
        """Return features (m, d), not normalised."""
        once, indices = text_batches.unique(wanted)
        read = self._read(once)

        def encode(rows: list[int], _: int) -> Floats:
            return self._encode([read[row] for row in rows])

        return text_batches.encode_in_batches(
            [len(row) for row in read], encode, text_batches.token_budget(self.device)
        )[indices]

    def _read(self, once: list[str]) -> list[list[int]]:
        longest = self.configuration.text_config.max_position_embeddings
        if self.family.masks_padding:  # RoBERTa's positions begin behind its padding's, which its tokenizer alone heeds
            longest = min(longest, self._tokenizer.model_max_length)
        padding = "max_length" if self.family.pads_to_full_length else False
        cased = [text.lower() for text in once] if self._lower_case else once
        read: list[list[int]] = self._tokenizer(cased, truncation=True, max_length=longest, padding=padding)[
            "input_ids"
        ]
        return read

    def _encode(self, read: list[list[int]]) -> Floats:
        tokens, mask = self._padded(read)
        how = {"attention_mask": mask} if self.family.masks_padding else {}
        with torch_runtime.inference_mode(self.device, self.dtype):
            return _features(self._module.get_text_features(input_ids=tokens, **how))


def _features(output: Any) -> Floats:
    return torch_runtime.to_numpy(getattr(output, "pooler_output", output))
