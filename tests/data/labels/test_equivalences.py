import json
from collections.abc import Callable
from pathlib import Path

import pytest

from eyechart.data.labels.class_names import load_class_names
from eyechart.data.labels.equivalences import PACKAGED, equivalent_pairs
from eyechart.errors import DataError

Write = Callable[[str, object], str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(name: str, content: object) -> str:
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return str(path)

    return write


def test_the_published_pairs_are_twelve_and_disjoint() -> None:
    assert len(equivalent_pairs()) == 12
    assert len({label for pair in equivalent_pairs() for label in pair}) == 24
    assert (657, 744) in equivalent_pairs("12")


def test_the_names_in_the_file_belong_to_the_classes() -> None:
    names = [name.casefold() for name in load_class_names("openai").names]
    lines = PACKAGED.read_text(encoding="utf-8").splitlines()[1:]
    near = [names[int(line.split(",")[0])].split()[0][:4] in line.casefold() for line in lines]
    assert sum(near) >= 10


def test_none_has_no_pairs() -> None:
    assert equivalent_pairs("none") == ()


@pytest.mark.parametrize("key", ["eq_classes", "equivalent_classes"])
def test_all_classes_of_a_group_are_paired(write: Write, key: str) -> None:
    path = write("class_update_config.json", {"other": 1, key: {"laptops": [620, 681], "three": [1, 2, 3], "one": [9]}})
    assert equivalent_pairs(path) == ((620, 681), (1, 2), (1, 3), (2, 3))


def test_a_csv_needs_two_columns(write: Write) -> None:
    assert equivalent_pairs(write("p.csv", "a,b\n1,2\n3,4\n")) == ((1, 2), (3, 4))
    assert equivalent_pairs(write("p.csv", "note, B ,A\nx,2,1\n,,\n")) == ((1, 2),)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("p.csv", "a,b\n1,2\n3,x\n", r"p.csv, line 3 is not a pair"),
        ("p.csv", "a,b\n1\n", r"p.csv, line 2 is not a pair"),
        ("p.csv", "x,y\n1,2\n", r"p.csv begins with x,y, expected the line a,b and commas"),
        ("p.csv", "1,2\n", r"p.csv begins with 1,2, expected the line a,b"),
        ("p.csv", "a;b\n1;2\n", r"p.csv begins with a;b, expected the line a,b"),
        ("p.csv", "a,b\n1_0,2\n", r"p.csv, line 2 is not a pair"),
        ("p.csv", "a,b\n1,1\n", r"p.csv, line 2 pairs class 1 with itself"),
        ("p.csv", "a,b\n1,1000\n", r"p.csv, line 2 has the class 1000, expected 0 to 999"),
        ("p.json", {"eq_classes": {"g": [-1, 2]}}, r"p.json, group 'g' has the class -1"),
        ("p.json", {"eq_classes": {"g": ["a"]}}, r"p.json has no groups of classes \(Expected `int`"),
        ("p.json", {"groups": {}}, r"p.json has no groups of classes"),
        ("p.json", "{", r"p.json has no groups of classes"),
    ],
)
def test_broken_files_are_refused_at_their_place(write: Write, name: str, content: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        equivalent_pairs(write(name, content))


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(DataError, match="'13' are neither '12' nor 'none' nor"):
        equivalent_pairs("13")


def test_a_file_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_bytes(b"a,b,n\n1,2,\xe9\n")
    with pytest.raises(DataError, match="not UTF-8 at byte 10"):
        equivalent_pairs(str(tmp_path / "p.csv"))
