"""A table becomes a data set with a sample for each question, and a row that is no question is named."""

from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from eyechart.errors import DataError
from eyechart.questions.data.question_set import find_questions
from tests.questions.shelf import ROW, changed, opened

Shop = Callable[..., Path]


def test_a_question_may_have_several_pictures(shop: Shop) -> None:
    rows = [
        {**ROW, "id": "a", "image": "1.png;2.png"},
        {**ROW, "id": "b", "image": "['2.png', '3.png']"},
        {**ROW, "id": "c", "image": "4.png"},
    ]
    dataset = opened(shop(rows))
    found = find_questions(dataset)
    assert [question.pictures for question in found.questions] == [(0, 1), (1, 2), (3,)]
    assert found.clusters.tolist() == [0, 0, 1]  # the first two share a picture
    ((_, shown),) = dataset.read([0])
    with Image.open(BytesIO(shown)) as image:
        assert (image.size, image.getpixel((0, 0)), image.getpixel((15, 0))) == ((16, 8), (1, 1, 1), (2, 2, 2))


BAD: dict[str, tuple[list[dict[str, Any]], str]] = {
    "no image": (changed(image=""), r"line 3 has no image\. Give the path"),
    "two ids": (changed(id="a"), r"line 3 has the id 'a', which line 2 has, too\. Give each question an id"),
    "a gap": ([{**ROW, "C": "grey", "B": ""}], r"line 2 has no option B, but a later one"),
    "one option": (changed(B=""), r"line 3 has one option\. Write two at least, or none"),
    "too many options": (
        [{"image": "1.png", "question": "Which?", "answer": "26", "choices": str([*map(str, range(27))])}],
        r"line 2 has 27 options\. Expected 26 at most, one for each letter",
    ),
    "no text": (changed(question=" "), r"line 3 has no text in the column question\. Write the question"),
    "a kind": (changed(kind="colour"), r"line 3 has the kind 'colour'\. Expected one of choice"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_row_is_named_with_its_remedy(shop: Shop, name: str) -> None:
    rows, message = BAD[name]
    with pytest.raises(DataError, match=message):
        opened(shop(rows))
