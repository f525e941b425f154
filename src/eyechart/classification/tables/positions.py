"""The position of an image in its request: Table 13 of arXiv 2603.06578."""

from dataclasses import replace

import pandas as pd

from eyechart.classification.tables.class_ablations import BATCH_TABLE, BATCHES, images_per_request
from eyechart.classification.tables.class_pages import (
    COVERED_BY_BLOCK,
    DELTA,
    INTERVALS,
    as_counts,
    cover_blocks,
    coverage_note,
    out_of_prompt,
    with_base,
)
from eyechart.reports.tables.selection import Page
from eyechart.results.frames import change, share

MIXED = replace(BATCHES, fixed={"image_order": "random"})
POSITION = "Img Pos."


def _position_cells(page: Page) -> pd.DataFrame:
    """Return accuracy and answers out of the prompt at each position, with the changes from the smallest requests."""
    heads = {page.reference: "before", "A": "correct"}
    samples = cover_blocks(page, out_of_prompt(page, ["key", "position"]))
    parts = []
    for _, block in samples.groupby(samples["row"].map(page.names["block"])):
        placed = _with_positions(page, block)
        by = ["row", "position"]
        parts += [share(placed, score, by).assign(column=head) for head, score in heads.items()]
        parts.append(as_counts(share(placed, "out_of_prompt", by)).assign(column="OOP"))
        moved = with_base(page, placed)
        parts += [
            change(moved, f"{score}_base", score, by).assign(column=head + DELTA) for head, score in heads.items()
        ]
        parts.append(as_counts(change(moved, "out_of_prompt_base", "out_of_prompt", by)).assign(column="OOP Δ"))
        parts = [part.astype({"position": int}) for part in parts]
    cells = pd.concat(parts, ignore_index=True)
    return cells.assign(block=cells["row"].map(page.names["block"]), **{POSITION: cells["position"].astype(str)})


def _with_positions(page: Page, samples: pd.DataFrame) -> pd.DataFrame:
    """Return the answers of a block with the position of each image in its largest requests.

    Positions are compared if there are requests of as many images; others are NaN.
    """
    rows = samples["row"].unique()
    sizes = [images_per_request(page.cases[row]) for row in rows]
    largest = samples[samples["row"] == rows[-1]].set_index("key")["position"]
    positions = pd.to_numeric(samples["key"].map(largest), errors="coerce")
    return samples.assign(position=pd.Categorical(positions.where(positions.isin(sizes)), sizes))


POSITIONS = replace(
    BATCH_TABLE,
    name="positions-in-requests",
    alias="T13",
    limit="1/class",
    source="arXiv 2603.06578, Table 13",
    summary="Accuracy of the same images in requests of several sizes, by their position in the largest requests.",
    pages=MIXED.pages,
    needs="compares images by their position in requests of several sizes, in random order",
    title="{page}: positions in a request, accuracy (%){both}",
    cells=_position_cells,
    rows=("Model", POSITION, "Batch"),
    order=("block", "position", "row"),
    columns=lambda page: [head for name in (page.reference, "A", "OOP") for head in (name, name + DELTA)],
    notes=lambda page: (
        "Img Pos.: the position of an image in the largest requests; all rows of a position cover the same images.",
        f"{coverage_note((page.reference, page.labels))} {COVERED_BY_BLOCK}",
        "Batch: images per request. OOP: number of answers out of the prompt. Δ: change from the smallest requests.",
        INTERVALS,
    ),
)
TABLES = (POSITIONS,)
