"""Layers that no family with a tiny processor has: their choices are scored exactly after prompts of text alone."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from eyechart.models.choices.trie import Trie
from eyechart.models.hf import batches, trie_scoring
from eyechart.models.hf.decoding import read_prompts
from eyechart.models.hf.trie_scoring import _ContinuedPrompts
from eyechart.models.runtime.torchvision_repair import repair

pytestmark = pytest.mark.deep

SMALL = {  # of the text model, where its family has the setting
    "hidden_size": 64,
    "intermediate_size": 64,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "head_dim": 16,
    "vocab_size": 96,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "max_position_embeddings": 512,
    "n_routed_experts": 4,
    "num_local_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 32,
    "shared_intermediate_size": 32,
    "moe_shared_expert_intermediate_size": 32,
    "n_shared_experts": 1,
    "mamba_num_heads": 4,
    "mamba_head_dim": 16,
    "ssm_state_size": 16,
    "n_groups": 1,
    "sliding_window": 8,
    "index_n_heads": 4,
    "index_head_dim": 16,
    "index_block_size": 4,
    "index_topk_blocks": 2,
}
SMALL_VISION = {
    "hidden_size": 32,
    "intermediate_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "depth": 1,
    "num_heads": 2,
    "out_hidden_size": 64,
    "encoder_layers": 1,
    "d_model": 32,
    "text_hidden_size": 64,
}
SMALL_PROJECTOR = {"projector_hidden_size": 64, "merged_hidden_size": 256, "vision_hidden_size": 32}
LAYERS = {
    "inkling_mm_model": ["hybrid", "hybrid_sliding"],  # convolutions before full and sliding attention
    "minimax_m3_vl": ["full_attention", "minimax_m3_sparse"],
    "nemotron_h_omni": ["linear_attention", "moe", "full_attention", "mlp"],  # Mamba 2
}
CHOICES = [(5, 6, 2), (5, 7, 8, 2), (5, 7, 9, 10, 2), (11, 2), (12, 13, 14, 15, 2), (12, 13, 2)]
LENGTHS = {"minimax_m3_vl": (20, 20, 20)}  # of the prompts, all longer than the window; it cannot have others beside it


@pytest.fixture(scope="module")
def build() -> Callable[[str], Any]:
    """Build a tiny model of a family with random weights."""
    repair()  # before transformers is imported
    import torch
    import transformers as t

    @cache
    def build_model(family: str) -> Any:
        torch.manual_seed(0)
        config = t.AutoConfig.for_model(family)
        text = config.get_text_config()
        settings = {name: value for name, value in SMALL.items() if hasattr(text, name)}
        config.text_config = type(text)(layer_types=LAYERS[family], num_hidden_layers=len(LAYERS[family]), **settings)
        parts = [config, getattr(config, "vision_config", None), getattr(config, "audio_config", None)]
        for part, sizes in zip(parts, (SMALL_PROJECTOR, SMALL_VISION, SMALL_VISION), strict=True):
            for name in sizes:
                if hasattr(part, name):
                    setattr(part, name, sizes[name])
        model = t.AutoModelForImageTextToText.from_config(config).eval()
        for name, values in model.named_parameters():
            if values.ndim > 1 and "embed" not in name:
                values.data.mul_(4)
        model.generation_config = t.GenerationConfig(do_sample=False, eos_token_id=2, pad_token_id=0)
        return model

    return build_model


@pytest.mark.parametrize("family", LAYERS)
def test_scores_are_those_of_whole_prompts_with_their_choices(build: Callable[[str], Any], family: str) -> None:
    import torch

    lengths = LENGTHS.get(family, (12, 20, 16))
    model, trie = build(family), Trie.from_choices(CHOICES)
    torch.manual_seed(1)
    prompts = [torch.randint(20, 90, (length,)) for length in lengths]
    longest = max(lengths)
    padded = [torch.nn.functional.pad(prompt, (longest - len(prompt), 0)) for prompt in prompts]
    batch = {"input_ids": torch.stack(padded), "attention_mask": (torch.stack(padded) > 0).long()}
    with torch.inference_mode():
        read = read_prompts(model, batch)
        ways, _ = trie_scoring.score_root(read, trie, 2**20)
        scores = trie.choice_sums(trie_scoring.log_probabilities(read, trie, 2**20))
        choices, _ = trie_scoring.best(read, trie, 2**20)
        expected = [[read_whole(model, prompt, choice) for choice in CHOICES] for prompt in prompts]
    assert isinstance(ways, _ContinuedPrompts)
    np.testing.assert_allclose(scores, expected, rtol=0, atol=2e-5)
    assert choices.tolist() == scores.argmax(axis=1).tolist()


@pytest.mark.parametrize("family", LAYERS)
def test_padding_is_avoided_where_it_would_change_answers(build: Callable[[str], Any], family: str) -> None:
    assert batches.allows_padding(build(family).config) == (family not in LENGTHS)
    prompts = {index: {"input_ids": np.zeros((1, length))} for index, length in enumerate((7, 9, 7, 8))}
    assert [*batches.group_by_length(prompts, 4)] == [[0, 2, 3, 1]]
    assert [*batches.group_by_length(prompts, 4, padding=False)] == [[0, 2], [3], [1]]


def read_whole(model: Any, prompt: Any, choice: tuple[int, ...]) -> float:
    """The log-probability of a choice from one pass over a prompt and the choice."""
    import torch

    tokens = torch.cat([prompt, torch.tensor(choice)])[None]
    logits = model(input_ids=tokens, attention_mask=torch.ones_like(tokens)).logits[0, -len(choice) - 1 : -1]
    return float(logits.double().log_softmax(-1)[range(len(choice)), list(choice)].sum())
