"""Asking detectors and dividing: who is asked what, what is left out and said, and what is refused."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from eyechart.cli import main
from eyechart.data.dataset.dataset import Dataset
from eyechart.errors import DataError
from eyechart.inference.store.entries import Store
from eyechart.oodbench.data.annotation import Exclusion
from eyechart.oodbench.division.build import _table_row, summary_lines
from eyechart.oodbench.division.case_division import DivisionResult
from eyechart.oodbench.division.pairs import HARD_SAMPLES, ID, OOD_H, OOD_S
from tests.oodbench.division.judges import Bench, judges, sets

Make = Callable[..., Dataset]
NAN = float("nan")
SEEN = [[0, 0, 9], [9, 0, 0], [0, 9, 8], [0, 0, 0]]  # a detector's logits over cat, dog and crème brûlée
HERE = [[1, 0, 0], [1, 0, 0], [1, 2, 0], [1, 1, 1]]  # which of them are in the picture


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(Store(tmp_path / "store"))


def test_one_detector_flags_by_both_cases(bench: Bench, annotated: Make) -> None:
    found = bench(annotated(HERE), judges(SEEN))
    assert sets(found)[OOD_H] == [(0, 0), (2, 0)]  # beaten by the absent one, and too unlikely beside it
    assert found.division.flags[[name == OOD_H for name in found.division.sets]].tolist() == [[3], [2]]
    assert OOD_S not in sets(found)


def test_what_both_flag_is_hard_and_what_one_flags_is_simple(bench: Bench, annotated: Make) -> None:
    other = [[0, 0, 9], [0, 9, 0], [0, 0, 0], [9, 0, 0]]
    found = bench(annotated(HERE), judges(SEEN, other))
    assert sets(found)[OOD_H] == [(0, 0)]
    assert sets(found)[OOD_S] == [(1, 0), (2, 0)]
    assert len(sets(found)[ID]) == 2


def test_an_image_that_has_every_category_is_never_flagged(bench: Bench, annotated: Make) -> None:
    found = bench(annotated([[1, 1, 1]] * 4), judges(SEEN), threshold="1")
    assert set(found.division.sets) <= {ID}
    (note,) = found.division.notes
    assert note.startswith("4 × image without a category that is known to be absent: its pairs cannot be out of")
    assert note.endswith("the first is s00")


def test_it_is_said_that_nothing_is_known_to_be_absent_and_only_then(bench: Bench, annotated: Make) -> None:
    found = bench(annotated([[1, -1, -1], [1, 0, -1], [0, 0, 0], [-1, -1, -1]]), judges(SEEN))
    assert [note[:10] for note in found.division.notes] == ["1 × image "]


def test_what_nobody_looked_for_beats_nothing(bench: Bench, annotated: Make) -> None:
    found = bench(annotated([[1, 0, -1]]), judges([[2, 0, 9]]))
    assert OOD_H not in sets(found)


def test_a_broken_picture_is_left_out(bench: Bench, annotated: Make) -> None:
    found = bench(annotated(HERE, broken=frozenset({2})), judges(SEEN))
    assert [one.key for one in found.division.left_out] == ["s02"]
    assert _table_row(annotated(HERE), found)[1:3] == ("3", "5")  # images and their pairs


def test_pictures_without_annotation_are_refused(bench: Bench, pictures: Make) -> None:
    with pytest.raises(DataError, match="has no annotation of the categories in its images"):
        bench(pictures([0, 1]), judges(SEEN))


def test_the_parameters_are_what_was_done(bench: Bench, annotated: Make) -> None:
    found = bench(annotated(HERE), judges(SEEN), absent_categories="yes").division
    told = {
        "detectors": "judge[0]",
        "detector_templates": "1",
        "threshold": "0.25",
        "max_pairs": "3000",
        "absent_categories": "yes",
    }
    assert found.parameters == told | {"hard_samples": "none", "seed": "42"}
    assert found.detectors[0].spec == "judge[0]"


def test_how_images_were_chosen_is_told(bench: Bench, annotated: Make) -> None:
    found = bench(annotated(HERE).subsample(2, 42), judges(SEEN), limit=2).division
    assert (found.parameters["limit"], found.parameters["seed"]) == ("2", "42")


def test_absent_ones_that_win_are_taken_in(bench: Bench, annotated: Make) -> None:
    found = bench(annotated(HERE), judges(SEEN), absent_categories="yes").division
    absent = np.flatnonzero(~found.present)
    assert [(found.rows[at], found.categories[at], found.sets[at]) for at in absent] == [(0, 2, OOD_H)]


def mined_by(found: DivisionResult) -> list[tuple[int, int]]:
    return sets(found).get(HARD_SAMPLES, [])


def test_hard_samples_are_the_first_detectors_own(bench: Bench, annotated: Make) -> None:
    found = bench(annotated(HERE), judges(SEEN, SEEN[::-1]), hard_samples="own")
    assert mined_by(found) == [(3, 0), (2, 1)]
    assert any(note.startswith("1 × proposal left out of the hard samples") for note in found.division.notes)


def test_hard_samples_are_of_images_that_all_detectors_answered_about(bench: Bench, annotated: Make) -> None:
    found = bench(annotated(HERE), judges(SEEN, [*SEEN[:3], [NAN, 0, 0]]), hard_samples="own")
    assert mined_by(found) == [(2, 1), (1, 0)]


def test_the_summary_counts_both_benchmarks_and_names_exclusions(bench: Bench, annotated: Make) -> None:
    dataset = annotated(HERE, excluded=(Exclusion("box", "it is empty", 2, "7"),))
    found = bench(dataset, judges(SEEN), max_pairs="1", absent_categories="yes", hard_samples="own")
    assert _table_row(dataset, found) == ("imagenet/memory", "4", "7", "1", "0", "1", "0", "3")
    lines = [*summary_lines(dataset, found, Path("x.json"))]
    assert lines[1] == "  judge[0]: 2 of 7 pairs flagged (28.6%), 1 by case 1, 2 by case 2"
    assert lines[2:4] == ["  absent categories that a detector predicted as present: 1", "  hard samples: 2"]
    assert "  note: 2 × box left out: it is empty; the first is 7" in lines


def test_a_division_of_no_pairs_is_said(bench: Bench, annotated: Make) -> None:
    dataset = annotated([[0, 0, 0]] * 4)
    lines = [*summary_lines(dataset, bench(dataset, judges(SEEN)), Path("x.json"))]
    assert "  note: the division has no pairs, so that there are no questions" in lines


def test_a_split_that_is_not_whole_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mine" / "annotations" / "instances_val2017.json"
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    assert main(["divide", tmp_path, f"--out={tmp_path}"]) == 2
    assert "oodbench/mine: " in (complaint := capsys.readouterr().err)
    assert "no folder val2017" in complaint
