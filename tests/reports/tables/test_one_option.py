"""Cases of a model that differ in one option alone."""

from pathlib import Path
from typing import Any

from eyechart.reports.runs import load
from eyechart.reports.tables.one_option import OneOption, pages_of_option, read_option
from eyechart.reports.tables.registry import tables


def test_other_models_and_other_settings_are_other_rows(under: Any) -> None:
    folders = [
        under("a", range(4)),
        under("b", range(8)),
        under("a", range(4), model="conse[b]"),
        under("b", (), model="conse[b]"),
        under("a", (), templates="7"),
    ]
    (table,) = tables("wordings", load(folders))
    assert [row[:3] for row in table.rows] == [("conse[a]", "zero_shot", 2), ("conse[b]", "zero_shot", 2)]


def option_of(folders: list[Path], default: str = "") -> list[OneOption]:
    """What the models of the only page answered under each prompt."""
    (page,) = pages_of_option("prompt", default)(load(folders), None)
    return [*read_option(page, "prompt", default)]


def test_outcomes_are_of_the_images_that_every_case_answered(under: Any) -> None:
    (found,) = option_of([under("a", range(4), errors={0: "timeout", 9: "timeout"}), under("b", range(3, 8))])
    rows = [row for row in range(40) if row not in (0, 9)]
    assert found.samples.tolist() == rows
    assert dict(zip(found.values, found.outcomes.T.tolist(), strict=True)) == {
        "a": [row >= 4 for row in rows],
        "b": [row not in range(3, 8) for row in rows],
    }
    assert [*found.missing_notes()] == ["conse[a], zero_shot: 2 images left out that not every case answered."]


def test_an_image_that_no_case_answered_is_not_counted_as_missing(under: Any) -> None:
    (found,) = option_of([under(prompt, (), errors={5: "timeout"}) for prompt in "ab"])
    assert len(found.outcomes) == 39
    assert [*found.missing_notes()] == []


def test_with_a_default_each_model_must_have_it(under: Any) -> None:
    folders = [under("a", ()), under("b", ()), *(under(prompt, (), model="conse[b]") for prompt in "bc")]
    assert [{*one.values} for one in option_of(folders)] == [{"a", "b"}, {"b", "c"}]
    assert [(one.name, {*one.values}) for one in option_of(folders, "a")] == [("conse[a], zero_shot", {"a", "b"})]
    assert pages_of_option("prompt", "d")(load(folders), None) == []
