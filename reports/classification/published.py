"""Our numbers next to published ones, in the layout of Mill's ImageNet page."""

from collections.abc import Iterator

from eyechart.errors import ReportError

from ..render import DIFFERENCE, FRACTION, MISSING, Cell, NumberCell, Table
from ..runs import CaseRun, ComparableCases, Runs

COLUMNS = ("Model", "Mill (acc)", "Reported", "Source", "Δ")


def mill_imagenet(runs: Runs, labels: str | None) -> list[Table]:
    """Return Mill's table: model, our accuracy under the original labels, reported one, source, difference."""
    runs.select_labels(labels)
    tables = [table for group in runs.groups for table in mill_tables(group, labels or group.reference)]
    if not tables:
        raise ReportError(
            "mill-imagenet needs one answer an image about the benchmark imagenet, and these runs have none. "
            "Make them with: pytest -k imagenet"
        )
    return tables


def mill_tables(group: ComparableCases, labels: str) -> Iterator[Table]:
    """Yield the table of an imagenet group with single answers; nothing for other groups."""
    cases = group.scored_under(labels)
    if cases and group.cases[0].record.benchmark == "imagenet":
        yield mill_table(group.select(cases), labels)


def mill_table(group: ComparableCases, labels: str) -> Table:
    """Return the table of one group."""
    return Table(
        f"{group.title}: top-1 accuracy under {labels} and reported numbers",
        COLUMNS,
        tuple(mill_row(case, group, labels) for case in group.cases),
        (
            "Fractions; brackets: 95 % Wilson interval. Reported numbers are for imagenet/val, in full.",
            *group.notes(),
        ),
        {"split": group.title, "labels": labels},
    )


def mill_row(case: CaseRun, group: ComparableCases, labels: str) -> tuple[Cell, ...]:
    """Return the row of one model; protocols other than Mill's are named."""
    task = group.task_names()[id(case)]
    model = case.model.replace("/", " / ", 1) if case.record.model.backend == "open_clip" else case.model
    metric = case.metric("acc1", labels)
    ours = NumberCell(metric.value, metric.n, metric.ci, style=FRACTION) if metric else None
    reported = case.record.reported if labels == group.reference else None
    return (
        model if task == "zero_shot" else f"{model} ({task})",
        ours,
        NumberCell(reported.value if reported else None, style=FRACTION),
        reported.source if reported else MISSING,
        NumberCell(reported.delta if reported else None, style=DIFFERENCE),
    )
