"""The position of an image in its request: Table 13 of arXiv 2603.06578."""

from collections.abc import Iterator

from ..answers import Bools, paired_change, proportion
from ..render import Cell, Table
from ..runs import CaseRun, ComparableCases, EmptyTableError, Runs
from .ablations import BATCHES, ablation_blocks, images_per_request, out_of_prompt_change
from .estimators import COVERED_BY_BLOCK, as_count, block_images, check_same_images, coverage_note, text_columns
from .pages import INTERVALS

RANDOM = "random"


def t13(runs: Runs, labels: str | None) -> list[Table]:
    """Return Table 13: the same images in requests of one, five and ten, by their position in the largest."""
    selected = [
        (group, label_set) for group, label_set in runs.iter_labels(labels) if request_size_blocks(group, label_set)
    ]
    if not selected:
        raise EmptyTableError(
            "T13 compares images by their position in requests of several sizes, in random order; these runs have "
            f"{runs.describe()}. Make them with: {BATCHES.remedy}"
        )
    return [t13_table(group, label_set) for group, label_set in selected]


def request_size_blocks(group: ComparableCases, labels: str) -> list[list[CaseRun]]:
    """Return the cases of the models with requests of several sizes."""
    mixed = [case for case in group.cases if case.option("image_order", RANDOM) == RANDOM]
    return ablation_blocks(BATCHES, group.select(mixed), labels)


def t13_table(group: ComparableCases, labels: str) -> Table:
    """Return the table of one group."""
    blocks = request_size_blocks(group, labels)
    selected = group.select(case for block in blocks for case in block)
    names = selected.model_names(BATCHES.options)
    rows = [row for block in blocks for row in block_rows(names[id(block[0])], block, group.reference, labels)]
    notes = (
        "Img Pos.: the position of an image in the largest requests; all rows of a position cover the same images.",
        f"{coverage_note((group.reference, labels))} {COVERED_BY_BLOCK}",
        "Batch: images per request. OOP: number of answers out of the prompt. Δ: change from the smallest requests.",
        INTERVALS,
    )
    return Table(
        f"{group.title}: places in a request, accuracy (%), {group.reference} and {labels}",
        tuple(rows[0]),
        tuple(tuple(row.values()) for row in rows),
        (*notes, *selected.notes(BATCHES.options)),
        {"split": group.title, "labels": labels},
    )


def block_rows(name: str, block: list[CaseRun], reference: str, labels: str) -> Iterator[dict[str, Cell]]:
    """Yield the rows of one model: the images at each position, in requests of every size."""
    largest, images = text_columns(check_same_images(block)[-1]).position, block_images(block, (reference, labels))
    for position in map(images_per_request, block):
        for case in block:
            head: dict[str, Cell] = {"Model": name, "Img Pos.": str(position), "Batch": str(images_per_request(case))}
            yield head | dict(row_cells(case, block[0], reference, labels, images & (largest == position)))


def row_cells(case: CaseRun, first: CaseRun, reference: str, labels: str, images: Bools) -> Iterator[tuple[str, Cell]]:
    """Yield the cells of one row, each with its change from the smallest requests."""
    for head, name in {reference: reference, "A": labels}.items():
        before, after = (row.answers.label_sets[name] for row in (first, case))
        yield head, proportion(after.correct, images)
        yield f"{head} Δ", paired_change(before.correct, after.correct, images) if case is not first else None
    yield "OOP", as_count(proportion(text_columns(case).out_of_prompt, images))
    yield "OOP Δ", out_of_prompt_change(first, case, images) if case is not first else None
