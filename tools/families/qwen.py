"""Qwen's families and those built like them."""

from collections.abc import Mapping
from typing import Any

import transformers as t

from families.parts import EXPERTS, HALF, LINEAR, QWEN, SIGLIP, Checkpoint, chat_template, make_tokenizer

IMAGE = "{vision_start}{image_pad}{vision_end}".format(**QWEN)
ROPE: dict[str, Any] = {"rope_type": "default", "mrope_section": [6, 5, 5], "rope_theta": 1e4}
NARROW = ROPE | {"mrope_section": [2, 1, 1], "partial_rotary_factor": 0.25}
EYE: dict[str, Any] = {"depth": 2, "hidden_size": 64, "intermediate_size": 64, "num_heads": 2, "out_hidden_size": 96}
PIXELS: dict[str, Any] = {"min_pixels": 32 * 32, "max_pixels": 64 * 64, **HALF}


def make_qwen(kind: Any, videos: Any, text: Mapping[str, Any], eye: Mapping[str, Any]) -> Checkpoint:
    """Return a model of Qwen's and the processor that goes with it."""
    tokenizer, words = make_tokenizer(**text)
    ids = {f"{name.removesuffix('_pad')}_token_id": tokenizer.convert_tokens_to_ids(say) for name, say in QWEN.items()}
    config = kind(text_config=words, vision_config=dict(eye), tie_word_embeddings=True, **ids)
    images = t.Qwen2VLImageProcessor(patch_size=8, merge_size=2, **PIXELS)
    processor = t.Qwen3VLProcessor if videos is t.Qwen3VLVideoProcessor else t.Qwen2_5_VLProcessor
    chat = chat_template(IMAGE)
    reader = processor(images, tokenizer, videos(patch_size=8, merge_size=2), chat_template=chat)
    return t.AutoModelForImageTextToText.from_config(config), reader


def qwen2_vl() -> Checkpoint:
    """Images of any shape, positions on three planes."""
    eye = {"depth": 2, "embed_dim": 64, "hidden_size": 96, "num_heads": 2, "patch_size": 8, "mlp_ratio": 2}
    return make_qwen(t.Qwen2VLConfig, t.Qwen2VLVideoProcessor, {"rope_parameters": ROPE}, eye)


def qwen2_5_vl() -> Checkpoint:
    """Refuses images that are more than 200 times as long as wide."""
    eye = {"depth": 2, "hidden_size": 64, "out_hidden_size": 96, "num_heads": 2, "patch_size": 8}
    window = {"intermediate_size": 64, "window_size": 32, "fullatt_block_indexes": [1]}
    return make_qwen(t.Qwen2_5_VLConfig, t.Qwen2VLVideoProcessor, {"rope_parameters": ROPE}, eye | window)


def qwen3_vl() -> Checkpoint:
    """Images of any shape, positions on three planes."""
    rope = ROPE | {"mrope_interleaved": True}
    tokenizer, words = make_tokenizer(rope_parameters=rope)
    ids = {name: tokenizer.convert_tokens_to_ids(token) for name, token in QWEN.items()}
    config = t.Qwen3VLConfig(
        text_config=words,
        vision_config=EYE | {"patch_size": 8, "num_position_embeddings": 64, "deepstack_visual_indexes": [0]},
        tie_word_embeddings=True,
        **{f"{name.removesuffix('_pad')}_token_id": token for name, token in ids.items()},
    )
    images = t.Qwen2VLImageProcessor(patch_size=8, merge_size=2, **PIXELS)
    chat = chat_template(IMAGE)
    videos = t.Qwen3VLVideoProcessor(patch_size=8, merge_size=2)
    return t.Qwen3VLForConditionalGeneration(config), t.Qwen3VLProcessor(images, tokenizer, videos, chat_template=chat)


def qwen3_vl_moe() -> Checkpoint:
    """Has experts."""
    rope = ROPE | {"mrope_interleaved": True}
    return make_qwen(
        t.Qwen3VLMoeConfig,
        t.Qwen3VLVideoProcessor,
        EXPERTS | {"rope_parameters": rope},
        EYE | {"patch_size": 8, "num_position_embeddings": 64, "deepstack_visual_indexes": [0]},
    )


def qwen3_5() -> Checkpoint:
    """Has layers of linear attention."""
    rope = NARROW | {"mrope_interleaved": True}
    return make_qwen(
        t.Qwen3_5Config,
        t.Qwen3VLVideoProcessor,
        LINEAR | {"rope_parameters": rope},
        EYE | {"patch_size": 8, "num_position_embeddings": 64},
    )


def qwen3_5_moe() -> Checkpoint:
    """Has layers of linear attention, and experts."""
    rope = NARROW | {"mrope_interleaved": True}
    return make_qwen(
        t.Qwen3_5MoeConfig,
        t.Qwen3VLVideoProcessor,
        LINEAR | EXPERTS | {"shared_expert_intermediate_size": 32, "rope_parameters": rope},
        EYE | {"patch_size": 8, "num_position_embeddings": 64},
    )


def exaone4_5() -> Checkpoint:
    """Has layers of sliding attention, and counts the positions of new tokens by itself."""
    tokenizer, words = make_tokenizer(
        sliding_window=64, sliding_window_pattern=2, layer_types=["sliding_attention", "full_attention"]
    )
    eye = {
        "depth": 2,
        "hidden_size": 64,
        "out_hidden_size": 96,
        "num_heads": 2,
        "num_key_value_heads": 2,
        "patch_size": 8,
        "intermediate_size": 64,
        "window_size": 32,
        "fullatt_block_indexes": [1],
    }
    config = t.Exaone4_5_Config(
        text_config=t.Exaone4Config(**words).to_dict(),
        vision_config=eye,
        image_token_id=tokenizer.convert_tokens_to_ids(QWEN["image_pad"]),
        video_token_id=tokenizer.convert_tokens_to_ids(QWEN["video_pad"]),
    )
    images = t.Qwen2VLImageProcessor(patch_size=8, merge_size=2, **PIXELS)
    return t.Exaone4_5_ForConditionalGeneration(config), t.Exaone4_5_Processor(
        images,
        tokenizer,
        t.Qwen2VLVideoProcessor(patch_size=8, merge_size=2),
        chat_template=chat_template(IMAGE),
    )


def paddleocr_vl() -> Checkpoint:
    """Reads documents; positions on three planes."""
    tokenizer, words = make_tokenizer(
        names={"image_token": "<image>", "video_token": "<video>"},
        rope_parameters=ROPE,
    )
    config = t.PaddleOCRVLConfig(
        vision_config=SIGLIP | {"patch_size": 8, "image_size": 64},
        text_config=words,
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        video_token_id=tokenizer.convert_tokens_to_ids("<video>"),
        vision_start_token_id=tokenizer.convert_tokens_to_ids("<|vision_start|>"),
        vision_end_token_id=tokenizer.convert_tokens_to_ids("<|vision_end|>"),
    )
    images = t.PaddleOCRVLImageProcessor(patch_size=8, merge_size=2, **PIXELS)
    return t.PaddleOCRVLForConditionalGeneration(config), t.PaddleOCRVLProcessor(
        images, tokenizer, chat_template=chat_template("<|vision_start|><image><|vision_end|>")
    )


def video_llama_3() -> Checkpoint:
    """Reads videos and images of any shape."""
    tokenizer, words = make_tokenizer(names={"image_token": "<image>", "video_token": "<video>"})
    config = t.VideoLlama3Config(
        vision_config=SIGLIP | {"patch_size": 8},
        text_config=t.Qwen2Config(**words),
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        video_token_id=tokenizer.convert_tokens_to_ids("<video>"),
    )
    images = t.VideoLlama3ImageProcessor(patch_size=8, merge_size=1, **PIXELS)
    return t.VideoLlama3ForConditionalGeneration(config), t.VideoLlama3Processor(
        images,
        tokenizer,
        t.VideoLlama3VideoProcessor(patch_size=8, merge_size=1),
        chat_template=chat_template("<image>"),
    )


def make_minicpm(kind: str, parts: Mapping[str, str]) -> Checkpoint:
    """Return a model of MiniCPM-V's and its processor; `parts` are the tokens that its configuration names."""
    names = {f"{part}_token": f"<|{part}_pad|>" for part in ("image", "video")}
    for part in ("image", "slice", "image_id"):
        names |= {f"{part}_start_token": f"<{part}>", f"{part}_end_token": f"</{part}>"}
    tokenizer, words = make_tokenizer(names=names, **LINEAR, rope_parameters=NARROW)
    config = getattr(t, f"{kind}Config")(
        vision_config=SIGLIP | {"image_size": 64, "patch_size": 8, "insert_layer_id": 0},
        text_config=words | {"model_type": "qwen3_5_text"},
        insert_layer_id=0,
        image_size=64,
        **{name: tokenizer.convert_tokens_to_ids(token) for name, token in parts.items()},
    )
    videos = t.MiniCPMV4_6VideoProcessor()
    images = t.MiniCPMV4_6ImageProcessor(scale_resolution=64, patch_size=8, max_slice_nums=1, **HALF)
    chat, processor = chat_template("<|image_pad|>"), getattr(t, f"{kind}Processor")
    reader = processor(image_processor=images, video_processor=videos, tokenizer=tokenizer, chat_template=chat)
    return getattr(t, f"{kind}ForConditionalGeneration")(config), reader


PADS = {"image_token_id": "<|image_pad|>", "video_token_id": "<|video_pad|>"}


def minicpmv4_6() -> Checkpoint:
    """Has layers of linear attention."""
    return make_minicpm("MiniCPMV4_6", PADS)


def minicpmv4_7() -> Checkpoint:
    """Has layers of linear attention."""
    ends = {
        "image_start_id": "<image>",
        "image_end_id": "</image>",
        "slice_start_id": "<slice>",
        "slice_end_id": "</slice>",
    }
    return make_minicpm("MiniCPMV4_7", PADS | ends)
