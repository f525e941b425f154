"""Prompts are data: what they ask is what is published, and nothing else gets in."""

import re
from hashlib import sha256
from pathlib import Path

import pytest
from golden_prompts import FOLDER, render
from hypothesis import given
from hypothesis import strategies as st

from eyechart.classification.answers.image_batches import closed_world_prompt
from eyechart.errors import DataError
from eyechart.protocol.prompts import Prompt, _known_slots, get_prompt, prompt_names
from eyechart.protocol.registry import get_protocol, list_protocols
from toybox.questions import WORDINGS


@pytest.mark.parametrize("name", prompt_names())
def test_a_prompt_is_rendered_as_kept(name: str) -> None:
    kept = FOLDER / f"{name}.txt"
    assert render(name) == kept.read_text(encoding="utf-8"), f"{kept} keeps another text than {name}.toml gives"


def test_every_kept_prompt_is_one_of_the_packaged() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.txt")) == list(prompt_names())


@pytest.mark.parametrize("name", prompt_names())
def test_headings_and_items_begin_lines(name: str) -> None:
    text = get_prompt(name).text
    assert text == text.strip()
    assert not any(f" {start}" in text for start in ("Classification Rules:", "Output Rules:"))
    assert [index for index in range(len(text)) if text.startswith(" - ", index)] == (
        [text.index(" - the most relevant")] if " - the most relevant" in text else []
    )


@pytest.mark.parametrize("name", prompt_names())
def test_a_prompt_says_where_its_words_come_from(name: str) -> None:
    found = get_prompt(name)
    (source,) = {get_protocol(asked).source for asked in list_protocols() if name in get_protocol(asked).prompts}
    assert re.split("[',]", source)[0] in found.source  # the publication, without its table or page
    assert found.sha256 == sha256(found.text.encode()).hexdigest()


def test_every_prompt_has_a_fingerprint_of_its_own() -> None:
    assert len({get_prompt(name).sha256 for name in prompt_names()}) == len(prompt_names())


def test_the_closed_world_has_a_prompt_for_each_way_to_answer() -> None:
    found = {
        closed_world_prompt(answer, structured=structured).name
        for answer in ("name", "id")
        for structured in (False, True)
    }
    assert found == {"closed_world", "closed_world_json", "closed_world_id", "closed_world_id_json"}


def test_the_format_is_that_of_the_file_whatever_its_text_mentions(tmp_path: Path) -> None:
    text = 'source = "me"\ntext = "Do not write JSON with the key \\"1\\"."'
    assert get_prompt(written(tmp_path, text)).format == "text"
    (tmp_path / "json").mkdir()
    assert get_prompt(written(tmp_path / "json", f'{text}\nformat = "json"')).format == "json"


def test_alternatives_are_packaged_prompts_that_differ_in_name_alone() -> None:
    alternatives = {
        (name, other): get_prompt(name).alternative(other)
        for name in prompt_names()
        for other in get_prompt(name).alternatives
    }
    assert {(name, other, found.name) for (name, other), found in alternatives.items()} == {
        (name, other, f"{name}_{other}") for name, other in alternatives
    }
    assert {found.format for (_, other), found in alternatives.items() if other == "json"} == {"json"}


@given(st.text(), st.text())
def test_a_text_goes_into_its_slot_untouched(first: str, second: str) -> None:
    filled = Prompt("two", "<{class_list}|{dynamic_choices}>", "own").fill(class_list=first, dynamic_choices=second)
    assert filled == f"<{first}|{second}>"


@pytest.mark.parametrize("values", [{}, {"options": "A) a"}, {"class_list": "a", "options": "b"}])
def test_texts_must_be_those_of_the_slots(values: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="'closed_world' has the slots: class_list"):
        get_prompt("closed_world").fill(**values)


def written(folder: Path, text: str) -> str:
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_a_prompt_of_ones_own_is_read(tmp_path: Path) -> None:
    found = get_prompt(written(tmp_path, 'source = "me"\ntext = "{\\"1\\": …} Which of {class_list}?"'))
    assert (found.source, found.slots) == ("me", ("class_list",))


WRONG = {
    'source = "me"': "missing required field `text`",
    'text = "What?"': "missing required field `source`",
    'source = "me"\ntext = "What?"\nauthor = "me"': "unknown field `author`",
    'source = "me"\ntext = 3': "got `int`",
    'source = "me"\ntext = "What?"\nformat = "xml"': "Invalid enum value 'xml'.*format \\(text or json\\)",
    'source = "me"\ntext = "What?"\nalternatives = { json = "mine_json" }': "unknown field `alternatives`",
    'source = "me\ntext = "What?"': "is not a prompt",
    'source = "me"\ntext = " "': "has an empty text",
    'source = "me"\ntext = "{class_lst}"': r"slot \{class_lst\}.*did you mean class_list",
    'source = "me"\ntext = "{Options}"': f"The slots are: {', '.join(_known_slots())}",
}


@pytest.mark.parametrize(("text", "message"), WRONG.items())
def test_a_file_that_is_no_prompt_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        get_prompt(written(tmp_path, text))


def test_an_unknown_name_gets_a_hint() -> None:
    with pytest.raises(DataError, match=r"neither a toml file.*did you mean closed_world"):
        get_prompt("closed_wolrd")


SHARED = {
    "table_20": "closed_world",
    "table_20_json": "closed_world_json",
    "table_21": "open_world",
    "table_21_json": "open_world_json",
    "table_22": "multiple_choice",
    "mill_mcq": "mill_mcq",
}


@pytest.mark.parametrize(("kind", "name"), SHARED.items())
def test_the_packaged_model_learnt_the_same_words(kind: str, name: str) -> None:
    text = get_prompt(name).text.replace("{class_list}", "{list}").replace("{dynamic_choices}", "{options}")
    assert WORDINGS[kind] == [text]


def test_each_packaged_prompt_is_one_that_a_protocol_of_its_study_names() -> None:
    named = {name for protocol in list_protocols() for name in get_protocol(protocol).prompts}
    assert named == {*prompt_names()}
