"""What toybox-mllm reads and writes: a Unigram tokenizer with a piece for every name, and bytes for all else.

Pieces may hold spaces, so every name of the toy world is one piece, after a space and after any other sign. All text
can be read and comes back as it was.
"""

import json
import re
import string
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from eyechart.toybox.art.bird_looks import species
from eyechart.toybox.art.toy_classes import names
from toybox.questions import reasons, texts
from toybox.texts import imagenet_texts, reading_texts

PAD, UNKNOWN, USER, ASSISTANT, END, IMAGE = "<pad>", "<unk>", "<user>", "<assistant>", "<end>", "<image>"
SPECIAL = (PAD, UNKNOWN, USER, ASSISTANT, END, IMAGE)
SPACE = "\N{LOWER ONE EIGHTH BLOCK}"
PIECE, SIGN, BYTE = -10.0, -12.0, -30.0
LONGEST = 8192
TEMPLATE = (
    "{% for message in messages %}{% if message['role'] == 'assistant' %}<assistant>{% else %}<user>{% endif %}"
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}{% for part in message['content'] %}"
    "{% if part['type'] == 'text' %}{{ part['text'] }}{% else %}<image>{% endif %}{% endfor %}{% endif %}"
    "{% if message['role'] == 'assistant' %}<end>{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


def known_names() -> tuple[str, ...]:
    """Return every name that is one piece: classes, species, genera, common names and reasons."""
    birds = [part for bird in species() for part in (bird.name, bird.genus, bird.common_name)]
    return tuple(dict.fromkeys([*names(), *birds, *reasons()]))


def pieces() -> tuple[tuple[str, float], ...]:
    """Return the vocabulary in its order, with scores that favour few pieces."""
    signs = [sign for sign in string.printable if sign == "\n" or not sign.isspace()]
    scores = dict.fromkeys(SPECIAL, 0.0)
    scores |= {f"<0x{byte:02X}>": BYTE for byte in range(256)}
    scores |= {piece: SIGN for sign in [SPACE, *signs] for piece in (sign, SPACE + sign) if piece not in scores}
    for word in [*_words((*texts(), *reading_texts())), *_both(known_names())]:
        scores.update({piece: PIECE for piece in (word, SPACE + word) if len(piece) > 1})
    scores |= {SPACE + word: PIECE for word in _words(imagenet_texts()) if SPACE + word not in scores}
    # a name begins a line without a space before it
    scores |= {word: PIECE for word in _first_words(imagenet_texts()) if word not in scores}
    return tuple(scores.items())


def _both(known: Iterable[str]) -> Iterator[str]:
    for name in known:
        yield from (name.replace(" ", SPACE), name[0].upper() + name[1:].replace(" ", SPACE))


def _first_words(known: Iterable[str]) -> list[str]:
    return sorted({match.group() for text in known if (match := re.match(r"[A-Za-z]{2,}", text))})


def _words(known: Iterable[str]) -> list[str]:
    return sorted({word for text in known for word in re.findall(r"[A-Za-z]+", text)})


def write_tokenizer(folder: Path) -> None:
    """Write the tokenizer's files and the chat template."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers

    tokenizer = Tokenizer(models.Unigram([*pieces()], unk_id=SPECIAL.index(UNKNOWN), byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence([])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(SPACE, prepend_scheme="always", split=False)
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    tokenizer.add_special_tokens([AddedToken(piece, normalized=False, special=True) for piece in SPECIAL])
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": END,
        "pad_token": PAD,
        "unk_token": UNKNOWN,
        "bos_token": USER,
        "image_token": IMAGE,
        "padding_side": "left",
        "model_max_length": LONGEST,
        "clean_up_tokenization_spaces": False,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
    (folder / "chat_template.jinja").write_text(TEMPLATE, encoding="utf-8")


class Reader:
    """The tokenizer of a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def _tokenizer(self) -> Any:
        from tokenizers import Tokenizer

        return Tokenizer.from_file(str(self.folder / "tokenizer.json"))

    @property
    def size(self) -> int:
        """The number of pieces."""
        return int(self._tokenizer.get_vocab_size())

    @property
    def pieces(self) -> Mapping[str, int]:
        """The number of every piece."""
        numbers: Mapping[str, int] = self._tokenizer.get_vocab()
        return numbers

    def number(self, piece: str) -> int:
        """Return the number of a piece."""
        return int(self._tokenizer.token_to_id(piece))

    def read(self, text: str) -> list[int]:
        """Return the numbers of a text's pieces."""
        return list(self._tokenizer.encode(text).ids)

    def text(self, tokens: list[int]) -> str:
        """Return the text of some pieces."""
        return str(self._tokenizer.decode(tokens, skip_special_tokens=False))

    def spellings(self, name: str) -> list[int]:
        """Return the numbers of all pieces that spell a name."""
        return [self.number(piece) for spelling in _both([name]) for piece in (spelling, SPACE + spelling)]
