"""Groups of OODBench cases that are comparable in one table, and the titles and notes of tables."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from eyechart.oodbench.division import HARD_SAMPLES, ID, OOD_H, OOD_S
from eyechart.protocol.registry import get_protocol
from eyechart.spec import split_outside_brackets

from ..render import NumberCell, Table
from ..runs import CaseRun, ComparableCases, EmptyTableError, Runs, collect_notes, model_name

OODBENCH = "OODBench"
EXISTENCE, PROGRESSION, DETECTION, DISTRIBUTION = "existence", "progression", "detection", "distribution"
SOURCES = {"coco": "COCO", "lvis": "LVIS", "nuscenes": "nuScenes", "cityscapes": "Cityscapes"}
DATA_OPTIONS = ("source", "division", "names")  # options that follow from the data set
NOT_IN_TITLES = (
    *DATA_OPTIONS,
    "prompt",
    "division_scope",
    "hard_samples",
)  # options that follow from others, or that only add pairs
SET_LABELS = {HARD_SAMPLES: "Hard Sample"}
BOOTSTRAP = "Brackets: 95 % intervals, bootstrap over {}."


def source_name(entry: CaseRun) -> str:
    """Return the name of the data set in the published tables."""
    name = entry.option("source", entry.record.split)
    return SOURCES.get(name.casefold(), name)


def division_sha256(entry: CaseRun) -> str:
    """Return the sha256 of the division's pairs and labels."""
    return entry.record.data.labels.get(OODBENCH, "")


def group_by_division(pool: Runs, protocol: str, without: Collection[str] = ()) -> list[ComparableCases]:
    """Return the cases of a protocol, grouped by division and settings."""
    groups: dict[tuple[int, str, str], list[CaseRun]] = {}
    homes = {place: group.with_protocols(protocol) for place, group in enumerate(pool.groups)}
    for place, group in homes.items():
        for entry in group.cases:
            groups.setdefault((place, division_sha256(entry), entry.prompt_settings_without(without)), []).append(entry)
    return [homes[place].select(sorted(entries, key=model_and_split)) for (place, *_), entries in groups.items()]


def pool_data_sets(pool: Runs, protocol: str, without: Collection[str] = DATA_OPTIONS) -> list[list[CaseRun]]:
    """Return the groups of cases that can be pooled over data sets: same settings, one case per model and data set."""
    by_settings: dict[tuple[str, object], list[CaseRun]] = {}
    for group in pool.groups:
        for entry in group.with_protocols(protocol).cases:
            by_settings.setdefault((entry.prompt_settings_without(without), entry.record.limit), []).append(entry)
    return [sorted(once, key=model_and_split) for entries in by_settings.values() for once in without_repeats(entries)]


def without_repeats(entries: Iterable[CaseRun]) -> list[list[CaseRun]]:
    """Return the cases in as few lists as possible, each with at most one case per model and data set."""
    rounds: list[dict[tuple[str, str], CaseRun]] = []
    for entry in entries:
        key = (entry.model, entry.record.split)
        home = next((cases for cases in rounds if key not in cases), None)
        if home is None:
            rounds.append(home := {})
        home[key] = entry
    return [list(cases.values()) for cases in rounds]


def group_by_model(entries: Sequence[CaseRun]) -> dict[str, list[CaseRun]]:
    """Return the cases grouped by model, in their order."""
    models: dict[str, list[CaseRun]] = {}
    for entry in entries:
        models.setdefault(entry.model, []).append(entry)
    return models


def model_and_split(entry: CaseRun) -> tuple[str, str]:
    """Return the sort key by model, then by split."""
    return entry.model, entry.record.split


def published_order(entry: CaseRun) -> tuple[int, str]:
    """Return the sort key of data sets in the order of the published tables."""
    names = [*SOURCES.values()]
    place = names.index(source_name(entry)) if source_name(entry) in names else len(names)
    return place, entry.record.split


def metric_number(entry: CaseRun, name: str, subset: str) -> NumberCell:
    """Return a metric of a case for one set."""
    metric = entry.metric(name, OODBENCH, subset)
    return NumberCell(None) if metric is None else NumberCell(metric.value, metric.n, metric.ci)


def set_order(name: str) -> tuple[int, str]:
    """Return the sort key of sets in the order of the published tables, sets of the initial benchmark last."""
    order = (ID, OOD_S, OOD_H, HARD_SAMPLES)
    return (order.index(name) if name in order else len(order)), name


def set_label(name: str) -> str:
    """Return the text of the column Data Type for a set."""
    return SET_LABELS.get(name, name)


def data_notes(entries: Sequence[CaseRun], without: Collection[str] = DATA_OPTIONS) -> tuple[str, ...]:
    """Return notes about the images, division and settings of cases."""
    shown = dict.fromkeys(
        f"{source_name(e)}: {e.record.benchmark}/{e.record.split}, {e.record.data.n:,} images"
        f"{'' if e.record.limit is None else f' (a choice with seed {e.record.seed})'}, fingerprint "
        f"{e.record.data.fingerprint[:12]}; division {division_sha256(e)[:12] or 'none'}."
        for e in entries
    )
    settings = dict.fromkeys(
        f"{e.record.protocol}: {e.prompt_settings_without(without) or 'no choices'}." for e in entries
    )
    return (*shown, *settings, *collect_notes(entries))


def disambiguate_titles(
    titles: Sequence[str], cases: Sequence[Sequence[CaseRun]], marked: Collection[str] = ()
) -> list[str]:
    """Return different titles: equal titles get the options in which their cases differ, or else a number.

    Options in `marked` are already shown in the rows and are not added.
    """
    whole = []
    for title, case in zip(titles, cases, strict=True):
        same = [of for other, of in zip(titles, cases, strict=True) if other == title]
        whole.append(", ".join((title, *differing_options(case, same, marked))))
    again = [whole[: place + 1].count(title) for place, title in enumerate(whole)]
    return [title if number == 1 else f"{title} ({number})" for title, number in zip(whole, again, strict=True)]


def differing_options(
    cases: Sequence[CaseRun], every: Sequence[Sequence[CaseRun]], marked: Collection[str]
) -> list[str]:
    """Return the options that differ between tables with their values in one of them, such as `threshold 0.01`."""
    return [
        f"{name.replace('_', ' ')} {value}"
        for name, value in title_options(cases).items()
        if name not in marked and any(title_options(other).get(name, "—") != value for other in every)
    ]


def title_options(entries: Sequence[CaseRun]) -> Mapping[str, str]:
    """Return the values of the options that can distinguish titles."""
    protocols = dict.fromkeys(entry.record.protocol for entry in entries)
    known = dict.fromkeys(option.name for name in protocols for option in get_protocol(name).options)
    names = [name for name in known if name not in NOT_IN_TITLES]
    return {name: " or ".join(sorted({option_text(name, entry) for entry in entries})) for name in names}


def option_text(name: str, entry: CaseRun) -> str:
    """Return the value of an option as a title shows it."""
    value = entry.option(name, "—")
    return " & ".join(map(model_name, split_outside_brackets(value, "+"))) if name == "detectors" else value


def with_unique_titles(
    tables: Sequence[Table], cases: Sequence[Sequence[CaseRun]], marked: Collection[str] = ()
) -> list[Table]:
    """Return tables of one kind with different titles."""
    titles = disambiguate_titles([table.title for table in tables], cases, marked)
    return [replace(table, title=title) for table, title in zip(tables, titles, strict=True)]


def protocol_names(pool: Runs) -> str:
    """Return the names of all protocols of the runs, such as `detection, existence`."""
    return ", ".join(sorted({entry.record.protocol for entry in pool.cases}))


def nothing_to_show(pool: Runs, name: str, what: str, command: str) -> EmptyTableError:
    """Return the error of a table without cases: its content, the protocols of the runs, and the command to run."""
    return EmptyTableError(f"{name} {what}; these runs have {protocol_names(pool)}. Make it with: {command}")
