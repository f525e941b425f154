"""A metric may return one value for each image: the mean, its interval, and what another run is compared by."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from eyechart.classification.answers.class_predictions import ClassPredictions, Targets
from eyechart.classification.protocols.zero_shot import ZeroShot
from eyechart.errors import ReportError
from eyechart.evaluation.case_result import CaseResult, StoredResults, results_path, sample_mean
from eyechart.results.estimates import Estimate
from eyechart.statistics.clusters import clustered_t_interval, clustered_wilson
from eyechart.statistics.intervals import t_interval, wilson

N = 40
RANDOM = np.random.default_rng(4)
SCORES = np.where(np.arange(N) % 5 == 2, np.nan, RANDOM.normal(3, 1, N))
OUTCOMES = np.where(np.arange(N) % 7 == 3, np.nan, RANDOM.integers(0, 2, N)).astype(np.float64)
PAIRS = np.arange(N) // 2


@pytest.fixture
def result(tmp_path: Path) -> CaseResult[Any]:
    """A case without any number."""
    keys = tuple(map(str, range(N)))
    predictions = ClassPredictions(keys, np.zeros((N, 3), np.float32), {}, {}, targets=Targets())
    nothing: Any = None
    case: Any = SimpleNamespace(protocol="zero_shot")
    settings: Any = type("Settings", (), {"seed": 7})
    return CaseResult(case, settings, nothing, nothing, ZeroShot(), predictions, tmp_path)


def test_values_of_images_become_one_estimate(result: CaseResult[Any]) -> None:
    def margin(_: ClassPredictions) -> np.ndarray:
        return SCORES

    (found,) = result.add([margin])
    assert result.estimates == [found]
    assert (found.name, found.title, found.n, found.higher_is_better) == ("margin", "margin", 32, True)
    assert found.value == pytest.approx(np.nanmean(SCORES))


def test_another_number_of_values_is_refused(result: CaseResult[Any]) -> None:
    def short(_: ClassPredictions) -> np.ndarray:
        return SCORES[1:]

    with pytest.raises(ReportError, match=r"metric short returned values of shape \(39,\)\. Expected \(40,\)"):
        result.add([short])


@pytest.mark.parametrize(("value", "kind"), [(0.0, "float"), ([0.5, 1.0], "float"), ("0.5", "str"), (None, "NoneType")])
def test_what_is_neither_values_nor_estimates_is_refused(result: CaseResult[Any], value: object, kind: str) -> None:
    def mine(_: ClassPredictions) -> Any:
        return value

    with pytest.raises(ReportError, match=rf"metric mine returned {kind}\. Expected an array of shape \(40,\)"):
        result.add([mine])


def test_a_value_beyond_the_range_of_its_definition_is_not_written(result: CaseResult[Any]) -> None:
    def nll(_: ClassPredictions) -> list[Estimate]:
        return [Estimate(name="mc_acc", value=1.5, n=N)]

    with pytest.raises(
        ReportError, match=r"'mc_acc' .* has the value 1\.5, and its definition has the range from 0 to"
    ):
        result.add([nll])


def test_outcomes_have_wilson_s_interval_and_are_compared_image_by_image() -> None:
    found, known = sample_mean("mine", "original", OUTCOMES, None, 0), OUTCOMES[~np.isnan(OUTCOMES)]
    assert found.method == "wilson"
    assert found.interval == pytest.approx(wilson(int(known.sum()), len(known)))
    assert found.correct is OUTCOMES
    assert found.bootstrap is None


def test_other_values_have_student_s_interval_and_are_resampled() -> None:
    found = sample_mean("mine", "original", SCORES, None, 0)
    assert (found.method, found.correct) == ("student", None)
    assert found.interval == pytest.approx(t_interval(SCORES[~np.isnan(SCORES)]))
    assert found.bootstrap is not None
    draws = found.bootstrap()
    assert draws.mean() == pytest.approx(np.nanmean(SCORES), abs=0.02)
    assert draws.std() == pytest.approx(np.nanstd(SCORES) / np.sqrt(found.n), rel=0.15)


@pytest.mark.parametrize(
    ("values", "interval", "method"),
    [(OUTCOMES, clustered_wilson, "clustered wilson"), (SCORES, clustered_t_interval, "clustered student")],
)
def test_the_unit_that_was_sampled_is_the_unit_of_the_interval(values: Any, interval: Any, method: str) -> None:
    found, known = sample_mean("mine", "original", values, PAIRS, 0), ~np.isnan(values)
    assert (found.method, found.n_clusters) == (method, len(np.unique(PAIRS[known])))
    assert found.interval == pytest.approx(interval(values[known], PAIRS[known]))


def test_nothing_known_has_no_value() -> None:
    found = sample_mean("mine", "original", np.full(3, np.nan), None, 0)
    assert (found.value, found.n, found.interval) == (None, 0, None)
    assert replace(found, name="other").key == ("other", "original", "all", "", "")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with two results."""
    path = results_path(tmp_path, "imagenet/val", 42)
    results = StoredResults(path)
    results["one"], results["table"] = np.array([0.1, np.nan]), np.arange(6.0).reshape(2, 3).T
    results.save()
    return path


def test_results_are_read_as_they_were_written(path: Path) -> None:
    results = StoredResults(path)
    for name, expected in (("one", [0.1, np.nan]), ("table", np.arange(6.0).reshape(2, 3).T)):
        np.testing.assert_array_equal(results.get(name), expected)
    assert results.get("another") is None


def test_a_result_that_was_not_used_is_deleted(path: Path) -> None:
    results = StoredResults(path)
    assert results.get("one") is not None
    results.save()
    assert StoredResults(path).get("table") is None
    assert StoredResults(path).get("one") is not None


def test_a_file_whose_results_were_all_used_is_not_written_again(path: Path) -> None:
    path.chmod(0o444)
    before, results = path.stat().st_mtime_ns, StoredResults(path)
    assert all(results.get(name) is not None for name in ("one", "table"))
    results.save()
    assert path.stat().st_mtime_ns == before


@pytest.mark.parametrize("damage", [lambda content: content[:-3], lambda content: content[:40] + b"x" + content[41:]])
def test_a_damaged_file_has_no_results_and_is_written_again(path: Path, damage) -> None:
    path.write_bytes(damage(path.read_bytes()))
    results = StoredResults(path)
    assert results.get("one") is None
    results["one"] = np.zeros(1)
    results.save()
    np.testing.assert_array_equal(StoredResults(path).get("one"), [0.0])


def test_a_folder_that_cannot_be_made_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("a file where the folder would be")
    results = StoredResults(results_path(tmp_path, "imagenet/val"))
    results["one"] = np.zeros(1)
    results.save()
    assert results.get("one") is not None


def test_other_cases_have_other_files(tmp_path: Path) -> None:
    named = [("a", 1, None), ("a", 1, 5), ("a", 2, None), ("b", 1, None)]
    assert len({results_path(tmp_path, *names) for names in named}) == len(named)
