"""Tiny checkpoints with random weights of families that answer in words, each with its own processor.

They are made from the table `families.yaml`. Importing this package does not import transformers.
"""

from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

TABLE = Path(__file__).with_name("families.yaml")
TEMPLATE = (
    "{% for m in messages %}{{ '<user>' if m['role'] == 'user' else '<bot>' }}{% for c in m['content'] %}"
    "{% if c['type'] == 'text' %}{{ c['text'] }}{% else %}IMAGE{% endif %}{% endfor %}<turn>{% endfor %}"
    "{% if add_generation_prompt %}<bot>{% endif %}"
)
SPECIAL = ("<user>", "<bot>", "<turn>", "<|image_pad|>", "<|video_pad|>", "<|vision_start|>", "<|vision_end|>")
SHARED = "shared"  # the entry of a table that is no family


class _Reader(yaml.SafeLoader):  # type: ignore[misc]  # PyYAML has no types
    """Reads the entries of a table, each when it is asked for, with the tokenizer that `!token` and others are of."""

    tokenizer: Any = None

    def __init__(self, table: Path) -> None:
        super().__init__(table.read_text(encoding="utf-8"))
        self.entries = {key.value: value for key, value in self.get_single_node().value}

    def read(self, node: yaml.Node | None) -> Any:
        return {} if node is None else self.construct_object(node, deep=True)

    def make(self, name: str, node: yaml.Node) -> Any:
        """Return what a tag stands for: a part of the tokenizer, or an object of a class of transformers."""
        import transformers

        if name == "tokenizer":
            return self.tokenizer
        if name == "token":
            return self.tokenizer.convert_tokens_to_ids(node.value)
        if name == "size":
            return len(self.tokenizer)
        if name == "chat":
            return TEMPLATE.replace("IMAGE", node.value)
        settings = self.construct_mapping(node, deep=True)
        if name.endswith("Processor") and not name.endswith(("ImageProcessor", "VideoProcessor")):
            settings["tokenizer"] = self.tokenizer
        return getattr(transformers, name)(**settings)


_Reader.add_multi_constructor("!", _Reader.make)
FAMILIES = tuple(sorted({*_Reader(TABLE).entries} - {SHARED}))


def build(family: str, table: Path = TABLE, tokenizer_of: str = "toybox-clip") -> tuple[Any, Any]:
    """Return a model of a table and its processor, which cuts words as a packaged model does."""
    import transformers

    reader = _Reader(table)
    parts = {key.value: value for key, value in reader.entries[family].value}
    reader.tokenizer = _make_tokenizer(tokenizer_of, reader.read(parts.get("tokens")))
    for name, token in reader.read(parts.get("tokenizer")).items():
        setattr(reader.tokenizer, name, token)
    model = getattr(transformers, parts["model"].value)(reader.read(parts["config"]))
    model.generation_config.update(**reader.read(parts.get("generation")))
    return model, reader.read(parts["processor"])


def _make_tokenizer(sample: str, tokens: dict[str, str]) -> Any:
    """Return a packaged model's tokenizer with more special tokens."""
    from tokenizers.processors import ByteLevel
    from transformers import PreTrainedTokenizerFast

    file = Path(str(files("eyechart.samples"))) / sample / "tokenizer.json"
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=str(file), pad_token="<pad>", eos_token="<turn>", extra_special_tokens=tokens
    )
    tokenizer.add_special_tokens({"additional_special_tokens": [*SPECIAL, *tokens.values()]})
    tokenizer.backend_tokenizer.post_processor = ByteLevel(trim_offsets=False)  # no start or end of its own
    return tokenizer


def save(family: str, folder: Path) -> Path:
    """Save a checkpoint with random weights large enough for it to say different things, and return its folder."""
    import torch

    from eyechart.models.runtime.torchvision_repair import repair

    repair()  # before transformers is imported
    torch.manual_seed(0)
    model, processor = build(family)
    _draw_weights(model)
    ends = processor.tokenizer.eos_token_id
    model.get_input_embeddings().weight.data[ends].mul_(3)  # so that some answers come to their end
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def _draw_weights(model: Any) -> None:
    import torch

    for name, values in [*model.named_parameters(), *model.named_buffers()]:
        if values.ndim > 1 and "embed_tokens" not in name:
            values.data.mul_(8)
        elif "running" in name:
            values.uniform_(0.5, 2)
        if values.is_floating_point() and not torch.isfinite(values).all():
            values.data.nan_to_num_(0, 0.02, -0.02)  # transformers leaves some of Llama 4's as they were in memory
