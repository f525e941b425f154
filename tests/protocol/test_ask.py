"""Responses are stored request by request: limits and seeds share them where the requests are equal."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eyechart.classification.protocols.closed_world import ClosedWorld
from eyechart.classification.protocols.mcq import MillMCQ
from eyechart.classification.protocols.open_world import OpenWorld
from eyechart.data.dataset.dataset import Dataset
from eyechart.inference.requests.text_requests import TextRequest
from eyechart.inference.runner.runner import Runner
from eyechart.inference.store.entries import Store
from eyechart.protocol.ask import ask
from eyechart.protocol.context import Context
from eyechart.protocol.registry import get_protocol

COUNT, NAMES = 12, ("cat", "dog", "great white shark")
Sit = Callable[..., Context]


@pytest.fixture
def limited(tmp_path: Path, pictures: Callable[..., Dataset]) -> Sit:
    """Seat a model before a part of a split, under a protocol's defaults."""

    def limited(model: Any, limit: int | None, seed: int = 0, protocol: str = "closed_world", **more: Any) -> Context:
        dataset = pictures([row % 3 for row in range(COUNT)]).subsample(limit, seed)
        runner = Runner(Store(tmp_path / more.pop("store", "store")), limit, seed, lambda *_: None)
        return Context(runner, model, dataset, NAMES, "mine", {**get_protocol(protocol).defaults(), **more})

    return limited


def shown(model: Any) -> list[int]:
    """The images that a model was asked about."""
    return [number for numbers, _ in model.asked for number in numbers]


def name(numbers: tuple[int, ...], _: str) -> str:
    return f'{{"1": "{NAMES[numbers[0] % 3]}"}}'


@pytest.mark.parametrize(
    ("protocol", "put"), [("closed_world", ClosedWorld().predict), ("open_world", OpenWorld().predict)]
)
def test_a_larger_limit_asks_only_about_new_images(limited: Sit, talker: Any, protocol: str, put: Any) -> None:
    first, second, third = talker(name), talker(name), talker(name)
    sittings = [
        limited(first, 5, 0, protocol, mapping="inclusion"),
        limited(second, 9, 1, protocol, mapping="inclusion"),
        limited(third, None, 2, protocol, mapping="inclusion"),
    ]
    found = [put(context) for context in sittings]
    few, more, _ = ({*context.dataset.selected} for context in sittings)
    assert {*shown(first)} == few
    assert {*shown(second)} == more - few
    assert {*shown(third)} == {*range(COUNT)} - more - few
    assert [each.top[:, 0].tolist() for each in found] == [[*map(int, context.labels)] for context in sittings]


def test_several_limited_steps_end_as_one_run(limited: Sit, talker: Any, tmp_path: Path) -> None:
    for limit in (3, 7, None):
        steps = ClosedWorld().predict(limited(talker(name), limit, seed=limit or 0))
    whole = ClosedWorld().predict(limited(talker(name), None, store="other"))
    assert contents(tmp_path / "store") == contents(tmp_path / "other")
    assert steps.texts.completions == whole.texts.completions


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != "lock"
    }


def test_options_that_another_seed_draws_are_asked_again(limited: Sit, talker: Any) -> None:
    first, same, other = (talker(lambda *_: "A") for _ in range(3))
    for model, limit, seed in ((first, None, 1), (same, 5, 1), (other, None, 2)):
        MillMCQ().predict(limited(model, limit, seed, "mcq"))
    assert (len(first.asked), same.asked) == (COUNT, [])
    assert {text for _, text in other.asked} - {text for _, text in first.asked}
    assert not {*other.asked} & {*first.asked}


def test_several_images_are_one_request_whatever_the_limit(limited: Sit, talker: Any) -> None:
    pair = [TextRequest((0, 1, "Which?"), 16)]
    model = talker(lambda *_: "two")
    ask(limited(model, None), pair)
    ask(limited(model, None, seed=1), pair)
    assert len(model.asked) == 1
    few = limited(model, 4)
    ask(few, pair)
    assert len(model.asked) == 1 + (few.dataset.selected[:2] != (0, 1))


def test_another_number_of_tokens_is_another_question(limited: Sit, talker: Any) -> None:
    context = limited(model := talker(lambda *_: "one"), None)
    for most in (16, 32):
        ask(context, [TextRequest((row, "Which?"), most) for row in range(COUNT)])
    ask(context, [TextRequest((3, "Which?"), 16, epoch=1)])
    assert len(model.asked) == 2 * COUNT + 1
