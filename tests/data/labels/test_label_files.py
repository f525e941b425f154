from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path, PurePosixPath

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.data.dataset.dataset import Row
from eyechart.data.labels.label_files import (
    ImageNames,
    LabelFile,
    align_labels,
    describe_mismatches,
    packaged_real_labels,
    parse_labels_option,
    read_labels,
)
from eyechart.data.labels.label_formats import validation_file
from eyechart.errors import DataError
from tests.data.labels.label_file_texts import EXPERT, ONE, SHANKAR, THREE, TWO, jsonl, rows

Write = Callable[..., Path]
NAMES = st.text("ab/.\\", max_size=5).map("{}a".format) | st.text("ab./", max_size=4).map("a{}.".format)


def test_the_packaged_real_labels_speak_of_every_image() -> None:
    labels = packaged_real_labels().labels
    assert len(labels) == 50_000
    assert sum(not valid for valid in labels.values()) == 3163


def test_a_plain_csv_takes_any_separator_and_unicode(write: Write) -> None:
    found = read_labels(write('\ufefffile,labels\nété 1.jpg,3 4\nβ.jpg,5;6\nc.jpg,"7, 8"\nd.jpg,\n'))
    assert found.format == "csv"
    assert found.labels == {"été 1.jpg": (3, 4), "β.jpg": (5, 6), "c.jpg": (7, 8), "d.jpg": ()}


@pytest.mark.parametrize(
    "content",
    [
        "file,labels\na,1 2\nb,\n,\n ,\n",
        "File, Labels\na,1 2\nb,\n",
        "file,labels\ra,1 2\rb,\r",
        'file,labels\na,"[1, 2]"\nb,[]\n',
        "file,labels\na,1.0 2.0\nb,\n",
    ],
)
def test_a_csv_as_excel_pandas_and_people_write_it(write: Write, content: str) -> None:
    assert read_labels(write(content)).labels == {"a": (1, 2), "b": ()}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([[1]], r"it has 1 entries, expected 50000"),
        ([[1], ["x"], *[[7]] * 49_998], r"Expected `int`, got `str` - at `\$\[1\]\[0\]`"),
        ([[1], [-1], *[[7]] * 49_998], r"entry 2: the label -1 of .*out of range, expected 0 to 999"),
        ([[1], [1000], *[[7]] * 49_998], r"entry 2: the label 1000 .*out of range"),
        ("[[1],\n[2],\n[", r"line 3: it is not valid JSON"),
        (jsonl((ONE, [5]), (TWO, [1000])), r"line 2: the label 1000 of 'ILSVRC2012_val_00000002.JPEG' is out of range"),
        (jsonl((ONE, [5]), (ONE, [6])), r"line 2: 'ILSVRC2012_val_00000001.JPEG' stands in line 1 already"),
        (jsonl((ONE, [5])) + '{"image_name', r"line 2: it is not valid JSON"),
        (jsonl((ONE, ["dog"])), r"line 1: Expected `int`, got `str` - at `\$.reannotated_labels\[0\]`"),
        (jsonl(("", [1])), r"line 1: Expected `str` of length >= 1"),
        ("id,proposed_labels\na,1\na,2\n", r"line 3: 'a' stands in line 2 already"),
        ("file,labels\na,1\nb,dog\n", r"line 3: the labels 'dog' are not class indices"),
        ("file,labels\na,1\nb,0_1\n", r"line 3: the labels '0_1' are not class indices"),
        ("file;labels\na;1\n", r"it has semicolons between its columns, expected commas"),
        ("File\tLabels\na\t1\n", r"it has tabs between its columns, expected commas"),
        ("file,labels\na,1\nb,2,3\n", r"line 3: .* does not have the columns"),
        ("file,labels\na\n", r"line 2: .* does not have the columns"),
        ('file,labels\na,"1\n', r"after line 1: unexpected end of data"),
        (
            "file,label\na,1\n",
            r"its format is not known. Expected one of real, .*; csv begins with the line file,labels",
        ),
        ({"a": 1}, r"its format is not known"),
        ({"initial_annots": {ONE: {"correct": ["n99999999"]}}}, r"entry '.*': 'n99999999' is not a WordNet id"),
        ({"initial_annots": {ONE: {"correct": [1]}}}, r"Expected `str`, got `int`"),
    ],
)
def test_broken_files_are_refused_at_their_place(write: Write, content: object, message: str) -> None:
    with pytest.raises(DataError, match=rf"The label file .*labels, .*{message}"):
        read_labels(write(content))


def test_the_wrong_format_is_refused(write: Write) -> None:
    with pytest.raises(DataError, match="it has no column id, proposed_labels"):
        read_labels(write("file,labels\na,1\n"), "kisel")
    with pytest.raises(DataError, match="format 'kisle' is not known; did you mean kisel"):
        read_labels(write("file,labels\na,1\n"), "kisle")


def test_unreadable_files_are_named(write: Write, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"missing.csv cannot be read \(No such file"):
        read_labels(tmp_path / "missing.csv")
    with pytest.raises(DataError, match="not UTF-8 at byte 12"):
        read_labels(write("file,labels\né,1\n", "latin-1"))


def test_fewer_classes_narrow_the_range(write: Write) -> None:
    with pytest.raises(DataError, match="expected 0 to 9"):
        read_labels(write("file,labels\na,10\n"), classes=10)


def labelled(**labels: tuple[int, ...]) -> LabelFile:
    return LabelFile({name.replace("__", "/").replace("_", "."): valid for name, valid in labels.items()}, "", "f", "")


def test_align_pads_in_the_order_of_the_rows() -> None:
    found = align_labels(
        labelled(b_jpg=(1, 2), a_jpg=(3,), d_jpg=()), rows(*[(n, f"{n}.jpg") for n in "abcd"]), "X", "wrong"
    )
    assert found.labels.tolist() == [[3, -1], [1, 2], [-1, -1], [-1, -1]]
    assert found.annotated.tolist() == [True, True, False, True]
    assert (found.name, found.empty, found.labels.dtype) == ("X", "wrong", np.int64)


@pytest.mark.parametrize("row", [("s1", "a.jpg"), ("s1", "x/a.jpg"), ("a", "s1.webp"), ("a.jpg", "1"), ("s", "a.webp")])
def test_align_matches_by_file_then_key_then_stem(row: tuple[str, str]) -> None:
    assert align_labels(labelled(a_jpg=(3,)), rows(row), "X", "correct").labels.tolist() == [[3]]


def test_align_prefers_the_file_to_the_key() -> None:
    found = align_labels(labelled(a_jpg=(3,), b_jpg=(4,)), rows(("b", "a.jpg")), "X", "correct")
    assert found.labels.tolist() == [[3]]


def test_align_never_guesses_between_equal_base_names() -> None:
    images = rows(("cat/1", "1.jpg"), ("dog/1", "1.jpg"))
    assert align_labels(labelled(cat__1_jpg=(3,)), images, "X", "correct").annotated.tolist() == [True, False]
    both = align_labels(labelled(dog__1_jpg=(4,), cat__1_jpg=(3,)), images, "X", "correct")
    assert both.labels.tolist() == [[3], [4]]


def test_a_name_that_several_images_have_is_ambiguous_also_if_only_one_of_them_is_selected() -> None:
    images = rows(("cat/1", "1.jpg"), ("dog/1", "1.jpg"), ("dog/2", "2.jpg"))
    found = align_labels(LabelFile({"1.jpg": (0,), "2.jpg": (3,)}, "", "f", ""), images, "X", "correct", [0, 2])
    assert found.labels.tolist() == [[-1], [3]]


@given(st.lists(NAMES, unique=True, max_size=6), st.lists(st.tuples(NAMES, NAMES), unique=True, max_size=6))
def test_align_matches_as_paths_do(lines: list[str], names: list[tuple[str, str]]) -> None:
    images = rows(*names)
    assert images.match(LabelFile(dict.fromkeys(lines, (0,)), "", "f", "")) == matches_of_paths(lines, names)


def matches_of_paths(lines: list[str], names: list[tuple[str, str]]) -> list[int | None]:
    """The first form of each image's file, then key, that no other image and exactly one line has."""

    def forms(name: str) -> list[str]:
        path = PurePosixPath(name.replace("\\", "/"))
        return [str(path), path.name, str(path.parent / path.stem), path.stem]

    def only(form: str, items: list[list[str]]) -> int | None:
        indices = [index for index, item in enumerate(items) if form in item]
        return indices[0] if len(indices) == 1 else None

    of_lines = [forms(line) for line in lines]
    of_images = [[*forms(file), *forms(key)] for key, file in names]
    found = [[only(form, of_lines) for form in image if only(form, of_images) is not None] for image in of_images]
    return [next((line for line in image if line is not None), None) for image in found]


def test_align_refuses_labels_of_other_images() -> None:
    with pytest.raises(DataError, match=r"file f names none of the 1 images: its first is 'b.jpg'.*'a.jpg'"):
        align_labels(labelled(b_jpg=(1,)), rows(("a", "a.jpg")), "X", "correct")


def test_align_says_why_no_line_names_an_image() -> None:
    images = rows(("cat/1", "1.jpg"), ("dog/1", "1.jpg"))
    with pytest.raises(DataError, match=r"has '1.jpg', which is the name of several images: write their keys, such as"):
        align_labels(LabelFile({"1.jpg": (0,)}, "", "f", ""), images, "X", "correct")
    with pytest.raises(DataError, match="has no labels of an image: give a line at least"):
        align_labels(LabelFile({}, "", "f", ""), images, "X", "correct")


def test_the_sha256_of_a_label_set_follows_its_content() -> None:
    images = rows(("a", "a.jpg"), ("b", "b.jpg"))
    sums = {
        align_labels(labelled(a_jpg=one, b_jpg=two), images, "X", "correct").sha256
        for one in [(), (1,)]
        for two in [(), (1,)]
    }
    assert len(sums) == 4


def test_an_option_names_a_file_and_its_reading() -> None:
    plain, full = (
        parse_labels_option("ReGT=/a=b.json"),
        parse_labels_option("M [format=imagenet-m, empty=exclude]= m.json"),
    )
    assert (plain.name, plain.path, plain.format, plain.empty) == ("ReGT", "/a=b.json", None, "correct")
    assert (full.name, full.path, full.format, full.empty) == ("M", "m.json", "imagenet-m", "exclude")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("real.json", "cannot be read. Expected name=path"),
        ("=real.json", "cannot be read"),
        ("a[empty=exclude", "cannot be read"),
        ("a[emtpy=exclude]=b", "the option 'emtpy'; did you mean empty"),
        ("a[empty=excluded]=b", "empty=excluded; expected one of correct, exclude, wrong"),
        ("a[format=xml]=b", "format=xml; expected one of real"),
    ],
)
def test_an_option_with_a_typo_is_refused(text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        parse_labels_option(text)


def rows_of(*names: str) -> ImageNames:
    return ImageNames([Row(name, name, "0" * 64, 0) for name in names])


def test_lines_that_name_no_image_and_images_without_a_line_are_counted_with_examples(write: Write) -> None:
    index = rows_of(*(f"dog/d{number}.png" for number in range(5)), "cat/c.png")
    found = read_labels(write("file,labels\n" + "".join(f"dgo/e{n}.png,0\n" for n in range(5)) + "cat/c.png,1\n"))
    lines, images = describe_mismatches(found, index)
    assert lines.endswith("5 lines name no image (dgo/e0.png, dgo/e1.png, dgo/e2.png, …)")
    assert images.endswith("5 images have no line (dog/d0.png, dog/d1.png, dog/d2.png, …)")


@pytest.mark.deep
@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (f"file,labels\n{ONE},0\n{TWO},\n", 0),  # an image without a class has a line
        (f"file,labels\n{ONE},0\n{TWO},1\n{THREE},2\n", 0),  # the split is a part of ImageNet's validation images
        (f"file,labels\n{ONE},0\n", 1),
        (f"file,labels\n{ONE},0\n{TWO},1\nother.png,2\n", 1),
        ([[5, 3], [], *[[7]] * 49_998], 0),
        (jsonl((ONE, [5])), 0),  # ReGT is of 375 classes
        (SHANKAR, 0),
        (EXPERT, 0),
    ],
)
def test_what_a_published_file_leaves_out_by_design_is_no_mismatch(
    write: Write, content: object, expected: int
) -> None:
    assert len(describe_mismatches(read_labels(write(content)), rows_of(ONE, TWO))) == expected


@pytest.mark.deep
def test_the_packaged_real_labels_fit(write: Write) -> None:
    assert not describe_mismatches(packaged_real_labels(), rows_of(*(validation_file(n) for n in range(1, 50_001))))


@pytest.mark.parametrize("content", ["file,labels" * 200_000, "file,labels\na.png," + "1 " * 600_000])
def test_an_absurdly_long_line_is_refused(write: Write, content: str) -> None:
    with pytest.raises(DataError, match=r"line [12] has [\d,]+ characters, expected at most 1,000,000"):
        read_labels(write(content))


def test_labels_that_count_from_one(tmp_path: Path) -> None:
    rows = [Row(f"{index}.png", f"{index}.png", "", index) for index in range(20)]
    for first, message in ((0, ""), (1, "the data set's own label plus 1 for 20 of 20 images")):
        lines = "".join(f"{row.key},{row.label + first}\n" for row in rows)
        (tmp_path / "labels.csv").write_text(f"file,labels\n{lines}")
        label_file = read_labels(tmp_path / "labels.csv")
        with pytest.raises(DataError, match=message) if message else nullcontext():
            assert align_labels(label_file, ImageNames(rows), "own", "correct").annotated.all()
