import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from eyechart.errors import DataError
from eyechart.oodbench.data.training_corpus import read_corpus, read_synonyms, stem

Write = Callable[..., Path]
LLAVA = [
    {
        "id": "000000033471",
        "image": "coco/train2017/000000033471.jpg",
        "conversations": [
            {"from": "human", "value": "<image>\nWhat colour is the bus?"},
            {"from": "gpt", "value": "White and red."},
        ],
    },
    {"id": "33471", "image": "000000033471.jpg", "conversations": [{"from": "gpt", "value": "A bus\non a street."}]},
    {"id": "words", "conversations": [{"from": "human", "value": "Hello"}]},
]
CAPTIONS = {
    "info": {},
    "images": [{"id": 33471, "file_name": "COCO_train2014_000000033471.jpg"}, {"id": 2, "file_name": "2.jpg"}],
    "annotations": [
        {"id": 1, "image_id": 33471, "caption": "A bus."},
        {"id": 2, "image_id": 33471, "caption": "Rain."},
    ],
}


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(content: object, name: str = "corpus.json", encoding: str = "utf-8") -> Path:
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding=encoding, newline="")
        return path

    return write


def test_llavas_conversations_are_read_turn_by_turn(write: Write) -> None:
    path = write(LLAVA)
    found = read_corpus(path)
    assert found.texts == {
        "000000033471": (" \nWhat colour is the bus?", "White and red.", "A bus\non a street."),
    }
    assert (found.format, found.sha256) == ("json", sha256(path.read_bytes()).hexdigest())
    assert [(one.count, one.first) for one in found.excluded] == [(1, "entry 3")]


def test_cocos_captions_are_read_by_image(write: Write) -> None:
    found = read_corpus(write(CAPTIONS))
    assert (found.format, found.texts) == ("captions", {"000000033471": ("A bus.", "Rain.")})


def test_a_table_is_read_with_commas_quotes_and_lines_inside(write: Write) -> None:
    found = read_corpus(write('image,text,more\r\na/1.png,"One, ""two""\r\nthree",x\r\n1.png,Žlutý,\r\n', "corpus.CSV"))
    assert (found.format, found.texts) == ("csv", {"1": ('One, "two"\r\nthree', "Žlutý")})


def test_lines_of_json_take_any_name_for_what_is_said(write: Write) -> None:
    rows = [
        {"image": "a.jpg", "text": "one"},
        {"image": ["a.jpg", "b.jpg"], "caption": ["two", "three"]},
        {"image": "b.jpg", "captions": [], "conversations": []},
        {"image": [], "caption": "nobody"},
    ]
    found = read_corpus(write("\n\n".join(map(json.dumps, rows)), "corpus.jsonl", "utf-8-sig"))
    assert found.texts == {"a": ("one", "two", "three"), "b": ("two", "three")}
    assert [(one.count, one.first) for one in found.excluded] == [(1, "line 7")]


def test_only_wanted_images_are_kept_and_no_text_twice(write: Write) -> None:
    rows = [{"image": f"{name}.jpg", "text": "same"} for name in "aabbc"]
    assert read_corpus(write(rows), {"a", "b"}).texts == {"a": ("same",), "b": ("same",)}


@pytest.mark.parametrize(
    ("image", "name"),
    [
        ("COCO_val2014_000000391895.jpg", "000000391895"),
        ("val2017/000000391895", "000000391895"),
        (r"folder\photo.v2.JPEG", "photo.v2"),
        ("n015-2018__CAM_FRONT__15324", "n015-2018__CAM_FRONT__15324"),
        ("COCO_val2014_panda.png", "COCO_val2014_panda"),
    ],
)
def test_an_image_is_known_by_its_stem(image: str, name: str) -> None:
    assert stem(image) == name


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("c.txt", "", r"its format '\.txt' is not known"),
        ("c.json", "[{]", "it is not valid JSON"),
        (
            "c.json",
            [{"image": "a.jpg", "said": "x"}],
            "entry 1: it has none of the keys text, caption",
        ),
        ("c.json", [{"image": 5, "text": "x"}], r"got `int` - at `\$\[0\]\.image`"),
        ("c.json", {"images": []}, "missing required field `annotations`"),
        ("c.json", CAPTIONS | {"images": []}, "annotation 1: its image_id 33471 is not among the file's images"),
        ("c.jsonl", '{"image": "a", "text": "x"}\n{"image": "a",', "line 2: it is not valid JSON"),
        ("c.csv", "image,caption\na,b\n", "it has no column text; expected image and text"),
        ("c.csv", "image,text\na,b\na\n", "line 3: .* does not have the columns of the header"),
        ("c.csv", 'image,text\na,"b\n', "after line 1: unexpected end of data"),
    ],
)
def test_what_cannot_be_read_is_refused(write: Write, name: str, content: object, told: str) -> None:
    path = write(content, name)
    with pytest.raises(DataError, match=told) as refusal:
        read_corpus(path)
    assert str(path) in str(refusal.value)


@pytest.mark.parametrize(
    ("name", "content"),
    [("c.csv", "image,text\né,x\n"), ("c.json", '[{"image": "é"}]'), ("c.jsonl", '{"image": "é", "text": "x"}')],
)
def test_another_encoding_is_refused(write: Write, name: str, content: str) -> None:
    with pytest.raises(DataError, match=r"(?i)utf-8"):
        read_corpus(write(content, name, "latin-1"))


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no\.json cannot be read"):
        read_corpus(tmp_path / "no.json")
    with pytest.raises(DataError, match=r"no\.csv cannot be read"):
        read_synonyms(tmp_path / "no.csv", [])


def test_synonyms_are_read_by_category(write: Write) -> None:
    path = write("category,words\nperson,man; woman;\ntv,television\nperson,child;man\n", "s.csv")
    assert read_synonyms(path, ["person", "tv"]) == {"person": ("man", "woman", "child"), "tv": ("television",)}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("category,words\npersn,man\n", "line 2: 'persn' is no category; did you mean person"),
        ("category\nperson\n", "no column words"),
    ],
)
def test_synonyms_of_nothing_are_refused(write: Write, content: str, told: str) -> None:
    with pytest.raises(DataError, match=told):
        read_synonyms(write(content, "s.csv"), ["person"])


def test_synonyms_in_another_encoding_are_refused(write: Write) -> None:
    with pytest.raises(DataError, match="not UTF-8 at byte 15"):
        read_synonyms(write("category,words\né,x\n", "s.csv", "latin-1"), ["é"])
