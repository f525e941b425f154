"""Ablations of one option, all else equal: Tables 11, 12, 13, 14 and 18 of arXiv 2603.06578."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from eyechart.classification.tables.best_variant import accuracy
from eyechart.classification.tables.class_pages import (
    DELTA,
    INTERVALS,
    LABELLED,
    OUT_OF_PROMPT_FORMATS,
    PAPER,
    WILSON,
    accuracy_cells,
    accuracy_changes,
    accuracy_columns,
    as_counts,
    block_coverage_note,
    cover_blocks,
    label_samples,
    out_of_prompt,
    with_base,
    with_blocks,
)
from eyechart.reports.runs import CaseRun, Runs
from eyechart.reports.tables.definition import TableDefinition
from eyechart.reports.tables.selection import Page, create_page
from eyechart.results.frames import change, share

NO_TEMPLATES, USUAL_TEMPLATES = "none", "80"  # templates; the published ones are marked by the dagger alone
ORDERS = {"random": "Random", "same_class": "Same-Class"}
RESPONSES = {"id": "ID", "name": "Class name"}


@dataclass(frozen=True, kw_only=True)
class _Ablation:
    """An option whose values a table compares, the options that depend on it, and the names and order of its values."""

    protocol: str
    options: tuple[str, ...]
    head: str
    format_value: Callable[[CaseRun], str]
    sort_key: Callable[[CaseRun], Any]
    fixed: Mapping[str, str] = field(default_factory=dict)  # options that have one value, which is their default
    categories: tuple[str, ...] = LABELLED
    changes: Literal["", "accuracy", "all"] = ""  # which numbers stand with their change from the first row
    with_out_of_prompt: bool = True  # whether answers out of the prompt are counted
    marks_best: bool = False  # whether the highest number of each model is marked

    def pages(self, runs: Runs, labels: str | None) -> list[Page]:
        """Return a page for every group and label set with a model that has several values of the option.

        A block has the cases of a model that differ only in the option; its base is the first. Models are sorted by
        their best accuracy.
        """
        pages = []
        for group, label_set in runs.iter_labels(labels):
            blocks: dict[tuple[str, str], list[CaseRun]] = {}
            for case in group.with_protocols(self.protocol).scored_under(group.reference, label_set):
                if any(case.option(name, value) != value for name, value in self.fixed.items()):
                    continue
                blocks.setdefault((case.model, case.prompt_settings_without(self.options)), []).append(case)
            several = [sorted(block, key=self.sort_key) for block in blocks.values() if len(block) > 1]
            several.sort(key=lambda block: max(accuracy(case, group.reference) for case in block))
            if cases := [case for block in several for case in block]:
                page = create_page(group.select(cases), label_set, self.options, with_task=False)
                values = page.names.assign(**{self.head: [self.format_value(case) for case in cases]})
                numbers = [number for number, block in enumerate(several) for _ in block]
                pages.append(with_blocks(replace(page, names=values), numbers, [True] * len(cases)))
        return pages

    def columns(self, page: Page) -> Iterator[str]:
        """Yield the columns: accuracies, those over all images with their changes, and answers out of the prompt."""
        for head in accuracy_columns(page, self.categories):
            yield head
            if self.changes and head in (page.reference, "A"):
                yield head + DELTA
        if self.with_out_of_prompt:
            yield "OOP"
        if self.with_out_of_prompt and self.changes == "all":
            yield "OOP Δ"

    def cells(self, page: Page) -> pd.DataFrame:
        """Return the cells of the columns."""
        read = out_of_prompt if self.with_out_of_prompt else label_samples
        samples = cover_blocks(page, read(page, ["key"]))
        cells, moved = [accuracy_cells(page, samples, self.categories)], with_base(page, samples)
        if self.changes:
            cells.append(accuracy_changes(page, moved, ("A",)))
        if self.with_out_of_prompt:
            cells.append(as_counts(share(samples, "out_of_prompt", ["row"])).assign(column="OOP"))
        if self.with_out_of_prompt and self.changes == "all":
            changes = change(moved, "out_of_prompt_base", "out_of_prompt", ["row"])
            cells.append(as_counts(changes).assign(column="OOP Δ"))
        every = pd.concat(cells, ignore_index=True)
        return _mark_best_of_block(page, every) if self.marks_best else every

    def notes(self, page: Page) -> Iterator[str]:
        """Yield the options that depend on each value, and the explanation of the table."""
        if len(self.options) > 1:
            yield from dict.fromkeys(
                f"{self.format_value(case)}: {', '.join(f'{name} {case.option(name)}' for name in self.options)}."
                for case in sorted(page.cases, key=self.sort_key)
            )
        if self.with_out_of_prompt:
            yield "OOP: number of answers out of the prompt."
        if self.changes:
            yield "Δ: change from the first row of the model, over the same images."
        if self.marks_best:
            yield "Bold: the highest number of each model."
        if self.protocol == "open_world":
            yield "†: class names and answers in templates, the mean of their embeddings."
        yield INTERVALS if self.changes else WILSON
        yield block_coverage_note(page)

    def define(
        self, alias: str, name: str, subject: str, summary: str, command: str, limit: str = ""
    ) -> TableDefinition:
        """Return the table."""
        return TableDefinition(
            name=name,
            alias=alias,
            source=PAPER,
            summary=summary,
            pages=self.pages,
            needs=f"compares {subject} of one model, all else equal",
            command=command,
            limit=limit,
            title=f"{{page}}: {subject}, accuracy (%){{both}}",
            cells=self.cells,
            rows=("Model", self.head),
            columns=lambda page: [*self.columns(page)],
            notes=(self.notes,),
            formats=OUT_OF_PROMPT_FORMATS,
        )


def _mark_best_of_block(page: Page, cells: pd.DataFrame) -> pd.DataFrame:
    """Return cells with the highest value of each column and block of rows marked, unless all are equal."""
    blocks = cells["row"].map(page.names["block"])
    values = cells["value"].round(12).groupby([blocks, cells["column"]])
    best = (cells["value"].round(12) == values.transform("max")) & (values.transform("nunique") > 1)
    return cells.assign(highlight=np.where(best, 1.0, np.nan))


def _value_name_and_order(
    option: str, names: Mapping[str, str]
) -> tuple[Callable[[CaseRun], str], Callable[[CaseRun], Any]]:
    """Return two functions of a case: the published name of an option's value, and its sort key."""
    values = [*names]

    def order(case: CaseRun) -> tuple[int, str]:
        value = case.option(option)
        return values.index(value) if value in values else len(values), value

    return lambda case: names.get(case.option(option), case.option(option)), order


def images_per_request(case: CaseRun) -> int:
    """Return the number of images per request."""
    return int(case.option("images_per_request", "1"))


def _embedding_space(case: CaseRun) -> str:
    """Return the text embedding space, with a dagger for templates; text inclusion has none."""
    if case.option("mapping") == "inclusion":
        return "text inclusion"
    mark = {NO_TEMPLATES: "", USUAL_TEMPLATES: "†"}.get(
        templates := case.option("text_templates", NO_TEMPLATES), f"† ({templates})"
    )
    return f"{case.option('text_encoder')}{mark}"


def _embedding_space_order(case: CaseRun) -> tuple[bool, str, bool, str]:
    """Return the sort key: text inclusion first, then by encoder, without templates first."""
    templates = case.option("text_templates", NO_TEMPLATES)
    return case.option("mapping") != "inclusion", case.option("text_encoder"), templates != NO_TEMPLATES, templates


CLOSED = "pytest -k closed_world"
BATCHES = _Ablation(
    protocol="closed_world", options=("images_per_request",), head="Batch",
    format_value=lambda case: case.option("images_per_request"), sort_key=images_per_request,
)  # fmt: skip
ORDER_NAME, ORDER_KEY = _value_name_and_order("image_order", ORDERS)
ORDERINGS = _Ablation(
    protocol="closed_world", options=("image_order",), head="In-Batch Ordering", format_value=ORDER_NAME,
    sort_key=ORDER_KEY, categories=("A",), changes="all",
)  # fmt: skip
ANSWER_NAME, ANSWER_KEY = _value_name_and_order("answer", RESPONSES)
ANSWERS = _Ablation(
    protocol="closed_world", options=("answer", "prompt", "parser_version"), head="Response", format_value=ANSWER_NAME,
    sort_key=ANSWER_KEY, changes="accuracy",
)  # fmt: skip
ENCODERS = _Ablation(
    protocol="open_world", options=("text_encoder", "mapping", "text_templates"), head="Emb. Space",
    format_value=_embedding_space, sort_key=_embedding_space_order, with_out_of_prompt=False, marks_best=True,
)  # fmt: skip

BATCH_TABLE = BATCHES.define(
    "T11", "images-per-request", "images per request", "Accuracy with one, five and ten images per request.",
    f"{CLOSED} --eye-set=closed_world.images_per_request=1,5,10",
    limit="1/class",
)  # fmt: skip
ORDER_TABLE = ORDERINGS.define(
    "T12", "image-order", "the order of images", "Accuracy in requests of mixed classes and of one class each.",
    f"{CLOSED} --eye-set=closed_world.images_per_request=10 --eye-set=closed_world.image_order=random,same_class",
    limit="10/class",
)  # fmt: skip
ANSWER_TABLE = ANSWERS.define(
    "T14", "answers-by-id-and-name", "answers by class id and by class name",
    "Accuracy of answers by class id and by class name.", f"{CLOSED} --eye-set=closed_world.answer=name,id",
    limit="1/class",
)  # fmt: skip
ENCODER_TABLE = ENCODERS.define(
    "T18", "text-encoders", "text embedding spaces",
    "Accuracy in open world by the text encoder that maps answers, without and with templates.",
    "pytest -k open_world --eye-set=open_world.text_encoder=A,B --eye-set=open_world.text_templates=none,80",
)  # fmt: skip
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
    summary="Accuracy of the same images in requests of several sizes, by their position in the largest requests.",
    pages=MIXED.pages,
    needs="compares images by their position in requests of several sizes, in random order",
    title="{page}: positions in a request, accuracy (%){both}",
    cells=_position_cells,
    rows=("Model", POSITION, "Batch"),
    order=("block", "position", "row"),
    columns=tuple(head for name in ("{reference}", "A", "OOP") for head in (name, name + DELTA)),
    notes=(
        "Img Pos.: the position of an image in the largest requests; all rows of a position cover the same images.",
        block_coverage_note,
        "Batch: images per request. OOP: number of answers out of the prompt. Δ: change from the smallest requests.",
        INTERVALS,
    ),
)
