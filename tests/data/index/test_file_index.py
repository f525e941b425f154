"""Every kind of data source: an image whose bytes changed after indexing is refused when it is read."""

import json
import platform
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image
from webdataset import TarWriter

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.readers.folder import open_folder
from eyechart.data.readers.hub import open_hub
from eyechart.data.readers.imagenet_sample import open_sample, packaged_root
from eyechart.data.readers.webdataset_shards import open_shards
from eyechart.errors import ImageError
from eyechart.inference.requests.image_bytes import load_image
from eyechart.oodbench.data.coco import open_coco
from eyechart.realbirdid.data.bird_folder import open_birds


def paint(path: Path, shade: int = 0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (4, 4), (shade, 0, 0)).save(path)
    return path


def folder(root: Path) -> Dataset:
    for shade, name in enumerate(("cat", "dog")):
        paint(root / "test" / name / f"{shade}.png", shade)
    return open_folder(root / "test", "pets", "test", cache=root / "cache")


def shards(root: Path) -> Dataset:
    (root / "test").mkdir()
    (root / "test" / "nshards.txt").write_text("1\n")
    (root / "test" / "classnames.txt").write_text("cat\ndog\n")
    with TarWriter(str(root / "test" / "0.tar")) as tar:
        for number in range(2):
            data = paint(root / "made.png", number).read_bytes()
            tar.write({"__key__": f"s{number}", "png": data, "cls": number})
    (root / "made.png").unlink()
    return open_shards(root / "test", "pets", "test", cache=root / "cache")


def sample(root: Path) -> Dataset:
    shutil.copytree(packaged_root(), root / "sample")
    return open_sample("sample", root / "sample")


def coco(root: Path) -> Dataset:
    paint(root / "val2017" / "1.png")
    (root / "annotations").mkdir()
    (root / "annotations" / "instances_val2017.json").write_text(
        json.dumps(
            {
                "images": [{"id": 1, "file_name": "1.png", "width": 4, "height": 4}],
                "categories": [{"id": 1, "name": "cat"}],
                "annotations": [],
            }
        )
    )
    return open_coco(root, "oodbench", "mine", cache=root / "cache")


def birds(root: Path) -> Dataset:
    paint(root / "images" / "a.png")
    (root / "birds.csv").write_text(
        "image,observation_id,species,genus,answerable,reason,latitude,longitude,candidates\n"
        "images/a.png,1,Pica pica,Pica,1,,50,8,Pica pica\n"
    )
    (root / "taxonomy.csv").write_text("species,genus\nPica pica,Pica\n")
    return open_birds(root, "realbirdid", "mine")


def hub(root: Path) -> Dataset:
    for shade, name in enumerate(("cat", "dog")):
        paint(root / "pets" / "test" / name / f"{shade}.png", shade)
    return open_hub(f"hub:{root / 'pets'}", "pets", "test", cache=root / "cache")


@pytest.mark.parametrize("make", [folder, shards, sample, coco, birds, hub])
def test_changed_bytes_are_refused(make: Callable[[Path], Dataset], tmp_path: Path) -> None:
    dataset = make(tmp_path)
    ((_, data),) = dataset.read([0])
    assert load_image(dataset, 0, data).mode == "RGB"
    changed = data[:-1] + bytes([data[-1] ^ 1])
    homes = [path for path in tmp_path.rglob("*") if path.is_file() and data in path.read_bytes()]
    for path in homes:
        path.write_bytes(path.read_bytes().replace(data, changed))
    ((_, found),) = dataset.read([0])
    assert (len(homes), found) == (1, changed)
    with pytest.raises(ImageError, match=r"changed after the data set was indexed.*delete the folder 'index'") as error:
        load_image(dataset, 0, found)
    assert f"were read from {homes[0]}" in str(error.value)
    assert f" on {platform.node()} have" in str(error.value)
