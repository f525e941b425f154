"""Parsers, whatever comes: nothing is raised, nothing guessed; case and whitespace around change nothing."""

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eyechart.parsers import class_name, json_answers, letter, number, yes_no
from eyechart.parsers.folding import fold
from eyechart.parsers.parse_result import ParseResult

OPTIONS = ("tench", "goldfish", "great white shark", "cat", "a dog", "wig", "ibex", "yes", "iris")
KEYS = ("1", "2", "3")
READ: dict[str, Callable[[str], ParseResult[Any]]] = {
    "letter": lambda text: letter.parse(text, OPTIONS),
    "class_name": lambda text: class_name.parse(text, OPTIONS),
    "json_answers": lambda text: json_answers.parse(text, KEYS),
    "yes_no": yes_no.parse,
    "number": number.parse,
}
PIECES = (
    *(
        "a",
        "B",
        "(c)",
        "D)",
        "I",
        "e.",
        ":",
        ".",
        ",",
        "!",
        "**",
        "`",
        "'",
        '"',
        "-",
        "/",
        "\n",
        "\u200b",
        "№",
        "{",
        "}",
    ),
    *("[", "]", "\\", "1", "2", "3.5", "1,000", "two", "twenty", "yes", "no", "not", "or", "and", "the answer is"),
    *("Answer:", "option", "is correct", "because", "I think", "this is", "a", "goldfish", "cat", "caterpillar"),
    *('"1":', '"cat"', "'2':", "null", "```json", "<think>", "</think>", "\\boxed{", "actually", "none"),
)
made = st.lists(st.sampled_from(PIECES), max_size=12).flatmap(
    lambda parts: st.sampled_from((" ", "")).map(lambda by: by.join(parts))
)
anything = st.text(max_size=60)
texts = made | anything
parsers = pytest.mark.parametrize("kind", READ)


@parsers
@given(texts)
@example("\ud800")
@example('{"1": "\\ud800"}')
@example("[" * 10_000)
@example("9" * 10_000)
@example("a " * 5_000)
def test_nothing_is_raised_and_lenient_agrees_with_strict(kind: str, text: str) -> None:
    reading = READ[kind](text)
    assert reading.strict is None or reading.lenient == reading.strict


@parsers
@given(texts, st.text(" \t\n\r\u00a0\u3000", max_size=4), st.text(" \t\n\r\u00a0\u3000", max_size=4))
def test_whitespace_around_changes_nothing(kind: str, text: str, before: str, after: str) -> None:
    assert READ[kind](f"{before}{text}{after}") == READ[kind](text)


@pytest.mark.parametrize("kind", [kind for kind in READ if kind != "json_answers"])
@given(texts)
def test_case_changes_nothing(kind: str, text: str) -> None:
    assert READ[kind](text) == READ[kind](text.upper()) == READ[kind](text.lower())


names = st.text(st.sampled_from("abcXYZ ,.'-éß"), max_size=8)


@given(st.dictionaries(st.sampled_from(KEYS), names))
def test_case_changes_no_more_of_an_object_than_its_texts(answers: dict[str, str]) -> None:
    said = "{" + ", ".join(f'"{key}": "{name}"' for key, name in answers.items()) + "}"
    upper = json_answers.parse(said.upper(), KEYS).lenient
    assert upper == ({key: answers[key].upper() if key in answers else None for key in KEYS} if answers else None)


@given(texts)
def test_a_letter_is_never_guessed(text: str) -> None:
    said, read = fold(text), letter.parse(text, OPTIONS).lenient
    assert read is None or "abcdefghi"[read] in said or OPTIONS[read] in said


@given(texts)
def test_no_letter_comes_from_words(text: str) -> None:
    kept = "".join(sign for sign in fold(text) if sign not in "abcdefghi")
    assert letter.parse(kept, ["1x", "2x", "3x"]).lenient is None


@given(st.sampled_from(OPTIONS), st.text("aeiounst", min_size=1, max_size=3), st.booleans())
def test_a_name_is_never_found_in_a_longer_word(name: str, more: str, first: bool) -> None:
    said = f"{more}{name}" if first else f"{name}{more}"
    assert class_name.parse(said, OPTIONS).lenient is None


@given(
    st.sampled_from(("B", "b", "(b)", "B)", "B.", "[B]", "**B**", "`B`")),
    st.sampled_from(("C", "c", "(c)", "C)", "C.", "[C]")),
    st.sampled_from((" ", ", ", " or ", " and ", "/", "\n", "")),
)
def test_two_labels_are_no_answer(one: str, other: str, between: str) -> None:
    assert letter.parse(f"{one}{between}{other}", OPTIONS).lenient is None


@given(
    st.integers(0, 8),
    st.sampled_from(("{}", "({})", "{})", "{}.", "**{}**", "Answer: {}", "The answer is {}.", "{} is correct.")),
)
def test_a_label_is_read_whichever_letter_it_is(index: int, form: str) -> None:
    assert letter.parse(form.format("ABCDEFGHI"[index]), OPTIONS).lenient == index


@given(st.integers(0, 8), st.sampled_from(("{}", '"{}"', "{}.", "Answer: {}", "The image shows {}.", "**{}**")))
def test_a_name_is_read_whichever_it_is(index: int, form: str) -> None:
    said = form.format(OPTIONS[index])
    assert class_name.parse(said, OPTIONS).lenient == letter.parse(said, OPTIONS).lenient == index


safe = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), max_size=8)


@given(st.dictionaries(st.sampled_from(KEYS), safe, min_size=1), st.integers(1, 200))
def test_an_object_that_is_cut_off_keeps_whole_pairs_and_makes_none_up(answers: dict[str, str], length: int) -> None:
    said = json.dumps(answers)[:length]
    read = json_answers.parse(said, KEYS).lenient or {}
    whole = {key: name for key, name in answers.items() if f"{json.dumps(key)}: {json.dumps(name)}" in said}
    assert {key: name for key, name in read.items() if name is not None} == whole


@given(st.integers(0, 99), st.sampled_from(("{}", "{}.", "There are {} dogs.", "Answer: {}", "**{}**", "I count {}.")))
def test_a_number_is_read_whichever_it_is(value: int, form: str) -> None:
    assert number.parse(form.format(value)).lenient == value


@given(st.integers(0, 50), st.integers(51, 99), st.sampled_from((" or ", " to ", "-", ", ", " and ", "/", ".")))
def test_two_numbers_are_no_count(one: int, other: int, between: str) -> None:
    assert number.parse(f"{one}{between}{other}").lenient is None


@given(texts)
def test_a_yes_or_no_that_is_read_was_said(text: str) -> None:
    read = yes_no.parse(text).lenient
    assert read is None or ("y" if read else "n") in fold(text)


@pytest.mark.deep
def test_every_letter_folds_alike_in_both_cases() -> None:
    letters = (chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000)
    assert [sign for sign in letters if not fold(sign) == fold(sign.upper()) == fold(sign.lower())] == []


@given(
    st.integers(1, 9), st.integers(1, 12), st.sampled_from(("There are {} dogs:\n", "I see **{}** dogs.\n\n", "{}\n"))
)
def test_a_list_does_not_change_the_count_before_it_unless_it_is_longer(count: int, items: int, form: str) -> None:
    said = form.format(count) + "\n".join(f"{item}. a dog" for item in range(1, items + 1))
    assert number.parse(said).lenient == (count if items <= count else None)
    bound = (
        f"At least {said}" if form == "{}\n" else said.replace("are ", "are at least ").replace("see ", "see at least ")
    )
    assert number.parse(bound).lenient == (count if items == count else None)


@given(st.lists(st.integers(1, 9), min_size=2, max_size=4), st.integers(1, 30))
def test_parts_are_read_past_where_they_add_up_to_the_count(parts: list[int], count: int) -> None:
    said = f"There are {count} dogs: {', '.join(f'{part} brown' for part in parts)}"
    same = {count, *parts} == {count}
    assert number.parse(said).lenient == (count if same or sum(parts) == count else None)


@given(
    st.sampled_from(("yes", "Yes", "**Yes**", "Yes,", "No", "no.")), st.sampled_from(("dog", "visible books", "one"))
)
def test_no_before_a_noun_is_no_second_answer(word: str, noun: str) -> None:
    answer = word.strip("*,.").lower() == "yes"
    assert yes_no.parse(f"{word} there is no {noun} in the image").lenient is answer
    assert yes_no.parse(f"{word} there is {noun} in the image. No.").lenient is (None if answer else False)
