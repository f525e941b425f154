"""Every table of RealBirdID out of real recordings: its numbers are those of the answers beside the records."""

import csv
from collections import Counter
from dataclasses import replace
from io import StringIO

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from eyechart.cli import main
from eyechart.models.types import Usage
from eyechart.realbirdid import catalogue
from eyechart.realbirdid.answers.bird_vocabulary import BirdVocabulary
from eyechart.realbirdid.data.observations import REASONS
from eyechart.realbirdid.protocols.free_form import FreeFormPredictions
from eyechart.reports.overview.write_overview import overview_tables, write_overview
from eyechart.reports.tables.registry import tables
from eyechart.reports.tables.render import RENDERERS, to_csv

pytestmark = pytest.mark.deep

ENCODER, TALKER = "open_clip[a]", "hf[b]"
ELSEWHERE = ("realbirdid-correlation",)  # which needs more models: test_realbirdid_data_sets
TABLES = tuple(name for table in catalogue.TABLES if (name := table.alias or table.name) not in ELSEWHERE)
OF_DATA = (
    "realbirdid-T1",
    "realbirdid-T5",
    "realbirdid-F3",
    "realbirdid-F13",
    "realbirdid-F15",
)  # which nobody was asked for


def spoken(aviary):
    """A name of the list in answer to every image."""
    names = BirdVocabulary.from_taxonomy(aviary.seen.taxonomy)
    indices = np.random.default_rng(5).integers(len(names.choices), size=aviary.n)
    variant = {"extraction": "choice", "prompt": "species (01)"}
    return FreeFormPredictions(
        aviary.dataset,
        {},
        variant,
        aviary.seen,
        ("words",) * aviary.n,
        indices,
        Usage(),
        None,
        aviary.n,
        names,
        seed=42,
    )


@pytest.fixture(scope="module")
def kept():
    """What tests leave for one another: the run takes seconds to make."""
    return {}


@pytest.fixture
def asked(aviary, kept, tmp_path_factory):
    """An encoder and a model that answers in words, asked in every way that either can be."""
    if "run" not in kept:
        aviary.maker = replace(aviary.maker, root=tmp_path_factory.mktemp("birds"))
        for index, model in enumerate((ENCODER, TALKER)):
            aviary.species(model, seed=index)
            aviary.flat_list(model, seed=index)
        aviary.abstention(TALKER, everyone=True)
        aviary.record("free_form", TALKER, spoken(aviary))
        kept["run"] = aviary
    return kept["run"]


@pytest.fixture
def made(asked, kept):
    """Make the tables of a name once."""

    def made(name, labels=None):
        if (name, labels) not in kept:
            kept[name, labels] = tables(name, kept.setdefault("pool", asked.pool()), labels)
        return kept[name, labels]

    return made


@pytest.fixture
def rows(made):
    """The rows of a table's csv."""
    return lambda name, labels=None: list(csv.DictReader(StringIO(to_csv(made(name, labels)))))


@pytest.fixture
def said(asked):
    """The csv of a case's answers, or an artifact of it."""

    def said(protocol, name=None):
        record = next(record for record in asked.records if record.protocol == protocol)
        file = record.artifacts[name] if name else record.predictions
        return list(csv.DictReader((asked.folder / file.path).read_text(encoding="utf-8").splitlines()))

    return said


def percent(part):
    return f"{100 * np.mean(part):.2f}"


def test_table_2_has_the_auroc_of_the_answers(rows, said):
    answers = said("species")
    unsure = [1 - float(row["all.species.probability"]) for row in answers]
    expected = roc_auc_score([row["subset"] == "unanswerable" for row in answers], unsure)
    (row,) = (row for row in rows("realbirdid-T2") if row["Model"] == "a")
    assert float(row["UA/A"]) == pytest.approx(100 * expected, abs=0.006)
    assert (row["UA/A n"], row["IG n"]) == ("60", "40")


def test_table_3_has_the_accuracies_of_the_answers(rows, said):
    answers = said("species")
    row = rows("realbirdid-T3")[0]
    for head, level, subset in (
        ("A Species", "species", "answerable"),
        ("A Genus", "genus", "answerable"),
        ("UA Genus", "genus", "unanswerable"),
    ):
        right = [int(each[f"all.{level}.correct"]) for each in answers if each["subset"] == subset]
        assert (row[f"{head} Acc"], row[f"{head} Acc n"]) == (percent(right), str(len(right)))
    assert (row["Family"], row["Model"]) == ("Encoder-Based", "a")


def test_table_3_under_range_has_the_listed_images_alone(rows, said):
    right = [int(row["range.species.correct"]) for row in said("species") if row["range.species.correct"]]
    row = rows("realbirdid-T3", "range")[0]
    assert (row["A Species Acc"], row["A Species Acc n"]) == (percent(right), str(len(right)))


def test_figure_4_has_the_flat_lists_answers(rows, said):
    answers = said("flat_list")
    row = rows("realbirdid-F4")[0]
    for head, subset in (("Answerable", "answerable"), ("Unanswerable", "unanswerable")):
        assert row[head] == percent([int(each["all.correct"]) for each in answers if each["subset"] == subset])
    assert row["A abstained"] == percent(
        [each["all.answer_level"] == "genus" for each in answers if each["subset"] == "answerable"]
    )
    assert [row["Method"] for row in rows("realbirdid-F4")] == ["Flat list", "TreeGT"] * 2


def test_figure_19_is_about_the_listed_images_with_paired_intervals(rows, said):
    answers = [row for row in said("species") if row["range.species"]]
    without = [row["subset"] == "unanswerable" for row in answers]
    row = rows("realbirdid-F19")[0]
    for head, prefix in (("UA/A without", "all"), ("UA/A with", "range")):
        unsure = [1 - float(each[f"{prefix}.species.probability"]) for each in answers]
        assert float(row[head]) == pytest.approx(100 * roc_auc_score(without, unsure), abs=0.006)
    assert row["UA/A Δ n"] == str(len(answers))
    assert float(row["UA/A Δ low"]) < float(row["UA/A Δ"]) < float(row["UA/A Δ high"])
    assert float(row["IG Δ"]) == pytest.approx(float(row["IG with"]) - float(row["IG without"]), abs=0.011)


def test_figure_6_has_a_row_a_family_and_number(rows):
    assert [(row["Models"], row["Metric"], row["Number"]) for row in rows("realbirdid-F6")] == [
        (family, metric, number)
        for family, number in (("Encoder-Based", "1"), ("Multimodal LLMs", "1"), ("All models", "2"))
        for metric in ("IG", "UA/A")
    ]


def test_table_5_counts_the_observations(rows, asked):
    seen = asked.seen
    counts = Counter(seen.taxonomy.names[1][genus] for genus in seen.genus[~seen.answerable])
    found = rows("realbirdid-T5")
    assert {row["genus"]: int(row["count"]) for row in found} == counts
    assert [row["cdf"] for row in found][-1] == "1.0000"


def unanswered(said):
    """The answers to unanswerable images."""
    return [row for row in said("abstention") if row["subset"] == "unanswerable"]


def test_table_4_has_the_shares_of_the_answers(rows, said):
    for row in rows("realbirdid-T4"):
        of = [each for each in unanswered(said) if each["prompt_level"] == row["Level"]]
        for head, issue in zip(("quality", "angle/occlusion", "vocalization"), REASONS, strict=True):
            given = [int(each["prediction"] == "abstain") for each in of if each["reason"] == issue]
            assert (row[head], row[f"{head} n"]) == (f"{np.mean(given):.3f}", str(len(given)))


def test_figure_7_has_the_spread_over_wordings(rows, said):
    row = rows("realbirdid-F7")[0]
    answers = [each for each in unanswered(said) if each["prompt_level"] == "naive"]
    wordings = sorted({each["prompt"] for each in answers})
    rates = [
        np.mean([each["prediction"] == "abstain" for each in answers if each["prompt"] == wording])
        for wording in wordings
    ]
    assert (row["Level"], row["Images"], row["Wordings"], row["df"]) == ("naive", "unanswerable", "3", "2")
    expected = [100 * value for value in (np.mean(rates), np.std(rates, ddof=1), min(rates), max(rates))]
    assert [float(row[name]) for name in ("Mean", "SD", "Min", "Max")] == pytest.approx(expected, abs=0.006)
    assert 0 <= float(row["p"]) <= 1


def test_figure_7_has_answerable_images_too_where_all_were_asked_about(rows):
    assert [row["Images"] for row in rows("realbirdid-F7")] == ["unanswerable"] * 2 + ["answerable"] * 2


def test_figure_8_is_the_confusion_that_the_run_wrote(rows, said):
    written = {(row["level"], row["issue"], row["reason"]): row["count"] for row in said("abstention", "confusion")}
    full = dict(zip("QAV", REASONS, strict=True))
    for row in rows("realbirdid-F8"):
        if row["Issue"] in full:
            found = [row[reason] for reason in full]
            assert found == [written[row["Level"], full[row["Issue"]], reason] for reason in REASONS]


def test_every_wording_is_there_with_its_text(rows, asked):
    texts = [row["Text"] for row in rows("realbirdid-wordings")]
    assert texts == ["What is it?", "Which bird?", "Name it.", "Refuse if unsure.", "Rather say nothing."]


def test_free_words_have_the_shares_of_the_answers(rows, said):
    answers = said("free_form")
    (row,) = rows("realbirdid-free-form")
    for head, subset in (("A Species", "answerable"), ("Unanswerable", "unanswerable")):
        assert row[head] == percent([int(each["correct"]) for each in answers if each["subset"] == subset])


@pytest.mark.parametrize("name", TABLES)
def test_every_table_says_which_images_and_how_models_were_asked(made, name):
    for table in made(name):
        notes = "\n".join(table.notes)
        assert "realbirdid/val: 60 images, fingerprint" in notes
        assert name in OF_DATA or any(word in notes for word in ("templates", "prompt_set", "prompt"))


def test_a_table_is_made_by_the_command(asked, capsys):
    found = tables("realbirdid-T3", asked.pool())
    for kind, render in RENDERERS.items():
        assert main(["table", "realbirdid-T3", str(asked.folder), "--format", kind]) == 0
        assert capsys.readouterr().out == render(found)


def test_the_overview_has_the_headline_tables_and_all_cases(asked, tmp_path):
    titles = [table.title.partition(": ")[2] for table in overview_tables(asked.pool())]
    parts = ("classification", "AUC", "flat list", "range lists", "free words", "P(abstain)", "wordings", "confusion",
             "outcomes", "every metric")  # fmt: skip
    assert all(part in title for part, title in zip(parts, titles, strict=True))
    assert "Divisions, annotations and observations: observations " in write_overview(asked.pool(), tmp_path)


def test_the_overview_of_birds_without_lists_or_words_has_what_there_is(aviary):
    aviary.lists = False
    aviary.species(ENCODER)
    titles = [table.title.partition(": ")[2] for table in overview_tables(aviary.pool())]
    assert [title.split()[0] for title in titles] == ["classification", "AUC", "outcomes", "every"]
