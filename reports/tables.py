"""The registry of tables: name → function from runs to tables."""

from collections.abc import Callable, Collection, Mapping

from eyechart.errors import ReportError
from eyechart.spec import did_you_mean

from .annotation.outcomes import f7
from .classification import categories, out_of_prompt
from .classification.ablations import t11, t12, t14, t18
from .classification.agreement import f9
from .classification.multiple_choice import t7, t17, t19
from .classification.positions import t13
from .classification.published import mill_imagenet
from .classification.tasks import t6
from .classification.weasel import t9, t10
from .oodbench.catalogue import TABLES as OODBENCH
from .realbirdid.catalogue import TABLES as REALBIRDID
from .render import Table
from .runs import EmptyTableError, Runs

TABLE = "python -m eyechart.reports table"
Builder = Callable[[Runs, str | None], list[Table]]

BUILDERS: Mapping[str, Builder] = {
    "mill-imagenet": mill_imagenet,
    "T2": categories.CATEGORY_SIZES,
    "T4": categories.LABEL_CATEGORIES,
    "F3": categories.LABEL_CHANGE,
    "T5": out_of_prompt.OUT_OF_PROMPT,
    "T6": t6,
    "T7": t7,
    "T9": t9,
    "T10": t10,
    "F9": f9,
    "T11": t11,
    "T12": t12,
    "T13": t13,
    "T14": t14,
    "T15": out_of_prompt.MAPPED,
    "T16": out_of_prompt.OUT_OF_PROMPT_KINDS,
    "T17": t17,
    "T18": t18,
    "T19": t19,
    "F7": f7,
    **OODBENCH,
    **REALBIRDID,
}


def known_name(name: str, known: Collection[str], kind: str) -> str:
    """Return the registered spelling of a name, ignoring case; raise ReportError with the nearest name.

    Every figure is also a table. The error for a figure name says so if only the table exists.
    """
    spelled, table = ({word.casefold(): word for word in names}.get(name.casefold()) for names in (known, BUILDERS))
    if spelled:
        return spelled
    if table:
        raise ReportError(f"{table} is a table, not a {kind}. Print it with: {TABLE} {table} RUN…")
    raise ReportError(f"There is no {kind} '{name}'{did_you_mean(name, [*known])} The {kind}s are: {', '.join(known)}.")


def tables(name: str, runs: Runs, labels: str | None = None) -> list[Table]:
    """Return the tables of this name, one for each split and label set that has rows.

    Raises ReportError if there are none, with what is needed.
    """
    spelled = known_name(name, BUILDERS, "table")
    result = [table for table in BUILDERS[spelled](runs, labels) if table.rows]
    if not result:
        raise EmptyTableError(
            f"{spelled} would have no rows, because these runs have no data for it. Evaluate "
            "more images, or another split."
        )
    return result
