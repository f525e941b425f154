"""Convert an export of observations of iNaturalist to a data set folder.

Observations identified to the species are answerable. Observations identified to the genus are unanswerable if the file
of reasons has a reason for them. All others are excluded, counted and listed.
"""

import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.images import SUFFIXES
from eyechart.data.names import fold_name, is_system
from eyechart.data.tables import Table, check_unique, read_table
from eyechart.errors import DataError
from eyechart.realbirdid.data.bird_folder import open_birds
from eyechart.realbirdid.data.identifiers import canonical_key
from eyechart.realbirdid.data.observation_table import COLUMNS, parse_days, parse_reason
from eyechart.realbirdid.data.observations import DATES
from eyechart.realbirdid.data.ranges import parse_degrees
from eyechart.realbirdid.data.taxonomy import COMMON_NAME, GENUS, LEVELS, SPECIES, Taxonomy, read_taxonomy
from eyechart.samples.files import write_table

HYBRID, NO_TAXON = "a hybrid", "identified neither to the species nor to the genus"
NOT_RESEARCH_GRADE, NO_REASON = (
    "a species, but not of research grade",
    "a genus, and no line of the reasons is about it",
)
NOT_IN_TAXONOMY, GENUS_WITHOUT_SPECIES = "not in the taxonomy", "of a genus without a species in the list"
NO_IMAGE = "no picture of it in the folder"
_RESEARCH = "research"
RANKS = ("taxon_rank", "rank", "taxon.rank", "taxonrank", "taxon rank")
_SPECIES_RANKS = ("species", "subspecies", "variety", "form", "infraspecies")
_ABOVE_SPECIES = frozenset(
    {"complex", "aggregate", "agg", "section", "sect", "subgenus", "series", "sp", "spp", "group"}
)
_EPITHET = re.compile(r"[a-zà-ÿ]+(?:-[a-zà-ÿ]+)*")  # in lower case, without a point as in "sp."
_COPIED_COLUMNS = ("url", "image_url", "quality_grade", "license", *DATES)
_EXTRA_COLUMNS = ("photo_id", *_COPIED_COLUMNS)
_EXCLUDED_COLUMNS = ("line", "observation_id", "url", "scientific_name", "why")
PHOTO, OBSERVATION = "photo", "observation"
_NUMBER = re.compile(r"[^\W\d]*[_-]?0*(\d+)(?!\d)")


@dataclass(frozen=True)
class _ObservationImage:
    """An image file of an observation; `by_photo` if it is named by the id of the photo."""

    path: Path
    by_photo: bool


@dataclass(frozen=True)
class _SelectedObservation:
    """A selected observation: its row in the export, its names, and the reason if it is unanswerable."""

    row: int
    id: str
    species: str
    genus: str
    reason: str


@dataclass
class _Selection:
    """The selected observations, and the reason of exclusion by row for the others."""

    observations: list[_SelectedObservation] = field(default_factory=list)
    excluded: dict[int, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class ImportResult:
    """The new data set, and the number of excluded observations by reason."""

    dataset: Dataset
    observations: Sequence[_SelectedObservation]
    excluded: Mapping[str, int]
    notes: Sequence[str]


@dataclass(frozen=True)
class Export:
    """The table of an export, one row per observation."""

    table: Table

    @classmethod
    def read(cls, path: Path) -> "Export":
        """Read an export, and check that the ids are unique numbers."""
        table = read_table(path, ("id", "scientific_name"))
        check_unique(table, "id")
        for row, number in enumerate(table["id"]):
            if not number.isdecimal():
                raise DataError(
                    f"{table.location(row)} has the id '{number}', expected the observation's number: correct it."
                )
        return cls(table)

    def cell(self, row: int, column: str) -> str:
        """Return a cell, "" if the column does not exist."""
        return self.table[column][row] if column in self.table.columns else ""

    def taxon_name(self, row: int, level: str) -> str:
        """Return the name of the taxon at a level, "" if it is missing."""
        return self.cell(row, f"taxon_{level}_name")

    def species_and_genus(self, row: int) -> tuple[str, str]:
        """Return species and genus from their columns, else from a scientific name of two or more words.

        A taxon above the species, such as a complex, may have a name of two words, too: it has no species in its
        column, or another rank, or a word that is no epithet. Its genus is returned alone.
        """
        name, genus = self.taxon_name(row, SPECIES), self.taxon_name(row, GENUS)
        words = (name or self.cell(row, "scientific_name")).split()
        if len(words) > 1 and not (name or self._may_be_species(row, words[1])):
            return "", genus or words[0]
        if len(words) > 1:
            return " ".join(words[:2]), genus or words[0]
        return (f"{genus} {name}" if name and genus else ""), genus

    @cached_property
    def has_species(self) -> bool:
        """Whether species have a column of their own, which is filled for one at least."""
        return any(self.table.columns.get(f"taxon_{SPECIES}_name", ()))

    def _may_be_species(self, row: int, epithet: str) -> bool:
        """Return whether a scientific name of two words is one of a species, or of what is below it."""
        ranks = [rank for column in RANKS if (rank := fold_name(self.cell(row, column)))]
        words = {fold_name(word) for word in self.cell(row, COMMON_NAME).split()}
        return (
            not self.has_species
            and _EPITHET.fullmatch(epithet) is not None
            and epithet not in _ABOVE_SPECIES
            and words.isdisjoint(_ABOVE_SPECIES)
            and all(rank in _SPECIES_RANKS for rank in ranks)
        )

    def is_hybrid(self, row: int) -> bool:
        """Return whether the observation is a hybrid."""
        name = self.cell(row, "scientific_name").casefold()
        return bool(self.taxon_name(row, "hybrid")) or "×" in name or not {"x", "(hybrid)"}.isdisjoint(name.split())

    def is_research_grade(self, row: int) -> bool:
        """Return whether the observation is of research grade, also true without a column `quality_grade`."""
        return "quality_grade" not in self.table.columns or fold_name(self.cell(row, "quality_grade")) == _RESEARCH

    def photo_id(self, row: int) -> str:
        """Return the id of the photo, "" if there is none."""
        keys = (canonical_key(self.cell(row, "photo_id"), "photo"), canonical_key(self.cell(row, "image_url")))
        return next((key.partition(":")[2] for key in keys if key.startswith("photo:")), "")

    def coordinates(self, row: int) -> tuple[float | str, float | str]:
        """Return latitude and longitude, or two empty strings unless both are known."""
        if not (self.cell(row, "latitude") and self.cell(row, "longitude")):
            return "", ""
        return parse_degrees(self.table, row, "latitude"), parse_degrees(self.table, row, "longitude")


def import_birds(
    export: Path,
    images: Path,
    out: Path,
    *,
    reasons: Path | None = None,
    taxonomy: Path | None = None,
    any_grade: bool = False,
) -> ImportResult:
    """Write a data set folder from an export and its images, and open it.

    `taxonomy` is a table of the candidate species, by default those of the export. `any_grade` includes species that
    are not of research grade. Raises DataError for contradictory rows, and if no observation remains.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise DataError(f"{out} is there and not empty: give a new folder to write to.")
    table = Export.read(export)
    species_list = read_taxonomy(taxonomy) if taxonomy else None
    selection = _select_observations(
        table, _read_reasons(reasons) if reasons else {}, species_list, any_grade=any_grade
    )
    image_files = _find_images(table, selection, images)
    levels, rows = _taxa(table, selection, species_list)
    _check_any(selection, export)
    _check_cells(table, selection)
    with _draft(out, export) as draft:
        write_table(
            draft / "birds.csv", (*COLUMNS, *_EXTRA_COLUMNS), _copy_images(table, selection, image_files, draft)
        )
        write_table(draft / "taxonomy.csv", levels, rows)
        write_table(draft / "left_out.csv", _EXCLUDED_COLUMNS, _excluded_rows(table, selection))
        open_birds(draft, "realbirdid", out.name)
    dataset = open_birds(out, out.parent.name or "realbirdid", out.name)
    return ImportResult(dataset, selection.observations, Counter(selection.excluded.values()), selection.notes)


def _check_cells(export: Export, selection: _Selection) -> None:
    """Raise DataError, which names the line of the export, for a cell that cannot be taken as it is."""
    rows = [bird.row for bird in selection.observations]
    for column in DATES:
        if column in export.table.columns:
            parse_days(export.table, column, rows)
    for row in rows:
        export.coordinates(row)


@contextmanager
def _draft(out: Path, export: Path) -> Iterator[Path]:
    """Yield a folder beside `out` that becomes it, or is removed if it cannot be opened or written."""
    draft = out.parent / f".{out.name}.part"
    shutil.rmtree(draft, ignore_errors=True)
    try:
        draft.mkdir(parents=True)
        yield draft
        if out.exists():
            out.rmdir()
        draft.rename(out)
    except (DataError, OSError) as error:
        reason = str(error).replace(f"{draft}/", "the new ").replace(str(draft), "the new folder")
        raise DataError(f"{export} cannot be imported: {reason} Nothing was written to {out}.") from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _read_reasons(path: Path) -> dict[str, str]:
    """Read the reason of each unanswerable observation, "" if it is none of the three known reasons."""
    table = read_table(path, ("observation_id", "reason"))
    check_unique(table, "observation_id")
    for row, reason in enumerate(table["reason"]):
        parse_reason(table.location(row), reason)
    return dict(zip(table["observation_id"], map(fold_name, table["reason"]), strict=True))


def _select_observations(
    export: Export, reasons: Mapping[str, str], taxonomy: Taxonomy | None, *, any_grade: bool = False
) -> _Selection:
    """Return the selected observations, and why the other rows are excluded."""
    selection = _Selection()
    for row, number in enumerate(export.table["id"]):
        species, genus = export.species_and_genus(row)
        why = _exclusion_reason(export, row, species, genus, reasons, any_grade)
        bird = _SelectedObservation(row, number, species, genus, "" if species else reasons.get(number, ""))
        why = why or (_unknown_taxon(bird, taxonomy) if taxonomy else "")
        if why:
            selection.excluded[row] = why
        else:
            selection.observations.append(bird)
    unused = {*reasons} - {bird.id for bird in selection.observations if not bird.species}
    if unused:
        selection.notes.append(
            f"{len(unused):,} lines of the reasons are about no unanswerable observation of the export"
        )
    return selection


def _exclusion_reason(
    export: Export, row: int, species: str, genus: str, reasons: Mapping[str, str], any_grade: bool
) -> str:
    if export.is_hybrid(row):
        return HYBRID
    if species:
        return "" if any_grade or export.is_research_grade(row) else NOT_RESEARCH_GRADE
    if not genus:
        return NO_TAXON
    return "" if export.table["id"][row] in reasons else NO_REASON


def _unknown_taxon(bird: _SelectedObservation, taxonomy: Taxonomy) -> str:
    level, name = (0, bird.species) if bird.species else (1, bird.genus)
    return "" if fold_name(name) in taxonomy.index_by_name[level] else NOT_IN_TAXONOMY


def _find_images(export: Export, selection: _Selection, images: Path) -> dict[str, list[_ObservationImage]]:
    """Return the images of each observation, and exclude observations without any."""
    photos = {photo: bird.id for bird in selection.observations if (photo := export.photo_id(bird.row))}
    image_files = _images_by_observation(images, photos, [bird.id for bird in selection.observations])
    _exclude(selection, [bird for bird in selection.observations if bird.id not in image_files], NO_IMAGE)
    return image_files


def _exclude(selection: _Selection, birds: Sequence[_SelectedObservation], why: str) -> None:
    selection.excluded.update(dict.fromkeys((bird.row for bird in birds), why))
    selection.observations = [bird for bird in selection.observations if bird.row not in selection.excluded]


def _check_any(selection: _Selection, export: Path) -> None:
    if not selection.observations:
        counts = ", ".join(f"{why}: {count:,}" for why, count in Counter(selection.excluded.values()).most_common())
        raise DataError(f"Nothing of {export} can be taken ({counts}): look at the columns, pictures and reasons.")


def _taxa(
    export: Export, selection: _Selection, taxonomy: Taxonomy | None
) -> tuple[tuple[str, ...], list[dict[str, str]]]:
    """Return the columns and rows of the taxonomy, by default that of the export."""
    if taxonomy is not None:
        return (*taxonomy.levels, COMMON_NAME), [*_taxonomy_rows(taxonomy)]
    lines = _higher_taxa(export, selection)
    genera = {fold_name(line[GENUS]) for line in lines.values()}
    lone = [bird for bird in selection.observations if fold_name(bird.genus) not in genera]
    _exclude(selection, lone, GENUS_WITHOUT_SPECIES)
    levels = [level for level in LEVELS if level in (SPECIES, GENUS) or all(line[level] for line in lines.values())]
    columns = ("taxon_id", *levels, COMMON_NAME)
    called = dict(_common_names(export, selection))
    return columns, [{**line, **called.get(key, {})} for key, line in lines.items()]


def _taxonomy_rows(taxonomy: Taxonomy) -> Iterator[dict[str, str]]:
    for index, common in enumerate(taxonomy.common):
        above = zip(taxonomy.names, taxonomy.ancestors, strict=True)
        line = [names[indices[index]] for names, indices in above]
        yield dict(zip((*taxonomy.levels, COMMON_NAME), (*line, common), strict=True))


def _higher_taxa(export: Export, selection: _Selection) -> dict[str, dict[str, str]]:
    """Return the higher taxa of every species; raises DataError if two rows differ."""
    lines: dict[str, tuple[int, dict[str, str]]] = {}
    for bird in (bird for bird in selection.observations if bird.species):
        line = {level: export.taxon_name(bird.row, level) for level in LEVELS} | {
            SPECIES: bird.species,
            GENUS: bird.genus,
        }
        first, other = lines.setdefault(fold_name(bird.species), (bird.row, line))
        for level in LEVELS:
            if fold_name(other[level]) != fold_name(line[level]):
                raise DataError(
                    f"{export.table.location(bird.row)} has {bird.species} in the {level} '{line[level]}', and "
                    f"{export.table.row_label(first)} in '{other[level]}': correct one of them, or give --taxonomy."
                )
    return {name: line for name, (_, line) in lines.items()}


def _common_names(export: Export, selection: _Selection) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the taxon id and common name of every species, from rows that are no subspecies."""
    for bird in selection.observations:
        if fold_name(export.cell(bird.row, "scientific_name")) == fold_name(bird.species):
            yield fold_name(bird.species), {name: export.cell(bird.row, name) for name in ("taxon_id", COMMON_NAME)}


def _copy_images(
    export: Export, selection: _Selection, image_files: Mapping[str, Sequence[_ObservationImage]], out: Path
) -> Iterator[dict[str, object]]:
    """Copy every image into the folder and yield its row of the table."""
    (out / "images").mkdir(parents=True, exist_ok=True)
    for bird in selection.observations:
        for index, picture in enumerate(image_files[bird.id], 1):
            image = f"images/{bird.id}_{index}{picture.path.suffix.lower()}"
            shutil.copyfile(picture.path, out / image)
            sole = picture.by_photo or len(image_files[bird.id]) == 1
            yield _table_row(export, bird, image, export.photo_id(bird.row) if sole else "")


def _table_row(export: Export, bird: _SelectedObservation, image: str, photo: str) -> dict[str, object]:
    latitude, longitude = export.coordinates(bird.row)
    known = (image, bird.id, bird.species, bird.genus, int(bool(bird.species)), bird.reason, latitude, longitude, "")
    kept = {column: export.cell(bird.row, column) for column in _COPIED_COLUMNS}
    return {**dict(zip(COLUMNS, known, strict=True)), "photo_id": photo, **kept}


def _excluded_rows(export: Export, selection: _Selection) -> Iterator[dict[str, object]]:
    for row in sorted(selection.excluded):
        cells = (export.cell(row, "url"), export.cell(row, "scientific_name"), selection.excluded[row])
        yield dict(
            zip(_EXCLUDED_COLUMNS, (export.table.row_numbers[row], export.table["id"][row], *cells), strict=True)
        )


def _images_by_observation(
    folder: Path, photos: Mapping[str, str], observations: Sequence[str]
) -> dict[str, list[_ObservationImage]]:
    """Return the image files of every observation, in the order of their paths.

    `photos` maps photo ids to observation ids. An image is `17.jpg`, `17_2.jpg` or `17/medium.jpg`. The ids of photos
    and observations overlap: the kind that matches more files takes precedence, observations if they are equal.
    """
    files = _numbered_images(folder)
    known = {PHOTO: photos, OBSERVATION: {observation: observation for observation in observations}}
    count = {kind: sum(number in known[kind] for _, number in files) for kind in known}
    order = sorted(known, key=lambda kind: (-count[kind], kind))
    images: defaultdict[str, list[_ObservationImage]] = defaultdict(list)
    for path, number in files:
        kind = next((kind for kind in order if number in known[kind]), None)
        if kind is not None:
            images[known[kind][number]].append(_ObservationImage(path, kind == PHOTO))
    return dict(images)


def _numbered_images(folder: Path) -> list[tuple[Path, str]]:
    """Return every image below a folder with the number in its name, else in the name of its folder.

    Raises DataError if there is no such image.
    """
    if not folder.is_dir():
        raise DataError(f"--images={folder} is no folder: give the one that the pictures are in.")
    listed = (path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES and path.is_file())
    paths = sorted(path for path in listed if not any(map(is_system, path.relative_to(folder).parts)))
    images = [(path, match[1]) for path in paths if (match := _number(path))]
    if not images:
        raise DataError(
            f"{folder} has no picture that is named by a number: name them by the photo, as 17.jpg or 17/medium.jpg, "
            "or by the observation."
        )
    return images


def _number(path: Path) -> re.Match[str] | None:
    return _NUMBER.match(path.stem) or _NUMBER.fullmatch(path.parent.name)
