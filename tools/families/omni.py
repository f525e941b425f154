"""Families that hear, too; only images are used here."""

from typing import Any

import transformers as t

from families.parts import EXPERTS, QWEN, Checkpoint, chat_template, make_tokenizer, token_ids
from families.qwen import EYE, IMAGE, PIXELS, ROPE

SMALL = {"hidden_size": 16, "num_attention_heads": 1}  # each of an image's many patches looks at all others
SPEECH = {
    "num_mel_bins": 16,
    "encoder_layers": 1,
    "encoder_attention_heads": 2,
    "encoder_ffn_dim": 32,
    "d_model": 32,
    "max_source_positions": 16,
    "output_dim": 96,
}
SOUND = {"hidden_size": 32, "num_attention_heads": 2}


def phi4_multimodal() -> Checkpoint:
    """Is not among the models of image and text of transformers; its image processor fixes the size of a tile."""
    names = {"image_token": "<|image|>", "audio_token": "<|audio|>"}
    tokenizer, words = make_tokenizer(names=names, rope_parameters={"rope_type": "default", "rope_theta": 1e4})
    ids = {name: tokenizer.convert_tokens_to_ids(token) for name, token in names.items()}
    audio = {"intermediate_size": 32, "num_blocks": 2, "ext_pw_out_channel": 32, "depthwise_separable_out_channel": 32}
    config = t.Phi4MultimodalConfig(
        vision_config={**SMALL, "num_hidden_layers": 2, "intermediate_size": 32, "image_token_id": ids["image_token"]},
        audio_config=SOUND | audio | {"nemo_conv_channels": 16, "audio_token_id": ids["audio_token"]},
        **{name: value for name, value in words.items() if name != "head_dim"},
    )
    images, sound = t.Phi4MultimodalImageProcessor(dynamic_hd=4), t.Phi4MultimodalFeatureExtractor()
    processor = t.Phi4MultimodalProcessor(images, sound, tokenizer, chat_template=chat_template("<|image|>"))
    return t.Phi4MultimodalForCausalLM(config), processor


def make_omni(kind: str, text: dict[str, Any], eye: dict[str, Any], audio: dict[str, Any], words: str) -> Checkpoint:
    """Return the thinker of one of Qwen's omni models, which writes what its talker would say."""
    names = {f"{part}_token": QWEN[f"{part}_pad"] for part in ("image", "video")} | {"audio_token": "<|audio_pad|>"}
    ends = {f"{part}_{end}_token": f"<|{part}_{end}|>" for part in ("audio", "vision") for end in ("bos", "eos")}
    ends |= {"vision_bos_token": QWEN["vision_start"], "vision_eos_token": QWEN["vision_end"]}
    tokenizer, settings = make_tokenizer(names=names | ends, rope_parameters=ROPE, **text)
    ids = token_ids(tokenizer, names)
    config = getattr(t, f"{kind}ThinkerConfig")(
        text_config=settings,
        vision_config=eye,
        audio_config=SPEECH | audio,
        vision_start_token_id=tokenizer.convert_tokens_to_ids(QWEN["vision_start"]),
        **{f"{name}_{words}": token for name, token in ids.items()},
    )
    processor = getattr(t, f"{kind}Processor")(
        t.Qwen2VLImageProcessor(patch_size=8, merge_size=2, **PIXELS),
        t.Qwen2VLVideoProcessor(patch_size=8, merge_size=2),
        t.WhisperFeatureExtractor(feature_size=16),
        tokenizer,
        chat_template=chat_template(IMAGE),
    )
    return getattr(t, f"{kind}ThinkerForConditionalGeneration")(config), processor


def qwen2_5_omni_thinker() -> Checkpoint:
    """Is Qwen 2.5-VL with an encoder of sound."""
    eye = EYE | {"patch_size": 8, "window_size": 32, "fullatt_block_indexes": [1]}
    return make_omni("Qwen2_5Omni", {}, eye, {"n_window": 8}, "index")


def qwen3_omni_moe_thinker() -> Checkpoint:
    """Is Qwen 3-VL with experts and an encoder of sound."""
    eye = EYE | {"patch_size": 8, "num_position_embeddings": 64, "deepstack_visual_indexes": [0]}
    return make_omni("Qwen3OmniMoe", EXPERTS, eye, {"n_window": 8, "downsample_hidden_size": 8}, "id")
