"""Typed declarations of the options that a model specification may have: `hf[PATH,NAME=VALUE]`.

A backend declares its options as constants, reads them with `read`, and lists them in `declared_options`. The name,
type, default and explanation that `eyechart ls models --options` prints come from the declaration that is read.
"""

from collections.abc import Sequence
from typing import Any

from eyechart.models.model_option import AnyOption, ModelOption
from eyechart.models.runtime import torch_runtime
from eyechart.models.spec import ModelSpec


def names_of(options: Sequence[AnyOption]) -> list[str]:
    """Return the names of options."""
    return [option.name for option in options]


def whole_number(name: str, text: str, default: int, least: int = 1) -> ModelOption[int]:
    """Declare a whole number of at least `least`."""
    return ModelOption(
        name, text, "whole number", str(default), lambda spec: torch_runtime.integer_option(spec, name, default, least)
    )


def optional_whole_number(name: str, text: str, default: str = "", least: int = 1) -> ModelOption[int | None]:
    """Declare a whole number that need not be given; `default` says what then holds."""

    def read(spec: ModelSpec) -> int | None:
        return torch_runtime.integer_option(spec, name, least, least) if name in spec.options else None

    return ModelOption(name, text, "whole number", default, read)


def fraction(name: str, text: str, default: float) -> ModelOption[float]:
    """Declare a number above 0 and at most 1."""
    return ModelOption(
        name,
        text,
        "number from 0 to 1",
        f"{default:g}",
        lambda spec: torch_runtime.fraction_option(spec, name, default),
    )


def flag(name: str, text: str, default: bool) -> ModelOption[bool]:
    """Declare true or false."""
    shown = str(default).lower()
    return ModelOption(name, text, "true or false", shown, lambda spec: torch_runtime.flag_option(spec, name, default))


def optional_flag(name: str, text: str, default: str) -> ModelOption[bool | None]:
    """Declare true or false, which need not be given; `default` says what then holds."""

    def read(spec: ModelSpec) -> bool | None:
        return torch_runtime.flag_option(spec, name, False) if name in spec.options else None

    return ModelOption(name, text, "true or false", default, read)


def choice(name: str, text: str, choices: Sequence[str], default: str = "", shown: str = "") -> ModelOption[str]:
    """Declare one of some words; `shown` says what holds where neither is given."""

    def read(spec: ModelSpec) -> str:
        return torch_runtime.choice_option(spec, name, choices) or default

    return ModelOption(name, text, ", ".join(choices), default or shown, read)


def words(name: str, text: str, default: str = "", type: str = "text", shown: str = "") -> ModelOption[str]:  # noqa: A002
    """Declare a text; `type` says what kind of text, and `shown` what holds without a default."""
    return ModelOption(name, text, type, default or shown, lambda spec: spec.options.get(name, default))


def keywords(name: str, text: str) -> ModelOption[dict[str, Any]]:
    """Declare the options NAME.KEY=VALUE, whose values are JSON or text."""
    return ModelOption(f"{name}.KEY", text, "JSON or text", "", lambda spec: torch_runtime.keyword_options(spec, name))


def declare_from_help(name: str, text: str, type: str) -> ModelOption[str]:  # noqa: A002
    """Declare an option that its backend reads by itself; `text` ends in (default: …) where there is a default."""
    meaning, _, default = text.removesuffix(")").rpartition(" (default: ")
    return words(name, meaning or default, type=type, shown=default if meaning else "")


def scale(text: str, default: float, shown: str = "") -> ModelOption[float]:
    """Declare the positive factor of cosines or logits before a softmax."""
    return ModelOption(
        "scale", text, "number above 0", shown or f"{default:g}", lambda spec: torch_runtime.scale_option(spec, default)
    )


def batch_size(default: int) -> ModelOption[int]:
    """Declare the number of images or texts in one forward pass."""
    return whole_number("batch_size", "number of images or texts in one forward pass", default)


DTYPE = choice(
    "dtype",
    "precision of weights and computation",
    torch_runtime.DTYPES,
    shown="bfloat16 on a GPU that supports it, else float32",
)
