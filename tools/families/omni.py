"""Families that hear, too; only images are used here."""

import transformers as t

from families.parts import Checkpoint, chat_template, make_tokenizer

SMALL = {"hidden_size": 16, "num_attention_heads": 1}  # each of an image's many patches looks at all others
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
