"""Families whose checkpoints have no chat template."""

from typing import Any

import transformers as t

from families.parts import HALF, SIGLIP, Checkpoint, make_tokenizer

LOOK = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}


def make_blip(kind: str, tokenizer: Any, words: dict[str, Any]) -> Any:
    """Return a model of BLIP's kind: a vision tower, a transformer that asks it with a few tokens, and OPT."""
    ids = {name: words[name] for name in ("vocab_size", "eos_token_id", "pad_token_id")}
    text = t.OPTConfig(
        **ids,
        bos_token_id=words["eos_token_id"],
        hidden_size=96,
        word_embed_proj_dim=96,
        ffn_dim=128,
        num_hidden_layers=2,
        num_attention_heads=3,
        max_position_embeddings=2048,
    )
    config = getattr(t, f"{kind}Config")(
        vision_config=SIGLIP | {"image_size": 48, "patch_size": 16},
        qformer_config=LOOK | {"encoder_hidden_size": 32, "vocab_size": words["vocab_size"]},
        text_config=text.to_dict(),
        num_query_tokens=4,
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
    )
    return getattr(t, f"{kind}ForConditionalGeneration")(config)


def blip_2() -> Checkpoint:
    """Gives the image to a language model within it as embeddings."""
    tokenizer, words = make_tokenizer(names={"image": "<image>"})
    images = t.BlipImageProcessor(size={"height": 48, "width": 48}, **HALF)
    return make_blip("Blip2", tokenizer, words), t.Blip2Processor(images, tokenizer, num_query_tokens=4)


def instructblip() -> Checkpoint:
    """Looks at the image with the prompt in mind."""
    tokenizer, words = make_tokenizer(names={"image": "<image>"})
    images = t.BlipImageProcessor(size={"height": 48, "width": 48}, **HALF)
    processor = t.InstructBlipProcessor(images, tokenizer, tokenizer, num_query_tokens=4)
    return make_blip("InstructBlip", tokenizer, words), processor


def chameleon() -> Checkpoint:
    """Reads an image as tokens of its vocabulary."""
    pictures = {f"picture_{index}": f"IMGIMG{chr(65 + index)}Z" for index in range(10)}
    names = {"image_token": "<image>", "boi_token": "<boi>", "eoi_token": "<eoi>"}
    tokenizer, words = make_tokenizer(names=names | pictures)
    tokenizer.sep_token = "<bot>"
    vq = {"embed_dim": 8, "num_embeddings": 10, "latent_channels": 8, "resolution": 32, "base_channels": 32}
    del words["head_dim"]
    config = t.ChameleonConfig(
        **words,
        vq_config=vq | {"channel_multiplier": [1, 1], "num_res_blocks": 1},
        vocabulary_map={token: tokenizer.convert_tokens_to_ids(token) for token in ("<image>", *pictures.values())},
    )
    images = t.ChameleonImageProcessor(size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32})
    processor = t.ChameleonProcessor(images, tokenizer, image_seq_length=256)
    return t.ChameleonForConditionalGeneration(config), processor


def florence2() -> Checkpoint:
    """Reads the prompt in an encoder, and begins an answer with a token of its own."""
    tokenizer, words = make_tokenizer(names={"image_token": "<image>"})
    tokenizer.bos_token = "<user>"
    ids = {name: words[name] for name in ("vocab_size", "eos_token_id", "pad_token_id")}
    text = t.BartConfig(
        **ids,
        bos_token_id=tokenizer.bos_token_id,
        forced_eos_token_id=None,
        decoder_start_token_id=words["eos_token_id"],
        d_model=96,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=3,
        decoder_attention_heads=3,
        encoder_ffn_dim=128,
        decoder_ffn_dim=128,
    )
    eye = {
        "depths": [1, 1],
        "patch_size": [7, 3],
        "patch_stride": [4, 4],
        "patch_padding": [3, 1],
        "embed_dim": [16, 32],
    }
    heads = {"patch_prenorm": [False, True], "num_heads": [2, 2], "num_groups": [2, 2], "window_size": 2}
    config = t.Florence2Config(
        vision_config=eye | heads | {"projection_dim": 96},
        text_config=text.to_dict(),
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
    )
    model = t.Florence2ForConditionalGeneration(config)
    model.generation_config.forced_bos_token_id = tokenizer.bos_token_id
    images = t.CLIPImageProcessor(size={"height": 64, "width": 64}, do_center_crop=False, **HALF)
    images.image_seq_length = 17  # one for each of the 4 x 4 patches, and their mean
    return model, t.Florence2Processor(images, tokenizer)
