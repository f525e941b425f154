"""Columns and rows that are compared cover the same images: 400 of 500 images are reannotated, some answers fail."""

import csv

import numpy as np
import pytest

from eyechart.reports.tables.registry import tables
from eyechart.reports.tables.render import to_markdown
from eyechart.statistics.intervals import t_interval

IMAGES, REANNOTATED, WRONG = 500, 400, 999
WEASELS = (356, 357, 358, 359)
CLASSES = (*WEASELS, *range(6))
SETTINGS = ("ImGT + random", "ReGT + random", "ReGT + text")


def truth(index):
    """An image's original label, its new labels and those of the weasel study; some have none of one of them."""
    old = CLASSES[index % len(CLASSES)]
    other = CLASSES[(index + 1) % len(CLASSES)]
    new = [(old,), (old,), (other,), (old, other), (other, 17), ()][index % 6] if index < REANNOTATED else None
    study = ((old if index % 3 else other),) if old in WEASELS and index < 450 else None
    return (-1 if index % 50 == 7 else old), new, study


TRUTHS = tuple(truth(index) for index in range(IMAGES))


def said(share_right, seed):
    """The original labels, but for a random share of wrong answers, which is larger on the images not reannotated."""
    draws = np.random.default_rng(seed).random(IMAGES)
    limit = [share_right if index < REANNOTATED else share_right / 2 for index in range(IMAGES)]
    return [CLASSES[index % len(CLASSES)] if draws[index] < limit[index] else WRONG for index in range(IMAGES)]


@pytest.fixture(scope="module")
def asked(module_session):
    """Cases of every protocol, some with errors, about the 500 images."""
    made = module_session(labels=("ImGT", "ReGT", "WeaselGT"), truths=TRUTHS)
    made.closed_world(said(0.8, 1), errors={3: "timeout", 480: "timeout"})
    made.closed_world_plus(said(0.85, 2), {})
    made.open_world(said(0.7, 3))
    made.closed_world(said(0.7, 4), images_per_request="5")
    made.closed_world(said(0.6, 5), images_per_request="10", errors={11: "timeout"})
    made.closed_world(said(0.65, 6), images_per_request="10", image_order="same_class")
    made.closed_world(said(0.65, 7), answer="id", errors={12: "timeout"})
    made.open_world(said(0.6, 8), text_templates="80")
    made.classifier(said(0.9, 9))
    made.evaluations([said(0.8, seed) for seed in (10, 11, 12)], images_per_request="5")
    for seed, setting in enumerate(SETTINGS):
        made.multiple_choice(setting, [said(0.9, 20 + seed), said(0.9, 30 + seed)])
    return made


def difference(row, base, head):
    """The difference of two printed values."""
    return float(row[head]) - float(base[head])


@pytest.mark.parametrize("name", ["T4", "T6", "T7", "T11", "T14", "T17", "T18", "T19"])
def test_the_categories_add_up_to_all_images_which_both_ground_truths_score(asked, name):
    for row in asked.rows(name, "ReGT"):
        assert int(row["ImGT n"]) == int(row["A n"]) <= REANNOTATED
        parts = [float(row[cell]) * int(row[f"{cell} n"]) for cell in ("S+", "S-", "M+", "M-")]
        empty = int(row["A n"]) - sum(int(row[f"{cell} n"]) for cell in ("S+", "S-", "M+", "M-"))
        assert (sum(parts) + 100 * empty) / int(row["A n"]) == pytest.approx(float(row["A"]), abs=0.02)


@pytest.mark.parametrize(("name", "before", "after"), [("T4", "ImGT", "A"), ("F3", "before", "after")])
def test_a_change_between_ground_truths_is_the_difference_of_the_printed_columns(asked, name, before, after):
    for labels in ("ReGT", "WeaselGT"):
        for row in asked.rows(name, labels):
            assert float(row["Δ"]) == pytest.approx(float(row[after]) - float(row[before]), abs=0.07)
            assert (row["Δ n"], row[f"{before} n"]) == (row[f"{after} n"],) * 2


def test_the_changes_of_table_9_are_the_differences_of_the_printed_columns(asked):
    for row in asked.rows("T9"):
        pairs = [("ReGT all", "ImGT all"), ("WeaselGT weasels", "ImGT weasels")]
        for after, before in pairs:
            assert row[f"{after} n"] == row[f"{before} n"] == row[f"{after} Δ n"]
            change = float(row[after]) - float(row[before])
            assert float(row[f"{after} Δ"]) == pytest.approx(change, abs=0.07)


def test_the_changes_of_table_6_are_the_differences_of_the_printed_rows(asked):
    for rows in (asked.rows("T6", "ReGT"), asked.rows("T6", "WeaselGT")):
        ways = {}
        for row in rows:
            ways.setdefault((row["Model"], row["ImGT n"]), {})[row["Protocol"].partition(" ")[0]] = row
        pairs = [(found[task], found["CW"]) for found in ways.values() for task in ("OW", "CW+") if task in found]
        assert any(row["ImGT Δ"] for row, _ in pairs)
        for row, base in pairs:
            for head in ("ImGT", "A", "S+", "M-"):
                assert row[f"{head} n"] == base[f"{head} n"]
                if row[f"{head} Δ"]:
                    assert row[f"{head} Δ n"] == row[f"{head} n"]
                    assert float(row[f"{head} Δ"]) == pytest.approx(difference(row, base, head), abs=0.07)


@pytest.mark.parametrize(
    ("name", "heads", "key"),
    [
        ("T12", ("ImGT", "A", "OOP"), "Model"),
        ("T13", ("ImGT", "A", "OOP"), "Img Pos."),
        ("T14", ("ImGT", "A"), "Model"),
    ],
)
def test_the_changes_of_an_ablation_are_the_differences_of_the_printed_rows(asked, name, heads, key):
    first, changes = {}, 0
    for row in asked.rows(name, "ReGT"):
        base = first.setdefault((row["Model"], row[key]), row)
        for head in heads if base is not row else ():
            assert row[f"{head} n"] == base[f"{head} n"] == row[f"{head} Δ n"]
            assert float(row[f"{head} Δ"]) == pytest.approx(difference(row, base, head), abs=0.07)
            changes += 1
    assert changes


def test_images_that_one_row_has_no_answer_to_are_left_out_of_the_rows_beside_it(asked):
    (rows,) = [[row for row in asked.rows(name, "ReGT") if row["Batch"] == "1"] for name in ("T11",)]
    ((row, *_), scored) = rows, [old >= 0 and new is not None for old, new, _ in TRUTHS]
    assert int(row["A n"]) == sum(scored) - 2  # images 3 and 11 of the batches of one and of ten
    assert "The rows of one model cover the images that all of them have an answer to." in asked.notes("T11")


@pytest.mark.parametrize("name", ["T7", "T19"])
def test_a_mean_over_repeats_covers_the_reannotated_images_and_keeps_students_interval(asked, name):
    made = {row["Distractors"]: row for row in asked.rows(name, "ReGT")}
    (case,) = [found for found in asked.records if found.variant.get("setting") == SETTINGS[0]]
    with (asked.folder / case.predictions.path).open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["ImGT.correct"] and row["ReGT.correct"]]
    rounds = [[float(row["ImGT.correct"]) for row in rows if row["epoch"] == repeat] for repeat in "01"]
    low, high = t_interval([np.mean(each) for each in rounds])
    shown = made[SETTINGS[0]]
    assert [float(shown[f"ImGT{part}"]) for part in ("", " low", " high")] == pytest.approx(
        [100 * np.mean(rounds), 100 * low, 100 * high], abs=0.006
    )


@pytest.mark.deep
def test_what_the_columns_cover_is_said_beneath(asked):
    for name in ("T4", "T6", "T7", "T9", "T11", "T13", "T17", "T18", "T19"):
        written = to_markdown(tables(name, asked.pool(), None if name == "T9" else "ReGT")[0])
        assert "ImGT and ReGT both score" in written, name
