"""Confidence by the number of candidate species: Figure 11 of arXiv 2603.27033, as a table and drawn."""

from collections.abc import Iterator
from math import ceil, log
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from eyechart.realbirdid.figures.chart_styles import caption
from eyechart.realbirdid.tables.bird_pages import COMMANDS, NEEDS_LISTS, PAPER, RANGE, SETS, SPECIES, SYMBOLS, pages_of
from eyechart.reports.figures.charts import BlockFigure
from eyechart.reports.figures.panels import wrap_name
from eyechart.reports.runs import Runs
from eyechart.reports.tables.definition import TableDefinition
from eyechart.reports.tables.render import CORRELATION, NumberCell, NumberFormat
from eyechart.reports.tables.selection import Page
from eyechart.results.frames import clustered_share, to_numbers
from eyechart.statistics.clusters import clustered_t_interval, effective_sample_size
from eyechart.statistics.intervals import fisher_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import SubFigure

MOST = 40  # bins of one figure
MEASURES = {"entropy": "Entropy", "probability": "Max probability"}  # of the species' probabilities
FREQUENCY = "Frequency"
COLOURS = dict(zip((FREQUENCY, *MEASURES.values()), ("tab:gray", "tab:blue", "tab:orange"), strict=True))
ACROSS, WIDE, HIGH, MORE = 3, 4.2, 2.2, 0.9  # models beside one another; inches of a panel, and of all else
BAR = 0.27
VALUE = NumberFormat(1, 3)
MEANING = (
    "Choices: how many species the image's range list has. Frequency: the share of the set's images, with Wilson's "
    "interval. Entropy (nats) and max probability of the listed species: means, with Student's interval within what so "
    "many choices can have. All brackets are 95 % intervals over observations, each with all its images."
)
RHO = (
    "ρ: Spearman's correlation with the number of choices over a set's images, with Fisher's interval at their "
    "effective number, which several images of one observation lower: {}."
)


def read_confidences(page: Page) -> pd.DataFrame:
    """Return the images with an answer under their range list, one row each.

    Columns: `row`, `subset`, `observation` (a number), `choices`, `entropy`, `probability`, and the ends `least` and
    `most` of the bin of choices that the image is in.
    """
    names = {"range.candidates": "choices", **{f"range.species.{name}": name for name in MEASURES}}
    images = page.samples(["subset", "observation", *names]).rename(columns=names)
    images = to_numbers(images, [*names.values()]).dropna(subset="probability").astype({"choices": np.int64})
    images["observation"] = pd.factorize(images["observation"])[0]
    choices = images.groupby("row")["choices"]
    return images.assign(least=choices.transform(_bin_ends, 0), most=choices.transform(_bin_ends, 1))


def _bin_ends(choices: ArrayLike, end: int) -> NDArray[np.int64]:
    """Return the first (`end` 0) or last (1) number of choices in the bin of each image."""
    edges = np.array(bin_edges(choices))
    ends: NDArray[np.int64] = edges[np.searchsorted(edges[:, 0], choices, side="right") - 1, end]
    return ends


def bin_edges(choices: ArrayLike) -> list[tuple[int, int]]:
    """Return the first and last number of candidates of each bin: one bin per number, or at most 40 equal bins."""
    counts = np.unique(choices).tolist()
    if len(counts) <= MOST:
        return [(number, number) for number in counts]
    width = ceil((counts[-1] - counts[0] + 1) / MOST)
    return [(low, low + width - 1) for low in range(counts[0], counts[-1] + 1, width)]


def _bin_cells(page: Page) -> pd.DataFrame:
    """Return how frequent each bin of choices is, and the means of the measures in it, for each set of images."""
    images = read_confidences(page).groupby(["row", "subset"])
    return pd.DataFrame([cell for (row, name), part in images for cell in _describe_bins(row, name, part)])


def _describe_bins(row: int, kind: str, images: pd.DataFrame) -> Iterator[dict[str, Any]]:
    for (least, most), inside in images.groupby(["least", "most"]):
        names = {"row": row, "Images": kind, "Choices": str(least) if least == most else f"{least}–{most}"}
        frequency = clustered_share(images["least"] == least, images["observation"])
        yield names | {"column": FREQUENCY, **frequency, "n": len(inside)}
        possible = {"entropy": (0.0, log(max(most, 1))), "probability": (1 / max(most, 1), 1.0)}
        for measure, head in MEASURES.items():
            mean = _bounded_mean(inside[measure], inside["observation"], *possible[measure])
            yield names | {"column": head, **mean}


def _bounded_mean(values: ArrayLike, observations: ArrayLike, least: float, most: float) -> dict[str, float]:
    """Return a mean with Student's interval over observations within `least` and `most`, as a cell."""
    value, (low, high) = float(np.asarray(values).mean()), clustered_t_interval(values, observations)
    return {
        "value": value,
        "low": float(np.minimum(value, np.maximum(least, low))),
        "high": float(np.maximum(value, np.minimum(most, high))),
    }


def _correlate(counts: ArrayLike, values: ArrayLike, observations: ArrayLike) -> NumberCell:
    """Return Spearman's correlation with Fisher's interval at the effective n, without a value for constant data.

    The design effect is computed from the images' influence on the correlation of ranks (S. J. Devlin, R. Gnanadesikan
    and J. R. Kettenring, Biometrika 62 (1975) 531-545).
    """
    from scipy.stats import rankdata  # half a second that few tables need

    size = len(np.asarray(counts))
    if len(np.unique(counts)) < 2 or len(np.unique(values)) < 2:
        return NumberCell(None, size, style=CORRELATION)
    x, y = ((ranks - ranks.mean()) / ranks.std() for ranks in (rankdata(counts), rankdata(values)))
    r = float(np.clip((x * y).mean(), -1, 1))
    n = int(effective_sample_size(x * y - r * (x**2 + y**2) / 2, observations) + 1e-9)
    interval = fisher_interval(r, n, "spearman")
    return NumberCell(r, size, None if np.isnan(interval).any() else interval, style=CORRELATION)


def _describe_correlations(images: pd.DataFrame) -> str:
    """Return the correlation of each measure with the number of choices, as text."""
    numbers = {
        head: _correlate(images["choices"], images[name], images["observation"]) for name, head in MEASURES.items()
    }
    return ", ".join(f"{head} {number.text(with_n=False)}" for head, number in numbers.items())


def _correlation_notes(page: Page) -> Iterator[str]:
    for (row, name), images in read_confidences(page).groupby(["row", "subset"]):
        text = f"{page.names['Model'][row]}, {SYMBOLS[name]} (n={len(images):,}): {_describe_correlations(images)}"
        yield RHO.format(text)


CHOICES = TableDefinition(
    name="realbirdid-choices",
    alias="realbirdid-F11",
    source=PAPER,
    summary="How confident models are by the number of species in an image's range list.",
    pages=pages_of(SPECIES, RANGE),
    needs=NEEDS_LISTS,
    command=COMMANDS[SPECIES],
    title="{page}: how sure models are by number of choices",
    cells=_bin_cells,
    rows=("Model", "Images", "Choices"),
    columns=(FREQUENCY, *MEASURES.values()),
    formats=dict.fromkeys(MEASURES.values(), VALUE),
    notes=(MEANING, SETS, _correlation_notes),
)


def _block_shape(page: Page) -> tuple[int, int]:
    across = min(ACROSS, len(page.cases))
    return read_confidences(page)["subset"].nunique() * -(-len(page.cases) // across), across


def _draw_block(part: "SubFigure", page: Page, _: Runs) -> None:
    """Draw two panels per model, answerable images above; each series is divided by its highest bar."""
    from matplotlib.patches import Patch

    (rows, across), images = _block_shape(page), read_confidences(page)
    kinds = sorted(images["subset"].unique())
    cells = dict([*_bin_cells(page).groupby(["row", "Images"])])
    for (case, kind), chosen in images.groupby(["row", "subset"]):
        line, column = divmod(case, across)
        row = len(kinds) * line + kinds.index(kind)
        ax = part.add_subplot(rows, across, across * row + column + 1)
        _draw_panel(ax, cells[case, kind])
        title = f"{wrap_name(page.names['Model'][case])}, {SYMBOLS[kind]}, n={len(chosen):,}"
        ax.set_title(f"{title}\nρ: {_describe_correlations(chosen)}", fontsize=7)
    shades = [Patch(color=colour, label=name) for name, colour in COLOURS.items()]
    part.legend(handles=shades, loc="outside lower center", ncols=len(shades), fontsize=7, frameon=False)


def _draw_panel(ax: "Axes", cells: pd.DataFrame) -> None:
    """Draw one set of images of one model."""
    for side, (name, colour) in enumerate(COLOURS.items(), -1):
        _draw_bars(ax, cells[cells["column"] == name].reset_index(drop=True), side * BAR, colour)
    names = [*cells["Choices"].unique()]
    step = -(-len(names) // 12)
    ax.set_xticks(range(0, len(names), step), names[::step], fontsize=6)
    ax.set_ylim(0, 1.35)
    ax.tick_params(axis="y", labelsize=6)
    ax.set_xlabel("choices", fontsize=7)
    ax.set_ylabel("part of the highest bar", fontsize=7)


def _draw_bars(ax: "Axes", cells: pd.DataFrame, offset: float, colour: str) -> None:
    """Draw one series, divided by its highest bar, with intervals."""
    numbers = cells[["value", "low", "high"]] / (cells["value"].max() or 1.0)
    ax.bar(cells.index + offset, numbers["value"], BAR, color=colour)
    known = numbers.dropna()
    ax.vlines(known.index + offset, known["low"].clip(lower=0), known["high"], color="black", linewidth=0.5)


TABLES = (CHOICES,)
FIGURES = (
    BlockFigure(
        summary="Frequency, entropy and max probability by the number of candidate species, for every model.",
        table=CHOICES,
        draw=_draw_block,
        caption=lambda page: caption(page, [page.labels]),
        height=lambda page: HIGH * _block_shape(page)[0] + MORE,
        width=lambda page: WIDE * _block_shape(page)[1],
    ),
)
