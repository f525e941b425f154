"""Taxonomies: levels, places and parents; what is no tree is refused with its lines."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from eyechart.errors import DataError
from eyechart.realbirdid.data.taxonomy import COMMON_NAME, LEVELS, Taxonomy, common_names, read_taxonomy

CROWS = "Corvus corax,Corvus\nPica pica,Pica\nCorvus corone,Corvus\n"
Read = Callable[..., Taxonomy]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def written(rows: str, header: str = "species,genus") -> Taxonomy:
        (tmp_path / "taxonomy.csv").write_text(f"{header}\n{rows}", encoding="utf-8")
        return read_taxonomy(tmp_path / "taxonomy.csv")

    return written


def test_species_keep_their_order_and_genera_that_of_their_first_species(read: Read) -> None:
    found = read(CROWS)
    assert found.levels == ("species", "genus")
    assert found.names == (("Corvus corax", "Pica pica", "Corvus corone"), ("Corvus", "Pica"))
    assert [above.tolist() for above in found.parents] == [[0, 1, 0]]
    assert (len(found), found.common) == (3, ("", "", ""))


def test_levels_are_in_the_order_of_the_tree_and_other_columns_ignored(read: Read) -> None:
    rows = "3,Aves,Corvus corax,Corvidae,Corvus,raven,x\n5,Aves,Parus major,Paridae,Parus,great tit,y\n"
    found = read(rows, "taxon_id,Class,species,family,genus,common_name,song")
    assert found.levels == ("species", "genus", "family", "class")
    assert found.names[2:] == (("Corvidae", "Paridae"), ("Aves",))
    assert [above.tolist() for above in found.parents] == [[0, 1], [0, 1], [0, 0]]
    assert found.common == ("raven", "great tit")


@pytest.mark.parametrize(("column", "level"), [("famly", "family"), ("Orders", "order"), ("common name", COMMON_NAME)])
def test_a_column_that_is_nearly_a_level_is_no_other_column(read: Read, column: str, level: str) -> None:
    with pytest.raises(DataError, match=rf"taxonomy\.csv has the column '{column.lower()}'.*did you mean {level}\?"):
        read("a a,a,x\n", f"species,genus,{column}")


@pytest.mark.parametrize("header", ["species,genus,subgenus", "species,genus,family,famly", "species,genus,superclass"])
def test_columns_of_other_names_are_ignored(read: Read, header: str) -> None:
    assert read(",".join(f"a{level}" for level in header.split(",")), header).levels[:2] == ("species", "genus")


def test_a_tree_may_have_every_level_there_is(read: Read) -> None:
    found = read(",".join(f"a{level}" for level in LEVELS), ",".join(LEVELS))
    assert len(found.parents) == len(LEVELS) - 1
    assert [above.tolist() for above in found.ancestors] == [[0]] * len(LEVELS)


def test_ancestors_are_parents_of_parents(read: Read) -> None:
    rows = "a a,a,x\nb b,b,y\nc c,c,x\nb d,b,y\n"
    found = read(rows, "species,genus,family")
    assert [above.tolist() for above in found.ancestors] == [[0, 1, 2, 3], [0, 1, 2, 1], [0, 1, 0, 1]]
    assert all(above.dtype == np.int64 for above in (*found.ancestors, *found.parents))


def test_places_are_found_whatever_the_case(read: Read) -> None:
    found = read(CROWS)
    assert (found.index_of(0, " PICA pica "), found.index_of(1, "pica")) == (1, 1)
    with pytest.raises(DataError, match=r"taxonomy\.csv has no genus 'Corvs'; did you mean Corvus\?"):
        found.index_of(1, "Corvs")


@pytest.mark.parametrize(
    "other",
    [
        (CROWS.replace("corone", "cornix"), "species,genus"),
        ("Corvus corax,Corvus\nCorvus corone,Corvus\nPica pica,Pica\n", "species,genus"),
        ("Corvus corax,Corvus,x\nPica pica,Pica,\nCorvus corone,Corvus,\n", "species,genus,common_name"),
        ("Corvus corax,Corvus,x\nPica pica,Pica,x\nCorvus corone,Corvus,x\n", "species,genus,family"),
    ],
)
def test_another_taxonomy_has_another_fingerprint(read: Read, other: tuple[str, str]) -> None:
    assert read(CROWS).sha256 == read(CROWS).sha256
    assert read(*other).sha256 != read(CROWS).sha256


@pytest.mark.parametrize(
    ("rows", "header", "said"),
    [
        (
            CROWS + "Corvus corax,Coloeus\n",
            "species,genus",
            "line 5 has Corvus corax in the genus Coloeus, and line 2 in",
        ),
        (CROWS + "corvus CORAX,Corvus\n", "species,genus", "line 5 has the species 'corvus CORAX', and line 2 has"),
        (CROWS + "Corvus cornix,\n", "species,genus", "line 5: Corvus cornix has no genus, an orphan"),
        (CROWS + ",Corvus\n", "species,genus", "line 5: there is no species"),
        ("a a,a,x\na b,a,\n", "species,genus,family", "line 3: a has no family, an orphan"),
        ("a a,a,x\na b,a,y\n", "species,genus,family", "line 3 has the genus a in the family y, and line 2 in x"),
        ("a a,a,x\nb b,b,y\na c,A,x\n", "species,genus,family", "line 4 has the genus 'A', and line 2 'a'"),
        ("a,a\n", "species,genus", "line 2 begins a cycle: a in a; a name cannot be its own ancestor"),
        ("a a,b,c\nd d,C,B\n", "species,genus,family", "line [23] begins a cycle: [bc] in [bc] in [bc]"),
        ("a a,b,c\nd d,c,e\n", "species,genus,family", "line 2 has 'c' as family, and line 3 as genus"),
        ("x\n", "species", "no column 'genus'"),
    ],
)
def test_what_is_no_tree_is_refused(read: Read, rows: str, header: str, said: str) -> None:
    with pytest.raises(DataError, match=rf"taxonomy\.csv.*{said}"):
        read(rows, header)


def test_common_names_that_tell_the_species_apart(read: Read) -> None:
    rows = "Corvus corax,Corvus,raven\nPica pica,Pica,magpie\n"
    assert common_names(read(rows, "species,genus,common_name")) == ("raven", "magpie")


@pytest.mark.parametrize(
    ("name", "said"),
    [("Raven ", "Corvus corax and Pica pica have one common name, 'Raven'"), ("", "Pica pica has no common name")],
)
def test_common_names_that_do_not(read: Read, name: str, said: str) -> None:
    found = read(f"Corvus corax,Corvus,raven\nPica pica,Pica,{name}\n", "species,genus,common_name")
    with pytest.raises(DataError, match=rf"taxonomy\.csv: {said}.*use the scientific names"):
        common_names(found)
