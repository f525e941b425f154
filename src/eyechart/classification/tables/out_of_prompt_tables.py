"""Answers out of the prompt: Tables 5, 15 and 16 of arXiv 2603.06578."""

from collections.abc import Iterator
from dataclasses import replace

import pandas as pd

from eyechart.classification.answers.out_of_prompt import KINDS_OUT_OF_PROMPT
from eyechart.classification.tables.best_variant import prompt_options, select_best
from eyechart.classification.tables.class_pages import (
    CATEGORIES,
    CATEGORY_NOTE,
    PAPER,
    WILSON,
    check_same_images,
    closed_world_pages,
    label_samples,
    out_of_prompt,
    share_by_category,
)
from eyechart.reports.runs import Runs
from eyechart.reports.tables.definition import TableDefinition
from eyechart.reports.tables.selection import Page, create_page
from eyechart.results.frames import with_wilson

PLUS = "closed_world_plus"
PUBLISHED_NAMES = "kisel"  # the class names of the study
KIND_NOTE = (
    "Abstain: the model declines. IN: exactly one of OpenAI's class names. Partial: all its words occur in one class "
    "name of the prompt. Wrong: all others. OOP: number of answers out of the prompt."
)


OUT_OF_PROMPT = TableDefinition(
    name="out-of-prompt",
    alias="T5",
    source=PAPER,
    summary="The rate of closed-world answers out of the prompt by label category.",
    pages=closed_world_pages,
    needs="needs closed-world answers",
    command="pytest -k closed_world",
    title="{page}: answers out of the prompt (%) on label categories, {labels}",
    cells=lambda page: share_by_category(out_of_prompt(page), "out_of_prompt"),
    rows=("Model",),
    columns=CATEGORIES,
    notes=(WILSON, CATEGORY_NOTE),
)


def _kind_cells(page: Page) -> pd.DataFrame:
    """Return the share of each kind among the answers out of the prompt, and their number."""
    samples = out_of_prompt(page)
    outside = samples[samples["out_of_prompt"] == 1]
    totals = outside.groupby("row").size().reindex(range(len(page.cases)), fill_value=0).rename("n").reset_index()
    parts = [totals.rename(columns={"n": "count"}).assign(column="OOP")]
    for kind in KINDS_OUT_OF_PROMPT:
        hits = outside[outside["kind"] == kind].groupby("row").size().reindex(totals["row"], fill_value=0)
        parts.append(with_wilson(totals.assign(hits=hits.to_numpy(), column=kind)).drop(columns="n"))
    return pd.concat(parts, ignore_index=True)


def _name_notes(page: Page) -> Iterator[str]:
    """Yield how to make answers IN possible."""
    if not any(case.option("names", "").startswith(PUBLISHED_NAMES) for case in page.cases):
        yield f"IN needs class names that differ from OpenAI's, as the published ones: --eye-names={PUBLISHED_NAMES}."


OUT_OF_PROMPT_KINDS = replace(
    OUT_OF_PROMPT,
    name="out-of-prompt-kinds",
    alias="T16",
    summary="What closed-world answers out of the prompt are: abstentions, other names, parts of names, wrong answers.",
    title="{page}: kinds of answers out of the prompt (%), {labels}",
    cells=_kind_cells,
    columns=(*KINDS_OUT_OF_PROMPT, "OOP"),
    notes=(KIND_NOTE, _name_notes, WILSON, CATEGORY_NOTE),
)


def _mapped_pages(runs: Runs, labels: str | None) -> list[Page]:
    """Return the closed-world pages.

    Of cases that share a row, only those with a CW+ case are shown if there are any; their CW+ cases follow them.
    """
    groups = {id(case): group for group in runs.groups for case in group.cases}
    pages = []
    for page in closed_world_pages(runs, labels):
        group = groups[id(page.cases[0])]
        best = select_best(
            group.with_protocols(PLUS).scored_under(page.labels),
            lambda case: (case.model, prompt_options(case)), page.labels, group.reference,
        )  # fmt: skip
        by_settings = {(case.model, prompt_options(case)): case for case in best}
        mapped = {id(case): by_settings.get((case.model, prompt_options(case))) for case in page.cases}
        shown = [case for case in page.cases if mapped[id(case)] or not any(mapped.values())]
        pluses = [case for case in map(mapped.get, map(id, shown)) if case]
        notes = create_page(group.select([*shown, *pluses]), page.labels).notes
        if unmapped := [case.record.case for case in page.cases if not mapped[id(case)]]:
            notes = (
                f"Not mapped: {', '.join(unmapped)}. Map them with: pytest -k {PLUS}", WILSON, CATEGORY_NOTE, *notes
            )  # fmt: skip
        else:
            notes = (WILSON, CATEGORY_NOTE, *notes)
        names = create_page(group.select(shown), page.labels, with_task=False).names
        pages.append(replace(page, cases=(*shown, *pluses), names=names, notes=notes))
    return pages


def _mapped_cells(page: Page) -> pd.DataFrame:
    """Return by category: images, answers out of the prompt, and those that CW+ maps to a correct class."""
    rows = len(page.names)
    closed = replace(page, cases=page.cases[:rows])
    samples = out_of_prompt(closed)
    rates = share_by_category(samples, "out_of_prompt", head="Category")
    cells = _counts_and_rates(rates, "OOP")
    cells.append(rates[["row", "Category"]].assign(column="Images", count=rates["n"]))
    if len(page.cases) > rows:
        check_same_images(page.cases, page.samples(["key"]))
        mapped = label_samples(replace(page, cases=page.cases[rows:]))
        outside = mapped.where(samples["out_of_prompt"] == 1)[["correct", "category"]].assign(row=samples["row"])
        cells += _counts_and_rates(share_by_category(outside, "correct", CATEGORIES[:-1], "Category"), "mapped")
    return pd.concat(cells, ignore_index=True).sort_values("Category", key=lambda names: names.map(CATEGORIES.index))


def _counts_and_rates(rates: pd.DataFrame, head: str) -> list[pd.DataFrame]:
    """Return rates as two columns of cells: the number of images, and the percentage."""
    counts = (rates["value"].fillna(0) * rates["n"]).round()
    return [
        rates[["row", "Category"]].assign(column=f"{head} #", count=counts),
        rates.drop(columns="n").assign(column=f"{head} %"),
    ]


def _empty_label_note(page: Page) -> str:
    rule = page.cases[0].empty_label_rules.get(page.labels) or "excluded"
    return f"N needs no mapping: images without a label count as {rule} under {page.labels}, in A, too."


MAPPED = replace(
    OUT_OF_PROMPT,
    name="out-of-prompt-mapped",
    alias="T15",
    summary="Closed-world answers out of the prompt by label category, and how many CW+ maps to a correct class.",
    pages=_mapped_pages,
    title="{page}: answers out of the prompt by label category, {labels}",
    cells=_mapped_cells,
    rows=("Model", "Category"),
    columns=("Images", "OOP #", "OOP %", "mapped #", "mapped %"),
    notes=(
        "OOP: out of the prompt, % of the images with an answer. Mapped: to a right class in CW+, % of the former.",
        _empty_label_note,
    ),
)
