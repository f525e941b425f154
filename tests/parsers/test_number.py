"""Tests of `eyechart.parsers.number`."""

from hypothesis import given
from hypothesis import strategies as st

from eyechart.parsers import number


@given(st.integers(0, 99), st.sampled_from(("{}", "{}.", "There are {} dogs.", "Answer: {}", "**{}**", "I count {}.")))
def test_a_number_is_read_whichever_it_is(value: int, form: str) -> None:
    assert number.parse(form.format(value)).lenient == value


@given(st.integers(0, 50), st.integers(51, 99), st.sampled_from((" or ", " to ", "-", ", ", " and ", "/", ".")))
def test_two_numbers_are_no_count(one: int, other: int, between: str) -> None:
    assert number.parse(f"{one}{between}{other}").lenient is None


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
    assert number.parse(said).lenient == (count if sum(parts) == count else None)
