"""Write docs/options.md, the tables of all options, from their declarations: `python tools/option_tables.py`."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from pkgutil import resolve_name

from eyechart.protocol.registry import get_protocol, list_protocols, protocol_modules

EVERYDAY, ADVANCED = (  # by name, since the folder plugins/ is the package eyechart.plugins only when it is installed
    resolve_name(f"eyechart.plugins.options:{name}") for name in ("EVERYDAY", "ADVANCED")
)
PAGE = Path(__file__).resolve().parents[1] / "docs/options.md"
HEAD = """# Options

This page is written by `tools/option_tables.py` from the declarations in the code.

Options of the suite are given on the command line as `--eye-NAME=VALUE`, or in the ini file of pytest as
`eye_NAME = VALUE` (with `_` instead of `-`). The command line takes precedence.
"""
PROTOCOLS = """
## Options of protocols

Options of a protocol are set with `--eye-set=PROTOCOL.OPTION=VALUE[,VALUE]`, with lines in `eye_set` of the ini file,
or in a preset. Several values make one case each. Values that are not the default are part of the case name, and all
values are recorded.
"""


def write_page() -> str:
    """Return the text of docs/options.md."""
    return "\n".join([HEAD, *suite_tables(), PROTOCOLS, *protocol_tables()]) + "\n"


def suite_tables() -> Iterator[str]:
    """Yield a table for each group of options of the suite."""
    for title, options in (("Everyday options", EVERYDAY), ("Advanced options", ADVANCED)):
        yield f"## {title}\n"
        yield from table((f"--eye-{option.name}", option.default, option.help) for option in options)
        yield ""


def own_protocols() -> list[str]:
    """Return the names of eyechart's protocols, without those of other packages that are installed."""
    return [name for name in list_protocols() if protocol_modules()[name].startswith("eyechart.")]


def protocol_tables() -> Iterator[str]:
    """Yield a table for each protocol that has options."""
    for name in own_protocols():
        if options := get_protocol(name).options:
            yield f"### {name}\n"
            yield from table(
                (option.name, option.default, with_values(option.help, option.known)) for option in options
            )
            yield ""


def with_values(text: str, values: Iterable[str]) -> str:
    """Return the description of an option with its values."""
    listed = ", ".join(f"`{value}`" for value in values)
    return f"{text} ({listed})" if listed else text


def table(rows: Iterable[tuple[str, str, str]]) -> Iterator[str]:
    """Yield the lines of a Markdown table of options, defaults and descriptions."""
    yield from ("| option | default | description |", "|---|---|---|")
    for option, default, text in rows:
        yield f"| `{option}` | {default and f'`{default}`'} | {text.replace('|', chr(92) + '|')} |"


if __name__ == "__main__":
    PAGE.write_text(write_page(), encoding="utf-8")
