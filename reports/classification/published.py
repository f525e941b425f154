"""Our numbers beside published ones, in the layout of Mill's ImageNet page."""

from collections.abc import Iterator

from eyechart.errors import ReportError

from ..render import DIFFERENCE, FRACTION, MISSING, Cell, NumberCell, Table
from ..runs import CaseRun, ComparableCases, Runs

COLUMNS = ("Model", "Mill (acc)", "Reported", "Source", "Δ")


def mill_imagenet(pool: Runs, labels: str | None) -> list[Table]:
    """Mill's table: model, our accuracy under the original labels, what was reported, by whom, and the difference."""
    pool.select_labels(labels)
    found = [table for group in pool.groups for table in mill_tables(group, labels or group.reference)]
    if not found:
        raise ReportError(
            "mill-imagenet needs one answer an image about the benchmark imagenet, and these runs have none. "
            "Make them with: pytest -k imagenet"
        )
    return found


def mill_tables(group: ComparableCases, labels: str) -> Iterator[Table]:
    """The table of a group of imagenet's with one answer an image; none of another group."""
    entries = group.scored_under(labels)
    if entries and group.cases[0].record.benchmark == "imagenet":
        yield mill_table(group.select(entries), labels)


def mill_table(group: ComparableCases, labels: str) -> Table:
    """One group's table."""
    return Table(
        f"{group.title}: top-1 accuracy under {labels} beside reported numbers",
        COLUMNS,
        tuple(mill_row(entry, group, labels) for entry in group.cases),
        (
            "Fractions; brackets: 95 % Wilson interval. Reported numbers are for imagenet/val, in full.",
            *group.notes(),
        ),
        {"split": group.title, "labels": labels},
    )


def mill_row(entry: CaseRun, group: ComparableCases, labels: str) -> tuple[Cell, ...]:
    """One model; a protocol other than Mill's is named."""
    task = group.task_names()[id(entry)]
    model = entry.model.replace("/", " / ", 1) if entry.record.model.backend == "open_clip" else entry.model
    found = entry.metric("acc1", labels)
    ours = NumberCell(found.value, found.n, found.ci, style=FRACTION) if found else None
    theirs = entry.record.reported if labels == group.reference else None
    return (
        model if task == "zero_shot" else f"{model} ({task})",
        ours,
        NumberCell(theirs.value if theirs else None, style=FRACTION),
        theirs.source if theirs else MISSING,
        NumberCell(theirs.delta if theirs else None, style=DIFFERENCE),
    )
