"""Pairs read back from a run's files: what was asked, how it was answered, and files that are no such thing."""

from dataclasses import replace
from hashlib import sha256

import numpy as np
import pytest
from msgspec import structs

from eyechart.errors import ReportError
from eyechart.metrics.yes_no import MISSING, NO, UNPARSED, YES
from eyechart.oodbench.metrics import measure_estimates, share_estimates
from eyechart.records import File

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
            _ = bench.pool().groups[0].cases[0].pairs
        return str(error.value)

    return refused


def test_the_four_outcomes_of_an_answer_are_told_apart(entry):
    assert entry.pairs.answers[[0, 5, 7, 8]].tolist() == [[YES, NO], [NO, YES], [YES, UNPARSED], [MISSING, NO]]
    assert entry.pairs.counts[[0, 7, 8]].tolist() == [
        [1, 0, 0, 1, 1, 0, 2],
        [1, 1, 0, 0, 1, 1, 2],
        [0, 0, 0, 1, 0, 0, 1],
    ]


def test_a_set_of_the_initial_benchmark_holds_that_of_the_main_one(entry):
    main, initial = (entry.pairs.in_set(name) for name in ("OOD-H", "OOD-H'"))
    assert (main.sum(), initial.sum(), (main & ~initial).sum()) == (9, 10, 0)


def test_the_initial_benchmark_and_other_answers_are_about_the_same_pairs(entry, existing):
    other = {name: "n" * len(SAID[name]) for name in ("ID", "OOD-H")}
    existing("hf[b]", "coco", other)
    existing("hf[c]", "coco", {**other, "ID": other["ID"][2:]})
    same, fewer = (each.pairs.identity for each in existing.bench.pool().groups[0].cases[1:])
    assert same == entry.pairs.identity != fewer


def test_a_data_sets_table_has_the_intervals_of_its_record(entry, existing):
    row = next(row for row in existing.bench.rows("oodbench-T10") if row["Data Type"] == "OOD-H")
    chosen = entry.pairs.in_set("OOD-H") & entry.pairs.answered
    images = entry.pairs.images[chosen]
    numbers = [
        *measure_estimates("OOD-H", entry.pairs.tables[chosen], images, images.max() + 1, 42),
        *share_estimates("OOD-H", entry.pairs.answers[chosen], images, 42),
    ]
    heads = ("Accuracy", "F1", "Precision", "Recall", "MCC", "Yes", "Unparsed")
    for number, head in zip(numbers, heads, strict=True):
        shown = [float(row[f"{head}{part}"]) for part in ("", " low", " high")]
        assert shown == pytest.approx(100 * np.array([number.value, *number.interval]), abs=0.0051)


def test_an_order_of_rows_changes_nothing(bench, existing):
    rows = [row for number in range(9) for row in existing.rows(number, "ID", number % 4, "yn" if number else "ny")]
    for each in (rows, rows[::-1]):
        bench.case("existence", f"hf[{len(bench.records)}]", rows=each)
    one, other = (entry.pairs for entry in bench.pool().groups[0].cases)
    assert (one.keys, one.identity) == (other.keys, other.identity)
    assert (one.answers == other.answers).all()


def test_a_question_asked_twice_is_refused(refused):
    assert "(a question was asked twice). Run the case again." in refused(lambda rows: [*rows, rows[0]])


@pytest.mark.parametrize(
    ("column", "cell"),
    [("prediction", "perhaps"), ("question", "third"), ("pair", "x"), ("target", ""), ("main", "1.5")],
)
def test_a_cell_that_cannot_be_is_refused(refused, column, cell):
    said = refused(lambda rows: [{**rows[0], column: cell}, *rows[1:]])
    assert "cannot be read as predictions (" in said
    assert cell in said


def test_a_row_that_is_cut_off_is_refused(entry):
    file, cut = entry.record.predictions.path, b"pair,key\n1,a\n2\n"
    (entry.folder / file).write_bytes(cut)
    written = structs.replace(entry.record, predictions=File(path=file, sha256=sha256(cut).hexdigest()))
    with pytest.raises(ReportError, match="row 3 does not have 2 fields"):
        _ = replace(entry, record=written).pairs
