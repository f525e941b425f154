"""Results of another tool before they are a run: what is checked, sorted and left out, and names that are given."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from eyechart.errors import DataError, SpecError
from eyechart.interchange.results import (
    ImportedAnswer,
    ImportedCase,
    ImportedMetric,
    check_case,
    rename_case,
    set_direction,
)

NAN, INFINITY = float("nan"), float("inf")


def answered(*answers: tuple[str, int]) -> tuple[ImportedAnswer, ...]:
    return tuple(ImportedAnswer(key=key, content="", epoch=epoch) for key, epoch in answers)


def case(answers: tuple[ImportedAnswer, ...], *metrics: ImportedMetric) -> ImportedCase:
    return ImportedCase(
        tool="counter", source=Path("a.json"), benchmark="dots", split="test", model="eye", answers=answers,
        metrics=metrics,
    )  # fmt: skip


TWO = answered(("a", 0), ("b", 0))
HIT = ImportedMetric(name="hit", values={"a": 1.0, "b": 0.0}, printed=0.5)


def test_answers_are_sorted_by_numbers_in_their_keys_and_epochs() -> None:
    """So that two runs of a tool that asked in another order have the same order of samples."""
    shuffled = answered(("s10", 2), ("s9", 1), ("x", 1), ("s10", 1), ("s9", 2))
    checked = check_case(case(shuffled, replace(HIT, values={"s9": 1.0, "x": 0.25}, printed=None)))
    keys = [(answer.key, answer.epoch) for answer in checked.answers]
    assert keys == [("s9", 1), ("s9", 2), ("s10", 1), ("s10", 2), ("x", 1)]
    assert [sample.key for sample in checked.samples] == ["s9", "s10", "x"]
    assert np.array_equal(checked.values(checked.metrics[0]), [1.0, np.nan, 0.25], equal_nan=True)


@pytest.mark.parametrize(
    ("printed", "kept"), [(0.5, True), (None, True), (0.5 + 5e-7, True), (0.5 + 2e-6, False), (NAN, False)]
)
def test_a_metric_is_kept_if_its_mean_is_the_printed_one(printed: float | None, kept: bool) -> None:
    other = replace(HIT, name="other", printed=printed)
    checked = check_case(case(TWO, HIT, other))
    assert [metric.name for metric in checked.metrics] == ["hit", *(["other"] if kept else [])]
    assert len(checked.notes) == (not kept)


def test_values_that_are_no_numbers_do_not_count_and_a_metric_of_none_is_left_out() -> None:
    some = replace(HIT, values={"a": 1.0, "b": NAN}, printed=1.0)
    none = replace(HIT, name="none", values={"a": INFINITY, "b": -INFINITY})
    checked = check_case(replace(case(TWO, some, none), notes=("of the tool",)))
    assert [(metric.name, metric.values) for metric in checked.metrics] == [("hit", {"a": 1.0})]
    assert checked.notes == ("of the tool", "none is left out: it has no number for any sample")


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (case((), HIT), "a.json has no samples. Expected an answer to each sample: run the tool again so that it"),
        (case((*TWO, *TWO[:1]), HIT), "a.json has two answers to the sample 'a' in epoch 0. Expected one: remove one"),
        (replace(case(answered(("a", 0), ("a", 1)), HIT), expected=2), "1 of 2 samples are in the file a.json."),
        (
            replace(case(TWO, replace(HIT, printed=1.0)), notes=("read",)),
            (
                "a.json has no metric with a number for each sample. read. hit is left out: the tool printed 1, the "
                "mean of its samples is 0.5. Expected one whose mean is the number that the tool prints"
            ),
        ),
    ],
)
def test_a_case_that_cannot_be_used_is_refused(wrong: ImportedCase, sentence: str) -> None:
    with pytest.raises(DataError) as error:
        check_case(wrong)
    assert str(error.value).startswith(sentence)


def test_names_that_are_given_are_those_of_the_case() -> None:
    known = case(TWO, HIT)
    assert rename_case(known, None, None) == known
    assert rename_case(known, "other", None).title == "dots/test/other"
    assert rename_case(known, "other", None).model == "eye"  # as the tool names it
    assert rename_case(known, None, "shapes/val").title == "shapes/val/eye"


@pytest.mark.parametrize("name", ["shapes", "shapes/", "/val", "a/b/c", "sha pes/val", "-a/val", ""])
def test_a_benchmark_of_another_form_is_refused(name: str) -> None:
    with pytest.raises(SpecError) as error:
        rename_case(case(TWO, HIT), None, name)
    assert str(error.value) == (
        f"--benchmark is '{name}'. Expected a benchmark and a split of letters, digits, '_', '.' and '-', such "
        "as mmmu/validation."
    )


def test_lower_values_are_better_only_where_it_is_said() -> None:
    several = case(TWO, HIT, replace(HIT, name="length", higher_is_better=None), replace(HIT, name="loss"))
    directions = [metric.higher_is_better for metric in set_direction(several, ["length", "loss"]).metrics]
    assert directions == [True, False, False]
    with pytest.raises(SpecError) as error:
        set_direction(several, ["loss", "lenght"])
    assert str(error.value) == (
        "--lower-is-better: a.json has no metric 'lenght'; did you mean length? Its metrics are: hit, length, loss."
    )
