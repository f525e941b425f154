"""The list of classes of a recorded prompt is filled again only with the names that the record is about."""

from collections.abc import Callable
from typing import Any

import pytest

from eyechart.classification.protocols.closed_world import ClosedWorld
from eyechart.data.dataset.dataset import Dataset
from eyechart.data.labels.class_names import load_class_names

KISEL = load_class_names("kisel")
RECORDED = f"kisel ({KISEL.sha256[:8]})"
ASKED = "Choose one of {class_list}."


@pytest.fixture
def imagenet(pictures: Callable[..., Dataset]) -> Dataset:
    return pictures([0], classes=1000)


def slots(names: str, dataset: Dataset | None, text: str = ASKED, **variant: str) -> dict[str, str]:
    return ClosedWorld().prompt_slots(text, {"names": names, **variant}, dataset)


def test_packaged_names_are_listed_as_they_were_asked_for(imagenet: Dataset) -> None:
    assert slots(RECORDED, imagenet) == {"class_list": "\n".join(KISEL.names)}
    assert slots(RECORDED, imagenet, answer="constrained") == slots(RECORDED, imagenet)
    (listed,) = slots(RECORDED, imagenet, answer="id").values()
    assert listed.splitlines()[1] == f'1 – "{KISEL.names[1]}"'


def test_a_subset_of_classes_is_listed_alone(pictures: Callable[..., Dataset]) -> None:
    dataset = pictures([0], names=("cat", "dog", "owl"), subset=(0, 2))
    assert slots("split", dataset) == {"class_list": "cat\nowl"}


@pytest.mark.parametrize(
    "change",
    [
        {"text": "What is it?"},
        {"dataset": None},
        {"names": "kisel (00000000)"},
        {"names": "mine.txt (01234567)"},
        {"names": ""},
        {"names": "split"},  # which has none
    ],
    ids=str,
)
def test_names_that_are_not_known_are_not_listed(imagenet: Dataset, change: dict[str, Any]) -> None:
    assert slots(**{"names": RECORDED, "dataset": imagenet} | change) == {}


def test_names_of_another_number_of_classes_are_not_listed(pictures: Callable[..., Dataset]) -> None:
    assert slots(RECORDED, pictures([0])) == {}
