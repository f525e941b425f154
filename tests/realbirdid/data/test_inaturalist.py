"""An export of observations made into birds: who is taken as what, why others are not, whose picture is whose."""

from collections.abc import Callable
from pathlib import Path

import pytest

from eyechart.errors import DataError
from eyechart.realbirdid.data.inaturalist import (
    GENUS_WITHOUT_SPECIES,
    HYBRID,
    NO_IMAGE,
    NO_REASON,
    NO_TAXON,
    NOT_IN_TAXONOMY,
    NOT_RESEARCH_GRADE,
    import_birds,
)
from eyechart.realbirdid.data.inaturalist import ImportResult as Result
from eyechart.realbirdid.data.observations import REASONS
from tests.realbirdid.data.inaturalist_tables import BASE, Rows, row, seen, table

GENUS = {"scientific_name": "Corvus", "common_name": "Crows", "taxon_species_name": "", "quality_grade": "needs_id"}
FISH = {"scientific_name": "Corvus ossifragus", "taxon_species_name": "Corvus ossifragus", "common_name": "Fish Crow"}

Make = Callable[..., Result]


def test_a_species_is_answerable_with_all_that_is_known(make: Make, tmp_path: Path) -> None:
    found = make(row(1))
    (line,) = table(tmp_path)
    assert (line["image"], line["observation_id"], line["species"]) == ("images/1_1.jpg", "1", "Corvus brachyrhynchos")
    assert (line["answerable"], line["latitude"], line["longitude"]) == ("1", "41.5", "-71.25")
    assert (line["photo_id"], line["license"], line["url"]) == ("101", "CC-BY", row(1)["url"])
    assert seen(found).ids == ("1",)
    assert found.excluded == {}


def test_dates_are_copied_where_there_are_any(make: Make) -> None:
    found = make(row(1, observed_on="2020-05-31", created_at="2020-06-01 07:08:09 UTC"))
    assert seen(found).dates == {"observed_on": ("2020-05-31",), "created_at": ("2020-06-01",)}


def test_an_export_without_dates_has_none(make: Make) -> None:
    assert seen(make(row(1))).dates == {}


def test_a_genus_with_a_reason_is_unanswerable(make: Make) -> None:
    lines = [f"{number},{reason}" for number, reason in enumerate((*REASONS, ""), 2)]
    reasons = "\n".join(["observation_id,reason", *lines])
    found = make(row(1), *(row(number, **GENUS) for number in range(2, 6)), reasons=reasons)
    assert seen(found).answerable.tolist() == [True, False, False, False, False]
    assert seen(found).reason.tolist() == [-1, 0, 1, 2, -1]
    assert found.dataset.names == ("Corvus brachyrhynchos",)


def test_taxa_come_from_the_columns_as_far_as_every_species_has_them(make: Make, tmp_path: Path) -> None:
    make(row(1), row(2, **FISH, taxon_order_name=""))
    assert [*table(tmp_path, "taxonomy")[0]] == ["taxon_id", "species", "genus", "family", "common_name"]
    assert [line["common_name"] for line in table(tmp_path, "taxonomy")] == ["American Crow", "Fish Crow"]


def test_a_subspecies_is_its_species_and_does_not_name_it(make: Make, tmp_path: Path) -> None:
    make(row(1, scientific_name="Corvus brachyrhynchos pascuus", common_name="Florida Crow", taxon_id="5"))
    assert table(tmp_path)[0]["species"] == "Corvus brachyrhynchos"
    (taxon,) = table(tmp_path, "taxonomy")
    assert (taxon["species"], taxon["common_name"], taxon["taxon_id"]) == ("Corvus brachyrhynchos", "", "")


def test_names_alone_are_enough(make: Make, tmp_path: Path) -> None:
    few = [{key: one[key] for key in ("id", "scientific_name")} for one in (row(1), row(2, **FISH))]
    assert make(*few).dataset.names == ("Corvus brachyrhynchos", "Corvus ossifragus")
    assert [line["genus"] for line in table(tmp_path)] == ["Corvus", "Corvus"]


def test_a_rank_as_gbif_writes_it(make: Make) -> None:
    ranks = ((row(1), "SPECIES"), (row(2, **FISH), "SPECIES_AGGREGATE"))
    few = [{"id": one["id"], "scientific_name": one["scientific_name"], "taxonRank": rank} for one, rank in ranks]
    found = make(*few)
    assert (found.dataset.names, found.excluded) == (("Corvus brachyrhynchos",), {NO_REASON: 1})


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"quality_grade": "needs_id"}, NOT_RESEARCH_GRADE),
        ({"quality_grade": "casual"}, NOT_RESEARCH_GRADE),
        (GENUS, NO_REASON),
        ({"taxon_species_name": "", "taxon_genus_name": "", "scientific_name": "Passeriformes"}, NO_TAXON),
        ({"scientific_name": "Corvus corone × cornix", "taxon_species_name": ""}, HYBRID),
        ({"scientific_name": "Corvus corone X cornix"}, HYBRID),
        ({"taxon_hybrid_name": "Corvus corone × cornix", "taxon_species_name": ""}, HYBRID),
    ],
)
def test_others_are_left_out_counted_and_listed(make: Make, tmp_path: Path, changed: Rows, why: str) -> None:
    found = make(row(1), row(2, **changed))
    assert found.excluded == {why: 1}
    (line,) = table(tmp_path, "left_out")
    assert (line["observation_id"], line["why"], line["line"]) == ("2", why, "3")
    assert seen(found).ids == ("1",)


def test_any_grade_can_be_taken(make: Make) -> None:
    assert len(make(row(1), row(2, quality_grade="needs_id"), any_grade=True).dataset) == 2


def test_a_genus_without_a_species_in_the_list_is_left_out(make: Make) -> None:
    other = GENUS | {"scientific_name": "Larus", "taxon_genus_name": "Larus"}
    assert make(row(1), row(2, **other), reasons="observation_id,reason\n2,\n").excluded == {GENUS_WITHOUT_SPECIES: 1}


def test_a_taxonomy_says_which_species_there_are(make: Make, tmp_path: Path) -> None:
    taxonomy = "species,genus,common_name\nCorvus ossifragus,Corvus,Fish Crow\nCorvus corax,Corvus,Raven\n"
    reasons = "observation_id,reason\n3,vocalization\n"
    found = make(row(1), row(2, **FISH), row(3, **GENUS), taxonomy=taxonomy, reasons=reasons)
    assert found.excluded == {NOT_IN_TAXONOMY: 1}
    assert found.dataset.names == ("Corvus ossifragus", "Corvus corax")
    assert [line["common_name"] for line in table(tmp_path, "taxonomy")] == ["Fish Crow", "Raven"]


def test_a_place_that_is_known_by_half_is_none(make: Make) -> None:
    found = make(row(1, longitude=""), row(2))
    assert seen(found).has_location.tolist() == [False, True]


def test_lines_of_the_reasons_that_are_about_nobody_are_counted(make: Make) -> None:
    found = make(row(1), row(2, **GENUS), reasons="observation_id,reason\n1,\n2,\n9,vocalization\n")
    assert found.notes == ["2 lines of the reasons are about no unanswerable observation of the export"]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"latitude": "91"}, "line 3 has the latitude '91'"),
        ({"id": "1"}, "line 3 .*'1'"),
        ({"id": "../2"}, "has the id '../2', expected the observation's number"),
        ({"taxon_family_name": "Laridae"}, "line 3 has Corvus brachyrhynchos in the family 'Laridae', and line 2"),
    ],
)
def test_rows_that_contradict_themselves(make: Make, changed: Rows, message: str) -> None:
    with pytest.raises(DataError, match=message):
        make(row(1), row(2, **changed), pictures=("1.jpg", "2.jpg"))


@pytest.mark.parametrize(
    ("reasons", "message"),
    [
        (
            "observation_id,reason\n1,vocalisation\n",
            "reason 'vocalisation', expected .* did you mean vocalization",
        ),
        ("observation_id,reason\n1,\n1,\n", "line 3"),
        ("id,reason\n1,\n", "has no column 'observation_id'"),
    ],
)
def test_reasons_that_cannot_be_read(make: Make, reasons: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        make(row(1), reasons=reasons)


def test_nothing_left_is_refused_with_the_counts(make: Make) -> None:
    with pytest.raises(DataError, match=f"Nothing of .*{NO_REASON}: 1"):
        make(row(1, **GENUS))


def test_a_folder_that_is_not_empty_is_kept(make: Make, tmp_path: Path) -> None:
    make(row(1))
    with pytest.raises(DataError, match="is there and not empty"):
        make(row(1))


COMPLEX = {"scientific_name": "Corvus brachyrhynchos", "common_name": "American Crow complex", "taxon_species_name": ""}


def test_a_complex_is_no_species_and_does_not_name_one(make: Make) -> None:
    result = make(row(1), row(2, **COMPLEX), reasons="observation_id,reason\n2,image quality\n")
    observations = result.dataset.details
    assert observations is not None
    assert observations.answerable.tolist() == [True, False]
    assert observations.taxonomy.common == ("American Crow",)


@pytest.mark.parametrize(
    "cells",
    [
        {"common_name": "American Crow Complex"},
        {"taxon_rank": "complex"},
        {"rank": "subgenus"},
        {"scientific_name": "Corvus sect. Corvus"},
        {"scientific_name": "Corvus sp."},
        {"scientific_name": "Corvus cf. corax"},
        {"scientific_name": "Corvus Corvus"},
    ],
    ids=str,
)
def test_taxa_above_the_species_without_columns_of_taxa(make: Make, cells: Rows) -> None:
    bare = {key: value for key, value in row(2).items() if not key.startswith("taxon_")}
    known = {key: value for key, value in row(1).items() if not key.startswith("taxon_")}
    result = make({**known, **dict.fromkeys(cells, ""), **known}, bare | cells)
    assert [bird.species for bird in result.observations] == ["Corvus brachyrhynchos"]
    assert result.excluded == {NO_REASON: 1}


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ({"observed_on": "05/01/2021"}, r"export\.csv, line 3 has '05/01/2021' as observed_on"),
        ({"created_at": "1.5.2021 10:00"}, r"export\.csv, line 3 has '1\.5\.2021 10:00' as created_at"),
        ({"latitude": "41,5"}, r"export\.csv, line 3 has the latitude '41,5'"),
        ({"taxon_order_name": "Corvidae", "taxon_family_name": "Corvidae"}, "order"),
    ],
    ids=str,
)
def test_a_refused_import_leaves_nothing_and_can_be_repeated(
    make: Make, tmp_path: Path, cells: Rows, message: str
) -> None:
    first = row(1, **{key: BASE.get(key, "") for key in cells})
    with pytest.raises(DataError, match=message):
        make(first, row(2, **cells))
    assert not [*(tmp_path / "out").glob("*")] if (tmp_path / "out").exists() else True
    assert len(make(first, row(2)).dataset) == 2


def test_an_import_whose_tables_contradict_each_other_leaves_nothing(make: Make, tmp_path: Path) -> None:
    other = row(2, **FISH, taxon_genus_name="Corvidae")
    with pytest.raises(DataError, match=r"export\.csv cannot be imported: the new taxonomy\.csv.* Nothing was written"):
        make(row(1), other)
    assert [*(tmp_path / "out").glob("*")] == []


@pytest.mark.parametrize(
    "name", ["1.jpg", "101.jpg", "sub/1.PNG", "101/original.jpg", "obs_1.jpg", "photo-101.jpg", "001_a.jpg"]
)
def test_a_picture_is_named_by_its_observation_or_photo(make: Make, name: str) -> None:
    assert len(make(row(1), pictures=(name,)).dataset) == 1


def test_an_observation_may_have_several_pictures(make: Make, tmp_path: Path) -> None:
    found = make(row(1), row(2), pictures=("1_1.jpg", "1_2.png", "2.jpg"))
    assert seen(found).ids == ("1", "1", "2")
    assert [line["image"] for line in table(tmp_path)] == ["images/1_1.jpg", "images/1_2.png", "images/2_1.jpg"]
    assert [line["photo_id"] for line in table(tmp_path)] == ["", "", "102"]


def test_the_scheme_that_names_most_pictures_goes_first(make: Make, tmp_path: Path) -> None:
    """Photo 2 belongs to observation 1, and observation 2 has the photo 3: the picture 2.jpg might be of either."""
    one, other = row(1, image_url="photos/2/large.jpg"), row(2, image_url="photos/3/large.jpg")
    make(one, other, pictures=("2.jpg", "3.jpg"))
    named = {line["observation_id"]: line["photo_id"] for line in table(tmp_path)}
    assert named == {"1": "2", "2": "3"}
    assert (tmp_path / "out/birds/images/1_1.jpg").read_bytes() == (tmp_path / "in/2.jpg").read_bytes()


def test_an_observation_without_a_picture_is_left_out(make: Make) -> None:
    assert make(row(1), row(2), pictures=("1.jpg", "notes7.jpg")).excluded == {NO_IMAGE: 1}


def test_pictures_that_are_not_there(make: Make, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has no picture that is named by a number"):
        make(row(1), pictures=("crow.jpg",))
    with pytest.raises(DataError, match="is no folder"):
        import_birds(tmp_path / "export.csv", tmp_path / "none", tmp_path / "new")


def test_pictures_that_systems_leave_behind_are_none(make: Make, tmp_path: Path) -> None:
    for name in ("1/._medium.jpg", "__MACOSX/1.jpg", "@eaDir/1/medium.jpg"):
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).write_bytes(b"x")
    assert len(make(row(1), pictures=("1/medium.jpg",)).dataset) == 1
