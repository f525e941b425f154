"""Presets: options of many protocols in one TOML file. `paper` has the settings of the published studies.

    [closed_world]
    names = "kisel"
    images_per_request = "10"

Each table is a protocol. Its keys are options of the protocol, and `names`, the class names as in `--eye-names`.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from eyechart.errors import SpecError
from eyechart.protocol.options import OptionSetting
from eyechart.spec import did_you_mean

NAMES = "names"
PACKAGED = tuple(sorted(path.stem for path in Path(__file__).parent.glob("*.toml")))


@dataclass(frozen=True)
class Preset:
    """Settings of protocol options, class names by protocol, and a sentence: the comment in the first line."""

    settings: tuple[OptionSetting, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    summary: str = ""


def read_preset(name_or_path: str) -> Preset:
    """Read a packaged preset or a TOML file. Raises SpecError if it is neither, or cannot be read.

    >>> read_preset("paper").names["closed_world"]
    'kisel'
    """
    path = Path(__file__).with_name(f"{name_or_path}.toml") if name_or_path in PACKAGED else Path(name_or_path)
    if not path.is_file():
        hint = did_you_mean(name_or_path, PACKAGED)
        raise SpecError(f"The preset '{name_or_path}' is neither packaged ({', '.join(PACKAGED)}) nor a file{hint}")
    try:
        tables = tomllib.loads(text := path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SpecError(
            f"The preset {path} cannot be read: {error}. Expected TOML, a table for each protocol."
        ) from error
    settings, names = [], {}
    for protocol, options in tables.items():
        if not isinstance(options, dict):
            raise SpecError(f"The preset {path} has '{protocol}' outside of a table. Put it into [PROTOCOL].")
        for option, value in options.items():
            values = ",".join(map(str, value)) if isinstance(value, list) else str(value)
            if option == NAMES:
                names[protocol] = values
            else:
                settings.append(OptionSetting(protocol, option, values))
    summary = text.partition("\n")[0].removeprefix("#").strip() if text.startswith("#") else ""
    return Preset(tuple(settings), names, summary)
