"""Tests of `eyechart.parsers.json_answers`."""

import json

from hypothesis import given
from hypothesis import strategies as st

from eyechart.parsers import json_answers

KEYS = ("1", "2", "3")

names = st.text(st.sampled_from("abcXYZ ,.'-éß"), max_size=8)


@given(st.dictionaries(st.sampled_from(KEYS), names))
def test_case_changes_no_more_of_an_object_than_its_texts(answers: dict[str, str]) -> None:
    said = "{" + ", ".join(f'"{key}": "{name}"' for key, name in answers.items()) + "}"
    upper = json_answers.parse(said.upper(), KEYS).lenient
    assert upper == ({key: answers[key].upper() if key in answers else None for key in KEYS} if answers else None)


safe = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), max_size=8)


@given(st.dictionaries(st.sampled_from(KEYS), safe, min_size=1), st.integers(1, 200))
def test_an_object_that_is_cut_off_keeps_whole_pairs_and_makes_none_up(answers: dict[str, str], length: int) -> None:
    said = json.dumps(answers)[:length]
    read = json_answers.parse(said, KEYS).lenient or {}
    whole = {key: name for key, name in answers.items() if f"{json.dumps(key)}: {json.dumps(name)}" in said}
    assert {key: name for key, name in read.items() if name is not None} == whole
