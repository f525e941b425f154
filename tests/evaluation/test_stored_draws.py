"""The file of a case's cached results: what is read is what was written, and a damaged file has none."""

from pathlib import Path

import numpy as np
import pytest

from eyechart.evaluation.stored_draws import StoredResults, results_path


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
