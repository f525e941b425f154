"""What cases about birds write down: their rows, genera, lists without the bird, notes and outcomes."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from msgspec import structs

from eyechart.models.spec import parse_spec
from eyechart.realbirdid.answers.bird_predictions import (
    _exact_duplicates,
    _genus_rows,
    format_numbers,
    format_outcomes,
    names_of,
)
from eyechart.realbirdid.protocols.helpers.species_replay import SpeciesReplay
from eyechart.results.records import Records, Run, decode, encode
from eyechart.results.sample_table import SHARED_COLUMNS

pytestmark = pytest.mark.deep

BROKEN = frozenset({1, 15})
ABOUT = [*SHARED_COLUMNS, "observation", "species", "genus", "reason"]


@pytest.fixture(scope="module")
def case(make_bird_world: Any) -> Any:
    """A world, and the record of an encoder of which two pictures cannot be read."""
    world = make_bird_world()
    return world, world.record(world.comparing(), broken=BROKEN)


def test_the_columns_are_those_of_the_readme(case: Any) -> None:
    (first, *_) = case[0].rows(case[1])
    told = [f"{prefix}.{level}{what}" for prefix in ("all", "range") for level in ("species", "genus", "order")
            for what in ("", ".probability", ".second_probability", ".entropy", ".correct")]  # fmt: skip
    assert [*first] == [*ABOUT, *told, "range.candidates"]


def test_every_bird_has_a_row_that_says_which_it_is(case: Any) -> None:
    world, record = case
    rows = world.rows(record)
    assert [row["observation"] for row in rows] == [f"o{row}" for row in range(22)]
    known = [(row["species"] or row["genus"], row["target"], row["reason"], row["subset"]) for row in rows]
    assert known == [(name, name, why, "answerable" if " " in name else "unanswerable") for name, why, _ in world.birds]
    assert all(row["genus"] == (row["species"] or row["genus"]).split()[0] for row in rows)
    assert [int(row["range.candidates"]) for row in rows] == [len(told.strip("?")) for *_, told in world.birds]


def test_an_error_is_a_row_of_nothing_else(case: Any) -> None:
    row = case[0].rows(case[1])[1]
    assert "s01" in row["error"]
    assert {
        value for name, value in row.items() if name.startswith(("all.", "range.")) and name != "range.candidates"
    } == {""}


def test_what_is_unknown_is_neither_right_nor_wrong(case: Any) -> None:
    rows = [row for row in case[0].rows(case[1]) if row["subset"] == "unanswerable" and not row["error"]]
    assert {row["all.species.correct"] for row in rows} == {""}
    assert {row["all.genus.correct"] for row in rows} == {"0", "1"}


def test_a_bird_without_a_place_has_nothing_by_list_though_it_has_choices(case: Any) -> None:
    row = case[0].rows(case[1])[8]
    assert (row["range.candidates"], row["range.species"], row["range.genus.probability"]) == ("2", "", "")


def test_outcomes_are_of_the_finest_level_that_is_known(case: Any) -> None:
    world, record = case
    finest = {"answerable": "all.species", "unanswerable": "all.genus"}
    rows = world.rows(record)
    told = [row["correct"] for row in rows]
    assert told == [row[f"{finest[row['subset']]}.correct"] for row in rows]
    assert [row["prediction"] for row in rows] == [row[finest[row["subset"]]] for row in rows]
    counts = record.outcomes
    assert (counts.correct, counts.wrong, counts.error) == tuple(map(told.count, ("1", "0", "")))
    assert (counts.error, counts.unparsed) == (2, 0)


def test_errors_are_told_with_their_picture(bird_world: Any) -> None:
    made = bird_world.recording(bird_world.comparing(), broken=BROKEN)
    assert [key in error for key, error in zip(("s01", "s15"), made.predictions.error_messages(), strict=True)] == [
        True,
        True,
    ]
    assert made.predictions.describe_count() == "22 images"
    assert "2 of 22 images ended in an error and are left out of every score" in made.notes()[0]


def test_notes_tell_of_lists_and_places(case: Any) -> None:
    notes = [note for note in case[1].notes if note.startswith("realbirdid/memory: ")]
    assert [note.split(": ")[1].split(" of ")[0] for note in notes] == ["5", "1", "1", "1"]
    assert "(observations o4)" in notes[2]


def test_the_truth_is_the_observations(case: Any) -> None:
    world, record = case
    assert record.data.labels == {"observations": world.seen.sha256}
    assert record.variant["scale"] == "50"


def test_genera_are_counted_by_reason(case: Any) -> None:
    world, record = case
    rows = world.rows(record, "genera")
    assert [*rows[0]] == [
        "genus",
        "species",
        "answerable",
        "unanswerable",
        "image quality",
        "angle/occlusion",
        "vocalization",
    ]
    for row in rows:
        of = [(name, why) for name, why, _ in world.birds if name.split()[0] == row["genus"]]
        reasons = [sum(why == column for _, why in of) for column in [*row][4:]]
        assert int(row["species"]) == sum(name.startswith(f"{row['genus']} ") for name in world.names)
        assert [int(row[column]) for column in [*row][2:4]] == [
            sum((" " in name) == kind for name, _ in of) for kind in (True, False)
        ]
        assert [int(row[column]) for column in [*row][4:]] == reasons
    assert [row["genus"] for row in rows] == ["Corvus", "Turdus", "Pica", "Anhinga", "Opisthocomus"]


def test_genera_of_nobody_are_counted_too(bird_world: Any) -> None:
    rows = [*_genus_rows(bird_world.seen.select([]))]
    assert rows[3] == ["Pica", 1, 0, 0, 0, 0, 0]


def test_birds_that_their_list_lacks_are_listed(case: Any) -> None:
    expected = {"key": "s04", "observation": "o4", "species": "Corvus frugilegus", "choices": "2"}
    assert case[0].rows(case[1], "unlisted") == [expected]


def test_where_every_list_has_its_bird_there_is_no_file(bird_world: Any) -> None:
    world = bird_world.with_birds(*bird_world.birds[:4], *bird_world.birds[14:])
    record = world.record(world.comparing())
    assert [*record.artifacts] == ["genera", "curves"]


def test_a_bird_whose_list_has_no_probability_is_no_more_likely_one_than_another(bird_world: Any) -> None:
    values = np.zeros((22, 9), np.float32)
    values[:, 0] = 1
    np.save(bird_world.store.parent / "P.npy", values)
    record = bird_world.record(
        SpeciesReplay(parse_spec(f"replay[path={bird_world.store.parent / 'P.npy'},of=species]"))
    )
    without = [row for row in bird_world.rows(record) if row["range.species"] not in ("", "Corvus corax")]
    assert [row["observation"] for row in without] == ["o6", "o9", "o10", "o13", "o15", "o17", "o19"]
    assert all(
        float(row["range.species.probability"]) * int(row["range.candidates"]) == pytest.approx(1) for row in without
    )
    told = {one.labels: one.n for one in record.metrics if (one.name, one.subset_text) == ("ua_a", "all")}
    assert told == {"all species": 22, "eligible": 16, "range": 16}


def test_a_record_is_read_as_it_was_written(case: Any) -> None:
    run = Run(
        eyechart="0", started="2026-01-01T00:00:00+00:00", seconds=1, exit_status=0, workers=0, loads=0, command=""
    )
    whole = Records(run=run, records=(case[1],))
    assert decode(encode(whole), Records) == whole


def test_cells_tell_numbers_of_single_precision_apart() -> None:
    close = np.float32(1) - np.arange(4, dtype=np.float32) * np.finfo(np.float32).epsneg
    found = format_numbers(np.append(close.astype(np.float64), np.nan))
    assert len({*found}) == 5
    assert found[-1] == ""
    assert np.array(found[:4], np.float32).tolist() == close.tolist()


def test_names_and_marks_leave_out_what_is_not_there() -> None:
    assert names_of(np.array([1, -1, 0]), ("a", "b")) == ["b", "", "a"]
    assert format_outcomes(np.array([1, 0, np.nan])) == ["1", "0", ""]


def test_pictures_that_are_one_are_named(case: Any) -> None:
    dataset = case[0].dataset()
    assert [*_exact_duplicates(dataset)] == []
    index = tuple(structs.replace(row, sha256=row.sha256[:1]) for row in dataset.index)
    (said,) = _exact_duplicates(replace(dataset, index=index))
    alone = len({row.sha256 for row in index})
    assert said.startswith(f"{22 - alone} of 22 images are byte for byte another: kept, and each counts (s")


def test_a_picture_is_one_with_an_earlier_one_that_is_asked_about(case: Any) -> None:
    dataset = case[0].dataset()
    index = tuple(structs.replace(row, sha256="same") for row in dataset.index)
    (said,) = _exact_duplicates(replace(dataset, index=index, rows=(3, 7)))
    assert said.endswith("1 of 2 images are byte for byte another: kept, and each counts (s07 as s03)")
