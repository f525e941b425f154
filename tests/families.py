"""Tiny checkpoints of families that answer in words, each with its own processor, made from a configuration.

`words_of` gives a tokenizer that knows some more tokens, and the text model's settings; `template` a chat template that
puts some text in the place of an image.
"""

from collections.abc import Callable, Mapping
from typing import Any

HALF = {"image_mean": [0.5] * 3, "image_std": [0.5] * 3}
SIGLIP = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
QWEN = {name: f"<|{name}|>" for name in ("image_pad", "video_pad", "vision_start", "vision_end")}
Made = tuple[Any, Any]  # a model and its processor
WordsOf = Callable[..., tuple[Any, dict[str, Any]]]
Template = Callable[[str], str]


def fast_vlm(words_of: WordsOf, template: Template) -> Made:
    """A convolutional vision tower whose feature map is the image's tokens; one row of positions."""
    import transformers

    tokenizer, words = words_of()
    eye = transformers.ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 16, 32], depths=[1, 1, 1], layer_type="basic", hidden_size=32
    )
    config = transformers.FastVlmConfig(
        vision_config=eye.to_dict(),
        text_config=transformers.Qwen2Config(**words).to_dict(),
        image_token_index=tokenizer.convert_tokens_to_ids(QWEN["image_pad"]),
        image_seq_length=9,
        tie_word_embeddings=True,
    )
    images = transformers.CLIPImageProcessor(size={"height": 48, "width": 48}, do_center_crop=False, **HALF)
    settings = {"patch_size": 16, "vision_feature_select_strategy": "full", "num_additional_image_tokens": 0}
    chat = template(QWEN["image_pad"])
    processor = transformers.LlavaProcessor(
        images, tokenizer, chat_template=chat, image_token=QWEN["image_pad"], **settings
    )
    return transformers.FastVlmForConditionalGeneration(config), processor


def qwen3_vl(words_of: WordsOf, template: Template) -> Made:
    """Images of any shape, positions on three planes."""
    import transformers

    rope = {"rope_type": "default", "mrope_section": [6, 5, 5], "mrope_interleaved": True, "rope_theta": 1e4}
    tokenizer, words = words_of(rope_parameters=rope)
    ids = {name: tokenizer.convert_tokens_to_ids(token) for name, token in QWEN.items()}
    eye = {"depth": 2, "hidden_size": 64, "intermediate_size": 64, "num_heads": 2, "out_hidden_size": 96}
    config = transformers.Qwen3VLConfig(
        text_config=words,
        vision_config=eye | {"patch_size": 8, "num_position_embeddings": 64, "deepstack_visual_indexes": [0]},
        tie_word_embeddings=True,
        **{f"{name.removesuffix('_pad')}_token_id": token for name, token in ids.items()},
    )
    images = transformers.Qwen2VLImageProcessor(
        patch_size=8, merge_size=2, min_pixels=32 * 32, max_pixels=64 * 64, **HALF
    )
    chat = template("{vision_start}{image_pad}{vision_end}".format(**QWEN))
    videos = transformers.Qwen3VLVideoProcessor(patch_size=8, merge_size=2)
    return transformers.Qwen3VLForConditionalGeneration(config), transformers.Qwen3VLProcessor(
        images, tokenizer, videos, chat_template=chat
    )


def qwen2_5_vl(words_of: WordsOf, template: Template) -> Made:
    """Refuses images that are more than 200 times as long as wide."""
    import transformers as t

    rope = {"rope_type": "default", "mrope_section": [6, 5, 5], "rope_theta": 1e4}
    eye = {"depth": 2, "hidden_size": 64, "out_hidden_size": 96, "num_heads": 2, "patch_size": 8}
    window = {"intermediate_size": 64, "window_size": 32, "fullatt_block_indexes": [1]}
    return qwen(
        words_of, template, t.Qwen2_5_VLConfig, t.Qwen2VLVideoProcessor, {"rope_parameters": rope}, eye | window
    )


def qwen3_5(words_of: WordsOf, template: Template) -> Made:
    """Has layers of linear attention."""
    import transformers as t

    rope = {"rope_type": "default", "mrope_section": [2, 1, 1], "mrope_interleaved": True, "rope_theta": 1e4}
    linear = {f"linear_{name}": size for name, size in [("num_key_heads", 2), ("num_value_heads", 2)]}
    text = linear | {"linear_key_head_dim": 16, "linear_value_head_dim": 16, "num_hidden_layers": 4}
    eye = {"depth": 2, "hidden_size": 64, "intermediate_size": 64, "num_heads": 2, "out_hidden_size": 96}
    return qwen(
        words_of,
        template,
        t.Qwen3_5Config,
        t.Qwen3VLVideoProcessor,
        text | {"rope_parameters": rope | {"partial_rotary_factor": 0.25}},
        eye | {"patch_size": 8, "num_position_embeddings": 64},
    )


def qwen(
    words_of: WordsOf, template: Template, kind: Any, videos: Any, text: Mapping[str, Any], eye: Mapping[str, Any]
) -> Made:
    """A model of Qwen's and the processor that goes with it."""
    import transformers as t

    tokenizer, words = words_of(**text)
    ids = {f"{name.removesuffix('_pad')}_token_id": tokenizer.convert_tokens_to_ids(say) for name, say in QWEN.items()}
    config = kind(text_config=words, vision_config=dict(eye), tie_word_embeddings=True, **ids)
    images = t.Qwen2VLImageProcessor(patch_size=8, merge_size=2, min_pixels=32 * 32, max_pixels=64 * 64, **HALF)
    processor = t.Qwen3VLProcessor if videos is t.Qwen3VLVideoProcessor else t.Qwen2_5_VLProcessor
    chat = template("{vision_start}{image_pad}{vision_end}".format(**QWEN))
    reader = processor(images, tokenizer, videos(patch_size=8, merge_size=2), chat_template=chat)
    return t.AutoModelForImageTextToText.from_config(config), reader


def mistral3(words_of: WordsOf, template: Template) -> Made:
    """Prepares a picture of one pixel and then fails on it."""
    import transformers as t

    tokenizer, words = words_of(
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
        images, tokenizer, patch_size=14, spatial_merge_size=2, chat_template=template("[IMG]"), **tokens
    )
    return t.Mistral3ForConditionalGeneration(config), processor


def gemma3(words_of: WordsOf, template: Template) -> Made:
    """Has layers of sliding attention, and bidirectional attention among the tokens of an image."""
    import transformers as t

    names = {"boi_token": "<boi>", "eoi_token": "<eoi>", "image_token": "<img_soft>"}
    tokenizer, words = words_of(names=names, query_pre_attn_scalar=32, sliding_window=64, num_hidden_layers=6)
    tokenizer.bos_token = "<user>"
    ids = {name: tokenizer.convert_tokens_to_ids(say) for name, say in names.items()}
    config = t.Gemma3Config(
        vision_config=t.SiglipVisionConfig(**SIGLIP, image_size=64, patch_size=16, vision_use_head=False),
        text_config=words | {"bos_token_id": tokenizer.bos_token_id},
        mm_tokens_per_image=4,
        image_token_index=ids["image_token"],
        boi_token_index=ids["boi_token"],
        eoi_token_index=ids["eoi_token"],
    )
    images = t.Gemma3ImageProcessor(size={"height": 64, "width": 64}, **HALF)
    processor = t.Gemma3Processor(images, tokenizer, image_seq_length=4, chat_template=template("<boi>"))
    return t.Gemma3ForConditionalGeneration(config), processor


def llama4(words_of: WordsOf, template: Template) -> Made:
    """Has layers of chunked attention."""
    import transformers as t

    parts = ("image", "patch", "image_start", "image_end", "tile_x_separator", "tile_y_separator")
    names = {part: f"<|{part}|>" for part in parts}
    experts = {"intermediate_size_mlp": 128, "num_local_experts": 2, "num_experts_per_tok": 1}
    tokenizer, words = words_of(names=names, attention_chunk_size=1024, num_hidden_layers=4, **experts)
    ids = {name: tokenizer.convert_tokens_to_ids(say) for name, say in names.items()}
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
        chat_template=template(names["image"]),
        **tokens,
        **ends,
    )
    return t.Llama4ForConditionalGeneration(config), processor


def aya_vision(words_of: WordsOf, template: Template) -> Made:
    """Has layers of sliding attention."""
    import transformers as t

    parts = (
        "<image>",
        "<|START_OF_IMG|>",
        "<|END_OF_IMG|>",
        "<|IMG_PATCH|>",
        "<|IMG_LINE_BREAK|>",
        "TILE",
        "TILE_GLOBAL",
    )
    names = {f"part_{place}": part for place, part in enumerate(parts)}
    tokenizer, words = words_of(names=names, sliding_window=64, num_hidden_layers=4)
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
        images, tokenizer, patch_size=16, img_size=64, downsample_factor=2, chat_template=template("<image>")
    )
    return t.AyaVisionForConditionalGeneration(config), processor


def paligemma(words_of: WordsOf, template: Template) -> Made:
    """Reads prompts with bidirectional attention."""
    import transformers as t

    tokenizer, words = words_of(names={"image": "<image>"})
    tokenizer.bos_token = "<user>"
    config = t.PaliGemmaConfig(
        vision_config=t.SiglipVisionConfig(**SIGLIP, image_size=48, patch_size=16, projection_dim=96),
        text_config=t.GemmaConfig(**words),
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        projection_dim=96,
        hidden_size=96,
    )
    images = t.SiglipImageProcessor(size={"height": 48, "width": 48}, **HALF)
    images.image_seq_length = 9
    processor = t.PaliGemmaProcessor(images, tokenizer)
    processor.chat_template = template("<image>")
    return t.PaliGemmaForConditionalGeneration(config), processor


def internvl(words_of: WordsOf, template: Template) -> Made:
    """Cuts an image into tiles."""
    import transformers as t

    names = {"start_image_token": "<img>", "end_image_token": "</img>", "context_image_token": "<IMG_CONTEXT>"}
    tokenizer, words = words_of(names={**names, "video_token": "<video>"})
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
    videos, chat = t.InternVLVideoProcessor(size=size), template("<IMG_CONTEXT>")
    processor = t.InternVLProcessor(images, tokenizer, videos, image_seq_length=4, chat_template=chat)
    return t.InternVLForConditionalGeneration(config), processor


def idefics3(words_of: WordsOf, template: Template) -> Made:
    """Splits an image, and puts a token before every part of it."""
    import transformers as t

    parts = ("fake_token_around_image", "image", "end_of_utterance")
    named = dict(
        zip(("fake_image_token", "image_token", "end_of_utterance_token"), map("<{}>".format, parts), strict=True)
    )
    tokenizer, words = words_of(names={**named, "global_image_token": "<global-img>"})
    config = t.Idefics3Config(
        vision_config={**SIGLIP, "image_size": 64, "patch_size": 16},
        text_config=t.LlamaConfig(**words),
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        scale_factor=2,
        pad_token_id=tokenizer.pad_token_id,
        tie_word_embeddings=True,
    )
    images = t.Idefics3ImageProcessor(size={"longest_edge": 128}, max_image_size={"longest_edge": 64}, **HALF)
    processor = t.Idefics3Processor(images, tokenizer, image_seq_len=4, chat_template=template("<image>"))
    return t.Idefics3ForConditionalGeneration(config), processor


FAMILIES: Mapping[str, Callable[[WordsOf, Template], Made]] = {
    made.__name__: made
    for made in (
        *(fast_vlm, qwen3_vl, qwen2_5_vl, qwen3_5, mistral3, gemma3, llama4, aya_vision, paligemma),
        *(internvl, idefics3),
    )
}
