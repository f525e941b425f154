"""The tables, each by its name: a function from runs to tables, and a line here."""

from collections.abc import Callable, Mapping

from eyechart.errors import ReportError
from eyechart.spec import did_you_mean

from .agreement import f9
from .categories import f3, t2, t4
from .published import mill_imagenet
from .render import Table
from .runs import Pool
from .weasel import t9, t10

Builder = Callable[[Pool, str | None], list[Table]]

BUILDERS: Mapping[str, Builder] = {
    "mill-imagenet": mill_imagenet,
    "T2": t2,
    "T4": t4,
    "F3": f3,
    "T9": t9,
    "T10": t10,
    "F9": f9,
}


def known_name(name: str, known: tuple[str, ...], what: str) -> str:
    """The name as it is spelled here, whatever its case; another is refused with the nearest one."""
    spelled = {word.casefold(): word for word in known}
    if name.casefold() not in spelled:
        near = did_you_mean(name, known)
        raise ReportError(f"There is no {what} '{name}'{near} The {what}s are: {', '.join(known)}.")
    return spelled[name.casefold()]


def tables(name: str, pool: Pool, labels: str | None = None) -> list[Table]:
    """Make the named table of everything that the runs hold, one for each split and ground truth."""
    return BUILDERS[known_name(name, tuple(BUILDERS), "table")](pool, labels)
