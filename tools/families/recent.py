"""Families of 2025 and 2026 that are built like none of the others."""

from typing import Any

import transformers as t

from families.parts import EXPERTS, HALF, SIGLIP, Checkpoint, chat_template, make_tokenizer, token_ids


def aria() -> Checkpoint:
    """Has experts, and resamples an image to a fixed number of tokens."""
    tokenizer, words = make_tokenizer(names={"image_token": "<image>"})
    del words["head_dim"]
    config = t.AriaConfig(
        vision_config=t.Idefics3VisionConfig(**SIGLIP, image_size=980, patch_size=140),
        text_config=words
        | {"model_type": "aria_text", "moe_num_experts": 4, "moe_topk": 2, "moe_num_shared_experts": 1},
        projector_patch_to_query_dict={49: 4},
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
    )
    images = t.AriaImageProcessor(**HALF)
    processor = t.AriaProcessor(images, tokenizer, chat_template=chat_template("<image>"), size_conversion={980: 4})
    return t.AriaForConditionalGeneration(config), processor


def perception_lm() -> Checkpoint:
    """Has the Perception Encoder of timm before Llama."""
    tokenizer, words = make_tokenizer(names={"image_token": "<image>", "video_token": "<video>"})
    eye = {
        "img_size": [64, 64],
        "depth": 2,
        "embed_dim": 32,
        "num_heads": 2,
        "global_pool": "",
        "use_post_transformer_norm": False,
    }
    config = t.PerceptionLMConfig(
        vision_config=t.TimmWrapperConfig(
            architecture="vit_pe_lang_large_patch14_448",
            do_pooling=False,
            num_labels=0,
            model_args=eye | {"patch_size": 16, "ref_feat_shape": [4, 4], "init_values": 0.1},
        ).to_dict(),
        text_config=t.LlamaConfig(**words).to_dict(),
        projector_pooling_ratio=2,
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        video_token_id=tokenizer.convert_tokens_to_ids("<video>"),
    )
    images = t.PerceptionLMImageProcessor(tile_size=64, max_num_tiles=4, vision_input_type="thumb+tile", **HALF)
    processor = t.PerceptionLMProcessor(
        t.PerceptionLMVideoProcessor(size={"height": 64, "width": 64}),
        images,
        tokenizer,
        patch_size=16,
        pooling_ratio=2,
        chat_template=chat_template("<image>"),
    )
    return t.PerceptionLMForConditionalGeneration(config), processor


def ernie4_5_vl_moe() -> Checkpoint:
    """Has experts of texts and of images."""
    parts = ("image", "image_start", "image_end", "video", "video_start", "video_end")
    names = {f"{part}_token": f"<|{part}|>" for part in parts}
    experts: dict[str, Any] = {
        "moe_intermediate_size": [32, 16],
        "moe_k": 2,
        "moe_num_experts": 4,
        "moe_num_shared_experts": 1,
    }
    rope = {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [4, 4, 8]}
    tokenizer, words = make_tokenizer(names=names, rope_parameters=rope, mlp_layer_types=["dense", "sparse"], **experts)
    eye = {"depth": 2, "hidden_size": 64, "intermediate_size": 64, "num_heads": 2, "patch_size": 8}
    config = t.Ernie4_5_VLMoeConfig(
        text_config=words,
        vision_config=eye,
        **{f"{name}_id": token for name, token in token_ids(tokenizer, names).items()},
    )
    images = t.Ernie4_5_VLMoeImageProcessor(
        patch_size=8, merge_size=2, size={"shortest_edge": 32 * 32, "longest_edge": 64 * 64}, **HALF
    )
    processor = t.Ernie4_5_VLMoeProcessor(
        images,
        tokenizer,
        t.Ernie4_5_VLMoeVideoProcessor(patch_size=8, merge_size=2, draw_on_frames=False),
        chat_template=chat_template("<|image_start|><|image|><|image_end|>"),
    )
    return t.Ernie4_5_VLMoeForConditionalGeneration(config), processor


def kimi_k25() -> Checkpoint:
    """Has experts and latent attention."""
    names = {"image_token": "<|media_pad|>", "video_token": "<|media_video|>"}
    latent: dict[str, Any] = {
        "kv_lora_rank": 16,
        "q_lora_rank": 16,
        "qk_rope_head_dim": 16,
        "v_head_dim": 16,
        "qk_nope_head_dim": 16,
        "n_routed_experts": 4,
        "num_experts_per_tok": 2,
        "n_group": 1,
        "topk_group": 1,
        "first_k_dense_replace": 1,
        "moe_intermediate_size": 32,
        "n_shared_experts": 1,
    }
    tokenizer, words = make_tokenizer(names=names, **latent)
    del words["head_dim"]
    eye = SIGLIP | {"patch_size": 8, "pos_emb_height": 8, "pos_emb_width": 8}
    config = t.Kimi_K25Config(
        text_config=t.DeepseekV3Config(**words).to_dict(),
        vision_config=eye,
        projection_hidden_size=32,
        **{f"{name}_id": token for name, token in token_ids(tokenizer, names).items()},
    )
    images = t.Kimi_K25ImageProcessor(patch_size=8, merge_size=2, size={"max_height": 64, "max_width": 64}, **HALF)
    processor = t.Kimi_K25Processor(
        images, tokenizer, t.Kimi_K25VideoProcessor(patch_size=8), chat_template=chat_template("<|media_pad|>")
    )
    return t.Kimi_K25ForConditionalGeneration(config), processor


def qianfan_ocr() -> Checkpoint:
    """Reads documents in tiles."""
    names = {"start_image_token": "<img>", "end_image_token": "</img>", "context_image_token": "<IMG_CONTEXT>"}
    tokenizer, words = make_tokenizer(names={**names, "image": "<image>"})
    config = t.QianfanOCRConfig(
        vision_config=SIGLIP | {"image_size": [56, 56], "patch_size": [14, 14]},
        text_config=t.Qwen3Config(**words),
        image_token_id=tokenizer.convert_tokens_to_ids("<IMG_CONTEXT>"),
        image_seq_length=4,
    )
    size = {"height": 56, "width": 56}
    images = t.GotOcr2ImageProcessor(size=size, crop_to_patches=True, min_patches=1, max_patches=4, **HALF)
    processor = t.QianfanOCRProcessor(images, tokenizer, image_seq_length=4, chat_template=chat_template("<image>"))
    return t.QianfanOCRForConditionalGeneration(config), processor


def hunyuan_vl() -> Checkpoint:
    """Images of any shape, with a token at the end of each row."""
    names = {"image_token": "<image>", "image_start_token": "<img>", "image_end_token": "</img>"}
    rope = {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [4, 4, 4, 4]}
    tokenizer, words = make_tokenizer(names=names | {"newline": "<newline>"}, rope_parameters=rope)
    ids = token_ids(tokenizer, names | {"newline": "<newline>"})
    eye = SIGLIP | {
        "patch_size": 8,
        "out_hidden_size": 96,
        "text_hidden_size": 96,
        "img_max_token_num": 64,
        "max_image_size": 64,
    }
    config = t.HunYuanVLConfig(
        text_config=words,
        vision_config=eye | {"min_image_size": 32, "max_vit_seq_len": 64},
        image_token_id=ids["image_token"],
        im_start_id=ids["image_start_token"],
        im_end_id=ids["image_end_token"],
        im_newline_id=ids["newline"],
    )
    images = t.HunYuanVLImageProcessor(
        patch_size=8, merge_size=2, size={"shortest_edge": 32 * 32, "longest_edge": 64 * 64}, **HALF
    )
    processor = t.HunYuanVLProcessor(images, tokenizer, chat_template=chat_template("<img><image></img>"))
    return t.HunYuanVLForConditionalGeneration(config), processor


def step3p7() -> Checkpoint:
    """Has experts, and looks at parts of an image beside the whole."""
    names = {
        part: f"<{part}>" for part in ("im_patch", "im_start", "im_end", "patch_start", "patch_end", "patch_newline")
    }
    experts = EXPERTS | {"num_local_experts": 4, "n_routed_experts": 4, "share_expert_dim": 32}
    tokenizer, words = make_tokenizer(
        names=names,
        mlp_layer_types=["dense", "sparse"],
        layer_types=["sliding_attention", "full_attention"],
        sliding_window=512,
        num_sliding_attention_heads=3,
        **experts,
    )
    config = t.Step3p7Config(
        text_config=words,
        vision_config=SIGLIP | {"image_size": 112, "patch_size": 14, "mlp_ratio": 2.0, "max_position_embeddings": 64},
        image_token_id=tokenizer.convert_tokens_to_ids("<im_patch>"),
    )
    images = t.Step3p7ImageProcessor(size={"height": 112, "width": 112}, patch_size=56, **HALF)
    processor = t.Step3p7Processor(images, tokenizer, chat_template=chat_template("<im_patch>"))
    return t.Step3p7ForConditionalGeneration(config), processor
