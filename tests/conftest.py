"""A run's folder made by the real recording from a handful of answers, for everything that reads runs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from eyechart.data.dataset import Dataset
from eyechart.data.equivalences import pairs
from eyechart.data.labels import label_set
from eyechart.data.located import whole_files
from eyechart.data.rows import Row
from eyechart.models.interfaces import Identity
from eyechart.recording import Recording
from eyechart.records import Record, Records, Run, encode
from eyechart.scoring import Predictions, Rules
from eyechart.settings import Case, Settings
from eyechart.spec import parse

# Original label (-1: none), new labels, and those of the weasel study (None: not looked at).
Truth = tuple[int, tuple[int, ...], tuple[int, ...] | None]
TRUTHS: tuple[Truth, ...] = (
    (356, (356,), (356,)),
    (356, (356,), (356,)),
    (356, (357,), (357,)),
    (357, (357,), (357,)),
    (357, (357,), (357,)),
    (357, (0, 357), (357,)),
    (358, (358,), (358,)),
    (358, (359,), (359,)),
    (358, (1, 359), (359,)),
    (359, (359,), (359,)),
    (359, (359,), (359,)),
    (359, (), (359,)),
    (0, (0,), None),
    (0, (0, 5), None),
    (1, (1,), None),
    (1, (2, 3), None),
    (620, (681,), None),  # equivalent classes
    (-1, (), None),
)
NOTHING = 7  # a class that is right nowhere
CLIP, TIMM, CONSE = "open_clip[ViT-B-32,pretrained=laion2b_s34b_b79k]", "timm[tf_efficientnet_lite0]", "conse[]"
ANSWERS: Mapping[str, tuple[str, list[int]]] = {
    CLIP: ("zero_shot", [(study or new or (NOTHING,))[-1] for _, new, study in TRUTHS]),  # sees what is there
    TIMM: ("supervised", [old if old >= 0 else NOTHING for old, _, _ in TRUTHS]),  # repeats the original labels
    CONSE: ("zero_shot", [356] * 6 + [359] * 6 + [0] * 6),
}


@dataclass(frozen=True)
class Maker:
    """Makes runs."""

    root: Path

    def __call__(
        self,
        name: str = "run",
        models: Mapping[str, tuple[str, list[int]]] = ANSWERS,
        labels: tuple[str, ...] = ("ImGT", "ReGT", "WeaselGT"),
        errors: Mapping[int, str] = {},
        variant: Mapping[str, str] = {"names": "mill (e55fe991)", "templates": "80 (0123abcd)"},
        split: str = "val",
        limit: int | None = None,
        truths: tuple[Truth, ...] = TRUTHS,
    ) -> Path:
        folder = self.root / name
        dataset = self.dataset(labels, split, truths)
        records = []
        for spec, (protocol, answers) in models.items():
            case = Case("imagenet", split, parse(spec), protocol)
            said = Predictions(
                dataset.keys, self.scores(answers, errors), errors, variant if protocol == "zero_shot" else {}
            )
            records.append(self.record(case, dataset, said, folder, limit))
        return self.written(folder, tuple(records))

    def written(self, folder: Path, records: tuple[Record, ...]) -> Path:
        """Put records beside their files."""
        run = Run(
            eyechart="0.1.0",
            started="2026-01-01T00:00:00+00:00",
            seconds=1.5,
            exit_status=0,
            workers=0,
            loads=len(records),
            command="pytest -k imagenet",
        )
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "records.json").write_bytes(encode(Records(run=run, records=records)))
        return folder

    def dataset(self, labels: tuple[str, ...], split: str, rows: tuple[Truth, ...]) -> Dataset:
        """The images, of which only the labels matter here."""
        index = tuple(Row(f"{place:04d}", f"{place}.jpg", f"{place:064x}", old) for place, (old, *_) in enumerate(rows))
        given = {
            "ImGT": [(old,) if old >= 0 else () for old, _, _ in rows],
            "ReGT": [new for _, new, _ in rows],
            "WeaselGT": [study for _, _, study in rows],
        }
        truths = {
            name: label_set(name, index, given[name], "exclude" if name == "ImGT" else "correct", "test")
            for name in labels
        }
        return Dataset("imagenet", split, index, whole_files(()), 1000, label_sets=truths)

    def scores(self, answers: list[int], errors: Mapping[int, str]) -> np.ndarray:
        """Scores whose highest are the answers; nothing where there was an error."""
        scores = np.zeros((len(answers), 1000), np.float32)
        scores[range(len(answers)), answers] = 1
        scores[list(errors)] = np.nan
        return scores

    def record(self, case: Case, dataset: Dataset, said: Predictions, folder: Path, limit: int | None) -> Record:
        """What a benchmark does, then what the plugin does."""
        who = Identity(
            backend=case.model.backend,
            name=str(case.model),
            weights_sha256="0" * 64,
            dtype="float32",
            device="cpu",
            processor={},
            libraries={},
        )
        recording = Recording(case, self.settings(case, limit), dataset, who, Rules(pairs("12")), said, folder)
        for labels in dataset.truths("correct"):
            recording.accuracy(said, labels)
        return recording.finish(1.25, {}, "pytest -k imagenet")

    def settings(self, case: Case, limit: int | None) -> Settings:
        """The defaults of the command line."""
        return Settings(
            models=(case.model,),
            data=None,
            out=self.root,
            store=self.root / "store",
            limit=limit,
            seed=42,
            offline=True,
            strict=False,
            max_errors=len(TRUTHS),
            names="mill",
            templates="80",
            labels=(),
            empty="correct",
            equivalences="12",
            categories="equivalent",
        )


@pytest.fixture
def make_run(tmp_path: Path) -> Maker:
    """Make a run's folder under a name."""
    return Maker(tmp_path)


@pytest.fixture
def run_folder(make_run: Callable[[], Path]) -> Path:
    """The run of all three models under all three ground truths."""
    return make_run()
