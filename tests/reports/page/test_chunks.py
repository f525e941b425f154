"""Data as scripts: what is written is what a browser reads back."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.reports.page.chunks import (
    MAX_LETTERS,
    TextNumbers,
    pack,
    pack_flags,
    pack_ragged,
    script,
    truncate,
    write_chunk,
)
from eyechart.reports.page.samples import class_namer
from tests.reports.page.pet_pages import unpacked


@given(st.lists(st.integers(-(2**31), 2**31 - 1)))
def test_packed_numbers_come_back(numbers: list[int]) -> None:
    assert unpacked(pack(numbers)) == numbers


@pytest.mark.parametrize(
    ("numbers", "kind"), [([], "u1"), ([0, 255], "u1"), ([-1], "i2"), ([256], "i2"), ([32768], "i4")]
)
def test_numbers_take_the_smallest_room(numbers: list[int], kind: str) -> None:
    assert pack(numbers)["t"] == kind


@given(st.lists(st.lists(st.integers(0, 1000))))
def test_ragged_rows_come_back(rows: list[list[int]]) -> None:
    packed = pack_ragged(rows)
    ends, values = unpacked(packed["ends"]), unpacked(packed["values"])
    assert [values[start:end] for start, end in zip([0, *ends], ends, strict=False)] == rows


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_is_ascii_in_a_script_and_comes_back(text: str) -> None:
    call = script("a0/names", [text])
    assert call.isascii()
    assert call.count("\n") == 1
    name, value = json.loads(f"[{call.strip().removeprefix('eyechart(').removesuffix(')')}]")
    assert (name, json.loads(value)) == ("a0/names", [text])


@given(st.lists(st.tuples(st.booleans(), st.booleans())))
def test_flags_are_bits(rows: list[tuple[bool, bool]]) -> None:
    packed = pack_flags({0: [first for first, _ in rows], 2: [second for _, second in rows]})
    assert [(bool(code & 1), bool(code & 4)) for code in packed.tolist()] == rows


def test_texts_are_cut_with_their_length_and_kept_once() -> None:
    assert truncate("a" * MAX_LETTERS) == "a" * MAX_LETTERS
    assert truncate("a" * (MAX_LETTERS + 1)) == ["a" * MAX_LETTERS, MAX_LETTERS + 1]
    names = TextNumbers()
    assert [names(text) for text in ("", "cat", "dog", "cat")] == [0, 1, 2, 1]
    assert names.all() == ["", "cat", "dog"]


def test_namesakes_are_told_apart_and_a_class_without_a_name_has_its_number() -> None:
    named = class_namer(["crane", "crane", "a\nb\u202e"])
    assert [named(index) for index in ("0", "1", "2", "7")] == ["crane (0)", "crane (1)", "a b� (2)", "class 7"]


def test_the_same_value_is_the_same_file(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_chunk(tmp_path, f"a0/{name}", {"x": [1.5, None], "y": "ü"})
    first, second = (json.loads(f"[{(tmp_path / f'data/a0/{name}.js').read_text()[9:-2]}]") for name in ("one", "two"))
    assert first[1] == second[1]
