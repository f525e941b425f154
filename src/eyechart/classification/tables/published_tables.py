"""Our numbers next to published ones, in the layout of Mill's ImageNet page."""

from dataclasses import replace

import pandas as pd

from eyechart.reports.runs import CaseRun, Runs
from eyechart.reports.tables.definition import TableDefinition
from eyechart.reports.tables.render import DIFFERENCE, FRACTION, MISSING
from eyechart.reports.tables.selection import Page, create_page
from eyechart.results.frames import select_metrics
from eyechart.results.records import WHOLE

OURS = "Mill (acc)"


def _imagenet_pages(runs: Runs, labels: str | None) -> list[Page]:
    """Return the imagenet groups with single answers, under the label set or the original labels."""
    runs.select_labels(labels)
    pages = []
    for group in runs.groups:
        cases = group.scored_under(labels or group.reference)
        if cases and cases[0].record.benchmark == "imagenet":
            page = create_page(group.select(cases), labels or group.reference)
            names = [_model_name(case, protocol) for case, protocol in zip(cases, page.names["Protocol"], strict=True)]
            pages.append(replace(page, names=pd.DataFrame({"Model": names})))
    return pages


def _model_name(case: CaseRun, protocol: str) -> str:
    """Return the name of a model as Mill writes it; protocols other than Mill's are named."""
    model = case.model.replace("/", " / ", 1) if case.record.model.backend == "open_clip" else case.model
    return model if protocol == "zero_shot" else f"{model} ({protocol})"


def _published_cells(page: Page) -> pd.DataFrame:
    """Return our accuracy, the reported one, its source and the difference."""
    accuracy = {"metric": "acc1", "labels": page.labels, "subset": WHOLE, "level": "", "prompt": ""}
    cells = []
    for row, case in enumerate(page.cases):
        reported = case.record.reported if page.labels == page.reference else None
        cells += [
            {"row": row, "column": "Reported", "value": reported.value if reported else None},
            {"row": row, "column": "Source", "text": reported.source if reported else MISSING},
            {"row": row, "column": "Δ", "value": reported.delta if reported else None},
        ]
    return pd.concat([select_metrics(page.metrics, {OURS: accuracy}), pd.DataFrame(cells)], ignore_index=True)


PUBLISHED = TableDefinition(
    name="mill-imagenet",
    source="Mill",
    summary="Our top-1 accuracies on ImageNet next to reported ones.",
    pages=_imagenet_pages,
    needs="needs one answer an image about the benchmark imagenet",
    command="pytest -k imagenet",
    title="{page}: top-1 accuracy under {labels} and reported numbers",
    cells=_published_cells,
    rows=("Model",),
    columns=(OURS, "Reported", "Source", "Δ"),
    formats={OURS: FRACTION, "Reported": FRACTION, "Δ": DIFFERENCE},
    notes=("Fractions; brackets: 95 % Wilson interval. Reported numbers are for imagenet/val, in full.",),
)
