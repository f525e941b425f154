"""Means over epochs: multiple choice and repeated closed world, Tables 7, 17 and 19 of arXiv 2603.06578."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import pandas as pd

from eyechart.classification.protocols.helpers.text_options import SHORT
from eyechart.classification.protocols.multiple_choice import CLOSED_WORLD, SETTINGS
from eyechart.classification.tables.best_variant import accuracy, non_default_flags
from eyechart.classification.tables.class_pages import (
    PAPER,
    SCORES,
    accuracy_cells,
    accuracy_columns,
    as_counts,
    coverage_note,
    label_samples,
    mean_over_epochs,
    out_of_prompt,
)
from eyechart.reports.runs import CaseRun, ComparableCases, Runs
from eyechart.reports.tables.definition import TableDefinition
from eyechart.reports.tables.render import NumberFormat
from eyechart.reports.tables.selection import Page, create_page
from eyechart.results.frames import share

MC, CW = "multiple_choice", "closed_world"
REPEATED_ACC = "repeated_acc"
COMPARED_OPTIONS = ("setting", "distractors", "text_encoder")
STUDENT = (
    "±: 95 % intervals of the mean over the repeats, Student's t, as published: what other repeats of the same images "
    "would give; over other images, see the record. Brackets: 95 % intervals, Wilson, of one run."
)
ROWS = (*SETTINGS, CLOSED_WORLD)
OPTION_VALUES = {published: value for value, published in SHORT.items()} | {CLOSED_WORLD: "all classes"}
WITHOUT_TEXT = tuple(row for row in ROWS if row not in SETTINGS or SETTINGS[row].hardness != "text")


def _setting_pages(runs: Runs, labels: str | None, settings: Sequence[str], *, best: bool = False) -> list[Page]:
    """Return the multiple-choice cases of every group and label set, those of a model together, best model last.

    The closed world of a model is its last row. With `best` there is one model.
    """
    pages = []
    for everything, label_set in runs.iter_labels(labels):
        cases = [e for e in everything.with_protocols(MC).cases if {everything.reference, label_set} <= {*e.labels}]
        if not cases:
            continue
        group, benchmark = everything.select(cases), cases[0].record.benchmark
        if best:
            group = _select_best_model(group, everything, label_set)
        shown = group.select(
            case for case in group.cases if _setting_order(case) == len(ROWS) or setting(case) in settings
        )
        rows = []
        for name, block in _blocks_by_model(shown, everything, label_set).items():
            rows += [(name, _shown_setting(setting(case), benchmark), case) for case in block]
            if closed_world := _find_closed_world(everything, block[0], label_set):
                rows.append((name, f"{_shown_setting(CLOSED_WORLD, benchmark)} (CW)", closed_world))
        names = pd.DataFrame(rows, columns=["Model", "Distractors", "case"])
        page = create_page(shown, label_set, COMPARED_OPTIONS)
        closed_world_cases = [case for _, _, case in rows if case.record.protocol == CW]
        notes = (
            *_setting_notes(shown, benchmark, closed_world_cases, settings),
            coverage_note(page),
            *page.notes,
        )
        pages.append(replace(page, cases=tuple(names.pop("case")), names=names, notes=notes))
    return pages


def _select_best_model(group: ComparableCases, everything: ComparableCases, labels: str) -> ComparableCases:
    """Return the cases of the model with the best closed world, or without one the best first setting."""
    blocks = _blocks_by_model(group, everything, labels).values()
    best = max(blocks, key=lambda block: _block_accuracy(block, everything, labels))
    notes = [f"One model, the best in closed world: T19 has {len({case.model for case in group.cases})}."]
    selected = [case for case in group.cases if case.model == best[0].model]
    return group.select(selected, *notes * (len(selected) < len(group.cases)))


def _blocks_by_model(group: ComparableCases, everything: ComparableCases, labels: str) -> Mapping[str, list[CaseRun]]:
    """Return the rows of each model, by name and prompt settings, best last."""
    names = group.model_names(COMPARED_OPTIONS)
    blocks: dict[str, list[CaseRun]] = {}
    for case in sorted(group.cases, key=_setting_order):
        blocks.setdefault(names[id(case)], []).append(case)
    return dict(sorted(blocks.items(), key=lambda item: _block_accuracy(item[1], everything, labels)))


def _block_accuracy(block: Sequence[CaseRun], everything: ComparableCases, labels: str) -> tuple[float, float]:
    """Return the accuracy in closed world, or else in the first setting; then that under the reference."""
    case = _find_closed_world(everything, block[0], labels) or block[0]
    return accuracy(case, labels), accuracy(case, everything.reference)


def _setting_order(case: CaseRun) -> int:
    """Return the position of a setting in the published table; unknown settings come last."""
    return ROWS.index(setting(case)) if setting(case) in ROWS else len(ROWS)


def setting(case: CaseRun) -> str:
    """Return the setting as the published table writes it."""
    value = case.option("setting")
    return SHORT.get(value, value)


def _shown_setting(name: str, benchmark: str) -> str:
    """Return a setting as the published table writes it if the data are ImageNet's, else the value of the option."""
    return name if benchmark == "imagenet" else OPTION_VALUES.get(name, name)


def _find_closed_world(group: ComparableCases, reference_case: CaseRun, labels: str) -> CaseRun | None:
    """Return the model's closed world: with epochs first, then the same parser, default prompts, best accuracy."""

    def order(case: CaseRun) -> tuple[bool, bool, list[bool], float, float]:
        same_parser = case.option("parser") == reference_case.option("parser")
        default_options = [not odd for odd in non_default_flags(case, "images_per_request")]
        accuracies = accuracy(case, labels), accuracy(case, group.reference)
        return case.accuracy_name == REPEATED_ACC, same_parser, default_options, *accuracies

    cases = [case for case in group.with_protocols(CW).cases if case.model == reference_case.model]
    return max((case for case in cases if {group.reference, labels} <= {*case.labels}), key=order, default=None)


def _setting_notes(
    group: ComparableCases, benchmark: str, closed_world_cases: Sequence[CaseRun], settings: Sequence[str]
) -> Iterator[str]:
    """Yield the sources of distractors, the prompts of the closed world, and the missing rows."""
    yield STUDENT
    yield from dict.fromkeys(
        f"{_shown_setting(setting(case), benchmark)}: {_distractor_source(case)}."
        for case in group.cases
        if _distractor_source(case)
    )
    yield from dict.fromkeys(
        f"{_shown_setting(CLOSED_WORLD, benchmark)} is the closed world, {closed_world.prompt_settings}."
        for closed_world in closed_world_cases
    )
    present = {*map(setting, group.cases), *[CLOSED_WORLD] * bool(closed_world_cases)}
    if missing := [_shown_setting(name, benchmark) for name in settings if name not in present]:
        yield f"Not in these runs: {'; '.join(missing)}."


def _distractor_source(case: CaseRun) -> str:
    """Return the option that hard distractors come from, with its value."""
    preset = SETTINGS.get(setting(case))
    option = {"confusion": "distractors", "text": "text_encoder"}.get(preset.hardness if preset else "")
    return f"{option} {case.option(option)}" if option else ""


def _epoch_samples(page: Page, row: int, *, with_out_of_prompt: bool = False) -> pd.DataFrame:
    """Return the answers of one case with their `epoch`; images count that both label sets score."""
    read = out_of_prompt if with_out_of_prompt else label_samples
    case = page.cases[row]
    epoch = [] if case.has_single_answers else ["epoch"]
    samples = read(replace(page, cases=(case,)), epoch)
    covered = samples[["before", "correct"]].notna().all(axis=1)
    scores = {name: samples[name].where(covered) for name in SCORES if name in samples}
    return samples.assign(row=row, epoch=samples["epoch"].astype(int) if epoch else 0, **scores)


def _mean_cells(page: Page) -> pd.DataFrame:
    by = ("row", "epoch")
    parts = [accuracy_cells(page, _epoch_samples(page, row), by=by) for row in range(len(page.cases))]
    return mean_over_epochs(pd.concat(parts, ignore_index=True))


SETTING_TABLE = TableDefinition(
    name="multiple-choice",
    alias="T19",
    limit="1/class",
    source=PAPER,
    summary="Mean accuracy in multiple choice of every model by the source of the distractors.",
    pages=partial(_setting_pages, settings=ROWS),
    needs="compares settings of multiple choice",
    command='pytest -k "multiple_choice or closed_world" --eye-set=multiple_choice.setting=all',
    title="{page}: multiple choice, accuracy (%) by distractors{both}",
    cells=_mean_cells,
    rows=("Model", "Distractors"),
    columns=accuracy_columns,
)
BEST_MODEL_TABLE = replace(
    SETTING_TABLE,
    name="multiple-choice-of-the-best-model",
    alias="T7",
    limit="1/class",
    summary="Mean accuracy in multiple choice of the model that is best in closed world.",
    pages=partial(_setting_pages, settings=WITHOUT_TEXT, best=True),
)


def _repeated_pages(runs: Runs, labels: str | None) -> list[Page]:
    """Return a page for every group and label set with a closed world that was evaluated several times."""
    pages = []
    for group, label_set in runs.iter_labels(labels):
        cases = [
            e for e in group.cases if e.accuracy_name == REPEATED_ACC and {group.reference, label_set} <= {*e.labels}
        ]
        if cases:
            selected = group.select(cases)
            names = selected.model_names(("images_per_request",))
            batches = [(names[id(case)], case.option("images_per_request")) for case in cases]
            page = create_page(selected, label_set)
            pages.append(replace(page, names=pd.DataFrame(batches, columns=["Model", "Batch"])))
    return pages


def _repeated_cells(page: Page) -> pd.DataFrame:
    by, parts = ("row", "epoch"), []
    for row in range(len(page.cases)):
        samples = _epoch_samples(page, row, with_out_of_prompt=True)
        parts += [
            accuracy_cells(page, samples, by=by),
            share(samples, "out_of_prompt", by).assign(column="OOP"),
        ]
    means = mean_over_epochs(pd.concat(parts, ignore_index=True))
    outside = means["column"] == "OOP"
    return pd.concat([means[~outside], as_counts(means[outside])], ignore_index=True)


REPEATED_TABLE = TableDefinition(
    name="repeated-evaluations",
    alias="T17",
    limit="1/class",
    source=PAPER,
    summary="Mean accuracy over evaluations of a closed world, and the mean number of answers out of the prompt.",
    pages=_repeated_pages,
    needs="shows how far repeated evaluations of a closed world differ",
    command="pytest -k closed_world --eye-set=closed_world.epochs=31",
    title="{page}: repeated evaluations, accuracy (%){both}",
    cells=_repeated_cells,
    rows=("Model", "Batch"),
    columns=lambda page: (*accuracy_columns(page), "OOP"),
    notes=(
        "OOP: mean number of answers out of the prompt per evaluation.",
        STUDENT,
        coverage_note,
    ),
    formats={"OOP": NumberFormat(1, 2)},
)
