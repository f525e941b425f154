"""Details that a study's reader adds to a data set: rows, slices and limits by class follow them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eyechart.data.dataset.dataset import Dataset, Row, SliceVariable
from eyechart.data.index.file_index import whole_file_source
from eyechart.results.slices import slice_variables


@dataclass(frozen=True)
class Weather:
    """The weather of each image."""

    codes: tuple[int, ...]
    sha256: str = "0" * 64

    def select(self, rows: Sequence[int]) -> "Weather":
        return Weather(tuple(self.codes[row] for row in rows))

    def slice_variables(self) -> tuple[SliceVariable, ...]:
        return (SliceVariable("weather", ("rain", "sun"), np.array(self.codes)),)

    def image_classes(self) -> NDArray[np.int64]:
        return np.array(self.codes)

    def image_attributes(self) -> dict[str, NDArray[np.float64]]:
        return {}


def test_slices_and_limits_by_class_follow_the_details_of_another_package() -> None:
    index = tuple(Row(str(row), f"{row}.png", f"{row:064x}", -1) for row in range(6))
    whole = Dataset("streets", "all", index, whole_file_source(()), 2, details=Weather((0, 0, 0, 1, 1, 1)))
    some = whole.subsample("1/class", seed=1)
    (variable,) = slice_variables(some)
    assert (variable.name, variable.values, variable.codes.tolist()) == ("weather", ("rain", "sun"), [0, 1])
