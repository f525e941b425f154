"""The registry of tables: name → function from runs to tables.

Packages, and the packaged studies too, add tables by the entry point `eyechart.tables`, and figures by
`eyechart.figures` (see `reports.figures.registry`).
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from eyechart.errors import ReportError
from eyechart.files.installed import find_entry_points, load_entry_point
from eyechart.messages.suggestions import did_you_mean
from eyechart.reports.runs import EmptyTableError, Runs
from eyechart.reports.tables.render import Table

TABLE = "eyechart table"
Builder = Callable[[Runs, str | None], list[Table]]


@cache
def registered(group: str) -> dict[str, Any]:
    """Return the tables or figures of a group of entry points by name.

    An entry point names one table, which has its name, or a catalogue: a tuple of tables with names of their own.

    Raises ReportError if two tables have one name or number.
    """
    result: dict[str, Any] = {}
    numbers = set[str]()
    for point in find_entry_points(group):
        entry = load_entry_point(point)
        listed = [(table.name, table) for table in entry] if _is_catalogue(entry) else [(point.name, entry)]
        for name, table in listed:
            if name in result or name in numbers:
                raise ReportError(
                    f"The entry point {point.name} = {point.value} of {group} has the name of another. Rename it, or "
                    "uninstall one of the packages."
                )
            result[name] = table
            numbers |= {getattr(table, "alias", "")} - {""}
    return result


def _is_catalogue(entry: object) -> bool:
    return isinstance(entry, tuple) and all(hasattr(table, "name") for table in entry)


def table_builders() -> dict[str, Builder]:
    """Return every table by its name."""
    return registered("eyechart.tables")


def names_by_number() -> dict[str, str]:
    """Return the name of each table by its number in the paper."""
    return {alias: name for name, table in table_builders().items() if (alias := getattr(table, "alias", ""))}


def describe_definitions(definitions: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return for each table or figure its name, its number in the paper ("" if it has none), and a sentence."""
    return [
        (
            key,
            getattr(definition, "alias", ""),
            getattr(definition, "summary", "") or (definition.__doc__ or "").partition("\n")[0],
        )
        for key, definition in definitions.items()
    ]


def known_name(name: str, known: Mapping[str, Any], kind: str) -> str:
    """Return the name of a table or figure from its name or its number in the paper, ignoring case.

    Raises ReportError with the nearest name. The error for the name of a table that is no figure says so.
    """
    builders = table_builders()
    aliases = {getattr(table, "alias", "") or key: key for key, table in builders.items()}
    names = {word.casefold(): key for word, key in aliases.items()} | {key.casefold(): key for key in builders}
    names |= {key.casefold(): key for key in known}
    spelled = names.get(name.casefold(), "")
    if spelled in known:
        return spelled
    if spelled:
        raise ReportError(f"{spelled} is a table, not a {kind}. Print it with: {TABLE} {spelled} RUN…")
    numbers = [alias for alias, key in names_by_number().items() if key in known]
    raise ReportError(
        f"There is no {kind} '{name}'{did_you_mean(name, [*known, *numbers])} The {kind}s are: {', '.join(known)}."
    )


def tables(name: str, runs: Runs, labels: str | None = None) -> list[Table]:
    """Return the tables of this name, one for each split and label set that has rows.

    Raises ReportError if there are none, with what is needed.
    """
    builders = table_builders()
    spelled = known_name(name, builders, "table")
    result = [table for table in builders[spelled](runs, labels) if table.rows]
    if not result:
        raise EmptyTableError(
            f"{spelled} would have no rows, because these runs have no data for it. Evaluate "
            "more images, or another split."
        )
    return result
