"""Tests of `eyechart.realbirdid.figures.range_charts`."""

import re

import pytest

from eyechart.realbirdid.figures.range_charts import SHADES
from tests.realbirdid.figures.table_rows import rows


def test_figure_19_lightens_what_is_gained_and_darkens_what_is_lost(ranged, figure):
    for ax, shades in zip(figure(ranged, "F19").axes, SHADES.values(), strict=True):
        bars = [bar for container in ax.containers for bar in container]
        assert [round(bar.get_width()) for bar in bars] == [50, 30, 40, 20]
        colours = [shades[0], shades[1], shades[0], shades[2]]
        assert [tuple(bar.get_facecolor()) for bar in bars] == [rgba(colour) for colour in colours]


def rgba(colour):
    """A colour as matplotlib keeps it."""
    return (*(int(colour[index : index + 2], 16) / 255 for index in (1, 3, 5)), 1)


def test_figure_19_says_both_numbers_and_the_change(ranged, figure):
    said = [text.get_text() for text in figure(ranged, "F19").axes[0].texts]
    assert said == [
        "50.0 [40.0, 60.0] → 80.0 [70.0, 90.0]\nΔ +30.0",
        "60.0 [50.0, 70.0] → 40.0 [30.0, 50.0]\nΔ -20.0",
    ]


def test_a_recorded_change_has_its_interval_beside_it(three, figure):
    first = rows(three, "F19")[0]
    low, delta, high = (float(first[f"IG Δ{end}"]) for end in (" low", "", " high"))
    said = figure(three, "F19").axes[0].texts[0].get_text().partition("\n")[2]
    numbers = [float(number) for number in re.findall(r"[+-][\d.]+", said)]
    assert numbers == pytest.approx([delta, low, high], abs=0.06)
