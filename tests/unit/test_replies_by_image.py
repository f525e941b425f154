"""Replies about one image each are stored by image: limits and seeds share them as far as the questions are equal."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eyechart.classification.closed_world import closed_world
from eyechart.classification.multiple_choice import mcq
from eyechart.classification.open_world import open_world
from eyechart.data.dataset import Dataset
from eyechart.inference.requests import Question, Questions
from eyechart.inference.runner import Asker
from eyechart.inference.store import Store
from eyechart.protocol.context import Sitting, ask
from eyechart.protocol.options import PROTOCOLS

COUNT, NAMES = 12, ("cat", "dog", "great white shark")
Sit = Callable[..., Sitting]


@pytest.fixture
def limited(tmp_path: Path, pictures: Callable[..., Dataset]) -> Sit:
    """Seat a model before a part of a split, under a protocol's defaults."""

    def limited(model: Any, limit: int | None, seed: int = 0, protocol: str = "closed_world", **more: Any) -> Sitting:
        dataset = pictures([row % 3 for row in range(COUNT)]).limited(limit, seed)
        asker = Asker(Store(tmp_path / more.pop("store", "store")), limit, seed, lambda *_: None)
        return Sitting(asker, model, dataset, NAMES, "mine", {**PROTOCOLS[protocol].defaults(), **more})

    return limited


def shown(model: Any) -> list[int]:
    """The images that a model was asked about."""
    return [number for numbers, _ in model.asked for number in numbers]


def name(numbers: tuple[int, ...], _: str) -> str:
    return f'{{"1": "{NAMES[numbers[0] % 3]}"}}'


@pytest.mark.parametrize(("protocol", "put"), [("closed_world", closed_world), ("open_world", open_world)])
def test_a_larger_limit_asks_only_about_new_images(limited: Sit, talker: Any, protocol: str, put: Any) -> None:
    first, second, third = talker(name), talker(name), talker(name)
    sittings = [
        limited(first, 5, 0, protocol, mapping="inclusion"),
        limited(second, 9, 1, protocol, mapping="inclusion"),
        limited(third, None, 2, protocol, mapping="inclusion"),
    ]
    found = [put(sitting) for sitting in sittings]
    few, more, _ = ({*sitting.dataset.selected} for sitting in sittings)
    assert {*shown(first)} == few
    assert {*shown(second)} == more - few
    assert {*shown(third)} == {*range(COUNT)} - more - few
    assert [each.top[:, 0].tolist() for each in found] == [[*map(int, sitting.labels)] for sitting in sittings]


def test_several_limited_steps_end_as_one_run(limited: Sit, talker: Any, tmp_path: Path) -> None:
    for limit in (3, 7, None):
        steps = closed_world(limited(talker(name), limit, seed=limit or 0))
    whole = closed_world(limited(talker(name), None, store="other"))
    assert contents(tmp_path / "store") == contents(tmp_path / "other")
    assert steps.spoken.said == whole.spoken.said


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != "lock"
    }


def test_options_that_another_seed_draws_are_asked_again(limited: Sit, talker: Any) -> None:
    first, same, other = (talker(lambda *_: "A") for _ in range(3))
    for model, limit, seed in ((first, None, 1), (same, 5, 1), (other, None, 2)):
        mcq(limited(model, limit, seed, "mcq"))
    assert (len(first.asked), same.asked) == (COUNT, [])
    assert {text for _, text in other.asked} - {text for _, text in first.asked}
    assert not {*other.asked} & {*first.asked}


def test_several_images_a_question_are_asked_as_a_whole(limited: Sit, talker: Any) -> None:
    pair = Questions("mine", (Question((0, 1, "Which?"), 16),))
    sitting = limited(model := talker(lambda *_: "two"), 4)
    ask(sitting, pair)
    ask(limited(model, 4, seed=1), pair)
    assert len(model.asked) == 2


def test_another_number_of_tokens_is_another_question(limited: Sit, talker: Any) -> None:
    sitting = limited(model := talker(lambda *_: "one"), None)
    for most in (16, 32):
        ask(sitting, Questions("mine", tuple(Question((row, "Which?"), most) for row in range(COUNT))))
    ask(sitting, replace(Questions("mine", (Question((3, "Which?"), 16),)), evaluation=1))
    assert len(model.asked) == 2 * COUNT + 1
