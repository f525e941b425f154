"""The data of RealBirdID in numbers: Table 1 and Figures 13 and 15 of arXiv 2603.27033, as tables and drawn."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from eyechart.realbirdid.tables.bird_pages import COMMANDS, FLAT, FREE, PAPER, SPECIES, SYMBOLS
from eyechart.realbirdid.tables.genera import COUNTED, GENERA, create_page, genus_pages
from eyechart.reports.figures.charts import BlockFigure
from eyechart.reports.runs import Runs
from eyechart.reports.tables.definition import TableDefinition
from eyechart.reports.tables.render import FRACTION
from eyechart.reports.tables.selection import Page
from eyechart.results.frames import to_numbers
from eyechart.results.records import ANSWERABLE

if TYPE_CHECKING:
    from matplotlib.figure import SubFigure

PUBLISHED = pd.DataFrame(
    [
        ("NABirds", "yes", 24633, 0, 555),
        ("CUB-200", "yes", 5794, 0, 200),
        ("iNat19-Birds", "yes", 14860, 0, 1486),
        ("RealBirdID", "no", 31885, 3253, 3442),
    ],
    columns=["Dataset", "Has Train Set?", "#A", "#UA", "# Species"],
)
TRAINED, SIZES = "Has Train Set?", ("#A", "#UA", "# Species")
DATES, LISTED = "dates", "range.candidates"  # a file of cases, and a column of the samples of species
PER_OBSERVATION, PER_GENUS = "observation", "genus"
NUMBER, TIMES = "Species", ("observed", "created")
COUNTS = ("count", "freq", "cdf")
COLOURS = ("tab:blue", "tab:orange")
SHARES = "freq: the share; cdf: of all down to this row."


def _pages_with(*protocols: str) -> Callable[[Runs, str | None], list[Page]]:
    """Return the selection of one page for each distinct data set that a case of some protocols is about."""

    def select(runs: Runs, _: str | None) -> list[Page]:
        pages: dict[tuple[str, str], Page] = {}
        for group in runs.groups:
            for case in group.with_protocols(*protocols).cases:
                if file := case.record.artifacts.get(GENERA):
                    pages.setdefault((group.title, file.sha256), create_page(group, case))
        return [*pages.values()]

    return select


def _size_cells(page: Page) -> pd.DataFrame:
    samples = page.samples(["subset", "species"])
    answerable = samples["subset"] == ANSWERABLE
    own = (page.title, "no", answerable.sum(), (~answerable).sum(), samples.loc[answerable, "species"].nunique())
    sizes = pd.concat([PUBLISHED, pd.DataFrame([own], columns=PUBLISHED.columns)], ignore_index=True)
    names = sizes[["Dataset"]].assign(row=0, Place=sizes.index)
    counts = [names.assign(column=name, count=sizes[name]) for name in SIZES]
    return pd.concat([names.assign(column=TRAINED, text=sizes[TRAINED]), *counts], ignore_index=True)


SIZE_TABLE = TableDefinition(
    name="realbirdid-data-sets",
    alias="realbirdid-T1",
    source=PAPER,
    summary="Answerable and unanswerable images and species, beside those of published data sets.",
    pages=_pages_with(SPECIES, FLAT, FREE),
    needs="counts the images of observations of birds, which the protocols species, flat_list and free_form list",
    command=COMMANDS[SPECIES],
    title="{page}: images and species beside those of published data sets",
    cells=_size_cells,
    rows=("Dataset",),
    order=("Place",),
    columns=(TRAINED, *SIZES),
    notes=(
        "#A, #UA: answerable and unanswerable images; # Species: species of the answerable ones.",
        "The last row is this data set, all others are the published ones.",
        COUNTED,
    ),
)


def _species_counts(page: Page) -> pd.DataFrame:
    """Return the number of listed species of each observation with a list, and that of species of each genus.

    Columns: `Of` (observation or genus) and `Species`. Images of an observation with different lists count each list.
    """
    lists = to_numbers(page.samples(["observation", LISTED]), [LISTED], np.int64)
    lists = lists[lists[LISTED] > 0].drop_duplicates(["observation", LISTED]).rename(columns={LISTED: NUMBER})
    genera = to_numbers(page.samples(["species"], GENERA), ["species"], np.int64).rename(columns={"species": NUMBER})
    both = [lists.assign(Of=PER_OBSERVATION), genera.assign(Of=PER_GENUS)]
    return pd.concat(both, ignore_index=True)[["Of", NUMBER]]


def _share_cells(numbers: pd.DataFrame, names: list[str], number: str) -> pd.DataFrame:
    """Return how often each number occurs under its names, its share, and the share of all numbers up to it."""
    counts = numbers.groupby([*names, number], sort=True).size().rename("count").reset_index()
    groups = counts.groupby(names)["count"]
    n = groups.transform("sum")
    shares = {"freq": counts["count"] / n, "cdf": groups.cumsum() / n}
    rows = counts[[*names, number]].assign(row=0)
    parts = [rows.assign(column=name, value=values, n=n) for name, values in shares.items()]
    return pd.concat([rows.assign(column="count", count=counts["count"]), *parts], ignore_index=True)


SPECIES_TABLE = replace(
    SIZE_TABLE,
    name="realbirdid-species-counts",
    alias="realbirdid-F13",
    summary="How many species the range list of an observation has, and how many a genus has.",
    pages=_pages_with(SPECIES),
    needs="counts the species of range lists and genera",
    command=COMMANDS[SPECIES],
    title="{page}: species per observation and per genus",
    cells=lambda page: _share_cells(_species_counts(page), ["Of"], NUMBER),
    rows=("Of", NUMBER),
    order=("Of", NUMBER),
    columns=COUNTS,
    formats={"freq": FRACTION, "cdf": FRACTION},
    notes=(
        "observation: species of its range list, of observations that have one; genus: its species in the taxonomy.",
        SHARES,
        COUNTED,
    ),
)


def _observation_years(page: Page) -> pd.DataFrame:
    """Return the year of each date of each observation: `Date` (observed or created), `Set` (A or UA) and `Year`."""
    dates = page.samples(["observation", "subset", *TIMES], DATES).drop_duplicates("observation")
    parts = [dates.assign(Date=name, Year=dates[name].str[:4]) for name in TIMES]
    years = pd.concat(parts, ignore_index=True)
    years = years.assign(Set=years["subset"].map(SYMBOLS))
    return years[years["Year"] != ""]


DATE_TABLE = replace(
    SPECIES_TABLE,
    name="realbirdid-dates",
    alias="realbirdid-F15",
    summary="The years in which observations were made, and in which they were entered.",
    pages=lambda runs, labels: [page for page in genus_pages(runs, labels) if DATES in page.cases[0].record.artifacts],
    needs="counts observations by year, and needs the columns observed_on or created_at of birds.csv",
    command="pytest -k realbirdid --eye-data=ROOT, with birds.csv of `eyechart birds import`",
    title="{page}: observations by year",
    cells=lambda page: _share_cells(_observation_years(page), ["Date", "Set"], "Year"),
    rows=("Date", "Set", "Year"),
    order=("Date", "Set", "Year"),
    notes=("observed: the day of the observation; created: the day on which it was entered.", SHARES, COUNTED),
)


def _draw_species(part: "SubFigure", page: Page, _: Runs) -> None:
    counts = _species_counts(page)
    for ax, name, colour in zip(part.subplots(1, 2), (PER_OBSERVATION, PER_GENUS), COLOURS, strict=True):
        numbers = counts.loc[counts["Of"] == name, NUMBER]
        ax.hist(numbers, bins=min(40, max(1, numbers.nunique())), histtype="stepfilled", color=colour)
        ax.set_xlabel(f"species per {name}", fontsize=8)
        ax.set_ylabel(f"number (n={len(numbers):,})", fontsize=8)
        ax.tick_params(labelsize=7)


def _draw_dates(part: "SubFigure", page: Page, _: Runs) -> None:
    years = _observation_years(page)
    for ax, name in zip(part.subplots(1, 2), TIMES, strict=True):
        for colour, (subset, dates) in zip(COLOURS, years[years["Date"] == name].groupby("Set"), strict=False):
            shares = dates["Year"].astype(int).value_counts(normalize=True).sort_index()
            label = f"{subset}, n={len(dates):,}"
            ax.plot(shares.index, 100 * shares, "o-", markersize=3, linewidth=0.8, color=colour, label=label)
        ax.set_xlabel(f"year {name}", fontsize=8)
        ax.set_ylabel("observations (%)", fontsize=8)
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.tick_params(labelsize=7)
        ax.legend(fontsize=7)


TABLES = (SIZE_TABLE, SPECIES_TABLE, DATE_TABLE)
FIGURES = tuple(
    BlockFigure(
        summary=table.summary,
        table=table,
        draw=draw,
        caption=lambda page: page.title,
        height=lambda _: 3.0,
        width=lambda _: 9,
    )
    for table, draw in ((SPECIES_TABLE, _draw_species), (DATE_TABLE, _draw_dates))
)
