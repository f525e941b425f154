"""Which image of a split a line of a file is about."""

from collections import Counter

from eyechart.data.dataset import Dataset


def keys_of(dataset: Dataset) -> dict[str, int]:
    """Rows of the index by key, and by file name where only one has it."""
    files = Counter(row.file for row in dataset.index)
    by_file = {row.file: place for place, row in enumerate(dataset.index) if files[row.file] == 1}
    return by_file | {row.key: place for place, row in enumerate(dataset.index)}
