"""A classifier of colours, and fixtures that compare it, or files of answers, with variants."""

from collections.abc import Callable, Sequence
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np
import pytest
from PIL import Image

import eyechart
from eyechart.models.spec import ModelSpec
from eyechart.models.types import Classifier, Floats, Identity
from eyechart.toybox.samples.open_toybox import open_toybox

IMAGES = 20  # of each of two classes
Compress = Callable[..., eyechart.Compression]
CALLS = {"evaluations": 0}
COLOURS = f"{__name__}:Colours"


class Colours(Classifier):
    """A classifier of the mean colour, which moves the scores by `moved`, those of `unsteady` at every second call."""

    batch_size = 64

    def __init__(
        self, spec: ModelSpec, moved: float = 0.0, wait: float = 0.0, *, unsteady: bool = False, **_: object
    ) -> None:
        self.spec, self.loads, self.moved, self.wait, self.unsteady = spec, 0, moved, wait, unsteady

    @property
    def weight_files(self) -> tuple[Path, ...]:
        return (Path(__file__),)

    @property
    def identity(self) -> Identity:
        return Identity(
            backend="colours",
            name="c",
            weights_sha256=f"{self.moved}",
            dtype="int8" if self.moved else "float32",
            device="cpu",
            processor={"size": 1, "engine": self.moved},
            libraries={},
        )

    def prepare(self, image: Image.Image) -> Any:
        return np.asarray(image, np.float32).mean(axis=(0, 1))

    def classify(self, images: Sequence[Any]) -> Floats:
        CALLS["evaluations"] += 1
        sleep(self.wait)
        logits = np.stack(images)[:, [2, 0]]
        if self.unsteady and CALLS["evaluations"] % 2 == 0:
            logits[0] = logits[0][::-1]
        logits[:, 0] += self.moved
        return logits


@pytest.fixture
def colours(tmp_path: Path) -> Path:
    """A data root with a split of blue and red images."""
    for name, colour in (("blue", (0, 0, 255)), ("red", (255, 0, 0))):
        folder = tmp_path / "root" / "pets" / "test" / name
        folder.mkdir(parents=True)
        for number in range(IMAGES):
            Image.new("RGB", (40 + number, 40), colour).save(folder / f"{name}{number}.png")
    return tmp_path / "root"


@pytest.fixture
def replayed(tmp_path: Path) -> Callable[..., str]:
    """Write answers of a model that is wrong about some images; return its specification."""

    def write(name: str, *wrong: str) -> str:
        keys = [f"{name}{number}.png" for name in ("blue", "red") for number in range(IMAGES)]
        lines = [f"{key},{int(key.startswith('red')) ^ (key in wrong)}" for key in keys]
        (tmp_path / name).write_text("\n".join(["key,answer", *lines]), encoding="utf-8")
        return f"replay[path={tmp_path / name}]"

    return write


@pytest.fixture
def compress(tmp_path: Path) -> Compress:
    """Compare a model with variants, without a measurement of speed unless it is asked for."""

    def run(*arguments: Any, **options: Any) -> eyechart.Compression:
        return eyechart.compress(
            *arguments, **{"store": tmp_path / "store", "offline": True, "progress": False, "speed": False, **options}
        )

    return run


@pytest.fixture(scope="session")
def measured(tmp_path_factory: pytest.TempPathFactory) -> eyechart.Compression:
    """A classifier of 400 images beside one that is as accurate and faster, and one that is slower and often wrong."""
    folder = tmp_path_factory.mktemp("measured")
    for name, colour in (("blue", (0, 0, 255)), ("red", (255, 0, 0))):
        (folder / "pets" / "test" / name).mkdir(parents=True)
        for number in range(200):
            edge = 10 + number % 20, 10 + number // 20
            Image.new("RGB", edge, tuple(part - number // 40 for part in colour)).save(
                folder / "pets" / "test" / name / f"{number}.png"
            )
    variants = {
        "fast": f"{COLOURS}[moved=0.00002]",
        "bad": f"{COLOURS}[moved=251.5,wait=0.02]",  # the darker half of the reds becomes blue
        "far": f"{COLOURS}[moved=130]",
    }
    return eyechart.compress(
        f"{COLOURS}[wait=0.002]", "pets/test", variants, data_root=str(folder), protocol="supervised",
        margin=0.05, store=folder / "store", offline=True, progress=False,
    )  # fmt: skip


@pytest.fixture(scope="session")
def toys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of 6 packaged images of as many classes, so that few names are encoded in 80 templates."""
    dataset = open_toybox("sample")
    rows = {row.label: index for index, row in enumerate(dataset.index) if row.label < 6}
    folder = tmp_path_factory.mktemp("root") / "toys" / "test"
    for index, data in dataset.source.read(sorted(rows.values())):
        home = folder / str(dataset.names[dataset.index[index].label])
        home.mkdir(parents=True)
        (home / dataset.index[index].file).write_bytes(data)
    return folder
