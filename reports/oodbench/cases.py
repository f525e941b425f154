"""The error of a table without cases."""

from ..runs import EmptyTableError, Runs


def protocol_names(pool: Runs) -> str:
    """Return the names of all protocols of the runs, such as `detection, existence`."""
    return ", ".join(sorted({entry.record.protocol for entry in pool.cases}))


def nothing_to_show(pool: Runs, name: str, what: str, command: str) -> EmptyTableError:
    """Return the error of a table without cases: its content, the protocols of the runs, and the command to run."""
    return EmptyTableError(f"{name} {what}; these runs have {protocol_names(pool)}. Make it with: {command}")
