"""Asking detectors and dividing: who is asked what, what is left out and said, and what is refused."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from eyechart.cli import main
from eyechart.data.dataset.dataset import Dataset
from eyechart.errors import DataError, ModelError, SpecError
from eyechart.inference.runner.runner import Runner
from eyechart.inference.store.entries import Store
from eyechart.models.types import Classifier, Encoder, Floats, Identity
from eyechart.oodbench.data.annotation import Exclusion
from eyechart.oodbench.division.build import summary_lines, table_row
from eyechart.oodbench.division.case_division import DivisionResult, compute_division
from eyechart.oodbench.division.pairs import HARD_SAMPLES, ID, OOD_H, OOD_S, LeftOutImage

Make = Callable[..., Dataset]
NAN = float("nan")
SEEN = [[0, 0, 9], [9, 0, 0], [0, 9, 8], [0, 0, 0]]  # a detector's logits over cat, dog and crème brûlée
HERE = [[1, 0, 0], [1, 0, 0], [1, 2, 0], [1, 1, 1]]  # which of them are in the picture


@dataclass
class Judge(Classifier):
    """Sees a picture's number and looks its logits up."""

    name: str
    logits: Sequence[Sequence[float]]
    batch_size: int = 2
    loads: int = 0
    asked: int = 0

    @property
    def identity(self) -> Identity:
        return Identity(
            backend="judge", name=self.name, weights_sha256="", dtype="", device="", processor={}, libraries={}
        )

    def prepare(self, image: Image.Image) -> int:
        return int(np.asarray(image)[0, 0, 0])

    def classify(self, images: Sequence[int]) -> Floats:
        self.asked += len(images)
        return np.array([self.logits[image] for image in images], np.float32)


@dataclass
class Reader(Encoder):
    """Sees every picture alike, and reads no word that begins with a d."""

    templates: str = "1"
    batch_size: int = 2
    loads: int = 0
    identity = Judge("reader", ()).identity
    prepare = Judge.prepare

    def encode_images(self, images: Sequence[int]) -> Floats:
        return np.ones((len(images), 2), np.float32)

    def encode_texts(self, texts: Sequence[str]) -> Floats:
        return np.array([[NAN if "dog" in text else 1, 1] for text in texts], np.float32)


@dataclass(frozen=True)
class Bench:
    """Divides pictures by judges."""

    store: Store

    def __call__(
        self, dataset: Dataset, judges: dict[str, Any], limit: int | None = None, **chosen: str
    ) -> DivisionResult:
        def ask(spec: str) -> Any:
            return judges[spec]

        chosen = {"detectors": "+".join(judges), "threshold": "0.25"} | chosen
        return compute_division(Runner(self.store, limit, 42, lambda *_: None), dataset, ask, chosen)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(Store(tmp_path / "store"))


def judges(*logits: Sequence[Sequence[float]]) -> dict[str, Judge]:
    return {f"judge[{index}]": Judge(f"judge[{index}]", each) for index, each in enumerate(logits)}


def sets(found: DivisionResult) -> dict[str, list[tuple[int, int]]]:
    """Each set's pairs."""
    one, kept = found.division, dict[str, list[tuple[int, int]]]()
    for index, name in enumerate(one.sets):
        kept.setdefault(name, []).append((int(one.rows[index]), int(one.categories[index])))
    return kept


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


def test_a_detector_is_asked_once_and_the_division_is_the_same(bench: Bench, annotated: Make) -> None:
    asked = judges(SEEN)
    first, second = bench(annotated(HERE), asked), bench(annotated(HERE), asked)
    assert asked["judge[0]"].asked == len(HERE)
    assert sets(first) == sets(second)


def test_an_image_without_numbers_is_left_out_counted_and_listed(bench: Bench, annotated: Make) -> None:
    found = bench(annotated(HERE), judges(SEEN, [SEEN[0], [NAN, 0, 0], *SEEN[2:]]))
    assert 1 not in found.division.rows
    (left,) = found.division.left_out
    assert left == LeftOutImage("s01", "judge[1]", left.reason)
    assert "judge[1] answered with NaN or infinity" in left.reason
    note, _ = found.division.notes
    assert note.startswith(
        "1 × image left out of the division: judge[1] has no logits; the first error is imagenet/memory:"
    )


def test_a_broken_picture_is_left_out(bench: Bench, annotated: Make) -> None:
    found = bench(annotated(HERE, broken=frozenset({2})), judges(SEEN))
    assert [one.key for one in found.division.left_out] == ["s02"]
    assert table_row(annotated(HERE), found)[1:3] == ("3", "5")  # images and their pairs


def test_no_numbers_at_all_are_refused(bench: Bench, annotated: Make) -> None:
    with pytest.raises(ModelError, match=r"judge\[0\] failed on 4 of 4, the first error is imagenet/memory: s00"):
        bench(annotated(HERE), judges([[NAN, 0, 0]] * 4))


def test_a_category_that_cannot_be_read_is_named(bench: Bench, annotated: Make) -> None:
    with pytest.raises(ModelError, match=r"judge\[\] gave NaN or infinity for 1 of 3 categories, the first 'dog'"):
        bench(annotated(HERE), {"judge[]": Reader()})


def test_another_vocabulary_is_refused(bench: Bench, annotated: Make) -> None:
    with pytest.raises(ModelError, match=r"has 1,000 classes, but imagenet/memory has 3 categories"):
        bench(annotated(HERE), judges(np.zeros((4, 1000)).tolist()))


def test_a_detector_named_twice_is_refused(bench: Bench, annotated: Make) -> None:
    with pytest.raises(SpecError, match=r"judge\[0\] is given 2 times"):
        bench(annotated(HERE), judges(SEEN), detectors="judge[0]+judge[ 0 ]")


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


def test_detections_of_a_file_are_named_by_their_bytes(bench: Bench, annotated: Make, tmp_path: Path) -> None:
    path = tmp_path / "found.json"
    path.write_text('[{"image_id": "id 0", "category_id": "c0", "score": 0.5}]')
    found = bench(annotated(HERE), judges(SEEN), hard_samples=str(path)).division
    assert found.parameters["hard_samples"] == f"found.json ({sha256(path.read_bytes()).hexdigest()[:8]})"
    assert found.sets.count(HARD_SAMPLES) == 1


def test_the_summary_counts_both_benchmarks_and_names_exclusions(bench: Bench, annotated: Make) -> None:
    dataset = annotated(HERE, excluded=(Exclusion("box", "it is empty", 2, "7"),))
    found = bench(dataset, judges(SEEN), max_pairs="1", absent_categories="yes", hard_samples="own")
    assert table_row(dataset, found) == ("imagenet/memory", "4", "7", "1", "0", "1", "0", "3")
    lines = [*summary_lines(dataset, found, Path("x.json"))]
    assert lines[1] == "  judge[0]: 2 of 7 pairs flagged (28.6%), 1 by case 1, 2 by case 2"
    assert lines[2:4] == ["  absent categories that a detector predicted as present: 1", "  hard samples: 2"]
    assert "  note: 2 × box left out: it is empty; the first is 7" in lines


def test_a_division_of_no_pairs_is_said(bench: Bench, annotated: Make) -> None:
    dataset = annotated([[0, 0, 0]] * 4)
    lines = [*summary_lines(dataset, bench(dataset, judges(SEEN)), Path("x.json"))]
    assert "  note: the division has no pairs, so that there are no questions" in lines


@pytest.mark.deep
def test_a_place_that_cannot_be_written_to_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    where = [f"--out={tmp_path / 'file'}", f"--store={tmp_path / 'store'}"]
    assert main(["divide", "--offline", "--limit=2", "--split=sample-lvis", *where]) == 2
    assert "cannot be used (Not a directory). Give folders that can be written to: --out=" in capsys.readouterr().err


REFUSED = {
    "--threshold=1.01": "expected a probability from 0 to 1, got '1.01'",
    "--threshold=nan": "expected a probability from 0 to 1, got 'nan'",
    "--max-pairs=0": "Invalid value for '--max-pairs': 0 is not in the range x>=1",
    "--limit=-3": "Invalid value for '--limit': -3 is not in the range x>=1",
    "--seed=x": "Invalid value for '--seed': 'x' is not a valid integer",
    "--detector=hf[toybox-mllm]": "--detector=hf[toybox-mllm] offers generator, scorer. Give an encoder",
    "--detector=open_clipp[a]": "did you mean open_clip",
    "--detector=conse[]+knn[]": "names several detectors. Repeat --detector for each of them.",
    "--detector=a[": "The model 'a[' cannot be read",
    "--templates=9": "The templates '9' are neither one of",
    "--split=sample-cooc": "did you mean sample-coco",
    "nowhere": "The data root nowhere is no folder",
}


@pytest.mark.parametrize("argument", REFUSED)
def test_the_command_refuses(argument: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["divide", argument]) == 2
    assert REFUSED[argument] in capsys.readouterr().err


def test_a_root_without_annotated_images_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["divide", tmp_path]) == 2
    assert f"There are no annotated images under {tmp_path}. Expected the folder of COCO" in capsys.readouterr().err


def test_a_split_that_is_not_whole_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mine" / "annotations" / "instances_val2017.json"
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    assert main(["divide", tmp_path, f"--out={tmp_path}"]) == 2
    assert "oodbench/mine: " in (complaint := capsys.readouterr().err)
    assert "no folder val2017" in complaint
