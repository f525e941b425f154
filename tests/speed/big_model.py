"""A Qwen3-VL of 50 million random weights: large enough for a model's own work to outweigh what is around it."""

from pathlib import Path

from eyechart.models.runtime.torchvision_repair import repair

WORDS = {
    "hidden_size": 768,
    "intermediate_size": 2048,
    "num_hidden_layers": 8,
    "num_attention_heads": 12,
    "num_key_value_heads": 4,
    "head_dim": 64,
    "max_position_embeddings": 16384,
}
EYE = {
    "depth": 4,
    "hidden_size": 256,
    "intermediate_size": 1024,
    "num_heads": 4,
    "out_hidden_size": 768,
    "num_position_embeddings": 256,
    "deepstack_visual_indexes": [1, 2],
}
ROPE = {"rope_type": "default", "mrope_section": [12, 10, 10], "mrope_interleaved": True, "rope_theta": 1e6}
SIDE = 224  # of an image, which is 49 tokens


def big_qwen3_vl(folder: Path, tokenizer_of: str = "toybox-clip") -> Path:
    """Save the model with its processor in a folder, and return it; it cuts words as a packaged model does."""
    repair()  # before transformers is imported
    import torch
    import transformers
    from families.parts import HALF, QWEN, chat_template, make_tokenizer

    torch.manual_seed(0)
    tokenizer, words = make_tokenizer(tokenizer_of, rope_parameters=ROPE, **WORDS)
    ids = {name: tokenizer.convert_tokens_to_ids(token) for name, token in QWEN.items()}
    config = transformers.Qwen3VLConfig(
        text_config=words,
        vision_config=EYE,
        tie_word_embeddings=True,
        **{f"{name.removesuffix('_pad')}_token_id": token for name, token in ids.items()},
    )
    images = transformers.Qwen2VLImageProcessor(
        patch_size=16, merge_size=2, min_pixels=SIDE**2, max_pixels=SIDE**2, **HALF
    )
    template = chat_template("{vision_start}{image_pad}{vision_end}".format(**QWEN))
    videos = transformers.Qwen3VLVideoProcessor(patch_size=16, merge_size=2)
    transformers.Qwen3VLForConditionalGeneration(config).save_pretrained(folder)
    transformers.Qwen3VLProcessor(images, tokenizer, videos, chat_template=template).save_pretrained(folder)
    return folder
