"""Options of specifications: what a text becomes, what a refusal says, and what a list of options shows."""

from typing import Annotated, Any, Literal

import msgspec
import pytest

from eyechart.errors import SpecError
from eyechart.models.options import (
    Amount,
    Count,
    Fraction,
    ModelOptions,
    Number,
    Positive,
    described,
    names_of,
    rows_of,
)
from eyechart.models.spec import parse_spec


class Settings(ModelOptions):
    """An option of each kind."""

    top: Annotated[Count, described("number of classes")] = 10
    budget: Annotated[Number | None, described("most tokens", "no limit")] = None
    seats: Annotated[int, msgspec.Meta(ge=2, le=9)] = 4
    share: Annotated[Fraction, described("part of the images", "a half", "part")] = 0.5
    scale: Positive = 2.0
    price: Amount = 0.0
    fast: bool = False
    thinking: Literal["on", "off"] | None = None
    effort: Literal["medium", "low", "high"] | Count = "medium"
    name: str = ""
    more: Annotated[dict[str, Any], described("a setting")] = msgspec.field(default_factory=dict)

    def check(self, spec: Any) -> None:
        """Refuse two options together."""
        if self.fast and self.thinking == "on":
            raise SpecError(f"'{spec}' is fast and thinks. Leave out one of them.")


def read(options: str) -> Settings:
    return Settings.read(parse_spec(f"my[{options}]"))


def test_a_text_becomes_the_value_of_its_type() -> None:
    given = "top=3,budget=0,seats=9,share=1,scale=1e-3,price=0,fast=true,thinking=off,effort=high,name=7"
    expected = Settings(
        top=3, budget=0, seats=9, share=1.0, scale=0.001, price=0.0, fast=True, thinking="off", effort="high", name="7"
    )
    assert read(given) == expected
    assert read("effort=12") == Settings(effort=12)
    assert read("") == Settings()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("top=0", "a whole number of at least 1."),
        ("top=1.0", "a whole number of at least 1."),
        ("top=\u0663", "a whole number of at least 1."),
        ("budget=-1", "a whole number of at least 0."),
        ("seats=10", "a whole number from 2 to 9."),
        ("share=0", "a number above 0 and at most 1."),
        ("share=1.1", "a number above 0 and at most 1."),
        ("scale=0", "a number above 0."),
        ("scale=inf", "a number above 0."),
        ("price=-1", "a number of at least 0."),
        ("price=nan", "a number of at least 0."),
        ("fast=True", "true or false."),
        ("thinking=of", "on or off; did you mean off?"),
        ("effort=lov", "one of medium, low, high or a whole number of at least 1; did you mean low?"),
    ],
)
def test_another_value_is_refused_with_what_is_expected(given: str, expected: str) -> None:
    with pytest.raises(SpecError) as raised:
        read(given)
    assert str(raised.value) == f"'my[{given}]' has {given}. Expected {expected}"


def test_options_with_keys_are_read_as_json_or_text() -> None:
    assert read("more.a=true,more.b.c=[1],more.b.d=four").more == {"a": True, "b": {"c": [1], "d": "four"}}
    for given in ("more.a=1,more.a.b=2", "more.a.b=2,more.a=1"):
        with pytest.raises(SpecError, match=r"gives more\.a(\.b)? both a value and parts\. Leave out one of them\.$"):
            read(given)


def test_options_that_exclude_each_other_are_refused_by_their_struct() -> None:
    with pytest.raises(SpecError, match=r"'my\[fast=true,thinking=on\]' is fast and thinks"):
        read("fast=true,thinking=on")


def test_the_list_of_options_says_types_defaults_and_explanations() -> None:
    assert [tuple(row) for row in rows_of(Settings)] == [
        ("top", "whole number", "10", "number of classes"),
        ("budget", "whole number", "no limit", "most tokens"),
        ("seats", "whole number", "4", ""),
        ("share", "part", "a half", "part of the images"),
        ("scale", "number above 0", "2", ""),
        ("price", "number", "0", ""),
        ("fast", "true or false", "false", ""),
        ("thinking", "on, off", "", ""),
        ("effort", "medium, low, high or whole number", "medium", ""),
        ("name", "text", "", ""),
        ("more.KEY", "JSON or text", "", "a setting"),
    ]
    assert names_of(Settings)[-2:] == ["name", "more.KEY"]
