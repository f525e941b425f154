"""Means over repeats: multiple choice and repeated closed worlds, Tables 7, 17 and 19 of arXiv 2603.06578."""

from collections.abc import Mapping, Sequence

from eyechart.classification.multiple_choice import CLOSED_WORLD, SETTINGS
from eyechart.classification.options import SHORT

from ..answers import Bools, proportion
from ..render import Cell, Row, Table
from ..runs import REPEATED_ACC, CaseRun, ComparableCases, EmptyTableError, Runs
from .best_variant import accuracy, non_default_flags
from .categories import describe_runs
from .estimators import ColumnKey, as_count, column_keys, compared_images, coverage_note, mean_over_epochs

MC, CW = "multiple_choice", "closed_world"
COMPARED_OPTIONS = ("setting", "distractors", "encoder")
STUDENT = (
    "±: 95 % intervals of the mean over the repeats, Student's t, as published: what other repeats of the same images "
    "would give; over other images, see the record. Brackets: 95 % intervals, Wilson, of one run."
)
ROWS = (*SETTINGS, CLOSED_WORLD)
WITHOUT_TEXT = tuple(row for row in ROWS if row not in SETTINGS or SETTINGS[row].hardness != "text")


def t19(pool: Runs, labels: str | None) -> list[Table]:
    """Table 19: multiple choice by where the distractors come from, every model."""
    return [
        setting_table(group, everything, truth, ROWS)
        for group, everything, truth in multiple_choice_groups(pool, labels, "T19")
    ]


def t7(pool: Runs, labels: str | None) -> list[Table]:
    """Table 7: the same without neighbours in text space, for one model: the best in closed world."""
    return [
        setting_table(select_best_model(group, everything, truth), everything, truth, WITHOUT_TEXT)
        for group, everything, truth in multiple_choice_groups(pool, labels, "T7")
    ]


def multiple_choice_groups(
    pool: Runs, labels: str | None, name: str
) -> list[tuple[ComparableCases, ComparableCases, str]]:
    """The multiple choices of every group under every ground truth, with the group they come from."""
    found = [
        (group.select(entries), group, truth)
        for group, truth in pool.iter_labels(labels)
        if (entries := [entry for entry in group.with_protocols(MC).cases if truth in entry.labels])
    ]
    if not found:
        raise EmptyTableError(
            f"{name} compares settings of multiple choice; these runs have {describe_runs(pool)}. "
            'Make them with: pytest -k "multiple_choice or closed_world" --eye-set=multiple_choice.setting=all'
        )
    return found


def select_best_model(group: ComparableCases, everything: ComparableCases, labels: str) -> ComparableCases:
    """The model with the best closed world, or without any the best first setting."""
    best = max(
        blocks_by_model(group, everything, labels).values(), key=lambda block: block_accuracy(block, everything, labels)
    )
    said = [f"One model, the best in closed world: T19 has {len({entry.model for entry in group.cases})}."]
    chosen = [entry for entry in group.cases if entry.model == best[0].model]
    return group.select(chosen, *said * (len(chosen) < len(group.cases)))


def blocks_by_model(group: ComparableCases, everything: ComparableCases, labels: str) -> Mapping[str, list[CaseRun]]:
    """The rows of each model by its name, and by how it was asked where it was asked in several ways, best last."""
    names = group.model_names(COMPARED_OPTIONS)
    found: dict[str, list[CaseRun]] = {}
    for entry in sorted(group.cases, key=setting_order):
        found.setdefault(names[id(entry)], []).append(entry)
    return dict(sorted(found.items(), key=lambda item: block_accuracy(item[1], everything, labels)))


def block_accuracy(block: Sequence[CaseRun], everything: ComparableCases, labels: str) -> tuple[float, float]:
    """A model's accuracy in closed world, or else in the first of its settings; then that under the reference."""
    shown = find_closed_world(everything, block[0], labels) or block[0]
    return accuracy(shown, labels), accuracy(shown, everything.reference)


def setting_order(entry: CaseRun) -> int:
    """Where a setting stands in the published table; one that is not there stands last."""
    return ROWS.index(setting(entry)) if setting(entry) in ROWS else len(ROWS)


def setting(entry: CaseRun) -> str:
    """The setting as the published table writes it."""
    chosen = entry.option("setting")
    return SHORT.get(chosen, chosen)


def find_closed_world(group: ComparableCases, like: CaseRun, labels: str) -> CaseRun | None:
    """The model's closed world: repeated ones first, read in the same way, asked in the usual way, the best."""

    def order(entry: CaseRun) -> tuple[bool, bool, list[bool], float, float]:
        same = entry.option("reading") == like.option("reading")
        usual = [not odd for odd in non_default_flags(entry, "images")]
        accuracies = accuracy(entry, labels), accuracy(entry, group.reference)
        return entry.accuracy_name == REPEATED_ACC, same, usual, *accuracies

    return max(
        (e for e in group.with_protocols(CW).cases if e.model == like.model and labels in e.labels),
        key=order,
        default=None,
    )


def setting_table(group: ComparableCases, everything: ComparableCases, labels: str, settings: Sequence[str]) -> Table:
    """One group's rows, model by model, each with its closed world last."""
    shown = group.select(
        entry for entry in group.cases if setting_order(entry) == len(ROWS) or setting(entry) in settings
    )
    columns = column_keys(group.reference, labels)
    rows: list[Row] = []
    worlds: list[CaseRun] = []
    for name, block in blocks_by_model(shown, everything, labels).items():
        rows += [(name, setting(entry), *mean_cells(entry, columns)) for entry in block]
        if world := find_closed_world(everything, block[0], labels):
            rows.append((name, f"{CLOSED_WORLD} (CW)", *mean_cells(world, columns)))
            worlds.append(world)
    return Table(
        f"{group.title}: multiple choice, accuracy (%) by distractors, {group.reference} and {labels}",
        ("Model", "Distractors", *columns),
        tuple(rows),
        (
            *setting_notes(shown, worlds, settings),
            coverage_note((group.reference, labels)),
            *shown.notes(COMPARED_OPTIONS),
        ),
        {"split": group.title, "labels": labels},
    )


def mean_cells(entry: CaseRun, columns: Mapping[str, ColumnKey]) -> list[Cell]:
    """One row's numbers: means over the rounds, each over the images that all ground truths of the columns score."""
    masks = images_per_epoch(entry, columns)
    cells: list[Cell] = []
    for name, category in columns.values():
        if name not in entry.answers.label_sets:
            cells.append(None)
            continue
        truths = [answers.label_sets[name] for answers in entry.epochs]
        pairs = zip(truths, masks, strict=True)
        cells.append(
            mean_over_epochs([proportion(each.correct, each.mask(category) & images) for each, images in pairs])
        )
    return cells


def images_per_epoch(entry: CaseRun, columns: Mapping[str, ColumnKey]) -> list[Bools]:
    """Return for each round the mask (n,) of the images that all ground truths of the columns score."""
    names = [name for name in dict.fromkeys(name for name, _ in columns.values()) if name in entry.answers.label_sets]
    return [compared_images([answers], names) for answers in entry.epochs]


def setting_notes(group: ComparableCases, worlds: Sequence[CaseRun], settings: Sequence[str]) -> list[str]:
    """Where distractors come from, which rows are missing, and how the closed world was asked."""
    said = [
        STUDENT,
        *dict.fromkeys(
            f"{setting(entry)}: {distractor_source(entry)}." for entry in group.cases if distractor_source(entry)
        ),
    ]
    said += dict.fromkeys(f"{CLOSED_WORLD} is the closed world, {world.prompt_settings}." for world in worlds)
    had = {*map(setting, group.cases), *[CLOSED_WORLD] * bool(worlds)}
    missing = [name for name in settings if name not in had]
    return said + [f"Not in these runs: {'; '.join(missing)}."] * bool(missing)


def distractor_source(entry: CaseRun) -> str:
    """Where hard distractors come from."""
    known = SETTINGS.get(setting(entry))
    made = {"confusion": "distractors", "text": "encoder"}.get(known.hardness if known else "")
    return f"{made} {entry.option(made)}" if made else ""


def t17(pool: Runs, labels: str | None) -> list[Table]:
    """Table 17: a closed world asked again and again; mean accuracy, and answers out of the prompt on average."""
    found = [
        (group.select(entries), truth)
        for group, truth in pool.iter_labels(labels)
        if (
            entries := [entry for entry in group.cases if entry.accuracy_name == REPEATED_ACC and truth in entry.labels]
        )
    ]
    if not found:
        raise EmptyTableError(
            f"T17 shows how far repeated evaluations of a closed world differ; these runs have {describe_runs(pool)}. "
            "Make them with: pytest -k closed_world --eye-set=closed_world.evaluations=31"
        )
    return [t17_table(group, truth) for group, truth in found]


def t17_table(group: ComparableCases, labels: str) -> Table:
    """One group's models."""
    columns, names = column_keys(group.reference, labels), group.model_names(("images",))
    rows = [
        (names[id(e)], e.option("images"), *mean_cells(e, columns), mean_out_of_prompt(e, columns)) for e in group.cases
    ]
    said = "OOP: answers out of the prompt in one evaluation, on average."
    return Table(
        f"{group.title}: repeated evaluations, accuracy (%), {group.reference} and {labels}",
        ("Model", "Batch", *columns, "OOP"),
        tuple(rows),
        (said, STUDENT, coverage_note((group.reference, labels)), *group.notes()),
        {"split": group.title, "labels": labels},
    )


def mean_out_of_prompt(entry: CaseRun, columns: Mapping[str, ColumnKey]) -> Cell:
    """How many answers were out of the prompt, of the images that the other columns cover."""
    pairs = zip(entry.epochs, images_per_epoch(entry, columns), strict=True)
    found = [proportion(answers.text.out_of_prompt, images) for answers, images in pairs if answers.text]
    return as_count(mean_over_epochs(found), 2) if found else None
