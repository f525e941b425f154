"""Means over epochs: multiple choice and repeated closed world, Tables 7, 17 and 19 of arXiv 2603.06578."""

from collections.abc import Mapping, Sequence

from eyechart.classification.multiple_choice import CLOSED_WORLD, SETTINGS
from eyechart.classification.options import SHORT

from ..answers import Bools, proportion
from ..render import Cell, Row, Table
from ..runs import REPEATED_ACC, CaseRun, ComparableCases, EmptyTableError, Runs
from .best_variant import accuracy, non_default_flags
from .estimators import ColumnKey, as_count, column_keys, compared_images, coverage_note, mean_over_epochs

MC, CW = "multiple_choice", "closed_world"
COMPARED_OPTIONS = ("setting", "distractors", "text_encoder")
STUDENT = (
    "±: 95 % intervals of the mean over the repeats, Student's t, as published: what other repeats of the same images "
    "would give; over other images, see the record. Brackets: 95 % intervals, Wilson, of one run."
)
ROWS = (*SETTINGS, CLOSED_WORLD)
WITHOUT_TEXT = tuple(row for row in ROWS if row not in SETTINGS or SETTINGS[row].hardness != "text")


def t19(runs: Runs, labels: str | None) -> list[Table]:
    """Return Table 19: multiple choice of every model by the source of the distractors."""
    return [
        setting_table(group, everything, label_set, ROWS)
        for group, everything, label_set in multiple_choice_groups(runs, labels, "T19")
    ]


def t7(runs: Runs, labels: str | None) -> list[Table]:
    """Return Table 7: as Table 19 without neighbours in text space, for the model that is best in closed world."""
    return [
        setting_table(select_best_model(group, everything, label_set), everything, label_set, WITHOUT_TEXT)
        for group, everything, label_set in multiple_choice_groups(runs, labels, "T7")
    ]


def multiple_choice_groups(
    runs: Runs, labels: str | None, name: str
) -> list[tuple[ComparableCases, ComparableCases, str]]:
    """Return the multiple-choice cases of every group and label set, with the group they come from."""
    result = [
        (group.select(cases), group, label_set)
        for group, label_set in runs.iter_labels(labels)
        if (cases := [case for case in group.with_protocols(MC).cases if label_set in case.labels])
    ]
    if not result:
        raise EmptyTableError(
            f"{name} compares settings of multiple choice; these runs have {runs.describe()}. "
            'Make them with: pytest -k "multiple_choice or closed_world" --eye-set=multiple_choice.setting=all'
        )
    return result


def select_best_model(group: ComparableCases, everything: ComparableCases, labels: str) -> ComparableCases:
    """Return the cases of the model with the best closed world, or without one the best first setting."""
    best = max(
        blocks_by_model(group, everything, labels).values(), key=lambda block: block_accuracy(block, everything, labels)
    )
    notes = [f"One model, the best in closed world: T19 has {len({case.model for case in group.cases})}."]
    selected = [case for case in group.cases if case.model == best[0].model]
    return group.select(selected, *notes * (len(selected) < len(group.cases)))


def blocks_by_model(group: ComparableCases, everything: ComparableCases, labels: str) -> Mapping[str, list[CaseRun]]:
    """Return the rows of each model, by name and prompt settings, best last."""
    names = group.model_names(COMPARED_OPTIONS)
    blocks: dict[str, list[CaseRun]] = {}
    for case in sorted(group.cases, key=setting_order):
        blocks.setdefault(names[id(case)], []).append(case)
    return dict(sorted(blocks.items(), key=lambda item: block_accuracy(item[1], everything, labels)))


def block_accuracy(block: Sequence[CaseRun], everything: ComparableCases, labels: str) -> tuple[float, float]:
    """Return the accuracy in closed world, or else in the first setting; then that under the reference."""
    case = find_closed_world(everything, block[0], labels) or block[0]
    return accuracy(case, labels), accuracy(case, everything.reference)


def setting_order(case: CaseRun) -> int:
    """Return the position of a setting in the published table; unknown settings come last."""
    return ROWS.index(setting(case)) if setting(case) in ROWS else len(ROWS)


def setting(case: CaseRun) -> str:
    """Return the setting as the published table writes it."""
    value = case.option("setting")
    return SHORT.get(value, value)


def find_closed_world(group: ComparableCases, reference_case: CaseRun, labels: str) -> CaseRun | None:
    """Return the model's closed world: with epochs first, then the same parser, default prompts, best accuracy."""

    def order(case: CaseRun) -> tuple[bool, bool, list[bool], float, float]:
        same_parser = case.option("parser") == reference_case.option("parser")
        default_options = [not odd for odd in non_default_flags(case, "images_per_request")]
        accuracies = accuracy(case, labels), accuracy(case, group.reference)
        return case.accuracy_name == REPEATED_ACC, same_parser, default_options, *accuracies

    return max(
        (e for e in group.with_protocols(CW).cases if e.model == reference_case.model and labels in e.labels),
        key=order,
        default=None,
    )


def setting_table(group: ComparableCases, everything: ComparableCases, labels: str, settings: Sequence[str]) -> Table:
    """Return the rows of one group, model by model, each with its closed world last."""
    shown = group.select(case for case in group.cases if setting_order(case) == len(ROWS) or setting(case) in settings)
    columns = column_keys(group.reference, labels)
    rows: list[Row] = []
    closed_world_cases: list[CaseRun] = []
    for name, block in blocks_by_model(shown, everything, labels).items():
        rows += [(name, setting(case), *mean_cells(case, columns)) for case in block]
        if closed_world := find_closed_world(everything, block[0], labels):
            rows.append((name, f"{CLOSED_WORLD} (CW)", *mean_cells(closed_world, columns)))
            closed_world_cases.append(closed_world)
    return Table(
        f"{group.title}: multiple choice, accuracy (%) by distractors, {group.reference} and {labels}",
        ("Model", "Distractors", *columns),
        tuple(rows),
        (
            *setting_notes(shown, closed_world_cases, settings),
            coverage_note((group.reference, labels)),
            *shown.notes(COMPARED_OPTIONS),
        ),
        {"split": group.title, "labels": labels},
    )


def mean_cells(case: CaseRun, columns: Mapping[str, ColumnKey]) -> list[Cell]:
    """Return the cells of one row: means over epochs, over the images that all label sets of the columns score."""
    masks = images_per_epoch(case, columns)
    cells: list[Cell] = []
    for name, category in columns.values():
        if name not in case.answers.label_sets:
            cells.append(None)
            continue
        epochs = [answers.label_sets[name] for answers in case.epochs]
        pairs = zip(epochs, masks, strict=True)
        cells.append(
            mean_over_epochs([proportion(scored.correct, scored.mask(category) & images) for scored, images in pairs])
        )
    return cells


def images_per_epoch(case: CaseRun, columns: Mapping[str, ColumnKey]) -> list[Bools]:
    """Return for each epoch the mask (n,) of the images that all label sets of the columns score."""
    names = [name for name in dict.fromkeys(name for name, _ in columns.values()) if name in case.answers.label_sets]
    return [compared_images([answers], names) for answers in case.epochs]


def setting_notes(group: ComparableCases, closed_world_cases: Sequence[CaseRun], settings: Sequence[str]) -> list[str]:
    """Return the sources of distractors, the missing rows, and the prompts of the closed world."""
    notes = [
        STUDENT,
        *dict.fromkeys(
            f"{setting(case)}: {distractor_source(case)}." for case in group.cases if distractor_source(case)
        ),
    ]
    notes += dict.fromkeys(
        f"{CLOSED_WORLD} is the closed world, {closed_world.prompt_settings}." for closed_world in closed_world_cases
    )
    present = {*map(setting, group.cases), *[CLOSED_WORLD] * bool(closed_world_cases)}
    missing = [name for name in settings if name not in present]
    return notes + [f"Not in these runs: {'; '.join(missing)}."] * bool(missing)


def distractor_source(case: CaseRun) -> str:
    """Return the option that hard distractors come from, with its value."""
    preset = SETTINGS.get(setting(case))
    option = {"confusion": "distractors", "text": "text_encoder"}.get(preset.hardness if preset else "")
    return f"{option} {case.option(option)}" if option else ""


def t17(runs: Runs, labels: str | None) -> list[Table]:
    """Return Table 17: repeated closed world; mean accuracy, and mean number of answers out of the prompt."""
    result = [
        (group.select(cases), label_set)
        for group, label_set in runs.iter_labels(labels)
        if (cases := [case for case in group.cases if case.accuracy_name == REPEATED_ACC and label_set in case.labels])
    ]
    if not result:
        raise EmptyTableError(
            f"T17 shows how far repeated evaluations of a closed world differ; these runs have {runs.describe()}. "
            "Make them with: pytest -k closed_world --eye-set=closed_world.epochs=31"
        )
    return [t17_table(group, label_set) for group, label_set in result]


def t17_table(group: ComparableCases, labels: str) -> Table:
    """Return the table of one group."""
    columns, names = column_keys(group.reference, labels), group.model_names(("images_per_request",))
    rows = [
        (names[id(e)], e.option("images_per_request"), *mean_cells(e, columns), mean_out_of_prompt(e, columns))
        for e in group.cases
    ]
    note = "OOP: mean number of answers out of the prompt per evaluation."
    return Table(
        f"{group.title}: repeated evaluations, accuracy (%), {group.reference} and {labels}",
        ("Model", "Batch", *columns, "OOP"),
        tuple(rows),
        (note, STUDENT, coverage_note((group.reference, labels)), *group.notes()),
        {"split": group.title, "labels": labels},
    )


def mean_out_of_prompt(case: CaseRun, columns: Mapping[str, ColumnKey]) -> Cell:
    """Return the mean number of answers out of the prompt, over the images that the other columns cover."""
    pairs = zip(case.epochs, images_per_epoch(case, columns), strict=True)
    rates = [proportion(answers.text.out_of_prompt, images) for answers, images in pairs if answers.text]
    return as_count(mean_over_epochs(rates), 2) if rates else None
