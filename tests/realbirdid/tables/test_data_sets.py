"""Table 1, Figures 13 and 15, and the correlation of section 6.1 of RealBirdID."""

import pytest

from eyechart.errors import ReportError

GENUS = {"answerable": 2, "unanswerable": 1, "image quality": 1, "angle/occlusion": 0, "vocalization": 0}
GENERA = [{"genus": "Corvus", "species": 3, **GENUS}, {"genus": "Larus", "species": 1, **GENUS}]
SHOWN = [("o1", "answerable", "Corvus corax", 4)] * 2 + [("o2", "answerable", "Larus argentatus", 2)]
SHOWN += [("o3", "unanswerable", "", 4), ("o4", "unanswerable", "", 0)]
ROWS = [
    {"key": index, "target": "", "prediction": "", "correct": "", "subset": subset, "error": "", "observation": of,
     "species": species, "genus": "Corvus", "reason": "", "range.candidates": listed}
    for index, (of, subset, species, listed) in enumerate(SHOWN)
]  # fmt: skip
DAYS = {
    "o1": ("2019-05-31", "2020-01-01"),
    "o2": ("2019-12-31", ""),
    "o3": ("2021-02-03", "2021-02-03"),
    "o4": ("", ""),
}
DATES = [
    {"key": index, "observation": of, "subset": subset, "observed": DAYS[of][0], "created": DAYS[of][1]}
    for index, (of, subset, *_) in enumerate(SHOWN)
]


@pytest.fixture
def counted(flock):
    """Four observations, one with two images."""
    flock.case(rows=ROWS, files={"genera": GENERA, "dates": DATES})
    return flock


def test_table_1_has_the_published_data_sets_and_this_one(counted):
    rows = [tuple(row.values())[1:] for row in counted.rows("realbirdid-T1")]
    assert rows[1] == ("CUB-200", "yes", "5794", "0", "200")
    assert rows[3] == ("RealBirdID", "no", "31885", "3253", "3442")
    assert rows[4:] == [("realbirdid/val", "no", "3", "2", "2")]


def test_figure_13_counts_species_of_observations_and_genera(counted):
    rows = [
        (row["Of"], row["Species"], row["count"], row["freq"], row["cdf"]) for row in counted.rows("realbirdid-F13")
    ]
    assert rows == [
        ("genus", "1", "1", "0.5000", "0.5000"),
        ("genus", "3", "1", "0.5000", "1.0000"),
        ("observation", "2", "1", "0.3333", "0.3333"),
        ("observation", "4", "2", "0.6667", "1.0000"),
    ]


def test_figure_15_counts_observations_by_year(counted):
    rows = [(row["Date"], row["Set"], row["Year"], row["count"]) for row in counted.rows("realbirdid-F15")]
    assert rows == [
        ("created", "A", "2020", "1"),
        ("created", "UA", "2021", "1"),
        ("observed", "A", "2019", "2"),
        ("observed", "UA", "2021", "1"),
    ]


def test_figure_15_needs_dates(flock):
    flock.case(rows=ROWS, files={"genera": GENERA})
    with pytest.raises(ReportError, match="needs the columns observed_on or created_at"):
        flock.tables("realbirdid-F15")


@pytest.mark.parametrize(("name", "words"), [("F13", "species per genus"), ("F15", "year observed")])
def test_the_figures_are_drawn(counted, drawing, name, words):
    texts = drawing(counted.pool(), f"realbirdid-{name}")
    assert words in texts
    assert "realbirdid/val" in texts
