"""Properties of `eyechart.parsers.class_name`; its examples are in `test_parsers.py` and `test_hard_answers.py`."""

from hypothesis import given
from hypothesis import strategies as st

from eyechart.parsers import class_name, letter

OPTIONS = ("tench", "goldfish", "great white shark", "cat", "a dog", "wig", "ibex", "yes", "iris")


@given(st.sampled_from(OPTIONS), st.text("aeiounst", min_size=1, max_size=3), st.booleans())
def test_a_name_is_never_found_in_a_longer_word(name: str, more: str, first: bool) -> None:
    said = f"{more}{name}" if first else f"{name}{more}"
    assert class_name.parse(said, OPTIONS).lenient is None


@given(st.integers(0, 8), st.sampled_from(("{}", '"{}"', "{}.", "Answer: {}", "The image shows {}.", "**{}**")))
def test_a_name_is_read_whichever_it_is(index: int, form: str) -> None:
    said = form.format(OPTIONS[index])
    assert class_name.parse(said, OPTIONS).lenient == letter.parse(said, OPTIONS).lenient == index
