"""The registry of tables: name → function from runs to tables.

A package adds tables by the entry point `eyechart.tables`, and figures (see `figures.py`) by `eyechart.figures`.
"""

from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from eyechart.errors import ReportError
from eyechart.spec import did_you_mean

from .annotation.outcomes import ANNOTATION_OUTCOMES
from .classification import (
    ablations,
    agreement,
    categories,
    multiple_choice,
    out_of_prompt,
    positions,
    published,
    tasks,
    weasel,
)
from .oodbench.catalogue import TABLES as OODBENCH
from .realbirdid.catalogue import TABLES as REALBIRDID
from .render import Table
from .runs import EmptyTableError, Runs

TABLE = "eyechart table"
Builder = Callable[[Runs, str | None], list[Table]]

BUILDERS: Mapping[str, Builder] = {
    "mill-imagenet": published.PUBLISHED,
    "T2": categories.CATEGORY_SIZES,
    "T4": categories.LABEL_CATEGORIES,
    "F3": categories.LABEL_CHANGE,
    "T5": out_of_prompt.OUT_OF_PROMPT,
    "T6": tasks.TASKS,
    "T7": multiple_choice.BEST_MODEL_TABLE,
    "T9": weasel.WEASEL_ACCURACY,
    "T10": weasel.WEASEL_RECALL,
    "F9": agreement.AGREEMENT,
    "T11": ablations.BATCH_TABLE,
    "T12": ablations.ORDER_TABLE,
    "T13": positions.POSITIONS,
    "T14": ablations.ANSWER_TABLE,
    "T15": out_of_prompt.MAPPED,
    "T16": out_of_prompt.OUT_OF_PROMPT_KINDS,
    "T17": multiple_choice.REPEATED_TABLE,
    "T18": ablations.ENCODER_TABLE,
    "T19": multiple_choice.SETTING_TABLE,
    "F7": ANNOTATION_OUTCOMES,
    **OODBENCH,
    **REALBIRDID,
}


def registered(group: str, packaged: Mapping[str, Any]) -> dict[str, Any]:
    """Return tables or figures by name: the packaged ones, and those of other packages by the name of the entry point.

    Raises ReportError if an entry point has the name of another table or figure.
    """
    result = dict(packaged)
    for point in find_entry_points(group):
        if point.name in result:
            raise ReportError(
                f"The entry point {point.name} = {point.value} of {group} has the name of another. Rename it, or "
                "uninstall one of the packages."
            )
        result[point.name] = point.load()
    return result


@cache
def find_entry_points(group: str) -> tuple[EntryPoint, ...]:
    """Return the entry points of a group; all installed packages are searched once per process."""
    return tuple(entry_points(group=group))


def table_builders() -> dict[str, Builder]:
    """Return every table by its name."""
    return registered("eyechart.tables", BUILDERS)


def describe_definitions(definitions: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return for each table or figure its name, its number in the paper ("" if it has none), and a sentence."""
    return [
        (
            getattr(definition, "name", key),
            getattr(definition, "alias", ""),
            getattr(definition, "summary", "") or (definition.__doc__ or "").partition("\n")[0],
        )
        for key, definition in definitions.items()
    ]


def known_name(name: str, known: Mapping[str, Any], kind: str) -> str:
    """Return the registered key of a name or of a paper's number, ignoring case; raise ReportError with the nearest.

    Every figure is also a table. The error for a figure name says so if only the table exists.
    """
    spelled, table = (key_by_name(names).get(name.casefold()) for names in (known, table_builders()))
    if spelled:
        return spelled
    if table:
        raise ReportError(f"{table} is a table, not a {kind}. Print it with: {TABLE} {table} RUN…")
    raise ReportError(f"There is no {kind} '{name}'{did_you_mean(name, [*known])} The {kind}s are: {', '.join(known)}.")


def key_by_name(known: Mapping[str, Any]) -> dict[str, str]:
    """Return the key of each name: the key itself, and the name and the alias of its definition."""
    names: dict[str, str] = {}
    for key, definition in known.items():
        for name in (key, getattr(definition, "name", key), getattr(definition, "alias", key) or key):
            names[name.casefold()] = key
    return names


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
