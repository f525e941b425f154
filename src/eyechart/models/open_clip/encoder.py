"""Encoders of open_clip: `open_clip[NAME,pretrained=TAG]`; a path may replace the tag.

`open_clip[local-dir:PATH]` and `open_clip[hf-hub:owner/name]` take the architecture from beside the weights, as does
`open_clip[toybox-clip]`, which is packaged. Quick GELU follows the weights, whatever the architecture's name says; a
file of weights does not say it, so that the name decides.
"""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from PIL import Image

from eyechart.models.open_clip import files as open_clip_files
from eyechart.models.options import BatchSize, DtypeOption, ModelOptions, described
from eyechart.models.runtime import text_batches, torch_runtime
from eyechart.models.runtime.phases import phase
from eyechart.models.runtime.pixels import PixelTransform
from eyechart.models.runtime.torchvision_repair import repair
from eyechart.models.spec import ModelSpec
from eyechart.models.types import Encoder, Floats, Identity
from eyechart.models.weights import hub_files, weight_source

if TYPE_CHECKING:
    import torch


class _OpenClipOptions(ModelOptions):
    """The options of `open_clip[…]`."""

    pretrained: Annotated[str, described("weights: a tag of open_clip, or a file")] = ""
    dtype: DtypeOption = None
    batch_size: BatchSize = 64


class TextTower:
    """The text tower of a model; each text is truncated where the rest cannot change its features.

    Under a causal mask nothing after the pooled token reaches it, so the padding up to the 77th token is work for
    nothing. Towers that see their padding, such as SigLIP's, or pool what comes after it, such as CoCa's, read every
    token.
    """

    def __init__(self, model: Any) -> None:
        self.pool = _causal_pool(model)
        self.prefix = "clip.text." if hasattr(model, "text") else "clip."
        self.tower = getattr(model, "text", model)
        self.module = _as_module(model)

    def lengths(self, tokens: "torch.Tensor") -> "torch.Tensor":
        """Return how many tokens of each row (m, context) its features depend on."""
        import torch

        if self.pool == "argmax":
            return tokens.argmax(dim=-1) + 1
        if self.pool == "eos":
            return (tokens == _eos(self.tower)).int().argmax(dim=-1) + 1
        return torch.full((len(tokens),), 1 if self.pool == "first" else tokens.shape[1])

    def __call__(self, tokens: "torch.Tensor") -> "torch.Tensor":
        """Return features (m, d) of rows, which may be truncated to their lengths."""
        from torch.func import functional_call

        if not self.pool:
            return self.module(tokens)  # type: ignore[no-any-return]
        context = tokens.shape[1]
        shorter = {
            f"{self.prefix}attn_mask": self.tower.attn_mask[:context, :context],
            f"{self.prefix}positional_embedding": self.tower.positional_embedding[:context],
        }
        features: torch.Tensor = functional_call(self.module, shorter, (tokens,))
        return features


def _causal_pool(model: Any) -> str:
    """Return the pooling of a text tower whose rows may be truncated; empty for any other tower."""
    from open_clip.model import CLIP
    from open_clip.transformer import TextTransformer

    tower = getattr(model, "text", model)
    if type(tower) not in (CLIP, TextTransformer) or getattr(tower, "cls_emb", None) is not None:
        return ""
    pool = tower.text_pool_type if type(tower) is CLIP else tower.pool_type
    return str(pool) if pool in ("argmax", "eos", "first") and _is_causal(tower.attn_mask) else ""


def _is_causal(mask: Any) -> bool:
    import torch

    if mask is None:
        return False
    return bool(torch.equal(mask.isneginf(), torch.ones_like(mask, dtype=torch.bool).triu(1)) and not mask.tril().any())


def _eos(tower: Any) -> int:
    token: int = tower.text_eos_id if hasattr(tower, "text_eos_id") else tower.eos_id
    return token


def _as_module(model: Any) -> Any:
    from torch import nn

    class Text(nn.Module):
        """`encode_text` as a module's forward, which is what torch can call with other parameters."""

        def __init__(self) -> None:
            super().__init__()
            self.clip = model

        def forward(self, tokens: "torch.Tensor") -> Any:
            """Return features, not normalised."""
            return self.clip.encode_text(tokens)

    return Text()


class OpenClipEncoder(Encoder):
    """Encodes images and texts in one space; published prompts are 80 templates per class, 7 for the packaged model."""

    declared_options = _OpenClipOptions

    templates = "80"

    def __init__(self, spec: ModelSpec, *, device: str = "cpu", offline: bool = False) -> None:
        options = _OpenClipOptions.read(spec)
        repair()
        self.spec, self.device, self.offline = spec, device, offline
        self.batch_size = options.batch_size
        self.dtype = options.dtype or torch_runtime.native_dtype(device)
        self.loads = 0
        if open_clip_files.packaged_checkpoint(spec):
            self.templates = open_clip_files.PACKAGED_TEMPLATES
        elif not spec.arguments or ":" not in spec.arguments[0]:
            open_clip_files.parse_architecture(spec)

    @cached_property
    def checkpoint(self) -> open_clip_files.Checkpoint:
        """Architecture, weights and preprocessing, on this machine."""
        return open_clip_files.find_checkpoint(self.spec, offline=self.offline)

    @property
    def weight_files(self) -> tuple[Path, ...]:
        """The file of the weights."""
        return (self.checkpoint.source.path,)

    @cached_property
    def identity(self) -> Identity:
        """The model's identity; it reads the weights on disk but does not load them into memory."""
        checkpoint = self.checkpoint
        return Identity(
            backend="open_clip",
            name=checkpoint.display_name,
            weights_sha256=weight_source.digest(*self.weight_files),
            revision=checkpoint.source.revision,
            dtype=self.dtype,
            device=self.device.partition(":")[0],
            processor={
                "image": torch_runtime.to_jsonable(checkpoint.preprocessing),
                "config_sha256": checkpoint.config_sha256,
                "quick_gelu": checkpoint.quick_gelu,
                "tokenizer_sha256": self._tokenizer_sha256,
            },
            libraries=torch_runtime.library_versions(
                "open_clip_torch", "timm", "torch", "torchvision", "transformers", "pillow"
            ),
        )

    @property
    def model_note(self) -> str:
        """That a file of weights is read with the GELU of the architecture, if there is the same with quick GELU."""
        return open_clip_files.gelu_note(self.spec)

    @property
    def _tokenizer_sha256(self) -> str:
        folder = open_clip_files.tokenizer_folder(self.checkpoint, offline=self.offline)
        return hub_files.processor_files_sha256(folder) if folder else ""

    @cached_property
    def _transform(self) -> Any:
        from open_clip.transform import PreprocessCfg, image_transform_v2

        return image_transform_v2(PreprocessCfg(**self.checkpoint.preprocessing), is_train=False)

    @property
    def network(self) -> Any:
        """The loaded network of open_clip."""
        return self._module

    @cached_property
    def _module(self) -> Any:
        self.loads += 1
        with phase("load"):
            return torch_runtime.to_device(
                open_clip_files.load_model(self.checkpoint, offline=self.offline), self.device
            )

    @cached_property
    def _tokenizer(self) -> Any:
        return open_clip_files.load_tokenizer(self.checkpoint, offline=self.offline)

    @property
    def logit_scale(self) -> float:
        """The learned factor of cosines."""
        return float(self._module.logit_scale.exp().item())

    @cached_property
    def _pixels(self) -> PixelTransform:
        return PixelTransform(self._transform)

    def prepare(self, image: Image.Image) -> Any:
        """Return an RGB image as `PixelTransform.prepare` does."""
        return self._pixels.prepare(image)

    def encode_images(self, images: Sequence[Any]) -> Floats:
        """Return features (n, d), not normalised."""
        with torch_runtime.inference_mode(self.device, self.dtype):
            return torch_runtime.to_numpy(self._module.encode_image(self._pixels.stack(images, self.device)))

    def encode_texts(self, wanted: Sequence[str]) -> Floats:
        """Return features (m, d), not normalised; equal texts are encoded once, equally long ones in one batch."""
        once, indices = text_batches.unique(wanted)
        tower, tokens = TextTower(self._module), self._tokenizer(once)

        def encode(rows: list[int], longest: int) -> Floats:
            return self._encode(tower, tokens[rows, :longest])

        return text_batches.encode_in_batches(
            tower.lengths(tokens).tolist(), encode, text_batches.token_budget(self.device)
        )[indices]

    def _encode(self, tower: TextTower, tokens: "torch.Tensor") -> Floats:
        with torch_runtime.inference_mode(self.device, self.dtype):
            return torch_runtime.to_numpy(tower(tokens.to(self.device)))
