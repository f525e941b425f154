"""The comparison of decoders sees equal pixels, and one that differs."""

import numpy as np
import pytest
from PIL import Image

from tests.speed.decoders import Pixels, by_pillow, compare, encodings


@pytest.fixture
def files() -> list[tuple[str, bytes]]:
    draws = np.random.default_rng(0)
    return [*encodings(Image.fromarray(draws.integers(0, 256, (24, 32, 3), dtype=np.uint8)))]


def test_photographs_are_encoded_in_many_ways(files: list[tuple[str, bytes]]) -> None:
    kinds = {kind for kind, _ in files}
    assert kinds >= {"4:4:4", "4:2:0 progressive", "grey", "4:2:0, odd sides"}
    assert len({data for _, data in files}) == len(files)
    assert {by_pillow(data).shape for kind, data in files if kind == "4:2:0, odd sides"} == {(23, 31, 3)}


def test_a_decoder_is_equal_to_itself(files: list[tuple[str, bytes]]) -> None:
    counts, largest = compare(by_pillow, files)
    assert largest == 0
    assert all(equal == total for equal, total in counts.values())


def test_one_other_pixel_makes_a_file_unequal(files: list[tuple[str, bytes]]) -> None:
    def decode(data: bytes) -> Pixels:
        pixels = by_pillow(data).copy()
        pixels[3, 5, 1] ^= 4
        return pixels

    counts, largest = compare(decode, files)
    assert largest == 4
    assert all(equal == 0 for equal, _ in counts.values())
