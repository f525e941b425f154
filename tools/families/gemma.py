"""Gemma's families."""

import transformers as t

from families.parts import HALF, SIGLIP, Checkpoint, chat_template, make_tokenizer, token_ids


def gemma3() -> Checkpoint:
    """Has layers of sliding attention, and bidirectional attention among the tokens of an image."""
    names = {"boi_token": "<boi>", "eoi_token": "<eoi>", "image_token": "<img_soft>"}
    tokenizer, words = make_tokenizer(names=names, query_pre_attn_scalar=32, sliding_window=64, num_hidden_layers=6)
    tokenizer.bos_token = "<user>"
    ids = token_ids(tokenizer, names)
    config = t.Gemma3Config(
        vision_config=t.SiglipVisionConfig(**SIGLIP, image_size=64, patch_size=16, vision_use_head=False),
        text_config=words | {"bos_token_id": tokenizer.bos_token_id},
        mm_tokens_per_image=4,
        image_token_index=ids["image_token"],
        boi_token_index=ids["boi_token"],
        eoi_token_index=ids["eoi_token"],
    )
    images = t.Gemma3ImageProcessor(size={"height": 64, "width": 64}, **HALF)
    processor = t.Gemma3Processor(images, tokenizer, image_seq_length=4, chat_template=chat_template("<boi>"))
    return t.Gemma3ForConditionalGeneration(config), processor


def gemma4() -> Checkpoint:
    """Has layers of sliding attention, layers that share keys and values, and bidirectional attention in an image."""
    names = {
        "boi_token": "<boi>",
        "eoi_token": "<eoi>",
        "image_token": "<img_soft>",
        "video_token": "<video>",
        "audio_token": "<audio>",
        "boa_token": "<boa>",
        "eoa_token": "<eoa>",
    }
    tokenizer, words = make_tokenizer(
        names=names,
        sliding_window=64,
        num_hidden_layers=4,
        layer_types=["sliding_attention", "full_attention"] * 2,
        num_kv_shared_layers=2,
        hidden_size_per_layer_input=8,
        use_bidirectional_attention="vision",
    )
    tokenizer.bos_token = "<user>"
    words |= {
        "vocab_size_per_layer_input": words["vocab_size"],
        "bos_token_id": tokenizer.bos_token_id,
        "global_head_dim": 32,
    }
    ids = token_ids(tokenizer, names)
    eye = SIGLIP | {
        "num_key_value_heads": 2,
        "head_dim": 16,
        "patch_size": 8,
        "pooling_kernel_size": 2,
        "position_embedding_size": 64,
    }
    config = t.Gemma4Config(
        vision_config=eye,
        text_config=words,
        audio_config=None,
        boi_token_id=ids["boi_token"],
        eoi_token_id=ids["eoi_token"],
        image_token_id=ids["image_token"],
        video_token_id=ids["video_token"],
        audio_token_id=ids["audio_token"],
        boa_token_id=ids["boa_token"],
        eoa_token_index=ids["eoa_token"],
    )
    images = t.Gemma4ImageProcessor(patch_size=8, pooling_kernel_size=2, max_soft_tokens=70)
    processor = t.Gemma4Processor(
        t.Gemma4AudioFeatureExtractor(),
        images,
        tokenizer,
        t.Gemma4VideoProcessor(),
        chat_template=chat_template("<img_soft>"),
        image_seq_length=70,
    )
    return t.Gemma4ForConditionalGeneration(config), processor


def gemma4_unified() -> Checkpoint:
    """Has no image encoder: patches are words of its text model."""
    names = {f"{part}_token": f"<{part}>" for part in ("boi", "eoi", "image", "video", "audio", "boa", "eoa")}
    layers = ["sliding_attention", "full_attention"] * 2
    tokenizer, words = make_tokenizer(names=names, sliding_window=64, num_hidden_layers=4, layer_types=layers)
    tokenizer.bos_token = "<user>"
    ids = {f"{name}_id": token for name, token in token_ids(tokenizer, names).items()}
    config = t.Gemma4UnifiedConfig(
        text_config=words | {"bos_token_id": tokenizer.bos_token_id, "global_head_dim": 32},
        vision_config={
            "patch_size": 8,
            "pooling_kernel_size": 2,
            "mm_embed_dim": 96,
            "mm_posemb_size": 64,
            "output_proj_dims": 96,
        },
        audio_config=None,
        eoa_token_index=ids.pop("eoa_token_id"),
        **ids,
    )
    processor = t.Gemma4UnifiedProcessor(
        t.Gemma4UnifiedAudioFeatureExtractor(),
        t.Gemma4UnifiedImageProcessor(patch_size=8, pooling_kernel_size=2, max_soft_tokens=70),
        tokenizer,
        t.Gemma4UnifiedVideoProcessor(),
        chat_template=chat_template("<image>"),
        image_seq_length=70,
    )
    return t.Gemma4UnifiedForConditionalGeneration(config), processor


def paligemma() -> Checkpoint:
    """Reads prompts with bidirectional attention."""
    tokenizer, words = make_tokenizer(names={"image": "<image>"})
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
    processor.chat_template = chat_template("<image>")
    return t.PaliGemmaForConditionalGeneration(config), processor


def t5gemma2() -> Checkpoint:
    """Reads the prompt with an encoder, and writes the answer with a decoder."""
    names = {"boi_token": "<boi>", "eoi_token": "<eoi>", "image_token": "<img_soft>"}
    tokenizer, words = make_tokenizer(names=names, query_pre_attn_scalar=32, sliding_window=64)
    tokenizer.bos_token = "<user>"
    ids = token_ids(tokenizer, names)
    text = words | {"bos_token_id": tokenizer.bos_token_id, "layer_types": ["sliding_attention", "full_attention"]}
    encoder = {
        "text_config": text,
        "vision_config": SIGLIP | {"image_size": 64, "patch_size": 16, "vision_use_head": False},
        "mm_tokens_per_image": 4,
        "image_token_index": ids["image_token"],
        "boi_token_index": ids["boi_token"],
        "eoi_token_index": ids["eoi_token"],
    }
    config = t.T5Gemma2Config(encoder=encoder, decoder=text, image_token_index=ids["image_token"])
    images = t.Gemma3ImageProcessor(size={"height": 64, "width": 64}, **HALF)
    processor = t.Gemma3Processor(images, tokenizer, image_seq_length=4, chat_template=chat_template("<boi>"))
    return t.T5Gemma2ForConditionalGeneration(config), processor
