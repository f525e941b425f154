"""The agreement of models as a table and as a figure."""

import csv
from xml.etree import ElementTree

import numpy as np
import pytest

from eyechart.errors import ReportError
from eyechart.reports.figures.registry import draw
from eyechart.reports.runs import load
from eyechart.reports.tables.registry import tables

CLIP = "ViT-B-32/laion2b_s34b_b79k"
TIMM = "timm[tf_efficientnet_lite0]"


def test_figure_9_pairs_every_two_models_and_the_original_labels(table):
    rows = table("F9", "ReGT")
    pairs = {(row["coefficient"][:3], row["model"], row["other"]): row for row in rows}
    assert len(pairs) == len(rows) == 2 * 6
    same = pairs["phi", TIMM, "ImGT"]
    assert (same["value"], same["value n"]) == ("1.00", "16")  # S and M; N is left out
    assert pairs["phi", "conse[]", CLIP]["value"] == ""  # one of the two is always right


def test_the_phi_of_figure_9_is_the_correlation_of_the_answers(table, run_folder):
    (answers,) = (run_folder / "predictions").glob("zero_shot-imagenet-val-conse*.csv")
    with answers.open() as file:
        labelled = [row for row in csv.DictReader(file) if row["ReGT.category"] != "no_label"]
    right = [(float(row["ReGT.correct"]), row["ReGT.category"].endswith("_original")) for row in labelled]
    row = next(
        r
        for r in table("F9", "ReGT")
        if r["coefficient"][:3] == "phi" and {r["model"], r["other"]} == {"conse[]", "ImGT"}
    )
    assert float(row["value"]) == pytest.approx(np.corrcoef(np.array(right, float).T)[0, 1], abs=0.005)


def test_figure_9_as_a_matrix_is_symmetric_with_ones(run_folder):
    spearman, phi, *_ = tables("F9", load([run_folder]), "ReGT")
    assert spearman.columns == ("", *(row[0] for row in spearman.rows))
    values = np.array([[cell.value for cell in row[1:]] for row in phi.rows], float)
    np.testing.assert_array_equal(values, values.T)
    assert values[2, 2] == 1


def test_one_model_under_its_original_labels_has_nothing_to_correlate(make_run):
    folder = make_run(labels=("ImGT",), models={TIMM: ("supervised", [7] * 18)})
    with pytest.raises(ReportError, match=r"F9 correlates two or more models .*--eye-model=A --eye-model=B"):
        tables("F9", load([folder]))


@pytest.fixture
def drawn(run_folder, tmp_path):
    """Draw a figure of the run, and give its texts."""

    def drawn(name, labels="ReGT", out="figure.svg"):
        path = draw(name, load([run_folder]), labels, tmp_path / out, tmp_path)
        return [text.text for text in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")]

    return drawn


@pytest.mark.deep
def test_figure_3_names_every_model_and_its_change(drawn):
    texts = drawn("F3")
    name = {"ViT-B-32/laion2b_s34b_b79k,", "zero_shot"}  # in two lines
    assert {"+29.4", "-23.5", "+5.9", *name, "imagenet/val, n=17"} <= {*texts}


@pytest.mark.deep
def test_figure_9_has_both_matrices_with_every_entry(drawn):
    texts = drawn("F9")
    assert {"Spearman, recall per class", "phi, correctness", "ImGT", "-0.09", "[-0.79, 0.71]"} <= {*texts}
    assert texts.count("1.00") == 2 * 5


@pytest.mark.deep
def test_all_ground_truths_have_their_panels(drawn):
    assert len([text for text in drawn("F3", None) if text.startswith("imagenet/val, n=")]) == 2
