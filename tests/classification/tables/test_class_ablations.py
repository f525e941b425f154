"""Tables 11 to 14 and 18: one choice changes, all else is equal, the images are the same."""

import csv
from pathlib import Path

import pytest

from eyechart.errors import ReportError
from eyechart.reports.tables.registry import tables

GOLDEN = Path(__file__).parents[2] / "golden"
CELLS = ("ImGT", "A", "S", "S+", "S-", "M", "M+", "M-")


@pytest.fixture
def batches(session):
    """One, five and ten images a request: ever worse, and ever more out of the prompt."""
    made = session()
    for images, changes in {"10": {0: "a beast", 6: "it"}, "1": {}, "5": {0: "a beast"}}.items():
        made.closed_world(made.right(changes), images_per_request=images)
    return made


def test_table_11_has_a_row_a_size_by_category(batches):
    rows = batches.rows("T11")
    assert [row["Batch"] for row in rows] == ["1", "5", "10"]
    assert [row["A"] for row in rows] == ["100.00", "94.12", "88.24"]
    assert [rows[2][cell] for cell in CELLS] == [
        "58.82", "88.24", "83.33", "80.00", "100.00", "100.00", "100.00", "100.00"
    ]  # fmt: skip
    assert [(row["OOP"], row["OOP n"]) for row in rows] == [("0", "17"), ("1", "17"), ("2", "17")]


def test_table_11_leaves_out_a_model_of_one_size_and_puts_the_weak_one_first(batches):
    batches.closed_world(batches.right(), model="hf[once]")
    for images in ("1", "5"):
        batches.closed_world([7] * 18, model="hf[weak]", images_per_request=images)
    assert [row["Model"] for row in batches.rows("T11")] == ["hf[weak]"] * 2 + ["hf[toybox-mllm]"] * 3


def test_table_11_keeps_other_choices_apart(batches):
    for images in ("1", "10"):
        batches.closed_world(batches.right(), images_per_request=images, image_order="same_class")
    models = [row["Model"] for row in batches.rows("T11")]
    assert sorted({model: models.count(model) for model in models}.values()) == [2, 3]
    assert "CW (b): answer name, epochs 1, image_order same_class, names kisel" in batches.notes("T11")


def test_table_12_has_both_orders_with_the_change(session):
    made = session()
    made.closed_world(made.right(), images_per_request="10", image_order="same_class")
    made.closed_world(made.right({0: "a beast", 1: 7}), images_per_request="10")
    random, same = made.rows("T12")
    assert (random["In-Batch Ordering"], random["A"], random["A Δ"], random["OOP"]) == ("Random", "88.24", "", "1")
    assert [same[name] for name in ("In-Batch Ordering", "A Δ", "ImGT Δ", "OOP", "OOP Δ")] == [
        "Same-Class", "+11.8", "+11.8", "0", "-1"
    ]  # fmt: skip
    assert float(same["A Δ low"]) < 11.8 < float(same["A Δ high"])


def indices(made, images):
    """The images at each place of a request of so many."""
    _, index = made.shown({"images_per_request": images})
    return {at: [row for row, there in enumerate(index) if there == at - 1] for at in (1, 5, 10)}


def test_table_13_follows_the_same_images_through_all_sizes(session):
    made = session()
    last = indices(made, "10")
    changes = {"1": {}, "5": {last[10][0]: "a beast"}, "10": {last[1][0]: 7, last[10][0]: "a beast"}}
    for images, wrong in changes.items():
        made.closed_world(made.right(wrong), images_per_request=images)
    rows = {(row["Img Pos."], row["Batch"]): row for row in made.rows("T13")}
    assert list(rows) == [(index, batch) for index in ("1", "5", "10") for batch in ("1", "5", "10")]
    assert [rows["10", batch]["OOP"] for batch in ("1", "5", "10")] == ["0", "1", "1"]
    assert [rows["10", batch]["OOP Δ"] for batch in ("1", "5", "10")] == ["", "+1", "+1"]
    assert [rows["1", batch]["OOP"] for batch in ("1", "5", "10")] == ["0", "0", "0"]
    assert {rows[index, "1"]["A n"] for index in ("1", "5")} == {"2"}  # 18 images: ten and eight
    assert rows["10", "1"]["A n"] == "1"


def test_the_changes_of_table_13_are_from_the_smallest_requests(session):
    made = session()
    first = indices(made, "10")[1]
    wrong = next(row for row in first if row not in (11, 17))  # on N nothing is wrong
    made.closed_world(made.right(), images_per_request="1")
    made.closed_world(made.right({wrong: 7}), images_per_request="10")
    rows = {(row["Img Pos."], row["Batch"]): row for row in made.rows("T13")}
    assert (rows["1", "10"]["A"], rows["1", "10"]["A Δ"], rows["1", "1"]["A Δ"]) == ("50.00", "-50.0", "")


def test_table_13_looks_at_random_order_alone(session):
    made = session()
    for images in ("1", "10"):
        made.closed_world(made.right(), images_per_request=images, image_order="same_class")
    with pytest.raises(ReportError, match=r"in random order; .*--eye-set=closed_world.images_per_request=1,5,10"):
        tables("T13", made.pool())


def test_table_14_begins_with_ids(session):
    made = session()
    made.closed_world(made.right({0: "a beast"}))
    made.closed_world(made.right({0: 7, 1: 7}), answer="id")
    by_id, by_name = made.rows("T14")
    assert [row["Response"] for row in (by_id, by_name)] == ["ID", "Class name"]
    assert (by_name["A"], by_name["A Δ"], by_name["ImGT Δ"], by_name["OOP"]) == ("94.12", "+5.9", "+5.9", "1")
    assert (by_id["A Δ"], by_id["OOP"]) == ("", "0")
    assert "S Δ" not in by_id
    assert "ID: answer id, prompt closed_world_json (0123abcd), parser_version json_answers 2." in made.notes("T14")


def test_table_18_marks_templates_with_a_dagger(session):
    made = session()
    made.open_world(made.right(), text_encoder="sentence[b]", text_templates="80")
    made.open_world(made.right({0: 7}), text_encoder="sentence[b]")
    made.open_world(made.right({0: 7, 1: 7}), text_encoder="sentence[a]", text_templates="7")
    made.open_world(made.right({0: 7, 1: 7, 3: 7}), mapping="inclusion")
    assert [(row["Emb. Space"], row["A"]) for row in made.rows("T18")] == [
        ("text inclusion", "82.35"), ("sentence[a]† (7)", "88.24"), ("sentence[b]", "94.12"), ("sentence[b]†", "100.00")
    ]  # fmt: skip
    assert "OOP" not in made.rows("T18")[0]
    assert "sentence[b]†: text_encoder sentence[b], mapping nearest, text_templates 80." in made.notes("T18")


def test_table_18_marks_the_best_of_each_model(session):
    made = session()
    for model, wrong in (("hf[a]", 2), ("hf[b]", 4)):
        made.open_world(made.right(dict.fromkeys(range(wrong), 7)), model, text_encoder="sentence[x]")
        made.open_world(made.right({0: 7}), model, text_encoder="sentence[y]")
    (table,) = tables("T18", made.pool())
    column = table.columns.index("A (n=17)") if "A (n=17)" in table.columns else table.columns.index("A")
    marks = [(row[0], row[1], row[column].highlight) for row in table.rows]
    assert marks == [
        ("hf[b]", "sentence[x]", None), ("hf[b]", "sentence[y]", 1),
        ("hf[a]", "sentence[x]", None), ("hf[a]", "sentence[y]", 1),
    ]  # fmt: skip
    assert "Bold: the highest number of each model." in made.notes("T18")


def test_published_table_18_has_the_encoders_that_the_paper_selects():
    """The best encoder of each model by the printed accuracies: that of the caption, which presets select."""
    with (GOLDEN / "table_18.csv").open(encoding="utf-8", newline="") as file:
        printed = list(csv.DictReader(file))
    best = {}
    for row in sorted(printed, key=lambda row: float(row["ImGT A"])):
        best[row["model"]] = row["encoder"], row["templates"]
    siglip = [encoder for model, (encoder, _) in best.items() if model in ("PaliGemma 2", "GPT-4o")]
    assert all(encoder.startswith("SigLIP 2") for encoder in siglip)
    others = {model: encoder for model, (encoder, _) in best.items() if model not in ("PaliGemma 2", "GPT-4o")}
    assert others == dict.fromkeys(("LLaVA-OV", "InternVL3.5", "Qwen3-VL"), "Qwen3-Embedding-8B")
    assert {templates for _, templates in best.values()} == {"yes"}


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("T11", "-k closed_world --eye-set=closed_world.images_per_request=1,5,10"),
        (
            "T12",
            (
                "-k closed_world --eye-set=closed_world.images_per_request=10 "
                "--eye-set=closed_world.image_order=random,same_class"
            ),
        ),
        ("T13", "-k closed_world --eye-set=closed_world.images_per_request=1,5,10"),
        ("T14", "-k closed_world --eye-set=closed_world.answer=name,id"),
        ("T18", "-k open_world --eye-set=open_world.text_encoder=A,B --eye-set=open_world.text_templates=none,80"),
    ],
)
def test_one_value_alone_is_refused_with_the_remedy(session, name, remedy):
    made = session()
    made.closed_world(made.right())
    made.open_world(made.right())
    with pytest.raises(ReportError, match=rf"{name} .*; open_world under ImGT, ReGT\. .*pytest {remedy}"):
        tables(name, made.pool())


@pytest.mark.parametrize("name", ["T11", "T13"])
def test_what_an_ablation_rests_on_stands_beneath(batches, name):
    said = batches.notes(name)
    assert "epochs 1, image_order random, names kisel, parser lenient, parser_version json_answers 2" in said
    assert "images_per_request 1" not in said
    assert "Label sets, and images without labels: ImGT" in said
