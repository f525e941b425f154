"""The pages of tables of birds: comparable cases in the published order, named, described and by list of species."""

import numpy as np
import pytest
from msgspec import structs

from eyechart.errors import ReportError
from eyechart.realbirdid.tables.bird_pages import metric_cells, select_pages
from eyechart.reports.tables.registry import tables
from tests.realbirdid.tables.summary_numbers import summary


@pytest.fixture
def both_families(flock):
    """An encoder, and a model that answers in words."""
    flock.mllm(model="Gemini", metrics=summary(57.7, 44.1))
    flock.case(model="BioCLIP", metrics=summary(68.9, 49.6))
    return flock


def test_cases_have_the_published_order_of_families_and_then_of_models(both_families):
    both_families.case(model="A", templates="", metrics=summary(50, 40))
    both_families.case(model="Z/16", metrics=summary(55.3, 44.6))
    (page,) = select_pages(both_families.pool(), "species", None)
    assert page.names.to_numpy().tolist() == [
        ["Encoder-Based", "BioCLIP"],
        ["Encoder-Based", "Z/16"],
        ["Multimodal LLMs", "Gemini"],
        ["Replayed", "A"],
    ]


def test_cases_about_other_observations_have_a_page_of_their_own(both_families):
    both_families.case(model="B/16", metrics=summary(55.3, 44.6))
    *others, last = both_families.records
    data = structs.replace(last.data, labels={"observations": "c" * 64})
    both_families.records = [*others, structs.replace(last, data=data)]
    pages = select_pages(both_families.pool(), "species", None)
    assert sorted([*page.names["Model"]] for page in pages) == [["B/16"], ["BioCLIP", "Gemini"]]


def test_a_case_without_the_number_of_a_cell_has_none(both_families):
    both_families.case(model="B/16", metrics=summary(55.3, 44.6)[:1])
    (page,) = select_pages(both_families.pool(), "species", None)
    columns = {"IG": ("ig", "answerable"), "UA/A": ("ua_a", "all")}
    cells = metric_cells(page, columns)
    assert len(cells) == 6
    values = cells.pivot(index="row", columns="column", values="value")
    np.testing.assert_allclose(values, [[0.553, np.nan], [0.689, 0.496], [0.577, 0.441]])
    some = metric_cells(page, columns, rows=page.names["Family"] == "Multimodal LLMs")
    assert some[["row", "column", "n"]].to_numpy().tolist() == [[2, "IG", 30], [2, "UA/A", 40]]


def test_labels_choose_the_list_of_species(flock):
    flock.case(metrics=[*summary(50, 40), *summary(80, 45, "range"), *summary(60, 42, "eligible")])
    (table,) = flock.tables("realbirdid-T2", "range")
    assert [row[1].value for row in table.rows] == [0.8, 0.45]
    assert table.context["labels"] == "range"
    assert any("candidates alone" in note for note in table.notes)


def test_notes_say_how_each_family_was_asked(both_families):
    (table,) = both_families.tables("realbirdid-T2")
    assert "Encoder-Based: prompt own, species_names scientific, templates bird (01234567)." in table.notes
    assert "Multimodal LLMs: prompt species (01), species_names scientific, stop unique prefix." in table.notes
    assert f"realbirdid/val: 40 images, fingerprint {'f' * 12}; observations {'b' * 12}." in table.notes


def test_unknown_labels_are_refused_with_what_there_is(both_families):
    with pytest.raises(ReportError, match=r"'rnge'.*There are: all species"):
        both_families.tables("realbirdid-T2", "rnge")


@pytest.mark.deep
def test_a_model_asked_in_two_ways_stands_twice_and_is_told_apart(aviary):
    aviary.species("hf[b]")
    aviary.species("hf[b]", species_names="common")
    (table,) = tables("realbirdid-T2", aviary.pool())
    assert table.columns == ("Metric", "hf[b], species names common", "hf[b], species names scientific")
