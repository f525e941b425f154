"""`eyechart divide`, as typed: the toy world is divided, and the cases that read the files ask about it."""

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from eyechart.data.splits.open_split import list_splits, open_split
from eyechart.oodbench.division.division_csv import read_pairs
from eyechart.oodbench.division.division_files import read_division
from eyechart.toybox.art.styles import TRAINING
from eyechart.toybox.formats.coco_files import write

pytestmark = pytest.mark.deep

CLIP, OTHER, MLLM = "open_clip[toybox-clip]", "open_clip[toybox-clip-b]", "hf[toybox-mllm]"
SCENES = 20
BY = ["--max-pairs=4", "--threshold=0.05", "--templates=1"]
QUICK = {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}


@dataclass(frozen=True)
class World:
    """A folder with scenes in COCO's format."""

    folder: Path
    python: Sequence[str]

    def command(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run a module in the folder."""
        command, env = [*self.python, "-m", *arguments], os.environ | QUICK
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False, env=env)
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    def divide(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Divide the data."""
        return self.command("eyechart", "divide", "data", "--store=store", "--offline", *arguments)

    def record(self, *options: str) -> dict[str, Any]:
        """Ask about the pairs, and give the record."""
        usual = ["--pyargs", "eyechart.benchmarks", "-k", "existence and toys", "-p", "no:cacheprovider"]
        more = ["--eye-data=data", f"--eye-model={MLLM}", "--eye-store=store", "--eye-offline", "--eye-out=runs"]
        self.command("pytest", *usual, *more, *options)
        run = json.loads((self.folder / "runs" / "latest" / "records.json").read_text(encoding="utf-8"))
        (found,) = run["records"]
        return dict(found)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, warm_python: Sequence[str]) -> World:
    """Scenes in the styles that the detectors know, divided."""
    found = World(tmp_path_factory.mktemp("world"), warm_python)
    write(found.folder / "data" / "toys", 42, TRAINING, SCENES)
    detectors = [f"--detector={CLIP}", f"--detector={OTHER}"]
    done = found.divide(*detectors, *BY, "--out=divisions")
    (found.folder / "said").write_text(done.stdout, encoding="utf-8")
    (found.folder / "shown").write_text(done.stderr, encoding="utf-8")
    return found


@pytest.fixture(scope="module")
def record(world: World) -> dict[str, Any]:
    """What a model says of the division's pairs."""
    return world.record("--eye-set=existence.division=divisions")


def opened(world: World) -> Any:
    ref = next(ref for ref in list_splits(world.folder / "data") if ref.split == "toys")
    return open_split(ref)


def test_the_table_is_that_of_the_files(world: World) -> None:
    dataset = opened(world)
    divided = read_division(world.folder / "divisions" / "toys.json", dataset)
    row = (world.folder / "said").read_text(encoding="utf-8").splitlines()[1].split()
    assert row[:3] == ["oodbench/toys", str(SCENES), str(dataset.details.present.sum())]
    main = [name for name, chosen in zip(divided.sets, divided.main, strict=True) if chosen]
    every = [main.count("ID"), main.count("OOD-S"), main.count("OOD-H"), *map(divided.sets.count, ("OOD-S", "OOD-H"))]
    assert row[3:] == [str(number) for number in every]
    assert max(every[:3]) == 4 < max(every)


def test_who_flagged_what_is_said_and_progress_is_not_in_between(world: World) -> None:
    said = (world.folder / "said").read_text(encoding="utf-8")
    assert "oodbench/toys: divisions/toys.json\n" in said
    assert f"\n  {CLIP}: " in said
    assert f"oodbench/toys: {OTHER}: 100%" in (world.folder / "shown").read_text(encoding="utf-8")


def test_the_authors_csv_names_the_same_pairs(world: World) -> None:
    dataset, folder = opened(world), world.folder / "divisions"
    divided = read_division(folder / "toys.json", dataset)
    for name in ("ID", "OOD-S", "OOD-H"):
        found = read_pairs(folder / f"toys-{name}.csv", dataset)
        assert found.rows.tolist() == divided.rows[[n == name for n in divided.sets] & divided.main].tolist()


def test_a_case_asks_about_the_files_pairs(world: World, record: dict[str, Any]) -> None:
    path = world.folder / "divisions" / "toys.json"
    digest = sha256(path.read_bytes()).hexdigest()
    asked = json.dumps([pair[:5] for pair in json.loads(path.read_text())["pairs"]], separators=(",", ":"))
    assert record["data"]["labels"] == {"OODBench": sha256(asked.encode()).hexdigest()}
    assert record["variant"]["division"] == f"toys.json ({digest[:8]})"
    assert record["variant"]["detectors"] == f"{CLIP}+{OTHER}"
    assert {"ID", "OOD-H"} <= {metric["subset"] for metric in record["metrics"]}


def test_a_case_that_divides_for_itself_makes_the_same_division(world: World, record: dict[str, Any]) -> None:
    own = world.record(f"--eye-set=existence.detectors={CLIP}+{OTHER}", "--eye-set=existence.max_pairs=4")
    assert own["data"]["labels"] == record["data"]["labels"]
    assert own["variant"] == record["variant"] | {"division": "built"}
    assert own["metrics"] == record["metrics"]
