"""Tests of `eyechart.realbirdid.figures.abstention_charts`."""

import re

import pytest

from tests.realbirdid.figures.table_rows import rows


def test_figure_7_has_a_point_a_wording_and_says_what_they_make(three, figure):
    axes = figure(three, "F7").axes
    assert [ax.get_title() for ax in axes] == ["naive", "refuse"]
    assert [sum(line.get_marker() != "None" for line in ax.get_lines()) for ax in axes] == [3, 2]
    row = rows(three, "F7")[0]
    said = axes[0].texts[0].get_text()
    numbers = [float(number) for number in re.findall(r"[\d.]+", said)[:6]]
    expected = [float(row[f"{head}{end}"]) for head in ("Mean", "SD") for end in ("", " low", " high")]
    assert numbers == pytest.approx(expected, abs=0.06)
    assert f"n=20, 3 wordings, Q {row['Q']}, df 2, p {row['p']}" in said


def test_figure_7_has_answerable_images_in_a_band_of_their_own(aviary, figure):
    aviary.abstention("hf[c]", everyone=True)
    labels = [label.get_text() for label in figure(aviary.pool(), "F7").axes[0].get_yticklabels()]
    assert labels == ["hf[c]\nunanswerable", "hf[c]\nanswerable"]


@pytest.mark.deep
def test_figure_8_has_counts_shares_and_the_rate(three, figure):
    axes = figure(three, "F8").axes
    row = rows(three, "F8")[0]
    texts = [text.get_text() for text in axes[0].texts]
    assert (len(axes), len(texts)) == (2, 9)
    assert texts[0].startswith(f"{float(row['Q %']):.1f} %\n[")
    assert texts[0].endswith(f"\n{row['Q']}")
    assert axes[0].get_title().startswith("naive: AR ")


def test_the_shares_of_a_matrix_add_up_to_one_in_each_row(three, figure):
    for ax in figure(three, "F8").axes:
        values = ax.images[0].get_array()
        assert values.sum(axis=1).tolist() == pytest.approx([1, 1, 1])
