from tests.oodbench.tables.existence_answers import COCO, GOOD, POOR, ask_two_models

"""Tests of `eyechart.oodbench.tables.pair_pages`."""


def test_models_that_were_asked_about_other_data_are_in_another_table(existing):
    asked = ask_two_models(existing)
    existing("hf[c]", "coco", COCO)
    first, second = asked.tables("oodbench-T1")
    assert [row[0] for row in second.rows] == ["Random Chance"] + ["hf[c]"] * 3
    assert "hf[c]" not in {row[0] for row in first.rows}


def test_packaged_pictures_are_not_pooled_with_others(bench, existing):
    for split in ("coco", "sample-coco", "sample-lvis"):
        existing("hf[a]", split, COCO)
    assert [table.title.rpartition(", ")[2] for table in bench.tables("oodbench-T1")] == [
        "sample-coco + sample-lvis",
        "COCO",
    ]


def test_another_division_is_another_table_whose_title_says_what_differs(existing):
    asked = ask_two_models(existing)
    existing("hf[a]", "coco", {**COCO, "OOD-H": "nn" * 3}, threshold="0.01", prompt="existence (2)")
    titles = [table.title for table in asked.tables("oodbench-T10")]
    assert titles == [f"oodbench/coco: COCO, existence (%), threshold {value}" for value in ("0.05", "0.01")]


def test_a_title_tells_detectors_by_their_names(existing):
    for number, detectors in enumerate(("x[]+open_clip[ViT-B-32,pretrained=openai]", "x[]", "x[]")):
        which = "initial" if number == 2 else "main"
        existing("hf[a]", "coco", {**COCO, "ID": GOOD * (number + 1)}, detectors=detectors, division_scope=which)
    ends = [table.title.partition(", detectors ")[2] for table in existing.bench.tables("oodbench-T10")]
    assert ends == ["x[] & ViT-B-32/openai", "x[]", "x[] (2)"]


def test_two_ways_of_asking_the_same_pairs_get_letters(existing):
    for reading in ("lenient", "authors"):
        existing("hf[a]", "coco", COCO, parser=reading)
    (table,) = existing.bench.tables("oodbench-T10")
    assert list(dict.fromkeys(row[0] for row in table.rows[1:])) == ["hf[a] (a)", "hf[a] (b)"]
    assert any(note.startswith("Set (a): ") and "parser authors" in note for note in table.notes)


def test_the_initial_benchmark_takes_the_place_of_the_main_one_that_it_holds(existing):
    for benchmark in ("initial", "main"):
        more = {"OOD-S'": POOR} if benchmark == "initial" else {}
        existing("hf[a]", "coco", {**COCO, **more}, division_scope=benchmark)
    assert len(existing.bench.rows("oodbench-T10")) == 1 + 5
    assert len(existing.bench.rows("oodbench-T1")) == 1 + 3
