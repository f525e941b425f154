"""Observations of birds: what the tables say, what contradicts itself, and who may live where."""

from collections.abc import Callable
from dataclasses import replace
from itertools import chain, pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.data.tables import read_table
from eyechart.errors import DataError
from eyechart.realbirdid.data.observation_table import parse_observations, read_birds
from eyechart.realbirdid.data.observations import REASONS, Observations
from eyechart.realbirdid.data.taxonomy import Taxonomy
from eyechart.toybox.formats import bird_files
from tests.realbirdid.data.bird_lines import CROW, HEADER, RAVEN, TIT, lists

Read = Callable[..., Observations]


def test_what_the_table_says(read: Read) -> None:
    found = read(RAVEN, CROW, TIT)
    assert (found.ids, found.species.tolist(), found.genus.tolist()) == (("1", "2", "3"), [0, -1, 3], [0, 0, 2])
    assert found.reason.tolist() == [-1, REASONS.index("vocalization"), -1]
    assert found.answerable.tolist() == [True, False, True]
    np.testing.assert_array_equal(found.latitude, [50.5, 50, np.nan])
    np.testing.assert_array_equal(found.longitude, [8.25, 8, np.nan])
    assert lists(found) == [[0, 1], [0, 2], []]


def test_days_are_read_without_their_times_and_follow_a_selection(read: Read) -> None:
    header = f"{HEADER},observed_on,created_at"
    found = read(f"{RAVEN},2019-05-31,2020-01-02 10:11:12 UTC", f"{CROW},,2021-02-03T01:00:00", header=header)
    assert found.dates == {"observed_on": ("2019-05-31", ""), "created_at": ("2020-01-02", "2021-02-03")}
    assert found.select([1]).dates == {"observed_on": ("",), "created_at": ("2021-02-03",)}
    assert found.sha256 == read(RAVEN, CROW).sha256  # no answer depends on them
    assert read(RAVEN).dates == {}


def test_the_reasons_are_those_of_the_toybox() -> None:
    assert bird_files.REASONS == REASONS


def test_a_genus_left_open_is_that_of_the_species_and_an_id_left_open_the_image(read: Read) -> None:
    found = read(TIT.replace(",Parus,", ",,").replace(",3,", ",,"))
    assert (found.genus.tolist(), found.ids) == ([2], ("c.jpg",))


def test_a_reason_may_be_unknown(read: Read) -> None:
    assert read(CROW.replace("vocalization", "")).reason.tolist() == [-1]


def test_candidates_count_once_and_may_end_in_a_separator(read: Read) -> None:
    assert lists(read(RAVEN + "; Pica pica;")) == [[0, 1]]


def test_without_a_location_or_a_list_an_image_is_kept_and_not_eligible(read: Read) -> None:
    bare = "d.jpg,4,Pica pica,Pica,1,,10,10,"
    found = read(RAVEN, TIT + "Parus major", bare)
    assert (found.has_location.tolist(), found.eligible.tolist()) == ([True, False, True], [True, False, False])
    assert found.candidate_counts.tolist() == [2, 1, 0]
    notes = ("1 of 3 images have no location", "1 of 2 images with a location have no candidate species")
    for note, said in zip(found.exclusion_notes, notes, strict=True):
        assert note.startswith(f"{said}: kept, and left out of the results by range")
    assert [note[-16:] for note in found.exclusion_notes] == ["(observations 3)", "(observations 4)"]


def test_lists_without_the_truth_are_counted_and_listed(read: Read) -> None:
    lost = RAVEN.replace(";Corvus corax", "").replace("a.jpg,1", "e.jpg,7")
    found = read(RAVEN, lost, CROW, CROW.replace("b.", "d.").replace("Corvus corax;Corvus corone", "Pica pica"), TIT)
    assert found.unlisted.tolist() == [False, True, False, False, False]
    assert found.unlisted_genus.tolist() == [False, False, False, True, False]
    assert found.exclusion_notes[1].startswith(
        "1 of 2 answerable images with a list of candidates have one without their own"
    )
    assert "(observations 7)" in found.exclusion_notes[1]
    assert found.exclusion_notes[2].startswith("1 of 2 unanswerable images with a list")
    assert "without a species of their genus" in found.exclusion_notes[2]


def test_a_taxonomy_of_one_species_leaves_nothing_to_gain(read: Read) -> None:
    found = read(TIT, taxonomy="species,genus\nParus major,Parus\n")
    assert found.missing_metrics[1] == "the taxonomy has one species, which leaves nothing to gain: IG is 0"


def test_a_note_names_ten_observations(read: Read) -> None:
    (note,) = read(*(TIT.replace("c.jpg,3", f"{row}.jpg,{row}") for row in range(12))).exclusion_notes
    assert note.endswith("(observations 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 …)")


def test_allowed_species_and_some_rows(read: Read) -> None:
    found = read(RAVEN, CROW, TIT)
    assert found.candidate_mask(0, 3).astype(int).tolist() == [[1, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 0]]
    assert found.candidate_mask(1, 9).shape == (2, 4)
    assert found.candidate_mask(2, 2).shape == found.candidate_mask(5, 9).shape == (0, 4)
    assert lists(found.select([2, 1])) == [[], [0, 2]]
    assert (found.select([]).ids, found.select([]).exclusion_notes) == ((), ())


def test_some_rows_have_a_fingerprint_of_their_own(read: Read) -> None:
    found = read(RAVEN, CROW, TIT)
    assert found.select(range(3)).sha256 == found.sha256 == read(RAVEN, CROW, TIT).sha256
    others = [RAVEN.replace("50.5", "50.6"), RAVEN.replace(",1,", ",9,", 1), RAVEN.replace("Pica pica;", "")]
    prints = {found.sha256, found.select([0, 1]).sha256, *(read(one, CROW, TIT).sha256 for one in others)}
    assert len(prints) == 5


def test_observations_of_one_length(read: Read) -> None:
    found = read(RAVEN, CROW)
    with pytest.raises(DataError, match=r"observations' genus have the shape \(1,\), expected \(2,\)"):
        Observations(
            found.taxonomy,
            found.ids,
            found.species,
            found.genus[:1],
            *[found.reason] * 3,
            found.offsets,
            found.candidates,
        )


def test_the_toyboxs_lists_are_those_of_its_ranges(tmp_path: Path) -> None:
    bird_files.write_bird_table(tmp_path, 3, "test", bird_files.styles()[:1], 60)
    first = parse_observations(tmp_path, read_birds(tmp_path))
    table = read_table(tmp_path / "birds.csv", ())
    rows = [[*cells, ""] for cells in zip(*(table[name] for name in HEADER.split(",")[:-1]), strict=True)]
    (tmp_path / "birds.csv").write_text("\n".join([HEADER, *map(",".join, rows)]))
    assert first.eligible.any()
    assert not first.unlisted.any()
    assert parse_observations(tmp_path, read_birds(tmp_path)).sha256 == first.sha256


@st.composite
def taxonomies(draw: st.DrawFn) -> Taxonomy:
    sizes = sorted(draw(st.lists(st.integers(1, 6), min_size=2, max_size=4)), reverse=True)
    names = tuple(tuple(f"{level}.{index}" for index in range(size)) for level, size in enumerate(sizes))
    parents = tuple(
        np.array([draw(st.integers(0, above - 1)) for _ in range(below)], np.int64) for below, above in pairwise(sizes)
    )
    return Taxonomy(("species", "genus", "family", "order")[: len(sizes)], names, ("",) * sizes[0], parents)


@st.composite
def observed(draw: st.DrawFn) -> Observations:
    tree = draw(taxonomies())
    species = draw(st.lists(st.integers(-1, len(tree) - 1), max_size=8))
    lists = [sorted(draw(st.sets(st.integers(0, len(tree) - 1)))) for _ in species]
    genera = [tree.parents[0][one] if one >= 0 else draw(st.integers(0, len(tree.names[1]) - 1)) for one in species]
    indices = np.array([draw(st.sampled_from([np.nan, 1.0])) for _ in species], np.float64)
    return Observations(
        tree,
        tuple(map(str, range(len(species)))),
        np.array(species, np.int64),
        np.array(genera, np.int64),
        np.array([draw(st.integers(-1, len(REASONS) - 1)) for _ in species], np.int64),
        indices,
        indices,
        np.cumsum([0, *map(len, lists)], dtype=np.int64),
        np.array([*chain(*lists)], np.int64),
    )


@given(taxonomies())
def test_ancestors_are_found_by_climbing(tree: Taxonomy) -> None:
    for index in range(len(tree)):
        climbed = [index]
        for above in tree.parents:
            climbed.append(int(above[climbed[-1]]))
        assert [int(found[index]) for found in tree.ancestors] == climbed


@given(observed(), st.integers(0, 8), st.integers(0, 8))
def test_who_is_allowed_is_who_is_listed(found: Observations, start: int, stop: int) -> None:
    rows = range(len(found))[start:stop]
    expected = np.zeros((len(rows), len(found.taxonomy)), np.bool_)
    for index, row in enumerate(rows):
        expected[index, found.candidates[found.offsets[row] : found.offsets[row + 1]]] = True
    np.testing.assert_array_equal(found.candidate_mask(start, stop), expected)
    assert found.candidate_counts[rows].tolist() == expected.sum(axis=1).tolist()


@given(observed())
def test_the_truth_is_in_the_list_or_counted(found: Observations) -> None:
    allowed, genus = found.candidate_mask(0, len(found)), found.taxonomy.ancestors[1]
    for row in range(len(found)):
        listed = bool(allowed[row] @ (genus == found.genus[row]))
        told = bool(found.answerable[row])
        eligible = bool(found.has_location[row] and allowed[row].any())
        assert found.eligible[row] == eligible
        assert found.unlisted[row] == (eligible and told and not allowed[row, found.species[row]])
        assert found.unlisted_genus[row] == (eligible and not told and not listed)


@given(observed(), st.data())
def test_some_rows_are_the_rows_of_all(found: Observations, data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.integers(0, len(found) - 1), max_size=10) if len(found) else st.just([]))
    some = found.select(rows)
    assert some.ids == tuple(found.ids[row] for row in rows)
    for name in (
        "species",
        "genus",
        "reason",
        "latitude",
        "longitude",
        "candidate_counts",
        "eligible",
        "unlisted",
        "has_location",
    ):
        np.testing.assert_array_equal(getattr(some, name), getattr(found, name)[rows])
    np.testing.assert_array_equal(some.candidate_mask(0, len(rows)), found.candidate_mask(0, len(found))[rows])


@given(observed(), st.data())
def test_rows_of_rows_are_rows(found: Observations, data: st.DataObject) -> None:
    rows = data.draw(st.permutations(range(len(found))))
    back = np.argsort(rows).tolist()
    assert found.select(rows).select(back).sha256 == found.select(range(len(found))).sha256 == found.sha256
    assert found.select(rows).select(back[:2]).sha256 == found.select([rows[index] for index in back[:2]]).sha256


@given(observed())
def test_another_truth_has_another_fingerprint(found: Observations) -> None:
    assert replace(found, reason=found.reason + 1).sha256 != found.sha256 or not len(found)
    assert replace(found, ids=("other", *found.ids)[: len(found)]).sha256 != found.sha256 or not len(found)
