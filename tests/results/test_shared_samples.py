"""Cases on different samples are compared on those that both have."""

from pathlib import Path
from typing import Any
from zlib import compress

import numpy as np
import pytest
from msgspec.structs import replace

from eyechart.data.dataset.dataset import hash_samples
from eyechart.errors import BaselineError
from eyechart.gate.comparison.compare_metrics import compare_metrics, differences
from eyechart.results.estimates import Estimate, Separation, score_estimates
from eyechart.results.evidence import Evidence, digest, pack_array
from eyechart.results.shared_samples import read_keys, share_samples, with_samples, write_samples
from eyechart.statistics.auroc import auroc

RIGHT = np.array([1, 1, 0, 1, 0, 1, 1, 0, 1, 1], np.float64)
SCORES = -np.linspace(0.1, 2, 12)


@pytest.fixture
def case(make: Any, share: Any, drawn: Any) -> Any:
    """The evidence of some of ten samples, whose images have a version."""

    def case(rows: list[int], right: Any = RIGHT, version: str = "a", **other: Any) -> Evidence:
        estimates = [
            *share(acc1=right[rows]),
            next(score_estimates("ImGT", SCORES[rows])),
            drawn(right[rows]),
        ]
        if "groups" in other:
            other["groups"] = other["groups"][rows]
        other = {"limit": len(rows) if len(rows) < len(RIGHT) else None, **other}
        evidence: Evidence = make(estimates, samples=len(rows), fingerprint=f"{rows}{version}", **other)
        keys = tuple(f"image {row}" for row in rows)
        images = [digest(f"{row}{version}".encode()) for row in rows]
        hashes = hash_samples(zip(keys, images, strict=True)).astype("<u8").tobytes()
        name = digest(hashes)
        return replace(evidence, keys=keys, arrays={**evidence.arrays, name: pack_array(hashes)}, sample_hashes=name)

    return case


def test_a_subset_has_the_area_of_its_samples(make: Any, case: Any) -> None:
    scores, positive = np.arange(10) * 7 % 10 / 10, RIGHT

    def with_area(rows: list[int]) -> Evidence:
        separation = Separation(scores[rows], positive[rows])
        estimate = Estimate(name="auroc", value=auroc(scores[rows], positive[rows]), n=len(rows), separation=separation)
        made, other = make([estimate], samples=len(rows)), case(rows)
        return replace(other, metrics=made.metrics, arrays={**other.arrays, **made.arrays})

    few = [7, 1, 4, 3]
    before, after, _ = share_samples(with_area([*range(10)]), with_area(few))
    assert before.metrics[0].value == after.metrics[0].value == auroc(scores[few], positive[few])
    (found,) = compare_metrics(before, after)
    assert (found.n, found.delta, found.p) == (4, 0, 1)


def test_a_subset_has_the_metrics_of_its_samples(case: Any) -> None:
    before, after, remark = share_samples(case([*range(10)]), case([7, 1, 4, 3], 1 - RIGHT))
    assert after.keys == ("image 7", "image 1", "image 4", "image 3")
    assert remark.startswith("compared on 4 shared samples (10 in the baseline, 4 now); 1 metric without an outcome")
    assert not differences(before, after)
    accuracy, score = compare_metrics(before, after)
    assert (accuracy.before, accuracy.after, accuracy.n) == (0.5, 0.5, 4)
    assert (accuracy.lost, accuracy.gained) == ((1, 3), 2)
    assert score.before == pytest.approx(SCORES[[7, 1, 4, 3]].mean(), abs=1e-6)
    assert (score.delta, score.p) == (0, 1)


def test_data_that_lost_samples_without_a_limit_are_refused(case: Any) -> None:
    whole, rest = case([*range(10)]), case([*range(9)], limit=None)
    assert share_samples(whole, rest) == (whole, rest, "")
    before, after, remark = share_samples(rest, whole)
    assert (before.samples, after.samples, remark != "") == (9, 9, True)


def test_two_subsets_share_what_both_have(case: Any) -> None:
    before, after, _ = share_samples(case([0, 1, 2, 3, 4, 5]), case([9, 5, 3, 8]))
    assert before.keys == after.keys == ("image 5", "image 3")
    assert before.fingerprint == after.fingerprint


def test_clusters_are_joined(case: Any) -> None:
    from eyechart.results.evidence import pack_clusters

    groups = np.arange(10) // 2
    sides = [
        replace(case(rows, right, groups=groups), clusters=digest(pack_clusters(groups[rows])))
        for rows, right in (([*range(10)], RIGHT), ([8, 9, 2, 3], 1 - RIGHT))
    ]
    before, after, _ = share_samples(*sides)
    accuracy, *_ = compare_metrics(before, after)
    assert (accuracy.n, accuracy.n_clusters, accuracy.method) == (4, 2, "exact sign flips of clusters")


@pytest.mark.parametrize("rows", [[10, 11], [0, 1]])
def test_other_images_and_no_shared_sample_are_refused(case: Any, rows: list[int]) -> None:
    right = np.resize(RIGHT, 12)
    whole, other = case([*range(10)]), case([row % 12 for row in rows], right, "b")
    if rows == [10, 11]:
        other = replace(other, arrays={}, sample_hashes="")
    before, after, remark = share_samples(whole, other)
    assert (before, after, remark) == (whole, other, "")
    assert any("fingerprint" in reason for reason in differences(before, after))


def test_hashes_are_in_one_file_beside_the_cases(case: Any, tmp_path: Path) -> None:
    whole = case([*range(10)])
    for _ in range(2):
        small = write_samples(whole, tmp_path)
    assert small.arrays.keys() == whole.arrays.keys() - {whole.sample_hashes}
    assert with_samples(small, tmp_path) == whole
    assert with_samples(small, tmp_path / "other") == small
    (keys,) = tmp_path.rglob("*.keys")
    read_keys.cache_clear()
    keys.write_bytes(compress(b'["a"]'))
    with pytest.raises(BaselineError, match=r"\.keys has 1 keys, expected 10\. Restore it"):
        with_samples(small, tmp_path)
    keys.write_bytes(b"x")
    with pytest.raises(BaselineError, match=r"\.keys is damaged: .*\. Restore it"):
        with_samples(small, tmp_path)
    keys.unlink()
    assert with_samples(small, tmp_path).keys == ()
    (file,) = tmp_path.rglob("*.bin")
    file.write_bytes(b"x" * 80)
    with pytest.raises(BaselineError, match=r"is damaged: the array .* has content with another digest"):
        with_samples(small, tmp_path)


@pytest.mark.parametrize("suffix", [".bin", ".keys"])
def test_a_pointer_in_place_of_the_samples_is_named(case: Any, tmp_path: Path, suffix: str) -> None:
    kept = write_samples(case([*range(10)]), tmp_path)
    (file,) = tmp_path.rglob(f"*{suffix}")
    file.write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    with pytest.raises(BaselineError, match=rf"{file.name} is a pointer of Git LFS .*git lfs pull"):
        with_samples(kept, tmp_path)
