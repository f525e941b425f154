"""A data set in a format of your own: here one JSON file with base64 images, packaged or below the data root."""

import base64
import json
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path

from eyechart.data.dataset.dataset import Dataset, Row, build_original_labels
from eyechart.data.splits.registry import SplitRef

NAMES = ("red", "green", "blue")


class Images:
    """Decoded bytes of the images of a file, in the order of the index; `numbers` are their positions in the file."""

    def __init__(self, path: Path, images: Sequence[bytes], numbers: Sequence[int]) -> None:
        self.path, self.images, self.numbers = path, images, numbers

    def read(self, rows: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        """Yield the bytes of the images that are asked for."""
        yield from ((row, self.images[row]) for row in rows)

    def part(self, rows: Sequence[int]) -> "Images":
        """Return some of the images, such as those that one process is asked about."""
        return Images(self.path, [self.images[row] for row in rows], [self.numbers[row] for row in rows])

    def location(self, row: int) -> str:
        """Return where an image is, for messages."""
        return f"{self.path}, image {self.numbers[row]}"


class SwatchSource:
    """One split for each JSON file: a list of [class index, base64 PNG]."""

    folder = Path(__file__).parent
    summary = "Swatches of three colours."
    expected = "swatches.json"

    @property
    def splits(self) -> tuple[str, ...]:
        """The names of the splits."""
        return tuple(sorted(path.stem for path in self.folder.glob("*.json")))

    def dataset(self, split: str) -> Dataset:
        """Open a packaged split."""
        return self.open_file(self.folder / f"{split}.json", "swatches", split)

    def recognises(self, folder: Path, _root: Path) -> Sequence[SplitRef]:
        """Return the split of a folder that has a file swatches.json."""
        if not (folder / self.expected).is_file():
            return ()
        return (SplitRef("swatches", folder.name, "swatches", str(folder)),)

    def open_folder(self, ref: SplitRef, _cache: Path | None) -> Dataset:
        """Open a split of the user."""
        return self.open_file(Path(ref.location) / self.expected, ref.benchmark, ref.split)

    def open_file(self, path: Path, benchmark: str, split: str) -> Dataset:
        """Open a JSON file."""
        lines = json.loads(path.read_text(encoding="utf-8"))
        images = [base64.b64decode(image) for _, image in lines]
        index = tuple(
            Row(f"{position:03d}", f"{position:03d}.png", sha256(image).hexdigest(), label)
            for position, ((label, _), image) in enumerate(zip(lines, images, strict=True))
        )
        labels = build_original_labels(benchmark, index, [[row.label] for row in index], path.name)
        source = Images(path, images, range(len(images)))
        return Dataset(benchmark, split, index, source, len(NAMES), names=NAMES, label_sets={labels.name: labels})


SWATCHES = SwatchSource()
