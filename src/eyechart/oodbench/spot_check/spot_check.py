"""Write the sheet of a spot check: random pairs out of distribution of a division, to be accepted or rejected."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from random import Random

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.splits.open_split import list_splits
from eyechart.errors import ReportError
from eyechart.files.folders import STORE
from eyechart.oodbench.division.division_files import DivisionFile, PairEntry, read_division, read_file
from eyechart.oodbench.division.flags import OUTSCORED, UNLIKELY, draw_sample
from eyechart.oodbench.division.pairs import OOD_H, OOD_S
from eyechart.oodbench.spot_check.sheet_files import sheet_id
from eyechart.reports.annotation.sheet import Sheet, open_checked_split, pictures, size_note, write_sheet
from eyechart.reports.tables.render import one_line

TITLE = "Is this pair out of distribution?"
OUT_OF_DISTRIBUTION = (OOD_S, OOD_H)
_UNFLAGGED = "does not flag it."
PRESENT: Mapping[int, str] = {
    0: _UNFLAGGED,
    OUTSCORED: "flags it: an absent category has a higher probability than every present one (case 1).",
    UNLIKELY: "flags it: the probability of this category is below {threshold} (case 2).",
    OUTSCORED | UNLIKELY: "flags it: an absent category has a higher probability than every present one (case 1), and "
    "the probability of this category is below {threshold} (case 2).",
}
ABSENT: Mapping[int, str] = {
    0: _UNFLAGGED,
    OUTSCORED: "flags it: this category has a higher probability than every present one (case 1).",
}


@dataclass(frozen=True)
class SpotCheckOptions:
    """The options of `eyechart divide check-sheet`."""

    data: str | None = None
    store: Path = STORE
    per_set: int = 50
    seed: int = 42


def write(path: Path, options: SpotCheckOptions, out: Path) -> str:
    """Write the sheet of a division file and return the message to print."""
    if options.per_set < 1:
        raise ReportError(f"--per-set is {options.per_set}, expected a number of pairs from 1 up.")
    division_file, data = read_file(path), path.read_bytes()
    dataset = open_data(division_file, options)
    rows = read_division(path, dataset).rows.tolist()
    indices = sample(division_file.pairs, options)
    if not indices:
        raise ReportError(f"{path} has no pairs out of distribution in the main benchmark: there is nothing to check.")
    division = sha256(data).hexdigest()
    about = {"division": division, "pairs": indices}
    items = [item(division_file, division_file.pairs[index]) for index in indices]
    sheet = Sheet("spot_check", TITLE, sheet_id(division, indices), {"items": items, "about": about})
    write_sheet(out, sheet, pictures(dataset, [rows[index] for index in indices]))
    counts_by_set = Counter(division_file.pairs[index].set for index in indices)
    counts = ", ".join(f"{name}: {counts_by_set[name]}" for name in OUT_OF_DISTRIBUTION)
    return (
        f"{out}: {len(indices)} pairs ({counts}), {size_note(out)}\n"
        f"Then: eyechart divide check-answers {path} answers-{sheet.id}.json --out=NEW.json"
    )


def open_data(division: DivisionFile, options: SpotCheckOptions) -> Dataset:
    """Open the images of the division."""
    parameters = {name: int(division.parameters[name]) for name in ("limit", "seed") if name in division.parameters}
    return open_checked_split(
        f"{division.benchmark}/{division.split}",
        list_splits(options.data),
        options.store,
        fingerprint=division.fingerprint,
        limit=parameters.get("limit"),
        seed=parameters.get("seed", 0),
        source="division",
    )


def sample(pairs: Sequence[PairEntry], options: SpotCheckOptions) -> list[int]:
    """Return the indices of random pairs of each set of the main benchmark, in random order."""
    indices: list[int] = []
    for name in OUT_OF_DISTRIBUTION:
        candidates = [index for index, pair in enumerate(pairs) if pair.set == name and pair.main]
        names = [f"{pairs[index].key}|{pairs[index].category}|{pairs[index].present}" for index in candidates]
        indices += [candidates[at] for at in draw_sample(names, options.per_set, options.seed, f"check|{name}")]
    return Random(f"{options.seed}|check").sample(indices, len(indices))


def item(division: DivisionFile, pair: PairEntry) -> dict[str, object]:
    """Return what the sheet shows of a pair."""
    return {
        "category": one_line(pair.category),
        "here": "annotated as being there" if pair.present else "annotated as not being there",
        "set": pair.set,
        "key": one_line(pair.key),
        "why": [*reasons(division, pair)],
    }


def reasons(division: DivisionFile, pair: PairEntry) -> Iterator[list[str]]:
    """Yield each detector with its reason for flagging a pair."""
    threshold = division.parameters.get("threshold", "the threshold")
    for detector, code in zip(division.detectors, map(int, pair.flags), strict=True):
        text = PRESENT[code] if pair.present else ABSENT[min(code, OUTSCORED)]
        yield [one_line(detector.spec), text.format(threshold=one_line(threshold))]
