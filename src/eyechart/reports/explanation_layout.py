"""The layout of explanations: named sections of wrapped sentences, and where code is with what it does."""

import ast
import inspect
from collections.abc import Callable, Iterable
from importlib.util import find_spec
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

    >>> print(lay_out("acc1: 50 %", [("value", ["1 of 2."]), ("notes", [])]), end="")
    acc1: 50 %
    value     1 of 2.
    """
    lines = [title]
    for name, texts in sections:
        for number, text in enumerate(filter(None, texts)):
            lines += _wrapped("" if number else name, text)
    return "\n".join(lines) + "\n"


def describe_code(role: str, target: Callable[..., object] | ModuleType) -> str:
    """Return where code is and the first paragraph of its docstring; of a parser's module also its rules.

    >>> print(describe_code("step", len))
    step: len
      Return the number of items in a container.
    """
    if not isinstance(target, ModuleType):
        return _entry(role, _location(target), inspect.getdoc(target), 1)
    where = _location(target.parse) if hasattr(target, "parse") else _shown(target.__file__ or "")
    return _entry(role, where, inspect.getdoc(target), 2)


def describe_class(role: str, target: str) -> str:
    """Return where a class `module:Class` is and the first paragraph of its docstring, without importing the module.

    >>> describe_class("model", "eyechart.models.spec:ModelSpec").partition(".py")[0]
    'model: eyechart/models/spec'
    """
    module, _, name = target.partition(":")
    spec = find_spec(module)
    file = (spec.origin if spec else None) or ""
    tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    (found,) = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
    return _entry(role, f"{_shown(file)}:{found.lineno} {name}", ast.get_docstring(found), 1)


def _entry(role: str, where: str, documentation: str | None, paragraphs: int) -> str:
    words = " ".join((documentation or "").split("\n\n")[:paragraphs])
    about = fill(words, WIDTH - NAME_WIDTH, initial_indent="  ", subsequent_indent="  ")
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
