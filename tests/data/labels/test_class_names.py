import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.labels.class_names import (
    _check_count,
    check_class_count,
    check_unique,
    load_class_names,
    load_templates,
    load_vocabulary,
    synsets,
)
from eyechart.data.readers.in_memory import ImageSource
from eyechart.errors import VocabularyError
from eyechart.files.installed import packaged_file, packaged_module

PUBLISHED = {"openai": ("8800e392", "94c4"), "mill": ("e55fe991", "c05c"), "kisel": ("830957a5", "3376")}
HEAVY = "import sys, eyechart.data.labels.class_names as c; c.load_class_names('wordnet'); c.load_templates('80'); "


@pytest.fixture
def write(tmp_path: Path):
    def write(text: str, encoding: str = "utf-8") -> str:
        path = tmp_path / "names.txt"
        path.write_text(text, encoding=encoding)
        return str(path)

    return write


@pytest.mark.parametrize(("name", "ends"), [*PUBLISHED.items()])
def test_published_names_have_their_published_sha256(name: str, ends: tuple[str, str]) -> None:
    found = load_class_names(name)
    assert (found.sha256[:8], found.sha256[-4:], len(found.names)) == (*ends, 1000)


def test_mill_differs_from_openai_in_two_names() -> None:
    pairs = enumerate(zip(load_class_names("openai").names, load_class_names("mill").names, strict=True))
    assert {index: mill for index, (openai, mill) in pairs if openai != mill} == {744: "projectile", 836: "sunglass"}


def test_kisel_differs_from_openai_in_17_names() -> None:
    pairs = zip(load_class_names("openai").names, load_class_names("kisel").names, strict=True)
    assert sum(openai != kisel for openai, kisel in pairs) == 17
    assert load_class_names("kisel").names[638] == "tights for gymnastics, a one-piece leotard, or a sport jersey"


@pytest.mark.parametrize("name", ["openai", "kisel"])
def test_known_duplicates_are_refused_with_both_indices(name: str) -> None:
    with pytest.raises(VocabularyError, match=r"657 \('missile'\) and 744 .*; 836 \('sunglasses'\) and 837 "):
        load_vocabulary(name)
    assert len(load_vocabulary(name, allow_duplicates=True).names) == 1000


def test_mill_is_unique_and_wordnet_is_not() -> None:
    assert load_vocabulary("mill").names[517] == "construction crane"
    with pytest.raises(VocabularyError, match=r"134 \('crane'\) and 517 .*638 \('maillot'\) and 639 "):
        load_vocabulary("wordnet")


def test_a_file_has_one_name_a_line_and_keeps_commas(write) -> None:
    found = load_class_names(write("\ufefftench\r\ncup, mug \nété\n"))
    assert found.names == ("tench", "cup, mug", "été")


def test_the_sha256_of_a_file_is_that_of_its_names(write) -> None:
    text = "\n".join(load_class_names("mill").names)
    assert load_class_names(write(text)).sha256 == load_class_names("mill").sha256


def test_a_vocabulary_of_the_wrong_length_is_refused(write) -> None:
    path = write("tench\ngoldfish\n")
    with pytest.raises(VocabularyError, match=r"names.txt has 2 class names, expected 3"):
        load_vocabulary(path, 3)


def test_an_empty_line_is_named(write) -> None:
    with pytest.raises(VocabularyError, match=r"names.txt, line 2 is empty"):
        load_class_names(write("tench\n \ngoldfish\n"))


def test_a_file_that_is_not_utf8_is_refused(write) -> None:
    with pytest.raises(VocabularyError, match="not UTF-8 at byte 0"):
        load_class_names(write("été", "latin-1"))


def test_a_typo_gets_a_suggestion() -> None:
    with pytest.raises(VocabularyError, match=r"neither one of openai, mill.* did you mean openai"):
        load_class_names("openia")


def test_an_empty_name_is_refused_even_among_duplicates() -> None:
    with pytest.raises(VocabularyError, match="classes 1 have an empty name"):
        check_unique(["a", " "], allow_duplicates=True)


def test_many_duplicates_are_cut_short() -> None:
    with pytest.raises(VocabularyError, match="and 5 more pairs have one name"):
        check_unique(["a"] * 5)


def test_expect_accepts_the_right_length() -> None:
    _check_count(["a", "b"], 2)


@pytest.mark.parametrize(("name", "count"), [("80", 80), ("7", 7), ("1", 1)])
def test_templates_have_one_slot_each(name: str, count: int) -> None:
    formats = load_templates(name).formats
    assert len(formats) == count
    assert all(text.format(c="tench").count("tench") == 1 for text in formats)


def test_the_80_templates_give_open_clips_prompts() -> None:
    functions = packaged_module("open_clip", "zero_shot_metadata").OPENAI_IMAGENET_TEMPLATES
    theirs = [function("crane bird") for function in functions]
    assert [text.format(c="crane bird") for text in load_templates("80").formats] == theirs


def test_a_file_of_templates_takes_both_slots(write) -> None:
    assert load_templates(write("a {c}.\nthe {}\n")).formats == ("a {c}.", "the {c}")


@pytest.mark.parametrize("line", ["a photo", "a {d}", "a {", "{} or {c}", "{c!r}", "{c:>3}", "{0}"])
def test_a_template_without_its_slot_is_named(write, line: str) -> None:
    with pytest.raises(VocabularyError, match=r"names.txt, line 2 is "):
        load_templates(write(f"a {{c}}\n{line}\n"))


def test_synsets_are_those_of_timm() -> None:
    lines = packaged_file("timm", "data", "_info", "imagenet_synsets.txt").read_text(encoding="utf-8")
    assert synsets() == tuple(lines.split())


def test_nothing_heavy_is_imported() -> None:
    code = HEAVY + "sys.exit(bool({'torch', 'timm', 'open_clip'} & {*sys.modules}))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_names_of_a_file_in_another_order_than_the_data(write) -> None:
    dataset = Dataset("pets", "test", (), ImageSource(()), 3, names=("cat", "dog", "emu"))
    check_class_count(dataset, ("Katze", "Hund", "Emu"), "de.txt")
    check_class_count(dataset, ("Cat", "dog", "emu"), "en.txt")
    with pytest.raises(VocabularyError, match=r"'dog' is name 0, but class 1 of the data, where class 0 is 'cat'"):
        check_class_count(dataset, ("dog", "cat", "emu"), "en.txt")


def test_names_of_a_file_have_spaces_with_images_underscores(write) -> None:
    assert load_class_names(write("dog_face\ncat\n")).names == ("dog face", "cat")


NAMES = st.lists(
    st.text(st.characters(codec="utf-8"), min_size=1).filter(str.strip), min_size=1, unique_by=str.casefold
)
UNIQUE = NAMES.filter(lambda names: len({name.strip().casefold() for name in names}) == len(names))


@given(UNIQUE)
def test_unique_names_are_accepted(names: list[str]) -> None:
    check_unique(names)


@given(UNIQUE, st.data())
def test_one_name_again_in_other_dress_is_refused_with_both_indices(names: list[str], data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(names) - 1))
    space = data.draw(st.text(" \t\n"))
    with pytest.raises(VocabularyError, match=rf"^Classes {index} \((.|\n)* and {len(names)} \("):
        check_unique([*names, f"{space}{names[index].casefold()}{space}"])


@given(UNIQUE, st.randoms())
def test_order_does_not_matter(names: list[str], random) -> None:
    random.shuffle(names)
    check_unique(names)
