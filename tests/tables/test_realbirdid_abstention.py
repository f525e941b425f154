"""Tables 4, Figures 7 and 8 of RealBirdID: how often models abstain under many wordings, and why."""

import pytest

from eyechart.errors import ReportError

Q, A, V = "image quality", "angle/occlusion", "vocalization"
NAMES = ("realbirdid-T4", "realbirdid-F7", "realbirdid-F8", "realbirdid-wordings")
# Table 4 of arXiv 2603.27033.
PUBLISHED = {"Gemma": (0.041, 0.052, 0.044), "InternVL3": (0.279, 0.291, 0.278), "Qwen2.5-VL": (0.158, 0.144, 0.098)}


def numbers(level="naive", given=(0.5, 0.25, 0), points=(0.1, 0.4, 0.4), test=(6.5, 0.0388), images="unanswerable"):
    """The numbers of one level."""
    mean = sum(points) / len(points)
    made = [
        ("abstention", f"{images}/{level}", mean, (0.2, 0.4)),
        ("abstention_sd", f"{images}/{level}", 0.1732, None),
        *(("abstention", f"{images}/{level}/{at:02}", point, (0, 1)) for at, point in enumerate(points, 1)),
        *(
            (name, f"{images}/{level}", value, None)
            for name, value in zip(("cochran_q", "cochran_p"), test, strict=True)
        ),
        *(("p_abstain", f"{issue}/{level}", share, None) for issue, share in zip((Q, A, V), given, strict=True)),
        ("correct_reason", level, 0.6, None),
    ]
    return [(name, "observations", category, value, 40, ci) for name, category, value, ci in made]


ACTIONS = ("answer", "abstain")


def said(level="naive", answers=()):
    """Rows of answers: image, its issue, and the reason given, nothing for one that does not abstain."""
    return [
        {"prompt_level": level, "prompt": f"{level}/{at:02}", "key": key, "observation": key,
         "target": ACTIONS[bool(issue)], "reason": issue, "stated_reason": reason or "none",
         "prediction": ACTIONS[bool(reason)]}
        for at, (key, issue, reason) in enumerate(answers)
    ]  # fmt: skip


ANSWERS = [("1", Q, Q), ("1", Q, Q), ("2", Q, ""), ("3", A, Q), ("3", A, A), ("4", A, Q), ("5", V, "another reason"),
           ("6", "", Q)]  # fmt: skip


@pytest.fixture
def asked(flock):
    """A model at two levels."""
    files = {"wordings": [{"level": "naive", "wording": "01", "text": "Which?", "n": 40, "abstained": 4, "rate": 0.1,
                           "ci_low": 0.04, "ci_high": 0.23}]}  # fmt: skip
    rows = [*said("naive", ANSWERS), *said("refuse", ANSWERS[:2])]
    flock.case("abstention", "a", metrics=[*numbers(), *numbers("refuse", points=(0.9, 0.7))], rows=rows, files=files)
    return flock


def test_table_4_gives_back_the_published_numbers_in_the_published_columns(flock):
    for model, given in PUBLISHED.items():
        flock.case("abstention", model, metrics=numbers(given=given))
    (table,) = flock.tables("realbirdid-T4")
    assert table.columns == ("Model", "Level", "quality", "angle/occlusion", "vocalization")
    found = {row["Model"]: tuple(float(row[name]) for name in table.columns[2:]) for row in flock.rows("realbirdid-T4")}
    assert found == PUBLISHED


def test_table_4_has_a_row_a_level_with_n(asked):
    rows = asked.rows("realbirdid-T4")
    assert [(row["Level"], row["quality"], row["vocalization"], row["quality n"]) for row in rows] == [
        ("naive", "0.500", "0.000", "40"),
        ("refuse", "0.500", "0.000", "40"),
    ]


def test_figure_7_has_mean_spread_ends_and_cochran(asked):
    row = asked.rows("realbirdid-F7")[0]
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


def test_every_wording_stands_with_its_text_and_point(asked):
    (row,) = asked.rows("realbirdid-wordings")
    names = ("Level", "Wording", "Text", "abstained", "Abstention", "Abstention n", "Abstention low")
    assert [row[name] for name in names] == ["naive", "01", "Which?", "4", "10.00", "40", "4.00"]


def test_figure_8_counts_reasons_by_issue_over_answers_that_abstain(asked):
    rows = [row for row in asked.rows("realbirdid-F8") if row["Level"] == "naive"]
    names = ("Issue", "Q", "A", "V", "another reason")
    assert [[row[name] for name in names] for row in rows] == [
        ["Q", "2", "0", "0", "0"],
        ["A", "2", "1", "0", "0"],
        ["V", "0", "0", "0", "1"],
        ["all", "4", "1", "0", "1"],
    ]


def test_figure_8_has_shares_of_the_row_with_n_and_the_rate_of_abstention(asked):
    _, row, _, every = asked.rows("realbirdid-F8")[:4]
    assert [row[name] for name in ("Q %", "A %", "Q % n", "AR")] == ["66.67", "33.33", "3", "25.00"]
    assert float(row["Q % low"]) < 66.67 < float(row["Q % high"])
    assert (every["AR"], every["Right"]) == ("30.00", "60.00")


def test_a_row_without_abstention_has_no_shares(asked):
    row = next(row for row in asked.rows("realbirdid-F8") if (row["Level"], row["Issue"]) == ("refuse", "V"))
    assert [row[name] for name in ("Q", "Q %", "Q % n", "another reason %")] == ["0", "", "0", ""]


def test_models_that_never_abstain_have_a_matrix_of_zeros(flock):
    flock.case("abstention", "a", metrics=numbers(), rows=said("naive", [("1", Q, ""), ("2", A, "")]))
    rows = flock.rows("realbirdid-F8")
    assert [[row[name] for name in ("Issue", "Q", "A", "V", "Q %", "Q % n", "AR")] for row in rows] == [
        ["Q", "0", "0", "0", "", "0", "50.00"],
        ["A", "0", "0", "0", "", "0", "25.00"],
        ["V", "0", "0", "0", "", "0", "0.00"],
        ["all", "0", "0", "0", "", "", "30.00"],
    ]


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


def test_an_unknown_issue_has_a_row_of_its_own(flock):
    rows = [row | {"target": "abstain"} for row in said("naive", ANSWERS)]
    flock.case("abstention", "a", metrics=numbers(), rows=rows)
    assert [row["Issue"] for row in flock.rows("realbirdid-F8")] == ["Q", "A", "V", "not known", "all"]


@pytest.mark.parametrize("name", NAMES)
def test_without_abstention_the_remedy_is_named(flock, name):
    flock.case(metrics=[("ig", "all species", "answerable", 0.5)])
    with pytest.raises(ReportError, match=r'have species\. Make it with: pytest -k "realbirdid and abstention"'):
        flock.tables(name)
