"""Tiny checkpoints with random weights of families that answer in words, each with its own processor.

They are made from a configuration. Importing this package does not import transformers.
"""

from importlib import import_module
from pathlib import Path
from typing import Any

MODULES = {
    "llava": (
        *("fast_vlm", "llava", "vipllava", "llava_next", "llava_onevision", "granite4_vision", "ovis2"),
        *("deepseek_vl", "janus"),
    ),
    "qwen": (
        *("qwen2_vl", "qwen2_5_vl", "qwen3_vl", "qwen3_vl_moe", "qwen3_5", "qwen3_5_moe", "exaone4_5"),
        *("paddleocr_vl", "video_llama_3", "minicpmv4_6", "minicpmv4_7"),
    ),
    "glm": ("glm4v", "glm4v_moe", "glm46v", "glm_ocr"),
    "gemma": ("gemma3", "gemma4", "gemma4_unified", "paligemma", "t5gemma2"),
    "omni": ("phi4_multimodal", "qwen2_5_omni_thinker", "qwen3_omni_moe_thinker"),
    "raw": ("blip_2", "chameleon", "florence2", "instructblip"),
    "recent": (*("aria", "ernie4_5_vl_moe", "hunyuan_vl", "kimi_k25", "perception_lm", "qianfan_ocr", "step3p7"),),
    "tiles": (
        *("internvl", "idefics2", "idefics3", "aya_vision", "cohere2_vision", "llama4", "mllama", "mistral3"),
        *("lighton_ocr", "lfm2_vl", "smolvlm"),
    ),
}
FAMILIES = tuple(sorted(family for families in MODULES.values() for family in families))


def save(family: str, folder: Path) -> Path:
    """Save a checkpoint with random weights large enough for it to say different things, and return its folder."""
    import torch

    from eyechart.models.runtime.torchvision_repair import repair

    repair()  # before transformers is imported
    module = next(module for module, families in MODULES.items() if family in families)
    torch.manual_seed(0)
    model, processor = getattr(import_module(f"families.{module}"), family)()
    _draw_weights(model)
    ends = processor.tokenizer.eos_token_id
    model.get_input_embeddings().weight.data[ends].mul_(3)  # so that some answers come to their end
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def _draw_weights(model: Any) -> None:
    import torch

    for name, values in [*model.named_parameters(), *model.named_buffers()]:
        if values.ndim > 1 and "embed_tokens" not in name:
            values.data.mul_(8)
        elif "running" in name:
            values.uniform_(0.5, 2)
        if values.is_floating_point() and not torch.isfinite(values).all():
            values.data.nan_to_num_(0, 0.02, -0.02)  # transformers leaves some of Llama 4's as they were in memory
