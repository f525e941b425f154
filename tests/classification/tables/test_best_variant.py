"""Tests of `eyechart.classification.tables.best_variant`."""

import pytest

from eyechart.reports.tables.registry import tables


def test_table_4_has_each_models_best_answers_in_words_beside_the_others(text_protocols):
    text_protocols.classifier(text_protocols.right({0: 7}))
    text_protocols.mcq(text_protocols.right())
    assert [(row["Model"], row["Protocol"], row["A"]) for row in text_protocols.rows("T4")] == [
        ("hf[toybox-mllm]", "CW+", "94.12"),
        ("timm[tf_efficientnet_lite0]", "supervised", "94.12"),
    ]
    said = text_protocols.notes("T4")
    assert "2 more are left out" in said
    assert "mcq: left out" in said
    assert "CW:" not in said


def test_table_4_has_the_published_blocks_of_models(text_protocols):
    text_protocols.classifier(text_protocols.right({0: 7}))
    text_protocols.classifier(text_protocols.right(), model="knn[timm[resnet18]]")
    rows = text_protocols.rows("T4")
    assert [row["Family"] for row in rows] == ["MLLMs", "Supervised models", "Supervised models"]
    (table,) = tables("T4", text_protocols.pool())
    assert table.columns[:2] == ("Model", "Protocol")
    assert [row[0] for row in table.rows] == [
        "MLLMs", "hf[toybox-mllm]", "Supervised models", "timm[tf_efficientnet_lite0]", "knn[timm[resnet18]]",
    ]  # fmt: skip


def test_of_equal_answers_the_usual_way_of_asking_stands_in_table_4(session):
    made = session()
    made.closed_world(made.right(), answer="id")
    made.closed_world(made.right(), images_per_request="1")
    assert "answer name" in made.notes("T4")


TIED = {2: 356}, {0: 7}  # one wrong answer each under ReGT; the first is better under ImGT by two images


@pytest.mark.parametrize("name", ["T4", "F3"])
def test_of_answers_equal_under_the_new_labels_the_better_under_the_original_ones_stands_there(session, name):
    made = session()
    made.closed_world(made.right(TIED[0]))
    made.open_world(made.right(TIED[1]))
    ways = {row["Protocol"]: (row["A"], row["ImGT"]) for row in made.rows("T6")}
    assert ways == {"CW": ("94.12", "76.47"), "OW": ("94.12", "64.71")}
    (row,) = made.rows(name)
    assert row["Protocol"] == "CW"
    assert "of equal ones, the most accurate under ImGT" in made.notes(name)


def test_answers_equal_under_both_ground_truths_stand_in_the_default_order_of_protocols(session):
    made = session()
    made.open_world(made.right())
    made.closed_world_plus(made.right(), {})
    made.closed_world(made.right())
    assert [row["Protocol"] for row in made.rows("T4")] == ["CW"]


def test_of_two_encoders_equal_under_the_new_labels_table_6_shows_the_better_under_the_original_ones(session):
    made = session()
    made.closed_world(made.right())
    for changes, encoder in zip(reversed(TIED), ("sentence[a]", "sentence[b]"), strict=True):
        made.open_world(made.right(changes), text_encoder=encoder)
    assert "text_encoder sentence[b]" in made.notes("T6")
    assert "text_encoder sentence[a]" not in made.notes("T6")


def test_of_two_models_equal_under_the_new_labels_table_7_shows_the_better_under_the_original_ones(session):
    made = session()
    for changes, model in zip(TIED, ("hf[a]", "hf[b]"), strict=True):
        made.multiple_choice("ImGT + random", [made.right()] * 2, model=model)
        made.closed_world(made.right(changes), model=model)
        made.closed_world(made.right(TIED[1]), model=model, image_order="same_class", images_per_request="5")
    assert {row["Model"] for row in made.rows("T7")} == {"hf[a]"}
    assert {row["Model"] for row in made.rows("T19")} == {"hf[a]", "hf[b]"}


def test_figures_3_and_9_have_one_row_a_model_too(text_protocols):
    text_protocols.classifier(text_protocols.right({0: 7}))
    assert [row["Protocol"] for row in text_protocols.rows("F3")] == ["CW+", "supervised"]
    pairs = {(row["model"], row["other"]) for row in text_protocols.rows("F9")}
    assert ("hf[toybox-mllm]", "timm[tf_efficientnet_lite0]") in pairs
    assert len(pairs) == 3  # with the original labels
