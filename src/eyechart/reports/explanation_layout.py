"""The layout of explanations: named sections of wrapped sentences, and where code is with what it does."""

import inspect
from collections.abc import Callable, Iterable
from pathlib import Path
from textwrap import fill, indent
from types import ModuleType

WIDTH, NAME_WIDTH = 110, 10  # of a line, and of the column with the names of sections
_FOLDER = Path(__file__).parents[2]


def lay_out(title: str, sections: Iterable[tuple[str, Iterable[str]]]) -> str:
    """Return a title and sections as text.

    Args:
        title: The first line.
        sections: Names with texts. A text of several lines is not wrapped; a section without texts is left out.

    Returns:
        The text, which ends with a line break.
    """
    lines = [title]
    for name, texts in sections:
        for number, text in enumerate(filter(None, texts)):
            lines += _wrapped("" if number else name, text)
    return "\n".join(lines) + "\n"


def describe_code(role: str, target: Callable[..., object] | ModuleType) -> str:
    """Return where code is and the first paragraph of its docstring; of a module the second one, too: its rules."""
    count = 2 if isinstance(target, ModuleType) else 1
    paragraphs = (inspect.getdoc(target) or "").split("\n\n")[:count]
    about = fill(" ".join(paragraphs), WIDTH - NAME_WIDTH, initial_indent="  ", subsequent_indent="  ")
    where = _shown(target.__file__ or "") if isinstance(target, ModuleType) else _location(target)
    return f"{role}: {where}\n{about}"


def _wrapped(name: str, text: str) -> list[str]:
    """Return a text in lines beside the name of its section; a text of several lines is not wrapped."""
    margin = " " * NAME_WIDTH
    lines = (
        indent(text, margin)
        if "\n" in text
        else fill(
            text,
            WIDTH,
            initial_indent=margin,
            subsequent_indent=margin,
            break_long_words=False,
            break_on_hyphens=False,
        )
    )
    return (name.ljust(NAME_WIDTH) + lines[NAME_WIDTH:]).splitlines()


def _location(target: Callable[..., object]) -> str:
    """Return the file, the line and the name of a class or a function; only the name of what is written in no file."""
    target = inspect.unwrap(target)
    name = getattr(target, "__qualname__", repr(target))
    try:
        return f"{_shown(inspect.getsourcefile(target) or '')}:{inspect.getsourcelines(target)[1]} {name}"
    except (OSError, TypeError):
        return name


def _shown(file: str) -> str:
    """Return the path of a file, relative to the folder of eyechart if it lies there."""
    return str(Path(file).relative_to(_FOLDER)) if Path(file).is_relative_to(_FOLDER) else file
