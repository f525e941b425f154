"""Wordings are data: what is wrong with a file is said in a sentence."""

from pathlib import Path

import pytest

from eyechart.errors import DataError
from eyechart.realbirdid.answers.prompt_sets import PromptSet, load_prompt_set


def written(folder: Path, text: str, encoding: str = "utf-8") -> str:
    path = folder / "mine.toml"
    path.write_bytes(text.encode(encoding))
    return str(path)


def test_the_packaged_wordings_are_three_levels_of_fifteen() -> None:
    found = load_prompt_set()
    assert [(level, len(texts)) for level, texts in found.levels.items()] == [
        ("naive", 15),
        ("unanswerable", 15),
        ("refuse", 15),
    ]
    assert found.levels["naive"][0] == "What species of bird is in this image?"
    assert len({text for texts in found.levels.values() for text in texts}) == found.count == 45


def test_the_naive_ones_allow_no_way_out() -> None:
    assert not [text for text in load_prompt_set().levels["naive"] if "unsure" in text or "may" in text.split()]


def test_ones_own_wordings_may_have_any_levels(tmp_path: Path) -> None:
    found = load_prompt_set(
        written(tmp_path, 'source = "me"\nnote = "x"\nplain = ["What?"]\n"very polite" = ["Please?", "é"]')
    )
    assert found.levels == {"plain": ("What?",), "very polite": ("Please?", "é")}
    assert (found.source, found.count) == ("me", 3)


def test_a_byte_order_mark_is_let_go(tmp_path: Path) -> None:
    assert load_prompt_set(written(tmp_path, '\ufeffplain = ["What?"]')).count == 1


def test_the_fingerprint_is_of_texts_and_levels() -> None:
    first = PromptSet("a", {"x": ("one", "two")}).sha256
    assert first == PromptSet("b", {"x": ("one", "two")}, "me").sha256
    others = ({"y": ("one", "two")}, {"x": ("two", "one")}, {"x": ("one",), "y": ("two",)})
    assert first not in {PromptSet("a", levels).sha256 for levels in others}


WRONG = {
    "": "has no level of wordings. Give a line such as naive =",
    'source = "me"': "has no level of wordings",
    "naive = []": "'naive' has no wording. Write one into it, or leave the level out",
    'naive = ["What?", " "]': "'naive' has an empty wording",
    'naive = "What?"': "'naive' is no list of texts",
    "naive = [1]": "'naive' is no list of texts",
    "[naive]\nx = 1": "'naive' is no list of texts",
    'naive = ["What?", "Who?", "What? "]': "'What\\?' stands twice, in the level 'naive'",
    'naive = ["What?"]\nlate = ["Who?", "What?"]': "'What\\?' stands twice, in the levels 'naive' and 'late'",
    '"a/b" = ["What?"]': "the level 'a/b' has a name with / or ,",
    '"" = ["What?"]': "the level '' has",
    "naive: [What?]": "holds no wordings",
    'naive = ["What?"]\nnaive = ["Who?"]': "holds no wordings",
}


@pytest.mark.parametrize(("text", "message"), WRONG.items())
def test_a_file_that_holds_no_wordings_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        load_prompt_set(written(tmp_path, text))


def test_a_file_in_another_encoding_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"mine\.toml holds no wordings"):
        load_prompt_set(written(tmp_path, 'naive = ["é"]', "latin-1"))


@pytest.mark.parametrize("name", ["nowhere.toml", "."])
def test_what_is_no_file_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        load_prompt_set(str(tmp_path / name))
