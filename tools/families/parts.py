"""Parts of tiny checkpoints: tokenizer, chat template, and settings that several families share."""

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from tokenizers.processors import ByteLevel
from transformers import PreTrainedTokenizerFast

Checkpoint = tuple[Any, Any]  # a model and its processor
TEMPLATE = (
    "{% for m in messages %}{{ '<user>' if m['role'] == 'user' else '<bot>' }}{% for c in m['content'] %}"
    "{% if c['type'] == 'text' %}{{ c['text'] }}{% else %}IMAGE{% endif %}{% endfor %}<turn>{% endfor %}"
    "{% if add_generation_prompt %}<bot>{% endif %}"
)
QWEN = {name: f"<|{name}|>" for name in ("image_pad", "video_pad", "vision_start", "vision_end")}
SPECIAL = ["<user>", "<bot>", "<turn>", *QWEN.values()]
WORDS: dict[str, Any] = {"hidden_size": 96, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 3}
HALF: dict[str, Any] = {"image_mean": [0.5] * 3, "image_std": [0.5] * 3}
SIGLIP: dict[str, Any] = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
CLIP = SIGLIP | {"image_size": 48, "patch_size": 16, "projection_dim": 32}
LINEAR: dict[str, Any] = {  # layers of linear attention
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 2,
    "linear_key_head_dim": 16,
    "linear_value_head_dim": 16,
    "num_hidden_layers": 4,
}
EXPERTS: dict[str, Any] = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32}


def make_tokenizer(
    sample: str = "toybox-clip", names: Mapping[str, str] = {}, **more: Any
) -> tuple[Any, dict[str, Any]]:
    """Return a packaged model's tokenizer with tokens of some names more, and the text model's settings for it."""
    file = Path(str(files("eyechart.samples"))) / sample / "tokenizer.json"
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=str(file), pad_token="<pad>", eos_token="<turn>", extra_special_tokens=dict(names)
    )
    tokenizer.add_special_tokens({"additional_special_tokens": [*SPECIAL, *names.values()]})
    tokenizer.backend_tokenizer.post_processor = ByteLevel(trim_offsets=False)  # no start or end of its own
    ids = {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id, "bos_token_id": None}
    length = {"vocab_size": len(tokenizer), "max_position_embeddings": 2048, "num_key_value_heads": 3}
    return tokenizer, WORDS | ids | length | {"head_dim": 32, "tie_word_embeddings": True} | more


def token_ids(tokenizer: Any, names: Mapping[str, str]) -> dict[str, int]:
    """Return the tokens of some names."""
    return {name: tokenizer.convert_tokens_to_ids(token) for name, token in names.items()}


def chat_template(image: str) -> str:
    """Return a chat template that puts some text instead of an image."""
    return TEMPLATE.replace("IMAGE", image)
