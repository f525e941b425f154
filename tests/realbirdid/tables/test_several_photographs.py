"""Tables about observations with several photographs: their intervals are the record's, over observations."""

import csv
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from typing import Any

import numpy as np
import pytest
from msgspec import structs

from eyechart.realbirdid.tables.bird_pages import create_page
from eyechart.realbirdid.tables.curves import ranked_answers, selective_accuracy
from eyechart.reports.page.page_charts import accuracy_rows
from eyechart.reports.page.sample_groups import CaseSamples, SampleGroup
from eyechart.reports.page.samples import class_namer, read_samples
from eyechart.reports.runs import Runs
from eyechart.reports.tables.registry import tables
from eyechart.reports.tables.render import to_csv
from eyechart.results.records import Metric
from eyechart.statistics.clusters import clustered_wilson

pytestmark = pytest.mark.deep

TABLES = ("T2", "T3", "T4", "F4", "F5", "F7", "F8", "F10", "F11", "F16", "F17", "F19", "wordings")
SPOTS = ("answerable.species", "answerable.genus", "unanswerable.genus")


def rows_of(pool: Runs, name: str) -> list[dict[str, str]]:
    """The rows of a table's csv."""
    return list(csv.DictReader(StringIO(to_csv(tables(f"realbirdid-{name}", pool, None)))))


def intervals(pool: Runs, name: str) -> list[list[str]]:
    """The ends of every interval of a table, row by row."""
    return [[cell for head, cell in row.items() if head.endswith((" low", " high"))] for row in rows_of(pool, name)]


@pytest.fixture
def noisy(photographed: Callable[..., Any]) -> Any:
    """A run about three photographs an observation, which are answered much alike, without a case yet."""
    return photographed(3, 0.7, cases=False)


@pytest.fixture
def asked(photographed: Callable[..., Any], kept: dict[str, Runs]) -> Runs:
    """The same run with a case of species, once for all tests, which only read it."""
    if "noisy" not in kept:
        made = photographed(3, 0.7, cases=False)
        made.species("hf[c]", 1.0)
        kept["noisy"] = made.pool()
    return kept["noisy"]


@pytest.fixture
def species(asked: Runs) -> Any:
    """Its case of species."""
    return asked.groups[0].with_protocols("species").cases[0]


@pytest.fixture
def twice(photographed: Callable[..., Any], kept: dict[str, Runs]) -> Runs:
    """A run about two photographs an observation, which are the same."""
    if "twice" not in kept:
        kept["twice"] = photographed(2).pool()
    return kept["twice"]


def test_photographs_that_repeat_their_observation_change_no_interval(photographed, twice):
    once = photographed(1).pool()
    for name in ("T2", "T3", "T4", "F5", "F7", "F17", "F19", "wordings"):
        found = intervals(once, name)
        assert any(map(any, found)), name
        for one, other in zip(found, intervals(twice, name), strict=True):
            ends = [[float(cell or "nan") for cell in cells] for cells in (one, other)]
            np.testing.assert_allclose(ends[1], ends[0], atol=0.011, err_msg=name)


def test_the_share_of_a_reason_has_the_records_interval(noisy):
    """With one issue, the share of right reasons of Figure 8 is the record's `correct_reason`."""
    noisy.seen = replace(noisy.seen, reason=np.where(noisy.seen.reason >= 0, 0, -1))
    noisy.abstention("hf[c]")
    (record,) = noisy.records
    for row in rows_of(noisy.pool(), "F8"):
        if row["Issue"] == "Q":
            (metric,) = [m for m in record.metrics if (m.name, m.subset_text) == ("correct_reason", row["Level"])]
            assert [float(row[f"Q %{end}"]) for end in ("", " low", " high")] == pytest.approx(
                [100 * metric.value, *(100 * end for end in metric.ci)], abs=0.006
            )


def test_the_share_of_a_wording_has_the_records_interval(noisy):
    noisy.abstention("hf[c]")
    (record,) = noisy.records
    for row in rows_of(noisy.pool(), "wordings"):
        category = f"unanswerable/{row['Level']}/{row['Wording']}"
        (metric,) = [m for m in record.metrics if (m.name, m.subset_text) == ("abstention", category)]
        ends = [float(row[f"Abstention {end}"]) for end in ("low", "high")]
        assert ends == pytest.approx([100 * end for end in metric.ci], abs=0.006)


def test_every_metric_says_of_how_many_observations_its_images_are(noisy):
    noisy.species("hf[c]", 1.0)
    noisy.abstention("hf[c]")
    clusters, answerable = noisy.seen.clusters, noisy.seen.answerable
    observations = {
        "answerable": len({*clusters[answerable]}),
        "unanswerable": len({*clusters[~answerable]}),
        "all": len({*clusters}),
    }
    for metric in (metric for record in noisy.records for metric in record.metrics):
        assert 0 < metric.n_clusters < metric.n, metric
        if metric.labels in ("all species", "observations") and metric.subset in observations:
            assert metric.n_clusters == observations[metric.subset], metric


@pytest.mark.parametrize("labels", ["all species", "eligible", "range"])
def test_the_accuracy_where_nothing_is_left_out_has_the_records_interval(species, labels):
    page = create_page([species], "realbirdid/val", labels)
    for spot in SPOTS:
        metric = species.metric("acc", labels, spot)
        cell = selective_accuracy(ranked_answers(page, labels, *spot.split(".")), 0.0)
        assert (cell["value"], cell["n"]) == (pytest.approx(metric.value), metric.n)
        assert (cell["low"], cell["high"]) == pytest.approx(metric.ci)


def test_the_accuracy_of_the_surest_images_is_that_of_their_observations(asked, species):
    text = (species.folder / species.record.predictions.path).read_text(encoding="utf-8")
    birds = [row for row in csv.DictReader(StringIO(text)) if row["subset"] == "answerable"]
    birds.sort(key=lambda row: -float(row["all.species.probability"]))
    (row,) = rows_of(asked, "F17")
    surest = birds[: int(row["A species, 50 % left out (all species) n"])]
    low, high = clustered_wilson(
        [float(bird["all.species.correct"]) for bird in surest], [int(bird["observation"][1:]) for bird in surest]
    )
    ends = [float(row[f"A species, 50 % left out (all species) {end}"]) for end in ("low", "high")]
    assert ends == pytest.approx([100 * low, 100 * high], abs=0.006)


def test_every_caption_names_observations_as_what_was_drawn(twice):
    for name in TABLES:
        for table in tables(f"realbirdid-{name}", twice, None):
            brackets = [note for note in table.notes if "interval" in note]
            assert brackets, name
            assert all("observation" in note for note in brackets), name
            assert not any("over images" in note for note in brackets), name


def test_the_page_draws_the_interval_of_the_record(species):
    said = read_samples(species, class_namer(()))
    (found,) = [
        row
        for row in accuracy_rows(SampleGroup("birds", "birds", (CaseSamples(species, "species", said),), "species"))
        if row["labels"] == "species"
    ]
    metric = species.metric("acc", "all species", "answerable.species")
    assert (found["value"], found["n"]) == (pytest.approx(metric.value), metric.n)
    assert found["ci"] == pytest.approx(metric.ci)


def test_the_page_draws_the_mean_over_repeats_that_the_record_has(species):
    said = read_samples(species, class_namer(()))
    mean = Metric(
        name="repeated_acc",
        labels="species",
        subset="answerable",
        value=0.7,
        n=9,
        n_clusters=9,
        ci=(0.4, 0.9),
        ci_method="clustered wilson",
    )
    entry = replace(species, record=structs.replace(species.record, metrics=(mean,)))
    rows = accuracy_rows(SampleGroup("birds", "birds", (CaseSamples(entry, "species", said),), "species"))
    (found,) = [row for row in rows if row["labels"] == "species"]
    assert (found["value"], found["ci"], found["n"]) == (0.7, (0.4, 0.9), 9)
