"""Tests of `eyechart.results.run_names`."""

import pytest

from eyechart.evaluation.settings import Case
from eyechart.models.spec import parse_spec


def case(model: str, protocol: str = "zero_shot") -> Case:
    return Case("imagenet", "val", parse_spec(model), protocol)


@pytest.mark.parametrize(
    "other", [case("timm[a-b]"), case("timm[a/b]", "supervised"), case("timm[A/b]"), case(f"timm[a/b{'c' * 300}]")]
)
def test_no_two_cases_write_into_one_file(other: Case) -> None:
    assert other.slug.casefold() != case("timm[a/b]").slug.casefold()


def test_a_slug_is_a_file_name_anywhere() -> None:
    for one in (case(f"timm[{'é' * 90}/b c:d*é]"), case(f"open_clip[{'long' * 100},pretrained=../../x]")):
        assert len(one.slug.encode()) < 200
        assert not {*one.slug} & {*'/\\:*?"<>| []'}
        assert not one.slug.startswith(".")
