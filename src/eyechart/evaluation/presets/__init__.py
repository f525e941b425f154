"""Presets: options of many protocols in one TOML file. `paper` has the settings of the published studies.

    include = ["oodbench"]

    [closed_world]
    names = "kisel"
    images_per_request = "10"

Each table is a protocol. Its keys are options of the protocol, and those of `SUITE`: class names, templates and limit,
as in `--eye-names`, `--eye-templates` and `--eye-limit`, for this protocol alone, and `leave_out`, a list of splits as
BENCHMARK/SPLIT that the protocol is not run on; `leave_out` outside of the tables is about every protocol that has no
such list. `include` lists presets whose settings come first; a later setting
replaces an earlier one. `whole` names the preset that runs what this one leaves out, which the terminal then prints.
The table `[model]` has options of models, such as `dtype = "bfloat16"`. They hold for each model of the session whose
backend has the option and whose specification does not set it, and are not taken from included presets.

A study, or another package, has its presets in a package that it names with an entry point:

    [project.entry-points."eyechart.presets"]
    my_study = "mypackage.presets"
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from eyechart.data.dataset.limits import parse_limit
from eyechart.errors import SpecError
from eyechart.evaluation.settings import PER_PROTOCOL as SUITE
from eyechart.files.installed import find_files
from eyechart.files.text_files import plain_text
from eyechart.messages.suggestions import did_you_mean
from eyechart.protocol.options import OptionSetting

INCLUDE, WHOLE, SOURCE, LEAVE_OUT, MODEL = "include", "whole", "source", "leave_out", "model"
SPLIT = re.compile(r"[^/,\s]+/[^/,\s]+")
GROUP = "eyechart.presets"


@dataclass(frozen=True)
class Preset:
    """Settings of protocol options, options of the suite by protocol, and a sentence: the comment in the first line.

    `left_out` are the splits that a protocol is not run on, under "" those of every other protocol, and `whole` is the
    preset that runs them, too.
    `model_options` are options of every model whose backend has them. `source` is the publication whose settings these
    are, as tables name it; "" if there is none.
    """

    settings: tuple[OptionSetting, ...] = ()
    suite: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    summary: str = ""
    left_out: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    whole: str = ""
    model_options: Mapping[str, str] = field(default_factory=dict)
    source: str = ""

    def splits_left_out(self, protocol: str) -> tuple[str, ...]:
        """Return the splits that a protocol is not run on."""
        return self.left_out.get(protocol, self.left_out.get("", ()))


@cache
def _packaged() -> Mapping[str, Path]:
    """Return the files of the presets of installed packages by name."""
    return find_files(GROUP, ".toml")


def preset_names() -> tuple[str, ...]:
    """Return the names of the packaged presets.

    >>> preset_names()[:2]
    ('first-run', 'image-classifiers')
    """
    return tuple(sorted(_packaged()))


def read_preset(name_or_path: str) -> Preset:
    """Read a packaged preset or a TOML file. Raises SpecError if it is neither, or cannot be read.

    >>> read_preset("paper").suite["multiple_choice"]
    {'names': 'kisel', 'limit': '1/class'}
    """
    path = _find_preset(name_or_path, Path())
    values: dict[tuple[str, str], str] = {}
    for protocol, option, value in _read_values(path, ()):
        values.pop((protocol, option), None)
        values[protocol, option] = value
    suite: dict[str, dict[str, str]] = {}
    for (protocol, option), value in values.items():
        if option in SUITE:
            suite.setdefault(protocol, {})[option] = value
    settings = [OptionSetting(*key, value) for key, value in values.items() if key[1] not in (*SUITE, LEAVE_OUT)]
    left_out = {
        protocol: tuple(filter(None, value.split(",")))
        for (protocol, option), value in values.items()
        if option == LEAVE_OUT
    }
    own = _parse_file(path)
    model_options = {option: str(value) for option, value in own.get(MODEL, {}).items()}
    first = plain_text(path).partition("\n")[0]
    summary = first.removeprefix("#").strip() if first.startswith("#") else ""
    return Preset(tuple(settings), suite, summary, left_out, own.get(WHOLE, ""), model_options, own.get(SOURCE, ""))


def _find_preset(name_or_path: str, folder: Path) -> Path:
    """Return the path of a packaged preset, or of a file in a folder. Raises SpecError if there is none."""
    path = _packaged().get(name_or_path, folder / name_or_path)
    if not path.is_file():
        names = preset_names()
        hint = did_you_mean(name_or_path, names)
        raise SpecError(f"The preset '{name_or_path}' is neither packaged ({', '.join(names)}) nor a file{hint}")
    return path


def _read_values(path: Path, including: tuple[Path, ...]) -> Iterator[tuple[str, str, str]]:
    """Yield protocol, option and value of every setting of a file, those of the presets that it includes first.

    `including` are the files that lead to this one; one that includes itself raises SpecError.
    """
    if path.resolve() in including:
        raise SpecError(f"The preset {path} includes itself. Remove it from 'include'.")
    tables = _parse_file(path)
    for name in tables.pop(INCLUDE, []):
        yield from _read_values(_find_preset(name, path.parent), (*including, path.resolve()))
    if whole := tables.pop(WHOLE, ""):
        _find_preset(whole, path.parent)
    tables.pop(MODEL, None)
    tables.pop(SOURCE, None)
    if LEAVE_OUT in tables:
        tables[""] = {LEAVE_OUT: tables.pop(LEAVE_OUT)}
    for protocol, options in tables.items():
        for option, value in options.items():
            values = ",".join(map(str, value)) if isinstance(value, list) else str(value)
            if option == "limit":
                _check_limit(path, protocol, values)
            if option == LEAVE_OUT:
                _check_splits(path, protocol, value)
            yield protocol, option, values


def _parse_file(path: Path) -> dict[str, Any]:
    """Return the tables of a file, and its list of included presets. Raises SpecError for other content."""
    try:
        tables = tomllib.loads(plain_text(path))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SpecError(
            f"The preset {path} cannot be read: {error}. Expected TOML, a table for each protocol."
        ) from error
    included = tables.get(INCLUDE, [])
    if not isinstance(included, list) or not all(isinstance(name, str) for name in included):
        raise SpecError(f"The preset {path} has include = {included!r}. Expected a list of presets or files.")
    if not isinstance(tables.get(WHOLE, ""), str):
        raise SpecError(f"The preset {path} has whole = {tables[WHOLE]!r}. Expected the name of a preset or file.")
    if not isinstance(tables.get(SOURCE, ""), str):
        raise SpecError(f"The preset {path} has source = {tables[SOURCE]!r}. Expected the name of a publication.")
    for name, value in tables.items():
        if name not in (INCLUDE, WHOLE, SOURCE, LEAVE_OUT) and not isinstance(value, dict):
            raise SpecError(f"The preset {path} has '{name}' outside of a table. Put it into [PROTOCOL].")
    return tables


def _check_splits(path: Path, protocol: str, value: Any) -> None:
    """Raise SpecError for what is no list of BENCHMARK/SPLIT."""
    where = f"[{protocol}]" if protocol else "it"
    if not isinstance(value, list) or not all(isinstance(name, str) and SPLIT.fullmatch(name) for name in value):
        raise SpecError(
            f"The preset {path}: {where} has {LEAVE_OUT} = {value!r}. Expected a list of splits, such as "
            '["toybox/sample"].'
        )


def _check_limit(path: Path, protocol: str, value: str) -> None:
    """Raise SpecError for a limit that cannot be read."""
    try:
        parse_limit(value)
    except SpecError as error:
        raise SpecError(f"The preset {path}: the limit in [{protocol}] {error}") from error
