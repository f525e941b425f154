"""Families that cut an image into tiles, or mark its rows."""

from typing import Any

import transformers as t

from families.parts import HALF, SIGLIP, Checkpoint, chat_template, make_tokenizer, token_ids


def internvl() -> Checkpoint:
    """Cuts an image into tiles."""
    names = {"start_image_token": "<img>", "end_image_token": "</img>", "context_image_token": "<IMG_CONTEXT>"}
    tokenizer, words = make_tokenizer(names={**names, "video_token": "<video>"})
    eye = t.InternVLVisionConfig(**SIGLIP, image_size=[56, 56], patch_size=[14, 14])
    config = t.InternVLConfig(
        vision_config=eye,
        text_config=t.Qwen2Config(**words),
        image_token_id=tokenizer.convert_tokens_to_ids("<IMG_CONTEXT>"),
        image_seq_length=4,
        downsample_ratio=0.5,
    )
    size = {"height": 56, "width": 56}
    images = t.GotOcr2ImageProcessor(size=size, crop_to_patches=True, min_patches=1, max_patches=4, **HALF)
    videos, chat = t.InternVLVideoProcessor(size=size), chat_template("<IMG_CONTEXT>")
    processor = t.InternVLProcessor(images, tokenizer, videos, image_seq_length=4, chat_template=chat)
    return t.InternVLForConditionalGeneration(config), processor


def idefics2() -> Checkpoint:
    """Resamples an image to a fixed number of tokens."""
    tokenizer, words = make_tokenizer(
        names={
            "image_token": "<image>",
            "image_boundary_token": "<fake_token_around_image>",
            "end": "<end_of_utterance>",
        },
        sliding_window=None,
    )
    look = {
        "hidden_size": 96,
        "resampler_n_latents": 4,
        "resampler_depth": 1,
        "resampler_n_heads": 2,
        "resampler_head_dim": 16,
        "num_key_value_heads": 2,
    }
    config = t.Idefics2Config(
        vision_config={**SIGLIP, "image_size": 64, "patch_size": 16},
        perceiver_config=look,
        text_config=t.MistralConfig(**words),
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
    )
    images = t.Idefics2ImageProcessor(size={"shortest_edge": 48, "longest_edge": 64}, do_image_splitting=False, **HALF)
    return t.Idefics2ForConditionalGeneration(config), t.Idefics2Processor(
        images, tokenizer, image_seq_len=4, chat_template=chat_template("<image>")
    )


def configure_idefics3(config: Any, tokenizer: Any, words: dict[str, Any]) -> Any:
    """Return a configuration of Idefics 3, or of a family that is built like it."""
    return config(
        vision_config={**SIGLIP, "image_size": 64, "patch_size": 16},
        text_config=t.LlamaConfig(**words),
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        scale_factor=2,
        pad_token_id=tokenizer.pad_token_id,
        tie_word_embeddings=True,
    )


def idefics3() -> Checkpoint:
    """Splits an image, and puts a token before every part of it."""
    parts = ("fake_token_around_image", "image", "end_of_utterance")
    named = dict(
        zip(("fake_image_token", "image_token", "end_of_utterance_token"), map("<{}>".format, parts), strict=True)
    )
    tokenizer, words = make_tokenizer(names={**named, "global_image_token": "<global-img>"})
    config = configure_idefics3(t.Idefics3Config, tokenizer, words)
    images = t.Idefics3ImageProcessor(size={"longest_edge": 128}, max_image_size={"longest_edge": 64}, **HALF)
    processor = t.Idefics3Processor(images, tokenizer, image_seq_len=4, chat_template=chat_template("<image>"))
    return t.Idefics3ForConditionalGeneration(config), processor


def smolvlm() -> Checkpoint:
    """Is built like Idefics 3, and reads videos; its processor needs num2words."""
    parts = ("fake_token_around_image", "image", "end_of_utterance", "global-img", "video")
    named = ("fake_image_token", "image_token", "end_of_utterance_token", "global_image_token", "video_token")
    tokenizer, words = make_tokenizer(names=dict(zip(named, map("<{}>".format, parts), strict=True)))
    config = configure_idefics3(t.SmolVLMConfig, tokenizer, words)
    sizes = {"size": {"longest_edge": 128}, "max_image_size": {"longest_edge": 64}, **HALF}
    images, videos = t.SmolVLMImageProcessor(**sizes), t.SmolVLMVideoProcessor(**sizes)
    processor = t.SmolVLMProcessor(images, tokenizer, videos, image_seq_len=4, chat_template=chat_template("<image>"))
    return t.SmolVLMForConditionalGeneration(config), processor


def aya_vision() -> Checkpoint:
    """Has layers of sliding attention."""
    parts = (
        "<image>",
        "<|START_OF_IMG|>",
        "<|END_OF_IMG|>",
        "<|IMG_PATCH|>",
        "<|IMG_LINE_BREAK|>",
        "TILE",
        "TILE_GLOBAL",
    )
    names = {f"part_{index}": part for index, part in enumerate(parts)}
    tokenizer, words = make_tokenizer(names=names, sliding_window=64, num_hidden_layers=4)
    config = t.AyaVisionConfig(
        vision_config=t.SiglipVisionConfig(**SIGLIP, image_size=64, patch_size=16),
        text_config=t.Cohere2Config(**words),
        image_token_index=tokenizer.convert_tokens_to_ids("<|IMG_PATCH|>"),
        downsample_factor=2,
        vision_feature_select_strategy="full",
        vision_feature_layer=-1,
    )
    images = t.GotOcr2ImageProcessor(
        size={"height": 64, "width": 64}, crop_to_patches=True, min_patches=1, max_patches=4, **HALF
    )
    processor = t.AyaVisionProcessor(
        images, tokenizer, patch_size=16, img_size=64, downsample_factor=2, chat_template=chat_template("<image>")
    )
    return t.AyaVisionForConditionalGeneration(config), processor


def cohere2_vision() -> Checkpoint:
    """Has layers of sliding attention."""
    names = {
        "boi_token": "<|START_OF_IMG|>",
        "eoi_token": "<|END_OF_IMG|>",
        "image_token": "<|IMG_PATCH|>",
        "img_line_break_token": "<|IMG_LINE_BREAK|>",
    }
    tokenizer, words = make_tokenizer(names=names, sliding_window=64, num_hidden_layers=4)
    config = t.Cohere2VisionConfig(
        vision_config=t.SiglipVisionConfig(**SIGLIP, image_size=64, patch_size=16),
        text_config=t.Cohere2Config(**words),
        image_token_id=tokenizer.convert_tokens_to_ids("<|IMG_PATCH|>"),
        downsample_factor=2,
        alignment_intermediate_size=64,
    )
    images = t.Cohere2VisionImageProcessor(
        size={"height": 64, "width": 64},
        patch_size=2,
        downsample_factor=2,
        crop_to_patches=False,
        min_patches=1,
        max_patches=4,
        **HALF,
    )
    return t.Cohere2VisionForConditionalGeneration(config), t.Cohere2VisionProcessor(
        images, tokenizer, chat_template=chat_template("<|IMG_PATCH|>")
    )


def llama4() -> Checkpoint:
    """Has layers of chunked attention."""
    parts = ("image", "patch", "image_start", "image_end", "tile_x_separator", "tile_y_separator")
    names = {part: f"<|{part}|>" for part in parts}
    experts: dict[str, Any] = {"intermediate_size_mlp": 128, "num_local_experts": 2, "num_experts_per_tok": 1}
    tokenizer, words = make_tokenizer(names=names, attention_chunk_size=1024, num_hidden_layers=4, **experts)
    ids = token_ids(tokenizer, names)
    eye = {"vision_output_dim": 64, "projector_input_dim": 64, "projector_output_dim": 64, "pixel_shuffle_ratio": 0.5}
    config = t.Llama4Config(
        vision_config={**SIGLIP, "intermediate_size": 128, "image_size": 56, "patch_size": 14, **eye},
        text_config=words,
        image_token_index=ids["patch"],
        boi_token_index=ids["image_start"],
        eoi_token_index=ids["image_end"],
    )
    images = t.Llama4ImageProcessor(size={"height": 56, "width": 56}, max_patches=4, **HALF)
    tokens = {f"{part}_token": names[part] for part in ("image", "patch", "tile_x_separator", "tile_y_separator")}
    ends = {"start_of_image_token": names["image_start"], "end_of_image_token": names["image_end"]}
    processor = t.Llama4Processor(
        images,
        tokenizer,
        patch_size=14,
        pixel_shuffle_ratio=0.5,
        fake_image_token=names["image"],
        chat_template=chat_template(names["image"]),
        **tokens,
        **ends,
    )
    return t.Llama4ForConditionalGeneration(config), processor


def mllama() -> Checkpoint:
    """Reads an image in layers of cross-attention."""
    tokenizer, words = make_tokenizer(
        names={"image": "<|image|>"}, num_hidden_layers=3, cross_attention_layers=[1], tie_word_embeddings=False
    )
    tokenizer.bos_token = "<user>"
    words["bos_token_id"] = tokenizer.bos_token_id
    ratios = [[1, 1], [1, 2], [1, 3], [1, 4], [2, 1], [2, 2], [3, 1], [4, 1]]
    eye = {
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_global_layers": 1,
        "attention_heads": 2,
        "intermediate_size": 64,
        "vision_output_dim": 64,
        "image_size": 56,
        "patch_size": 14,
        "max_num_tiles": 4,
        "intermediate_layers_indices": [0],
        "supported_aspect_ratios": ratios,
    }
    config = t.MllamaConfig(
        vision_config=eye, text_config=words, image_token_index=tokenizer.convert_tokens_to_ids("<|image|>")
    )
    images = t.MllamaImageProcessor(size={"height": 56, "width": 56}, max_image_tiles=4, **HALF)
    return t.MllamaForConditionalGeneration(config), t.MllamaProcessor(
        images, tokenizer, chat_template=chat_template("<|image|>")
    )


def mistral3() -> Checkpoint:
    """Prepares a picture of one pixel and then fails on it."""
    tokenizer, words = make_tokenizer(
        names={"image": "[IMG]", "row": "[IMG_BREAK]", "last": "[IMG_END]"}, sliding_window=None
    )
    config = t.Mistral3Config(
        vision_config=t.PixtralVisionConfig(**SIGLIP, head_dim=16, image_size=112, patch_size=14),
        text_config=t.MistralConfig(**words),
        image_token_index=tokenizer.convert_tokens_to_ids("[IMG]"),
        spatial_merge_size=2,
        vision_feature_layer=-1,
    )
    images = t.PixtralImageProcessor(size={"longest_edge": 112}, patch_size=28, **HALF)
    tokens = {"image_token": "[IMG]", "image_break_token": "[IMG_BREAK]", "image_end_token": "[IMG_END]"}
    processor = t.PixtralProcessor(
        images, tokenizer, patch_size=14, spatial_merge_size=2, chat_template=chat_template("[IMG]"), **tokens
    )
    return t.Mistral3ForConditionalGeneration(config), processor


def lighton_ocr() -> Checkpoint:
    """Reads documents, with Pixtral before Qwen 3."""
    names = {"image_token": "<|image_pad|>", "image_break_token": "<|vision_pad|>", "image_end_token": "<|vision_end|>"}
    tokenizer, words = make_tokenizer(names=names)
    config = t.LightOnOcrConfig(
        vision_config=t.PixtralVisionConfig(**SIGLIP, head_dim=16, image_size=112, patch_size=14).to_dict(),
        text_config=t.Qwen3Config(**words).to_dict(),
        image_token_id=tokenizer.convert_tokens_to_ids("<|image_pad|>"),
        spatial_merge_size=2,
    )
    images = t.PixtralImageProcessor(size={"longest_edge": 112}, patch_size=14, **HALF)
    return t.LightOnOcrForConditionalGeneration(config), t.LightOnOcrProcessor(
        images, tokenizer, patch_size=14, spatial_merge_size=2, chat_template=chat_template("<|image_pad|>")
    )


def lfm2_vl() -> Checkpoint:
    """Has layers of convolutions."""
    names = {
        "image_token": "<image>",
        "image_start_token": "<|image_start|>",
        "image_end_token": "<|image_end|>",
        "image_thumbnail_token": "<|img_thumbnail|>",
    }
    tokenizer, words = make_tokenizer(
        names=names,
        num_hidden_layers=3,
        layer_types=["conv", "full_attention", "conv"],
        block_ff_dim=128,
        block_multiple_of=16,
    )
    config = t.Lfm2VlConfig(
        vision_config=t.Siglip2VisionConfig(**SIGLIP, patch_size=16, num_patches=16, vision_use_head=False),
        text_config=t.Lfm2Config(**words),
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        projector_hidden_size=64,
        downsample_factor=2,
    )
    images = t.Lfm2VlImageProcessor(
        encoder_patch_size=16,
        tile_size=64,
        min_image_tokens=1,
        max_image_tokens=4,
        max_num_patches=16,
        max_tiles=4,
        do_image_splitting=False,
        **HALF,
    )
    return t.Lfm2VlForConditionalGeneration(config), t.Lfm2VlProcessor(
        images, tokenizer, chat_template=chat_template("<image>")
    )
