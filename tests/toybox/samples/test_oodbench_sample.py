"""The packaged sample of OODBench is made again as it was drawn, and says whose art it is."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from eyechart.data.dataset.dataset import Dataset
from eyechart.oodbench.data.annotated_splits import FORMATS
from eyechart.oodbench.data.registered import open_oodbench, packaged_root
from eyechart.samples.files import read_table
from eyechart.toybox.art.scenes import RenderedScene
from eyechart.toybox.art.styles import STYLES
from eyechart.toybox.art.toy_classes import classes
from eyechart.toybox.formats import lvis_files
from eyechart.toybox.samples.oodbench_sample import CHOSEN, PICTURES, WRITERS, write
from eyechart.toybox.world import SEED

pytestmark = pytest.mark.deep


@pytest.fixture(scope="module")
def scenes() -> dict[str, Sequence[RenderedScene]]:
    """What was drawn for each format, once `remade` has written it."""
    return {}


@pytest.fixture(scope="module")
def remade(tmp_path_factory: pytest.TempPathFactory, scenes: dict[str, Sequence[RenderedScene]]) -> Path:
    folder = tmp_path_factory.mktemp("remade")

    def keep(kind: str, writer: Callable[..., Sequence[RenderedScene]]) -> Callable[..., Sequence[RenderedScene]]:
        return lambda *arguments: scenes.setdefault(kind, writer(*arguments))

    with pytest.MonkeyPatch.context() as patch:
        for kind, writer in [*WRITERS.items()]:
            patch.setitem(WRITERS, kind, keep(kind, writer))
        write(folder, SEED)
    return folder


each_format = pytest.mark.parametrize("kind", FORMATS)


def called(kind: str, label: int) -> str:
    """What a format calls a class."""
    one = classes()[label]
    return {"nuscenes": one.concept.nuscenes, "cityscapes": one.concept.cityscapes}.get(kind, one.name)


def drawn(kind: str, index: int, picture: RenderedScene) -> Counter[str]:
    """What is annotated: a crowd as one, LVIS's hidden thing not; in a street the road, and trains are no class."""
    crowd, hidden = picture.scene.crowd, lvis_files.unannotated_thing(picture, index + 1) if kind == "lvis" else None
    shown = [number for number in range(len(picture.scene.things)) if number == 0 or number >= crowd]
    names = [called(kind, picture.scene.things[number].label) for number in shown if number != hidden]
    return Counter([*names, "road"] if kind == "cityscapes" else names) - Counter(train=99 * (kind == "cityscapes"))


def read(kind: str, found: Dataset) -> dict[str, Counter[str]]:
    """What the opened split counts in every picture, by its key."""
    names = found.names if kind in ("coco", "lvis") else found.details.category_ids
    counts = [+Counter(dict(zip(names, row, strict=True))) for row in found.details.counts.tolist()]
    return dict(zip(found.keys, counts, strict=True))


@pytest.mark.usefixtures("remade")
@each_format
def test_the_counts_are_the_things_that_were_drawn(kind: str, scenes: dict[str, Sequence[RenderedScene]]) -> None:
    pictures = scenes[kind]
    files = [PICTURES[kind](index, one.scene) for index, one in enumerate(pictures)]
    wanted = [drawn(kind, index, one) for index, one in enumerate(pictures)]
    assert read(kind, open_oodbench(f"sample-{kind}")) == dict(zip((file[:-4] for file in files), wanted, strict=True))


@each_format
def test_no_picture_is_under_the_gpl_and_every_other_style_is_there(kind: str) -> None:
    found = {
        (row["title"], row["author"], row["licence"]) for row in read_table(packaged_root() / kind, "manifest.csv")
    }
    assert found == {(style.title, style.author, style.licence) for style in map(STYLES.get, CHOSEN) if style}
    assert not any("GPL" in licence for _, _, licence in found)


def test_the_licence_of_every_style_is_beside_the_pictures() -> None:
    there = {path.stem for path in (packaged_root() / "licences").iterdir()}
    assert there == {f"LICENSE-{style}" for style in CHOSEN}


def test_the_sample_is_small() -> None:
    assert sum(path.stat().st_size for path in packaged_root().rglob("*") if path.is_file()) < 2_500_000


def files(root: Path) -> dict[Path, bytes]:
    """Every file below a folder by its path, pictures and their checksums without their bytes."""
    names = [path.relative_to(root) for path in root.rglob("*") if path.is_file() and path.name != "README.md"]
    return {name: (root / name).read_bytes() if name.suffix == ".json" else b"" for name in names}


def test_everything_but_the_encoding_of_pictures_is_made_again_byte_for_byte(remade: Path) -> None:
    assert files(remade) == files(packaged_root())


@each_format
def test_the_manifest_is_made_again_but_for_checksums(kind: str, remade: Path) -> None:
    both = [read_table(root / kind, "manifest.csv") for root in (packaged_root(), remade)]
    plain = [[{**row, "sha256": ""} for row in found] for found in both]
    assert plain[0] == plain[1]


@each_format
def test_the_pictures_are_those_that_the_seed_draws(kind: str, remade: Path) -> None:
    for row in read_table(remade / kind, "manifest.csv")[::7]:
        with Image.open(packaged_root() / kind / row["file"]) as kept, Image.open(remade / kind / row["file"]) as image:
            assert np.abs(np.asarray(kept).astype(int) - np.asarray(image)).mean() < 1  # another encoder, other bytes


@each_format
def test_what_is_made_again_opens(kind: str, remade: Path) -> None:
    found = open_oodbench(f"sample-{kind}", remade)
    assert found.details.sha256 == open_oodbench(f"sample-{kind}").details.sha256
