"""The pictures of a table are files, base64 texts, bytes or open pictures; each different one is there once."""

from base64 import b64encode
from collections.abc import Callable
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from PIL import Image

from eyechart.errors import DataError
from eyechart.questions.data.open_questions import open_question_frame
from eyechart.questions.data.question_set import find_questions
from tests.questions.conftest import png
from tests.questions.shelf import ROW, changed, opened

Shop = Callable[..., Path]


def test_pictures_lie_beside_the_table_or_above_it(shop: Shop) -> None:
    folder = shop([{**ROW, "image": name, "id": name} for name in ("1.png", "in.png", "above.png")])
    for path in (folder / "images/in.png", folder.parent / "above.png"):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(png(9))
    dataset = find_questions(opened(folder)).pictures
    assert [row.key for row in dataset.index] == ["1.png", "images/in.png"]  # two files with one picture are one


def test_pictures_are_base64_bytes_or_open(shop: Shop, tmp_path: Path) -> None:
    text = b64encode(png(7)).decode()
    (row,) = opened(shop([{**ROW, "image": text}], "tsv")).index
    held = {"bytes": png(7), "path": None}
    (other,) = opened(shop([{**ROW, "image": held}], "parquet", tmp_path / "more/myshop/shelf")).index
    frame = pd.DataFrame([{**ROW, "image": Image.open(BytesIO(png(7)))}])
    (shown,) = open_question_frame(frame, "myshop", "shelf").read([0])
    assert (row.sha256, other.sha256) == (sha256(png(7)).hexdigest(),) * 2
    assert Image.open(BytesIO(shown[1])).getpixel((0, 0)) == (7, 7, 7)


@pytest.mark.parametrize("written", ["{}", '"{}"', " {} ", "file://{}"])
def test_pictures_lie_anywhere_by_paths_as_tables_have_them(tmp_path: Path, written: str) -> None:
    (tmp_path / "a.png").write_bytes(png(7))
    frame = pd.DataFrame([{**ROW, "image": written.format(tmp_path / "a.png")}])
    assert len(open_question_frame(frame, "myshop", "shelf").index) == 1


BAD: dict[str, tuple[list[dict[str, Any]], str]] = {
    "a missing image": (changed(image="9.png"), r"line 3: there is no image 9\.png below .*shelf or .*Correct"),
    "an address": (changed(image="https://x.org/1.png"), r"line 3: the image is the URL .*Download it"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_picture_that_is_not_there_is_named_with_its_remedy(shop: Shop, name: str) -> None:
    rows, message = BAD[name]
    with pytest.raises(DataError, match=message):
        opened(shop(rows))
