"""OODBench's tables by their names, in the order of arXiv 2602.18094."""

from collections.abc import Callable, Mapping

from . import oodbench_progression
from .render import Table
from .runs import Pool

TABLES: Mapping[str, Callable[[Pool, str | None], list[Table]]] = {
    **oodbench_progression.TABLES,
}
