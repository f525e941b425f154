"""`blind`: a model that sees and the same model that sees a blank, from sessions of pytest and from recorded runs."""

from typing import Any

import pytest

from eyechart.reports.runs import EmptyTableError, load
from eyechart.reports.tables.registry import tables

WRONG, SIZE = 999, 40
TRUTHS = tuple((index % 4, (index % 4,), None) for index in range(SIZE))


@pytest.fixture
def shown(make_run: Any) -> Any:
    """A run of a model that is right about some of the images, and whose record names a blank."""

    def shown(blank: str, right: Any) -> Any:
        answers = [index % 4 if index in right else WRONG for index in range(SIZE)]
        variant = {"prompt": "own (0)"} | ({"blank": blank} if blank else {})
        models = {"conse[a]": ("zero_shot", answers)}
        return make_run(f"run{blank}", models=models, truths=TRUTHS, labels=("ImGT",), variant=variant)

    return shown


def test_each_kind_of_blank_is_a_row_beside_the_images(shown: Any) -> None:
    runs = [shown("", range(30)), shown("grey", range(12)), shown("noise1", range(8)), shown("noise2", range(12))]
    (table,) = tables("blind", load(runs))
    rows = {row[2]: row[3:] for row in table.rows}
    assert {*rows} == {"grey", "noise (2)"}
    with_images, blind, chance, above = rows["grey"][:4]
    assert (with_images.value, blind.value, chance.value) == (0.75, 0.3, 0.25)  # each of four labels is equally common
    assert above.ci[0] < round(above.value, 9) == 0.05 < above.ci[1]
    assert rows["noise (2)"][1].value == 0.25


def test_without_images_or_without_a_blank_there_is_no_table(shown: Any) -> None:
    for runs in ([shown("grey", ())], [shown("", range(30))], [shown("grey", ()), shown("black", ())]):
        with pytest.raises(EmptyTableError, match="compares cases with images and cases with a blank instead"):
            tables("blind", load(runs))
