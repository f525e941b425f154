"""Blanks: what a data set keeps and what it replaces."""

from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from eyechart.data.dataset.blanks import blank_image, blank_out, parse_blank
from eyechart.data.splits.open_split import list_splits, open_split
from eyechart.errors import SpecError


def test_a_blank_is_with_images_every_image_and_nothing_else_changes(tmp_path: Path) -> None:
    ref = next(ref for ref in list_splits(None) if f"{ref.benchmark}/{ref.split}" == "toybox/sample-cutouts")
    dataset = open_split(ref, tmp_path)
    blank = blank_out(dataset, "grey")
    assert blank.keys == dataset.keys
    assert [row.label for row in blank.index] == [row.label for row in dataset.index]
    assert blank.label_sets == dataset.label_sets
    assert {data for _, data in blank.read(range(3))} == {blank_image("grey")}
    assert blank.fingerprint != dataset.fingerprint  # so that no stored answer about images is taken for it
    assert blank.with_images is dataset


def test_blanks_are_what_they_are_called() -> None:
    pixels = {
        name: np.asarray(Image.open(BytesIO(blank_image(name)))) for name in ("black", "grey", "noise1", "noise2")
    }
    assert {*pixels["black"].ravel().tolist()} == {0}
    assert {*pixels["grey"].ravel().tolist()} == {128}
    assert len({*pixels["noise1"].ravel().tolist()}) == 256
    assert (pixels["noise1"] != pixels["noise2"]).mean() > 0.99


@pytest.mark.parametrize("name", ["white", "noise", "noise0", "noise12345", ""])
def test_what_is_no_blank_is_refused(name: str) -> None:
    with pytest.raises(SpecError, match=r"is no blank\. Expected black, grey, or noise1"):
        parse_blank(name)
