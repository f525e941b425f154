"""The interface of protocols: which combinations of options are cases, what these are called, what predictions say."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pytest

from eyechart.protocol.base import Predictions, Protocol, Rows
from eyechart.protocol.options import Option, OptionValues
from eyechart.results.records import OutcomeCounts


class Quiz(Protocol[Any]):
    """Asks in rounds, with a pause between them; a pause after one round changes nothing, and nine rounds are wrong."""

    name = "quiz"
    requires = ("generator", "classifier")
    replays = "quiz"
    options: ClassVar[tuple[Option, ...]] = (
        Option("rounds", "", "1"),
        Option("pause", "", "short"),
        Option("model", "", "none"),
    )

    def unused_options(self, options: OptionValues, *, replayed: bool) -> set[str]:
        return ({"pause"} if options["rounds"] == "1" else set()) | ({"model", "gone"} if replayed else set())

    def is_valid(self, options: OptionValues) -> bool:
        return options["rounds"] != "9"

    def predict(self, context: Any) -> Any:
        raise NotImplementedError


def cases(offered: tuple[str, ...] = (), **requested: tuple[str, ...]) -> list[str]:
    """The names of the cases."""
    return [Quiz().case_suffix(options) for options in Quiz().expand_grid(requested, offered)]


def test_every_combination_is_a_case_once_after_options_without_effect_are_at_their_defaults() -> None:
    assert cases() == [""]
    assert cases(rounds=("1", "2"), pause=("short", "long")) == ["", "rounds=2", "pause=long,rounds=2"]
    both = {"rounds": ("2",), "model": ("none", "a")}
    assert cases(**both) == ["rounds=2", "model=a,rounds=2"]
    assert cases(("said:quiz",), **both) == ["rounds=2"]
    assert cases(("said:other",), **both) == cases(**both)


def test_combinations_that_are_invalid_are_left_out_unless_none_is_left() -> None:
    assert cases(rounds=("9", "2")) == ["rounds=2"]
    assert cases(rounds=("9",), pause=("short", "long")) == ["rounds=9", "pause=long,rounds=9"]


@pytest.mark.parametrize(
    ("offered", "supported"),
    [({"classifier"}, True), ({"encoder"}, False), ({"said:quiz"}, True), ({"said:"}, False), (set(), False)],
    ids=str,
)
def test_one_capability_is_enough_and_a_file_of_its_completions(offered: set[str], supported: bool) -> None:
    assert Quiz().supports(offered) == supported


@dataclass(frozen=True)
class Said(Predictions):
    """Answers, of which some are missing."""

    keys: tuple[str, ...]
    errors: Mapping[int, str]
    variant: Mapping[str, str] = field(default_factory=dict)

    def label_hashes(self) -> Mapping[str, str]:
        return {}

    def count_outcomes(self) -> OutcomeCounts:
        return OutcomeCounts()

    def samples(self) -> Rows:
        yield from ()


def test_an_error_names_its_image_once_and_is_no_answer() -> None:
    said = Said(("a.png", "b.png", "c.png"), {2: "cannot be decoded", 0: "a.png is empty"})
    assert said.error_messages() == ["c.png: cannot be decoded", "a.png is empty"]
    np.testing.assert_array_equal(said.answered_images(), [0, 1, 0])
    assert said.describe_count() == "3 images"
