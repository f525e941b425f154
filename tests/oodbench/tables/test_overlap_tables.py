"""How much of a division models have read about, and of how many models that speaks."""

import csv
import json
from io import StringIO

import msgspec
import pytest

from eyechart.cli import main
from eyechart.errors import ReportError
from eyechart.oodbench.division.division_files import DetectorEntry, DivisionFile, PairEntry

# Two hundred pairs out of distribution of as many images, and what is no part of them.
OOD = [
    PairEntry(f"val2017/{n:012}", "cat", ("OOD-S", "OOD-H")[n % 2], n % 3 == 0, True, ("20", "22")[n % 2])
    for n in range(200)
]
OTHERS = [
    PairEntry("val2017/000000000000", "dog", "ID", True, True, "00"),
    PairEntry("val2017/000000000001", "dog", "OOD-S", True, False, "10"),
    PairEntry("val2017/000000000002", "dog", "Hard", True, True, "00"),
]


@pytest.fixture
def given(tmp_path, monkeypatch):
    """A division and three models' captions, of which each names a cat in some and a dog in all."""
    monkeypatch.chdir(tmp_path)
    parts = {"benchmark": "oodbench", "split": "coco-train", "fingerprint": "f", "annotation": "a"}
    found = DivisionFile(
        **parts,
        detectors=(DetectorEntry("a", "1", "0"), DetectorEntry("b", "1", "0")),
        parameters={"threshold": "0.05"},
        pairs=(*OOD, *OTHERS),
    )
    (tmp_path / "division.json").write_bytes(msgspec.json.encode(found))
    for model, cats in {"some": 3, "more": 6, "many": 100}.items():
        captions(tmp_path / f"{model}.json", cats)
    return tmp_path


def captions(path, cats, images=200):
    """A list of captions."""
    said = [
        {"image": f"COCO_train2014_{n:012}.jpg", "text": f"a dog{' and two cats' * (n < cats)}"} for n in range(images)
    ]
    path.write_text(json.dumps(said), encoding="utf-8")


def run(capsys, *more):
    """Both tables' rows, read back from csv."""
    assert main(["divide", "overlap", "division.json", "--format", "csv", *more]) == 0
    rows = list(csv.DictReader(StringIO(capsys.readouterr().out)))
    return [[row for row in rows if row["table"] == name] for name in ("models", "population")]


def test_the_tables_in_latex_fit_the_page(given, capsys, latex_problems):
    assert main(["divide", "overlap", "division.json", "--format", "tex", *EACH]) == 0
    assert latex_problems([capsys.readouterr().out]) == []


EACH = [f"--corpus={model}={model}.json" for model in ("some", "more", "many")]


def test_the_overlap_of_a_model_is_the_share_of_pairs_it_has_read_about(given, capsys):
    models, _ = run(capsys, *EACH)
    assert [(row["Model"], row["Overlap (%)"], row["Overlap (%) n"]) for row in models] == [
        ("some", "1.50", "200"),
        ("more", "3.00", "200"),
        ("many", "50.00", "200"),
    ]
    assert [row["Overlap (%) high"] for row in models[:2]] == ["4.32", "6.42"]  # Clopper and Pearson


def test_a_model_accepts_where_the_upper_end_is_below_the_limit(given, capsys):
    models, population = run(capsys, *EACH, "--epsilon=0.05,0.5,0.6")
    assert [[row[f"Z, ε = {limit} %"] for row in models] for limit in (5, 50, 60)] == [
        ["1", "0", "0"],
        ["1", "1", "0"],
        ["1", "1", "1"],
    ]
    assert [row["Models with Z = 1"] for row in population] == ["1", "2", "3"]


def test_both_tables_are_those_of_the_golden_file(given, capsys, golden):
    assert main(["divide", "overlap", "division.json", "--format", "csv", *EACH]) == 0
    golden.check("tests/population.json.gz", {"oodbench-population": {"csv": capsys.readouterr().out.split("\n")}})


def test_some_models_speak_of_all(given, capsys):
    _, (five, two) = run(capsys, *EACH)
    assert (five["ε"], two["ε"], two["Models with Z = 1"]) == ("5 %", "2 %", "0")
    exact, posterior = "Share (%), exact", "Share (%), posterior"
    assert [five[f"{exact} low"], five[f"{exact} high"]] == ["0.84", "90.57"]
    assert [five[f"{posterior} low"], five[f"{posterior} high"]] == ["6.76", "80.59"]


def test_a_model_may_have_several_corpora(given, capsys):
    captions(given / "other.json", 0, 50)
    ((model,), _) = run(capsys, "--corpus=m=other.json", "--corpus=m=some.json")
    assert (model["Overlap (%)"], model["Read (%)"]) == ("1.50", "100.00")
    ((model,), _) = run(capsys, "--corpus=m=other.json")
    assert (model["Overlap (%)"], model["Read (%)"]) == ("0.00", "25.00")


def test_synonyms_are_words_for_a_category(given, capsys):
    (given / "words.csv").write_text("category,words\ncat,kitten;dog\n", encoding="utf-8")
    ((model,), _) = run(capsys, EACH[0], "--synonyms=words.csv")
    assert model["Overlap (%)"] == "100.00"


def test_the_notes_say_what_was_compared(given, capsys):
    assert main(["divide", "overlap", "division.json", EACH[0]]) == 0
    text = capsys.readouterr().out
    assert "oodbench/coco-train: 200 pairs of OOD-S and OOD-H before downsampling; threshold 0.05." in text
    assert "some: some.json (json, sha256 " in text


@pytest.mark.parametrize(("more", "said"), [
    (["--corpus=llava"], "--corpus=llava is not MODEL=FILE"),
    (["--corpus=a=none.json"], "none.json cannot be read"),
    (["--corpus=a=strange.json"], "--corpus=a=strange.json: The corpus has none of the division's 200 images"),
])  # fmt: skip
def test_what_cannot_be_compared_is_refused(given, capsys, more, said):
    (given / "strange.json").write_text('[{"image": "x.jpg", "text": "a cat"}]', encoding="utf-8")
    assert main(["divide", "overlap", "division.json", *more]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("limits", ["0", "2", "0.05,x"])
def test_a_limit_is_a_share(given, capsys, limits):
    assert main(["divide", "overlap", "division.json", EACH[0], f"--epsilon={limits}"]) == 2
    assert "must be shares above 0 and at most 1" in capsys.readouterr().err


def test_a_division_without_pairs_out_of_distribution_is_refused(given, capsys):
    found = json.loads((given / "division.json").read_text(encoding="utf-8"))
    (given / "division.json").write_text(json.dumps(found | {"pairs": found["pairs"][-3:]}), encoding="utf-8")
    assert main(["divide", "overlap", "division.json", EACH[0]]) == 2
    assert "has no present pair out of distribution" in capsys.readouterr().err


def test_a_run_knows_nothing_of_training(bench):
    bench.case("existence")
    with pytest.raises(ReportError, match=r"eyechart divide overlap DIVISION.json --corpus MODEL=FILE"):
        bench.tables("oodbench-population")
