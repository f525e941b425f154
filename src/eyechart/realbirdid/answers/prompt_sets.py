"""Prompt sets: equivalent prompts for one question at several levels of encouragement to abstain."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from pathlib import Path

import msgspec

from eyechart.errors import DataError
from eyechart.files.text_files import plain_text

OWN = "own"
PACKAGED = Path(__file__).with_name("abstention_wordings.toml")
_METADATA_KEYS = ("source", "note")
EXPECTED = 'Give a line such as naive = ["What species of bird is this?"] for each level, as UTF-8 toml.'


@dataclass(frozen=True)
class PromptSet:
    """Prompts by level, in the order of the file."""

    name: str
    levels: Mapping[str, tuple[str, ...]]
    source: str = ""

    @property
    def count(self) -> int:
        """The number of prompts of all levels."""
        return sum(map(len, self.levels.values()))

    def first(self, number: int) -> "PromptSet":
        """Return the first prompts of each level, at most `number`.

        >>> load_prompt_set().first(3).count
        9
        """
        return replace(self, levels={level: texts[:number] for level, texts in self.levels.items()})

    @property
    def sha256(self) -> str:
        """The sha256 of the levels and prompts, in their order."""
        return sha256(msgspec.json.encode([*self.levels.items()])).hexdigest()


def prompt_number(index: int, of: int) -> str:
    """Return the number of a prompt from 01 up, padded to the width of the last number.

    Source: own definition.

    >>> prompt_number(0, 15), prompt_number(4, 100)
    ('01', '005')
    """
    return str(index + 1).zfill(max(2, len(str(of))))


@cache
def load_prompt_set(name_or_path: str = OWN) -> PromptSet:
    """Return the packaged prompt set, `own`, or that of a user's TOML file: a list of prompts for each level.

    Raises DataError for an unreadable file, a file without levels, a level without prompts, a level name with `/` or
    `,` (separators of names of prompts), and an empty or repeated prompt.

    Source: arXiv 2603.27033, section 6: 15 prompts for each of three instructions. All but one are unpublished, so the
    packaged prompts are our own.

    >>> {level: len(texts) for level, texts in load_prompt_set().levels.items()}
    {'naive': 15, 'unanswerable': 15, 'refuse': 15}
    >>> load_prompt_set().levels["naive"][0]
    'What species of bird is in this image?'
    """
    path = PACKAGED if name_or_path == OWN else Path(name_or_path)
    try:
        held = tomllib.loads(plain_text(path))
    except OSError as error:
        raise DataError(f"The wordings {path} cannot be read ({error.strerror or error}). {EXPECTED}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise DataError(f"{path} holds no wordings ({error}). {EXPECTED}") from error
    levels = {level: _texts(path, level, texts) for level, texts in held.items() if level not in _METADATA_KEYS}
    if not levels:
        raise DataError(f"{path} has no level of wordings. {EXPECTED}")
    _check_unique(path, levels)
    return PromptSet(name_or_path, levels, str(held.get("source", "")))


def _texts(path: Path, level: str, texts: object) -> tuple[str, ...]:
    if "/" in level or "," in level or not level.strip():
        raise DataError(f"{path}: the level '{level}' has a name with / or ,. Use letters, digits and spaces.")
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise DataError(f"{path}: the level '{level}' is no list of texts. {EXPECTED}")
    if not texts:
        raise DataError(f"{path}: the level '{level}' has no wording. Write one into it, or leave the level out.")
    if "" in (text.strip() for text in texts):
        raise DataError(f"{path}: the level '{level}' has an empty wording. Write the question into it.")
    return tuple(texts)


def _check_unique(path: Path, levels: Mapping[str, tuple[str, ...]]) -> None:
    level_by_text: dict[str, str] = {}
    for level, text in ((level, text.strip()) for level, texts in levels.items() for text in texts):
        if text in level_by_text:
            where = (
                f"the levels '{level_by_text[text]}' and '{level}'"
                if level_by_text[text] != level
                else f"the level '{level}'"
            )
            raise DataError(f"{path}: '{text}' stands twice, in {where}. Keep one of them.")
        level_by_text[text] = level
