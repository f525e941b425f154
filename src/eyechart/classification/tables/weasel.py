"""The weasel study, Tables 9 and 10 of arXiv 2603.06578: four similar classes under two label sets."""

from collections.abc import Iterator
from dataclasses import replace

import pandas as pd

from eyechart.classification.tables.class_pages import (
    INTERVALS,
    PAPER,
    describe_coverage,
    label_outcomes,
    share_by_category,
    single_labels,
)
from eyechart.reports.runs import Runs
from eyechart.reports.tables.definition import TableDefinition
from eyechart.reports.tables.selection import Page, create_page
from eyechart.results.frames import change, share

NAME = "WeaselGT"
# "domestic ferret" is the study's name for ImageNet's class 359, black-footed ferret.
FAMILY = {356: "weasel", 357: "mink", 358: "polecat", 359: "domestic ferret"}
LABELS_PROTOCOL = "labels"  # what stands under Protocol where the original labels answer
ORIGINALS = 0  # the row of the original labels


def _weasel_pages(runs: Runs, labels: str | None) -> list[Page]:
    """Return the groups that were scored under the study's label set and have images of the family.

    The first row treats the original labels as predictions.
    """
    runs.select_labels(labels)
    label_set = labels or NAME
    pages = []
    for group in runs.groups:
        if cases := group.scored_under(group.reference, label_set):
            page = create_page(group.select(cases), label_set)
            names = pd.concat([pd.DataFrame({"Model": [page.reference], "Protocol": [LABELS_PROTOCOL]}), page.names])
            page = replace(
                page, cases=(cases[0], *cases), names=names.reset_index(drop=True), context={"split": page.title}
            )
            if _family_outcomes(page, label_set)["family"].any():
                pages.append(page)
    return pages


def _other_labels(page: Page) -> list[str]:
    """Return the label sets of the cases besides the original labels and those of the study."""
    names = dict.fromkeys(name for case in page.cases for name in case.labels)
    return [name for name in names if name not in (page.reference, page.labels)]


def _family_outcomes(page: Page, labels: str) -> pd.DataFrame:
    """Return `label_outcomes` with `family`: whether the original or new labels include one of the four classes."""
    outcomes = label_outcomes(page, labels, ORIGINALS)
    family = {str(label) for label in FAMILY}
    is_family = {text: not family.isdisjoint(text.split(";")) for text in outcomes["labels"].unique()}
    included = outcomes["labels"].map(is_family) | outcomes["label"].isin([*family])
    return outcomes.assign(family=included & outcomes["category"].notna())


def _accuracy_cells(page: Page) -> pd.DataFrame:
    """Return accuracies and changes over all images and over the family; each covers what its label sets all score."""
    before = label_outcomes(page, page.reference, ORIGINALS)
    every = [
        before.assign(column=page.reference),
        *(label_outcomes(page, name, ORIGINALS).assign(column=name) for name in _other_labels(page)),
    ]
    outcomes = pd.concat(every, ignore_index=True)
    covered = outcomes["correct"].notna().groupby([outcomes["row"], outcomes["key"]]).transform("all")
    outcomes["correct"] = outcomes["correct"].where(covered)
    cells = [share(outcomes, "correct", ["row", "column"]).assign(column=lambda frame: frame["column"] + " all")]
    moved = outcomes[outcomes["column"] != page.reference].merge(
        before[["row", "key", "correct"]], on=["row", "key"], suffixes=("", "_before")
    )
    changes = change(moved, "correct_before", "correct", ["row", "column"])
    cells.append(changes.assign(column=changes["column"] + " all Δ"))

    family = _family_outcomes(page, page.labels).assign(before=before["correct"])
    scored = family["family"] & family[["before", "correct"]].notna().all(axis=1)
    family = family.assign(before=family["before"].where(scored), correct=family["correct"].where(scored))
    parts = share_by_category(family, "correct", ("S+", "S-"))
    return pd.concat(
        [
            *cells,
            share(family, "before", ["row"]).assign(column=f"{page.reference} weasels"),
            share(family, "correct", ["row"]).assign(column=f"{page.labels} weasels"),
            change(family, "before", "correct", ["row"]).assign(column=f"{page.labels} weasels Δ"),
            parts.assign(column=f"{page.labels} " + parts["column"]),
        ],
        ignore_index=True,
    )


def _accuracy_columns(page: Page) -> Iterator[str]:
    """Yield the columns: all images under every label set but the study's, and the family under two."""
    yield f"{page.reference} all"
    yield f"{page.reference} weasels"
    for name in _other_labels(page):
        yield f"{name} all"
        yield f"{name} all Δ"
    for column in ("weasels", "weasels Δ", "S+", "S-"):
        yield f"{page.labels} {column}"


ORIGINALS_NOTE = "The row {reference} treats the original labels as predictions."
WEASEL_ACCURACY = TableDefinition(
    name="weasel-accuracy",
    alias="T9",
    source=PAPER,
    summary="Accuracy on all images and on four similar classes under the original and new labels, with the changes.",
    pages=_weasel_pages,
    needs=f"needs images of the classes 356–359 under the label set '{NAME}', or the one of --labels",
    command=f"pytest -k imagenet/val --eye-data=ROOT --eye-labels={NAME}=FILE",
    title="{page}: weasel family, accuracy (%) under {reference} and {labels}",
    cells=_accuracy_cells,
    rows=("Model", "Protocol"),
    columns=lambda page: [*_accuracy_columns(page)],
    notes=(
        "Weasels: images of the classes 356–359 that {labels} annotates.",
        lambda page: describe_coverage((page.reference, *_other_labels(page)), "Columns of all"),
        lambda page: describe_coverage((page.reference, page.labels), "Columns of weasels"),
        ORIGINALS_NOTE,
        INTERVALS,
    ),
)


def _recall_cells(page: Page) -> pd.DataFrame:
    """Return the recall of each class of the family under both label sets, over images with one label, and Δ."""
    recalls = {}
    for name in (page.reference, page.labels):
        outcomes = label_outcomes(page, name, ORIGINALS)
        classes = pd.Categorical(single_labels(outcomes).map(FAMILY), [*FAMILY.values()])
        recalls[name] = share(outcomes.assign(kind=classes), "correct", ["row", "kind"])
    before, after = recalls[page.reference], recalls[page.labels]
    cells = [recall.assign(column=recall["kind"].astype(str) + f" {name}") for name, recall in recalls.items()]
    kinds = after["kind"].astype(str)
    changes = pd.DataFrame({"row": after["row"], "column": kinds + " Δ", "value": after["value"] - before["value"]})
    return pd.concat([*cells, changes], ignore_index=True)


WEASEL_RECALL = replace(
    WEASEL_ACCURACY,
    name="weasel-recall",
    alias="T10",
    summary="Recall of each of four similar classes under the original and new labels, with the changes.",
    title="{page}: weasel family, recall (%) under {reference} and {labels}",
    cells=_recall_cells,
    columns=tuple(f"{kind} {column}" for kind in FAMILY.values() for column in ("{reference}", "{labels}", "Δ")),
    notes=(
        "Domestic ferret is class 359. Each ground truth has its own images of a class: Δ has no paired interval.",
        ORIGINALS_NOTE,
        INTERVALS,
    ),
)
