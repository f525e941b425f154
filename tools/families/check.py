"""Compares `hf[…]` with plain forward passes and with the generation of transformers on a tiny checkpoint."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from eyechart.errors import ModelError
from eyechart.models.generation import generate_all
from eyechart.models.hf import trie_pass, trie_scoring
from eyechart.models.hf.decoding import read_prompts
from eyechart.models.hf.generator import HfGenerator
from eyechart.models.spec import parse_spec
from eyechart.models.types import Request
from eyechart.models.vllm.generator import VllmGenerator

CHOICES = ("cat", "caterpillar", "cat food", "a cat that sees", "dog", "cat", "x", "hot dog", "")
TOKENS, BATCH = 5, 8  # tokens of an answer, and requests of a batch if there are so many
PATHS = {True: "one pass", False: "step by step"}


def draw_requests(count: int = 3) -> list[Request]:
    """Return requests with an image each; no two prompts have the same length."""
    noise = np.random.default_rng(3).integers(0, 256, (count, 4, 3, 3), dtype=np.uint8)
    images = [Image.fromarray(pixels).resize((50 + 10 * index, 60)) for index, pixels in enumerate(noise)]
    return [Request((image, f"what is thing {index}?" + " and so on" * index)) for index, image in enumerate(images)]


@cache
def load_generator(spec: str) -> HfGenerator:
    """Return a model, which is loaded once for all comparisons."""
    return HfGenerator(parse_spec(spec), offline=True)


@dataclass(frozen=True)
class EngineComparison:
    """What vLLM gives beside transformers: equal tokens, the largest difference of log-probabilities, and the way."""

    same_tokens: bool
    error: float
    side_by_side: bool


@dataclass(frozen=True)
class Comparison:
    """A checkpoint's answers and log-probabilities beside those of transformers."""

    folder: Path
    requests: Sequence[Request]
    choices: Sequence[str] = CHOICES

    @property
    def generator(self) -> HfGenerator:
        """The checkpoint as eyechart asks it, all requests in one batch."""
        return load_generator(f"hf[{self.folder},batch_size={max(BATCH, len(self.requests))}]")

    @property
    def spec(self) -> str:
        """The checkpoint through transformers."""
        return f"hf[{self.folder}]"

    @property
    def vllm_spec(self) -> str:
        """The checkpoint through vLLM."""
        return f"vllm[{self.folder},max_num_seqs=16]"

    @cached_property
    def scores(self) -> NDArray[np.float32]:
        """The log-probabilities (requests, choices) of the choices."""
        return self.generator.score(self.requests, self.choices)

    @cached_property
    def error(self) -> float:
        """The largest difference from a forward pass over each prompt with each choice, without a cache."""
        rows = self.generator._chat.tokenize_choices(self.choices)
        read = cache(self._read_choice)  # some choices are equal
        expected = [[read(index, tuple(row)) for row in rows] for index in range(len(self._prompts))]
        return float(np.abs(self.scores - np.array(expected)).max())

    @cached_property
    def finds_best(self) -> bool:
        """Whether the best choices and their log-probabilities are those of the scores."""
        choices, values = self.generator.best(self.requests, self.choices)
        same_values = np.allclose(values, self.scores.max(axis=1), rtol=0, atol=1e-4)
        return bool((choices == self.scores.argmax(axis=1)).all()) and same_values

    @cached_property
    def same_tokens(self) -> bool:
        """Whether each answer has the tokens that transformers generates for its request alone."""
        return all(answer == self._generate(prompt) for answer, prompt in zip(self.answers, self._prompts, strict=True))

    @cached_property
    def path(self) -> str:
        """How the choices are scored."""
        trie = self.generator._chat.build_trie(self.choices)
        prompts, _ = trie_scoring.score_root(read_prompts(self.generator._module, self._prompts[0]), trie, 2**26)
        return PATHS[isinstance(prompts, trie_pass.PassedPrompts)]

    def ask_transformers(self, request: Request) -> tuple[int, ...] | Exception:
        """Return the tokens that transformers generates for a request alone, or what it raises."""
        try:
            return self._generate(self._prepare(request))
        except Exception as error:
            return error

    @cached_property
    def answers(self) -> list[tuple[int, ...]]:
        """The tokens of the answers."""
        return [answer.tokens for answer in generate_all(self.generator, self.requests, TOKENS)]

    @cached_property
    def vllm(self) -> "EngineComparison | None":
        """The same checkpoint through vLLM, None if vLLM does not start with it or fails."""
        answers, scores = self.answers, self.scores  # before vLLM, which takes classes of transformers while it works
        model = VllmGenerator(parse_spec(self.vllm_spec), offline=True)
        try:
            tokens = [answer.tokens for answer in generate_all(model, self.requests, TOKENS)]
            error = float(np.abs(model.score(self.requests, self.choices) - scores).max())
            return EngineComparison(tokens == answers, error, bool(model._scorer._agrees))
        except ModelError:
            return None
        finally:
            model.close()

    @cached_property
    def _prompts(self) -> list[dict[str, Any]]:
        return [self._prepare(request) for request in self.requests]

    def _prepare(self, request: Request) -> dict[str, Any]:
        prompt, dtype = self.generator._chat.prepare_inputs(request), self.generator._module.dtype
        return {name: value.to(dtype) if value.is_floating_point() else value for name, value in prompt.items()}

    def _generate(self, prompt: dict[str, Any]) -> tuple[int, ...]:
        tokens = self.generator._module.generate(**prompt, max_new_tokens=TOKENS)
        start = 1 if self._is_encoder_decoder else prompt["input_ids"].shape[1]
        return tuple(tokens[0, start:].tolist())

    @property
    def _is_encoder_decoder(self) -> bool:
        return bool(self.generator._module.config.is_encoder_decoder)

    def _read_choice(self, index: int, choice: tuple[int, ...]) -> float:
        """Return the log-probability of a choice from one forward pass over the prompt at a place and the choice."""
        import torch

        prompt = self._prompts[index]
        if self._is_encoder_decoder:
            first = self.generator._module.generation_config.decoder_start_token_id
            inputs = prompt | {"decoder_input_ids": prompt["input_ids"].new_tensor([[first, *choice]])}
        else:
            inputs = {name: _extend(name, value, prompt, choice) for name, value in prompt.items()}
        with torch.inference_mode():
            logits = self.generator._module(**inputs).logits[0, -len(choice) - 1 : -1]
        return float(logits.double().log_softmax(-1)[range(len(choice)), list(choice)].sum())


def _extend(name: str, value: Any, prompt: dict[str, Any], choice: Sequence[int]) -> Any:
    """Return an input of a prompt with a choice behind it."""
    import torch

    if name == "cross_attention_mask":
        return torch.cat([value, value[:, -1:].expand(-1, len(choice), *value.shape[2:])], dim=1)
    if value.shape != prompt["input_ids"].shape:
        return value
    if name == "input_ids":
        behind = value.new_tensor([list(choice)])
    elif name == "token_type_ids" and not (value == 0).logical_not().any():
        behind = value.new_ones(1, len(choice))  # PaliGemma's are 0 for a prompt and 1 for what is written after it
    else:
        behind = value.new_full((1, len(choice)), int(name == "attention_mask"))
    return torch.cat([value, behind], dim=1)
