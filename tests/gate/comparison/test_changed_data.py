"""Data that changed are named: images and classes that were added, lost, replaced or renamed."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from eyechart.data.dataset.dataset import hash_samples
from eyechart.gate.baselines.baseline_files import read_baseline, write_baselines
from eyechart.gate.comparison.changed_data import describe_changed_samples
from eyechart.gate.session.compare_cases import CasePair, compare_cases
from eyechart.gate.verdicts.decide import Rule
from eyechart.results.evidence import Evidence, digest, pack_array
from eyechart.results.shared_samples import with_samples

PETS = {f"{name}/{number}.png": f"{name} {number}" for name in ("cat", "dog") for number in range(4)}


@pytest.fixture
def case(make: Any, share: Any) -> Callable[[Mapping[str, str]], Evidence]:
    """The evidence of samples, by key the content of each image."""

    def case(samples: Mapping[str, str]) -> Evidence:
        made: Evidence = make(share(acc1=[1.0] * len(samples)), fingerprint=str(samples))
        hashes = hash_samples((key, digest(image.encode())) for key, image in samples.items()).astype("<u8").tobytes()
        name = digest(hashes)
        return replace(
            made, keys=tuple(samples), arrays={**made.arrays, name: pack_array(hashes)}, sample_hashes=name
        )  # fmt: skip

    return case


def without(*keys: str) -> dict[str, str]:
    return {key: image for key, image in PETS.items() if key not in keys}


@pytest.mark.parametrize(("now", "said"), [
    ({key.replace("dog", "hound"): image for key, image in PETS.items()},
     ["class renamed: dog in the baseline, hound now (4 images)"]),
    (without("cat/0.png", "dog/3.png"), ["2 images lost, in the baseline and not now: cat/0.png, dog/3.png"]),
    (PETS | {"cat/new.png": "new"}, ["1 image added, now and not in the baseline: cat/new.png"]),
    (PETS | {"dog/1.png": "another"}, ["1 image replaced by another one of the same name: dog/1.png"]),
    ({key: image for key, image in PETS.items() if key[0] == "c"},
     ["class lost: dog (4 images), in the baseline and not now"]),
    (PETS | {"ant/0.png": "ant"}, ["class added: ant (1 image), now and not in the baseline"]),
    (without("cat/0.png") | {"cat/first.png": "cat 0"},
     ["1 image renamed: cat/0.png in the baseline, cat/first.png now"]),
    (without("cat/0.png") | {"dog/cat0.png": "cat 0"},
     ["1 image renamed: cat/0.png in the baseline, dog/cat0.png now"]),
    (dict(reversed(PETS.items())), ["the same images in another order"]),
    (PETS | {f"ant/{number}.png": f"ant {number}" for number in range(9)} | {"dog/1.png": "another"},
     ["class added: ant (9 images), now and not in the baseline",
      "1 image replaced by another one of the same name: dog/1.png"]),
    (PETS, []),
])  # fmt: skip
def test_what_changed_is_named(case: Any, now: dict[str, str], said: list[str]) -> None:
    assert describe_changed_samples(case(PETS), case(now)) == said


def test_many_images_are_counted(case: Any) -> None:
    now = PETS | {f"cat/more{number:02}.png": f"more {number}" for number in range(20)}
    (said,) = describe_changed_samples(case(PETS), case(now))
    assert said.startswith("20 images added, now and not in the baseline: cat/more00.png, cat/more01.png,")
    assert said.endswith("cat/more04.png and 15 more")


def test_equal_pictures_are_not_taken_for_renamed_ones(case: Any) -> None:
    before, now = {"cat/0.png": "x", "cat/1.png": "x"}, {"cat/2.png": "x", "cat/3.png": "x"}
    assert len(describe_changed_samples(case(before), case(now))) == 2


def test_a_baseline_that_was_written_has_the_names(case: Any, tmp_path: Path) -> None:
    (written,) = write_baselines(tmp_path, [case(PETS)])
    (kept,) = read_baseline(written.path).cases
    assert kept.keys == ()
    (said,) = describe_changed_samples(with_samples(kept, written.path.parent), case(without("dog/0.png")))
    assert said == "1 image lost, in the baseline and not now: dog/0.png"


def test_runs_that_cannot_be_compared_name_it_too(case: Any) -> None:
    key = ("pets/test/m[]", "zero_shot")
    pair = case(PETS), case({name.replace("dog", "hound"): image for name, image in PETS.items()})
    first, *_ = compare_cases([(key, CasePair(*pair))], Rule()).refused[key]
    assert first.startswith("class renamed: dog ")
    assert "hound" in first


def test_without_the_names_images_are_counted(case: Any) -> None:
    before = replace(case(PETS), keys=())
    assert describe_changed_samples(before, case(without("dog/0.png"))) == [
        "1 image lost, in the baseline and not now (names not kept)"
    ]
    (said,) = describe_changed_samples(replace(before, arrays={}), case(PETS))
    assert said.startswith(f"the samples in the baseline are not known: restore samples/{before.sample_hashes}.bin")


def test_what_a_limit_leaves_out_is_not_lost(case: Any) -> None:
    whole, part = case(PETS), replace(case(without("dog/0.png") | {"dog/1.png": "another"}), limit=7)
    replaced = "1 image replaced by another one of the same name: dog/1.png"
    assert describe_changed_samples(whole, part) == describe_changed_samples(part, whole) == [replaced]
    assert describe_changed_samples(whole, replace(case(without("dog/0.png")), limit=7)) == []
