"""A sheet of a drawn sample: which images are on it, what it offers, and which options are refused."""

from typing import Any

import pytest

from eyechart.reports.annotation.answer_files import key_path, read_key
from eyechart.reports.annotation.sample import allocate


def test_a_sheet_offers_what_all_models_and_labels_name(annotate: Any, sampled: Any) -> None:
    key = read_key(key_path(annotate("--sample=30")))
    offered = {sampled.keys[item.key]: {candidate.label for candidate in item.candidates} for item in key.items}
    shots = sampled.shots
    assert offered == {name: {s.original, *s.labels, s.model, s.second} for name, s in shots.items()}


@pytest.mark.parametrize(
    ("sizes", "n", "expected"),
    [([900, 60, 40], 60, [37, 12, 11]), ([10, 2], 11, [9, 2]), ([3, 3], 6, [3, 3]), ([5], 2, [2])],
)
def test_half_of_a_stratified_sample_is_divided_equally(sizes: list[int], n: int, expected: list[int]) -> None:
    assert allocate(sizes, n) == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--sample=31",), "--sample is 31, expected a number from 1 to 30, the images that ReGT scores."),
        (("--sample=0",), "--sample is 0, expected a number from 1 to 30"),
        (("--sample=9", "--sequential", "--draw=stratified"), "--sequential needs one sheet of a uniform draw"),
        (("--sample=9", "--sequential", "--part=1/2"), "--sequential needs one sheet of a uniform draw"),
        (("--sample=9", "--split=imagenet/tin"), "did you mean imagenet/tiny?"),
    ],
)
def test_wrong_options_are_refused(annotate: Any, options: tuple[str, ...], message: str) -> None:
    assert message in annotate(*options, code=2)
