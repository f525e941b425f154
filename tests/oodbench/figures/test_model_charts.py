"""Figures 9, 10 and 13 of OODBench: SVG that parses and has its models."""

from xml.etree import ElementTree

import pytest

from eyechart.cli import main
from eyechart.reports.figures.registry import draw

pytestmark = pytest.mark.deep

GOOD, DEAF = "yn", "nn"
NAMES = ("oodbench-F9", "oodbench-F10", "oodbench-F13")


@pytest.fixture(scope="module")
def asked(module_existing):
    """Three models under one detector and two."""
    for model, deaf in (("hf[a]", 3), ("hf[$b$]", 4), ("hf[c]", 6)):
        said = {"ID": GOOD * 9 + DEAF, "OOD-S": GOOD * 5 + DEAF * 2, "OOD-H": DEAF * deaf + GOOD * (8 - deaf)}
        for detectors in ("x[]", "x[]+y[]"):
            module_existing(model, "coco", said, detectors=detectors)
    return module_existing.bench


@pytest.fixture
def drawn(asked, tmp_path):
    """Draw a figure of every model and return its texts."""

    def drawn(name):
        texts = read_texts(draw(name, asked.pool(), None, tmp_path / "figure.svg", tmp_path))
        assert all(any(model in (text or "") for text in texts) for model in ("hf[a]", "hf[$b$]", "hf[c]"))
        return texts

    return drawn


def read_texts(path):
    """Return the texts of an SVG file."""
    return [text.text for text in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")]


def test_figure_9_has_a_violin_panel_a_measure_and_set_with_p(drawn):
    texts = drawn("oodbench-F9")
    titles = [text for text in texts if text and "ID −" in text]
    assert sorted({*titles}) == sorted(
        f"{measure}, ID − {name}"
        for measure in ("Accuracy", "F1", "Precision", "Recall", "MCC")
        for name in ("OOD-H", "OOD-S")
    )
    assert sum((text or "").startswith("p=") for text in texts) == len(titles) * 3 * 2  # models and divisions


def test_figure_13_has_both_measures(drawn):
    texts = drawn("oodbench-F13")
    assert {"Accuracy (%), with the 95 % interval", "F1 (%), with the 95 % interval", "number of detectors"} <= {*texts}
    assert "oodbench/coco, OOD-H, main benchmark, n=16" in texts


def test_the_command_line_draws_figure_10_of_the_models_that_are_no_reference(asked, capsys, tmp_path):
    asked.pool()
    given = ["figure", "oodbench-F10", str(asked.folder), "--out", str(tmp_path / "f.svg"), "--reference"]
    assert main([*given, "hf[x]"]) == 2
    assert "--reference=hf[x] is no model" in capsys.readouterr().err
    assert main([*given, "hf[a]", "--reference", "hf[$b$]"]) == 0
    texts = read_texts(tmp_path / "f.svg")
    models = ("hf[a]", "hf[$b$]", "hf[c]")
    assert [any(model in (text or "") for text in texts) for model in models] == [False, False, True]
    assert sum((text or "").endswith("equivalent") for text in texts) == 2 * 2 * 5  # two divisions, two sets


def test_sets_without_answers_are_drawn_empty(existing, tmp_path):
    for model in ("hf[a]", "hf[b]"):
        existing(model, "coco", {"ID": GOOD * 3, "OOD-H": "!!" * 3})
    for name in NAMES[:2]:
        assert draw(name, existing.bench.pool(), None, tmp_path / f"{name}.svg", tmp_path).stat().st_size > 1000
