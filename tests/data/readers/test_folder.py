"""Folders of pictures: ILSVRC validation files, synsets, numbers and classes of one's own."""

import io
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.readers.folder import open_folder
from eyechart.errors import DataError

Fill = Callable[..., Path]
VAL = [f"ILSVRC2012_val_{number:08d}.JPEG" for number in (1, 2, 3)]  # classes 65, 970, 230
OPEN = """
import sys
from pathlib import Path

from eyechart.data.readers.folder import open_folder
from eyechart.errors import DataError

try:
    open_folder(Path(sys.argv[1]), "pets", "test")
except DataError as error:
    print(error)
"""
SYNSETS = {VAL[0]: "n01751748", VAL[1]: "n09193705", VAL[2]: "n02105855"}


@pytest.fixture
def fill(tmp_path: Path) -> Fill:
    def filled(*names: str) -> Path:
        for shade, name in enumerate(names):
            path = tmp_path / "split" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            buffer = io.BytesIO()
            Image.new("RGB", (4, 4), (shade, 0, 0)).save(buffer, "PNG")
            path.write_bytes(buffer.getvalue())
        return tmp_path / "split"

    return filled


def opened(folder: Path, **options: object) -> Dataset:
    return open_folder(folder, "pets", "test", **options)


def labelled(found: Dataset) -> dict[str, int]:
    return {row.key: row.label for row in found.index}


def refused(folder: Path, *parts: str, **options: object) -> None:
    with pytest.raises(DataError) as caught:
        opened(folder, **options)
    for part in (str(folder), *parts):
        assert part in str(caught.value)


def test_flat_validation_files(fill: Fill) -> None:
    found = opened(fill(*VAL))
    assert labelled(found) == {VAL[0]: 65, VAL[1]: 970, VAL[2]: 230}
    assert [row.file for row in found.index] == VAL
    assert (found.classes, found.names, found.upright) == (1000, (), True)


def test_validation_files_in_synset_folders_are_the_same_data_set(fill: Fill, tmp_path: Path) -> None:
    flat = opened(fill(*VAL))
    sorted_ = tmp_path / "sorted"
    for name, synset in SYNSETS.items():
        (sorted_ / synset).mkdir(parents=True)
        (flat.source.root / name).rename(sorted_ / synset / name)
    found = opened(sorted_)
    assert (found.index, found.fingerprint) == (flat.index, flat.fingerprint)
    assert len(list(found.read(range(3)))) == 3


def test_a_validation_file_in_the_wrong_synset(fill: Fill) -> None:
    refused(fill(f"n01440764/{VAL[0]}"), VAL[0], "class 0", "class 65")


def test_validation_files_with_their_synset_appended(fill: Fill) -> None:
    assert labelled(opened(fill("ILSVRC2012_val_00000001_n01751748.JPEG"))) == {VAL[0]: 65}


def test_synset_folders(fill: Fill) -> None:
    found = opened(fill("n01440764/a.jpg", "n15075141/a.jpg", "n01443537/b.png"), classes=1000, upright=False)
    assert labelled(found) == {"n01440764/a.jpg": 0, "n01443537/b.png": 1, "n15075141/a.jpg": 999}
    assert (found.classes, found.names, found.upright) == (1000, (), False)


def test_synsets_alone_make_a_folder_imagenet(fill: Fill) -> None:
    assert opened(fill("n01440764/a.jpg")).classes == 1000


@pytest.mark.parametrize("stranger", ["n99999999", "tench"])
def test_unknown_synset_in_a_known_split(fill: Fill, stranger: str) -> None:
    refused(fill("n01440764/a.jpg", f"{stranger}/a.jpg"), stranger, "no ImageNet-1k synsets", classes=1000)


def test_unknown_synset_among_known_ones(fill: Fill) -> None:
    refused(fill("n01440764/a.jpg", "n99999999/a.jpg"), "n99999999", "1 folders")


def test_synsets_of_another_vocabulary_are_classes_of_their_own(fill: Fill) -> None:
    assert opened(fill("n99999998/a.jpg", "n99999999/a.jpg")).names == ("n99999998", "n99999999")


def test_numbered_folders_are_classes_not_places_in_a_sorted_list(fill: Fill) -> None:
    found = opened(fill("0/a.jpeg", "10/a.jpeg", "9/a.jpeg"), classes=1000)
    assert labelled(found) == {"0/a.jpeg": 0, "10/a.jpeg": 10, "9/a.jpeg": 9}


def test_numbered_folders_from_zero(fill: Fill) -> None:
    found = opened(fill(*(f"{number}/a.png" for number in range(12))))
    assert all(key == f"{label}/a.png" for key, label in labelled(found).items())
    assert found.names == tuple(map(str, range(12)))


def test_own_classes_by_sorted_folder(fill: Fill) -> None:
    found = opened(fill("dog/1.png", "cat/2.png", "cat/1.png"))
    assert labelled(found) == {"cat/1.png": 0, "cat/2.png": 0, "dog/1.png": 1}
    assert (found.classes, found.names) == (2, ("cat", "dog"))


def test_own_class_names(fill: Fill) -> None:
    folder = fill("dog/1.png", "cat/1.png")
    (folder / "classnames.txt").write_text("a cat\na dog\n")
    assert opened(folder).names == ("a cat", "a dog")


def test_class_names_of_the_wrong_number(fill: Fill) -> None:
    folder = fill("dog/1.png", "cat/1.png")
    (folder / "classnames.txt").write_text("a cat\na dog\nan emu\n")
    refused(folder, "2 class folders", "3 lines in classnames.txt")


def test_number_out_of_range(fill: Fill) -> None:
    refused(fill("1000/a.png", "3/a.png"), "label 1000, expected 0 to 999", classes=1000)


def test_only_pictures_are_seen(fill: Fill) -> None:
    folder = fill("cat/1.png", "cat/.2.png", "cat/notes.txt", ".hidden/3.png", "dog/4.TIFF", "dog/deep.png/5.txt")
    assert [*labelled(opened(folder))] == ["cat/1.png", "dog/4.TIFF"]


def test_links_are_followed(fill: Fill, tmp_path: Path) -> None:
    folder = fill("cat/1.png")
    (folder / "dog").symlink_to(folder / "cat")
    (folder / "cat" / "2.png").symlink_to(folder / "cat" / "1.png")
    found = opened(folder)
    assert [*labelled(found)] == ["cat/1.png", "cat/2.png", "dog/1.png", "dog/2.png"]
    assert len({data for _, data in found.read(range(4))}) == 1


def test_a_link_to_nothing(fill: Fill) -> None:
    folder = fill("cat/1.png")
    (folder / "cat" / "2.png").symlink_to(folder / "gone.png")
    refused(folder, "2.png is a link to", "that cannot be followed")


def test_flat_picture_without_a_label(fill: Fill) -> None:
    refused(fill("cat/1.png", "2.png"), "2.png", "no label")


def test_validation_file_that_does_not_exist(fill: Fill) -> None:
    refused(fill("ILSVRC2012_val_00050001.JPEG"), "00050001", "no label")


def test_no_pictures(fill: Fill) -> None:
    refused(fill("cat/readme.txt"), "no images")
    refused(fill("cat/abc"), "cat/abc in class folders is not evaluated: expected pictures that end")


def test_what_is_deeper_is_named_also_without_utf8(fill: Fill) -> None:
    refused(fill("cat/images/caf\udce9.png"), "such as cat/images/caf\\xe9.png")


@pytest.mark.parametrize("name", ["cat/images/1.png", "first/test-00000.parquet", "a/b/c/1.jpg"])
def test_what_is_deeper_is_named(fill: Fill, name: str) -> None:
    refused(fill(name), "has no pictures in its folders, but deeper, such as", name)


def test_reading_and_caching(fill: Fill, tmp_path: Path) -> None:
    folder = fill("cat/1.png", "dog/1.png")
    first, second = (opened(folder, cache=tmp_path / "cache") for _ in range(2))
    assert first.fingerprint == second.fingerprint
    assert [data for _, data in second.read(range(2))] == [(folder / key).read_bytes() for key in first.keys]
    (folder / "dog" / "1.png").write_bytes(b"another picture")
    assert opened(folder, cache=tmp_path / "cache").fingerprint != first.fingerprint


def test_picture_removed_after_it_was_indexed(fill: Fill) -> None:
    found = opened(fill("cat/1.png"))
    (found.source.root / "cat" / "1.png").unlink()
    with pytest.raises(DataError, match=r"cat/1\.png was there"):
        list(found.read(range(1)))


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


def make_socket(path: Path) -> None:
    """Leave the name of a socket that nobody listens to; such a path may only have 107 bytes."""
    here = Path.cwd()
    try:
        os.chdir(path.parent)
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


def make_link_to_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize("make", [make_pipe, make_socket, make_link_to_device])
def test_what_is_no_file_is_refused_and_not_read(fill: Fill, make: Callable[[Path], None]) -> None:
    folder = fill("cat/1.png")
    make(folder / "cat" / "2.png")
    refused(folder, "2.png is a pipe, a device or a socket, expected a file: remove it.")


def test_a_link_to_a_picture_is_one(fill: Fill) -> None:
    folder = fill("cat/1.png")
    (folder / "cat" / "2.png").symlink_to("1.png")
    assert len(opened(folder)) == 2


@pytest.mark.parametrize(
    ("mode", "sentence"),
    [(0o000, r"dog cannot be listed \(Permission denied\): allow"), (0o400, r"dog(/\d\.png)? cannot")],
)
def test_a_class_folder_that_may_not_be_read(fill: Fill, mode: int, sentence: str) -> None:
    folder = fill("cat/1.png", "dog/1.png")
    (folder / "dog").chmod(mode)
    call = [sys.executable, "-c", OPEN, str(folder)]
    if os.geteuid() == 0:  # root may read everything, but for these two capabilities
        call = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", *call]
    result = subprocess.run(call, capture_output=True, text=True, check=False)
    assert re.match(f"{folder}/{sentence}", result.stdout), (result.stdout, result.stderr)


def test_what_is_ignored_in_class_folders_is_noted(fill: Fill) -> None:
    folder = fill("cat/1.png", "cat/2.heic", "cat/more/3.png", "cat/README.md", "cat/.hidden", "dog/1.png")
    assert opened(folder).keys == ("cat/1.png", "dog/1.png")
    (note,) = opened(folder).notes
    assert note.startswith(
        "cat/more, cat/2.heic in class folders are not evaluated: expected pictures that end in .bmp"
    )
    assert note.endswith(".webp, and no folders.")


def test_nothing_is_noted_where_nothing_is_ignored(fill: Fill) -> None:
    assert opened(fill("cat/1.png", "cat/LICENSE", "dog/1.png")).notes == ()
