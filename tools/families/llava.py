"""Families with a vision tower before a text model."""

from typing import Any

import transformers as t

from families.parts import CLIP, HALF, QWEN, SIGLIP, Checkpoint, chat_template, make_tokenizer

PINS = [[48, 96], [96, 48], [96, 96]]


def make_clip_images() -> Any:
    """Return the image processor of a small CLIP."""
    return t.CLIPImageProcessor(size={"shortest_edge": 48}, crop_size={"height": 48, "width": 48}, **HALF)


def make_llava_processor(kind: Any, images: Any, tokenizer: Any) -> Any:
    """Return a processor of LLaVA's kind."""
    return kind(
        images,
        tokenizer,
        patch_size=16,
        vision_feature_select_strategy="default",
        image_token="<image>",
        num_additional_image_tokens=1,
        chat_template=chat_template("<image>"),
    )


def fast_vlm() -> Checkpoint:
    """A convolutional vision tower whose feature map is the image's tokens; one row of positions."""
    tokenizer, words = make_tokenizer()
    eye = t.ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 16, 32], depths=[1, 1, 1], layer_type="basic", hidden_size=32
    )
    config = t.FastVlmConfig(
        vision_config=eye.to_dict(),
        text_config=t.Qwen2Config(**words).to_dict(),
        image_token_index=tokenizer.convert_tokens_to_ids(QWEN["image_pad"]),
        image_seq_length=9,
        tie_word_embeddings=True,
    )
    images = t.CLIPImageProcessor(size={"height": 48, "width": 48}, do_center_crop=False, **HALF)
    settings = {"patch_size": 16, "vision_feature_select_strategy": "full", "num_additional_image_tokens": 0}
    chat = chat_template(QWEN["image_pad"])
    processor = t.LlavaProcessor(images, tokenizer, chat_template=chat, image_token=QWEN["image_pad"], **settings)
    return t.FastVlmForConditionalGeneration(config), processor


def llava() -> Checkpoint:
    """A CLIP vision tower before Llama; the image has a fixed number of tokens."""
    tokenizer, words = make_tokenizer(names={"image": "<image>"})
    config = t.LlavaConfig(
        vision_config=t.CLIPVisionConfig(**CLIP),
        text_config=t.LlamaConfig(**words),
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        image_seq_length=9,
    )
    return t.LlavaForConditionalGeneration(config), make_llava_processor(
        t.LlavaProcessor, make_clip_images(), tokenizer
    )


def vipllava() -> Checkpoint:
    """Takes the image from several layers of its vision tower."""
    tokenizer, words = make_tokenizer(names={"image": "<image>"})
    config = t.VipLlavaConfig(
        vision_config=t.CLIPVisionConfig(**CLIP),
        text_config=t.LlamaConfig(**words),
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        image_seq_length=9,
        vision_feature_layers=[-2, -1],
    )
    return t.VipLlavaForConditionalGeneration(config), make_llava_processor(
        t.LlavaProcessor, make_clip_images(), tokenizer
    )


def llava_next() -> Checkpoint:
    """Cuts an image into tiles by its shape."""
    tokenizer, words = make_tokenizer(names={"image": "<image>"})
    config = t.LlavaNextConfig(
        vision_config=t.CLIPVisionConfig(**CLIP),
        text_config=t.LlamaConfig(**words),
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        image_grid_pinpoints=PINS,
        image_seq_length=9,
    )
    images = t.LlavaNextImageProcessor(
        size={"shortest_edge": 48}, crop_size={"height": 48, "width": 48}, image_grid_pinpoints=PINS, **HALF
    )
    return t.LlavaNextForConditionalGeneration(config), make_llava_processor(t.LlavaNextProcessor, images, tokenizer)


def llava_onevision() -> Checkpoint:
    """Cuts an image into many tiles, with SigLIP before Qwen 2."""
    tokenizer, words = make_tokenizer(names={"image": "<image>", "video": "<video>"})
    settings = {"vision_feature_select_strategy": "full", "vision_aspect_ratio": "anyres_max_9"}
    config = t.LlavaOnevisionConfig(
        vision_config=t.SiglipVisionConfig(**SIGLIP, image_size=48, patch_size=16),
        text_config=t.Qwen2Config(**words),
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        video_token_index=tokenizer.convert_tokens_to_ids("<video>"),
        image_grid_pinpoints=PINS,
        vision_feature_layer=-1,
        **settings,
    )
    size = {"height": 48, "width": 48}
    images = t.LlavaOnevisionImageProcessor(size=size, image_grid_pinpoints=PINS, **HALF)
    processor = t.LlavaOnevisionProcessor(
        images,
        tokenizer,
        t.LlavaOnevisionVideoProcessor(size=size),
        num_image_tokens=9,
        chat_template=chat_template("<image>"),
        **settings,
    )
    return t.LlavaOnevisionForConditionalGeneration(config), processor


def granite4_vision() -> Checkpoint:
    """Adds the image to several layers of its text model."""
    tokenizer, words = make_tokenizer(names={"image": "<image>"})
    look = {
        "hidden_size": 32,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 64,
        "encoder_hidden_size": 32,
    }
    config = t.Granite4VisionConfig(
        vision_config=t.SiglipVisionConfig(**SIGLIP, image_size=64, patch_size=16).to_dict(),
        text_config=words | {"model_type": "granite4_vision_text"},
        qformer_config=look | {"model_type": "blip_2_qformer"},
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        image_grid_pinpoints=[[64, 64], [64, 128], [128, 64]],
        downsample_rate="1/2",
        deepstack_layer_map=[[-1, 0]],
        spatial_target_layers=[0, 1, 0, 1],
        vision_feature_select_strategy="full",
        image_seq_length=4,
    )
    images = t.LlavaNextImageProcessor(
        size={"shortest_edge": 64},
        crop_size={"height": 64, "width": 64},
        image_grid_pinpoints=[[64, 64], [64, 128], [128, 64]],
        **HALF,
    )
    return t.Granite4VisionForConditionalGeneration(config), t.Granite4VisionProcessor(
        images,
        tokenizer,
        patch_size=16,
        vision_feature_select_strategy="full",
        image_token="<image>",
        num_additional_image_tokens=0,
        downsample_rate="1/2",
        chat_template=chat_template("<image>"),
    )


def ovis2() -> Checkpoint:
    """Has a table of visual words."""
    parts = ("START", "ATOM", "GRID", "COL", "ROW", "END")
    names = {"image_token": "<image>", **{f"image_{k.lower()}": f"<IMG_{k}>" for k in parts}}
    tokenizer, words = make_tokenizer(names=names)
    eye = SIGLIP | {
        "image_size": 64,
        "patch_size": 16,
        "vocab_size": 69,
        "hidden_stride": 1,
        "num_visual_indicator_tokens": 5,
    }
    ind = [tokenizer.convert_tokens_to_ids(f"<IMG_{k}>") for k in parts if k != "ATOM"]
    config = t.Ovis2Config(
        vision_config=eye,
        text_config=t.Qwen2Config(**words),
        image_token_id=tokenizer.convert_tokens_to_ids("<IMG_ATOM>"),
        visual_indicator_token_ids=ind,
        vocab_size=words["vocab_size"],
        hidden_size=96,
    )
    images = t.Ovis2ImageProcessor(size={"height": 64, "width": 64}, **HALF)
    return t.Ovis2ForConditionalGeneration(config), t.Ovis2Processor(
        images, tokenizer, chat_template=chat_template("<image>"), image_token="<image>", image_seq_length=16
    )


def deepseek_vl() -> Checkpoint:
    """SigLIP before Llama."""
    tokenizer, words = make_tokenizer(names={"image_token": "<image_placeholder>"})
    config = t.DeepseekVLConfig(
        vision_config=t.SiglipVisionConfig(**SIGLIP, image_size=64, patch_size=16).to_dict(),
        text_config=t.LlamaConfig(**words).to_dict(),
        image_token_id=tokenizer.convert_tokens_to_ids("<image_placeholder>"),
    )
    images = t.DeepseekVLImageProcessor(size={"height": 64, "width": 64}, min_size=14, **HALF)
    return t.DeepseekVLForConditionalGeneration(config), t.DeepseekVLProcessor(
        images, tokenizer, chat_template=chat_template("<image_placeholder>"), num_image_tokens=16
    )


def janus() -> Checkpoint:
    """Reads and draws images; only reading is used here. It has a `generate` of its own."""
    names = {"image_token": "<image_placeholder>", "boi_token": "<begin_of_image>", "eoi_token": "<end_of_image>"}
    tokenizer, words = make_tokenizer(names=names)
    eye = {
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "image_size": 64,
        "patch_size": 16,
        "mlp_ratio": 2.0,
        "projection_dim": 96,
        "num_image_tokens": 16,
    }
    vq = {
        "embed_dim": 8,
        "num_embeddings": 16,
        "latent_channels": 8,
        "base_channels": 32,
        "channel_multiplier": [1, 1],
        "num_res_blocks": 1,
        "num_patches": 4,
        "projection_dim": 96,
        "image_token_embed_dim": 96,
    }
    config = t.JanusConfig(
        vision_config=eye,
        vq_config=vq,
        text_config=t.LlamaConfig(**words).to_dict(),
        image_token_id=tokenizer.convert_tokens_to_ids("<image_placeholder>"),
    )
    images = t.JanusImageProcessor(size={"height": 64, "width": 64}, **HALF)
    return t.JanusForConditionalGeneration(config), t.JanusProcessor(
        images, tokenizer, chat_template=chat_template("<image_placeholder>"), num_image_tokens=16
    )
