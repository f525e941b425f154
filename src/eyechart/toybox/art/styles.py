"""The styles: whose art each is, under which licence, and whether a model may train on it."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class _Style:
    """Where a style's art comes from."""

    title: str
    author: str
    licence: str
    url: str
    package: str
    trained: bool


MICROSOFT, GOOGLE = "Microsoft Corporation", "Google Inc."
NOTO, FLUENT = "https://github.com/googlefonts/noto-emoji", "https://github.com/microsoft/fluentui-emoji"
TWEMOJI = "https://github.com/jdecked/twemoji"
STYLES: Mapping[str, _Style] = {
    "google": _Style("Noto Emoji", GOOGLE, "Apache-2.0", NOTO, "emoji-datasource-google 16.0.0 (npm)", trained=True),
    "twitter": _Style(
        "Twemoji",
        "Twitter, Inc. and other contributors",
        "CC-BY-4.0",
        TWEMOJI,
        "emoji-datasource-twitter 16.0.0 (npm)",
        trained=True,
    ),
    "fluent-flat": _Style(
        "Fluent Emoji, flat", MICROSOFT, "MIT", FLUENT, "@iconify-json/fluent-emoji-flat 1.2.6 (npm)", trained=True
    ),
    "noto-v1": _Style(
        "Noto Emoji, first version", GOOGLE, "Apache-2.0", NOTO, "@iconify-json/noto-v1 1.2.5 (npm)", trained=False
    ),
    "fluent-3d": _Style(
        "Fluent Emoji, 3D", MICROSOFT, "MIT", FLUENT, "@lobehub/fluent-emoji-3d 1.1.0 (npm)", trained=False
    ),
    "cutouts": _Style(
        "Tux Paint stamps",
        "Tux Paint stamp contributors",
        "GPL-2.0-or-later",
        "https://tuxpaint.org",
        "tuxpaint-stamps-default 2022.06.04-1 (Debian)",
        trained=False,
    ),
}
TRAINING = tuple(name for name, style in STYLES.items() if style.trained)
HELD_OUT = tuple(name for name, style in STYLES.items() if not style.trained)
NAMES_PACKAGE = "emojibase-data 17.0.0 (npm)"
