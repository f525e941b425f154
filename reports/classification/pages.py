"""Pages of classification tables: cases over the same images, under a label set and the original labels."""

from collections.abc import Collection, Sequence

import pandas as pd

from ..frames import with_wilson
from ..pages import Page, create_page
from ..runs import Runs
from .best_variant import best_variants

CATEGORIES = ("A", "S", "S+", "S-", "M", "M+", "M-", "N")
CATEGORY_NOTE = (
    "S: one label; M: several; N: none. In S+ and M+ the original label is among them, in S- and M- it is not."
)
WILSON = "Brackets: 95 % intervals, Wilson."
INTERVALS = "Brackets: 95 % intervals, Wilson for shares, Bonett and Price for Δ, whose images are paired."
COVERED_BY_BLOCK = "The rows of one model cover the images that all of them have an answer to."


def second_label_pages(runs: Runs, labels: str | None) -> list[Page]:
    """Return a page for every group and label set besides the original labels, with the best variant of each model."""
    selected = [
        (best_variants(group, second), second)
        for group, names in runs.select_labels(labels)
        for second in names
        if second != group.reference
    ]
    return [
        create_page(group.select(cases), second)
        for group, second in selected
        if (cases := group.scored_under(group.reference, second))
    ]


def closed_world_pages(runs: Runs, labels: str | None) -> list[Page]:
    """Return the closed-world cases of every group and label set, fewest answers out of the prompt first."""
    pages = []
    for group, label_set in runs.iter_labels(labels):
        if cases := group.with_protocols("closed_world").scored_under(label_set):
            samples = out_of_prompt(create_page(group.select(cases), label_set, with_task=False))
            order = samples.groupby("row")["out_of_prompt"].mean().fillna(0).sort_values(kind="stable").index
            pages.append(create_page(group.select(cases[row] for row in order), label_set, with_task=False))
    return pages


def label_samples(page: Page, columns: Sequence[str] = ()) -> pd.DataFrame:
    """Return the answers of a page: `row`, their score under both label sets, and further columns.

    `before` is 1 or 0 under the reference, `correct` under the page's labels; `category` is that of the image under the
    page's labels.
    """
    read = [f"{page.reference}.correct", f"{page.labels}.correct", f"{page.labels}.category", *columns]
    samples = page.samples([*dict.fromkeys(read)])
    scores = {
        "before": samples[f"{page.reference}.correct"],
        "correct": samples[f"{page.labels}.correct"],
        "category": samples[f"{page.labels}.category"],
    }
    return samples[["row", *columns]].assign(**scores)


def out_of_prompt(page: Page, columns: Sequence[str] = ()) -> pd.DataFrame:
    """Return the answers of a page with `out_of_prompt`: 1, 0, or NaN without an answer; images with labels alone.

    `kind` is the kind of an answer out of the prompt, "" for others.
    """
    read = ["out_of_prompt", "error", "request", *columns]
    samples = label_samples(page, read).rename(columns={"out_of_prompt": "kind"})
    answered = (samples["error"] == "") & (samples["request"] != "")
    outside = (samples["kind"] != "").astype(float)
    return samples.assign(out_of_prompt=outside.where(answered & samples["category"].notna()))


def share_by_category(
    samples: pd.DataFrame, column: str, categories: Sequence[str] = CATEGORIES, head: str = "column"
) -> pd.DataFrame:
    """Return the mean of 0s and 1s per case and label category, with n and Wilson's interval.

    S is S+ and S- together, M the same, A every image with labels. A category without images has n = 0.
    """
    groups = samples.groupby(["row", "category"], observed=False)[column].agg(hits="sum", n="count").reset_index()
    parts = [
        groups[[category == "A" or str(leaf).startswith(category) for leaf in groups["category"]]]
        .groupby("row")[["hits", "n"]].sum().reset_index().assign(**{head: category})
        for category in categories
    ]  # fmt: skip
    return with_wilson(pd.concat(parts, ignore_index=True))


def coverage_note(label_sets: Collection[str], columns: str = "All columns") -> str:
    """Return the sentence that says which images the columns cover."""
    names = [*dict.fromkeys(label_sets)]
    quantifier = "both" if len(names) == 2 else "all"
    if len(names) == 1:
        return f"{columns} are over the images that {names[0]} scores."
    return f"{columns} are over the images that {', '.join(names[:-1])} and {names[-1]} {quantifier} score."
