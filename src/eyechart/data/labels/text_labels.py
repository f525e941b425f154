"""Labels that are the names of classes: their indices, and the names in order."""

from collections.abc import Sequence
from typing import Any

from eyechart.data.names import fold_name
from eyechart.errors import DataError
from eyechart.files.text_files import MARK
from eyechart.messages.suggestions import did_you_mean


def is_number_text(value: Any) -> bool:
    """Return whether a value is a text of digits.

    >>> is_number_text(" 7 "), is_number_text(7), is_number_text("-7")
    (True, False, False)
    """
    return isinstance(value, str) and value.strip().isascii() and value.strip().isdecimal()


def plain_text_label(text: str) -> str:
    """Return a text of a user without outer spaces and a byte order mark, which the first line of a file may have.

    >>> plain_text_label("\\ufeff red ")
    'red'
    """
    return str(text).strip().removeprefix(MARK).strip()


def index_texts(labels: Sequence[str], name: str, class_names: Sequence[str]) -> tuple[list[int], tuple[str, ...]]:
    """Return the class index of each label that is a name, and the class names, by default the labels in order.

    `name` is what messages call the data. Raises DataError for a label that is not among the names, for labels that
    look alike, and for numbers that have another order as texts.

    >>> index_texts(["dog face", "cat", "Dog_Face"], "mine", ["cat", "Dog_Face"])
    ([1, 0, 1], ('cat', 'Dog_Face'))
    """
    names = tuple(class_names) or _sorted_names({*labels}, name)
    forms: dict[str, str] = {}
    for text in names:
        if (first := forms.setdefault(fold_name(text), text)) != text and not class_names:
            raise DataError(
                f"{name} has the labels {first!r} and {text!r}, which look alike: spell a class in one way."
            )
    indices = {text: index for index, text in enumerate(names)}
    known_indices = {text: indices.get(text, indices.get(forms.get(fold_name(text), ""), -1)) for text in {*labels}}
    if unknown := sorted(text for text, index in known_indices.items() if index < 0):
        hint = " Numbers must be numbers, not texts." if unknown[0].strip().isdecimal() else ""
        raise DataError(
            f"{name} has the label '{unknown[0]}', which is not among the {len(names)} class names"
            f"{did_you_mean(unknown[0], names)}{hint}"
        )
    return [known_indices[text] for text in labels], names


def _sorted_names(labels: set[str], name: str) -> tuple[str, ...]:
    """Return the class names that labels are. Raises DataError for numbers that have another order as texts."""
    names = sorted(labels)
    if all(is_number_text(name.removesuffix(".0")) for name in names) and names != sorted(names, key=float):
        raise DataError(
            f"The labels of {name} are texts of numbers, '{names[0]}', '{names[1]}' …, whose order is another one as "
            "numbers: give numbers and the names of their classes, with class_names=[…]."
        )
    return tuple(names)
