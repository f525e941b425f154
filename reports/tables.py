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
    text_protocols,
    weasel,
)
from .oodbench.catalogue import TABLES as OODBENCH
from .realbirdid.catalogue import TABLES as REALBIRDID
from .render import Table
from .runs import EmptyTableError, Runs
from .table_definitions import TableDefinition

TABLE = "eyechart table"
Builder = Callable[[Runs, str | None], list[Table]]

PACKAGED = (
    published.PUBLISHED,
    categories.CATEGORY_SIZES,
    categories.LABEL_CATEGORIES,
    categories.LABEL_CHANGE,
    out_of_prompt.OUT_OF_PROMPT,
    text_protocols.CLOSED_AND_OPEN,
    multiple_choice.BEST_MODEL_TABLE,
    weasel.WEASEL_ACCURACY,
    weasel.WEASEL_RECALL,
    agreement.AGREEMENT,
    ablations.BATCH_TABLE,
    ablations.ORDER_TABLE,
    positions.POSITIONS,
    ablations.ANSWER_TABLE,
    out_of_prompt.MAPPED,
    out_of_prompt.OUT_OF_PROMPT_KINDS,
    multiple_choice.REPEATED_TABLE,
    ablations.ENCODER_TABLE,
    multiple_choice.SETTING_TABLE,
    ANNOTATION_OUTCOMES,
    *OODBENCH,
    *REALBIRDID,
)
BUILDERS: Mapping[str, TableDefinition] = {table.name: table for table in PACKAGED}
BY_NUMBER: Mapping[str, str] = {table.alias: table.name for table in PACKAGED if table.alias}  # by the paper's number


def registered(group: str, packaged: Mapping[str, Any]) -> dict[str, Any]:
    """Return tables or figures by name: the packaged ones, and those of other packages by the name of the entry point.

    Raises ReportError if an entry point has the name of another table or figure.
    """
    result = dict(packaged)
    for point in find_entry_points(group):
        if point.name in result or point.name in BY_NUMBER:
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
    aliases = {**BY_NUMBER, **{getattr(table, "alias", "") or key: key for key, table in builders.items()}}
    names = {word.casefold(): key for word, key in aliases.items()} | {key.casefold(): key for key in builders}
    names |= {key.casefold(): key for key in known}
    spelled = names.get(name.casefold(), "")
    if spelled in known:
        return spelled
    if spelled:
        raise ReportError(f"{spelled} is a table, not a {kind}. Print it with: {TABLE} {spelled} RUN…")
    numbers = [alias for alias, key in BY_NUMBER.items() if key in known]
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
