"""BLIP-2's image–text matching through transformers: `blip2[PATH]` or `blip2[owner/name]`.

Li et al. 2023, "BLIP-2: Bootstrapping Language-Image Pre-training with Frozen Image Encoders and Large Language
Models", section 3.1. `head=itm` reads image and text together: its logit is the logit of a match minus the logit of
none. `head=itc` compares them: the largest cosine between a text and the image's queries, times 100, since the
published weights come without the temperature of their training. `scale` is what either is multiplied with instead.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from eyechart.errors import ModelError
from eyechart.models.hf import image_text
from eyechart.models.options import BatchSize, Positive, described
from eyechart.models.runtime import text_batches, torch_runtime
from eyechart.models.spec import ModelSpec
from eyechart.models.types import Floats, Matcher
from eyechart.models.weights import hub_files

if TYPE_CHECKING:
    import torch

SCALES = {"itm": 1.0, "itc": 100.0}


class _Blip2Options(image_text.ImageTextOptions):
    """The options of `blip2[…]`."""

    batch_size: BatchSize = 32
    head: Annotated[
        Literal["itm", "itc"], described("itm reads image and text together, itc compares their features")
    ] = "itm"
    scale: Annotated[Positive | None, described("factor of the logits before a softmax", "1, of itc 100")] = None


class Blip2Matcher(image_text.HfImageTextModel, Matcher):
    """BLIP-2's matching heads: the vision tower encodes an image once, the Q-Former reads texts in batches."""

    backend = "blip2"
    class_name = "Blip2ForImageTextRetrieval"
    declared_options = _Blip2Options

    def __init__(self, spec: ModelSpec, *, device: str = "cpu", offline: bool = False) -> None:
        super().__init__(spec, device=device, offline=offline)
        options = _Blip2Options.read(spec)
        self.head, self.scale = options.head, options.scale or SCALES[options.head]
        self._heard: tuple[tuple[str, ...], Floats] = ((), np.empty((0, 0), np.float32))

    @cached_property
    def configuration(self) -> Any:
        """The model's configuration; its Q-Former must read texts."""
        configuration, path = hub_files.load_processor("AutoConfig", self.source.path), self.source.path / "config.json"
        if configuration.model_type != "blip-2":
            raise ModelError(f"{path} is of the family '{configuration.model_type}', expected blip-2.")
        if not configuration.qformer_config.use_qformer_text_input:
            raise ModelError(
                f"{path} is of a BLIP-2 whose Q-Former reads no texts (use_qformer_text_input is false). Name one "
                "trained for retrieval, such as Salesforce/blip2-itm-vit-g."
            )
        return configuration

    @property
    def identity_settings(self) -> Mapping[str, Any]:
        """The head that scores, and the factor of its logits."""
        return {"head": self.head, "scale": self.scale}

    def match(self, images: Sequence[Mapping[str, Any]], wanted: Sequence[str]) -> Floats:
        """Return logits (n, m); equal texts are encoded once, texts of similar length in one batch."""
        once, indices = text_batches.unique(wanted)
        compare = self._meet if self.head == "itm" else self._compare
        with torch_runtime.inference_mode(self.device, self.dtype):
            states = self._module.vision_model(**self._batch(images)).last_hidden_state
            return np.asarray(self.scale * compare(states, tuple(once))[:, indices], dtype=np.float32)

    def _meet(self, states: "torch.Tensor", once: tuple[str, ...]) -> Floats:
        """Let the queries see every image beside every text: (n, m) from (n, patches, d)."""
        read = self._read(once)
        return np.stack([self._in_batches(read, partial(self._pair, image)) for image in states])

    def _pair(self, image: "torch.Tensor", read: list[list[int]]) -> "torch.Tensor":
        """One image (patches, d) beside some texts: (m,). Its keys and values are computed once for all of them."""
        import torch

        queries = self._module.query_tokens.expand(len(read), -1, -1)
        (tokens, mask), count = self._padded(read), queries.shape[1]
        output = self._module.qformer(
            query_embeds=self._module.embeddings(input_ids=tokens, query_embeds=queries),
            query_length=count,
            attention_mask=torch.cat([mask.new_ones(len(read), count), mask], dim=1),
            encoder_hidden_states=image[None],
        ).last_hidden_state
        logits: torch.Tensor = self._module.itm_head(output[:, :count]).float().mean(dim=1)
        return logits[:, 1] - logits[:, 0]

    def _compare(self, states: "torch.Tensor", once: tuple[str, ...]) -> Floats:
        """Compare each image's queries with every text: (n, m) from (n, patches, d)."""
        queries = self._module.query_tokens.expand(len(states), -1, -1)
        output = self._module.qformer(query_embeds=queries, encoder_hidden_states=states).last_hidden_state
        directions = torch_runtime.to_numpy(_unit(self._module.vision_projection(output)))
        cosines: Floats = (directions @ self._hear(once).T).max(axis=1)
        return cosines

    def _hear(self, once: tuple[str, ...]) -> Floats:
        """Return the texts' directions (m, d); those of the last texts are kept, for the next images."""
        if self._heard[0] != once:
            self._heard = once, self._in_batches(self._read(once), self._alone)
        return self._heard[1]

    def _alone(self, read: list[list[int]]) -> "torch.Tensor":
        tokens, mask = self._padded(read)
        embedded = self._module.embeddings(input_ids=tokens)
        output = self._module.qformer(query_embeds=embedded, query_length=0, attention_mask=mask).last_hidden_state
        return _unit(self._module.text_projection(output[:, 0]))

    def _read(self, once: Sequence[str]) -> list[list[int]]:
        longest = self.configuration.qformer_config.max_position_embeddings
        read: list[list[int]] = self._tokenizer(list(once), truncation=True, max_length=longest)["input_ids"]
        return read

    def _in_batches(self, read: list[list[int]], see: "Callable[[list[list[int]]], torch.Tensor]") -> Floats:
        lengths = [self.configuration.num_query_tokens + len(row) for row in read]

        def encode(rows: list[int], _: int) -> Floats:
            return torch_runtime.to_numpy(see([read[row] for row in rows]))

        return text_batches.encode_in_batches(lengths, encode, text_batches.token_budget(self.device))


def _unit(features: "torch.Tensor") -> "torch.Tensor":
    from torch.nn.functional import normalize

    return normalize(features.float(), dim=-1)
