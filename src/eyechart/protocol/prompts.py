"""Prompts as data: texts with slots, their sources and their fingerprints.

A study, or another package, has its prompts as toml files in a package that it names with an entry point:

    [project.entry-points."eyechart.prompts"]
    my_study = "mypackage.prompts"
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Literal

import msgspec

from eyechart.errors import DataError
from eyechart.files.installed import find_files
from eyechart.files.text_files import plain_text
from eyechart.messages.suggestions import did_you_mean

Format = Literal["text", "json"]  # of an answer
GROUP = "eyechart.prompts"
TEXTS = "prompt_texts"  # the table of a case with the prompts that are not eyechart's: name, sha256 and text
NAMED = re.compile(r"([\w.-]+) \(([0-9a-f]{8})\)")  # as a variant names a prompt: "existence (82107dae)"
_SLOT = re.compile(r"\{([A-Za-z_]\w*)\}")


@dataclass(frozen=True)
class Prompt:
    """A text with slots such as `{class_list}`, and its source.

    `format` is what the text asks for: a plain answer, or a JSON object with the answer to the first image under the
    key "1", to the second under "2". `alternatives` are the names of the prompts for other ways to answer.
    """

    name: str
    text: str
    source: str
    note: str = ""
    format: Format = "text"
    alternatives: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def slots(self) -> tuple[str, ...]:
        """The names of the slots, each once, in the order of the text.

        >>> Prompt("pick", "Which of {class_list}? One of {class_list}.", "own").slots
        ('class_list',)
        """
        return tuple(dict.fromkeys(_SLOT.findall(self.text)))

    @property
    def sha256(self) -> str:
        """The sha256 of the text before its slots are filled.

        >>> Prompt("pick", "Which of {class_list}?", "own").sha256[:8]
        '8f267bba'
        """
        return sha256(self.text.encode()).hexdigest()

    def alternative(self, name: str) -> "Prompt":
        """Return the prompt for another way to answer. Raises KeyError if there is none of this name.

        Source: own definition.

        >>> get_prompt("closed_world").alternative("json").name
        'closed_world_json'
        """
        return get_prompt(self.alternatives[name])

    def fill(self, **values: str) -> str:
        """Return the text with a value in every slot; braces in values are kept.

        Raises ValueError if the names of the values are not those of the slots.

        Source: own definition.

        >>> Prompt("pick", "Which of {class_list}?", "own").fill(class_list="{a}, b")
        'Which of {a}, b?'
        """
        if {*values} != {*self.slots}:
            names, slots = (", ".join(sorted(group)) or "none" for group in (values, self.slots))
            raise ValueError(f"The prompt '{self.name}' has the slots: {slots}. Got a text for: {names}.")
        return _SLOT.sub(lambda slot: values[slot[1]], self.text)


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    source: str
    text: str
    note: str = ""
    format: Format = "text"


class _PackagedFile(_File, frozen=True, forbid_unknown_fields=True):
    alternatives: Mapping[str, str] = {}


@cache
def _packaged() -> Mapping[str, Path]:
    """Return the files of the prompts of installed packages by name."""
    return find_files(GROUP, ".toml")


def prompt_names() -> tuple[str, ...]:
    """Return the names of the packaged prompts.

    Source: own definition.

    >>> prompt_names()[:2]
    ('abstention_reason', 'closed_world')
    """
    return tuple(sorted(_packaged()))


def is_eyechart_prompt(prompt: Prompt) -> bool:
    """Return whether eyechart itself has the text of a prompt, so that a run need not store it.

    >>> is_eyechart_prompt(get_prompt("closed_world")), is_eyechart_prompt(Prompt("closed_world", "Which?", "own"))
    (True, False)
    """
    path = _packaged().get(prompt.name)
    is_own = path is not None and Path(__file__).parents[1] in path.parents
    return is_own and get_prompt(prompt.name).sha256 == prompt.sha256


@cache
def _known_slots() -> tuple[str, ...]:
    """Return the slots that protocols fill: those of the packaged prompts.

    Source: own definition.

    >>> _known_slots()
    ('category', 'class_list', 'dynamic_choices', 'hint', 'options', 'other', 'question', 'reason_list', 'said')
    """
    texts = (_read(path, _PackagedFile).text for path in _packaged().values())
    return tuple(sorted({slot for text in texts for slot in _SLOT.findall(text)}))


@cache
def get_prompt(name_or_path: str) -> Prompt:
    """Return a packaged prompt, or that of a TOML file with the keys `source`, `text` and optionally `note`, `format`.

    Raises DataError for a name that is neither packaged nor a file, and for a file that cannot be read, misses a key,
    has another key or a slot that no protocol fills.

    Source: each prompt names its own; those of arXiv 2603.06578 are its Tables 20 to 22 word by word.

    >>> get_prompt("mill_mcq").slots, get_prompt("mill_mcq").source
    (('dynamic_choices',), 'Mill, imagenet_mcq')
    """
    packaged = name_or_path in _packaged()
    path = _packaged()[name_or_path] if packaged else Path(name_or_path)
    if not path.is_file():
        known = prompt_names()
        raise DataError(
            f"The prompt '{name_or_path}' is neither a toml file nor one of {', '.join(known)}"
            f"{did_you_mean(name_or_path, known)}"
        )
    file = _read(path, _PackagedFile if packaged else _File)
    _check(file.text, str(path))
    alternatives = file.alternatives if isinstance(file, _PackagedFile) else {}
    return Prompt(name_or_path, file.text, file.source, file.note, file.format, alternatives)


def _read(path: Path, kind: type[_File]) -> _File:
    try:
        return msgspec.convert(tomllib.loads(plain_text(path)), kind)
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise DataError(
            f"{path} is not a prompt ({error}). Give the keys source and text, and perhaps note and "
            "format (text or json), as UTF-8 toml."
        ) from error


def _check(text: str, path: str) -> None:
    if not text.strip():
        raise DataError(f"{path} has an empty text. Write the question into it.")
    for slot in _SLOT.findall(text):
        if slot not in (known := _known_slots()):
            raise DataError(
                f"{path} has the slot {{{slot}}}, which no protocol fills{did_you_mean(slot, known)} "
                f"The slots are: {', '.join(known)}."
            )
