"""Confidence by the number of candidate species: Figure 11 of arXiv 2603.27033 as a table."""

from collections.abc import Iterator
from math import ceil, log
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from eyechart.metrics.clusters import clustered_t_interval, effective_sample_size
from eyechart.metrics.intervals import fisher_interval

from ..frames import clustered_share, to_numbers
from ..pages import Page
from ..render import CORRELATION, NumberCell, NumberFormat
from ..table_definitions import TableDefinition
from .pages import COMMANDS, NEEDS_LISTS, PAPER, RANGE, SETS, SPECIES, pages_of

MOST = 40  # bins of one figure
KINDS = {"A": "answerable", "UA": "unanswerable"}
MEASURES = {"entropy": "Entropy", "probability": "Max probability"}  # of the species' probabilities
FREQUENCY = "Frequency"
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
    return images.assign(least=choices.transform(bin_ends, 0), most=choices.transform(bin_ends, 1))


def bin_ends(choices: ArrayLike, end: int) -> NDArray[np.int64]:
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


def bin_cells(page: Page) -> pd.DataFrame:
    """Return how frequent each bin of choices is, and the means of the measures in it, for each set of images."""
    images = read_confidences(page).groupby(["row", "subset"])
    return pd.DataFrame([cell for (row, name), part in images for cell in describe_bins(row, KINDS[name], part)])


def describe_bins(row: int, kind: str, images: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the cells of a set of images."""
    for (least, most), inside in images.groupby(["least", "most"]):
        names = {"row": row, "Images": kind, "Choices": str(least) if least == most else f"{least}–{most}"}
        frequency = clustered_share(images["least"] == least, images["observation"])
        yield names | {"column": FREQUENCY, **frequency, "n": len(inside)}
        possible = {"entropy": (0.0, log(max(most, 1))), "probability": (1 / max(most, 1), 1.0)}
        for measure, head in MEASURES.items():
            mean = bounded_mean(inside[measure], inside["observation"], *possible[measure])
            yield names | {"column": head, **mean}


def bounded_mean(values: ArrayLike, observations: ArrayLike, least: float, most: float) -> dict[str, float]:
    """Return a mean with Student's interval over observations within `least` and `most`, as a cell."""
    value, (low, high) = float(np.asarray(values).mean()), clustered_t_interval(values, observations)
    return {
        "value": value,
        "low": float(np.minimum(value, np.maximum(least, low))),
        "high": float(np.maximum(value, np.minimum(most, high))),
    }


def correlate(counts: ArrayLike, values: ArrayLike, observations: ArrayLike) -> NumberCell:
    """Return Spearman's correlation with Fisher's interval at the effective n, without a value for constant data.

    The design effect is that of the images' influence on the correlation of ranks (S. J. Devlin, R. Gnanadesikan and
    J. R. Kettenring, Biometrika 62 (1975) 531-545).
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


def describe_correlations(images: pd.DataFrame) -> str:
    """Return the correlation of each measure with the number of choices, as text."""
    numbers = {
        head: correlate(images["choices"], images[name], images["observation"]) for name, head in MEASURES.items()
    }
    return ", ".join(f"{head} {number.text(with_n=False)}" for head, number in numbers.items())


def choice_notes(page: Page) -> Iterator[str]:
    """Yield the meaning of the columns, and the correlations of each set of images."""
    yield from (MEANING, SETS)
    for (row, name), images in read_confidences(page).groupby(["row", "subset"]):
        text = f"{page.names['Model'][row]}, {name} (n={len(images):,}): {describe_correlations(images)}"
        yield RHO.format(text)


CHOICES = TableDefinition(
    name="realbirdid-choices",
    alias="realbirdid-F11",
    source=f"{PAPER}, Figure 11",
    summary="How confident models are by the number of species in an image's range list.",
    pages=pages_of(SPECIES, RANGE),
    needs=NEEDS_LISTS,
    command=COMMANDS[SPECIES],
    title="{page}: how sure models are by number of choices",
    cells=bin_cells,
    rows=("Model", "Images", "Choices"),
    columns=(FREQUENCY, *MEASURES.values()),
    formats=dict.fromkeys(MEASURES.values(), VALUE),
    notes=choice_notes,
)
TABLES = (CHOICES,)
