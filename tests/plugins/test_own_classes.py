"""Splits with classes of their own: ImageNet's rules are not theirs, and ImageNet's classifiers answer by name."""

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

pytestmark = pytest.mark.deep

BLOCKED = """
import sys

HEAVY = {"torch", "torchvision", "open_clip", "transformers", "timm", "vllm"}

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in HEAVY:
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)

sys.meta_path.insert(0, Blocker())

def pytest_unconfigure():
    print("loaded of the heavy ones:", sorted(HEAVY & {name.partition(".")[0] for name in sys.modules}))
"""


def paint(folder: Path, names: list[str], each: int = 1) -> None:
    """One or more tiny pictures a class."""
    colours = np.random.default_rng(0)
    for name in names:
        (folder / name).mkdir(parents=True)
        for index in range(each):
            pixels = colours.integers(0, 256, (2, 2, 3), np.uint8)
            Image.fromarray(pixels).save(folder / name / f"{name}-{index}.png")


def values(world: Any) -> dict[str, float]:
    (record,) = world.records
    return {
        one["name"]: one["value"] for one in record["metrics"] if one["subset"] == "all" and one["labels"] == "ImGT"
    }


@pytest.fixture
def replayed(world: Any, tmp_path: Path) -> Any:
    """A split of own classes, with a file that answers the class before for one image and is right for the others."""

    def replayed(count: int, wrong: int, *more: str) -> None:
        names = [f"sp{index:04d}" for index in range(count)]
        world.data = tmp_path / "own"
        paint(world.data / "imagenet" / "species", names)
        lines = [f"{name}-0.png,{index + (index == wrong)}" for index, name in enumerate(names)]
        (world.folder / "a.csv").write_text("\n".join(["key,answer", *lines]))
        world.models = ("replay[path=a.csv]",)
        result = world.call(
            "--pyargs",
            "eyechart.benchmarks",
            "-k",
            "imagenet/species",
            f"--eye-data={world.data}",
            "--eye-model=replay[path=a.csv]",
            *more,
        )
        assert result.ret == 0, result.stdout.str()

    return replayed


def test_a_thousand_classes_that_are_not_imagenets_have_no_equivalences(replayed: Any, world: Any) -> None:
    replayed(1000, 836)  # ImageNet's 836 and 837 count as one
    assert values(world)["acc1"] == 0.999
    assert world.records[0]["variant"]["equivalences"] == "none"


def test_own_classes_can_be_annotated_whatever_their_number(replayed: Any, world: Any, tmp_path: Path) -> None:
    labels = "\n".join(["file,labels", "sp0002-0.png,4", *(f"sp{at:04d}-0.png,{at}" for at in range(10) if at != 2)])
    (tmp_path / "mine.csv").write_text(labels)
    replayed(10, 2, f"--eye-labels=Mine={tmp_path / 'mine.csv'}")
    assert world.records[0]["variant"]["equivalences"] == "none"
    command = [*world.fast, "-m", "eyechart", "annotate", str(world.latest), "--labels=Mine"]
    more = ["--model=replay[path=a.csv]", f"--data={world.data}", f"--out={tmp_path / 'sheet.html'}"]
    done = subprocess.run([*command, *more], cwd=world.folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "sheet.html").is_file()


def test_imagenets_classifier_answers_a_folder_of_imagenets_names_and_refuses_others(
    world: Any, tmp_path: Path
) -> None:
    world.data = tmp_path / "own"
    paint(world.data / "imagenet" / "pets", ["golden retriever", "tench", "tabby cat"])
    paint(world.data / "imagenet" / "named", ["golden retriever", "rex", "minka"])
    cases = "(imagenet/pets or imagenet/named) and test_supervised"
    said = world.installed(cases, f"--eye-data={world.data}", "--eye-model=timm[batch_size=4]", code=1)
    (record,) = world.records
    assert (record["split"], record["variant"]["head"]) == ("pets", "imagenet (1000 outputs), 3 of 3 classes by name")
    assert "2 classes have no single name or synset there: minka, rex. Name the split's classes" in said
    assert len([location for location in world.store if "answers.npy" in location]) == 1


def test_files_of_answers_and_servers_about_imagenet_need_no_model_library(cold: Any, faulty_server: Any) -> None:
    keys = sorted(path.name for path in (cold.data / "imagenet/tiny").rglob("*") if path.is_file())
    (cold.folder / "a.csv").write_text("\n".join(["key,answer", *(f"{key},tench" for key in keys)]))
    cold.models = ("replay[path=a.csv]", f"openai[toy,base_url={faulty_server.url},served=toy-2026-01-01]")
    cases = ("-k", "imagenet/tiny/ and (test_replay or test_closed_world[)", "-s", "--eye-limit=3")
    result = cold.passes(cold.plugin(BLOCKED), *cases)
    result.stdout.fnmatch_lines(["*loaded of the heavy ones: []*"])
    assert sorted(record["protocol"] for record in cold.records) == ["closed_world", "replay"]
