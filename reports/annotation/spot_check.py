"""The sheet of a spot check: a random sample of a division's pairs out of distribution, to be accepted or rejected."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from random import Random

from eyechart.data.dataset import Dataset
from eyechart.errors import ReportError
from eyechart.oodbench.division_files import File, Pair, read_division, read_file
from eyechart.oodbench.divisions import HARD, SIMPLE
from eyechart.oodbench.flags import BEATEN, UNLIKELY, drawn
from eyechart.paths import STORE

from ..render import one_line
from .sheet import Sheet, open_checked_split, pictures, size_note, write_sheet
from .spot_check_files import sheet_id

TITLE = "Is this pair out of distribution?"
OUT_OF_DISTRIBUTION = (SIMPLE, HARD)
UNFLAGGED = "does not flag it."
PRESENT: Mapping[int, str] = {
    0: UNFLAGGED,
    BEATEN: "flags it: to it, a category that is not there is likelier than every one that is (case 1).",
    UNLIKELY: "flags it: to it, this category is less probable than {threshold} (case 2).",
    BEATEN | UNLIKELY: "flags it: to it, a category that is not there is likelier than every one that is (case 1), and "
    "this one is less probable than {threshold} (case 2).",
}
ABSENT: Mapping[int, str] = {
    0: UNFLAGGED,
    BEATEN: "flags it: to it, this category is likelier than every one that is there (case 1).",
}


@dataclass(frozen=True)
class SpotCheckOptions:
    """What is asked for on the command line."""

    data: str | None = None
    store: Path = STORE
    per_set: int = 50
    seed: int = 42


def write(path: Path, wish: SpotCheckOptions, out: Path) -> str:
    """Write the sheet of a division file; return what there is to say."""
    if wish.per_set < 1:
        raise ReportError(f"--per-set is {wish.per_set}, expected a number of pairs from 1 up.")
    whole, data = read_file(path), path.read_bytes()
    dataset = open_data(whole, wish)
    rows = read_division(path, dataset).rows.tolist()
    chosen = sample(whole.pairs, wish)
    if not chosen:
        raise ReportError(f"{path} has no pairs out of distribution in the main benchmark: there is nothing to check.")
    division = sha256(data).hexdigest()
    about = {"division": division, "pairs": chosen}
    items = [item(whole, whole.pairs[place]) for place in chosen]
    sheet = Sheet("spot_check", TITLE, sheet_id(division, chosen), {"items": items, "about": about})
    write_sheet(out, sheet, pictures(dataset, [rows[place] for place in chosen]))
    of = Counter(whole.pairs[place].set for place in chosen)
    counts = ", ".join(f"{name}: {of[name]}" for name in OUT_OF_DISTRIBUTION)
    return (
        f"{out}: {len(chosen)} pairs ({counts}), {size_note(out)}\n"
        f"Then: python -m eyechart.reports checked {path} --answers=answers-{sheet.id}.json --out=NEW.json"
    )


def open_data(whole: File, wish: SpotCheckOptions) -> Dataset:
    """Open the images that were divided."""
    chosen = {name: int(whole.parameters[name]) for name in ("limit", "seed") if name in whole.parameters}
    return open_checked_split(
        f"{whole.benchmark}/{whole.split}",
        wish.data,
        wish.store,
        fingerprint=whole.fingerprint,
        limit=chosen.get("limit"),
        seed=chosen.get("seed", 0),
        who="division",
    )


def sample(pairs: Sequence[Pair], wish: SpotCheckOptions) -> list[int]:
    """Places of random pairs of each set of the main benchmark, in a random order of them all."""
    found: list[int] = []
    for name in OUT_OF_DISTRIBUTION:
        places = [place for place, pair in enumerate(pairs) if pair.set == name and pair.main]
        known = [f"{pairs[place].key}|{pairs[place].category}|{pairs[place].present}" for place in places]
        found += [places[at] for at in drawn(known, wish.per_set, wish.seed, f"check|{name}")]
    return Random(f"{wish.seed}|check").sample(found, len(found))


def item(whole: File, pair: Pair) -> dict[str, object]:
    """What the sheet says of a pair."""
    return {
        "category": one_line(pair.category),
        "here": "annotated as being there" if pair.present else "annotated as not being there",
        "set": pair.set,
        "key": one_line(pair.key),
        "why": [*reasons(whole, pair)],
    }


def reasons(whole: File, pair: Pair) -> Iterator[list[str]]:
    """What each detector says of a pair."""
    threshold = whole.parameters.get("threshold", "the threshold")
    for who, code in zip(whole.detectors, map(int, pair.flags), strict=True):
        said = PRESENT[code] if pair.present else ABSENT[min(code, BEATEN)]
        yield [one_line(who.spec), said.format(threshold=one_line(threshold))]
