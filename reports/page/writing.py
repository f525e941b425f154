"""Writes the page: its fixed files, its data, its images."""

import shutil
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from eyechart.data.splits import available
from eyechart.errors import ReportError
from eyechart.paths import STORE

from ..proven import is_run, place_names
from ..runs import Pool, load
from ..verdicts import USUAL, Rule
from .albums import Album, Curator, Exhibit
from .before import earlier
from .changes import Places, Since, since
from .charts import confusions, coverages, protocols
from .chunks import FOLDER as DATA
from .chunks import write_chunk
from .exhibits import FOLDER as FIGURES
from .exhibits import write_figures, write_tables
from .shelving import write_album
from .summary import case_rows, metric_rows, run_rows, trend
from .thumbnails import Copier

SCHEMA = 1
FIXED = ("page.css", "page.js", "index.html")  # the last is written last
MARK = "a page of eyechart;"


@dataclass(frozen=True)
class Wish:
    """What is wanted: which runs, what they are compared with, where images are, how large copies are (0: none)."""

    runs: tuple[Path, ...]
    baseline: Path | None = None
    data: str | None = None
    store: Path = STORE
    side: int = 320
    figures: bool = True
    rule: Rule = USUAL

    @property
    def against(self) -> str:
        """What numbers are compared with, in a word."""
        if self.baseline is None:
            return "the run before"
        is_kept = not self.baseline.exists() or not is_run(self.baseline)
        return "/".join(self.baseline.parts[-2:]) if is_kept else place_names([self.baseline])[0]


def write(wish: Wish, folder: Path) -> list[str]:
    """Write the page into a folder, and return what there is to say about it."""
    available(wish.data)  # a root that is no folder is an error; a split that is not under it is left without images
    pool, curator = load(wish.runs), Curator(wish.data, wish.store)
    clear(folder)
    old = earlier(pool, wish.baseline, wish.runs)
    found = since(pool, old, wish.against, wish.rule, named=wish.baseline is not None)
    copier = Copier(folder, wish.side)
    shown: list[dict[str, Any]] = []
    places: dict[int, tuple[str, int, Exhibit]] = {}
    for number, album in enumerate(curator.albums(pool, found.previous)):
        shown.append(one_album(folder, number, album, copier, curator))
        places |= {id(exhibit.entry): (album.name, place, exhibit) for place, exhibit in enumerate(album.exhibits)}
    index = rest(folder, pool, wish, found, places)
    index["notes"] = [*pool.notes, *curator.said, *index["notes"]]
    write_chunk(folder, "index", index | {"albums": shown})
    for name in FIXED:
        shutil.copyfile(str(files(f"{__package__.rpartition('.')[0]}").joinpath("page_assets", name)), folder / name)
    return [*curator.said, *found.apart()]


def clear(folder: Path) -> None:
    """Take an earlier page's data away, but not its images; refuse a folder that holds something else."""
    index = folder / "index.html"
    if folder.is_dir() and any(folder.iterdir()):
        if not index.is_file() or MARK not in index.read_text("utf-8", "replace")[:500]:
            raise ReportError(f"{folder} holds something that is no page of eyechart. Give another folder as --out.")
        for name in (DATA, FIGURES):
            shutil.rmtree(folder / name, ignore_errors=True)


def one_album(folder: Path, number: int, album: Album, copier: Copier, curator: Curator) -> dict[str, Any]:
    """Write an album with its images, and what is drawn of it."""
    if broken := copier.copy_all(album):
        curator.said.append(f"{album.title}: {broken} images cannot be read and are not shown.")
    found = write_album(folder, number, album)
    write_chunk(folder, f"{found['home']}/charts", {"protocols": protocols(album), "confusions": confusions(album)})
    return found


def rest(folder: Path, pool: Pool, wish: Wish, found: Since, places: Places) -> dict[str, Any]:
    """Write what is not about single items, and return the index."""
    tables = write_tables(folder, pool)
    figures, notes = write_figures(folder, pool, tables) if wish.figures else ([], [])
    write_chunk(folder, "numbers", metric_rows(pool))
    write_chunk(folder, "changes", found.rows(pool, places))
    write_chunk(folder, "coverage", curves := coverages(pool))
    every = [(load([path]), path) for path in wish.runs]
    lines = trend([(*one.runs[0], [e for group in one.groups for e in group.entries]) for one, _ in every])
    write_chunk(folder, "trends", lines)
    return {
        "schema": SCHEMA,
        "runs": run_rows(pool.runs),
        "since": found.summary() if found.any else None,
        "side": wish.side,
        "cases": [row | found.of_case(entry, places) for entry, row in case_rows(pool, places)],
        "tables": tables,
        "figures": figures,
        "curves": bool(curves),
        "notes": notes,
    }
