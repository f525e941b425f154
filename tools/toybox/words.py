"""What toybox-clip reads: a small byte-level tokenizer, and every class under many wordings."""

import json
import random
from collections.abc import Sequence
from pathlib import Path

from eyechart.data.labels.class_names import VOCABULARIES, load_class_names, load_templates

VOCABULARY = 1280
START, END, PAD = "<start>", "<end>", "<pad>"
CONTEXT = 48
WORDINGS = ("80", "7", "1", "name")


def prompt_sets() -> tuple[tuple[str, ...], ...]:
    """Return the packaged wordings, in the sets from which one is drawn evenly."""
    return tuple(tuple(load_templates(name).formats) for name in WORDINGS)


def captions(names: Sequence[str], chance: random.Random) -> list[str]:
    """Word every class in some way."""
    sets = prompt_sets()
    return [chance.choice(chance.choice(sets)).replace("{c}", name) for name in names]


def write_tokenizer(folder: Path, names: Sequence[str]) -> None:
    """Learn a byte-level vocabulary of the wordings, the names and ImageNet's names, and write transformers' files."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel()
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    room = VOCABULARY - len((START, END)) - 1
    trainer = trainers.BpeTrainer(
        vocab_size=room, special_tokens=[PAD], initial_alphabet=alphabet, show_progress=False, min_frequency=2
    )
    tokenizer.train_from_iterator(_corpus(names), trainer)
    # open_clip pools at the highest number, so the end comes last
    tokenizer.add_special_tokens([START, END])
    numbers = [(token, tokenizer.token_to_id(token)) for token in (START, END)]
    tokenizer.post_processor = processors.TemplateProcessing(single=f"{START} $A {END}", special_tokens=numbers)
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": START,
        "eos_token": END,
        "pad_token": PAD,
        "model_max_length": CONTEXT,
        "clean_up_tokenization_spaces": False,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")


def _corpus(names: Sequence[str]) -> list[str]:
    known = [name for vocabulary in sorted(VOCABULARIES) for name in load_class_names(vocabulary).names]
    worded = [text.replace("{c}", name) for text in prompt_sets()[0] for name in names[:8]]
    return [*worded, *(name for name in names for _ in range(8)), *known]
