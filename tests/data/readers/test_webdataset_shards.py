"""Shards written by webdataset and tarfile, whole and broken."""

import io
import os
import re
import tarfile
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from webdataset import TarWriter

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.imagenet.classes import open_clip_names
from eyechart.data.images import decode_image
from eyechart.data.readers.webdataset_shards import LocalShards, open_shards
from eyechart.errors import DataError

Sample = dict[str, object]
Write = Callable[..., Path]


def picture(shade: int, kind: str = "WEBP") -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8), (shade, 0, 0)).save(buffer, kind)
    return buffer.getvalue()


def sample(number: int, label: int | None = 0, suffix: str = "webp", **more: object) -> Sample:
    kind = {"jpg": "JPEG", "jpeg": "JPEG", "png": "PNG"}.get(suffix, "WEBP")
    labels = {} if label is None else {"cls": label}
    return {"__key__": f"s{number:07d}", suffix: picture(number, kind), **labels, **more}


def npy(values: Sequence[int]) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.array(values))
    return buffer.getvalue()


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(*shards: list[Sample], names: Sequence[str] = ("cat", "dog", "emu"), where: str = "pets") -> Path:
        folder = tmp_path / where / "test"
        folder.mkdir(parents=True)
        (folder / "nshards.txt").write_text(f"{len(shards)}\n")
        (folder.parent / "classnames.txt").write_text("\n".join(names) + "\n")
        for number, samples in enumerate(shards):
            with TarWriter(str(folder / f"{number}.tar")) as tar:
                for one in samples:
                    tar.write(one)
        return folder

    return written


@pytest.fixture
def shards(write: Write) -> Path:
    return write([sample(0, 2), sample(1, 1)], [sample(2, 0), sample(3, 2)])


def opened(folder: Path, **options: object) -> Dataset:
    return open_shards(folder, "pets", "test", **options)


def refused(folder: Path, *parts: str) -> None:
    with pytest.raises(DataError) as caught:
        opened(folder)
    for part in (str(folder), *parts):
        assert part in str(caught.value)


def add(tar: Path, *names: str) -> None:
    with tarfile.open(tar, "a") as file:
        for name in names:
            file.addfile(tarfile.TarInfo(name), io.BytesIO())


def test_index(shards: Path) -> None:
    found = opened(shards)
    assert found.keys == ("s0000000", "s0000001", "s0000002", "s0000003")
    assert [row.label for row in found.index] == [2, 1, 0, 2]
    assert [row.sha256 for row in found.index] == [sha256(picture(shade)).hexdigest() for shade in range(4)]
    assert (found.classes, found.names) == (3, ("cat", "dog", "emu"))


def test_the_original_labels(shards: Path) -> None:
    (truth,) = opened(shards).label_sets.values()
    assert (truth.name, truth.empty, truth.labels.tolist()) == ("original", "exclude", [[2], [1], [0], [2]])
    assert truth.annotated.all()


@pytest.mark.parametrize(("start", "stop"), [(0, 4), (1, 3), (3, 4), (2, 2)])
def test_reading_any_stretch(shards: Path, start: int, stop: int) -> None:
    read = list(opened(shards).read(range(start, stop)))
    assert read == [(index, picture(index)) for index in range(start, stop)]


def test_shards_that_are_not_needed_stay_closed(shards: Path) -> None:
    found = opened(shards)
    (shards / "0.tar").unlink()
    assert [index for index, _ in found.read(range(2, 4))] == [2, 3]


@pytest.mark.parametrize("suffix", ["webp", "png", "jpg", "jpeg", "0.webp", "JPEG"])
def test_image_suffixes(write: Write, suffix: str) -> None:
    ((_, data),) = opened(write([sample(0, 1, suffix)])).read(range(1))
    assert decode_image(data, "a").size == (8, 8)


def test_names_beside_the_shards_come_first(shards: Path) -> None:
    (shards / "classnames.txt").write_text("Katze\nHund\nEmu\n")
    assert opened(shards).names == ("Katze", "Hund", "Emu")


@pytest.mark.parametrize("values", [[0, 1, 1], [1, 2]])
def test_several_labels_as_ones_or_as_classes(write: Write, values: list[int]) -> None:
    found = opened(write([sample(0, None, npy=npy(values)), sample(1, None, npy=npy([0, 0, 0]))]))
    truth = found.label_sets["multilabel"]
    assert truth.labels.tolist() == [[1, 2], [-1, -1]]
    assert (truth.empty, [row.label for row in found.index]) == ("exclude", [-1, -1])
    assert "original" not in found.label_sets


def test_labels_within_a_subset(write: Write) -> None:
    found = opened(write([sample(0, 2), sample(1, 0)]), classes=1000, subset=(6, 11, 13))
    assert [row.label for row in found.index] == [13, 6]
    assert (found.classes, found.names) == (1000, ())


def test_folders_and_members_of_no_sample_are_left_alone(shards: Path) -> None:
    with tarfile.open(shards / "1.tar", "a") as tar:
        inner = tarfile.TarInfo("folder.d")
        inner.type = tarfile.DIRTYPE
        tar.addfile(inner)
    add(shards / "1.tar", ".hidden", "README")
    assert len(opened(shards)) == 4


@pytest.mark.parametrize("text", ["", "two", "1.5"])
def test_unreadable_number_of_shards(shards: Path, text: str) -> None:
    (shards / "nshards.txt").write_text(text)
    refused(shards, "nshards.txt", "write the number")


def test_missing_number_of_shards(shards: Path) -> None:
    (shards / "nshards.txt").unlink()
    refused(shards, "has no nshards.txt: write one with the number of shards.")


def test_archives_that_are_no_shards(shards: Path) -> None:
    (shards / "nshards.txt").unlink()
    for number, path in enumerate(sorted(shards.glob("*.tar"))):
        path.rename(shards / f"n0144076{number}.tar")
    refused(shards, "unpack archives that are none, such as n01440760.tar.")


@pytest.mark.parametrize("kind", [tarfile.LNKTYPE, tarfile.SYMTYPE])
def test_a_sample_that_is_a_link(shards: Path, kind: bytes) -> None:
    with tarfile.open(shards / "1.tar", "a") as file:
        for suffix in ("png", "cls"):
            link = tarfile.TarInfo(f"s0000009.{suffix}")
            link.type, link.linkname = kind, f"s0000002.{suffix}"
            file.addfile(link)
    refused(shards, "has the link s0000009.png to s0000002.png", "--hard-dereference")


def test_missing_shard(shards: Path) -> None:
    (shards / "1.tar").unlink()
    refused(shards, "does not have 1 of the 2 shards", "1.tar")


@pytest.mark.parametrize("size", [0, 100, 512, 700, 1024, 1536, 2048, 2560, 3072])
def test_truncated_shard_wherever_it_is_cut(shards: Path, size: int) -> None:
    tar = shards / "1.tar"
    tar.write_bytes(tar.read_bytes()[:size])
    refused(shards, "1.tar", "truncated", "copy it again")


def test_a_shard_that_is_no_tar(shards: Path) -> None:
    (shards / "0.tar").write_bytes(b"version https://git-lfs.github.com/spec/v1\n" + bytes(981))
    refused(shards, "0.tar", "no tar file")


def test_corrupt_header(shards: Path) -> None:
    data = bytearray((shards / "0.tar").read_bytes())
    data[:512] = b"\xff" * 512
    (shards / "0.tar").write_bytes(data)
    refused(shards, "0.tar", "no tar file")


@pytest.mark.parametrize("label", [None, "cat", ""])
def test_missing_label(write: Write, label: str | None) -> None:
    more = {} if label is None else {"cls": label.encode()}
    refused(write([sample(0), sample(1, None, json={}, **more)]), "s0000001", "no label", "0.tar")


@pytest.mark.parametrize("values", [b"", b"no array", npy([[1]])])
def test_unreadable_array(write: Write, values: bytes) -> None:
    refused(write([sample(0, None, npy=values)]), "s0000000", ".npy")


@pytest.mark.parametrize("label", [3, -1])
def test_label_out_of_range(write: Write, label: int) -> None:
    refused(write([sample(0, label)]), "s0000000", f"label {label}, expected 0 to 2")


def test_labels_out_of_range_in_an_array(write: Write) -> None:
    refused(write([sample(0, None, npy=npy([1, 3]))]), "label 3, expected 0 to 2")


def test_label_out_of_a_subset(write: Write) -> None:
    with pytest.raises(DataError, match="expected 0 to 2 for the names"):
        opened(write([sample(0, 7)]), classes=1000, subset=(6, 11, 13))


def test_one_key_twice_in_two_shards(write: Write) -> None:
    refused(write([sample(0)], [sample(0)]), "key s0000000", "0.tar", "1.tar")


def test_one_key_twice_in_a_row(write: Write) -> None:
    refused(write([sample(0), sample(0)]), "two samples with one key", "s0000000.cls comes twice")


@pytest.mark.parametrize("name", ["../x.webp", "/etc/x.webp", "a/../../x.cls"])
def test_unsafe_member(shards: Path, name: str) -> None:
    add(shards / "0.tar", name)
    refused(shards, "0.tar", name, "do not trust")


def test_sample_without_an_image(shards: Path) -> None:
    add(shards / "0.tar", "s0000009.cls", "s0000009.bmp")
    refused(shards, "s0000009", "0 images", "cls, bmp")


def test_no_samples(write: Write) -> None:
    refused(write([], []), "no images")


@pytest.mark.parametrize(
    ("count", "sentence"),
    [
        (
            "999999999999",
            "does not have 999,999,999,997 of the 999,999,999,999 shards in nshards.txt, the first 2.tar: copy them",
        ),
        ("3", "does not have 1 of the 3 shards in nshards.txt, the first 2.tar: copy them, or correct the number."),
    ],
)
def test_more_shards_than_there_are(shards: Path, count: str, sentence: str) -> None:
    (shards / "nshards.txt").write_text(count)
    refused(shards, sentence)


@pytest.mark.parametrize("name", ["01.tar", "one.tar", "\N{FULLWIDTH DIGIT ONE}.tar"])
def test_a_shard_by_another_name_is_none(shards: Path, name: str) -> None:
    (shards / "1.tar").rename(shards / name)
    refused(shards, "does not have 1 of the 2 shards in nshards.txt, the first 1.tar")


def test_no_class_names(shards: Path) -> None:
    (shards.parent / "classnames.txt").unlink()
    refused(shards, "classnames.txt")


def test_names_of_the_wrong_number(shards: Path) -> None:
    with pytest.raises(DataError, match=re.escape("classnames.txt has 3 lines, expected 4")):
        opened(shards, classes=4)


def test_class_names_that_are_no_text(shards: Path) -> None:
    (shards.parent / "classnames.txt").write_bytes(b"caf\xe9")
    with pytest.raises(DataError, match=r"classnames.txt, line 1 is not UTF-8"):
        opened(shards)


def test_shard_cut_after_it_was_indexed(shards: Path) -> None:
    found = opened(shards)
    (shards / "0.tar").write_bytes(b"")
    with pytest.raises(DataError, match="has become shorter"):
        list(found.read(range(1)))


def test_shard_removed_after_it_was_indexed(shards: Path) -> None:
    found = opened(shards)
    (shards / "0.tar").unlink()
    with pytest.raises(DataError, match="cannot be read now"):
        list(found.read(range(1)))


def rewrite(tar: Path, members: dict[str, bytes]) -> None:
    """Write members into a shard, which then has the size and the date that another one of that size would have."""
    with tarfile.open(tar, "w") as file:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            file.addfile(info, io.BytesIO(data))
    os.utime(tar, (0, 0))


def test_corrected_labels_in_a_shard_of_the_same_size_and_date(write: Write, tmp_path: Path) -> None:
    folder, cache = write([sample(0)]), tmp_path / "cache"
    first = {"a.png": picture(1), "a.cls": b"0", "b.png": picture(2), "b.cls": b"1"}
    rewrite(folder / "0.tar", first)
    assert [row.label for row in opened(folder, cache=cache).index] == [0, 1]
    rewrite(folder / "0.tar", {**first, "a.cls": b"1", "b.cls": b"0"})
    assert [row.label for row in opened(folder, cache=cache).index] == [1, 0]


@pytest.mark.parametrize(("name", "content"), [("a.cls", b"2"), ("a.npy", npy([1, 1, 0]))])
def test_labels_are_compared_with_the_index_whatever_the_system_says_of_the_file(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: bytes
) -> None:
    folder, cache = write([sample(0)]), tmp_path / "cache"
    monkeypatch.setattr(LocalShards, "facts", lambda *_: [])
    first = {"a.png": picture(1), "a.cls": b"0", "a.npy": npy([0, 1, 1])}
    other = "a.npy" if name == "a.cls" else "a.cls"
    del first[other]
    rewrite(folder / "0.tar", first)
    opened(folder, cache=cache)
    rewrite(folder / "0.tar", {**first, name: content})
    (truth,) = opened(folder, cache=cache).label_sets.values()
    assert truth.labels[0].tolist() == ([2] if name == "a.cls" else [0, 1])


@pytest.mark.parametrize("extra", ["2.tar", "7.tar", "02.tar"])
def test_more_shards_than_their_number(shards: Path, extra: str) -> None:
    (shards / extra).write_bytes((shards / "1.tar").read_bytes())
    note = f"{extra} is not read, since nshards.txt says 2: correct the number to read all."
    assert note in opened(shards).notes


@pytest.mark.parametrize("extra", ["2.tar.gz", "2.TAR", "2.tgz", "train-000.tar", "0 (1).tar", "2.tar.part"])
def test_archives_of_other_names_are_said_to_be_left_out(shards: Path, extra: str) -> None:
    (shards / extra).write_bytes(b"")
    note = f"{extra} is not read, since nshards.txt says 2: correct the number, and call all 0.tar and so on, to read"
    assert note in " ".join(opened(shards).notes)


@pytest.mark.parametrize("number", ["0", "-1"])
def test_a_number_of_shards_below_one(shards: Path, number: str) -> None:
    (shards / "nshards.txt").write_text(number)
    refused(shards, f"nshards.txt has the number {number}, expected 1 or more")


def test_a_label_and_a_list_of_labels(write: Write) -> None:
    both = [sample(0, 1, npy=npy([0, 2]))]
    refused(write(both), "sample s0000000 has a label in .cls and labels in .npy: which of them hold?")
    mixed = [sample(0, 1), sample(1, None, npy=npy([0, 2]))]
    folder = write(mixed, where="other")
    refused(folder, "sample s0000000 has a label, and sample s0000001 a list of labels: write all as lists")


@pytest.mark.parametrize("label", ["1_0", "+1_0"])
def test_labels_are_digits(write: Write, label: str) -> None:
    refused(write([{**sample(0, None), "cls": label.encode()}]), "has no label that can be read")


def test_infinity_is_no_label(write: Write) -> None:
    refused(write([sample(0, None, npy=npy([np.inf]))]), "has no label that can be read")


def test_shards_of_other_names_are_named_where_one_is_lacking(shards: Path) -> None:
    (shards / "1.tar").rename(shards / "train-1.tar")
    refused(shards, "does not have 1 of the 2", "train-1.tar there must be called 0.tar and so on")


def test_what_systems_leave_in_shards_is_no_sample(write: Write) -> None:
    folder = write([sample(0)])
    rewrite(
        folder / "0.tar",
        {
            "d/._a.cls": b"x", "d/a.cls": b"0", "d/._a.png": b"x", "d/a.png": picture(1), "__MACOSX/d/._b.png": b"x",
            "__MACOSX/c.png": b"x", "d/.DS_Store": b"x", "@eaDir/a.png": b"x", "d/Thumbs.db": b"x",
        },
    )  # fmt: skip
    (folder / "._0.tar").write_bytes(b"x")
    assert opened(folder).keys == ("d/a",)


def test_a_member_whose_name_is_not_utf8(write: Write) -> None:
    folder = write([sample(0)])
    rewrite(folder / "0.tar", {"caf\udce9.png": picture(1), "caf\udce9.cls": b"0"})
    refused(folder, r"the member caf\xe9.png, whose name is not UTF-8")


def test_an_array_of_bool_has_one_for_each_class_that_holds(write: Write) -> None:
    buffer = io.BytesIO()
    np.save(buffer, np.array([False, True]))
    folder = write([sample(0, None, npy=buffer.getvalue())], names=("cat", "dog"))
    assert opened(folder).label_sets["multilabel"].labels.tolist() == [[1]]


def test_shares_are_no_labels(write: Write) -> None:
    buffer = io.BytesIO()
    np.save(buffer, np.array([0.2, 0.7, 0.1]))
    refused(write([sample(0, None, npy=buffer.getvalue())]), "no label that can be read")


@pytest.mark.parametrize(
    ("start", "kind"), [(b"\x1f\x8b\x08", "gzip"), (b"BZh9", "bzip2"), (b"\xfd7zXZ\0", "xz"), (b"PK\3\4", "zip")]
)
def test_a_compressed_shard_is_named_as_such(shards: Path, start: bytes, kind: str) -> None:
    (shards / "1.tar").write_bytes(start + bytes(2048))
    refused(shards, f"1.tar is compressed with {kind}", "unpack it")


def test_labels_that_may_count_from_one(write: Write) -> None:
    (note,) = opened(write([sample(0, 1), sample(1, 2)])).notes
    assert "no image has the label 0, 'cat'" in note
    assert opened(write([sample(0, 0), sample(1, 2)], where="other")).notes == ()


def test_validation_files_with_labels_of_another_order(write: Write) -> None:
    folder = write([sample(0)], names=open_clip_names())
    keys = [f"ILSVRC2012_val_{number:08d}" for number in range(1, 4)]
    rewrite(
        folder / "0.tar",
        {f"{key}.{kind}": data for key in keys for kind, data in (("png", picture(ord(key[-1]))), ("cls", b"7"))},
    )
    with pytest.raises(DataError, match="3 of the 3 ILSVRC validation files"):
        opened(folder)
