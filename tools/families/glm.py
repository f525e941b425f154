"""GLM's families."""

from collections.abc import Mapping
from typing import Any

import transformers as t

from families.parts import HALF, Checkpoint, chat_template, make_tokenizer, token_ids

PARTS = ("image", "video", "begin_of_image", "end_of_image", "begin_of_video", "end_of_video")
GLM = {part: f"<|{part}|>" for part in PARTS}


def make_glm(kind: str, types: Mapping[str, str] = {}, reader: str = "", **more: Any) -> Checkpoint:
    """Return a model of GLM's and the processor that goes with it."""
    rope = {"rope_type": "default", "mrope_section": [4, 2, 2], "rope_theta": 1e4, "partial_rotary_factor": 0.5}
    tokenizer, words = make_tokenizer(names=GLM, rope_parameters=rope, **more)
    ids = token_ids(tokenizer, GLM)
    eye = {
        "depth": 2,
        "hidden_size": 64,
        "out_hidden_size": 96,
        "num_heads": 2,
        "patch_size": 8,
        "intermediate_size": 64,
        "image_size": 64,
        "spatial_merge_size": 2,
    }
    config = getattr(t, f"{kind}Config")(
        text_config=words | {name: value + "_text" for name, value in types.items()},
        vision_config=eye | {name: value + "_vision" for name, value in types.items()},
        image_token_id=ids["image"],
        video_token_id=ids["video"],
        image_start_token_id=ids["begin_of_image"],
        image_end_token_id=ids["end_of_image"],
        video_start_token_id=ids["begin_of_video"],
        video_end_token_id=ids["end_of_video"],
    )
    parts = reader or kind.removesuffix("Moe")
    images = getattr(t, f"{parts}ImageProcessor")(
        patch_size=8, merge_size=2, size={"shortest_edge": 32 * 32, "longest_edge": 64 * 64 * 2}, **HALF
    )
    videos = getattr(t, f"{parts}VideoProcessor")(patch_size=8, merge_size=2)
    chat = chat_template("{begin_of_image}{image}{end_of_image}".format(**GLM))
    return getattr(t, f"{kind}ForConditionalGeneration")(config), getattr(t, f"{parts}Processor")(
        images, tokenizer, videos, chat_template=chat
    )


def glm4v() -> Checkpoint:
    """Images of any shape, positions on three planes."""
    return make_glm("Glm4v")


def glm4v_moe() -> Checkpoint:
    """Has experts after its first layer."""
    experts: dict[str, Any] = {"n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
    return make_glm("Glm4vMoe", **experts, first_k_dense_replace=1)


def glm46v() -> Checkpoint:
    """The same model as glm4v, with a processor of its own."""
    return make_glm("Glm46V", {"model_type": "glm4v"})


def glm_ocr() -> Checkpoint:
    """Reads documents, with the processor of glm46v."""
    return make_glm("GlmOcr", {}, "Glm46V")
