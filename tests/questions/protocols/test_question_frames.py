"""Questions in memory: a data frame with open pictures and paths, and folders without a named protocol."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from PIL import Image

from eyechart.errors import DataError

FRAME = {"question": ["Which?", "Which?"], "answer": ["red", "blue"], "shelf": ["low", "low"]}


def say(numbers: tuple[int, ...], text: str) -> str:
    return {7: "red", 1: "green"}[numbers[0]]


def test_a_frame_has_pictures_and_paths(shop: Callable[..., Path], ask: Any, talker: Any) -> None:
    path = shop([{"image": "1.png", "question": "x", "answer": "x"}]) / "1.png"
    frame = pd.DataFrame({"image": [Image.new("RGB", (8, 8), (7, 7, 7)), str(path)], **FRAME})
    run = ask(talker(say), frame, name="m", data_name="myshop/shelf")
    assert run.samples.correct.tolist() == [1, 0]
    assert run.samples.case.unique().tolist() == ["myshop/shelf/m"]
    assert run.metrics.set_index(["metric", "subset"]).value["question_acc", "shelf=low"] == 0.5


def test_what_is_no_frame_is_refused(ask: Any, talker: Any) -> None:
    with pytest.raises(DataError, match=r"are a list\. Expected a pandas DataFrame with the columns image, question"):
        ask(talker(say), [1, 2])


def test_a_split_of_questions_is_asked_by_this_protocol_alone(shop: Callable[..., Path], ask: Any, talker: Any) -> None:
    folder = shop([{"image": "1.png", "question": "Which?", "answer": "green"}])
    for data, more in ((folder, {}), ("myshop/shelf", {"data_root": str(folder.parent.parent)})):
        run = ask(talker(say), data, protocol=(), name="m", **more)
        assert run.metrics.protocol.unique().tolist() == ["questions"]
