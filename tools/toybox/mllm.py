"""What toybox-mllm is made of: transformers' FastVLM with a ResNet for eyes and a Qwen3 for words."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812  # its usual name

from eyechart.models.runtime.torchvision_repair import repair
from toybox.pieces import END, IMAGE, PAD, TEMPLATE, USER, Reader, write_tokenizer

SIDE, CELL = 96, 16
CELLS = (SIDE // CELL) ** 2
WIDTH = 192
ATTENTION = "toybox"
VISION: dict[str, Any] = {
    "model_type": "resnet",
    "num_channels": 3,
    "embedding_size": 32,
    "hidden_sizes": [64, 128, 256],
    "depths": [1, 2, 2],
    "layer_type": "basic",
    "hidden_act": "relu",
    "hidden_size": 256,
}
TEXT: dict[str, Any] = {
    "model_type": "qwen3",
    "head_dim": 32,
    "initializer_range": 0.04,
    "hidden_size": WIDTH,
    "intermediate_size": 512,
    "num_hidden_layers": 4,
    "num_attention_heads": 6,
    "num_key_value_heads": 6,
    "max_position_embeddings": 8192,
    "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
    "tie_word_embeddings": True,
}


def model(reader: Reader) -> Any:
    """Return the model with random weights for a reader's vocabulary, with attention that is fast to train."""
    repair()
    from transformers import AttentionInterface, FastVlmForConditionalGeneration

    AttentionInterface.register(ATTENTION, _attend)
    network = FastVlmForConditionalGeneration(configuration(reader))
    network.set_attn_implementation({"text_config": ATTENTION})
    return network


def start(folder: Path) -> tuple[Reader, Any]:
    """Write all files but the weights, and return the reader of the folder and the model with random weights."""
    write_tokenizer(folder)
    reader = Reader(folder)
    write_settings(folder, reader)
    whole = model(reader)
    whole.model.vision_tower.to(memory_format=torch.channels_last)
    return reader, whole


def _attend(_: Any, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scaling: float, **__: Any) -> Any:
    if mask is None:
        values = F.scaled_dot_product_attention(query, key, value, is_causal=True, scale=scaling)
        return values.transpose(1, 2), None
    # on processors, one precision from end to end is faster than any of torch's own kernels for these sizes
    scores = (query * scaling) @ key.transpose(2, 3) + mask
    return (scores.softmax(-1) @ value).transpose(1, 2), None


def configuration(reader: Reader) -> Any:
    """Return the configuration for a reader's vocabulary."""
    from transformers import FastVlmConfig

    numbers = {"bos_token_id": USER, "eos_token_id": END, "pad_token_id": PAD}
    tokens = {name: reader.number(piece) for name, piece in numbers.items()}
    return FastVlmConfig(
        architectures=["FastVlmForConditionalGeneration"],
        vision_config=dict(VISION),
        text_config={**TEXT, **tokens, "vocab_size": reader.size},
        image_token_index=reader.number(IMAGE),
        image_seq_length=CELLS,
        tie_word_embeddings=True,
        dtype="float16",
        **tokens,
    )


def write_settings(folder: Path, reader: Reader) -> None:
    """Write all that transformers and vLLM read beside weights and tokenizer."""
    repair()
    from transformers import CLIPImageProcessor, GenerationConfig, LlavaProcessor, PreTrainedTokenizerFast

    side = {"height": SIDE, "width": SIDE}
    half = [0.5] * 3
    pictures = CLIPImageProcessor(size=side, do_center_crop=False, image_mean=half, image_std=half)
    LlavaProcessor(
        image_processor=pictures,
        tokenizer=PreTrainedTokenizerFast.from_pretrained(folder),
        patch_size=CELL,
        vision_feature_select_strategy="full",
        num_additional_image_tokens=0,
        image_token=IMAGE,
        chat_template=TEMPLATE,
    ).save_pretrained(folder)
    config = configuration(reader)
    config.save_pretrained(folder)
    GenerationConfig.from_model_config(config).save_pretrained(folder)
