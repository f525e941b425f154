"""Tiny models of transformers that read images and texts, with random weights and tokenizers that know the letters."""

from typing import Any

LETTERS = "abcdefghijklmnopqrstuvwxyz"
VISION = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "patch_size": 8}
TEXT = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "vocab_size": 64}
TOWER = VISION | {"image_size": 32}
SPEAKER = {"model_type": "opt"} | {
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "vocab_size": 64,
}


def clip_tokenizer() -> Any:
    from transformers import CLIPTokenizer

    letters = [*LETTERS, *(f"{letter}</w>" for letter in LETTERS)]
    vocabulary = [*letters, "<|startoftext|>", "<|endoftext|>"]
    return CLIPTokenizer(vocab={word: at for at, word in enumerate(vocabulary)}, merges=[])


def siglip_tokenizer() -> Any:
    from transformers import Siglip2Tokenizer

    vocabulary = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>", "▁", *LETTERS]
    return Siglip2Tokenizer(vocab={word: at for at, word in enumerate(vocabulary)}, merges=[], padding_side="right")


def bert_tokenizer() -> Any:
    from transformers import BertTokenizer

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *LETTERS, *(f"##{letter}" for letter in LETTERS)]
    return BertTokenizer(vocab={word: at for at, word in enumerate(words)})


def roberta_tokenizer() -> Any:
    from transformers import RobertaTokenizer

    words = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "Ġ", *LETTERS]
    return RobertaTokenizer(vocab={word: at for at, word in enumerate(words)}, merges=[], model_max_length=62)


def xlm_tokenizer(longest: int) -> Any:
    from transformers import XLMRobertaTokenizer

    words = ["<s>", "<pad>", "</s>", "<unk>", "▁", *LETTERS, "<mask>"]
    return XLMRobertaTokenizer(vocab=[(word, -1.0) for word in words], model_max_length=longest)


def clip_parts() -> tuple[Any, Any, Any]:
    from transformers import CLIPConfig, CLIPImageProcessorPil, CLIPModel

    words = TEXT | {"max_position_embeddings": 77, "eos_token_id": 53, "bos_token_id": 52}
    config = CLIPConfig(text_config=words, vision_config=VISION | {"image_size": 32}, projection_dim=16)
    size = {"shortest_edge": 32}
    return CLIPModel(config), clip_tokenizer(), CLIPImageProcessorPil(size=size, crop_size={"height": 32, "width": 32})


def siglip_parts() -> tuple[Any, Any, Any]:
    from transformers import SiglipConfig, SiglipImageProcessorPil, SiglipModel

    words = TEXT | {"max_position_embeddings": 64, "projection_size": 16}
    config = SiglipConfig(text_config=words, vision_config=VISION | {"image_size": 32})
    return SiglipModel(config), siglip_tokenizer(), SiglipImageProcessorPil(size={"height": 32, "width": 32})


def siglip2_parts() -> tuple[Any, Any, Any]:
    from transformers import Siglip2Config, Siglip2ImageProcessorPil, Siglip2Model

    words = TEXT | {"max_position_embeddings": 64, "projection_size": 16}
    config = Siglip2Config(text_config=words, vision_config=VISION | {"num_patches": 16})
    return Siglip2Model(config), siglip_tokenizer(), Siglip2ImageProcessorPil(patch_size=8, max_num_patches=16)


def groupvit_parts() -> tuple[Any, Any]:
    from transformers import CLIPImageProcessorPil, CLIPProcessor, GroupViTConfig, GroupViTModel

    words = TEXT | {"max_position_embeddings": 77, "eos_token_id": 53, "bos_token_id": 52}
    groups = {"depths": [1, 1], "num_group_tokens": [4, 0], "num_output_groups": [4, 4]}
    config = GroupViTConfig(text_config=words, vision_config=TOWER | groups, projection_dim=16)
    config.projection_intermediate_dim = 24
    images = CLIPImageProcessorPil(size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32})
    return GroupViTModel(config), CLIPProcessor(images, clip_tokenizer())


def lit_parts() -> tuple[Any, Any]:
    from transformers import BertConfig, ViTConfig, ViTImageProcessorPil

    words = BertConfig(**TEXT, max_position_embeddings=64)
    return dual(ViTConfig(**TOWER), words, ViTImageProcessorPil(size={"height": 32, "width": 32}), bert_tokenizer())


def lit_roberta_parts() -> tuple[Any, Any]:
    from transformers import CLIPImageProcessorPil, CLIPVisionConfig, RobertaConfig

    words = RobertaConfig(**TEXT, max_position_embeddings=64, pad_token_id=1, type_vocab_size=1)
    images = CLIPImageProcessorPil(size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32})
    return dual(CLIPVisionConfig(**TOWER), words, images, roberta_tokenizer())


def dual(tower: Any, words: Any, images: Any, tokenizer: Any) -> tuple[Any, Any]:
    from transformers import VisionTextDualEncoderConfig, VisionTextDualEncoderModel, VisionTextDualEncoderProcessor

    config = VisionTextDualEncoderConfig.from_vision_text_configs(tower, words, projection_dim=16)
    return VisionTextDualEncoderModel(config), VisionTextDualEncoderProcessor(images, tokenizer)


def metaclip_2_parts() -> tuple[Any, Any, Any]:
    from transformers import CLIPImageProcessorPil, MetaClip2Config, MetaClip2Model

    words = TEXT | {"max_position_embeddings": 77, "eos_token_id": 2, "bos_token_id": 0}
    config = MetaClip2Config(text_config=words, vision_config=TOWER, projection_dim=16)
    size = {"shortest_edge": 32}
    images = CLIPImageProcessorPil(size=size, crop_size={"height": 32, "width": 32})
    return MetaClip2Model(config), xlm_tokenizer(77), images


def altclip_parts() -> tuple[Any, Any, Any]:
    from transformers import AltCLIPConfig, AltCLIPModel, CLIPImageProcessorPil

    words = TEXT | {"max_position_embeddings": 64, "pad_token_id": 1, "type_vocab_size": 1, "project_dim": 24}
    config = AltCLIPConfig(text_config=words, vision_config=TOWER, projection_dim=16)
    size = {"shortest_edge": 32}
    return (
        AltCLIPModel(config),
        xlm_tokenizer(62),
        CLIPImageProcessorPil(size=size, crop_size={"height": 32, "width": 32}),
    )


def chinese_clip_parts() -> tuple[Any, Any, Any]:
    from transformers import ChineseCLIPConfig, ChineseCLIPImageProcessorPil, ChineseCLIPModel

    words = TEXT | {"max_position_embeddings": 64}
    config = ChineseCLIPConfig(text_config=words, vision_config=TOWER, projection_dim=16)
    images = ChineseCLIPImageProcessorPil(size={"height": 32, "width": 32}, do_center_crop=False)
    return ChineseCLIPModel(config), bert_tokenizer(), images


def align_parts() -> tuple[Any, Any, Any]:
    from transformers import AlignConfig, AlignModel, EfficientNetImageProcessorPil

    block = {
        "image_size": 32,
        "kernel_sizes": [3],
        "in_channels": [32],
        "out_channels": [8],
        "depthwise_padding": [],
        "strides": [1],
    }
    eye = block | {"num_block_repeats": [1], "expand_ratios": [1], "hidden_dim": 32, "width_coefficient": 1.0}
    config = AlignConfig(text_config=TEXT | {"max_position_embeddings": 64}, vision_config=eye, projection_dim=8)
    return AlignModel(config), bert_tokenizer(), EfficientNetImageProcessorPil(size={"height": 32, "width": 32})


def tips2_parts() -> tuple[Any, Any, Any]:
    from transformers import Tipsv2Config, Tipsv2ImageProcessor, Tipsv2Model, Tipsv2Tokenizer

    tower = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "patch_size": 8, "image_size": 32}
    config = Tipsv2Config(text_config=TEXT | {"max_position_embeddings": 64}, vision_config=tower)
    words = ["<pad>", "<unk>", "▁", *LETTERS]
    tokenizer = Tipsv2Tokenizer(vocab={word: at for at, word in enumerate(words)}, merges=[])
    return Tipsv2Model(config), tokenizer, Tipsv2ImageProcessor(size={"height": 32, "width": 32})


def blip2_parts() -> tuple[Any, Any]:
    from transformers import Blip2Config, Blip2ForImageTextRetrieval, Blip2Processor, BlipImageProcessorPil

    reading = {"max_position_embeddings": 24, "use_qformer_text_input": True}
    sizes = {"num_query_tokens": 4, "image_text_hidden_size": 8}
    config = Blip2Config(vision_config=TOWER, qformer_config=TEXT | reading, text_config=SPEAKER, **sizes)
    images = BlipImageProcessorPil(size={"height": 32, "width": 32})
    return Blip2ForImageTextRetrieval(config), Blip2Processor(images, bert_tokenizer())


PARTS = {
    "clip": clip_parts,
    "siglip": siglip_parts,
    "siglip2": siglip2_parts,
    "groupvit": groupvit_parts,
    "lit": lit_parts,
    "lit-roberta": lit_roberta_parts,
    "metaclip_2": metaclip_2_parts,
    "altclip": altclip_parts,
    "chinese_clip": chinese_clip_parts,
    "align": align_parts,
    "tipsv2": tips2_parts,
    "blip2": blip2_parts,
}
