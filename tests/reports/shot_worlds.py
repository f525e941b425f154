"""Small worlds of disputed images: pictures, their labels, and a run of two models about them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import copytree
from typing import Any

import msgspec
import numpy as np
import pytest

from eyechart.classification.answers.class_predictions import ClassPredictions
from eyechart.data.dataset.dataset import build_label_set
from eyechart.data.labels.class_names import synsets
from eyechart.data.splits.open_split import open_split
from eyechart.data.splits.registry import SplitRef
from eyechart.evaluation.settings import Case
from eyechart.models.spec import parse_spec
from eyechart.reports.annotation.answer_files import SheetKey, key_path, read_key
from eyechart.reports.annotation.disputed import SheetOptions, write
from eyechart.reports.runs import load
from tests.gradients import gradient

MODEL, SECOND = "timm[tf_efficientnet_lite0]", "conse[]"
UNREAD = -1  # an answer that names no class
FAILED = -2  # no answer
NOTEBOOK, LAPTOP = 681, 620  # equivalent classes


@dataclass(frozen=True)
class Shot:
    """An image: its original label, its new labels, and what both models say."""

    original: int
    labels: tuple[int, ...]
    model: int
    second: int
    kind: str = "png"


SHOTS: Mapping[str, Shot] = {
    "four suggestions": Shot(1, (2,), 3, 4),
    "model and original agree": Shot(7, (8,), 7, 8, "jpg"),
    "equivalent classes": Shot(30, (31,), LAPTOP, NOTEBOOK, "ppm"),
    "several labels": Shot(16, (17, 18), 19, 17, "gif"),
    "second unread": Shot(26, (27, 28), 29, UNREAD, "webp"),
    "model agrees with the labels": Shot(5, (6,), 6, 6),
    "model agrees with one of them": Shot(20, (21, 22), 22, 23),
    "model unread": Shot(9, (10,), UNREAD, 11),
    "model failed": Shot(12, (13,), FAILED, 12),
    "single_label_original": Shot(14, (14,), 15, 14),
    "no_label": Shot(24, (), 25, 25),
}


@dataclass(frozen=True)
class World:
    """A run about the shots, and where its images are."""

    shots: Mapping[str, Shot]
    run: Path
    root: Path
    out: Path

    @property
    def keys(self) -> dict[str, str]:
        """The name of each shot by its image's key, in the data set's order."""
        named = {
            f"{synsets()[s.original]}/{index}.{s.kind}": name for index, (name, s) in enumerate(self.shots.items())
        }
        return dict(sorted(named.items()))

    def wish(self, **wanted: Any) -> SheetOptions:
        usual = {"labels": "ReGT", "model": MODEL, "second": SECOND, "data": str(self.root), "store": self.root / "s"}
        return SheetOptions(**usual | wanted)

    def sheet(self, name: str = "sheet", **wanted: Any) -> Path:
        """Write a sheet."""
        path = self.out / f"{name}.html"
        write(load([self.run]), self.wish(**wanted), path)
        return path

    def key(self, sheet: Path) -> SheetKey:
        return read_key(key_path(sheet))

    def named(self, sheet: Path) -> list[str]:
        """The shots on a sheet, in its order."""
        return [self.keys[item.key] for item in self.key(sheet).items]

    def answer(self, sheet: Path, choices: Mapping[str, Any], name: str = "answers.json", **more: Any) -> Path:
        """Answers to a sheet, as it would write them; choices are classes by shot, or whole answers."""
        key, answers = self.key(sheet), {}
        for number, item in enumerate(key.items, 1):
            choice = choices.get(self.keys[item.key])
            labels = [candidate.label for candidate in item.candidates]
            if isinstance(choice, dict):
                answers[str(number)] = choice
            elif choice is not None:
                answers[str(number)] = {"selected": [labels.index(label) + 1 for label in choice], "none": not choice}
        path = self.out / name
        path.write_bytes(msgspec.json.encode({"schema": 1, "sheet": key.sheet, "answers": answers} | more))
        return path


def dataset_of(root: Path, shots: Mapping[str, Shot]) -> Any:
    """Draw the images and open them as a split of ImageNet's classes, under the original and the new labels."""
    for index, shot in enumerate(shots.values()):
        folder = root / "imagenet" / "tiny" / synsets()[shot.original]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{index}.{shot.kind}").write_bytes(gradient(index, shot.kind))
    dataset = open_split(SplitRef("imagenet", "tiny", "folder", str(root / "imagenet" / "tiny")))
    by_place = [*shots.values()]
    ordered = [by_place[int(Path(row.file).stem)] for row in dataset.index]
    new = build_label_set("ReGT", dataset.index, [shot.labels for shot in ordered], "correct", "test")
    return replace(dataset, label_sets={**dataset.label_sets, "ReGT": new}), ordered


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Make a folder once for the same arguments; every test works on a copy."""
    kept: dict[Any, Path] = {}

    def template(make: Callable[..., None], *arguments: Any) -> Path:
        asked = (make, *arguments)
        if asked not in kept:
            folder = tmp_path_factory.mktemp("template")
            make(folder, *arguments)
            kept[asked] = folder
        return kept[asked]

    return template


@pytest.fixture
def make_shot_world(tmp_path: Path, session_run: Any, made_once: Callable[..., Path]) -> Callable[..., World]:
    """Make a world of shots."""

    def make(shots: Mapping[str, Shot] = SHOTS, name: str = "world") -> World:
        folder = tmp_path / name
        copytree(made_once(record_shots, session_run, tuple(shots.items())), folder)
        return World(shots, folder / "run", folder / "data", folder / "out")

    return make


def record_shots(root: Path, make_run: Any, shots: tuple[tuple[str, Shot], ...]) -> None:
    """Draw shots and record a run of both models about them."""
    dataset, ordered = dataset_of(root / "data", dict(shots))
    folder, records = root / "run", []
    for spec, labels in ((MODEL, [s.model for s in ordered]), (SECOND, [s.second for s in ordered])):
        errors = {row: "it failed" for row, label in enumerate(labels) if label == FAILED}
        unread = frozenset(row for row, label in enumerate(labels) if label == UNREAD)
        scores = make_run.scores([max(label, 0) for label in labels], errors)
        predictions = ClassPredictions(dataset.keys, np.array(scores), errors, {}, unread)
        case = Case("imagenet", "tiny", parse_spec(spec), "supervised")
        records.append(make_run.record(case, dataset, predictions, folder, None))
    make_run.written(folder, tuple(records))
    (root / "out").mkdir()


@pytest.fixture
def shot() -> type[Shot]:
    """What a world is made of."""
    return Shot
