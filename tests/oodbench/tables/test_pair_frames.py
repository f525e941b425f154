"""Pairs read back from a run's files: what was asked, how it was answered, and files that are no such thing."""

from dataclasses import replace
from hashlib import sha256

import numpy as np
import pytest
from msgspec import structs

from eyechart.errors import ReportError
from eyechart.oodbench.metrics.pair_estimates import measure_estimates, share_estimates
from eyechart.oodbench.tables.pair_frames import CONFUSION, COUNTS, page_pairs, pairs_sha256, read_pairs
from eyechart.oodbench.tables.pair_pages import existence_page
from eyechart.results.records import File
from eyechart.statistics.yes_no import NO, UNPARSED, YES

SAID = {"OOD-H": "yn" * 5 + "ny" * 2 + "y?" + "!n", "ID": "yn" * 6 + "nn", "OOD-H'": "yy"}


@pytest.fixture
def entry(existing):
    """One case of existence."""
    existing("hf[a]", "coco", SAID, division_scope="initial")
    return existing.bench.pool().groups[0].cases[0]


@pytest.fixture
def refused(bench, existing):
    """What is said of rows that a change has spoiled."""

    def refused(change):
        rows = [row for number in range(3) for row in existing.rows(number, "ID", number, "yn")]
        bench.case("existence", rows=change(rows))
        with pytest.raises(ReportError) as error:
            read_pairs(bench.pool().groups[0].cases[0])
        return str(error.value)

    return refused


@pytest.fixture
def pairs(entry):
    """Its pairs, set by set."""
    return page_pairs(existence_page([(entry,)], ""))


def test_the_four_outcomes_of_an_answer_are_told_apart(entry):
    rows = read_pairs(entry).set_index("pair").loc[[0, 5, 7, 8], COUNTS]
    assert rows.to_numpy().tolist() == [
        [1, 0, 0, 1, 1, 0, 2],
        [0, 1, 1, 0, 1, 0, 2],
        [1, 1, 0, 0, 1, 1, 2],
        [0, 0, 0, 1, 0, 0, 1],
    ]


def test_a_set_of_the_initial_benchmark_holds_that_of_the_main_one(pairs):
    main, initial = ({*pairs.loc[pairs["set"] == name, "pair"]} for name in ("OOD-H", "OOD-H'"))
    assert (len(main), len(initial), len(main - initial)) == (9, 10, 0)


def test_the_initial_benchmark_and_other_answers_are_about_the_same_pairs(entry, existing):
    other = {name: "n" * len(SAID[name]) for name in ("ID", "OOD-H")}
    existing("hf[b]", "coco", other)
    existing("hf[c]", "coco", {**other, "ID": other["ID"][2:]})
    same, fewer = map(pairs_sha256, existing.bench.pool().groups[0].cases[1:])
    assert same == pairs_sha256(entry) != fewer


def test_a_data_sets_table_has_the_intervals_of_its_record(entry, pairs, existing):
    row = next(row for row in existing.bench.rows("oodbench-T10") if row["Data Type"] == "OOD-H")
    chosen = pairs[(pairs["set"] == "OOD-H") & pairs["answered"]]
    images, tables = chosen["image"].to_numpy(), chosen[CONFUSION].to_numpy()
    samples = entry.samples(["pair", "question", "prediction"]).astype({"pair": int})
    codes = samples.assign(code=samples["prediction"].map({"yes": YES, "no": NO, "": UNPARSED}))
    answers = codes.pivot(index="pair", columns="question", values="code")[["positive", "negative"]]
    numbers = [
        *measure_estimates("OOD-H", tables, images, images.max() + 1, 42),
        *share_estimates("OOD-H", answers.loc[chosen["pair"]].to_numpy(), images, 42),
    ]
    heads = ("Accuracy", "F1", "Precision", "Recall", "MCC", "Yes", "Unparsed")
    for number, head in zip(numbers, heads, strict=True):
        shown = [float(row[f"{head}{part}"]) for part in ("", " low", " high")]
        assert shown == pytest.approx(100 * np.array([number.value, *number.interval]), abs=0.0051)


def test_an_order_of_rows_changes_nothing(bench, existing):
    rows = [row for number in range(9) for row in existing.rows(number, "ID", number % 4, "yn" if number else "ny")]
    for each in (rows, rows[::-1]):
        bench.case("existence", f"hf[{len(bench.records)}]", rows=each)
    one, other = bench.pool().groups[0].cases
    assert read_pairs(one).equals(read_pairs(other))
    assert pairs_sha256(one) == pairs_sha256(other)


def test_a_question_asked_twice_is_refused(refused):
    assert "(a question was asked twice). Run the case again." in refused(lambda rows: [*rows, rows[0]])


@pytest.mark.parametrize(
    ("column", "cell"),
    [("prediction", "perhaps"), ("question", "third"), ("pair", "x"), ("target", ""), ("main", "1.5")],
)
def test_a_cell_that_cannot_be_is_refused(refused, column, cell):
    said = refused(lambda rows: [{**rows[0], column: cell}, *rows[1:]])
    assert "cannot be read as answers (" in said
    assert cell in said


def test_a_row_that_is_cut_off_is_refused(entry):
    path = entry.folder / entry.record.predictions.path
    *rows, last = path.read_bytes().splitlines()
    cut = b"\n".join([*rows, last[: last.index(b",")]]) + b"\n"
    path.write_bytes(cut)
    written = structs.replace(entry.record, predictions=File(path=path.name, sha256=sha256(cut).hexdigest()))
    with pytest.raises(ReportError, match=rf"cannot be read as answers \(.* '' in row {len(rows) + 1}\)"):
        read_pairs(replace(entry, record=written))
