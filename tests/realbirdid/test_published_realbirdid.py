"""RealBirdID's tables (arXiv 2603.27033) hold together, save for the errata, and the metrics give them back."""

import csv
from pathlib import Path

import numpy as np
import pytest

from eyechart.oodbench.statistics.statistical_tests import correlation
from eyechart.realbirdid.statistics.hierarchy import Tree
from eyechart.realbirdid.statistics.information_gain import information_gain
from eyechart.realbirdid.statistics.threshold_steps import ThresholdSteps

GOLDEN = Path(__file__).parents[1] / "golden"
SPECIES, GENERA = 3651, 248  # Section 5: prototypes; Section 6.1
LISTED = 3442  # Table 1
ANSWERABLE, UNANSWERABLE, IMAGES = 31_885, 3_253, 35_138  # Table 1 and Section B
LEVELS = ("A species", "A genus", "UA genus")
PER_MILLE = 1000  # one decimal of a per cent
FOUR_DECIMALS = 0.00005 + 1e-9


def read(name):
    with (GOLDEN / f"realbirdid_{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


SUMMARY, ACCURACY, TABLE_5, ERRATA = read("summary"), read("accuracy"), read("genera"), read("errata")
BY_MODEL = {row["model"]: row for row in ACCURACY}


def column(rows, name):
    return np.array([float(row[name]) for row in rows])


def erratum(start):
    (found,) = (row for row in ERRATA if row["quantity"].startswith(start))
    return float(found["holds"])


def of(kind, name):
    """A column of Table 2, or of Table 3 in its order, of encoders or MLLMs."""
    models = [row for row in SUMMARY if row["kind"] == kind]
    return column(models if name in models[0] else [BY_MODEL[row["model"]] for row in models], name)


@pytest.fixture(scope="module")
def tree():
    """As many species in as many genera as there are, those of Table 5 first and with their sizes."""
    sizes = column(TABLE_5, "species").astype(int)
    others = GENERA - len(sizes)
    rest = (SPECIES - sizes.sum() + np.arange(others)) // others
    return Tree.from_levels([np.arange(SPECIES), np.repeat(np.arange(GENERA), [*sizes, *rest])])


@pytest.fixture(scope="module")
def points(tree):
    """IG of a model that has one threshold for genera and one for species, with these accuracies at them."""
    genera = np.repeat(SPECIES + np.arange(len(TABLE_5)), PER_MILLE)
    first = np.searchsorted(tree.parents[:SPECIES], genera)  # each genus's first species
    another = np.searchsorted(tree.parents[:SPECIES], (genera - SPECIES + 1) % GENERA + SPECIES)
    nodes = np.stack([np.full(len(genera), tree.root), genera, first], axis=1)
    steps = ThresholdSteps(np.arange(len(genera) + 1) * 3, np.tile([1, 0.6, 0.3], len(genera)), nodes.ravel())
    index = np.tile(np.arange(PER_MILLE), len(TABLE_5))

    def found(genus, species):
        sister = np.where(index < genus * PER_MILLE / 100 - 0.5, first + 1, another)
        truth = np.where(index < species * PER_MILLE / 100 - 0.5, first, sister)
        return information_gain(tree, steps, truth)

    return found


def test_the_tables_are_whole() -> None:
    assert {row["model"] for row in SUMMARY} == set(BY_MODEL)
    assert [len(rows) for rows in (SUMMARY, ACCURACY, TABLE_5)] == [16, 16, 30]


def test_answerable_and_unanswerable_images_are_all() -> None:
    assert ANSWERABLE + UNANSWERABLE == IMAGES


@pytest.mark.parametrize("row", ACCURACY, ids=lambda row: row["model"])
def test_table_3_accuracy_grows_with_confidence_in_every_cell(row) -> None:
    assert all(float(row[f"{level} AUC"]) > float(row[f"{level} Acc"]) for level in LEVELS)


@pytest.mark.parametrize("row", ACCURACY, ids=lambda row: row["model"])
def test_table_3_a_genus_is_easier_than_a_species(row) -> None:
    assert all(float(row[f"A genus {name}"]) > float(row[f"A species {name}"]) for name in ("AUC", "Acc"))


@pytest.mark.parametrize("row", SUMMARY, ids=lambda row: row["model"])
def test_the_points_of_table_3_are_on_the_curve(points, row) -> None:
    genus, species = (float(BY_MODEL[row["model"]][f"A {level} Acc"]) for level in ("genus", "species"))
    curve = points(genus, species)
    assert (curve.gain[0], curve.gain[-1]) == (0, pytest.approx(1))
    assert (100 * curve.accuracy).tolist() == pytest.approx([100, genus, species])


def test_table_2_ig_follows_from_table_3_within_two_points(points) -> None:
    told = [
        points(*(float(BY_MODEL[row["model"]][f"A {level} Acc"]) for level in ("genus", "species"))).area
        for row in SUMMARY
    ]
    errors = 100 * np.array(told) - column(SUMMARY, "ig")
    assert np.abs(errors).mean() <= 2
    assert np.abs(errors).max() <= 5
    assert np.abs(errors.mean()) <= 1


def test_the_genus_point_tells_two_thirds_of_a_species(points, tree) -> None:
    sizes = column(TABLE_5, "species")
    worth = points(50, 10).gain[1]
    assert worth == pytest.approx(1 - np.log(sizes).mean() / np.log(SPECIES))
    assert np.log(GENERA) / np.log(SPECIES) < worth < 0.7  # that of equal genera is the least there can be


def test_table_2_ranks_as_table_3_does() -> None:
    for kind in ("encoder", "MLLM"):
        assert correlation(of(kind, "ig"), of(kind, "A genus Acc")).spearman > 0.8


@pytest.mark.parametrize(("name", "sums"), [("freq", False), ("cdf", True)])
def test_table_5_shares_and_their_sums_are_those_of_one_total(name, sums) -> None:
    counts, head = column(TABLE_5, "count"), slice(27)
    found = np.cumsum(counts[head]) if sums else counts
    printed = column(TABLE_5, name)[: len(found)]
    fits = [total for total in range(2000, 3500) if np.abs(found / total - printed).max() <= FOUR_DECIMALS]
    assert erratum("unanswerable images") in fits
    assert not sums or fits == [erratum("unanswerable images")]


def test_table_5_ends_with_all_images() -> None:
    total, tail = erratum("unanswerable images"), column(TABLE_5, "cdf")[27:]
    assert np.round([(total - 2) / total, (total - 1) / total, 1], 4).tolist() == tail.tolist()


def test_table_5_is_in_order() -> None:
    counts = column(TABLE_5, "count")
    assert (np.diff(counts) <= 0).all()
    assert counts.sum() < erratum("unanswerable images") < UNANSWERABLE


def test_section_6_ranges_are_those_of_table_3() -> None:
    species, genus = of("encoder", "A species Acc"), of("encoder", "A genus Acc")
    assert (species.min(), species.max(), genus.min(), genus.max()) == (3.7, 17.0, 32.1, 57.0)
    assert of("MLLM", "A species Acc").max() < 13


def test_section_6_names_the_best() -> None:
    best = {name: SUMMARY[column(SUMMARY, name).argmax()] for name in ("ig", "ua_a")}
    assert (best["ig"]["model"], best["ig"]["ig"]) == ("BioCLIP", "68.9")
    assert (best["ua_a"]["model"], best["ua_a"]["ua_a"]) == ("SigLIP-so400m", "53.2")
    assert of("MLLM", "ig").max() == 57.7


def test_section_6_lag_is_another_models() -> None:
    lag = {row["model"]: round(49.6 - float(row["ua_a"]), 1) for row in SUMMARY}
    assert (lag["GPT-5"], lag["Gemini-2.5-Pro"]) == (3.4, erratum("UA/A of Gemini"))


def test_section_6_means_are_those_of_table_2_for_ua_a_alone() -> None:
    ig, ua_a = column(SUMMARY, "ig"), column(SUMMARY, "ua_a")
    assert (round(ua_a.mean(), 1), round(ua_a.std(ddof=1), 2)) == (45.8, 3.39)
    assert round(ig.mean(), 1) == erratum("mean IG")
    assert round(ig.std(ddof=1), 1) == erratum("standard deviation of IG")


def test_section_6_correlation_is_not_that_of_the_tables() -> None:
    found = correlation(of("encoder", "A species Acc"), of("encoder", "ua_a"))
    assert round(found.pearson, 2) == erratum("correlation")


def test_section_b_shares_are_those_of_its_counts() -> None:
    assert (round(100 * 18_007 / ANSWERABLE, 1), round(100 * 36 / UNANSWERABLE, 1)) == (56.5, 1.1)


def test_errata_differ_from_what_is_printed() -> None:
    assert all(float(row["printed"]) != float(row["holds"]) for row in ERRATA)
    assert erratum("species of the flat list") == SPECIES != LISTED
