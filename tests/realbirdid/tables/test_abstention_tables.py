"""Tables 4, Figures 7 and 8 of RealBirdID: how often models abstain under many wordings, and why."""

import pytest

from eyechart.errors import ReportError
from tests.realbirdid.tables.abstention_answers import A, Q, numbers, said

NAMES = ("realbirdid-T4", "realbirdid-F7", "realbirdid-F8", "realbirdid-wordings")
# Table 4 of arXiv 2603.27033.
PUBLISHED = {"Gemma": (0.041, 0.052, 0.044), "InternVL3": (0.279, 0.291, 0.278), "Qwen2.5-VL": (0.158, 0.144, 0.098)}


def test_table_4_gives_back_the_published_numbers_in_the_published_columns(flock):
    for model, given in PUBLISHED.items():
        flock.case("abstention", model, metrics=numbers(given=given))
    (table,) = flock.tables("realbirdid-T4")
    assert table.columns == ("Model", "Level", "quality", "angle/occlusion", "vocalization")
    found = {row["Model"]: tuple(float(row[name]) for name in table.columns[2:]) for row in flock.rows("realbirdid-T4")}
    assert found == PUBLISHED


def test_table_4_has_a_row_a_level_with_n(two_levels):
    rows = two_levels.rows("realbirdid-T4")
    assert [(row["Level"], row["quality"], row["vocalization"], row["quality n"]) for row in rows] == [
        ("naive", "0.500", "0.000", "40"),
        ("refuse", "0.500", "0.000", "40"),
    ]


def test_figure_7_has_mean_spread_ends_and_cochran(two_levels):
    row = two_levels.rows("realbirdid-F7")[0]
    names = ("Level", "Images", "Wordings", "Mean", "SD", "Min", "Max", "Q", "df", "p")
    assert [row[name] for name in names] == [
        *("naive", "unanswerable", "3", "30.00", "17.32", "10.00", "40.00", "6.50", "2", "0.0388"),
    ]
    assert (row["Mean low"], row["Mean n"], row["Min high"]) == ("20.00", "40", "100.00")


@pytest.mark.parametrize(
    ("p", "written"), [(0.00004, "4.0e-05"), (2e-150, "2.0e-150"), (0.0, "<1e-300"), (1, "1.0000")]
)
def test_no_p_value_is_nothing(flock, p, written):
    flock.case("abstention", "a", metrics=numbers(test=(900, p)))
    (row,) = flock.rows("realbirdid-F7")
    assert row["p"] == written


def test_figure_7_has_answerable_images_where_they_were_asked_about(flock):
    flock.case(
        "abstention", "a", metrics=[*numbers(), *numbers(images="answerable", points=(0.0, 0.1), test=(None, None))]
    )
    rows = flock.rows("realbirdid-F7")
    assert [(row["Images"], row["Mean"], row["df"]) for row in rows] == [
        ("unanswerable", "30.00", "2"),
        ("answerable", "5.00", ""),
    ]


def test_every_wording_stands_with_its_text_and_point(two_levels):
    (row,) = two_levels.rows("realbirdid-wordings")
    names = ("Level", "Wording", "Text", "abstained", "Abstention", "Abstention n", "Abstention low")
    assert [row[name] for name in names] == ["naive", "01", "Which?", "4", "10.00", "40", "4.00"]


def test_images_are_resampled_with_all_their_answers(flock):
    alike = [(key, A, reason) for key, reason in (("1", Q), ("2", A)) for _ in range(50)]
    flock.case("abstention", "a", metrics=numbers(), rows=said("naive", alike))
    row = flock.rows("realbirdid-F8")[1]
    assert [row[name] for name in ("Q %", "Q % low", "Q % high")] == ["50.00", "0.00", "100.00"]


def test_answers_that_are_all_alike_are_as_sure_as_their_images_are_many(flock):
    flock.case("abstention", "a", metrics=numbers(), rows=said("naive", [("1", A, A)] * 50))
    row = flock.rows("realbirdid-F8")[1]
    assert (row["A %"], row["A % n"]) == ("100.00", "50")
    assert float(row["A % low"]) < 50


@pytest.mark.parametrize("name", NAMES)
def test_without_abstention_the_remedy_is_named(flock, name):
    flock.case(metrics=[("ig", "all species", "answerable", 0.5)])
    with pytest.raises(ReportError, match=r'have species\. Make it with: pytest -k "realbirdid and abstention"'):
        flock.tables(name)
