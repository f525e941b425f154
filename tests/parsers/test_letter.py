"""Tests of `eyechart.parsers.letter`."""

from hypothesis import given
from hypothesis import strategies as st

from eyechart.parsers import letter
from eyechart.parsers.text import fold
from tests.parsers.pieces import texts

OPTIONS = ("tench", "goldfish", "great white shark", "cat", "a dog", "wig", "ibex", "yes", "iris")


@given(texts)
def test_a_letter_is_never_guessed(text: str) -> None:
    said, read = fold(text), letter.parse(text, OPTIONS).lenient
    assert read is None or "abcdefghi"[read] in said or OPTIONS[read] in said


@given(texts)
def test_no_letter_comes_from_words(text: str) -> None:
    kept = "".join(sign for sign in fold(text) if sign not in "abcdefghi")
    assert letter.parse(kept, ["1x", "2x", "3x"]).lenient is None


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
