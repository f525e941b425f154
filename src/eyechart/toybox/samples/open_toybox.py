"""The packaged pictures of the toy world, under its own names and equivalences.

Splits: `sample`, in the styles that toy models train on; `sample-STYLE`, in a held-out one; `sample-scenes`, where the
original label is the main thing. A folder of a style may be absent.
"""

from pathlib import Path

from eyechart.data.dataset.dataset import Dataset, Row, build_label_set, build_original_labels
from eyechart.data.index.file_index import whole_file_source
from eyechart.data.splits.registry import PackagedSample
from eyechart.errors import DataError
from eyechart.samples.files import checksums, read_packaged, read_table
from eyechart.toybox.art.shapes import packaged_root, styles
from eyechart.toybox.art.toy_classes import equivalences, names
from eyechart.toybox.samples.drawn_splits import splits

Line = tuple[Row, Path, tuple[int, ...]]


def open_toybox(split: str, root: Path | None = None) -> Dataset:
    """Open a packaged split, every picture checked; `root` is another copy of it."""
    if split not in splits(root):
        raise DataError(f"The packaged toy world has no split '{split}'; it has {', '.join(splits(root))}.")
    root = root or packaged_root()
    lines = [line for style in styles(root) for line in _style(root / style, split)]
    index = tuple(row for row, _, _ in lines)
    source = f"packaged sample toybox/{split}"
    truths = (
        build_original_labels("toybox", index, [(row.label,) for row in index], source),
        build_label_set("multilabel", index, [labels for _, _, labels in lines], "correct", source),
    )
    return Dataset(
        benchmark="toybox",
        split=split,
        index=index,
        source=whole_file_source((row, path) for row, path, _ in lines),
        classes=len(names()),
        expected=len(lines),
        names=names(),
        label_sets={truth.name: truth for truth in truths},
        equivalences=equivalences(),
    )


def _style(folder: Path, split: str) -> list[Line]:
    """Read a style's pictures of the split, which must be those that were packaged."""
    return [_picture(folder, line) for line in read_table(folder, "pictures.csv") if line["split"] == split]


def _picture(folder: Path, line: dict[str, str]) -> Line:
    name = f"pictures/{line['file']}"
    path, labels = folder / name, tuple(map(int, line["labels"].split(";")))
    read_packaged(folder, name)
    key = f"{folder.name}/{path.stem}"
    return Row(key, path.name, checksums(folder)[name], int(line["label"])), path, labels


TOYBOX = PackagedSample(
    "Pictures of the toy world, which the packaged models know.",
    splits,
    open_toybox,
    ("open_clip[toybox-clip]", "conse[]", "hf[toybox-mllm]"),
)
