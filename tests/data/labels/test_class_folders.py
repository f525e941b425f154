"""Which class each folder is, where names, numbers, systems and other tools' layouts leave a doubt."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.imagenet.classes import val_labels
from eyechart.data.splits.open_split import list_splits, open_split
from eyechart.errors import DataError
from tests.data.opened_folders import opened, refusal
from tests.data.pictures import picture

Fill = Callable[..., Path]
VAL = [f"ILSVRC2012_val_{number:08d}.JPEG" for number in (1, 2, 3)]  # classes 65, 970, 230


def called(found: Dataset) -> dict[str, str]:
    """The class name of each picture."""
    return {row.key: found.names[row.label] for row in found.index}


# Numbers.


def test_validation_files_in_folders_numbered_in_another_order(fill: Fill) -> None:
    files = dict([*val_labels().items()][:40])
    folder = fill(*(f"{(label + 1) % 1000}/{file}" for file, label in files.items()), where="imagenet/small")
    for number in range(1000):
        (folder / str(number)).mkdir(exist_ok=True)
    message = refusal(folder)
    assert "40 of the 40 ILSVRC validation files" in message
    assert "devkit" in message


def test_validation_files_in_their_numbers_keep_their_labels(fill: Fill) -> None:
    files = dict([*val_labels().items()][:5])
    expected = [label for _, label in sorted((str(label), label) for label in files.values())]
    folder = fill(*(f"{label}/{file}" for file, label in files.items()), where="imagenet/small")
    for number in range(1000):
        (folder / str(number)).mkdir(exist_ok=True)
    assert [row.label for row in opened(folder).index] == expected


def test_a_root_with_validation_files_in_numbered_folders_is_a_root(fill: Fill) -> None:
    folder = fill(f"65/{VAL[0]}", f"970/{VAL[1]}", where="root/imagenet/val")
    assert "imagenet/val" in map(str, list_splits(folder.parent.parent))


def test_validation_files_in_folders_of_names(fill: Fill) -> None:
    folder = fill(f"tench/{VAL[0]}", f"goldfish/{VAL[1]}", where="root/in1k/small")
    (ref,) = (ref for ref in list_splits(folder.parent.parent) if str(ref) == "in1k/small")
    assert called(open_split(ref)) == {f"goldfish/{VAL[1]}": "goldfish", f"tench/{VAL[0]}": "tench"}


def test_numbers_from_one_with_a_name_for_each(fill: Fill) -> None:
    found = opened(fill("1/a.png", "2/a.png", "3/", classnames="blue\ngreen\nred\n"))
    assert called(found) == {"1/a.png": "blue", "2/a.png": "green"}
    assert found.notes == ("class folders are numbered from 1: 1 is class 0.",)


@pytest.mark.parametrize("names", [("1/a.png", "2/a.png"), ("2/a.png",)])
def test_numbers_that_may_begin_at_zero_or_one(fill: Fill, names: Sequence[str]) -> None:
    message = refusal(fill(*names, classnames="blue\ngreen\nred\n"))
    assert "numbered from 0, or from 1?" in message
    assert "an empty folder 3 if they begin at 1" in message


def test_numbers_from_zero_are_told(fill: Fill) -> None:
    order, prompts = opened(fill(*(f"{number}/a.png" for number in range(12)))).notes
    assert "2 comes before 10" in order
    assert "the classes are called by numbers, 0 to 11, also in prompts" in prompts


# Lines of classnames.txt.


@pytest.mark.parametrize("lines", ["apple\nBanana\n", "banana\nApple\n", "apple\r\nbanana"])
def test_lines_with_the_names_of_the_folders_are_theirs(fill: Fill, lines: str) -> None:
    found = opened(fill("apple/0.png", "Banana/0.png", classnames=lines))
    assert {key: name.casefold() for key, name in called(found).items()} == {
        "apple/0.png": "apple",
        "Banana/0.png": "banana",
    }
    assert len(found.notes) == ("apple" in lines[:5])


def test_more_lines_than_folders_if_all_folders_are_among_them(fill: Fill) -> None:
    found = opened(fill("dog_face/0.png", "ant/0.png", classnames="zebra\ndog face\nant\n"))
    assert (found.classes, called(found)) == (3, {"ant/0.png": "ant", "dog_face/0.png": "dog face"})


def test_lines_that_name_another_folder_are_refused(fill: Fill) -> None:
    message = refusal(fill("cat/0.png", "dog/0.png", "emu/0.png", classnames="dog\na cat\nan emu\n"))
    assert "line 2 has its own name" in message
    assert "number 1 of the folders" in message


@pytest.mark.parametrize("folders", [("apple", "Banana"), ("class2", "class10"), ("a_c", "ab")])
def test_an_order_that_file_managers_show_otherwise_is_told(fill: Fill, folders: Sequence[str]) -> None:
    (note,) = opened(fill(*(f"{name}/0.png" for name in folders), classnames="first\nsecond\n")).notes
    assert f"{min(folders)} is 'first'" in note


@pytest.mark.parametrize(
    "lines",
    [
        "\ufeffblue\r\nred\r\n".encode(),
        "blue\nred\n".encode("utf-16"),
        "blue\n\ufeffred\n".encode(),
        "\ufeff\ufeffblue\nred".encode(),
    ],
)
def test_byte_order_marks_are_no_part_of_names(fill: Fill, lines: bytes) -> None:
    assert opened(fill("a/0.png", "b/0.png", classnames=lines)).names == ("blue", "red")


def test_an_empty_line_among_names(fill: Fill) -> None:
    assert "line 2 is empty" in refusal(fill("a/0.png", "b/0.png", classnames="blue\n\nred\n"))


# Names.


def test_underscores_are_spaces_in_names(fill: Fill) -> None:
    found = opened(fill("cat/0.png", "dog_face/0.png"))
    assert (found.names, found.keys) == (("cat", "dog face"), ("cat/0.png", "dog_face/0.png"))
    assert "1 of 2 class names have underscores, such as 'dog_face'" in found.notes[0]


def test_names_that_differ_in_underscores_stay(fill: Fill) -> None:
    found = opened(fill("dog face/0.png", "dog_face/0.png"))
    assert found.names == ("dog face", "dog_face")
    assert "two names would be equal" in found.notes[0]


@pytest.mark.parametrize("kind", ["file", "class"])
def test_a_name_that_is_not_utf8_is_named(fill: Fill, kind: str) -> None:
    folder = fill("blue/0.png", "red/x.png")
    source = folder / ("red/x.png" if kind == "file" else "red")
    source.rename(os.fsdecode(os.fsencode(source.parent) + b"/caf\xe9.png"))
    message = refusal(folder)
    assert r"caf\xe9.png is not UTF-8" in message
    message.encode()


def test_one_class_is_told(fill: Fill) -> None:
    assert opened(fill("cat/0.png")).notes == ("there is only one class, cat, so that every answer is right.",)


def test_a_stray_folder_beside_flat_validation_files(fill: Fill) -> None:
    folder = fill(*VAL, "devkit/")
    assert opened(folder).notes == ("devkit beside the pictures has none and is not read.",)
    (folder / "devkit" / "a.png").write_bytes(picture(9))
    assert "beside the folder devkit, which is no synset" in refusal(folder)


@pytest.mark.parametrize("suffix", ["jpg", "jpeg", "png", "webp"])
def test_copies_of_validation_files_in_other_formats(fill: Fill, suffix: str) -> None:
    assert [row.label for row in opened(fill(f"ILSVRC2012_val_00000001.{suffix}")).index] == [65]


def test_one_picture_in_two_classes_is_told(fill: Fill) -> None:
    folder = fill("cat/0.png", "dog/0.png", "dog/1.png")
    (folder / "dog" / "1.png").write_bytes((folder / "cat" / "0.png").read_bytes())
    assert opened(folder).notes == (
        "one picture is in two classes, the first cat/0.png and dog/1.png: no answer is right for both.",
    )


# Where labels and class names are from.


@pytest.mark.parametrize(
    ("names", "classnames", "provenance"),
    [
        (["b/0.png", "a/0.png"], "", "class folders in the order of their names; class names: those of the folders"),
        (["0/0.png", "1/0.png"], "", "labels: numbers of the folders from 0; class names: these numbers"),
        (["1/0.png", "2/0.png"], "cat\ndog\n", "labels: numbers of the folders from 1; class names: classnames.txt"),
        (["a/0.png", "b/0.png"], "cat\ndog\n", "order of their names; class names: classnames.txt, in the same order"),
        (["a/0.png", "b/0.png"], "b\na\n", "order of their names; class names: classnames.txt with the folders' names"),
        (["a/0.png"], "b\na\n", "labels: folders by their names in classnames.txt; class names: classnames.txt"),
        (["n01440764/0.png"], "", "labels: folders of synsets; class names: those of ImageNet"),
    ],
)  # fmt: skip
def test_a_folder_says_where_labels_and_names_are_from(
    fill: Fill, names: list[str], classnames: str, provenance: str
) -> None:
    assert opened(fill(*names, classnames=classnames)).provenance.endswith(provenance)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("2 red\n0 blue\n1 green\n", "begins with '2 red', and all its lines are numbered"),
        ("0,blue\n1,green\n2,red\n", "all its lines are numbered"),
        ("1. blue\n2. green\n3. red\n", "all its lines are numbered"),
        ("0\tblue\n1\tgreen\n2\tred\n", "all its lines are numbered"),
        ('"blue"\n"green"\n"red"\n', "all its lines are in quotes"),
        ("[\n'blue',\n'green',\n'red'\n]\n", "all its lines are in quotes"),
        ("blue,0\ngreen,1\nred,2\n", "all its lines are numbered"),
        ("blue\t1\ngreen\t2\nred\t3\n", "all its lines are numbered"),
        ("- blue\n- green\n- red\n", "all its lines are items of a list"),
    ],
)
def test_lines_that_are_numbered_or_in_quotes(fill: Fill, lines: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        opened(fill("a/0.png", "b/0.png", "c/0.png", classnames=lines))


@pytest.mark.parametrize(
    "lines", ["1 finger\n2 fingers\n3 fingers\n", "class 0\nclass 1\nclass 2\n", "0 - zero\n1 - one\n2 - two\n"]
)
def test_names_that_begin_with_numbers(fill: Fill, lines: str) -> None:
    assert opened(fill("a/0.png", "b/0.png", "c/0.png", classnames=lines)).names == tuple(lines.split("\n")[:-1])


@pytest.mark.parametrize(
    ("folders", "lines"),
    [
        ("001.cat 002.ant", "ant\ncat\n"),
        ("guinea-pig ox-eye", "ox eye\nguinea pig\n"),
        ("GuineaPig OxEye", "ox eye\nguinea pig\n"),
        ("cat dog", "dogs\ncats\n"),
        ("cat dog", "a dog\na cat\n"),
    ],
)
def test_lines_that_name_other_folders_in_another_spelling(fill: Fill, folders: str, lines: str) -> None:
    with pytest.raises(DataError, match="but line 2 has its own name: give the lines in the order of the folders"):
        opened(fill(*(f"{folder}/0.png" for folder in folders.split()), classnames=lines))


@pytest.mark.parametrize(
    "name",
    ["__MACOSX (1)", "@__thumb", "MSOCache", "LOST.DIR", "PaxHeaders.123", "GNUSparseFile.0", "wandb", "trashbox"],
)
def test_further_folders_of_systems_are_no_classes(fill: Fill, name: str) -> None:
    assert opened(fill("a/0.png", "b/0.png", f"{name}/0.png")).names == ("a", "b")


# Numbers and synsets with doubt.


def test_two_folders_of_one_number(fill: Fill) -> None:
    message = refusal(fill("0/a.png", "00/a.png", "1/a.png", classnames="blue\ngreen\nred\n"))
    assert "the class folders 0 and 00, which are one number" in message


@pytest.mark.parametrize("folders", ["0 1 2", "1 2 3", "9 10", "2019 2020"])
def test_numbers_as_the_folders_own_names(fill: Fill, folders: str) -> None:
    numbers = folders.split()
    found = opened(fill(*(f"{number}/a.png" for number in numbers), classnames="\n".join(reversed(numbers))))
    assert called(found) == {f"{number}/a.png": number for number in numbers}
    assert found.names == tuple(numbers)


def test_a_folder_beside_synsets_that_is_none(fill: Fill) -> None:
    folder = fill("n01440764/a.jpg", "n01443537/a.jpg", "misc/a.jpg")
    assert "1 folders that are no ImageNet-1k synsets, the first misc" in refusal(folder)
    (folder.parent / "classnames.txt").write_text("misc\nn01440764\nn01443537\n")
    assert opened(folder).names == ("misc", "n01440764", "n01443537")


def test_synsets_as_names_and_names_that_are_not_read_are_told(fill: Fill) -> None:
    (note,) = opened(fill("n99999998/a.jpg", "n99999999/a.jpg")).notes[:1]
    assert "called by synsets, such as n99999998, also in prompts" in note
    (note,) = opened(fill("n01440764/a.jpg", "n01443537/b.jpg", where="own/val", classnames="tench\ngoldfish")).notes[
        :1
    ]
    assert "classnames.txt are not read: folders of synsets are ImageNet's classes" in note


def test_a_name_on_two_lines(fill: Fill) -> None:
    message = refusal(fill("ant/0.png", "cat/0.png", "dog/0.png", classnames="ant\ncat\nant\n"))
    assert "has 'ant' on two lines, 1 and 3" in message
