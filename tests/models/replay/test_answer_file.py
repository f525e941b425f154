"""Replayed completions are read as the same protocol reads a model's."""

import csv
from collections.abc import Sequence
from pathlib import Path

import pytest
from PIL import Image

import eyechart

FRUIT = ("apple", "pear", "lemon")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three pictures, each of another class."""
    for number, name in enumerate(FRUIT):
        path = tmp_path / "fruit" / "test" / name / "0.png"
        path.parent.mkdir(parents=True)
        Image.new("RGB", (16, 16), (number, 80, 80)).save(path)
    return tmp_path


def accuracy(folder: Path, protocol: str, answers: Sequence[str], **options: str) -> float:
    with (folder / "answers.csv").open("w", newline="", encoding="utf-8") as file:
        keys = [f"{name}/0.png" for name in FRUIT]
        csv.writer(file).writerows([("key", "answer"), *zip(keys, answers, strict=True)])
    run = eyechart.evaluate(
        f"replay[path={folder / 'answers.csv'},of={protocol}]",
        folder / "fruit" / "test",
        protocol=protocol,
        store=folder / "store",
        out=folder / "runs",
        progress=False,
        **options,
    )
    found = run.metrics[run.metrics.metric.eq("acc1") & run.metrics.protocol.eq(protocol)].value
    return float(found.iloc[0])


@pytest.mark.parametrize(
    "form",
    [
        '{"1": "%s"}',
        '```json\n{"1": "%s"}\n```',
        '{"answer": "%s"}',
        "%s",
        "The answer is %s.",
        "<think>pear?</think>%s",
        "%s<|im_end|>",
    ],
)
def test_every_form_of_a_models_answer_is_read(folder: Path, form: str) -> None:
    assert accuracy(folder, "closed_world", [form % name for name in FRUIT]) == 1


def test_an_answer_that_there_is_no_image_is_no_class(folder: Path) -> None:
    said = ['{"1": "apple"}', "I don't see any image, but it may be a pear.", "lemon"]
    assert accuracy(folder, "closed_world", said) == pytest.approx(2 / 3)
