"""Distributions of detectors' logits and probabilities: Figures 14 to 16 of arXiv 2602.18094."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from eyechart.models.spec import split_outside_brackets
from eyechart.oodbench.tables.pair_pages import DETECTION, EXISTENCE, PAPER, PROGRESSION, data_notes, settings_pages
from eyechart.reports.runs import Runs
from eyechart.reports.tables.definition import TableDefinition
from eyechart.reports.tables.render import NumberFormat
from eyechart.reports.tables.selection import Page, with_suffixes
from eyechart.statistics.array_types import Floats, Ints

LOGIT, PROBABILITY = "logit", "probability"
OUTPUTS = {(LOGIT, "1"): "logit, present", (LOGIT, "0"): "logit, absent", (PROBABILITY, "1"): "probability, present"}
PRESENT, ABSENT, PROBABLE = OUTPUTS.values()
QUANTILES = {f"{100 * q:g} %": q for q in (0.05, 0.25, 0.5, 0.75, 0.95)}
VALUE = NumberFormat(1, 3)
COMMAND = 'pytest -k "oodbench and detection" --eye-model=A --eye-model=B'
MEANING = (
    "Quantiles, off by a bin's width at most. Brackets: 95 % intervals, from order statistics, where there are enough.",
    "Probability: of a category that is present, the image's other categories taken out of the softmax (purified).",
)


def _logit_pages(runs: Runs, labels: str | None) -> list[Page]:
    """Return a page per data set, with detectors in the order of the division, else by name."""
    order = _detector_order(runs)
    pages = []
    for page in settings_pages(DETECTION)(runs, labels):
        cases = sorted(page.cases, key=lambda case: order.get(case.record.model.spec, len(order)))
        pages.append(replace(page, cases=tuple(cases), names=pd.DataFrame({"Detector": [e.model for e in cases]})))
    return pages


def _detector_order(runs: Runs) -> dict[str, int]:
    """Return the position of each detector in the first division that uses it."""
    divided = (case for group in runs.groups for case in group.with_protocols(EXISTENCE, PROGRESSION).cases)
    positions: dict[str, int] = {}
    for case in divided:
        for index, spec in enumerate(split_outside_brackets(case.option("detectors"), "+")):
            positions.setdefault(spec, index)
    return positions


def _first_detector_pages(runs: Runs, labels: str | None) -> list[Page]:
    """Return a page for the first detector of every data set."""
    return _detector_pages((page, 0) for page in _logit_pages(runs, labels))


def _other_detector_pages(runs: Runs, labels: str | None) -> list[Page]:
    """Return a page for each of the other detectors of every data set."""
    return _detector_pages((page, row) for page in _logit_pages(runs, labels) for row in range(1, len(page.cases)))


def _detector_pages(selected: Iterator[tuple[Page, int]]) -> list[Page]:
    """Return a page for some rows of pages."""
    pages = []
    for page, row in selected:
        case = page.cases[row]
        context = {"split": page.title, "detector": case.model, "asked": case.prompt_settings}
        title = f"{page.title}: {case.model}"
        pages.append(
            replace(page, cases=(case,), title=title, context=context, notes=data_notes([case]),
                    names=page.names.iloc[[row]].reset_index(drop=True))
        )  # fmt: skip
    return with_suffixes(pages)


def histograms(page: Page, by: Sequence[str]) -> pd.DataFrame:
    """Return the bins of the values' distribution in each group: the columns `by`, `low`, `high` and `count`.

    The groups are in the order of the rows, of the categories (those with most present pairs first) and of the kinds
    of values. Bins with equal ends are added up; empty bins are left out.
    """
    bins = page.samples(["what", "present", "name", "low", "high", "count"], "logits")
    bins = bins.astype({"low": float, "high": float, "count": int})
    kinds = {kind: OUTPUTS.get(kind, ", ".join(kind)) for kind in zip(bins["what"], bins["present"], strict=True)}
    order = [*OUTPUTS.values(), *(label for kind, label in kinds.items() if kind not in OUTPUTS)]
    kind = pd.Categorical(list(map(kinds.get, zip(bins["what"], bins["present"], strict=True))), order)
    present = bins["count"].where(kind == PRESENT, 0).groupby(bins["name"]).sum()
    categories = sorted(present.index, key=lambda name: (-present[name], name))
    bins = bins.assign(Values=kind, Category=pd.Categorical(bins["name"], categories))
    merged = bins.groupby([*by, "low", "high"], observed=True)["count"].sum().reset_index()
    return merged[merged["count"] > 0].reset_index(drop=True)


def _quantile_cells(page: Page, by: Sequence[str]) -> pd.DataFrame:
    """Return the number of values and their quantiles with 95 % intervals, in each group."""
    bins = histograms(page, by)
    index, groups = bins.groupby([*by], observed=True).ngroup().to_numpy(), bins[[*by]].drop_duplicates()
    n = np.bincount(index, bins["count"]).astype(np.int64)
    q = np.array([*QUANTILES.values()])
    shares = np.stack([np.broadcast_to(q, (len(n), len(q))), *order_statistic_shares(n[:, None], q)], axis=1)
    ends = np.searchsorted(index, np.arange(len(n) + 1))
    low, high, count = (bins[name].to_numpy() for name in ("low", "high", "count"))
    values = np.array(
        [quantiles(low[a:b], high[a:b], count[a:b], share) for a, b, share in zip(ends, ends[1:], shares, strict=False)]
    )
    groups = groups.reset_index(drop=True)
    parts = [groups.assign(column="Num", count=n)]
    for position, head in enumerate(QUANTILES):
        value, below, above = values[:, :, position].T
        parts.append(groups.assign(column=head, value=value, low=below, high=above))
    return pd.concat(parts, ignore_index=True)


def quantiles(low: Floats, high: Floats, count: Ints, q: Floats) -> Floats:
    """Return the q-quantiles of a histogram, with a uniform distribution within each bin; NaN for NaN.

    `low`, `high` and `count` (bins,) are the ends of the bins in ascending order and the number of values in each.
    """
    below = np.concatenate(([0.0], np.cumsum(count) / count.sum()))
    at = np.clip(np.searchsorted(below, q) - 1, 0, len(count) - 1)
    part = (q - below[at]) / (below[at + 1] - below[at])
    values: Floats = low[at] + np.clip(part, 0, 1) * (high[at] - low[at])
    return values


def order_statistic_shares(n: Ints, q: Floats) -> tuple[Floats, Floats]:
    """Return the shares of n values that lie below the ends of a q-quantile's 95 % interval; NaN for too few values.

    The interval lies between two order statistics.
    """
    from scipy.stats import binom  # half a second that few tables need

    low, high = binom.ppf(0.025, n, q), binom.ppf(0.975, n, q) + 1
    enough = (low >= 1) & (high <= n)
    return np.where(enough, (low - 0.5) / n, np.nan), np.where(enough, (high - 0.5) / n, np.nan)


LOGITS = TableDefinition(
    name="oodbench-logits",
    alias="oodbench-F14",
    source=f"{PAPER}, Figure 14",
    summary="Quantiles of each detector's logits and probabilities, of all categories together.",
    pages=_logit_pages,
    needs="shows the distributions of detectors' logits",
    command=COMMAND,
    title="{page}: detectors' logits and probabilities",
    cells=lambda page: _quantile_cells(page, ("row", "Values")),
    rows=("Detector", "Values"),
    columns=("Num", *QUANTILES),
    notes=MEANING,
    formats=dict.fromkeys(QUANTILES, VALUE),
)
FIRST_DETECTOR = replace(
    LOGITS,
    name="oodbench-logits-by-category",
    alias="oodbench-F15",
    source=f"{PAPER}, Figure 15",
    summary="Quantiles of the first detector's logits and probabilities by category.",
    pages=_first_detector_pages,
    title="{page}, logits and probabilities by category",
    cells=lambda page: _quantile_cells(page, ("row", "Category", "Values")),
    rows=("Category", "Values"),
)
OTHER_DETECTORS = replace(
    FIRST_DETECTOR,
    name="oodbench-logits-of-other-detectors",
    alias="oodbench-F16",
    source=f"{PAPER}, Figure 16",
    summary="Quantiles of the logits and probabilities of the second and further detectors by category.",
    pages=_other_detector_pages,
    needs="shows the logits of a second detector, which no case has",
)
TABLES = (LOGITS, FIRST_DETECTOR, OTHER_DETECTORS)
