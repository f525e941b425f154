import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.data.labels.class_names import check_unique
from eyechart.errors import VocabularyError

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
